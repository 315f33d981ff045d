"""Summaries of conversations: when they are due, and which turns they cover.

(Rows A27, E9–E12.) A *session stretch* is a part of a conversation without half an hour
of silence; it has one file.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from engram.core.forgetting import OMISSION
from engram.core.language.injection import instruction
from engram.core.language.sentences import sentences
from engram.core.language.words import terms_of
from engram.core.markdown import read_block, replace_block
from engram.core.planted import recallable_text
from engram.core.text import note_name
from engram.core.trust import (
    DERIVED_ORIGINS,
    SYNTHESIZED,
    plain_name,
    said_by_tool,
    source_class,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from engram.core.policy import SessionPolicy
    from engram.core.records import Fact, FiledTurn, Turn

EPISODES = "episodes/"
"""Folder of the notes of episodes (row A27)."""

STATE_FILE = "state/sessions.json"
SPINE_FILE = "spine.md"

SUMMARY_LISTS = ("what_mattered", "open_loops", "commitments", "people")
SUMMARY_KEYS = ("one_liner", *SUMMARY_LISTS, "tone", "parse_error")
"""The keys of a session summary in the front matter of its file (row E11)."""

STALE = "stale"
"""The mark of a session file whose summary could not be removed."""
_DENSE = 4
_TICK = re.compile(r"^- \[[ xX]\] ", re.MULTILINE)
_CONVERSATION = re.compile(r"^## Conversation[ \t]*$", re.MULTILINE)
_ROLLING = re.compile(r"^## Rolling[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SessionProgress:
    """The number of turns of a stretch, and of those covered by each kind of summary.

    `users` counts the turns of the user, `ended` is the time of the last turn.
    """

    turns: int
    users: int
    ended: datetime
    rolled: int = 0
    episodes: int = 0
    summarised: int = 0


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session stretch, from its file and the turns that are not filed yet.

    The first `filed` turns are in the file. `keys` and `body` are the file's; `sha` is
    '' if there is no file yet.
    """

    path: str
    session: str
    persona: str | None
    started: datetime
    ended: datetime
    turns: tuple[FiledTurn, ...]
    filed: int = 0
    sha: str = ""
    keys: Mapping[str, object] = field(default_factory=dict)
    body: str = ""

    @property
    def stem(self) -> str:
        """The name of its file, which citations of its turns use."""
        return note_name(self.path)

    @property
    def progress(self) -> SessionProgress:
        """The number of turns that the summaries cover."""
        users = sum(filed.turn.role == "user" for filed in self.turns)
        covered = (
            value if type(value := self.keys.get(key)) is int else 0
            for key in ("rolled", "episodes", "summarised")
        )
        return SessionProgress(len(self.turns), users, self.ended, *covered)


def is_closed(progress: SessionProgress, now: datetime, minutes: float) -> bool:
    """Return whether the last turn is more than `minutes` ago (`E10`).

    A stretch whose last turn has a time in the future is not closed.
    """
    return now - progress.ended > timedelta(minutes=minutes)


def rolling_mark(turns: int, policy: SessionPolicy, *, model: bool) -> int:
    """Return the number of turns that the rolling summary covers (`E9`).

    Without a model this is a multiple of 4 turns. With a model it is a multiple of 24:
    the prompt holds 24 turns, so the model reads each turn once.
    """
    step = policy.rolling_turns
    if model and turns >= policy.rolling_model_turns:
        step = policy.rolling_model_turns
    return turns - turns % step


def due(
    progress: SessionProgress,
    now: datetime,
    minutes: float,
    policy: SessionPolicy,
    *,
    model: bool,
) -> tuple[str, ...]:
    """Return the summaries that are due now (rows E9, A27, E11).

    `rolling` is due every 4 turns, or every 24 with a model from 24 turns on; `episode`
    when 4 episodes of 5 turns of the user wait, or at the end with `session`, only with
    a `model`.
    """
    kinds = []
    closed = is_closed(progress, now, minutes)
    if (
        not closed
        and rolling_mark(progress.turns, policy, model=model) > progress.rolled
    ):
        kinds.append("rolling")
    if (
        model
        and progress.turns >= policy.episode_least
        and episodes_waiting(progress, policy)
        >= (1 if closed else policy.episodes_each)
    ):
        kinds.append("episode")
    if closed and progress.turns > progress.summarised:
        kinds.append("session")
    return tuple(kinds)


def episodes_waiting(progress: SessionProgress, policy: SessionPolicy) -> int:
    """Return how many episodes of 5 turns of the user have no note yet (`A27`)."""
    return progress.users // policy.episode_users - progress.episodes


def read_state(raw: bytes, part: str = "sessions") -> dict[str, dict[str, Any]]:
    """Return a part of `state/sessions.json` by key; empty if unreadable (`E9`).

    Version 0.1 calls the part of the sessions `talks`.
    """
    try:
        stored = json.loads(raw)
        rows = (
            stored["talks"]
            if "talks" in stored and part == "sessions"
            else stored[part]
        )
        return {str(key): dict(row) for key, row in rows.items()}
    except (ValueError, TypeError, KeyError, AttributeError):
        return {}


def state_bytes(
    personas: Mapping[str, Mapping[str, Any]], files: Mapping[str, Mapping[str, Any]]
) -> bytes:
    """Return the content of `state/sessions.json`."""
    text = json.dumps(
        {"personas": personas, "sessions": files}, ensure_ascii=False, indent=1
    )
    return f"{text}\n".encode()


def block_digest(text: str, keys: object) -> str:
    """Return 16 hex digits that identify a generated block; ticks do not count."""
    plain = _TICK.sub("- [ ] ", text.strip())
    content = f"{plain}\n{json.dumps(keys, sort_keys=True)}"
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def summary_text(keys: Mapping[str, object]) -> str:
    """Return a session summary as Markdown for people to read, from its keys."""
    marks = (
        ("", "what_mattered"),
        ("Open: ", "open_loops"),
        ("Promised: ", "commitments"),
    )
    lines = [f"- {mark}{item}" for mark, name in marks for item in _items(keys, name)]
    return "\n".join([str(keys["one_liner"]), *(["", *lines] if lines else [])])


def _items(keys: Mapping[str, object], name: str) -> Sequence[object]:
    value = keys.get(name)
    return value if isinstance(value, list | tuple) else ()


def with_section(body: str, block: str, text: str) -> str:
    """Return the body of a session file with a generated section before the turns.

    The order is summary, rolling summary, conversation.
    """
    if read_block(body, block) is not None:
        return replace_block(body, block, text)
    next_part = _ROLLING.search(body) if block == "summary" else None
    next_part = next_part or _CONVERSATION.search(body)
    at = next_part.start() if next_part else 0
    return f"{body[:at]}{_section(block, text)}{body[at:]}"


def _section(block: str, text: str) -> str:
    return replace_block(f"## {block.title()}\n\n", block, text) + "\n"


def _without_section(body: str, block: str, text: str) -> str:
    """Return the body without a generated section; a heading with more text stays."""
    section = _section(block, text)
    if section in body:
        return body.replace(section, "", 1)
    return replace_block(body, block, "")


@dataclass(frozen=True, slots=True)
class SummaryCut:
    """A session file and `state/sessions.json` without the summaries of the session.

    `keys` holds the front matter keys that change.
    """

    keys: Mapping[str, object]
    body: str
    state: bytes


def drop_summaries(
    stem: str, keys: Mapping[str, object], body: str, state: bytes
) -> SummaryCut:
    """Remove the generated summaries of a session; a run then writes new ones (`X8`).

    It is called if turns behind the summaries become hidden or visible. A block that a
    person changed is the person's text and stays.
    """
    personas, files = read_state(state, "personas"), read_state(state)
    row, changed = files.get(stem, {}), dict[str, object]()
    row.pop("rolled", None)
    row.pop(STALE, None)
    for block, names, count in (
        ("summary", SUMMARY_KEYS, "summarised"),
        ("rolling", (), "rolled"),
    ):
        text = read_block(body, block)
        known = {name: keys[name] for name in names if keys.get(name)}
        if not _is_generated(row.get(block), block, text, known):
            continue
        counted = {count} & keys.keys()
        changed |= dict.fromkeys([*known, *counted])
        if text is not None:
            body = _without_section(body, block, text)
        row.pop(block, None)

    for persona in personas.values():
        persona.pop("lastUserMessage", None)
        if persona.get("rollingFile") == stem:
            persona.pop("rollingSummary", None)

    return SummaryCut(changed, body, state_bytes(personas, files))


def with_stale(state: bytes, stem: str) -> bytes:
    """Return `state/sessions.json` with a mark on a session whose summary is stale."""
    personas, files = read_state(state, "personas"), read_state(state)
    files[stem] = files.get(stem, {}) | {STALE: True}
    return state_bytes(personas, files)


def stale_stems(state: bytes) -> set[str]:
    """Return the sessions with stale summaries: hidden, and due for regeneration."""
    return {stem for stem, row in read_state(state).items() if row.get(STALE)}


def _is_generated(
    digest: object, block: str, text: str | None, keys: Mapping[str, object]
) -> bool:
    """Return whether a block and its keys were written by a run, or never existed.

    `digest` is the recorded one; without it a summary is generated if its text follows
    from its keys.
    """
    if text is None:
        return digest is None and not keys
    if digest is None:
        has_summary_keys = block == "summary" and "one_liner" in keys
        return has_summary_keys and text.strip() == summary_text(keys).strip()
    return digest == block_digest(text, keys)


def curation_state(
    facts: Iterable[Fact], persona: str | None
) -> tuple[datetime | None, int, int]:
    """Return the time of a persona's last conclusion, and the number of earlier facts.

    The third value is the number of newer facts (`E9`). All three are computed from the
    facts, so they are never ahead of them.
    """
    own = [fact for fact in facts if fact.persona == persona and fact.created]
    last = max(
        (fact.created for fact in own if fact.created and fact.origin == SYNTHESIZED),
        default=None,
    )
    rest = [fact.created for fact in own if fact.origin not in DERIVED_ORIGINS]
    before = sum(1 for at in rest if last and at and at <= last)
    return last, before, len(rest) - before


# -- input of a summary ----------------------------------------------------------------


def latest_of_both_sides(turns: Sequence[FiledTurn], each: int) -> list[FiledTurn]:
    """Return the latest `each` turns of the user and of all others (rows E9, E11).

    The turns are in their original order.
    """
    latest = []
    for side in (True, False):
        latest += [filed for filed in turns if (filed.turn.role == "user") is side][
            -each:
        ]
    place = {filed.key: number for number, filed in enumerate(turns)}
    return sorted(latest, key=lambda filed: place[filed.key])


def model_input(
    turns: Iterable[FiledTurn],
    policy: SessionPolicy,
    parts: Mapping[str, int] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Return the turns as material for a model.

    `parts` are the numbers of the parts to which some turns belong, by their keys. A
    speaker without a name is given by the role alone.
    """
    part_of = parts or {}
    rows: list[dict[str, object]] = []
    for filed in turns:
        role = "tool" if said_by_tool(filed.turn) else filed.turn.role
        row: dict[str, object] = {"role": role, "said": one_line(filed.turn, policy)}
        if (name := speaker_name(filed.turn)) != role:
            row["who"] = name
        if filed.key in part_of:
            row["part"] = part_of[filed.key]
        rows.append(row)
    return {"turns": rows, **more}


def speaker_name(turn: Turn) -> str:
    """Return the name of a turn's speaker, or its role.

    A tool has no name, and no name is that of another role. The role in an imported
    conversation is marked as such.
    """
    if said_by_tool(turn):
        return "tool"
    role = f"import ({turn.role})" if source_class(turn) == "import" else turn.role
    return plain_name(turn.speaker) or role


def one_line(turn: Turn, policy: SessionPolicy) -> str:
    """Return a turn on one line of at most `turn_chars` characters (rows X7, X27).

    Recalled and planted text is left out.
    """
    return shorten(" ".join(recallable_text(turn).split()), policy.turn_chars)


def last_message(shown: str, policy: SessionPolicy) -> str:
    """Return the beginning of a turn, as recall shows it, for a persona's state (`E9`)."""
    return shorten(" ".join(shown.split()), policy.last_chars)


def shorten(text: str, chars: int) -> str:
    """Return `text` cut between words to at most `chars` characters."""
    if len(text) <= chars:
        return text
    cut = text[: chars - 1]
    head, blank, _ = cut.rpartition(" ")
    between_words = blank and len(head) > chars // 2
    return (head if between_words else cut).rstrip() + "…"


# -- without a model -------------------------------------------------------------------


def _stating_sentences(turn: Turn, policy: SessionPolicy) -> list[str]:
    """Return the statements among the sentences of a turn, without instructions."""
    if said_by_tool(turn) or turn.role not in {"user", "assistant"}:
        return []
    text = one_line(turn, policy).replace(OMISSION, " ")
    found = [text[start:end].strip() for start, end in sentences(text)]
    return [
        sentence
        for sentence in found
        if sentence and not sentence.endswith(("?", "？")) and not instruction(sentence)
    ]


def key_sentences(
    turns: Sequence[FiledTurn], policy: SessionPolicy, chars: int, limit: int
) -> list[tuple[Turn, str]]:
    """Return the most informative sentences of `turns`, in order, each with its turn.

    At most `limit` sentences, at most `chars` characters in all. A sentence scores by
    its words, weighted by their frequency in the stretch, over the root of its length;
    a user's scores more. Questions, instructions and sentences without content are left
    out.
    """
    stated = [
        (filed.turn, sentence)
        for filed in turns
        for sentence in _stating_sentences(filed.turn, policy)
    ]
    scores = _sentence_scores(stated)
    chosen: list[int] = []
    seen: set[str] = set()
    for place in sorted(scores, key=lambda place: (-scores[place], place)):
        turn, sentence = stated[place]
        fits = len(chosen) < limit and len(sentence) + 2 <= chars
        if fits and sentence not in seen:
            chosen.append(place)
            seen.add(sentence)
            chars -= len(sentence) + len(speaker_name(turn)) + 3
    return [stated[place] for place in sorted(chosen)]


def _sentence_scores(stated: Sequence[tuple[Turn, str]]) -> dict[int, float]:
    """Return the score of each sentence of at least two terms, by its place."""
    terms = [terms_of(sentence) for _, sentence in stated]
    counts = Counter(term for each in terms for term in set(each))
    return {
        place: sum(1 + math.log(counts[term]) for term in set(each))
        / math.sqrt(len(each) + _DENSE)
        * (1.5 if stated[place][0].role == "user" else 1.0)
        for place, each in enumerate(terms)
        if len(each) > 1
    }
