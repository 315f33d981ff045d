"""Summaries of conversations, and the persona summary (rows A27, E9–E12).

Passes of conversations ask a model, or use sentences. The turns are never changed: only
keys of the front matter and generated blocks that no user edited.
`state/sessions.json` records the generated text.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from engram.core.categories import category_of
from engram.core.entities import name_key
from engram.core.forgetting import OMISSION
from engram.core.importance import after_mentions
from engram.core.markdown import escape, read_block, replace_block, unescape
from engram.core.planted import recallable_text
from engram.core.records import Create, Edit, Fact, FiledTurn
from engram.core.sessions import (
    EPISODES,
    SPINE_FILE,
    STALE,
    STATE_FILE,
    SUMMARY_KEYS,
    SessionView,
    block_digest,
    due,
    key_sentences,
    last_message,
    latest_of_both_sides,
    model_input,
    one_line,
    read_state,
    rolling_mark,
    shorten,
    speaker_name,
    state_bytes,
    summary_text,
    with_section,
)
from engram.core.text import note_name, ulid
from engram.core.todos import is_open, is_past, is_past_plan
from engram.core.trust import DERIVED_ORIGINS, said_by_user
from engram.maintenance.passes.generated_text import (
    attributes,
    entity_names,
    local_date,
)
from engram.maintenance.passes.view import (
    FileWrite,
    MemoryState,
    PassView,
    QuestionReply,
    Step,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from engram.core.policy import SessionPolicy

SECTIONS = {
    "profile": "Profile",
    "projects": "Projects",
    "people": "People",
    "open_loops": "Open loops",
}
"""The sections of the persona summary and their headings (row E12)."""


# -- passes ----------------------------------------------------------------------------


def rolling(view: PassView, now: datetime) -> list[Step]:
    """Summarise open conversations every 4 turns, in the file and the state (`E9`).

    A model is asked every 24 turns, the number of turns in a question; before the first
    24, sentences of the conversation are used. Only turns up to the last multiple of 4
    are used, so that the time of the run does not change the summary.
    """
    policy, state = view.policy.sessions, _SessionState(view)
    steps: list[Step] = []
    for talk in _due_sessions(view, now, "rolling"):
        mark = rolling_mark(len(talk.turns), policy, model=bool(view.model))
        turns = latest_of_both_sides(talk.turns[:mark], policy.rolling_each)
        why = f"{mark} turns of {talk.stem}"
        enough = mark >= policy.rolling_model_turns
        material = _material(view, talk, turns)
        reply = _reply(view, "rolling", material, why, enough=enough)
        state.record_attempt(talk, now, reply.fault)
        steps += reply.steps
        if reply.waits:
            continue
        if reply.answer:
            text = reply.answer["summary"]
        else:
            best = key_sentences(turns, policy, policy.rolling_chars, mark)
            text = _transcript(best)
        row = state.persona_row(talk)
        row |= {"rollingSummary": text, "rollingFile": talk.stem}
        if talk.sha:
            keys, body = _block_edit(state, talk, "rolling", text, {})
            keys = {**keys, "rolled": mark}
            steps.append(Edit(talk.path, talk.sha, keys, f"{mark} turns", body))
        else:
            state.file_row(talk)["rolled"] = mark
    return steps + state.writes()


def episodes(view: PassView, now: datetime) -> list[Step]:
    """Write a note on the events of every 5 turns of the user (`A27`).

    A model writes it from the latest 10 turns, and from at least 4. It is not a memory,
    and the answer `NONE` makes no note. For a conversation that is over, `summary` asks
    for its episodes in one call; for a long one that goes on, four are asked for
    together.
    """
    steps: list[Step] = []
    over = {talk.path for talk in _due_sessions(view, now, "session")}
    for talk in _due_sessions(view, now, "episode"):
        if not talk.sha or talk.path in over:
            continue
        waiting = _episode_turns(view, talk)
        replies = [
            _reply(view, "episode", _material(view, talk, turns), why)
            for number, turns in waiting.items()
            for why in [f"episode {number} of {talk.stem}"]
        ]
        steps += [step for reply in replies for step in reply.steps]
        if any(reply.waits for reply in replies):
            continue
        texts = [(reply.answer or {}).get("summary", "") for reply in replies]
        steps += _new_episodes(view, talk, texts)
        done = {"episodes": talk.progress.episodes + len(waiting)}
        steps.append(Edit(talk.path, talk.sha, done, f"{len(waiting)} episodes"))
    return steps


def summary(view: PassView, now: datetime) -> list[Step]:
    """Summarise each conversation that is over, with its episodes (rows A27, E11).

    If the reply of the model could not be read, the key `parse_error` says so and
    sentences of the conversation are used. They are always used below 4 turns.
    """
    policy, state = view.policy.sessions, _SessionState(view)
    steps: list[Step] = []
    for talk in _due_sessions(view, now, "session"):
        if not talk.sha or talk.filed < len(talk.turns):
            continue  # its last turns are not yet in the file
        visible = [filed for filed in talk.turns if filed.turn.text != OMISSION]
        if not visible:
            done = {"summarised": talk.filed}
            steps.append(Edit(talk.path, talk.sha, done, "all turns are hidden"))
            continue
        turns = latest_of_both_sides(visible, policy.session_each)
        waiting = _episode_turns(view, talk)
        material = _session_material(view, talk, turns, waiting)
        why, enough = f"{talk.stem} is over", len(visible) >= policy.session_model_turns
        reply = _reply(view, "session", material, why, enough=enough)
        steps += reply.steps
        if reply.waits:
            continue
        answer = dict(reply.answer or _own_words_summary(view, talk, turns))
        keys, body = _summary_edit(view, talk, state, answer, reply.fault)
        if view.model and waiting:
            steps += _new_episodes(view, talk, answer.get("episodes", ()))
            keys["episodes"] = talk.progress.episodes + len(waiting)
        steps.append(Edit(talk.path, talk.sha, keys, "it fell silent", body))
    return steps + state.writes()


def _summary_edit(
    view: PassView,
    talk: SessionView,
    state: _SessionState,
    answer: Mapping[str, Any],
    fault: str,
) -> tuple[dict[str, object], str | None]:
    """Return the keys and the block of a summary; `fault` says why none was read."""
    others = (one for one in answer["people"] if not _is_self(view, one, talk))
    answer = {**answer, "people": [_linked(view, one) for one in others]}
    keys = {name: answer.get(name) or None for name in SUMMARY_KEYS}
    keys["parse_error"] = fault or None
    changed, body = _block_edit(state, talk, "summary", summary_text(answer), keys)
    return {**changed, "summarised": talk.filed}, body


def _session_material(
    view: PassView,
    talk: SessionView,
    turns: Sequence[FiledTurn],
    waiting: Mapping[int, Sequence[FiledTurn]],
) -> dict[str, Any]:
    """Return the material of a session summary; each part of it is an episode."""
    parts = {
        filed.key: number
        for number, some in enumerate(waiting.values(), 1)
        for filed in some
    }
    keys = {filed.key for filed in turns} | parts.keys()
    visible = [filed for filed in talk.turns if filed.key in keys]
    return _material(view, talk, visible, parts)


def _material(
    view: PassView,
    talk: SessionView,
    turns: Iterable[FiledTurn],
    parts: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Return turns of a conversation with its day and the names of the user."""
    more = {
        "day": local_date(view, talk.started),
        "user": list(entity_names(view).owner_names()),
    }
    return model_input(turns, view.policy.sessions, parts, **more)


def _episode_turns(view: PassView, talk: SessionView) -> dict[int, Sequence[FiledTurn]]:
    """Return the turns of each episode without a note, by its number.

    At most the latest 10 turns, without turns of an earlier episode.
    """
    policy = view.policy.sessions
    if len(talk.turns[: talk.filed]) < policy.episode_least:
        return {}
    users = [
        index
        for index, filed in enumerate(talk.turns[: talk.filed])
        if filed.turn.role == "user"
    ]
    ends = [
        index + 1 for index in users[policy.episode_users - 1 :: policy.episode_users]
    ]
    spans = zip([0, *ends], ends, strict=False)
    return {
        number: talk.turns[max(start, end - policy.episode_turns) : end]
        for number, (start, end) in enumerate(spans, 1)
        if number > talk.progress.episodes
    }


def _new_episodes(
    view: PassView, talk: SessionView, texts: Iterable[str]
) -> list[Step]:
    """Return the notes of new episodes; an empty text makes none."""
    waiting = _episode_turns(view, talk).items()
    return [
        _episode(talk, turns, number, text, view)
        for (number, turns), text in zip(waiting, texts, strict=False)
        if text
    ]


_PROFILE_LINK = "[[profile|About the user]]"


def spine(view: PassView, now: datetime) -> list[Step]:
    """Rewrite the persona summary every 20 turns (`E12`).

    Turns are counted from the session files, so that no counter can be wrong. No recall
    reads the page, so it costs no question to a model (`X24`).
    """
    policy, state = view.policy.sessions, _SessionState(view)
    raw = view.read(SPINE_FILE).decode(errors="replace")
    version, before = (_number(raw, name) for name in ("version", "messages"))
    messages = sum(view.messages.values())
    if messages - before < policy.spine_turns:
        return []

    lists = _spine_facts(view, policy, now)
    text = raw or _blank_spine()
    for name in SECTIONS:
        section = _spine_section(name, lists[name], policy)
        if state.may_write("spine", name, read_block(text, name)):
            text = replace_block(text, name, section)
            state.record("spine", name, section)
    updated = now.astimezone(view.zone).strftime("%Y-%m-%dT%H:%M:%S")
    for name, value in (
        ("version", version + 1),
        ("messages", messages),
        ("updated", updated),
    ):
        line = re.compile(rf"^{name}: .*$", re.MULTILINE)
        text = line.sub(f"{name}: {value}", text, count=1)
    why = f"{messages - before} turns since version {version}"
    return [FileWrite(SPINE_FILE, text.encode(), why), *state.writes()]


def _spine_section(name: str, facts: Sequence[Fact], policy: SessionPolicy) -> str:
    """Return the lines of a section.

    Open loops are tasks. Profile links to the page that lists those memories (`C15`).
    """
    if name == "open_loops":
        return "\n".join(_task(fact, number) for number, fact in enumerate(facts, 1))
    if name == "profile":
        return f"- {_PROFILE_LINK}" if facts else ""
    lines = (escape(shorten(_plain(fact), policy.spine_chars)) for fact in facts)
    return "\n".join(f"- {line}" for line in lines)


# -- the record of generated blocks ----------------------------------------------------


class _SessionState:
    """The new content of `state/sessions.json`.

    It has a row for each persona, and a row for each session file with the digests of
    the generated blocks, by which edits of a user are recognized.
    """

    def __init__(self, view: PassView) -> None:
        self.view = view
        self.before = view.read(STATE_FILE)
        self.personas = read_state(self.before, "personas")
        self.files = read_state(self.before)

    def persona_row(self, talk: SessionView) -> dict[str, Any]:
        """Return the updated row of the conversation's persona (`E9`)."""
        row = self.personas.setdefault(talk.persona or "", {})
        last = talk.ended.astimezone(UTC).isoformat(timespec="seconds")
        if str(row.get("lastInteraction", "")) <= last:
            row["lastInteraction"] = last
            turns = [one.turn for one in talk.turns if said_by_user(one.turn)]
            if turns:
                shown = recallable_text(turns[-1])
                row["lastUserMessage"] = last_message(shown, self.view.policy.sessions)
        row["messageCount"] = self.view.messages.get(talk.persona or "", 0)
        return row

    def record_attempt(self, talk: SessionView, now: datetime, fault: str) -> None:
        """Record when the rolling summary was tried; `fault` is '' for a success."""
        at = now.astimezone(UTC).isoformat(timespec="seconds")
        row = self.persona_row(talk)
        row |= {"lastRollingAttemptAt": at, "lastRollingError": fault}
        if not fault:
            row["lastRollingSuccessAt"] = at

    def file_row(self, talk: SessionView) -> dict[str, Any]:
        """Return the row of a session file."""
        return self.files.setdefault(talk.stem, {})

    def may_write(
        self, stem: str, block: str, text: str | None, more: object = ""
    ) -> bool:
        """Return whether a block is as engram wrote it, or empty and never written.

        `text` is the block in the file, `more` are the keys that belong to it.
        """
        known = self.files.get(stem, {}).get(block)
        if known is None:
            return not text and not more
        return text is not None and known == block_digest(text, more)

    def record(self, stem: str, block: str, text: str, more: object = "") -> None:
        """Record the text that engram writes into a block."""
        row = self.files.pop(stem, {})
        row.pop(STALE, None)
        self.files[stem] = row | {block: block_digest(text, more)}

    def writes(self) -> list[Step]:
        """Return the write of the file if it changed; it has the latest sessions."""
        kept = dict(list(self.files.items())[-self.view.policy.sessions.kept :])
        before = read_state(self.before, "personas"), read_state(self.before)
        if before == (self.personas, kept):
            return []
        state = state_bytes(self.personas, kept)
        return [FileWrite(STATE_FILE, state, "the state of conversations")]


def _block_edit(
    state: _SessionState,
    talk: SessionView,
    block: str,
    text: str,
    keys: Mapping[str, object],
) -> tuple[Mapping[str, object], str | None]:
    """Return the keys and the body of a session file with a new text in a block.

    ({}, None) if a user edited the block or its keys.
    """
    present = {name: talk.keys[name] for name in keys if talk.keys.get(name)}
    if not state.may_write(talk.stem, block, read_block(talk.body, block), present):
        return {}, None
    filled = {name: value for name, value in keys.items() if value}
    state.record(talk.stem, block, text, filled)
    return keys, with_section(talk.body, block, text)


# -- texts -----------------------------------------------------------------------------


def _reply(
    view: PassView, task: str, material: object, why: str, *, enough: bool = True
) -> QuestionReply:
    """Return the reply of a model; {} without one, or with too few turns."""
    reply = view.ask(task, material, why, fallback=True)
    if not enough or (reply.waits and not view.model):
        return QuestionReply(reply.question, {})
    return reply


def _due_sessions(view: PassView, now: datetime, what: str) -> list[SessionView]:
    minutes = view.policy.buffer.session_gap_minutes
    return [
        one
        for one in view.sessions
        if what
        in due(one.progress, now, minutes, view.policy.sessions, model=view.model)
    ]


def _transcript(sentences: Iterable[tuple[Any, str]]) -> str:
    spoken = (f"{speaker_name(turn)}: {text}" for turn, text in sentences)
    return escape(" ".join(spoken))


def _own_words_summary(
    view: PassView, talk: SessionView, turns: Sequence[FiledTurn]
) -> dict[str, Any]:
    """Return a session summary from its sentences and memories, without a model (`E11`)."""
    policy = view.policy.sessions
    chars = policy.line_chars + policy.items * policy.item_chars
    sentences = key_sentences(turns, policy, chars, policy.items + 1)
    best = [f"{speaker_name(turn)}: {text}" for turn, text in sentences]
    opening = turns[0].turn
    name = "" if said_by_user(opening) else f"{speaker_name(opening)}: "
    best = best or [f"{name}{one_line(opening, policy)}"]

    keys = {filed.key for filed in talk.turns}
    people: dict[str, None] = {}
    promised: list[str] = []
    for one in view.active():
        fact = one.fact
        if keys.isdisjoint(fact.turns):
            continue
        category = category_of(fact.category)
        if category.promise:
            promised.append(fact.text)
        if category.relates_people:
            people |= dict.fromkeys(fact.about)

    def shortened(items: Iterable[str]) -> list[str]:
        lines = [escape(shorten(item, policy.item_chars)) for item in items]
        return lines[: policy.items]

    return {
        "one_liner": escape(shorten(best[0], policy.line_chars)),
        "tone": "",
        "what_mattered": shortened(best[1:]),
        "open_loops": [],
        "commitments": shortened(promised),
        "people": shortened(people),
    }


def _is_self(view: PassView, line: str, talk: SessionView) -> bool:
    """Return whether a line about a person names the persona or the owner (`E11`)."""
    name = line.partition(",")[0]
    return entity_names(view).is_owner(name) or (
        talk.persona is not None and name_key(name) == name_key(talk.persona)
    )


def _linked(view: PassView, line: str) -> str:
    """Return a line about a person with a link to their note, if there is one."""
    name, comma, rest = line.partition(",")
    entity = entity_names(view).one(unescape(name).strip())
    return f"[[{entity.name}]]{comma}{rest}" if entity else line


def _episode(
    talk: SessionView,
    turns: Sequence[FiledTurn],
    number: int,
    text: str,
    view: PassView,
) -> Create:
    last = turns[-1].turn.occurred_at.astimezone(view.zone)
    keys = {
        "id": ulid(last, f"episode:{talk.stem}:{number}"),
        "kind": "episode",
        "created": f"{last:%Y-%m-%dT%H:%M:%S}",
        "persona": talk.persona,
        "source": [f"[[{filed.key}]]" for filed in (turns[0], turns[-1])],
        "origin": "consolidation",
    }
    path = f"{EPISODES}{last:%Y-%m-%d}/{talk.stem}-episode-{number}.md"
    return Create(
        path,
        keys,
        f"{text}\n",
        f"{number * view.policy.sessions.episode_users} turns of the user",
    )


def _spine_facts(
    view: PassView, policy: SessionPolicy, now: datetime
) -> dict[str, list[Fact]]:
    """Return the most important memories of each section of the persona summary.

    Memories of one persona (`E14`), conclusions and past promises are left out.
    """
    is_owner, attribute_of = entity_names(view).is_owner, attributes(view)

    def rank(one: MemoryState) -> tuple[bool, bool, float, str]:
        again = len(one.fact.also) + one.usage.confirmations
        weight = after_mentions(one.fact.importance, again, view.policy.dedup)
        is_standing = bool(attribute_of(one.fact))
        return (not one.fact.pinned, not is_standing, -weight, one.fact.id)

    first_hand = [
        one
        for one in view.active()
        if one.fact.persona is None and one.fact.origin not in DERIVED_ORIGINS
    ]
    past_days = view.policy.todos.past_days
    sections: dict[str, list[Fact]] = {name: [] for name in SECTIONS}
    for one in sorted(first_hand, key=rank):
        if is_past_plan(one.fact, now, view.zone):
            continue
        attribute = attribute_of(one.fact)
        name = _section_of(one.fact, attribute, now, past_days, is_owner)
        if name and len(sections[name]) < policy.spine_items:
            sections[name].append(one.fact)
    return sections


def _section_of(
    fact: Fact,
    attribute: str,
    now: datetime,
    past_days: float,
    is_owner: Callable[[str], bool],
) -> str:
    """Return the section of the persona summary for a memory, or ''.

    An `attribute` of the user, such as home, work or health, belongs to the profile in
    every category; family and pets belong to people. What another person likes has no
    section.
    """
    category = category_of(fact.category)
    if category.promise and (not is_open(fact) or is_past(fact, now, past_days)):
        return ""
    if attribute and not category.promise:
        return "people" if attribute in {"family", "pet"} else "profile"
    is_own = all(map(is_owner, fact.about[:1]))
    if category.spine and (is_own or category.spine != "profile"):
        return category.spine
    return "profile" if is_own and fact.kind == "note" else ""


def _plain(fact: Fact) -> str:
    return " ".join(fact.text.split())


def _task(fact: Fact, number: int) -> str:
    """Return an open promise as a Markdown task that a user may tick (`E16`)."""
    note = note_name(fact.path)
    return f"- [ ] {escape(shorten(_plain(fact), 120))} [[{note}|{number}]]"


def _blank_spine() -> str:
    head = "---\nkind: spine\nversion: 0\nmessages: 0\nupdated: never\n---\n# Persona summary\n"
    return head + "".join(
        f"\n## {title}\n\n" + replace_block("", name, "")
        for name, title in SECTIONS.items()
    )


def _number(raw: str, name: str) -> int:
    found = re.search(rf"^{name}: (\d{{1,9}})\s*$", raw, re.MULTILINE)
    return int(found[1]) if found else 0
