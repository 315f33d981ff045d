"""Fact notes and their records (rows C7, C8; `docs/format.md` is normative)."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING

from engram.core.categories import PLAIN, category_named
from engram.core.markdown import escape, plain_text, unescape
from engram.core.records import (
    HIGH,
    SENSITIVITIES,
    STATUSES,
    UNKNOWN_PERSONA,
    Edit,
    Fact,
    Move,
    Problem,
)
from engram.core.text import content_hash, slug, ulid
from engram.vault import reviews
from engram.vault.formats import time_text, time_value, unused_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from engram.vault.frontmatter import Note

FILE_NAME = "{category}-{slug}-{hash}"
"""The pattern of a new fact's file name.

The other choice is seed C's `{category}-{timestamp}-{hash}` (row C7).
"""

KINDS = ("episode", "note", reviews.KIND)

# Names of the keys in other formats, in order of preference.
_NAMES: Mapping[str, tuple[str, ...]] = {
    "kind": ("kind", "memoryKind", "memory_kind"),
    "created": ("created", "createdAt", "created_at"),
    "importance": ("importance", "importanceScore", "importanceLevel"),
    "confidence": ("confidence", "confidenceTier"),
    "about": ("about", "entityRef", "entityRefs", "entity_ref"),
    "expires": ("expires", "expiresAt", "expires_at"),
    "valid_from": ("valid_from", "validAt", "valid_at"),
    "valid_until": ("valid_until", "invalidAt", "valid_to"),
    "superseded_by": ("superseded_by", "supersededBy"),
    "end_reason": ("end_reason", "forgottenReason"),
    "verification": ("verification", "verificationState"),
}
_KEYS = {
    name: (key, rank)
    for key, names in _NAMES.items()
    for rank, name in enumerate(names)
}
_STATUSES = {
    "pending_review": "review",
    "quarantined": "review",
    "rejected": "forgotten",
}
_FOLDERS = {"archive": "archived", "review": "review"}
# A word for a level is a number between the cut points 0.2, 0.4, 0.7, 0.95.
_IMPORTANCE = {
    "trivial": 0.1,
    "low": 0.2,
    "normal": 0.5,
    "medium": 0.5,
    "high": 0.7,
    "critical": 0.95,
}
_LEVELS = (0.2, 0.5, 0.75, 1.0)  # seed E's importance 0 to 3 (row E4)
_COMPANION = {"PROFILE", "PEOPLE", "PROJECT"}
# row E6
_ORIGINS = {
    "shadow_extraction": "shadow_extraction",
    "seeded_profile": "user",
    "curated_fold": "dream",
}
# row C25
_CONFIDENCE = {"explicit": 1.0, "implied": 0.8, "inferred": 0.6, "speculative": 0.35}
_EPHEMERAL = {"episode": timedelta(days=30), "note": timedelta(days=90)}  # row B16
_PINNING = frozenset(
    ("ttl_policy", "policyClass", "pinned", "keep_forever", "protected")
)
_NEVER_FADES = {"keep_forever", "protected"}

# an embed, and if it is alone on its line the blank lines below it
_EMBED = re.compile(
    r"^[ \t]*!\[\[[^\[\]\n]*\]\][ \t\r]*\n(?:[ \t\r]*\n)*|!\[\[[^\[\]\n]*\]\]",
    re.MULTILINE,
)
_ASIDE = re.compile(r"^## (?:History|Review)[ \t]*$", re.MULTILINE)
_HISTORY = re.compile(r"^## History[ \t]*$", re.MULTILINE)
_HEADING = re.compile(r"^#{1,2} ", re.MULTILINE)
_REVIEW = re.compile(r"^#(?=# Review\s*$)", re.MULTILINE)
_LINK = re.compile(r"!?\[\[([^\]|]*)(?:\|[^\]]*)?\]\]")
_UNSHOWABLE = re.compile(r"[\[\]|]+")
_UNLINKABLE = re.compile(r"[\[\]|#^/\\]")
_ID = re.compile(r"\S{1,80}")
_NAMED = re.compile(r"-([0-9a-f]{8})(?:-\d+)?\.md$")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def fact_from(
    note: Note, path: str, sha: str, zone: tzinfo
) -> tuple[Fact | None, tuple[Problem, ...]]:
    """Return the fact in a note, and its problems (rows C8, X3).

    The parser is tolerant: keys and scales of other formats are accepted; an invalid
    value counts as missing and is a problem. A note without front matter has confidence
    1, and its id and date follow from its path. The fact is None if the note is broken
    or empty.
    """
    reader = _Reader(note, path, zone)
    text = statement_of(note.body)
    if note.problems:
        return None, tuple(replace(problem, path=path) for problem in note.problems)
    if not text:
        return None, (Problem("empty", "the note holds no statement", path),)
    category, tags = reader.category()
    kind = reader.word("kind", KINDS, "note")
    created = reader.time("created") or _folder_date(path, zone)
    source, *also = reader.sources() or [""]
    pinned = reader.pinned()
    sensitivity = reader.word("sensitivity", SENSITIVITIES, "normal")
    # A highly sensitive fact without a persona is visible to the owner alone.
    everybody = UNKNOWN_PERSONA if sensitivity == HIGH else None
    fact = Fact(
        id=reader.id(),
        text=text,
        category=category,
        kind=kind,
        created=created,
        status=reader.status(),
        confidence=reader.share("confidence", 1.0, _CONFIDENCE),
        importance=1.0 if pinned else reader.importance(),
        about=reader.links("about"),
        attribute=reader.text("attribute"),
        value=reader.text("value"),
        tags=tags,
        source=source,
        also=tuple(also),
        origin=reader.text("origin") or reader.seeded(),
        pinned=pinned,
        expires=reader.time("expires", end=True) or reader.ephemeral(created, kind),
        valid_from=reader.time("valid_from"),
        valid_until=reader.time("valid_until", end=True),
        event_end=reader.time("event_end", end=True),
        supersedes=reader.links("supersedes"),
        superseded_by=reader.links("superseded_by"),
        derived_from=reader.links("derived_from") or reader.links("pair"),
        because=reader.links("because"),
        end_reason=reader.text("end_reason"),
        persona=reader.text("persona") or everybody,
        sensitivity=sensitivity,
        layer=reader.text("layer"),
        verification=reader.text("verification"),
        dated_by=reader.text("dated_by"),
        done=reader.time("done"),
        path=path,
        sha=sha,
    )
    if fact.status == "review":
        reader.problems += reviews.problems(note.body, path, note.body_line)
    return fact, tuple(reader.problems)


def fact_keys(fact: Fact, zone: tzinfo) -> dict[str, object]:
    """Return the front matter of a new note, in the order of the format.

    What the reader assumes of a missing key is left out.
    """
    sources = [f"[[{key}]]" for key in fact.turns]
    keys: dict[str, object] = {
        "id": fact.id,
        "category": fact.category,
        "kind": fact.kind,
        "created": _time(fact.created, zone),
        "status": fact.status,
        "confidence": float(fact.confidence),
        "importance": float(fact.importance),
        "about": [link(name) for name in fact.about],
        "attribute": fact.attribute,
        "value": fact.value,
        "tags": ["-".join(tag.split()) for tag in fact.tags],
        "source": sources if len(sources) > 1 else "".join(sources),
        "pinned": fact.pinned,
        "expires": _time(fact.expires, zone),
        "valid_from": _time(fact.valid_from, zone),
        "event_end": _time(fact.event_end, zone),
        "valid_until": _time(fact.valid_until, zone),
        "dated_by": fact.dated_by,
        "done": _time(fact.done, zone),
        "supersedes": list(fact.supersedes),
        "superseded_by": list(fact.superseded_by),
        "derived_from": list(fact.derived_from),
        "because": list(fact.because),
        "layer": fact.layer,
        "persona": None if fact.persona == UNKNOWN_PERSONA else fact.persona,
        "sensitivity": "" if fact.sensitivity == "normal" else fact.sensitivity,
        "verification": fact.verification,
        "origin": fact.origin,
        "end_reason": fact.end_reason,
    }
    return {
        key: value
        for key, value in keys.items()
        if (value or isinstance(value, float)) and value != _ASSUMED.get(key)
    }


_ASSUMED: Mapping[str, object] = {
    "kind": "note",
    "status": "active",
    "confidence": 1.0,
    "importance": 0.5,
}
"""The values that `fact_from` gives to missing keys."""


def change(
    old: Fact, new: Fact, zone: tzinfo, why: str, body: str | None = None
) -> Edit | Move:
    """Return the change by which the note of `old` becomes that of `new`.

    It writes the keys that differ, and the `body` if there is one; with another path
    the note moves.
    """
    before, after = fact_keys(old, zone), fact_keys(new, zone)
    keys = {key: value for key, value in after.items() if before.get(key) != value}
    keys |= dict.fromkeys(before.keys() - after.keys())
    if new.path == old.path:
        return Edit(old.path, old.sha, keys, why, body)
    return Move(old.path, old.sha, new.path, keys, why, body)


def fact_body(text: str, source: str = "", asking: str = "") -> str:
    """Return the body of a new note: the inert statement, and its turn as an embed.

    `source` is the key of the turn, `asking` the question of a doubtful fact, from
    `reviews.section`.
    """
    statement = _REVIEW.sub("&#35;", escape(plain_text(text).strip()))
    parts = (statement, f"![[{source}]]" if source else "", asking.rstrip("\n"))
    return "\n\n".join(filter(None, parts)) + "\n"


def with_statement(body: str, old: str, new: str, day: str) -> str | None:
    """Return `body` with the statement `new`; `old` moves below `## History`.

    None if the user changed the statement.
    """
    before, after = fact_body(old).rstrip("\n"), fact_body(new).rstrip("\n")
    if not body.startswith(before):
        return None
    rest = body[len(before) :].rstrip("\n")
    line = f"- until {day}: {' '.join(before.split())}"
    history = _HISTORY.search(rest)
    if history is None:
        return f"{after}{rest}\n\n## History\n\n{line}\n"
    following = _HEADING.search(rest, history.end())
    end = following.start() if following else len(rest)
    listed, below = rest[:end].rstrip("\n"), rest[end:]
    return f"{after}{listed}\n{line}\n" + (f"\n{below}\n" if below else "")


COMPUTED = ("stage",)
"""Keys of old versions that are now computed; the next write to a note removes them."""


def keys_to_write(change: Edit | Move) -> dict[str, object]:
    """Return the keys that a change writes, without COMPUTED ones."""
    if not change.keys and change.body is None:
        return {}
    return {**dict.fromkeys(COMPUTED), **change.keys}


def is_derived_id(fact: Fact, zone: tzinfo) -> bool:
    """Return whether the fact's id is derived from its path: the note has no id."""
    return fact.id == _derived_id(fact.path, zone)


def _derived_id(path: str, zone: tzinfo) -> str:
    return ulid(_folder_date(path, zone) or datetime(1970, 1, 1, tzinfo=UTC), path)


def was_reworded(fact: Fact) -> bool:
    """Return whether the file name has the hash of an older statement (`C7`)."""
    named = _NAMED.search(fact.path)
    return named is not None and not content_hash(fact.text).startswith(named[1])


def statement_of(body: str) -> str:
    """Return the statement in a body, without embeds, `## History` and `## Review`."""
    aside = _ASIDE.search(body)
    return unescape(_EMBED.sub("", body[: aside.start()] if aside else body)).strip()


def fact_path(
    fact: Fact,
    zone: tzinfo,
    *,
    taken: Callable[[str], bool],
    folder: str = "facts",
    pattern: str = "",
) -> str:
    """Return the path of a new fact (`C7`).

    It is `facts/<date>/<category>-<slug>-<hash8>.md`; in the `folder` review it has no
    date. `taken` returns whether a path is in use; such a name gets `-2`, `-3` … Raises
    ValueError for a fact without a date.
    """
    if fact.created is None:
        message = "a new fact needs its time"
        raise ValueError(message)
    stem = pattern or FILE_NAME
    for name, value in (
        ("{category}", fact.category),
        ("{timestamp}", f"{fact.created.astimezone(UTC):%Y%m%dt%H%M%Sz}"),
        ("{hash}", content_hash(fact.text)[:8]),
        ("{slug}", slug(fact.text)),
    ):
        stem = stem.replace(name, value)
    day = "" if folder == "review" else f"{fact.created.astimezone(zone):%Y-%m-%d}/"
    return (
        unused_name(f"{folder}/{day}{stem}", lambda free: taken(f"{free}.md")) + ".md"
    )


def link(name: str, shown: str = "") -> str:
    """Return `name` as a wikilink, or unchanged if a link cannot contain it.

    The link is displayed as the text `shown`, without its brackets and bars.
    """
    alias = " ".join(_UNSHOWABLE.sub(" ", escape(plain_text(shown))).split())
    target = f"{name}|{alias}" if alias else name
    return name if _UNLINKABLE.search(name) else f"[[{target}]]"


class _Reader:
    """The parser of the values of one note, which collects its problems."""

    def __init__(self, note: Note, path: str, zone: tzinfo) -> None:
        self.note, self.path, self.zone = note, path, zone
        self.problems: list[Problem] = []
        self._said: dict[str, tuple[int, str, object]] = {}
        for name, value in note.keys.items():
            key, rank = _KEYS.get(name, (name, 0))
            if value is not None and rank <= self._said.get(key, (rank,))[0]:
                self._said[key] = (rank, name, value)

    def first(self, key: str) -> tuple[str, object]:
        """Return the name of `key` in the note and its value, None if it is missing."""
        _, name, value = self._said.get(key, (0, key, None))
        return name, value

    def doubt(self, key: str, message: str) -> None:
        self.problems.append(
            Problem("bad-value", f"{key}: {message}", self.path, self.note.line_of(key))
        )

    def text(self, key: str) -> str:
        if key not in self._said:
            return ""
        _, name, value = self._said[key]
        if isinstance(value, list | dict):
            self.doubt(name, "is not one value")
            return ""
        return str(value).strip()

    def word(self, key: str, known: tuple[str, ...], default: str) -> str:
        word = self.text(key).casefold()
        if word and word not in known:
            self.doubt(
                self.first(key)[0],
                f"{word!r} is none of {', '.join(known)}; read as {default}",
            )
        return word if word in known else default

    def texts(self, key: str) -> list[str]:
        """Return the texts of a list or single value; YAML parses a link as a list."""
        if key not in self._said:
            return []
        return [text for item in _flat(self._said[key][2]) if (text := item.strip())]

    def links(self, key: str) -> tuple[str, ...]:
        """Return the targets of the links in a list, names or ids, or plain text."""
        return tuple(map(_target, self.texts(key)))

    def id(self) -> str:
        text = self.text("id")
        if _ID.fullmatch(text):
            return text
        if text:
            self.doubt("id", "is no id; one was derived from the path")
        return _derived_id(self.path, self.zone)

    def category(self) -> tuple[str, tuple[str, ...]]:
        """Return the category and the tags; an unknown category becomes a tag."""
        tags = [
            tag
            for text in self.texts("tags")
            for tag in text.replace("#", " ").replace(",", " ").split()
        ]
        word = self.text("category").casefold()
        known = category_named(word) if word else (PLAIN, "")
        category, tag = known or (PLAIN, "-".join(word.split()))
        if tag and word not in tags:
            tags.append(tag)
        if known is None:
            self.problems.append(
                Problem(
                    "unknown-category",
                    f"category: {word!r} is not known; kept as a tag",
                    self.path,
                    self.note.line_of("category"),
                )
            )
        return category, tuple(tags)

    def status(self) -> str:
        """Return the status.

        An active note in `archive/` or `review/` has the status of that folder.
        """
        word = self.text("status").casefold()
        if word in _STATUSES:
            return _STATUSES[word]
        status = self.word("status", STATUSES, "active")
        return (
            _FOLDERS.get(self.path.partition("/")[0], status)
            if status == "active"
            else status
        )

    def share(self, key: str, default: float, levels: Mapping[str, float]) -> float:
        """Return a number from 0 to 1, also for the word of a level."""
        name, value = self.first(key)
        if value is None:
            return default
        if isinstance(value, str) and value.casefold() in levels:
            return levels[value.casefold()]
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.doubt(name, f"{value!r} is no number from 0 to 1")
            return default
        if not 0 <= value <= 1:
            self.doubt(name, f"{value} is outside 0 to 1")
        return float(min(1, max(0, value)))

    def importance(self) -> float:
        """Return the importance, 0–1.

        In notes of seed A, 2 to 10 are tenths; in notes of seed E, 0 to 3 are levels
        (`E4`).
        """
        value = self.first("importance")[1]
        if isinstance(value, int | float) and not isinstance(value, bool):
            if self.companion():
                return _LEVELS[min(3, max(0, round(value)))]
            if 1 < value <= 10:
                return value / 10
        return (
            _LEVELS[1]
            if value is None and self.companion()
            else self.share("importance", 0.5, _IMPORTANCE)
        )

    def companion(self) -> bool:
        """Return whether the note has the keys of seed E (`E1`)."""
        return (
            "memoryKey" in self.note.keys
            or str(self.note.keys.get("type")) in _COMPANION
        )

    def seeded(self) -> str:
        """Return the origin for the source in a note of seed E, or '' (`E6`)."""
        return next(
            (_ORIGINS[text] for text in self.texts("source") if text in _ORIGINS), ""
        )

    def time(self, key: str, *, end: bool = False) -> datetime | None:
        if key not in self._said:
            return None
        _, name, value = self._said[key]
        when = time_value(value, self.zone, end=end)
        if when is None:
            self.doubt(name, f"{value!r} is no date")
        return when

    def sources(self) -> list[str]:
        """Return the keys of the turns, each once (`A8`).

        A word that is no key of a turn, as `extraction` in other formats, is no source.
        """
        targets = (_target(text, whole=True) for text in self.texts("source"))
        return list(dict.fromkeys(text for text in targets if "#^" in text))

    def pinned(self) -> bool:
        if _PINNING.isdisjoint(self.note.keys):
            return False
        marks = {
            str(self.note.keys.get(key, "")) for key in ("ttl_policy", "policyClass")
        }
        return bool(marks & _NEVER_FADES) or any(
            str(self.note.keys.get(key, "")).casefold() in {"true", "yes", "on", "1"}
            for key in ("pinned", "keep_forever", "protected")
        )

    def ephemeral(self, created: datetime | None, kind: str) -> datetime | None:
        """Return the end of a note that another format calls ephemeral (`B16`)."""
        marked = "ephemeral" in {
            self.note.keys.get("ttl_policy"),
            self.note.keys.get("policyClass"),
        }
        return (
            created + _EPHEMERAL.get(kind, _EPHEMERAL["note"])
            if marked and created
            else None
        )


def _flat(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for item in value for text in _flat(item)]
    return [] if value is None or isinstance(value, dict) else [str(value)]


def _target(text: str, *, whole: bool = False) -> str:
    """Return the target of a wikilink: the note's name, or `whole` with its block.

    Text that is not a link is returned unchanged.
    """
    found = _LINK.fullmatch(text) if text.endswith("]]") else None
    if found is None:
        return text
    target = found[1].rpartition("/")[2]
    return target if whole else target.partition("#")[0]


def _folder_date(path: str, zone: tzinfo) -> datetime | None:
    match = _DATE.search(path)
    return time_value(match[0], zone) if match else None


def _time(when: datetime | None, zone: tzinfo) -> str:
    return time_text(when, zone) if when else ""
