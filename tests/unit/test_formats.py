"""Other people's words made harmless, and times and names in their written form."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from engram.core.markdown import escape, plain_text, replace_block, unescape
from engram.vault import formats

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<script>alert(1)</script>", "&lt;script>alert(1)&lt;/script>"),
        ("<% tp.system.prompt() %>", "&lt;% tp.system.prompt() %>"),
        ("a < b and b > c", "a < b and b > c"),
        ("```dataviewjs\nx\n```", "&#96;``dataviewjs\nx\n```"),
        ("```python\nif a < b: <b>\n```\n<b>", "```python\nif a < b: <b>\n```\n&lt;b>"),
        ("~~~js\n```\n~~~\n<b>", "~~~js\n```\n~~~\n&lt;b>"),
        ("- ```tasks\n  x", "- &#96;``tasks\n  x"),
        (
            "`$= dv.pages()` and `= this.x` and `code`",
            "&#96;$= dv.pages()` and &#96;= this.x` and `code`",
        ),
        (
            "![[secret]] ![x](http://t.example/p.png) wow![1]",
            "&#33;&#91;[secret]] &#33;[x](http://t.example/p.png) wow&#33;[1]",
        ),
        ("50%% off", "50&#37;% off"),
        ("[x](javascript:a) [y]: app:z", "[x&#93;(javascript:a) [y&#93;: app:z"),
        ("obsidian://open?vault=x", "obsidian&#58;//open?vault=x"),
        ("[a](https://b.example) at http://c", "[a](https://b.example) at http://c"),
        ("[a](mailto:b@c.example) [d](e.md)", "[a](mailto:b@c.example) [d](e.md)"),
        ("`BUTTON[x]` `button-y` `!= z`", "&#96;BUTTON[x]` &#96;button-y` &#96;!= z`"),
        ("end ^t3\n^t4", "end &#94;t3\n&#94;t4"),
        ("2 ^ 3", "2 ^ 3"),
        ("## History", "&#35;# History"),
        ("AT&amp;T &lt;", "AT&amp;amp;T &amp;lt;"),
        ("R&D &copy;", "R&D &copy;"),
        ("<<<<<<< HEAD", "&lt;<<<<<< HEAD"),
    ],
)
def test_what_a_plugin_could_run_is_shown_as_text(text, shown):
    """And reads back as it was; code in known languages stays code."""
    assert escape(text) == shown
    assert unescape(shown) == text


def test_a_reference_to_no_character_stays_as_it_is():
    """A person may type anything into a title."""
    assert formats.unescaped_title("&#9999999; &#55296; \\") == "&#9999999; &#55296; \\"


def test_text_that_markdown_cannot_hold_is_replaced():
    """Line ends become one kind; NUL and halves of surrogate pairs a replacement
    character.
    """
    assert plain_text("a\r\nb\rc\0\ud800") == "a\nb\nc\ufffd\ufffd"


@pytest.mark.parametrize(
    ("written", "instant"),
    [
        ("2026-11-20T21:14:05", datetime(2026, 11, 20, 20, 14, 5, tzinfo=UTC)),
        ("2026-11-20 21:14", datetime(2026, 11, 20, 20, 14, tzinfo=UTC)),
        ("2026-11-20T21:14:05Z", datetime(2026, 11, 20, 21, 14, 5, tzinfo=UTC)),
        ("2026-11-20", datetime(2026, 11, 19, 23, tzinfo=UTC)),
        (20261120, datetime(2026, 11, 19, 23, tzinfo=UTC)),
        ("2026-10-25T02:30:00+01:00", datetime(2026, 10, 25, 1, 30, tzinfo=UTC)),
        ("tomorrow", None),
        ("9999-12-31", None),
        ("0001-01-01", None),
        (True, None),
        (["2026-11-20"], None),
        ("", None),
    ],
)
def test_a_written_time_is_an_instant(written, instant):
    """Local where no offset is written."""
    assert formats.time_value(written, BERLIN) == instant


def test_a_date_alone_ends_with_its_day():
    """`expires: 2026-12-31` covers the 31st."""
    assert formats.time_value("2026-12-31", UTC, end=True) == datetime(
        2027, 1, 1, tzinfo=UTC
    )
    assert formats.time_value("9999-12-31", UTC, end=True) is None


def test_the_offset_is_written_only_in_the_hour_that_repeats():
    """Europe/Berlin, 25 October 2026, 02:30 happens twice."""
    first = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert formats.time_text(first, BERLIN) == "2026-10-25T02:30:00+02:00"
    assert (
        formats.time_text(first + timedelta(hours=1), BERLIN)
        == "2026-10-25T02:30:00+01:00"
    )
    assert (
        formats.time_text(first + timedelta(hours=2, microseconds=5), BERLIN)
        == "2026-10-25T03:30:00"
    )


BEGIN, END = "%% engram:begin list %%", "%% engram:end list %%"


@pytest.mark.parametrize(
    ("body", "written"),
    [
        ("", f"{BEGIN}\n- a\n{END}\n"),
        ("Mine.", f"Mine.\n\n{BEGIN}\n- a\n{END}\n"),
        ("Mine.\n\n", f"Mine.\n\n{BEGIN}\n- a\n{END}\n"),
        ("Mine.\r\n", f"Mine.\r\n\r\n{BEGIN}\r\n- a\r\n{END}\r\n"),
        (f"x\n{BEGIN}\n- old\n\n{END}\ny", f"x\n{BEGIN}\n- a\n{END}\ny"),
        (
            f"x\n{BEGIN} \r\n- old\r\n{END}\r\ny\n\n",
            f"x\n{BEGIN} \r\n- a\r\n{END}\r\ny\n\n",
        ),
        (f"{BEGIN}\n{END}", f"{BEGIN}\n- a\n{END}"),
        (f"{BEGIN}\nmine\n", f"{BEGIN}\nmine\n\n{BEGIN}\n- a\n{END}\n"),
        (f"{BEGIN}\nmine\n{BEGIN}\n{END}\n", f"{BEGIN}\nmine\n{BEGIN}\n- a\n{END}\n"),
        (f"{END}\nmine\n", f"{END}\nmine\n\n{BEGIN}\n- a\n{END}\n"),
        (f"say {BEGIN}\n{END}\n", f"say {BEGIN}\n{END}\n\n{BEGIN}\n- a\n{END}\n"),
    ],
)
def test_only_what_stands_between_the_markers_is_replaced(body, written):
    """The rest keeps every character; a marker without its partner is a person's; twice
    is as once.
    """
    assert replace_block(body, "list", "- a") == written
    assert replace_block(written, "list", "- a\n") == written
