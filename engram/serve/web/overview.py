"""The pages that show the whole vault: timeline, people, health."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from engram.serve.web.html import Html, join, tag
from engram.serve.web.layout import (
    day,
    empty,
    link,
    marks,
    memory_row,
    minute,
    page,
    title,
)
from engram.serve.web.plots import bar, heat_strip

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.serve.web.layout import Visit

WEEKS = 53
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
MOST_ENTITIES = 200


def timeline_page(
    visit: Visit, counted: Mapping[str, Any], listed: Mapping[str, Any], last: date
) -> str:
    """Return a year of days as a strip, and memories by day below it."""
    chosen = visit.query.get("day", "")
    number = counted["total"]
    strip = heat_strip(
        counted["days"], last, WEEKS, lambda name: link(visit.path, day=name)
    )
    years = sorted({name[:4] for name in counted["all"]}, reverse=True)
    places = [
        tag("a", year, href=link(visit.path, year=year),
            aria_current="true" if str(last.year) == year else None)
        for year in years
    ]  # fmt: skip
    following = listed.get("next")
    return page(
        "Timeline",
        visit,
        title("Timeline", tag("p", f"{number:,} learned in the year to {last}. Active ones are listed.",
                              class_="lead")),
        tag("div", strip, class_="wide late"),
        tag("nav", *places, class_="years", aria_label="Years")
        if len(years) > 1
        else None,
        tag("p", tag("a", "All days", href=link(visit.path, year=visit.query.get("year"))))
        if chosen
        else None,
        _days(listed["memories"])
        if listed["memories"]
        else empty("No memories were learned in this time."),
        tag("p", tag("a", "Earlier ones", class_="more",
                     href=link(visit.path, **{**visit.query, "after": following})))
        if following
        else None,
    )  # fmt: skip


def _days(rows: Sequence[Mapping[str, Any]]) -> Html:
    """Return memories below the day on which they were learned."""
    days: dict[str, list[Html]] = {}
    for row in rows:
        name = day(row.get("created")) or "undated"
        days.setdefault(name, []).append(memory_row({**row, "created": None}))
    return join(
        *[
            tag("section", tag("h2", _day_words(name), class_="day"),
                tag("ol", *entries, class_="entries"))
            for name, entries in days.items()
        ]
    )  # fmt: skip


def _day_words(name: str) -> str:
    try:
        return f"{date.fromisoformat(name):%A, %-d %B %Y}"
    except ValueError:
        return name


def last_day(query: Mapping[str, str], today: date) -> date:
    """Return the last day of the strip: of the requested year, or today."""
    asked = query.get("year", "")
    chosen = query.get("day", "")[:4]
    for year in (asked, chosen):
        if len(year) == 4 and year.isdecimal() and 1900 <= int(year) < today.year:
            return date(int(year), 12, 31)
    return today


def first_day(last: date) -> date:
    """Return the first day of the strip."""
    return last - timedelta(days=last.weekday() + 7 * (WEEKS - 1))


def people_page(visit: Visit, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return people, places and things by type, those with the most memories first."""
    most = max((row["memories"] for row in rows), default=1) or 1
    listed = rows[:MOST_ENTITIES]
    sections = []
    for kind, heading in TYPES.items():
        cards = [_card(row, most) for row in listed if row["type"] == kind]
        if cards:
            sections += [tag("h2", heading), tag("ol", *cards, class_="cards")]
    more = f"The {MOST_ENTITIES} with the most memories of {len(rows):,}."
    return page(
        "People",
        visit,
        title("People and things",
              tag("p", more, class_="hint") if len(rows) > len(listed) else None),
        *sections,
        None if rows else empty("There are no people, places or things yet."),
    )  # fmt: skip


def _card(row: Mapping[str, Any], most: int) -> Html:
    ties = [
        tag("span", f"{one['type'].replace('_', ' ')}: {one['name']}")
        for one in row["relations"][:3]
    ]
    number = row["memories"]
    return tag(
        "li",
        tag("a", tag("bdi", row["name"]), href=link("/web/entity", name=row["name"])),
        marks("you" if row["owner"] else None,
              f"{number} memor{'y' if number == 1 else 'ies'}", day(row["last"])),
        tag("p", *ties, class_="marks") if ties else None,
        bar(number / most),
        class_="card",
        data_entry=True,
    )  # fmt: skip


def health_page(
    visit: Visit,
    status: Mapping[str, Any],
    doctor: Mapping[str, Any] | None,
    runs: Sequence[Mapping[str, Any]],
) -> str:
    """Return the state of the daemon, the queue, the model, and the checked files."""
    faults = {
        **(status.get("faults") or {}),
        **((status.get("daemon") or {}).get("degraded") or {}),
    }
    findings = [{"level": "error", "what": f"{k}: {v}"} for k, v in faults.items()]
    findings = list(doctor["findings"]) if doctor else findings
    number = status.get("problems", 0)
    healthy = doctor["healthy"] if doctor else not (faults or number)
    words = "Everything works." if healthy else "Something needs your attention."
    rows = [_finding(one) for one in findings]
    check = tag("a", "Check every file", href=link(visit.path, check=1))
    found = f"{number} file{'s' * (number != 1)} with a problem. " if number else None
    return page(
        "Health",
        visit,
        title("Health", tag("p", words, class_="lead ok" if healthy else "lead bad")),
        tag("ol", *rows, class_="entries") if rows else None,
        tag("p", "Every file was checked.", class_="hint")
        if doctor
        else tag("p", found, check, class_="hint"),
        _figures(status),
        _model(status),
        _next(status, runs),
    )


def _finding(row: Mapping[str, Any]) -> Html:
    """An entry of the list: level and message, and where they are known place and fix."""
    where, fix = row.get("where"), row.get("fix")
    return tag(
        "li",
        tag("p", tag("strong", row["level"]), " ", row["what"], dir="auto"),
        tag("p", tag("code", where), class_="marks") if where else None,
        tag("p", fix, class_="hint") if fix else None,
        class_=f"entry {row['level']}",
        data_entry=True,
    )


def _figures(status: Mapping[str, Any]) -> Html:
    figures = {
        "memories": status.get("facts"),
        "turns": status.get("turns"),
        "conversations": status.get("sessions"),
        "files": status.get("files"),
        "waiting turns": status.get("waiting_turns"),
        "turns in progress": status.get("distilling_turns"),
        "parked turns": status.get("parked_turns"),
        "dead turns": status.get("dead_turns"),
    }
    rows = [
        tag("div", tag("dd", f"{value:,}"), tag("dt", name))
        for name, value in figures.items()
        if value is not None
    ]
    return tag("dl", *rows, class_="figures")


def _model(status: Mapping[str, Any]) -> Html:
    """Return the model usage of today, and its limits."""
    budget = status.get("budget", {})
    rows = []
    for name in ("calls", "tokens"):
        used, most = budget.get(name, 0), budget.get(f"{name}_per_day", 0)
        rows.append(
            tag("tr", tag("th", name, scope="row"),
                tag("td", bar(used / most if most else 0)),
                tag("td", f"{used:,} of {most:,}", class_="number"))
        )  # fmt: skip
    used = budget.get("tokens", 0) or 1
    tasks = [
        tag("tr", tag("th", name, scope="row"),
            tag("td", bar(_tokens(spent) / used)),
            tag("td", f"{_tokens(spent):,} tokens, {spent.get('calls', 0):,} calls",
                class_="number"))
        for name, spent in (budget.get("tasks") or {}).items()
    ]  # fmt: skip
    return join(
        tag("h2", "Model today"),
        tag("p", f"Extractor: {status.get('extractor', 'none')}", class_="hint"),
        tag("table", *rows, class_="signals"),
        tag("h3", "By task") if tasks else None,
        tag("table", *tasks, class_="signals") if tasks else None,
    )


def _tokens(spent: Mapping[str, int]) -> int:
    return spent.get("tokens_in", 0) + spent.get("tokens_out", 0)


def _next(status: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> Html:
    last = runs[0] if runs else None
    daemon = status.get("daemon", {})
    holds = [
        tag("li", f"{name}: {why}") for name, why in (status.get("held") or {}).items()
    ]
    return join(
        tag("h2", "Maintenance"),
        marks(
            f"next {minute(status.get('next_consolidation'))}",
            f"last {last['cadence']} {minute(last['at'])}" if last else "no run yet",
            f"up for {daemon.get('uptime_seconds', 0) / 3600:.1f} hours",
            f"{daemon.get('queue', 0)} jobs queued",
        ),
        tag("ul", *holds) if holds else None,
        tag("p", tag("code", status.get("vault", "")), class_="hint"),
    )
