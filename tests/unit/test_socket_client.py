"""The wire: the right socket, the right request, the same result or fault that the
other end had.
"""

from __future__ import annotations

import os
import pwd
import threading
from pathlib import Path

import pytest

from engram import config
from engram.daemon import sockets
from engram.errors import (
    BadRequestError,
    BusyError,
    ConflictError,
    EngramError,
    LockedError,
    NotFoundError,
    StorageError,
    UnavailableError,
)
from engram.operations.table import OPERATIONS
from engram.serve import socket_client
from engram.vault import location
from tests.fakes.answers import ID, FakeAnswers, serving, settings_in, value_of


def a_vault(folder, text=f'id = "{ID}"\n'):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "engram.toml").write_text(text)
    return str(folder)


def test_a_command_without_the_variables_of_a_session_finds_its_sockets(
    tmp_path, monkeypatch
):
    """As a client of MCP starts it; not where `HOME` is another than the user's own."""
    home = pwd.getpwuid(os.getuid()).pw_dir
    monkeypatch.setattr(location, "SESSIONS", str(tmp_path))
    inside = f"{tmp_path}/state/run"
    assert location.socket_home({"HOME": home}, f"{tmp_path}/state") == inside

    session = tmp_path / str(os.getuid())
    session.mkdir()
    found = location.socket_home({"HOME": home}, f"{tmp_path}/state")
    assert found == f"{session}/engram"
    other = {"HOME": str(tmp_path)}
    assert location.socket_home(other, f"{tmp_path}/state") == inside
    other["XDG_RUNTIME_DIR"] = "/named"
    assert location.socket_home(other, f"{tmp_path}/state") == "/named/engram"


@pytest.mark.parametrize(
    "names",
    [
        {"ENGRAM_HOME": "{tmp}/own"},
        {"XDG_RUNTIME_DIR": "{tmp}/run"},
        {"XDG_STATE_HOME": "{tmp}/state"},
        {},
        {"ENGRAM_HOME": "{tmp}/own", "XDG_RUNTIME_DIR": "{tmp}/run"},
    ],
)
@pytest.mark.parametrize(
    "way", ["argument", "environment", "configuration", "here", "usual"]
)
def test_the_light_way_finds_the_socket_that_the_configuration_names(
    tmp_path, monkeypatch, names, way
):
    """Every way to choose a vault and every place for its socket agree with
    config.load.
    """
    env = {"HOME": str(tmp_path / "home")} | {
        name: value.format(tmp=tmp_path) for name, value in names.items()
    }
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path)
    argument = None
    if way == "argument":
        argument = a_vault(tmp_path / "mine")
    elif way == "environment":
        env["ENGRAM_VAULT"] = a_vault(tmp_path / "mine")
    elif way == "configuration":
        file = config.user_file(env)
        file.parent.mkdir(parents=True)
        file.write_text(
            f'# mine\nvault = "{a_vault(tmp_path / "mine")}"\n\n[model]\nname = "m"\n'
        )
    elif way == "here":
        a_vault(tmp_path)
    else:
        a_vault(tmp_path / "home" / "Engram")
    found = socket_client.socket_of(argument, env)
    assert found
    assert Path(found) == config.load(Path(argument) if argument else None, env).socket


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('id = "abc"\n', "abc"),
        ('id="abc"', "abc"),
        ('\ufeff  id  =  "abc"  \n', "abc"),
        ("zone = 'UTC'\n", ""),
        ("", ""),
        ("id = 'abc'\n", None),
        ('"id" = "abc"\n', None),
        ('id = "abc" # mine\n', None),
        ('id = "a\\u0062c"\n', None),
        ('x = """\nid = "abc"\n"""\n', None),
        ('[table]\nid = "abc"\n', None),
        ("id = 5\n", None),
        ('zone = "x"\n# id\n', None),
    ],
)
def test_a_line_that_is_not_plain_is_left_to_the_real_parser(tmp_path, text, value):
    """What the light reader returns is what TOML says, or it says that it is not sure."""
    (tmp_path / "x.toml").write_text(text, encoding="utf-8")
    assert socket_client.plain_text(str(tmp_path / "x.toml"), "id") == value


def test_an_unreadable_file_is_left_to_the_real_parser(tmp_path):
    (tmp_path / "x.toml").write_bytes(b'id = "\xff"\n')
    assert socket_client.plain_text(str(tmp_path / "x.toml"), "id") is None
    assert socket_client.plain_text(str(tmp_path), "id") is None
    assert socket_client.plain_text(str(tmp_path / "none.toml"), "id") == ""


def test_without_an_id_or_a_home_the_light_way_steps_aside(tmp_path):
    assert (
        socket_client.socket_of(a_vault(tmp_path / "v", ""), {"HOME": str(tmp_path)})
        is None
    )
    assert socket_client.socket_of(a_vault(tmp_path / "w"), {}) is None


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    answers, home = FakeAnswers(), tmp_path_factory.mktemp("home")
    with serving(answers, settings_in(home, home / "vault")) as path:
        yield answers, path


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_every_operation_arrives_with_the_arguments_it_was_sent_with(
    running, operation
):
    """Path, query and body carry any text, a slash in an id too."""
    answers, path = running
    answers.calls.clear()
    params = {param.name: value_of(param) for param in operation.params}
    if "id" in params:
        params["id"] = "facts/2026-11-20/preference-ü %2F?#.md"
    result = socket_client.call(path, operation.name, {**params})
    assert answers.calls == [(operation.name, params)]
    assert result == answers.results.get(operation.name, {"done": operation.name})


def test_what_is_too_large_is_refused_in_words(running):
    """The answer comes before the request is sent to its end, and is read all the same."""
    with pytest.raises(BadRequestError, match="larger than 16777216 bytes"):
        socket_client.call(
            running[1], "observe", {"turns": [{"text": "x" * 40_000_000}]}
        )


def test_a_fault_arrives_as_the_class_it_was_with_all_its_words(tmp_path):
    """The exit code of the command line does not depend on where the operation ran."""
    answers = FakeAnswers()
    faults = [
        kind("what, where?", where="hier: ü", fix="Do that.")
        for kind in (
            BadRequestError,
            NotFoundError,
            ConflictError,
            LockedError,
            StorageError,
            UnavailableError,
            EngramError,
        )
    ]
    faults.append(BusyError("full", retry_after=7))
    with serving(answers, settings_in(tmp_path / "home", tmp_path / "v")) as path:
        for fault in faults:
            answers.results["stats"] = fault
            with pytest.raises(EngramError) as caught:
                socket_client.call(path, "stats", {})
            assert type(caught.value) is type(fault)
            assert vars(caught.value) == vars(fault)
            assert caught.value.exit_code == fault.exit_code


def test_nobody_listening_is_told_apart_from_a_daemon_that_is_not_ready(tmp_path):
    """A missing socket, a dead one and a plain file mean that no daemon runs."""
    settings = settings_in(tmp_path / "home", tmp_path / "v")
    with pytest.raises(socket_client.AbsentError):
        socket_client.call(str(settings.socket), "stats", {})
    answers = FakeAnswers(results={"stats": UnavailableError("starting")})
    with serving(answers, settings) as path, pytest.raises(UnavailableError) as caught:
        socket_client.call(path, "stats", {})
    assert not isinstance(caught.value, socket_client.AbsentError)
    with pytest.raises(socket_client.AbsentError):
        socket_client.call(str(settings.socket), "stats", {})


# row: X18
@pytest.mark.parametrize("is_read", [False, True])
def test_a_request_that_was_never_read_is_told_from_one_that_may_be_done(
    tmp_path, is_read
):
    """The first can be tried again; of the second nothing is known.

    Whether the first is sent before the connection is closed, is left to chance.
    """
    with sockets.listen_unix(tmp_path / "run" / "engram.sock") as listener:
        path = str(tmp_path / "run" / "engram.sock")

        def end():
            line, _ = listener.accept()
            if is_read:
                line.recv(65536)
            line.close()

        ended = threading.Thread(target=end)
        ended.start()
        kind = UnavailableError if is_read else socket_client.AbsentError
        with pytest.raises(UnavailableError) as caught:
            socket_client.call(path, "stats", {}, timeout=10)
        ended.join()
    assert type(caught.value) is kind


# row: X18
def test_a_connection_that_is_closed_before_a_request_is_sent_did_nothing(
    tmp_path, monkeypatch
):
    path = str(tmp_path / "run" / "engram.sock")
    with sockets.listen_unix(tmp_path / "run" / "engram.sock") as listener:
        connect = socket_client.connect

        def connect_to_one_that_closes(path, timeout=None):
            line = connect(path, timeout)
            listener.accept()[0].close()
            return line

        monkeypatch.setattr(socket_client, "connect", connect_to_one_that_closes)
        with pytest.raises(socket_client.AbsentError):
            socket_client.call(path, "stats", {}, timeout=10)
