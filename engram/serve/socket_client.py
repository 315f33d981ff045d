"""Find the daemon of a vault and call an operation over its Unix socket.

A recall through the daemon should cost little more than starting Python. This module
therefore imports neither the configuration nor an HTTP library.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import time

from engram.errors import BusyError, EngramError, UnavailableError
from engram.operations.table import named
from engram.vault import location
from engram.vault.location import is_special

TYPE_CHECKING = False  # loading typing would cost as much again
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class SilentError(UnavailableError):
    """A daemon has the socket open but answers nothing at all."""


class AbsentError(UnavailableError):
    """No daemon listens on the socket of this vault.

    `engram status` exits like `systemctl status` for an inactive service.
    """

    exit_code = 3


LINK_PATH = "/web/link"
"""Path of the request for a link to the page."""

FOLDER_HEADER = "Engram-Folder"
"""Header with the device and inode of the vault's folder."""

SILENT_SECONDS, PING_SECONDS = 2.0, 3.0
"""Seconds without a sign of the daemon until it is asked whether it is alive, and the
seconds that it has to answer this.
"""

LONGEST_ADDRESS = 107
"""Maximum bytes of a Unix socket address on Linux.

A longer path is opened through a descriptor of its folder.
"""


def folder_of(vault: str | None, env: Mapping[str, str]) -> str | None:
    """Return the folder of the vault that `config.load` would choose.

    None if only parsing the configuration determines it.
    """
    home = env.get("HOME")
    if not home:
        return None
    config = (
        env.get("ENGRAM_HOME")
        or f"{env.get('XDG_CONFIG_HOME') or f'{home}/.config'}/engram"
    )
    folder = (
        vault or env.get("ENGRAM_VAULT") or plain_text(f"{config}/config.toml", "vault")
    )
    if folder is None:
        return None
    if not folder:
        folder = "." if os.path.isfile("engram.toml") else f"{home}/Engram"  # noqa: PTH113
    return os.path.expanduser(folder)  # noqa: PTH111


def socket_of(vault: str | None, env: Mapping[str, str]) -> str | None:
    """Return the socket of the vault that `config.load` would choose.

    None if only parsing the configuration determines it.
    """
    homes = _homes(env)
    leaf = _leaf(vault, env, homes[0])
    return leaf and f"{homes[1]}/{leaf}/engram.sock"


def state_of(vault: str | None, env: Mapping[str, str]) -> str | None:
    """Return the state folder of the vault that `config.load` would choose.

    None if only parsing the configuration determines it.
    """
    state = _homes(env)[0]
    leaf = _leaf(vault, env, state)
    return leaf and f"{state}/{leaf}"


def _homes(env: Mapping[str, str]) -> tuple[str, str]:
    """Return the folders of the states and of the sockets."""
    if own := env.get("ENGRAM_HOME"):
        base = os.path.realpath(os.path.expanduser(own))  # noqa: PTH111
        return f"{base}/state", f"{base}/run"
    home = env.get("XDG_STATE_HOME") or f"{env.get('HOME', '')}/.local/state"
    return f"{home}/engram", location.socket_home(env, f"{home}/engram")


def _leaf(vault: str | None, env: Mapping[str, str], state: str) -> str | None:
    """Return the name of the folder of a vault below the states and the sockets."""
    folder = folder_of(vault, env)
    vault_id = folder and _id_at(folder)
    if not folder or not vault_id:
        return None
    return location.choose(os.path.realpath(folder), vault_id, state, _id_at).leaf


def _id_at(folder: str) -> str | None:
    """Return the id of the vault in a folder; '' or None if it is unknown."""
    vault_id = plain_text(f"{folder}/engram.toml", "id")
    return (
        vault_id
        if vault_id and vault_id.replace("-", "").replace("_", "").isalnum()
        else None
    )


def folder_mark(folder: str | None) -> str:
    """Return the device and inode of a folder, or '' if it cannot be read.

    This form identifies the vault in a request.
    """
    try:
        found = os.stat(folder) if folder else None  # noqa: PTH116
    except OSError:
        return ""
    return f"{found.st_dev}-{found.st_ino}" if found else ""


def plain_text(path: str, name: str) -> str | None:
    """Return the value of a line `name = "value"` of a TOML file.

    '' if the name does not occur in it, None if the file has to be parsed.
    """
    if is_special(path):
        return None
    try:
        with open(path, encoding="utf-8-sig") as file:  # noqa: PTH123
            text = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, UnicodeDecodeError):
        return None
    if name not in text:
        return ""
    if '"""' in text or "'''" in text:
        return None
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key.strip() == name:
            inner = value.strip()[1:-1]
            return (
                inner
                if value.strip() == f'"{inner}"' and not set('"\\') & set(inner)
                else None
            )
        if line.lstrip().startswith("["):
            break
    return None


def connect(path: str, timeout: float | None = None) -> socket.socket:
    """Return a connection to the daemon at `path`.

    Raises AbsentError if there is none, SilentError if it accepts no connection.
    """
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    wait = SILENT_SECONDS + PING_SECONDS if timeout is None else timeout
    client.settimeout(wait)
    try:
        _connect(client, path, time.monotonic() + wait)
    except BlockingIOError as fault:
        client.close()
        raise _silent(path, 0) from fault
    except OSError as fault:
        client.close()
        raise AbsentError(
            "no daemon answers",
            where=f"{path}: {os.strerror(fault.errno or 0)}",
            fix="Start one with `engram up` (through systemd) or `engram daemon`; other commands need none.",
        ) from fault
    return client


def _connect(client: socket.socket, path: str, last: float) -> None:
    """Connect until `last`; raise BlockingIOError if too many connections still wait."""
    with Address(path) as address:
        while True:
            try:
                client.connect(address)
            except BlockingIOError:
                if time.monotonic() > last:
                    raise
                time.sleep(0.05)
            else:
                return


def answers(path: str) -> bool:
    """Return whether a daemon listens on the socket. Raises SilentError."""
    try:
        connect(path).close()
    except AbsentError:
        return False
    return True


def _silent(path: str, pid: int) -> SilentError:
    """Return the error about a daemon that does not answer; `pid` 0 is unknown."""
    process = f"process {pid}, " if pid else ""
    number = str(pid) if pid else "PID"
    return SilentError(
        "the daemon runs but does not answer",
        where=f"{process}{path}",
        fix=f"If it is suspended, continue it with `kill -CONT {number}`; else end it with `kill -KILL {number}` and start it again. No acknowledged turn is lost. The request may still be carried out.",
    )


class _Patience:
    """The wait for a daemon that works: it lasts until the daemon answers nothing more.

    Each time `line` is silent for `SILENT_SECONDS`, the daemon has `PING_SECONDS` to
    answer on a second connection. `timeout` limits the whole wait, if it is not None.
    """

    def __init__(self, line: socket.socket, path: str, timeout: float | None) -> None:
        self.line = line
        self.path = path
        self.last = None if timeout is None else time.monotonic() + timeout

    def start(self) -> None:
        """Let the next operation of the line last for a moment. Raises TimeoutError."""
        left = SILENT_SECONDS
        if self.last is not None:
            left = min(left, self.last - time.monotonic())
        if left <= 0:
            raise TimeoutError
        self.line.settimeout(left)

    def check(self) -> None:
        """Raise SilentError if the daemon does not answer a ping."""
        if self.last is not None and time.monotonic() >= self.last:
            return
        try:
            with connect(self.path, PING_SECONDS) as ping:
                ping.sendall(b"GET /healthz HTTP/1.1\r\nHost: engram\r\n\r\n")
                ping.recv(1)
        except (TimeoutError, SilentError) as fault:
            raise _silent(self.path, self._pid()) from fault
        except OSError:  # it ends, so the line ends too
            return

    def _pid(self) -> int:
        """Return the process that listens on the socket; 0 if systemd opened it."""
        form = struct.Struct("3i")
        raw = self.line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, form.size)
        pid = form.unpack(raw)[0]
        return pid if pid > 1 else 0


class Address:
    """A path as a socket address.

    A path that is too long is reached through a descriptor of its folder.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.folder = -1

    def __enter__(self) -> str:
        if len(os.fsencode(self.path)) <= LONGEST_ADDRESS:
            return self.path
        folder, _, name = self.path.rpartition("/")
        self.folder = os.open(folder, os.O_PATH | os.O_DIRECTORY)
        return f"/proc/self/fd/{self.folder}/{name}"

    def __exit__(self, *_: object) -> None:
        if self.folder >= 0:
            os.close(self.folder)


def call(path: str, name: str, params: Mapping[str, Any], **how: Any) -> dict[str, Any]:
    """Return the result of operation `name`; the options are those of `send`."""
    return send(path, request_of(name, params), **how)


def page_link(path: str, folder: str | None = None) -> dict[str, Any]:
    """Return a link to the page, as `{"url": …}`; raise the daemon's EngramError."""
    return send(path, ("POST", LINK_PATH, b"{}"), owner=True, folder=folder)


def send(
    path: str,
    request: tuple[str, str, bytes],
    *,
    timeout: float | None = None,
    owner: bool = False,
    folder: str | None = None,
    client: str = "",
) -> dict[str, Any]:
    """Send method, target and body; return the answer.

    `owner` is true for the owner's command line, false for a chatbot
    (`auth.SocketAccess`). With `folder`, the vault's, a daemon that serves another
    folder refuses. `client` is the program for which this one asks. Raises the
    EngramError of the daemon.
    """
    method, target, body = request
    lines = [f"{method} {target} HTTP/1.1", "Host: engram", "Connection: close"]
    lines += [f"User-Agent: {client}"] if client else []
    lines += ["Engram-Caller: owner"] if owner else []
    if mark := folder_mark(folder):
        lines.append(f"{FOLDER_HEADER}: {mark}")
    if method != "GET":
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    head = "\r\n".join([*lines, "", ""]).encode("ascii")
    with connect(path, timeout) as line:
        patience = _Patience(line, path, timeout)
        try:
            is_whole = _send(patience, head + body)
            status, headers, reply = _answer(patience, is_whole=is_whole)
        except ConnectionResetError as fault:
            # The daemon stopped before it read the whole request.
            raise AbsentError(
                "the daemon stopped; nothing was changed",
                where=target,
                fix="Try again.",
            ) from fault
        except OSError as fault:
            raise UnavailableError(
                "the daemon did not answer",
                where=target,
                fix="See `engram status`.",
            ) from fault
    try:
        result = json.loads(reply)
    except ValueError as fault:
        raise UnavailableError(
            "the daemon closed the connection during its answer",
            where=target,
            fix="Try again.",
        ) from fault
    if status >= 400:
        raise fault_of(result.get("error", {}), headers)
    return dict(result)


def _send(patience: _Patience, request: bytes) -> bool:
    """Send the request; return False if the daemon closed the connection before.

    The daemon answers a request that is too large before its end.
    """
    unsent = memoryview(request)
    while unsent:
        patience.start()
        try:
            unsent = unsent[patience.line.send(unsent) :]
        except TimeoutError:
            patience.check()
        except (BrokenPipeError, ConnectionResetError):
            return False
    return True


def request_of(name: str, params: Mapping[str, Any]) -> tuple[str, str, bytes]:
    """Return method, target and body of the request for an operation.

    Arguments that are None are left out.
    """
    arguments = {key: value for key, value in params.items() if value is not None}
    operation = named(name)
    target = operation.path
    if "{id}" in target:
        from urllib.parse import quote

        default = next(one.default for one in operation.params if one.name == "id")
        wanted = str(arguments.pop("id", default))
        target = target.replace("{id}", quote(wanted, safe="", errors="replace"))
    if operation.method in {"POST", "PATCH"}:
        return operation.method, target, json.dumps(arguments).encode()
    if arguments:
        from urllib.parse import urlencode

        target += f"?{urlencode(arguments, doseq=True, errors='replace')}"
    return operation.method, target, b""


def fault_of(error: Mapping[str, Any], headers: Mapping[str, str]) -> EngramError:
    """Return the exception for the error object of a response."""
    code = error.get("code", "internal")
    words = {key: str(error.get(key, "")) for key in ("where", "fix")}
    what = str(error.get("what", "the daemon reported an error"))
    if code == BusyError.code:
        return BusyError(
            what, retry_after=int(headers.get("retry-after", "1")), **words
        )
    kinds = [EngramError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return next((kind for kind in kinds if kind.code == code), EngramError)(
        what, **words
    )


def _received(patience: _Patience) -> bytes:
    """Return all bytes until the daemon closes the connection."""
    parts: list[bytes] = []
    while True:
        patience.start()
        try:
            part = patience.line.recv(1 << 16)
        except TimeoutError:
            patience.check()
            continue
        except ConnectionResetError:
            if not parts:
                raise
            part = b""  # the daemon answered before it had the whole request
        if not part:
            return b"".join(parts)
        parts.append(part)


def _answer(
    patience: _Patience, *, is_whole: bool
) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body; the daemon then closes the connection.

    `is_whole` is true if the whole request was sent. Raises ConnectionResetError if the
    daemon cannot have carried it out.
    """
    raw = _received(patience)
    if not raw and not is_whole:
        raise ConnectionResetError
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *rest = head.decode("latin-1").split("\r\n")
    parts = first.split(" ", 2)
    if len(parts) < 2 or not parts[1].isdigit():
        raise ConnectionAbortedError  # the request may have been carried out
    headers = {
        key.lower(): value.strip()
        for key, _, value in (item.partition(":") for item in rest)
    }
    return int(parts[1]), headers, body
