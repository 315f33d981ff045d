"""Dutch: states, questions, facts, requests for privacy, and what is taken back (X13)."""

from __future__ import annotations

import pytest

from engram.core.language.privacy import reference
from tests.unit.language_tables import facts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dit blijft tussen ons: Marta is zwanger.", "itself"),
        ("Vertel het aan niemand, maar ik neem ontslag.", "itself"),
        ("Zeg het niet tegen Tom.", "before"),
        ("Vertel dit niet door.", "before"),
        ("Mag ik je een geheim vertellen?", "after"),
        ("Onder ons gezegd: mijn baas is vervelend.", "itself"),
        ("Hou dit voor je.", "before"),
        ("Niemand mag dit weten.", "before"),
        ("Tussen ons is niets gebeurd.", ""),
        ("Het geheim van de soep is ui.", ""),
        ("Is het een geheim?", ""),
        ("Zeg niet dat het regent!", ""),
        ("Niemand weet het zeker.", ""),
        ("Er zit een muur tussen ons en de buren.", ""),
    ],
)
def test_a_request_for_privacy_in_dutch(text: str, expected: str) -> None:
    assert reference(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Tom en ik zijn uit elkaar, maar we zijn weer samen.",
        "Ik ben naar Leiden verhuisd, maar ik ben teruggekomen.",
    ],
)
def test_what_did_not_last_in_dutch_gives_no_fact(text: str) -> None:
    assert facts(text) == []
