"""Open an export, and read its JSON piece by piece, also inside a folder or a zip."""

from __future__ import annotations

import hashlib
import io
import json
import re
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

from engram.core.records import Problem
from engram.ingest.importers import values

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path


# zipfile raises RuntimeError for a locked or unknown archive
UNREADABLE = (OSError, BadZipFile, RuntimeError)
_CHUNK = 1 << 16
_MEMBER = re.compile(
    r"(?:.*/)?(?:(?:conversations[^/]*|prod-grok-backend)\.json"
    r"|(?:Gemini|Bard)[^/]*/My ?Activity\.json)",
    re.IGNORECASE,
)
"""The paths of files with conversations: of ChatGPT and Claude, Grok and Gemini.

Google Takeout has a `MyActivity.json` for each of its products.
"""

NO_CONVERSATIONS = "no file of conversations in it"
"""The message for an export without one."""


@dataclass(frozen=True)
class Export:
    """What the format of the file or folder at `path` is recognised by."""

    path: Path

    @cached_property
    def is_folder(self) -> bool:
        """Whether it is a folder without files of conversations."""
        return self.path.is_dir() and not members(self.path)

    @cached_property
    def suffix(self) -> str:
        """The ending of a file's name in lower case; '/' for a folder."""
        return "/" if self.path.is_dir() else self.path.suffix.lower()

    @cached_property
    def line(self) -> dict[str, Any] | None:
        """The first line of a file if it is a JSON object, else None."""
        if self.suffix in {"/", ".zip"}:
            return None
        with self.path.open("rb") as file:
            line = next((line for line in file if line.strip()), b"")
        try:
            value = json.loads(line.decode("utf-8-sig", "replace"))
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None

    @cached_property
    def first(self) -> Any:
        """The first element of the JSON; a Problem if it is broken, None without one."""
        if self.is_folder or self.line is not None:
            return self.line
        with closing(texts(self.path)) as found:
            parts = (part for name, text in found for part in elements(text, name))
            return next(parts, None)

    @property
    def row(self) -> dict[str, Any]:
        """The first element if it is an object, else {}."""
        return values.as_object(self.first)

    def has(self, *keys: str) -> bool:
        """Return whether the first element has all these keys."""
        return self.row.keys() >= set(keys)


def reason(error: Exception) -> str:
    """Return the message of a read error, without its number and path."""
    return (isinstance(error, OSError) and error.strerror) or str(error)


def digest(path: Path) -> str:
    """Return a hash of a file, or of all files in a folder."""
    whole = hashlib.sha256()
    members = sorted(path.rglob("*")) if path.is_dir() else [path]
    for member in members:
        if member.is_file():
            whole.update(member.relative_to(path).as_posix().encode("utf-8", "replace"))
            with member.open("rb") as file:
                whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()


def members(folder: Path) -> list[Path]:
    """Return the files of conversations of an unpacked export."""
    found = [
        path for path in folder.rglob("*.json") if _MEMBER.fullmatch(path.as_posix())
    ]
    return sorted(path for path in found if path.is_file())


def texts(path: Path) -> Generator[tuple[str, IO[str]]]:
    """Yield name and text of the file, or of each one with conversations in it."""
    if path.suffix.lower() == ".zip":
        with ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                if _MEMBER.fullmatch(name):
                    with (
                        archive.open(name) as raw,
                        io.TextIOWrapper(raw, "utf-8-sig", "replace") as text,
                    ):
                        yield f"{path}/{name}", text
        return
    for member in members(path) if path.is_dir() else [path]:
        with member.open(encoding="utf-8-sig", errors="replace") as text:
            yield str(member), text


def elements(stream: IO[str], name: str) -> Iterator[Any]:
    """Yield the elements of a JSON list, or the single object.

    Yields a Problem and stops if the JSON is invalid or truncated.
    """
    decoder, size, line = json.JSONDecoder(), _CHUNK, 1
    buffer = stream.read(size).lstrip()
    at = 1
    if not buffer.startswith("["):
        buffer, at = f"[{buffer}{stream.read()}]", 1
    while True:
        at = _next_element(buffer, at)
        if buffer.startswith("]", at):
            return
        try:
            value, at = decoder.raw_decode(buffer, at)
        except (ValueError, RecursionError) as error:
            more = stream.read(size)
            if not more:
                message = f"the JSON breaks off or is broken: {error}"
                yield Problem(
                    "not-json", message, name, line + buffer.count("\n", 0, at)
                )
                return
            line += buffer.count("\n", 0, at)
            buffer, at, size = buffer[at:] + more, 0, 2 * size
        else:
            yield value
            size = _CHUNK


def _next_element(buffer: str, at: int) -> int:
    """Return the position of the next character that is neither blank nor comma."""
    while at < len(buffer) and (buffer[at].isspace() or buffer[at] == ","):
        at += 1
    return at
