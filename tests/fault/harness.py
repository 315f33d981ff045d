"""Ways to break the disk under a scenario, and a judge of what is left.

Every battery runs a scenario through a variant of `syscalls.SYS`, recovers from the
disk alone, checks, recovers once more and expects that nothing changed. A kill is
*virtual* (the seam raises `Killed`, closes every descriptor and lets no further call
through) unless it is said to be a real fork; no sync is carried out except by a real
fork; what is durable is the business of `power.py`.
"""

from __future__ import annotations

import errno
import inspect
import os
import shutil
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from engram.errors import EngramError
from engram.vault import syscalls
from engram.vault.syscalls import Syscalls

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

FULL = os.environ.get("ENGRAM_FAULT") == "full"

CALLS = tuple(name for name in vars(Syscalls) if not name.startswith("_"))
SYNCS = {"fsync", "fdatasync"}
ASKING = {"open", "close", "read", "lock", "has_no_writer"}
"""Calls that change nothing on the disk."""

STRIKES = {
    errno.ENOSPC: {"open+", "write", "mkdir", "link", "rename", "fsync", "fdatasync"},
    errno.EDQUOT: {"open+", "write", "mkdir", "link", "rename", "fsync", "fdatasync"},
    errno.EROFS: {
        "open+",
        "write",
        "mkdir",
        "link",
        "rename",
        "unlink",
        "chmod",
        "chown",
        "truncate",
    },
    errno.EACCES: {
        "open",
        "open+",
        "mkdir",
        "link",
        "rename",
        "unlink",
        "chmod",
        "chown",
    },
    errno.EMFILE: {"open", "open+"},
    errno.EIO: set(CALLS) - {"has_no_writer"} | {"open+"},
}
"""Which calls an error may come from; `open+` is an open that may create."""


def changing(kind: str) -> bool:
    """Whether a call of that kind changes the disk or makes a change durable."""
    return kind not in ASKING


class Scenario(Protocol):
    """Work on a folder that must survive everything. One thread; no time and no chance
    of its own.

    `run` calls `ack` with words for each promise it was given, right after it was
    given; it may raise EngramError. `recover` is what a new process does; `check`
    asserts that every promise in `acked` is kept and that nothing is half there. `run`
    starts from what `setup` left. `kept` is the folder that a second recovery leaves as
    it is, byte for byte.
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
        return (
            "open+" if self.name == "open" and self.args[1] & os.O_CREAT else self.name
        )

    @property
    def changes(self) -> bool:
        """Whether the call changes the disk or makes a change durable."""
        return changing(self.kind)

    def go(self) -> Any:
        """Let it happen."""
        return self.seam.real(self)


class Seam(Syscalls):
    """Passes every call through `meet`, counts, and can die. Descriptors are followed
    so that none leaks.
    """

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
    names, *_, defaults = inspect.getfullargspec(original)[:4]
    given = dict.fromkeys(names[1:]) | dict(
        zip(reversed(names), reversed(defaults or ()), strict=False)
    )

    def method(self: Seam, *args: Any, **named: Any) -> Any:
        rest = {name: given[name] for name in names[len(args) + 1 :]} | named
        return self.pass_on(Call(self, name, original, (*args, *rest.values())))

    return method


for _name in CALLS:
    setattr(Seam, _name, _through(_name))


PROGRAM = str(Path(syscalls.__file__).parents[1])
DEPTH = 4


def site() -> tuple[tuple[str, int], ...]:
    """From where in the program a call is made: the innermost lines that lead to it."""
    frame, found = sys._getframe(1), []
    while frame is not None and len(found) < DEPTH:
        if frame.f_code.co_filename.startswith(PROGRAM):
            found.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return tuple(found)


class Counting(Seam):
    """Notes the kind of every call and its site."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds: list[str] = []
        self.sites: list[object] = []

    def meet(self, call: Call) -> Any:
        self.kinds.append(call.kind)
        self.sites.append((call.kind, site()))
        return call.go()


class Leaving(Seam):
    """Leaves a copy of `root` as a kill before or after a changing call would leave it,
    at these points or at all.

    A copy is put into the place of `root` when its turn comes. `acked` is what was
    promised so far.
    """

    def __init__(
        self,
        root: Path,
        points: Sequence[tuple[int, bool]] | None,
        acked: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self.root = root
        self.points = points and set(points)
        self.acked = acked
        self.number = 0
        self.taken: list[Left] = []

    def meet(self, call: Call) -> Any:
        if not call.changes:
            return call.go()
        point, where = self.number, (call.kind, site())
        self.number += 1
        self.leave(point, where, after=False)
        try:
            return call.go()
        finally:
            self.leave(point, where, after=True)

    def leave(self, point: int, where: object, *, after: bool) -> None:
        """Copy the folder, if this is a point."""
        if self.points is None or (point, after) in self.points:
            copy = self.root.with_name(f"left-{self.number}-{after}-{id(self)}")
            shutil.copytree(self.root, copy, symlinks=True)
            self.taken.append(Left(copy, point, where, after, len(self.acked)))

    def clear(self) -> None:
        """Throw away what is left."""
        for left in self.taken:
            shutil.rmtree(left.copy, ignore_errors=True)


def clear(root: Path, keep: Collection[str] = ()) -> None:
    """Remove everything below the folder `root` but the folders in `keep`, relative to
    it: they stay the same ones.
    """
    for path in sorted(root.rglob("*"), reverse=True):
        if path.is_symlink() or not path.is_dir():
            path.unlink()
        elif str(path.relative_to(root)) not in keep:
            path.rmdir()


def refill(root: Path, source: Path) -> None:
    """Give the folder `root` the content of `source`. A folder that stands in both
    stays the same one.
    """
    clear(
        root,
        {str(path.relative_to(source)) for path in source.rglob("*") if path.is_dir()},
    )
    shutil.copytree(source, root, symlinks=True, dirs_exist_ok=True)


@dataclass(frozen=True)
class Left:
    """What a kill leaves: where it is kept, after or before which call, and how many
    promises had been made.
    """

    copy: Path
    point: int
    site: object
    after: bool
    promised: int

    def put(self, root: Path) -> None:
        """Let it be the folder of the next life."""
        refill(root, self.copy)
        shutil.rmtree(self.copy)


class Killing(Seam):
    """Dies before or after the call with number `point` among those that change
    something.
    """

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
    """Gives `code` at call number `point`, or from there on, wherever that error may
    come from.
    """

    def __init__(self, point: int, code: int, *, sticky: bool) -> None:
        super().__init__()
        self.left = point
        self.code = code
        self.sticky = sticky

    def meet(self, call: Call) -> Any:
        self.left -= 1
        if call.kind in STRIKES[self.code] and (
            self.left == -1 or (self.sticky and self.left < 0)
        ):
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
    """A scenario with a place to work, a copy of it as `setup` left it, and the defect
    that is put in, if any.

    Everything runs in the folder `work`, which stays the same one: a copied vault is
    another vault, with a state of its own and a catalogue that begins anew
    (`engram.vault.location`). `defect` is a class of methods laid over every seam.
    """

    scenario: Scenario
    base: Path
    work: Path
    defect: type | None = None

    @classmethod
    def prepare(
        cls, scenario: Scenario, folder: Path, defect: type | None = None
    ) -> Bench:
        base, work = folder / "base", folder / "work"
        work.mkdir(parents=True)
        scenario.setup(work)
        shutil.copytree(work, base, symlinks=True)
        return cls(scenario, base, work, defect)

    def seam(self, kind: type[Seam], *args: Any, **named: Any) -> Any:
        """A seam of that kind with the defect in it."""
        made = type(kind.__name__, (self.defect, kind), {}) if self.defect else kind
        return made(*args, **named)

    def fresh(self) -> Path:
        """The work folder as `setup` left it."""
        refill(self.work, self.base)
        return self.work

    def attempt(self, seam: Seam, root: Path, acked: list[str]) -> bool:
        """Run; whether it came to an end. A refusal is an end, any other exception is
        not allowed.
        """
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
            raise BrokenPromiseError(
                f"{self.scenario.name}, {where}: {type(error).__name__}: {error}"
            ) from error

    def counted(self) -> Counting:
        """The calls of an undisturbed run."""
        seam: Counting = self.seam(Counting)
        acked: list[str] = []
        root = self.fresh()
        assert self.attempt(seam, root, acked)
        self.judge(root, acked, "undisturbed")
        return seam


def snapshot(root: Path) -> dict[str, bytes]:
    """Every file under `root`, but for what git keeps."""
    found: dict[str, bytes] = {}
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(set(folders) - {".git"})
        paths = (Path(folder, name) for name in sorted(names))
        found |= {
            str(path.relative_to(root)): path.read_bytes()
            for path in paths
            if not path.is_symlink()
        }
    return found
