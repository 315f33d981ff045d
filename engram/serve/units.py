"""The systemd user units: render, install, start and stop them."""

from __future__ import annotations

import os
import select
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram.errors import UnavailableError
from engram.serve import setup, socket_client
from engram.vault import disk
from engram.vault.template import check_vault, shipped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.config import Settings

KEPT = ("ENGRAM_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
"""Environment variables that the units pass to the daemon.

With them it finds the same folders as the command line.
"""

STOP_SECONDS = 45.0


NIGHTLY = ["engram-consolidate.timer"]


def rendered(
    settings: Settings, env: Mapping[str, str], *, instance: bool, nightly: bool = False
) -> dict[Path, str]:
    """Return the unit files for this vault, by the path of installation.

    The default vault has `engram.service` and `engram.socket`, or with `nightly` only a
    timer. Any other vault is an `instance` of `engram@.service`, named by the escaped
    path of its folder.
    """
    home = env.get("XDG_CONFIG_HOME") or f"{env.get('HOME') or Path.home()}/.config"
    kept = [
        f"Environment={quoted(f'{name}={env[name]}')}\n"
        for name in KEPT
        if env.get(name)
    ]
    words = {
        "@ENGRAM@": f"{quoted(sys.executable, command=True)} -P -m engram",
        "@VAULT_ARGUMENT@": quoted(str(settings.vault), command=True),
        "@VAULT@": quoted(str(settings.vault)),
        "@STATE@": quoted(str(settings.state.parent)),
        "@CACHE@": quoted(str(settings.cache.parent)),
        "@SOCKET@": str(settings.socket).replace("%", "%%"),
        "@ENVIRONMENT@\n": "".join(kept),
    }
    texts = {}
    daemon = ["engram@.service"] if instance else names(settings.socket)
    for name in ["engram-consolidate.service", *NIGHTLY] if nightly else daemon:
        text = (shipped("systemd") / name).read_text("utf-8")
        for mark, word in words.items():
            text = text.replace(mark, word)
        texts[Path(home) / "systemd" / "user" / name] = text
    return texts


def quoted(text: str, *, command: bool = False) -> str:
    """Quote `text` as one word of a unit file; with `command` escape dollars too."""
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{text.replace("$", "$$") if command else text}"'


def escaped(path: Path) -> str:
    """Escape a path as the instance name of a unit, as `systemd-escape --path` does."""
    raw = os.fsencode(path).strip(b"/")
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_."
    escaped_name = ""
    for place, byte in enumerate(raw):
        leading_dot = place == 0 and byte == ord(".")
        if byte == ord("/"):
            escaped_name += "-"
        elif byte in plain and not leading_dot:
            escaped_name += chr(byte)
        else:
            escaped_name += f"\\x{byte:02x}"
    return escaped_name or "-"


def names(socket: str | Path, instance: Path | None = None) -> list[str]:
    """Return the units to start for the default vault, or for the vault `instance`.

    `engram.socket` is left out if the path is too long for a socket address.
    """
    if instance:
        return [f"engram@{escaped(instance)}.service"]
    short = len(os.fsencode(socket)) <= socket_client.LONGEST_ADDRESS
    return ["engram.service"] + ["engram.socket"] * short


def up(
    settings: Settings, texts: Mapping[Path, str], units: Sequence[str]
) -> dict[str, Any]:
    """Install the unit files `texts` and start `units`.

    Raises NotFoundError if there is no vault, UnavailableError if systemd runs no
    session for this user.
    """
    check_vault(settings.vault)
    if not has_session():
        raise UnavailableError(
            "systemd runs no session for this user; no unit was written",
            fix=f"Start the daemon yourself: {shlex.join(['engram', 'daemon', '--vault', str(settings.vault)])}",
        )
    for folder in (settings.state, settings.cache):
        disk.make_folders(folder)
    changed = install(texts)
    systemctl("daemon-reload")
    systemctl("enable", "--now", *units)
    return {
        "units": list(units),
        "written": changed,
        "socket": str(settings.socket),
        "for_chatbots": setup.hints(settings),
    }


def down(path: str, units: Sequence[str]) -> dict[str, Any]:
    """Stop the daemon behind the socket `path` and disable its units.

    A daemon that systemd does not run gets SIGTERM. Raises UnavailableError if it does
    not end in time.
    """
    stopped: list[str] = []
    if has_session():
        stopped += [
            unit
            for unit in units
            if "LoadState=loaded" in systemctl("show", "--property=LoadState", unit)
        ]
    if stopped:
        systemctl("disable", "--now", *stopped)
    if socket_client.answers(path):
        pid = int(socket_client.call(path, "status", {})["pid"])
        process = os.pidfd_open(pid)
        try:
            os.kill(pid, signal.SIGTERM)
            # The socket closes first; the daemon has the vault open until it ends.
            ended = select.select([process], [], [], STOP_SECONDS)[0]
        finally:
            os.close(process)
        if not ended:
            raise UnavailableError(
                "the daemon has not stopped yet",
                where=f"process {pid}",
                fix="Wait, then try again.",
            )
        stopped.append(f"process {pid}")
    return {"stopped": stopped or "nothing was running"}


def has_session() -> bool:
    """Return whether a systemd user manager answers."""
    try:
        done = subprocess.run(
            ["systemctl", "--user", "show", "--property=Version"],  # noqa: S607
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        return False
    return done.returncode == 0


def systemctl(*words: str) -> str:
    """Return the output of `systemctl --user`; raise UnavailableError if it fails."""
    done = subprocess.run(  # noqa: S603
        ["systemctl", "--user", *words],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise UnavailableError(
            f"systemctl {words[0]} failed",
            where=done.stderr.strip(),
            fix="`journalctl --user -u engram` shows the log.",
        )
    return done.stdout


def install(texts: Mapping[Path, str]) -> list[str]:
    """Write the unit files that differ from the installed ones; return their paths."""
    written = []
    for path, text in texts.items():
        content = text.encode()
        old = disk.read(path) if path.exists() else None
        if old is None:
            disk.make_folders(path.parent)
            disk.write_new(path, content)
        elif old != content:
            disk.replace(path, content, disk.sha256(old))
        if old != content:
            written.append(str(path))
    return written
