"""systemd: units as installed, socket activation, notification."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from engram.daemon import sockets
from engram.daemon.daemon import JournalFormatter
from engram.serve import socket_client, units
from tests.fakes import warm
from tests.fakes.answers import settings_in
from tests.fakes.world import World, until

ROOT = Path(__file__).parents[2]
MOST_EXPOSURE = 2.0

KINDS = [{}, {"instance": True}, {"nightly": True}]

needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed"
)


def installed(tmp_path, *, instance=False, nightly=False, vault="My vault 100% $HOME"):
    """The units as `engram up` installs them, with a vault whose name wants quoting,
    beside each other in a folder.
    """
    settings = replace(
        settings_in(tmp_path / "home", tmp_path / vault),
        runtime=Path("/run/user/1000/engram/x"),
    )
    env = {"HOME": str(tmp_path), "ENGRAM_HOME": str(tmp_path / "home")}
    texts = units.rendered(settings, env, instance=instance, nightly=nightly)
    folder = tmp_path / "units"
    folder.mkdir(exist_ok=True)
    paths = []
    for path, text in texts.items():
        name = (
            path.name.replace("@.", f"@{units.escaped(settings.vault)}.")
            if instance
            else path.name
        )
        (folder / name).write_text(text)
        paths.append(folder / name)
    return paths


def analyze(*words, tmp_path):
    (tmp_path / "run").mkdir(mode=0o700, exist_ok=True)
    env = {
        **os.environ,
        "XDG_RUNTIME_DIR": str(tmp_path / "run"),
        "LANG": "C",
        "NO_COLOR": "1",
    }
    return subprocess.run(
        ["systemd-analyze", *map(str, words)],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


@needs_systemd
@pytest.mark.parametrize("manager", ["--user", "--system"])
@pytest.mark.parametrize("kind", KINDS)
def test_units_verify_without_a_word(tmp_path, kind, manager):
    """It exits 0 on unknown directives, so what counts is that it says nothing."""
    done = analyze(
        manager, "verify", "--man=no", *installed(tmp_path, **kind), tmp_path=tmp_path
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")


@needs_systemd
@pytest.mark.parametrize("manager", ["--user", "--system"])
def test_the_unit_of_many_vaults_verifies_as_it_is_printed(tmp_path, manager):
    """The page on many users holds it whole."""
    page = (ROOT / "docs" / "users.md").read_text()
    (text,) = re.findall(r"```ini\n(.*?)```", page, re.DOTALL)
    assert text.startswith("# ~/.config/systemd/user/engram-vaults.service\n")
    script = tmp_path / "engram"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    assert "\nExecStart=%h/.local/bin/engram " in text
    unit = tmp_path / "engram-vaults.service"
    # `pip install --user` puts the command where the unit says
    unit.write_text(text.replace("%h/.local/bin/engram", str(script)))
    done = analyze(manager, "verify", "--man=no", unit, tmp_path=tmp_path)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")


@needs_systemd
def test_verify_would_say_a_word(tmp_path):
    """The test above can fail: a misspelt directive is named."""
    path = installed(tmp_path, instance=False)[0]
    path.write_text(path.read_text().replace("UMask=", "Umaks="))
    assert "Umaks" in analyze("verify", "--man=no", path, tmp_path=tmp_path).stderr


@needs_systemd
@pytest.mark.parametrize("kind", KINDS)
def test_exposure_is_small(tmp_path, kind):
    path = installed(tmp_path, **kind)[0]
    done = analyze("security", "--offline=true", "--no-pager", path, tmp_path=tmp_path)
    found = re.search(r"exposure level for \S+: ([0-9.]+)", done.stdout)
    assert found, done.stdout + done.stderr
    assert float(found[1]) <= MOST_EXPOSURE


@pytest.mark.parametrize("name", ["engram.service", "engram@.service"])
def test_a_unit_says_what_must_hold(name):
    text = (units.shipped("systemd") / name).read_text()
    wanted = "Type=notify,WatchdogSec=60,Restart=on-failure,UMask=0077,PrivateUsers=yes,ProtectSystem=strict,MemoryMax=2G"
    for line in wanted.split(","):
        assert f"\n{line}\n" in text
    prevented = re.search(r"RestartPreventExitStatus=(.*)", text)
    assert "78" in prevented[1].split()


def sandbox(name):
    """What a unit may not do and not use up."""
    text = (units.shipped("systemd") / name).read_text()
    return text[text.index("# A user namespace") :].partition("[Install]")[0].strip()


def test_every_service_lives_in_the_same_sandbox():
    assert (
        sandbox("engram-consolidate.service")
        == sandbox("engram@.service")
        == sandbox("engram.service")
    )


def test_without_a_daemon_the_vault_is_put_in_order_at_night(tmp_path):
    """A run that was slept through is made up for, a refused one tried again once the
    clock may be believed.
    """
    service, timer = (path.read_text() for path in installed(tmp_path, nightly=True))
    assert "\nType=oneshot\n" in service
    assert re.search(
        r'\nExecStart=".+" -P -m engram consolidate --nightly --vault ".+"\n', service
    )
    assert "\nRestart=on-failure\nRestartSec=11min\n" in service
    assert "\nOnCalendar=*-*-* 03:00:00\nPersistent=true\n" in timer
    assert "\nWantedBy=timers.target\n" in timer


def test_no_mark_is_left_in_an_installed_unit(tmp_path):
    for kind in KINDS:
        for path in installed(tmp_path, **kind):
            assert not re.search(r"@[A-Z_]+@", path.read_text())


@pytest.mark.skipif(
    shutil.which("systemd-escape") is None, reason="systemd-escape is not installed"
)
@pytest.mark.parametrize(
    "path",
    [
        "/home/anna/Engram",
        "/home/anna/My vault-2",
        "/.hidden/.x",
        "/ü/_:.",
        "/",
        "/a/b/",
    ],
)
def test_instances_are_named_as_systemd_names_them(path):
    done = subprocess.run(
        ["systemd-escape", "--path", path], capture_output=True, text=True, check=True
    )
    assert units.escaped(Path(path)) == done.stdout.strip()


def test_up_without_a_session_says_so_and_writes_nothing(tmp_path):
    """On a machine whose systemd does not serve this user."""
    env = {
        "PATH": str(tmp_path),
        "HOME": str(tmp_path),
        "PYTHONPATH": str(ROOT),
        "ENGRAM_HOME": str(tmp_path / "home"),
    }
    (tmp_path / "engram.toml").touch()  # this folder is the vault
    done = warm.run(["up"], env, tmp_path)
    assert done.returncode == 69
    assert b"no session for this user" in done.stderr
    assert b"engram daemon" in done.stderr
    assert list(tmp_path.iterdir()) == [tmp_path / "engram.toml"]
    shown = warm.run(["up", "--dry-run"], env, tmp_path)
    assert b"ExecStart=" in shown.stdout
    assert list(tmp_path.iterdir()) == [tmp_path / "engram.toml"]


def test_the_timer_is_set_going_and_stopped_as_the_only_unit(tmp_path):
    """Whether systemd runs the daemon, the timer or both, `engram down` ends what there
    is.
    """
    told = tmp_path / "told"
    fake = tmp_path / "bin" / "systemctl"
    fake.parent.mkdir()
    loaded = 'case "$*" in *--property=LoadState*timer) echo LoadState=loaded;; *) echo LoadState=not-found;; esac'
    fake.write_text(f'#!/bin/sh\necho "$@" >> {told}\n{loaded}\n')
    fake.chmod(0o755)
    env = {
        "PATH": f"{fake.parent}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "PYTHONPATH": str(ROOT),
    }
    env["ENGRAM_HOME"] = str(tmp_path / "home")

    def engram(*words, code=0):
        done = warm.run(words, env, tmp_path)
        assert done.returncode == code, done.stderr

    engram("init")
    engram("up", "--nightly")
    assert (
        "--user enable --now engram-consolidate.timer" in told.read_text().splitlines()
    )
    folder = tmp_path / ".config" / "systemd" / "user"
    assert sorted(path.name for path in folder.iterdir()) == [
        "engram-consolidate.service",
        "engram-consolidate.timer",
    ]
    engram("down")
    assert (
        told.read_text().splitlines()[-1]
        == "--user disable --now engram-consolidate.timer"
    )
    engram("up", "--nightly", "--vault", str(tmp_path / "Engram"), code=64)


def test_units_are_written_once(tmp_path):
    """A second time only what differs is written."""
    settings = replace(
        settings_in(tmp_path / "home", tmp_path / "vault"),
        runtime=Path("/run/user/1000/engram/x"),
    )
    texts = units.rendered(settings, {"HOME": str(tmp_path)}, instance=False)
    assert [path.name for path in texts] == ["engram.service", "engram.socket"]
    assert units.install(texts) == [str(path) for path in texts]
    assert units.install(texts) == []
    first = next(iter(texts))
    first.write_text("# changed\n")
    assert units.install(texts) == [str(first)]
    assert first.read_text() == texts[first]


def test_a_socket_that_systemd_cannot_open_is_left_to_the_daemon(tmp_path):
    """An address holds 107 bytes; the daemon itself can listen on longer paths."""
    settings = replace(
        settings_in(tmp_path / "home", tmp_path / "vault"),
        runtime=Path("/run") / ("x" * 120),
    )
    assert units.names(settings.socket) == ["engram.service"]
    texts = units.rendered(settings, {"HOME": str(tmp_path)}, instance=False)
    assert [path.name for path in texts] == ["engram.service"]


# -- what the daemon does for systemd --------------------------------------------------


class Manager:
    """Stands for systemd: a socket that it listens on, a channel that it hears, a
    process that it starts.
    """

    def __init__(self, tmp_path, **more):
        self.settings = settings_in(tmp_path / "home", tmp_path / "vault")
        self.channel = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        address = f"\0engram-test-{os.getpid()}-{id(self)}"
        self.channel.bind(address)
        self.channel.settimeout(20)
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "PYTHONPATH": str(ROOT),
            "ENGRAM_HOME": str(tmp_path / "home"),
            "NOTIFY_SOCKET": "@" + address[1:],
            **more,
        }
        self.said = []
        self.process = None

    def start(self, listener=None):
        """Start the daemon, handing it `listener` as descriptor 3 as systemd does."""
        command = [
            sys.executable,
            "-P",
            "-m",
            "engram",
            "daemon",
            "--foreground",
            "--vault",
            str(self.settings.vault),
        ]
        given = ()
        if listener is not None:
            script = f"import os; os.dup2({listener.fileno()}, 3); os.environ['LISTEN_PID'] = str(os.getpid()); "
            script += (
                f"os.environ['LISTEN_FDS'] = '1'; os.execv({command[0]!r}, {command!r})"
            )
            command, given = [sys.executable, "-c", script], (listener.fileno(),)
        self.process = subprocess.Popen(
            command, env=self.env, pass_fds=given, stderr=subprocess.PIPE
        )

    def hear(self, word):
        """Listen until a notification holds `word`."""
        while not any(line.startswith(word) for line in self.said):
            self.said += self.channel.recv(4096).decode().splitlines()

    def stop(self):
        self.process.terminate()
        words = self.process.communicate(timeout=60)[1].decode()
        assert self.process.returncode == 0, words
        return words


@pytest.fixture
def manager(tmp_path):
    made = []

    def make(**more):
        made.append(Manager(tmp_path, **more))
        return made[-1]

    yield make
    for one in made:
        if one.process and one.process.poll() is None:
            one.process.kill()
            one.process.communicate()
        one.channel.close()


def test_systemd_is_told_of_start_progress_reload_and_stop(manager):
    """Nobody is refused after READY. A reload is announced as one, else systemd takes
    the restart for a stop and kills the daemon in the end.
    """
    one = manager(WATCHDOG_USEC="400000")
    one.start()
    one.hear("READY=1")
    assert "result" not in socket_client.call(str(one.settings.socket), "status", {})
    one.hear("STATUS=ready")
    began = time.monotonic()
    for _ in range(3):
        one.said.clear()
        one.hear("WATCHDOG=1")
    assert time.monotonic() - began < 60
    one.said.clear()
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    one.process.send_signal(signal.SIGHUP)
    one.hear("READY=1")
    heard = "\n".join(one.said).splitlines()
    assert "RELOADING=1" in heard
    assert "STOPPING=1" not in heard
    (stamp,) = [line for line in heard if line.startswith("MONOTONIC_USEC=")]
    assert int(stamp.partition("=")[2]) >= before
    one.stop()
    one.hear("STOPPING=1")
    assert not one.settings.socket.exists()


def test_a_socket_that_systemd_opened_is_served_and_left_in_place(manager):
    """The first call waits in the socket until the daemon answers it."""
    one = manager()
    listener = sockets.listen_unix(one.settings.socket)
    with listener, socket_client.connect(str(one.settings.socket), timeout=30) as early:
        early.sendall(
            b"GET /healthz HTTP/1.1\r\nHost: engram\r\nConnection: close\r\n\r\n"
        )
        one.start(listener)
        answer = b""
        while part := early.recv(4096):
            answer += part
        assert json.loads(answer.partition(b"\r\n\r\n")[2]) == {"alive": True}
        one.stop()
        assert one.settings.socket.exists()
        socket_client.connect(str(one.settings.socket)).close()


def test_a_foreign_listen_pid_is_not_ours(monkeypatch):
    """What a parent was given is not taken for our own."""
    monkeypatch.setenv("LISTEN_PID", str(os.getppid()))
    monkeypatch.setenv("LISTEN_FDS", "1")
    assert sockets.inherited() == []


def test_lines_for_the_journal_begin_with_their_priority(tmp_path):
    """A traceback keeps it on each line."""
    world = World(tmp_path)
    read_end, write_end = os.pipe()
    found = os.fstat(write_end)
    world.env["JOURNAL_STREAM"] = f"{found.st_dev}:{found.st_ino}"
    with subprocess.Popen(
        world.command("daemon", "--foreground"), env=world.env, stderr=write_end
    ) as process:
        os.close(write_end)
        until(lambda: world_answers(world))
        process.terminate()
    with os.fdopen(read_end) as journal:
        lines = journal.read().splitlines()
    assert lines
    assert all(line.startswith("<6>INFO ") for line in lines)

    record = logging.makeLogRecord(
        {"levelno": logging.WARNING, "levelname": "WARNING", "msg": "one\ntwo"}
    )
    shown = JournalFormatter("%(levelname)s %(message)s").format(record)
    assert shown == "<4>WARNING one\n<4>two"


def world_answers(world):
    return socket_client.answers(world.socket)


def test_status_without_a_daemon_exits_like_systemctl(tmp_path):
    world = World(tmp_path)
    words = world.engram("status", code=3)
    assert "no daemon answers" in words
    assert "engram up" in words


def test_a_doctor_that_finds_a_problem_says_so_with_its_exit_code(tmp_path):
    world = World(tmp_path)
    world.engram("doctor")
    note = world.vault / "facts" / "broken.md"
    note.parent.mkdir(exist_ok=True)
    note.write_text("---\nid: [one, {two\n---\nwords\n")
    assert "broken.md" in world.run("doctor").stdout
    assert world.run("doctor").returncode == 1
