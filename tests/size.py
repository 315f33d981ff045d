"""How much the property tests and the long runs try.

`make test` takes a part of each, and always the same examples; `make test-fault`
(`ENGRAM_FAULT=full`) takes all of it and looks for new examples.
"""

from __future__ import annotations

import os

from hypothesis import settings

FULL = os.environ.get("ENGRAM_FAULT") == "full"
"""Whether everything is run at full size."""
PART = 5
"""`make test` tries one in so many of the examples."""


def examples(full: int, small: int = 0, **more) -> settings:
    """Settings of a property test that tries `full` examples at full size, and `small`
    otherwise, or the usual part.
    """
    number = full if FULL else small or -(-full // PART)
    return settings(max_examples=number, deadline=None, **more)
