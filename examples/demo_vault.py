"""A temporary vault with its own daemon, for the demonstrations."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ENGRAM = (sys.executable, "-m", "engram")


@dataclass(frozen=True)
class Served:
    """A vault whose daemon listens on a port, and the token for it."""

    vault: Path
    port: int
    token: str


@contextmanager
def served(**more: str) -> Iterator[Served]:
    """Start a daemon for a new vault; stop it and delete the vault at the end.

    `more` are environment variables of the daemon.
    """
    with tempfile.TemporaryDirectory(prefix="engram-demo-") as folder:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        vault, home = Path(folder, "vault"), Path(folder, "home")
        os.environ |= {
            "ENGRAM_HOME": str(home),
            "ENGRAM_VAULT": str(vault),
            "ENGRAM_PORT": str(port),
            **more,
        }
        run("init", str(vault))
        daemon = subprocess.Popen(  # noqa: S603
            [*ENGRAM, "daemon", "--foreground"], stderr=subprocess.PIPE, text=True
        )
        try:
            wait_for(daemon)
            token = next((home / "state").glob("*/token")).read_text().strip()
            yield Served(vault, port, token)
        finally:
            daemon.terminate()
            daemon.communicate(timeout=30)


def run(*words: str, fed: str = "") -> str:
    """Return the output of one `engram` command; raise SystemExit where it fails."""
    done = subprocess.run(  # noqa: S603
        [*ENGRAM, *words], check=False, capture_output=True, text=True, input=fed
    )
    if done.returncode:
        raise SystemExit(done.stderr.strip())
    return done.stdout


def wait_for(daemon: subprocess.Popen[str]) -> None:
    """Wait until the daemon is ready. Raises SystemExit with its error if it ends."""
    for _ in range(600):
        if daemon.poll() is not None:
            raise SystemExit(daemon.communicate()[1])
        asked = subprocess.run(  # noqa: S603
            [*ENGRAM, "status", "--json"], capture_output=True, check=False
        )
        if asked.returncode == 0 and json.loads(asked.stdout)["ready"]:
            return
        time.sleep(0.05)
    raise SystemExit("the daemon does not answer")


def heading(words: str) -> None:
    """Print the heading of a step."""
    print(f"\n{words}", flush=True)
