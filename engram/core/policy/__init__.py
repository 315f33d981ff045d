"""Every number, with its default, unit, range, source row and meaning.

There is one frozen dataclass for each concern. `rows()` lists them for `engram policy`;
a number with a `key` may be set in the vault's `engram.toml` under that name. A source
row names a capability row (`C2`) or a section of the design (`vault`, `quality`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

from engram.core.policy.dedup import (
    BoxPolicy,
    DedupPolicy,
    EchoPolicy,
    LinkPolicy,
    RetractionPolicy,
    ReviewPolicy,
    SimilarityPolicy,
    TrustPolicy,
)
from engram.core.policy.files import FilePolicy, ServePolicy
from engram.core.policy.ingest import (
    BufferPolicy,
    ExtractionPolicy,
    ImportancePolicy,
    JournalPolicy,
    ModelPolicy,
    SignalPolicy,
)
from engram.core.policy.insight import ActionPolicy, InsightPolicy
from engram.core.policy.lifecycle import (
    ConsolidationPolicy,
    DecayPolicy,
    LifecyclePolicy,
    ProfilePolicy,
    UsagePolicy,
)
from engram.core.policy.number import PolicyRow
from engram.core.policy.search import LexicalPolicy, RecallPolicy, VectorPolicy
from engram.core.policy.sessions import SessionPolicy, TodoPolicy

__all__ = [
    "ActionPolicy",
    "BoxPolicy",
    "BufferPolicy",
    "ConsolidationPolicy",
    "DecayPolicy",
    "DedupPolicy",
    "EchoPolicy",
    "ExtractionPolicy",
    "FilePolicy",
    "ImportancePolicy",
    "InsightPolicy",
    "JournalPolicy",
    "LexicalPolicy",
    "LifecyclePolicy",
    "LinkPolicy",
    "ModelPolicy",
    "Policy",
    "PolicyRow",
    "ProfilePolicy",
    "RecallPolicy",
    "RetractionPolicy",
    "ReviewPolicy",
    "ServePolicy",
    "SessionPolicy",
    "SignalPolicy",
    "SimilarityPolicy",
    "TodoPolicy",
    "TrustPolicy",
    "UsagePolicy",
    "VectorPolicy",
    "rows",
    "with_settings",
]


@dataclass(frozen=True, slots=True)
class Policy:
    """All groups of numbers together, passed through the program as one value."""

    buffer: BufferPolicy = field(default_factory=BufferPolicy)
    signals: SignalPolicy = field(default_factory=SignalPolicy)
    extraction: ExtractionPolicy = field(default_factory=ExtractionPolicy)
    importance: ImportancePolicy = field(default_factory=ImportancePolicy)
    ladder: DedupPolicy = field(default_factory=DedupPolicy)
    retraction: RetractionPolicy = field(default_factory=RetractionPolicy)
    model: ModelPolicy = field(default_factory=ModelPolicy)
    links: LinkPolicy = field(default_factory=LinkPolicy)
    lexical: LexicalPolicy = field(default_factory=LexicalPolicy)
    vectors: VectorPolicy = field(default_factory=VectorPolicy)
    similarity: SimilarityPolicy = field(default_factory=SimilarityPolicy)
    recall: RecallPolicy = field(default_factory=RecallPolicy)
    review: ReviewPolicy = field(default_factory=ReviewPolicy)
    files: FilePolicy = field(default_factory=FilePolicy)
    journal: JournalPolicy = field(default_factory=JournalPolicy)
    serve: ServePolicy = field(default_factory=ServePolicy)
    boxes: BoxPolicy = field(default_factory=BoxPolicy)
    echo: EchoPolicy = field(default_factory=EchoPolicy)
    trust: TrustPolicy = field(default_factory=TrustPolicy)
    lifecycle: LifecyclePolicy = field(default_factory=LifecyclePolicy)
    usage: UsagePolicy = field(default_factory=UsagePolicy)
    decay: DecayPolicy = field(default_factory=DecayPolicy)
    consolidation: ConsolidationPolicy = field(default_factory=ConsolidationPolicy)
    insight: InsightPolicy = field(default_factory=InsightPolicy)
    actions: ActionPolicy = field(default_factory=ActionPolicy)
    talks: SessionPolicy = field(default_factory=SessionPolicy)
    todos: TodoPolicy = field(default_factory=TodoPolicy)
    portraits: ProfilePolicy = field(default_factory=ProfilePolicy)


def rows(policy: Policy) -> list[PolicyRow]:
    """Return every number of `policy`, in the order of the table."""
    return [
        PolicyRow(
            concern.name,
            item.name,
            getattr(getattr(policy, concern.name), item.name),
            item.metadata["unit"],
            item.metadata["low"],
            item.metadata["high"],
            item.metadata["source"],
            item.metadata["meaning"],
            item.metadata["key"],
        )
        for concern in fields(policy)
        for item in fields(getattr(policy, concern.name))
        if "unit" in item.metadata
    ]


def with_settings(policy: Policy, settings: dict[str, float]) -> Policy:
    """Return `policy` with the numbers whose `key` is in `settings`.

    Values get the types of the defaults.
    """
    for row in rows(policy):
        if row.key in settings:
            value = type(row.value)(settings[row.key])
            concern = replace(getattr(policy, row.concern), **{row.name: value})
            policy = replace(policy, **{row.concern: concern})
    return policy
