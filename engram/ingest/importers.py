"""Conversations people already have, as turns: JSON lines, ChatGPT, Claude, Markdown,
LoCoMo (row X28).

Every reader streams: a file is never held whole, at most one conversation of it. Every
turn has an id that the same export gives again, so a second import adds nothing. A
fault in the text is a `Problem` in the stream, and the rest goes on.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

from engram.core.records import Problem, Turn
from engram.errors import BadRequestError, NotFoundError
from engram.vault.template import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from datetime import tzinfo

    Found = Turn | Problem

KINDS = ("jsonl", "chatgpt", "claude", "markdown", "locomo")
"""The formats, in words: one JSON object a line, or such objects as a list or alone in
a file; the two products' exports, as `conversations.json`, its folder or the zip; a
Markdown file or a folder of them; the LoCoMo file.
"""

_TEXT_KEYS = ("text", "content")
_SESSION_KEYS = ("session", "session_id", "conversation", "conversation_id")
_TIME_KEYS = ("occurred_at", "timestamp", "time", "created_at", "date")
_SPEAKER_KEYS = ("speaker", "name")
_ID_KEYS = ("id", "message_id", "uuid")
_ROLES = {
    "human": "user",
    "ai": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "developer": "system",
}
_MONTHS = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)
_KNOWN_ROLES = frozenset({"user", "assistant", "system", "tool"})

_WHOLE = "turns as whole JSON"
_NOTE_SUFFIXES = frozenset({".md", ".markdown"})
_CHUNK = 1 << 16
_SNIPPET = 60
_LOOK = "Look whether you may read it, and whether it is whole."
# zipfile says RuntimeError of a locked or unknown archive
_UNREADABLE = (OSError, BadZipFile, RuntimeError)
# Seconds since 1970 have ten digits for the next centuries; more digits are
# milliseconds or microseconds.
_MILLISECONDS_FROM = 1e11
_MICROSECONDS_FROM = 1e14


def read_export(path: Path, zone: tzinfo, kind: str = "auto") -> Iterator[Found]:
    """The turns in `path`, oldest first within a conversation; `zone` is for times that
    name none (`X28`).

    `auto` looks at the content, not at the name. NotFoundError if there is nothing at
    `path`; BadRequestError says what was seen and what is read if the format is not
    known; both are raised at once, not on the first turn.
    """
    if not path.exists():
        raise NotFoundError("nothing to import", where=str(path))
    if kind not in {"auto", *KINDS}:
        raise BadRequestError(
            f"unknown format {kind!r}", fix=f"Use auto or one of: {', '.join(KINDS)}."
        )
    try:
        seen = _detect(path) if kind == "auto" else kind
        if path.is_file():
            path.open("rb").close()
    except _UNREADABLE as error:
        raise BadRequestError(
            f"cannot read the export: {_why(error)}", where=str(path), fix=_LOOK
        ) from error
    if seen == "markdown":
        return _markdown(path, zone)
    if seen in {"jsonl", _WHOLE}:
        return _plain_turns(path, zone, _rows(path) if seen == _WHOLE else _lines(path))
    return _conversations(
        path, zone, {"chatgpt": _chatgpt, "claude": _claude, "locomo": _locomo}[seen]
    )


def _why(error: Exception) -> str:
    """What the system says without its number and the path, which is told beside it."""
    return (isinstance(error, OSError) and error.strerror) or str(error)


# --- which format ----------------------------------------------------------------------------------------------


def _detect(path: Path) -> str:
    """The format by content; BadRequestError if it is none of ours."""
    if path.is_dir() and not _members(path):
        if (path / SETTINGS).exists():
            fix = "What is in it is remembered already; to work with it name it with --vault."
            raise BadRequestError(
                "this folder is a vault of engram", where=str(path), fix=fix
            )
        if next(_notes(path), None):
            return "markdown"
        raise _unknown(path, "a folder without Markdown files or conversations.json")
    if path.is_file() and path.suffix.lower() in _NOTE_SUFFIXES:
        return "markdown"
    if path.is_file() and path.suffix.lower() != ".zip" and _begins_with_a_line(path):
        return "jsonl"
    with closing(_texts(path)) as texts:
        return _shape(
            path,
            next(
                (item for name, text in texts for item in _elements(text, name)), None
            ),
        )


def _shape(path: Path, first: Any) -> str:
    """The format whose conversation `first` is."""
    if first is None:
        raise _unknown(path, "nothing")
    if isinstance(first, Problem):
        raise _unknown(
            path, f"no whole JSON, line {first.line} is broken or breaks off"
        )
    if not isinstance(first, dict):
        raise _unknown(path, f"a JSON list of {type(first).__name__}")
    for kind, mark in (
        ("chatgpt", "mapping"),
        ("claude", "chat_messages"),
        ("locomo", "sample_id"),
    ):
        if mark in first:
            return kind
    if (
        path.is_file()
        and path.suffix.lower() != ".zip"
        and _first(first, _TEXT_KEYS) is not None
    ):
        return _WHOLE
    raise _unknown(
        path, f"JSON objects with the keys {', '.join(sorted(first)[:8]) or 'none'}"
    )


def _unknown(path: Path, saw: str) -> BadRequestError:
    return BadRequestError(
        f"this is no export we know; it holds {saw}",
        where=str(path),
        fix=f"Give one of these, or name the kind if you are sure: {', '.join(KINDS)}.",
    )


def _begins_with_a_line(path: Path) -> bool:
    """Whether the first line is a JSON object of its own, and no whole export in one
    line.
    """
    with path.open("rb") as file:
        line = next((line for line in file if line.strip()), b"")
    try:
        value = json.loads(line.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and not {
        "mapping",
        "chat_messages",
        "sample_id",
    } & set(value)


# --- plain turns, a line each or as whole JSON -------------------------------------------------------------------


def _plain_turns(
    path: Path, zone: tzinfo, rows: Iterator[tuple[int, Any]]
) -> Iterator[Found]:
    """One turn a row. A row without a time has the time of the row before, the first
    one the file's.
    """
    latest = _modified(path, zone)
    for number, row in rows:
        found = (
            row
            if isinstance(row, Problem)
            else _plain_turn(row, path.stem, zone, latest)
        )
        if isinstance(found, Turn):
            latest = found.occurred_at
        yield (
            found
            if isinstance(found, Turn | Problem)
            else Problem(*found, str(path), number)
        )


def _lines(path: Path) -> Iterator[tuple[int, Any]]:
    """The value of each line, or the Problem with it, and its number."""
    with path.open("rb") as lines:
        for number, raw in enumerate(lines, start=1):
            if not raw.strip():
                continue
            try:
                yield number, json.loads(raw.decode("utf-8-sig"))
            except (ValueError, RecursionError) as error:
                yield (
                    number,
                    Problem(
                        "not-json", f"not a line of JSON: {error}", str(path), number
                    ),
                )


def _rows(path: Path) -> Iterator[tuple[int, Any]]:
    """The elements of the file's list, or its one object; which line each stands on is
    not known.
    """
    with path.open(encoding="utf-8-sig", errors="replace") as text:
        yield from ((0, element) for element in _elements(text, str(path)))


def _plain_turn(
    row: Any, stem: str, zone: tzinfo, latest: datetime
) -> Turn | tuple[str, str]:
    """The turn, or the code and message of what is wrong."""
    if not isinstance(row, dict):
        return "not-an-object", f"a JSON object is wanted, this is {type(row).__name__}"
    text = _words(_first(row, _TEXT_KEYS))
    if not text:
        return "no-text", f"no text under {' or '.join(_TEXT_KEYS)}"
    given = _first(row, _TIME_KEYS)
    when = latest if given is None else _when(given, zone)
    if when is None:
        return "bad-time", f"not a time: {str(given)[:_SNIPPET]!r}"
    role, speaker = _role(row.get("role")), _string(_first(row, _SPEAKER_KEYS))
    session = _string(_first(row, _SESSION_KEYS)) or stem
    name = _string(_first(row, _ID_KEYS)) or _made_id(
        session, role, speaker, str(given or ""), text
    )
    persona = _string(row.get("persona")) or None
    return Turn(name, session, role, text, when, speaker, persona, "import")


# --- conversations in JSON: ChatGPT, Claude, LoCoMo ----------------------------------------------------------------


def _conversations(
    path: Path,
    zone: tzinfo,
    read: Callable[[dict[str, Any], tzinfo, str], Iterator[Found]],
) -> Iterator[Found]:
    """Each conversation of each file through `read`."""
    try:
        for name, text in _texts(path):
            for item in _elements(text, name):
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
    except _UNREADABLE as error:
        yield Problem("unreadable", f"cannot read on: {_why(error)}", str(path))


def _chatgpt(talk: dict[str, Any], zone: tzinfo, name: str) -> Iterator[Found]:
    """What was said on the branch the person kept: from the current node up to the
    root.
    """
    mapping = _object(talk.get("mapping"))
    session = _string(_first(talk, ("conversation_id", "id")))
    latest = _when(talk.get("create_time"), zone)
    if not session or latest is None:
        yield Problem(
            "no-conversation",
            f"a conversation without id or time: {_string(talk.get('title'))!r}",
            name,
        )
        return
    for node in _branch(mapping, _string(talk.get("current_node"))):
        message = _object(mapping[node].get("message"))
        role = _string(_object(message.get("author")).get("role"))
        content = _object(message.get("content"))
        spoken = content.get("content_type") in {
            "text",
            "multimodal_text",
        } and message.get("recipient") in {
            None,
            "all",
        }
        text = _words(content.get("parts"))
        if (
            role in {"user", "assistant"}
            and spoken
            and text
            and not _object(message.get("metadata")).get(_HIDDEN)
        ):
            latest = _when(message.get("create_time"), zone) or latest
            yield Turn(
                _string(message.get("id")) or node,
                session,
                role,
                text,
                latest,
                origin="import",
            )


_HIDDEN = "is_visually_hidden_from_conversation"


def _branch(mapping: dict[str, Any], leaf: str) -> list[str]:
    """The nodes from the root to `leaf`; without one, to the last node that nothing
    follows.
    """
    if leaf not in mapping:
        parents = {_string(_object(node).get("parent")) for node in mapping.values()}
        leaf = next((node for node in reversed(mapping) if node not in parents), "")
    branch: dict[str, None] = {}
    while isinstance(mapping.get(leaf), dict) and leaf not in branch:
        branch[leaf] = None
        leaf = _string(mapping[leaf].get("parent"))
    return list(reversed(branch))


def _claude(talk: dict[str, Any], zone: tzinfo, name: str) -> Iterator[Found]:
    """The messages in their order; the text blocks where there are blocks."""
    session = _string(talk.get("uuid"))
    latest = _when(talk.get("created_at"), zone)
    if not session or latest is None:
        yield Problem(
            "no-conversation",
            f"a conversation without id or time: {_string(talk.get('name'))!r}",
            name,
        )
        return
    for message in map(_object, _list(talk.get("chat_messages"))):
        text = _words(message.get("content")) or _words(message.get("text"))
        latest = _when(message.get("created_at"), zone) or latest
        role = _role(message.get("sender"))
        if text:
            identity = _string(message.get("uuid")) or _made_id(
                session, role, "", latest.isoformat(), text
            )
            yield Turn(identity, session, role, text, latest, origin="import")


def _locomo(case: dict[str, Any], zone: tzinfo, name: str) -> Iterator[Found]:
    """Two people's sessions; the first speaker is the user, a picture is told by its
    caption.
    """
    sample, talk = _string(case.get("sample_id")), _object(case.get("conversation"))
    numbers = sorted(
        int(match[1]) for key in talk if (match := re.fullmatch(r"session_(\d+)", key))
    )
    for number in numbers:
        when = _spoken_date(_string(talk.get(f"session_{number}_date_time")), zone)
        if when is None:
            yield Problem("bad-time", f"session {number} of {sample} has no date", name)
            continue
        for turn in map(_object, _list(talk[f"session_{number}"])):
            speaker, caption = (
                _string(turn.get("speaker")),
                _string(turn.get("blip_caption")),
            )
            text = _string(turn.get("text")).strip() + (
                f" [shares a picture: {caption}]" if caption else ""
            )
            role = "user" if speaker == talk.get("speaker_a") else "assistant"
            identity = f"{sample}/{_string(turn.get('dia_id'))}"
            yield Turn(
                identity,
                f"{sample}-session_{number}",
                role,
                text,
                when,
                speaker,
                origin="import",
            )


def _members(folder: Path) -> list[Path]:
    return sorted(folder.glob("conversations*.json"))


def _texts(path: Path) -> Generator[tuple[str, IO[str]]]:
    """The JSON files behind `path` with their names: itself, or `conversations*.json`
    in the folder or the zip.
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
    for member in _members(path) if path.is_dir() else [path]:
        with member.open(encoding="utf-8-sig", errors="replace") as text:
            yield str(member), text


def _elements(stream: IO[str], name: str) -> Iterator[Any]:
    """The elements of a JSON list one after another, or the one object; a Problem where
    the JSON breaks.
    """
    decoder, size, line = json.JSONDecoder(), _CHUNK, 1
    buffer = stream.read(size).lstrip()
    at = 1
    if not buffer.startswith("["):
        buffer, at = f"[{buffer}{stream.read()}]", 1
    while True:
        at = _next(buffer, at)
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


def _next(buffer: str, at: int) -> int:
    """The position of the next character that is neither blank nor comma."""
    while at < len(buffer) and (buffer[at].isspace() or buffer[at] == ","):
        at += 1
    return at


# --- Markdown --------------------------------------------------------------------------------------------------


def _markdown(path: Path, zone: tzinfo) -> Iterator[Found]:
    """Each file one conversation of the user's, each block between blank lines one
    turn.
    """
    for note in [path] if path.is_file() else _notes(path):
        session = (
            note.stem
            if path.is_file()
            else note.relative_to(path).with_suffix("").as_posix()
        )
        try:
            text = note.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            yield Problem(
                "unreadable", f"cannot read the file: {_why(error)}", str(note)
            )
            continue
        front, body = _front_matter(text)
        when = _dated(front, note.stem, zone) or _modified(note, zone)
        seen: Counter[str] = Counter()
        for block in _blocks(body):
            seen[block] += 1
            yield Turn(
                _made_id(session, block, str(seen[block])),
                session,
                "user",
                block,
                when,
                origin="import",
            )


def _notes(folder: Path) -> Iterator[Path]:
    """Markdown files below `folder` in order of name; dot folders, links and vaults are
    left out.
    """
    for place, folders, files in os.walk(folder):
        if SETTINGS in files:
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            note = Path(place, name)
            if (
                note.suffix.lower() in _NOTE_SUFFIXES
                and not name.startswith(".")
                and not note.is_symlink()
            ):
                yield note


def _front_matter(text: str) -> tuple[str, str]:
    """The lines between the fences at the start, and the rest."""
    match = re.match(
        r"---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", text, re.DOTALL | re.MULTILINE
    )
    return (match[1], text[match.end() :]) if match else ("", text)


def _dated(front: str, stem: str, zone: tzinfo) -> datetime | None:
    """The time the front matter or else the file's name gives."""
    keys = dict(
        re.findall(
            r"^(date|created|created_at):[ \t]*[\"']?([^\"'#\n]+)", front, re.MULTILINE
        )
    )
    for key in ("date", "created", "created_at"):
        if when := _when(keys.get(key, "").strip(), zone):
            return when
    match = re.search(r"(?<!\d)(\d{4})[-_.]?(\d\d)[-_.]?(\d\d)(?!\d)", stem)
    return _when("-".join(match.groups()), zone) if match else None


def _blocks(body: str) -> Iterator[str]:
    """Paragraphs; a fenced block stays whole, a heading goes with what follows it."""
    block: list[str] = []
    fence = ""
    for line in [*body.splitlines(), ""]:
        if mark := re.match(r"\s*(```+|~~~+)", line):
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        if line.strip() or fence:
            block.append(line.rstrip())
        elif any(kept and not kept.startswith("#") for kept in block):
            yield "\n".join(block)
            block = []
        elif block:
            block.append("")
    if rest := "\n".join(block).strip():
        yield rest


# --- values of any kind, as ours ---------------------------------------------------------------------------------


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _string(value: Any) -> str:
    return (
        str(value)
        if isinstance(value, (str, int)) and not isinstance(value, bool)
        else ""
    )


def _first(row: dict[str, Any], keys: tuple[str, ...]) -> Any:
    """The value of the first of `keys` that has one."""
    return next((row[key] for key in keys if row.get(key) is not None), None)


def _role(value: Any) -> str:
    """One of our four roles; user where nothing else is said."""
    role = _string(value).lower()
    role = _ROLES.get(role, role)
    return role if role in _KNOWN_ROLES else "user"


def _words(content: Any) -> str:
    """The text of a string, of a list of strings and of blocks that have a text."""
    parts = content if isinstance(content, list) else [content]
    texts = (
        part if isinstance(part, str) else _object(part).get("text") for part in parts
    )
    return "\n\n".join(
        text.strip() for text in texts if isinstance(text, str) and text.strip()
    )


def _made_id(*parts: str) -> str:
    """The id of a turn that has none: what was said, by whom, where and when."""
    return (
        "import-"
        + sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    )


def _modified(path: Path, zone: tzinfo) -> datetime:
    return datetime.fromtimestamp(int(path.stat().st_mtime), zone)


def _when(value: Any, zone: tzinfo) -> datetime | None:
    """An aware time from ISO 8601 or from seconds, milliseconds or microseconds since
    1970; None if it is neither.
    """
    if isinstance(value, str) and not re.fullmatch(
        r"\s*-?\d{9,16}(?:\.\d+)?\s*", value
    ):
        try:
            when = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
        return when if when.tzinfo else when.replace(tzinfo=zone)
    if not isinstance(value, (str, int, float)) or isinstance(value, bool):
        return None
    try:
        seconds = float(value)
        scale = (
            1e6
            if abs(seconds) >= _MICROSECONDS_FROM
            else 1e3
            if abs(seconds) >= _MILLISECONDS_FROM
            else 1
        )
        return datetime.fromtimestamp(seconds / scale, UTC).astimezone(zone)
    except (ValueError, OverflowError, OSError):
        return None


def _spoken_date(text: str, zone: tzinfo) -> datetime | None:
    """A time as LoCoMo writes it: `1:56 pm on 8 May, 2023`."""
    match = re.fullmatch(
        r"(\d{1,2}):(\d\d) ([ap])m on (\d{1,2}) (\w+), (\d{4})",
        text.strip(),
        re.IGNORECASE,
    )
    if not match or match[5][:3].lower() not in _MONTHS:
        return None
    hour = int(match[1]) % 12 + (12 if match[3].lower() == "p" else 0)
    month = _MONTHS.index(match[5][:3].lower()) + 1
    try:
        return datetime(
            int(match[6]), month, int(match[4]), hour, int(match[2]), tzinfo=zone
        )
    except ValueError:
        return None
