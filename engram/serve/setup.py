"""Create a vault, and run its daemon in the foreground or in the background."""

from __future__ import annotations

import json
import os
import secrets
import shlex
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from engram.core.text import ulid
from engram.daemon.sockets import LOOPBACK
from engram.errors import (
    BadRequestError,
    ConflictError,
    EngramError,
    UnavailableError,
)
from engram.operations.health import OPEN_MODE
from engram.pipeline.commits import WAITING
from engram.serve import socket_client
from engram.vault import disk, template
from engram.vault.git import Git
from engram.vault.paths import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from engram.config import Settings

START_SECONDS = 30.0
LOOK_SECONDS = 0.05


def init_vault(
    load: Callable[[], Settings], *, git: bool, dry_run: bool, restored: int = 0
) -> dict[str, Any]:
    """Write the template into the vault; with `git` make it a repository.

    In a repository the new files are committed. `restored` files came from an archive.
    """
    vault, source = load().vault, template.shipped("vault_template")
    vault_id = ulid(datetime.now(UTC), secrets.token_hex(16))
    result: dict[str, Any] = {"vault": str(vault)} | _found(vault)
    if dry_run:
        lacking = template.missing_files(vault, vault_id, source)
        return result | {"would_write": list(lacking)}
    is_new = not vault.is_dir() or not any(vault.iterdir())
    written = template.create_vault(vault, vault_id, source)
    result["written"] = list(written)
    if restored:
        result["note"] = f"{restored} files of the archive were restored"
    elif not written:
        result["note"] = "the folder is a vault already; nothing was written"
    if vault.stat().st_mode & 0o077:
        if is_new:
            disk.close_to_others(vault)
        else:
            result["readable"] = OPEN_MODE
    if git and not (vault / ".git").exists():
        _git(vault)
        result["git"] = "a repository was created"
    settings = load()
    if settings.git and (
        repository := Git.open(vault, settings.state / WAITING, settings.policy.files)
    ):
        repository.commit(written, "create a vault", "init")
    return result


def _found(vault: Path) -> dict[str, str]:
    """Return what a folder holds before it becomes a vault, if it holds notes."""
    is_vault = (vault / template.SETTINGS).exists()
    notes = 0 if is_vault or not vault.is_dir() else len(walk(str(vault)).files)
    if not notes:
        return {}
    words = "1 Markdown file" if notes == 1 else f"{notes} Markdown files"
    return {
        "found": f"{words}; engram reads them and never changes, moves or deletes"
        " them; `leave_out` in engram.toml names folders that it does not read"
    }


def _git(vault: Path) -> None:
    try:
        done = subprocess.run(  # noqa: S603
            ["git", "init", "--quiet", str(vault)],  # noqa: S607
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        raise UnavailableError(
            "git is not installed", fix="Install git, or leave --git out."
        ) from None
    if done.returncode:
        raise ConflictError(
            "git could not create the repository", where=done.stderr.strip()
        )


def serve(load: Callable[[], Settings], port: int | None) -> None:
    """Run the daemon in this process until SIGTERM or SIGINT."""
    from engram.daemon import daemon
    from engram.serve.server import HttpServer

    def with_port() -> Settings:
        settings = load()
        return replace(settings, tcp_port=port) if port else settings

    daemon.run(with_port, HttpServer)


def serve_vaults(
    root: Path,
    port: int | None,
    show: Callable[[str, dict[str, Any]], None],
    address: str = "",
) -> None:
    """Serve every vault below `root` in this process until SIGTERM or SIGINT.

    Shows the address and how to create a token. If the index is in PostgreSQL, other
    daemons may serve the same folder, and send clients to this one at `address`.
    Otherwise raises LockedError if another process serves this folder.
    """
    from engram import config
    from engram.core.policy import ServePolicy
    from engram.daemon import pool
    from engram.serve.pool_server import PoolServer
    from engram.vault import locks

    postgres = config.load(root, os.environ).postgres
    parts = urlsplit(address)
    if address and (not postgres or not port or not parts.hostname):
        raise BadRequestError(
            "the address of a daemon needs a port and an index in PostgreSQL",
            where=f"--address {address}",
            fix="Give one like `https://host-a.internal:8765` with `--tcp PORT`, and set `postgres` in your configuration; see docs/fleet.md.",
        )
    if postgres and port:
        address = address or f"http://{LOOPBACK}:{port}"

    def load(folder: Path) -> Settings:
        return replace(config.load(folder, os.environ), address=address)

    with ExitStack() as stack:
        due = None
        if postgres:
            from engram.index import owner

            due = partial(owner.due, postgres)
        else:
            stack.callback(locks.lock_vaults(root).release)
        vaults = pool.VaultPool(root, load, ServePolicy(), due)
        server = PoolServer(vaults, port or 0)
        shown = _pool_shown(root, [one.folder for one in vaults.vaults()], port)
        if postgres:
            shown["shared"] = {
                "database": config.without_password(postgres),
                "answers_at": address or "only its Unix sockets",
            }
        show("daemon", shown)
        pool.run(vaults, server)


def _pool_shown(
    root: Path, folders: Sequence[Path], port: int | None
) -> dict[str, Any]:
    """Return the start message of a daemon of many vaults."""
    example = shlex.quote(str(folders[0] if folders else root / "NAME"))
    hints = [f"engram token create NAME --vault {example}"]
    if not folders:
        hints.insert(0, f"engram init {example}")
    url = f"http://{LOOPBACK}:{port}"
    if port:
        hints.append(f"curl {url}/v1/stats -H 'Authorization: Bearer <token>'")
    return {
        "running": "until Ctrl-C or SIGTERM",
        "vaults": [one.name for one in folders],
        "address": url if port else "none; `--tcp PORT` opens one for all vaults",
        "for_chatbots": hints,
    }


def command(settings: Settings, *more: str) -> list[str]:
    """Return the command line that runs the daemon of this vault with this Python."""
    return [
        sys.executable,
        "-P",
        "-m",
        "engram",
        "daemon",
        "--foreground",
        "--vault",
        str(settings.vault),
        *more,
    ]


def start_in_background(settings: Settings, port: int | None) -> dict[str, Any]:
    """Start the daemon as a separate process and wait until it answers.

    Its log is in the state folder. Raises the error with which the daemon ends.
    """
    path = str(settings.socket)
    if socket_client.answers(path):
        if port and not _listens(settings, port):
            raise ConflictError(
                "the daemon runs already, without this port",
                where=str(port),
                fix="End it with `engram down`, then start it again.",
            )
        hinted = hints(settings, port)
        return {
            "running": "it was running already",
            "socket": path,
            "for_chatbots": hinted,
        }
    template.check_vault(settings.vault)
    log = settings.state / "daemon.log"
    disk.make_folders(log.parent)
    disk.append(log, b"")
    more = ["--json", *(["--tcp", str(port)] if port else [])]
    with log.open("ab") as output:
        started = log.stat().st_size
        process = subprocess.Popen(  # noqa: S603
            command(settings, *more),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    last = time.monotonic() + START_SECONDS
    while not socket_client.answers(path):
        if process.poll() is not None or time.monotonic() > last:
            raise _startup_error(log.read_bytes()[started:], log)
        time.sleep(LOOK_SECONDS)
    return {
        "running": "yes",
        "pid": process.pid,
        "socket": path,
        "log": str(log),
        "for_chatbots": hints(settings, port),
    }


def _listens(settings: Settings, port: int) -> bool:
    """Return whether the daemon of this vault answers on a loopback port."""
    from http.client import HTTPConnection, HTTPException

    from engram.serve.auth import BEARER, TOKENS, token_of

    token = token_of(settings.state / TOKENS["chat"])
    line = HTTPConnection(LOOPBACK, port, timeout=START_SECONDS)
    try:
        line.request(
            "GET", "/healthz", headers={"Authorization": f"{BEARER.decode()}{token}"}
        )
        return line.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        line.close()


def open_page(
    settings: Settings, show: Callable[[str, dict[str, Any]], None], *, browser: bool
) -> None:
    """Show a link to the page, and open it in a browser if there is one.

    Without a daemon one is started, which stops at SIGINT or SIGTERM of this process.
    """
    path, pid = str(settings.socket), 0
    if not socket_client.answers(path):
        pid = start_in_background(settings, None)["pid"]
    try:
        folder = str(settings.vault)
        result = socket_client.page_link(path, folder)
        if pid:
            result["until"] = "Ctrl-C closes the page, because no other daemon runs"
        show("web", result)
        if browser and is_graphical() and sys.stdout.isatty():
            import webbrowser

            webbrowser.open(result["url"])
        if pid:
            signal.signal(signal.SIGTERM, signal.default_int_handler)
            signal.pause()
    finally:
        if pid:
            os.kill(pid, signal.SIGTERM)
            os.waitpid(pid, 0)  # wait, so that the next command can open the vault


def is_graphical() -> bool:
    """Return whether a program can open a window."""
    is_x = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(is_x)


def _startup_error(output: bytes, log: Path) -> EngramError:
    """Return the error with which a daemon ended, from its output."""
    lines = output.decode(errors="replace").splitlines() or [""]
    try:
        return socket_client.fault_of(json.loads(lines[-1])["error"], {})
    except (ValueError, KeyError, TypeError):
        return UnavailableError(
            "the daemon did not start", where=str(log), fix="Its log is in that file."
        )


def hints(settings: Settings, port: int | None = None) -> Sequence[str]:
    """Return examples of connections of a chatbot."""
    port = port or settings.tcp_port
    vault = str(settings.vault).replace(os.path.expanduser("~"), "~", 1)  # noqa: PTH111
    curl = f"curl --unix-socket {settings.socket} http://localhost/v1/recall --json"
    lines = [
        f'Python:  from engram import Memory; mem = Memory("{vault}")',
        f"""Shell:   {curl} '{{"query": "…"}}'""",
    ]
    if port:
        lines.append(
            f"HTTP:    http://127.0.0.1:{port}, Authorization: Bearer $(cat {settings.state / 'token'})"
        )
    return lines
