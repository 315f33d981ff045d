"""`engram hook`: called by a coding agent at the start of a session and at its turns.

The event is JSON, on standard input or as an argument. A question is stored and
answered with the context of the memory; an answer is stored. The command never disturbs
the agent: without a daemon, after a second and after any error it ends silently with exit
code 0. Only the standard library is loaded.
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

SECONDS = 1.0
"""Maximum time in seconds that an agent waits; it gives a hook five."""
CONTEXT_EVENTS = ("SessionStart", "UserPromptSubmit", "BeforeAgent")
"""Events that are answered with a context, of Claude Code, Codex and Gemini CLI."""
END_EVENTS = ("PreCompact", "SessionEnd")
"""Events after which a conversation is gone: what was said becomes memories now."""
AGENTS = {"GEMINI_SESSION_ID": "gemini-cli", "CLAUDE_PROJECT_DIR": "claude-code"}
"""Variables by which an agent is known in its hooks; Codex sets none."""
MARKS = ("prompt_id", "turn_id", "turn-id", "timestamp")
"""Fields by which a repeated event is recognised."""
TAIL_BYTES = 262144
"""Bytes of a transcript that are read for the last answer."""


def main(arguments: Sequence[str], vault: str | None = None) -> int:
    """Handle one event; always return 0."""
    signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    answer = ""
    try:
        raw = arguments[-1] if arguments else sys.stdin.read()
        event = json.loads(raw)
        if isinstance(event, dict):
            answer = handle(event, vault)
    except Exception:  # noqa: BLE001  # the agent continues without its memory
        answer = ""
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if answer:
        sys.stdout.write(answer + "\n")
    return 0


def handle(event: Mapping[str, Any], vault: str | None) -> str:
    """Store the turns of an event; return the text for the agent, or ''.

    Raises EngramError if the daemon refuses.
    """
    path = socket_client.socket_of(vault, os.environ)
    if path is None:
        return ""
    folder = socket_client.folder_of(vault, os.environ)

    name = str(event.get("hook_event_name") or event.get("type"))
    known = (agent for variable, agent in AGENTS.items() if variable in os.environ)
    client = next(known, "codex")

    def call(name: str, params: dict[str, Any]) -> dict[str, Any]:
        return socket_client.call(
            path, name, params, timeout=SECONDS, folder=folder, client=client
        )

    turns = _turns(name, event)
    # Store first: it is quick, and turns must not be lost.
    if turns:
        call("observe", {"turns": turns})
    if name in END_EVENTS:
        call("flush", {"background": True})
    if name not in CONTEXT_EVENTS:
        return ""
    question = {"query": str(event.get("prompt") or ""), "session": _session(event)}
    answer = call("context", {key: text for key, text in question.items() if text})
    return _context_answer(name, str(answer["text"]))


def _turns(name: str, event: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the turns of an event, for `observe`."""
    messages: list[tuple[str, str]] = []
    if name in {"UserPromptSubmit", "BeforeAgent"}:
        messages = [("user", str(event.get("prompt") or ""))]
    elif name == "Stop":
        text = event.get("last_assistant_message") or _last_answer(event)
        messages = [("assistant", str(text))]
    elif name == "AfterAgent":
        messages = [("assistant", str(event.get("prompt_response") or ""))]
    elif name == "agent-turn-complete":
        messages = [("user", str(text)) for text in event.get("input-messages") or ()]
        messages.append(("assistant", str(event.get("last-assistant-message") or "")))
    return [_turn(role, text, event) for role, text in messages if text.strip()]


def _session(event: Mapping[str, Any]) -> str:
    return str(event.get("session_id") or event.get("thread-id") or "agent")


def _stop(_number: int, _frame: object) -> None:
    """End at once: an exception might be printed, or be caught by a library."""
    os._exit(0)


def _turn(role: str, text: str, event: Mapping[str, Any]) -> dict[str, Any]:
    """Return a turn; a repeated event gives the same id."""
    session = _session(event)
    turn = {"session": session, "role": role, "text": text}
    if mark := next(filter(None, map(event.get, MARKS)), None):
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
    """Return the last answer of the assistant in the transcript of the session."""
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
