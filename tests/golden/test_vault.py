"""The whole tree, byte for byte: what three weeks of conversation leave on disk."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

HERE = Path(__file__).parent
GOLDEN = HERE / "vault"
CONVERSATION = HERE.parents[1] / "examples" / "three-weeks.jsonl"


def tree(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


def play(memory):
    """Turn by turn, as a chatbot would send them; then what is written seldom."""
    for line in CONVERSATION.read_text().splitlines():
        memory.call("observe", {"turns": [json.loads(line)]})
    memory.save()


# row: X1
# row: X14
# row: C3
def test_three_weeks_leave_this_tree(memory, request):
    """Same turns, same clock, same bytes."""
    play(memory)
    device = memory.usage_tracker.usage_log.device  # no two machines have the same
    found = {
        name.replace(device, "device"): raw
        for name, raw in tree(memory.settings.vault).items()
    }
    if request.config.getoption("--update-golden"):
        shutil.rmtree(GOLDEN, ignore_errors=True)
        for name, raw in found.items():
            (GOLDEN / name).parent.mkdir(parents=True, exist_ok=True)
            (GOLDEN / name).write_bytes(raw)
    assert found == tree(GOLDEN)


# row: C5
def test_the_same_three_weeks_again_change_no_byte(memory):
    """Turns that are known are not told twice."""
    play(memory)
    before = tree(memory.settings.vault)
    play(memory)
    assert tree(memory.settings.vault) == before


# row: X20
def test_a_restart_and_a_rebuild_change_no_byte(memory, opened):
    """Looking is not touching."""
    play(memory)
    before = tree(memory.settings.vault)
    later = opened()
    later.call("reindex", {})
    assert tree(later.settings.vault) == before
