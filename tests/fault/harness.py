"""Ways to break the disk under a scenario, and a judge of what is left.

Every battery runs a scenario through a variant of `syscalls.SYS`, recovers from the disk alone, checks,
recovers once more and expects that nothing changed. A kill is *virtual* (the seam raises `Killed`, closes
every descriptor and lets no further call through) unless it is said to be a real fork; no sync is carried
out except by a real fork; what is durable is the business of `power.py`.
"""

from __future__ import annotations

import errno
import inspect
import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from engram.errors import EngramError
from engram.vault import syscalls
from engram.vault.syscalls import Syscalls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

FULL = os.environ.get("ENGRAM_FAULT") == "full"

CALLS = tuple(name for name in vars(Syscalls) if not name.startswith("_"))
SYNCS = {"fsync", "fdatasync"}
ASKING = {"open", "close", "read", "lock", "unwritten"}
"""Calls that change nothing on the disk."""

STRIKES = {
    errno.ENOSPC: {"open+", "write", "mkdir", "link", "rename", "fsync", "fdatasync"},
    errno.EDQUOT: {"open+", "write", "mkdir", "link", "rename", "fsync", "fdatasync"},
    errno.EROFS: {"open+", "write", "mkdir", "link", "rename", "unlink", "chmod", "chown", "truncate"},
    errno.EACCES: {"open", "open+", "mkdir", "link", "rename", "unlink", "chmod", "chown"},
    errno.EMFILE: {"open", "open+"},
    errno.EIO: set(CALLS) - {"unwritten"} | {"open+"},
}
"""Which calls an error may come from; `open+` is an open that may create."""


class Scenario(Protocol):
    """Work on a folder that must survive everything. One thread; no time and no chance of its own.

    `run` calls `ack` with words for each promise it was given, right after it was given; it may raise
    EngramError. `recover` is what a new process does; `check` asserts that every promise in `acked` is
    kept and that nothing is half there. `run` starts from what `setup` left. `kept` is the folder that a
    second recovery leaves as it is, byte for byte.
    """

    name: str
    kept: str

    def setup(self, root: Path) -> None: ...

    def run(self, root: Path, ack: Callable[[str], object]) -> None: ...

    def recover(self, root: Path) -> None: ...

    def check(self, root: Path, acked: Sequence[str]) -> None: ...


class Killed(BaseException):
    """The process is dead; only the disk is left."""


class BrokenPromiseError(AssertionError):
    """Which promise was broken, and where the disk had been struck."""


# ------------------------------------------------------------------------------------------------ seams


@dataclass(frozen=True)
class Call:
    """A call that was made of a seam."""

    seam: Seam
    name: str
    original: Callable[..., Any]
    args: tuple[Any, ...]

    @property
    def kind(self) -> str:
        """The name, or `open+` where the call may create."""
        return "open+" if self.name == "open" and self.args[1] & os.O_CREAT else self.name

    @property
    def changes(self) -> bool:
        """Whether the call changes the disk or makes a change durable."""
        return _changing(self.kind)

    def go(self) -> Any:
        """Let it happen."""
        return self.seam.real(self)


class Seam(Syscalls):
    """Passes every call through `meet`, counts, and can die. Descriptors are followed so that none leaks."""

    def __init__(self) -> None:
        self.dead = False
        self.descriptors: set[int] = set()

    def meet(self, call: Call) -> Any:
        """Do what a variant wants to do around the call."""
        return call.go()

    def by_hand(self, path: Path) -> None:
        """A person saved a file, outside of every seam; some want to know."""

    def die(self) -> None:
        """End the process as far as the disk can tell."""
        self.bury()
        raise Killed

    def bury(self) -> None:
        """Let nothing through any more, and let go of what is open."""
        self.dead = True
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors.clear()

    def pass_on(self, call: Call) -> Any:
        """One call on its way to the system."""
        if not self.dead:
            return self.meet(call)
        if call.name == "close":
            return None
        raise Killed

    def real(self, call: Call) -> Any:
        """The call itself; syncs are left out."""
        if call.name in SYNCS:
            return None
        result = call.original(self, *call.args)
        if call.name == "open":
            self.descriptors.add(result)
        elif call.name == "close":
            self.descriptors.discard(call.args[0])
        return result


def _through(name: str) -> Callable[..., Any]:
    original = getattr(Syscalls, name)
    signature = inspect.signature(original)

    def method(self: Seam, *args: Any, **named: Any) -> Any:
        bound = signature.bind(self, *args, **named)
        bound.apply_defaults()
        return self.pass_on(Call(self, name, original, bound.args[1:]))

    return method


for _name in CALLS:
    setattr(Seam, _name, _through(_name))


class Counting(Seam):
    """Notes the kind of every call."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds: list[str] = []

    def meet(self, call: Call) -> Any:
        self.kinds.append(call.kind)
        return call.go()


class Killing(Seam):
    """Dies before or after the call with number `point` among those that change something."""

    def __init__(self, point: int, *, after: bool) -> None:
        super().__init__()
        self.left = point
        self.after = after

    def meet(self, call: Call) -> Any:
        if not call.changes:
            return call.go()
        self.left -= 1
        if self.left == -1 and not self.after:
            self.die()
        try:
            return call.go()
        finally:
            if self.left == -1:
                self.die()


class Exiting(Killing):
    """The same in a child process that really ends; syncs are real."""

    def die(self) -> None:
        os._exit(9)

    def real(self, call: Call) -> Any:
        return call.original(self, *call.args)


class Failing(Seam):
    """Gives `code` at call number `point`, or from there on, wherever that error may come from."""

    def __init__(self, point: int, code: int, *, sticky: bool) -> None:
        super().__init__()
        self.left = point
        self.code = code
        self.sticky = sticky

    def meet(self, call: Call) -> Any:
        self.left -= 1
        if call.kind in STRIKES[self.code] and (self.left == -1 or (self.sticky and self.left < 0)):
            if call.name == "close":
                call.go()
            raise OSError(self.code, os.strerror(self.code))
        return call.go()


class Tearing(Seam):
    """At write number `point` takes a share of the bytes, and dies or says so."""

    def __init__(self, point: int, share: float, *, fatal: bool) -> None:
        super().__init__()
        self.left = point
        self.share = share
        self.fatal = fatal

    def meet(self, call: Call) -> Any:
        if call.name == "write":
            self.left -= 1
        if call.name != "write" or self.left != -1:
            return call.go()
        descriptor, content = call.args
        taken = os.write(descriptor, content[: max(1, int(len(content) * self.share))])
        if self.fatal:
            self.die()
        return taken


@contextmanager
def installed(seam: Syscalls) -> Iterator[None]:
    """Let `files` use `seam`."""
    before, syscalls.SYS = syscalls.SYS, seam
    try:
        yield
    finally:
        syscalls.SYS = before


# ---------------------------------------------------------------------------------------------- judging


@dataclass
class Bench:
    """A scenario with its prepared folder, a place to work, and the defect that is put in, if any.

    `defect` is a class of methods laid over every seam.
    """

    scenario: Scenario
    base: Path
    work: Path
    defect: type | None = None

    @classmethod
    def prepare(cls, scenario: Scenario, folder: Path, defect: type | None = None) -> Bench:
        base = folder / "base"
        base.mkdir(parents=True)
        scenario.setup(base)
        return cls(scenario, base, folder / "work", defect)

    def seam(self, kind: type[Seam], *args: Any, **named: Any) -> Any:
        """A seam of that kind with the defect in it."""
        made = type(kind.__name__, (self.defect, kind), {}) if self.defect else kind
        return made(*args, **named)

    def fresh(self) -> Path:
        """The work folder as `setup` left it."""
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.base, self.work, symlinks=True)
        return self.work

    def attempt(self, seam: Seam, root: Path, acked: list[str]) -> bool:
        """Run; whether it came to an end. A refusal is an end, any other exception is not allowed."""
        try:
            with installed(seam):
                self.scenario.run(root, acked.append)
        except Killed:
            return False
        except EngramError:
            pass
        finally:
            seam.bury()
        return True

    def restart(self, root: Path, seam: Seam) -> bool:
        """Recover; whether it came to an end."""
        try:
            with installed(seam):
                self.scenario.recover(root)
        except Killed:
            return False
        finally:
            seam.bury()
        return True

    def judge(self, root: Path, acked: Sequence[str], where: str) -> None:
        """Recover, check, recover again: nothing may change. Raises BrokenPromiseError."""
        try:
            self.restart(root, self.seam(Seam))
            with installed(self.seam(Seam)):
                self.scenario.check(root, acked)
            kept = root / self.scenario.kept
            before = snapshot(kept)
            self.restart(root, self.seam(Seam))
            changed = {name for name, _ in before.items() ^ snapshot(kept).items()}
            assert not changed, f"a second recovery changed {sorted(changed)}"
        except (AssertionError, EngramError, OSError, ValueError, KeyError) as error:
            raise BrokenPromiseError(f"{self.scenario.name}, {where}: {type(error).__name__}: {error}") from error

    def kinds(self) -> list[str]:
        """The calls of an undisturbed run."""
        seam = self.seam(Counting)
        acked: list[str] = []
        root = self.fresh()
        assert self.attempt(seam, root, acked)
        self.judge(root, acked, "undisturbed")
        return seam.kinds


def snapshot(root: Path) -> dict[str, bytes]:
    """Every file under `root`."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


# -------------------------------------------------------------------------------------------- batteries


def _changing(kind: str) -> bool:
    return kind not in ASKING


def kill_everywhere(bench: Bench, every: int = 1) -> int:
    """Virtual kills before and after (every `every`-th of) the changing calls; the number of points."""
    calls = sum(map(_changing, bench.kinds()))
    points = [(point, after) for point in range(calls) for after in (False, True)][::every]
    for point, after in points:
        acked: list[str] = []
        root = bench.fresh()
        assert not bench.attempt(bench.seam(Killing, point, after=after), root, acked)
        bench.judge(root, acked, f"killed {'after' if after else 'before'} call {point}")
    return len(points)


def kill_forks(bench: Bench, every: int) -> int:
    """Real forks that end at every `every`-th point; the number of them."""
    points = range(0, sum(map(_changing, bench.kinds())), every)
    for point in points:
        root = bench.fresh()
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            _end_in_child(bench, point, root, writing)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            acked = pipe.read().decode().splitlines()
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 9
        bench.judge(root, acked, f"forked and ended at call {point}")
    return len(points)


def _end_in_child(bench: Bench, point: int, root: Path, pipe: int) -> None:
    syscalls.SYS = bench.seam(Exiting, point, after=bool(point % 2))
    try:
        bench.scenario.run(root, lambda item: os.write(pipe, f"{item}\n".encode()))
    finally:
        os._exit(3)


def fail_everywhere(bench: Bench, every: int = 1) -> int:
    """Each errno, once and for good, at (every `every`-th of) the calls it may come from."""
    kinds = bench.kinds()
    cases = [
        (point, code, sticky)
        for code, struck in STRIKES.items()
        for point, kind in enumerate(kinds)
        for sticky in (False, True)
        if kind in struck
    ][::every]
    for point, code, sticky in cases:
        acked: list[str] = []
        root = bench.fresh()
        where = f"{errno.errorcode[code]} {'from' if sticky else 'at'} call {point} ({kinds[point]})"
        try:
            bench.attempt(bench.seam(Failing, point, code, sticky=sticky), root, acked)
        except Exception as error:
            raise BrokenPromiseError(
                f"{bench.scenario.name}, {where}: {type(error).__name__} came out: {error}"
            ) from error
        bench.judge(root, acked, where)
    return len(cases)


def tear_everywhere(bench: Bench, every: int = 1) -> int:
    """Torn writes (part of the bytes, then the end) and short ones (the rest after), at every `every`-th case."""
    writes = bench.kinds().count("write")
    cases = [(point, share, fatal) for point in range(writes) for share in (0, 0.5, 0.99) for fatal in (True, False)]
    cases = cases[::every]
    for point, share, fatal in cases:
        acked: list[str] = []
        root = bench.fresh()
        ended = bench.attempt(bench.seam(Tearing, point, share, fatal=fatal), root, acked)
        assert ended is not fatal
        bench.judge(root, acked, f"{'torn' if fatal else 'short'} write {point} at {share:.0%}")
    return len(cases)


def kill_twice(bench: Bench, limit: int) -> int:
    """A kill, and another in the recovery from it: some `limit` pairs, spread over all."""
    count = 0
    calls = sum(map(_changing, bench.kinds()))
    firsts = range(0, calls, max(1, calls // limit))
    share = max(1, limit // len(firsts))
    for first in firsts:
        acked: list[str] = []
        root = bench.fresh()
        bench.attempt(bench.seam(Killing, first, after=True), root, acked)
        shutil.rmtree(saved := bench.work.with_name("saved"), ignore_errors=True)
        shutil.copytree(root, saved, symlinks=True)
        seam = bench.seam(Counting)
        bench.restart(root, seam)
        total = sum(map(_changing, seam.kinds))
        step = max(1, total // share)
        for second in range(first % step, total, step):
            shutil.rmtree(root)
            shutil.copytree(saved, root, symlinks=True)
            if bench.restart(root, bench.seam(Killing, second, after=bool(count % 2))):
                continue
            bench.judge(root, acked, f"killed after call {first} and in recovery at call {second}")
            count += 1
    return count
