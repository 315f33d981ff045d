"""Settings: two TOML files and the environment laid over the policy table; nobody else
reads either.

`engram.toml` travels with the vault and may hold harmless keys only; endpoints, keys
and ports come from the user's own configuration file or the environment. Every problem
is reported at once, with a suggestion.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import re
import tomllib
from dataclasses import dataclass, field, replace
from datetime import UTC
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from zoneinfo import ZoneInfo

from engram.core.policy import Policy, rows, with_settings
from engram.core.policy.lifecycle import CURVES
from engram.errors import ConfigError
from engram.vault import location

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import tzinfo

Place = Literal["vault", "user"]


@dataclass(frozen=True, slots=True)
class Key:
    """One setting: which file may hold it, its type, default, environment variable and
    meaning.

    A text is one of `choices`, or all of it fits `pattern`; a whole number without a
    policy row is 0 to `most`.
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
        "your own regular expressions that mean: distil this turn now",
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
        "whether a run that would put away, merge or rewrite much waits for your tick in review/, or is done unasked",
        env="ENGRAM_HOLDS",
        choices=("ask", "apply"),
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
        "embeddings.name",
        "user",
        str,
        "",
        "embedding model; empty: recall by words alone",
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
    """Every setting there is; fewer than forty."""
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


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Which model to ask and where, and which one for small jobs (`B14`); the key never
    appears in a repr.
    """

    name: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    api: str = "auto"
    small: str = ""
    section: ClassVar[str] = "model"


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """Which model turns text into vectors, and where; the key never appears in a repr."""

    name: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    section: ClassVar[str] = "embeddings"


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything the program was told. `state`, `cache` and `runtime` are this vault's
    own folders.

    `place` says why these: the vault's id names them, and a copy has others than its
    original.
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
    redact: str = "redact"
    patterns: tuple[str, ...] = ()
    drift_roots: tuple[str, ...] = ()
    file_name: str = ""
    git: bool = True
    log_content: bool = False
    holds: str = "ask"

    @property
    def socket(self) -> Path:
        """The Unix socket of the daemon that serves this vault."""
        return self.runtime / "engram.sock"


def user_file(env: Mapping[str, str]) -> Path:
    """The user's own configuration file."""
    base = (
        env.get("ENGRAM_HOME")
        or env.get("XDG_CONFIG_HOME")
        or str(Path(env.get("HOME", "~")).expanduser() / ".config")
    )
    return (
        Path(base) / "engram" / "config.toml"
        if not env.get("ENGRAM_HOME")
        else Path(base) / "config.toml"
    )


def load(vault: Path | None, env: Mapping[str, str]) -> Settings:
    """The settings for `vault`, else for ENGRAM_VAULT, the user's file, this folder if
    it is a vault, ~/Engram.

    Raises ConfigError naming every problem in every place.
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
    if problems:
        raise ConfigError(
            "; ".join(problems),
            fix="Mend these and start again; `engram config explain KEY` tells more.",
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
        embeddings=embeddings if embeddings.name else None,
        redact=values["redact"],
        patterns=tuple(values["patterns"]),
        drift_roots=tuple(values["drift_roots"]),
        file_name=values["file_name"],
        git=values["git"] == "commit",
        log_content=values["log_content"],
        holds=values["holds"],
    )


def _policy(values: Mapping[str, Any]) -> Policy:
    """The policy with the numbers that are set, and the curve of retention that is
    named (`D4`).
    """
    policy = with_settings(
        Policy(),
        {
            name: value
            for name, value in values.items()
            if isinstance(value, int | float)
        },
    )
    form = CURVES[values["retention"]]
    return replace(
        policy, decay=replace(policy.decay, bend=form.bend, straight=form.straight)
    )


def _home(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or Path.home())


def _vault_folder(
    vault: Path | None,
    user: Mapping[str, Any],
    env: Mapping[str, str],
    problems: list[str],
) -> Path:
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
    ) as fault:  # also in a folder that is gone
        problems.append(f"vault: {str(chosen)!r} names no folder ({fault})")
        return _home(env)


def _id_at(folder: Path) -> str:
    """The id that the engram.toml in `folder` holds, '' where there is none."""
    return str(_read(folder / "engram.toml", "vault", []).get("id", ""))


def _homes(env: Mapping[str, str]) -> tuple[Path, Path, Path]:
    """The homes of state, cache and sockets, in which each vault has a folder of its
    own.

    All of it may be deleted at rest but the journal in the state.
    """
    if own := env.get("ENGRAM_HOME"):
        base = Path(own).expanduser().resolve()
        return base / "state", base / "cache", base / "run"
    state = (
        Path(env.get("XDG_STATE_HOME") or _home(env) / ".local" / "state") / "engram"
    )
    cache = Path(env.get("XDG_CACHE_HOME") or _home(env) / ".cache") / "engram"
    runtime = (
        Path(env["XDG_RUNTIME_DIR"]) / "engram"
        if env.get("XDG_RUNTIME_DIR")
        else state / "run"
    )
    return state, cache, runtime


def _read(path: Path, place: Place, problems: list[str]) -> dict[str, Any]:
    try:
        raw = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as fault:
        problems.append(f"{path}: cannot be read ({os.strerror(fault.errno or 0)})")
        return {}
    try:
        tree = tomllib.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as fault:
        problems.append(f"{path}: not valid TOML ({fault})")
        return {}
    known = {key.name: key for key in keys()}
    found: dict[str, Any] = {}
    for name, value in _flat(tree):
        key = known.get(name)
        if key is None:
            near = difflib.get_close_matches(name, known, 1)
            problems.append(
                f"{path}: unknown key {name!r}"
                + (f", did you mean {near[0]!r}?" if near else "")
            )
        elif key.place != place:
            where = (
                "the user's configuration file"
                if key.place == "user"
                else "the vault's engram.toml"
            )
            problems.append(f"{path}: {name!r} belongs in {where}, not here")
        elif misfit := _misfit(key, value):
            problems.append(f"{path}: {name} {misfit}")
        else:
            found[name] = key.kind(value)
    return found


def _flat(tree: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    flat: list[tuple[str, Any]] = []
    for name, value in tree.items():
        flat += (
            _flat(value, f"{prefix}{name}.")
            if isinstance(value, dict)
            else [(f"{prefix}{name}", value)]
        )
    return flat


def _misfit(key: Key, value: Any) -> str:
    """Why `value` does not fit `key`, or ''."""
    if key.kind in {int, float}:
        return _number_misfit(key, value)
    if key.kind is list:
        fits = isinstance(value, list) and all(isinstance(item, str) for item in value)
        return "" if fits else "must be a list of texts"
    if not isinstance(value, key.kind):
        return f"must be of type {key.kind.__name__}, not {value!r}"
    if key.choices and value not in key.choices:
        return f"must be one of {', '.join(filter(None, key.choices))}, not {value!r}"
    if key.pattern and not re.fullmatch(key.pattern, str(value)):
        return f"must be letters, digits, - and _ only, not {value!r}"
    return ""


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
    """The zone that /etc/localtime points to, else UTC."""
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
    return ModelSettings(values["model.name"], base or None, key, api, small)


def _embeddings(
    values: Mapping[str, Any], env: Mapping[str, str], problems: list[str]
) -> EmbeddingSettings:
    """The embedding model: at the language model's server and with its key, unless told
    otherwise.

    The language model's key goes to no other server.
    """
    own, shared = values["embeddings.base_url"], values["model.base_url"]
    key = (
        _api_key("embeddings", values, env, problems)
        or env.get("ENGRAM_EMBEDDINGS_API_KEY")
        or None
    )
    if not key and (not own or own.rstrip("/") == shared.rstrip("/")):
        key = _model(values, env, []).api_key
    return EmbeddingSettings(values["embeddings.name"], own or shared or None, key)


def _api_key(
    section: str, values: Mapping[str, Any], env: Mapping[str, str], problems: list[str]
) -> str | None:
    """The key from its file, else from systemd's credential folder."""
    path = values[f"{section}.api_key_file"]
    places = [Path(path)] if path else []
    if folder := env.get("CREDENTIALS_DIRECTORY"):
        places.append(
            Path(folder) / ("api_key" if section == "model" else "embeddings_api_key")
        )
    for place in places:
        try:
            if key := place.expanduser().read_text("utf-8").strip():
                return key
        except (OSError, ValueError, RuntimeError) as fault:
            if path and place == places[0]:
                why = (
                    os.strerror(fault.errno or 0)
                    if isinstance(fault, OSError)
                    else "no text, or no such place"
                )
                problems.append(
                    f"{section}.api_key_file: {place} cannot be read ({why})"
                )
    return None
