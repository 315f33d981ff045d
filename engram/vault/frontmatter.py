"""Parse and write Markdown with front matter. The only module that knows YAML.

The parser is tolerant: any bytes give a `Note`, faults are `Problem`s with a line.
Writing patches lines: parts that the caller does not name keep every byte (row X3).
`docs/format.md` is normative.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml
from frontmatter.default_handlers import BaseHandler

from engram.core.markdown import plain_text
from engram.core.policy import FilePolicy
from engram.core.records import Problem
from engram.errors import ConflictError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(
    r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
)

# Plain words with another type in YAML 1.1 (NO, 12:30, 01234, 0x1f, 1_000).
_MISREAD = re.compile(
    r"y|n|yes|no|on|off|0[box][0-9a-f_]+|[0-9][0-9_,.:]*(?:e[-+]?[0-9]+)?",
    re.IGNORECASE,
)
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}


def parse_scalar(text: str) -> str | float | bool | None:
    """Return the value of a plain scalar in the YAML 1.2 core schema.

    Long numbers are text.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    if _NUMBER.fullmatch(text) is None:
        return text
    if _INT.fullmatch(text):
        return int(text)
    if not text.lstrip("+-").isdigit() and math.isfinite(number := float(text)):
        return number
    return text


def key_lines(name: str, value: object) -> list[str]:
    """Return the lines of one key; TypeError for a nested value."""
    if isinstance(value, list | tuple):
        return (
            [f"{name}:", *(f"  - {format_scalar(item)}" for item in value)]
            if value
            else [f"{name}: []"]
        )
    return [f"{name}: {format_scalar(value)}"]


def format_scalar(value: object) -> str:
    """Return a value on one line, numbers with at most two decimals.

    Raises TypeError for anything but text, number, bool.
    """
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return f"{value:.2f}".rstrip("0").rstrip(".")
        case str():
            return quote_scalar(value)
    message = f"a note cannot hold {type(value).__name__} here"
    raise TypeError(message)


def quote_scalar(text: str) -> str:
    """Return `text` as a scalar, quoted if a YAML parser may give it another type."""
    plain = text[:1].isalnum() and text.isprintable() and not text.endswith((":", " "))
    if (
        plain
        and ": " not in text
        and " #" not in text
        and parse_scalar(text) is text
        and not _MISREAD.fullmatch(text)
    ):
        return text
    return _quoted(text)


def quote_key(text: str) -> str:
    """Return `text` as a key, quoted unless every YAML parser gives it as this text.

    A key that begins with a digit may be a number, a date or a time to a parser.
    """
    return quote_scalar(text) if text[:1].isalpha() else _quoted(text)


def _quoted(text: str) -> str:
    return '"' + "".join(map(_escaped, text.encode("utf-8", "replace").decode())) + '"'


def _escaped(sign: str) -> str:
    if sign in _ESCAPES or sign.isprintable():
        return _ESCAPES.get(sign, sign)
    code = ord(sign)
    return (
        f"\\x{code:02x}"
        if code < 0x100
        else f"\\u{code:04x}"
        if code < 0x10000
        else f"\\U{code:08x}"
    )


_BOM = "\ufeff"
_LIMITS = FilePolicy()
_LOOSE_FENCE = re.compile(r"---[ \t]+\r?(?:\n|\Z)")
_DASHES = r"[-\u2010-\u2015\u2212]+[ \t]*\r?(?:\n|\Z)"
_END = r"(?:\n|\Z)"
# a key with its value on the line, which may continue below, or with a list or a block
# below
_KEY_LINES = (
    rf"(?:[a-z_][a-z0-9_-]*:(?:[ \t]+[^\s|>][^\n]*{_END}|[ \t]*[|>]?[-+]?[ \t]*\r?{_END}(?:-[ \t][^\n]*{_END})*)"
    rf"(?:[ \t]+[^\s][^\n]*{_END})*)+"
)
_BARE_KEYS = re.compile(rf"\s*(?:{_DASHES})?(?P<keys>{_KEY_LINES})")
_TORN = re.compile(rf"\s*(?:{_DASHES})?(?:{_KEY_LINES})?(?:{_DASHES})?")
_OUR_KEYS = re.compile(
    r"^(id|category|kind|created|status|confidence|importance|about|source|persona|session|started|ended|turns):",
    re.MULTILINE,
)
_MARKERS = tuple(
    re.compile(rf"^{sign}{{7}}(?:[ \t\r].*)?$", re.MULTILINE) for sign in "<=>"
)

# A line in the style of engram and Obsidian: a key, or an item of its list, with one
# plain or quoted word or phrase.
_PLAIN_LINE = re.compile(
    r"^(?:([a-z_]{1,64}):|  -)"
    r'(?: (?:([A-Za-z0-9][\w.,/-]*(?:(?::(?=\d)| (?=\w))[\w.,/-]*)*)|("[ !#-\[\]-~\w]*")))?\n',
    re.MULTILINE,
)

NOT_UTF_8 = "not-utf-8"
TORN = frozenset({"fence", "no-fence", "no-fence-end"})
"""Problems of a front matter without its two fences."""
UNREADABLE_KEYS = TORN | {
    "alias", "bad-yaml", "document", "duplicate-key", "no-keys", "tag", "too-deep", "too-long",
}  # fmt: skip
"""Problems for which no key of a front matter is used."""

_REFUSED: dict[type[yaml.Token], tuple[str, str]] = {
    **dict.fromkeys(
        (yaml.AliasToken, yaml.AnchorToken),
        ("alias", "aliases and anchors are not read"),
    ),
    **dict.fromkeys((yaml.TagToken,), ("tag", "YAML tags are not read")),
    **dict.fromkeys(
        (yaml.DirectiveToken, yaml.DocumentStartToken, yaml.DocumentEndToken),
        ("document", "the front matter is one plain YAML document"),
    ),
}
_OPENING = (
    yaml.BlockMappingStartToken,
    yaml.BlockSequenceStartToken,
    yaml.FlowMappingStartToken,
    yaml.FlowSequenceStartToken,
)
_CLOSING = (yaml.BlockEndToken, yaml.FlowMappingEndToken, yaml.FlowSequenceEndToken)


@dataclass(frozen=True, slots=True)
class Note:
    """A note parsed from its bytes.

    `body` is the text after the front matter, with LF line ends. `front` is the front
    matter as in the file, None if there is none. `newline` and `bom` are those of the
    file. With a problem `keys` is empty, because such a file is neither used nor
    changed, and `body` is the text as far as it can be separated: bytes that are not
    UTF-8 are U+FFFD, and a binary file has ''.
    """

    keys: Mapping[str, object] = field(default_factory=dict)
    body: str = ""
    problems: tuple[Problem, ...] = ()
    newline: str = "\n"
    bom: bool = False
    front: str | None = None

    @property
    def body_line(self) -> int:
        """The number of the body's first line in the file."""
        return 1 if self.front is None else 3 + self.front.count("\n")

    def line_of(self, key: str) -> int | None:
        """Return the line of a top-level key, None if it cannot be found."""
        match = re.search(
            rf"""^["']?{re.escape(key)}["']?[ \t]*:""", self.front or "", re.MULTILINE
        )
        return None if match is None else 2 + match.string.count("\n", 0, match.start())


class FrontMatter(BaseHandler):
    """The handler of python-frontmatter for notes: a fence is a line of exactly `---`.

    Scalars are those of the YAML 1.2 core schema: true and false, null, whole and
    decimal numbers; any other value is text, so `NO`, `12:30`, `01234` and dates keep
    the text that the person typed.
    """

    FM_BOUNDARY = re.compile(r"^---(?:\r?\n|\Z)", re.MULTILINE)
    START_DELIMITER = END_DELIMITER = "---"

    def __init__(self, policy: FilePolicy = _LIMITS) -> None:
        super().__init__()
        self.policy = policy

    def load(self, fm: str) -> dict[str, Any]:
        """Return the keys of `fm`; raises `_FlawError` for invalid values."""
        if (keys := _plain_keys(fm, self.policy)) is not None:
            return keys
        _guard(fm, self.policy)
        tree = _compose(fm)
        return {} if tree is None else _mapping(fm, tree)


class _FlawError(Exception):
    """A fault found while parsing; `read` turns it into a `Problem`."""

    def __init__(self, code: str, message: str, line: int | None = 1) -> None:
        super().__init__(message)
        self.problem = Problem(code, message, line=line)


class _Loader(yaml.CSafeLoader):
    """libyaml without detection of types: scalars are text."""

    yaml_implicit_resolvers = {}  # noqa: RUF012


def read(raw: bytes, policy: FilePolicy = _LIMITS, *, ours: bool = True) -> Note:
    """Return the note in `raw` (row X3); it never raises and takes bounded time.

    In a note that is not `ours`, keys at the top without a fence are a person's text;
    in a note of engram they are a problem.
    """
    problems: tuple[Problem, ...] = ()
    try:
        text = _text(raw, policy)
    except _FlawError as flaw:
        problems = (flaw.problem,)
        if flaw.problem.code != NOT_UTF_8:
            return Note(problems=problems)
        text = raw.decode("utf-8", "replace")
    bom = text.startswith(_BOM)
    text = text.removeprefix(_BOM)
    newline = "\r\n" if text[: text.find("\n") + 1].endswith("\r\n") else "\n"
    front, body = None, text
    keys: Mapping[str, object] = {}
    handler = FrontMatter(policy)
    try:
        front, body = _split(text, handler, ours=ours)
        _refuse_conflict(text)
        keys = {} if problems else handler.load(front or "")
    except _FlawError as flaw:
        problems = problems or (flaw.problem,)
        if flaw.problem.code in TORN:
            body = text[match.end() :] if (match := _TORN.match(text)) else text
    return Note(keys, body.replace("\r\n", "\n"), problems, newline, bom, front)


def edit(
    raw: bytes,
    keys: Mapping[str, object],
    body: str | None = None,
    policy: FilePolicy = _LIMITS,
) -> bytes:
    """Return `raw` with these keys set and, if given, this body (row X3).

    A value of None deletes a key. Only the lines of keys whose value changes are
    replaced, new keys are added after the last one; every other byte stays. Raises
    ConflictError if the note has a problem or a form that lines cannot patch.
    """
    note = read(raw, policy)
    if note.problems:
        first = note.problems[0]
        raise ConflictError(
            first.message,
            where=f"line {first.line}",
            fix="engram did not change the note. Correct this line, then save the note.",
        )
    changed = _changes(note.keys, keys)
    wanted = note.body if body is None else body.replace("\r\n", "\n")
    if not changed and wanted == note.body:
        return raw
    head, close, tail = _frame(raw.decode("utf-8"), note, bool(changed))
    if wanted != note.body:
        close += note.newline if close.endswith("-") else ""
        tail = wanted.replace("\n", note.newline)
    new = (
        head + _patched(note.front or "", changed, note.newline) + close + tail
    ).encode("utf-8", "replace")
    merged = {**note.keys, **changed}
    expected = {
        key: value
        for key, value in merged.items()
        if key not in changed or value is not None
    }
    _check(new, expected, wanted, policy)
    return new


def _changes(
    present: Mapping[str, object], keys: Mapping[str, object]
) -> dict[str, object]:
    """Return those of `keys` that change a note with the keys `present`.

    A value of None deletes a key.
    """
    changed = {
        key: value
        for key, value in keys.items()
        if value is not None and not _has_value(present, key, value)
    }
    deleted = [key for key, value in keys.items() if value is None and key in present]
    return changed | dict.fromkeys(deleted)


def emit(keys: Mapping[str, object], body: str) -> bytes:
    """Return a new note in the style of Obsidian.

    Keys are in the given order, block lists are indented by two spaces. Links and text
    with another meaning in YAML are quoted, numbers have at most two decimals, keys
    with None are left out, and the file ends in exactly one newline.
    """
    lines = [
        line
        for key, value in keys.items()
        if value is not None
        for line in key_lines(quote_key(key), value)
    ]
    text = "\n".join(["---", *lines, "---", plain_text(body).rstrip("\n")]).rstrip("\n")
    return f"{text}\n".encode("utf-8", "replace")


def _text(raw: bytes, policy: FilePolicy) -> str:
    if len(raw) > policy.note_bytes:
        raise _FlawError(
            "too-large", f"the note is larger than {policy.note_bytes} bytes", None
        )
    if (at := raw.find(b"\0")) >= 0:
        raise _FlawError(
            "binary",
            "the file is no text: it holds NUL bytes",
            raw.count(b"\n", 0, at) + 1,
        )
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise _FlawError(
            NOT_UTF_8, "the file is not UTF-8", raw.count(b"\n", 0, fault.start) + 1
        ) from fault


def _refuse_conflict(text: str) -> None:
    """Raise for git's three conflict markers, each on its own line and in order."""
    if "<<<<<<<" not in text:
        return
    at, first = 0, 0
    for marker in _MARKERS:
        match = marker.search(text, at)
        if match is None:
            return
        first, at = first or match.start() + 1, match.end()
    raise _FlawError(
        "conflict",
        "the note holds unresolved conflict markers",
        text.count("\n", 0, first) + 1,
    )


def _split(text: str, handler: FrontMatter, *, ours: bool) -> tuple[str | None, str]:
    """Return front matter, None if there is none, and body."""
    if not handler.detect(text):
        if _LOOSE_FENCE.match(text):
            raise _FlawError("fence", "the first line must be exactly '---'")
        if ours and _keys_without_fence(text):
            raise _FlawError(
                "no-fence", "keys stand at the top, but the first line is not '---'"
            )
        return None, text
    try:
        return handler.split(text)
    except ValueError:
        raise _FlawError(
            "no-fence-end", "the front matter is not closed by a line '---'"
        ) from None


def _keys_without_fence(text: str) -> bool:
    """Return whether a note begins with keys of engram without a fence.

    `persona` alone is enough, or any two; an edit may have removed the fence.
    """
    match = _BARE_KEYS.match(text)
    names = set(_OUR_KEYS.findall(match["keys"])) if match else set()
    return len(names) > 1 or "persona" in names


def _frame(text: str, note: Note, fence: bool) -> tuple[str, str, str]:  # noqa: FBT001
    """Return the text before the keys, the line that closes them, and the rest.

    With `fence` a text without front matter gets two fences.
    """
    if note.front is None:
        bom = _BOM if note.bom else ""
        line = f"---{note.newline}" if fence else ""
        return bom + line, line, text.removeprefix(bom)
    start = text.index("\n") + 1
    close = start + len(note.front)
    end = text.find("\n", close) + 1 or len(text)
    return text[:start], text[close:end], text[end:]


def _plain_keys(fm: str, policy: FilePolicy) -> dict[str, Any] | None:
    """Return the keys of simple front matter, five times as fast as libyaml.

    Every line must be a `_PLAIN_LINE`; None for any other form.
    """
    lines = _plain_lines(fm, policy)
    if lines is None:
        return None
    keys: dict[str, Any] = {}
    key = ""
    for name, word, phrase in lines:
        value: Any = None
        if word:
            value = parse_scalar(word)
        elif phrase:
            value = phrase[1:-1]
        # null as a plain word, or an item without a value
        if value is None and (word or not name):
            return None
        if name and name not in keys:
            keys[key := name] = value
        elif name or not key:
            return None
        elif keys[key] is None:
            keys[key] = [value]
        elif isinstance(keys[key], list):
            keys[key].append(value)
        else:
            return None
    return keys


def _plain_lines(fm: str, policy: FilePolicy) -> list[tuple[str, str, str]] | None:
    """Return key, plain word and quoted phrase of each line, or None.

    The result is far below all limits.
    """
    count = fm.count("\n")
    if (
        3 * count >= policy.nodes
        or policy.nesting < 2
        or len(fm) * 4 > policy.front_matter_bytes
    ):
        return None
    lines = _PLAIN_LINE.findall(fm)
    all_plain = len(lines) == count and fm[-1:] in {"", "\n"}
    return lines if all_plain else None


def _guard(fm: str, policy: FilePolicy) -> None:
    """Raise for front matter beyond the limits, before it is parsed.

    The limits concern size, depth, node count, aliases, tags and several documents.
    libyaml's scanner keeps its state on the heap; its composer recurses and would
    overflow the stack on deep nesting. The tokens are therefore checked first.
    """
    if len(fm.encode()) > policy.front_matter_bytes:
        raise _FlawError(
            "too-long",
            f"the front matter is longer than {policy.front_matter_bytes} bytes",
        )
    depth = nodes = 0
    for token in _tokens(fm):
        kind = type(token)
        if kind is yaml.ScalarToken:
            nodes += 1
        elif kind in _OPENING:
            depth, nodes = depth + 1, nodes + 1
        elif kind in _CLOSING:
            depth -= 1
        elif kind in _REFUSED:
            raise _FlawError(*_REFUSED[kind], _line(fm, token.start_mark))
        if depth > policy.nesting or nodes > policy.nodes:
            raise _FlawError(
                "too-deep", "the front matter is nested too deep or has too many values"
            )


def _tokens(fm: str) -> Iterator[Any]:
    try:
        yield from yaml.scan(fm, Loader=_Loader)
    except yaml.YAMLError as fault:
        raise _bad_yaml(fm, fault) from fault


def _compose(fm: str) -> yaml.MappingNode | None:
    loader = _Loader(fm)
    try:
        tree = loader.get_single_node()
    except yaml.YAMLError as fault:
        raise _bad_yaml(fm, fault) from fault
    finally:
        loader.dispose()
    if tree is None or isinstance(tree, yaml.MappingNode):
        return tree
    raise _FlawError("no-keys", "the front matter must be lines of 'key: value'", 2)


def _bad_yaml(fm: str, fault: yaml.YAMLError) -> _FlawError:
    mark = getattr(fault, "problem_mark", None)
    message = getattr(fault, "problem", None) or getattr(fault, "reason", "")
    return _FlawError(
        "bad-yaml",
        f"the front matter is not valid YAML: {message}",
        _line(fm, mark) if mark else 2,
    )


def _line(fm: str, mark: yaml.Mark) -> int:
    """Return the line number in the file; the front matter starts on line 2."""
    return 2 + fm.count("\n", 0, mark.index)


def _mapping(fm: str, node: yaml.MappingNode) -> dict[str, Any]:
    keys: dict[str, Any] = {}
    for name, value in node.value:
        if not isinstance(name, yaml.ScalarNode):
            raise _FlawError(
                "bad-yaml", "a key must be plain text", _line(fm, name.start_mark)
            )
        if name.value in keys:
            raise _FlawError(
                "duplicate-key",
                f"the key {name.value!r} appears twice",
                _line(fm, name.start_mark),
            )
        keys[name.value] = _value(fm, value)
    return keys


def _value(fm: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return node.value if node.style else parse_scalar(node.value)
    if isinstance(node, yaml.SequenceNode):
        return [_value(fm, item) for item in node.value]
    assert isinstance(node, yaml.MappingNode)
    return _mapping(fm, node)


def _has_value(keys: Mapping[str, object], key: str, value: object) -> bool:
    """Return whether a key already has this value, in any quotation."""
    return key in keys and _canonical(keys[key]) == _canonical(value)


def _canonical(value: object) -> object:
    """Return the value in the form of a new note, for comparison.

    A nested value is equal only to itself.
    """
    try:
        return key_lines("", value)
    except TypeError:
        return value


def _check(
    new: bytes, keys: Mapping[str, object], body: str, policy: FilePolicy
) -> None:
    """Parse the patched bytes; raise ConflictError if they differ from the request."""
    note = read(new, policy)
    same = note.keys.keys() == keys.keys() and all(
        _has_value(note.keys, *pair) for pair in keys.items()
    )
    if note.problems or note.body != body or not same:
        raise ConflictError(
            "the note cannot be patched line by line",
            fix="engram did not change the note. Write its front matter as lines of `key: value`.",
        )


def _patched(front: str, changed: Mapping[str, object], newline: str) -> str:
    """Return the front matter with `changed` applied.

    A chunk is the text from one key up to the next.
    """
    tree = _compose(front)
    pairs = tree.value if tree else []
    if tree and (tree.flow_style or any(key.start_mark.column for key, _ in pairs)):
        raise ConflictError(
            "the front matter is not written as lines of 'key: value'",
            fix="engram did not change the note. Write its front matter as such lines.",
        )
    starts = [key.start_mark.index for key, _ in pairs] + [len(front)]
    chunks = [front[: starts[0]]]
    for (key, node), start, end in zip(pairs, starts, starts[1:], strict=False):
        chunk = front[start:end]
        if key.value in changed:
            chunk = _rewritten(
                _Chunk(chunk, start, key, node), changed[key.value], newline
            )
        chunks.append(chunk)

    known = {key.value for key, _ in pairs}
    for key, value in changed.items():
        if key not in known and value is not None:
            lines = key_lines(quote_key(key), value)
            chunks += [line + newline for line in lines]
    return "".join(chunks)


@dataclass(frozen=True, slots=True)
class _Chunk:
    """One key of the front matter with all its lines; `start` is its offset."""

    text: str
    start: int
    key: yaml.Node
    node: yaml.Node

    @property
    def name(self) -> str:
        """The key in the spelling of the person."""
        return self.text[: self.key.end_mark.index - self.start]

    def value_end(self) -> int:
        """Return the end of the value's last visible character, or of the colon."""
        colon = self.text.index(":", len(self.name)) + 1
        last = _last(self.node)
        if not last:
            return colon
        return max(colon, len(self.text[: last - self.start].rstrip()))

    def lines_end(self) -> int:
        """Return the end of the value's last line, before later blanks and comments."""
        end = at = self.line_end(self.value_end())
        while at < len(self.text):
            line = self.text[at : (at := self.line_end(at))].strip()
            if line and not line.startswith("#"):
                end = at
        return end

    def line_end(self, at: int) -> int:
        """Return the end of the line at the offset `at`, with its newline."""
        return self.text.find("\n", at) + 1 or len(self.text)


def _last(node: yaml.Node) -> int:
    """Return the end of the last written scalar or bracket of `node`, 0 for none."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style:
        parts = [
            part
            for item in node.value
            for part in (item if isinstance(item, tuple) else (item,))
        ]
        return max(map(_last, parts), default=0)
    return node.end_mark.index if node.end_mark.index > node.start_mark.index else 0


def _rewritten(chunk: _Chunk, value: object, newline: str) -> str:
    """Return the chunk with a new value.

    The person's key, end-of-line comment and following lines stay.
    """
    end = chunk.lines_end()
    tail = chunk.text[end:]
    if value is None:
        return tail
    if (
        isinstance(value, list | tuple)
        and value
        and (item_list := _list_items(chunk, end))
    ):
        head, indent, items = item_list
        lines = [
            _item_source(items, item) or f"{indent}- {format_scalar(item)}{newline}"
            for item in value
        ]
        return head + "".join(lines) + tail
    behind = chunk.text[chunk.value_end() : chunk.line_end(chunk.value_end())].rstrip(
        "\r\n"
    )
    first, *rest = key_lines(chunk.name, value)
    return (
        newline.join(
            [first + (behind if behind.lstrip().startswith("#") else ""), *rest]
        )
        + newline
        + tail
    )


def _list_items(
    chunk: _Chunk, end: int
) -> tuple[str, str, list[tuple[str, str]]] | None:
    """Return a block list of scalars as its first line, its indent and its items.

    An item is (canonical value, source lines); comment lines above an item belong to
    it. None if the old value is anything else.
    """
    node = chunk.node
    if not isinstance(node, yaml.SequenceNode) or node.flow_style or not node.value:
        return None
    if not all(
        isinstance(item, yaml.ScalarNode) and _last(item) for item in node.value
    ):
        return None
    at = len(head := chunk.text[: chunk.line_end(0)])
    items = []
    for item in node.value:
        upto = min(
            end, chunk.line_end(len(chunk.text[: _last(item) - chunk.start].rstrip()))
        )
        value = item.value if item.style else parse_scalar(item.value)
        items.append(
            (format_scalar("" if value is None else value), chunk.text[at:upto])
        )
        at = upto
    first = chunk.text[: node.value[0].start_mark.index - chunk.start]
    return head, first[first.rfind("\n") + 1 :].partition("-")[0], items


def _item_source(items: list[tuple[str, str]], value: object) -> str:
    """Remove the item with `value` and return its source lines; '' if none is left."""
    scalar = format_scalar(value)
    for n, (form, source) in enumerate(items):
        if form == scalar:
            del items[n]
            return source
    return ""
