"""Results of commands as lines of text.

In: the name of a command and its result. Out: the lines to print. `RENDERERS` names the
function of each command; other results are printed as a tree of keys and values. The
package imports little, because the fast path of the command line loads it.
"""

from __future__ import annotations

from engram.serve.render.lines import tree_lines

TYPE_CHECKING = False  # loading typing would slow each call of the command line
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

BRIEF = ("plot", "show", "why")
"""Commands that leave fields out; `--verbose` prints them as a tree."""

RENDERERS = {
    "consolidate": "reports.run_lines",
    "context": "memories.context_lines",
    "diff": "details.diff_lines",
    "digest": "memories.digest_lines",
    "entities": "memories.entities_lines",
    "eval": "reports.eval_lines",
    "forecast": "memories.forecast_lines",
    "history": "memories.history_lines",
    "import": "reports.stored_lines",
    "list": "memories.list_lines",
    "merge": "reports.merge_lines",
    "neighbours": "memories.neighbours_lines",
    "observe": "reports.stored_lines",
    "plot": "details.plot_lines",
    "prune": "reports.run_lines",
    "purge": "reports.purge_lines",
    "review": "details.review_lines",
    "runs": "reports.runs_lines",
    "session": "memories.session_lines",
    "sessions": "memories.sessions_lines",
    "show": "details.show_lines",
    "synthesize": "reports.run_lines",
    "timeline": "memories.timeline_lines",
    "todos": "memories.todos_lines",
    "undo": "reports.run_lines",
    "why": "details.why_lines",
}
"""The module of this package and the function for each command."""


def lines_of(
    name: str, result: Mapping[str, Any], *, explain: bool, verbose: bool
) -> Iterable[str]:
    """Return the result of the command `name` as lines.

    With `explain` the hits of `recall` include their scores; with `verbose` the
    commands of `BRIEF` print all fields.
    """
    if name == "recall":
        from engram.serve.render.recall import recall_lines

        return recall_lines(result, explain=explain)
    if name not in RENDERERS or (verbose and name in BRIEF):
        run = result.get("run")
        rest = {key: value for key, value in result.items() if key != "run"}
        hint = [f"`engram undo {run}` takes it back."] if run else []
        return [*tree_lines(rest), *hint]
    from importlib import import_module

    module, _, function = RENDERERS[name].partition(".")
    render = getattr(import_module(f"engram.serve.render.{module}"), function)
    lines: Iterable[str] = render(result)
    return lines
