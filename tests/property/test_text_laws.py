"""Laws of the normal form that hold for any text."""

import unicodedata
from datetime import UTC, datetime

from hypothesis import assume, given
from hypothesis import strategies as st

from engram.core.text import content_hash, is_ulid, normalise, slug, ulid, ulid_time
from tests.size import examples

TEXTS = st.text(max_size=80) | st.text(
    alphabet="aB1 .,:;/+#$-%'\"!?_²½’—()", max_size=30
)
SCRIPTS = st.sampled_from("茶咖啡我чайкофeقهوةشايκαφέकफ☕🎉👍🏽한국茶ไทย")


# row: C5
@examples(400)
@given(TEXTS)
def test_normal_form_is_its_own_normal_form(text):
    """Normalising twice is normalising once."""
    once = normalise(text)
    assert normalise(once) == once


# row: X13
@examples(300)
@given(
    st.text(
        alphabet=SCRIPTS | st.characters(categories=["L", "M", "Nd", "So"]), max_size=20
    )
)
def test_every_letter_digit_and_symbol_survives(text):
    """Of any script and of emoji nothing but case and compatibility is lost, and an end
    of sentence is.
    """
    caseless = unicodedata.normalize(
        "NFKC", unicodedata.normalize("NFKC", text).casefold()
    )
    assume(
        not any(
            unicodedata.category(sign)[0] == "P" or sign in "ʼ`" for sign in caseless
        )
    )
    assert normalise(text + "!?。").replace(" ", "") == (
        caseless.replace(" ", "") or text + "!?。"
    )


# row: C5
@examples(300)
@given(
    st.integers(-99999, 99999),
    st.integers(-99999, 99999),
    st.sampled_from(["$", "€", ""]),
)
def test_two_numbers_are_two_facts(one, other, unit):
    """Different amounts never share a hash."""
    assume(one != other)
    assert content_hash(f"rent is {unit}{one / 100:.2f}.") != content_hash(
        f"rent is {unit}{other / 100:.2f}."
    )


@examples(300)
@given(TEXTS, st.integers(min_value=9, max_value=120))
def test_slug_is_a_safe_name(text, size):
    """Never empty, within the bytes, NFC, caseless, only word signs and hyphens,
    stable.
    """
    name = slug(text, size)
    assert name
    assert len(name.encode()) <= max(size, len("note-con") + 1)
    assert unicodedata.is_normalized("NFC", name)
    assert not set(name) & set('/\\:*?"<>|\0\n .#^[]%&{}$!@+`=')
    assert name[0] != "-"
    assert name[-1] != "-"
    assert slug(name, size) == name


@examples(200)
@given(
    st.datetimes(
        min_value=datetime(1970, 1, 1),  # noqa: DTZ001
        max_value=datetime(9999, 12, 31),  # noqa: DTZ001
        timezones=st.just(UTC),
    ),
    st.text(max_size=20),
)
def test_ulid_round_trips(when, seed):
    """Form and time of every id are right."""
    name = ulid(when, seed)
    assert is_ulid(name)
    assert ulid_time(name) == when.replace(microsecond=when.microsecond // 1000 * 1000)
