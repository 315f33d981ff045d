"""Recalled text that comes back in a turn is known again and masked, so that memory
never feeds on itself (row X7).

Two marks tell: the fence that recall puts around what it hands to a model, and the
shingles (short runs of words) of what was handed out in the same session. Masking keeps
every position: a masked stretch becomes blanks of equal length, with a line break in
front, so that what stood on its two sides is not read as one sentence.
"""

from __future__ import annotations

import binascii
import re
import threading
from array import array
from base64 import b64decode, b64encode
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from engram.core.language.words import words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from engram.core.policy import EchoPolicy

# The angle brackets as a page, a Markdown writer or a JSON encoder may have left them.
_MARKER = re.compile(
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
_RUN = re.compile(rf"([{_UNSPACED}]+)|{_SIGN}+(?:['’]{_SIGN}+)*")
_BORDER = re.compile(r"(?<=[.!?;:\]])\s|[\n。！？；：…\"“”«»]")
_WORD, _PAIR = 2, 1
"""What a word weighs, and a pair of signs, which is half a word."""


def unfenced(text: str) -> str:
    """`text` of the same length in which what recall had fenced is masked, with the
    fence (`X7`).

    A block ends at the end that bears its mark, else at the next end of any, else with
    the text; it is known as well where it was quoted, indented or escaped for HTML,
    Markdown or JSON. Linear.
    """
    found = list(_MARKER.finditer(text))
    ends: dict[int, int] = {}
    latest: dict[str, int] = {}
    for place in range(len(found) - 1, -1, -1):
        mark = found[place][2].lower()
        if found[place][1]:
            latest[mark] = latest[""] = place
        else:
            ends[place] = latest.get(mark, latest.get("", len(found)))
    spans, place = [], 0
    while place < len(found):
        end = ends.get(place)
        if end is not None:
            spans.append(
                (
                    found[place].start(),
                    found[end].end() if end < len(found) else len(text),
                )
            )
            place = end
        place += 1
    return _blanked(text, spans)


def own_words(text: str) -> str:
    """`text` without what recall had fenced, for showing and finding; a text without a
    fence is itself (`X7`).
    """
    if "memory-notes" not in text:
        return text
    return "\n".join(
        line.strip() for line in unfenced(text).splitlines() if line.strip()
    )


def shingles(text: str, policy: EchoPolicy) -> frozenset[int]:
    """The runs of `window` words of `text`, and its shorter statements of `least`
    words, as 64-bit numbers (`X7`).

    The numbers are the same in every process. Linear.
    """
    pieces = _pieces(text)
    return frozenset(
        _number(pieces[first:last])
        for first, last in _known_spans(text, pieces, policy)
    )


def masked(
    text: str, handed_out: AbstractSet[int], policy: EchoPolicy, *, own: bool = False
) -> str:
    """`text` of the same length without what was `handed_out`: runs of `window` words,
    whole short statements (`X7`).

    With `own` the text is a person's: then a statement with as much as one word of
    their own is kept whole, for they confirm or correct what they read. A statement of
    which no run was injected is never touched. Linear.
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
    """What recall handed out in each session, as shingles; from any thread.

    The latest `sessions` sessions are remembered, each with its latest `shingles`.
    Recall only leaves its text, at most `texts` of them; they are cut into shingles
    when somebody asks.
    """

    def __init__(self, policy: EchoPolicy) -> None:
        self._policy = policy
        self._lock = threading.Lock()
        self._cutting = threading.Lock()
        self._texts: dict[str, list[str]] = {}
        self._known: dict[str, array[int]] = {}

    def note(self, session: str, text: str) -> None:
        """`text` was handed to a model in `session`: best the fenced text as it was
        handed out.
        """
        if text:
            with self._lock:
                texts = [*self._texts.pop(session, ()), text][-self._policy.texts :]
                self._keep(self._texts, session, texts)

    def of(self, session: str) -> frozenset[int]:
        """The shingles of what was handed out in `session`."""
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
        """All of it, to be kept as JSON: at most 90 kB for a session; no text can be
        read from it.
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
        """Take back what `dump` gave on this machine; what is no such thing is left
        out.
        """
        for session, packed in saved.items():
            known = array("Q")
            try:
                known.frombytes(b64decode(str(packed), validate=True))
            except (binascii.Error, ValueError):
                continue
            with self._lock:
                self._keep(self._known, session, known[-self._policy.shingles :])

    def _keep(self, sessions: dict[str, Any], session: str, value: object) -> None:
        """Set the session's value as the latest one; the oldest sessions go."""
        sessions[session] = value
        while len(sessions) > self._policy.sessions:
            del sessions[next(iter(sessions))]


class _Piece(NamedTuple):
    """A word, or a pair of signs of a script without blanks, where it stands and what
    it weighs.
    """

    word: str
    start: int
    end: int
    weight: int


def _pieces(text: str) -> list[_Piece]:
    """The words of `text` with their places; words that share a run share its place."""
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
    """The spans of `pieces` by which a statement is known again: each run of `window`
    words, or a shorter one whole.
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
    """The statements of `text` as spans of `pieces`: from one end of a sentence, line
    or quotation to the next.
    """
    first = last = 0
    for border in [*(found.start() for found in _BORDER.finditer(text)), len(text)]:
        while last < len(pieces) and pieces[last].start < border:
            last += 1
        if last > first:
            yield first, last
        first = last


def _number(pieces: Sequence[_Piece]) -> int:
    """64 bits that stand for these words in this order."""
    spelled = "\n".join([piece.word for piece in pieces])
    return int.from_bytes(
        blake2b(spelled.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    )


def _stretches(
    pieces: Sequence[_Piece], covered: bytearray
) -> Iterator[tuple[int, int]]:
    """Where in the text the covered pieces stand, with the signs between neighbours."""
    first = covered.find(1)
    while first >= 0:
        last = covered.find(0, first)
        last = len(covered) if last < 0 else last
        yield pieces[first].start, pieces[last - 1].end
        first = covered.find(1, last)


def _blanked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """`text` with a line break and blanks for each span; line breaks inside stay where
    they are.
    """
    parts, done = [], 0
    for start, end in spans:
        blank = re.sub(r"[^\n]", " ", text[start + 1 : end])
        parts += [text[done:start], "\n", blank]
        done = end
    return "".join([*parts, text[done:]])
