"""What a text says of a subject: attribute and value, by one rule table (A7, E5, X31).

Section `[rules]` of the language files has one row a general form of a sentence, such
as `home = {s} live~ in {v}`. `states` returns what the clauses of a text give, change,
end or plan, in the first or the third person; `state_asked_for` returns what a question
asks for. A clause gives its whole statement or none, so a lone word ends nothing.
English and German have rules; in other languages a model gives attribute and value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property, lru_cache
from itertools import dropwhile
from typing import TYPE_CHECKING

from engram.core.attributes import Attribute, attribute
from engram.core.language import languages
from engram.core.language.dates import (
    Span,
    has_time_expression,
    spans,
    without_written_dates,
)
from engram.core.language.languages import LazyPattern, Rewriting, Screen
from engram.core.language.sentences import (
    clauses,
    is_doubtful,
    plain,
    refusal,
    sentences,
    third_person_clause,
)
from engram.core.language.topics import is_denied
from engram.core.language.words import VERB_FORMS, stop_words_by_language
from engram.core.language.words import words as words_of
from engram.core.text import normalise

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

USER = "user"
"""The first word of a subject that is the user or belongs to the user."""

KEY = "rules"
DATE = "§"
"""The placeholder of a date in a clause."""

_MOST_CHARS = 600
_MOST_WORDS = 6


@dataclass(frozen=True, slots=True)
class State:
    """One statement: its `subject`, its `attribute` and its `value`.

    `subject` is ("user",) for the user, ("user", "dog") for the user's dog, ("eva",)
    for Eva; `value` are folded words, () for an end without a value, and `written` is
    the value as it was written. `over` is true if the words end the state, `change` if
    they report it as new ("moved", "now"), `addition` if another value may go on beside
    it, `planned` if it begins on a later day, `listed` if it names several values, and
    `elided` if the words leave the subject out. `needs` is `ahead` or `past` if they
    say it only with such a day, `name` if they do so only as an introduction. `dated`
    are the words that may date a change. `start` and `end` are the span of the clause
    in the text.
    """

    language: str
    subject: tuple[str, ...]
    attribute: str
    value: tuple[str, ...]
    over: bool = False
    change: bool = False
    addition: bool = False
    planned: bool = False
    listed: bool = False
    elided: bool = False
    needs: str = ""
    dated: str = ""
    written: str = ""
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class _StateRow:
    """A row of the table: attributes, effect and patterns of a clause.

    The effect is `=` if it holds, `+` if it is new, `-` if it is over, `>` and `>-` if
    it begins or ends on a later day. A row without a subject is about the user.
    `loose` matches text without capitals too.
    """

    attributes: tuple[str, ...]
    effect: str
    needs: str
    is_mine: bool
    pattern: LazyPattern
    loose: LazyPattern


# -- the table -------------------------------------------------------------------------

_WORDS = r"\S+?(?: \S+?)*?"
_HOLES = {
    "s": r"\S+(?: \S+){0,5}?",
    "owner": r"\S+",
    "n": r"\d{1,2}|1[01]\d",
    "f": r"[$€£]?\d.*?",
    "k": r"\w.{0,29}?",
}
_HOLE = re.compile(r"\{(\w+?)(\d?)\}")
_GROUPED = re.compile(r"<(\w+)>")
_CAPITAL = r"(?-i:(?=[^\W\d_a-zß-öø-ÿ]))"


class Grammar:
    """The rules of one language, compiled on first use."""

    def __init__(self, code: str) -> None:
        section = languages.section(KEY)[code]

        def words(key: str) -> frozenset[str]:
            return frozenset(section[key].split())

        self.code = code
        self._groups = dict(languages.section(f"{KEY}.groups")[code])
        self._groups["PAST"] = "|".join(sorted(VERB_FORMS[code])) or "(?!)"
        self._verb = section["verb"]
        numerals = languages.phrases(languages.section("similarity")[code]["numerals"])
        ages = (
            rf"({_CAPITAL}\S+ ist?) {word}(?= years\b| jahre\b|$) = \1 {digits}"
            for word, _, digits in (one.partition(" = ") for one in numerals)
        )
        self.in_usual_form = self._rewriting(section["written"] + "\n".join(ages))
        leads = languages.section("equal_statements")[code]["leads"]
        lead = _phrases(leads, r"^(?:(?:{})[ ,.:!]+)+")
        self.without_lead = Rewriting([(lead, "")]).apply
        self.adverbs = _phrases(section["adverbs"])
        times = _phrases(section["times"], r"(?<=\w )(?:{})(?!\w)")
        self.news = _phrases(section["news"])
        self.additions = _phrases(section["additions"])
        self.without_phrases = Rewriting(
            (phrase, " ") for phrase in (self.news, self.additions, self.adverbs)
        ).apply
        self.weekdays = _phrases(f"(?:on )?{self._groups['DAYS']}")
        self.without_times = Rewriting([(self.weekdays, " "), (times, " ")]).apply
        self.limits = _phrases(section["limits"])
        self.long_ago = _phrases(section["long_ago"])
        self.asking = _phrases(section["asking"], r"^(?:{}) ")
        self.speaker = section["first_person"].split()[0]
        self.first = words("first_person")
        self.possessive = words("possessive")
        self.user = words("user")
        self.no_subject = words("no_subject")
        self.no_value = words("no_value")
        self.articles = words("articles")
        self.after_value = words("after_value")
        self.joins = words("joins")
        self.join = LazyPattern(rf",?\s(?:{'|'.join(self.joins)})\s|,\s", re.IGNORECASE)
        self.no_name = _phrases(self._grouped(section["not_names"]))
        self.greeting = _phrases(section["greeting"], r"(?:(?:{})[\s,.!:;–—-]*)+")
        self.name_asked = _phrases(section["name_asked"], "{}")
        self.further = section["further"].split(" | ")
        self.without_end = self._rewriting(section["ended"])
        rows = (
            self._row(names, effect, form)
            for entry in languages.entries(section["rows"])
            for names, effect, pattern in (entry.split(None, 2),)
            for form in self._forms(pattern)
        )
        self.rows = Screen((row, row.loose) for row in rows)
        self.asks = Screen(
            ((name, is_past), pattern)
            for key, is_past in (("asks_past", True), ("asks", False))
            for entry in languages.entries(section[key])
            for name, _, patterns in (entry.partition(" "),)
            for pattern in map(self._compiled, patterns.strip().split(" | "))
        )
        self.as_told = self._rewriting(section.get("told", ""))

    def _rewriting(self, rows: str) -> Callable[[str], str]:
        return Rewriting(
            (LazyPattern(self._grouped(before), re.IGNORECASE), after)
            for before, after in languages.replacements(rows)
        ).apply

    def _forms(self, pattern: str) -> Iterator[str]:
        """Yield a pattern, and an equation (`<is>`) also from its other side."""
        left, is_, right = pattern.partition(" <is> ")
        yield f"{left}{self._groups['equals']} {right}" if is_ else pattern
        if is_ and left.startswith("{s}"):
            yield f"{right} {self._groups['is']} {left}(?: .+)?"

    def _row(self, names: str, effect: str, pattern: str) -> _StateRow:
        patterns = [self._compiled(pattern, capital) for capital in (_CAPITAL, "")]
        needs = _NEEDS.get(effect[1:], "")
        effect = effect[:1] if needs else effect
        is_mine = "{s}" not in pattern and "(?P<s>" not in pattern
        return _StateRow(tuple(names.split("+")), effect, needs, is_mine, *patterns)

    def _compiled(self, pattern: str, capital: str = "") -> LazyPattern:
        filled = _HOLE.sub(_filled, self._grouped(pattern).replace("~", self._verb))
        filled = filled.replace("ß", "(?:ß|ss)").replace("<CAP>", capital)
        return LazyPattern(filled, re.IGNORECASE)

    def _grouped(self, pattern: str) -> str:
        def group(found: re.Match[str]) -> str:
            if found[1] not in self._groups or found[1] == "CAP":
                return found[0]
            return f"(?:{self._grouped(languages.pattern(self._groups[found[1]]))})"

        return _GROUPED.sub(group, pattern)


def _filled(hole: re.Match[str]) -> str:
    name = "v" if hole[1] in {"n", "f"} else hole[1]
    return f"(?P<{name}{hole[2]}>{_HOLES.get(hole[1], _WORDS)})"


def _phrases(listed: str, frame: str = r"(?<![\w'])(?:{})(?![\w'])") -> LazyPattern:
    return LazyPattern(frame.replace("{}", languages.pattern(listed)), re.IGNORECASE)


@cache
def grammar(code: str) -> Grammar:
    """Return the rules of a language."""
    return Grammar(code)


def _codes(text: str) -> list[str]:
    """Return the languages with rules that a text may have, the likeliest first.

    They have at least half as many of its stop words as the likeliest one.
    """
    counts = stop_words_by_language(words_of(text))
    found = {code: counts[code] for code in languages.section(KEY)}
    likely = (code for code in found if 2 * found[code] >= max(found.values()))
    return sorted(likely, key=lambda code: -found[code])


# -- reading ---------------------------------------------------------------------------


def states(
    text: str, names: Collection[str] = (), *, opens: bool = True
) -> tuple[State, ...]:
    """Return what `text` gives, changes, ends or plans, in its order (`A7`).

    A change at the beginning may lack the `I` ("Sold the car"), unless the text is a
    later clause of its sentence (`opens` is false). `names` are the folded words of the
    user's names. Questions, doubts and quotations give nothing.
    """
    found = _states(text, opens=opens)
    if not names:
        return found
    subjects = [of_owner(state.subject, names) for state in found]
    return tuple(
        state if state.subject == subject else replace(state, subject=subject)
        for state, subject in zip(found, subjects, strict=True)
    )


@lru_cache(maxsize=1 << 12)
def _states(text: str, *, opens: bool) -> tuple[State, ...]:
    if len(text) > _MOST_CHARS:
        return ()
    words = plain(text)
    found: list[State] = []
    for first, last in sentences(words):
        if refusal(words[first:last]):
            continue
        for start, end in clauses(words, first, last):
            if is_doubtful(words[start:end]):
                continue
            earlier = found[-1] if found and found[-1].start >= first else None
            given = of_clause(
                words[start:end],
                _subject_before(words[:start], earlier),
                opens=opens and start == first,
            )
            found += [
                replace(state, start=start + state.start, end=start + state.end)
                for state in given
                if attribute(state.attribute).slot and _lasts(state, words[first:last])
            ]
    return tuple(found)


def of_clause(
    clause: str,
    elided: tuple[str, ...] = (),
    *,
    opens: bool = False,
    introduces: bool = False,
) -> tuple[State, ...]:
    """Return the states of one clause, by the first language with a matching row.

    `elided` is the subject of a clause without one: "and live in Porto". With `opens`
    the clause opens its sentence, and a change without a subject is the user's. With
    `introduces` the clause may be an introduction (`I'm Jonas`). `start` and `end` of a
    state are the span of its part in the clause: the words between two `and` that each
    say something.
    """
    for code in _codes(clause):
        found: list[State] = []
        subject = elided
        for start, end in _parts(code, clause, introduces=introduces):
            may_open = opens and not start
            given = [
                replace(one, start=start, end=end, subject=subject or one.subject)
                if one.elided
                else replace(one, start=start, end=end)
                for one in _of_part(code, clause, (start, end), introduces=introduces)
                if not one.elided or subject or (may_open and _opens(one))
            ]
            subject = given[0].subject if given else subject
            found += given
        if found:
            return tuple(found)
    return ()


def _opens(state: State) -> bool:
    """Return whether a sentence may say it without the `I`: "Sold the car"."""
    return state.change or state.attribute == "duty"


def _parts(code: str, clause: str, *, introduces: bool) -> list[tuple[int, int]]:
    """Return the spans of a clause, cut at `and` with a statement on either side."""
    joins = [found.span() for found in grammar(code).join.finditer(clause)]
    ends = [*(start for start, _ in joins), len(clause)]
    parts = [(0, ends[0])]
    for (_, start), end in zip(joins, ends[1:], strict=True):
        first, last = parts[-1]
        before = _of_part(code, clause, (first, last), introduces=introduces)
        if (
            before
            and not before[0].needs
            and _of_part(code, clause, (start, end), introduces=introduces)
        ):
            parts.append((start, end))
        else:
            parts[-1] = (first, end)
    return parts


@lru_cache(maxsize=1 << 10)
def _of_part(
    code: str, clause: str, span: tuple[int, int], *, introduces: bool
) -> tuple[State, ...]:
    """Return the states of a part of a clause; one without a subject is the user's."""
    words, has_capitals = clause[slice(*span)], _has_capitals(clause)
    for ends in (True, False):
        part = _part(code, words, has_capitals=has_capitals, ends=ends)
        if found := part.states(introduces=introduces):
            return tuple(found)
        if not part.is_over:
            break
    return ()


def asks_for_name(text: str) -> bool:
    """Return whether a text asks its reader for the name."""
    return "?" in text and any(
        grammar(code).name_asked.search(text) for code in languages.section(KEY)
    )


def _subject_before(text: str, earlier: State | None) -> tuple[str, ...]:
    """Return the subject of an `earlier` clause if `and` follows it, else ()."""
    last = text.split()[-1:]
    joined = earlier and last and last[0].lower() in grammar(earlier.language).joins
    return earlier.subject if earlier and joined else ()


def read_rules() -> None:
    """Compile the rules, so that no turn and no question has to wait for it."""
    for clause in ("Xa yb, zc wd", "xa yb, zc wd"):  # words of no language
        of_clause(clause, (USER,), opens=True)
        _state_asked_for(clause)


def in_context(found: Sequence[State], text: str, quote: str) -> tuple[State, ...]:
    """Return the states of a statement that hold in the context of its `quote`.

    "The user moved to Berlin" gives nothing if "but moved back" follows in the turn or
    "when I was six" stands in its sentence.
    """
    place = text.find(quote) if quote else -1
    words = plain(text)
    around = (words[a:b] for a, b in sentences(words) if a <= place < b)
    sentence = next(around, quote)
    return tuple(state for state in found if _lasts(state, sentence))


def _lasts(state: State, sentence: str) -> bool:
    """Return whether a state is no change, or a change that is not of long ago."""
    rules = grammar(state.language)
    is_old = rules.long_ago.search(sentence) and not rules.news.search(sentence)
    return not (is_old and (state.change or state.over))


def _has_capitals(clause: str) -> bool:
    """Return whether the writer uses capital letters."""
    is_upper = any(word[:1].isupper() for word in clause.split())
    return is_upper and not _LOWER_I.search(clause)


class _Part:
    """A part of a clause in the normal form of a language: its statement, if any."""

    def __init__(
        self,
        rules: Grammar,
        words: str,
        dated: str,
        *,
        has_capitals: bool,
        ends: bool,
    ) -> None:
        self.rules = rules
        self.has_capitals = has_capitals
        told = rules.without_lead(rules.in_usual_form(words))
        words = rules.without_end(told) if ends else told
        self.is_over = words != told
        self.marked = self.whole = " ".join(words.split())
        self.is_new = self.is_addition = False
        if (without_phrases := rules.without_phrases(words)) != words:
            self.is_new = rules.news.search(words) is not None
            self.is_addition = rules.additions.search(words) is not None
            self.whole = " ".join(rules.adverbs.sub(" ", words).split())
            self.marked = " ".join(without_phrases.split())
        self.is_on_days = rules.weekdays.search(words) is not None
        bare = _MARK.sub(" ", self.marked)
        self.bare = rules.in_usual_form(" ".join(bare.split()).strip(" ,"))
        self.dated = dated if DATE in self.marked else ""
        self.is_from = _FROM_DATE.search(self.marked) is not None
        timeless = " ".join(rules.without_times(self.bare).split())
        self.forms = dict.fromkeys((self.bare, self.marked, self.whole, timeless))

    @cached_property
    def rows(self) -> list[tuple[_StateRow, LazyPattern]]:
        """The rows that may fit a form."""
        speaker = self.rules.speaker
        return self.rules.rows.of("\n".join(f"{speaker} {one}" for one in self.forms))

    def states(self, *, introduces: bool) -> list[State]:
        """Return its states, of the first row that fits; the subject may be elided."""
        introduced, stated = self._states
        return introduced if introduces else stated

    @cached_property
    def _states(self) -> tuple[list[State], list[State]]:
        """What it says if it may be an introduction, and if it is none."""
        introduced: list[State] = []
        is_noun = self.bare.split(" ")[0].lower() in self.rules.articles
        for subject in ("", *([] if is_noun else [self.rules.speaker])):
            for words in self.forms:
                told = f"{subject} {words}" if subject else words
                for row, _ in self.rows:
                    if row.needs == "name" and introduced:
                        continue
                    found = self._by_row(row, told, subject)
                    introduced = introduced or found
                    if found and row.needs != "name":
                        return introduced, found
        return introduced, []

    def _by_row(self, row: _StateRow, words: str, elided: str) -> list[State]:
        pattern = row.pattern if self.has_capitals else row.loose
        match = pattern.fullmatch(words)
        if match is None:
            return []
        parts = match.groupdict()
        told = _said(parts, "s")
        if elided and told != elided:
            return []
        subject = self._subject_of(row, told)
        if not subject:
            return []
        found = []
        for name in row.attributes:
            words = parts.get(name) or _said(parts, "v")
            state = self._state(row, name, subject, words, parts)
            if state:
                found.append(replace(state, elided=True) if elided else state)
            elif row.effect != "-" and not parts.get(name):
                return []
        return found

    def _subject_of(self, row: _StateRow, told: str) -> tuple[str, ...]:
        """Return the subject of a row's states; a thing is none of the user."""
        about_things = any(attribute(name).thing for name in row.attributes)
        if row.is_mine:
            subject: tuple[str, ...] = (USER,)
        else:
            subject = self.subject(told, about_things=about_things) if told else ()
        return () if about_things and subject == (USER,) else subject

    def _state(
        self,
        row: _StateRow,
        name: str,
        subject: tuple[str, ...],
        words: str,
        parts: Mapping[str, str | None],
    ) -> State | None:
        """Return the state of a row, or None if its value is none of the attribute."""
        properties = attribute(name)
        over = self.is_over or row.effect in {"-", ">-"}
        is_one = properties.single or properties.named
        words, value = self._value(words, properties, single=is_one)
        is_part = properties.daily and self._is_limited(words, over=over)
        is_part = is_part or (properties.deed and self.is_addition)
        ends_nothing = self.is_over and (row.effect not in "=-" or not properties.slot)
        if ends_nothing or (over and is_part):
            return None  # "I no longer have to …" ends no state
        if words and not self._fits(row, name, words, value):
            return None
        if over and value == (name,):
            value = ()  # "I sold my car" ends the one that is known
        bare_words = _stripped(words, self.rules.articles)
        is_description = name == "employer" and bare_words != words  # "a bakery"
        found = State(
            self.rules.code,
            subject,
            _with_kind(name, parts.get("k")),
            value,
            over=over,
            addition=self.is_addition
            or is_part
            or is_description
            or (self.is_on_days and not (properties.thing or properties.deed)),
            needs=row.needs,
            listed="," in words or bool(self.rules.join.search(words)),
            written=_up_to(bare_words.split(", ")[0], value) if is_one else bare_words,
        )
        return self._in_time(found, row)

    def _in_time(self, state: State, row: _StateRow) -> State:
        """Return a state with what its words say of a change and of its day."""
        begins_later = row.effect in "=+" and self.is_from and bool(self.dated)
        planned = begins_later or row.effect in {">", ">-"}
        change = state.over or row.effect != "=" or planned or self.is_new
        if not change:
            return state
        dated = "" if state.attribute in _NUMERIC else self.dated
        return replace(state, change=change, planned=planned, dated=dated)

    def _value(
        self, words: str, properties: Attribute, *, single: bool
    ) -> tuple[str, tuple[str, ...]]:
        """Return the words of a value, those of a date in full, and the folded ones.

        The value of a plan may begin with any word but a denial.
        """
        if not properties.slot:
            value = tuple(normalise(words).split())
            return words, () if is_denied("".join(value[:1])) else value
        if words != DATE:
            return words, self.value(words, single=single, deed=properties.deed)
        dates = _date_spans(self.dated)
        words = " ".join(self.dated[date.start : date.end] for date in dates)
        return words, tuple(normalise(words).split())

    def _fits(
        self, row: _StateRow, name: str, words: str, value: tuple[str, ...]
    ) -> bool:
        """Return whether words are a value that the attribute may have."""
        properties = attribute(name)
        if not value or not properties.named:
            return bool(value)
        if row.effect in "=+>" and not self._is_name(words, name):
            return False
        after = normalise(words).split()[len(value) :]
        is_elsewhere = not _ELSEWHERE.isdisjoint(after[:1])  # "moved to Slack at work"
        is_time = is_elsewhere and has_time_expression(" ".join(after))
        return row.effect != "+" or not is_elsewhere or is_time

    def subject(self, words: str, *, about_things: bool) -> tuple[str, ...]:
        """Return the subject that words name, () if it is nobody in particular.

        With `about_things` it may be a thing ("the rent"), else it is the user,
        somebody of theirs, or a name.
        """
        rules = self.rules
        tokens = [
            word.removesuffix("'s").removesuffix("'")
            for word in normalise(words).split()
        ]
        if not rules.no_subject.isdisjoint(tokens):
            return ()
        if not rules.joins.isdisjoint(tokens):  # "Anna and Ben"
            return (USER,) if not rules.first.isdisjoint(tokens) else tuple(tokens)
        count = len(tokens)
        owners = rules.articles - rules.possessive
        tokens = list(dropwhile(owners.__contains__, tokens))
        if not tokens or len(tokens) > _MOST_WORDS:
            return ()
        head = tokens[0]
        if not rules.first.isdisjoint(tokens) and len(tokens) > 1:
            return ()
        if head in rules.first | rules.possessive | rules.user:
            tokens[0] = USER
        if tokens[0] == USER:
            return tuple(tokens)
        if about_things:
            return tuple(tokens)
        is_name = any(word[:1].isupper() for word in words.split())
        is_name = len(tokens) == count and (is_name or not self.has_capitals)
        return tuple(tokens) if is_name and len(tokens) <= _MOST_NAME else ()

    def value(self, words: str, *, single: bool, deed: bool) -> tuple[str, ...]:
        """Return the folded words of a value up to what no longer belongs to it.

        What limits a deed belongs to it: "stopped playing with Ben".
        """
        rules, found = self.rules, list[str]()
        stops = rules.after_value | (rules.joins if single else frozenset())
        if deed:
            stops = frozenset(one for one in stops if not rules.limits.fullmatch(one))
        tokens = normalise(words.partition(",")[0] if single else words).split()
        for token in tokens:
            word = token.strip(",;")
            if found and (word in stops or (single and rules.limits.fullmatch(word))):
                break
            if word and word not in rules.articles:
                found.append(word)
        if not found or found[0] in stops or rules.no_value.issuperset(found):
            return ()
        return tuple(found)

    def _is_name(self, words: str, name: str) -> bool:
        """Return whether a value is a proper name; an employer may be "a bakery"."""
        first = words.split(maxsplit=1)[0]
        is_word = " " not in words
        if attribute(name).person and is_word and self.rules.no_name.fullmatch(words):
            return False
        is_article = first.lower() in self.rules.articles
        if is_article and name in _DESCRIBED:  # "at a bakery"
            return first.lower() not in _DEFINITE[name]
        if not self.has_capitals:
            return not is_article
        bare = _stripped(words, self.rules.articles)
        return bare[:1].isupper()

    def _is_limited(self, words: str, *, over: bool) -> bool:
        """Return whether a value is not a whole one: "no coffee after noon"."""
        return bool(
            self.is_addition
            or (self.dated and not over)
            or self.rules.limits.search(words.partition(" ")[2])
        )


_LOWER_I = re.compile(r"(?<![\w'.-])i(?:'?m|'ve|'ll)?(?![\w'.-])")
"""The pronoun `i` in dictation, where small letters say nothing."""
_SOME_DAY = datetime(2000, 1, 1, tzinfo=UTC)
_MOST_NAME = 3
_NEEDS = {"!": "ahead", "<": "past", "?": "name"}
"""The marks of rows whose words need a day ahead, a past one, or an introduction."""
_DEFINITE = {"employer": frozenset(), "home": frozenset({"the", "my", "der", "das"})}
_DESCRIBED = frozenset(_DEFINITE)
"""Attributes of which a description is a value too: "at a bakery"."""
_WITHOUT_KIND = frozenset({"medication"})
_NUMERIC = frozenset(
    {"age", "date", "figure", "phone", "schedule", "weight", "birthday"}
)
_ELSEWHERE = frozenset({"at", "on", "bei", "am"})
_TIMES_OF_DAY = frozenset({"hour", "minute"})
_MARK = re.compile(
    r"(?:\b(?:on|in|at|since|from|by|until|till|starting|as of|next|this|ab|am|im|seit|vom|zum|bis)\s+)*"
    rf"{DATE}(?:(?: on| an)\b)?",
    re.IGNORECASE,
)
_FROM_DATE = re.compile(
    rf"\b(?:from|starting(?: on| in)?|as of|beginning|ab|vom)\s+(?:dem |der )?{DATE}",
    re.IGNORECASE,
)


_EDGES = " .!,;:。"
"""Signs around the words of a part."""


def _part(code: str, words: str, *, has_capitals: bool, ends: bool = True) -> _Part:
    """Return a part in normal form, which is read with introductions and without."""
    marked = _with_date_marks(words)
    dated = words if DATE in marked else ""
    return _normal_part(
        code, marked.strip(_EDGES), dated, has_capitals=has_capitals, ends=ends
    )


@lru_cache(maxsize=1 << 8)
def _normal_part(
    code: str, words: str, dated: str, *, has_capitals: bool, ends: bool
) -> _Part:
    return _Part(grammar(code), words, dated, has_capitals=has_capitals, ends=ends)


def _said(parts: Mapping[str, str | None], name: str) -> str:
    """Return the words of the first group of a name, such as `v`, `v2`."""
    groups = (parts[key] for key in parts if key.rstrip("234") == name and parts[key])
    return next(groups, "") or ""


@lru_cache(maxsize=1 << 8)
def _with_date_marks(clause: str) -> str:
    """Return the clause with `DATE` in the place of each date."""
    clause = without_written_dates(clause)
    if not has_time_expression(clause):
        return clause
    for date in reversed(_date_spans(clause)):
        if date.interval.granularity in _TIMES_OF_DAY:
            continue  # "I left Acme at five" ends no job
        clause = f"{clause[: date.start]}{DATE}{clause[date.end :]}"
    return clause


def _date_spans(clause: str) -> tuple[Span, ...]:
    return spans(clause, _SOME_DAY) or spans(clause, _SOME_DAY + timedelta(days=1))


def _with_kind(name: str, kind: str | None) -> str:
    """Return an attribute with its kind: `favourite colour`."""
    return f"{name} {kind.lower()}" if kind and name not in _WITHOUT_KIND else name


def _up_to(words: str, value: Sequence[str]) -> str:
    """Return the written words of a value up to its last folded word."""
    tokens = words.split()
    for end in range(len(tokens) if value else 0, 0, -1):
        if value[-1] in normalise(tokens[end - 1]):
            return " ".join(tokens[:end]).rstrip(",;")
    return words


def _stripped(words: str, articles: Collection[str]) -> str:
    """Return words without the articles before them."""
    return " ".join(dropwhile(lambda word: word.lower() in articles, words.split()))


# -- subjects --------------------------------------------------------------------------


def names_same(first: Sequence[str], second: Sequence[str]) -> bool:
    """Return whether two subjects are certainly the same person.

    The subjects `my sister Eva`, `my sister` and `Eva` are.
    """
    short, long = sorted((tuple(first), tuple(second)), key=len)
    if short == long:
        return True
    if len(long) < _KIN_AND_NAME or long[0] != USER:
        return False
    return short in (long[:2], long[2:])


_KIN_AND_NAME = 3
"""The least number of words in a subject such as `my sister Eva`."""


def of_owner(subject: tuple[str, ...], names: Collection[str]) -> tuple[str, ...]:
    """Return the subject with the user's own names at its beginning as `USER`."""
    rest = tuple(dropwhile(names.__contains__, subject))
    return subject if rest == subject else (USER, *rest)


_APOSTROPHE = re.compile(r"^(i)(m|ve) ?\b(?=\W)", re.IGNORECASE)
"""Contractions without their apostrophe, as in "im late"."""


def bare_subject(subject: tuple[str, ...]) -> tuple[str, ...]:
    """Return the subject without its owner, the user: `my dog` is `dog`."""
    return subject[1:] if len(subject) > 1 and subject[0] == USER else subject


def without_times(state: State) -> list[str]:
    """Return the words of a value but those of its days and times."""
    written = state.written.casefold() or " ".join(state.value)
    return grammar(state.language).without_times(written).split()


def continues_older_state(sentence: str) -> bool:
    """Return whether an older state goes on, as in "I also work at …"."""
    rules = grammar(_codes(sentence)[0])
    return any(one.search(sentence) for one in (rules.additions, rules.weekdays))


# -- in the third person ---------------------------------------------------------------


def in_third_person(clause: str, state: State, subject: str, possessive: str) -> str:
    """Return a clause about a state in the third person, or ''.

    `subject` and `possessive` are those of the speaker: "our dog died" becomes "the
    user's dog died". The result is '' if a word of the first person remains.
    """
    rules = grammar(state.language)
    text = rules.without_lead(clause)
    if state.language == "en":
        if news := rules.news.match(text):  # "From now on we close at six"
            text = f"{text[news.end() :].lstrip(' ,')} {news[0].lower()}"
        if state.elided:
            be = "am " if text.split()[0].endswith("ing") else ""
            text = f"I {be}{text[:1].lower()}{text[1:]}"
        text = third_person_clause(_APOSTROPHE.sub(r"\1'\2", text), subject, possessive)
    else:
        if state.elided:
            text = f"{rules.speaker} {text[:1].lower()}{text[1:]}"
        text = rules.in_usual_form(text)
    text = rules.as_told(text)
    if not text.startswith("{s}") and subject[:1].isupper() and " " in subject:
        subject = subject[:1].lower() + subject[1:]
    text = text.replace("{s}", subject).replace("{p}", possessive)
    found = frozenset(words_of(text))
    return "" if (rules.first | rules.possessive) & found else text


# -- questions -------------------------------------------------------------------------


def state_asked_for(question: str, names: Collection[str] = ()) -> State | None:
    """Return the state that a question asks for, without its value, or None.

    `state_asked_for("Where do I live?")` has the subject user and the attribute home;
    it is `over` if the question asks for an earlier value.
    """
    found = _state_asked_for(question)
    return found and replace(found, subject=of_owner(found.subject, names))


@lru_cache(maxsize=1 << 8)
def _state_asked_for(question: str) -> State | None:
    if len(question) > _MOST_CHARS:
        return None
    for code in _codes(question):
        rules = grammar(code)
        words, has_capitals = question.strip(" ?？.!¿¡"), _has_capitals(question)
        asked = _part(code, words, has_capitals=has_capitals)
        words = rules.asking.sub("", asked.bare)
        for (name, is_past), pattern in rules.asks.of(words):
            if not (match := pattern.fullmatch(words)):
                continue
            parts = match.groupdict()
            about_things = attribute(name).thing
            if subject := asked.subject(_said(parts, "s"), about_things=about_things):
                kind = parts.get("k")
                attribute_name = f"{name} {kind.lower()}" if kind else name
                return State(code, subject, attribute_name, (), over=is_past)
    return None
