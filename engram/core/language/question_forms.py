"""Whether a question wants one thing, or all there is of a kind (design of recall)."""

from __future__ import annotations

import re
from functools import cache

from engram.core.language.languages import language_files
from engram.core.language.words import fold


def asks_for_several(question: str) -> bool:
    """Return whether a question lists, counts, orders or compares.

    `asks_for_several("Which cities did she visit?")`, not "Where does she live?".
    """
    return bool(_several().search(fold(question)))


@cache
def _several() -> re.Pattern[str]:
    """The patterns of all languages in one."""
    patterns = (
        sections["questions"]["several"].replace("\n", "")
        for sections in language_files().values()
        if "questions" in sections
    )
    return re.compile("|".join(patterns))
