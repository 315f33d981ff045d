"""Mask recalled text that returns in a turn, so that it is not stored again (`X7`).

Recalled text is recognised by the fence that recall puts around its output, and by the
shingles (short runs of words) of the text recalled in the same session. Masking
preserves positions: a masked span becomes a line break and blanks of equal length, so
that the text before and after it is not parsed as one sentence.
"""

from __future__ import annotations

import binascii
import re
import threading
from array import array
from base64 import b64decode, b64encode
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from engram.core.language.languages import LazyPattern
from engram.core.language.words import words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from engram.core.policy import EchoPolicy

# The angle brackets in the forms that a page, a Markdown writer or a JSON encoder uses.
_MARKER = LazyPattern(
    r"\\?(?:<|&(?:amp;)?(?:lt|#60|#x3c);|\\u003c)[ \t]{0,3}(\\?/)?[ \t]{0,3}memory-notes[ \t]{1,3}([0-9a-f]{8})"
    r"[ \t]{0,3}\\?(?:>|&(?:amp;)?(?:gt|#62|#x3e);|\\u003e)",
    re.IGNORECASE,
)
# Thai, Lao, Burmese, Khmer, kana, Han, Hangul: `words` gives pairs of signs.
_UNSPACED = (
    "\u0e01-\u0e4e\u0e81-\u0ecd\u1000-\u1049\u1780-\u17d3\u3005-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    "\U00020000-\U000323af"
)
_SIGN = rf"[^\s{_UNSPACED}!-/:-@\[-`{{-~…“”„‘’‚«»‹›¿¡–—、。，！？；：（）「」『』]"
_RUN = LazyPattern(rf"([{_UNSPACED}]+)|{_SIGN}+(?:['’]{_SIGN}+)*")
_BORDER = LazyPattern(r"(?<=[.!?;:\]])\s|[\n。！？；：…\"“”«»]")
_WORD, _PAIR = 2, 1
"""The weights of a word and of a pair of signs, which counts as half a word."""


def unfenced(text: str) -> str:
    """Return `text` of the same length with fenced text and its fence masked (`X7`).

    A block ends at the closing marker with its id, else at the next closing marker,
    else at the end of the text. Markers are also recognised when quoted, indented or
    escaped for HTML, Markdown or JSON. The time is linear in the length.
    """
    markers = list(_MARKER.finditer(text))
    closing: dict[int, int] = {}
    latest: dict[str, int] = {}
    for place in range(len(markers) - 1, -1, -1):
        mark = markers[place][2].lower()
        if markers[place][1]:
            latest[mark] = latest[""] = place
        else:
            closing[place] = latest.get(mark, latest.get("", len(markers)))

    spans, place = [], 0
    while place < len(markers):
        end = closing.get(place)
        if end is not None:
            stop = markers[end].end() if end < len(markers) else len(text)
            spans.append((markers[place].start(), stop))
            place = end
        place += 1
    return _blanked(text, spans)


def own_words(text: str) -> str:
    """Return `text` without fenced text, for display and search (`X7`).

    A text without a fence is returned unchanged.
    """
    if "memory-notes" not in text:
        return text
    return "\n".join(
        line.strip() for line in unfenced(text).splitlines() if line.strip()
    )


def shingles(text: str, policy: EchoPolicy) -> frozenset[int]:
    """Return the shingles of `text` as 64-bit numbers (`X7`).

    They are its runs of `window` words, and its shorter statements of at least `least`
    words. The numbers are the same in every process. The time is linear in the length.
    """
    pieces = _pieces(text)
    return frozenset(
        _number(pieces[first:last])
        for first, last in _known_spans(text, pieces, policy)
    )


def masked(
    text: str, handed_out: AbstractSet[int], policy: EchoPolicy, *, own: bool = False
) -> str:
    """Return `text` of the same length with the shingles of `handed_out` masked (`X7`).

    With `own` the text is the user's: a statement with at least one new word is then
    not masked, because the user confirms or corrects recalled text. The time is linear
    in the length.
    """
    if not handed_out:
        return text
    pieces = _pieces(text)
    covered = bytearray(len(pieces))
    for first, last in _known_spans(text, pieces, policy):
        if _number(pieces[first:last]) in handed_out:
            covered[first:last] = b"\1" * (last - first)
    if own:
        for first, last in _statements(text, pieces):
            if not all(covered[first:last]):
                covered[first:last] = bytes(last - first)
    return _blanked(text, list(_stretches(pieces, covered)))


class HandedOut:
    """The shingles of the text that recall returned, by session; thread-safe.

    The latest `sessions` sessions are retained, each with its latest `shingles`. `note`
    only stores the text, at most `texts` of a session; `of` computes the shingles.
    """

    def __init__(self, policy: EchoPolicy) -> None:
        self._policy = policy
        self._lock = threading.Lock()
        self._cutting = threading.Lock()
        self._texts: dict[str, list[str]] = {}
        self._known: dict[str, array[int]] = {}

    def note(self, session: str, text: str) -> None:
        """Record that recall returned `text`, with its fence, in `session`."""
        if text:
            with self._lock:
                texts = [*self._texts.pop(session, ()), text][-self._policy.texts :]
                self._keep(self._texts, session, texts)

    def of(self, session: str) -> frozenset[int]:
        """Return the shingles of the text that recall returned in `session`."""
        with self._cutting:
            with self._lock:
                texts = self._texts.pop(session, ())
                known = dict.fromkeys(self._known.pop(session, ()))
            for number in (
                number for text in texts for number in shingles(text, self._policy)
            ):
                known.pop(number, None)
                known[number] = None
            latest = list(known)[-self._policy.shingles :]
            if latest:
                with self._lock:
                    self._keep(self._known, session, array("Q", latest))
        return frozenset(latest)

    def dump(self) -> dict[str, str]:
        """Return the shingles of all sessions for JSON, at most 90 kB for each.

        The text cannot be reconstructed from them.
        """
        with self._lock:
            waiting = list(self._texts)
        for session in waiting:
            self.of(session)
        with self._cutting, self._lock:
            return {
                session: b64encode(known.tobytes()).decode()
                for session, known in self._known.items()
            }

    def load(self, saved: Mapping[str, object]) -> None:
        """Load the result of `dump` from this machine; invalid entries are skipped."""
        for session, packed in saved.items():
            known = array("Q")
            try:
                known.frombytes(b64decode(str(packed), validate=True))
            except (binascii.Error, ValueError):
                continue
            with self._lock:
                self._keep(self._known, session, known[-self._policy.shingles :])

    def _keep(self, sessions: dict[str, Any], session: str, value: object) -> None:
        """Set the session's value as the latest one, and remove the oldest sessions."""
        sessions[session] = value
        while len(sessions) > self._policy.sessions:
            del sessions[next(iter(sessions))]


class _Piece(NamedTuple):
    """A word, or a pair of signs of a script without blanks; its span and weight."""

    word: str
    start: int
    end: int
    weight: int


def _pieces(text: str) -> list[_Piece]:
    """Return the words of `text` with their spans; words of one run share its span."""
    found = []
    for run in _RUN.finditer(text):
        start, end = run.span()
        spelled, in_pairs = run.group(), run[1] is not None
        inside = (
            [spelled.lower()]
            if spelled.isascii() and spelled.isalnum()
            else words(spelled)
        )
        if in_pairs and len(inside) == end - start - 1:
            found += [
                _Piece(pair, start + i, start + i + 2, _PAIR)
                for i, pair in enumerate(inside)
            ]
        else:
            weight = _PAIR if in_pairs else _WORD
            found += [_Piece(word, start, end, weight) for word in inside]
    return found


def _known_spans(
    text: str, pieces: Sequence[_Piece], policy: EchoPolicy
) -> Iterator[tuple[int, int]]:
    """Yield the spans of `pieces` that form a shingle.

    They are each run of `window` words, and a shorter statement as a whole.
    """
    whole, least = policy.window * _WORD, policy.least * _WORD
    for start, end in _statements(text, pieces):
        first = last = start
        weight = 0
        while last < end:
            weight += pieces[last].weight
            last += 1
            while weight >= whole:
                yield first, last
                weight -= pieces[first].weight
                first += 1
        if first == start and weight >= least:
            yield start, end


def _statements(text: str, pieces: Sequence[_Piece]) -> Iterator[tuple[int, int]]:
    """Yield the statements of `text` as spans of `pieces`.

    A statement ends at the end of a sentence, a line or a quotation.
    """
    first = last = 0
    for border in [*(match.start() for match in _BORDER.finditer(text)), len(text)]:
        while last < len(pieces) and pieces[last].start < border:
            last += 1
        if last > first:
            yield first, last
        first = last


def _number(pieces: Sequence[_Piece]) -> int:
    """Return a 64-bit hash of the words in their order."""
    spelled = "\n".join([piece.word for piece in pieces])
    return int.from_bytes(
        blake2b(spelled.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    )


def _stretches(
    pieces: Sequence[_Piece], covered: bytearray
) -> Iterator[tuple[int, int]]:
    """Yield the spans of the text that the covered pieces fill."""
    first = covered.find(1)
    while first >= 0:
        last = covered.find(0, first)
        last = len(covered) if last < 0 else last
        yield pieces[first].start, pieces[last - 1].end
        first = covered.find(1, last)


def _blanked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return `text` with each span replaced by a line break and blanks.

    Line breaks inside a span stay.
    """
    parts, done = [], 0
    for start, end in spans:
        blank = re.sub(r"[^\n]", " ", text[start + 1 : end])
        parts += [text[done:start], "\n", blank]
        done = end
    return "".join([*parts, text[done:]])
