"""Session files: one session stretch each, append-only (B18, X1).

Each turn is a callout with a block id; all other text in the file belongs to the user.
`docs/format.md` has the grammar.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from engram.core.language import privacy
from engram.core.markdown import escape, plain_text, unescape
from engram.core.records import (
    HIGH,
    ROLES,
    UNKNOWN_PERSONA,
    FiledTurn,
    Problem,
    Turn,
)
from engram.core.text import note_name, slug, ulid
from engram.errors import BadRequestError, ConflictError
from engram.vault import frontmatter as notes
from engram.vault.formats import (
    is_repeated,
    time_text,
    time_value,
    title,
    unescaped_title,
    unused_name,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import date, datetime, tzinfo

HEADING = "## Conversation"
GROUP = "group"
"""The field of a turn in a conversation of several users."""
PRIVATE, CONFIDED = "private", "confided"
"""The field of a turn that is private to the persona of its conversation."""

_BLOCK = re.compile(r"\^t([1-9][0-9]{0,8})[ \t]*")
_HEAD = re.compile(
    r">[ \t]?\[!(?P<role>user|assistant|system|tool)\][-+]?"
    r"(?:[ \t]+(?:(?P<day>\d{4}-\d\d-\d\d)[ \t]+)?(?P<clock>\d\d:\d\d(?::\d\d)?(?:Z|[-+]\d\d:\d\d(?::\d\d)?)?))?"
    r"(?=[ \t]|$)",
    re.IGNORECASE,
)
_DEVICE_DIGITS = 6
_DEVICE_IN_STEM = re.compile(r"_([0-9a-f]{6})(?:-\d+)?$")


@dataclass(frozen=True, slots=True)
class Conversation:
    """The content of a session file.

    `session` is the caller's name of the conversation; times are aware. The rolling
    text covers the first `rolled` turns, the summary the first `summarised`; `episodes`
    is the number of processed episodes (rows E9, E11, A27). `sensitive` is true if a
    person marked all of it as highly sensitive (row B17).
    """

    session: str
    persona: str | None
    started: datetime
    ended: datetime
    turns: tuple[FiledTurn, ...]
    rolled: int = 0
    episodes: int = 0
    summarised: int = 0
    sensitive: bool = False


@dataclass(frozen=True, slots=True)
class _TurnBlock:
    """A callout in the body: `first` and `last` are its lines, counted from 0."""

    number: int
    head: re.Match[str]
    speaker: str
    fields: str
    text: str
    first: int
    last: int


def stem(session: str, day: datetime, device: str, taken: Callable[[str], bool]) -> str:
    """Return `<date>-<slug>_<device>`, the file name of a conversation from `day` on.

    `day` is local. `session` is its title, or the caller's name of it. `device` is the
    name of this device, of which the file has the first digits: no two devices append
    to one file, so a tool that copies the newer file loses no turn. `taken` returns
    whether a stem is in use; such a name gets `-2`, `-3` …
    """
    name = f"{day:%Y-%m-%d}-{slug(session)}_{device[:_DEVICE_DIGITS]}"
    return unused_name(name, taken)


def is_written_by(stem: str, device: str) -> bool:
    """Return whether this device appends to the session file of this name."""
    return device_in(stem) == device[:_DEVICE_DIGITS]


def device_in(stem: str) -> str:
    """Return the first digits of the device that writes a session file.

    '' for a file without a device in its name, to which no device appends.
    """
    found = _DEVICE_IN_STEM.search(stem)
    return found[1] if found else ""


def path(stem: str) -> str:
    """Return `sessions/<date>/<stem>.md`, the path of a session file."""
    return f"sessions/{stem[:10]}/{stem}.md"


def new_session(turns: Sequence[FiledTurn], zone: tzinfo) -> bytes:
    """Return a new session file with these turns of one session (`X1`).

    There is at least one turn.
    """
    first = turns[0].turn
    keys = {
        "id": ulid(first.occurred_at, f"session:{first.session}:{first.id}"),
        "session": plain_text(first.session),
        "aliases": [plain_text(first.title)] if first.title else None,
        "persona": first.persona,
        "private": None if first.persona is None else False,
        "started": time_text(first.occurred_at, zone),
        "ended": time_text(max(filed.turn.occurred_at for filed in turns), zone),
        "turns": len(turns),
    }
    day = first.occurred_at.astimezone(zone).date()
    return notes.emit(
        keys, "\n\n".join([HEADING, *(_callout(filed, day, zone) for filed in turns)])
    )


def append_turns(
    raw: bytes, turns: Sequence[FiledTurn], zone: tzinfo
) -> tuple[bytes, tuple[FiledTurn, ...]]:
    """Return `raw` with the new `turns` appended, and all `turns` with their block ids.

    The keys `ended` and `turns` are updated; no other byte of the file changes (`B18`).
    A turn whose id is in the file is left out, so that a replay changes nothing. A
    block id that the user has used meanwhile is replaced by the next free one. Raises
    ConflictError if the file cannot be parsed.
    """
    note = notes.read(raw)
    lines = note.body.split("\n")
    blocks = tuple(_blocks(lines))
    conversation, problems = _conversation(note, blocks, "", zone)
    if conversation is None:
        raise ConflictError(
            problems[0].message,
            where=f"line {problems[0].line}",
            fix="engram did not change the file. Correct this line, then save the file.",
        )
    blocks_of = {filed.turn.id: filed.block for filed in conversation.turns}
    fresh = [filed for filed in turns if plain_text(filed.turn.id) not in blocks_of]
    used = {int(match[1]) for line in lines if (match := _BLOCK.fullmatch(line))}
    day = conversation.started.astimezone(zone).date()
    added = []
    for filed in fresh:
        number = int(filed.block.removeprefix("t"))
        if number in used:
            number = max(used) + 1
        used.add(number)
        blocks_of[plain_text(filed.turn.id)] = f"t{number}"
        added.append(_callout(replace(filed, block=f"t{number}"), day, zone))
    placed = tuple(
        replace(filed, block=blocks_of[plain_text(filed.turn.id)]) for filed in turns
    )
    if not fresh:
        return raw, placed
    ended = max([conversation.ended, *(filed.turn.occurred_at for filed in fresh)])
    keys = {
        "ended": time_text(ended, zone),
        "turns": len(conversation.turns) + len(fresh),
    }
    return notes.edit(_inserted(raw, note, blocks, added), keys), placed


def may_contain(raw: bytes, turns: Iterable[FiledTurn]) -> bool:
    """Return whether the bytes of a file that cannot be parsed have the id of a turn."""
    return any(plain_text(one.turn.id).encode() in raw for one in turns)


def rewrite_turns(raw: bytes, texts: Mapping[str, str | None]) -> bytes:
    """Return `raw` with other texts for these blocks; None removes the turn.

    The result is b'' if no turn is left. Raises ConflictError if the file cannot be
    parsed.
    """
    note = notes.read(raw)
    if note.problems:
        raise ConflictError(
            note.problems[0].message,
            where=f"line {note.problems[0].line}",
            fix="engram did not change the file. Correct this line, then save the file.",
        )
    blocks = list(_blocks(note.body.split("\n")))
    left = [
        turn_block
        for turn_block in blocks
        if texts.get(f"t{turn_block.number}", "") is not None
    ]
    if not left:
        return b""
    lines = raw.splitlines(keepends=True)
    for block in reversed(blocks):
        name = f"t{block.number}"
        if name not in texts:
            continue
        first, end = note.body_line - 1 + block.first, note.body_line + block.last
        text = texts[name]
        if text is None:
            if end < len(lines) and not lines[end].strip():
                end += 1
            lines[first:end] = []
            continue
        said = [f"> {line}" for line in escape(plain_text(text)).split("\n")]
        new = [*said, "", f"^{name}"]
        lines[first + 1 : end] = [(line + note.newline).encode() for line in new]
    return notes.edit(b"".join(lines), {"turns": len(left)})


def title_in(keys: Mapping[str, Any]) -> str:
    """Return the title of a conversation in the keys of its file, '' for none."""
    aliases = keys.get("aliases")
    first = aliases[0] if isinstance(aliases, list) and aliases else aliases
    return first if isinstance(first, str) else ""


def conversation_from(
    note: notes.Note, path: str, zone: tzinfo
) -> tuple[Conversation | None, tuple[Problem, ...]]:
    """Return the conversation in a session file, None if it is none, and its problems.

    A turn without an id has its block id as its id; one without a time has the time of
    the preceding turn.
    """
    return _conversation(note, _blocks(note.body.split("\n")), path, zone)


def _conversation(
    note: notes.Note, blocks: Iterable[_TurnBlock], path: str, zone: tzinfo
) -> tuple[Conversation | None, tuple[Problem, ...]]:
    if note.problems:
        return None, tuple(replace(problem, path=path) for problem in note.problems)

    name = note_name(path)
    session = str(note.keys.get("session") or "")
    persona = str(note.keys.get("persona") or "")
    private = _is_private(note.keys.get("private"), persona)
    sensitive = str(note.keys.get("sensitivity") or "").strip().casefold() == HIGH
    started = time_value(note.keys.get("started"), zone) or time_value(name[:10], zone)
    if not session or started is None:
        return None, (
            Problem("no-session", "the keys session and started are missing", path, 1),
        )

    first, repeated = _by_number(_timed(blocks, started, zone))
    turns = [
        _turn(block, session, persona or None, when, private=private)
        for block, when in first.values()
    ]

    if sensitive:
        alone = persona or UNKNOWN_PERSONA
        turns = [replace(turn, sensitive_to=alone) for turn in turns]

    conversation = Conversation(
        session,
        persona or None,
        started,
        _ended(note, started, turns, zone),
        _filed(first, turns, name, private=private),
        sensitive=sensitive,
        rolled=_count(note.keys.get("rolled")),
        episodes=_count(note.keys.get("episodes")),
        summarised=_count(note.keys.get("summarised")),
    )
    return conversation, _duplicates(repeated, note, path)


def _by_number(
    timed: Iterable[tuple[_TurnBlock, datetime]],
) -> tuple[dict[int, tuple[_TurnBlock, datetime]], list[_TurnBlock]]:
    """Return the blocks with their times by number, and the duplicates of numbers."""
    first: dict[int, tuple[_TurnBlock, datetime]] = {}
    repeated: list[_TurnBlock] = []
    for block, when in timed:
        if block.number in first:
            repeated.append(block)
        else:
            first[block.number] = block, when
    return first, repeated


def _duplicates(
    repeated: Iterable[_TurnBlock], note: notes.Note, path: str
) -> tuple[Problem, ...]:
    """Return the problem of each block with a duplicate number."""
    return tuple(
        Problem(
            "duplicate-block",
            f"^t{block.number} appears twice",
            path,
            note.body_line + block.first,
        )
        for block in repeated
    )


def _timed(
    blocks: Iterable[_TurnBlock], started: datetime, zone: tzinfo
) -> Iterator[tuple[_TurnBlock, datetime]]:
    """Yield each block with its time, by default that of the preceding block."""
    day, when = started.astimezone(zone).date(), started
    seen: set[int] = set()
    for block in blocks:
        if block.number not in seen:
            when = _when(block.head, day, zone) or when
            seen.add(block.number)
        yield block, when


def _ended(
    note: notes.Note, started: datetime, turns: Iterable[Turn], zone: tzinfo
) -> datetime:
    """Return the end of a conversation: its key, or the time of its last turn."""
    last = max([started, *(turn.occurred_at for turn in turns)])
    return time_value(note.keys.get("ended"), zone) or last


def _filed(
    numbers: Iterable[int], turns: Sequence[Turn], name: str, *, private: bool
) -> tuple[FiledTurn, ...]:
    """Return the turns of the file `name` with their block ids and private marks."""
    # If all turns are private, no request changes that.
    marked = turns if private else privacy.with_privacy(turns)
    said = zip(numbers, marked, strict=True)
    return tuple(FiledTurn(turn, name, f"t{number}") for number, turn in said)


def _is_private(value: object, persona: str) -> bool:
    """Return whether the user's turns in a session file are private without a mark.

    A file with a persona and without the key `private` was written before turns had
    such marks, or by hand.
    """
    return bool(persona) if value is None else value is True


def _count(value: object) -> int:
    return value if type(value) is int and value >= 0 else 0


def _callout(filed: FiledTurn, day: date, zone: tzinfo) -> str:
    """Return a turn as Markdown, without its date where that is the file's `day`."""
    turn = filed.turn
    if turn.role not in ROLES:
        raise BadRequestError(
            f"the role {turn.role!r} is not known",
            fix=f"Use one of: {', '.join(ROLES)}.",
        )
    head = [f"> [!{turn.role}]", _clock(turn.occurred_at, day, zone)]
    if turn.speaker:
        head.append(title(plain_text(turn.speaker)))
    origin = "" if turn.origin == "chat" else f"|{title(plain_text(turn.origin))}"
    secrecy = CONFIDED if turn.confided else PRIVATE
    flags = [name for name, on in ((GROUP, turn.group), (secrecy, turn.private)) if on]
    marks = "".join(f"|{flag}" for flag in flags)
    head.append(f"%%{title(plain_text(turn.id))}{origin}{marks}%%")
    lines = escape(plain_text(turn.text)).split("\n") if turn.text else []
    return "\n".join(
        [
            " ".join(head),
            *(f"> {line}" if line else ">" for line in lines),
            "",
            f"^{filed.block}",
        ]
    )


def _clock(when: datetime, day: date, zone: tzinfo) -> str:
    """Return the local time; with seconds, date and offset only if they are needed."""
    local = when.astimezone(zone)
    text = local.isoformat(timespec="seconds")
    date_part = "" if local.date() == day else f"{text[:10]} "
    return (
        date_part
        + text[11 : 19 if local.second else 16]
        + (text[19:] if is_repeated(local) else "")
    )


def _when(head: re.Match[str], day: date, zone: tzinfo) -> datetime | None:
    return (
        time_value(f"{head['day'] or day}T{head['clock']}", zone)
        if head["clock"]
        else None
    )


def _blocks(lines: Sequence[str]) -> Iterator[_TurnBlock]:
    """Yield the turns of a body: callouts that are followed by a block id.

    Only the section below `HEADING` is parsed, or the whole body without that heading.
    """
    at, end = _section(lines)
    while at < end:
        head = _HEAD.match(lines[at])
        if head is None:
            at += 1
            continue
        first, at = at, at + 1
        while at < end and lines[at].startswith(">"):
            at += 1
        text = [
            line.removeprefix("> ") if line.startswith("> ") else line[1:]
            for line in lines[first + 1 : at]
        ]
        while at < end and not lines[at].strip():
            at += 1
        if at < end and (block := _BLOCK.fullmatch(lines[at])):
            speaker, _, fields = lines[first][head.end() :].strip(" \t").partition("%%")
            fields = fields.removesuffix("%%")
            yield _TurnBlock(
                int(block[1]),
                head,
                speaker.strip(" \t"),
                fields,
                unescape("\n".join(text)),
                first,
                at,
            )
            at += 1


def _section(lines: Sequence[str]) -> tuple[int, int]:
    """Return the lines of the conversation's section; all lines without a heading."""
    start = next((n + 1 for n, line in enumerate(lines) if line.rstrip() == HEADING), 0)
    if not start:
        return 0, len(lines)
    return start, next(
        (n for n in range(start, len(lines)) if lines[n].startswith(("# ", "## "))),
        len(lines),
    )


def _turn(
    block: _TurnBlock,
    session: str,
    persona: str | None,
    when: datetime,
    *,
    private: bool,
) -> Turn:
    """Return the turn of a block.

    With `private` the user's words are private without a mark, and without a persona
    all words are.
    """
    name, *fields = block.fields.split("|")
    role = block.head["role"].casefold()
    flags = {GROUP, PRIVATE, CONFIDED}
    origin = next((field for field in fields if field not in flags), "")
    all_private = private and (role == "user" or not persona)
    return Turn(
        id=unescaped_title(name) or f"t{block.number}",
        session=session,
        role=role,
        text=block.text,
        occurred_at=when,
        speaker=unescaped_title(block.speaker),
        persona=persona,
        origin=unescaped_title(origin) or "chat",
        group=GROUP in fields,
        private=all_private or not {PRIVATE, CONFIDED}.isdisjoint(fields),
        confided=CONFIDED in fields and not all_private,
    )


def _inserted(
    raw: bytes, note: notes.Note, blocks: Sequence[_TurnBlock], added: Sequence[str]
) -> bytes:
    """Return `raw` with the callouts after its last turn, or at the section's end."""
    after = max((block.last for block in blocks), default=-1)
    head = []
    if after < 0:
        lines = note.body.split("\n")
        start, end = _section(lines)
        head = [] if start else [HEADING]
        after = end - 1
        while after >= 0 and not lines[after].strip():
            after -= 1
    # Lines are counted in the bytes, so that mixed line ends are preserved.
    at = 0
    for _ in range(note.body_line - 1 + after + 1):
        at = raw.find(b"\n", at) + 1 or len(raw)
    before, behind = raw[:at], raw[at:]
    text = "\n".join(
        ["" if before.endswith(b"\n") else "\n", "\n\n".join([*head, *added]), ""]
    )
    if behind and not behind.startswith((b"\n", b"\r\n")):
        text += "\n"
    return before + text.replace("\n", note.newline).encode() + behind
