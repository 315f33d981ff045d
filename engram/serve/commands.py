"""The commands of `engram`.

Most operations get their command from their row of the table. The others, and the
commands for the vault, its configuration and its daemon, are defined here.
"""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engram.errors import (
    BadRequestError,
    ConfigError,
    EngramError,
    LockedError,
    NotFoundError,
)
from engram.operations.table import BY_NAME, OPERATIONS
from engram.serve import (  # noqa: F401
    connection,
    index_commands,
    socket_client,
    token_commands,
)
from engram.serve.command_group import CliContext, Command, CommandGroup, common, tree
from engram.serve.output import BRIEF, INTERRUPTED, fault_shown, put, surprise

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from engram.config import Key, Settings
    from engram.operations.operation import Operation, Param
    from engram.serve import completion

UNHEALTHY = 1
"""The exit code of `doctor` with a problem, and of `purge` where words are left."""
LONG = ("consolidate", "doctor", "flush", "prune")
"""Operations that may take minutes."""
TYPES: dict[str, Any] = {"int": int, "float": float}


def run(argv: Sequence[str]) -> int:
    """Run a command line and return the exit code.

    Errors are printed as text, with a traceback only for --debug.
    """
    cli = CliContext()
    sys.excepthook = surprise if "--debug" not in argv else sys.__excepthook__
    try:
        code = tree.main(list(argv), prog_name="engram", standalone_mode=False, obj=cli)
    except EngramError as fault:
        if cli.debug:
            sys.__excepthook__(type(fault), fault, fault.__traceback__)
        click.echo(fault_shown(fault, as_json=cli.as_json), err=True)
        return fault.exit_code
    except click.exceptions.NoArgsIsHelpError as fault:
        fault.show()
        return BadRequestError.exit_code
    except click.ClickException as fault:
        asked = getattr(fault, "ctx", None)
        command = asked.command_path if asked else "engram"
        fix = f"`{command} --help` lists its arguments{_where_ids_are(fault)}."
        words = BadRequestError(fault.format_message(), fix=fix)
        click.echo(fault_shown(words, as_json=cli.as_json), err=True)
        return words.exit_code
    except click.Abort:
        return INTERRUPTED
    return code if isinstance(code, int) else 0


def _where_ids_are(fault: click.ClickException) -> str:
    """Return which commands show the id that was left out, or ''."""
    param = getattr(fault, "param", None)
    if not isinstance(fault, click.MissingParameter) or not param or param.name != "id":
        return ""
    command = fault.ctx.info_name if fault.ctx else ""
    lists = (
        "`engram runs` shows" if command == "undo" else "`engram list` and recall show"
    )
    return f"; {lists} ids"


# -- operations of the table -----------------------------------------------------------


def _parameter(operation: Operation, param: Param) -> click.Parameter:
    complete = _completion(operation.name, param.name)
    if param.positional:
        return click.Argument(
            [param.name],
            required=param.required,
            nargs=-1 if param.kind == "list" else 1,
            shell_complete=complete,
        )
    flag = "-" * (1 if len(param.name) == 1 else 2) + param.name.replace("_", "-")
    kind, meaning = TYPES.get(param.kind, str), _sentence(param.meaning)
    if param.kind == "bool":
        if param.default:
            flag = f"{flag}/--no-{flag.removeprefix('--')}"
            return click.Option([flag], default=True, help=meaning)
        return click.Option([flag], is_flag=True, default=False, help=meaning)
    return click.Option(
        [flag, param.name],
        type=kind,
        multiple=param.kind == "list",
        help=meaning,
        shell_complete=complete,
    )


def _completion(operation: str, name: str) -> completion.Complete | None:
    """Return the completion of an argument, if a shell asks; it loads more modules."""
    if "_ENGRAM_COMPLETE" not in os.environ:
        return None
    from engram.serve import completion

    return completion.of(operation, name)


def _operation(operation: Operation) -> Command:
    """Return the command of an operation, made from its row of the table."""

    @click.pass_obj
    def callback(cli: CliContext, /, **params: Any) -> int:
        sent = {}
        for param in operation.params:
            value = params[param.name]
            if value is not None and value != () and value is not param.default:
                sent[param.name] = list(value) if isinstance(value, tuple) else value
        verbose = bool(sent.pop("verbose", False))
        with cli.connect() as vault, _long_work(operation.name):
            result = vault.call(operation.name, sent)
            result |= _details(operation.name, result, vault)
        explain = bool(params.get("explain"))
        cli.show(operation.name, result, explain=explain, verbose=verbose)
        fine = result.get("healthy", True) and result.get("clean", True)
        return 0 if fine else UNHEALTHY

    return Command(
        operation.name,
        callback=callback,
        help="\n\n".join([operation.help, *_arguments(operation)]),
        params=[
            *(_parameter(operation, param) for param in operation.params),
            *([_verbose()] if operation.name in BRIEF else []),
        ],
    )


def _verbose() -> click.Option:
    return click.Option(["-v", "--verbose"], is_flag=True, help="Print every field.")


def _long_work(name: str) -> AbstractContextManager[object]:
    """Tell a person at a terminal how long an operation has been at work."""
    if name not in LONG:
        return nullcontext()
    from engram.serve.terminal import Bar

    return Bar(name)


def _details(
    name: str, result: dict[str, Any], vault: connection.VaultConnection
) -> dict[str, Any]:
    """Return what else to print: counts for `doctor`, why turns are parked."""
    from engram.serve.observe import why_parked

    if name == "doctor":
        return {"checked": vault.call("stats", {})}
    return {"why_parked": why_parked(vault.call)} if result.get("parked_turns") else {}


def _arguments(operation: Operation) -> Iterator[str]:
    """Yield a sentence for each positional argument, as `ID is the id of a run.`"""
    for param in operation.params:
        if param.positional:
            yield f"{param.name.upper()} is {param.help}."


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:] + "."


for _each in OPERATIONS:
    if not _each.own_command:
        tree.add_command(_operation(_each))


def _update(name: str, words: str, **change: Any) -> None:
    """Add a command for one change that `update` makes."""
    takes_turns = "status" in change  # a turn can be restored, and nothing else
    like = BY_NAME["update" if takes_turns else "show"]
    words = "\n\n".join(
        [f"{words} Shows the front-matter keys that changed.", *_arguments(like)]
    )

    @click.pass_obj
    def callback(cli: CliContext, id: str) -> None:  # noqa: A002
        with cli.connect() as vault:
            cli.show(name, vault.call("update", {"id": id, **change}))

    tree.add_command(
        Command(name, callback=callback, help=words, params=[_id_argument("update")])
    )


def _id_argument(operation: str) -> click.Argument:
    return click.Argument(["id"], shell_complete=_completion(operation, "id"))


_update("pin", "Pin a memory, so that it never fades.", pinned=True)
_update("unpin", "Unpin a memory, so that it fades like others.", pinned=False)
_update(
    "restore",
    "Restore a forgotten or archived memory, or a forgotten turn.",
    status="active",
)
_update("promote", "Make a memory lasting, so that it fades slowly.", layer="up")
_update("demote", "Let a memory fade as fast as an episode.", layer="down")


@tree.command()
@click.option(
    "--talk",
    "cadence",
    flag_value="talk",
    help="Summarise conversations and find promises.",
)
@click.option(
    "--light",
    "cadence",
    flag_value="light",
    help="Run the passes that run after every few batches.",
)
@click.option(
    "--nightly",
    "cadence",
    flag_value="nightly",
    default=True,
    help="Run the passes that run every night; the default.",
)
@click.option(
    "--weekly",
    "cadence",
    flag_value="weekly",
    help="Run the passes that run every week.",
)
@click.option("--pass", "only", help="Run only this pass.")
@click.option(
    "--dry-run", is_flag=True, help="Show what would be done and change nothing."
)
@click.pass_obj
def consolidate(
    cli: CliContext, cadence: str, only: str | None, *, dry_run: bool
) -> int:
    """Run maintenance now.

    Archives, merges and ends memories that are due, and prints each change with its
    reason and the id for `engram undo`. Exits with 75 where maintenance may not run
    just now, for example while the clock is in doubt: try again later.
    """
    with cli.connect() as vault:
        arguments: dict[str, Any] = {"cadence": cadence, "dry_run": dry_run}
        if only:
            arguments["only"] = only
        with _long_work("consolidate"):
            result = vault.call("consolidate", arguments)
    cli.show("consolidate", result)
    return LockedError.exit_code if result["frozen"] else 0


@tree.command()
@click.pass_obj
def observe(cli: CliContext) -> int:
    """Store turns from standard input, one JSON object a line.

    Reads until the end of the input and stores each turn as it arrives. Prints how many
    turns were stored, were known already or were refused.

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
        if not isinstance(
            vault, connection.RemoteVault
        ):  # a daemon extracts memories later
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

    FILE holds JSON lines, Markdown or the export of a chat program. Prints how many
    turns were stored, were known already or were refused, and the run for `engram
    undo`. An interrupted import goes on with the same command.
    """
    from engram.ingest.importers import is_pasted, read_export
    from engram.ingest.importers.files import NO_CONVERSATIONS, digest
    from engram.serve import observe as serve_observe

    if not file.exists():
        raise NotFoundError(
            "the file to import does not exist", where=str(file), fix="Check the path."
        )
    found = read_export(file, cli.settings().zone, kind)
    if dry_run:
        result = serve_observe.counted(found)
    else:
        number = 0
        if sys.stderr.isatty():  # the bar wants to know how much there is
            number = sum(1 for _ in read_export(file, cli.settings().zone, kind))
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
            "the file holds no turns",
            where=str(file),
            fix="Check its content, and --kind if you gave one.",
        )
    if kind == "auto" and result.get("memories") and is_pasted(file):
        result["note"] = "each line was read as one memory"
    cli.show("import", result)
    return serve_observe.exit_code(result)


@tree.command()
@click.option(
    "--days",
    type=int,
    default=30,
    show_default=True,
    help="How many days ahead, 1 to 3650.",
)
@click.option("--plot", is_flag=True, help="Draw the value of each memory until then.")
@click.pass_obj
def forecast(cli: CliContext, days: int, *, plot: bool) -> None:
    """List what unused memories will become, and when.

    Prints the day on which each goes stale, ends or is archived, and why.
    """
    with cli.connect() as vault:
        cli.show("forecast", vault.call("forecast", {"days": days, "curve": plot}))


@tree.command()
@click.option("--plot", is_flag=True, help="Draw the counts, and memories by month.")
@click.pass_obj
def stats(cli: CliContext, *, plot: bool) -> None:
    """Count memories, turns and files.

    Shows one line for each count, and how many turns wait.
    """
    with cli.connect() as vault:
        result = vault.call("stats", {})
        if plot:
            days = vault.call("timeline", {"all_personas": True})["days"]
            cli.show("plot", result | {"timeline": days})
            return
        result |= _details("stats", result, vault)
    cli.show("stats", result)


@tree.command()
@click.argument("folder", type=click.Path(path_type=Path, readable=False))
@click.pass_obj
def reprocess(cli: CliContext, folder: Path) -> None:
    """Extract all memories again, into a new vault.

    FOLDER is the new vault. The present model or rules are used, and the present vault
    is only read. Prints the differences between the two.
    """
    from engram.serve.replay import reprocess as replay_history
    from engram.serve.terminal import Bar

    with Bar("reprocess") as bar:

        def show_progress(done: int, of: int) -> None:
            bar.total = of
            bar.reach(done)

        to = folder.expanduser().resolve()
        result = replay_history(cli.settings(), to, show_progress)
    cli.show("reprocess", result)


@tree.command("eval")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(path_type=Path, readable=False)
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    help="Ask only this many questions, chosen by chance.",
)
@click.option(
    "--seed",
    type=int,
    default=7,
    show_default=True,
    help="The number that chance begins with.",
)
@click.option(
    "--answers",
    is_flag=True,
    help="Have the language model answer each question, and grade the answer.",
)
@click.option(
    "--offline", is_flag=True, help="Ask no model, even if one is configured."
)
@click.option("--yes", is_flag=True, help="Agree to what the models cost.")
@click.option(
    "--results",
    type=click.Path(path_type=Path, readable=False),
    help="The file for the result of each question.",
)
@click.option(
    "--against",
    type=click.Path(path_type=Path, readable=False),
    help="Compare with the results of an earlier run.",
)
@click.pass_obj
def eval_(
    cli: CliContext,
    files: tuple[Path, ...],
    *,
    limit: int | None,
    seed: int,
    answers: bool,
    offline: bool,
    yes: bool,
    results: Path | None,
    against: Path | None,
) -> None:
    """Measure how well questions are answered from memory.

    FILES hold conversations with questions: LoCoMo, LongMemEval, REALTALK, or JSON
    lines of your own, one for each turn and each question:

    \b
        {"id": "t1", "text": "Anna is allergic to peanuts."}
        {"question": "What is Anna allergic to?", "answer": "peanuts", "evidence": ["t1"]}

    Each conversation is stored in a temporary vault with your
    configuration. Prints the share of the evidence that recall finds, beside simpler
    retrievers. Ctrl-C keeps what is done; the same command goes on.
    """  # noqa: D301
    from engram.serve.evaluation.command import evaluate

    def agree(words: str) -> bool:
        if yes or not sys.stdin.isatty():
            return yes
        return click.confirm(f"{words} Go on?", err=True)

    found = evaluate(
        cli.settings(),
        files,
        limit=limit,
        seed=seed,
        answers=answers,
        offline=offline,
        results=results,
        against=against,
        agree=agree,
    )
    cli.show("eval", found)


# -- the review queue ------------------------------------------------------------------


@tree.group(cls=CommandGroup, params=common(), invoke_without_command=True)
@click.option(
    "--all", "every", is_flag=True, help="List every case, not three new ones a week."
)
@click.pass_context
def review(ctx: click.Context, *, every: bool) -> None:
    """List the cases that wait for a decision, or decide one.

    Without a command, prints doubtful memories and conflicts by subject, each with its
    answers and its id, at most three new ones a week. ID is the id of a case or the beginning of it. The notes in `review/` ask
    the same with checkboxes.
    """
    if ctx.invoked_subcommand is None:
        cli = ctx.ensure_object(CliContext)
        with cli.connect() as vault:
            cli.show("review", vault.call("review", {"all": every}))


def _answer(decision: str, words: str) -> None:
    """Add a command for one answer to a review case."""

    @click.pass_obj
    def callback(cli: CliContext, id: str) -> None:  # noqa: A002
        with cli.connect() as vault:
            cli.show("decide", vault.call("decide", {"id": id, "decision": decision}))

    review.add_command(
        Command(
            decision, callback=callback, help=words, params=[_id_argument("decide")]
        )
    )


_answer("approve", "Keep a doubtful memory, or the newer one of two.")
_answer("reject", "Drop a doubtful memory, or keep the older one of two.")
_answer("keep", "Keep a doubtful memory.")
_answer("drop", "Drop a doubtful memory. It does not come back.")
_answer("newer", "Keep the newer one of two memories.")
_answer("both", "Keep both memories.")
_answer("older", "Keep the older one of two memories. The newer does not come back.")


@review.command()
@click.argument("id")
@click.pass_obj
def diff(cli: CliContext, id: str) -> None:  # noqa: A002
    """Show a review case with the turn behind each statement."""
    with cli.connect() as vault:
        cli.show("diff", vault.call("review", {"id": id}))


# -- the vault and its numbers ---------------------------------------------------------


@tree.command()
@click.argument("file", type=click.Path(path_type=Path, readable=False))
@click.pass_obj
def export(cli: CliContext, file: Path) -> None:
    """Write the whole vault into one file.

    FILE must not exist; it becomes a tar file with every byte of every file but `.git`.
    Waiting turns are filed first. Prints the number of files; `engram init FOLDER
    --from FILE` unpacks them.
    """
    from engram.serve.archive import pack

    with cli.connect() as vault:
        vault.call("flush", {})
    cli.show("export", pack(cli.settings().vault, file.expanduser().resolve()))


@tree.command("open")
@click.argument("id")
@click.pass_obj
def open_(cli: CliContext, id: str) -> None:  # noqa: A002
    """Open the note of a memory or an entity in your editor.

    ID is the id of a memory, an unambiguous prefix of it, its path, or the name of an
    entity. The editor is VISUAL, EDITOR, or what the desktop opens Markdown with. Exits
    with 66 where there is neither; the message names the file.
    """
    from engram.serve.setup import is_graphical

    with cli.connect() as vault:
        found = vault.call("show", {"id": id})
    shown = next(one for one in found.values() if isinstance(one, dict))
    path = cli.settings().vault / shown["path"]
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if editor:
        click.edit(filename=str(path), editor=editor)
    elif not is_graphical() or click.launch(str(path)):
        raise NotFoundError(
            "no editor is set, and there is no desktop to open the note",
            where=str(path),
            fix="Set EDITOR, for example `export EDITOR=nano`, or open the file.",
        )
    cli.show("open", {"path": str(path)})


@tree.command()
@click.argument(
    "folder", type=click.Path(path_type=Path, readable=False), required=False
)
@click.option("--git", is_flag=True, help="Also make the folder a git repository.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="List the files that would be written and write none.",
)
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path, readable=False),
    help="Fill the new folder with the vault in this file of `engram export`.",
)
@click.pass_obj
def init(
    cli: CliContext,
    folder: Path | None,
    *,
    git: bool,
    dry_run: bool,
    source: Path | None,
) -> None:
    """Make a folder a vault.

    FOLDER is created if it does not exist; existing files stay as they are, but types
    of engram's keys are added to those of Obsidian. Inside of a vault of Obsidian
    nothing outside of FOLDER changes. Prints the files that were written.
    """
    from engram.serve.setup import init_vault

    cli.vault = folder or cli.vault
    if source is not None:
        from engram.serve.archive import unpack

        target = cli.vault or cli.settings().vault
        unpacked = unpack(source, target.expanduser().resolve(), dry_run=dry_run)
        if dry_run:
            cli.show("init", unpacked)
            return
    cli.show("init", init_vault(cli.settings, git=git, dry_run=dry_run))


@tree.command()
def tour() -> None:
    """Show in two minutes what engram does, in a temporary vault.

    Tells, asks, edits, asks why, changes and takes back, on real files. Needs no model
    and no daemon, and leaves nothing.
    """
    from engram.serve.tour import tour as show_tour

    show_tour()


@tree.command()
@click.argument("client")
@click.option("--undo", is_flag=True, help="Remove what this command wrote.")
@click.option(
    "--dry-run", is_flag=True, help="Show what would be written and change nothing."
)
@click.pass_obj
def connect(cli: CliContext, client: str, *, undo: bool, dry_run: bool) -> None:
    """Connect a chatbot or an agent to the vault.

    CLIENT is claude-code, claude-desktop, codex, langgraph, open-webui or openai-sdk.
    Writes into the client's own configuration where that is a file, and prints what is
    left to do.
    """
    from engram.serve.agents import connect as agents

    done = agents.connect(
        client, cli.settings(), cli.named, os.environ, undo=undo, dry_run=dry_run
    )
    cli.show("connect", done)


@tree.command()
@click.argument("event", required=False)
@click.pass_obj
def hook(cli: CliContext, event: str | None) -> int:
    """Handle an event of a coding agent.

    EVENT is JSON; without it, standard input is read. Stores questions and answers and
    prints what is known about a question. Ends within 150 ms, and always with 0.
    """
    from engram.serve.agents.hook import main

    return main([event] if event else [], str(cli.vault) if cli.vault else None)


@tree.command()
@click.pass_obj
def mcp(cli: CliContext) -> int:
    """Serve the Model Context Protocol on standard input and output.

    For the configuration of an agent: the command is `engram`, its argument `mcp`.
    """
    from engram.serve.mcp.stdio import main

    return main(str(cli.vault) if cli.vault else None)


@tree.command()
@click.pass_obj
def policy(cli: CliContext) -> None:
    """List the numbers that engram decides by.

    Prints each with its value, unit, meaning, range and source.
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
        lines.append(
            f"    {row['meaning']} [{row['low']:g} to {row['high']:g}, from {row['source']}]"
        )
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


def _complete_key(
    context: click.Context, param: click.Parameter, begun: str
) -> list[click.shell_completion.CompletionItem]:
    from engram.serve import completion

    return completion.keys(context, param, begun)


@config.command("explain")
@click.argument("key", shell_complete=_complete_key)
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
    except ConfigError as fault:  # the meaning of a key helps to mend the file
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


# -- the daemon ------------------------------------------------------------------------


@tree.command()
@click.option(
    "--foreground", is_flag=True, help="Stay in the foreground and log to the terminal."
)
@click.option(
    "--tcp",
    type=click.IntRange(1, 65535),
    help="Also listen on this loopback port; callers need a token.",
)
@click.option(
    "--record",
    type=click.Path(path_type=Path, file_okay=False, readable=False),
    help="Write each model call and its reply to this folder, without secrets.",
)
@click.option(
    "--replay",
    type=click.Path(path_type=Path, file_okay=False, readable=False, exists=True),
    help="Answer model calls from this folder instead of a server.",
)
@click.option(
    "--vaults",
    type=click.Path(path_type=Path, file_okay=False, readable=False, exists=True),
    help="Serve every vault in this folder, each for its own tokens.",
)
@click.pass_obj
def daemon(
    cli: CliContext,
    *,
    foreground: bool,
    tcp: int | None,
    record: Path | None,
    replay: Path | None,
    vaults: Path | None,
) -> None:
    """Start the daemon of the vault, or of every vault in a folder.

    Goes to the background, but with --vaults. Prints its socket or address, and how a
    chatbot calls it.
    """
    from engram.config import RECORD, REPLAY
    from engram.serve import setup

    for name, folder in ((RECORD, record), (REPLAY, replay)):
        if folder:
            os.environ[name] = str(folder.absolute())
    if vaults:
        setup.serve_vaults(vaults.resolve(), tcp, cli.show)
    elif foreground:
        setup.serve(cli.settings, tcp)
    else:
        cli.show("daemon", setup.start_in_background(cli.settings(), tcp))


@tree.command()
@click.option("--no-browser", is_flag=True, help="Print the link and start no browser.")
@click.pass_obj
def web(cli: CliContext, *, no_browser: bool) -> None:
    """Open the vault in a browser: search, timeline, review, people, health.

    Prints a link that works once, within five minutes, and opens it. The page is served
    by the daemon of the vault; if none runs, one runs until Ctrl-C.
    """
    from engram.serve import setup

    setup.open_page(cli.settings(), cli.show, browser=not no_browser)


@tree.command()
@click.option(
    "--nightly", is_flag=True, help="Run no daemon, only maintenance every night."
)
@click.option("--dry-run", is_flag=True, help="Print the units and change nothing.")
@click.pass_obj
def up(cli: CliContext, *, nightly: bool, dry_run: bool) -> None:
    """Let systemd run the daemon, now and at each login.

    Prints the units that were written and started.
    """
    from engram.serve import units

    settings = cli.settings()
    if nightly and cli.named:
        raise BadRequestError(
            "only your default vault can have a nightly timer",
            where=str(cli.named),
            fix="Leave --nightly out: `engram up` runs the daemon of this vault.",
        )
    written = units.rendered(
        settings, os.environ, instance=bool(cli.named), nightly=nightly
    )
    if dry_run and cli.as_json:
        cli.show("up", {"would_write": {str(p): text for p, text in written.items()}})
        return
    if dry_run:
        put("\n".join(f"# {path}\n{text}" for path, text in written.items()))
        return
    begun = (
        units.NIGHTLY
        if nightly
        else units.names(settings.socket, cli.named and settings.vault)
    )
    cli.show("up", units.up(settings, written, begun))


@tree.command()
@click.pass_obj
def down(cli: CliContext) -> None:
    """Stop the daemon, and stop systemd from starting it."""
    from engram.serve import units

    path = cli.socket()
    nightly = [] if cli.named else units.NIGHTLY
    cli.show("down", units.down(path, [*units.names(path, cli.named), *nightly]))


@tree.command()
@click.pass_obj
def status(cli: CliContext) -> None:
    """Show what the daemon does, and what does not work.

    Prints the vault, the process id, counts of memories and turns, and the time of the
    next maintenance run. Exits with 3 if no daemon runs, like `systemctl status`.
    """
    from engram.vault import template

    try:
        cli.show(
            "status",
            socket_client.call(cli.socket(), "status", {}, folder=cli.folder()),
        )
    except socket_client.AbsentError as fault:
        settings = cli.settings()
        template.check_vault(settings.vault)
        if settings.place and (notice := settings.place.notice()):
            fault.fix = f"{notice[:1].upper()}{notice[1:]}. {fault.fix}"
        raise


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
