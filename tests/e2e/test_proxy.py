"""The proxy, with the real daemon, the real `openai` client and a real upstream."""

from __future__ import annotations

import json
import re
import time
import urllib.request

import openai
import pytest

from engram.serve import auth
from examples.echo_server import EchoServer
from tests.fakes.answers import ID, free_port
from tests.fakes.answers import ask as ask_raw
from tests.fakes.world import ROOT, World, knowing_carla, until

ASKED = "What is Carla allergic to?"


@pytest.fixture(scope="module")
def upstream():
    with EchoServer() as echo:
        yield echo


@pytest.fixture(scope="module")
def place(tmp_path_factory, upstream):
    """A daemon with a port, and what Carla cannot eat in its vault."""
    world = World(tmp_path_factory.mktemp("proxy"))
    world.port = free_port()
    key = world.home / "upstream-key"
    key.parent.mkdir(parents=True, exist_ok=True)
    key.write_text("sk-upstream\n")
    world.env |= {
        "ENGRAM_PORT": str(world.port),
        "ENGRAM_PROXY_BASE_URL": upstream.url,
        "ENGRAM_PROXY_API_KEY": "sk-upstream",
    }
    with knowing_carla(world):
        yield world


@pytest.fixture
def echo(upstream):
    upstream.requests.clear()
    upstream.sent.clear()
    upstream.answer, upstream.status, upstream.cut, upstream.pause = None, 200, 0, 0.0
    return upstream


def token(world, kind="chat"):
    return (world.home / "state" / ID / auth.TOKENS[kind]).read_text().strip()


def client(world, kind=openai.OpenAI, **headers):
    return kind(
        base_url=f"http://127.0.0.1:{world.port}/proxy/v1",
        api_key=token(world),
        default_headers=headers,
        max_retries=0,
    )


def ask(world, text, session, **more):
    return client(world, **{"X-Engram-Session": session}).chat.completions.create(
        model="echo", messages=[{"role": "user", "content": text}], **more
    )


def with_memories(echo, words, send):
    """Send a request until it went on with words of a memory.

    A busy machine may leave out some memories, or all.
    """
    for _ in range(10):
        echo.requests.clear()
        answer = send()
        if words in json.dumps(echo.bodies[-1]):
            break
    return answer


def stored(world, words):
    """Whether words are found as a turn."""
    hits = world.call("recall", query=words, kinds=["turn"], k=20)["hits"]
    return [hit for hit in hits if words in hit["text"]]


def test_a_new_session_is_answered_with_what_another_one_told(place, echo):
    ask(place, "I bought the green kayak of Oskar yesterday.", "proxy-1")
    until(lambda: stored(place, "green kayak of Oskar"))
    words = "green kayak of Oskar"
    answer = with_memories(
        echo, words, lambda: ask(place, "Which kayak did I buy?", "proxy-2")
    )
    assert words in answer.choices[0].message.content


def test_the_memories_come_just_before_the_last_user_message(place, echo):
    history = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello!"},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": ASKED},
    ]
    chat = client(place).chat.completions
    with_memories(echo, "peanuts", lambda: chat.create(model="echo", messages=history))
    (body,) = echo.bodies
    *before, memory, last = body["messages"]
    assert before == history[:-1]
    assert last == history[-1]
    assert memory["role"] == "system"
    assert "peanuts" in memory["content"]


def test_the_token_stays_here_and_the_upstream_gets_its_own_key(place, echo):
    ask(place, ASKED, "keys")
    ((_, headers, raw),) = echo.requests
    assert headers["authorization"] == "Bearer sk-upstream"
    assert token(place) not in json.dumps(headers) + raw.decode()
    assert not [name for name in headers if "engram" in name]


def test_with_the_token_in_its_own_header_the_clients_key_goes_upstream(place, echo):
    own = openai.OpenAI(
        base_url=f"http://127.0.0.1:{place.port}/proxy/v1",
        api_key="sk-of-the-client",
        default_headers={"X-Engram-Token": token(place)},
    )
    own.models.list()
    ((_, headers, _),) = echo.requests
    assert headers["authorization"] == "Bearer sk-of-the-client"


def test_without_a_token_nothing_is_passed_on(place, echo):
    wrong = openai.OpenAI(
        base_url=f"http://127.0.0.1:{place.port}/proxy/v1", api_key="no", max_retries=0
    )
    with pytest.raises(openai.AuthenticationError):
        wrong.models.list()
    assert echo.requests == []


@pytest.mark.parametrize("kind", ["import", "tool"])
def test_imports_and_tools_cannot_spend_the_key_of_the_user(place, echo, kind):
    """A memory token for a tool is no key for the model."""
    own = openai.OpenAI(
        base_url=f"http://127.0.0.1:{place.port}/proxy/v1",
        api_key=token(place, kind),
        max_retries=0,
    )
    with pytest.raises(openai.PermissionDeniedError):
        own.models.list()
    assert echo.requests == []


def raw_request(world, path, *headers):
    lines = [
        f"GET {path} HTTP/1.1",
        f"Host: 127.0.0.1:{world.port}",
        f"Authorization: Bearer {token(world)}",
        *headers,
    ]
    return ask_raw(world.port, "\n".join(lines))


@pytest.mark.parametrize(
    "path",
    [
        "../admin",
        "files/../../admin",
        "%2e%2e/admin",
        "files/.%2E%2fadmin",
        ".",
        "..;/x",
        "..%3bx=1/y",
    ],
)
def test_a_path_that_leads_out_of_the_base_url_is_refused(place, echo, path):
    assert raw_request(place, f"/proxy/v1/{path}")[0] == 400
    assert echo.requests == []


def test_the_path_is_passed_on_as_it_was_sent(place, echo):
    raw_request(place, "/proxy/v1/models/a%2Fb%20c?limit=1")
    ((path, _, _),) = echo.requests
    assert path == "/v1/models/a%2Fb%20c?limit=1"


def test_who_asks_in_open_webui_stays_here(place, echo):
    raw_request(
        place,
        "/proxy/v1/models",
        "X-OpenWebUI-User-Email: anna@example.org",
        "X-OpenWebUI-User-Name: Anna",
        "X-OpenWebUI-Chat-Id: 1",
    )
    ((_, headers, _),) = echo.requests
    assert not [name for name in headers if "openwebui" in name]


def post(world, route, body, headers=()):
    """The raw bytes of an answer."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{world.port}/proxy/v1/{route}",
        json.dumps(body).encode(),
        {
            "Authorization": f"Bearer {token(world)}",
            "Content-Type": "application/json",
            **dict(headers),
        },
    )
    with urllib.request.urlopen(request, timeout=30) as reply:
        return reply.read(), reply.headers


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("route", "key"), [("chat/completions", "messages"), ("responses", "input")]
)
def test_the_answer_passes_byte_for_byte(place, echo, route, key, stream):
    echo.say("Grüße, 猫, \N{SMILING FACE WITH SUNGLASSES} …")
    body = {"model": "echo", key: [{"role": "user", "content": ASKED}]}
    raw, headers = with_memories(
        echo, "peanuts", lambda: post(place, route, {**body, "stream": stream})
    )
    assert raw == echo.sent[-1]
    assert headers["X-Engram-Memory"] == "added"


def test_a_stream_arrives_while_it_is_made(place, echo):
    echo.say("one two three four five six")
    echo.pause = 0.1
    began = time.monotonic()
    times = [
        time.monotonic() - began
        for event in ask(place, "Count.", "stream-1", stream=True)
        if event.choices[0].delta.content
    ]
    assert times[-1] - times[0] > 0.3
    until(lambda: stored(place, "one two three four five six"))


def test_both_sides_of_a_stream_are_observed(place, echo):
    echo.say("The lighthouse opens at nine.")
    for _ in ask(
        place,
        "I like it there. When does the lighthouse of Sark open?",
        "s-9",
        stream=True,
    ):
        pass
    until(lambda: stored(place, "lighthouse opens at nine"))
    (user,) = stored(place, "lighthouse of Sark open")
    (assistant,) = stored(place, "lighthouse opens at nine")
    assert (user["role"], assistant["role"]) == ("user", "assistant")


def test_tools_pass_untouched_and_the_context_stays_the_same_through_a_loop(
    place, echo
):
    tools = [
        {
            "type": "function",
            "function": {"name": "menu", "parameters": {"type": "object"}},
        }
    ]
    messages = [
        {
            "role": "user",
            "content": "We sit down. What can Carla eat here, is she allergic?",
        }
    ]

    def send():
        echo.call("menu", '{"of": "today"}')
        return chat.create(model="echo", messages=messages, tools=tools)

    chat = client(place, **{"X-Engram-Session": "tools"}).chat.completions
    first = with_memories(echo, "peanuts", send)
    call = first.choices[0].message.tool_calls[0]
    assert (call.function.name, call.function.arguments) == ("menu", '{"of": "today"}')
    messages += [
        first.choices[0].message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": call.id, "content": "satay, rice"},
    ]
    echo.say("The rice of today is safe for her.")
    chat.create(model="echo", messages=messages, tools=tools)

    one, two = echo.bodies
    assert one["tools"] == two["tools"] == tools
    assert one["messages"][:2] == two["messages"][:2]
    assert two["messages"][2:] == messages[1:]
    until(lambda: stored(place, "rice of today is safe"))
    assert len(stored(place, "What can Carla eat here")) == 1


def test_images_pass_untouched_and_are_noted_by_name(place, echo):
    content = [
        {"type": "text", "text": "Which bird sat on the aerial of Tresco?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aaaa"}},
    ]
    client(place).chat.completions.create(
        model="echo", messages=[{"role": "user", "content": content}]
    )
    assert echo.bodies[0]["messages"][-1]["content"] == content
    until(lambda: stored(place, "aerial of Tresco"))
    texts = [hit["text"] for hit in stored(place, "aerial of Tresco")]
    assert any(text.endswith("[image]") for text in texts)


def test_the_responses_api_gains_memory_and_follows_its_chain(place, echo):
    api = client(place).responses
    question = "On the Meltemi, tell me what Carla is allergic to."
    first = api.create(model="echo", input="My boat is called Meltemi of Hydra.")
    assert first.output_text
    until(lambda: stored(place, "Meltemi of Hydra"))
    second = {"input": question, "previous_response_id": first.id}
    words = with_memories(
        echo,
        "peanuts",
        lambda: "".join(
            event.delta
            for event in api.create(model="echo", stream=True, **second)
            if event.type == "response.output_text.delta"
        ),
    )
    assert "peanuts" in words
    until(lambda: stored(place, question))
    (told,) = [
        hit for hit in stored(place, "Meltemi of Hydra") if hit["role"] == "user"
    ]
    asked = [
        hit for hit in stored(place, question) if hit["session"] == told["session"]
    ]
    assert asked


@pytest.mark.parametrize(
    "task",
    [
        (
            "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing "
            "the chat history.\n<chat_history>\nUSER: my oboe\n</chat_history>"
        ),
        (
            "### Task:\nGenerate 1-3 broad tags categorizing the main themes of the "
            "chat history\n<chat_history>USER: my oboe</chat_history>"
        ),
        "Please generate a concise, 5-word-or-less title for the conversation on my oboe.",
    ],
)
def test_housekeeping_is_neither_given_memories_nor_observed(place, echo, task):
    raw, headers = post(
        place,
        "chat/completions",
        {"model": "echo", "messages": [{"role": "user", "content": task}]},
    )
    assert raw
    assert headers["X-Engram-Memory"] == "none: housekeeping"
    assert len(echo.bodies[0]["messages"]) == 1
    time.sleep(0.3)
    assert not stored(place, "my oboe")


@pytest.mark.parametrize(
    ("header", "given", "kept"),
    [
        ({"X-Engram-Memory": "off"}, False, False),
        ({"X-Engram-Memory": "read"}, True, False),
        ({"X-Engram-Memory": "write"}, False, True),
        ({"X-Engram-Record": "false"}, True, False),
    ],
)
def test_a_header_opts_out(place, echo, header, given, kept):
    name = "-".join([*header, *header.values()]).lower()
    text = f"We sit down. Is Carla allergic to anything ({name})?"
    chat = client(place, **header).chat.completions
    message = {"role": "user", "content": text}
    words = "peanuts" if given else text
    with_memories(echo, words, lambda: chat.create(model="echo", messages=[message]))
    assert (len(echo.bodies[0]["messages"]) == 2) == given
    if kept:
        until(lambda: stored(place, name))
    else:
        time.sleep(0.3)
        assert not stored(place, name)


def test_a_request_that_is_sent_again_is_stored_once(place, echo):
    for _ in range(3):
        ask(place, "My tent is a Hilleberg in ochre.", "again")
    until(lambda: stored(place, "Hilleberg in ochre"))
    time.sleep(0.3)
    users = [
        hit for hit in stored(place, "Hilleberg in ochre") if hit["role"] == "user"
    ]
    assert len(users) == 1


def test_what_was_forgotten_is_not_added_to_a_message_that_is_sent_again(place, echo):
    kept = place.call("remember", text="The gate code of the allotment is 5511.")
    question = "Which gate code has the allotment?"
    with_memories(echo, "5511", lambda: ask(place, question, "regenerated"))
    assert "5511" in str(echo.bodies[-1]["messages"])
    place.call("forget", id=kept["id"])
    ask(place, question, "regenerated")
    assert "5511" not in str(echo.bodies[-1]["messages"])


def test_errors_of_the_upstream_pass_as_they_are_and_nothing_is_observed(place, echo):
    echo.status = 429
    with pytest.raises(openai.RateLimitError) as fault:
        ask(place, "The quay of Pico is closed.", "errors")
    assert fault.value.body["code"] == "scripted"
    time.sleep(0.3)
    assert not stored(place, "quay of Pico")


def test_a_client_that_hangs_up_has_said_what_it_said(place, echo):
    echo.say("word " * 200)
    echo.pause = 0.02
    stream = ask(place, "The ferry of Elba sails at noon.", "hang", stream=True)
    next(iter(stream))
    stream.close()
    until(lambda: stored(place, "ferry of Elba"))


def test_a_stream_that_breaks_off_is_observed_as_far_as_it_came(place, echo):
    echo.say("Saffron grows near Navelli in autumn and in spring")
    echo.cut = 5
    for _ in ask(place, "Where does saffron grow?", "cut", stream=True):
        pass
    until(lambda: stored(place, "Saffron grows near Navelli"))


def test_models_embeddings_and_uploads_pass_through(place, echo):
    own = client(place)
    assert [model.id for model in own.models.list()] == ["echo"]
    made = own.embeddings.create(model="echo", input="a", encoding_format="float")
    assert made.data[0].embedding == [0.0, 1.0]
    own.files.create(file=("a.txt", b"x" * 1000), purpose="assistants")
    assert echo.requests[-1][0] == "/v1/files"
    assert b"x" * 1000 in echo.requests[-1][2]


def test_an_upstream_that_is_away_is_named_in_the_form_of_the_api(place, tmp_path):
    world = World(tmp_path)
    world.port = free_port()
    world.env |= {
        "ENGRAM_PORT": str(world.port),
        "ENGRAM_PROXY_BASE_URL": f"http://127.0.0.1:{free_port()}/v1",
    }
    world.start()
    try:
        with pytest.raises(openai.InternalServerError) as fault:
            ask(world, "hello", "s")
        assert "cannot reach" in fault.value.body["message"]
    finally:
        assert world.stop() == 0


def test_the_turns_of_the_last_answer_survive_a_stop(echo, tmp_path):
    world = World(tmp_path)
    world.port = free_port()
    world.env |= {
        "ENGRAM_PORT": str(world.port),
        "ENGRAM_PROXY_BASE_URL": echo.url,
    }
    world.start()
    ask(world, "The key of the shed of Lundy is under the stone.", "s")
    assert world.stop() == 0
    assert "shed of Lundy" in world.engram("recall", "shed of Lundy")


def test_the_snippet_of_the_page_works(place, echo, monkeypatch, capsys):
    page = (ROOT / "docs" / "proxy.md").read_text()
    (snippet,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.setenv("ENGRAM_TOKEN", token(place))
    exec(snippet.replace("7077", str(place.port)), {})
    assert "peanuts" in capsys.readouterr().out
