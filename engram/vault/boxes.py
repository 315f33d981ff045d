"""The notes of boxes and traces, and their two state files (rows C31, C32).

A box note lists the memories of one session stretch, a trace note lists its boxes; they
link to each other. Engram writes only the text between the markers; all other bytes
stay.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

from engram.core import boxes, jsonl
from engram.core.markdown import plain_text, replace_block
from engram.core.policy import BoxPolicy, FilePolicy
from engram.core.records import Box, Trace
from engram.core.text import slug
from engram.errors import ConflictError, EngramError, StorageError
from engram.vault import frontmatter as notes
from engram.vault.facts import link
from engram.vault.formats import time_text, time_value, title, unescaped_title

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from engram.vault.store import Vault

OPEN = "state/open-boxes.jsonl"
TRACES = "state/traces.json"

_SLUG_BYTES = 40
_ID_SIGNS = 8
_LIMITS = FilePolicy()
_json = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True, slots=True)
class OpenBox:
    """A row of `state/open-boxes.jsonl`: an open box, or one sealed for `trace`.

    `touched` is the wall-clock time of the last addition; the times in the box are the
    conversation's. `filed` is true if its notes are written.
    """

    box: Box
    touched: datetime
    trace: str = ""
    filed: bool = False


@dataclass(frozen=True, slots=True)
class BoxNote:
    """A box parsed from its note.

    `name` is its path below `boxes/` without suffix, `trace` the name of its trace's
    note, `links` the stems of its memories.
    """

    name: str
    box: Box
    trace: str
    links: tuple[str, ...]


def box_name(box: Box, zone: tzinfo) -> str:
    """Return the name of a box: `<local date>/box-<topic>-<end of the id>`."""
    day = box.opened.astimezone(zone)
    topic = slug(box.title or boxes.box_subjects(box)[0], _SLUG_BYTES)
    return f"{day:%Y-%m-%d}/box-{topic}-{box.id[-_ID_SIGNS:].lower()}"


def box_path(name: str) -> str:
    """Return the path `boxes/<name>.md`."""
    return f"boxes/{name}.md"


def trace_name(trace: Trace) -> str:
    """Return the name `<topic>-<digits of the id>` of a trace's note.

    The digits leave `[[Porto]]` free for the place.
    """
    return (
        f"{slug(trace.topic, _SLUG_BYTES)}-{trace.id.removeprefix(boxes.TRACE_PREFIX)}"
    )


def trace_path(trace: Trace) -> str:
    """Return the path `traces/<name>.md`."""
    return f"traces/{trace_name(trace)}.md"


def box_note(
    raw: bytes,
    box: Box,
    memories: Mapping[str, str],
    trace: Trace | None,
    zone: tzinfo,
) -> bytes:
    """Return the note of a sealed box with its memories (`C31`).

    `memories` has the statement by the stem of its note. The box links to its `trace` if that has a note. `raw` is its present content, b'' for a
    new note. Raises ConflictError if it has another id.
    """
    lines = _memories(memories)
    if raw:
        return _patched(raw, box.id, _trace_key(trace), "memories", lines)
    keys = {
        "id": box.id,
        "kind": "box",
        "session": plain_text(box.session),
        "persona": box.persona,
        "opened": time_text(box.opened, zone),
        "sealed": time_text(box.sealed or box.last, zone),
        "end_reason": box.why,
        "topics": [plain_text(topic) for topic in box.topics] or None,
        **_trace_key(trace),
    }
    title = box.title or boxes.box_subjects(box)[0]
    head = f"# {_heading(title)}\n\n{span(box.opened, box.last, zone)}\n\n"
    return notes.emit(keys, replace_block(head, "memories", lines))


def linked_box_note(raw: bytes, trace: Trace) -> bytes:
    """Return the box's note `raw` with a link to its `trace`; others are unchanged."""
    note = notes.read(raw, _LIMITS)
    if note.problems or note.keys.get("kind") != "box":
        return raw
    return notes.edit(raw, _trace_key(trace))


def trace_note(raw: bytes, trace: Trace, zone: tzinfo, policy: BoxPolicy) -> bytes:
    """Return the note of a trace with its boxes, topics and date (`C32`).

    `raw` is its present content, b'' for a new note. Raises ConflictError if it has
    another id.
    """
    keys = _trace_keys(trace, zone, policy)
    if raw:
        return _patched(raw, trace.id, keys, "boxes", _boxes(trace))
    own = {"id": trace.id, "kind": "trace", "persona": trace.persona}
    head = f"# {_heading(trace.topic)}\n\n"
    return notes.emit({**own, **keys}, replace_block(head, "boxes", _boxes(trace)))


def box_from(note: notes.Note, path: str, zone: tzinfo) -> BoxNote | None:
    """Return the closed box in a note; None if it is no box or has no valid times."""
    keys = note.keys
    opened, sealed = (time_value(keys.get(key), zone) for key in ("opened", "sealed"))
    if (
        keys.get("kind") != "box"
        or not keys.get("id")
        or opened is None
        or sealed is None
    ):
        return None

    def text_of(key: str) -> str:
        return str(keys.get(key) or "")

    listed = keys.get("topics")
    topics = tuple(map(str, listed)) if isinstance(listed, list) else ()
    persona = text_of("persona") or None
    box = Box(str(keys["id"]), text_of("session"), persona, opened, sealed, topics)
    box = replace(box, sealed=sealed, why=text_of("end_reason"))
    links = [
        _target(line.removeprefix("- "))
        for line in note.body.split("\n")
        if line.startswith("- [[")
    ]
    heading = next(
        (
            text_line
            for text_line in note.body.split("\n")
            if text_line.startswith("# ")
        ),
        "",
    )
    box = replace(box, title=unescaped_title(heading.removeprefix("# ")))
    name = path.removeprefix("boxes/").removesuffix(".md")
    return BoxNote(name, box, _target(text_of("trace")), tuple(links))


def span(start: datetime, end: datetime, zone: tzinfo) -> str:
    """Return an interval of time in words.

    >>> day = datetime(2026, 11, 20, tzinfo=UTC)
    >>> span(day.replace(hour=20), day.replace(hour=20, minute=40), UTC)
    '20 November 2026, 20:00 to 20:40'
    """
    first, last = start.astimezone(zone), end.astimezone(zone)
    day, until = (f"{when.day} {when:%B %Y}, {when:%H:%M}" for when in (first, last))
    if until == day:
        return day
    return (
        f"{day} to {last:%H:%M}" if first.date() == last.date() else f"{day} to {until}"
    )


def traces_from_notes(vault: Vault, zone: tzinfo) -> dict[str, Trace]:
    """Return the traces derived from the box notes, to restore `state/traces.json`.

    A box whose note names no trace is the only one on its trace.
    """
    found: dict[str, list[BoxNote]] = {}
    for path in sorted((vault.root / "boxes").rglob("*.md")):
        name = path.relative_to(vault.root).as_posix()
        try:
            note = notes.read(vault.read(name), _LIMITS)
        except EngramError:  # skipped, as in the catalogue
            continue
        if box := box_from(note, name, zone):
            alone = boxes.add_to_trace(None, boxes.new_trace_id(box.box), "", box.box)
            found.setdefault(box.trace or trace_name(alone), []).append(box)
    traces: dict[str, Trace] = {}
    for trace, held in found.items():
        topic, _, digits = trace.rpartition("-")
        trace_id = f"{boxes.TRACE_PREFIX}{digits}"
        words = [
            subject
            for box in held
            for subject in (box.box.title, *boxes.box_subjects(box.box))
        ]
        named = next(
            (word for word in words if slug(word, _SLUG_BYTES) == topic), topic
        )
        begun = min(box.box.sealed or box.box.last for box in held)
        start = Trace(trace_id, named, begun, persona=held[0].box.persona)
        for box in sorted(
            held, key=lambda box: (box.name[:10], box.box.last, box.name)
        ):
            start = boxes.add_to_trace(start, trace_id, box.name, box.box)
        traces[trace_id] = start
    return traces


def traces_text(traces: Mapping[str, Trace]) -> bytes:
    """Return the content of `state/traces.json`: a line a trace, sorted by id."""
    rows = (
        f"{_json(key)}: {_json(_trace_row(trace))}"
        for key, trace in sorted(traces.items())
    )
    return ('{"traces": {\n' + ",\n".join(rows) + "\n}}\n").encode("utf-8", "replace")


def traces_from(raw: bytes) -> dict[str, Trace]:
    """Return the traces in `state/traces.json`.

    Raises StorageError if the file is damaged.
    """
    try:
        return {
            str(key): Trace(
                str(key),
                str(row["topic"]),
                datetime.fromisoformat(row["seen"]).astimezone(UTC),
                tuple(
                    (str(box["name"]), tuple(map(str, box["topics"])))
                    for box in row["boxes"]
                ),
                str(row.get("persona") or "") or None,
            )
            for key, row in json.loads(raw)["traces"].items()
        }
    except (ValueError, TypeError, KeyError, AttributeError) as fault:
        raise StorageError(
            "the file is damaged",
            where=TRACES,
            fix="engram writes it again from the notes.",
        ) from fault


def open_boxes_text(open_boxes: Iterable[OpenBox]) -> bytes:
    """Return lines for `state/open-boxes.jsonl`; the last line of a box counts."""
    return jsonl.encode(map(_row, open_boxes))


def open_boxes_from(raw: bytes) -> tuple[tuple[OpenBox, ...], bool]:
    """Return the boxes in `state/open-boxes.jsonl`, and whether all lines are valid.

    A box that is filed without a trace was dropped. A last line without a newline was
    cut short by a crash and does not count.
    """
    found: dict[str, OpenBox] = {}
    whole = raw[: raw.rfind(b"\n") + 1]
    sound = bool(whole) or not raw
    for line in jsonl.lines(whole):
        try:
            open_box = _open_box(line.value)
        except (ValueError, TypeError, KeyError):
            sound = False
            continue
        found.pop(open_box.box.id, None)
        if open_box.trace or not open_box.filed:
            found[open_box.box.id] = open_box
    return tuple(found.values()), sound


def _row(open_box: OpenBox) -> dict[str, object]:
    box = open_box.box
    return {
        "id": box.id,
        "session": box.session,
        "persona": box.persona,
        "opened": box.opened.isoformat(),
        "last": box.last.isoformat(),
        "topics": box.topics,
        "memories": box.memories,
        "sealed": box.sealed and box.sealed.isoformat(),
        "why": box.why,
        **({"title": box.title} if box.title else {}),
        "touched": open_box.touched.isoformat(),
        "trace": open_box.trace,
        "filed": open_box.filed,
    }


def _open_box(row: Mapping[str, object]) -> OpenBox:
    opened, last, touched, sealed = (
        datetime.fromisoformat(str(row[key])).astimezone(UTC) if row[key] else None
        for key in ("opened", "last", "touched", "sealed")
    )
    topics, memories, persona = row["topics"], row["memories"], row["persona"]
    if not (
        opened
        and last
        and touched
        and isinstance(topics, list)
        and isinstance(memories, list)
    ):
        message = "a value of the box is missing"
        raise ValueError(message)
    box = Box(
        str(row["id"]),
        str(row["session"]),
        None if persona is None else str(persona),
        opened,
        last,
        tuple(map(str, topics)),
        tuple(map(str, memories)),
        sealed,
        str(row["why"]),
        str(row.get("title") or ""),
    )
    return OpenBox(box, touched, str(row["trace"]), bool(row["filed"]))


def _patched(
    raw: bytes, own: str, keys: Mapping[str, object], block: str, lines: str
) -> bytes:
    """Return the note `raw` with these keys and this block.

    Raises ConflictError unless the note has the id `own`.
    """
    note = notes.read(raw, _LIMITS)
    if not note.problems and note.keys.get("id") != own:
        raise ConflictError(
            "the note has another id",
            where=own,
            fix="Give it its id back, or move it away.",
        )
    patched = notes.edit(raw, keys)
    head = notes.read(patched, _LIMITS).body_line - 1
    body = patched.split(b"\n", head)[-1]
    return (
        patched.removesuffix(body) + replace_block(body.decode(), block, lines).encode()
    )


def _trace_key(trace: Trace | None) -> dict[str, object]:
    return {"trace": f"[[{trace_name(trace)}]]"} if trace else {}


def _trace_keys(trace: Trace, zone: tzinfo, policy: BoxPolicy) -> dict[str, object]:
    latest = [
        topic
        for _, topics in reversed(trace.boxes[-policy.trace_boxes :])
        for topic in topics
    ]
    topics = [plain_text(topic) for topic in dict.fromkeys(latest)][: policy.topics]
    return {"topics": topics, "seen": time_text(trace.seen, zone)}


def _memories(memories: Mapping[str, str]) -> str:
    return "\n".join(f"- {link(stem, text)}" for stem, text in memories.items())


def _boxes(trace: Trace) -> str:
    return "\n".join(
        f"- [[{name.rpartition('/')[2]}]], {name[:10]}" for name, _ in trace.boxes
    )


def _trace_row(trace: Trace) -> dict[str, object]:
    boxes = [{"name": name, "topics": topics} for name, topics in trace.boxes]
    row = {
        "topic": trace.topic,
        "persona": trace.persona,
        "seen": trace.seen.isoformat(),
        "boxes": boxes,
    }
    return {key: value for key, value in row.items() if value is not None}


def _heading(words: str) -> str:
    return title(words[:1].upper() + words[1:])


def _target(text: str) -> str:
    """Return the name in a wikilink, or a text that is none unchanged."""
    return text.removeprefix("[[").partition("]]")[0].partition("|")[0].strip()
