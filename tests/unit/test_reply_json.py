"""The JSON in a model's reply, as small models write it (A2)."""

from __future__ import annotations

import json
import time

import pytest

from engram.errors import ModelError
from engram.llm.replies import parsed


# row: A2
@pytest.mark.parametrize(
    "reply",
    [
        '{"facts": [1, 2,], "ended": [],}',
        '{"facts": [1, 2\n,\n ] , "ended": [], \n}',
        '{"facts": [1, 2], "ended": []}',
    ],
)
def test_a_comma_after_the_last_item_is_ignored(reply):
    assert parsed(reply) == {"facts": [1, 2], "ended": []}


def test_commas_in_strings_stay():
    told = {"text": 'She said ",]" and ",}" and \\', "quote": ",}"}
    reply = json.dumps(told)[:-1] + ",}"
    assert parsed(reply) == told


def test_a_reply_that_never_ends_a_string_is_refused_soon():
    began = time.process_time()
    with pytest.raises(ModelError, match="not JSON"):
        parsed('{"a": "' + '\\"' * 500_000)
    assert time.process_time() - began < 5
