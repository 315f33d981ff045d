"""Run `git` without executing any program that its configuration names.

Hooks, the file-system monitor, signing, editors, pagers, credential helpers, transports
and diff programs are disabled by fixed settings; content filters and hooks of the
configuration by one setting for each that `git config --list` names. All settings are
passed as `GIT_CONFIG_KEY_<n>`, which, unlike `-c`, can name every filter. Reading the
configuration executes nothing.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from engram.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Settings = Sequence[tuple[str, str]]

QUIET: Settings = (
    ("user.name", "engram"),
    ("user.email", "engram@localhost"),
    ("core.quotePath", "false"),
    ("core.safecrlf", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    # settings that would run a program of the configuration
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("commit.gpgsign", "false"),
    ("log.showSignature", "false"),
    ("gpg.program", "false"),
    ("gpg.ssh.program", "false"),
    ("gpg.x509.program", "false"),
    ("core.editor", "false"),
    ("core.pager", "cat"),
    ("core.sshCommand", "false"),
    ("core.askPass", ""),
    ("core.alternateRefsCommand", ":"),
    ("credential.helper", ""),
    ("diff.external", ""),
    ("protocol.allow", "never"),
    # a submodule has a configuration of its own
    ("submodule.recurse", "false"),
    ("diff.ignoreSubmodules", "all"),
    ("status.submoduleSummary", "false"),
)

ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_EDITOR": "false",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}

FSYNC, FSYNC_OLD = ("core.fsync", "all"), ("core.fsyncObjectFiles", "true")
"""The setting that makes objects, index and references durable since git 2.36.

Earlier versions can only make loose objects durable.
"""
FSYNC_SINCE, KEYS_SINCE = (2, 36), (2, 31)

_TRUE = frozenset(("true", "yes", "on", "1", ""))


@cache
def version() -> tuple[int, int]:
    """Return major and minor version of the installed git, (0, 0) if unknown."""
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            ["git", "version"],  # noqa: S607
            capture_output=True,
            check=False,
            timeout=10,
        )
        if match := re.search(rb"(\d+)\.(\d+)", done.stdout):
            return int(match[1]), int(match[2])
    return 0, 0


def fixed(known: tuple[int, int]) -> Settings:
    """Return the settings of each call for this version of git."""
    return (*QUIET, FSYNC if known >= FSYNC_SINCE else FSYNC_OLD)


def parsed(listing: bytes) -> list[tuple[str, str]]:
    """Return the names and values of `git config --list -z`; a missing value is ''."""
    pairs = (entry.partition(b"\n") for entry in listing.split(b"\0") if entry)
    return [(os.fsdecode(name), os.fsdecode(value)) for name, _, value in pairs]


def filters(configured: Iterable[tuple[str, str]]) -> dict[str, bool]:
    """Return the content filters, and whether each is required (git-crypt, LFS)."""
    found: dict[str, bool] = {}
    for name, value in configured:
        section, _, rest = name.partition(".")
        driver, dot, key = rest.rpartition(".")
        if section == "filter" and dot:
            required = (
                value.lower() in _TRUE
                if key == "required"
                else found.get(driver, False)
            )
            found[driver] = required
    return found


def switched_off(configured: Iterable[tuple[str, str]]) -> Settings:
    """Return settings that disable the filters and hooks of the configuration."""
    configured = list(configured)
    off: list[tuple[str, str]] = []
    for driver in filters(configured):
        off += [
            (f"filter.{driver}.{key}", "") for key in ("clean", "smudge", "process")
        ]
        off.append((f"filter.{driver}.required", "false"))
    hooks = {
        name.rpartition(".")[0]
        for name, _ in configured
        if name.startswith("hook.") and name.count(".") > 1
    }
    return [*off, *((f"{hook}.enabled", "false") for hook in sorted(hooks))]


def environment(root: Path, settings: Settings) -> dict[str, str]:
    """Return the environment of a call with these settings.

    Variables that point git to another repository are left out.
    """
    env = {
        name: value for name, value in os.environ.items() if not name.startswith("GIT_")
    } | ENVIRONMENT
    # never use a larger repository that contains the vault
    env["GIT_CEILING_DIRECTORIES"] = str(root.parent)
    env["GIT_CONFIG_COUNT"] = str(len(settings))
    for number, (key, value) in enumerate(settings):
        env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return env


def run(
    root: Path,
    words: Sequence[str],
    settings: Settings,
    given: bytes,
    until: float,
    seconds: float,
) -> bytes:
    """Return the output of `git <words>` in `root`; `given` is its standard input.

    It may run until `until` (monotonic seconds); then it is terminated, and killed
    `seconds` later. Raises StorageError if git fails, takes too long, or is too old to
    disable a filter.
    """
    command = ["git", "--no-pager", *words]
    if version() < KEYS_SINCE:  # this version does not support the variables
        if any("=" in key for key, _ in settings):
            fix = "Give the filter a name without `=`, or install a newer git."
            raise StorageError(
                "git is too old to leave a filter out", where=str(root), fix=fix
            )
        options = [word for key, value in settings for word in ("-c", f"{key}={value}")]
        command = ["git", "--no-pager", *options, *words]
    pipe = subprocess.PIPE
    env: Mapping[str, str] = environment(root, settings)
    try:
        with subprocess.Popen(  # noqa: S603
            command, cwd=root, env=env, stdin=pipe, stdout=pipe, stderr=pipe
        ) as process:
            output, errors = _communicate(process, root, given, until, seconds)
    except OSError as fault:
        raise StorageError(
            "git cannot be run", where=str(root), fix="Look whether it is installed."
        ) from fault
    if process.returncode:
        lines = errors.decode(errors="replace").strip().splitlines()
        raise StorageError(
            "git refused",
            where=lines[0] if lines else words[0],
            fix="Run `git status` in the vault.",
        )
    return output


def _communicate(
    process: subprocess.Popen[bytes],
    root: Path,
    given: bytes,
    until: float,
    seconds: float,
) -> tuple[bytes, bytes]:
    """Return standard output and error of git; StorageError if it takes too long.

    A terminated git removes its locks; a killed one does not.
    """
    try:
        return process.communicate(given, max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        process.terminate()
        try:
            process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
        raise StorageError(
            "git takes too long", where=str(root), fix="Run `git status` in the vault."
        ) from None


def lock_owner(lock: Path, root: Path) -> str:
    """Return the process that may own a lock file of the repository in `root`, or ''.

    It is a process that has the file open, or a git that works in the vault, since git
    closes its lock while an editor is open. Processes of other users are not found.
    """
    for process in sorted(_processes()):
        with suppress(OSError, ValueError):
            name = (process / "comm").read_text(errors="replace").strip()
            where = str((process / "cwd").readlink())
            if name.startswith("git") and (
                where == str(root) or where.startswith(f"{root}/")
            ):
                return f"process {process.name} ({name})"
            if any(_leads_to(entry, lock) for entry in (process / "fd").iterdir()):
                return f"process {process.name} ({name})"
    return ""


def _processes() -> list[Path]:
    return [path for path in Path("/proc").iterdir() if path.name.isdigit()]


def _leads_to(entry: Path, lock: Path) -> bool:
    with suppress(OSError):
        return entry.readlink() == lock
    return False
