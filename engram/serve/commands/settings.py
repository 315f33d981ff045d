"""The commands that show the configuration and the numbers of the policy."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from engram.errors import ConfigError, NotFoundError
from engram.serve.command_group import CliContext, CommandGroup, common, tree
from engram.serve.output import put

if TYPE_CHECKING:
    from engram.config import Key, Settings


@tree.command()
@click.pass_obj
def policy(cli: CliContext) -> None:
    """List the numbers of the policy, by which engram decides.

    Prints each with its value, unit, meaning and range.
    """
    from dataclasses import asdict

    from engram.core.policy import rows

    listed = [asdict(row) for row in rows(cli.settings().policy)]
    if cli.as_json:
        cli.show("policy", {"policy": listed})
        return
    lines = []
    for row in listed:
        name = f"{row['concern']}.{row['name']}" + (
            f" (key {row['key']})" if row["key"] else ""
        )
        lines.append(f"{name} = {row['value']:g} {row['unit']}")
        lines.append(f"    {row['meaning']} [{row['low']:g} to {row['high']:g}]")
    put("\n".join(lines))


@tree.group(cls=CommandGroup, params=common())
def config() -> None:
    """Show all settings, or explain one."""


@config.command("show")
@click.pass_obj
def config_show(cli: CliContext) -> None:
    """Print every setting with its value."""
    from engram.config import keys

    settings = cli.settings()
    cli.show("config", {key.name: _value(settings, key) for key in keys()})


@config.command("explain")
@click.argument("key")
@click.pass_obj
def config_explain(cli: CliContext, key: str) -> None:
    """Explain one setting.

    Prints the meaning, value, default and file of KEY.
    """
    from engram.config import keys, user_file

    known = {item.name: item for item in keys()}
    found = known.get(key)
    if found is None:
        from difflib import get_close_matches

        inside = [one for one in known if one.startswith(f"{key}.")]
        near = inside or get_close_matches(key.casefold(), known, 3, 0.7)
        fix = f"Did you mean {' or '.join(near)}?" if near else ""
        fix = fix or f"Use one of: {', '.join(known)}."
        raise NotFoundError(f"there is no setting {key!r}", fix=fix)
    words: dict[str, Any] = {
        "key": key,
        "meaning": found.meaning,
        "default": found.default,
    }
    place = (
        str(user_file(os.environ))
        if found.place == "user"
        else "engram.toml in the vault"
    )
    try:
        settings = cli.settings()
    except ConfigError as fault:  # the meaning of a key helps to correct the file
        words |= {"value": f"not known: {fault.what}"}
    else:
        words |= {"value": _value(settings, found)}
        place = place if found.place == "user" else str(settings.vault / "engram.toml")
    cli.show(
        "config",
        {
            **words,
            "file": place,
            "environment": found.env,
            "choices": list(found.choices),
        },
    )


def _value(settings: Settings, key: Key) -> Any:
    """Return the present value of a setting."""
    from engram.config import without_password
    from engram.core.policy import rows

    for row in rows(settings.policy):
        if row.key == key.name:
            return row.value
    if key.name == "postgres":
        return without_password(settings.postgres)
    if key.name.startswith("model."):
        return getattr(settings.model, key.name.removeprefix("model."), None)
    value = getattr(settings, {"id": "vault_id"}.get(key.name, key.name), None)
    return (
        list(value)
        if isinstance(value, tuple)
        else value
        if isinstance(value, bool | int | None)
        else str(value)
    )


@tree.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_(shell: str) -> None:
    """Print the completion script for a shell.

    SHELL is bash, zsh or fish. For bash: `eval "$(engram completion bash)"`.
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(tree, {}, "engram", "_ENGRAM_COMPLETE").source()
    cli = click.get_current_context().ensure_object(CliContext)
    if cli.as_json:
        cli.show("completion", {"shell": shell, "script": script})
    else:
        put(script)
