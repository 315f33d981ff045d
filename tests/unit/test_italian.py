"""Italian: states, questions, facts, requests for privacy, and what is taken back (X13)."""

from __future__ import annotations

import pytest

from engram.core.language.privacy import reference
from tests.unit.language_tables import facts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Resta tra noi: Marta è incinta.", "itself"),
        ("Che resti tra noi, ma mi licenzio.", "itself"),
        ("Non dirlo a nessuno, ho vinto alla lotteria.", "itself"),
        ("Detto tra noi, il capo non mi piace.", "itself"),
        ("Posso confidarti un segreto?", "after"),
        ("Non dire niente a Marco della festa.", "itself"),
        ("Acqua in bocca: domani è la sorpresa.", "itself"),
        ("Tra noi c'è stato un malinteso.", ""),
        ("È un segreto?", "before"),
        ("La distanza tra noi e il mare è poca.", ""),
        ("Il segreto della carbonara è il guanciale.", ""),
        ("Non dirmi che piove!", ""),
        ("Non ho segreti.", ""),
    ],
)
def test_a_request_for_privacy_in_italian(text: str, expected: str) -> None:
    assert reference(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Io e Paolo ci siamo lasciati, ma siamo tornati insieme.",
        "Mi sono trasferita a Torino, poi ho cambiato idea.",
    ],
)
def test_what_did_not_last_in_italian_gives_no_fact(text: str) -> None:
    assert facts(text) == []
