"""The house rules, held by the machine."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "engram").rglob("*.py"))
TREES = {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text()) for path in MODULES}

HOMES = {
    "openai": {"engram/llm/endpoint.py"},
    "watchdog": {"engram/vault/watch.py"},
    "apscheduler": {"engram/daemon.py"},
    "frontmatter": {"engram/vault/note.py", "engram/vault/yaml.py"},
    "yaml": {"engram/vault/note.py", "engram/vault/yaml.py"},
    "sqlite3": {"engram/index"},
    "numpy": {"engram/index"},
    "rank_bm25": {"engram/index"},
    "re2": {"engram/core/signals.py", "engram/core/redact.py"},
    "starlette": {"engram/serve", "engram/daemon.py"},
    "uvicorn": {"engram/serve", "engram/daemon.py"},
    "click": {"engram/serve"},
}
FORBIDDEN_NAMES = re.compile(r"manager|engine|orchestrator|service|handler|helper|utils|processor", re.IGNORECASE)
DISK = {"engram/vault/files.py", "engram/vault/exchange.py", "engram/vault/syscalls.py"}
MUTATING_CALLS = {
    "write_text", "write_bytes", "mkdir", "makedirs", "unlink", "rename", "replace_file", "rmdir", "rmtree",
    "symlink_to", "hardlink_to", "touch", "copyfile", "copytree", "chmod", "fsync", "fdatasync", "truncate", "link",
}  # fmt: skip


def imports(tree: ast.AST) -> set[str]:
    """Top-level names of everything that is imported, wherever it stands."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


@pytest.mark.parametrize("path", TREES)
def test_no_module_has_more_than_500_lines(path):
    assert len((ROOT / path).read_text().splitlines()) <= 500


@pytest.mark.parametrize("path", TREES)
def test_no_function_has_more_than_60_lines(path):
    long = [
        node.name
        for node in ast.walk(TREES[path])
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (node.end_lineno or 0) - node.lineno >= 60
    ]
    assert not long


@pytest.mark.parametrize("path", TREES)
def test_every_package_has_one_home(path):
    for package, homes in HOMES.items():
        if package in imports(TREES[path]):
            assert any(path == home or path.startswith(home + "/") for home in homes), f"{package} in {path}"


@pytest.mark.parametrize("path", [path for path in TREES if path.startswith("engram/core/")])
def test_core_imports_only_the_standard_library_and_re2(path):
    allowed = {"__future__", "engram", "re2", *sys.stdlib_module_names} - {"os", "io", "pathlib", "random", "time"}
    assert imports(TREES[path]) <= allowed


@pytest.mark.parametrize("path", TREES)
def test_names_say_what_a_thing_is(path):
    names = {Path(path).stem} | {
        node.name for node in ast.walk(TREES[path]) if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }
    assert not [name for name in names if FORBIDDEN_NAMES.search(name)]


@pytest.mark.parametrize("path", [path for path in TREES if path not in DISK])
def test_only_files_changes_files(path):
    """No module but vault/files.py, with its exchange and its system calls, changes the disk."""
    guilty = []
    for node in ast.walk(TREES[path]):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Attribute) and called.attr in MUTATING_CALLS and not _is_ours(called):
            guilty.append(f"{called.attr}:{node.lineno}")
        if isinstance(called, ast.Name) and called.id == "open" and _writes(node):
            guilty.append(f"open:{node.lineno}")
    assert not guilty


def _is_ours(called: ast.Attribute) -> bool:
    return isinstance(called.value, ast.Name) and called.value.id == "files"


def _writes(node: ast.Call) -> bool:
    mode = node.args[1] if len(node.args) > 1 else next((k.value for k in node.keywords if k.arg == "mode"), None)
    return isinstance(mode, ast.Constant) and any(letter in str(mode.value) for letter in "wax+")


LOOPS = {"engram/background.py", "engram/daemon.py", "engram/draft.py"}


@pytest.mark.parametrize("path", [path for path in TREES if path not in LOOPS])
def test_only_the_daemon_loop_and_the_pass_runner_catch_everything(path):
    broad = [
        node.lineno
        for node in ast.walk(TREES[path])
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or getattr(node.type, "id", "") in {"Exception", "BaseException"})
        and not any(isinstance(step, ast.Raise) for step in ast.walk(node))
    ]
    assert not broad


def test_the_storeys_stand():
    """import-linter finds no import that goes up."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_fewer_than_forty_settings():
    from engram.config import keys

    assert len(keys()) < 40


def test_help_and_hot_verbs_load_nothing_heavy():
    """`engram --help` imports none of the heavy packages."""
    script = (
        "import sys; sys.argv = ['engram', '--help']\n"
        "from engram.serve.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'openai', 'numpy', 'pydantic', 'starlette', 'uvicorn', 'watchdog', 'apscheduler', 'sqlite3', 're2'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().split()) <= 600


def test_locks_hold_hashes_and_no_address():
    for name in ("requirements.txt", "requirements-dev.txt"):
        text = (ROOT / name).read_text()
        assert "://" not in text
        for block in re.split(r"\n(?=[a-z])", text.strip()):
            assert "--hash=sha256:" in block
