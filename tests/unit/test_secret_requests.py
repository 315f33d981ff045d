"""Secrets that the user asks to remember, and what stands beside a card number."""

from __future__ import annotations

import pytest

from engram.core.language.secrets import redact
from engram.errors import BadRequestError
from engram.serve.observe import observe

CARD = "4111 1111 1111 1111"


def stored(vault):
    notes = (path for path in vault.rglob("*.md") if path.is_file())
    return "\n".join(path.read_text() for path in notes)


# row: X11
@pytest.mark.parametrize(
    "text",
    [
        f"{CARD} exp 08/29 cvc 123",
        f"My card is {CARD}. It expires 08/2029. The security code is 123.",
        f"exp 08/29, cvc 123, number {CARD}",
        f"{CARD} 08/29 123",
        f"Karte {CARD}, gültig bis 08/29. Die Prüfziffer lautet 123.",
        f"Ma carte est {CARD}, expire 08/29, cryptogramme 123",
        f"カード {CARD} 有効期限 08/29 セキュリティコード 123",
    ],
)
def test_expiry_and_security_code_go_with_their_card(text):
    words = redact(text).text
    assert "08/" not in words
    assert "123" not in words
    assert redact(words).text == words


# row: X11
@pytest.mark.parametrize(
    "text", ["The shop alarm code is 3306.", "My password is Kestrel-4821!"]
)
def test_a_secret_to_remember_is_refused_and_nothing_is_stored(memory, text):
    with pytest.raises(BadRequestError, match="secret") as refused:
        memory.call("remember", {"text": text})
    assert "password manager" in str(refused.value)
    assert 'redact = "off"' in str(refused.value)
    assert memory.call("list", {"status": "all"})["memories"] == []
    assert "redacted" not in stored(memory.settings.vault)


# row: X11
def test_the_code_of_a_door_is_remembered(memory):
    made = memory.call("remember", {"text": "The gate code is 4471."})
    assert memory.call("show", {"id": made["id"]})["memory"]["text"].endswith("4471.")


# row: X11
@pytest.mark.parametrize(
    "text",
    [
        "Remember that the shop alarm code is 3306.",
        "The shop alarm code is 3306. Remember that.",
        "Merk dir: Mein Passwort lautet Kestrel-4821!",
    ],
)
def test_a_refused_request_in_a_chat_is_told_and_makes_no_memory(memory, text):
    answer = memory.call("observe", {"turns": [{"id": "t1", "text": text}]})
    memory.call("flush", {})
    assert answer["stored"] == 1
    (refused,) = answer["not_remembered"]
    assert refused["turn"] == "t1"
    assert "secret" in refused["why"]
    assert "password manager" in refused["fix"]
    assert memory.call("list", {"status": "all"})["memories"] == []


# row: X11
def test_the_command_that_sends_turns_tells_of_a_refused_request(memory, tmp_path):
    file = tmp_path / "turns.jsonl"
    file.write_text('{"id": "t1", "text": "Remember that the alarm code is 3306."}\n')
    with file.open() as source:
        result = observe(source, memory.call)
    (told,) = result["not_remembered"]
    assert told.startswith("turn t1: a secret is not remembered. ")
    assert "password manager" in told
