"""The table of operations checks what it is given."""

from __future__ import annotations

import pytest

from engram.errors import BadRequestError, ForbiddenError
from engram.operations.table import BY_NAME, OPERATIONS, checked


# row: X27
@pytest.mark.parametrize("caller", ["import", "tool"])
def test_importers_and_tools_read_and_add_and_change_nothing(caller):
    """An operation that is added later is closed to them unless its row opens it."""
    opened = {one.name for one in OPERATIONS if caller in one.callers}
    assert opened == {
        "observe",
        "begin_import",
        "neighbours",
        "flush",
        "recall",
        "context",
        "entities",
        "todos",
        "remember",
        "remember_all",
        "list",
        "show",
        "why",
        "history",
        "changes",
        "sessions",
        "session",
        "timeline",
        "digest",
        "stats",
        "status",
    }
    for operation in OPERATIONS:
        if caller in operation.callers:
            operation.authorise(caller)
        else:
            with pytest.raises(ForbiddenError, match="may add and read, not"):
                operation.authorise(caller)


# row: X27
@pytest.mark.parametrize("caller", ["chat", "owner"])
def test_chatbots_and_the_owner_may_call_every_operation(caller):
    for operation in OPERATIONS:
        operation.authorise(caller)


def test_no_name_and_no_way_in_stands_twice():
    """A request finds one operation."""
    assert (
        len(BY_NAME)
        == len(OPERATIONS)
        == len({(operation.method, operation.path) for operation in OPERATIONS})
    )


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_what_stands_in_a_path_is_an_argument(operation):
    """And positional arguments come first."""
    names = {param.name for param in operation.params}
    assert all(
        part[1:-1] in names
        for part in operation.path.split("/")
        if part.startswith("{")
    )
    order = [param.positional for param in operation.params]
    assert order == sorted(order, reverse=True)


def test_defaults_are_filled_in():
    """Every argument of the operation is there, in its order."""
    assert checked("forget", {"id": "x"}) == {
        "id": "x",
        "reason": None,
        "dry_run": False,
    }
    assert checked("recall", {"query": "q", "explain": None})["explain"] is False


def test_every_fault_is_named_at_once():
    """Missing, unknown and of the wrong kind."""
    with pytest.raises(BadRequestError) as fault:
        checked("recall", {"k": "ten", "colour": 1})
    assert fault.value.what.split("; ") == [
        "unknown argument 'colour'",
        "missing argument 'query'",
        "argument 'k' must be a whole number from 1 to 1000",
    ]


def test_an_unknown_operation_is_told_with_the_known_ones():
    """Also one that is a method but no operation."""
    with pytest.raises(BadRequestError, match="recall"):
        checked("close", {})


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("recall", {"query": 5}),
        ("recall", {"query": "q", "explain": 1}),
        ("remember", {"text": "q", "tags": "fact"}),
        ("remember", {"text": "q", "tags": [1]}),
        ("recall", {"query": "q", "as_of": 20261120}),
        ("observe", {"turns": {}}),
        ("observe", {"turns": ["hello"]}),
    ],
)
def test_a_value_of_another_kind_is_refused(name, given):
    """JSON's kinds are kept apart; true is no number."""
    with pytest.raises(BadRequestError, match="is not of kind"):
        checked(name, given)
