"""Rules about the structure of the code. Each test lists every offender at once."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "engram"

HOMES = {
    "openai": {"engram/llm/endpoint.py"},
    "pydantic": {"engram/llm/replies.py"},
    "watchdog": {"engram/vault/watcher.py"},
    "apscheduler": {"engram/daemon/"},
    "frontmatter": {"engram/vault/frontmatter.py"},
    "yaml": {"engram/vault/frontmatter.py"},
    "sqlite3": {"engram/index/"},
    "psycopg": {"engram/index/"},
    "numpy": {"engram/index/"},
    "rank_bm25": {"engram/index/"},
    "re2": {"engram/core/language/"},
    "onnxruntime": {"engram/index/embedder.py"},
    "tokenizers": {"engram/index/embedder.py", "engram/index/multilingual.py"},
    "starlette": {"engram/serve/", "engram/daemon/"},
    "uvicorn": {"engram/serve/", "engram/daemon/"},
    "click": {"engram/serve/"},
    "jinja2": {"engram/serve/web/"},
    "httpx2": {"engram/serve/proxy/", "engram/serve/forwarding.py"},
}
"""The only places that import a library."""

DISK = {f"engram/vault/{name}.py" for name in ("disk", "exchange", "locks", "syscalls")}
"""The only modules that change files."""

MUTATING_CALLS = {
    "write_text", "write_bytes", "mkdir", "makedirs", "unlink", "rename", "replace_file", "rmdir", "rmtree",
    "symlink_to", "hardlink_to", "touch", "copyfile", "copytree", "chmod", "fsync", "fdatasync", "truncate", "link",
}  # fmt: skip

CATCH_ALL = {
    "engram/daemon/background.py",
    "engram/daemon/pool.py",
    "engram/daemon/threads.py",
    "engram/index/embedder.py",
    "engram/maintenance/plan.py",
    "engram/serve/agents/hook.py",
    "engram/serve/mcp/protocol.py",
    "engram/serve/pool_server.py",
    "engram/serve/proxy/routes.py",
}
"""The daemon's loops, the pool, the runner of the passes, MCP and the proxy survive any
exception; the libraries of a sentence model raise no narrower one.
"""

ROOT_ENTRIES = 18


@cache
def modules() -> dict[str, list[ast.AST]]:
    """The nodes of each module of the package by path; only the worker that needs them
    parses.
    """
    return {
        path.relative_to(ROOT).as_posix(): list(ast.walk(ast.parse(path.read_text())))
        for path in sorted(PACKAGE.rglob("*.py"))
    }


@cache
def imported_packages(path: str) -> set[str]:
    """Top-level names of every import in the module."""
    found = set()
    for node in modules()[path]:
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def test_the_package_root_has_few_entries():
    entries = [
        path.name
        for path in PACKAGE.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    ]
    assert len(entries) <= ROOT_ENTRIES, sorted(entries)


def test_each_library_is_imported_in_its_home_only():
    offenders = [
        f"{package} in {path}"
        for path, nodes in modules().items()
        for package in imported_packages(path) & HOMES.keys()
        if not any(path.startswith(home) for home in HOMES[package])
    ]
    assert not offenders


def test_core_imports_only_the_standard_library_and_re2():
    allowed = {"__future__", "engram", "re2", *sys.stdlib_module_names}
    allowed -= {"os", "io", "pathlib", "random", "time"}
    offenders = [
        f"{path}: {sorted(extra)}"
        for path, nodes in modules().items()
        if path.startswith("engram/core/")
        and (extra := imported_packages(path) - allowed)
    ]
    assert not offenders


def test_core_reads_the_language_files_and_the_table_of_numbers_alone():
    offenders = [
        path
        for path, nodes in modules().items()
        if path.startswith("engram/core/") and "importlib" in imported_packages(path)
    ]
    assert offenders == ["engram/core/language/languages.py", "engram/core/policy.py"]


def test_no_modules_import_each_other_in_a_circle():
    """Neither at once nor late, nor for types alone."""
    names = {
        path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): path
        for path in modules()
    }
    graph: dict[str, set[str]] = {name: set() for name in names}
    for name, path in names.items():
        for node in modules()[path]:
            if isinstance(node, ast.Import):
                graph[name] |= {alias.name for alias in node.names} & names.keys()
            elif isinstance(node, ast.ImportFrom) and node.module:
                wholes = (f"{node.module}.{alias.name}" for alias in node.names)
                graph[name] |= {
                    one if one in names else node.module for one in wholes
                } & names.keys()
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_a_class_name_exists_once():
    places: dict[str, list[str]] = {}
    for path, nodes in modules().items():
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(path)
    offenders = {name: paths for name, paths in places.items() if len(paths) > 1}
    assert not offenders


def test_each_package_says_what_it_is_for():
    offenders = [
        path
        for path, nodes in modules().items()
        if path.endswith("__init__.py")
        and len((ast.get_docstring(nodes[0]) or "").splitlines()) < 3
    ]
    assert not offenders


def test_only_the_disk_modules_change_files():
    offenders = [
        f"{path}:{node.lineno}"
        for path, nodes in modules().items()
        if path not in DISK
        for node in nodes
        if isinstance(node, ast.Call) and _changes_files(node)
    ]
    assert not offenders


def _changes_files(node: ast.Call) -> bool:
    called = node.func
    if isinstance(called, ast.Attribute) and called.attr in MUTATING_CALLS:
        return not (isinstance(called.value, ast.Name) and called.value.id == "disk")
    return (
        isinstance(called, ast.Name)
        and called.id == "open"
        and _opens_for_writing(node)
    )


def _opens_for_writing(node: ast.Call) -> bool:
    by_keyword = (keyword.value for keyword in node.keywords if keyword.arg == "mode")
    mode = node.args[1] if len(node.args) > 1 else next(by_keyword, None)
    return isinstance(mode, ast.Constant) and any(
        letter in str(mode.value) for letter in "wax+"
    )


def test_only_the_daemon_and_the_pass_runner_catch_every_exception():
    offenders = [
        f"{path}:{node.lineno}"
        for path, nodes in modules().items()
        if path not in CATCH_ALL
        for node in nodes
        if isinstance(node, ast.ExceptHandler) and _swallows_everything(node)
    ]
    assert not offenders


def _swallows_everything(node: ast.ExceptHandler) -> bool:
    broad = node.type is None or getattr(node.type, "id", "") in {
        "Exception",
        "BaseException",
    }
    return broad and not any(isinstance(step, ast.Raise) for step in ast.walk(node))


def test_there_are_at_most_forty_settings():
    from engram.config import keys

    assert len(keys()) <= 40


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().split()) <= 600


def test_locks_hold_hashes_and_no_address():
    for name in ("requirements.txt", "requirements-dev.txt"):
        text = (ROOT / name).read_text()
        assert "://" not in text
        for block in re.split(r"\n(?=[a-z])", text.strip()):
            assert "--hash=sha256:" in block, f"{name}: {block[:60]}"
