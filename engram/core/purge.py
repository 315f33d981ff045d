"""The traces that a purge removes from lines and rows (X12, X26).

The *traces* of purged text are its sentences, the names of its files, its ids, and the
distinctive words that occur nowhere else in the vault. A text is searched for them in
plain form, in JSON escapes, in UTF-16 and in base64.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from engram.core import jsonl
from engram.core.language.sentences import sentences
from engram.core.language.words import STOP

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

_RUN = re.compile(r"[^\W_]+")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2})+")
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{12,}")
_LEAST_SIGNS = 10
"""Shorter sentences, such as `Yes, do.`, are no traces: they occur in other files too.
"""
_LEAST_NAME = 3
_LONG_NAME = 5
"""The least length of a distinctive word that is also found within other words."""
_IDENTIFIER = re.compile(r"[a-z][a-z_-]*")
_PLAIN_LINE = re.compile(r"[a-z_]+:(?: [a-z][a-z_-]*)?")
"""A line of front matter with a word of the format, such as `category: fact`."""
_ROW_KEYS = frozenset(
    {"memory", "met", "id", "from", "to", "for", "path", "turn", "in"}
)
"""Keys without which a row is worthless; any other key can be removed alone."""


def normal(text: str) -> str:
    """Return the words of `text` in their normal form, with one blank between them."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(_RUN.findall(folded))


@dataclass(frozen=True, slots=True, eq=False)
class Traces:
    """The traces of purged text.

    `phrases` are sentences and file names in their normal form, `names` are distinctive
    words, `purged_words` all words that occur in no other text; `ids` are the ids of
    memories and boxes and the keys of turns, `spelled` the words with a capital inside.
    """

    phrases: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    purged_words: frozenset[str] = frozenset()
    ids: frozenset[str] = frozenset()
    spelled: frozenset[str] = frozenset()

    def in_text(self, text: str) -> bool:
        """Return whether `text` has a phrase or a distinctive word."""
        if not text.isascii():
            text = unicodedata.normalize("NFKC", text)
        text = text.casefold()
        if not any(key in text for key in _keys_of(self)):
            return False
        known = normal(text)
        if any(phrase in known for phrase in self.phrases):
            return True
        found = [name for name in self.names if name in known]
        if any(len(name) >= _LONG_NAME for name in found):
            return True
        return bool(found) and not self.names.isdisjoint(known.split())

    def is_gone(self, text: str) -> bool:
        """Return whether `text`, such as a title, has a word of purged text only."""
        return not self.purged_words.isdisjoint(normal(text).split())

    def names_id(self, text: str) -> bool:
        """Return whether `text` contains the id of a purged item."""
        return any(trace_id in text for trace_id in self.ids) and any(
            re.search(rf"{re.escape(trace_id)}(?![0-9A-Za-z])", text)
            for trace_id in self.ids
        )

    def in_bytes(self, raw: bytes) -> bool:
        """Return whether `raw` has a phrase or a distinctive word in any encoding."""
        if any(self.in_text(view) for view in views(raw)):
            return True
        return any(
            any(form in some for form in _encoded_keys(self)) and self._is_in(some)
            for some in (raw, *_decoded(raw))
        )

    def _is_in(self, raw: bytes) -> bool:
        return any(
            self.in_text(raw[shift:].decode(code, "replace"))
            for code in ("utf-8", "utf-16-le", "utf-16-be")
            for shift in (0, 1)
        )


@lru_cache(4)
def _keys_of(found: Traces) -> frozenset[str]:
    """Return the names and a word of each phrase; each trace has one of them."""
    return found.names | {max(phrase.split(), key=len) for phrase in found.phrases}


@lru_cache(4)
def _encoded_keys(found: Traces) -> tuple[bytes, ...]:
    """Return the keys in their usual cases, in each encoding."""
    forms = {
        unicodedata.normalize(norm, form)
        for key in _keys_of(found)
        for form in (key, key.capitalize(), key.upper(), *found.spelled)
        for norm in ("NFC", "NFD")
    }
    codes = ("utf-8", "utf-16-le", "utf-16-be")
    return tuple(form.encode(code) for form in sorted(forms) for code in codes)


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
    phrases = _phrases(purged, stems)
    name_words = _words(entities)
    words = _words(purged) | name_words
    names = name_words.union(*map(_distinctive, purged))
    for text in remaining_texts:
        staying = normal(text)
        staying_words = set(staying.split())
        words -= staying_words
        names = {name for name in names - staying_words if name not in staying}
        phrases = {phrase for phrase in phrases if phrase not in staying}
    stop = frozenset().union(*STOP.values())
    return Traces(
        tuple(sorted(phrases)),
        frozenset(name for name in names - stop if len(name) >= _LEAST_NAME),
        frozenset(words - stop),
        frozenset(ids),
        frozenset(word for text in purged for word in _unusually_spelled(text)),
    )


def _phrases(texts: Iterable[str], stems: Iterable[str]) -> set[str]:
    """Return the texts, their sentences and the names of notes that are long enough."""
    whole = {normal(phrase) for phrase in (*texts, *stems)}
    parts = {normal(phrase) for text in texts for phrase in _sentences(text)}
    return {phrase for phrase in whole | parts if len(phrase) >= _LEAST_SIGNS}


def _words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in normal(text).split()}


def _unusually_spelled(text: str) -> Iterator[str]:
    """Yield the words with capitals inside, such as `iPhone`."""
    for word in _RUN.findall(text):
        if word not in {word.lower(), word.capitalize(), word.upper()}:
            yield word


def _sentences(text: str) -> Iterator[str]:
    for start, end in sentences(text):
        yield text[start:end]


def _distinctive(text: str) -> Iterator[str]:
    """Yield words with a digit, and words with a capital inside a sentence."""
    for sentence in _sentences(text):
        for number, word in enumerate(_RUN.findall(sentence)):
            folded = normal(word)
            digit = any(sign.isdigit() for sign in word) and len(word) > _LEAST_NAME
            inner = any(sign.isupper() for sign in word[1:])
            capital = number > 0 and word[0].isupper() and not word.isdigit()
            if digit or inner or capital:
                yield from folded.split()


# -- views of bytes --------------------------------------------------------------------


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


def _decoded(raw: bytes) -> Iterator[bytes]:
    """Yield the decoded content of base64 runs, for each of the four alignments."""
    found = [run.translate(_TO_STANDARD) for run in _BASE64.findall(raw)]
    for shift in range(4):
        parts = []
        for run in found:
            some = run[shift:]
            some = some[:-1] if len(some) % 4 == 1 else some
            try:
                parts.append(base64.b64decode(some + b"=" * (-len(some) % 4)))
            except (binascii.Error, ValueError):
                continue
        if parts:
            yield b"\n".join(parts)


_TO_STANDARD = bytes.maketrans(b"-_", b"+/")


# -- cuts ------------------------------------------------------------------------------


def cut_lines(text: str, found: Traces) -> str:
    """Return the lines of `text` without those that have a trace."""
    lines = text.split("\n")
    remaining = [
        line
        for line in lines
        if _PLAIN_LINE.fullmatch(line)
        or not (found.in_text(line) or found.names_id(line))
    ]
    return text if len(remaining) == len(lines) else "\n".join(remaining)


def cut_rows(raw: bytes, found: Traces) -> bytes:
    """Return JSON lines without the rows about purged memories and turns.

    A row about something else loses only the values that have a trace.
    """
    remaining = []
    for line in jsonl.lines(raw):
        if line.fault:
            text = line.raw.decode("utf-8", "replace")
            if not (found.in_text(text) or found.names_id(text)):
                remaining.append(line.raw)
            continue
        value = _cut(line.value, found, top=True)
        if value == line.value:
            remaining.append(line.raw)
        elif value is not _DROPPED:
            remaining.append(jsonl.encode([value]))
    return b"".join(remaining)


def cut_document(raw: bytes, found: Traces) -> bytes:
    """Return a JSON document without the values that have a trace."""
    try:
        value = json.loads(raw)
    except ValueError:
        return b"" if found.in_bytes(raw) else raw
    cut = _cut(value, found, top=False)
    if cut == value:
        return raw
    return json.dumps(
        {} if cut is _DROPPED else cut, ensure_ascii=False, indent=1
    ).encode()


_DROPPED: Any = object()


def _cut(value: Any, found: Traces, *, top: bool) -> Any:
    """Return a JSON value without traces; `_DROPPED` if nothing is left of it."""
    if isinstance(value, dict):
        return _cut_object(value, found, top=top)
    if isinstance(value, list):
        items = (_cut_item(item, found) for item in value)
        return [item for item in items if item is not _DROPPED]
    if isinstance(value, str) and not _IDENTIFIER.fullmatch(value):
        gone = found.in_text(value) or found.names_id(value)
        return _DROPPED if gone else value
    return value


def _cut_item(item: Any, found: Traces) -> Any:
    """Return an item of a list; a short one is removed if it has only purged words."""
    if isinstance(item, str):
        words = set(normal(item).split())
        if words and words <= found.purged_words:
            return _DROPPED
    if isinstance(item, dict) and found.is_gone(str(item.get("term") or "")):
        return _DROPPED
    return _cut(item, found, top=False)


def _cut_object(value: dict[str, Any], found: Traces, *, top: bool) -> Any:
    left = {}
    for key, inner in value.items():
        if found.names_id(key) or (
            not top and not _IDENTIFIER.fullmatch(key) and found.in_text(key)
        ):
            continue
        cut = _cut(inner, found, top=False)
        if cut is not _DROPPED:
            left[key] = cut
        elif (top and key in _ROW_KEYS) or (
            not top and key in {"topic", "name", "term", "id"}
        ):
            return _DROPPED
    return left


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
