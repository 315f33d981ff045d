"""What in a turn is somebody else's text: between quotation marks, quoted, fenced,
forwarded or pasted (rows X2, X27).

Who hands in a text need not have written it. The offline rules read nothing in such a
part, and what a model reads there does not count as said by the user.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARKS = re.compile(
    r"(?<!\w)\"(?=\S)(?:[^\"]+\"|[^\"\n]+)"  # one that is left open ends with its line
    r"|„[^“”„]+[“”]|“[^“”]+”|«[^«»]+»|»[^«»]+«|「[^「」]+」|『[^『』]+』"
    r"|(?<!\w)[‘'][^'‘’\n]{2,80}[’'](?!\w)"
)
_BLOCKS = re.compile(r"(```|~~~).*?(?:\1|\Z)|^[ \t]*>[^\n]*", re.DOTALL | re.MULTILINE)
_HEADED = re.compile(
    r"^[ \t>]*(?:-{2,}[^\n]{0,20}\b(?:forwarded|original|weitergeleitet\w*|ursprüngliche|transféré|reenviado)\b[^\n]*"
    r"|(?:begin )?forwarded message:"
    r"|(?:subject|from|sent|betreff|von|gesendet|objet|de|asunto)[ \t]?:[ \t]*\S[^\n]*\n[ \t>]*"
    r"(?:subject|from|to|cc|date|sent|betreff|von|an|datum|gesendet|objet|de|à|date|asunto|para|fecha)[ \t]?:"
    r"|(?:subject|betreff|objet|asunto)[ \t]?:[ \t]*\S"
    r"|(?:on|am|le|el) [^\n]{6,80}(?:wrote|schrieb[^\n]{0,40}|a écrit|escribió)[ \t]?:[ \t]*$)",
    re.IGNORECASE | re.MULTILINE,
)
_PASSED_ON = re.compile(
    r"^(?=[^\n]*\b(?:sent|wrote|writes|says|said|forward\w*|past(?:e|ed|ing)|received|got this|e-?mail|mail|letter"
    r"|message|article|post|review|text|page|paragraph|transcript|summari[sz]e|translate|proofread|rephrase|rewrite"
    r"|schrieb|schreibt|geschickt|bekommen|weitergeleitet|nachricht|brief|artikel|zusammenfass\w*|übersetz\w*"
    r"|fass\w*|envoyé|écrit|reçu|lettre|courriel|résume[rz]?|tradui\w*|envió|escribió|recibí|carta|correo|mensaje"
    r"|resum[ea]\w*|traduc\w*)\b)[^\n]*:[ \t]*\n",
    re.IGNORECASE | re.MULTILINE,
)
"""A line that ends with a colon and announces a text, which then goes on to the end."""


def parts(text: str) -> tuple[tuple[int, int], ...]:
    """The places in `text` of what somebody else wrote, in order and apart from each
    other (`X2`, `X27`). Linear.

    `He said "go" twice` gives the one part `"go"`. What a line has announced and what
    stands below the head of a forwarded message go on to the end, for nobody can tell
    where such a text stops.
    """
    found = [
        one.span() for pattern in (_BLOCKS, _MARKS) for one in pattern.finditer(text)
    ]
    if headed := _HEADED.search(text):
        found.append((headed.start(), len(text)))
    if announced := _PASSED_ON.search(text):
        found.append((announced.end(), len(text)))
    return tuple(_joined(sorted(found)))


def _joined(found: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Overlapping places as one."""
    start, end = -1, -1
    for first, last in found:
        if first >= end:
            if end > start:
                yield start, end
            start = first
        end = max(end, last)
    if end > start:
        yield start, end


def quoted(text: str, words: str) -> str:
    """The part of `text` that is somebody else's and holds `words`, or '' where they
    are said outside one too (`X27`).

    `quoted('She wrote "I live in Rome."', "I live in Rome") == '"I live in Rome."'`.
    """
    known = parts(text)
    held = ""
    place = text.find(words) if words else -1
    while place >= 0:
        end = place + len(words)
        around = next((one for one in known if one[0] <= place and end <= one[1]), None)
        if around is None:
            return ""
        held = held or text[around[0] : around[1]]
        place = text.find(words, end)
    return held


_TITLE = re.compile(r"[A-Z0-9][^.!?]*[.!?]?\Z")
_SPEECH = re.compile(r"\b(?:i|i'm|i've|i'll|my|me|we|you|he|she|they)\b", re.IGNORECASE)


def is_title(part: str) -> bool:
    """Whether a part between quotation marks is a short title rather than speech:
    `"Charlotte's Web"`.
    """
    inner = part.strip("\"'“”„«»‘’")
    return (
        len(inner.split()) <= 8
        and _TITLE.match(inner) is not None
        and not _SPEECH.search(inner)
    )
