"""Laws of redaction: once is enough, and time is linear."""

import statistics

from hypothesis import given
from hypothesis import strategies as st

from engram.core.language.secrets import redact
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
def test_an_everyday_turn_takes_about_a_millisecond():
    """Two kilobytes that make the table look twice; a slow machine gets three."""
    talk = (
        "I told IT that my password was reset and the token is lost, again on 2026-11-20 at 12:30. "
        * 23
    )
    redact(talk)
    assert len(talk) >= 2048
    assert statistics.median(seconds(redact, talk) for _ in range(5)) < 0.003
