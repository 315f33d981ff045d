"""`engram eval`: readers of benchmarks, metrics, the file of results, the command."""

from __future__ import annotations

import json
import os
import re
import signal
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from evaluation import metrics
from evaluation.baselines import BASELINES
from evaluation.datasets import read_cases
from evaluation.sample import estimate, sample

from engram.config import EmbeddingSettings
from engram.core.records import Problem
from engram.errors import (
    BadRequestError,
    ConfigError,
    ConflictError,
    ForbiddenError,
)
from engram.serve.commands import run
from tests.fakes.answers import settings_in
from tests.fakes.evaluations import SAID, locomo, realtalk
from tests.fakes.openai_server import FakeServer, facts_from, prompt_text

PAGE = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text()
GOLDEN = (
    {
        "id": "t1",
        "text": "I live in Graz. I love chess.",
        "occurred_at": "2026-03-04T09:00",
    },
    {"id": "t2", "text": "I live in Linz now.", "occurred_at": "2026-04-04T09:00"},
    {"fact": ["user", "graz"], "turn": "t1", "over": True},
    {"fact": ["chess"], "turn": "t1", "over": True},
    {"fact": ["Linz"], "turn": "t2", "date": "2026-05"},
    {"fact": ["Vienna"], "turn": "t2"},
)
LINES = re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)[1]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty folder to work in, beside a vault with its own home."""
    settings = settings_in(tmp_path / "home", tmp_path / "vault")
    for name in [name for name in os.environ if name.startswith("ENGRAM_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ENGRAM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ENGRAM_VAULT", str(settings.vault))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    (work / "questions.jsonl").write_text(LINES)
    return work


@pytest.fixture
def evaluated(place, capsys):
    """A function that runs `engram eval`; its JSON, or its message for another code."""

    def evaluate(*argv, code=0):
        assert run(["eval", *argv, "--json"]) == code
        out, err = capsys.readouterr()
        return json.loads(out) if code == 0 else json.loads(err)["error"]

    return evaluate


def read(path, zone=UTC):
    found = list(read_cases([path], zone))
    cases = [one for one in found if not isinstance(one, Problem)]
    return cases, [one for one in found if isinstance(one, Problem)]


# -- readers ---------------------------------------------------------------------------


def test_locomo_has_evidence_in_several_spellings_and_adversarial_questions(tmp_path):
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps(locomo()))
    ((case,), problems) = read(path)
    assert not problems
    assert [turn.text for turn in case.turns] == [text for _, text in SAID]
    assert case.turns[0].occurred_at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    single, several, adversarial = case.questions
    assert single.category == "single-hop"
    assert single.evidence == {"conv-1/D1:1"}
    assert several.evidence == {"conv-1/D1:2", "conv-1/D2:2"}
    assert several.sessions == {"conv-1-session_1", "conv-1-session_2"}
    assert not adversarial.answerable
    assert not adversarial.has_evidence


def test_realtalk_is_one_object_a_file_and_a_folder_is_its_files(tmp_path):
    (tmp_path / "chat_1.json").write_text(json.dumps(realtalk(), indent=2))
    (tmp_path / "README.md").write_text("no data")
    ((case,), problems) = read(tmp_path)
    assert not problems
    assert case.turns[2].speaker == "Mira"
    assert case.turns[2].occurred_at == datetime(2023, 12, 29, 22, 5, 2, tzinfo=UTC)
    assert [turn.group for turn in case.turns] == [False, True] * 2
    assert case.questions[0].evidence == {"Mira-Ole/D1:3"}


def test_a_pipe_among_the_files_of_questions_is_refused_before_it_is_read(tmp_path):
    os.mkfifo(tmp_path / "questions.jsonl")
    for path in (tmp_path, tmp_path / "questions.jsonl"):
        with pytest.raises(ForbiddenError, match="a pipe, a device or a socket"):
            read(path)


# -- metrics ---------------------------------------------------------------------------


def test_the_metrics_of_a_ranking_are_those_of_their_definition():
    scores = metrics.ranking_scores(list("abcdefghij"), {"b", "g", "x"})
    assert scores["recall@1"] == 0
    assert scores["recall@5"] == pytest.approx(1 / 3)
    assert scores["recall@10"] == pytest.approx(2 / 3)
    assert (scores["any@3"], scores["all@10"], scores["mrr"]) == (1, 0, 0.5)
    best = 1 + 1 / np.log2(3) + 1 / 2
    gain = 1 / np.log2(3) + 1 / np.log2(8)
    assert scores["ndcg@10"] == pytest.approx(gain / best)
    assert metrics.ranking_scores([], {"a"})["mrr"] == 0
    whole = metrics.ranking_scores(["b", "a"], {"a", "b"})
    assert whole["all@3"] == whole["ndcg@10"] == 1


def test_a_paired_interval_is_certain_of_a_small_difference_that_each_question_has():
    before = [{"share": at / 40} for at in range(40)]
    after = [{"share": at / 40 + 0.02, "new": 1.0} for at in range(40)]
    difference = metrics.paired(before, after)
    assert list(difference) == ["share"]
    assert difference["share"].low > 0.019
    lone = metrics.bootstrap(before)["share"]
    assert lone.high - lone.low > 0.1


# -- the command -----------------------------------------------------------------------


# row: X16
def test_the_questions_of_the_page_are_answered_and_each_has_a_line(evaluated, place):
    found = evaluated("questions.jsonl")
    recall = found["systems"]["recall"]
    assert recall["evidence complete"] == {"mean": 1.0, "low": 1.0, "high": 1.0}
    assert recall["gold words"]["mean"] == 1
    assert found["systems"]["full context"]["shown whole"]["mean"] == 1
    assert recall["shown whole"]["mean"] >= 0.5  # a fact tells one turn in its words
    assert set(found["systems"]) == {"recall", "context", *BASELINES}
    assert set(found["categories"]) == {"single", "two turns"}
    assert found["problems"] == []
    first, *rows = map(json.loads, Path(found["results"]).read_text().splitlines())
    assert first["answers"] is False
    assert [row["question"] for row in rows] == [
        "What is Anna allergic to?",
        "Which city will Anna visit?",
    ]
    assert "peanuts" in rows[0]["text"]
    assert rows[0]["evidence"] == ["t1"]
    assert list(place.parent.joinpath("vault").rglob("*.md")) == []


def test_a_run_goes_on_after_ctrl_c_and_asks_nothing_twice(evaluated, place, tmp_path):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in background
    asked = []

    def model(body):
        text = prompt_text(body)
        if "Answer with one JSON object: `right`" in text:
            return {"right": True}
        if "answer a question from notes" not in text:
            return facts_from(body)
        asked.append(re.search(r"Question: (.*)", text)[1])
        if len(asked) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return {"answer": "peanuts"}

    with FakeServer() as server:
        server.script(model)
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        (home / "config.toml").write_text(
            f'[model]\nname = "m"\nbase_url = "{server.url}"\n'
        )
        argv = ("questions.jsonl", "--answers", "--yes")
        with pytest.raises(SystemExit) as stopped:
            run(["eval", *argv])
        assert stopped.value.code == 130
        assert len(asked) == 2
        found = evaluated(*argv)
        assert len(asked) == 3
        assert found["answers"]["right"]["mean"] == 1
        assert found["cost"]["answer"]["calls"] == 2  # Ctrl-C ended one unread
        assert found["cost"]["extract"]["tokens_in"] > 0
        assert evaluated(*argv) == found  # nothing is left to ask
        assert len(asked) == 3


def test_a_model_is_asked_only_where_its_cost_is_agreed_to(evaluated, place, tmp_path):
    fault = evaluated("questions.jsonl", "--answers", code=ConfigError.exit_code)
    assert "none is configured" in fault["what"]
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    with FakeServer() as server:
        (home / "config.toml").write_text(
            f'[model]\nname = "m"\nbase_url = "{server.url}"\n'
        )
        fault = evaluated("questions.jsonl", code=BadRequestError.exit_code)
        assert re.search(
            r"ask m at .* about 1 times, with [\d,]+ tokens", fault["what"]
        )
        assert "--yes" in fault["fix"]
        evaluated("questions.jsonl", "--offline")
        assert server.requests == []
        own = EmbeddingSettings("a sentence model", in_process=True)
        settings = settings_in(home, tmp_path / "vault")
        settings = replace(settings, model=None, embeddings=own)
        paths = [place / "questions.jsonl"]
        chosen = sample(paths, settings, limit=None, seed=7, answers=False)
        assert estimate(chosen, settings, answers=False) == {}


def test_results_of_something_else_are_not_mixed(evaluated, place):
    evaluated("questions.jsonl")
    (place / "questions.jsonl").write_text(LINES.replace("Porto", "Lisbon"))
    fault = evaluated("questions.jsonl", code=ConflictError.exit_code)
    assert "other files" in fault["what"]
    found = evaluated(
        "questions.jsonl", "--results", "new", "--against", "questions.eval.jsonl"
    )
    assert found["against"]["questions"] == 2
    assert found["against"]["systems"]["recall"]["recall@10"]["mean"] == 0
    evaluated(
        "questions.jsonl",
        "--against",
        "questions.jsonl",
        code=BadRequestError.exit_code,
    )


def test_the_report_fits_eighty_columns(place, capsys):
    assert run(["eval", "questions.jsonl"]) == 0
    shown = capsys.readouterr().out
    assert "evidence complete 1.000 ±.000" in " ".join(shown.split())
    assert max(map(len, shown.splitlines()[:-1])) <= 80


# row: X16
def test_what_is_written_is_held_against_a_list_of_statements(place, evaluated, capsys):
    """Of two that are over one is; the wrong ones are named."""
    golden = place / "golden.jsonl"
    golden.write_text("\n".join(map(json.dumps, GOLDEN)))
    found = evaluated("golden.jsonl", "--write", "--offline")["write"]
    shares = {name: (row["right"], row["of"]) for name, row in found.items()}
    assert shares == {
        "precision": (3, 3),
        "recall": (3, 4),
        "ends": (1, 2),
        "current": (1, 1),
        "dates": (0, 1),
    }
    assert found["recall"]["wrong"] == ["Vienna"]
    assert found["ends"]["wrong"] == ["chess"]
    assert run(["eval", "golden.jsonl", "--write", "--offline"]) == 0
    assert re.search(r"recall +3 of 4 +75%\n  - Vienna", capsys.readouterr().out)
    golden.write_text(json.dumps({"fact": ["a"], "turn": "t9"}))
    fault = evaluated("golden.jsonl", "--write", code=BadRequestError.exit_code)
    assert "golden.jsonl:1" in fault["where"]
