"""Detect text that reads like an instruction to the model, by patterns (row X27).

Section `[injection]` of the language files has a pattern for each reason; matching is
linear. The patterns are applied to text that did not come from the user; a match waits
in `review/`. They favour recall over precision, and no match is not a proof of
harmlessness: the rules of trust limit the effect of missed instructions.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Any

from engram.core.language import languages
from engram.core.language.languages import compiled
from engram.core.language.signals import spelled

_CHAT_TAGS = r"<\|/?\w{2,24}\|>|\[/?(?:inst|sys|system)\]|<</?sys>>"
_TOOL_TAGS = (
    r"\"(?:tool|tool_?name|name|function|action|recipient_name)\"\s*:\s*\"[^\"\n]*\"\s*,"
    r"\s*\"(?:arguments|parameters|input|args|action_input|params)\""
    r"|\bfunctions?\.\w+\("
)
_NAMED_TAGS = (
    r"</?\s*(?:system|instructions?|assistant|user|human|prompt|developer|memory-notes"
    r"|(?:\w+:)?(?:tool_?\w*|function_?\w*|invoke|parameter))(?:\s[^>]{0,80})?>"
)
MARKS = {
    "imitates the marks of a conversation": _CHAT_TAGS
    + r"|(?:^|\n)\W{0,4}(?:system|developer)(?: ?(?:message|prompt|note|override))?\s*:"
    r"|(?:^|\n)\W{0,4}#{2,}\s*(?:system|instructions?|assistant|response|new task)\b"
    r"|</?\s*(?:system|instructions?|assistant|user|human|prompt|developer|memory-notes)\b[^>]{0,40}>"
    r"|\b(?:begin|end|start)(?:ning)? (?:of )?(?:the )?(?:new |system |user )*"
    r"(?:prompt|memory|memories|context|instructions?|user input)\b",
    "imitates a call of a tool": r"</?\s*(?:\w+:)?(?:tool_?\w*|function_?\w*|invoke|parameter)\b[^>]{0,80}>|"
    + _TOOL_TAGS
    + r"|(?:^|\n)\s*action(?: input)?\s*:|\b(?:os\.system|subprocess\.\w+|eval|exec)\("
    r"|\b(?:curl|wget)\b[^\n]*\|\s*(?:ba|z)?sh\b|\brm -rf?\b|<script\b|javascript:",
    "carries a link that tells a secret": r"://[^/\s:@]+:[^/\s@]+@|!\[[^\]\n]*\]\(\s*https?://[^)\s]*\?",
    "hides its letters": r"(?:\b\pL[ \t._*|-]{1,3}){7,}\pL\b|[a-z]\p{Cyrillic}|\p{Cyrillic}[a-z]",
}
"""Patterns that are independent of the language, by reason."""

HIDDEN = "hides its letters"
SET_ASIDE = "asks to set instructions aside"

# The meaning of `…` in a pattern: any text within a sentence.
_GAP = r"(?:[^.!?。\n]|\.\S|\b(?:dr|mrs?|ms|prof|st|nr)\.)*"
_APOSTROPHES = str.maketrans("’ʼ`´", "''''")
# The flag of a region, such as Scotland, is spelled with the same invisible letters.
_TAGS = re.compile("(?<![\U0001f3f4\U000e0020-\U000e007f])[\U000e0001-\U000e007f]")
_LEET = re.compile(r"(?i)[a-z][013457@$]|[013457@$][a-z]")
_LETTERS = str.maketrans("013457@$", "oieastas")


def instruction(text: str) -> str:
    """Return why `text` reads like an instruction to the model, or '' (`X27`).

    Case, accents, kinds of letters and invisible signs make no difference; figures used
    as letters count as letters. The time is linear in the length. `instruction("Ignore
    all previous rules.") == "asks to set instructions aside"`.
    """
    if has_invisible_letters(text):
        return HIDDEN
    plain = _bare(text)
    return _first(plain) or (
        _first(plain.translate(_LETTERS)) if _LEET.search(plain) else ""
    )


def has_invisible_letters(text: str) -> bool:
    """Return whether a text has hidden letters that no person can see or type."""
    return bool(_TAGS.search(text))


def has_tags(text: str) -> bool:
    """Return whether a text has tags of a conversation format, or a call of a tool."""
    return bool(_tags().Match(_bare(text).encode("utf-8", "replace")))


def names_instructions(text: str) -> bool:
    """Return whether a text mentions instructions, rules or a prompt."""
    return bool(_nouns().Match(_bare(text).encode("utf-8", "replace")))


@cache
def _tags() -> Any:
    return compiled((_CHAT_TAGS, _TOOL_TAGS, _NAMED_TAGS))


@cache
def _nouns() -> Any:
    patterns = languages.texts("planted", "instructions").values()
    return compiled(tuple(map(_bare, patterns)))


def _first(plain: str) -> str:
    """Return the reason of the first row that matches."""
    reasons, automaton = _table()
    found = automaton.Match(plain.encode("utf-8", "replace"))
    return reasons[min(found)] if found else ""


def _bare(text: str) -> str:
    """Return `text` without accents, invisible signs and typographic variants."""
    apart = unicodedata.normalize("NFKD", text)
    if not apart.isascii():
        apart = "".join(
            [sign for sign in apart if unicodedata.category(sign) not in {"Mn", "Cf"}]
        )
    return apart.translate(_APOSTROPHES)


def _with_gaps(pattern: str, code: str) -> str:
    """Return `pattern` with its gaps expanded.

    A gap ends at the beginning of a word: "coffee" does not contain the word fee.
    """
    gap = _GAP if code in languages.unspaced() else rf"(?:{_GAP}[^\pL\pN])?"
    return pattern.replace("…", gap)


@cache
def _table() -> tuple[tuple[str, ...], Any]:
    """Return the reason of each row, and one automaton of all rows."""
    rows = [
        (reason, spelled(_bare(_with_gaps(languages.pattern(text), code)), code))
        for reason in languages.keys("injection")
        for code, text in languages.texts("injection", reason).items()
    ]
    rows += MARKS.items()
    return tuple(reason for reason, _ in rows), compiled(
        tuple(pattern for _, pattern in rows)
    )
