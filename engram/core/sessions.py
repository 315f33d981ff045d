"""Conversations in short: what is due for one, which turns it rests on, and what can be
told without a model.

(Rows A27, E9–E12.) One stretch of a conversation without half an hour of silence is a
*talk*; it has one file.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from engram.core.forgetting import OMISSION
from engram.core.language.echo import own_words
from engram.core.language.injection import instruction
from engram.core.language.sentences import sentences
from engram.core.language.words import content, language, words
from engram.core.markdown import read_block, replace_block
from engram.core.trust import DERIVED_ORIGINS, SYNTHESIZED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from engram.core.policy.sessions import SessionPolicy
    from engram.core.records import Fact, FiledTurn, Turn

EPISODES = "episodes/"
"""Where the notes of episodes stand (row A27)."""

STATE_FILE = "state/sessions.json"
SPINE_FILE = "spine.md"

SUMMARY_LISTS = ("what_mattered", "open_loops", "commitments", "people")
SUMMARY_KEYS = ("one_liner", *SUMMARY_LISTS, "tone", "parse_error")
"""The keys of a session summary in the front matter of its file (row E11)."""

_DENSE = 4
_TICK = re.compile(r"^- \[[ xX]\] ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SessionProgress:
    """How far a talk is told: its turns and users' turns, when the last was said, and
    what was made of them.
    """

    turns: int
    users: int
    ended: datetime
    rolled: int = 0
    episodes: int = 0
    summarised: int = 0


@dataclass(frozen=True, slots=True)
class SessionView:
    """A talk as its file tells it, with the turns that wait for the file behind the
    `filed` ones.

    `keys` and `body` are the file's; `sha` is '' where there is no file yet.
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
        """The name of its file, by which its turns are cited."""
        return self.path.rpartition("/")[2].removesuffix(".md")

    @property
    def stand(self) -> SessionProgress:
        """How far it is told."""
        users = sum(filed.turn.role == "user" for filed in self.turns)
        told = (
            value if type(value := self.keys.get(key)) is int else 0
            for key in ("rolled", "episodes", "summarised")
        )
        return SessionProgress(len(self.turns), users, self.ended, *told)


def is_closed(stand: SessionProgress, now: datetime, minutes: float) -> bool:
    """Whether it fell silent for longer than `minutes`; one that was said to be later
    than now has not (`E10`).
    """
    return now - stand.ended > timedelta(minutes=minutes)


def due(
    stand: SessionProgress,
    now: datetime,
    minutes: float,
    policy: SessionPolicy,
    *,
    model: bool,
) -> tuple[str, ...]:
    """What is to be made of a talk now: rolling every 4 turns, an episode for each 5
    turns of the user, session at its end (rows E9, A27, E11). Without a `model` there
    are no episodes.
    """
    found = []
    closed = is_closed(stand, now, minutes)
    if not closed and stand.turns - stand.turns % policy.rolling_turns > stand.rolled:
        found.append("rolling")
    if (
        model
        and stand.turns >= policy.episode_least
        and stand.users // policy.episode_users > stand.episodes
    ):
        found.append("episode")
    if closed and stand.turns > stand.summarised:
        found.append("session")
    return tuple(found)


def read_state(raw: bytes, part: str = "talks") -> dict[str, dict[str, Any]]:
    """A part of `state/sessions.json`, by its keys; nothing where it cannot be read
    (`E9`).
    """
    try:
        return {str(key): dict(row) for key, row in json.loads(raw)[part].items()}
    except (ValueError, TypeError, KeyError, AttributeError):
        return {}


def state_bytes(
    personas: Mapping[str, Mapping[str, Any]], files: Mapping[str, Mapping[str, Any]]
) -> bytes:
    """The content of `state/sessions.json`."""
    text = json.dumps(
        {"personas": personas, "talks": files}, ensure_ascii=False, indent=1
    )
    return f"{text}\n".encode()


def block_digest(text: str, keys: object) -> str:
    """The 16 hex digits by which a generated block is known; ticks do not count."""
    plain = _TICK.sub("- [ ] ", text.strip())
    content = f"{plain}\n{json.dumps(keys, sort_keys=True)}"
    return hashlib.sha256(content.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class SummaryCut:
    """A session file and `state/sessions.json` after forgotten text was removed.

    `keys` holds the front matter keys that change.
    """

    keys: Mapping[str, object]
    body: str
    state: bytes


def cut_summaries(
    stem: str,
    keys: Mapping[str, object],
    body: str,
    state: bytes,
    allowed: Callable[[str], str],
) -> SummaryCut:
    """Remove forgotten text from the generated summaries of a session (`X8`).

    `allowed` returns a text without its forgotten sentences. A block that a person
    changed is theirs and stays.
    """
    personas, files = read_state(state, "personas"), read_state(state)
    row, changed = files.get(stem, {}), dict[str, object]()
    for block, names in (("summary", SUMMARY_KEYS), ("rolling", ())):
        text = read_block(body, block)
        known = {name: keys[name] for name in names if keys.get(name)}
        if text is None or row.get(block) != block_digest(text, known):
            continue

        left = {name: allowed_value(value, allowed) for name, value in known.items()}
        changed |= {name: value for name, value in left.items() if value != known[name]}
        new = _allowed_lines(text, allowed)
        if new != text:
            body = replace_block(body, block, new)
        row[block] = block_digest(
            new, {name: value for name, value in left.items() if value}
        )

    for persona in personas.values():
        for name in ("rollingSummary", "lastUserMessage"):
            if persona.get(name):
                persona[name] = allowed(str(persona[name]))

    return SummaryCut(changed, body, state_bytes(personas, files))


def _allowed_lines(text: str, allowed: Callable[[str], str]) -> str:
    """The lines without forgotten sentences; a line that had nothing else is dropped."""
    lines = []
    for line in text.split("\n"):
        left = allowed(line) if line.strip() else line
        if left or not line:
            lines.append(left)
    return "\n".join(lines)


def allowed_value(value: object, allowed: Callable[[str], str]) -> object:
    """The value of a summary key without forgotten sentences.

    An item of a list is dropped, a whole string becomes `OMISSION`.
    """
    if isinstance(value, list):
        return [left for one in value if (left := allowed(str(one)))] or None
    return (allowed(value) or OMISSION) if isinstance(value, str) else value


def curation_state(
    facts: Iterable[Fact], persona: str | None
) -> tuple[datetime | None, int, int]:
    """When a conclusion was last drawn from a persona's memories, how many those were,
    and how many are new (`E9`).

    Told by the memories themselves, so that it is never ahead of them.
    """
    own = [fact for fact in facts if fact.persona == persona and fact.created]
    last = max(
        (fact.created for fact in own if fact.created and fact.origin == SYNTHESIZED),
        default=None,
    )
    rest = [fact.created for fact in own if fact.origin not in DERIVED_ORIGINS]
    before = sum(1 for at in rest if last and at and at <= last)
    return last, before, len(rest) - before


# -- what a summary rests on -----------------------------------------------------------


def latest_of_both_sides(turns: Sequence[FiledTurn], each: int) -> list[FiledTurn]:
    """The latest `each` turns of the user and as many of everybody else, in the order
    they were said (rows E9, E11).
    """
    kept = []
    for side in (True, False):
        kept += [filed for filed in turns if (filed.turn.role == "user") is side][
            -each:
        ]
    place = {filed.key: number for number, filed in enumerate(turns)}
    return sorted(kept, key=lambda filed: place[filed.key])


def model_input(turns: Iterable[FiledTurn], policy: SessionPolicy, **more: Any) -> str:
    """The turns as a model is shown them: JSON that is the same for the same words."""
    said = [
        {
            "who": speaker_name(filed.turn),
            "role": filed.turn.role,
            "said": one_line(filed.turn, policy),
        }
        for filed in turns
    ]
    return json.dumps({"turns": said, **more}, ensure_ascii=False, sort_keys=True)


def speaker_name(turn: Turn) -> str:
    """The name under which somebody speaks."""
    return turn.speaker or turn.role


def one_line(turn: Turn, policy: SessionPolicy) -> str:
    """A turn on one line, without what recall had handed out (`X7`), cut to its length."""
    return shorten(" ".join(own_words(turn.text).split()), policy.turn_chars)


def shorten(text: str, chars: int) -> str:
    """`text` in at most so many characters, cut between words."""
    if len(text) <= chars:
        return text
    head, blank, _ = text[: chars - 1].rpartition(" ")
    return (
        head if blank and len(head) > chars // 2 else text[: chars - 1]
    ).rstrip() + "…"


# -- without a model -------------------------------------------------------------------


def _stating_sentences(turn: Turn, policy: SessionPolicy) -> list[str]:
    """Return the sentences of a turn that state something, instructions left out."""
    if turn.role not in {"user", "assistant"}:
        return []
    text = one_line(turn, policy)
    found = [text[start:end].strip() for start, end in sentences(text)]
    return [
        sentence
        for sentence in found
        if sentence and not sentence.endswith(("?", "？")) and not instruction(sentence)
    ]


def key_sentences(
    turns: Sequence[FiledTurn], policy: SessionPolicy, chars: int, most: int
) -> list[tuple[Turn, str]]:
    """The sentences that tell most of these turns, at most `chars` together, in order,
    each with its turn.

    A sentence is worth the words it shares with the rest of the talk and those the talk
    has besides, over the root of its length; the user's count for more. Questions, what
    reads like an instruction and what says nothing are left out.
    """
    found = [
        (filed.turn, sentence)
        for filed in turns
        for sentence in _stating_sentences(filed.turn, policy)
    ]
    terms = [_terms(said) for _, said in found]
    counts = Counter(term for each in terms for term in set(each))
    worth = {
        place: sum(1 + math.log(counts[term]) for term in set(each))
        / math.sqrt(len(each) + _DENSE)
        * (1.5 if found[place][0].role == "user" else 1.0)
        for place, each in enumerate(terms)
        if len(each) > 1
    }
    kept: list[int] = []
    seen: set[str] = set()
    for place in sorted(worth, key=lambda place: (-worth[place], place)):
        said = found[place][1]
        if len(kept) < most and said not in seen and len(said) + 2 <= chars:
            kept.append(place)
            seen.add(said)
            chars -= len(said) + len(speaker_name(found[place][0])) + 3
    return [found[place] for place in sorted(kept)]


def _terms(text: str) -> list[str]:
    found = words(text)
    return content(found, language(found))


def word_coverage(question: Sequence[str], text: str) -> float:
    """The share of a question's words that `text` has, 0–1 (`A29`, where no vectors
    decide).
    """
    asked = set(question)
    return len(asked & set(_terms(text))) / len(asked) if asked else 0.0
