"""What stands in a vault, read without any of our stores, and the laws of what the
ladder wrote there at rest.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from engram.core.entities import OWNER, entity_ref
from engram.core.forgetting import removed_keys
from engram.core.text import content_hash
from engram.vault import boxes, disk, entities, facts, frontmatter, reviews, sessions
from engram.vault.edges import EDGES
from engram.vault.store import TOMBSTONES, Vault

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engram.config import Settings
    from engram.core.records import Entity, Fact, FiledTurn
    from engram.vault.boxes import BoxNote
    from engram.vault.frontmatter import Note

MINE = "# Mine\n\nA note that a person wrote, with *words* that nobody touches.\n"
LINK = re.compile(r"\[\[([^\]|]+)")
HISTORY = re.compile(r"^- until [0-9-]+: (.+)$", re.MULTILINE)
"""What a memory said before it was put in newer words."""

AWAY = ".trash/"


@dataclass(frozen=True)
class Kept:
    """What the notes hold. `asked` are the questions about two memories, open or put
    away; `raw` is every note.
    """

    turns: list[FiledTurn] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    asked: list[tuple[Fact, Note]] = field(default_factory=list)
    boxes: list[BoxNote] = field(default_factory=list)
    entities: list[Entity] = field(default_factory=list)
    raw: dict[str, str] = field(default_factory=dict)


def read_vault(root: Path, settings: Settings) -> Kept:
    """Every note of ours; one that cannot be understood is a broken promise."""
    kept = Kept()
    vault = root / "vault"
    assert (vault / "notes/mine.md").read_text() == MINE, "a person's note was changed"
    assert not list(disk.leftovers(vault)), "a hidden file was left"
    for path in sorted(vault.rglob("*.md")):
        name = str(path.relative_to(vault))
        if not name.startswith("notes/"):
            kept.raw[name] = path.read_text()
            read = frontmatter.read(path.read_bytes(), settings.policy.files)
            assert not read.problems, f"{name}: {read.problems}"
            _take_in(kept, read, name, settings)
    return kept


def _take_in(kept: Kept, read: Note, name: str, settings: Settings) -> None:
    """Put a note where it belongs."""
    match name.partition("/")[0]:
        case "sessions":
            talk, problems = sessions.conversation_from(read, name, settings.zone)
            assert talk, f"{name} is not whole"
            assert not problems, f"{name}: {problems}"
            assert read.keys["turns"] == len(talk.turns), (
                f"{name} counts its turns wrong"
            )
            kept.turns.extend(talk.turns)
        case "boxes":
            box = boxes.box_from(read, name, settings.zone)
            assert box, f"{name} is not whole"
            kept.boxes.append(box)
        case "entities":
            entity, problems = entities.entity_from(read, name, "", settings.zone)
            assert not problems, f"{name}: {problems}"
            kept.entities.append(entity)
        case "traces" | "macros":
            assert read.keys["kind"] in {"trace", "storyline", "macro"}, (
                f"{name} is not whole"
            )
        case "state" | "episodes" | "profile.md" | "spine.md" | "IDENTITY.md":
            pass  # what is told from memories and turns, and made again from them
        case _:
            fact, problems = facts.fact_from(read, name, "", settings.zone)
            assert fact, f"{name} is not whole"
            assert not problems, f"{name}: {problems}"
            if fact.kind == reviews.KIND:
                kept.asked.append((fact, read))
            else:
                kept.facts.append(fact)


def check(
    root: Path,
    kept: Kept,
    settings: Settings,
    sure: set[str],
    again: set[str],
    *,
    removes: bool,
) -> None:
    """Every law of this file.

    What a person asked for is whole if it was `sure`, acknowledged; nobody says it
    again. What the user said `again` after its note was deleted may stand. With
    `removes` a person took files away, to which links and ties may lead.
    """
    links_lead_somewhere(kept, removes=removes)
    successors_agree(kept, sure)
    each_memory_has_its_box(root, kept)
    ties_agree_with_notes(root, kept, removes=removes)
    questions_are_asked_once(kept)
    buried_is_not_active(root, kept, again)


def links_lead_somewhere(kept: Kept, *, removes: bool) -> None:
    """Each wikilink in our notes names one note, and a block that stands in it."""
    stems = Counter(
        PurePosixPath(path).stem for path in kept.raw if not path.startswith(AWAY)
    )
    blocks = {filed.key for filed in kept.turns}
    for path, raw in kept.raw.items():
        for target in set(LINK.findall(raw)) - {"about.base"}:
            stem, _, block = target.partition("#")
            if path.startswith(AWAY) or (
                removes and (not stems[stem] or (block and target not in blocks))
            ):
                continue
            assert stems[stem] == 1, (
                f"{path} links to {target}, of which there are {stems[stem]}"
            )
            assert removes or not block or target in blocks, (
                f"{path} links to a block that is not there: {target}"
            )


def successors_agree(kept: Kept, sure: set[str]) -> None:
    """Who names a successor is named by it, and the other way round; who was superseded
    names one.
    """
    known = {fact.id: fact for fact in kept.facts}
    for fact in kept.facts:
        for other in fact.superseded_by:
            assert other in known, f"{fact.text!r} names a successor that is not there"
            assert fact.id in known[other].supersedes, (
                f"{known[other].text!r} does not name {fact.text!r}"
            )
        for other in fact.supersedes:
            assert other in known, (
                f"{fact.text!r} names a predecessor that is not there"
            )
            cut_short = (
                fact.origin == "user"
                and fact.text not in sure
                and known[other].status == "active"
            )
            agree = fact.id in known[other].superseded_by
            assert agree or cut_short, (
                f"{known[other].text!r} does not name {fact.text!r}"
            )
        ended = fact.status in {"superseded", "invalidated"}
        assert not ended or fact.superseded_by, (
            f"{fact.text!r} is {fact.status} by nobody"
        )


def each_memory_has_its_box(root: Path, kept: Kept) -> None:
    """A memory is in one box of the conversation it came from; box, trace and state
    tell the same.
    """
    held = (
        boxes.open_boxes_from((root / "vault" / boxes.OPEN).read_bytes())[0]
        if kept.boxes
        else ()
    )
    assert all(one.filed for one in held), "a box waits for its note"
    inside = Counter(
        (box.box.session, stem) for box in kept.boxes for stem in box.links
    )
    twice = [place for place, count in inside.items() if count > 1]
    assert not twice, f"in two boxes: {twice}"
    sessions_of = {filed.key: filed.turn.session for filed in kept.turns}
    for fact in kept.facts:
        session = sessions_of.get(fact.source, "remembered")
        waits = (
            fact.status == "review"
            or fact.verification == "user_confirmed"
            or fact.path.startswith(AWAY)
        )
        if session != "remembered" and not waits:
            stem = PurePosixPath(fact.path).stem
            assert inside[session, stem], f"{fact.text!r} is in no box of {session!r}"
    names = defaultdict(set)
    for path, raw in kept.raw.items():
        if path.startswith("traces/"):
            names[PurePosixPath(path).stem] = {
                stem for stem in LINK.findall(raw) if stem.startswith("box-")
            }
    told: dict[str, set[str]] = defaultdict(set)
    for box in kept.boxes:
        if box.trace:
            told[box.trace].add(box.name.rpartition("/")[2])
    assert told == names, f"boxes and traces disagree: {told}, {names}"
    if kept.boxes:
        traces = boxes.traces_from((root / "vault" / boxes.TRACES).read_bytes())
        state = {
            boxes.trace_name(one): {name.rpartition("/")[2] for name, _ in one.boxes}
            for one in traces.values()
            if len(one.boxes) > 1
        }
        assert state == names, f"traces and their state disagree: {names}, {state}"


def ties_agree_with_notes(root: Path, kept: Kept, *, removes: bool) -> None:
    """The ends of each edge are there, and a relation stands in its note, with its end
    once it is over.
    """
    edges = {row["id"]: row for row in _rows(root, EDGES)}
    ends = {fact.id for fact in kept.facts} | {entity_ref("person", OWNER)}
    refs = {entity_ref(entity.type, entity.name): entity for entity in kept.entities}
    lines = set()
    for row in edges.values():
        missing = {row["from"], row["to"]} - ends - refs.keys()
        assert removes or not missing, f"a tie leads to {missing}, which is not there"
        assert not row.get("owed"), f"a note still wants a line: {row}"
        if row["type"] == "relation" and row["from"] in refs:
            source, target = refs[row["from"]], refs[row["to"]]
            are_over = {
                bool(line.until)
                for line in source.relations
                if (line.type, line.name) == (row["label"], target.name)
            }
            assert are_over == {"valid_until" in row}, (
                f"the note of {source.name} disagrees with {row}"
            )
            lines.add((source.name, row["label"], target.name))
    shown = {
        (entity.name, line.type, line.name)
        for entity in kept.entities
        for line in entity.relations
    }
    assert shown <= lines, f"a note shows what no edge tells: {shown - lines}"


def questions_are_asked_once(kept: Kept) -> None:
    """A question is open or put away, never both, and both its memories are there."""
    ids = Counter(case.id for case, _ in kept.asked)
    assert set(ids.values()) <= {1}, f"asked twice: {ids}"
    known = {fact.id for fact in kept.facts}
    for case, read in kept.asked:
        assert case.path.startswith((reviews.FOLDER, AWAY)), (
            f"a question stands at {case.path}"
        )
        assert set(read.keys["pair"]) <= known, (
            f"{case.path} asks about what is not there"
        )
        assert case.path.startswith(AWAY) or not reviews.decision(read.body), (
            f"{case.path} was not obeyed"
        )


def _rows(root: Path, path: str) -> Iterator[dict[str, Any]]:
    """The rows of a state file; a line that was cut short is followed by whole ones."""
    if (root / "vault" / path).exists():
        for line in (root / "vault" / path).read_text().splitlines():
            with suppress(ValueError):
                yield json.loads(line)


def buried_is_not_active(root: Path, kept: Kept, again: set[str]) -> None:
    """What a person removed or corrected does not come back as another memory; a deed
    that was refused half-way may.
    """
    buried = removed_keys(Vault(root / "vault").tombstone_rows())
    own = {
        (str(row.get("hash")), str(row.get("memory")))
        for row in _rows(root, TOMBSTONES)
    }
    active = [
        (fact, content_hash(fact.text))
        for fact in kept.facts
        if fact.status == "active"
    ]
    back = [
        fact.text
        for fact, digest in active
        if digest in buried and (digest, fact.id) not in own and fact.text not in again
    ]
    assert not back, f"buried and active: {back}"
