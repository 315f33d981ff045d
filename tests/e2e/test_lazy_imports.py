"""What a fresh process imports: short commands start without the heavy libraries."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.fakes.answers import FakeAnswers, serving, settings_in

ROOT = Path(__file__).parents[2]


def test_a_recall_through_the_daemon_loads_next_to_nothing(tmp_path):
    """Neither the command library, the configuration nor any big part of the
    standard library.
    """
    settings = settings_in(tmp_path / "home", tmp_path / "v")
    script = (
        "import sys; sys.argv = ['engram', 'recall', 'oat milk', '-k', '3', '--vault', sys.argv[1]]\n"
        "from engram.serve.cli import main\n"
        "try: main()\n"
        "finally: print(sorted({'click', 'typing', 'dataclasses', 'inspect', 'pathlib', 'tomllib', 'http', 'asyncio',"
        " 'engram.config', 'engram.serve.commands', 'numpy', 'openai', 'pydantic'}"
        " & set(sys.modules)))"
    )
    answers = FakeAnswers()
    env = {
        **os.environ,
        "ENGRAM_HOME": str(tmp_path / "home"),
        "HOME": str(tmp_path),
        "PYTHONPATH": str(ROOT),
    }
    with serving(answers, settings):
        done = subprocess.run(
            [sys.executable, "-S", "-c", script, str(settings.vault)],
            env=env,
            capture_output=True,
            text=True,
            check=True,
        )
    assert done.stdout.endswith("[]\n"), done.stdout
    assert answers.calls == [("recall", {"query": "oat milk", "k": 3})]


def test_importing_the_simulation_loads_no_heavy_library():
    script = (
        "import sys, engram.testing\n"
        "heavy = {'openai', 'numpy', 'pydantic', 'starlette', 'uvicorn', 'watchdog', 'apscheduler', 'sqlite3', 're2'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_choosing_a_state_folder_loads_no_configuration():
    code = "import sys, engram.vault.location; print({'pathlib', 'typing', 'engram.config'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert done.stdout.strip() == "set()"
