"""The prompt of an extraction: rules, known facts, and the conversation."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import TYPE_CHECKING

from engram.core.text import content_hash
from engram.llm.links import NOTHING_KNOWN, known_text, local_time
from engram.llm.prompt_files import one_line, sections

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.core.policy import ExtractionPolicy, ModelPolicy
    from engram.core.records import Turn
    from engram.llm.links import KnownContext


@cache
def examples() -> frozenset[str]:
    """Return the content hashes of the statements in the example of the prompt."""
    lines = [
        line
        for line in sections("extract")["system"].splitlines()
        if line.startswith("{")
    ]
    return frozenset(
        content_hash(fact["text"])
        for line in lines
        for fact in json.loads(line)["facts"]
    )


def extraction_prompt(
    turns: Sequence[Turn],
    policy: ExtractionPolicy,
    model_policy: ModelPolicy,
    known: KnownContext = NOTHING_KNOWN,
) -> tuple[str, str, str]:
    """Return the system text, the question, and the text for a repeated question.

    The conversation is inserted last, so that no text of it is replaced. The known
    facts and names precede it.
    """
    prompt = sections("extract")
    system = prompt["system"]
    limits = {
        "{{max_facts}}": policy.max_facts,
        "{{max_entities}}": policy.max_entities,
        "{{max_tags}}": model_policy.max_tags,
        "{{max_relations}}": policy.max_relations,
    }
    for name, limit in limits.items():
        system = system.replace(name, str(limit))
    conversation = "\n".join(
        _prompt_line(place, turn, policy, model_policy)
        for place, turn in enumerate(turns, 1)
    )
    mark = hashlib.sha256(conversation.encode("utf-8", "replace")).hexdigest()[:12]
    user = (
        prompt["user"]
        .replace("{{mark}}", mark)
        .replace("{{conversation}}", conversation)
    )
    before = known_text(known, policy)
    return system, f"{before}\n\n{user}" if before else user, prompt["again"]


def _prompt_line(
    place: int, turn: Turn, policy: ExtractionPolicy, model_policy: ModelPolicy
) -> str:
    """Return a turn in the form of the prompt, with further lines indented.

    No line of a text can then look like another turn. The mark around the conversation
    is a hash of it, so that no text can contain the closing mark.
    """
    when = local_time(turn.occurred_at)
    speaker = (one_line(turn.speaker) or turn.role)[: model_policy.name_chars]
    text = "\n    ".join(turn.text[: policy.turn_chars].strip().splitlines())
    return f"[t{place}] {when} {speaker} ({turn.role}): {text}"
