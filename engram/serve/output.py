"""How results and faults are shown to a person. Light: the command line's short way
loads it.
"""

from __future__ import annotations

import json
import os
import sys

from engram.errors import EngramError, StorageError

TYPE_CHECKING = False  # loading typing would slow each call of the command line
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any


INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it."""

HIT_CHARACTERS = 400
"""How much of a hit a person is shown; programs get all of it."""


_NO_LETTERS = dict.fromkeys(
    [*range(9), *range(11, 32), *range(127, 160)], "\N{REPLACEMENT CHARACTER}"
)
"""Signs by which somebody's words could steer a terminal."""

_SIDES = ((), ("",), ("newer: ", "older: "))


def shown(
    name: str,
    result: Mapping[str, Any],
    *,
    as_json: bool = False,
    explain: bool = False,
) -> str:
    """The result of operation `name` as text, or as one JSON object."""
    if as_json:
        return json.dumps(result, ensure_ascii=False, indent=2)
    if name == "recall":
        lines = _recalled(result, explain=explain)
    elif name in {"review", "diff"}:
        lines = _waiting(result, whole=name == "diff")
    else:
        lines = _LISTED.get(name, _tree)(result)
    return "\n".join(lines).translate(_NO_LETTERS)


def surprise(kind: type[BaseException], fault: BaseException, _trace: object) -> None:
    """A fault of the program in words, as Python's `excepthook`."""
    words = EngramError(
        f"an unexpected {kind.__name__}: {fault}",
        fix="Run it again with --debug and report what it prints.",
    )
    sys.stderr.write(fault_shown(words) + "\n")


def put(text: str) -> None:
    """Print a result; who stopped reading does not want the rest.

    Raises StorageError where it cannot be printed, as on a full disk.
    """
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except OSError as fault:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())  # else Python tries again at its end
        if not isinstance(fault, BrokenPipeError):
            fix = "What was asked for is done, only its result is not shown."
            raise StorageError(
                "the output cannot be written", where=fault.strerror or "", fix=fix
            ) from fault


def fault_shown(fault: EngramError, *, as_json: bool = False) -> str:
    """A fault in words: what happened, where, what to do, and a code for programs."""
    if as_json:
        return json.dumps({"error": fault_fields(fault)}, ensure_ascii=False)
    lines = [f"engram: {fault.what}"]
    if fault.where:
        lines.append(f"  where: {fault.where}")
    if fault.fix:
        lines.append(f"  to do: {fault.fix}")
    return "\n".join([*lines, f"  code:  {fault.code}"]).translate(_NO_LETTERS)


def fault_fields(fault: EngramError) -> dict[str, str]:
    """The parts of a fault, as every surface hands them out."""
    return {
        "code": fault.code,
        "what": fault.what,
        "where": fault.where,
        "fix": fault.fix,
    }


def _recalled(result: Mapping[str, Any], *, explain: bool) -> Iterator[str]:
    """Hits with their evidence; for an empty answer the reason."""
    hits = result.get("hits", [])
    for place, hit in enumerate(hits, 1):
        yield from _hit(place, hit, explain=explain)
    if not hits:
        yield f"Nothing recalled: {_why_empty(result)}."
    if explain:
        yield ""
        yield f"{result.get('tokens', 0)} tokens in {len(hits)} hits"
        yield f"filtered: {_filtered(result) or 'nothing'}"
    if hits and not result.get("complete", True):
        yield "The index is not ready yet; there may be more."
    elif hits and result.get("note"):
        yield str(result["note"])


def _hit(place: int, hit: Mapping[str, Any], *, explain: bool) -> Iterator[str]:
    text = str(hit.get("text", ""))
    cut = len(text) > HIT_CHARACTERS
    first, *rest = (
        text[:HIT_CHARACTERS].rstrip() + " …" if cut else text
    ).splitlines() or [""]
    yield f"{place:>2}. {first}"
    yield from (f"    {line}" for line in rest)
    marks = (
        hit.get("category") or hit.get("kind"),
        hit.get("provenance") or hit.get("speaker"),
        str(hit.get("when") or "")[:16],
        hit.get("key"),
        cut and f"all of it: {hit.get('path', '')}",
    )
    yield "    " + " · ".join(str(mark) for mark in marks if mark)
    if quote := hit.get("quote"):
        since = ", before it was put in these words" if hit.get("reworded") else ""
        yield (
            f"    “{quote}”"
            + (f" ({hit['source']})" if hit.get("source") else "")
            + since
        )
    if fault := hit.get("fault"):
        yield f"    ! {fault}"
    if explain:
        parts = " ".join(
            f"{name} {value:+.3f}" for name, value in hit.get("parts", {}).items()
        )
        yield f"    score {hit.get('score', 0):.3f} = {parts}"
        yield f"    trust {hit.get('trust', 1):.2f}, {hit.get('tokens', 0)} tokens, {hit.get('path', '')}"


def _waiting(result: Mapping[str, Any], *, whole: bool) -> Iterator[str]:
    """The cases: why each waits, its statements, the answers; `whole` with the words
    they came from.
    """
    cases = result.get("cases", [])
    if not cases:
        yield "Nothing waits for you."
    for place, case in enumerate(cases, 1):
        yield f"{place:>2}. {case['why']}"
        for word, statement in zip(
            _SIDES[len(case["statements"])], case["statements"], strict=True
        ):
            yield from _block(f"    {word}", "    ", statement["text"])
            marks = (
                str(statement["when"] or "")[:10],
                statement["status"],
                statement.get("provenance"),
                statement["path"],
            )
            yield "      " + " · ".join(mark for mark in marks if mark)
            if whole and statement["evidence"]:
                yield from _block("      “", "      ", f"{statement['evidence']}”")
        if whole and case["text"]:
            yield from _block("    ", "    ", case["text"])
        yield f"    {', '.join(case['choices']) or 'by hand'} · {case['id']}"
        if case["problem"]:
            yield f"    {case['problem']}"


def _run(result: Mapping[str, Any]) -> Iterator[str]:
    """A run: what it did, or would do, and why; what it left, and how to take it back."""
    if result["frozen"]:
        yield f"Nothing was done: {result['frozen']}."
        return
    would = "would " if result["dry_run"] else ""
    for deed in result["deeds"]:
        way = (
            f"{deed['path']} → {deed['to']}"
            if deed["to"] not in {"", deed["path"]}
            else deed["path"]
        )
        yield f"  {would}{deed['name']}: {way or 'ties'} ({deed['why']})"
    done = ", ".join(f"{name} {number}" for name, number in result["counts"].items())
    yield f"{result['cadence']}: {done or 'nothing to do'}"
    yield from (
        f"  held: {why}; nothing of it is done without a tick"
        for why in result["held"].values()
    )
    yield from (
        f"    held: {one['name']}: {one['path']} ({one['why']})"
        for one in result["holding"]
    )
    yield from (f"  put off: {path}, {why}" for path, why in result["put_off"].items())
    yield from (
        f"  left to you: {number}, {why}" for why, number in result["left"].items()
    )
    yield from (
        f"  noticed: {one['path'] or one['name']}, {one['why']}"
        for one in result["findings"]
    )
    yield from (
        f"  skipped, no model answered: {task} {number}"
        for task, number in result["unasked"].items()
    )
    yield from (f"  failed: {name}, {why}" for name, why in result["failures"].items())
    if result["run"] and not result["dry_run"]:
        yield f"`engram undo {result['run']}` takes it back."


def _purged(result: Mapping[str, Any]) -> Iterator[str]:
    """What was removed for good, or would be."""
    would = "would remove" if result["dry_run"] else "removed"
    yield from (f"  {would} {path}" for path in result["removed"])
    yield from (f"  failed: {path}, {why}" for path, why in result["failures"].items())
    if not result["removed"]:
        yield "Nothing was removed." if result["failures"] else "The trash is empty."
    elif not result["dry_run"]:
        yield "No `engram undo` brings it back. Its words may still be in the undo history (state folder) and in git."


def _runs(result: Mapping[str, Any]) -> Iterator[str]:
    """One line for each run, the last one first."""
    if not result["runs"]:
        yield "There was no run yet."
    for run in result["runs"]:
        done = (
            ", ".join(
                f"{name} {number}" for name, number in run.get("counts", {}).items()
            )
            or "nothing"
        )
        kept = "" if run["can_be_undone"] else " · no longer kept"
        yield f"{run['id']} · {str(run['at'])[:16]} · {run['cadence'] or 'cut short'} · {done}{kept}"
        yield from (
            f"    failed: {name}, {why}"
            for name, why in run.get("failures", {}).items()
        )


def _forecast(result: Mapping[str, Any]) -> Iterator[str]:
    """What comes, the soonest first, with its curve where there is one."""
    if not result["coming"]:
        yield f"Nothing will happen within {result['days']} days."
    for row in result["coming"]:
        yield f"{row['at'][:10]}  {row['what']}: {_short(row)}"
        felt = f" · feedback {row['feedback']:+.2f}" if row.get("feedback") else ""
        yield f"            {row['why']}{felt} · {row['path']}"
        if row.get("curve"):
            yield f"            {''.join(_BARS[round(worth * (len(_BARS) - 1))] for worth in row['curve'])}"


def _context(result: Mapping[str, Any]) -> Iterator[str]:
    """The text as an assistant gets it."""
    yield str(result["text"]) or "Nothing is known yet."


def _todos(result: Mapping[str, Any]) -> Iterator[str]:
    """One line for each promise."""
    if not result["todos"]:
        yield "There is nothing of that kind."
    for row in result["todos"]:
        due = f" · due {row['due'][:10]}" if row["due"] else ""
        yield f"{row['stage']:<9} {_short(row)}{due} · {row['id']}"


def _short(row: Mapping[str, Any]) -> str:
    """The statement of a row on one line."""
    return " ".join(row["text"].split())[:HIT_CHARACTERS]


_BARS = "▁▂▃▄▅▆▇█"
_LISTED = {
    "consolidate": _run,
    "prune": _run,
    "purge": _purged,
    "undo": _run,
    "runs": _runs,
    "forecast": _forecast,
    "context": _context,
    "todos": _todos,
}


def _why_empty(result: Mapping[str, Any]) -> str:
    if not result.get("complete", True):
        return "the index is not ready yet"
    if result.get("note"):
        return str(result["note"]).rstrip(".")
    if filtered := _filtered(result):
        return f"filtered by {filtered}"
    return "there are no memories about this"


def _filtered(result: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{reason} ({count})" for reason, count in result.get("filtered", {}).items()
    )


def _tree(value: Any, margin: str = "") -> Iterator[str]:
    """Any JSON value as indented lines, `key: value`; what is empty is left out."""
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, dict | list) and item:
                yield f"{margin}{key}:"
                yield from _tree(item, margin + "  ")
            elif item not in (None, "", [], {}):
                yield from _block(f"{margin}{key}: ", margin, item)
    elif isinstance(value, list):
        for item in value:
            first, *rest = list(_tree(item, "")) or [""]
            yield f"{margin}- {first}"
            yield from (f"{margin}  {line}" for line in rest)
    else:
        yield from _block(margin, margin, value)


def _block(head: str, margin: str, value: Any) -> Iterator[str]:
    words = (
        {True: "yes", False: "no"}.get(value, value)
        if isinstance(value, bool)
        else value
    )
    first, *rest = str(words).splitlines() or [""]
    yield head + first
    yield from (f"{margin}  {line}" for line in rest)
