"""The record of an operation: its arguments, handler, HTTP form and rules.

The rows are in `conversation_rows`, `memory_rows` and `vault_rows`; `table` has them
all.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from engram.errors import ForbiddenError

Kind = Literal["text", "int", "float", "bool", "time", "list", "turns"]
CallFact = Literal["standing", "owner", "ready"]

CHATBOT = frozenset(("chat",))
"""Callers of an operation that changes the content of the vault."""

ANY_CALLER = frozenset(("chat", "import", "tool"))
"""Callers of an operation that reads or adds, and changes no existing content."""

READER = "read"
"""A caller that may only read; its questions are not recorded."""

_ADD_TURNS = frozenset(("observe", "begin_import"))
"""Operations that write to the journal and the state, and need no writer thread."""

_CALLERS = {"import": "an import", "tool": "a tool", READER: "a read-only token"}


@dataclass(frozen=True, slots=True)
class Param:
    """One argument of an operation.

    `positional` arguments come first on the command line. Times are ISO 8601 or words
    such as `yesterday`. A number is between `least` and `most`, both included.
    """

    name: str
    kind: Kind
    help: str
    required: bool = False
    positional: bool = False
    default: Any = None
    least: float = 0
    most: float = 0

    @property
    def is_number(self) -> bool:
        """Whether the argument is a number, which has a range."""
        return self.kind in {"int", "float"}

    @property
    def meaning(self) -> str:
        """The help text, with the range of a number."""
        if self.is_number:
            return f"{self.help}, {self.least} to {self.most}"
        return self.help


@dataclass(frozen=True, slots=True)
class Operation:
    """One public operation.

    `handler` is `part.method`: a method of one of the parts that `VaultMemory` builds.
    It takes the arguments of `params` by name, and those of `call_facts`: `standing`
    (the kind of token: chat, import or tool), `owner` (whether the owner's command line
    calls), `ready` (whether the index covers the whole vault).

    `help` is a short imperative sentence for the effect of the operation, followed by
    one or more about its output. `{id}` in `path` is an argument; `status` is the HTTP
    status of an answer. `callers` are the kinds of tokens that may call it. `writes`
    runs it in the writer thread; `waits` gives it a thread of its own, because it waits
    for the writer or for a model. After an operation that `retracts`, generated text
    that repeats a retracted statement is rewritten at once. `own_command` means that
    the command, if there is one, is a function in `serve/commands/`.
    """

    name: str
    handler: str
    method: str
    path: str
    help: str
    params: tuple[Param, ...] = ()
    _: KW_ONLY
    status: int = 200
    callers: frozenset[str] = CHATBOT
    call_facts: tuple[CallFact, ...] = ()
    writes: bool = False
    waits: bool = False
    retracts: bool = False
    own_command: bool = False

    @property
    def summary(self) -> str:
        """The first sentence of the help text, without its full stop."""
        return self.help.partition(". ")[0].rstrip(".")

    @property
    def reads(self) -> bool:
        """Whether the operation changes nothing."""
        return not (self.writes or self.waits or self.name in _ADD_TURNS)

    def authorise(self, caller: str) -> None:
        """Raise ForbiddenError unless `caller` may call this operation (`X27`).

        `caller` is a kind of token, or `owner` for the owner's command line.
        """
        if caller == "owner" or caller in self.callers:
            return
        if caller == READER and self.reads:
            return
        may = "read" if caller == READER else "add and read"
        raise ForbiddenError(
            f"{_CALLERS[caller]} may {may}, not {self.name}",
            fix="Use the token of the chatbot.",
        )


ID = Param(
    "id",
    "text",
    "the id of a memory, an unambiguous prefix of it, or its path",
    required=True,
    positional=True,
)
ALL_PERSONAS = Param(
    "all_personas",
    "bool",
    "private memories of every persona too; only for the owner's command line",
    default=False,
)
ANY_ID = Param(
    "id",
    "text",
    "the id of a memory or of a turn, an unambiguous prefix of it, or the path of a memory",
    required=True,
    positional=True,
)

RUN = Param("run", "text", "the run of the import that it belongs to")
PERSONA = Param("persona", "text", "persona whose private memories count too")
SINCE = Param("since", "time", "only what is from this time on")
UNTIL = Param("until", "time", "only what is up to this time")
AFTER = Param("after", "text", "`next` of the page before")
