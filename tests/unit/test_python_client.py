"""The Python client: typed methods and results, their examples, and OpenAPI."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import jsonschema
import pytest

import engram
from engram import Memory
from engram.errors import BadRequestError
from engram.operations import results
from engram.operations.results import Hit, Recalled, schema, schemas, typed
from engram.operations.table import BY_NAME
from engram.testing import Simulation
from tests.fakes.answers import settings_in

ROOT = Path(__file__).parents[2]


@pytest.fixture
def vault(tmp_path, monkeypatch):
    """A vault that this process opens by its path."""
    settings = settings_in(tmp_path / "home", tmp_path / "vault")
    monkeypatch.setenv("ENGRAM_HOME", str(tmp_path / "home"))
    return settings.vault


def test_each_operation_is_a_method_with_a_typed_result(vault):
    """Positional arguments are those of the command line."""
    assert (Path(engram.__file__).parent / "py.typed").exists()
    assert set(BY_NAME) <= set(dir(Memory))
    with Memory(vault) as memory:
        made = memory.remember("Ben drinks tea.", tags=("drinks",))
        assert isinstance(made, results.Remembered)
        assert (
            memory.recall("What does Ben drink?", k=1, now=datetime.now(UTC)).hits[0].id
            == made.id
        )
        assert memory.forget(made.id, reason="wrong").status == "forgotten"
        with pytest.raises(TypeError, match="1 positional"):
            memory.forget(made.id, "wrong")
        with pytest.raises(TypeError, match="twice"):
            memory.show(made.id, id=made.id)
        with pytest.raises(BadRequestError, match="unknown argument 'colour'"):
            memory.show(made.id, colour="red")


def play_runs(call):
    call("neighbours", id="Anna")
    other = call("remember", text="The dog Rex sleeps in the shed.")["id"]
    made = call("remember", text="In the shed sleeps the dog Rex.")["id"]
    run = call("merge", id=made, other=other)["run"]
    call("undo", id=run, dry_run=True)
    call("remember", text="Anna plays the cello.", about=["Anna"])
    call("remember_all", memories=[{"text": "Ida paints."}, {"text": ""}])
    call("synthesize", about="Anna")
    call("consolidate", cadence="nightly")
    call("prune", dry_run=True)
    call("forecast", days=900, curve=True)
    call("begin_import", file="old.jsonl", source="1234")
    call("runs")
    for name in ("stats", "status", "reindex", "doctor"):
        call(name)
    call("review", all=True)


def play(tmp_path):
    """The results of many operations, as `(name, JSON)`."""
    settings = settings_in(tmp_path / "home", tmp_path / "vault")
    begin = datetime(2026, 1, 5, 9, tzinfo=UTC)
    with Simulation(settings.vault, at=begin, home=tmp_path / "home") as sim:

        def call(name, **params):
            answer = sim.call(name, **params)
            played.append((name, answer))
            return answer

        played = []
        mark = call("changes")["next"]
        words = "I'm allergic to peanuts. My sister Anna lives in Porto. I will call Anna on Friday."
        call("observe", turns=[{"id": "m1", "text": words, "session": "s"}])
        call("observe", turns=[{"id": "m2", "text": "I love jazz.", "session": "s"}])
        sim.advance(sim.now + timedelta(hours=1))
        call("recall", query="peanuts", explain=True)
        call("recall", query="nothing of that kind", kinds=["note"])
        call("context", query="peanuts")
        made = call("remember", text="Ben drinks tea.")["id"]
        call("remember", text="Ben drinks tea.")  # known by now
        call("list", limit=2)
        for name in ("show", "why", "history"):
            call(name, id=made)
        call("show", id="Anna")
        call("correct", id=made, text="Ben drinks cocoa.")
        call("history", id=made)
        call(
            "update", id=call("remember", text="The gate is green.")["id"], pinned=True
        )
        call("sensitivity", id=made, level="normal")
        for name in ("confirm", "dispute", "forget"):
            made = call("remember", text=f"The barn of {name} is red.")["id"]
            call(name, id=made)
        for name in ("show", "why", "history"):
            call(name, id=made)
        call("withdraw", id="m2", session="s")
        (todo, *_) = call("todos")["todos"]
        call("settle", id=todo["id"])
        call("entities")
        (stretch, *_) = call("sessions")["sessions"]
        call("session", id=stretch["id"])
        call("timeline")
        call("digest")
        call("changes", since=mark)
        call("flush")
        play_runs(call)
        return played


def test_the_types_say_what_the_operations_answer(tmp_path):
    """Each result fits its schema, and each of its keys is described."""
    document = {"components": {"schemas": schemas()}}
    seen = set()
    for name, answer in play(tmp_path):
        kind = results.of(BY_NAME[name])
        plain = json.loads(json.dumps(answer))
        jsonschema.validate(plain, {**document, **schema(kind)})
        value = typed(kind, plain)
        for key in plain:
            if key.startswith("facts."):  # a count by status
                continue
            assert hasattr(value, key), f"{name} answers with {key}"
        seen.add(name)
    assert seen >= set(BY_NAME) - {"decide", "purge"}  # the owner's alone


def test_times_are_times_and_parts_are_values():
    when = "2026-03-02T18:05:00+01:00"
    hit = {"id": "1", "kind": "fact", "text": "x", "path": "p", "score": 1.0}
    answer = {"query": "q", "hits": [hit | {"when": when}], "text": "t", "tokens": 1}
    recalled = typed(Recalled, answer)
    assert recalled
    assert str(recalled) == "t"
    assert isinstance(recalled.hits[0], Hit)
    assert recalled.hits[0].when == datetime.fromisoformat(when)
    assert not typed(Recalled, answer | {"hits": []})


def test_the_snippets_of_the_page_work(vault, monkeypatch, capsys):
    """Also the recipe for asyncio."""
    page = (ROOT / "docs" / "python.md").read_text()
    snippets = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(snippets) >= 3
    for snippet in snippets:
        space = {"vault": str(vault), "__name__": "page"}
        exec(snippet.replace('"~/Engram"', "vault"), space)
        if "main" in space:
            asyncio.run(space["main"]())
    assert "Porto" in capsys.readouterr().out
