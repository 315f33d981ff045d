"""Read the JSON files of an export piece by piece, also inside a folder or a zip."""

from __future__ import annotations

import hashlib
import io
import json
import re
from typing import IO, TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

from engram.core.records import Problem, Turn
from engram.ingest.importers.values import made_id

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from datetime import datetime, tzinfo
    from pathlib import Path


# zipfile raises RuntimeError for a locked or unknown archive
UNREADABLE = (OSError, BadZipFile, RuntimeError)
_CHUNK = 1 << 16

TITLE_CHARACTERS = 200

NO_CONVERSATIONS = "no conversations*.json in it"
"""The message for an export without a file of conversations."""


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
    """Return the JSON files of an unpacked export."""
    return sorted(folder.glob("conversations*.json"))


def texts(path: Path) -> Generator[tuple[str, IO[str]]]:
    """Yield name and text of the file, or of each `conversations*.json`.

    The path may be a folder or a zip with such files.
    """
    if path.suffix.lower() == ".zip":
        with ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                if re.search(r"(?:^|/)conversations[^/]*\.json$", name):
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


def conversations(
    path: Path,
    zone: tzinfo,
    read: Callable[[dict[str, Any], tzinfo, str], Iterator[Turn | Problem]],
) -> Iterator[Turn | Problem]:
    """Yield the turns of each conversation of each file, as `read` converts them.

    Yields a Problem if a folder or zip contains no `conversations*.json`.
    """
    opened = False
    try:
        for name, text in texts(path):
            opened = True
            for item in elements(text, name):
                if isinstance(item, Problem):
                    yield item
                elif isinstance(item, dict):
                    yield from read(item, zone, name)
                else:
                    yield Problem(
                        "not-an-object",
                        f"a conversation is wanted, this is {type(item).__name__}",
                        name,
                    )
    except UNREADABLE as error:
        yield Problem("unreadable", f"cannot read on: {reason(error)}", str(path))
        return
    if not opened:
        yield Problem("no-conversations", NO_CONVERSATIONS, str(path))


def turns(
    session: str,
    begun: datetime | None,
    title: str,
    messages: Iterable[tuple[str, str, str, datetime | None]],
    name: str,
) -> Iterator[Turn | Problem]:
    """Yield the turns of a conversation of an export, which began at `begun`.

    A message is its id, its role, its text and its time; by default its id is generated
    and its time is that of the preceding message. Messages without a text are left out.
    """
    if not session or begun is None:
        message = f"a conversation without id or time: {title!r}"
        yield Problem("no-conversation", message, name)
        return
    latest = begun
    for identity, role, text, when in messages:
        latest = when or latest
        if text:
            known = identity or made_id(session, role, "", latest.isoformat(), text)
            yield Turn(
                known,
                session,
                role,
                text,
                latest,
                origin="import",
                title=title[:TITLE_CHARACTERS],
            )
