"""The traces that a purge removes from lines and rows (X12, X26).

The *traces* of purged text are its sentences, the names of its files, its ids, and the
distinctive words that occur nowhere else in the vault. A text is searched for them in
plain form, in JSON escapes and in the escapes of addresses.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engram.core import jsonl
from engram.core.language.sentences import sentences
from engram.core.language.words import STOP

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

_RUN = re.compile(r"[^\W_]+")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2})+")
_LEAST_SIGNS = 10
"""Shorter sentences, such as `Yes, do.`, are no traces: they occur in other files too.
"""
_LEAST_NAME = 3
_IDENTIFIER = re.compile(r"[a-z][a-z_-]*")
_PLAIN_LINE = re.compile(r"(?!value:)[a-z_]+:(?: [a-z][a-z_-]*)?")
"""A line of front matter with a word of the format, such as `category: fact`.

A `value` is a word of the user.
"""
_ROW_KEYS = frozenset(
    {"memory", "met", "id", "from", "to", "for", "path", "turn", "in"}
)
"""Keys without which a row is worthless; any other key can be removed alone."""
_ITEM_KEYS = frozenset({"topic", "name", "term", "id"})
"""The same of an object within a row."""


def normal(text: str) -> str:
    """Return the words of `text` in their normal form, with one blank between them."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(_RUN.findall(folded))


@dataclass(frozen=True, slots=True)
class Traces:
    """The traces of purged text.

    `phrases` are sentences and file names in their normal form, `names` are distinctive
    words, `purged_words` all words that occur in no other text; `ids` are the ids of
    memories and boxes and the keys of turns. Names count whole.
    """

    phrases: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    purged_words: frozenset[str] = frozenset()
    ids: frozenset[str] = frozenset()

    def in_text(self, text: str) -> bool:
        """Return whether `text` has a phrase or a distinctive word."""
        known = normal(text)
        return not self.names.isdisjoint(known.split()) or any(
            phrase in known for phrase in self.phrases
        )

    def is_gone(self, text: str) -> bool:
        """Return whether `text`, such as a title, has a word of purged text only."""
        return not self.purged_words.isdisjoint(normal(text).split())

    def names_id(self, text: str) -> bool:
        """Return whether `text` contains the id of a purged item."""
        return any(
            re.search(rf"{re.escape(one)}(?![0-9A-Za-z])", text)
            for one in self.ids
            if one in text
        )

    def in_line(self, text: str) -> bool:
        """Return whether a line has any trace."""
        return self.in_text(text) or self.names_id(text)

    def in_bytes(self, raw: bytes) -> bool:
        """Return whether `raw` has a phrase or a distinctive word, also escaped."""
        return any(map(self.in_text, views(raw)))


def traces(
    purged: Collection[str],
    stems: Collection[str],
    ids: Collection[str],
    entities: Collection[str],
    remaining_texts: Iterable[str],
) -> Traces:
    """Return the traces of the `purged` texts.

    `stems` are the names of their notes, `ids` their ids and keys, `entities` the names
    of the people and things removed with them, `remaining_texts` the other texts of the
    vault.
    """
    parts = (text[start:end] for text in purged for start, end in sentences(text))
    phrases = {normal(phrase) for phrase in (*purged, *parts, *stems)}
    phrases = {phrase for phrase in phrases if len(phrase) >= _LEAST_SIGNS}
    name_words = {word for name in entities for word in normal(name).split()}
    words = name_words.union(*(normal(text).split() for text in purged))
    names = name_words.union(*map(_distinctive, purged))
    for text in remaining_texts:
        staying = normal(text)
        words -= {*staying.split()}
        phrases = {phrase for phrase in phrases if phrase not in staying}
    words -= frozenset().union(*STOP.values())
    return Traces(
        tuple(sorted(phrases)),
        frozenset(name for name in names & words if len(name) >= _LEAST_NAME),
        frozenset(words),
        frozenset(ids),
    )


def _distinctive(text: str) -> Iterator[str]:
    """Yield words with a digit, and words with a capital inside a sentence."""
    for start, end in sentences(text):
        for number, word in enumerate(_RUN.findall(text[start:end])):
            digit = any(sign.isdigit() for sign in word) and len(word) > _LEAST_NAME
            capital = any(sign.isupper() for sign in (word if number else word[1:]))
            if digit or capital:
                yield from normal(word).split()


def views(raw: bytes) -> Iterator[str]:
    """Yield `raw` as text, both with its escapes and with the escapes resolved."""
    text = raw.decode("utf-8", "replace")
    yield text
    if "\\u" in text:
        yield _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)
    if "%" in text:
        yield _PERCENT.sub(_unquoted, text)


def _unquoted(match: re.Match[str]) -> str:
    return bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "replace")


# -- cuts ------------------------------------------------------------------------------


def cut_file(path: str, raw: bytes, found: Traces) -> bytes:
    """Return the bytes of one of engram's own files without traces."""
    if path.endswith(".jsonl"):
        return cut_rows(raw, found)
    if path.endswith(".json"):
        return _cut_document(raw, found)
    text = raw.decode("utf-8", "surrogateescape")
    lines = text.split("\n")
    left = [
        one for one in lines if _PLAIN_LINE.fullmatch(one) or not found.in_line(one)
    ]
    return raw if left == lines else "\n".join(left).encode("utf-8", "surrogateescape")


def cut_rows(raw: bytes, found: Traces) -> bytes:
    """Return JSON lines without the rows about purged memories and turns.

    A row about something else loses only the values that have a trace.
    """
    remaining = []
    for line in jsonl.lines(raw):
        if line.fault:
            if not found.in_line(line.raw.decode("utf-8", "replace")):
                remaining.append(line.raw)
            continue
        value = _cut(line.value, found, _ROW_KEYS)
        if value is not _DROPPED:
            same = value == line.value
            remaining.append(line.raw if same else jsonl.encode([value]))
    return b"".join(remaining)


def _cut_document(raw: bytes, found: Traces) -> bytes:
    try:
        value = json.loads(raw)
    except ValueError:
        return b"" if found.in_bytes(raw) else raw
    cut = _cut(value, found)
    if cut == value:
        return raw
    left = {} if cut is _DROPPED else cut
    return json.dumps(left, ensure_ascii=False, indent=1).encode()


_DROPPED: Any = object()


def _cut(value: Any, found: Traces, worthless: frozenset[str] = _ITEM_KEYS) -> Any:
    """Return a JSON value without traces; `_DROPPED` if nothing is left of it."""
    if isinstance(value, list):
        return _cut_list(value, found)
    if isinstance(value, dict):
        return _cut_object(value, found, worthless)
    if isinstance(value, str) and not _IDENTIFIER.fullmatch(value):
        return _DROPPED if found.in_line(value) else value
    return value


def _cut_list(value: list[Any], found: Traces) -> list[Any]:
    """Return a list without traces and without texts of purged words alone."""
    items = [
        _cut(item, found)
        for item in value
        if not (isinstance(item, str) and _has_only_purged_words(item, found))
    ]
    return [item for item in items if item is not _DROPPED]


def _cut_object(value: dict[str, Any], found: Traces, worthless: frozenset[str]) -> Any:
    """Return an object without traces, dropped if it loses one of the `worthless` keys."""
    if any(found.is_gone(str(value.get(key) or "")) for key in ("term", "topic")):
        return _DROPPED
    left = {}
    for key, inner in value.items():
        if found.names_id(key) or (
            not _IDENTIFIER.fullmatch(key) and found.in_text(key)
        ):
            continue
        cut = _cut(inner, found)
        if cut is not _DROPPED:
            left[key] = cut
        elif key in worthless:
            return _DROPPED
    return left


def _has_only_purged_words(item: str, found: Traces) -> bool:
    words = {*normal(item).split()}
    return bool(words) and words <= found.purged_words


def vocabulary(path: str, raw: bytes) -> str:
    """Return the words of the format in a file: keys, and values such as `fact`.

    They are no traces, although a user may have written them too.
    """
    if path.endswith(".jsonl"):
        rows = list(jsonl.rows(raw))[-_SAMPLE:]
        words = {key for row in rows for key in row}
        words |= {
            value
            for row in rows
            for value in row.values()
            if isinstance(value, str) and _IDENTIFIER.fullmatch(value)
        }
        return " ".join(sorted(words))
    head = raw[:_HEAD].decode("utf-8", "replace").split("\n")
    return "\n".join(line for line in head if _PLAIN_LINE.fullmatch(line))


_SAMPLE, _HEAD = 1000, 2000
"""The number of rows, and of bytes of a note, that are searched for format words."""
