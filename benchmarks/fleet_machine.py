"""What the measurements of a fleet share: daemons, vaults with tokens, requests, and
the CPU, memory and threads of processes.

Each daemon is a host of its own as far as one machine allows: its sockets, its cache
and its configuration are its own, the vaults and their states are shared.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from engram import config
from engram.serve.tokens import IssuedTokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
HONEST = (
    "autovacuum=on",
    "full_page_writes=on",
    "shared_buffers=128MB",
    "max_connections=300",
)
"""Settings of a server of which the work is measured; only its syncs are left out."""
LAUNCHER = Path(__file__).with_name("fleet_host.py")


# Processes.


def cpu_of(pid: int) -> float:
    """The CPU seconds of a process, of all its threads and of the children that ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return sum(map(int, fields[11:15])) / TICK


def status_of(pid: int) -> dict[str, int]:
    """The resident kilobytes (`VmRSS`) and the `Threads` of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    pairs = (line.split(":", 1) for line in lines)
    return {
        name: int(value.split()[0])
        for name, value in pairs
        if name in {"VmRSS", "Threads"}
    }


def private_memory(pid: int) -> int:
    """The bytes that a process shares with no other."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return 1024 * sum(
        int(line.split()[1]) for line in lines if line.startswith("Private_")
    )


@dataclass(frozen=True)
class DatabaseProcesses:
    """The processes of the server at a connection string of `tests.postgres`."""

    postmaster: int

    @classmethod
    def of(cls, dsn: str) -> DatabaseProcesses:
        """The processes of a server on this machine."""
        folder = Path(dsn.split(maxsplit=1)[0].removeprefix("host="))
        return cls(int((folder / "data/postmaster.pid").read_text().split()[0]))

    def children(self) -> list[int]:
        """The processes that the server has now."""
        listed = Path(f"/proc/{self.postmaster}/task/{self.postmaster}/children")
        return [int(word) for word in listed.read_text().split()]

    def cpu(self) -> float:
        """The CPU seconds of all its processes, also of those that ended.

        Living processes are measured in nanoseconds, ended ones in hundredths.
        """
        spent = cpu_of(self.postmaster)
        for pid in self.children():
            with suppress(OSError):
                spent += (
                    int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
                )
        return spent


# Vaults.


@dataclass(frozen=True)
class Fleet:
    """The folders of a fleet below `root`, its database, and how a daemon is started.

    Without `dsn` the index is in files. `lease` are the seconds of a lease, 0 for those
    of the policy.
    """

    root: Path
    dsn: str = ""
    lease: float = 0.0
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def vaults(self) -> Path:
        """The folder of the vaults."""
        return self.root / "vaults"

    def environment(self, host: int) -> dict[str, str]:
        """The environment of the daemon `host`."""
        base = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("ENGRAM_", "OPENAI_", "XDG_"))
        }
        own = self.root / f"host-{host}"
        made = {
            "HOME": str(own),
            "XDG_STATE_HOME": str(self.root / "state"),
            "XDG_CACHE_HOME": str(own / "cache"),
            "XDG_CONFIG_HOME": str(own / "config"),
            "XDG_RUNTIME_DIR": str(own / "run"),
            "PYTHONPATH": str(Path(__file__).resolve().parents[1]),
            "TZ": "UTC",
        }
        if self.lease:
            made["FLEET_LEASE_SECONDS"] = str(self.lease)
        if self.dsn:
            made["ENGRAM_POSTGRES"] = self.dsn
        for name in ("run", "cache", "config"):
            (own / name).mkdir(parents=True, exist_ok=True)
        return base | made

    def settings(self, name: str, host: int = 0) -> Any:
        """The settings of a vault as the daemon `host` has them."""
        return config.load(self.vaults / name, self.environment(host))

    def add(self, name: str, like: Path | None = None) -> None:
        """Make a vault, as a copy of `like`, and a token for it."""
        folder = self.vaults / name
        if like:
            shutil.copytree(like, folder, copy_function=shutil.copy2)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "engram.toml").write_text(f'id = "{name}-0123456789"\nzone = "UTC"\n')
        issued = IssuedTokens(self.settings(name).state)
        self.tokens[name] = issued.create("owner", "measured")[1]


# Daemons.


class Daemon:
    """A process that serves the vaults of a fleet: `host` numbers it."""

    def __init__(self, fleet: Fleet, host: int, port: int, log: Path) -> None:
        self.fleet = fleet
        self.host = host
        self.port = port
        self.log = log
        self.process: subprocess.Popen[bytes] | None = None
        self.starts = 0

    def start(self, *more: str) -> None:
        """Start the process; it answers some time later."""
        self.starts += 1
        command = [
            *(sys.executable, str(LAUNCHER), f"{self.host}"),
            *("daemon", "--vaults", str(self.fleet.vaults), "--tcp", str(self.port)),
            *more,
        ]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                env=self.fleet.environment(self.host),
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process id."""
        assert self.process is not None
        return self.process.pid

    def is_running(self) -> bool:
        """Whether the process has not ended."""
        return self.process is not None and self.process.poll() is None

    def wait_ready(self, seconds: float = 30.0) -> None:
        """Wait until the port answers; raises SystemExit with the log's end."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and self.is_running():
            with suppress(OSError, http.client.HTTPException):
                link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                link.request("GET", "/healthz")
                link.getresponse().read()
                link.close()
                return
            time.sleep(0.05)
        raise SystemExit(f"daemon {self.host}: {self.log.read_text()[-2000:]}")

    def send(self, number: int) -> None:
        """Send a signal, if the process runs."""
        if self.process is not None and self.process.poll() is None:
            os.kill(self.process.pid, number)

    def kill(self) -> None:
        """End the process at once."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def stop(self, seconds: float = 60.0) -> None:
        """End the process in order."""
        self.send(signal.SIGCONT)
        self.send(signal.SIGTERM)
        if self.process is not None:
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.kill()


@contextmanager
def daemons(fleet: Fleet, ports: Sequence[int], *more: str) -> Iterator[list[Daemon]]:
    """A daemon on each port, started one after another; ended at the end."""
    fleet.vaults.mkdir(parents=True, exist_ok=True)
    made = [
        Daemon(fleet, host, port, fleet.root / f"host-{host}.log")
        for host, port in enumerate(ports)
    ]
    try:
        for daemon in made:
            daemon.start(*more)
        for daemon in made:
            daemon.wait_ready()
        yield made
    finally:
        for daemon in made:
            daemon.send(signal.SIGCONT)
            daemon.send(signal.SIGTERM)
        for daemon in made:
            daemon.stop()


# Requests.


@dataclass(frozen=True)
class Answer:
    """The status of an answer (0: the connection ended without one), and its body."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    def json(self) -> Any:
        """The body, read."""
        return json.loads(self.body or b"{}")


def ask(
    port: int,
    token: str,
    path: str,
    body: Any = None,
    *,
    timeout: float = 60.0,
    **headers: str,
) -> Answer:
    """Send one request; a connection that fails gives the status 0."""
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    raw = None if body is None else json.dumps(body).encode()
    try:
        link.request("GET" if raw is None else "POST", path, raw, head | headers)
        reply = link.getresponse()
        got = {name.lower(): value for name, value in reply.getheaders()}
        return Answer(reply.status, reply.read(), got)
    except (OSError, http.client.HTTPException) as fault:
        return Answer(0, repr(fault).encode())
    finally:
        link.close()
