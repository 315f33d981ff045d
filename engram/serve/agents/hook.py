"""`engram hook`: called by a coding agent at the start of a session and at its turns.

The event is JSON, on standard input or as an argument. A question is stored and
answered with the context of the memory; an answer is stored. Turns that no daemon
acknowledges go to the spool, from which the next start stores them. The command never
disturbs the agent: without a daemon, after a second and after any error it ends with exit
code 0 and a line on standard error. Only the standard library is loaded.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys

from engram.errors import BadRequestError, UnavailableError
from engram.serve import socket_client

TYPE_CHECKING = False  # loading typing would slow the start
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

SECONDS = 1.0
"""Maximum time in seconds that an agent waits; it gives a hook five."""
STORE_SECONDS = 0.5
"""Seconds after which turns that the daemon has not acknowledged go to the spool."""
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
        event = _event(raw)
        answer = handle(event, vault) if event else ""
    except Exception as fault:  # noqa: BLE001  # the agent continues without its memory
        _say(str(fault))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if answer:
        sys.stdout.write(answer + "\n")
    return 0


def _event(raw: str) -> Mapping[str, Any]:
    """Return the event in a text; an empty text is an event of nothing.

    Raises BadRequestError for other text.
    """
    try:
        event = json.loads(raw or "{}")
    except ValueError:
        event = None
    if not isinstance(event, dict):
        message = "the event is not a JSON object; nothing was stored"
        raise BadRequestError(message)
    return event


def handle(event: Mapping[str, Any], vault: str | None) -> str:
    """Store the turns of an event; return the text for the agent, or ''.

    Raises EngramError if there is no vault, or if the daemon refuses.
    """
    path, state, folder = _place(vault)
    name = str(event.get("hook_event_name") or event.get("type"))
    known = (agent for variable, agent in AGENTS.items() if variable in os.environ)
    client = next(known, "codex")

    def call(
        name: str, params: dict[str, Any], timeout: float = SECONDS
    ) -> dict[str, Any]:
        return socket_client.call(
            path, name, params, timeout=timeout, folder=folder, client=client
        )

    # Store first: it is quick, and turns must not be lost.
    turns = _turns(name, event)
    if turns:
        # The time limit does not end this step: the turns would be lost.
        left = signal.setitimer(signal.ITIMER_REAL, 0)[0]
        try:
            call("observe", {"turns": turns}, STORE_SECONDS)
        except UnavailableError as fault:
            _spool(turns, state, fault)
            return ""
        signal.setitimer(signal.ITIMER_REAL, left or SECONDS)
    if name in END_EVENTS:
        call("flush", {"background": True})
    if name not in CONTEXT_EVENTS:
        return ""
    query = str(event.get("prompt") or "").strip()
    question = {"query": query} if query else {}
    answer = call("context", {**question, "session": _session(event)})
    return _context_answer(name, str(answer["text"]))


def _place(vault: str | None) -> tuple[str, str, str | None]:
    """Return the socket, the state folder and the folder of the vault."""
    path = socket_client.socket_of(vault, os.environ)
    state = socket_client.state_of(vault, os.environ)
    if path and state:
        return path, state, socket_client.folder_of(vault, os.environ)

    from pathlib import Path

    from engram.config import load
    from engram.vault.template import check_vault

    settings = load(Path(vault) if vault else None, os.environ)
    check_vault(settings.vault)
    return str(settings.socket), str(settings.state), str(settings.vault)


def _spool(
    turns: Sequence[dict[str, Any]], state: str, fault: UnavailableError
) -> None:
    """Keep turns for the next start of engram, and say so."""
    from datetime import UTC, datetime
    from pathlib import Path

    from engram.vault import spool

    now = datetime.now(UTC).isoformat()
    spool.put(Path(state), [{"occurred_at": now, **turn} for turn in turns])
    noun = "turn waits" if len(turns) == 1 else "turns wait"
    _say(f"{fault.what}; {len(turns)} {noun} for its next start")


def _say(line: str) -> None:
    sys.stderr.write(f"engram: {line}\n")


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
    os.write(2, b"engram: no answer within a second\n")
    os._exit(0)


def _turn(role: str, text: str, event: Mapping[str, Any]) -> dict[str, Any]:
    """Return a turn; a repeated event gives the same id."""
    session = _session(event)
    mark = next(filter(None, map(event.get, MARKS)), None) or os.urandom(8).hex()
    parts = f"{session}\0{role}\0{mark}\0{text}"
    name = f"hook-{hashlib.sha256(parts.encode()).hexdigest()[:16]}"
    return {"session": session, "role": role, "text": text, "id": name}


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
