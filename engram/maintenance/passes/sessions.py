"""Summaries of conversations, and the persona summary (rows A27, E9–E12).

Each pass asks a model; without one it uses sentences of the conversation. The turns are
never changed: only keys of the front matter and generated blocks, and of those only
what no person edited. `state/sessions.json` records the generated text.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC
from functools import partial
from typing import TYPE_CHECKING, Any

from engram.core.categories import category_of
from engram.core.entities import is_owner, name_key
from engram.core.forgetting import Utterance
from engram.core.importance import after_mentions
from engram.core.markdown import escape, read_block, replace_block
from engram.core.records import Create, Edit
from engram.core.sessions import (
    EPISODES,
    SPINE_FILE,
    STATE_FILE,
    SUMMARY_KEYS,
    SUMMARY_LISTS,
    allowed_value,
    block_digest,
    due,
    key_sentences,
    latest_of_both_sides,
    model_input,
    one_line,
    read_state,
    shorten,
    speaker_name,
    state_bytes,
)
from engram.core.text import ulid
from engram.core.todos import is_open, is_past
from engram.core.trust import DERIVED_ORIGINS
from engram.maintenance.passes import FileWrite, ModelQuestion, Step

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from engram.core.policy.sessions import SessionPolicy
    from engram.core.records import Fact, FiledTurn
    from engram.core.sessions import SessionView
    from engram.maintenance.passes import Answer, MemoryState, PassView

SECTIONS = {
    "profile": "Profile",
    "projects": "Projects",
    "people": "People",
    "open_loops": "Open loops",
}
"""The parts of the spine and their headings (row E12)."""

_CONVERSATION = re.compile(r"^## Conversation[ \t]*$", re.MULTILINE)
_ROLLING = re.compile(r"^## Rolling[ \t]*$", re.MULTILINE)
_LAST_MESSAGE = 100


# -- one way to sum up -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What came of a question: a model's answer, or why there is none; `ask` where it
    is still to be asked.
    """

    answer: Answer | None = None
    fault: str = ""
    ask: ModelQuestion | None = None


def summarise(view: PassView, schema: str, material: str, why: str) -> ModelReply:
    """What a model says of this window in this schema (design of the model §6); nothing
    of that where there is none.
    """
    ask = ModelQuestion(schema, material, why)
    if ask.key in view.answers:
        return ModelReply(view.answers[ask.key])
    if ask.key in view.answer_failures:
        return ModelReply(fault=view.answer_failures[ask.key])
    return ModelReply(ask=ask)


# -- passes ----------------------------------------------------------------------------


def rolling(view: PassView, now: datetime) -> list[Step]:
    """The rolling summary of a talk that goes on, every 4 turns, in its file and in the
    state (`E9`).

    It rests on the turns up to the last multiple of 4, so that it is the same whenever
    it is made.
    """
    policy, state, found = view.policy.talks, _SessionState(view), list[Step]()
    for talk in _due_sessions(view, now, "rolling"):
        mark = len(talk.turns) - len(talk.turns) % policy.rolling_turns
        some = latest_of_both_sides(talk.turns[:mark], policy.rolling_each)
        said = summarise(
            view, "rolling", model_input(some, policy), f"{mark} turns of {talk.stem}"
        )
        state.tried(talk, now, said.fault)
        if said.ask and view.model:
            found.append(said.ask)
            continue
        text = (
            said.answer["summary"]
            if said.answer
            else _transcript(key_sentences(some, policy, policy.rolling_chars, mark))
        )
        state.person(talk)["rollingSummary"] = text
        if talk.sha:
            keys, body = _block_edit(state, talk, "rolling", text, {})
            found.append(
                Edit(
                    talk.path, talk.sha, {**keys, "rolled": mark}, f"{mark} turns", body
                )
            )
        else:
            state.talk(talk)["rolled"] = mark
    return found + state.marks()


def summary(view: PassView, now: datetime) -> list[Step]:
    """The summary of a talk that fell silent (`E11`). A reply without the form leaves a
    stub that says so.
    """
    policy, state, found = view.policy.talks, _SessionState(view), list[Step]()
    for talk in _due_sessions(view, now, "session"):
        if not talk.sha or talk.filed < len(talk.turns):
            continue  # its last turns are still on their way into the file
        some = latest_of_both_sides(talk.turns, policy.session_each)
        material = model_input(
            some, policy, day=f"{talk.started.astimezone(view.zone):%Y-%m-%d}"
        )
        said = summarise(view, "session", material, f"{talk.stem} is over")
        if said.ask and view.model:
            found.append(said.ask)
            continue
        answer = dict(said.answer or _own_words_summary(view, talk, some))
        answer["people"] = [
            line for line in answer["people"] if not _is_self(line, talk)
        ]
        keys = {name: answer.get(name) or None for name in SUMMARY_KEYS} | {
            "parse_error": said.fault or None
        }
        changed, body = _block_edit(state, talk, "summary", _prose(answer), keys)
        found.append(
            Edit(
                talk.path,
                talk.sha,
                {**changed, "summarised": talk.filed},
                "it fell silent",
                body,
            )
        )
    return found + state.marks()


def episodes(view: PassView, _now: datetime) -> list[Step]:
    """A note of what happened, for every 5 turns of the user and at least 4 turns, from
    the latest 10 (`A27`).

    Only a model can tell that; it makes no belief, and `NONE` makes nothing.
    """
    policy, found = view.policy.talks, list[Step]()
    for talk in view.talks:
        if not talk.sha:
            continue
        users = [
            place
            for place, filed in enumerate(talk.turns[: talk.filed])
            if filed.turn.role == "user"
        ]
        before = talk.progress.episodes
        done = before
        for number in range(before + 1, len(users) // policy.episode_users + 1):
            end = users[number * policy.episode_users - 1] + 1
            if end >= policy.episode_least:
                some = talk.turns[max(0, end - policy.episode_turns) : end]
                said = summarise(
                    view,
                    "episode",
                    model_input(some, policy),
                    f"{end} turns of {talk.stem}",
                )
                if said.ask:
                    found.append(said.ask)
                    break
                if said.answer and said.answer["summary"]:
                    found.append(
                        _episode(talk, some, number, said.answer["summary"], view)
                    )
            done = number
        if done > before:
            found.append(
                Edit(
                    talk.path,
                    talk.sha,
                    {"episodes": done},
                    f"{done * policy.episode_users} turns of the user",
                )
            )
    return found


def spine(view: PassView, now: datetime) -> list[Step]:
    """Rewrite the persona summary every 20 turns (`E12`).

    Turns are counted from the session files, so that no counter can be wrong.
    """
    policy, state = view.policy.talks, _SessionState(view)
    raw = view.read(SPINE_FILE).decode(errors="replace")
    version, before = (_number(raw, name) for name in ("version", "messages"))
    messages = sum(view.messages.values())
    if messages - before < policy.spine_turns:
        return []

    lists = _spine_facts(view, policy, now)
    facts = {name: [_plain(fact) for fact in some] for name, some in lists.items()}
    material = _spine_material(view, raw, facts)
    reply = summarise(view, "spine", material, f"{messages - before} turns")
    if reply.ask and view.model:
        return [reply.ask]

    text = raw or _blank_spine()
    for name in SECTIONS:
        if reply.answer:
            items = list(reply.answer[name])
        else:
            items = [escape(shorten(line, policy.spine_chars)) for line in facts[name]]
        section = _spine_section(name, items, lists["open_loops"])
        if state.ours("spine", name, read_block(text, name)):
            text = replace_block(text, name, section)
            state.wrote("spine", name, section)
    updated = now.astimezone(view.zone).strftime("%Y-%m-%dT%H:%M:%S")
    for name, value in (
        ("version", version + 1),
        ("messages", messages),
        ("updated", updated),
    ):
        line = re.compile(rf"^{name}: .*$", re.MULTILINE)
        text = line.sub(f"{name}: {value}", text, count=1)
    why = f"{messages - before} turns since version {version}"
    return [FileWrite(SPINE_FILE, text.encode(), why), *state.marks()]


def _spine_material(
    view: PassView, raw: str, facts: Mapping[str, Sequence[str]]
) -> str:
    """Return the question about the persona summary: its last text, facts, sessions."""
    shown_text = partial(view.forgotten.shown, said=Utterance())
    earlier = {
        name: _without_forgotten(view, _plain_lines(read_block(raw, name) or ""))
        for name in SECTIONS
    }
    sessions = [
        {
            name: allowed_value(keys[name], shown_text)
            for name in ("one_liner", *SUMMARY_LISTS)
            if keys.get(name)
        }
        for keys in view.summaries
    ]
    material = {"before": earlier, "facts": facts, "talks": sessions}
    return json.dumps(material, ensure_ascii=False, sort_keys=True)


def _spine_section(name: str, items: Sequence[str], promises: Sequence[Fact]) -> str:
    """Return the lines of a section; that of open loops begins with the promises."""
    if name != "open_loops":
        return "\n".join(f"- {item}" for item in items)
    texts = [_plain(fact) for fact in promises]
    others = [f"- {item}" for item in items if not _is_listed(item, texts)]
    return "\n".join([*map(_task, promises), *others])


# -- what was ours ---------------------------------------------------------------------


class _SessionState:
    """`state/sessions.json` in the making: what is told of each persona, and what was
    ours in each file.
    """

    def __init__(self, view: PassView) -> None:
        self.view = view
        self.before = view.read(STATE_FILE)
        self.people, self.files = (
            read_state(self.before, "personas"),
            read_state(self.before),
        )

    def person(self, talk: SessionView) -> dict[str, Any]:
        """What is known of the talk's persona (`E9`)."""
        row = self.people.setdefault(talk.persona or "", {})
        last = talk.ended.astimezone(UTC).isoformat(timespec="seconds")
        if str(row.get("lastInteraction", "")) <= last:
            said = [filed.turn for filed in talk.turns if filed.turn.role == "user"]
            row |= {"lastInteraction": last}
            row |= (
                {
                    "lastUserMessage": shorten(
                        one_line(said[-1], self.view.policy.talks), _LAST_MESSAGE
                    )
                }
                if said
                else {}
            )
        row["messageCount"] = self.view.messages.get(talk.persona or "", 0)
        return row

    def tried(self, talk: SessionView, now: datetime, fault: str) -> None:
        """The rolling summary was tried now, with or without success."""
        row, at = self.person(talk), now.astimezone(UTC).isoformat(timespec="seconds")
        row |= {"lastRollingAttemptAt": at, "lastRollingError": fault}
        row |= {} if fault else {"lastRollingSuccessAt": at}

    def talk(self, talk: SessionView) -> dict[str, Any]:
        """What was written of this talk."""
        return self.files.setdefault(talk.stem, {})

    def ours(self, stem: str, block: str, text: str | None, more: object = "") -> bool:
        """Whether this block may be written: nothing stands there and never did, or it
        says what we wrote.
        """
        known = self.files.get(stem, {}).get(block)
        if known is None:
            return not text and not more
        return text is not None and known == block_digest(text, more)

    def wrote(self, stem: str, block: str, text: str, more: object = "") -> None:
        """This block says this, and it is ours."""
        row = self.files.pop(stem, {})
        self.files[stem] = row | {block: block_digest(text, more)}

    def marks(self) -> list[Step]:
        """The file, where it changed; the talks that were told last."""
        kept = dict(list(self.files.items())[-self.view.policy.talks.kept :])
        if (read_state(self.before, "personas"), read_state(self.before)) == (
            self.people,
            kept,
        ):
            return []
        state = state_bytes(self.people, kept)
        return [FileWrite(STATE_FILE, state, "what conversations were told")]


def _block_edit(
    state: _SessionState,
    talk: SessionView,
    block: str,
    text: str,
    keys: Mapping[str, object],
) -> tuple[Mapping[str, object], str | None]:
    """The keys and the body by which a talk's file says `text`; nothing of both where a
    person wrote there.
    """
    stands = {name: talk.keys[name] for name in keys if talk.keys.get(name)}
    if not state.ours(talk.stem, block, read_block(talk.body, block), stands):
        return {}, None
    state.wrote(
        talk.stem, block, text, {name: value for name, value in keys.items() if value}
    )
    return keys, _with_block(talk.body, block, text)


def _with_block(body: str, block: str, text: str) -> str:
    """`body` with the block as it should be: in its place, or before what comes behind
    it in a new file.
    """
    if read_block(body, block) is not None:
        return replace_block(body, block, text)
    before = (block == "summary" and _ROLLING.search(body)) or _CONVERSATION.search(
        body
    )
    at = before.start() if before else 0
    return (
        body[:at]
        + replace_block(f"## {block.title()}\n\n", block, text)
        + "\n"
        + body[at:]
    )


# -- texts -----------------------------------------------------------------------------


def _due_sessions(view: PassView, now: datetime, what: str) -> list[SessionView]:
    minutes = view.policy.buffer.session_gap_minutes
    return [
        t
        for t in view.talks
        if what in due(t.progress, now, minutes, view.policy.talks, model=view.model)
    ]


def _transcript(told: Iterable[tuple[Any, str]]) -> str:
    return escape(" ".join(f"{speaker_name(turn)}: {said}" for turn, said in told))


def _own_words_summary(
    view: PassView, talk: SessionView, some: Sequence[FiledTurn]
) -> dict[str, Any]:
    """A session summary in the talk's own words, and in those of the memories that came
    from it (`E11`).
    """
    policy = view.policy.talks
    told = key_sentences(
        some,
        policy,
        policy.line_chars + policy.items * policy.item_chars,
        policy.items + 1,
    )
    best = [f"{speaker_name(turn)}: {said}" for turn, said in told] or [
        one_line(some[0].turn, policy)
    ]
    keys = {filed.key for filed in talk.turns}
    facts = [
        one.fact for one in view.active() if {one.fact.source, *one.fact.also} & keys
    ]
    promised = [fact.text for fact in facts if category_of(fact.category).promise]
    people = [
        name
        for fact in facts
        if category_of(fact.category).relates_people
        for name in fact.about
    ]
    lists = {
        "what_mattered": best[1:],
        "open_loops": (),
        "commitments": promised,
        "people": dict.fromkeys(people),
    }
    short = {
        name: [escape(shorten(item, policy.item_chars)) for item in items][
            : policy.items
        ]
        for name, items in lists.items()
    }
    return {
        "one_liner": escape(shorten(best[0], policy.line_chars)),
        "tone": "",
        **short,
    }


def _is_self(line: str, talk: SessionView) -> bool:
    """Whether a line about somebody names the persona itself, or the owner (`E11`)."""
    name = line.partition(",")[0]
    return is_owner(name) or (
        talk.persona is not None and name_key(name) == name_key(talk.persona)
    )


def _prose(answer: Mapping[str, Any]) -> str:
    """A session summary for people to read."""
    marks = (
        ("", "what_mattered"),
        ("Open: ", "open_loops"),
        ("Promised: ", "commitments"),
    )
    lines = [f"- {mark}{item}" for mark, name in marks for item in answer[name]]
    return "\n".join([answer["one_liner"], *(["", *lines] if lines else [])])


def _episode(
    talk: SessionView, some: Sequence[FiledTurn], number: int, text: str, view: PassView
) -> Create:
    last = some[-1].turn.occurred_at.astimezone(view.zone)
    keys = {
        "id": ulid(last, f"episode:{talk.stem}:{number}"),
        "kind": "episode",
        "created": f"{last:%Y-%m-%dT%H:%M:%S}",
        "persona": talk.persona,
        "source": [f"[[{filed.key}]]" for filed in (some[0], some[-1])],
        "origin": "consolidation",
    }
    path = f"{EPISODES}{last:%Y-%m-%d}/{talk.stem}-episode-{number}.md"
    return Create(
        path,
        keys,
        f"{text}\n",
        f"{number * view.policy.talks.episode_users} turns of the user",
    )


def _spine_facts(
    view: PassView, policy: SessionPolicy, now: datetime
) -> dict[str, list[Fact]]:
    """The weightiest memories of each part of the spine; nothing that is a persona's
    own (`E14`), or long past.
    """
    past = view.policy.todos.past_days
    parts: dict[str, list[Fact]] = {name: [] for name in SECTIONS}
    heard = [
        one
        for one in view.active()
        if one.fact.persona is None and one.fact.origin not in DERIVED_ORIGINS
    ]

    def weight(one: MemoryState) -> float:
        again = len(one.fact.also) + one.usage.confirmations
        return after_mentions(one.fact.importance, again, view.policy.ladder)

    for fact in (
        one.fact
        for one in sorted(
            heard, key=lambda one: (not one.fact.pinned, -weight(one), one.fact.id)
        )
    ):
        category = category_of(fact.category)
        part = category.spine
        if category.promise and (not is_open(fact) or is_past(fact, now, past)):
            continue
        if not part and fact.about and is_owner(fact.about[0]):
            part = "profile"
        if part and len(parts[part]) < policy.spine_items:
            parts[part].append(fact)
    return parts


def _plain(fact: Fact) -> str:
    return " ".join(fact.text.split())


def _plain_lines(text: str) -> list[str]:
    return [
        line.removeprefix("- ")
        for line in text.splitlines()
        if line.startswith("- ") and "[[" not in line
    ]


def _without_forgotten(view: PassView, lines: Iterable[str]) -> list[str]:
    """The lines without what was forgotten."""
    return [kept for line in lines if (kept := view.forgotten.shown(line, Utterance()))]


def _task(fact: Fact) -> str:
    """An open promise as a task of Obsidian's; a tick is a person's word that it was
    kept (`E16`).
    """
    return f"- [ ] {escape(shorten(_plain(fact), 120))} [[{fact.path.rpartition('/')[2].removesuffix('.md')}]]"


def _is_listed(item: str, texts: Iterable[str]) -> bool:
    return any(escape(shorten(text, len(item))) == item for text in texts)


def _blank_spine() -> str:
    head = "---\nkind: spine\nversion: 0\nmessages: 0\nupdated: never\n---\n# Persona summary\n"
    return head + "".join(
        f"\n## {title}\n\n" + replace_block("", name, "")
        for name, title in SECTIONS.items()
    )


def _number(raw: str, name: str) -> int:
    found = re.search(rf"^{name}: (\d{{1,9}})\s*$", raw, re.MULTILINE)
    return int(found[1]) if found else 0
