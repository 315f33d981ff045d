"""The normal form, its hash, slugs and ids."""

from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256

import pytest

from engram.core.text import content_hash, is_ulid, slug, ulid, ulid_time
from tests.fakes.sentences import rows

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)

SAME = rows("text", "same")

DIFFERENT = rows("text", "different")


# row: C5
# row: X13
@pytest.mark.parametrize(("one", "other"), SAME)
def test_two_writings_of_one_fact_have_one_hash(one, other):
    """Case, blanks, sentence punctuation, quotes and compatible letters make no
    difference.
    """
    assert content_hash(one) == content_hash(other)


# row: C5
# row: X13
@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_a_sign_that_tells_two_facts_apart_is_kept(one, other):
    """Numbers, currencies, languages, relations and scripts stay distinct."""
    assert content_hash(one) != content_hash(other)


def test_hash_is_sha256_of_the_versioned_form():
    """Sixty-four hexadecimal digits, of the version and the form."""
    assert content_hash("Tea.") == sha256(b"1\ntea").hexdigest()


@pytest.mark.parametrize(
    ("text", "name"),
    rows("text", "slug_holds_letters_digits_and_hyphens_of_any_script"),
)
def test_slug_holds_letters_digits_and_hyphens_of_any_script(text, name):
    """A slug is legible in its script and safe on every file system."""
    assert slug(text) == name


def test_ulid_is_derived_from_time_and_seed():
    """The same turn gives the same id, another seed another one, a later time a greater
    one.
    """
    assert ulid(NOON, "a") == ulid(NOON.astimezone(timezone(timedelta(hours=5))), "a")
    assert ulid(NOON, "a") != ulid(NOON, "b")
    assert ulid(NOON, "z") < ulid(NOON + timedelta(milliseconds=1), "a")
    assert ulid(datetime(1955, 1, 1, tzinfo=UTC), "a") == ulid(
        datetime(1970, 1, 1, tzinfo=UTC), "a"
    )


def test_a_naive_time_has_no_ulid():
    """An id needs an instant, not a wall clock."""
    with pytest.raises(TypeError):
        ulid(datetime(2026, 1, 1), "x")  # noqa: DTZ001


@pytest.mark.parametrize(
    "text",
    ["", "01KBH2Q0M6T4W2Y0B7C5D9E1F", "8" * 26, "01kbh2q0m6t4w2y0b7c5d9e1fx", "I" * 26],
)
def test_what_is_no_ulid_is_refused(text):
    """Length, alphabet, range and case are checked."""
    assert not is_ulid(text)
    with pytest.raises(ValueError, match="not a ULID"):
        ulid_time(text)
