"""Artifacts: the very words in which something was decided, corrected, promised or laid
down (row C9).
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from engram.core.records import Create
from engram.core.text import ulid
from engram.vault.formats import inert, plain_text, time_text

if TYPE_CHECKING:
    from datetime import tzinfo

    from engram.core.records import Fact

FOLDER = "artifacts"


def artifact(fact: Fact, kind: str, words: str, zone: tzinfo) -> Create:
    """`artifacts/<day>/artifact-<the memory's name>.md` with `words` as they were said;
    the memory has its path.
    """
    stem = PurePosixPath(fact.path).stem
    keys: dict[str, object] = {
        "id": ulid(fact.created, f"artifact\n{fact.id}") if fact.created else "",
        "kind": "artifact",
        "artifact_type": kind,
        "created": time_text(fact.created, zone) if fact.created else "",
        "memory": f"[[{stem}]]",
        "source": f"[[{fact.source}]]" if fact.source else "",
    }
    path = f"{FOLDER}/{PurePosixPath(fact.path).parent.name}/artifact-{stem}.md"
    body = inert(plain_text(words).strip())
    return Create(
        path,
        {key: value for key, value in keys.items() if value},
        f"{body}\n",
        "verbatim words",
    )
