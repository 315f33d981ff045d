"""Entity notes and their records (rows B1, C13, E2; `docs/format.md` is normative).

The stem of the file is the entity's name, so that a link by that name resolves. Engram
writes the front matter and the block `relations`; all other text belongs to the user.
An embedded base shows the memories about an entity; they are never copied.
"""

from __future__ import annotations

import os
import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

from engram.core.entities import relation_label
from engram.core.markdown import replace_block
from engram.core.records import ENTITY_TYPES, Entity, Problem, RelationLine
from engram.core.relations import DAY
from engram.core.text import is_ulid, note_name, ulid, ulid_time
from engram.vault.facts import link
from engram.vault.formats import blocks, time_text, time_value, without_blocks
from engram.vault.paths import Stat, is_conflict_copy, stat_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime, tzinfo
    from pathlib import Path

    from engram.vault.frontmatter import Note

FOLDER = "entities"
FOLDERS = {
    "person": "people",
    "animal": "animals",
    "org": "orgs",
    "place": "places",
    "project": "projects",
    "tool": "tools",
    "event": "events",
    "concept": "concepts",
}
"""The folder of each type."""

STEM_BYTES = 120

OWN_FOLDERS = frozenset(
    {
        "archive",
        "artifacts",
        "boxes",
        "facts",
        FOLDER,
        "macros",
        "review",
        "sessions",
        "state",
        "traces",
    }
)
"""The folders of engram's own notes, which links by a plain name do not resolve to."""

TEMPLATE_FILES = ("Home.md", "templates/", "views/")
"""Files of the template, which are no entities."""

_KEYS = frozenset(
    {"id", "kind", "type", "aliases", "alias", "created", "superseded_by"}
)
_NAMELIKE = " (name)"
_TYPES = {folder: kind for kind, folder in FOLDERS.items()}
_RELATIONS = re.compile(
    r"^%% engram:begin relations %%[ \t]*\n(.*?)^%% engram:end relations %%[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
_LINE = re.compile(
    r"[ \t]*[-*+] (?P<type>[^:\[\]]{1,80}):\s*\[\[(?P<name>[^\]|#]+)(?:[|#][^\]]*)?\]\]"
    rf"(?:\s*\((?:(?:from|since)\s+(?P<since>{DAY}))?,?\s*"
    rf"(?:(?:until|to)\s+(?P<until>{DAY}))?\))?"
)
_UNSAFE = re.compile(r'[\[\]|#^/\\:*?"<>%\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+')
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)


def stem(name: str) -> str:
    """Return `name` as a file's stem, valid in Obsidian, Windows and Android.

    It is also valid in a link. Blanks replace the characters that one of them refuses;
    the stem has at most 120 bytes and is never empty.

    >>> stem("AC/DC: the band?")
    'AC DC the band'
    """
    plain = " ".join(_UNSAFE.sub(" ", unicodedata.normalize("NFC", name)).split())
    short = plain.encode()[:STEM_BYTES].decode("utf-8", "ignore").strip(" .~$")
    return f"{short}{_NAMELIKE}" if _DEVICE.match(short) else short or "unnamed"


def unambiguous_stem(name: str, other_files: Mapping[str, str]) -> str:
    """Return `stem(name)`, with a suffix if a link would resolve to another file.

    Such a file is one that every vault has. `other_files` is the result of the function
    of that name. Notes of a person do not count: a link may resolve to one.

    >>> unambiguous_stem("Home", {"home": "Home.md"})
    'Home (name)'
    >>> unambiguous_stem("Anna", {"anna": "notes/Anna.md"})
    'Anna'
    """
    plain = stem(name)
    return (
        f"{plain}{_NAMELIKE}"
        if other_files.get(link_key(plain), "").startswith(TEMPLATE_FILES)
        else plain
    )


def link_key(name: str) -> str:
    """Return the form in which Obsidian compares file names of links."""
    return unicodedata.normalize("NFC", name).casefold()


def other_files(root: Path) -> dict[str, str]:
    """Return the files outside `OWN_FOLDERS` that a link may resolve to, by key."""
    found: dict[str, str] = {}
    for folder, folders, names in os.walk(root):
        below = os.path.relpath(folder, root)
        folders[:] = [
            own_folder
            for own_folder in folders
            if not own_folder.startswith(".")
            and (below != "." or own_folder not in OWN_FOLDERS)
        ]
        for name in names:
            path = name if below == "." else f"{below}/{name}"
            found.setdefault(link_key(name.removesuffix(".md")), path)
            found.setdefault(link_key(name), path)
    return found


def path_of(name: str, entity_type: str) -> str:
    """Return the path of the note of a new entity."""
    return f"{FOLDER}/{FOLDERS[entity_type]}/{stem(name)}.md"


def entity_from(
    note: Note, path: str, sha: str, zone: tzinfo
) -> tuple[Entity, tuple[Problem, ...]]:
    """Return the entity in a note, and its problems.

    The parser is tolerant: the name is the file's stem, the type that of the front
    matter or else of the folder. A note with broken or no front matter is an entity
    too.
    """
    problems = [
        Problem(each.code, each.message, path, each.line) for each in note.problems
    ]
    kind = str(note.keys.get("type") or "").strip().casefold()
    if kind and kind not in ENTITY_TYPES:
        message = f"type: {kind!r} is none of {', '.join(ENTITY_TYPES)}"
        problems.append(Problem("bad-value", message, path, note.line_of("type")))
    created = note.keys.get("created")
    entity = Entity(
        name=note_name(path),
        type=kind if kind in ENTITY_TYPES else _folder_type(path),
        aliases=tuple(
            dict.fromkeys(
                [*_texts(note.keys.get("aliases")), *_texts(note.keys.get("alias"))]
            )
        ),
        relations=relations_of(note.body),
        id=str(note.keys.get("id") or ""),
        created=time_value(created, zone) if created else None,
        path=path,
        sha=sha,
        blocks=tuple(name for name in blocks(note.body) if name != "relations"),
        has_user_text=_has_user_text(note, path),
        superseded=bool(note.keys.get("superseded_by")),
    )
    return entity, tuple(problems)


def former_name(note: Note, entity: Entity) -> str:
    """Return the name under which engram created a note that a person renamed, or ''.

    It is in the first heading, and the id of the note is derived from it.
    """
    lines = (line for line in note.body.splitlines() if line.strip())
    heading = next(lines, "")
    name = heading.removeprefix("# ").strip()
    if not heading.startswith("# ") or not is_ulid(entity.id):
        return ""
    created = entity.id == _entity_id(ulid_time(entity.id), name)
    return name if created and link_key(name) != link_key(entity.name) else ""


def new_entity(
    name: str,
    entity_type: str,
    created: datetime,
    relations: Iterable[RelationLine] = (),
) -> Entity:
    """Return a new entity; a `name` that is no valid file name becomes an alias."""
    safe = stem(name)
    return Entity(
        name=safe,
        type=entity_type,
        aliases=tuple(
            dict.fromkeys(
                other for other in (name, safe.removesuffix(_NAMELIKE)) if other != safe
            )
        ),
        relations=tuple(relations),
        id=_entity_id(created, safe),
        created=created,
        path=path_of(name, entity_type),
    )


def _entity_id(created: datetime, name: str) -> str:
    return ulid(created, f"entity\n{name}")


def entity_keys(entity: Entity, zone: tzinfo) -> dict[str, object]:
    """Return the front matter of a new entity note, in the order of the format."""
    return {
        "id": entity.id,
        "kind": "entity",
        "type": entity.type,
        "aliases": list(entity.aliases) or None,
        "created": time_text(entity.created, zone) if entity.created else None,
    }


def entity_body(entity: Entity) -> str:
    """Return the body of a new note: name, relations, and a base of the memories."""
    return (
        with_relations(f"# {entity.name}\n", entity.relations) + "\n![[about.base]]\n"
    )


def relations_of(body: str) -> tuple[RelationLine, ...]:
    """Return the relations in a note.

    `- works at: [[Siemens]] (until 2026-10)` is (works_at, Siemens) with that end.
    """
    block = _RELATIONS.search(body)
    lines = block[1].splitlines() if block else ()
    return tuple(filter(None, map(_relation_in, lines)))


def with_relations(
    body: str, add: Iterable[RelationLine] = (), drop: Iterable[RelationLine] = ()
) -> str:
    """Return `body` with relations added and dropped in its block; other lines stay.

    Relations without an end come first.
    """
    dropped, present = set(drop), set(relations_of(body))
    added = [one for one in dict.fromkeys(add) if one not in present]
    block = _RELATIONS.search(body)
    if block and not added and not dropped & present:
        return body
    old = block[1].splitlines() if block else []
    lines = [line for line in old if _relation_in(line) not in dropped]
    first_ended = next(
        (place for place, line in enumerate(lines) if _has_ended(line)), len(lines)
    )
    lines[first_ended:first_ended] = [
        _relation_text(one) for one in added if not one.until
    ]
    lines += [_relation_text(one) for one in added if one.until]
    return replace_block(body, "relations", "\n".join(lines))


def _has_ended(line: str) -> bool:
    """Return whether a line of the block is a relation with an end."""
    relation = _relation_in(line)
    return relation is not None and bool(relation.until)


@lru_cache(maxsize=1 << 12)
def _relation_in(line: str) -> RelationLine | None:
    match = _LINE.match(line)
    if match is None:
        return None
    kind, name = relation_label(match["type"]), match["name"].strip()
    return RelationLine(kind, name, match["since"] or "", match["until"] or "")


def _relation_text(line: RelationLine) -> str:
    since = f"from {line.since}" if line.since else ""
    until = f"until {line.until}" if line.until else ""
    days = " ".join(filter(None, (since, until)))
    text = f"- {line.type.replace('_', ' ')}: {link(line.name)}"
    return f"{text} ({days})" if days else text


def entity_files(root: Path) -> dict[str, Stat]:
    """Return every entity note below `root` with its stat.

    Links and hidden files are left out.
    """
    found: dict[str, Stat] = {}
    folders = [FOLDER]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(root / folder) as entries:
                for entry in entries:
                    path = f"{folder}/{entry.name}"
                    if (
                        entry.name.startswith((".", "~$"))
                        or entry.is_symlink()
                        or is_conflict_copy(path)
                    ):
                        continue
                    if entry.is_dir():
                        folders.append(path)
                    elif entry.name.endswith(".md") and entry.is_file():
                        found[path] = stat_of(entry.stat(follow_symlinks=False))
        except (FileNotFoundError, NotADirectoryError):
            continue
    return found


def _has_user_text(note: Note, path: str) -> bool:
    """Return whether the note has keys or text that engram did not write."""
    heading = f"# {path.rpartition('/')[2].removesuffix('.md')}"
    lines = {line.strip() for line in without_blocks(note.body).splitlines()}
    return bool(note.keys.keys() - _KEYS or lines - {"", heading, "![[about.base]]"})


def _folder_type(path: str) -> str:
    return next(
        (_TYPES[part] for part in path.split("/")[1:-1] if part in _TYPES), "concept"
    )


def _texts(value: object) -> Sequence[str]:
    items = value if isinstance(value, list) else [value]
    return [
        text
        for item in items
        if isinstance(item, str | int | float) and (text := str(item).strip())
    ]
