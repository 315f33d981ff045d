"""What the tests of units share."""

from __future__ import annotations

import pytest

from tests.fakes.keeping import Keeping
from tests.fakes.openai_server import FakeServer


@pytest.fixture(scope="module")
def running():
    """A fake model server; each test scripts it."""
    with FakeServer() as server:
        yield server


@pytest.fixture
def keeping(memory):
    """A vault without a model."""
    return Keeping(memory)
