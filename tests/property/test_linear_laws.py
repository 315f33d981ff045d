"""Whatever reads a text takes twice the time for twice the text: no pattern goes over it
again and again.
"""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from engram.core.language.dates import resolve
from engram.core.language.echo import masked, shingles, unfenced
from engram.core.language.injection import instruction
from engram.core.language.languages import LazyPattern
from engram.core.language.privacy import reference
from engram.core.language.quotations import parts
from engram.core.language.secrets import redact
from engram.core.language.signals import scan, table
from engram.core.planted import without_planted
from engram.core.policy import EchoPolicy, ExtractionPolicy, SignalPolicy
from engram.core.records import Turn
from engram.extraction.rules.engine import extract
from engram.vault import facts, frontmatter, sessions
from tests.cpu import assert_linear

DAY = datetime(2026, 11, 21, 12, tzinfo=UTC)
KNOWN = shingles("a a a a a a. 茶茶茶茶茶茶茶茶茶茶茶茶", EchoPolicy())
WIDE = ExtractionPolicy(rules_turn=100000, rules_sentence=4000)
LONG = SignalPolicy(scan_chars=100000)
TABLE = table()
HEAD = b"---\nid: x\nsession: s\nstarted: 2026-11-20\n---\n"


def note(text):
    """A note with this body, taken for a fact and for a conversation."""
    found = frontmatter.read(HEAD + text.encode() + b".")
    facts.fact_from(found, "facts/a.md", "", ZoneInfo("UTC"))
    sessions.conversation_from(found, "sessions/a.md", ZoneInfo("UTC"))
    facts.fact_body(found.body)


def places(text):
    """A text with none of the words of an expression, which is tried in many places."""
    pattern = LazyPattern("weir gate")
    return [pattern.match(text, start) for start in range(0, len(text), 20)]


READERS = {
    "dates": (2000, lambda text: resolve(text, DAY)),
    "rules": (1000, lambda text: extract([Turn("1", "s", "user", text, DAY)], WIDE)),
    "fences": (8192, unfenced),
    "echo": (8192, lambda text: masked(text, KNOWN, EchoPolicy())),
    "secrets": (8192, redact),
    "orders": (8192, instruction),
    "planted": (8192, lambda text: without_planted("x\n" + text)),
    "quotations": (50_000, parts),
    "privacy": (4096, lambda text: reference("tell sag dis digas secret. " + text)),
    "notes": (20_000, note),
    "places": (50_000, places),
    "signals": (50_000, lambda text: scan(text, TABLE, LONG)),
}
EVERY = 'a |a|1|"|(|茶|. '
PUMPS = r"""
dates: last |the day before |20 of |in a week |一|2026-|1/|Friday |
rules: I love |and I |my sister and I |I have a |very |
echo: 茶 |<|&amp;|<memory-notes 0a1b2c3d> |\|'a
fences: <|&amp;|<memory-notes 0a1b2c3d> |
secrets: x|1|本|4 |4111 |4111111111111111 |DE89|DE89 |eyJ|eyJaaaaaaaa.|sk-|://:|a://a:|a://a:a@|[redacted: |密码是|pin is |
secrets: password|password is |password for |password: x1 |password="a |'password:'|password to a b c |token |token is |key:
secrets: hasło |hasło do |password,|seed phrase |seed phrase: abc def |backup code |backup codes: 1234-5678
secrets: passport number |passport no: A1 |pin of |pin of a |curl -u a |mysql -p|cookie: sid=|&code=a1|TOKEN_A_|acme_pat_a1
secrets: １|<token a|-----BEGIN PRIVATE KEY-----\n|pass\0word |password,a\n|a,password\nb1,c2\n
planted: I walk to work and |ignore all |
quotations: "a|“a|‘a |> |```|wrote:\n|From: a\n|« |
privacy: please |and please |und bitte |kannst du bitte |s'il te plaît et |y por favor |could you please and |别把这 |
notes: \t|`|~|> |![[|[[|<<<<<<< a\n|=======\n|> [!user] 12:00\n|> [!user]  |^t1\n|&lt;|%%|#
signals: i |wir haben uns |no no, |我|please |私は|ich trinke |
orders: a |x|ignore |you must |when asked |<|</|[|"name": "a", |://a:|![|a.|. |必ず|不要|é|́|i g |a1|don't tell |send |
"""
CASES = [
    (name, pump.replace(r"\n", "\n").replace(r"\t", "\t").replace(r"\0", "\u200b"))
    for line in PUMPS.strip("\n").split("\n")
    for name, _, pumps in [line.partition(": ")]
    for pump in pumps.split("|")
    if pump
] + [(name, pump) for name in READERS for pump in EVERY.split("|")]


# row: X7
# row: X11
# row: X13
# row: X27
# row: C1
@pytest.mark.parametrize(("name", "pump"), CASES)
def test_twice_the_text_takes_twice_the_time(name, pump):
    chars, work = READERS[name]
    assert_linear(work, pump, chars)
