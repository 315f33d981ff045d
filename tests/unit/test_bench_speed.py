"""The stopwatch of recall: what it runs, and that each question is new to the caches."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import material
import speed_recall

from engram.memory import VaultMemory

SCRIPT = Path(speed_recall.__file__).with_name("bench_speed.py")


def test_the_chosen_rows_alone_are_measured_at_the_chosen_sizes():
    told = subprocess.run(
        [sys.executable, SCRIPT, "--sizes", "20,40", "--only", "recall"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    rows = [line.partition("  ")[0] for line in told.splitlines()[1:] if "ms" in line]
    kinds = ["start to first recall", "recall CPU, p50", "recall CPU, p95"]
    assert rows == kinds * 2


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
