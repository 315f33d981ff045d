"""Small conversations with questions, in the shapes of published benchmarks.

Written from the descriptions of the formats; no word is from the data.
"""

from __future__ import annotations

SAID = (
    ("Mira", "My sister Anna is allergic to peanuts."),
    ("Ole", "Good to know! I will bake without nuts."),
    ("Mira", "I adopted a greyhound called Biscuit."),
    ("Ole", "We sold the blue boat for 900 euros."),
)


def locomo():
    """One conversation of two sessions, as in https://github.com/snap-research/locomo."""
    first, second = SAID[:2], SAID[2:]
    return [
        {
            "sample_id": "conv-1",
            "conversation": {
                "speaker_a": "Mira",
                "speaker_b": "Ole",
                "session_1_date_time": "1:56 pm on 8 May, 2023",
                "session_1": _turns(1, first),
                "session_2_date_time": "9:05 am on 2 June, 2023",
                "session_2": _turns(2, second),
                "session_3_date_time": "9:05 am on 3 June, 2023",
            },
            "qa": [
                _question("What is Anna allergic to?", "peanuts", ["D1:1"], 4),
                _question("What did Ole bake and sell?", "boat", ["D1:2; D2:2"], 1),
                _question("Which cat did Mira adopt?", "", ["D2:1"], 5),
            ],
        }
    ]


def _turns(session, said):
    return [
        {"speaker": speaker, "dia_id": f"D{session}:{number}", "text": text}
        for number, (speaker, text) in enumerate(said, 1)
    ]


def _question(text, answer, evidence, category):
    return {
        "question": text,
        "answer": answer,
        "evidence": evidence,
        "category": category,
    }


def realtalk():
    """A chat of real people, as in https://github.com/danny911kr/REALTALK."""
    return {
        "name": {"speaker_1": "Mira", "speaker_2": "Ole"},
        "session_1_date_time": "29.12.2023, 22:03:00",
        "session_1": [
            {
                "clean_text": text,
                "speaker": speaker,
                "date_time": f"29.12.2023, 22:0{number + 2}:02",
                "dia_id": f"D1:{number}",
            }
            for number, (speaker, text) in enumerate(SAID, 1)
        ],
        "events_session_1": {},
        "qa": [_question("What is the dog's name?", "Biscuit", ["D1:3"], 1)],
    }
