"""The LoCoMo benchmark: a JSON list of long conversations between two speakers."""

from __future__ import annotations

import re
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any

from engram.core.records import Problem, Turn
from engram.ingest.importers import chats, values

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


KEY = "sample_id"
"""The key that identifies a conversation of this format."""
_MONTHS = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)


def read(path: Path, zone: tzinfo) -> Iterator[Turn | Problem]:
    """Yield the turns of the export at `path`, conversation by conversation."""
    return chats.conversations(path, zone, conversation)


def conversation(
    case: dict[str, Any], zone: tzinfo, name: str
) -> Iterator[Turn | Problem]:
    """Yield the sessions of two speakers: the user, and another person.

    A picture is replaced by its caption.
    """
    sample, exported = (
        values.string(case.get("sample_id")),
        values.as_object(case.get("conversation")),
    )
    numbers = sorted(
        int(match[1])
        for key in exported
        if (match := re.fullmatch(r"session_(\d+)", key))
    )
    for number in numbers:
        when = _spoken_date(
            values.string(exported.get(f"session_{number}_date_time")), zone
        )
        if when is None:
            yield Problem("bad-time", f"session {number} of {sample} has no date", name)
            continue
        for turn in map(
            values.as_object, values.as_list(exported[f"session_{number}"])
        ):
            speaker, caption = (
                values.string(turn.get("speaker")),
                values.string(turn.get("blip_caption")),
            )
            text = values.string(turn.get("text")).strip() + (
                f" [shares a picture: {caption}]" if caption else ""
            )
            identity = f"{sample}/{values.string(turn.get('dia_id'))}"
            yield Turn(
                identity,
                f"{sample}-session_{number}",
                "user",
                text,
                when,
                speaker,
                origin="import",
                group=speaker != exported.get("speaker_a"),
            )


def _spoken_date(text: str, zone: tzinfo) -> datetime | None:
    """Return the time of a text such as `1:56 pm on 8 May, 2023`, else None."""
    match = re.fullmatch(
        r"(\d{1,2}):(\d\d) ([ap])m on (\d{1,2}) (\w+), (\d{4})",
        text.strip(),
        re.IGNORECASE,
    )
    if not match or match[5][:3].lower() not in _MONTHS:
        return None
    hour = int(match[1]) % 12 + (12 if match[3].lower() == "p" else 0)
    month = _MONTHS.index(match[5][:3].lower()) + 1
    try:
        return datetime(
            int(match[6]), month, int(match[4]), hour, int(match[2]), tzinfo=zone
        )
    except ValueError:
        return None
