"""How times, names and other people's words are written inside a note."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from itertools import count, pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import tzinfo

# A code fence at a line's start. These languages are coloured and nothing else; of any other a plugin might
# run the content.
_FENCE = re.compile(
    r"(`{3,}+|~{3,}+)((?:asm|bash|c|clojure|cmake|console|cpp|cs|csharp|css|csv|dart|diff|dockerfile|elixir|elm"
    r"|erlang|fish|go|graphql|groovy|haskell|hcl|html|http|ini|java|javascript|js|json|json5|jsonc|jsonl|jsx"
    r"|julia|kotlin|latex|less|log|lua|make|makefile|markdown|matlab|md|nginx|nix|objc|ocaml|pascal|perl|php"
    r"|plaintext|powershell|proto|py|python|r|rb|rs|ruby|rust|scala|scss|sh|shell|sql|svelte|swift|tex|text"
    r"|toml|ts|tsx|txt|typescript|vb|vim|vue|xml|yaml|yml|zig|zsh)?)[ \t]*",
    re.IGNORECASE,
)

# In any line: a Templater tag, a conflict marker, an embed, an inline query, a fence that is not at a line's
# start or of an unknown language, our own History heading, and what would read as one of our references.
_ANYWHERE = (
    r"&(?=(?:amp|lt|#(?:33|35|37|91|94|96|126));)|<(?=%|<{6})|!(?=\[\[)|`(?=\s*\$?=)"
    r"|(?<!`)`(?=``)|(?<!~)~(?=~~)|^#(?=# History\s*$)"
)
_IN_CODE = re.compile(_ANYWHERE)
# Outside code also HTML, remote images, links, comments, and a block id at a line's end.
_IN_TEXT = re.compile(_ANYWHERE + r"|<(?=[A-Za-z/!?])|!(?=\[)|\[(?=\[)|%(?=%)|(?:(?<=\s)|^)\^(?=[A-Za-z0-9-]+\s*$)")
_REFERENCES = {
    "&": "&amp;",
    "<": "&lt;",
    "!": "&#33;",
    "#": "&#35;",
    "%": "&#37;",
    "[": "&#91;",
    "^": "&#94;",
    "`": "&#96;",
    "~": "&#126;",
}
_SIGNS = {reference: sign for sign, reference in _REFERENCES.items()}
_REFERENCE = re.compile("|".join(_SIGNS))

_BLOCK = re.compile(
    r"^%% engram:begin (?P<name>[a-z]+) %%[ \t]*\r?\n(?P<text>.*?)^%% engram:end (?P=name) %%[ \t]*\r?$\n?",
    re.MULTILINE | re.DOTALL,
)
_TITLE_SIGN = re.compile(r"[\\<>\[\]&`]")
_TITLE_ESCAPE = re.compile(r"\\(.)|&#(\d{1,7});")
_SURROGATE = re.compile("[\ud800-\udfff]")


def time_text(when: datetime, zone: tzinfo) -> str:
    """`when` in `zone` to the second, without offset; with it in the hour that a clock change repeats."""
    local = when.astimezone(zone).replace(microsecond=0)
    return (local if repeated(local) else local.replace(tzinfo=None)).isoformat()


def time_value(value: object, zone: tzinfo, *, end: bool = False) -> datetime | None:
    """The instant that a person or `time_text` wrote, None if it is none; in UTC, where instants compare.

    A time without offset is local in `zone`. A date alone is its first instant, or with `end` the first
    instant of the next day, so that `expires: 2026-12-31` covers the whole day.
    """
    text = str(value).strip()
    try:
        when = datetime.combine(date.fromisoformat(text), time()) + timedelta(days=end)
    except (ValueError, OverflowError):
        try:
            when = datetime.fromisoformat(text)
        except ValueError:
            return None
    if not 1 < when.year < 9999:
        return None
    return (when if when.tzinfo else when.replace(tzinfo=zone)).astimezone(UTC)


def repeated(local: datetime) -> bool:
    """Whether the wall clock shows this aware local time twice."""
    return local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset()


def unused(name: str, taken: Callable[[str], bool]) -> str:
    """`name`, or the first of `name-2`, `name-3` … that is not taken."""
    return next(free for n in count(1) if not taken(free := name if n == 1 else f"{name}-{n}"))


def plain_text(text: str) -> str:
    """`text` as a Markdown file can hold it: one kind of line end; NUL and lone surrogates become U+FFFD."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    return _SURROGATE.sub("\ufffd", text)


def inert(text: str) -> str:
    """`text` as Markdown that shows it and that no plugin, template or browser acts on (quality §4).

    Dangerous signs become character references: HTML, `<%`, embeds, links and images, inline queries, fences of
    unknown languages, comments, block ids. `original` takes exactly this back.

    >>> inert("see <script> and ![[secret]]")
    'see &lt;script> and &#33;&#91;[secret]]'
    """
    lines, code = [], ""
    for line in text.split("\n"):
        fence = _FENCE.fullmatch(line)
        if fence:
            if not code:
                code = fence[1]
            elif not fence[2] and fence[1].startswith(code):
                code = ""
            lines.append(line)
        else:
            lines.append((_IN_CODE if code else _IN_TEXT).sub(lambda found: _REFERENCES[found[0]], line))
    return "\n".join(lines)


def original(markdown: str) -> str:
    """The text that `inert` was given: `original(inert(text)) == text`."""
    return _REFERENCE.sub(lambda found: _SIGNS[found[0]], markdown) if "&" in markdown else markdown


def title(text: str) -> str:
    """`text` as part of a callout's title: one line without `%` and `|`, nothing in it is markup."""
    shown = _TITLE_SIGN.sub(r"\\\g<0>", text)
    shown = "".join(sign if sign.isprintable() and sign not in "%|" else f"&#{ord(sign)};" for sign in shown)
    bare = shown.lstrip(" ")
    inner = bare.rstrip(" ")
    return "&#32;" * (len(shown) - len(bare)) + inner + "&#32;" * (len(bare) - len(inner))


def untitled(shown: str) -> str:
    """The text that `title` was given; a reference to no character stays as it is."""
    return _TITLE_ESCAPE.sub(_sign, shown) if "\\" in shown or "&" in shown else shown


def between(body: str, name: str, new: str) -> str:
    r"""`body` with `new` between the lines `%% engram:begin name %%` and `%% engram:end name %%`.

    What stands outside of the two lines keeps every character, line ends of either kind included. Where no
    such pair stands, a new one goes to the end; a marker that has lost its partner is a person's text.

    >>> between("Mine.\n", "list", "- ours")
    'Mine.\n\n%% engram:begin list %%\n- ours\n%% engram:end list %%\n'
    """
    first, last = (f"%% engram:{edge} {name} %%" for edge in ("begin", "end"))
    marker = re.compile(rf"^(?:{re.escape(first)}|{re.escape(last)})(?=[ \t]*\r?$)", re.MULTILINE)
    pairs = pairwise(marker.finditer(body))
    inner = f"{text}\n" if (text := new.strip("\n")) else ""
    for begin, end in pairs:
        if (begin[0], end[0]) == (first, last):
            start = body.index("\n", begin.end()) + 1
            sign = "\r\n" if body[start - 2] == "\r" else "\n"
            return body[:start] + inner.replace("\n", sign) + body[end.start() :]
    sign = "\r\n" if "\r\n" in body else "\n"
    gap = "" if not body or body.endswith(sign * 2) else "\n" if body.endswith("\n") else "\n\n"
    return body + f"{gap}{first}\n{inner}{last}\n".replace("\n", sign)


def blocks(body: str) -> dict[str, str]:
    """What stands between the markers in `body`, by their names."""
    return {found["name"]: found["text"] for found in reversed([*_BLOCK.finditer(body)])}


def outside(body: str, name: str = "") -> str:
    """`body` without its blocks and their markers, or without those of one name."""
    return _BLOCK.sub(lambda found: "" if name in {"", found["name"]} else found[0], body)


def _sign(found: re.Match[str]) -> str:
    if found[1]:
        return found[1]
    code = int(found[2])
    return chr(code) if code < 0xD800 or 0xE000 <= code < 0x110000 else found[0]
