"""The command in a process of its own, without the second that its imports take: an
interpreter that imported the program once forks for each command.
"""

from __future__ import annotations

import atexit
import gc
import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


class Process:
    """A command that runs; what tests use of `subprocess.Popen`."""

    def __init__(self, argv, env, cwd, stdin, stdout, stderr):
        self.returncode = None
        self._told, theirs = socket.socketpair()
        order = json.dumps([argv, env, str(cwd)]).encode()
        with theirs:
            handles = [one.fileno() for one in (stdin, stdout, stderr, theirs)]
            socket.send_fds(_interpreter(), [order], handles)
        told = self._told.recv(4)
        assert told, "the interpreter that forks has ended"
        self.pid = int.from_bytes(told, "little")

    def wait(self, timeout=None):
        if self.returncode is None:
            self._told.settimeout(timeout)
            try:
                code = self._told.recv(4)
            except TimeoutError:
                raise subprocess.TimeoutExpired("engram", timeout) from None
            assert code, "nobody tells how the command ended"
            self.returncode = int.from_bytes(code, "little", signed=True)
            self._told.close()
        return self.returncode

    def poll(self):
        with suppress(BlockingIOError):
            self.wait(0)
        return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def kill(self):
        self.send_signal(signal.SIGKILL)


def run(argv, env, cwd, stdin=b""):
    """Run a command to its end, as `subprocess.run` does with its output captured."""
    with _file(stdin) as given, _file() as out, _file() as err:
        code = Process(argv, env, cwd, given, out, err).wait()
        for file in (out, err):
            file.seek(0)
        return subprocess.CompletedProcess(argv, code, out.read(), err.read())


def launch(argv, env, cwd, stderr):
    """Start a command whose output but for its errors is nobody's."""
    with Path(os.devnull).open("r+b") as nothing:
        return Process(argv, env, cwd, nothing, nothing, stderr)


def _file(content=b""):
    file = os.fdopen(os.memfd_create("words"), "r+b")
    file.write(content)
    file.seek(0)
    return file


@cache
def _interpreter():
    """The line to the interpreter that forks; it ends with this process."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tests.fakes.warm", str(theirs.fileno())],
            env=env,
            pass_fds=[theirs.fileno()],
        )
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


# -- in the interpreter that forks -----------------------------------------------------


def _serve(line):
    """Fork for each order; return in the process that is to carry it out."""
    while True:
        order, handles, *_ = socket.recv_fds(line, 1 << 18, 4)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not order:
            os._exit(0)
        if not os.fork() and not _watched(handles[3]):
            return json.loads(order), handles[:3]
        for handle in handles:
            os.close(handle)


def _watched(handle):
    """Fork once more; the parent tells the child's id and how it ended."""
    child = os.fork()
    if not child:
        return False
    with socket.socket(fileno=handle) as told:
        told.sendall(child.to_bytes(4, "little"))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with suppress(OSError):  # nobody asks any more
            told.sendall(code.to_bytes(4, "little", signed=True))
    os._exit(0)


def _become(order, handles):
    """Take on the arguments, the environment, the folder and the files of an order."""
    argv, env, cwd = order
    for number, handle in enumerate(handles):
        os.dup2(handle, number)
    os.closerange(3, 256)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    sys.argv = ["engram", *argv]
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        file = io.TextIOWrapper(
            os.fdopen(number, "rb" if name == "stdin" else "wb"),
            encoding="utf-8",
            errors="backslashreplace" if name == "stderr" else "surrogateescape",
            line_buffering=name == "stderr",
        )
        setattr(sys, name, file)
        setattr(sys, f"__{name}__", file)


if __name__ == "__main__":
    import anyio._backends._asyncio  # noqa: F401
    import numpy.ma  # noqa: F401

    import engram.daemon.daemon
    import engram.daemon.threads
    import engram.memory
    import engram.serve.commands
    import engram.serve.server  # noqa: F401
    from engram.serve.cli import main

    gc.collect()
    gc.freeze()
    _become(*_serve(socket.socket(fileno=int(sys.argv[1]))))
    main()
