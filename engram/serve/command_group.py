"""The parts that all commands share: common options, the vault, the command group."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engram import __version__
from engram.errors import ConfigError
from engram.serve import connection, socket_client
from engram.serve.output import display

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.config import Settings


class CliContext:
    """The options of every command, at any position of the command line."""

    def __init__(self) -> None:
        self.vault: Path | None = None
        self.as_json = False
        self.debug = False

    def settings(self) -> Settings:
        """Return the settings of the chosen vault; raises ConfigError."""
        from engram import config

        return config.load(self.vault, os.environ)

    def daemon(self) -> tuple[str, str | None]:
        """Return the socket and the folder of the vault.

        If the configuration is broken, they follow from the vault and the environment.
        """
        try:
            settings = self.settings()
        except ConfigError:
            vault = str(self.vault) if self.vault else None
            path = socket_client.socket_of(vault, os.environ)
            if path is None:
                raise
            return path, socket_client.folder_of(vault, os.environ)
        return str(settings.socket), str(settings.vault)

    @property
    def named(self) -> Path | None:
        """The vault named by this call, or None for the default vault."""
        named = self.vault or os.environ.get("ENGRAM_VAULT")
        return Path(named).expanduser().resolve() if named else None

    @contextmanager
    def connect(self) -> Iterator[connection.VaultConnection]:
        """Connect to the chosen vault; close the connection at the end."""
        opened = connection.connect(self.vault, owner=True)
        try:
            yield opened
        finally:
            opened.close()

    def show(
        self, name: str, result: Any, *, explain: bool = False, verbose: bool = False
    ) -> None:
        """Print a result as text, or as JSON with --json."""
        form = {"as_json": self.as_json, "explain": explain, "verbose": verbose}
        display(name, result, self.vault, **form)


def _keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    if value and param.name:
        setattr(ctx.ensure_object(CliContext), param.name, value)


COMMON: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (
        ("--vault",),
        {
            "type": click.Path(path_type=Path, readable=False),
            "help": "The folder of the vault.",
        },
    ),
    (("--json", "as_json"), {"is_flag": True, "help": "Print the result as JSON."}),
    (
        ("--debug",),
        {"is_flag": True, "help": "Print a traceback with an error."},
    ),
)


def common() -> list[click.Parameter]:
    """Return new copies of the options that every command takes."""
    return [
        click.Option(names, expose_value=False, callback=_keep, **settings)
        for names, settings in COMMON
    ]


class Command(click.Command):
    """A command that also takes the common options."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        settings["params"] = [*(settings.get("params") or []), *common()]
        super().__init__(*args, **settings)


OTHER_NAMES = {
    name: command
    for command, names in {
        "entities": "people persons places things who",
        "recall": "search find ask query get",
        "remember": "add save store note new",
        "forget": "delete remove rm",
        "list": "ls facts memories",
        "correct": "update change replace",
        "open": "edit view",
        "todos": "tasks promises reminders commitments agenda",
        "web": "ui browser page",
        "up": "start enable install",
        "down": "stop disable",
        "init": "create setup",
        "doctor": "check verify",
        "export": "backup dump",
        "runs": "log logs",
        "why": "explain",
    }.items()
    for name in names.split()
}
"""Names by which users may call a command, by its name."""


GROUPS = {
    "Every day": "remember recall list show why correct forget restore todos entities context open web",
    "Conversations": "observe import sessions session timeline digest",
    "Review": "review confirm dispute settle pin unpin promote demote sensitivity history undo runs merge",
    "Care": "status doctor stats consolidate forecast synthesize prune purge reindex reprocess eval export",
    "Setup": "init demo up down daemon connect token config policy completion",
}
"""The groups of the help, with their commands; the others are for programs."""


class CommandGroup(click.Group):
    """A group whose commands take the common options."""

    command_class = Command

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the commands in groups, those of a group in the order of their use."""
        if self is not tree:
            super().format_commands(ctx, formatter)
            return
        left = dict(sorted(self.commands.items()))
        groups = {
            name: {one: left.pop(one) for one in words.split()}
            for name, words in GROUPS.items()
        }
        most = formatter.width - 6 - max(map(len, self.commands))
        for name, commands in (groups | {"For programs": left}).items():
            with formatter.section(name):
                formatter.write_dl(
                    [
                        (key, one.get_short_help_str(most))
                        for key, one in commands.items()
                    ]
                )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command; an error suggests the command that may be meant."""
        meant = OTHER_NAMES.get(args[0])
        if meant in self.commands and args[0] not in self.commands:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {meant!r}?")
        return super().resolve_command(ctx, args)


@click.group(
    cls=CommandGroup,
    params=common(),
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="The vault is the folder given by --vault, by ENGRAM_VAULT or by the configuration file; otherwise the "
    "current folder if it is a vault; otherwise ~/Engram. A command goes through the daemon of the vault if one runs, "
    "and opens the vault itself otherwise. `engram COMMAND --help` explains a command.",
)
@click.version_option(__version__, prog_name="engram", message="%(prog)s %(version)s")
def tree() -> None:
    """Long-term memory for chatbots, stored as a folder of Markdown files.

    To begin: `engram init` makes a vault, `engram remember` stores a statement, `engram recall` finds it again, and
    `engram daemon` runs in the background, extracts memories from turns and maintains the vault.
    """
