"""The stopwatch of recall: what it runs, and that each question is new to the caches."""

from __future__ import annotations

import material
import speed_recall

from engram.memory import VaultMemory


def test_a_timed_question_finds_no_text_of_an_earlier_one_in_a_cache(tmp_path):
    material.vault(tmp_path / "vault", 40)
    settings = material.settings(tmp_path / "vault", tmp_path / "home")
    memory = VaultMemory(settings)
    memory.start()
    memory.catch_up()
    questions = ["Where is the garden?", "When was the meeting with Anna?"]
    memory.call("recall", {"query": questions[1]})
    assert any(cache.cache_info().currsize for cache in speed_recall.caches_of_texts())

    speed_recall.times(memory, questions)
    once = sum(cache.cache_info().hits for cache in speed_recall.caches_of_texts())
    speed_recall.times(memory, questions * 2)
    again = sum(cache.cache_info().hits for cache in speed_recall.caches_of_texts())
    memory.close()
    assert again == once
