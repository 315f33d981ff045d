"""What memories say of a file system, compared with it: nothing is run, and only what a
user named is looked at.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engram.core import drift
from engram.core.drift import PathClaim
from tests.fakes.keeping import Keeping

OURS = {"origin": "rules", "kind": "note"}


# row: D10
@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "The notes are in /srv/app/notes.txt.",
            [PathClaim("path", "/srv/app/notes.txt")],
        ),
        (
            "The config is src/app/config.toml, she said.",
            [PathClaim("path", "src/app/config.toml")],
        ),
        (
            "`load()` in `src/io.py` reads it.",
            [
                PathClaim("function", "load", "src/io.py"),
                PathClaim("path", "src/io.py"),
            ],
        ),
        ("Start it with npm run dev:all.", [PathClaim("command", "dev:all", "npm")]),
        ("Check it with `make check`.", [PathClaim("command", "check", "make")]),
        ("The app depends on `leftpad`.", [PathClaim("dependency", "leftpad")]),
        ("Make sure to run npm.", []),
        ("See https://example.org/a/b.html for more.", []),
        ("The path is /srv/{name}/x and ${HOME}/y/z.txt.", []),
        ("Anna drinks tea and/or coffee on 2026/11/20.", []),
        ("The file is in ~/notes/today.md.", []),
    ],
)
def test_what_a_text_claims(text, found):
    assert drift.find_claims(text) == found


# row: D10
@pytest.mark.parametrize(
    ("claim", "held", "finding"),
    [
        (PathClaim("path", "/r/a"), {"/r/a": b""}, None),
        (PathClaim("path", "/r/a"), {}, ("error", "DEAD_PATH")),
        (PathClaim("path", "src/a.py"), {}, ("warning", "DEAD_PATH")),
        (PathClaim("path", "src/a.py"), {"/r/src/a.py": b"x"}, None),
        (PathClaim("function", "load", "a.py"), {"/r/a.py": b"def load(): ..."}, None),
        (
            PathClaim("function", "load", "a.py"),
            {"/r/a.py": b"def reload(): ..."},
            ("warning", "MISSING_FUNCTION"),
        ),
        (PathClaim("function", "load", "a.py"), {}, None),
        (
            PathClaim("command", "dev", "npm"),
            {"/r/package.json": b'{"scripts": {"dev": "x"}}'},
            None,
        ),
        (
            PathClaim("command", "dev", "npm"),
            {"/r/package.json": b'{"scripts": {}}'},
            ("warning", "DEAD_COMMAND"),
        ),
        (PathClaim("command", "dev", "npm"), {"/r/package.json": b"not json"}, None),
        (PathClaim("command", "dev", "npm"), {}, None),
        (
            PathClaim("command", "check", "make"),
            {"/r/Makefile": b"all check: x\n\tls\n"},
            None,
        ),
        (
            PathClaim("command", "check", "make"),
            {"/r/Makefile": b"X := check\n"},
            ("warning", "DEAD_COMMAND"),
        ),
        (
            PathClaim("dependency", "numpy"),
            {"/r/requirements.txt": b"NumPy==2\n"},
            None,
        ),
        (
            PathClaim("dependency", "numpy"),
            {"/r/requirements.txt": b"scipy\n"},
            ("warning", "MISSING_DEPENDENCY"),
        ),
        (PathClaim("dependency", "numpy"), {}, None),
    ],
)
def test_a_claim_is_checked_and_without_a_place_to_look_nobody_can_tell(
    claim, held, finding
):
    found = drift.check_claim(claim, ["/r"], held.get)
    assert (found and (found.level, found.code)) == finding


# -- through the running memory --------------------------------------------------------


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "work"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "here.py").write_text("def load(): ...\n")
    return folder


@pytest.fixture
def keeping(opened, root):
    return Keeping(opened(drift_roots=(str(root),)))


def looked(keeping, **more):
    return keeping.memory.call("consolidate", {"only": "drift", **more})


# row: D10
# row: X6
def test_a_dead_path_invalidates_and_the_rest_is_told(keeping, root):
    dead = keeping.fact(f"The parser is in {root}/src/gone.py.", **OURS)
    here = keeping.fact(f"The loader is in {root}/src/here.py.", **OURS)
    relative = keeping.fact("The tests are in tests/test_here.py.", **OURS)
    before = keeping.tree()
    report = looked(keeping)
    gone = keeping.seen(dead)
    assert (gone.status, gone.end_reason) == (
        "invalidated",
        f"drift: nothing exists at {root}/src/gone.py",
    )
    assert [keeping.seen(name).status for name in (here, relative)] == [
        "active",
        "active",
    ]
    assert [(one["memory"], one["why"]) for one in report["findings"]] == [
        (relative, "warning DEAD_PATH: nothing exists at tests/test_here.py"),
        ("", "score 97 of 100"),
    ]
    bytes_now = keeping.everything()
    assert looked(keeping)["actions"] == ()
    assert keeping.everything() == bytes_now
    keeping.memory.call("undo", {"id": report["run"]})
    assert keeping.tree() == before
    assert looked(keeping)["actions"] == ()


# row: D10
def test_nothing_outside_the_roots_is_looked_at(keeping, root, tmp_path):
    """Nor what a link leads to; a root that is not there, as an unmounted disk, proves
    nothing.
    """
    (root / "link").symlink_to(tmp_path / "nowhere")
    told = [
        f"The parser is in {tmp_path}/elsewhere/gone.py.",
        f"The parser is in {root}/../elsewhere/gone.py.",
        f"The parser is in {root}/link/gone.py.",
        f"The parser is in {root}er/gone.py.",
    ]
    names = [keeping.fact(text, **OURS) for text in told]
    looked(keeping)
    assert {keeping.seen(name).status for name in names} == {"active"}
    gone = keeping.fact(f"The parser is in {root}/src/gone.py.", **OURS)
    root.rename(tmp_path / "unmounted")
    looked(keeping)
    assert keeping.seen(gone).status == "active"


# row: D10
@pytest.mark.parametrize(
    ("days", "level"), [(59, None), (60, "warning"), (180, "error")]
)
def test_a_claim_that_nobody_touched_for_long_is_told(keeping, root, days, level):
    keeping.fact(f"The loader is in {root}/src/here.py.", days=days, **OURS)
    found = [
        one["why"].split(" ")[0:2]
        for one in looked(keeping)["findings"]
        if one["memory"]
    ]
    assert found == ([[level, "STALE_MEMORY:"]] if level else [])


# row: D10
def test_without_roots_or_in_the_layer_of_code_nothing_is_compared(opened, root):
    keeping = Keeping(opened(drift_roots=(str(root),)))
    name = keeping.fact(
        f"The parser is in {root}/src/gone.py.", layer="codebase", **OURS
    )
    other = keeping.fact(f"The printer is in {root}/src/gone.py.", **OURS)
    keeping = Keeping(opened())
    assert looked(keeping)["findings"] == ()
    keeping = Keeping(opened(drift_roots=(str(root),)))
    looked(keeping)
    assert [keeping.seen(one).status for one in (name, other)] == [
        "active",
        "invalidated",
    ]


# row: D10
def test_what_is_active_after_its_end_is_told(keeping, opened, root):
    """Also where no folder is configured; one score counts all that is wrong."""
    over = keeping.fact(
        "Anna works at Acme.", valid_until=datetime(2026, 11, 1, 23, tzinfo=UTC), **OURS
    )
    keeping.fact(
        "Ben works at Acme.", valid_until=datetime(2027, 11, 1, tzinfo=UTC), **OURS
    )
    keeping.fact(f"The parser is in {root}/src/gone.py.", origin="user")
    keeping.fact("The tests are in tests/test_here.py.", **OURS)
    told = [(one["memory"], one["why"]) for one in looked(keeping)["findings"]]
    why = "warning INVALIDATED_ACTIVE: it ended on 2026-11-02 and is still active"
    assert (over, why) in told
    assert [text for memory, text in told if not memory] == ["score 84 of 100"]
    keeping = Keeping(opened())
    assert (over, why) in [
        (one["memory"], one["why"]) for one in looked(keeping)["findings"]
    ]
