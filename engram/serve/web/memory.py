"""The pages of one memory, an entity, a conversation, and a neighbourhood."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from engram.serve.render.memories import related_days
from engram.serve.spans import AHEAD
from engram.serve.web.html import Html, join, said, tag
from engram.serve.web.layout import (
    button,
    day,
    empty,
    link,
    marks,
    memory_link,
    memory_list,
    minute,
    page,
    title,
    turn_link,
)
from engram.serve.web.plots import bar, curve, neighbourhood

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from engram.serve.web.layout import Visit

WORTH = {
    "confidence": "its confidence, reduced by age",
    "importance": "its importance",
    "salience": "its salience",
    "retention": "its retention",
    "heat": "its use",
}
"""The weights on the page, with their meaning."""
EDITABLE = ("active", "archived")
_ID = re.compile(r"\b([0-9A-HJKMNP-TV-Z]{26})\b")
NOTE_CHARACTERS = 20_000
TURN_CHARACTERS = 3000
CURVE_MARKS = ("today", "3 months", "6 months", "9 months", "1 year")


def memory_page(
    visit: Visit,
    shown: Mapping[str, Any],
    why: Mapping[str, Any],
    versions: Sequence[Mapping[str, Any]],
) -> str:
    """Return one memory: statement, source, history, decisions, weight, forecast."""
    memory = shown["memory"]
    if "forgotten" in shown:
        words = tag("p", "This memory was forgotten. Its words are not shown.")
        restore = button(visit, "Restore", "update", id=memory["id"], status="active")
        return page(
            "Forgotten", visit, title("Forgotten", words),
            tag("div", restore, class_="actions"), _decisions(why),
        )  # fmt: skip
    about = [
        tag("a", name, href=_entity_link(name)) for name in memory.get("about", ())
    ]
    return page(
        memory["text"][:60],
        visit,
        tag("article",
            said(memory["text"], name="h1", class_="statement", most=NOTE_CHARACTERS),
            marks(memory.get("category"), memory.get("kind"),
                  memory["status"] if memory["status"] != "active" else None,
                  day(memory.get("created")), shown.get("provenance"),
                  "pinned" if memory.get("pinned") else None, *about),
            _ended(memory),
            _actions(visit, memory),
            class_="memory"),
        _words(why),
        _versions(memory["id"], versions),
        _weight(shown),
        _forecast(shown),
        _decisions(why),
        _connected(memory["id"], shown),
        _note(shown, memory.get("path", "")),
    )  # fmt: skip


def entity_page(
    visit: Visit,
    row: Mapping[str, Any],
    shown: Mapping[str, Any],
    listed: Mapping[str, Any],
) -> str:
    """Return the card of a person, place or thing, and the memories about it."""
    listed_relations = [
        (one, heading)
        for key, heading in (("relations", ""), ("planned_relations", ""),
                             ("former_relations", "was "))
        for one in row.get(key, ())
    ]  # fmt: skip
    relations = [
        join(tag("dt", heading + one["type"].replace("_", " ")),
             tag("dd", tag("a", one["name"], href=_entity_link(one["name"])),
                 days and f" ({days})"))
        for one, heading in listed_relations
        for days in [related_days(one)]
    ]  # fmt: skip
    aliases = ", ".join(row["aliases"])
    following = listed.get("next")
    return page(
        row["name"],
        visit,
        tag("article",
            tag("h1", row["name"], dir="auto"),
            marks("you" if row["owner"] else None, row["type"],
                  f"{row['memories']} memories", aliases and f"also {aliases}"),
            tag("dl", *relations, class_="relations") if relations else None,
            tag("p", tag("a", f"Neighbourhood of {row['name']}", href=graph_link(row["name"])),
                class_="hint"),
            class_="memory"),
        tag("h2", "Known"),
        memory_list(listed["memories"])
        if listed["memories"]
        else empty("Nothing is known yet."),
        tag("p", tag("a", "Earlier ones", href=link(visit.path, after=following)))
        if following
        else None,
        _note(shown, row["path"]),
    )  # fmt: skip


def note_page(visit: Visit, name: str, shown: Mapping[str, Any]) -> str:
    """Return a storyline or a macro: its note as in the vault."""
    return page(name, visit, title(name), _note(shown, name, opened=True))


def graph_page(visit: Visit, name: str, found: Mapping[str, Any]) -> str:
    """Return the neighbourhood of a memory or an entity, drawn and as a list."""
    nodes, edges = found["nodes"], found["edges"]
    start = nodes[0]
    rows = [
        tag("li", tag("a", said(node["name"], name="span", most=200),
                      href=memory_link(node["id"]), class_="statement"),
            marks(node["type"], f"{node['distance']} step"
                  f"{'s' * (node['distance'] > 1)} away"),
            class_="entry", data_entry=True)
        for node in nodes[1:]
    ]  # fmt: skip
    count = f"{len(nodes)} memories and names, {len(edges)} edges."
    return page(
        "Neighbourhood",
        visit,
        title(
            "Neighbourhood",
            said(start["name"], class_="lead", most=200),
            tag("p", count, class_="hint"),
        ),
        tag("div", neighbourhood(nodes, edges, memory_link), class_="wide")
        if len(nodes) > 1
        else empty("It has no connections yet."),
        tag("ol", *rows, class_="entries numbered"),
        tag("p", tag("a", "Back", href=memory_link(name))),
    )


def graph_link(name: str) -> str:
    """Return the address of the neighbourhood of a memory or an entity."""
    return link("/web/graph", of=name)


def _entity_link(name: str) -> str:
    return link("/web/entity", name=name)


def _ended(memory: Mapping[str, Any]) -> Html | None:
    if not (why := memory.get("end_reason")):
        return None
    after = [
        tag("a", "its replacement", href=memory_link(one))
        for one in memory.get("superseded_by", ())[:1]
    ]
    return tag("p", f"{why} ", *after, class_="reason", dir="auto")


def _actions(visit: Visit, memory: Mapping[str, Any]) -> Html | None:
    name, status = memory["id"], memory["status"]
    if status not in EDITABLE:
        return None
    if status == "archived":
        return tag("div", button(visit, "Restore", "update", id=name, status="active"),
                   class_="actions")  # fmt: skip
    pinned = bool(memory.get("pinned"))
    forget = tag(
        "details",
        tag("summary", "Forget…"),
        tag("p", "Every sentence that says the same is hidden. No file is deleted, "
            "and you can restore it."),
        button(visit, "Forget it", "forget", kind="danger", id=name),
        class_="menu",
    )  # fmt: skip
    fields = {
        "token": visit.token,
        "back": visit.here,
        "operation": "correct",
        "id": name,
    }
    correct = tag(
        "details",
        tag("summary", "Correct…"),
        tag(
            "form",
            [tag("input", type="hidden", name=k, value=v) for k, v in fields.items()],
            tag("label", "What is true instead", for_="correction", class_="unseen"),
            tag("textarea", memory["text"][:NOTE_CHARACTERS], id="correction",
                name="text", rows=3, dir="auto"),
            tag("button", "Save", class_="main"),
            method="post",
            action="/web/do",
        ),
        class_="menu",
    )  # fmt: skip
    return tag(
        "div",
        button(visit, "It is true", "confirm", key="a", id=name),
        button(visit, "I doubt it", "dispute", key="x", id=name),
        button(visit, "Unpin" if pinned else "Pin", "update", id=name,
               pinned="false" if pinned else "true"),
        correct,
        forget,
        class_="actions",
    )  # fmt: skip


def _words(why: Mapping[str, Any]) -> Html:
    """Return the turns that a memory comes from, in their words."""
    turns = [
        tag(
            "figure",
            said(turn["text"], name="blockquote", most=TURN_CHARACTERS),
            tag("figcaption", turn.get("provenance") or turn["role"], " · ",
                minute(turn.get("occurred_at")), " · ",
                tag("a", turn.get("session") or "conversation",
                    href=turn_link(turn["key"]))),
        )
        for turn in why.get("turns", ())
    ]  # fmt: skip
    if not turns:
        return join(tag("h2", "Where it comes from"),
                    tag("p", "No turn of a conversation: it was written as a note.",
                        class_="hint"))  # fmt: skip
    more = why.get("reworded")
    return join(tag("h2", "Where it comes from"), *turns,
                tag("p", more, class_="hint") if more else None)  # fmt: skip


def _versions(name: str, versions: Sequence[Mapping[str, Any]]) -> Html | None:
    """Return the versions that a memory replaced and that replaced it, oldest first."""
    if len(versions) < 2:
        return None
    rows = []
    for one in versions:
        words = said(one.get("text") or "(forgotten)", name="span", most=400)
        is_this = one["id"] == name
        rows.append(
            tag(
                "li",
                words if is_this else tag("a", words, href=memory_link(one["id"])),
                marks("this one" if is_this else None, one["status"],
                      day(one.get("valid_from") or one.get("created")),
                      f"until {day(one['valid_until'])}"
                      if one.get("valid_until")
                      else None),
            )
        )  # fmt: skip
    return join(tag("h2", "History"), tag("ol", *rows, class_="plain"))


def conversation_page(visit: Visit, found: Mapping[str, Any]) -> str:
    """Return the turns of one stretch of a conversation."""
    turns = [
        tag(
            "li",
            said(turn["text"], most=TURN_CHARACTERS),
            marks(turn.get("provenance") or turn["role"],
                  minute(turn.get("occurred_at")),
                  "private" if turn.get("private") else None),
            class_=f"turn {turn['said_by']}",
            id=str(turn["key"]).rpartition("^")[2],
            data_entry=True,
            tabindex="-1",
        )
        for turn in found["turns"]
    ]  # fmt: skip
    return page(
        found["session"] or "Conversation",
        visit,
        title(found["session"] or "Conversation",
              marks(minute(found["started"]), f"{len(turns)} turns",
                    found.get("persona"))),
        tag("ol", *turns, class_="turns"),
    )  # fmt: skip


def _weight(shown: Mapping[str, Any]) -> Html:
    worth, usage = shown["worth"], shown["usage"]
    rows = [
        tag("tr", tag("th", meaning, scope="row"), tag("td", bar(worth[name])),
            tag("td", f"{worth[name]:.2f}", class_="number"))
        for name, meaning in WORTH.items()
        if isinstance(worth.get(name), int | float)
    ]  # fmt: skip
    used = usage.get("access", 0)
    lines = [
        f"Recalled {used} time{'s' * (used != 1)}",
        f"last {day(usage['last_access'])}" if usage.get("last_access") else None,
        f"{worth['stage']}: {worth['why']}" if worth.get("stage") else None,
        f"protected: {shown['protected']}" if shown.get("protected") else None,
    ]
    return join(tag("h2", "Its weight now"), marks(*lines),
                tag("table", *rows, class_="signals"))  # fmt: skip


def _forecast(shown: Mapping[str, Any]) -> Html | None:
    """Return the values of a memory if it is not used, and its expected changes."""
    found = shown.get("forecast")
    if not found:
        return None
    changes = [
        tag(
            "li",
            f"{day(one['at'])}: {AHEAD.get(one['what'], one['what'])}, {one['why']}",
        )
        for one in found["changes"]
    ]
    return join(
        tag("h2", "If it is not used"),
        curve(found["curve"], "Its value over the next year", CURVE_MARKS),
        tag("ul", *changes)
        if changes
        else tag("p", "It stays as it is.", class_="hint"),
    )


def _decisions(why: Mapping[str, Any]) -> Html | None:
    rows = [
        tag(
            "tr",
            tag("td", minute(row.get("at")), class_="number"),
            tag("td", row.get("action")),
            tag("td", *_linked(str(row.get("reason") or "")), dir="auto"),
            tag("td", row.get("by")),
        )
        for row in why.get("decisions", ())
    ]
    if not rows:
        return None
    head = tag("tr", *[tag("th", name) for name in ("when", "what", "why", "by")])
    return join(tag("h2", "Decisions"),
                tag("div", tag("table", head, *rows, class_="log"), class_="wide"))  # fmt: skip


def _linked(reason: str) -> Iterator[Html | str]:
    """Yield a reason with links for the ids of memories."""
    for number, part in enumerate(_ID.split(reason)):
        yield (
            tag("a", "another memory", href=memory_link(part)) if number % 2 else part
        )


def _connected(name: str, shown: Mapping[str, Any]) -> Html | None:
    related: Sequence[Mapping[str, Any]] = shown.get("related", ())
    rows = [
        tag("li", tag("a", said(row["text"], name="span", most=300), href=memory_link(row["id"])),
            marks(row["type"], f"{row['confidence']:.2f}"))
        for row in related[:12]
    ]  # fmt: skip
    return join(
        tag("h2", "Connected with"),
        tag("ul", *rows, class_="plain") if rows else None,
        tag("p", tag("a", "Draw the neighbourhood", href=graph_link(name))),
    )


def _note(shown: Mapping[str, Any], path: object, *, opened: bool = False) -> Html:
    """Return the note as in the vault."""
    problems = [tag("li", one["message"]) for one in shown.get("problems", ())]
    return tag(
        "details",
        tag("summary", "The note ", tag("code", path)),
        tag("ul", *problems, class_="problem") if problems else None,
        said(shown.get("markdown", ""), name="pre", most=NOTE_CHARACTERS),
        open=opened,
        class_="note",
    )
