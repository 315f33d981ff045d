"""One contract of all surfaces: each operation takes the same arguments through the
socket, from Python and on the command line, and OpenAPI describes them.
"""

from __future__ import annotations

import json

import jsonschema
import pytest

from engram import Memory
from engram.operations import results
from engram.operations.table import OPERATIONS
from engram.serve import commands, socket_client
from engram.serve.http import openapi
from tests.fakes.answers import FakeAnswers, serving, settings_in

EXAMPLES = {
    "text": 'Grüße, "Anna" & co / 50 % + ünï',
    "int": 61,
    "float": 0.5,
    "time": "2026-11-20T21:14:05+01:00",
    "list": ["a", "b/c"],
    "turns": [{"text": "hello", "id": "1"}],
}
PLAIN = {"string": "", "integer": 1, "number": 0.5, "boolean": True, "array": []}
DOCUMENT = openapi()
TYPES = DOCUMENT["components"]["schemas"]


def arguments(operation):
    """A value of each argument, other than its default."""
    given = {
        param.name: not param.default if param.kind == "bool" else EXAMPLES[param.kind]
        for param in operation.params
    }
    if "id" in given:
        given["id"] = "facts/2026-11-20/preference-ü %2F?#.md"
    return given


def example(schema):
    """A JSON value of a type, with the fields that it must have."""
    if "$ref" in schema:
        schema = TYPES[schema["$ref"].rpartition("/")[2]]
        return {
            name: example(schema["properties"][name]) for name in schema["required"]
        }
    if schema.get("format") == "date-time":
        return EXAMPLES["time"]
    if "anyOf" in schema:
        return None
    return PLAIN.get(schema.get("type"), {})


def described(operation):
    """The description of an operation, and the schema of its body."""
    found = DOCUMENT["paths"][operation.path][operation.method.lower()]
    content = found.get("requestBody", {}).get("content", {})
    return found, content.get("application/json", {}).get("schema", {})


def command_line(operation, given):
    """The words of a command with these arguments."""
    words = []
    for param in operation.params:
        value = given[param.name]
        values = value if isinstance(value, list) else [value]
        if param.positional:
            words += values
        elif param.kind == "bool":
            words.append(param.flag if value else f"--no-{param.flag[2:]}")
        else:
            words += [part for one in values for part in (param.flag, str(one))]
    return [operation.name, "--json", *words]


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    settings = settings_in(home, home / "vault")
    answers = FakeAnswers(
        {
            one.name: example(results.schema(results.of(one))) | {"mark": one.name}
            for one in OPERATIONS
        }
    )
    with serving(answers, settings):
        yield answers, settings, home


@pytest.fixture
def answers(running, monkeypatch):
    answers, settings, home = running
    answers.calls.clear()
    monkeypatch.setenv("ENGRAM_HOME", str(home))
    monkeypatch.setenv("ENGRAM_VAULT", str(settings.vault))
    return answers


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_each_surface_sends_the_same_arguments(running, answers, capsys, operation):
    """Path, query and body carry any text, a slash in an id too."""
    given, answer = arguments(operation), answers.results[operation.name]
    sent = [(operation.name, given)]
    path = str(running[1].socket)
    assert socket_client.call(path, operation.name, given) == answer
    assert answers.calls == sent

    if operation.name != "observe":  # it also takes the two sides of one exchange
        answers.calls.clear()
        with Memory() as memory:
            value = getattr(memory, operation.name)(**given)
        assert answers.calls == sent
        assert value == results.typed(results.of(operation), answer)
        assert type(value).__name__ == operation.result

    if not operation.own_command:
        answers.calls.clear()
        commands.run(command_line(operation, given))
        assert answers.calls[0] == sent[0]
        assert json.loads(capsys.readouterr().out)["mark"] == operation.name


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_the_document_describes_what_is_sent(operation):
    given = arguments(operation)
    found, body = described(operation)
    assert found["operationId"] == operation.name
    assert str(operation.status) in found["responses"]
    params = {param["name"]: param for param in found["parameters"]}
    for name, param in params.items():
        jsonschema.validate(given.pop(name), param["schema"])
    if body:
        jsonschema.validate(given, body)
        assert given.keys() == body["properties"].keys()
    else:
        assert not given
