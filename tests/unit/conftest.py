"""What the tests of units share."""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import UTC, datetime

import frontmatter
import pytest

from engram.config import ModelSettings
from engram.testing import Simulation
from tests.fakes.judging import judging
from tests.fakes.keeping import Keeping
from tests.fakes.openai_server import FakeServer
from tests.postgres import administrator

START = datetime(2027, 1, 11, 9, tzinfo=UTC)
"""When a simulation begins."""


@pytest.fixture(scope="module")
def running():
    """A fake model server; each test scripts it."""
    with FakeServer() as server:
        yield server


@pytest.fixture
def stored(settings, postgres):
    """Settings with the index in PostgreSQL, under an id of its own."""
    return replace(
        settings, postgres=postgres, place=None, vault_id=secrets.token_hex(8)
    )


@pytest.fixture
def empty(postgres):
    """A database without a schema."""
    from psycopg.conninfo import make_conninfo

    name = f"d{secrets.token_hex(6)}"
    with administrator(postgres) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        yield make_conninfo(postgres, dbname=name)
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def keeping(memory):
    """A vault without a model."""
    return Keeping(memory)


@pytest.fixture
def silent_model(running):
    """A model that has nothing to say about memories."""
    judging(running)
    running.requests.clear()
    return running


@pytest.fixture
def asked_keeping(opened, silent_model, settings):
    """A vault with that model, which is asked once."""
    policy = replace(
        settings.policy, model=replace(settings.policy.model, attempts=1, re_asks=0)
    )
    model = ModelSettings("fake", silent_model.url)
    return Keeping(opened(model=model, policy=policy))


@pytest.fixture
def simulation(tmp_path):
    """An empty vault on the clock of a test."""
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "engram.toml").write_text("")
    with Simulation(vault, at=START, home=tmp_path / "home") as sim:
        yield sim


@pytest.fixture
def notes(tmp_path):
    """Reads the front matter of each fact, by its text, with its path."""

    def read():
        found = {}
        for path in (tmp_path / "vault" / "facts").rglob("*.md"):
            note = frontmatter.load(str(path))
            found[note.content.splitlines()[0]] = {**note.metadata, "path": path}
        return found

    return read
