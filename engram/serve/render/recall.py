"""The hits of `recall` as text."""

from __future__ import annotations

from engram.serve.render.lines import HIT_CHARACTERS, joined, name_of

TYPE_CHECKING = False  # loading typing would slow each call of the command line
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

EDGES = 3
"""Maximum number of edges of a hit that are printed, the most certain first."""


MODES = {"words": "words", "meaning": "words and meaning"}
"""What found the hits, by the mode of the answer."""


def recall_lines(result: Mapping[str, Any], *, explain: bool) -> Iterator[str]:
    """Yield the hits with their evidence, or the reason why there are none."""
    hits = result.get("hits", [])
    for place, hit in enumerate(hits, 1):
        yield from _hit(place, hit, explain=explain)
    if not hits:
        yield f"Nothing recalled: {_why_empty(result)}."
    if explain:
        yield from _explanation(result)
    if hits and (mode := result.get("mode")):
        yield f"Found by {MODES[mode]}."
    if hits and not result.get("complete", True):
        yield "The index is not ready yet; there may be more."
    elif hits and result.get("note"):
        yield str(result["note"])


def _explanation(result: Mapping[str, Any]) -> Iterator[str]:
    """The size of the answer, the number of filtered memories, and the time of steps."""
    yield ""
    yield f"{result.get('tokens', 0)} tokens in {len(result.get('hits', []))} hits"
    yield f"filtered: {_filtered(result) or 'nothing'}"
    steps = result.get("milliseconds", {})
    spent = ", ".join(f"{step} {value:.1f}" for step, value in steps.items())
    yield f"milliseconds: {spent}; together {sum(steps.values()):.1f}"


def _hit(place: int, hit: Mapping[str, Any], *, explain: bool) -> Iterator[str]:
    """Yield one hit: its text, a line of marks, the quoted turn, and its score."""
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
        name_of(str(hit.get("key") or ""), hit),
        f"full text: {hit.get('path', '')}" if cut else "",
    ]
    yield "    " + joined(marks)
    yield from _quote(hit)
    if fault := hit.get("fault"):
        yield f"    ! {fault}"
    if explain:
        yield from _score(hit)


def _quote(hit: Mapping[str, Any]) -> Iterator[str]:
    """Yield the words of the turn behind a hit."""
    if quote := hit.get("quote"):
        source = f" ({hit['source']})" if hit.get("source") else ""
        reworded = ", before it was reworded" if hit.get("reworded") else ""
        yield f"    “{quote}”{source}{reworded}"


def _score(hit: Mapping[str, Any]) -> Iterator[str]:
    """Yield the score of a hit and the parts of its rank."""
    parts = " ".join(
        f"{name} {value:+.3f}" for name, value in hit.get("parts", {}).items()
    )
    yield f"    score {hit.get('score', 0):.3f}, rank {hit.get('rank', 0):.3f} = {parts}"
    for edge in hit.get("edges", [])[:EDGES]:
        yield f"    {edge['type']} edge with {edge['with']}, confidence {edge['confidence']:.2f}"
    tokens, path = hit.get("tokens", 0), hit.get("path", "")
    yield f"    trust {hit.get('trust', 1):.2f}, {tokens} tokens, {path}"


def _why_empty(result: Mapping[str, Any]) -> str:
    if result.get("note"):
        return str(result["note"]).rstrip(".")
    if not result.get("complete", True):
        return "the index is not ready yet"
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
