"""`engram` as on another host, on one machine.

    python benchmarks/fleet_host.py NUMBER COMMAND …

The vaults are on a mount whose file locks stay on each host, as those of NFS with
`local_lock`: a lock is held against processes of the same number alone. Files that are
published are written down with the time, for `bench_fleet.py`.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from engram.core.policy import ServePolicy
from engram.vault import syscalls


class HostSyscalls(syscalls.Syscalls):
    """The calls of one host; `own` is a folder that no other host has."""

    def __init__(self, own: Path, number: str) -> None:
        self._number = number
        self._locks = own / "locks"
        self._locks.mkdir(parents=True, exist_ok=True)
        self._held: dict[int, int] = {}
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self._log = os.open(own / "published", flags, 0o600)

    def lock(self, descriptor: int) -> None:
        """Lock a file of this host in place of the shared one."""
        status = os.fstat(descriptor)
        name = self._locks / f"{status.st_dev}-{status.st_ino}"
        own = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(own, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(own)
            raise
        self._held[descriptor] = own

    def boot_id(self) -> str:
        """The name of the running system: no two hosts have one."""
        return f"host-{self._number}"

    def close(self, descriptor: int) -> None:
        """Close a descriptor with its lock."""
        own = self._held.pop(descriptor, None)
        super().close(descriptor)
        if own is not None:
            os.close(own)

    def rename(self, old: str, new: str, folder: int, to: int, flags: int = 0) -> None:
        """Rename, and write down which folder got a file."""
        super().rename(old, new, folder, to, flags)
        with suppress(OSError):
            where = Path(f"/proc/self/fd/{to}").readlink()
            line = f"{time.time_ns()} {os.getpid()} {where}/{new}\n"
            os.write(self._log, line.encode("utf-8", "surrogateescape"))


def become(number: str) -> None:
    """Make this process one of the host with this number."""
    syscalls.SYS = HostSyscalls(Path(os.environ["HOME"]), number)
    if seconds := float(os.environ.get("FLEET_LEASE_SECONDS", "0")):
        made = ServePolicy.__init__
        values = dict(zip(_NAMES, made.__defaults__ or (), strict=True))
        made.__defaults__ = (*(values | {"lease_seconds": seconds}).values(),)


_NAMES = [one.name for one in fields(ServePolicy)]


def main() -> None:
    """Run the command line."""
    number, *words = sys.argv[1:]
    become(number)
    sys.argv = ["engram", *words]
    from engram.serve.cli import main as engram

    engram()


if __name__ == "__main__":
    main()
