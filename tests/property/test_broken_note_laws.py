"""Whatever bytes an edit leaves in a note, recall tells nothing that is not in the file
now, and never fails.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from engram import config
from engram.core import trust
from engram.memory import VaultMemory
from engram.vault import frontmatter
from tests.size import examples

DAY = "2026-11-01"
ID = "01KBH2Q0M6T4W2Y0B7C5D9E1FX"
FACT = (
    f"---\nid: {ID}\ncategory: preference\ncreated: {DAY}T10:00:00\nstatus: active\npersona: luna\nabout:\n"
    '  - "[[Anna]]"\n---\nAnna drinks tea with René.\n\n![[s#^t1]]\n\n## History\n\n'
    "- until 2026-10-01: Anna drank milk.\n"
)
SESSION = (
    f"---\nid: 01KBH2Q0M6T4W2Y0B7C5D9E1FY\nsession: s\npersona: luna\nstarted: {DAY}T10:00:00\n"
    f"ended: {DAY}T10:05:00\nturns: 2\n---\n## Conversation\n\n> [!user] 10:00 %%a%%\n> Anna drinks tea.\n\n^t1\n\n"
    "> [!assistant] 10:01 %%b%%\n> Noted, tea for Anna.\n\n^t2\n"
)
PIECES = [
    b"---\n",
    b"--- \n",
    b"\t",
    b"[",
    b"\xff",
    b"\0",
    b"\r\n",
    b"\xef\xbb\xbf",
    b"persona: luna\n",
    b"status: archived\n",
]
PIECES += [
    b"<<<<<<< a\n",
    b"=======\n",
    b">>>>>>> b\n",
    b'"',
    b"^t1\n",
    b"> [!user]\n",
    b"## History\n",
    b": ",
    b"&a ",
    b"!!x ",
]
EDITS = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.integers(0, 40),
        st.one_of(st.sampled_from(PIECES), st.binary(max_size=8), st.just(b"")),
    ),
    min_size=1,
    max_size=4,
)


def edited(raw, edits):
    """`raw` with each stretch (where it begins as a share, its length) replaced by
    other bytes.
    """
    for share, length, piece in edits:
        at = int(share * len(raw))
        raw = raw[:at] + piece + raw[at + length :]
    return raw


def in_file(text, raw):
    """Whether every line that was told stands in the file, as far as the file is text."""
    held = (
        raw.decode("utf-8", "replace")
        .replace("\r\n", "\n")
        .replace("&#", "")
        .replace("\0", "\ufffd")
    )
    return all(line.strip().removeprefix("> ") in held for line in text.splitlines())


@pytest.fixture(scope="module")
def memory(tmp_path_factory):
    folder = tmp_path_factory.mktemp("broken")
    vault = folder / "vault"
    vault.mkdir(mode=0o700)
    (vault / "engram.toml").write_text(f'id = "{ID}"\nzone = "UTC"\n')
    clock = lambda: datetime(2026, 11, 20, 20, tzinfo=UTC)  # noqa: E731
    made = VaultMemory(
        config.load(vault, {"ENGRAM_HOME": str(folder / "home"), "HOME": str(folder)}),
        clock=clock,
    )
    made.start()
    made.catch_up()
    yield made
    made.close()


def told(memory, standing="chat", **wishes):
    return memory.call(
        "recall",
        {"query": "Anna drinks tea milk René noted", "k": 20, **wishes},
        standing,
    )["hits"]


# row: X3
# row: X19
@pytest.mark.parametrize(
    ("path", "good"),
    [
        (f"facts/{DAY}/preference-a-00000000.md", FACT),
        (f"sessions/{DAY}/{DAY}-s.md", SESSION),
    ],
)
@examples(120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=EDITS, known=st.booleans())
def test_no_edit_makes_recall_tell_what_is_not_in_the_file(
    memory, path, good, edits, known
):
    """With and without last good keys, before and after the scan; a broken persona is
    never lost to the public.
    """
    target = memory.settings.vault / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(good)
    memory.files.rescan(None)
    if not known:
        target.unlink()
        memory.files.rescan(None)
        memory.index.scanner.scan(None, accept_deletions=True)
        memory.index.rebuild()
    raw = edited(good.encode(), edits)
    target.write_bytes(raw)
    broken = any(
        problem.code in frontmatter.UNREADABLE_KEYS
        for problem in frontmatter.read(raw).problems
    )
    for _ in range(2):
        public, hers, mine = (
            told(memory),
            told(memory, persona="luna"),
            told(memory, trust.OWNER),
        )
        for hit in (*public, *hers, *mine):
            assert hit["path"] != path or in_file(hit["text"], raw), (hit["text"], raw)
        if broken:
            assert path not in {
                hit["path"] for hit in (public if known else public + hers)
            }
            assert all(hit["fault"] for hit in hers + mine if hit["path"] == path)
        json.dumps(memory.call("doctor", {}), ensure_ascii=False).encode()
        memory.files.rescan(None)
    assert target.read_bytes() == raw
    assert set(memory.health.problems()) <= {"frozen"}
