"""The store for LangGraph, with the real base class where that is installed."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from engram import Memory
from tests.fakes.answers import settings_in

pytest.importorskip(
    "langgraph.store.base",
    reason="langgraph-checkpoint is not installed; it needs thirty packages",
)
from examples.langgraph_store import EngramStore

PAGE = Path(__file__).parents[2] / "docs" / "agents.md"
TEA = {"text": "Ben drinks green tea.", "kind": "drink", "cups": 3}


@pytest.fixture
def vault(tmp_path, monkeypatch):
    settings = settings_in(tmp_path / "home", tmp_path / "vault")
    monkeypatch.setenv("ENGRAM_HOME", str(tmp_path / "home"))
    return settings.vault


@pytest.fixture
def store(vault, tmp_path):
    with Memory(vault) as memory:
        yield EngramStore(memory, tmp_path / "items.db")


def test_get_finds_what_put_stored_also_after_a_restart(store, tmp_path):
    store.put(("users", "ben"), "tea", TEA)
    store.put(("users", "ben"), "plain", {"theme": "dark"})
    again = EngramStore(store.memory, tmp_path / "items.db")
    item = again.get(("users", "ben"), "tea")
    assert (item.value, item.key, item.namespace) == (TEA, "tea", ("users", "ben"))
    assert again.get(("users", "ben"), "plain").value == {"theme": "dark"}
    assert again.get(("users",), "tea") is None
    assert b"green tea" not in (tmp_path / "items.db").read_bytes()


def test_search_is_recall_within_a_namespace(store):
    store.put(("users", "ben"), "tea", TEA)
    store.put(("users", "ben"), "dog", {"text": "The dog Rex sleeps in the shed."})
    store.put(("users", "ada"), "tea", {"text": "Ada drinks black tea."})
    store.put(("users", "ben"), "hidden", {"text": "Ben hides tea."}, index=False)
    found = store.search(("users", "ben"), query="Who drinks tea?")
    assert [item.key for item in found][:1] == ["tea"]
    assert found[0].score
    assert {item.namespace for item in found} == {("users", "ben")}
    assert "hidden" not in {item.key for item in found}
    assert len(store.search(("users",))) == 4
    assert len(store.search(("users",), limit=2, offset=3)) == 1
    (item,) = store.search((), filter={"cups": {"$gte": 3}, "kind": "drink"})
    assert item.value == TEA


def test_a_new_text_replaces_and_a_deleted_item_is_forgotten(store):
    store.put(("n",), "k", {"text": "Ben drinks tea."})
    store.put(("n",), "k", {"text": "Ben drinks cocoa.", "x": 1})
    assert store.get(("n",), "k").value == {"text": "Ben drinks cocoa.", "x": 1}
    texts = [one.text for one in store.memory.list().memories]
    assert texts == ["Ben drinks cocoa."]
    store.delete(("n",), "k")
    store.delete(("n",), "k")
    assert store.get(("n",), "k") is None
    assert not store.memory.list().memories


def test_what_a_person_corrects_or_forgets_counts(store):
    store.put(("n",), "a", {"text": "Ben drinks tea."})
    (told,) = store.memory.list().memories
    new = store.memory.correct(told.id, "Ben drinks water.")
    assert store.get(("n",), "a").value == {"text": "Ben drinks water."}
    store.memory.forget(new.id)
    assert store.get(("n",), "a") is None
    assert store.list_namespaces() == []


def test_a_memory_that_a_person_told_stays_when_an_item_is_deleted(store):
    told = store.memory.remember("Ben drinks tea.")
    store.put(("n",), "a", {"text": "Ben drinks tea."})
    store.delete(("n",), "a")
    assert store.memory.show(told.id).memory["status"] == "active"


def test_namespaces_are_listed_by_prefix_suffix_and_depth(store):
    for name in ("a.b.c", "a.b.d", "a.x", "b.c"):
        store.put(tuple(name.split(".")), "k", {"n": 1})
    assert store.list_namespaces(prefix=("a", "b")) == [
        ("a", "b", "c"),
        ("a", "b", "d"),
    ]
    assert store.list_namespaces(suffix=("*", "c")) == [("a", "b", "c"), ("b", "c")]
    assert store.list_namespaces(max_depth=1) == [("a",), ("b",)]


def test_the_snippet_of_the_page_works_and_so_does_asyncio(
    vault, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (snippet,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    snippet = snippet.replace('"~/Engram"', "vault")
    snippet = snippet.replace("from langgraph_store", "from examples.langgraph_store")
    exec(snippet, {"vault": str(vault)})
    assert "Porto" in capsys.readouterr().out

    with Memory(vault) as memory:
        store = EngramStore(memory, tmp_path / "items.db")
        asyncio.run(store.aput(("n",), "k", {"text": "Ben drinks tea."}))
        (item,) = asyncio.run(store.asearch(("n",), query="tea"))
        assert item.key == "k"
