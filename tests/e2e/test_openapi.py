"""Requests that schemathesis makes from the OpenAPI document, and what the answers must
be: no 5xx, the declared status, media type and schema, no access without the token.

The real operations answer on a port, in a vault of their own.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

from engram.memory import VaultMemory
from tests.fakes.answers import free_port, serving, settings_in
from tests.size import FULL

CONFIG = Path(__file__).parents[1] / "schemathesis.toml"


class Answers:
    """A vault, asked by one thread at a time."""

    def __init__(self, memory):
        self.memory = memory
        self.busy = threading.Lock()

    def call(self, name, params, standing="chat"):
        with self.busy:
            return self.memory.call(name, params, standing)

    def unready(self):
        return ""


def test_every_request_is_answered_as_the_document_says(tmp_path):
    settings, port = settings_in(tmp_path / "home", tmp_path / "vault"), free_port()
    memory = VaultMemory(settings)
    memory.start()
    memory.catch_up()
    memory.call("remember", {"text": "Carla is allergic to peanuts."})
    memory.call("observe", {"turns": [{"id": "m1", "text": "I live in Porto."}]})
    with serving(Answers(memory), settings, port):
        token = (settings.state / "token").read_text().strip()
        done = subprocess.run(
            [
                Path(sys.executable).with_name("schemathesis"),
                *("--config-file", CONFIG),
                *("run", f"http://127.0.0.1:{port}/openapi.json"),
                *("--header", f"Authorization: Bearer {token}"),
                *("--phases", "coverage,fuzzing" if FULL else "coverage"),
                *("--seed", "1", "--no-shrink"),
                *("--max-examples", "50", "--continue-on-failure"),
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
    memory.close()
    assert done.returncode == 0, done.stdout
