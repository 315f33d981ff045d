"""Two devices with a vault each, and a tool that copies files both ways."""

from __future__ import annotations

import shutil
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from engram.testing import Simulation
from engram.vault import frontmatter, sessions
from engram.vault.paths import is_conflict_copy
from tests.fakes.answers import ID
from tests.size import FULL

START = datetime(2026, 3, 6, 8, 0, tzinfo=UTC)


@pytest.fixture
def pair(tmp_path):
    """The simulations of both devices, and their vaults."""
    sims, vaults = [], []
    for name in ("desk", "lap"):
        vault = tmp_path / name
        vault.mkdir()
        (vault / "engram.toml").write_text(f'id = "{ID}"\n')
        sims.append(Simulation(vault, at=START, home=tmp_path / f"{name}-home"))
        vaults.append(vault)
    yield sims, vaults
    for sim in sims:
        sim.close()


CONFLICTS = {
    "newer wins": "",
    "syncthing": "{stem}.sync-conflict-20260306-090000-ABCDEFG{suffix}",
    "dropbox": "{stem} (lap's conflicted copy 2026-03-06){suffix}",
}
"""How tools name the older of two versions, which the first one drops."""


class Tool:
    """Copies what changed on one side, and deletes what was deleted there.

    What changed on both sides since the last round is a conflict: the newer one wins,
    and `keep` names the copy of the other, if there is one.
    """

    def __init__(self, vaults, keep):
        self.vaults, self.keep, self.known = vaults, keep, {}

    def run(self):
        files = [
            {
                path.relative_to(vault): path
                for path in vault.rglob("*")
                if path.is_file()
            }
            for vault in self.vaults
        ]
        for name in sorted(files[0].keys() | files[1].keys() | self.known.keys()):
            sides = [
                side[name].read_bytes() if name in side else None for side in files
            ]
            if sides[0] == sides[1]:
                continue
            changed = [
                number for number in (0, 1) if sides[number] != self.known.get(name)
            ]
            if len(changed) == 2:
                there = [number for number in (0, 1) if sides[number] is not None]
                times = {
                    number: files[number][name].stat().st_mtime_ns for number in there
                }
                winner = max(times, key=times.__getitem__)
                loser = sides[1 - winner]
                if self.keep and loser is not None:
                    other = name.with_name(
                        self.keep.format(stem=name.stem, suffix=name.suffix)
                    )
                    for vault in self.vaults:
                        (vault / other).write_bytes(loser)
            else:
                (winner,) = changed
            self.copy(name, winner)
        self.known = {
            path.relative_to(self.vaults[0]): path.read_bytes()
            for path in self.vaults[0].rglob("*")
            if path.is_file()
        }

    def copy(self, name, winner):
        new, old = self.vaults[winner] / name, self.vaults[1 - winner] / name
        if not new.exists():
            old.unlink()
            return
        old.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(new, old)


def turns_in(vault):
    """The turns of all session files of a vault."""
    return [
        filed.turn
        for path in vault.glob("sessions/*/*.md")
        for note in [frontmatter.read(path.read_bytes())]
        for filed in sessions.conversation_from(note, str(path), UTC)[0].turns
    ]


# row: X38
@pytest.mark.parametrize("keep", CONFLICTS.values(), ids=CONFLICTS)
def test_what_two_devices_forget_at_once_is_forgotten_on_both(pair, keep):
    """The tool keeps one of two files of tombstones; each device knows its own rows."""
    sims, vaults = pair
    tool = Tool(vaults, keep)
    trees = ("The willow at the weir is hollow.", "The elder by the mill is sick.")
    for text in trees:
        sims[0].call("observe", turns=[{"session": "walk", "text": text}])
    sims[0].call("flush")
    for hour in range(1, 5):
        tool.run()
        for sim in sims:
            sim.files_changed()
            sim.advance(START + timedelta(hours=hour))
        if hour == 1:
            for sim, text in zip(sims, trees, strict=True):
                hits = sim.call("recall", query=text)["hits"]
                (found,) = [one for one in hits if one["text"] == text]
                sim.call("forget", id=found["id"])
    for sim in sims:
        assert not sim.call("recall", query="willow weir elder mill")["hits"]


ROUNDS = 30 if FULL else 2


# row: X38
@pytest.mark.parametrize("keep", CONFLICTS.values(), ids=CONFLICTS)
def test_each_acknowledged_turn_of_two_devices_is_in_one_session_file_of_both(
    pair, keep
):
    """Although both continue one conversation, remember, edit one note and summarise.

    A copy that is left of a conflict waits in review, and there is none of a copy.
    """
    sims, vaults = pair
    tool = Tool(vaults, keep)
    said = Counter()
    (sims[0].call("remember", text="The ferry to Barreiro leaves at nine."))
    said["The ferry to Barreiro leaves at nine."] += 1
    for hour in range(1, ROUNDS + 1):
        for name, sim in zip(("desk", "lap"), sims, strict=True):
            for number in range(4):
                text = f"The {name} saw tram {number} at {hour} on the quay."
                turn = {"id": f"{name}-{hour}-{number}", "session": "trip"}
                sim.call("observe", turns=[turn | {"text": text}])
                said[text] += 1
            kept = f"The {name} has berth {hour} in the harbour."
            sim.call("remember", text=kept)
            said[kept] += 1
            sim.call("flush")
        if hour == 2:
            for name, vault in zip(("desk", "lap"), vaults, strict=True):
                (note,) = vault.glob("facts/*/fact-the-ferry*.md")
                note.write_text(
                    note.read_text().replace("at nine", f"at nine, says the {name}")
                )
        tool.run()
        for sim in sims:
            sim.files_changed()
            sim.advance(START + timedelta(hours=hour))
    for _ in range(3):
        tool.run()
        for sim in sims:
            sim.files_changed()
            sim.advance(sim.now + timedelta(hours=12))
    for sim, vault in zip(sims, vaults, strict=True):
        turns = turns_in(vault)
        assert Counter(turn.text for turn in turns) == said
        assert max(Counter((one.session, one.id) for one in turns).values()) == 1
        copies = [
            path.name for path in vault.rglob("*.md") if is_conflict_copy(path.name)
        ]
        assert bool(copies) is bool(keep)
        assert not any(name.count("conflict") > 1 for name in copies)
        assert bool(sim.call("review")["cases"]) is bool(keep)
        (ferry,) = [
            hit
            for hit in sim.call("recall", query="ferry to Barreiro", kinds=["fact"])[
                "hits"
            ]
            if "ferry" in hit["text"]
        ]
        assert ferry["text"].startswith(
            "The ferry to Barreiro leaves at nine, says the"
        )
