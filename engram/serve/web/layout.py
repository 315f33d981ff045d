"""The layout of every page, and the parts that several pages share."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from engram.serve.web.html import Html, join, said, tag

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STATIC = "/web/static/"
PAGES = (
    ("Search", "/", "s"),
    ("Timeline", "/web/timeline", "t"),
    ("Review", "/web/review", "r"),
    ("People", "/web/people", "p"),
    ("Health", "/web/health", "h"),
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


NOTHING = Html("")


@dataclass(frozen=True, slots=True)
class Visit:
    """The request of a page: path, query, form token and the last action.

    `waiting` is the number of open review cases.
    """

    path: str
    query: Mapping[str, str]
    token: str
    done: Html = NOTHING
    waiting: int = 0

    @property
    def here(self) -> str:
        """The address of the page, without the query keys of the last action."""
        kept = {k: v for k, v in self.query.items() if k not in {"done", "run"}}
        return link(self.path, **kept)


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


def turn_link(key: str) -> str:
    """Return the address of a turn in its conversation; `key` is `<stretch>#^t3`."""
    stretch, _, block = key.partition("#^")
    return f"{link('/web/conversation', id=stretch)}#{quote(block)}"


def page(title: str, visit: Visit, *content: object) -> str:
    """Return a complete page."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="htmx-config", content=json.dumps(HTMX)),
        tag("title", f"{title} · engram"),
        tag("link", rel="icon", href=f"{STATIC}icon.svg", type="image/svg+xml"),
        tag("link", rel="stylesheet", href=f"{STATIC}style.css"),
        tag("script", src=f"{STATIC}htmx.min.js", defer=True),
        tag("script", src=f"{STATIC}page.js", defer=True),
    )
    body = tag(
        "body",
        tag("a", "Skip to the content", href="#content", class_="skip"),
        _header(visit),
        tag("main", visit.done, *content, id="content", tabindex="-1"),
        _keys(),
        tag("footer", "The notes in your vault are the memory; this page shows them. "
            "Press ", tag("kbd", "?"), " for keys."),
    )  # fmt: skip
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}"


def _header(visit: Visit) -> Html:
    places = []
    for title, path, key in PAGES:
        is_here = visit.path == path
        count = None
        if title == "Review" and visit.waiting:
            count = tag("span", visit.waiting, class_="count")
        places.append(
            tag(
                "a",
                title,
                count,
                href=path,
                aria_current="page" if is_here else None,
                data_key=key,
            )
        )
    name = tag("a", "engram", href="/", class_="name")
    return tag("header", tag("nav", name, *places, aria_label="Pages"))


KEYS = (
    ("/", "search"),
    ("j k", "next, previous entry"),
    ("Enter", "open the entry"),
    ("a x u", "approve, reject, undo"),
    ("g s", "go to search; g t timeline, g r review, g p people, g h health"),
    ("?", "show these keys"),
    ("Esc", "close, or leave a field"),
)


def _keys() -> Html:
    rows = [join(tag("dt", tag("kbd", key)), tag("dd", what)) for key, what in KEYS]
    close = tag("form", tag("button", "Close"), method="dialog")
    return tag("dialog", tag("h2", "Keys"), tag("dl", *rows), close, id="keys")


def title(words: str, *more: object) -> Html:
    """Return the heading of a page, with the lines below it."""
    return tag("div", tag("h1", words), *more, class_="title")


def button(
    visit: Visit, label: str, operation: str, *, kind: str = "", key: str = "",
    **arguments: object,
) -> Html:  # fmt: skip
    """Return a form with one button that carries out an operation."""
    fields = {"token": visit.token, "back": visit.here, "operation": operation}
    fields |= {name: str(value) for name, value in arguments.items()}
    return tag(
        "form",
        [tag("input", type="hidden", name=n, value=v) for n, v in fields.items()],
        tag("button", label, class_=kind or None, data_key=key or None),
        method="post",
        action="/web/do",
        hx_post="/web/do",
        hx_target="#content",
        hx_select="#content",
        hx_swap="outerHTML show:none",
    )


def day(value: object) -> str:
    """Return the day of an ISO time, as `2026-03-18`, or ''."""
    return str(value or "")[:10]


def minute(value: object) -> str:
    """Return an ISO time to the minute, as `2026-03-18 18:21`, or ''."""
    return str(value or "")[:16].replace("T", " ")


def marks(*words: object) -> Html:
    """Return short facts on one line."""
    spans = [tag("span", word) for word in words if word not in (None, "", False)]
    return tag("p", *spans, class_="marks")


def memory_row(row: Mapping[str, Any], *more: object) -> Html:
    """Return one memory of a list: its statement as a link, and a line of facts."""
    name = str(row.get("id") or row.get("path") or "")
    status = row.get("status")
    return tag(
        "li",
        tag("a", said(row.get("text") or "(no text)", name="span", most=600),
            href=memory_link(name), class_="statement"),
        marks(
            row.get("category"),
            row.get("provenance"),
            day(row.get("created") or row.get("when")),
            status if status not in (None, "active") else None,
            "pinned" if row.get("pinned") else None,
        ),
        *more,
        class_="entry",
        data_entry=True,
    )  # fmt: skip


def memory_list(rows: Sequence[Mapping[str, Any]]) -> Html:
    """Return memories as a list."""
    return tag("ol", *[memory_row(row) for row in rows], class_="entries")


def empty(words: str, *more: object) -> Html:
    """Return the message for an empty list."""
    return tag("div", tag("p", words), *more, class_="empty")


def refusal(what: str, fix: str) -> str:
    """Return the page for a browser without a session; it loads no other file."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", "engram"),
    )
    body = tag("body", tag("h1", "engram"), tag("p", what), tag("p", fix))
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}"
