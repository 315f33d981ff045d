"""Laws of redaction: once is enough, and time is linear."""

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.core.language.secrets import redact
from tests.cpu import assert_linear, seconds
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
SLOW = """
a |x|"|(|1|本|4 |4111 |4111111111111111 |DE89|DE89 |eyJ|eyJaaaaaaaa.|sk-|://:|a://a:|a://a:a@|[redacted: |密码是|pin is
password|password is |password for |password: x1 |password="a |'password:'|password to a b c |token |token is |key:
hasło |hasło do |password,|seed phrase |seed phrase: abc def |backup code |backup codes: 1234-5678
passport number |passport no: A1 |pin of |pin of a |curl -u a |mysql -p|cookie: sid=|&code=a1|TOKEN_A_|acme_pat_a1|１|<token a
-----BEGIN PRIVATE KEY-----
"""
PUMPS = [pump for line in SLOW.strip().split("\n") for pump in line.split("|")]
PUMPS += ["\u200b", "pass\u200bword ", "password,a\n", "a,password\nb1,c2\n"]


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
@pytest.mark.parametrize("pump", PUMPS)
def test_time_is_linear_in_the_text(pump):
    assert_linear(redact, pump, 16384)


# row: X11
def test_an_everyday_turn_takes_less_than_a_millisecond():
    """Two kilobytes of talk, with the words that make the table look twice."""
    talk = (
        "I told IT that my password was reset and the token is lost, again on 2026-11-20 at 12:30. "
        * 23
    )
    redact(talk)
    assert len(talk) >= 2048
    assert statistics.median(seconds(redact, talk) for _ in range(5)) < 0.001
