"""Numbers for summaries, episodes, the persona summary and promises."""

from __future__ import annotations

from dataclasses import dataclass

from engram.core.policy.number import number


@dataclass(frozen=True, slots=True)
class SessionPolicy:
    """Summaries of conversations (rows A27, E9–E12)."""

    rolling_turns: int = number(
        4, "turns", 1, 1000, "E9", "turns after which the rolling summary is renewed"
    )
    rolling_model_turns: int = number(
        24,
        "turns",
        1,
        1000,
        "E9",
        "turns after which a model renews it, reading each turn once",
    )
    rolling_each: int = number(
        12, "turns", 1, 100, "E9", "latest turns of either side in the rolling summary"
    )
    rolling_chars: int = number(
        600, "characters", 50, 5000, "E9", "longest rolling summary"
    )
    turn_chars: int = number(
        800, "characters", 50, 20000, "E9", "part of a turn that a summary uses"
    )
    session_each: int = number(
        10,
        "turns",
        1,
        100,
        "E11",
        "latest turns of either side in a session summary",
    )
    line_chars: int = number(
        200, "characters", 20, 2000, "E11", "longest one-line summary"
    )
    items: int = number(
        5, "items", 1, 50, "E11", "items in each list of a session summary"
    )
    item_chars: int = number(120, "characters", 10, 1000, "E11", "longest item")
    tone_chars: int = number(
        40, "characters", 5, 200, "E11", "longest description of the tone"
    )
    episode_users: int = number(
        5, "turns", 1, 1000, "A27", "turns of the user that make an episode"
    )
    episodes_each: int = number(
        4,
        "episodes",
        1,
        100,
        "A27",
        "episodes of a running conversation that are sent in one call",
    )
    session_model_turns: int = number(
        4,
        "turns",
        1,
        1000,
        "E11",
        "turns below which a summary consists of sentences of the conversation",
    )
    episode_least: int = number(
        4, "turns", 1, 1000, "A27", "least number of turns of an episode"
    )
    episode_turns: int = number(
        10, "turns", 1, 100, "A27", "latest turns in the note of an episode"
    )
    episode_chars: int = number(
        600, "characters", 50, 5000, "A27", "longest episode: one to three sentences"
    )
    episode_cover: float = number(
        0.30,
        "share",
        0,
        1,
        "A29",
        "share of the question's words from which an episode answers without vectors",
    )
    last_chars: int = number(
        100,
        "characters",
        20,
        1000,
        "E9",
        "length of the user's last message in the state",
    )
    spine_turns: int = number(
        20,
        "turns",
        1,
        10000,
        "E12",
        "turns after which the persona summary is renewed",
    )
    spine_items: int = number(
        8, "items", 1, 100, "E12", "items in each section of the persona summary"
    )
    spine_chars: int = number(
        160, "characters", 20, 1000, "E12", "longest item of the persona summary"
    )
    spine_talks: int = number(
        5,
        "conversations",
        1,
        100,
        "E12",
        "latest conversations in the persona summary",
    )
    together: int = number(
        20,
        "conversations",
        1,
        10000,
        "quality",
        "conversations that one run summarises",
    )
    kept: int = number(
        64,
        "conversations",
        1,
        10000,
        "vault",
        "conversations whose generated text is distinguished from a person's",
    )


@dataclass(frozen=True, slots=True)
class TodoPolicy:
    """The settlement and the display of promises (row E16)."""

    overlap: float = number(
        0.34,
        "share",
        0,
        1,
        "E16",
        "share of a promise's words in a report of its fulfilment",
    )
    recurring_hours: float = number(
        24.0,
        "hours",
        0,
        1000,
        "E16",
        "time within which words for recurrence make a promise a habit",
    )
    win_hours: float = number(
        48.0, "hours", 0, 1000, "E16", "time for which a fulfilled promise is shown"
    )
    past_days: float = number(
        30.0,
        "days",
        0,
        3650,
        "house",
        "time after its day for which an open promise is shown",
    )
    commitments: int = number(5, "items", 0, 100, "E16", "open promises in a context")
    habits: int = number(3, "items", 0, 100, "E16", "habits in a context")
    frictions: int = number(3, "items", 0, 100, "E16", "frictions in a context")
    threads: int = number(3, "items", 0, 100, "E16", "open threads in a context")
