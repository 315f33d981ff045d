"""The file of an evaluation: JSON lines, one for each question, written as they come.

The first line describes the measurement, so that an interrupted run can continue and
two runs can be compared. Incomplete lines, as after a power failure, are skipped.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from engram import __version__
from engram.errors import BadRequestError, ConflictError, NotFoundError
from engram.ingest.importers import files
from engram.vault import disk
from evaluation.datasets import RESULTS, files_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from engram.config import Settings

_MEANING = {
    "engram": "another version of engram",
    "data": "other files",
    "settings": "other settings",
    "models": "other models",
    "answers": "answers by a model, or none",
}
"""Descriptions of a difference, by the key of the first line."""


def default_file(paths: Sequence[Path], folder: Path) -> Path:
    """Return the file of the results of these data, in a folder."""
    return folder / (paths[0].name.partition(".")[0] + RESULTS)


def header(
    paths: Sequence[Path], settings: Settings, *, answers: bool
) -> dict[str, Any]:
    """Return the first line: the data, the program and the models of an evaluation."""
    models = (settings.model, settings.embeddings)
    return {
        "engram": __version__,
        "data": hashlib.sha256(
            "".join(map(files.digest, files_of(paths))).encode()
        ).hexdigest(),
        "settings": hashlib.sha256(repr(settings.policy).encode()).hexdigest(),
        "models": [model.name if model else "" for model in models],
        "answers": answers,
    }


class ResultFile:
    """The results of one evaluation, on disk and in memory."""

    def __init__(self, path: Path, first: dict[str, Any]) -> None:
        """Open a file, and read its results if they were measured alike.

        A new file is created with the first result. Raises ConflictError if the file
        has other content.
        """
        self.path = path
        self._first: dict[str, Any] | None = None
        self.rows: dict[str, dict[str, Any]] = {}
        self.spent: list[dict[str, Any]] = []
        try:
            known, lines = read_results(path)
        except NotFoundError:
            self._first = first
            return
        if different := [name for name in first if known.get(name) != first[name]]:
            why = ", ".join(_MEANING[name] for name in different)
            raise ConflictError(
                f"the file holds results of an evaluation with {why}",
                where=str(path),
                fix="Name another file with --results, or delete this one. To compare"
                " both, name this one with --against.",
            )
        for line in lines:
            self._keep(line)

    def add(self, row: dict[str, Any]) -> None:
        """Add the result of a question, or the costs of a conversation."""
        if self._first:
            self._write(self._first)
            self._first = None
        self._write(row)
        self._keep(row)

    def _keep(self, row: dict[str, Any]) -> None:
        if "spent" in row:
            self.spent.append(row["spent"])
        else:
            self.rows[row["id"]] = row

    def _write(self, row: dict[str, Any]) -> None:
        line = json.dumps(row, ensure_ascii=False)
        disk.append(self.path, f"{line}\n".encode("utf-8", "replace"))


def read_results(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the first line of a file of results, and the others.

    Raises NotFoundError, and BadRequestError if it is no such file.
    """
    rows: list[dict[str, Any]] = []
    for line in disk.read(path).decode("utf-8", "replace").splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            rows.append(row)
    if not rows or rows[0].keys() != _MEANING.keys():
        raise BadRequestError(
            "this is not a file of results of `engram eval`",
            where=str(path),
            fix="Name a file that it wrote, or a new one.",
        )
    return rows[0], [row for row in rows[1:] if "id" in row or "spent" in row]
