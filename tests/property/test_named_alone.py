"""Forgetting and purging act on the named statement alone, in any vault (A26, X8, X12)."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from engram.core.language.equal_statements import are_equal
from engram.core.language.sentences import sentences
from engram.testing import Simulation
from tests.size import examples

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
NAMES = ("Rita", "Max", "Liam", "Noah")
DRUGS = ("citalopram", "omeprazole", "ramipril")
CODES = ("INV-98765-A", "INV-98765-B", "MRN-45678", "MRN-456789", "5", "50")
THINGS = ("printer", "scanner", "dentist")
STATEMENTS = st.one_of(
    st.builds(
        "I take {} mg of {}.".format, st.sampled_from(CODES[4:]), st.sampled_from(DRUGS)
    ),
    st.builds(
        "{} lent {} 50 euros.".format, st.sampled_from(NAMES), st.sampled_from(NAMES)
    ),
    st.builds(
        "The {} of {} is in room 5.".format,
        st.sampled_from(THINGS),
        st.sampled_from(NAMES),
    ),
    st.builds(
        "{} has number {}.".format, st.sampled_from(NAMES), st.sampled_from(CODES)
    ),
    st.builds("Invoice: {}.".format, st.sampled_from(CODES[:4])),
    st.builds("{} is my {}.".format, st.sampled_from(NAMES), st.sampled_from(THINGS)),
)
VAULTS = st.lists(STATEMENTS, min_size=2, max_size=6, unique_by=str.casefold)


def the_user(statement):
    """The statement as another voice makes it."""
    return statement.replace("I take", "You take").replace(" my ", " your ")


def told(simulation, statements):
    """Each statement is kept by the user, and then said in one turn and repeated."""
    ids = {}
    for number, text in enumerate(statements):
        answer = simulation.call("remember", text=text)
        ids[text] = answer["id"]
        simulation.advance(simulation.now + timedelta(minutes=1 + number))
    turns = [
        {"role": "user", "text": " ".join(statements), "session": "talk"},
        *(
            {"role": "assistant", "text": the_user(text), "session": "talk"}
            for text in statements
        ),
    ]
    simulation.call("observe", turns=turns)
    simulation.call("flush")
    simulation.advance(simulation.now + timedelta(minutes=30))
    return ids


def handed_out(simulation, query):
    hits = simulation.call("recall", query=query, k=50, archive=True)["hits"]
    return [
        (hit, hit["text"][start:end])
        for hit in hits
        for start, end in sentences(hit["text"])
    ]


# row: A26
# row: X8
# row: X12
@examples(40, 12)
@given(VAULTS, st.sampled_from(["forget", "purge"]))
def test_only_the_named_statement_is_forgotten_or_purged(statements, how):
    """Every other memory stays as it is and is recalled; no sentence states the named
    one.
    """
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder, "vault")
        vault.mkdir()
        (vault / "engram.toml").write_text('id = "named-alone"\n')
        with Simulation(vault, at=START, home=Path(folder, "home")) as simulation:
            ids = told(simulation, statements)
            named, *others = statements
            notes = {
                path: path.read_bytes()
                for path in vault.glob("facts/**/*.md")
                if ids[named] not in path.read_text()
                and not any(
                    are_equal(line.removeprefix("# "), named)
                    for line in path.read_text().splitlines()
                )
            }
            if how == "forget":
                simulation.call("forget", id=ids[named])
            else:
                memory = simulation._memory
                memory.call("purge", {"ids": [ids[named]], "yes": True}, "owner")

            assert {path: path.read_bytes() for path in notes} == notes
            for other in others:
                seen = handed_out(simulation, other)
                found = {hit["id"] for hit, _ in seen if hit["kind"] == "fact"}
                assert ids[other] in found
                said = [one for hit, one in seen if hit.get("role") == "user"]
                assert any(are_equal(one, other) for one in said)
                assert not [one for _, one in seen if are_equal(one, named)]
            assert not [
                one for _, one in handed_out(simulation, named) if are_equal(one, named)
            ]
