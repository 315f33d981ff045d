"""Convert messages in OpenAI's form to turns: `{"role": …, "content": …}`.

`content` is a text or a list of parts. An attachment becomes a word in brackets; a
message without words, such as the call of a tool, is no turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.errors import BadRequestError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

TEXT_PARTS = frozenset({"text", "input_text", "output_text"})
ATTACHMENTS = {
    "image_url": "image",
    "input_image": "image",
    "image": "image",
    "input_audio": "audio",
    "file": "file",
    "input_file": "file",
}
"""The words for content parts that are not text, by type."""
ROLES = {"developer": "system", "function": "tool"}
"""Roles of OpenAI's form with another name in engram."""
IGNORED = (
    "annotations",
    "attachments",
    "audio",
    "function_call",
    "refusal",
    "status",
    "tool_call_id",
    "tool_calls",
    "type",
)
"""Keys of a message that are ignored."""
NAME_CHARACTERS = 100


def as_turns(
    rows: Iterable[Mapping[str, Any]], common: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield each row as a turn; `common` has default values.

    A row with `text` is already a turn. `attachments` are names, or objects with a
    name; each becomes a word in brackets. A message without words is left out. Raises
    BadRequestError if a message has a content of another kind.
    """
    for row in rows:
        files = list(_attached(row.get("attachments")))
        if not is_message(row):
            known = {key: row[key] for key in row if key != "attachments"}
            if files and isinstance(known.get("text"), str):
                known["text"] = "\n".join([known["text"], *files])
            role = known.get("role")
            if isinstance(role, str) and role in ROLES:
                known["role"] = ROLES[role]
            yield {**common, **known}
            continue
        text = "\n".join(filter(None, [text_of(row), *files]))
        if text.strip():
            yield {**common, **_turn(row, text)}


def is_message(row: Mapping[str, Any]) -> bool:
    """Return whether a row has the form of a message: words under `content`."""
    return "content" in row and "text" not in row


def text_of(message: Mapping[str, Any]) -> str:
    """Return the text of a message, with a word in brackets for each attachment.

    Raises BadRequestError if the content is neither a text, nor a list, nor absent.
    """
    content = message.get("content")
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise BadRequestError(
            f"the content of a message is a text or a list of parts, not {content!r:.60}"
        )
    return "\n".join(filter(None, map(_part_text, content)))


def _turn(message: Mapping[str, Any], text: str) -> dict[str, Any]:
    turn = {
        key: value
        for key, value in message.items()
        if key not in {"content", "name", *IGNORED}
    }
    role = message.get("role")
    turn |= {"role": ROLES.get(str(role), role), "text": text}
    if name := message.get("name"):
        turn.setdefault("speaker", name)
    return turn


def _part_text(part: object) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    kind = str(part.get("type"))
    if kind in TEXT_PARTS:
        return str(part.get("text") or "")
    if kind not in ATTACHMENTS:
        return ""
    inner = part.get("file") if isinstance(part.get("file"), dict) else part
    return _with_name(ATTACHMENTS[kind], (inner or {}).get("filename"))


def _attached(files: object) -> Iterator[str]:
    if not isinstance(files, list | None):
        raise BadRequestError("attachments must be a list of names")
    for file in files or ():
        known = file if isinstance(file, dict) else {"name": file}
        kind = str(known.get("type") or "").partition("/")[0]
        word = kind if kind in {*ATTACHMENTS.values(), "video"} else "file"
        yield _with_name(word, known.get("name") or known.get("filename"))


def _with_name(word: str, name: object) -> str:
    plain = " ".join(str(name or "").split())
    return f"[{word}: {plain[:NAME_CHARACTERS]}]" if plain else f"[{word}]"
