"""`engram hook`: what a coding agent calls when a session starts, is asked or answers.

The event comes as JSON, on standard input or as an argument. A question is stored and
answered with what is known about it; an answer is stored. Nothing here may disturb the
agent: without a daemon, after 150 ms and after any fault the command ends silently with
exit code 0. Only the standard library is loaded.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys

from engram.serve import socket_client

TYPE_CHECKING = False  # loading typing would slow the start
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

SECONDS = 0.15
"""The longest that an agent waits."""
CONTEXT_EVENTS = ("SessionStart", "UserPromptSubmit")
"""Events that are answered with what is known."""
TAIL_BYTES = 262144
"""The part of a transcript that is read for the last answer."""


def main(arguments: Sequence[str], vault: str | None = None) -> int:
    """Handle one event; return 0 whatever happens."""
    signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    answer = ""
    try:
        raw = arguments[-1] if arguments else sys.stdin.read()
        event = json.loads(raw)
        if isinstance(event, dict):
            answer = handle(event, vault)
    except Exception:  # noqa: BLE001  # the agent goes on without its memory
        answer = ""
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if answer:
        sys.stdout.write(answer + "\n")
    return 0


def handle(event: Mapping[str, Any], vault: str | None) -> str:
    """Store what an event says; return the text for the agent, or ''.

    Raises EngramError where the daemon refuses.
    """
    path = socket_client.socket_of(vault, os.environ)
    if path is None:
        return ""
    folder = socket_client.folder_of(vault, os.environ)

    def call(name: str, params: dict[str, Any]) -> dict[str, Any]:
        return socket_client.call(path, name, params, timeout=SECONDS, folder=folder)

    name = str(event.get("hook_event_name") or event.get("type"))
    turns = _turns(name, event)
    # first, because it is quick and must not be lost
    if turns:
        call("observe", {"turns": turns})
    if name not in CONTEXT_EVENTS:
        return ""
    question = {"query": str(event.get("prompt") or ""), "session": _session(event)}
    answer = call("context", {key: text for key, text in question.items() if text})
    return _context_answer(name, str(answer["text"]))


def _turns(name: str, event: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what was said, as turns for `observe`."""
    said: list[tuple[str, str]] = []
    if name == "UserPromptSubmit":
        said = [("user", str(event.get("prompt") or ""))]
    elif name == "Stop":
        text = event.get("last_assistant_message") or _last_answer(event)
        said = [("assistant", str(text))]
    elif name == "agent-turn-complete":
        said = [("user", str(text)) for text in event.get("input-messages") or ()]
        said.append(("assistant", str(event.get("last-assistant-message") or "")))
    return [_turn(role, text, event) for role, text in said if text.strip()]


def _session(event: Mapping[str, Any]) -> str:
    return str(event.get("session_id") or event.get("thread-id") or "agent")


def _stop(_number: int, _frame: object) -> None:
    """End at once: an exception might be printed, or be caught by a library."""
    os._exit(0)


def _turn(role: str, text: str, event: Mapping[str, Any]) -> dict[str, Any]:
    """Return a turn; its id is the same where an agent reports its event twice."""
    session = _session(event)
    turn = {"session": session, "role": role, "text": text}
    if mark := event.get("prompt_id") or event.get("turn-id"):
        parts = f"{session}\0{role}\0{mark}\0{text}"
        turn["id"] = f"hook-{hashlib.sha256(parts.encode()).hexdigest()[:16]}"
    return turn


def _context_answer(name: str, text: str) -> str:
    """Return the context in the form of Claude Code's hooks, or ''."""
    if not text:
        return ""
    output = {"hookEventName": name, "additionalContext": text}
    return json.dumps({"hookSpecificOutput": output})


def _last_answer(event: Mapping[str, Any]) -> str:
    """Return the last words of the assistant in the transcript of the session."""
    path = str(event.get("transcript_path") or "")
    if not path:
        return ""
    with open(os.path.expanduser(path), "rb") as file:  # noqa: PTH111, PTH123
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - TAIL_BYTES))
        lines = file.read().splitlines()
    for line in reversed(lines):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        is_answer = isinstance(row, dict) and row.get("type") == "assistant"
        if is_answer and (text := _row_text(row)):
            return text
    return ""


def _row_text(row: Mapping[str, Any]) -> str:
    message = row.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [str(part.get("text", "")) for part in parts if isinstance(part, dict)]
    return "\n".join(filter(None, texts))
