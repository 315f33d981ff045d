"""Give a chatbot memory by changing its base URL, and show what the model is sent.

    python examples/demo_proxy.py

The bot uses the `openai` client; the model behind the proxy is a server that repeats
what it is sent (`echo_server.py`). The vault is temporary.
"""

from __future__ import annotations

import sys
import time

import openai
from demo_vault import heading, run, served
from echo_server import EchoServer

YESTERDAY = (
    "Hi! I'm Jonas. I live in Augsburg and my sister Carla is allergic to peanuts.",
    "Remember that I take the 7:12 train on weekdays.",
)
TODAY = "I want to cook for Carla. What should I leave out?"


def main() -> int:
    """Run the demonstration; return 0 if the new session remembered the old one."""
    with (
        EchoServer() as model,
        served(ENGRAM_PROXY_BASE_URL=model.url) as engram,
        openai.OpenAI(
            base_url=f"http://127.0.0.1:{engram.port}/proxy/v1", api_key=engram.token
        ) as client,
    ):
        heading("1. Yesterday: a conversation through the proxy")
        model.say("Good to know!")
        messages: list[dict[str, str]] = []
        for text in YESTERDAY:
            print(f"   user       {text}")
            messages.append({"role": "user", "content": text})
            answer = ask(client, messages, "yesterday")
            print(f"   assistant  {answer}")
            messages.append({"role": "assistant", "content": answer})
        time.sleep(0.5)
        run("flush")

        heading("2. Today: a new session, the client sends one message")
        print(f"   user       {TODAY}")
        model.answer = None
        answer = ask(client, [{"role": "user", "content": TODAY}], "today")

        heading("3. What the model was sent")
        for message in model.bodies[-1]["messages"]:
            lines = message["content"].splitlines()
            for number, line in enumerate(lines):
                print(f"   {message['role'] if not number else '':<9} {line}")
    remembered = "peanuts" in answer
    heading("The new session remembers." if remembered else "Nothing was remembered.")
    return 0 if remembered else 1


def ask(client: openai.OpenAI, messages: list[dict[str, str]], session: str) -> str:
    """Return the streamed answer of the model."""
    stream = client.chat.completions.create(
        model="echo",
        messages=messages,  # type: ignore[arg-type]
        stream=True,
        extra_headers={"X-Engram-Session": session},
    )
    return "".join(event.choices[0].delta.content or "" for event in stream).strip()


if __name__ == "__main__":
    sys.exit(main())
