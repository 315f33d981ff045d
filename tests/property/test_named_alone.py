"""What hides or deletes acts on the named statement alone, in any vault (A26, X2, X12)."""

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
FAMILIES = (
    [f"I take {dose} mg of {drug}." for dose in CODES[4:] for drug in DRUGS],
    [
        f"{one} lent {other} 50 euros."
        for one in NAMES
        for other in NAMES
        if one != other
    ],
    [f"The {thing} is in room {room}." for thing in THINGS for room in CODES[4:]],
    [f"{name} is the dentist of {other}." for name in NAMES for other in NAMES[2:]],
    [f"Invoice: {code}." for code in CODES],
    [f"The key of {name} has number {code}." for name in NAMES for code in CODES],
)
"""Statements that differ in one name, number or word, or in their order."""
VAULTS = st.sampled_from(FAMILIES).flatmap(
    lambda family: st.lists(
        st.sampled_from(family), min_size=2, max_size=5, unique=True
    )
)


def the_user(statement):
    """The statement as another voice makes it."""
    return statement.replace("I take", "You take")


def told(simulation, statements, how):
    """Each statement is kept by the user, and said in one turn and repeated; for an edit
    or a deletion each is only said, in a turn of its own.
    """
    ids = {}
    for number, text in enumerate(() if how in {"edit", "delete"} else statements):
        ids[text] = simulation.call("remember", text=text)["id"]
        simulation.advance(simulation.now + timedelta(minutes=1 + number))
    said = [" ".join(statements)] if ids else statements
    said = [
        {"role": "user", "text": text, "id": f"m{number}", "session": "talk"}
        for number, text in enumerate(said)
    ]
    repeated = [
        {"role": "assistant", "text": the_user(text), "session": "talk"}
        for text in (statements if ids else ())
    ]
    simulation.call("observe", turns=said + repeated)
    simulation.call("flush")
    simulation.advance(simulation.now + timedelta(minutes=30))
    return ids


def hidden(simulation, named, memory, how):
    """The named statement goes: by its id, a wish in a chat, an edit or a deletion."""
    if how == "forget":
        simulation.call("forget", id=memory)
    elif how == "purge":
        simulation._memory.call("purge", {"ids": [memory], "yes": True}, "owner")
    elif how == "delete":
        simulation.call("withdraw", id="m0", session="talk")
    else:
        turn = {"role": "user", "text": f"Please forget that {named}", "session": "x"}
        if how == "edit":
            text = f"{named.rpartition(' ')[0]} something."
            turn |= {"text": text, "session": "talk", "id": "m0"}
        simulation.call("observe", turns=[turn])
        simulation.call("flush")


def handed_out(simulation, query):
    hits = simulation.call("recall", query=query, k=50, archive=True)["hits"]
    return [
        (hit, hit["text"][start:end])
        for hit in hits
        for start, end in sentences(hit["text"])
    ]


# row: A26
# row: X2
# row: X8
# row: X12
@examples(300, 8)
@given(VAULTS, st.sampled_from(["forget", "purge", "wish", "edit", "delete"]))
def test_only_the_named_statement_goes(statements, how):
    """Every other memory stays as it is and is recalled; no sentence states the named
    one.
    """
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder, "vault")
        vault.mkdir()
        (vault / "engram.toml").write_text('id = "named-alone"\n')
        with Simulation(vault, at=START, home=Path(folder, "home")) as simulation:
            ids = told(simulation, statements, how)
            named, *others = statements
            notes = {
                path: path.read_bytes()
                for path in vault.glob("facts/**/*.md")
                if not any(
                    are_equal(line.removeprefix("# "), named)
                    for line in path.read_text().splitlines()
                )
            }
            hidden(simulation, named, ids.get(named), how)
            assert {path: path.read_bytes() for path in notes} == notes
            for other in others:
                seen = handed_out(simulation, other)
                found = {hit["id"] for hit, _ in seen if hit["kind"] == "fact"}
                assert ids.get(other) in found | {None}
                said = [one for hit, one in seen if hit.get("role") == "user"]
                assert any(are_equal(one, other) for one in said)
                assert not [one for _, one in seen if are_equal(one, named)]
            assert not [
                one for _, one in handed_out(simulation, named) if are_equal(one, named)
            ]
