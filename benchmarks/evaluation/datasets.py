"""Conversations with questions: LoCoMo, LongMemEval, REALTALK and JSON lines.

`read_cases` yields the conversations of a file one by one, so that a large file is
never loaded as a whole. The format is detected from the content. Each format is
described in `docs/evaluation.md`.
"""

from __future__ import annotations

import gzip
import io
import itertools
import json
import re
import zlib
from dataclasses import dataclass, replace
from datetime import datetime
from typing import IO, TYPE_CHECKING, Any, cast

from engram.core.records import Problem, Turn
from engram.errors import BadRequestError, NotFoundError
from engram.ingest.importers import files, jsonl, locomo, values
from engram.vault.location import refuse_special

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import tzinfo
    from pathlib import Path

    Reader = Callable[[dict[str, Any], tzinfo, str], Iterator["Item"]]

SUFFIXES = (".json", ".jsonl", ".gz")
"""Suffixes of the files that are read in a folder."""
RESULTS = ".eval.jsonl"
"""Suffix of the files that an evaluation writes."""
FORMATS = "LoCoMo, LongMemEval, REALTALK, or JSON lines of turns and questions"
EXAMPLE = (
    '{"id": "t1", "text": "Anna is allergic to peanuts."}',
    '{"question": "What is Anna allergic to?", "answer": "peanuts", "evidence": ["t1"]}',
)
"""A turn and a question as JSON lines."""
_LOCOMO_KINDS = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: "adversarial",
}
_ADVERSARIAL = 5
_REALTALK_KINDS = {1: "multi-hop", 2: "temporal", 3: "commonsense"}
_LONGMEMEVAL_DATE = "%Y/%m/%d (%a) %H:%M"
_REALTALK_DATE = "%d.%m.%Y, %H:%M:%S"


@dataclass(frozen=True, slots=True)
class EvaluationQuestion:
    """A question about a conversation, and the ids of the turns with its evidence.

    `when` is the time at which it is asked, None for the end of the conversation. A
    question that is not `answerable` should be refused. `sessions` have the evidence.
    """

    id: str
    text: str
    answer: str = ""
    category: str = ""
    evidence: frozenset[str] = frozenset()
    sessions: frozenset[str] = frozenset()
    answerable: bool = True
    when: datetime | None = None

    @property
    def has_evidence(self) -> bool:
        """Whether it can measure retrieval."""
        return self.answerable and bool(self.evidence)


@dataclass(frozen=True, slots=True)
class EvaluationCase:
    """A conversation with its questions; the turns are in chronological order."""

    id: str
    turns: tuple[Turn, ...]
    questions: tuple[EvaluationQuestion, ...]

    @property
    def end(self) -> datetime:
        """The time of the last turn."""
        return max(turn.occurred_at for turn in self.turns)

    @property
    def texts(self) -> dict[str, str]:
        """The texts of the turns by their ids."""
        return {turn.id: turn.text for turn in self.turns}


Item = EvaluationCase | Problem


def read_cases(paths: Sequence[Path], zone: tzinfo) -> Iterator[Item]:
    """Yield the conversations of files and folders, and a Problem for each fault.

    Times without an offset are in `zone`. Raises NotFoundError, and BadRequestError if
    a file cannot be read or has none of the formats.
    """
    for path in files_of(paths):
        try:
            yield from _cases(path, zone)
        except (*files.UNREADABLE, EOFError, zlib.error) as error:
            raise BadRequestError(
                f"cannot read the file: {files.reason(error)}",
                where=str(path),
                fix="Check that you may read it, and that it is complete.",
            ) from error


def files_of(paths: Iterable[Path]) -> list[Path]:
    """Return the files that are read. Raises NotFoundError."""
    return list(itertools.chain.from_iterable(map(_files, paths)))


def _files(path: Path) -> list[Path]:
    """Return the file, or the files of a folder in the order of their names."""
    if not path.exists():
        raise NotFoundError(
            "the file does not exist", where=str(path), fix="Check the path."
        )
    if not path.is_dir():
        refuse_special(path)
        return [path]
    found = sorted(
        one
        for one in path.iterdir()
        if one.suffix in SUFFIXES and not one.name.endswith(RESULTS)
    )
    if not found:
        raise NotFoundError(
            "the folder contains no .json, .jsonl or .gz file",
            where=str(path),
            fix=f"Name a file: {FORMATS}.",
        )
    for one in found:
        refuse_special(one)
    return found


def _cases(path: Path, zone: tzinfo) -> Iterator[Item]:
    with _opened(path) as text:
        parsed = _parsed(text, str(path))
        first = next(parsed, None)
        rows = itertools.chain(() if first is None else [first], parsed)
        read = _reader(first[1] if first else None)
        if read:
            for _, row in rows:
                if isinstance(row, Problem):
                    yield row
                elif isinstance(row, dict):
                    yield from read(row, zone, str(path))
                else:
                    yield Problem("not-an-object", "not a JSON object", str(path))
            return
        is_own = first and isinstance(first[1], dict) and _is_line(first[1])
        if not is_own:
            raise BadRequestError(
                f"the file contains no questions in a known format: {_content(first)}",
                where=str(path),
                fix=f"Give {FORMATS}, such as these two:\n    "
                + "\n    ".join(EXAMPLE),
            )
        yield from _own(rows, zone, path)


def _reader(first: Any) -> Reader | None:
    """Return the reader of a format whose conversation is one JSON object."""
    keys = first.keys() if isinstance(first, dict) else ()
    if "haystack_sessions" in keys:
        return _longmemeval
    if locomo.KEY in keys and "qa" in keys:
        return _locomo
    return _realtalk if "qa" in keys and "session_1" in keys else None


def _content(first: tuple[int, Any] | None) -> str:
    """Return a description of the first value of a file."""
    if first is None:
        return "it is empty"
    if isinstance(first[1], Problem):
        return first[1].message
    if isinstance(first[1], dict):
        return f"objects with the keys {', '.join(sorted(first[1])[:8]) or 'none'}"
    return f"a JSON {type(first[1]).__name__}"


def _opened(path: Path) -> IO[str]:
    raw = cast(
        "IO[bytes]", gzip.GzipFile(path) if path.suffix == ".gz" else path.open("rb")
    )
    return io.TextIOWrapper(raw, "utf-8-sig", "replace")


def _parsed(text: IO[str], name: str) -> Iterator[tuple[int, Any]]:
    """Yield JSON values with their line numbers: lines, a list, or one object."""
    head = next((line for line in text if line.strip()), "")
    try:
        whole = json.loads(head)
    except (ValueError, RecursionError):
        whole = None
    text.seek(0)
    if isinstance(whole, dict):
        for number, line in enumerate(text, 1):
            if line.strip():
                yield number, _line(line, name, number)
        return
    yield from ((0, element) for element in files.elements(text, name))


def _line(line: str, name: str, number: int) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        return Problem("not-json", f"not a line of JSON: {error}", name, number)


def _ordered(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    """Return turns with words, oldest first; turns of equal time keep their order."""
    return tuple(
        sorted(
            (turn for turn in turns if turn.text.strip()),
            key=lambda turn: turn.occurred_at,
        )
    )


def _known(
    question: EvaluationQuestion, session_of: dict[str, str]
) -> EvaluationQuestion:
    """Return the question with the evidence that exists in the conversation."""
    found = question.evidence & session_of.keys()
    sessions = question.sessions or {session_of[one] for one in found}
    return replace(question, evidence=found, sessions=frozenset(sessions))


def _case(
    name: str, turns: Iterable[Turn], questions: Iterable[EvaluationQuestion], path: str
) -> Iterator[Item]:
    """Yield a conversation if it has turns and questions, else a Problem."""
    ordered = _ordered(turns)
    session_of = {turn.id: turn.session for turn in ordered}
    asked = tuple(_known(one, session_of) for one in questions)
    if ordered and asked:
        yield EvaluationCase(name, ordered, asked)
    else:
        lacking = "questions" if ordered else "turns"
        yield Problem("empty", f"conversation {name!r} has no {lacking}", path)


# -- LoCoMo ----------------------------------------------------------------------------


def _locomo(row: dict[str, Any], zone: tzinfo, path: str) -> Iterator[Item]:
    sample = values.string(row.get(locomo.KEY))
    turns: list[Turn] = []
    for item in locomo.conversation(row, zone, path):
        if isinstance(item, Problem):
            yield item
        else:
            turns.append(item)
    asked = [
        EvaluationQuestion(
            f"{sample}/q{number}",
            values.string(one.get("question")).strip(),
            values.string(one.get("answer")),
            _LOCOMO_KINDS.get(one.get("category") or 0, ""),
            frozenset(f"{sample}/{turn}" for turn in _turn_names(one)),
            answerable=one.get("category") != _ADVERSARIAL,
        )
        for number, one in _numbered(row["qa"])
    ]
    yield from _case(sample, turns, asked, path)


def _numbered(rows: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    return enumerate(map(values.as_object, values.as_list(rows)))


def _turn_names(question: dict[str, Any]) -> list[str]:
    """Return the evidence as `D8:6`; the data also contain `D8:6; D9:17` and `D:11:26`."""
    joined = " ".join(map(values.string, values.as_list(question.get("evidence"))))
    found = re.findall(r"D:?(\d+):(\d+)", joined)
    return [f"D{int(session)}:{int(turn)}" for session, turn in found]


# -- REALTALK --------------------------------------------------------------------------


def _realtalk(row: dict[str, Any], zone: tzinfo, path: str) -> Iterator[Item]:
    names = values.as_object(row.get("name"))
    first = values.string(names.get("speaker_1"))
    name = "-".join(
        part.replace(" ", "_") for part in map(values.string, names.values()) if part
    )
    numbers = sorted(
        int(found[1]) for key in row if (found := re.fullmatch(r"session_(\d+)", key))
    )
    turns: list[Turn] = []
    for number in numbers:
        begun = _date(row.get(f"session_{number}_date_time"), _REALTALK_DATE, zone)
        for message in map(values.as_object, values.as_list(row[f"session_{number}"])):
            begun = _date(message.get("date_time"), _REALTALK_DATE, zone) or begun
            turn = _realtalk_turn(message, f"{name}-session_{number}", begun, first)
            if isinstance(turn, Turn):
                turns.append(replace(turn, id=f"{name}/{turn.id}"))
            else:
                yield Problem("bad-time", f"session {number} of {name}: {turn}", path)
    asked = [
        EvaluationQuestion(
            f"{name}/q{number}",
            values.string(one.get("question")).strip(),
            values.string(one.get("answer")),
            _REALTALK_KINDS.get(one.get("category") or 0, ""),
            frozenset(f"{name}/{turn}" for turn in _turn_names(one)),
        )
        for number, one in _numbered(row["qa"])
    ]
    yield from _case(name, turns, asked, path)


def _realtalk_turn(
    message: dict[str, Any], session: str, when: datetime | None, first: str
) -> Turn | str:
    """Return a message as a turn, or the reason why it is none.

    The first speaker is the user, the second another person.
    """
    if when is None:
        return "a message has no time"
    speaker = values.string(message.get("speaker"))
    caption = values.string(message.get("blip_caption"))
    picture = f" [shares a picture: {caption}]" if caption else ""
    text = (
        values.string(values.first(message, ("clean_text", "text"))).strip() + picture
    )
    name = values.string(message.get("dia_id"))
    return Turn(name, session, "user", text, when, speaker, group=speaker != first)


def _date(value: Any, form: str, zone: tzinfo) -> datetime | None:
    try:
        return datetime.strptime(values.string(value).strip(), form).replace(
            tzinfo=zone
        )
    except ValueError:
        return None


# -- LongMemEval -----------------------------------------------------------------------


def _longmemeval(row: dict[str, Any], zone: tzinfo, path: str) -> Iterator[Item]:
    """Yield the one question of a row with its own sessions."""
    name = values.string(row.get("question_id"))
    wanted = set(map(values.string, values.as_list(row.get("answer_session_ids"))))
    turns: list[Turn] = []
    evidence: set[str] = set()
    sessions: set[str] = set()
    dated_sessions = zip(
        values.as_list(row.get("haystack_session_ids")),
        values.as_list(row.get("haystack_dates")),
        values.as_list(row.get("haystack_sessions")),
        strict=False,
    )
    for place, (session_id, date, messages) in enumerate(dated_sessions):
        when = _date(date, _LONGMEMEVAL_DATE, zone)
        session = f"{place}:{session_id}"
        if when is None:
            yield Problem("bad-time", f"session {session_id} of {name}: no date", path)
            continue
        if session_id in wanted:
            sessions.add(session)
        for number, turn in _numbered(messages):
            role = values.role_of(turn.get("role"))
            key = f"{place}:{number}"
            text = values.string(turn.get("content"))
            turns.append(Turn(key, session, role, text, when, role))
            if turn.get("has_answer") and session_id in wanted:
                evidence.add(key)
    question = EvaluationQuestion(
        name,
        values.string(row.get("question")),
        values.string(row.get("answer")),
        values.string(row.get("question_type")),
        frozenset(evidence),
        frozenset(sessions),
        not name.endswith("_abs"),
        _date(row.get("question_date"), _LONGMEMEVAL_DATE, zone),
    )
    yield from _case(name, turns, [question], path)


# -- JSON lines ------------------------------------------------------------------------


def _is_line(row: dict[str, Any]) -> bool:
    """Return whether a row is a turn or a question in the format of JSON lines."""
    return "question" in row or values.first(row, jsonl.TEXT_KEYS) is not None


def _own(rows: Iterator[tuple[int, Any]], zone: tzinfo, path: Path) -> Iterator[Item]:
    """Yield the conversations of JSON lines, in the order of their first lines.

    Lines of one conversation have the same `case`; without it all lines are one.
    """
    turns: dict[str, list[Turn]] = {}
    asked: dict[str, list[tuple[int, EvaluationQuestion]]] = {}
    latest = values.modified(path, zone)
    for number, row in rows:
        if isinstance(row, Problem) or not isinstance(row, dict):
            fault = row if isinstance(row, Problem) else None
            yield fault or Problem("not-an-object", "no object", str(path), number)
            continue
        case = values.string(row.get("case")) or path.name.partition(".")[0]
        if "question" in row:
            question = _own_question(row, case, number, zone)
            asked.setdefault(case, []).append((number, question))
            continue
        turn = jsonl.turn_of(row, case, zone, latest)
        if isinstance(turn, Turn):
            latest = turn.occurred_at
            turns.setdefault(case, []).append(turn)
        else:
            yield Problem(*turn, str(path), number)
    for case in dict.fromkeys([*turns, *asked]):
        known = {turn.id for turn in turns.get(case, ())}
        for number, question in asked.get(case, ()):
            if unknown := sorted(question.evidence - known):
                what = f"evidence that no turn has: {', '.join(unknown)}"
                yield Problem("no-such-turn", what, str(path), number)
        questions = [question for _, question in asked.get(case, ())]
        yield from _case(case, turns.get(case, ()), questions, str(path))


def _own_question(
    row: dict[str, Any], case: str, number: int, zone: tzinfo
) -> EvaluationQuestion:
    return EvaluationQuestion(
        values.string(row.get("id")) or f"{case}/line-{number}",
        values.string(row["question"]).strip(),
        values.string(row.get("answer")),
        values.string(row.get("category")),
        frozenset(map(values.string, values.as_list(row.get("evidence")))),
        answerable=row.get("answerable") is not False,
        when=values.time_of(row.get("now"), zone) if row.get("now") else None,
    )
