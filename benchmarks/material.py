"""What the speeds are measured on: words, turns, notes and questions, the same in every
run.

A vocabulary with the skew of real text, sentences that the offline rules understand
among such that say nothing, turns of a few words to a few hundred. No figure of quality
is drawn from it.
"""

from __future__ import annotations

import os
import random
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from engram import config
from engram.core.records import Fact, FiledTurn, Turn
from engram.core.text import content_hash, slug, ulid
from engram.vault import facts, frontmatter, sessions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.config import Settings

ZONE = ZoneInfo("Europe/Berlin")
BEGIN = datetime(2024, 1, 1, 9, tzinfo=UTC)
OLD = 1_700_000_000
"""The time of every file: long enough ago for its stat to be trusted."""

STOP = "the to a and of in i it that is was for you my on with have this be at but not we as so"
KNOWN = (
    "Anna Berlin project coffee tea morning plan train garden milk deadline bicycle meeting doctor sister October "
    "piano holiday allergy birthday budget kitchen river oat"
)
SYLLABLES = [first + second for first in "bdfgklmnprst" for second in "aeo"]
STATEMENTS = (
    "I prefer {0} {1} over {2}.",
    "My sister {0} lives in {1}.",
    "I am allergic to {0} {1}.",
    "I work at {0} as a {1}.",
    "We decided to move the {0} {1} to the {2}.",
    "I will send the {0} {1} tomorrow.",
    "Remember that the {0} of {1} is {2}.",
)
KEPT = (
    "{name} works as a {job} in {place}.",
    "User's {kin} {name} lives in {place}.",
    "User met {name} at the {thing} fair in {place}.",
    "Bought a {thing} for {name} for {number} euros.",
    "{name} is allergic to {rare}.",
    "Enjoys {rare} with {name} on weekends.",
    "User is learning to repair a {thing} from {name}.",
    "The {thing} of {name} is kept in {place}.",
    "{name} recommended a book about {rare} and {other}.",
    "User planned a trip to {place} with {name} in {month}.",
    "Prefers {rare} over {other} when {name} cooks.",
    "{name}'s birthday is on {day} {month}.",
    "User paid {number} euros to {name} for the {thing}.",
    "{name} studies {rare} at the school of {place}.",
    "User wants to finish the {thing} project with {name} by {month}.",
)
"""Statements as a memory program keeps them."""
KIN = "aunt brother cousin colleague daughter friend grandmother neighbour nephew niece sister son uncle"
JOBS = "baker carpenter dentist engineer florist gardener lawyer nurse pilot surgeon teacher translator welder"
THINGS = "bicycle camera drum kayak lamp loom oven printer saddle sofa telescope tent violin wardrobe"
MONTHS = "January February March April May June July August September October November December"
TURNS_PER_SESSION = 10


class Writer:
    """A deterministic author."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        made = dict.fromkeys(
            "".join(self.chance.choices(SYLLABLES, k=self.chance.randint(2, 4)))
            for _ in range(9000)
        )
        self.common = len(STOP.split())
        self.made = list(made)
        self.vocabulary = [*STOP.split(), *KNOWN.split(), *made]
        weights = [1 / (rank + 3) for rank in range(len(self.vocabulary))]
        self.weights = [*accumulate(weights)]
        self.weights_of_rare = [*accumulate(weights[self.common :])]

    def words(self, count: int) -> list[str]:
        """Words, the common ones often."""
        return self.chance.choices(self.vocabulary, cum_weights=self.weights, k=count)

    def rare(self, count: int) -> list[str]:
        """Words that carry a meaning."""
        return self.chance.choices(
            self.vocabulary[self.common :], cum_weights=self.weights_of_rare, k=count
        )

    def sentence(self) -> str:
        """Five to twenty words."""
        return " ".join(self.words(self.chance.randint(5, 20))).capitalize() + "."

    def statement(self) -> str:
        """A sentence from which the offline rules read a fact."""
        return self.chance.choice(STATEMENTS).format(
            *(word.capitalize() for word in self.rare(3))
        )

    def turn_text(self, role: str) -> str:
        """A user says a sentence or three and states something one time in three; an
        assistant says more.
        """
        count = min(
            1 + int(self.chance.expovariate(1.0 if role == "user" else 0.25)), 25
        )
        said = [self.sentence() for _ in range(count)]
        if role == "user" and self.chance.random() < 1 / 3:
            said.insert(0, self.statement())
        return " ".join(said)

    def question(self) -> str:
        """Six to twelve words, half of which carry meaning."""
        form = self.chance.choice(
            (
                "What did I say about {}?",
                "When was the {}?",
                "Which {} do I like?",
                "{}",
            )
        )
        return form.format(
            " ".join(
                [
                    *self.words(self.chance.randint(1, 4)),
                    *self.rare(self.chance.randint(1, 4)),
                ]
            )
        )


def turns(
    count: int, seed: int = 11, session_turns: int = TURNS_PER_SESSION
) -> Iterator[Turn]:
    """Conversations of `session_turns`, a day apart."""
    writer = Writer(seed)
    for number in range(count):
        session, place = divmod(number, session_turns)
        role = "user" if place % 2 == 0 else "assistant"
        when = BEGIN + timedelta(days=session % 600, minutes=place)
        yield Turn(
            f"t{number}",
            f"s{session}",
            role,
            writer.turn_text(role),
            when,
            "Mira" if role == "user" else "",
        )


def memories(count: int) -> Iterator[dict[str, object]]:
    """Memories of mem0, an hour apart: every one about a person of its own, each third
    person about two things.
    """
    writer = Writer(23)
    pick = writer.chance.choice
    for number in range(count):
        person = writer.made[number - number % 3]
        text = KEPT[number % len(KEPT)].format(
            name=f"{person[:5]} {person[::-1][:6]}".title(),
            kin=pick(KIN.split()),
            job=pick(JOBS.split()),
            place=pick(writer.made[5000:5400]).capitalize(),
            thing=pick(THINGS.split()),
            rare=pick(writer.made[6000:]),
            other=pick(writer.made[6000:]),
            month=pick(MONTHS.split()),
            day=writer.chance.randint(1, 28),
            number=writer.chance.randint(5, 900),
        )
        when = BEGIN + timedelta(hours=number)
        yield {"id": f"m{number}", "memory": text, "created_at": when.isoformat()}


def vault(root: Path, notes: int) -> None:
    """A vault of `notes` files: of twenty, eighteen facts, a note of the user's own and
    a conversation.
    """
    root.mkdir(parents=True)
    writer = Writer(7)
    said = turns(TURNS_PER_SESSION * (notes // 20 + 1))
    source = ""
    for number in range(notes):
        when = BEGIN + timedelta(minutes=37 * number)
        day = f"{when.astimezone(ZONE):%Y-%m-%d}"
        if number % 20 == 0:
            stem = f"{day}-talk-{number}"
            filed = [
                FiledTurn(next(said), stem, f"t{place + 1}")
                for place in range(TURNS_PER_SESSION)
            ]
            path, raw, source = (
                sessions.path(stem),
                sessions.new_session(filed, ZONE),
                filed[0].key,
            )
        elif number % 20 == 1:
            text = "\n\n".join(
                " ".join(writer.sentence() for _ in range(4)) for _ in range(5)
            )
            path, raw = (
                f"notes/{number // 100}/note {number}.md",
                f"# Note {number}\n\n{text}\n".encode(),
            )
        else:
            path, raw = fact(
                writer.statement() + " " + writer.sentence(), when, day, source
            )
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(raw)
        os.utime(target, (OLD, OLD))
    (root / "engram.toml").write_text(f'id = "bench-{notes}"\nzone = "{ZONE}"\n')


def fact(text: str, when: datetime, day: str, source: str) -> tuple[str, bytes]:
    """The path and the bytes of a note."""
    made = Fact(
        ulid(when, text),
        text,
        category="preference",
        created=when,
        source=source,
        about=("Anna Müller", "Berlin"),
        tags=("preference/drink",),
        confidence=0.92,
        importance=0.7,
    )
    path = f"facts/{day}/preference-{slug(text)}-{content_hash(text)[:8]}.md"
    return path, frontmatter.emit(
        facts.fact_keys(made, ZONE), facts.fact_body(text, source)
    )


def settings(root: Path, home: Path) -> Settings:
    """The settings of the vault `root`, with everything else below `home`."""
    return config.load(root, environment(home))


def environment(home: Path) -> dict[str, str]:
    """The environment of every process that is measured: this home and nothing of the
    user's.

    Compiled modules are kept below `home`, because an installed package has them too.
    """
    base = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ENGRAM_", "OPENAI_"))
        and name != "PYTHONDONTWRITEBYTECODE"
    }
    return base | {
        "ENGRAM_EMBEDDINGS_MODEL": "off",  # as installed without extras
        "ENGRAM_HOME": str(home),
        "PYTHONPATH": str(Path(__file__).resolve().parents[1]),
        "PYTHONPYCACHEPREFIX": str(home / "bytecode"),
    }
