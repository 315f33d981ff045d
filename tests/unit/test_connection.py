"""Connections to a model's server are kept between calls."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from engram.config import ModelSettings
from engram.core.policy import ModelPolicy
from engram.llm.budget import Budget
from engram.llm.client import Model

SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}


@contextmanager
def keeping(requests_each=1_000_000):
    """A server that keeps connections, and closes each after so many requests; the list
    has the number of requests of each connection.
    """
    opened: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self):
            super().setup()
            self.number = len(opened)
            opened.append(0)

        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            opened[self.number] += 1
            said = {
                "choices": [{"message": {"content": "{}"}, "finish_reason": "stop"}]
            }
            raw = json.dumps(said).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)
            # silently, as a server does that was idle for too long
            self.close_connection = opened[self.number] >= requests_each

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", opened
    finally:
        server.shutdown()
        server.server_close()


def model_at(url):
    def clock():
        return datetime(2026, 11, 20, tzinfo=UTC)

    return Model(ModelSettings("m", url), ModelPolicy(), Budget(), clock)


def ask(model):
    return model.complete("extract", "system", "user", SCHEMA, 0.0)


# row: X24
def test_a_connection_that_the_server_closed_is_opened_again():
    with keeping(requests_each=2) as (url, opened):
        model = model_at(url)
        for _ in range(6):
            assert ask(model) == "{}"
        assert opened == [2, 2, 2]


# row: X24
def test_the_thread_of_a_connection_ends_with_its_model():
    with keeping() as (url, _):
        before = set(threading.enumerate())
        model = model_at(url)
        ask(model)
        (thread,) = [
            one for one in set(threading.enumerate()) - before if one.name == "model"
        ]
        del model
        thread.join(60)
        assert not thread.is_alive()
