"""Another user of the machine is not answered."""

from __future__ import annotations

import os
import socket

import pytest

from tests.fakes.answers import FakeAnswers, ask, serving, settings_in


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_another_user_is_not_answered_even_where_the_mode_lets_them_in(tmp_path):
    """The peer's user id is looked at, not only the socket's mode."""
    settings = settings_in(tmp_path / "home", tmp_path / "v")
    with serving(FakeAnswers(), settings) as path:
        settings.socket.chmod(0o666)
        settings.socket.parent.chmod(0o711)
        folder = os.open(settings.socket.parent, os.O_PATH)
        child = os.fork()
        if child == 0:
            os._exit(_bytes_heard_as_nobody(folder))
        os.close(folder)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert ask(path, "GET /healthz HTTP/1.1\nHost: engram")[0] == 200


def _bytes_heard_as_nobody(folder):
    """In a child process: how much the server says to another user; 255 if the door was
    not reached at all.
    """
    os.fchdir(folder)
    os.setuid(65534)
    line = socket.socket(socket.AF_UNIX)
    if line.connect_ex("engram.sock"):
        return 255
    try:
        line.sendall(b"GET /healthz HTTP/1.1\r\nHost: engram\r\n\r\n")
        return len(line.recv(100))
    except OSError:
        return 0
