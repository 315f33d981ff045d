"""`engram connect`: writes into a client's own configuration, or prints instructions.

A file of another program is changed as little as possible: only the entries of engram
are added, and `--undo` removes them again. A file that cannot be parsed is not changed.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram.config import OPENAI_URL
from engram.errors import ConflictError, NotFoundError
from engram.serve import socket_client
from engram.vault import disk
from engram.vault.location import refuse_special

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from engram.config import Settings

    Change = Callable[[str, Sequence[str], bool], str]
    """Function from a file's text, the command of engram and `undo` to the new text."""

NAME = "engram"
HOOK_SECONDS = 5
BEGIN, END = "# engram: begin", "# engram: end"


@dataclass(frozen=True, slots=True)
class Client:
    """A program that can be connected.

    `hints` returns the steps to print, `code` the program to copy. `files` are the
    files of its configuration, below the home folder, each with the functions that
    change its text, as the `page` of its own documentation describes them.
    """

    title: str
    hints: Callable[[Settings, Sequence[str]], Sequence[str]]
    files: Mapping[str, Sequence[Change]] = field(default_factory=dict)
    page: str = ""
    code: Callable[[Settings], str] | None = None


def connect(
    name: str,
    settings: Settings,
    vault: Path | None,
    env: Mapping[str, str],
    *,
    undo: bool,
    dry_run: bool,
) -> dict[str, Any]:
    """Connect a client to the vault, or with `undo` disconnect it.

    `vault` is named in the client's configuration if it is not the default one. A file
    in which nothing is left is removed. Raises NotFoundError for an unknown client and
    ConflictError for a file that cannot be parsed; nothing is written then.
    """
    client = CLIENTS.get(name)
    if client is None:
        raise NotFoundError(
            f"there is no client {name!r}", fix=f"Use one of: {', '.join(CLIENTS)}."
        )
    own = command(vault)
    planned: dict[Path, str] = {}
    for relative, changes in client.files.items():
        path = (_home(env) / relative).resolve()
        refuse_special(path)
        try:
            before = path.read_text("utf-8") if path.exists() else ""
            after = before
            for change in changes:
                after = change(after, own, undo)
        except (OSError, ValueError, RecursionError) as fault:
            raise ConflictError(
                "the file cannot be parsed; nothing was written",
                where=f"{path}: {fault}",
                fix=f"Correct the file, or add the entry by hand: {client.page}",
            ) from fault
        if after != before:
            planned[path] = after

    result: dict[str, Any] = {"client": client.title}
    full = {path: text for path, text in planned.items() if text}
    empty = [path for path, text in planned.items() if not text]
    if dry_run:
        result["would_write"] = {str(path): text for path, text in full.items()}
        result["would_remove"] = list(map(str, empty))
    else:
        for path, text in full.items():
            disk.make_folders(path.parent)
            disk.write_derived(path, text.encode())
        for path in empty:
            disk.remove(path)
        result["written"] = list(map(str, full))
        result["removed"] = list(map(str, empty))
    if not undo:
        result["next"] = list(client.hints(settings, own))
        result["code"] = client.code(settings) if client.code else ""
    return result


def command(vault: Path | None) -> list[str]:
    """Return the command line by which another program starts engram."""
    found = shutil.which(NAME)
    own = [found] if found else [sys.executable, "-m", NAME]
    return [*own, *(["--vault", str(vault)] if vault else [])]


def with_verb(own: Sequence[str], verb: str) -> list[str]:
    """Return the command line for a command; options such as --vault come after it."""
    at = own.index("--vault") if "--vault" in own else len(own)
    return [*own[:at], verb, *own[at:]]


# -- files of the clients --------------------------------------------------------------


def server(*place: str, **more: Any) -> Change:
    """Return the change that puts the MCP server of engram at a place of a JSON file.

    `more` are fields of the entry that this client wants beside the command.
    """

    def change(text: str, own: Sequence[str], undo: bool) -> str:  # noqa: FBT001
        executable, *arguments = with_verb(own, "mcp")
        entry = more | {"command": executable, "args": arguments}
        return _edited(text, [*place, NAME], None if undo else entry)

    return change


def opencode(text: str, own: Sequence[str], undo: bool) -> str:  # noqa: FBT001
    """Return OpenCode's configuration, whose entries have one list as command."""
    entry = {"type": "local", "command": with_verb(own, "mcp")}
    return _edited(text, ["mcp", "servers", NAME], None if undo else entry)


def hooks(*events: str, timeout: int = HOOK_SECONDS) -> Change:
    """Return the change that adds `engram hook` at events, which Claude Code began."""

    def change(text: str, own: Sequence[str], undo: bool) -> str:  # noqa: FBT001
        line = shlex.join(with_verb(own, "hook"))
        entry = {"hooks": [{"type": "command", "command": line, "timeout": timeout}]}
        present = _table(_parsed(text), "hooks")
        for event in events:
            rows = present.get(event, [])
            if not isinstance(rows, list):
                raise ValueError(f"`hooks.{event}` is not a list")  # noqa: TRY004
            kept = [one for one in rows if not _is_ours(one)]
            now = kept if undo else [*kept, entry]
            text = _edited(text, ["hooks", event], now or None)
        return text

    return change


gemini_hooks = hooks(
    "SessionStart",
    "BeforeAgent",
    "AfterAgent",
    "SessionEnd",
    timeout=1000 * HOOK_SECONDS,
)
"""The hooks of Gemini CLI, whose times are in milliseconds."""


def codex(text: str, own: Sequence[str], undo: bool) -> str:  # noqa: FBT001
    """Return Codex' `config.toml` with the server of engram, or without it.

    The entries are between two comments, so that the rest of the file does not change.
    """
    before, found, rest = text.partition(f"{BEGIN}\n")
    if found:
        _, _, after = rest.partition(f"{END}\n")
        text = before.rstrip("\n") + ("\n" if before.strip() else "") + after
    tree = tomllib.loads(text)
    if undo:
        return text
    if NAME in _table(tree, "mcp_servers"):
        raise ValueError("it has an entry [mcp_servers.engram] already")
    executable, *arguments = with_verb(own, "mcp")
    block = (
        f"{BEGIN}\n[mcp_servers.{NAME}]\ncommand = {json.dumps(executable)}\n"
        f"args = {json.dumps(arguments)}\n{END}\n"
    )
    return f"{text.rstrip()}\n\n{block}" if text.strip() else block


def _is_ours(row: object) -> bool:
    """Return whether an entry of the hooks calls `engram hook`."""
    inner = row.get("hooks") if isinstance(row, dict) else None
    rows = inner if isinstance(inner, list) else []
    lines = [str(one.get("command")) for one in rows if isinstance(one, dict)]
    return any(NAME in line and " hook" in line for line in lines)


def _parsed(text: str) -> dict[str, Any]:
    tree = json.loads(text) if text.strip() else {}
    if not isinstance(tree, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004  # a fault of the file
    return tree


def _table(tree: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return a copy of the table under `key`; ValueError if it is no table."""
    found = tree.get(key)
    if found is not None and not isinstance(found, dict):
        raise ValueError(f"`{key}` is not a table")
    return dict(found or {})


def _edited(text: str, place: Sequence[str], value: object) -> str:
    """Return a JSON file with a value at a place, or without it if that is None.

    A table that becomes empty goes too, '' for the last one; a file with unchanged
    content keeps its bytes.
    """
    before = _parsed(text)
    after = _placed(before, place, value)
    if after == before:
        return text
    return json.dumps(after, ensure_ascii=False, indent=2) + "\n" if after else ""


def _placed(
    tree: Mapping[str, Any], place: Sequence[str], value: object
) -> dict[str, Any]:
    key, *rest = place
    if rest:
        value = _placed(_table(tree, key), rest, value) or None
    kept = {name: one for name, one in tree.items() if name != key}
    if value is None:
        return kept
    return {**tree, key: value}


# -- lines to print --------------------------------------------------------------------


def _port(settings: Settings) -> int:
    return settings.tcp_port or DEFAULT_PORT


def _needs_port(settings: Settings) -> list[str]:
    """Return instructions if the daemon does not listen on a port yet."""
    if settings.tcp_port:
        return []
    return [
        (
            f"Add `tcp_port = {DEFAULT_PORT}` to ~/.config/engram/config.toml, end a running "
            "daemon with `engram down`, and start it with `engram up` (without systemd: "
            "`engram daemon`)."
        )
    ]


def _needs_server(settings: Settings) -> list[str]:
    """Return instructions if the proxy has no key for the server of the model."""
    if settings.proxy.api_key or settings.proxy.base_url != OPENAI_URL:
        return []
    return [
        (
            "Name the server of the model there, too: `[proxy]` with `base_url` and, if it "
            f"needs a key, `api_key_file`. Now requests go to {OPENAI_URL} without a key."
        )
    ]


def _restart(_settings: Settings, _own: Sequence[str]) -> Sequence[str]:
    return ["Restart the client; its list of tools then shows those of engram."]


def _restart_with_hooks(settings: Settings, own: Sequence[str]) -> Sequence[str]:
    lines = list(_restart(settings, own))
    if not socket_client.answers(str(settings.socket)):
        lines.append(
            "Start the daemon with `engram up` (without systemd: `engram daemon`); "
            "without one the hooks do nothing."
        )
    return lines


def _codex_hints(settings: Settings, own: Sequence[str]) -> Sequence[str]:
    trust = "Codex runs new hooks only after you have reviewed them: `/hooks`."
    return [*_restart_with_hooks(settings, own), trust]


def _through_proxy(settings: Settings, _own: Sequence[str]) -> Sequence[str]:
    return [*_needs_port(settings), *_needs_server(settings)]


def _openai_sdk(settings: Settings) -> str:
    return f"""\
from pathlib import Path
from openai import OpenAI

url = "http://127.0.0.1:{_port(settings)}/proxy/v1"
key = Path("{settings.state / "token"}").read_text().strip()
client = OpenAI(base_url=url, api_key=key)"""


def _open_webui(settings: Settings, own: Sequence[str]) -> Sequence[str]:
    return [
        *_through_proxy(settings, own),
        (
            "In Open WebUI, Admin Settings > Connections > OpenAI API, add:\n"
            f"URL  http://127.0.0.1:{_port(settings)}/proxy/v1\n"
            f"Key  the content of {settings.state / 'token'}"
        ),
        "Set ENABLE_FORWARD_USER_INFO_HEADERS=true, so that each chat is a conversation.",
        "Or paste examples/open_webui_filter.py into Admin Panel > Functions.",
    ]


def _copy_store(_settings: Settings, _own: Sequence[str]) -> Sequence[str]:
    return ["Copy examples/langgraph_store.py next to your program."]


def _langgraph(settings: Settings) -> str:
    return f"""\
from engram import Memory
from langgraph_store import EngramStore

memory = Memory("{settings.vault}")
store = EngramStore(memory, "{settings.state / "langgraph.db"}")
graph = builder.compile(store=store)"""


DEFAULT_PORT = 7077
_SERVER = [server("mcpServers")]
_HOOKS = ("SessionStart", "UserPromptSubmit", "Stop")


def _mcp(title: str, page: str, file: str, *place: str, **more: Any) -> Client:
    """Return a client whose configuration is one JSON file with MCP servers."""
    changes = [server(*place, **more)] if place else _SERVER
    return Client(title, _restart, {file: changes}, page)


_CODE = ".config/Code/User"
CLIENTS: dict[str, Client] = {
    "claude-code": Client(
        "Claude Code",
        _restart_with_hooks,
        {
            ".claude.json": _SERVER,
            ".claude/settings.json": [hooks(*_HOOKS, "PreCompact", "SessionEnd")],
        },
        "https://code.claude.com/docs/en/hooks",
    ),
    "claude-desktop": _mcp(
        "Claude Desktop",
        "https://modelcontextprotocol.io/docs/develop/connect-local-servers",
        ".config/Claude/claude_desktop_config.json",
    ),
    "cline": _mcp(
        "Cline",
        "https://docs.cline.bot/mcp/configuring-mcp-servers",
        f"{_CODE}/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
    ),
    "codex": Client(
        "Codex",
        _codex_hints,
        {".codex/config.toml": [codex], ".codex/hooks.json": [hooks(*_HOOKS)]},
        "https://developers.openai.com/codex/hooks",
    ),
    "cursor": _mcp("Cursor", "https://cursor.com/docs/mcp", ".cursor/mcp.json"),
    "gemini-cli": Client(
        "Gemini CLI",
        _restart_with_hooks,
        {".gemini/settings.json": [*_SERVER, gemini_hooks]},
        "https://geminicli.com/docs/hooks/reference",
    ),
    "langgraph": Client("LangGraph", _copy_store, code=_langgraph),
    "open-webui": Client("Open WebUI", _open_webui),
    "openai-sdk": Client("OpenAI's SDK", _through_proxy, code=_openai_sdk),
    "openclaw": _mcp(
        "OpenClaw",
        "https://docs.openclaw.ai/cli/mcp",
        ".openclaw/openclaw.json",
        "mcp",
        "servers",
    ),
    "opencode": Client(
        "OpenCode",
        _restart,
        {".config/opencode/opencode.json": [opencode]},
        "https://opencode.ai/v2/docs/mcp-servers",
    ),
    "vscode": _mcp(
        "VS Code",
        "https://code.visualstudio.com/docs/agents/reference/mcp-configuration",
        f"{_CODE}/mcp.json",
        "servers",
        type="stdio",
    ),
    "windsurf": _mcp(
        "Windsurf",
        "https://docs.windsurf.com/windsurf/cascade/mcp",
        ".codeium/windsurf/mcp_config.json",
    ),
    "zed": _mcp(
        "Zed",
        "https://zed.dev/docs/ai/mcp",
        ".config/zed/settings.json",
        "context_servers",
    ),
}


def _home(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111
