"""The word lists and patterns of each language, read from `data/<code>.toml`.

Each language is one file with the same sections; unused sections are left out. The
files are read once, on first use of a section. Values are text: words separated by
blanks, phrases by commas, entries by line breaks; the lines of a pattern are joined, so
a pattern may be broken before any `|`.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache, cached_property, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import re2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from importlib.resources.abc import Traversable

Row = TypeVar("Row")
_NO_MATCH = re.compile("(?!)")
# A table shares one automaton; with the matcher's default of 8 MiB it would often start
# over.
_MEMORY = 64 << 20

_SECTIONS: Mapping[str, str] = {
    "": "name rank letters unspaced",
    "words": """
        stop ambiguous first_person possessive relating never_names relatives
        contractions irregular other_forms prefixes endings
    """,
    "dates": """
        flags weekdays weekday_endings months seasons numbers ordinal_words days holidays
        parts_of_a_day_by_offset parts_of_the_day units units_by_offset
        last_or_next nearest before_last_or_after_next this weekend ago_before ago_after from_now
        from range_to beside within since since_after starting until until_after
        by by_after by_the_end_of until_the_end_of on toward at every copula glue
        not_dates kinds_of_weekday clock ordinals unreal
    """,
    "tense": """
        past past_forms not_past not_evidence reported future present
        present_forms undirected duty rescheduled conjunctions annual
    """,
    "synonyms": "*",
    "keep_requests": "asked openings before after reminds joins anywhere and_that",
    "standing": "*",
    "rules": """
        verb written ended adverbs times news additions limits long_ago first_person
        possessive user no_subject no_value articles after_value joins asking rows asks
        asks_past told kin speaker not_names greeting name_asked further
        fillers titles
    """,
    "rules.groups": "*",
    "rules.patterns": "*",
    "signals.high": "*",
    "signals.medium": "*",
    "signals": "",
    "injection": "*",
    "planted": "instructions",
    "equal_statements": "leads first second third subjects",
    "topics": """
        weak user user_nouns others not_names negations
    """,
    "topics.frames": "*",
    "similarity": """
        emphasis own_articles negations negation_phrases negation_signs numerals
        function_signs
    """,
    "sentences": """
        abbreviations numbered_abbreviations numbered_ends short_months clause_subject conjunction
        comma_splice clause_boundary joining double_subject not_asserted doubt
        mockery unfinished before_wish wish question_at_end question_start takes_back
        interjection no not_after_no afterthought not_in_earnest promised task first_person
    """,
    "sentences.third_person": "*",
    "sentences.third_person_verbs": "*",
    "promises": """
        past participle subjects aux be speaker completes settles elides cancels moves written dropped done
        lead refused against join event obliges attends occurs cut adverbs own others alike
        causes verb_last agenda ahead duty due
    """,
    "questions": "several past begins courtesies",
    "role_play": "role opens closes",
    "wishes": "prefix stated asked passing",
    "privacy": "joins cues before asks announces filler",
    "retraction": "cue around please ask joke untrue that forget",
    "quotations": "forwarded first_header header subject wrote passes_on works_on speech labels",
}
"""The keys that a section may have; `*` matches any key."""

_LATIN = "A-Za-zÀ-ɏ"
"""The default script of a language."""


class LanguageDataError(ValueError):
    """A fault in a language file, with the name of the file and the key."""


@cache
def language_files() -> Mapping[str, Mapping[str, Any]]:
    """Return the sections of each language, `{code: {section: {key: value}}}`, by rank.

    If two languages can parse a text, the one with the lower rank wins. Raises
    LanguageDataError if a file is no TOML or has an unknown section, key or kind of
    value.
    """
    folder = resources.files(__package__).joinpath("data")
    ranked = sorted(read_file(file) for file in folder.iterdir())
    return {code: sections for _, code, sections in ranked}


def read_file(file: Traversable) -> tuple[int, str, Mapping[str, Any]]:
    """Return the rank, the code and the sections of one language file."""
    try:
        content = tomllib.loads(file.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise LanguageDataError(f"{file.name}: {error}") from error

    tables = {key: value for key, value in content.items() if isinstance(value, dict)}
    if not isinstance(content.get("rank"), int):
        raise LanguageDataError(f"{file.name}: needs a rank")

    about = {key: value for key, value in content.items() if key not in tables}
    sections = {"": about, **dict(_flat(tables))}
    for section, values in sections.items():
        _check(file.name, section, values)
    return content["rank"], file.name.removesuffix(".toml"), sections


def _flat(
    tables: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each table with its dotted name, and its values without nested tables."""
    for key, table in tables.items():
        inner = {name: value for name, value in table.items() if _is_table(value)}
        yield prefix + key, {k: v for k, v in table.items() if k not in inner}
        yield from _flat(inner, f"{prefix}{key}.")


def _is_table(value: object) -> bool:
    return isinstance(value, dict)


def _check(name: str, section: str, values: Mapping[str, Any]) -> None:
    if section not in _SECTIONS:
        raise LanguageDataError(f"{name}: unknown section [{section}]")

    keys = _SECTIONS[section].split()
    for key, value in values.items():
        if key not in keys and "*" not in keys:
            raise LanguageDataError(f"{name}: unknown key {key!r} in [{section}]")
        if not isinstance(value, str | int) or not value:
            raise LanguageDataError(
                f"{name}: [{section}] {key} is neither text nor true"
            )


@cache
def section(name: str) -> dict[str, Mapping[str, Any]]:
    """Return a section by language code, for the languages that have it, by rank."""
    found = {code: sections.get(name) for code, sections in language_files().items()}
    return {code: values for code, values in found.items() if values}


@cache
def unspaced() -> frozenset[str]:
    """Return the languages whose script has no blank between words."""
    return frozenset(texts("", "unspaced"))


def written_in(text: str) -> frozenset[str]:
    """Return the languages with the script of `text`; others cannot match it.

    >>> sorted(written_in("Привет"))
    ['ru']
    """
    return frozenset(code for code, letter in _letters() if letter.search(text))


@cache
def _letters() -> tuple[tuple[str, re.Pattern[str]], ...]:
    own = texts("", "letters")
    return tuple(
        (code, re.compile(f"[{own.get(code, _LATIN)}]")) for code in language_files()
    )


@cache
def texts(name: str, key: str) -> dict[str, str]:
    """Return the value of a key by language code, for the languages that have it."""
    found = section(name).items()
    return {code: values[key] for code, values in found if key in values}


def keys(name: str) -> list[str]:
    """Return the keys of a section in all languages, in the order of the files."""
    found = section(name).values()
    return list(dict.fromkeys(key for values in found for key in values))


def all_words(name: str, key: str) -> frozenset[str]:
    """Return the words of a key, in all languages together."""
    return frozenset(" ".join(texts(name, key).values()).split())


def all_pairs(name: str, key: str) -> dict[str, str]:
    """Return the entries `word=meaning` of a key, in all languages together."""
    listed = " ".join(texts(name, key).values()).split()
    return dict(entry.split("=", 1) for entry in listed)


def phrases(text: str) -> list[str]:
    """Return the phrases of a value, separated by commas; a line break is a blank."""
    return [phrase.strip() for phrase in text.replace("\n", " ").split(",")]


def entries(text: str) -> list[str]:
    """Return the entries of a value, one a line."""
    return text.strip().splitlines()


def replacements(text: str) -> list[tuple[str, str]]:
    """Return the entries `pattern = replacement` of a value, one a line."""
    pairs = ((entry + " ").partition(" = ") for entry in entries(text))
    return [(before, after[:-1]) for before, _, after in pairs]


def pattern(text: str) -> str:
    """Return the regular expression of a value, its lines joined."""
    return text.strip().replace("\n", "")


def any_pattern(name: str, key: str) -> str:
    """Return the regular expressions of a key in all languages as one alternation."""
    return "|".join(map(pattern, texts(name, key).values()))


class LazyPattern:
    """A regular expression that is compiled for the first text that has its words.

    The language files and the modules have thousands of them, and one text needs few.
    The methods are those of `re.Pattern`.
    """

    def __init__(self, pattern: str, flags: re.RegexFlag = re.NOFLAG) -> None:
        self.pattern = pattern
        self.flags = flags

    @property
    def needs(self) -> tuple[frozenset[str], ...]:
        """The `needed_words` of the pattern."""
        return needed_words(self.pattern)

    def _for(self, text: str, *span: int) -> re.Pattern[str]:
        """Return the expression, or one without a match if `text` lacks its words.

        With a `span` it is compiled at once: to look through the whole text for the
        words at each of its places would take quadratic time. Once it is compiled, its
        own methods take the place of those below.
        """
        has = _folded(text).__contains__
        if not span and not all(any(map(has, one)) for one in self.needs):
            return _NO_MATCH
        compiled = re.compile(self.pattern, self.flags)
        vars(self).update((name, getattr(compiled, name)) for name in _METHODS)
        return compiled

    def search(self, text: str, *span: int) -> re.Match[str] | None:
        """Search `text` as `re.Pattern.search` does."""
        return self._for(text, *span).search(text, *span)

    def match(self, text: str, *span: int) -> re.Match[str] | None:
        """Match `text` as `re.Pattern.match` does."""
        return self._for(text, *span).match(text, *span)

    def fullmatch(self, text: str, *span: int) -> re.Match[str] | None:
        """Match `text` as `re.Pattern.fullmatch` does."""
        return self._for(text, *span).fullmatch(text, *span)

    def finditer(self, text: str, *span: int) -> Iterator[re.Match[str]]:
        """Return an iterator as `re.Pattern.finditer` does."""
        return self._for(text, *span).finditer(text, *span)

    def findall(self, text: str, *span: int) -> list[Any]:
        """Return all matches as `re.Pattern.findall` does."""
        return self._for(text, *span).findall(text, *span)

    def split(self, text: str, maxsplit: int = 0) -> list[str | Any]:
        """Split `text` as `re.Pattern.split` does."""
        return self._for(text).split(text, maxsplit)

    def sub(
        self, new: str | Callable[[re.Match[str]], str], text: str, count: int = 0
    ) -> str:
        """Replace matches as `re.Pattern.sub` does."""
        expression = self._for(text)
        return text if expression is _NO_MATCH else expression.sub(new, text, count)


_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub")


class Screen(Generic[Row]):
    """Rows with a pattern each, found by the words that their patterns need.

    Most rows match no text without a certain word; such a row need not be tried, and
    its pattern need not be compiled. One linear pass finds the words of all rows.
    """

    def __init__(self, rows: Iterable[tuple[Row, LazyPattern]]) -> None:
        self.of = lru_cache(maxsize=1 << 8)(self._of)
        self._rows = list(rows)

    def found(self, text: str) -> Iterator[Row]:
        """Yield the rows whose pattern is found in `text`, in their order."""
        return (row for row, pattern in self.of(text) if pattern.search(text))

    def _of(self, text: str) -> list[tuple[Row, LazyPattern]]:
        """Return the rows that may match `text` or a part of it, in their order."""
        words, rows = self._needs
        found = set(words.Match(_folded(text).encode("utf-8", "replace")) or ())
        return [row for row, needs in rows if needs <= found]

    @cached_property
    def _needs(self) -> tuple[Any, list[tuple[tuple[Row, LazyPattern], set[int]]]]:
        """An automaton of the words, and the rows with the numbers of theirs."""
        places: dict[frozenset[str], int] = {}
        rows = [
            (row, {places.setdefault(one, len(places)) for one in row[1].needs})
            for row in self._rows
        ]
        words = ("|".join(map(re2.escape, sorted(one))) for one in places)
        return compiled(tuple(words), ignore_case=False), rows


class Rewriting:
    """Replacements that are made one after the other, each only where it may match."""

    def __init__(self, rows: Iterable[tuple[LazyPattern, str]]) -> None:
        self._screen = Screen(
            ((place, after), pattern) for place, (pattern, after) in enumerate(rows)
        )

    def apply(self, text: str) -> str:
        """Return `text` with all replacements."""
        done = -1
        while rows := [row for row in self._screen.of(text) if row[0][0] > done]:
            (done, after), pattern = rows[0]
            text = pattern.sub(after, text)
        return text


@cache
def compiled(patterns: tuple[str, ...], *, ignore_case: bool = True) -> Any:
    """Return one automaton of all patterns, in RE2's syntax; threads may share it.

    `Match(bytes)` returns the indices of the patterns that match anywhere. The
    automaton is built once in a process, since that takes milliseconds.
    """
    automaton = re2.Set.SearchSet(options(ignore_case=ignore_case))
    for pattern in patterns:
        automaton.Add(pattern)
    automaton.Compile()
    return automaton


def options(*, ignore_case: bool = True) -> re2.Options:
    """Return the options of an automaton."""
    chosen = re2.Options()
    chosen.case_sensitive = not ignore_case
    chosen.log_errors = False
    chosen.max_mem = _MEMORY
    return chosen


@cache
def needed_words(pattern: str) -> tuple[frozenset[str], ...]:
    """Return sets of folded words; a text that matches `pattern` has one of each.

    >>> [sorted(one) for one in needed_words(r"(?:am |is )?(?:wed|engaged) to (.+)")]
    [['engaged', 'wed'], [' to ']]
    """
    assert "(?i)" not in pattern, "flags are given apart"
    branches = _branches(iter(_PART.findall(pattern)))
    needs = branches[0] if len(branches) == 1 else [_any(branches)]
    return tuple(filter(None, needs))


_PART = re.compile(
    r"[\w' ]+(?![?*{])|\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)|\[\^?\]?(?:\\.|[^\]\\])*\]"
    r"|\((?:\?(?:P<\w+>|P=|[a-z-]*:|<?[=!]))?|[?*+]\??|\{\d*,?\d*\}\??|.",
    re.DOTALL,
)
_OPTIONAL = re.compile(r"[?*]|\{0?,")
_LITERAL = re.compile(r"[\w' ]+|\\[^\w]|[^\\.^$\[(+{]")


def _branches(parts: Iterator[str]) -> list[list[frozenset[str]]]:
    """Return what each alternative needs, up to the end of its group."""
    branches: list[list[frozenset[str]]] = []
    items: list[str | frozenset[str]] = []
    for part in parts:
        if part == ")":
            break
        if part == "|":
            branches.append(_needs(items))
            items = []
        elif _OPTIONAL.match(part):
            items[-1:] = [frozenset()]
        elif part[0] == "(":
            needs = _any(_branches(parts))
            items.append(frozenset() if part.endswith(("=", "!")) else needs)
        elif _LITERAL.fullmatch(part):
            items.append(_folded(part.removeprefix("\\")))
        else:
            items.append(frozenset())
    return [*branches, _needs(items)]


def _needs(items: Iterable[str | frozenset[str]]) -> list[frozenset[str]]:
    """Return what a sequence of letters and groups needs."""
    found: list[frozenset[str]] = []
    letters = ""
    for item in (*items, frozenset[str]()):
        if isinstance(item, str):
            letters += item
            continue
        found += filter(None, (frozenset({letters} - {""}), item))
        letters = ""
    return found


def _any(branches: Sequence[list[frozenset[str]]]) -> frozenset[str]:
    """Return the words of which one is needed by each of these alternatives."""
    if not all(branches):
        return frozenset()
    best = (max(needs, key=lambda one: min(map(len, one))) for needs in branches)
    return frozenset[str]().union(*best)


@lru_cache(maxsize=1 << 5)
def _folded(text: str) -> str:
    return text.casefold().replace("ı", "i")
