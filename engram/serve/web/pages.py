"""The pages: each calls operations and gives their results to a template."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from engram.errors import NotFoundError
from engram.serve.render.memories import related_days
from engram.serve.web import plots

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Call = Callable[..., dict[str, Any]]
    Query = Mapping[str, str]
    Shown = tuple[str, dict[str, Any]]
    """The name of a template and its values."""

HITS, ROWS, RUNS, NEW, ASKED = 20, 60, 10, 8, 3
NODES, MOST_ENTITIES, FORECAST_DAYS = 60, 200, 365
GROUPS = {"fact": "Remembered", "note": "In your notes", "turn": "Said"}
PRESETS = {
    "balanced": "balanced: what fits the question best, first",
    "belief": "belief: what is important and often used, first",
    "entity": "entity: what is recent and often named, first",
}
"""The presets of `recall`, with their meaning."""
TYPES = {
    "person": "People",
    "animal": "Animals",
    "org": "Organisations",
    "place": "Places",
    "project": "Projects",
    "tool": "Tools",
    "event": "Events",
    "concept": "Other",
}
WORTH = {
    "confidence": "its confidence, reduced by age",
    "importance": "its importance",
    "salience": "its salience",
    "retention": "its retention",
    "heat": "its use",
}
"""The weights on the page, with their meaning."""
ANSWERS = {
    "keep": "Keep",
    "drop": "Drop",
    "newer": "Keep the newer",
    "both": "Keep both",
    "older": "Keep the older",
    "apply": "Apply",
    "forget": "Forget all",
    "settle": "Settle all",
}
"""Labels of answers; an answer without a label is shown as it is."""
FIGURES = {
    "facts": "memories",
    "turns": "turns",
    "sessions": "conversations",
    "files": "files",
}
WAITING = {
    "waiting_turns": "still to be read",
    "distilling_turns": "being read",
    "parked_turns": "waiting for the model",
    "dead_turns": "given up",
}
"""Words for the states of turns from which no memory was taken yet."""
_SOURCE = re.compile(r"^- (\[[^\]]*\] )?")
"""What precedes a statement in a line of a context."""


def home(call: Call, query: Query) -> Shown:
    """Return the hits of a question; without one what is known, due, asked and new."""
    values: dict[str, Any] = {"presets": PRESETS}
    asked = query.get("q", "").strip()
    if asked:
        return "search.html", values | _found(call, query, asked)
    entities = call("entities", all_personas=True)["entities"]
    me = next((row["name"] for row in entities if row["owner"]), "")
    mine = call("list", about=me, limit=100)["memories"] if me else []
    ids = {row["text"]: row["id"] for row in mine}
    lines = call("context", record=False)["parts"].get("user", ())
    profile = [_SOURCE.sub("", line) for line in lines]
    return "home.html", values | {
        "me": me,
        "profile": [{"text": text, "id": ids.get(text)} for text in profile],
        "todos": call("todos", all_personas=True)["todos"][:NEW],
        "cases": call("review", all=True)["cases"][:ASKED],
        "held": call("status").get("held") or {},
        "listed": call("list", limit=NEW, all_personas=True),
    }


def _found(call: Call, query: Query, asked: str) -> dict[str, Any]:
    arguments: dict[str, Any] = {"archive": bool(query.get("archive"))}
    if preset := query.get("preset"):
        arguments["preset"] = preset
    answer = call(
        "recall", query=asked, k=HITS, explain=True, all_personas=True, **arguments
    )
    hits = answer["hits"]
    groups = [
        (heading, [hit for hit in hits if hit["kind"] == kind])
        for kind, heading in GROUPS.items()
    ]
    sums = (sum(map(abs, hit["parts"].values())) for hit in hits)
    return {
        "answer": answer,
        "groups": [group for group in groups if group[1]],
        "words": {hit["key"]: hit["text"] for hit in hits},
        "most": max(sums, default=0) or 1,
    }


def timeline(call: Call, query: Query) -> Shown:
    """Return a year of days as a strip, and memories by day below it."""
    last = last_day(query, datetime.now().astimezone().date())
    everything = call("timeline", all_personas=True)["days"]
    span = plots.first_day(last).isoformat(), last.isoformat()
    days = {day: n for day, n in everything.items() if span[0] <= day <= span[1]}
    chosen, after = query.get("day"), query.get("after")
    arguments: dict[str, Any] = {"after": after} if after else {}
    if chosen:
        arguments |= {"since": chosen, "until": chosen}
    elif query.get("year"):
        arguments["until"] = span[1]
    listed = call("list", limit=ROWS, all_personas=True, **arguments)
    by_day: dict[str, list[Any]] = {}
    for row in listed["memories"]:
        by_day.setdefault(str(row["created"] or "")[:10], []).append(row)
    return "timeline.html", {
        "strip": plots.heat_strip(days, last),
        "total": sum(days.values()),
        "last": last,
        "years": sorted({day[:4] for day in everything}, reverse=True),
        "days": {_day_words(day): rows for day, rows in by_day.items()},
        "next": listed["next"],
    }


def last_day(query: Query, today: date) -> date:
    """Return the last day of the strip: of the requested year, or today."""
    for year in (query.get("year", ""), query.get("day", "")[:4]):
        if len(year) == 4 and year.isdecimal() and 1900 <= int(year) < today.year:
            return date(int(year), 12, 31)
    return today


def _day_words(day: str) -> str:
    return f"{date.fromisoformat(day):%A, %-d %B %Y}" if day else "Undated"


def conversations(call: Call, query: Query) -> Shown:
    """Return the conversations, the latest first."""
    after = {"after": query["after"]} if query.get("after") else {}
    found = call("sessions", limit=ROWS, all_personas=True, **after)
    return "conversations.html", found


def conversation(call: Call, query: Query) -> Shown:
    """Return the turns of one stretch, each with the memories that rest on it."""
    found = call("session", id=query.get("id", ""), all_personas=True)
    return "conversation.html", found


def review(call: Call, query: Query) -> Shown:  # noqa: ARG001  # as the other pages
    """Return the open cases, those with the same answers together, and the runs."""
    cases = call("review", all=True)["cases"]
    groups: dict[tuple[str, ...], list[Any]] = {}
    for case in cases:
        groups.setdefault(tuple(case["choices"]), []).append(case)
    runs = call("runs", last=RUNS)["runs"]
    return "review.html", {
        "number": len(cases), "groups": groups, "runs": runs, "answers": ANSWERS
    }  # fmt: skip


def people(call: Call, query: Query) -> Shown:  # noqa: ARG001  # as the other pages
    """Return people, places and things by type, those with the most memories first."""
    rows = call("entities", all_personas=True)["entities"]
    listed = rows[:MOST_ENTITIES]
    groups = {
        heading: [row for row in listed if row["type"] == kind]
        for kind, heading in TYPES.items()
    }
    return "people.html", {
        "groups": groups, "total": len(rows), "listed": len(listed)
    }  # fmt: skip


def entity(call: Call, query: Query) -> Shown:
    """Return the card of a person, place or thing, and the memories about it."""
    (row,) = call("entities", name=query.get("name", ""), all_personas=True)["entities"]
    after = {"after": query["after"]} if query.get("after") else {}
    listed = call("list", about=row["name"], limit=ROWS, all_personas=True, **after)
    relations = [
        {
            "type": heading + one["type"].replace("_", " "),
            "name": one["name"],
            "days": related_days(one),
        }
        for key, heading in (
            ("relations", ""), ("planned_relations", ""), ("former_relations", "formerly "),
        )
        for one in row.get(key, ())
    ]  # fmt: skip
    return "entity.html", {
        "row": row, "relations": relations, "listed": listed,
        "shown": call("show", id=row["name"]),
    }  # fmt: skip


def memory(call: Call, query: Query) -> Shown:
    """Return a memory, the card of an entity, or another note as in the vault."""
    name = query["id"]
    shown = call("show", id=name, forecast=FORECAST_DAYS)
    if "entity" in shown:
        return entity(call, {**query, "name": shown["entity"]["name"]})
    if "memory" not in shown:
        return "note.html", {"name": name, "shown": shown}
    exact = shown["memory"]["id"]
    forecast = shown.get("forecast")
    return "memory.html", {
        "memory": shown["memory"],
        "shown": shown,
        "why": call("why", id=exact),
        "versions": call("history", id=exact)["versions"],
        "worth": _worth(shown.get("worth", {})),
        "has_graph": _has_graph(call, exact),
        "curve": plots.curve(forecast["curve"]) if forecast else "",
    }


def _has_graph(call: Call, name: str) -> bool:
    """Return whether a memory has a neighbourhood: one that is over has none."""
    with suppress(NotFoundError):
        return len(call("neighbours", id=name, limit=2, all_personas=True)["nodes"]) > 1
    return False


def _worth(worth: Mapping[str, Any]) -> Sequence[tuple[str, float]]:
    return [
        (meaning, worth[name])
        for name, meaning in WORTH.items()
        if isinstance(worth.get(name), int | float)
    ]


def graph(call: Call, query: Query) -> Shown:
    """Return the neighbourhood of a memory or an entity, drawn and as a list."""
    name = query.get("of", "")
    found = call("neighbours", id=name, limit=NODES, all_personas=True)
    drawn = plots.neighbourhood(found["nodes"], found["edges"])
    return "graph.html", {"name": name, "nodes": found["nodes"], "drawn": drawn}


def health(call: Call, query: Query) -> Shown:
    """Return the state of the daemon, the queue and the model.

    The files are checked only on request, because that reads the whole folder.
    """
    status = call("status")
    doctor = call("doctor") if query.get("check") else None
    runs = call("runs", last=1)["runs"]
    daemon = status.get("daemon") or {}
    faults = {**(status.get("faults") or {}), **(daemon.get("degraded") or {})}
    findings = [{"level": "error", "what": f"{k}: {v}"} for k, v in faults.items()]
    number = status.get("problems", 0)
    budget = status.get("budget", {})
    return "health.html", {
        "status": status,
        "doctor": doctor,
        "findings": doctor["findings"] if doctor else findings,
        "healthy": doctor["healthy"] if doctor else not (faults or number),
        "problems": number,
        "figures": {
            words: status[name] for name, words in FIGURES.items() if name in status
        },
        "waiting": [
            f"{status[name]:,} turns {words}"
            for name, words in WAITING.items()
            if status.get(name)
        ],
        "since": datetime.now().astimezone()
        - timedelta(seconds=daemon.get("uptime_seconds", 0)),
        "used": {
            name: (budget.get(name, 0), budget.get(f"{name}_per_day", 0))
            for name in ("calls", "tokens")
        },
        "tasks": {
            name: (spent.get("tokens_in", 0) + spent.get("tokens_out", 0), spent)
            for name, spent in (budget.get("tasks") or {}).items()
        },
        "last": runs[0] if runs else None,
    }


def absent(call: Call, query: Query) -> Shown:  # noqa: ARG001  # as the other pages
    """Raise NotFoundError: there is no such page."""
    raise NotFoundError("there is no such page", where=f"/web/{query['rest']}")


PAGES: dict[str, Callable[[Call, Query], Shown]] = {
    "/": home,
    "/web": home,
    "/web/timeline": timeline,
    "/web/conversations": conversations,
    "/web/conversation": conversation,
    "/web/review": review,
    "/web/people": people,
    "/web/entity": entity,
    "/web/graph": graph,
    "/web/health": health,
    "/web/memory/{id:path}": memory,
    "/web/{rest:path}": absent,
}
"""The page of each path."""
