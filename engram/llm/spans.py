"""The location of a model's quote in a text (row X17)."""

from __future__ import annotations

_PLAIN = str.maketrans("‘’‚‛“”„‟«»–—‐‑−", '\'\'\'\'""""""-----')


def span(text: str, quote: str) -> str:
    """Return the part of `text` that `quote` repeats, or '' (X17).

    Case, blanks, the kind of quotation mark or dash, and marks around the whole quote
    do not matter: `"i LIKE tea…"` finds `I like tea` in `Well, I like tea`.
    """
    folded, places = _folded(text)
    folded_quote = _folded(quote)[0].strip()
    for needle in (folded_quote, folded_quote.strip(" \"'.…")):
        at = folded.find(needle) if any(map(str.isalnum, needle)) else -1
        if at >= 0:
            return text[places[at] : places[at + len(needle) - 1] + 1]
    return ""


def _folded(text: str) -> tuple[str, list[int]]:
    """Return `text` folded for comparison, and each character's position in `text`."""
    out: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text.translate(_PLAIN)):
        for piece in char.casefold():
            blank = piece.isspace()
            if not (blank and out and out[-1] == " "):
                out.append(" " if blank else piece)
                places.append(place)
    return "".join(out), places
