"""Classify a text: its kind, confidence tier and importance (C4, C6, C10).

Word lists are English unless noted.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from engram.core.categories import CATEGORIES, category_of
from engram.core.language.dates import has_time_expression, resolve
from engram.core.language.languages import LazyPattern
from engram.core.language.states import states
from engram.core.text import normalise
from engram.core.user_facts import standing_attribute

if TYPE_CHECKING:
    from collections.abc import Collection

    from engram.core.policy import ExtractionPolicy, ImportancePolicy
    from engram.core.records import Fact, Interval


def _any(listing: str) -> re.Pattern[str]:
    """Return a pattern of the phrases in `listing`, separated by `, `, as whole words.

    A `*` at the end of a phrase matches any ending.
    """
    words = "|".join(
        re.escape(phrase).replace(r"\*", r"\w*") for phrase in listing.split(", ")
    )
    return re.compile(rf"\b(?:{words})\b", re.IGNORECASE)


def _words(listing: str) -> frozenset[str]:
    return frozenset(listing.split())


_DAYS = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_TEMPORAL = LazyPattern(
    rf"\b(?:yesterday|today|last (?:week|month|year|{_DAYS})|on {_DAYS}|recently|earlier|this (?:morning|afternoon))\b",
    re.IGNORECASE,
)
_FOREIGN_NOTES = _words("constraint goal habit policy standard belief")
_FOREIGN_EPISODES = _words("event action observation issue bug incident")
_SINCE = LazyPattern(
    r"\b(?:since|seit|depuis|desde|sinds)\b|\bda(?:l|lla|ll')\b|\bс \w+ года\b|以来|从|から",
    re.IGNORECASE,
)
_NOTE_TAGS = frozenset(
    {"preference", "constraint", "goal", "habit", "policy", "belief"}
)
_EPISODE_TAGS = frozenset(
    {"bug", "fix", "deploy", "incident", "release", "merge", "event"}
)
_ACTIONS = _any(
    "deployed, pushed, fixed, merged, reported, mentioned, said, happened, failed, completed, shipped"
)
_EVENTS = LazyPattern(
    r"\b(?:went|came back|visited|watched|saw|met with|ate|cooked|baked|painted|cleaned|repaired|called|phoned|texted"
    r"|lost|found|bought|sold|ordered|paid|forgot|arrived|departed|returned|flew|drove to|walked|hiked|swam"
    r"|ran|played|won|attended|celebrated|slept|woke up|finished|broke|crashed"
    r"|had (?:lunch|dinner|a (?:meeting|walk|talk)))\b"
    r"|\b(?:war|waren|ging|gingen|fuhr|fuhren|kam|kamen|traf|trafen|sah|sahen|ass|aß|kaufte|kauften|verlor|fand)\b"
    r"|\b(?:hat|haben|ist|sind)\b.{0,80}\b(?:ge\w{2,}(?:t|en)|be\w{3,}(?:t|en)|ver\w{3,}(?:t|en)|\w+ge\w{2,}(?:t|en))$"
    r"|\b(?:est|sont) (?:allée?s?|venue?s?|partie?s?|arrivée?s?|rentrée?s?|sortie?s?)\b"
    r"|\b(?:a|ont) (?:mangé|acheté|vu|visité|rencontré|perdu|trouvé|gagné|regardé|cuisiné|réparé|peint|fini|payé)\b"
    r"|\b(?:fue|fueron|vio|comió|compró|visitó|encontró|perdió|ganó|llegó|volvió|salió|cocinó|pintó|pagó|ha ido)\b"
    r"|\b(?:è|sono) (?:andat|venut|partit|arrivat|tornat)[oaie]\b|\b(?:foi|foram|viu|comeu|comprou|visitou|perdeu)\b"
    r"|\b(?:ging|gingen|kocht|zag|bezocht|vond)\b|\b(?:пош[её]л|пошла|купила?|видела?|ездила?|ходила?|потерял\w?)\b"
    r"|[去买看吃见玩丢]了|[去看吃]过|(?:行き|食べ|見|買い|会い|遊び|なくし)ました|(?:行った|食べた|見た|買った|会った)",
    re.IGNORECASE,
)
"""Verbs of a single past event: English, German, French, Spanish and some of others."""
_AS_OF = LazyPattern(r"\((?:as of|Stand:?|état au|a fecha de) [^)]*\)", re.IGNORECASE)
_SOME_DAY = datetime(2000, 1, 1, tzinfo=UTC)


def kind_of(
    text: str,
    category: str,
    tags: Collection[str] = (),
    when: Interval | None = None,
    *,
    name: str = "",
) -> tuple[str, str]:
    """Return "episode" or "note", and the reason; the first rule that applies counts.

    (Row `C6`.) The order is: a standing attribute → note, also with a date; a temporal
    marker → episode; the category; the tags, note before episode; a past event, or a
    date or time word that is not the beginning of a state → episode; otherwise note
    (law 3 reverses this). `when` is the time that the statement is about, `name` its
    attribute. `Anna
    deployed it yesterday` → episode, `Her birthday is on 14 March` → note, `The sky is
    blue` → note.
    """
    if attribute := standing_attribute(text, name):
        return "note", f"tells of {attribute}"
    if found := _TEMPORAL.search(text):
        return "episode", f"says {found.group().lower()!r}"
    if kind := _kind_of_category(category):
        return kind, f"category {category}"
    heads = [tag.partition("/")[0].casefold() for tag in tags]
    for kind, known in (("note", _NOTE_TAGS), ("episode", _EPISODE_TAGS)):
        if named := next((head for head in heads if head in known), None):
            return kind, f"tag {named}"
    if found := _ACTIONS.search(text) or _EVENTS.search(text.rstrip(" .!。！")):
        return "episode", f"says {found.group().lower()!r}"
    if dated := _dated(text, when):
        return "episode", f"says {dated!r}"
    return "note", "nothing in it says that it passes"


def _kind_of_category(name: str) -> str:
    """Return the kind that a category of engram or another system implies, or ''."""
    if name in _FOREIGN_NOTES:
        return "note"
    if name in _FOREIGN_EPISODES:
        return "episode"
    return category_of(name).kind


def _dated(text: str, when: Interval | None) -> str:
    """Return the time expression of a statement; '' if a state begins at it."""
    statement = _AS_OF.sub("", text)
    if _SINCE.search(statement) or (when and when.role):
        return ""
    if when and statement == text:
        return when.words.lower()
    return (
        next((interval.words.lower() for interval in resolve(statement, _SOME_DAY)), "")
        if has_time_expression(statement)
        else ""
    )


def tier_of(confidence: float, policy: ExtractionPolicy) -> str:
    """Return the tier of a confidence (`C4`).

    explicit ≥ 0.95, implied ≥ 0.70, inferred ≥ 0.40, otherwise speculative.
    """
    if confidence >= policy.explicit:
        return "explicit"
    if confidence >= policy.implied:
        return "implied"
    return "inferred" if confidence >= policy.inferred else "speculative"


_CRITICAL = _any(
    "important, critical, crucial, vital, essential, urgent, emergency, allerg*, deadline, never forget, "
    "always remember, life-threatening, do not ever, must never, non-negotiable"
)
_HIGH = _any(
    "always, never, must, prefer*, hate*, love*, decided, decision, promise*, committed, favourite, favorite, "
    "birthday, anniversary, diagnosed, married, pregnant, remember, goal, plan*, need*, require*, can't stand"
)
_HEDGE = _any(
    "maybe, perhaps, might, possibly, probably, i guess, i think, i suppose, not sure, kind of, sort of, seems, "
    "apparently, could be"
)
_FIRST_PERSON = _any("i, i'm, i've, i'll, i'd, my, mine, me, we, our, us")
_SPECIFIC = LazyPattern(r"\d|https?://|\S@\S|(?<=[a-z,;] )[A-Z][a-z]+")
_IMPORTANT_TAGS = frozenset(
    {
        "important",
        "critical",
        "urgent",
        "decision",
        "preference",
        "goal",
        "health",
        "deadline",
    }
)


def importance_of(
    text: str, category: str, tags: Collection[str], policy: ImportancePolicy
) -> tuple[float, tuple[str, ...]]:
    """Return the importance, 0–1, by local rules, and the rules that applied (`C10`).

    The base is 0.5; a trivial text has 0.1. Critical marker +.20, high marker +.12,
    hedge −.15, each once; the gain of the category; from 200 characters min(.1,
    (length−200)/1000); first person +.05; digits or names +.03; +.05 for each important
    tag; clamped to 0–1. `I always prefer tea` as a preference: .5 + .12 + .10 + .05 =
    .77.
    """
    if is_trivial(text, policy):
        return policy.trivial, ("trivial",)
    length = len(text)
    extra = (
        min(policy.long_gain, (length - policy.long_chars) / policy.long_step)
        if length > policy.long_chars
        else 0
    )
    parts = (
        ("critical marker", policy.critical_marker, _CRITICAL.search(text)),
        ("high marker", policy.high_marker, _HIGH.search(text)),
        ("hedge", policy.hedge, _HEDGE.search(text)),
        (
            f"category {category}",
            getattr(policy, category, 0.0) if category in CATEGORIES else 0.0,
            True,
        ),
        ("length", extra, extra),
        ("first person", policy.first_person, _FIRST_PERSON.search(text)),
        ("specifics", policy.specifics, _SPECIFIC.search(text)),
        *(
            (f"tag {tag}", policy.tag, True)
            for tag in sorted(_IMPORTANT_TAGS.intersection(_heads(tags)))
        ),
    )
    counted = [(why, gain) for why, gain, present in parts if present and gain]
    score = policy.base + sum(gain for _, gain in counted)
    return round(min(1.0, max(0.0, score)), 4), tuple(why for why, _ in counted)


def _heads(tags: Collection[str]) -> set[str]:
    return {tag.partition("/")[0].casefold() for tag in tags}


# Greetings, thanks and assent: English, German, French, Spanish, Italian, Portuguese,
# Dutch, Japanese, Chinese.
_SOCIAL = _words(
    """hi hello hey hiya howdy yo there morning evening afternoon night good goodnight goodbye bye cya see ya later
    thanks thank thx ty you so much very a lot many cheers ok okay k kk yes yeah yep yup no nope nah sure right
    great nice cool awesome perfect fine got it sounds alright please welcome wow oh ah hm hmm mhm um uh well indeed
    exactly agreed absolutely definitely of course my pleasure problem worries np all guys everyone again for that
    hallo guten tag morgen abend tschüss danke dankeschön bitte ja nein genau klar gut super schön vielen dank
    servus moin gern gerne bonjour bonsoir salut merci beaucoup oui non d'accord parfait bien sûr revoir au
    hola buenos buenas días tardes noches gracias muchas sí si vale claro adiós bueno perfecto
    ciao buongiorno buonasera grazie mille certo va bene prego perfetto olá oi obrigado obrigada bom dia sim não
    hoi goedemorgen dank je wel bedankt nee prima こんにちは こんばんは ありがとう ありがとうございます はい いいえ
    おはよう おはようございます 你好 您好 谢谢 謝謝 好的 好 是的 嗯 再见 早上好 晚安"""
)
_LAUGHTER = LazyPattern(
    r"(?:(?:ha|he|hi|ho|ja|je|ah){2,}h?|lo+l+|lmao|rofl|xd+|k{3,}|w{3,}|[哈笑]+|mdr|rs(?:rs)+)"
)
_WORD = LazyPattern(r"[^\W_]+(?:'[^\W_]+)*")
_SIGN = LazyPattern(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def is_trivial(text: str, policy: ImportancePolicy) -> bool:
    """Return whether `text` is a greeting, thanks, assent, laughter or short (`C10`).

    A short text has up to 10 characters, where a CJK sign counts as 4: `谢谢` is trivial,
    `我对花生过敏` (I am allergic to peanuts) is not.
    """
    width = len(text.strip()) + len(_SIGN.findall(text)) * (policy.sign_width - 1)
    return width <= policy.trivial_chars or is_social(text)


def is_social(text: str) -> bool:
    """Return whether `text` is only a greeting, thanks, assent or laughter."""
    found = _WORD.findall(text.casefold().replace("’", "'"))
    return all(word in _SOCIAL or _LAUGHTER.fullmatch(word) for word in found)


def event_end(
    text: str, category: str, kind: str, when: Interval | None
) -> datetime | None:
    """Return the end of an event by its time expression; None for a state (`X14`).

    "Anna was in Porto on 14 March" ends with that day; "Anna has lived in Porto since
    March" does not end with March.
    """
    if when is None or when.role == "since" or is_end(category, when):
        return None
    happens = category_of(category).dated or (
        kind == "episode" and not _SINCE.search(text)
    )
    return when.end if happens else None


def with_time_of(fact: Fact, old: Fact, said_at: datetime) -> Fact:
    """Return a corrected fact with the time of the `old` one, or a new time (X8, X14).

    An end that was guessed from the old words is left out.
    """
    fact = replace(
        fact,
        valid_from=old.valid_from,
        valid_until=old.valid_until,
        event_end=old.event_end,
        expires=old.expires if old.origin == "user" else None,
        dated_by=old.dated_by,
    )
    return with_new_time(fact, old.text, said_at)


def with_new_time(fact: Fact, old_text: str, said_at: datetime) -> Fact:
    """Return a fact with the time that its new words name (X14).

    An event or a promise gets the time that its text names and `old_text` does not, if
    that is a single one. A promise is ahead: a past time changes nothing.
    """
    times = {
        one.start: one
        for one in resolve(fact.text, said_at)
        if one.words not in old_text
    }
    when = next(iter(times.values())) if len(times) == 1 else None
    end = event_end(fact.text, fact.category, fact.kind, when)
    is_promise = category_of(fact.category).promise
    if when is None or end is None or (is_promise and end <= said_at):
        return fact
    return replace(fact, valid_from=when.start, event_end=end, dated_by="")


def edited_slot(fact: Fact) -> dict[str, object]:
    """Return the keys of the slot that a user's new words fill (row X31).

    {} if the words have the value, or if there is none; None for keys that are over.
    """
    if normalise(fact.value) in normalise(fact.text):
        return {}
    found = (one for one in states(fact.text) if one.attribute == fact.attribute)
    value = next((one.written for one in found), "") or None
    return {"attribute": fact.attribute if value else None, "value": value}


def is_end(category: str, when: Interval | None) -> bool:
    """Return whether `when` is the end of a state (`X14`), as in `until Friday`.

    For a promise that day is the due date instead.
    """
    is_until = when is not None and when.role == "until"
    return is_until and not category_of(category).promise
