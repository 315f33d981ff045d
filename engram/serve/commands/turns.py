"""The commands that store turns: `observe` and `import`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from engram.errors import NotFoundError
from engram.serve import connection
from engram.serve.command_group import CliContext, tree


@tree.command()
@click.pass_obj
def observe(cli: CliContext) -> int:
    """Store turns from standard input, one JSON object a line.

    Reads until the end of the input and stores each turn as it arrives. Prints how many
    turns were stored, had been stored before or were refused.

    \b
        {"text": "I am allergic to peanuts."}
        {"text": "Noted.", "session": "s1", "role": "assistant"}
        {"id": "m7", "session": "s1", "speaker": "Mira", "text": "Thanks!", "occurred_at": "2026-03-02T18:15:00"}

    Only text is required. Optional are id, session, role (user, assistant, system or tool), speaker, persona,
    private (true: only the persona recalls it), record (false: off the record), occurred_at (ISO 8601), attachments
    (names of files), and participants: the users, if there are several. A turn whose id is known is not stored twice;
    with another text it replaces the first one.
    """  # noqa: D301
    from engram.serve import observe as serve_observe

    with cli.connect() as vault:
        result = serve_observe.observe(sys.stdin, vault.call)
        if not isinstance(vault, connection.DaemonVault):  # it extracts them later
            result |= serve_observe.parked(vault.call)
    cli.show("observe", result)
    return serve_observe.exit_code(result)


class ExportKind(click.ParamType):  # type: ignore[type-arg]
    """A format of `engram import`; the importers are loaded only when it is used."""

    name = "kind"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """Return the format; raises a usage error for an unknown one."""
        return self._choice().convert(value, param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        """Return the formats as the help shows them."""
        return self._choice().get_metavar(param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        """Return the formats that begin with `incomplete`."""
        return self._choice().shell_complete(ctx, param, incomplete)

    def _choice(self) -> click.Choice[str]:
        from engram.ingest.importers import KINDS

        return click.Choice(["auto", *KINDS])


@tree.command("import")
@click.argument("file", type=click.Path(path_type=Path, readable=False))
@click.option(
    "--kind",
    type=ExportKind(),
    default="auto",
    help="The format of FILE; detected if absent.",
)
@click.option(
    "--dry-run", is_flag=True, help="Read and count the turns and store nothing."
)
@click.pass_obj
def import_(cli: CliContext, file: Path, kind: str, *, dry_run: bool) -> int:
    """Store the turns of a file or folder.

    FILE contains JSON lines, Markdown or the export of a chat program. Prints how many
    turns were stored, had been stored before or were refused, and the run for `engram
    undo`. The same command continues an interrupted import.
    """
    from engram.ingest.importers import is_pasted, read_export, values
    from engram.ingest.importers.files import NO_CONVERSATIONS, digest
    from engram.serve import observe as serve_observe

    if not file.exists():
        raise NotFoundError(
            "the file to import does not exist", where=str(file), fix="Check the path."
        )
    zone = cli.settings().zone
    modified = values.modified(file, zone)
    found = serve_observe.UndatedCount(read_export(file, zone, kind), modified)
    if dry_run:
        result = serve_observe.counted(found)
    else:
        number = 0
        if sys.stderr.isatty():  # the bar needs the number of items
            number = sum(1 for _ in read_export(file, zone, kind))
        with cli.connect() as vault:
            begun = {"file": file.name, "source": digest(file)}
            begun_run = vault.call("begin_import", begun)["run"]
            result = serve_observe.feed(found, vault.call, number, begun_run)
    refusals = [one for one in result["refused"] if NO_CONVERSATIONS not in one]
    counts = (
        result.get(name) for name in ("turns", "stored", "duplicates", "memories")
    )
    if not refusals and not any(counts):
        raise NotFoundError(
            "the file contains no turns",
            where=str(file),
            fix="Check its content, and --kind if you gave one.",
        )
    if kind == "auto" and result.get("memories") and is_pasted(file):
        result["note"] = "each line was read as one memory"
    elif note := found.note():
        result["note"] = note
    cli.show("import", result)
    return serve_observe.exit_code(result)
