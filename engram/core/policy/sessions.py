"""What conversations leave besides memories: summaries, episodes, the spine, promises,
context.
"""

from __future__ import annotations

from dataclasses import dataclass

from engram.core.policy.number import number


@dataclass(frozen=True, slots=True)
class SessionPolicy:
    """How a conversation is told in short (rows A27, E9–E12)."""

    rolling_turns: int = number(
        4, "turns", 1, 1000, "E9", "turns after which the rolling summary is made anew"
    )
    rolling_model_turns: int = number(
        24,
        "turns",
        1,
        1000,
        "E9",
        "turns after which a model makes it anew; each turn is read once",
    )
    rolling_each: int = number(
        12, "turns", 1, 100, "E9", "latest turns of either side that it rests on"
    )
    rolling_chars: int = number(
        600, "characters", 50, 5000, "E9", "longest rolling summary"
    )
    turn_chars: int = number(
        800, "characters", 50, 20000, "E9", "part of a turn that a summary looks at"
    )
    session_each: int = number(
        10,
        "turns",
        1,
        100,
        "E11",
        "latest turns of either side that a session summary rests on",
    )
    line_chars: int = number(
        200, "characters", 20, 2000, "E11", "longest one-line summary"
    )
    items: int = number(
        5, "items", 1, 50, "E11", "items in each list of a session summary"
    )
    item_chars: int = number(120, "characters", 10, 1000, "E11", "longest item")
    tone_chars: int = number(
        40, "characters", 5, 200, "E11", "longest word for the tone"
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
        "episodes of a running conversation that wait for one call",
    )
    session_model_turns: int = number(
        4,
        "turns",
        1,
        1000,
        "E11",
        "turns below which its own sentences sum up a conversation",
    )
    episode_least: int = number(
        4, "turns", 1, 1000, "A27", "turns below which there is none"
    )
    episode_turns: int = number(
        10, "turns", 1, 100, "A27", "latest turns that an episode rests on"
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
        "share of the question's words above which an episode answers, where words decide",
    )
    last_chars: int = number(
        100, "characters", 20, 1000, "E9", "of the user's last message in the state"
    )
    spine_turns: int = number(
        20,
        "turns",
        1,
        10000,
        "E12",
        "turns after which the spine gets its next version",
    )
    spine_items: int = number(
        8, "items", 1, 100, "E12", "items in each section of the spine"
    )
    spine_chars: int = number(
        160, "characters", 20, 1000, "E12", "longest item of the spine"
    )
    spine_talks: int = number(
        5,
        "conversations",
        1,
        100,
        "E12",
        "latest conversations that the spine rests on",
    )
    together: int = number(
        20,
        "conversations",
        1,
        10000,
        "quality",
        "conversations that one run tells in short",
    )
    kept: int = number(
        64,
        "conversations",
        1,
        10000,
        "vault",
        "conversations whose own text is told from a person's",
    )


@dataclass(frozen=True, slots=True)
class TodoPolicy:
    """What becomes of promises, and how many are shown (row E16)."""

    overlap: float = number(
        0.34,
        "share",
        0,
        1,
        "E16",
        "share of a promise's words that a report of its fulfilment repeats",
    )
    recurring_hours: float = number(
        24.0,
        "hours",
        0,
        1000,
        "E16",
        "time in which words for recurrence make it a habit",
    )
    win_hours: float = number(
        48.0, "hours", 0, 1000, "E16", "time for which a promise that was kept is shown"
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
