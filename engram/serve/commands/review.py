"""The commands of the review queue."""

from __future__ import annotations

import click

from engram.serve.command_group import CliContext, Command, CommandGroup, common, tree


@tree.group(cls=CommandGroup, params=common(), invoke_without_command=True)
@click.option(
    "--all",
    "every",
    is_flag=True,
    help="List every case, not only three new ones a week.",
)
@click.pass_context
def review(ctx: click.Context, *, every: bool) -> None:
    """List the cases that wait for a decision, or decide one.

    Without a command, prints doubtful memories and conflicts by subject, each with its
    answers, at most three new ones a week. ID is the id of a case or the beginning of
    it. The notes in `review/` ask the same with checkboxes.
    """
    if ctx.invoked_subcommand is None:
        cli = ctx.ensure_object(CliContext)
        with cli.connect() as vault:
            cli.show("review", vault.call("review", {"all": every}))


def _answer(decision: str, words: str) -> None:
    """Add a command for one answer to a review case."""

    @click.pass_obj
    def callback(cli: CliContext, id: str) -> None:
        with cli.connect() as vault:
            cli.show("decide", vault.call("decide", {"id": id, "decision": decision}))

    review.add_command(
        Command(
            decision, callback=callback, help=words, params=[click.Argument(["id"])]
        )
    )


for _decision, _words in {
    "approve": "Give the first answer of a case.",
    "reject": "Give the last answer of a case.",
    "keep": "Keep a doubtful memory.",
    "drop": "Drop a doubtful memory. It is not filed again.",
    "newer": "Keep the newer one of two memories.",
    "both": "Keep both memories.",
    "older": "Keep the older one of two memories. The newer one is not filed again.",
    "apply": "Do what maintenance proposes.",
    "forget": "Forget all that is listed.",
    "settle": "Settle all that is listed.",
    "leave": "Leave all as it is.",
}.items():
    _answer(_decision, _words)


@review.command()
@click.argument("id")
@click.pass_obj
def diff(cli: CliContext, id: str) -> None:
    """Show a review case with the turn behind each statement."""
    with cli.connect() as vault:
        cli.show("diff", vault.call("review", {"id": id}))
