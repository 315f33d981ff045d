"""Results and errors as text for a terminal.

`RENDERERS` holds one function for each command whose result is not shown as a plain
tree of keys and values. The module imports little: the fast path of the command line
loads it.
"""

from __future__ import annotations

import json
import os
import sys

from engram.errors import BusyError, EngramError, StorageError, UnavailableError

TYPE_CHECKING = False  # loading typing would slow each call of the command line
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any


INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it."""

HIT_CHARACTERS = 400
"""The most characters of a hit that are printed; JSON contains all of them."""

EDGES = 3
"""The most edges of a hit that are printed, the surest first."""


REFUSALS = 5
"""The most refused lines that are printed."""

UNDATED_ID = "00000000"
"""The beginning of the id of a hand-written note without an id or a date."""


_CONTROL_CHARACTERS = dict.fromkeys(
    [*range(9), *range(11, 32), *range(127, 160)], "\N{REPLACEMENT CHARACTER}"
)
"""Characters of a stored text that could control the terminal."""

_LABELS = ((), ("",), ("newer: ", "older: "))
"""The labels of the statements of a case, by their number."""


def shown(
    name: str,
    result: Mapping[str, Any],
    *,
    as_json: bool = False,
    explain: bool = False,
    verbose: bool = False,
) -> str:
    """Return the result of the command `name` as text, or as one JSON object.

    With `explain` the hits of `recall` show how they were scored, with `verbose` the
    commands that leave fields out show all of them.
    """
    if as_json:
        return json.dumps(result, ensure_ascii=False, indent=2)
    if name == "recall":
        lines = _recalled(result, explain=explain)
    elif name in BRIEF and not verbose:
        from engram.serve import details

        lines = getattr(details, BRIEF[name])(result)
    else:
        lines = RENDERERS.get(name, _tree)(result)
    text = "\n".join(lines).translate(_CONTROL_CHARACTERS)
    if "/" not in text:
        return text
    from engram.serve import spans

    return spans.in_words(text)


def display(name: str, result: Mapping[str, Any], **form: bool) -> None:
    """Print a result; the options are those of `shown`.

    For a person at a terminal it is wrapped, coloured and, if long, paged.
    """
    text = shown(name, result, **form)
    if sys.stdout.isatty() and not form.get("as_json"):
        from engram.serve import terminal

        if terminal.is_attended():
            terminal.print_result(text)
            return
    put(text)


def surprise(kind: type[BaseException], fault: BaseException, _trace: object) -> None:
    """Print an unexpected exception; for `sys.excepthook`."""
    words = EngramError(
        f"an unexpected {kind.__name__}: {fault}",
        fix="Run it again with --debug and report what it prints.",
    )
    sys.stderr.write(fault_shown(words) + "\n")


def put(text: str) -> None:
    """Print a result; stop silently where the reader closed the pipe.

    Raises StorageError where it cannot be written, as on a full disk.
    """
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except OSError as fault:
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, sys.stdout.fileno())  # Python flushes again when it exits
        if not isinstance(fault, BrokenPipeError):
            fix = "The command was carried out; only its result was not printed."
            raise StorageError(
                "the output cannot be written", where=fault.strerror or "", fix=fix
            ) from fault


def fault_shown(fault: EngramError, *, as_json: bool = False) -> str:
    """Return an error as text: what happened, where, what to do, and its code."""
    if as_json:
        return json.dumps({"error": fault_fields(fault)}, ensure_ascii=False)
    lines = [f"engram: {fault.what}"]
    if fault.where:
        lines.append(f"  where: {fault.where}")
    if fault.fix:
        lines.append(f"  to do: {fault.fix}")
    return "\n".join([*lines, f"  code:  {fault.code}"]).translate(_CONTROL_CHARACTERS)


def fault_fields(fault: EngramError) -> dict[str, str]:
    """Return an error as the fields that the command line and HTTP both send."""
    return {
        "code": fault.code,
        "what": fault.what,
        "where": fault.where,
        "fix": fault.fix,
    }


PROBLEM_TYPE = "application/problem+json"
"""The media type of errors over HTTP (RFC 9457)."""


def problem(fault: EngramError, status: int | None = None) -> dict[str, Any]:
    """Return an error as a problem document, with its fields under `error` too."""
    detail = ". ".join(words for words in (fault.where, fault.fix) if words)
    return {
        "type": "about:blank",
        "title": fault.what,
        "status": status or fault.status,
        "detail": detail,
        "error": {**fault_fields(fault), "message": str(fault)},
    }


def retry_after(fault: EngramError) -> int:
    """Return after how many seconds it is worth to try again, 0 where that is unknown."""
    if isinstance(fault, BusyError | UnavailableError):
        return fault.retry_after
    return 0


def _recalled(result: Mapping[str, Any], *, explain: bool) -> Iterator[str]:
    """The hits with their evidence, or the reason why there are none."""
    hits = result.get("hits", [])
    own = [hit for hit in hits if not hit.get("beside")]
    listed = hits if explain or not own else own
    for place, hit in enumerate(listed, 1):
        yield from _hit(place, hit, explain=explain)
    if more := len(hits) - len(listed):
        yield f"{more} more {'was' if more == 1 else 'were'} said around these; --explain shows all."
    if not hits:
        yield f"Nothing recalled: {_why_empty(result)}."
    if explain:
        yield ""
        yield f"{result.get('tokens', 0)} tokens in {len(hits)} hits"
        yield f"filtered: {_filtered(result) or 'nothing'}"
        if time := result.get("time"):
            yield f"time: {time}"
        steps = result.get("milliseconds", {})
        spent = ", ".join(f"{step} {value:.1f}" for step, value in steps.items())
        yield f"milliseconds: {spent}; together {sum(steps.values()):.1f}"
    if hits and not result.get("complete", True):
        yield "The index is not ready yet; there may be more."
    elif hits and result.get("note"):
        yield str(result["note"])


def _hit(place: int, hit: Mapping[str, Any], *, explain: bool) -> Iterator[str]:
    """One hit: its text, a line of marks, the quoted turn, and how it was scored."""
    text = str(hit.get("text", ""))
    cut = len(text) > HIT_CHARACTERS
    if cut:
        text = text[:HIT_CHARACTERS].rstrip() + " …"
    first, *rest = text.splitlines() or [""]
    yield f"{place:>2}. {first}"
    yield from (f"    {line}" for line in rest)

    marks = [
        hit.get("category") or hit.get("kind"),
        hit.get("provenance") or hit.get("speaker"),
        str(hit.get("when") or "")[:16],
        _handle(str(hit.get("key") or ""), hit),
        f"all of it: {hit.get('path', '')}" if cut else "",
    ]
    yield "    " + _joined(marks)
    yield from _quote(hit)
    if fault := hit.get("fault"):
        yield f"    ! {fault}"
    if explain:
        yield from _score(hit)


def _handle(name: str, row: Mapping[str, Any]) -> str:
    """Return what a command takes to name a memory: its id, else its path."""
    return str(row.get("path") or name) if name.startswith(UNDATED_ID) else name


def _quote(hit: Mapping[str, Any]) -> Iterator[str]:
    """The words of the turn behind a hit."""
    if quote := hit.get("quote"):
        source = f" ({hit['source']})" if hit.get("source") else ""
        reworded = ", before it was put in these words" if hit.get("reworded") else ""
        yield f"    “{quote}”{source}{reworded}"


def _score(hit: Mapping[str, Any]) -> Iterator[str]:
    """How a hit was scored."""
    parts = " ".join(
        f"{name} {value:+.3f}" for name, value in hit.get("parts", {}).items()
    )
    yield f"    score {hit.get('score', 0):.3f} = {parts}"
    for edge in hit.get("edges", [])[:EDGES]:
        yield f"    {edge['type']} edge with {edge['with']}, confidence {edge['confidence']:.2f}"
    tokens, path = hit.get("tokens", 0), hit.get("path", "")
    yield f"    trust {hit.get('trust', 1):.2f}, {tokens} tokens, {path}"


def _review(result: Mapping[str, Any]) -> Iterator[str]:
    """The review cases: why each waits, its statements, the answers it takes."""
    return _cases(result, evidence=False)


def _diff(result: Mapping[str, Any]) -> Iterator[str]:
    """A review case, with the turn behind each statement."""
    return _cases(result, evidence=True)


def _cases(result: Mapping[str, Any], *, evidence: bool) -> Iterator[str]:
    cases, waiting = result.get("cases", []), result.get("waiting", 0)
    if not cases:
        yield "Nothing new waits for you." if waiting else "Nothing waits for you."
    for place, case in enumerate(cases, 1):
        subject = f"{case['subject']}: " if case.get("subject") else ""
        yield f"{place:>2}. {subject}{case['why']}"
        statements = case["statements"]
        for label, one in zip(_LABELS[len(statements)], statements, strict=True):
            yield from _statement(label, one, evidence=evidence)
        if evidence and case["text"]:
            yield from _block("    ", "    ", case["text"])
        yield f"    {', '.join(case['choices']) or 'by hand'} · {case['id']}"
        if case["problem"]:
            yield f"    {case['problem']}"
    if waiting:
        yield f"{waiting} more can wait; `engram review --all` lists all."


def _statement(
    label: str, statement: Mapping[str, Any], *, evidence: bool
) -> Iterator[str]:
    yield from _block(f"    {label}", "    ", statement["text"])
    marks = [
        str(statement["when"] or "")[:10],
        statement["status"],
        statement.get("provenance"),
        statement["path"],
    ]
    yield "      " + _joined(marks)
    if evidence and statement["evidence"]:
        yield from _block("      “", "      ", f"{statement['evidence']}”")


def _joined(marks: Sequence[Any]) -> str:
    return " · ".join(str(mark) for mark in marks if mark)


def _stored(result: Mapping[str, Any]) -> Iterator[str]:
    """Counts of turns, and the first that were refused, with what to do."""
    refused = result.get("refused", [])
    yield from _tree({**result, "refused": refused[:REFUSALS]})
    if len(refused) > REFUSALS:
        yield f"  and {len(refused) - REFUSALS:,} more; --json lists all"
    if (
        not result.get("stored")
        and refused
        and all("not JSON" in one for one in refused)
    ):
        yield 'One JSON object a line is wanted, such as {"text": "I like tea."}.'
        yield "`engram import FILE` reads other files, `engram remember` a statement."


def _merged(result: Mapping[str, Any]) -> Iterator[str]:
    """What becomes of two memories or names, and the run."""
    if result.get("kept"):
        yield f"  stays: {_line(result['kept'])}"
        yield f"  goes:  {_line(result['merged'])}"
    yield from _run(result)


def _line(text: str) -> str:
    return " ".join(text.split())[:HIT_CHARACTERS]


def _run(result: Mapping[str, Any]) -> Iterator[str]:
    """A maintenance run: what it did or would do and why, and what it did not do."""
    if result["frozen"]:
        yield f"Nothing was done: {result['frozen']}."
        return
    would = "would " if result["dry_run"] else ""
    for action in result["deeds"]:
        path, to = action["path"], action["to"]
        where = f"{path} → {to}" if to not in {"", path} else path
        yield f"  {would}{action['name']}: {where or 'ties'} ({action['why']})"
    done = ", ".join(f"{name} {number}" for name, number in result["counts"].items())
    yield f"{result['cadence']}: {done or 'nothing to do'}"
    yield from _not_done(result)
    if result["run"] and result["deeds"] and not result["dry_run"]:
        yield f"`engram undo {result['run']}` takes it back."


def _not_done(result: Mapping[str, Any]) -> Iterator[str]:
    """What a run left for the user, for later or for a model, and what failed."""
    for why in result["held"].values():
        yield f"  held: {why}; nothing of it is done without a tick"
    for one in result["holding"]:
        yield f"    held: {one['name']}: {one['path']} ({one['why']})"
    for path, why in result["put_off"].items():
        yield f"  put off: {path}, {why}"
    for why, number in result["left"].items():
        yield f"  left to you: {number}, {why}"
    for one in result["findings"]:
        yield f"  noticed: {one['path'] or one['name']}, {one['why']}"
    for task, number in result["unasked"].items():
        yield f"  skipped, no model answered: {task} {number}"
    for name, why in result["failures"].items():
        yield f"  failed: {name}, {why}"


def _purged_units(result: Mapping[str, Any]) -> Iterator[str]:
    dry = result["dry_run"]
    would = "would delete" if dry else "deleted"
    counts = f"{result['memory_count']} memories and {result['turn_count']} turns"
    yield f"{would} {counts}"
    for one in result["memories"]:
        yield f"  memory {one['id']}: {one['text']}"
    for one in result["turns"]:
        left = f", but for: {one['left']}" if one["left"] else ""
        yield f"  turn {one['id']}{left}"
    for one in result["stay"]:
        yield f"  stays, with less evidence: {one['id']}: {one['text']}"
    if dry:
        yield "Nothing was changed. Add --yes to delete it for good."
        return
    files = ", ".join(
        f"{name}: {one.get('rows') or one['files']} {'rows' if 'rows' in one else 'files'}, "
        f"{one['bytes']} bytes"
        for name, one in result["searched"].items()
    )
    yield (
        f"searched for {result['traces']} sentences, names and words, as they are and "
        f"in UTF-16 and base64, in {files}"
    )
    for one in result["left"]:
        yield f"  left: {one['path']}: {one['why']}"
    found = "Words of it are left in these files." if result["left"] else "0 hits."
    yield found
    if result["history"].get("commits"):
        yield f"{result['history']['commits']} commits still have it."
    if result["history"].get("fix"):
        yield result["history"]["fix"]


def _purged(result: Mapping[str, Any]) -> Iterator[str]:
    """What was removed for good, or would be, and what was searched for it."""
    if "memories" in result:
        yield from _purged_units(result)
        return
    would = "would remove" if result["dry_run"] else "removed"
    for path in result["removed"]:
        yield f"  {would} {path}"
    for path, why in result["failures"].items():
        yield f"  failed: {path}, {why}"
    if not result["removed"]:
        yield "Nothing was removed." if result["failures"] else "The trash is empty."
    elif not result["dry_run"]:
        yield (
            "No `engram undo` brings it back. Its words may still be in the undo "
            "history (state folder) and in git."
        )


def _runs(result: Mapping[str, Any]) -> Iterator[str]:
    """One line for each maintenance run, the last one first."""
    if not result["runs"]:
        yield "There was no run yet."
    for run in result["runs"]:
        counts = run.get("counts", {})
        done = ", ".join(_count(name, number) for name, number in counts.items())
        gone = "taken back" if run["cadence"] == "import" else "no longer kept"
        kept = "" if run["can_be_undone"] else f" · {gone}"
        cadence = run["cadence"] or "cut short"
        cadence += f" of {run['file']}" if run.get("file") else ""
        yield f"{run['id']} · {str(run['at'])[:16]} · {cadence} · {done or 'nothing'}{kept}"
        for name, why in run.get("failures", {}).items():
            yield f"    failed: {name}, {why}"


def _count(name: str, number: int) -> str:
    """The count of a pass, or of the facts that a filing "ended by rule"."""
    if " by " not in name:
        return f"{name} {number}"
    return f"{number} fact{'s' * (number != 1)} {name}"


def _forecast(result: Mapping[str, Any]) -> Iterator[str]:
    """The changes to come, the soonest first, each with its curve if there is one."""
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


def _context(result: Mapping[str, Any]) -> Iterator[str]:
    """The text that a chatbot gets before its next answer."""
    yield str(result["text"]) or "Nothing is known yet."


def _digest(result: Mapping[str, Any]) -> Iterator[str]:
    """What happened in a span, as text."""
    yield f"{result['since'][:10]} to {result['until'][:10]}"
    yield result["text"] or "Nothing was learned, changed or ended, and nothing is due."


def _todos(result: Mapping[str, Any]) -> Iterator[str]:
    """One line for each promise."""
    if not result["todos"]:
        yield "There is nothing of that kind."
    for row in result["todos"]:
        due = f" · {row['when']}" if row["when"] else ""
        yield f"{row['stage']:<9} {_short(row)}{due} · {_handle(row['id'], row)}"


def _short(row: Mapping[str, Any]) -> str:
    """The statement of a row on one line."""
    return _line(row["text"])


def _listed(result: Mapping[str, Any]) -> Iterator[str]:
    """One line for each memory, and where the next page begins."""
    if not result["memories"]:
        yield "There are no such memories."
    for row in result["memories"]:
        day = f" · {row['created'][:10]}" if row["created"] else ""
        yield f"{_short(row)}\n    {row['category']} · {row['provenance']}{day} · {_handle(row['id'], row)}"
    if result["next"]:
        yield _next_page(result)


def _next_page(result: Mapping[str, Any]) -> str:
    return f"{result['total']} in all; the next page: --after '{result['next']}'"


def _days(result: Mapping[str, Any]) -> Iterator[str]:
    """One line for each day, with a bar for its number of memories."""
    days = result["days"]
    if not days:
        yield "There are no memories yet."
    most = max(days.values(), default=1)
    for day, number in days.items():
        yield f"{day}  {number:>5}  {'█' * max(1, round(40 * number / most))}"


def _entities(result: Mapping[str, Any]) -> Iterator[str]:
    """One line for each person, place or thing, and one for its relations."""
    if not result["entities"]:
        yield "There are no people, places or things yet."
    for row in result["entities"]:
        number = row["memories"]
        count = f"{number} memor{'y' if number == 1 else 'ies'}"
        yield _joined([row["name"], row["type"], count, str(row["last"] or "")[:10]])
        marks = [", ".join(row["aliases"])]
        for key in ("relations", "planned_relations", "former_relations"):
            marks += [related(one) for one in row.get(key, ())]
        if line := _joined(marks):
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


def _neighbours(result: Mapping[str, Any]) -> Iterator[str]:
    """The ties of each node to those nearer to the first one."""
    names = {node["id"]: " ".join(node["name"].split()) for node in result["nodes"]}
    yield names[result["center"]]
    for edge in result["edges"]:
        yield f"  {names[edge['source']]} — {edge['type']} — {names[edge['target']]}"


def _sessions(result: Mapping[str, Any]) -> Iterator[str]:
    """Two lines for each stretch of a conversation."""
    if not result["sessions"]:
        yield "There are no such conversations."
    for row in result["sessions"]:
        time = f"{row['started'][:16]} to {row['ended'][11:16]}".replace("T", " ")
        yield f"{time} · {row['turns']} turns · {row['summary'] or row['session']}"
        yield "    " + _joined([row["persona"], row["id"]])
    if result["next"]:
        yield _next_page(result)


def _session(result: Mapping[str, Any]) -> Iterator[str]:
    """The turns of a conversation, each with who said it and when."""
    yield f"{result['session']} · {result['started'][:10]} · {result['path']}"
    for turn in result["turns"]:
        who = turn.get("speaker") or turn["role"]
        yield from _block(f"{turn['occurred_at'][11:16]} {who}: ", "    ", turn["text"])


def _history(result: Mapping[str, Any]) -> Iterator[str]:
    """The versions of a memory, then the decisions on them, the oldest first."""
    for row in result["versions"]:
        words = _short(row) if row.get("text") else "(forgotten)"
        yield f"{str(row.get('created') or '')[:10]:<10} {words}"
        end = row.get("valid_until")
        until = f"until {end[:10]}" if end else ""
        marks = [row["status"], until, row.get("end_reason"), row["id"]]
        yield "           " + _joined(marks)
    for row in result["decisions"]:
        marks = [row.get("action"), row.get("outcome"), row.get("reason")]
        yield f"{str(row.get('at'))[:16].replace('T', ' ')} {_joined(marks)}"


_BARS = "▁▂▃▄▅▆▇█"

BRIEF = {"show": "show_lines", "why": "why_lines", "plot": "plot_lines"}
"""The functions of `details` for commands that leave fields out, if not `verbose`."""


def _evaluation(result: Mapping[str, Any]) -> Iterator[str]:
    from engram.serve.evaluation import report

    yield from report.lines(result)


RENDERERS = {
    "consolidate": _run,
    "context": _context,
    "diff": _diff,
    "entities": _entities,
    "eval": _evaluation,
    "forecast": _forecast,
    "history": _history,
    "import": _stored,
    "list": _listed,
    "neighbours": _neighbours,
    "observe": _stored,
    "digest": _digest,
    "merge": _merged,
    "prune": _run,
    "synthesize": _run,
    "purge": _purged,
    "review": _review,
    "runs": _runs,
    "session": _session,
    "sessions": _sessions,
    "timeline": _days,
    "todos": _todos,
    "undo": _run,
}
"""The function that prints the result of a command; other results print as a tree."""


def _why_empty(result: Mapping[str, Any]) -> str:
    if not result.get("complete", True):
        return "the index is not ready yet"
    if result.get("note"):
        return str(result["note"]).rstrip(".")
    if filtered := _filtered(result):
        return f"filtered by {filtered}"
    return "there are no memories about this"


def _filtered(result: Mapping[str, Any]) -> str:
    filtered = result.get("filtered", {})
    if not filtered:
        return ""
    from engram.serve.spans import LEFT_OUT

    return ", ".join(
        f"{LEFT_OUT.get(reason, reason)} ({count})"
        for reason, count in filtered.items()
    )


def _tree(value: Any, margin: str = "") -> Iterator[str]:
    """A JSON value as indented lines `key: value`, without empty values."""
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
    """A value after `head`; its further lines are indented by `margin`."""
    if isinstance(value, bool):
        value = "yes" if value else "no"
    first, *rest = str(value).splitlines() or [""]
    yield head + first
    yield from (f"{margin}  {line}" for line in rest)
