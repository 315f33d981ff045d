"""The templates of the page: their filters, their addresses, and text made safe to send.

Jinja2 escapes every value. Text of a vault may contain anything else too: control
characters, lone surrogates, a megabyte of words.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from engram.core.records import REMEMBERED
from engram.serve import spans

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDER = Path(__file__).parent
STATIC = "/web/static/"
FILES = {
    "style.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""The files of the page, with their media types."""
PAGES = (
    ("Home", "/", "h"),
    ("Timeline", "/web/timeline", "t"),
    ("Conversations", "/web/conversations", "c"),
    ("People", "/web/people", "p"),
    ("Review", "/web/review", "r"),
    ("Health", "/web/health", "s"),
)
"""Title, path and key of each page; the key is pressed after `g`."""
HTMX = {
    "includeIndicatorStyles": False,
    "allowEval": False,
    "allowScriptTags": False,
    "selfRequestsOnly": True,
    "historyCacheSize": 0,
}
"""The configuration of htmx, without what the content security policy forbids."""
_CONTROLS = dict.fromkeys(
    [*range(9), 11, 12, *range(14, 32), *range(127, 160)], "\N{REPLACEMENT CHARACTER}"
)
_ID = re.compile(r"\b([0-9A-HJKMNP-TV-Z]{26})\b")


def rendered(template: str, **values: object) -> bytes:
    """Return a page; characters that UTF-8 cannot encode become U+FFFD."""
    text = _environment().get_template(template).render(values)
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.translate(_CONTROLS).encode()


@cache
def asset(name: str) -> tuple[bytes, str]:
    """Return a file of the page and its address, which changes with its content."""
    content = (FOLDER / "static" / name).read_bytes()
    return content, f"{STATIC}{name}?v={hashlib.sha256(content).hexdigest()[:16]}"


def link(path: str, **query: Any) -> str:
    """Return an address of the page; arguments that are None or '' are left out."""
    arguments = {
        key: str(value) for key, value in query.items() if value not in (None, "")
    }
    words = urlencode(arguments, errors="replace")
    return f"{path}?{words}" if words else path


def memory_link(name: str) -> str:
    """Return the address of the page of a memory, a turn or an entity."""
    return f"/web/memory/{quote(name, safe='', errors='replace')}"


def entity_link(name: str) -> str:
    """Return the address of the card of a person, place or thing."""
    return link("/web/entity", name=name)


def turn_link(key: str) -> str:
    """Return the address of a turn in its conversation; `key` is `<stretch>#^t3`."""
    stretch, _, block = key.partition("#^")
    return f"{link('/web/conversation', id=stretch)}#{quote(block)}"


def said(value: object, most: int = 4000) -> str:
    """Return the beginning of a stored text, with its spans of days in words."""
    words = str(value)
    if len(words) > most:
        cut = f"{len(words) - most:,} more characters"
        words = f"{words[:most].rstrip()} … ({cut})"
    return spans.in_words(words)


def brief(value: object, most: int) -> str:
    """Return the beginning of a text on one line, with an ellipsis if it was cut."""
    plain = " ".join(str(value).split())
    return plain if len(plain) <= most else f"{plain[: most - 1].rstrip()}…"


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun: `1 memory`, `1,200 memories`."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def day(value: object) -> str:
    """Return the day of an ISO time, as `2026-03-18`, or ''."""
    return str(value or "")[:10]


def minute(value: object) -> str:
    """Return an ISO time to the minute, as `2026-03-18 18:21`, or ''."""
    return str(value or "")[:16].replace("T", " ")


def sentence(value: str) -> str:
    """Return words as a sentence, with a capital letter and a full stop."""
    return f"{value[:1].upper()}{value[1:].rstrip('.')}."


@cache
def _environment() -> Environment:
    """Return the templates; Jinja2 is loaded with the first page."""
    from jinja2 import Environment, FileSystemLoader

    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {
        one.__name__: one for one in (said, brief, counted, day, minute, sentence)
    }
    made.filters |= {"ids": _ID.split, "number": "{:,}".format}
    made.globals |= {
        one.__name__: one for one in (link, memory_link, entity_link, turn_link)
    }
    made.globals |= {
        "asset": lambda name: asset(name)[1],
        "PAGES": PAGES,
        "HTMX": HTMX,
        "AHEAD": spans.AHEAD,
        "LEFT_OUT": spans.LEFT_OUT,
        "REMEMBERED": REMEMBERED,
    }
    return made
