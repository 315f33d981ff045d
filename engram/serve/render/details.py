"""The commands `show`, `why`, `stats --plot`, `review` and `diff` as text.

The first three print the most important fields; `--verbose` and `--json` print every field.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from engram.serve.render.lines import block_lines, joined, one_line
from engram.serve.spans import AHEAD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

BLOCKS = "█"
PLOT_WIDTH = 44
MONTHS = 24


def show_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the statement of a memory, its evidence and its state."""
    memory = result.get("memory")
    if memory is None:
        yield from _note_lines(result)
        return
    if "forgotten" in result:
        yield f"Forgotten: {result['forgotten']}."
        return
    yield from _head(result)
    if path := memory.get("path"):
        yield f"  where   {path}"
    if about := memory.get("about"):
        yield f"  about   {', '.join(about)}"
    if tags := memory.get("tags"):
        yield f"  tags    {', '.join(tags)}"
    yield from _times(memory)
    yield from _standing(
        result["worth"].get("stage"), result["worth"].get("why"), result
    )
    used = result["usage"].get("access", 0)
    last = str(result["usage"].get("last_access") or "")[:10]
    times = f"{used} time{'s' * (used != 1)}"
    yield f"  used    {times}, last on {last}" if used else "  used    never"
    for row in result.get("related", ()):
        yield f"  near    {one_line(row['text'])} ({row['type']})"
    course = result.get("forecast")
    for row in course["changes"] if course else ():
        what = AHEAD.get(row["what"], row["what"])
        yield f"  ahead   {row['at'][:10]}: {what}, {row['why']}"
    for row in result.get("problems", ()):
        yield f"! {row['message']}"


def why_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the turns behind a memory, its stage, and the decisions on it."""
    if "forgotten" in result:
        yield f"Forgotten: {result['forgotten']}."
    else:
        yield from _head(result)
        yield from _standing(result.get("stage"), result.get("stage_why"), result)
    for turn in result.get("turns", ()):
        yield "  said"
        yield f"    “{turn['text']}”"
        when = str(turn.get("occurred_at") or "")[:16].replace("T", " ")
        yield f"    {turn.get('provenance')} · {when} · {turn['key']}"
    if more := result.get("reworded"):
        yield f"    {more}"
    rows = result.get("decisions", ())
    if rows:
        yield "  decided"
    for row in rows:
        when = str(row.get("at"))[:16].replace("T", " ")
        marks = [row.get("action"), row.get("reason"), _by(row)]
        yield f"    {joined([when, *marks])}"


def plot_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield counts with bars, and the memories of the last two years by month."""
    counts = {
        name.removeprefix("facts."): number
        for name, number in result.items()
        if name.startswith("facts.")
    }
    yield f"{result['facts']:,} memories, {result['turns']:,} turns, {result['files']:,} files"
    yield from _bars(counts)
    months: dict[str, int] = {}
    for day, number in result["timeline"].items():
        months[day[:7]] = months.get(day[:7], 0) + number
    latest = dict(sorted(months.items())[-MONTHS:])
    if latest:
        yield ""
        yield "memories by month"
        yield from _bars(latest)


def _bars(counts: Mapping[str, int]) -> Iterator[str]:
    most = max(counts.values(), default=0)
    wide = max(map(len, counts), default=0)
    for name, number in counts.items():
        length = max(1, round(PLOT_WIDTH * number / most)) if number else 0
        yield f"  {name:<{wide}}  {number:>7,}  {BLOCKS * length}"


def _head(result: Mapping[str, Any]) -> Iterator[str]:
    memory = result["memory"]
    yield from str(memory.get("text", "")).splitlines() or [""]
    status = memory["status"]
    marks = [
        memory.get("category"),
        status if status != "active" else "",
        "pinned" if memory.get("pinned") else "",
        result.get("provenance"),
        str(memory.get("created") or "")[:10],
        memory["id"],
    ]
    yield "  " + joined(marks)


def _standing(stage: object, why: object, result: Mapping[str, Any]) -> Iterator[str]:
    if stage:
        yield f"  stage   {stage}: {why}"
    if protected := result.get("protected"):
        yield f"  kept    no run ends or archives it: {protected}"
    if ended := result["memory"].get("end_reason"):
        yield f"  ended   {ended}"


def _times(memory: Mapping[str, Any]) -> Iterator[str]:
    first, last = memory.get("valid_from"), memory.get("valid_until")
    if first or last:
        begin = f"from {str(first)[:10]}" if first else ""
        end = f"until {str(last)[:10]}" if last else ""
        yield f"  true    {' '.join(part for part in (begin, end) if part)}"
    if expires := memory.get("expires"):
        yield f"  expires {str(expires)[:10]}"


def _note_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield a note on several memories: an entity, a storyline or a macro."""
    kinds = [name for name in ("entity", "storyline", "macro") if name in result]
    if not kinds:
        yield from (f"{name}: {value}" for name, value in result.items())
        return
    row = result[kinds[0]]
    number = result["memories"]
    yield f"{row['name']}"
    yield (
        f"  {row['type']} · {number} memor{'y' if number == 1 else 'ies'} · {row['path']}"
    )
    body = str(result["markdown"]).partition("\n---\n")[2]
    for line in body.strip().splitlines():
        # marks of generated blocks, and embeds for Obsidian
        if line.strip() and not line.startswith(("%%", "![[", "# ")):
            yield f"  {line}"
    if number and "entity" in result:
        yield f"  list    `engram list --about {shlex.quote(row['name'])}`"


def _by(row: Mapping[str, Any]) -> str:
    by = str(row.get("by") or "")
    return {"user": "by you", "engram": "by engram"}.get(by, by and f"by {by}")


# -- the cases of the review queue -----------------------------------------------------

_LABELS = ((), ("",), ("newer: ", "older: "))
"""Labels of the statements of a case, by their number."""


def review_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the review cases: the reason, the statements and the possible answers."""
    return _cases(result, evidence=False)


def diff_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield a review case, with the turn behind each statement."""
    return _cases(result, evidence=True)


def _cases(result: Mapping[str, Any], *, evidence: bool) -> Iterator[str]:
    from engram.vault.reviews import LABELS

    cases, waiting = result.get("cases", []), result.get("waiting", 0)
    if not cases:
        yield "There are no new cases." if waiting else "There are no cases to decide."
    for place, case in enumerate(cases, 1):
        subject = f"{case['subject']}: " if case.get("subject") else ""
        yield f"{place:>2}. {subject}{case['why']}"
        statements = case["statements"]
        for label, one in zip(_LABELS[len(statements)], statements, strict=True):
            yield from _statement(label, one, evidence=evidence)
        if evidence and case["text"]:
            yield from block_lines("    ", "    ", case["text"])
        elif case["text"]:
            yield f"    `engram review diff {case['id']}` shows what it is about"
        for choice in case["choices"]:
            yield f"    `engram review {choice} {case['id']}`: {LABELS[choice]}"
        if not case["choices"]:
            yield f"    to decide in an editor: {case['path']}"
        if case["problem"]:
            yield f"    {case['problem']}"
    if waiting:
        yield f"{waiting} more can wait; `engram review --all` lists all."


def _statement(
    label: str, statement: Mapping[str, Any], *, evidence: bool
) -> Iterator[str]:
    yield from block_lines(f"    {label}", "    ", statement["text"])
    marks = [
        str(statement["when"] or "")[:10],
        "waits" if statement["status"] == "review" else statement["status"],
        statement.get("provenance"),
        statement["path"],
    ]
    yield "      " + joined(marks)
    if evidence and statement["evidence"]:
        yield from block_lines("      “", "      ", f"{statement['evidence']}”")
