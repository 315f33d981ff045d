"""Texts of prompts: the sections of a prompt file, and quoted strings."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING
from unicodedata import category

if TYPE_CHECKING:
    from collections.abc import Mapping

_BREAKS = {ord(sign): f"\\u{ord(sign):04x}" for sign in "\x85\u2028\u2029"}


@cache
def sections(name: str) -> Mapping[str, str]:
    """Return the texts of the prompt file `name`, by their headings `# heading`."""
    raw = (
        files("engram.llm")
        .joinpath("prompts", f"{name}.md")
        .read_text(encoding="utf-8")
    )
    parts = re.split(r"^# (\w+)\n", raw, flags=re.MULTILINE)
    return {
        heading: part.strip()
        for heading, part in zip(parts[1::2], parts[2::2], strict=True)
    }


def quoted(text: str) -> str:
    """Return `text` as a JSON string on one line, which its content cannot end."""
    return json.dumps(text, ensure_ascii=False).translate(_BREAKS)


def one_line(value: object) -> str:
    """Return a text on one line, without control characters and lone surrogates.

    '' for a value that is no text.
    """
    if not isinstance(value, str):
        return ""
    clean = value.encode("utf-8", "ignore").decode("utf-8")
    return " ".join(
        "".join(" " if category(char) == "Cc" else char for char in clean).split()
    )
