"""The search page: recall with an explanation of each hit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.serve.spans import LEFT_OUT
from engram.serve.web.html import Html, join, said, tag
from engram.serve.web.layout import (
    button,
    empty,
    link,
    marks,
    memory_link,
    memory_list,
    minute,
    page,
    turn_link,
)
from engram.serve.web.plots import bar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.serve.web.layout import Visit

PRESETS = ("balanced", "belief", "entity")


def search_page(visit: Visit, answer: Mapping[str, Any]) -> str:
    """Return the hits of a question, each with the signals that ranked it."""
    return page(
        f"{visit.query.get('q', '')}",
        visit,
        _form(visit),
        tag("div", _results(visit, answer), id="results", aria_live="polite"),
    )


def start_page(
    visit: Visit, todos: Sequence[Mapping[str, Any]], listed: Mapping[str, Any]
) -> str:
    """Return the first page: the search field, open promises, the newest memories."""
    recent, number = listed["memories"], listed["total"]
    counts = f"{number:,} memor{'y' if number == 1 else 'ies'}."
    return page(
        "Search",
        visit,
        _form(visit),
        tag(
            "div",
            tag("p", counts, class_="lead"),
            _promises(visit, todos) if todos else None,
            tag("h2", "Newest"),
            memory_list(recent)
            if recent
            else empty(
                "There are no memories yet.",
                tag("p", "Store one in a terminal: ",
                    tag("code", 'engram remember "Anna switched to oat milk"')),
            ),
            id="results",
        ),
    )  # fmt: skip


def _promises(visit: Visit, todos: Sequence[Mapping[str, Any]]) -> Html:
    rows = [
        tag(
            "li",
            tag("a", said(row["text"], name="span", most=400),
                href=memory_link(row["id"]), class_="statement"),
            marks(row.get("when"), row.get("stage")),
            tag("div", button(visit, "Done", "settle", id=row["id"], stage="fulfilled"),
                class_="actions"),
            class_="entry",
            data_entry=True,
        )
        for row in todos[:8]
    ]  # fmt: skip
    return join(tag("h2", "Open promises"), tag("ol", *rows, class_="entries"))


def _form(visit: Visit) -> Html:
    asked = visit.query.get("q", "")
    chosen = visit.query.get("preset") or "balanced"
    options = [
        tag("option", name, value=name, selected=name == chosen) for name in PRESETS
    ]
    return tag(
        "form",
        tag("label", "Search your memory", for_="q", class_="unseen"),
        tag(
            "input",
            type="search",
            id="q",
            name="q",
            value=asked,
            placeholder="What do you want to know?",
            autocomplete="off",
            autofocus=not asked,
            dir="auto",
        ),
        tag(
            "div",
            tag("label", "Ranked by ", tag("select", *options, name="preset")),
            tag("label", tag("input", type="checkbox", name="archive", value="true",
                             checked=bool(visit.query.get("archive"))), " archive too"),
            tag("button", "Search", class_="quiet"),
            class_="options",
        ),
        method="get",
        action="/",
        role="search",
        class_="search",
        hx_get="/",
        hx_trigger="input changed delay:180ms from:#q, change from:.options, submit",
        hx_target="#results",
        hx_select="#results",
        hx_swap="outerHTML",
        hx_push_url="true",
        hx_sync="this:queue last",
    )  # fmt: skip


def _results(visit: Visit, answer: Mapping[str, Any]) -> Html:
    hits = answer["hits"]
    if not hits:
        return empty(
            "Nothing recalled."
            if not answer.get("note")
            else _sentence(answer["note"]),
            _filtered(answer),
        )
    most = max(
        (sum(map(abs, hit.get("parts", {}).values())) for hit in hits), default=1
    )
    number = f"{len(hits)} hit{'s' * (len(hits) != 1)}, {answer['tokens']:,} tokens"
    return join(
        tag("p", number, class_="lead"),
        tag("p", _sentence(answer["note"])) if answer.get("note") else None,
        None
        if answer.get("complete", True)
        else tag("p", "The index is not ready yet; there may be more."),
        tag("ol", *(_hit(hit, most or 1) for hit in hits), class_="entries"),
        _filtered(answer),
        _same_elsewhere(visit),
    )


def _hit(hit: Mapping[str, Any], most: float) -> Html:
    words = hit["text"] or "(no text)"
    quote = hit.get("quote")
    past = f"was, until {hit['ended']}" if hit.get("ended") else None
    # a note of the user has no page of its own
    places = {"fact": memory_link, "turn": turn_link}
    to = places.get(hit["kind"])
    statement = tag(
        "a" if to else "div",
        said(words, name="span", most=600),
        href=to(hit["id"]) if to else None,
        class_="statement",
    )
    return tag(
        "li",
        statement,
        marks(
            hit.get("category") or hit["kind"],
            hit.get("provenance"),
            minute(hit.get("when")),
            past,
            hit.get("due"),
            hit.get("fault"),
        ),
        said(quote, name="blockquote", most=400)
        if quote and quote != words
        else None,
        _signals(hit, most),
        class_="entry",
        data_entry=True,
    )  # fmt: skip


def _signals(hit: Mapping[str, Any], most: float) -> Html:
    """Return the score as a bar, and in detail a bar for each signal."""
    parts: Mapping[str, float] = hit.get("parts", {})
    meaning = hit.get("meaning", {})
    rows = [
        tag(
            "tr",
            tag("th", meaning.get(name, name), scope="row"),
            tag(
                "td", bar(abs(value) / most, name="bar" if value >= 0 else "bar minus")
            ),
            tag("td", f"{value:+.2f}", class_="number"),
        )
        for name, value in sorted(parts.items(), key=lambda one: -abs(one[1]))
    ]
    edges = [
        tag("p", f"{edge['type']} edge, confidence {edge['confidence']:.2f}: ",
            tag("a", edge["with"], href=memory_link(edge["with"])))
        for edge in hit.get("edges", [])[:3]
    ]  # fmt: skip
    return tag(
        "details",
        tag(
            "summary",
            bar(sum(map(abs, parts.values())) / most, name="bar total"),
            tag("span", f"score {hit['score']:.2f}"),
        ),
        tag("table", *rows, class_="signals"),
        *edges,
        marks(f"trust {hit.get('trust', 1):.2f}", f"{hit.get('tokens', 0)} tokens",
              tag("code", hit.get("path", ""))),
        class_="why",
    )  # fmt: skip


def _filtered(answer: Mapping[str, Any]) -> Html | None:
    """Return the units that were left out, with the reasons."""
    filtered = answer.get("filtered") or {}
    if not filtered:
        return None
    rows = [
        join(tag("dt", f"{count:,}"), tag("dd", LEFT_OUT.get(reason, reason)))
        for reason, count in filtered.items()
    ]
    return tag("section", tag("h2", "Left out"), tag("dl", *rows, class_="counts"))


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:].rstrip('.')}."


def _same_elsewhere(visit: Visit) -> Html:
    asked = visit.query.get("q", "")
    return tag(
        "p",
        "The same in a terminal: ",
        tag("code", f'engram recall "{asked}" --explain', dir="auto"),
        " · ",
        tag("a", "days of these memories", href=link("/web/timeline")),
        class_="hint",
    )
