"""Words: the language of a text is a vote of its stop words."""

from hypothesis import given, settings
from hypothesis import strategies as st

from engram.core.words import STOP, language

WORDS = sorted({"quartz", "jazz"}.union(*STOP.values()))


# row: X13
@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=12))
def test_the_language_is_that_of_most_words(found):
    """Each word that tells anything alone counts for every language it is a stop word of; English is first."""
    telling = [word for word in found if language([word])]
    counts = {code: sum(word in stop for word in telling) for code, stop in STOP.items()}
    best = max(counts, key=counts.__getitem__)
    assert language(found) == (best if counts[best] else "")
