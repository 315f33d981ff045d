"""Markup that is escaped by construction.

`tag` is the only function that makes markup of text, and it escapes every text that is
not `Html` already. Text of a vault may contain anything: tags, control characters, lone
surrogates, marks that change the writing direction, a megabyte of words.
"""

from __future__ import annotations

import html
from typing import Any

from engram.serve import spans

SHOWN = 4000
"""Maximum number of characters of one stored text on a page."""

_CONTROLS = dict.fromkeys(
    [*range(9), 11, 12, *range(14, 32), *range(127, 160)], "\N{REPLACEMENT CHARACTER}"
)
_VOID = frozenset(("br", "hr", "input", "link", "meta"))


class Html(str):
    """Markup that is safe to send."""

    __slots__ = ()


def text(value: object) -> Html:
    """Return a text as markup; characters that UTF-8 cannot encode become U+FFFD."""
    if isinstance(value, Html):
        return value
    plain = str(value)
    if not plain.isascii():
        plain = plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return Html(html.escape(plain.translate(_CONTROLS)))


def join(*children: object) -> Html:
    """Return the concatenated children; None and False are skipped."""
    parts: list[str] = []
    for child in children:
        if child is None or child is False:
            continue
        if isinstance(child, str | int | float):
            parts.append(text(child))
        else:
            parts += [join(one) for one in child]  # type: ignore[attr-defined]  # an iterable
    return Html("".join(parts))


def tag(name: str, /, *children: object, **attributes: Any) -> Html:
    """Return an element.

    An underscore in the name of an attribute is a hyphen, one at its end is left out,
    as in `class_`. An attribute that is None or False is left out.

    >>> tag("a", "<b>", href="/?a&b", class_="x", hidden=True)
    '<a href="/?a&amp;b" class="x" hidden>&lt;b&gt;</a>'
    """
    words = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        attribute = key.rstrip("_").replace("_", "-")
        words.append(attribute if value is True else f'{attribute}="{text(value)}"')
    opened = f"<{' '.join(words)}>"
    return Html(opened if name in _VOID else f"{opened}{join(*children)}</{name}>")


def shortened(value: object, most: int = SHOWN) -> str:
    """Return the beginning of a long text, and the number of cut characters."""
    words = str(value)
    if len(words) <= most:
        return words
    return f"{words[:most].rstrip()} … ({len(words) - most:,} more characters)"


def said(value: object, *, name: str = "p", most: int = SHOWN, **more: Any) -> Html:
    """Return a text of the vault in an element with its own writing direction."""
    words = spans.in_words(shortened(value, most))
    return tag(name, words, dir="auto", **more)
