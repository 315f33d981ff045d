"""Lists of memories, promises, entities and conversations as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.serve.render.lines import block_lines, joined, name_of, next_page, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_BARS = "▁▂▃▄▅▆▇█"


def list_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield one line for each memory, and the option for the next page."""
    if not result["memories"]:
        yield "There are no such memories."
    for row in result["memories"]:
        day = f" · {row['created'][:10]}" if row["created"] else ""
        yield f"{_short(row)}\n    {row['category']} · {row['provenance']}{day} · {name_of(row['id'], row)}"
    if result["next"]:
        yield next_page(result)


def todos_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield one line for each promise."""
    if not result["todos"]:
        yield "There are no promises of that kind; `--stage all` lists every kind."
    for row in result["todos"]:
        due = f" · {row['when']}" if row["when"] else ""
        yield f"{row['stage']:<9} {_short(row)}{due} · {name_of(row['id'], row)}"


def forecast_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the coming changes, the soonest first, each with its curve if any."""
    from engram.serve.spans import AHEAD

    if not result["coming"]:
        yield f"Nothing will happen within {result['days']} days."
    for row in result["coming"]:
        what = AHEAD.get(row["what"], row["what"])
        yield f"{row['at'][:10]}  {what}: {_short(row)}"
        feedback = ""
        if row.get("feedback"):
            feedback = f" · feedback {row['feedback']:+.2f}"
        yield f"            {row['why']}{feedback} · {row['path']}"
        if row.get("curve"):
            top = len(_BARS) - 1
            bars = "".join(_BARS[round(worth * top)] for worth in row["curve"])
            yield f"            {bars}"


def _short(row: Mapping[str, Any]) -> str:
    """Return the statement of a row on one line."""
    return one_line(row["text"])


def context_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the text of a context for a chatbot."""
    yield str(result["text"]) or "Nothing is known yet."


def digest_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the changes in a span, as text."""
    yield f"{result['since'][:10]} to {result['until'][:10]}"
    yield result["text"] or "Nothing was learned, changed or ended, and nothing is due."


def timeline_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield one line for each day, with a bar for its number of memories."""
    days = result["days"]
    if not days:
        yield "There are no memories yet."
    most = max(days.values(), default=1)
    for day, number in days.items():
        yield f"{day}  {number:>5}  {'█' * max(1, round(40 * number / most))}"


def entities_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield one line for each person, place or thing, and one for its relations."""
    if not result["entities"]:
        yield "There are no people, places or things yet."
    for row in result["entities"]:
        number = row["memories"]
        count = f"{number} memor{'y' if number == 1 else 'ies'}"
        yield joined([row["name"], row["type"], count, str(row["last"] or "")[:10]])
        marks = [", ".join(row["aliases"])]
        for key in ("relations", "planned_relations", "former_relations"):
            marks += [related(one) for one in row.get(key, ())]
        if line := joined(marks):
            yield f"    {line}"


def related(row: Mapping[str, Any]) -> str:
    """Return a relation of an entity with its days: `boss: Ben (until 2026-10)`."""
    days = related_days(row)
    return f"{row['type']}: {row['name']}{days and f' ({days})'}"


def related_days(row: Mapping[str, Any]) -> str:
    """Return the days of a relation: `from 2026-01 until 2026-10`, or ''."""
    since, until = row.get("since"), row.get("until")
    words = [since and f"from {since}", until and f"until {until}"]
    return " ".join(word for word in words if word)


def neighbours_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the edges of each node to nodes nearer to the first one."""
    names = {node["id"]: " ".join(node["name"].split()) for node in result["nodes"]}
    yield names[result["center"]]
    for edge in result["edges"]:
        yield f"  {names[edge['source']]} — {edge['type']} — {names[edge['target']]}"


def sessions_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield two lines for each stretch of a conversation."""
    if not result["sessions"]:
        yield "There are no such conversations."
    for row in result["sessions"]:
        time = f"{row['started'][:16]} to {row['ended'][11:16]}".replace("T", " ")
        yield f"{time} · {row['turns']} turns · {row['summary'] or row['session']}"
        yield "    " + joined([row["persona"], row["id"]])
    if result["next"]:
        yield next_page(result)


def session_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the turns of a conversation, each with its speaker and time."""
    yield f"{result['session']} · {result['started'][:10]} · {result['path']}"
    for turn in result["turns"]:
        who = turn.get("speaker") or turn["role"]
        yield from block_lines(
            f"{turn['occurred_at'][11:16]} {who}: ", "    ", turn["text"]
        )


def history_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the versions of a memory, then the decisions on them, oldest first."""
    for row in result["versions"]:
        words = _short(row) if row.get("text") else "(forgotten)"
        yield f"{str(row.get('created') or '')[:10]:<10} {words}"
        end = row.get("valid_until")
        until = f"until {end[:10]}" if end else ""
        marks = [row["status"], until, row.get("end_reason"), row["id"]]
        yield "           " + joined(marks)
    for row in result["decisions"]:
        marks = [row.get("action"), row.get("outcome"), row.get("reason")]
        yield f"{str(row.get('at'))[:16].replace('T', ' ')} {joined(marks)}"
