"""Portuguese: states, questions, facts, requests for privacy, and what is taken back (X13)."""

from __future__ import annotations

import pytest

from engram.core.language.privacy import reference
from tests.unit.language_tables import facts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Fica entre nós: a Marta está grávida.", "itself"),
        ("Que isto fique só entre nós.", "before"),
        ("Não contes a ninguém, mas vou pedir demissão.", "itself"),
        ("Não conta pra ninguém, viu?", "before"),
        ("Posso te contar um segredo?", "after"),
        ("Cá entre nós, o chefe é chato.", "itself"),
        ("Não digas nada ao Pedro.", "before"),
        ("Entre nós há uma boa relação.", ""),
        ("O segredo do bolo é o limão.", ""),
        ("Não me digas que chove!", ""),
        ("Isto é segredo?", ""),
        ("Ele não conta nada a ninguém.", ""),
        ("Não guardo segredos.", ""),
    ],
)
def test_a_request_for_privacy_in_portuguese(text: str, expected: str) -> None:
    assert reference(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "O Pedro e eu terminámos, mas fizemos as pazes.",
        "Mudei-me para Faro, mas voltei.",
    ],
)
def test_what_did_not_last_in_portuguese_gives_no_fact(text: str) -> None:
    assert facts(text) == []
