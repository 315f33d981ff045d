"""Check statements about a file system against the disk (row D10); execute nothing."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from engram.core.language.languages import LazyPattern

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Kind = Literal["path", "function", "command", "dependency"]
Level = Literal["error", "warning", "info"]

_URL = LazyPattern(r"[a-z][a-z0-9+.-]{0,20}://\S+", re.IGNORECASE)
_ABSOLUTE = LazyPattern(r"(?<![\w.~/:@}>-])/(?:[\w.@+-]+/)+[\w.@+-]*[\w@+-]")
_RELATIVE = LazyPattern(
    r"(?<![\w./~:@}>-])(?:\./)?(?:[\w@+-][\w.@+-]*/)+[\w@+-][\w@+.-]*\.[A-Za-z][A-Za-z0-9]{0,7}\b"
)
_FUNCTION = LazyPattern(
    r"`([A-Za-z_]\w*)(?:\(\))?`[^`\n]{0,20}\b(?:in|of|from)\b[^`\n]{0,10}`?([\w./@+-]+\.\w{1,8})`?"
)
_NPM = LazyPattern(r"\bnpm run ([\w:.-]+\w)")
_MAKE = LazyPattern(r"`make ([\w.-]+\w)`")
_DEPENDENCY = LazyPattern(
    r"\b(?:depends on|dependency|requires|dependencies)\b[^`\n]{0,20}`([\w@/.-]+)`",
    re.IGNORECASE,
)
_TEMPLATE = LazyPattern(r"[{<$*]")
_MANIFESTS = (
    "pyproject.toml",
    "requirements.txt",
    "package.json",
    "go.mod",
    "Cargo.toml",
    "Gemfile",
)


@dataclass(frozen=True, slots=True)
class PathClaim:
    """A path, a function in a file, a build command or a dependency named in a text."""

    kind: Kind
    name: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class DriftFinding:
    """A false claim: the seed's `code` and the reason in words."""

    level: Level
    code: str
    why: str


def find_claims(text: str) -> list[PathClaim]:
    """Return the claims of a text about a file system (`D10`).

    URLs and templates are not claims.
    """
    plain = " ".join(
        word for word in _URL.sub(" ", text).split(" ") if not _TEMPLATE.search(word)
    )
    found = [
        PathClaim("function", match[1], match[2]) for match in _FUNCTION.finditer(plain)
    ]
    found += [
        PathClaim("path", match[0])
        for pattern in (_ABSOLUTE, _RELATIVE)
        for match in pattern.finditer(plain)
    ]
    found += [PathClaim("command", match[1], "npm") for match in _NPM.finditer(plain)]
    found += [PathClaim("command", match[1], "make") for match in _MAKE.finditer(plain)]
    found += [
        PathClaim("dependency", match[1]) for match in _DEPENDENCY.finditer(plain)
    ]
    return list(dict.fromkeys(found))


def check_claim(
    claim: PathClaim, roots: Sequence[str], disk: Callable[[str], bytes | None]
) -> DriftFinding | None:
    """Return the reason why a claim is false below `roots`, or None (`D10`).

    None also means that the claim cannot be checked. `disk` returns the content of a
    path, b'' if it cannot be read, None if it does not exist. A missing absolute path
    is an error; a missing relative one is a warning, because it may refer to another
    folder.
    """
    if claim.kind == "path":
        return _path(claim.name, roots, disk)
    if claim.kind == "function":
        return _function(claim, roots, disk)
    if claim.kind == "command":
        return _command(claim, roots, disk)
    return _dependency(claim, roots, disk)


def _function(
    claim: PathClaim, roots: Sequence[str], disk: Callable[[str], bytes | None]
) -> DriftFinding | None:
    """Return a finding if none of its possible files mentions the function."""
    contents = [disk(path) for path in _places(claim.where, roots)]
    texts = [raw for raw in contents if raw]
    name = re.compile(rf"\b{re.escape(claim.name)}\b".encode())
    if not texts or any(name.search(raw) for raw in texts):
        return None
    message = f"{claim.where} has no {claim.name}"
    return DriftFinding("warning", "MISSING_FUNCTION", message)


def _dependency(
    claim: PathClaim, roots: Sequence[str], disk: Callable[[str], bytes | None]
) -> DriftFinding | None:
    """Return a finding if no manifest below the roots names the dependency."""
    manifests = [
        raw for root in roots for name in _MANIFESTS if (raw := disk(f"{root}/{name}"))
    ]
    dependency = claim.name.casefold().encode()
    if not manifests or any(dependency in raw.lower() for raw in manifests):
        return None
    message = f"no manifest names {claim.name}"
    return DriftFinding("warning", "MISSING_DEPENDENCY", message)


def score(findings: Sequence[DriftFinding]) -> int:
    """Return `100 − 10 · errors − 3 · warnings − 1 · infos`, at least 0 (`D10`)."""
    cost = {"error": 10, "warning": 3, "info": 1}
    return max(0, 100 - sum(cost[finding.level] for finding in findings))


def _path(
    name: str, roots: Sequence[str], disk: Callable[[str], bytes | None]
) -> DriftFinding | None:
    if any(disk(path) is not None for path in _places(name, roots)):
        return None
    level: Level = "error" if name.startswith("/") else "warning"
    return DriftFinding(level, "DEAD_PATH", f"nothing exists at {name}")


def _command(
    claim: PathClaim, roots: Sequence[str], disk: Callable[[str], bytes | None]
) -> DriftFinding | None:
    """Return a finding for a missing script of `package.json` or Makefile target.

    Without such a file the command cannot be checked.
    """
    name = "package.json" if claim.where == "npm" else "Makefile"
    texts = [raw for root in roots if (raw := disk(f"{root}/{name}"))]
    runs = [_scripts(raw) if claim.where == "npm" else _targets(raw) for raw in texts]
    if not texts or any(known is None or claim.name in known for known in runs):
        return None
    return DriftFinding("warning", "DEAD_COMMAND", f"no {name} has {claim.name}")


def _scripts(raw: bytes) -> set[str] | None:
    try:
        found = json.loads(raw)["scripts"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return set(found) if isinstance(found, dict) else None


def _targets(raw: bytes) -> set[str]:
    heads = re.findall(rb"^([\w.\- ]+?)\s*:(?!=)", raw, re.MULTILINE)
    return {name for head in heads for name in head.decode(errors="replace").split()}


def _places(name: str, roots: Sequence[str]) -> list[str]:
    """Return the possible paths of a name: itself, or below each root if relative."""
    return (
        [name]
        if name.startswith("/")
        else [f"{root}/{name.removeprefix('./')}" for root in roots]
    )
