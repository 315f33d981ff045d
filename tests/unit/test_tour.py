"""`engram demo`: the loop of the memory, shown and left without a trace."""

from __future__ import annotations

import tempfile

from engram.serve.tour import tour


def test_the_tour_shows_the_loop_and_leaves_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("ENGRAM_VAULT", str(tmp_path / "my own"))
    monkeypatch.setenv("ENGRAM_MODEL", "a model that nobody may be asked")
    tour()
    shown = capsys.readouterr().out
    steps = ["Tell", "Ask", "Edit", "Ask why", "Change", "Undo"]
    places = [shown.index(f"{number}. {name}") for number, name in enumerate(steps, 1)]
    assert places == sorted(places)
    asked, edited, why, changed, undone = (
        shown[begin:end]
        for begin, end in zip(places[1:], [*places[2:], None], strict=True)
    )
    assert "Anna is allergic to peanuts." in asked
    assert "almond milk" in edited
    assert "“My sister Anna is allergic to peanuts.”" in why
    assert "Porto" in changed
    assert "superseded" in changed
    assert "lives in Lisbon" in undone
    assert list(tmp_path.iterdir()) == []
