"""Escape foreign text for Markdown, and read and replace generated blocks."""

from __future__ import annotations

import re
from itertools import pairwise

# A code fence at the start of a line. These languages only affect colours; a plugin
# might run the content of any other.
_FENCE = re.compile(
    r"(`{3,}+|~{3,}+)((?:asm|bash|c|clojure|cmake|console|cpp|cs|csharp|css|csv|dart|diff|dockerfile|elixir|elm"
    r"|erlang|fish|go|graphql|groovy|haskell|hcl|html|http|ini|java|javascript|js|json|json5|jsonc|jsonl|jsx"
    r"|julia|kotlin|latex|less|log|lua|make|makefile|markdown|matlab|md|nginx|nix|objc|ocaml|pascal|perl|php"
    r"|plaintext|powershell|proto|py|python|r|rb|rs|ruby|rust|scala|scss|sh|shell|sql|svelte|swift|tex|text"
    r"|toml|ts|tsx|txt|typescript|vb|vim|vue|xml|yaml|yml|zig|zsh)?)[ \t]*",
    re.IGNORECASE,
)

# In any line: a Templater tag, a conflict marker, an embed, an inline query, a fence
# within a line or of an unknown language, code that a plugin takes for a button or an
# input field, engram's own History heading, and text that looks like one of its
# character references.
_ANYWHERE = (
    r"&(?=(?:amp|lt|#(?:33|35|37|58|91|93|94|96|126));)|<(?=%|<{6})|!(?=\[\[)"
    r"|`(?=\s*(?:[$!]?=|[A-Z]+\[|button-))"
    r"|(?<!`)`(?=``)|(?<!~)~(?=~~)|^#(?=# History\s*$)"
)
_IN_CODE = re.compile(_ANYWHERE)
# Outside of code also HTML, remote images, links, links to a program instead of a page,
# comments, and a block id at the end of a line.
_IN_TEXT = re.compile(
    _ANYWHERE
    + r"|<(?=[A-Za-z/!?])|!(?=\[)|\[(?=\[)|%(?=%)|(?:(?<=\s)|^)\^(?=[A-Za-z0-9-]+\s*$)"
    r"|\](?=(?:\(|:)\s*<?(?!https?:|mailto:)[A-Za-z][A-Za-z0-9+.-]*:)"
    r"|(?<!http)(?<!https):(?=//)"
)
_REFERENCES = {
    "&": "&amp;",
    "<": "&lt;",
    "!": "&#33;",
    "#": "&#35;",
    "%": "&#37;",
    ":": "&#58;",
    "[": "&#91;",
    "]": "&#93;",
    "^": "&#94;",
    "`": "&#96;",
    "~": "&#126;",
}
_SIGNS = {reference: sign for sign, reference in _REFERENCES.items()}
_REFERENCE = re.compile("|".join(_SIGNS))
_SURROGATE = re.compile("[\ud800-\udfff]")


def plain_text(text: str) -> str:
    """Return `text` in the form in which a Markdown file stores it.

    All line ends become one kind; NUL and lone surrogates become U+FFFD.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    return _SURROGATE.sub("\ufffd", text)


def escape(text: str) -> str:
    """Return `text` as Markdown without any active syntax.

    No plugin, template or browser acts on the result. Character references replace the
    active characters: HTML, `<%`, embeds, links and images, inline queries, fences of
    unknown languages, comments, block ids. `unescape` reverses exactly this.

    >>> escape("see <script> and ![[secret]]")
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
            lines.append(
                (_IN_CODE if code else _IN_TEXT).sub(
                    lambda found: _REFERENCES[found[0]], line
                )
            )
    return "\n".join(lines)


def unescape(markdown: str) -> str:
    """Return the original text: `unescape(escape(text)) == text`."""
    return (
        _REFERENCE.sub(lambda found: _SIGNS[found[0]], markdown)
        if "&" in markdown
        else markdown
    )


def replace_block(body: str, name: str, new: str) -> str:
    r"""Return `body` with `new` as the content of the generated block `name`.

    A block is the text between the lines `%% engram:begin name %%` and `%% engram:end
    name %%`. All text outside keeps every character, line ends of either kind included.
    Without such a block a new one is appended; a marker without its partner is the
    user's text.

    >>> replace_block("Mine.\n", "list", "- ours")
    'Mine.\n\n%% engram:begin list %%\n- ours\n%% engram:end list %%\n'
    """
    first, last = _markers(name)
    inner = f"{text}\n" if (text := new.strip("\n")) else ""
    if found := _pair(body, name):
        start, end = found
        sign = "\r\n" if body[start - 2] == "\r" else "\n"
        return body[:start] + inner.replace("\n", sign) + body[end:]
    sign = "\r\n" if "\r\n" in body else "\n"
    gap = (
        ""
        if not body or body.endswith(sign * 2)
        else "\n"
        if body.endswith("\n")
        else "\n\n"
    )
    return body + f"{gap}{first}\n{inner}{last}\n".replace("\n", sign)


def read_block(body: str, name: str) -> str | None:
    r"""Return the content of the generated block `name`, or None (`replace_block`).

    >>> read_block("%% engram:begin list %%\n- ours\n%% engram:end list %%\n", "list")
    '- ours'
    """
    found = _pair(body, name)
    return body[slice(*found)].strip("\r\n") if found else None


def _markers(name: str) -> tuple[str, str]:
    return f"%% engram:begin {name} %%", f"%% engram:end {name} %%"


def _pair(body: str, name: str) -> tuple[int, int] | None:
    """Return the start and the end of the content of the generated block `name`."""
    lines = _markers(name)
    marker = re.compile(
        rf"^(?:{re.escape(lines[0])}|{re.escape(lines[1])})(?=[ \t]*\r?$)", re.MULTILINE
    )
    for begin, end in pairwise(marker.finditer(body)):
        if (begin[0], end[0]) == lines:
            return body.index("\n", begin.end()) + 1, end.start()
    return None
