"""Results of changes as text: stored turns, maintenance runs, purges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.serve.render.lines import one_line, tree_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


REFUSALS = 5
"""Maximum number of refused lines that are printed."""


def stored_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield counts of turns, and the first refused ones with their fix."""
    refused = result.get("refused", [])
    yield from tree_lines({**result, "refused": refused[:REFUSALS]})
    if len(refused) > REFUSALS:
        yield f"  and {len(refused) - REFUSALS:,} more; --json lists all"
    if (
        not result.get("stored")
        and refused
        and all("not JSON" in one for one in refused)
    ):
        yield 'Each line has to be a JSON object, such as {"text": "I like tea."}.'
        yield "`engram import FILE` reads other files, `engram remember` a statement."


def merge_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the outcome for two memories or names, and the run."""
    if result.get("kept"):
        yield f"  stays:  {one_line(result['kept'])}"
        yield f"  merged: {one_line(result['merged'])}"
    yield from run_lines(result)


def run_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield a maintenance run: its changes with reasons, and changes not made."""
    if result["frozen"]:
        yield f"Nothing was done: {result['frozen']}."
        return
    would = "would " if result["dry_run"] else ""
    for action in result["actions"]:
        path, to = action["path"], action["to"]
        where = f"{path} → {to}" if to not in {"", path} else path
        yield f"  {would}{action['name']}: {where or 'ties'} ({action['why']})"
    done = ", ".join(f"{name} {number}" for name, number in result["counts"].items())
    yield f"{result['cadence']}: {done or 'nothing to do'}"
    yield from _not_done(result)
    if result["run"] and result["actions"] and not result["dry_run"]:
        yield f"`engram undo {result['run']}` reverses it."


def _not_done(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the changes that a run left for the user, for later or for a model."""
    for why in result["held"].values():
        yield f"  held: {why}; it is done only after a tick"
    for one in result["held_actions"]:
        yield f"    held: {one['name']}: {one['path']} ({one['why']})"
    for path, why in result["deferred"].items():
        yield f"  put off: {path}, {why}"
    for why, number in result["left_alone"].items():
        yield f"  left to you: {number}, {why}"
    for one in result["findings"]:
        yield f"  noticed: {one['path'] or one['name']}, {one['why']}"
    for task, number in result["unanswered"].items():
        yield f"  skipped, no model answered: {task} {number}"
    for name, why in result["failures"].items():
        yield f"  failed: {name}, {why}"


def purge_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the removed content, or the plan, and the searched stores."""
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
            "`engram undo` cannot restore it. Its words may still be in the undo "
            "history (state folder) and in git."
        )


def _purged_units(result: Mapping[str, Any]) -> Iterator[str]:
    dry = result["dry_run"]
    would = "would delete" if dry else "deleted"
    counts = f"{result['memory_count']} memories and {result['turn_count']} turns"
    yield f"{would} {counts}"
    for one in result["memories"]:
        yield f"  memory {one['id']}: {one['text']}"
    for one in result["turns"]:
        rest = f", but for: {one['left']}" if one["left"] else ""
        yield f"  turn {one['id']}{rest}"
    for one in result["stay"]:
        yield f"  stays, with less evidence: {one['id']}: {one['text']}"
    for one in result["similar"]:
        yield f"  similar, stays ({one['why']}): {one['id']}: {one['text']}"
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
        f"escaped, in {files}"
    )
    for one in result["left"]:
        yield f"  left: {one['path']}: {one['why']}"
    found = "These files still contain purged words." if result["left"] else "0 hits."
    yield found
    if result["history"].get("commits"):
        yield f"{result['history']['commits']} commits still contain it."
    if result["history"].get("fix"):
        yield result["history"]["fix"]


def runs_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield one line for each maintenance run, the last one first."""
    if not result["runs"]:
        yield "There was no run yet."
    for run in result["runs"]:
        counts = run.get("counts", {})
        done = ", ".join(_count(name, number) for name, number in counts.items())
        reason = "undone" if run["cadence"] == "import" else "can no longer be undone"
        undo_note = "" if run["can_be_undone"] else f" · {reason}"
        cadence = run["cadence"] or "cut short"
        cadence += f" of {run['file']}" if run.get("file") else ""
        yield f"{run['id']} · {str(run['at'])[:16]} · {cadence} · {done or 'nothing'}{undo_note}"
        for one in run.get("memories", ()):
            yield f"    {one_line(one['text'])}"
        for name, why in run.get("failures", {}).items():
            yield f"    failed: {name}, {why}"


def _count(name: str, number: int) -> str:
    """Return the count of a pass, or of the facts that a filing "ended by rule"."""
    if " by " not in name:
        return f"{name} {number}"
    return f"{number} fact{'s' * (number != 1)} {name}"


def eval_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the figures of an evaluation."""
    from evaluation import report, write

    yield from (write if "write" in result else report).lines(result)
