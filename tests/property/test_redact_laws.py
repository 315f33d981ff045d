"""Laws of redaction: once is enough, and time is linear."""

from hypothesis import given
from hypothesis import strategies as st

from engram.core.language.secrets import redact
from engram.core.language.words import words
from tests.cpu import seconds
from tests.size import examples

SCRAPS = """
password|passwort|pin|token|secret|api key|密码是| is | ist | for |to |: |=|"|'|(|)|,|.| |]|[redacted: |[redacted: card]
hunter2|swordfish|4821|12|4111 1111 1111 1111|4111111111111111|DE89 3704 0044 0532 0130 00|a://b:|c@|d|&a=|--password
sk-|abcdefgh12345678ijkl|AKIA|ABCDEFGH12345678|bearer |eyJhbGciOiJI|.eyJzdWIiOiIx
-----BEGIN PRIVATE KEY-----|-----END PRIVATE KEY-----
"""
PIECES = st.sampled_from(
    [piece for line in SCRAPS.split("\n") for piece in line.split("|")]
    + ["\n", "\ud800"]
)


# row: X11
@examples(400)
@given(
    st.lists(PIECES, max_size=14).map("".join) | st.text(max_size=60),
    st.sampled_from(["redact", "drop"]),
)
def test_redacting_twice_is_redacting_once(text, mode):
    """What was redacted has nothing more to redact."""
    once = redact(text, mode)
    assert redact(once.text, mode).text == once.text
    assert redact(once.text, mode).found == {}


# row: X11
def test_an_everyday_turn_takes_a_few_times_as_long_as_finding_its_words():
    """Two kilobytes on which patterns of the table match: redaction and search, as a ratio."""
    said = (
        "I told IT: my password was reset, the token is lost, on 2026-11-20 at 12:30. "
    )
    talk = said * 26
    assert seconds(redact, talk) < 40 * seconds(words, talk)
