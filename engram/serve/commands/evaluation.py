"""The command `eval`: measures answers from memory."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from engram.serve.command_group import CliContext, tree


@tree.command("eval")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(path_type=Path, readable=False)
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    help="Ask only this many questions, chosen at random.",
)
@click.option(
    "--seed",
    type=int,
    default=7,
    show_default=True,
    help="The seed of the random choice.",
)
@click.option(
    "--answers",
    is_flag=True,
    help="Have the language model answer each question, and grade the answer.",
)
@click.option(
    "--offline", is_flag=True, help="Ask no model, even if one is configured."
)
@click.option(
    "--write",
    is_flag=True,
    help="Measure what the extractor makes of turns, against a list of statements.",
)
@click.option("--yes", is_flag=True, help="Agree to the cost of the models.")
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
    write: bool,
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

    With --write instead of questions the statements that a turn should give, by
    words; `over` and `date` are optional:

    \b
        {"fact": ["Anna", "peanut"], "turn": "t1", "over": true, "date": "2026-05"}

    Each conversation is stored in a temporary vault with your
    configuration. Prints the share of the evidence that recall finds, next to simpler
    retrievers. After Ctrl-C the same command continues.
    """  # noqa: D301
    from engram.vault.template import shipped

    sys.path.insert(0, str(shipped("benchmarks")))
    from evaluation.command import evaluate

    def agree(words: str) -> bool:
        if yes or not sys.stdin.isatty():
            return yes
        return click.confirm(f"{words} Continue?", err=True)

    found = evaluate(
        cli.settings(),
        files,
        limit=limit,
        seed=seed,
        answers=answers,
        offline=offline,
        write=write,
        results=results,
        against=against,
        agree=agree,
    )
    cli.show("eval", found)
