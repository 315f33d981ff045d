"""Two devices with a vault each, and a tool that copies the newer of two files."""

from __future__ import annotations

import shutil
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from engram.testing import Simulation
from engram.vault import frontmatter, sessions
from tests.fakes.answers import ID

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


def copy_newer(vaults):
    """Copy each file that differs over the older one, as Syncthing does."""
    every = {
        path.relative_to(vault)
        for vault in vaults
        for path in vault.rglob("*")
        if path.is_file()
    }
    for name in every:
        here, there = (vault / name for vault in vaults)
        if here.exists() and there.exists():
            if here.read_bytes() == there.read_bytes():
                continue
            new, old = sorted(
                (here, there), key=lambda path: path.stat().st_mtime_ns, reverse=True
            )
        else:
            new, old = (here, there) if here.exists() else (there, here)
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


def test_each_acknowledged_turn_of_two_devices_is_in_one_session_file_of_both(pair):
    """Although both continue one conversation, remember, and summarise."""
    sims, vaults = pair
    said = Counter()
    for hour in range(1, 7):
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
        copy_newer(vaults)
        for sim in sims:
            sim.files_changed()
            sim.advance(START + timedelta(hours=hour))
    for _ in range(3):
        copy_newer(vaults)
        for sim in sims:
            sim.files_changed()
            sim.advance(sim.now + timedelta(hours=12))
    for vault in vaults:
        turns = turns_in(vault)
        assert Counter(turn.text for turn in turns) == said
        assert max(Counter((one.session, one.id) for one in turns).values()) == 1
