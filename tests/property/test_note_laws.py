"""Laws of the note format, on generated notes, keys, bytes and conversations."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
import yaml
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

from engram.core.categories import CATEGORIES
from engram.core.markdown import escape, plain_text, unescape
from engram.core.policy import FilePolicy
from engram.core.records import ROLES, STATUSES, Fact, FiledTurn, Turn
from engram.errors import ConflictError
from engram.vault import facts, formats, frontmatter, sessions
from tests.size import examples

PATIENT = {"suppress_health_check": [HealthCheck.too_slow, HealthCheck.filter_too_much]}
ZONES = [
    ZoneInfo(name)
    for name in (
        "Europe/Berlin",
        "UTC",
        "Asia/Kathmandu",
        "America/St_Johns",
        "Australia/Lord_Howe",
    )
]


SIGNS = """
NO yes 12:30 01234 1.0 1e5 .5 null ~ true 0x1f 1_000 2026-11-20 - ? : # a:b [x] {y} *a &b !c |- > % @ ` --- ... ^t3 ##
%% <script> <%x%> ```dataviewjs ```python ``` ~~~ &lt; &amp;lt; ![[x]] $= \\ \\< \\\\ é 漢字 😀
"""
tricky = st.sampled_from([*SIGNS.split(), "a:\u00a0b", "\u2028", "\ufeff"])
blanks = st.sampled_from(
    [" ", "\n", "\t", "  ", ": ", " #", "- ", "\r\n", "`", "> ", "|"]
)
phrases = st.lists(tricky | blanks | st.text(max_size=6), max_size=8).map("".join)
texts = phrases.map(lambda text: text.encode("utf-8", "replace").decode())
names = st.from_regex(
    r"[A-Za-z_][A-Za-z0-9_ .-]{0,20}[a-z]", fullmatch=True
) | texts.filter(lambda t: len(t) < 60)
numbers = st.integers(-(10**17), 10**17) | st.decimals(-(10**9), 10**9, places=2).map(
    float
)
scalars = texts | numbers | st.booleans()
values = scalars | st.lists(scalars, max_size=4)
front_matters = st.dictionaries(names, values, max_size=6)
bodies = texts.map(lambda text: plain_text(text).rstrip("\n") + "\n").filter(
    lambda body: body != "\n"
)


def same(left: object, right: object) -> bool:
    """Equal in value and in kind: True is not 1, and 1 is not '1'."""
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    whole = isinstance(left, int | float) and isinstance(right, int | float)
    return left == right and (
        type(left) is type(right) or (whole and bool not in {type(left), type(right)})
    )


def unproblematic(raw: bytes) -> frontmatter.Note:
    found = frontmatter.read(raw)
    assume(not any(problem.code == "conflict" for problem in found.problems))
    assert not found.problems
    return found


# row: X3
@examples(1000, 30, **PATIENT)
@given(front_matters, bodies)
def test_what_is_emitted_is_read_back(keys, body):
    """read(emit(keys, body)) is (keys, body)."""
    found = unproblematic(frontmatter.emit(keys, body))
    assert list(found.keys) == list(keys)
    assert all(same(found.keys[key], value) for key, value in keys.items())
    assert found.body == body


@examples(1000, 16, **PATIENT)
@given(front_matters, bodies)
def test_every_yaml_reader_sees_the_same_text(keys, body):
    """Text in a new note is the same text for a YAML 1.1 reader; only dates, which
    Obsidian wants bare, may differ.
    """
    front = frontmatter.read(frontmatter.emit(keys, body)).front
    other = yaml.load(front, yaml.CSafeLoader) or {}
    for key, value in keys.items():
        if isinstance(value, str) and not value[:4].isdigit():
            assert other[key] == value


# row: X3
@examples(700, 20, **PATIENT)
@given(
    front_matters, bodies, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans()
)
def test_an_empty_edit_changes_nothing(keys, body, newline, bom, final):
    """edit(raw, {}) is raw, and so is an edit that says what the note says already."""
    raw = dressed(frontmatter.emit(keys, body), newline, bom=bom, final=final)
    found = unproblematic(raw)
    assert frontmatter.edit(raw, {}) == raw
    assert frontmatter.edit(raw, found.keys, found.body) == raw


def dressed(raw: bytes, newline: str, *, bom: bool, final: bool) -> bytes:
    """The note as another editor would have saved it."""
    text = raw.decode().replace("\n", newline)
    return (
        ("\ufeff" if bom else "") + (text if final else text.removesuffix(newline))
    ).encode()


lines = st.sampled_from(
    [
        "# a comment",
        "",
        "mine: 'single # not a comment'   # a comment",
        "flow: [a, 'b', \"c\"]  # flow",
        "nested:\n  deeper: 1 # kept\n  more:\n    - x",
        "block: |\n  # text, no comment\n  second\n\n",
        "folded: >-\n  one\n  two",
        "empty:",
        "empty2:   # still empty",
        '"quoted key": yes',
        "wide   :    3",
        "plain: over\n  two lines",
        "about:   # who\n  # the first\n  - '[[Anna]]'  # sister\n  - Bob",
        "tags:\n- a\n-   b # hm",
        "zero:\n  -\n  - x",
        "date: 2026-11-20",
        "emoji: 😀 # 漢字",
    ]
)
changeable = [
    "new",
    "other",
    "mine",
    "flow",
    "nested",
    "block",
    "folded",
    "empty",
    "empty2",
    "wide",
    "plain",
    "about",
]
edits = st.dictionaries(
    st.sampled_from([*changeable, "tags", "zero", "date", "emoji"]),
    st.none()
    | scalars
    | st.lists(
        st.sampled_from(["[[Anna]]", "Bob", "a", "b", "x", "[[New]]"]), max_size=3
    ),
    max_size=4,
)


def chunk_key(chunk: str) -> str:
    return chunk.partition(":")[0].strip().strip('"')


# row: X3
@examples(700, 50, **PATIENT)
@given(
    st.lists(lines, unique_by=chunk_key, max_size=8),
    edits,
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    bodies,
)
def test_an_edit_changes_no_byte_it_was_not_asked_to(
    chunks, changes, newline, bom, body
):
    """Comments, quoting, order, unknown keys, line ends, BOM and body survive; the edit
    says what was asked.
    """
    text = "".join(f"{chunk}\n" for chunk in chunks)
    raw = dressed(f"---\n{text}---\n{body}".encode(), newline, bom=bom, final=False)
    before = unproblematic(raw)
    new = frontmatter.edit(raw, changes)
    after = frontmatter.read(new)
    assert not after.problems
    assert after.body == before.body
    for key, value in changes.items():
        assert (value is None and key not in after.keys) or same(after.keys[key], value)
    rest = iter(new.decode().removeprefix("\ufeff").split(newline))
    kept = [
        line
        for chunk in chunks
        if chunk_key(chunk) not in changes
        for line in chunk.split("\n")
    ]
    assert all(line in rest for line in ["---", *kept, "---"])
    assert (b"\r\n" in new) == (newline == "\r\n")
    assert new.startswith(b"\xef\xbb\xbf") == bom
    assert frontmatter.edit(new, changes) == new


# row: X3
@examples(12000, 60, **PATIENT)
@given(
    st.binary(max_size=400)
    | st.lists(tricky | blanks | lines | st.just("---\n"), max_size=14).map(
        lambda parts: "".join(parts).encode()
    )
    | st.lists(st.sampled_from(list("-[]{}:,&*!?|>'\"%#@ \n\ta1~")), max_size=60).map(
        lambda signs: f"---\n{''.join(signs)}\n---\n".encode()
    )
)
def test_reading_never_fails_and_a_faulty_note_is_never_written(raw):
    """Any bytes give a note; where it has a problem, an edit is refused, else it does
    what it was asked.
    """
    found = frontmatter.read(raw)
    assert not found.problems or not found.keys
    if found.problems:
        with pytest.raises(ConflictError):
            frontmatter.edit(raw, {"new": 1})
        return
    try:
        new = frontmatter.edit(raw, {"new": "x"})
    except ConflictError:
        return
    assert frontmatter.read(new).keys == {**found.keys, "new": "x"}
    assert frontmatter.read(new).body == found.body


plain_lines = st.lists(
    st.from_regex(
        r"""(?:[a-z_]{1,4}:|  -|- |#|""| )(?: (?:[A-Za-z\d .,:/_-]{0,8}|"[ -~\w]{0,5}"|null|NO|1e3|12:30|0\.5|é:2))?""",
        fullmatch=True,
    ),
    max_size=6,
).map(lambda found: "".join(f"{line}\n" for line in found))


@examples(2000, 80, **PATIENT)
@given(plain_lines)
def test_the_short_way_reads_what_yaml_reads(front):
    """The fast path is libyaml's own answer, kinds included, or no answer."""
    assume("\r" not in front)
    short = frontmatter._plain_keys(front, FilePolicy())
    if short is None:
        return
    frontmatter._guard(front, FilePolicy())
    tree = frontmatter._compose(front)
    long = frontmatter._mapping(front, tree) if tree else {}
    assert repr(short) == repr(long)


# row: X3
@examples(2000, 40, **PATIENT)
@given(texts)
def test_inert_text_is_taken_back_exactly(text):
    """What was made harmless for Markdown reads back as it was said."""
    assert unescape(escape(text)) == text


@examples(1000, 20, **PATIENT)
@given(texts)
def test_nothing_in_inert_text_can_run(text):
    """No Templater tag, embed, inline query or fence of an unknown language is left in
    inert text.
    """
    shown = escape(text)
    assert "<%" not in shown
    assert "![[" not in shown
    assert not any(
        line.lstrip(" >-").startswith(("```dataview", "~~~dataview"))
        for line in shown.split("\n")
    )


@examples(1000, 20, **PATIENT)
@given(texts | st.text())
def test_a_title_is_one_line_and_is_taken_back_exactly(text):
    """A speaker or an id of any signs stands on one line and reads back as it was."""
    text = plain_text(text)
    shown = formats.title(text)
    assert "\n" not in shown
    assert "%" not in shown
    assert formats.unescaped_title(shown) == text


instants = st.datetimes(
    datetime(1950, 1, 1),  # noqa: DTZ001
    datetime(2090, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
).map(lambda when: when.replace(microsecond=0))


@examples(1000, 20, **PATIENT)
@given(instants, st.sampled_from(ZONES))
def test_a_local_time_reads_back_as_the_instant(when, zone):
    """Also in the hour that a clock change repeats."""
    assert formats.time_value(formats.time_text(when, zone), zone) == when


spoken = st.builds(
    Turn,
    id=(st.text(max_size=12) | texts).map(plain_text).filter(bool),
    session=st.just("a thread"),
    role=st.sampled_from(ROLES),
    text=texts.map(plain_text),
    occurred_at=instants,
    speaker=st.just("") | texts.map(plain_text),
    persona=st.just("work"),
    private=st.booleans(),
    origin=st.sampled_from(["chat", "import", "tool"]),
)
conversations = st.lists(spoken, min_size=1, max_size=5, unique_by=lambda turn: turn.id)


def filed(turns: list[Turn], stem: str, first: int = 1) -> list[FiledTurn]:
    return [FiledTurn(turn, stem, f"t{n}") for n, turn in enumerate(turns, first)]


def held(raw: bytes, stem: str, zone) -> list[FiledTurn]:
    found = frontmatter.read(raw)
    assert not found.problems
    conversation, problems = sessions.conversation_from(
        found, sessions.path(stem), zone
    )
    assert not problems
    return list(conversation.turns)


# row: X1
# row: B18
@examples(500, 12, **PATIENT)
@given(conversations, conversations, st.sampled_from(ZONES))
def test_a_conversation_reads_back_word_for_word(first, second, zone):
    """Whatever was said, by whoever, whenever, in however many batches."""
    second = [replace(turn, id=f"second {turn.id}") for turn in second]
    stem = sessions.stem(
        "a thread", first[0].occurred_at.astimezone(zone), "0" * 16, lambda _: False
    )
    raw = sessions.new_session(filed(first, stem), zone)
    assert held(raw, stem, zone) == filed(first, stem)
    longer = sessions.append_turns(raw, filed(second, stem, len(first) + 1), zone)[0]
    assert held(longer, stem, zone) == filed(first + second, stem)
    assert (
        sessions.append_turns(longer, filed(second, stem, len(first) + 1), zone)[0]
        == longer
    )


# row: B18
@examples(700, 10, **PATIENT)
@given(
    conversations,
    texts.map(plain_text),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_an_append_keeps_every_byte_outside_two_keys(turns, words, newline, final):
    """What a person wrote around the conversation stays, byte for byte and in its
    place.
    """
    zone = ZONES[0]
    assume(
        not any(
            line.startswith((">", "^", "#", "---", "<<<", "==="))
            for line in words.split("\n")
        )
    )
    raw = sessions.new_session(filed(turns[:1], "x"), zone)
    head, body = raw.decode().split("## Conversation\n")
    text = f"{head}## Summary\n\n{words}\n\n## Conversation\n{body}\n{words}".replace(
        "\n", newline
    )
    old = (text + newline if final else text).encode()
    new = sessions.append_turns(
        old, filed([replace(turns[0], id="another", text="later")], "x", 2), zone
    )[0]
    kept = [
        line for line in old.split(b"\n") if not line.startswith((b"ended:", b"turns:"))
    ]
    rest = iter(new.split(b"\n"))
    assert all(line in rest for line in kept)
    assert len(held(new, "x", zone)) == 2


statements = texts.map(lambda text: plain_text(text).strip()).filter(bool)
entities = st.lists(
    st.from_regex(r"[^\W_][\w .'&-]{0,15}[^\W_]", fullmatch=True), max_size=3
).map(tuple)
memories = st.builds(
    Fact,
    id=st.just("01KBH2Q0M6T4W2Y0B7C5D9E1FX"),
    text=statements,
    category=st.sampled_from(sorted(CATEGORIES)),
    kind=st.sampled_from(facts.KINDS),
    created=instants,
    status=st.sampled_from(STATUSES),
    confidence=st.integers(0, 100).map(lambda n: n / 100),
    importance=st.integers(0, 100).map(lambda n: n / 100),
    about=entities,
    tags=st.lists(
        st.from_regex(r"[a-z]{1,5}(/[a-z]{1,5})?", fullmatch=True), max_size=3
    ).map(tuple),
    source=st.just("") | st.just("2026-11-20-coffee-plans#^t12"),
    origin=st.sampled_from(["", "rules", "model"]),
    pinned=st.booleans(),
    expires=st.none() | instants,
    valid_from=st.none() | instants,
    valid_until=st.none() | instants,
    supersedes=st.sampled_from([(), ("01KBH2Q0M6T4W2Y0B7C5D9E1FY",)]),
    end_reason=st.sampled_from(["", "a person said: no"]),
    persona=st.none() | st.just("work"),
)


# row: C8
@examples(1000, 20, **PATIENT)
@given(memories, st.sampled_from(ZONES))
def test_a_fact_reads_back_from_its_note(fact, zone):
    """fact_from(emit(fact_keys, fact_body)) is the fact; one that is pinned counts as
    important (`E4`).
    """
    raw = frontmatter.emit(
        facts.fact_keys(fact, zone), facts.fact_body(fact.text, fact.source)
    )
    back, problems = facts.fact_from(unproblematic(raw), "facts/x.md", "", zone)
    assert not problems
    assert replace(back, path="") == (
        replace(fact, importance=1.0) if fact.pinned else fact
    )


# row: X3
@examples(700, 16, **PATIENT)
@given(
    st.dictionaries(
        st.sampled_from([*facts._NAMES, "tags", "status", "pinned", "source", "id"]),
        values,
    ),
    bodies,
)
def test_any_value_under_any_key_gives_a_fact_in_range(keys, body):
    """A person may type anything; what is not understood is named and counts as absent."""
    found = unproblematic(frontmatter.emit(keys, f"A statement. {body}"))
    fact, _ = facts.fact_from(found, "facts/x.md", "", ZONES[0])
    assert 0 <= fact.confidence <= 1
    assert 0 <= fact.importance <= 1
    assert fact.category in CATEGORIES
    assert fact.status in STATUSES
    assert fact.id
