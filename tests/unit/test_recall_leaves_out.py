"""What stands beside a match in a conversation and is no answer by itself."""

from __future__ import annotations


def told(memory, *texts):
    roles = ("user", "assistant")
    turns = [
        {"session": "s", "role": roles[number % 2], "text": text}
        for number, text in enumerate(texts)
    ]
    memory.call("observe", {"turns": turns})
    memory.call("flush", {})


def recalled(memory, query):
    answer = memory.call("recall", {"query": query})
    return [hit["text"] for hit in answer["hits"]], answer["filtered"]


# row: X24
def test_the_neighbours_of_what_is_no_answer_are_none_either(memory):
    """The one match tells of the sister."""
    told(
        memory,
        "My sister Mira lives in Graz.",
        "I hear that Graz is lovely in the spring.",
        "I am allergic to penicillin.",
        "I will keep that in mind.",
    )
    texts, filtered = recalled(memory, "where do I live")
    assert not any("penicillin" in text or "keep that" in text for text in texts)
    assert sum(filtered.values()) > 0
    assert recalled(memory, "where does Mira live")[0][0] == "Mira lives in Graz."


# row: X24
def test_the_rest_of_a_conversation_does_not_follow_a_plain_answer(memory):
    told(
        memory,
        "I am allergic to penicillin.",
        "You might look at a humidifier as well.",
        "My car is a red Fiat.",
    )
    texts, _ = recalled(memory, "what am I allergic to")
    assert texts == ["The user is allergic to penicillin."]
