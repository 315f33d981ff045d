"""The proxy's reading of requests and answers, and what it does when memory fails."""

from __future__ import annotations

import json
import threading
from dataclasses import replace

import pytest

from engram.errors import UnavailableError
from engram.serve.proxy.messages import (
    conversation_of,
    is_housekeeping,
    session_of,
    text_of,
    turns_of,
    with_memory,
)
from engram.serve.proxy.replies import ReplyReader
from examples.echo_server import EchoServer
from tests.fakes.answers import FakeAnswers, ask, serving, settings_in

CHAT, RESPONSES = "chat/completions", "responses"


def chat(*texts):
    """A chat in which user and assistant take turns."""
    roles = ("user", "assistant")
    return [
        {"role": roles[place % 2], "content": text} for place, text in enumerate(texts)
    ]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"messages": None},
        {"messages": "hello"},
        {"messages": [1, 2]},
        {"messages": []},
        {"messages": [{"role": "system", "content": "x"}]},
        {"messages": [{"content": "x"}]},
    ],
)
def test_a_request_without_a_user_message_is_no_conversation(body):
    assert conversation_of(CHAT, body) is None


def test_memory_stands_before_the_last_user_message_and_changes_nothing_else():
    body = {"model": "m", "messages": chat("a", "b", "c"), "x": {"y": 1}}
    copy = json.loads(json.dumps(body))
    made = with_memory(CHAT, body, conversation_of(CHAT, body), "memory")
    assert body == copy
    assert made["messages"][2] == {"role": "system", "content": "memory"}
    assert [*made["messages"][:2], *made["messages"][3:]] == body["messages"]
    assert made["x"] == {"y": 1}


def test_a_text_as_input_becomes_a_list():
    body = {"input": "hello"}
    made = with_memory(RESPONSES, body, conversation_of(RESPONSES, body), "memory")
    assert [one["role"] for one in made["input"]] == ["system", "user"]
    assert made["input"][1]["content"] == "hello"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        (None, ""),
        (7, ""),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        ([{"type": "input_text", "text": "a"}, {"type": "input_image"}], "a\n[image]"),
        (
            [{"type": "file", "file": {"filename": "tax\n2026.pdf"}}],
            "[file: tax 2026.pdf]",
        ),
        ([{"type": "input_file", "filename": "a.txt"}], "[file: a.txt]"),
        ([{"type": "text", "text": None}, "x", {"type": "new"}], "x"),
    ],
)
def test_the_text_of_a_message(content, text):
    assert text_of({"content": content}) == text


def texts(*messages):
    conversation = conversation_of(CHAT, {"messages": list(messages)})
    return [row["text"] for row in turns_of("s", conversation, {})]


def test_only_messages_that_were_not_answered_are_turns():
    user = {"role": "user", "content": "new"}
    call = {"role": "assistant", "content": None, "tool_calls": [{}]}
    assert texts(*chat("a", "b"), user) == ["new"]
    assert texts(*chat("a", "b"), user, user | {"content": "more"}) == ["new", "more"]
    assert texts(user, call, {"role": "tool", "content": "x"}) == []
    assert texts({"role": "user", "content": "  "}) == []


def test_equal_words_at_two_places_are_two_turns_and_a_repeated_request_is_one():
    def ids(*words):
        body = {"messages": chat(*words)}
        return [row["id"] for row in turns_of("s", conversation_of(CHAT, body), {})]

    assert ids("ok") == ids("ok")
    assert ids("ok") != ids("ok", "fine", "ok")


@pytest.mark.parametrize(
    ("headers", "body", "session"),
    [
        ({"x-engram-session": "a", "x-openwebui-chat-id": "b"}, {"user": "c"}, "a"),
        ({"x-openwebui-chat-id": "b"}, {"user": "c"}, "b"),
        ({}, {"conversation": {"id": "conv_1"}, "user": "c"}, "conv_1"),
        ({}, {"conversation": "conv_1"}, "conv_1"),
        ({}, {"previous_response_id": "resp_1", "user": "c"}, "known"),
        ({}, {"previous_response_id": "resp_2", "user": "c"}, "c"),
        ({"x-engram-session": "  "}, {"user": "c"}, "c"),
        ({}, {"user": ["c"]}, None),
        ({}, {}, None),
    ],
)
def test_the_session_of_a_request(headers, body, session):
    conversation = conversation_of(CHAT, {"messages": chat("first", "b", "c")})
    same = conversation_of(CHAT, {"messages": chat("first", "x", "y", "z", "later")})
    found = session_of(headers, body, conversation, {"resp_1": "known"})
    if session:
        assert found == session
    else:
        assert found == session_of({}, {}, same, {})
        other = conversation_of(CHAT, {"messages": chat("second")})
        assert found != session_of({}, {}, other, {})


@pytest.mark.parametrize(
    "text",
    [
        "### Task:\nSuggest 3-5 relevant follow-up questions …\n### Chat History:\nUSER: a",
        "### Task:\nAnalyze the chat history to determine the necessity of generating search queries …\n<chat_history>\nUSER: a\n</chat_history>",
        "### Task:\nYou are an autocompletion system. …\n<text>I like</text>",
        "Detect user language and write in the same language an extremely concise title for this conversation: a",
        "Please reply with a title for the chat that is 3-4 words in length.",
        "请将以下会话总结为 10 个字以内的标题",
    ],
)
def test_a_task_of_the_interface_is_housekeeping(text):
    body = {"messages": [{"role": "user", "content": text}]}
    assert is_housekeeping(conversation_of(CHAT, body))


def test_a_long_conversation_is_no_housekeeping():
    words = "Write a title for this conversation."
    body = {"messages": chat("a", "b", "c", "d", words)}
    assert not is_housekeeping(conversation_of(CHAT, body))


def chunk(text, **more):
    event = {"choices": [{"index": 0, "delta": {"content": text}, **more}]}
    return b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\r\n\r\n"


@pytest.mark.parametrize("size", [1, 2, 7, 10_000])
def test_a_stream_is_read_in_pieces_of_any_size(size):
    raw = chunk("Grüße ") + b": comment\n\n" + chunk("猫") + chunk("no", index=1)
    raw += b"data: not json\n\ndata: [1]\n\ndata: [DONE]\n\n"
    reader = ReplyReader(CHAT, 10_000, stream=True)
    for start in range(0, len(raw), size):
        reader.feed(raw[start : start + size])
    assert reader.text() == "Grüße 猫"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<think>he likes\nit</think>\n\nYes.", "Yes."),
        ("<think>cut off", ""),
        ("Use <think> in HTML.", "Use <think> in HTML."),
        (None, ""),
        ([{"type": "text", "text": "parts"}], "parts"),
    ],
)
def test_the_words_of_an_answer_without_its_reasoning(content, text):
    reader = ReplyReader(CHAT, 10_000, stream=False)
    reader.feed(json.dumps({"choices": [{"message": {"content": content}}]}).encode())
    assert reader.text() == text


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b'{"choices": 3}', b'{"choices": [null]}', b"\xff" * 99]
)
def test_an_answer_in_no_known_form_says_nothing(raw):
    for api in (CHAT, RESPONSES):
        for stream in (False, True):
            reader = ReplyReader(api, 10_000, stream=stream)
            reader.feed(raw)
            assert reader.text() == ""


class Slow(FakeAnswers):
    """A memory whose answer waits until the test sets an event."""

    def __init__(self):
        super().__init__()
        self.goes_on = threading.Event()

    def call(self, name, params, standing="chat"):
        if name == "context":
            self.goes_on.wait(60)
        return super().call(name, params, standing)


@pytest.mark.parametrize("broken", ["slow", "fault", "surprise"])
def test_a_request_passes_when_memory_fails(tmp_path, broken):
    answers = Slow() if broken == "slow" else FakeAnswers()
    if broken == "fault":
        answers.results["context"] = UnavailableError("starting")
    if broken == "surprise":
        answers.results["context"] = {"no": "text"}
    body = json.dumps({"model": "m", "messages": chat("hello")}).encode()
    with EchoServer() as upstream:
        settings = settings_in(
            tmp_path / "home", tmp_path / "vault", ENGRAM_PROXY_BASE_URL=upstream.url
        )
        with serving(answers, settings) as socket:
            status, headers, _ = ask(
                socket,
                "POST /proxy/v1/chat/completions HTTP/1.1\nHost: engram\n"
                f"Content-Type: application/json\nContent-Length: {len(body)}",
                body,
            )
            if broken == "slow":
                answers.goes_on.set()
        assert status == 200
        assert upstream.requests[0][2] == body
        assert headers["x-engram-memory"] == (
            "none: late" if broken == "slow" else "none: fault"
        )
    assert [name for name, _ in answers.calls].count("observe") == 2


def test_many_requests_pass_in_time_while_memory_hangs_and_turns_wait(tmp_path):
    """More than there are threads: what waits for the memory holds up no request."""
    goes_on = threading.Event()

    class Stuck(FakeAnswers):
        def call(self, name, params, standing="chat"):
            goes_on.wait(30)
            return super().call(name, params, standing)

    with EchoServer() as upstream:
        settings = settings_in(
            tmp_path / "home", tmp_path / "vault", ENGRAM_PROXY_BASE_URL=upstream.url
        )
        serve = replace(settings.policy.serve, proxy_threads=1)
        settings = replace(settings, policy=replace(settings.policy, serve=serve))
        body = json.dumps({"model": "m", "messages": chat("hello")}).encode()
        head = (
            "POST /proxy/v1/chat/completions HTTP/1.1\nHost: engram\n"
            f"Content-Type: application/json\nContent-Length: {len(body)}"
        )
        with serving(Stuck(), settings) as socket:
            try:
                for _ in range(4):  # `ask` waits for five seconds at most
                    status, headers, _ = ask(socket, head, body)
                    assert (status, headers["x-engram-memory"]) == (200, "none: late")
            finally:
                goes_on.set()


def test_a_busy_daemon_gets_the_turns_later(tmp_path):
    from engram.errors import BusyError

    class Busy(FakeAnswers):
        left = 2

        def call(self, name, params, standing="chat"):
            if name == "observe" and self.left:
                self.left -= 1
                raise BusyError("full", retry_after=0)
            return super().call(name, params, standing)

    answers = Busy()
    answers.results["context"] = {"text": ""}
    body = json.dumps({"model": "m", "messages": chat("hello")}).encode()
    with EchoServer() as upstream:
        settings = settings_in(
            tmp_path / "home", tmp_path / "vault", ENGRAM_PROXY_BASE_URL=upstream.url
        )
        with serving(answers, settings) as socket:
            ask(
                socket,
                "POST /proxy/v1/chat/completions HTTP/1.1\nHost: engram\n"
                f"Content-Type: application/json\nContent-Length: {len(body)}",
                body,
            )
    turns = [params["turns"][0] for name, params in answers.calls if name == "observe"]
    assert [turn["text"] for turn in turns] == ["hello", "You said: hello"]
