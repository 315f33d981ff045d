"""YAML scalars in front matter: parsing and formatting."""

from __future__ import annotations

import math
import re

_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(
    r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
)

# Plain words with another type in YAML 1.1 (NO, 12:30, 01234, 0x1f, 1_000).
_MISREAD = re.compile(
    r"y|n|yes|no|on|off|0[box][0-9a-f_]+|[0-9][0-9_,.:]*(?:e[-+]?[0-9]+)?",
    re.IGNORECASE,
)
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}


def parse_scalar(text: str) -> str | float | bool | None:
    """Return the value of a plain scalar in the YAML 1.2 core schema.

    Long numbers are text.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    if _NUMBER.fullmatch(text) is None:
        return text
    if _INT.fullmatch(text):
        return int(text)
    if not text.lstrip("+-").isdigit() and math.isfinite(number := float(text)):
        return number
    return text


def key_lines(name: str, value: object) -> list[str]:
    """Return the lines of one key; TypeError for a nested value."""
    if isinstance(value, list | tuple):
        return (
            [f"{name}:", *(f"  - {format_scalar(item)}" for item in value)]
            if value
            else [f"{name}: []"]
        )
    return [f"{name}: {format_scalar(value)}"]


def format_scalar(value: object) -> str:
    """Return a value on one line, numbers with at most two decimals.

    Raises TypeError for anything but text, number, bool.
    """
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return f"{value:.2f}".rstrip("0").rstrip(".")
        case str():
            return quote_scalar(value)
    message = f"a note cannot hold {type(value).__name__} here"
    raise TypeError(message)


def quote_scalar(text: str) -> str:
    """Return `text` as a scalar, quoted if a YAML parser may give it another type."""
    plain = text[:1].isalnum() and text.isprintable() and not text.endswith((":", " "))
    if (
        plain
        and ": " not in text
        and " #" not in text
        and parse_scalar(text) is text
        and not _MISREAD.fullmatch(text)
    ):
        return text
    return _quoted(text)


def quote_key(text: str) -> str:
    """Return `text` as a key, quoted unless every YAML parser gives it as this text.

    A key that begins with a digit may be a number, a date or a time to a parser.
    """
    return quote_scalar(text) if text[:1].isalpha() else _quoted(text)


def _quoted(text: str) -> str:
    return '"' + "".join(map(_escaped, text.encode("utf-8", "replace").decode())) + '"'


def _escaped(sign: str) -> str:
    if sign in _ESCAPES or sign.isprintable():
        return _ESCAPES.get(sign, sign)
    code = ord(sign)
    return (
        f"\\x{code:02x}"
        if code < 0x100
        else f"\\u{code:04x}"
        if code < 0x10000
        else f"\\U{code:08x}"
    )
