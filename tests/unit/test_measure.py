"""The size of the code has limits that only fall."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = '"""What it is."""\n\n\ndef double(x):\n    """Return two of it."""\n    return 2 * x\n'
LIMITS = {
    "why": "because",
    "tokens": 10,
    "lines": 6,
    "lines_serve": 1,
    "files": 2,
    "data": 2,
    "tests": 3,
}


@pytest.fixture
def project(tmp_path):
    """A copy of the tool in a small project."""
    for path, text in {
        "engram/one.py": CODE,
        "engram/serve/two.py": "A = 1\n",
        "engram/words.toml": "a = 1\nb = 2\n",
        "tests/test_one.py": "A = 1\n" * 3,
        "tests/golden/size.json": json.dumps(LIMITS),
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "measure", tmp_path / "tools")
    return tmp_path


def measured(project, *flags):
    return subprocess.run(
        [sys.executable, "-S", project / "tools" / "measure", *flags],
        capture_output=True,
        text=True,
        check=False,
    )


def limits(project):
    return json.loads((project / "tests" / "golden" / "size.json").read_text())


def test_a_project_within_its_limits_passes_and_each_sum_is_told(project):
    run = measured(project)
    assert (run.returncode, run.stderr) == (0, "")
    for name, limit in LIMITS.items():
        assert name == "why" or f"{name}={limit}" in run.stdout.split()


@pytest.mark.parametrize("flags", [(), ("--update",)])
def test_a_sum_above_its_limit_fails_by_name_and_is_never_raised(project, flags):
    (project / "tests" / "test_one.py").write_text("A = 1\n" * 4)
    run = measured(project, *flags)
    assert run.returncode == 1
    assert "tests rose to 4; its limit is 3" in run.stderr
    assert limits(project) == LIMITS


def test_updating_lowers_the_limits_and_keeps_the_reason(project):
    (project / "tests" / "test_one.py").write_text("A = 1\n")
    assert measured(project, "--update").returncode == 0
    assert limits(project) == LIMITS | {"tests": 1}
