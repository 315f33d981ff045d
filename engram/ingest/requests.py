"""Validation of requests: their turns, names and times, also in words."""

from __future__ import annotations

import re
import secrets
from calendar import monthrange
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any, NamedTuple

from engram.core import trust
from engram.core.entities import name_key
from engram.core.language import dates
from engram.core.language.date_words import LEXICONS
from engram.core.language.keep_requests import asked_to_keep, asked_to_keep_secret
from engram.core.language.privacy import asks_privacy
from engram.core.language.secrets import DOOR_CODE, redact
from engram.core.markdown import plain_text
from engram.core.personas import name_fault
from engram.core.records import ROLES, Turn
from engram.core.text import content_hash, ulid
from engram.errors import BadRequestError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from engram.config import Settings

SESSION = "main"
TURN_KEYS = frozenset(
    (
        "id",
        "session",
        "role",
        "speaker",
        "persona",
        "private",
        "text",
        "occurred_at",
        "origin",
        "participants",
        "group",
        "record",
        "title",
    )
)
FIRST, LAST = datetime(1900, 1, 1, tzinfo=UTC), datetime(9990, 1, 1, tzinfo=UTC)
"""The range of accepted times; arithmetic with others overflows the calendar."""


def turn_from(
    raw: Mapping[str, Any],
    now: datetime,
    settings: Settings,
    fresh_id: str = "",
    standing: str = "chat",
    *,
    keep: bool = False,
) -> Turn:
    """Return one turn of a request, checked and redacted (`X11`).

    The code of a door is not redacted in words that the user asks to keep: those of
    `remember` (`keep`), and those that begin with "Remember that". A statement of
    `remember` with another secret is refused, unless it is imported.

    `id` absent: `fresh_id`, or a generated one. `occurred_at` absent: `now`; without an
    offset it is local to the vault's zone. `standing` is the trust level of the caller;
    a turn may claim a lower one, never a higher one (`X17`). Raises BadRequestError
    with the field and the reason.
    """
    text = _checked_text(raw, settings)
    role = _checked_role(raw)
    said_at = _time_of_turn(raw, now, settings)

    is_request = keep or (role == "user" and asked_to_keep(text, text))
    allowed = {DOOR_CODE} if is_request else ()
    redacted = redact(plain_text(text), settings.redact, allowed=allowed)
    words, origin = redacted.text, raw.get("origin") or ""
    origin = trust.caller_standing(standing, origin)
    if keep and redacted.found and origin != "import":
        classes = ", ".join(sorted(redacted.found))
        raise BadRequestError(f"{NOT_KEPT}: {classes}", fix=USE_A_MANAGER)
    names = _names(raw, words, settings)
    declared = bool(raw.get("private"))
    asked = role == "user" and asks_privacy(words)

    return Turn(
        id=names["id"] or fresh_id or ulid(now, secrets.token_hex(16)),
        session=names["session"] or SESSION,
        role=role,
        text=words,
        occurred_at=said_at.astimezone(settings.zone).replace(microsecond=0),
        speaker=names["speaker"],
        persona=names["persona"] or None,
        origin=origin,
        group=role == "user" and _is_in_group(raw),
        private=declared or asked,
        confided=asked and not declared,
        title=names["title"],
    )


NOT_KEPT = "a secret is not remembered"
USE_A_MANAGER = (
    'Keep it in a password manager, or set `redact = "off"` in your configuration.'
)
"""What to do with a secret that is not remembered."""


def refused_requests(turns: Iterable[Turn]) -> list[dict[str, str]]:
    """Return the turns in which the user asks to remember a secret, with the reason."""
    return [
        {"turn": turn.id, "why": NOT_KEPT, "fix": USE_A_MANAGER}
        for turn in turns
        if turn.role == "user" and asked_to_keep_secret(turn.text)
    ]


def _time_of_turn(
    raw: Mapping[str, Any], now: datetime, settings: Settings
) -> datetime:
    """Return the time of a turn, by default `now`."""
    if raw.get("occurred_at") is None:
        return now
    return moment(raw["occurred_at"], settings.zone, "occurred_at")


def _names(raw: Mapping[str, Any], words: str, settings: Settings) -> dict[str, str]:
    """Return the redacted names of a turn with this text, '' for each absent one."""
    keys = ("id", "session", "speaker", "persona", "title")
    given = {key: raw.get(key) or "" for key in keys}
    names = {
        key: name_from(name, settings) if name else "" for key, name in given.items()
    }

    # redaction must not make two ids equal
    if names["id"] != _plain_name(given["id"]):
        names["id"] += f" {content_hash(words)[:12]}"
    return names


def _is_in_group(raw: Mapping[str, Any]) -> bool:
    """Return whether the conversation of a turn has several users."""
    return raw.get("group") is True or is_group(raw.get("participants"))


def is_group(participants: object) -> bool:
    """Return whether a conversation has several users.

    Raises BadRequestError unless `participants` is a list of names.
    """
    names = [] if participants is None else participants
    if not isinstance(names, list | tuple) or not all(
        isinstance(name, str) for name in names
    ):
        raise BadRequestError("participants must be a list of names")
    return len({name_key(name) for name in names if name.strip()}) > 1


def is_recorded(raw: Mapping[str, Any]) -> bool:
    """Return whether a turn is to be stored.

    Raises BadRequestError unless `record` is a flag.
    """
    record = raw.get("record")
    if not isinstance(record, bool | None):
        raise BadRequestError("record must be true or false")
    return record is not False


def _checked_text(raw: Mapping[str, Any], settings: Settings) -> str:
    """Return the text of a turn; BadRequestError if it is empty or too long.

    Unknown keys are refused too.
    """
    if unknown := sorted(set(raw) - TURN_KEYS):
        raise BadRequestError(
            f"a turn has no {unknown[0]!r}",
            fix=f"Its keys are {', '.join(sorted(TURN_KEYS))}.",
        )
    text, place = raw.get("text"), f"turn {raw['id']!r}" if raw.get("id") else ""
    if not isinstance(text, str) or not text.strip():
        raise BadRequestError(
            "the turn has no text", where=place, fix="Give the words that were said."
        )
    most = settings.policy.journal.turn_bytes
    if len(text.encode("utf-8", "surrogatepass")) > most:
        raise BadRequestError(
            f"the text of the turn is longer than {most} bytes",
            where=place,
            fix="Split it into several turns.",
        )
    return text


def _checked_role(raw: Mapping[str, Any]) -> str:
    """Return the role of a turn.

    Raises BadRequestError for an unknown role, a bad or reserved name, or a `private`
    that is no flag.
    """
    role: str = raw.get("role") or "user"
    if role not in ROLES:
        raise BadRequestError(
            f"there is no role {role!r}", fix=f"Use one of: {', '.join(ROLES)}."
        )
    for name in ("id", "session", "speaker", "persona", "origin", "title"):
        value = raw.get(name) or ""
        if not isinstance(value, str) or len(value) > 500:
            raise BadRequestError(f"{name} must be a text of at most 500 characters")
    if raw.get("persona") is not None and (fault := name_fault(raw["persona"] or "")):
        raise BadRequestError(fault, fix="Leave it out where there is no persona.")
    if not isinstance(raw.get("private") or False, bool):
        raise BadRequestError("private must be true or false")
    return role


def name_from(text: str, settings: Settings) -> str:
    """Return the name of a session, speaker, persona or turn, redacted (X11).

    It is one line.
    """
    words = redact(text, settings.redact).text  # a secret may take several lines
    name = _plain_name(words)
    return name if name == words else redact(name, settings.redact).text


def _plain_name(text: str) -> str:
    return " ".join(plain_text(text).split())


class AskedSpan(NamedTuple):
    """A span of time from `first` up to `last`; None for no limit."""

    first: datetime | None
    last: datetime | None

    def has(self, when: datetime | None) -> bool:
        """Return whether a time is in the span; None is in the unlimited one alone."""
        if when is None:
            return self == (None, None)
        return (self.first is None or self.first <= when) and (
            self.last is None or when < self.last
        )


def span(
    since: str | None, until: str | None, zone: tzinfo, now: datetime
) -> AskedSpan:
    """Return the span between two arguments; BadRequestError as in `moment`."""
    return AskedSpan(
        moment(since, zone, "since", now=now) if since else None,
        moment(until, zone, "until", end=True, now=now) if until else None,
    )


def moment(
    value: object,
    zone: tzinfo,
    name: str = "time",
    *,
    end: bool = False,
    now: datetime | None = None,
    ahead: bool = False,
) -> datetime:
    """Return the time in `value`: ISO 8601, or seconds since the epoch.

    Without an offset it is local to `zone`. With `now` it may also be in words, such as
    `yesterday`, `last March` or `3d`, counted from `now`, or with `ahead` into the
    future. With `end` a date or a span of time means its end. Raises BadRequestError
    unless the year is 1900 to 9989.
    """
    found = None
    with suppress(ValueError, TypeError, OverflowError, OSError):
        if isinstance(value, int | float) and not isinstance(value, bool):
            found = datetime.fromtimestamp(value, zone)
        else:
            found = datetime.fromisoformat(str(value))
            found = found if found.tzinfo else found.replace(tzinfo=zone)
            if end and len(str(value)) == len("2026-11-20"):
                found += timedelta(days=1)
    if found is None and now is not None:
        named = named_time(str(value), now.astimezone(zone), ahead=ahead)
        found = named and named[1 if end else 0]
    if found is None or not FIRST <= found < LAST:
        words = (
            ""
            if now is None
            else ', or words such as "yesterday", "last March" or "3d"'
        )
        message = f"{name} {value!r} is no {'time' if now else 'ISO 8601 time'} between 1900 and 9989"
        fix = f"Write 2026-11-20 or 2026-11-20T21:14:05{words}."
        raise BadRequestError(message, fix=fix)
    return found


_YEAR_OR_MONTH = re.compile(r"(\d{4})(?:-(0[1-9]|1[0-2]))?")
_AMOUNT = re.compile(
    r"(?:(?:the )?(?:last|past) )?(?P<n>\d{1,4})\s*(?:"
    r"(?P<hours>h|hours?)|(?P<days>d|days?)|(?P<weeks>w|weeks?)"
    r"|(?P<months>mo|months?)|(?P<years>y|years?))"
)
"""Amounts as in options of other programs; `m` may be a minute or a month."""
_LEADS = frozenset[str]().union(*(one.leads for one in LEXICONS))
_DAY = timedelta(days=1)


def named_time(
    text: str, now: datetime, *, ahead: bool = False
) -> tuple[datetime, datetime] | None:
    """Return beginning and end of the time that the whole text names, or None.

    `ahead` selects the direction of a weekday, a month or an amount from `now`, an
    aware time: on 23 November 2026, `3d` begins on 20 November, and with `ahead` on 26
    November.
    """
    plain = text.strip().casefold()
    if plain == "now":
        return now, now
    if match := _YEAR_OR_MONTH.fullmatch(plain):
        return _year_or_month(int(match[1]), int(match[2] or 0), now)
    if match := _AMOUNT.fullmatch(plain):
        return _amount(
            str(match.lastgroup), int(match["n"]) * (1 if ahead else -1), now
        )
    spans = dates.spans(text, now, lean=1 if ahead else -1)
    if len(spans) != 1 or text[spans[0].end :].strip():
        return None
    interval = spans[0].interval
    is_whole = _LEADS.issuperset(text[: spans[0].start].casefold().split())
    return (interval.start, interval.end) if is_whole else None


def _year_or_month(
    year: int, month: int, now: datetime
) -> tuple[datetime, datetime] | None:
    if not 1900 <= year < 2200:
        return None
    start = datetime(year, month or 1, 1, tzinfo=now.tzinfo)
    return start, _months_later(start, 1 if month else 12)


def _amount(unit: str, number: int, now: datetime) -> tuple[datetime, datetime] | None:
    """Return the moment that is some hours from now, or the day of another unit."""
    try:
        if unit == "hours":
            moment = now + timedelta(hours=number)
            return moment, moment
        day = now.replace(hour=0, minute=0, second=0, microsecond=0)
        if unit in {"months", "years"}:
            day = _months_later(day, number * (12 if unit == "years" else 1))
        else:
            day += timedelta(**{unit: number})
        return day, day + _DAY
    except (OverflowError, ValueError):
        return None


def _months_later(day: datetime, months: int) -> datetime:
    """Return the same day `months` months later, or the last day of a shorter month."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    last = monthrange(year, month + 1)[1]
    return day.replace(year=year, month=month + 1, day=min(day.day, last))
