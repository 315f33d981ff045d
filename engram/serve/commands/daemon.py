"""The commands of the daemon: start, stop, its state, its page in the browser."""

from __future__ import annotations

import os
from pathlib import Path

import click

from engram.errors import BadRequestError
from engram.serve import socket_client
from engram.serve.command_group import CliContext, tree
from engram.serve.output import put


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
@click.option(
    "--address",
    default="",
    metavar="URL",
    help="Address of this daemon for others with the same --vaults and database.",
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
    address: str,
) -> None:
    """Start the daemon of the vault, or of every vault in a folder.

    Runs in the background, except with --vaults. Prints its socket or address, and how
    a chatbot calls it.
    """
    from engram.config import RECORD, REPLAY
    from engram.serve import setup

    for name, folder in ((RECORD, record), (REPLAY, replay)):
        if folder:
            os.environ[name] = str(folder.absolute())
    if address and not vaults:
        raise BadRequestError(
            "only the daemon of a folder of vaults has an address",
            where="--address",
            fix="Give `--vaults DIR` too.",
        )
    if vaults:
        setup.serve_vaults(vaults.resolve(), tcp, cli.show, address)
    elif foreground:
        setup.serve(cli.settings, tcp)
    else:
        cli.show("daemon", setup.start_in_background(cli.settings(), tcp))


@tree.command()
@click.option(
    "--no-browser", is_flag=True, help="Print the link and do not start a browser."
)
@click.pass_obj
def web(cli: CliContext, *, no_browser: bool) -> None:
    """Open the vault in a browser.

    Shows search, timeline, review, people and health. Prints a link that works once,
    within five minutes, and opens it. The page is served
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

    path, _ = cli.daemon()
    nightly = [] if cli.named else units.NIGHTLY
    cli.show("down", units.down(path, [*units.names(path, cli.named), *nightly]))


@tree.command()
@click.pass_obj
def status(cli: CliContext) -> None:
    """Show the state of the daemon, and the parts that do not work.

    Prints the vault, the process id, counts of memories and turns, and the time of the
    next maintenance run. If no daemon runs, prints the state of the vault and exits
    with 3, like `systemctl status`.
    """
    from engram.vault import template

    path, folder = cli.daemon()
    try:
        cli.show("status", socket_client.call(path, "status", {}, folder=folder))
    except socket_client.AbsentError as fault:
        settings = cli.settings()
        template.check_vault(settings.vault)
        if settings.place and (notice := settings.place.notice()):
            fault.fix = f"{notice[:1].upper()}{notice[1:]}. {fault.fix}"
        with cli.connect() as opened:
            result = opened.call("status", {})
        of_process = {"pid", "uptime_seconds", "next_consolidation"}
        cli.show("status", {k: v for k, v in result.items() if k not in of_process})
        raise
