"""Results on a terminal: wrapped, coloured, and in a pager if they are long.

A result is plain text with a fixed form: statements at the margin or after a number,
details indented below, facts about them separated by ` · `. This module changes the
layout, never the content. It is loaded only for output to a terminal.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import threading
import time
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Self

BOLD, DIM, RED, GREEN, CYAN, PLAIN = (
    f"\033[{code}m" for code in ("1", "2", "31", "32", "36", "0")
)
LEAST_WIDTH, MOST_WIDTH = 30, 100
_HEAD = re.compile(r" *\d+\. ")
_KEY = re.compile(r"( *(?:- )?)([\w.]+:)( .*|)$")
_BARS = re.compile(r"[▁▂▃▄▅▆▇█]+")
_MARGIN = re.compile(r" *(?:\d+\. |- )?(?:\S{1,10} {2,}(?=\S))?")


def is_attended(environ: dict[str, str] | os._Environ[str] = os.environ) -> bool:
    """Return whether the output is a terminal, without NO_COLOR or `dumb`."""
    return (
        sys.stdout.isatty()
        and not environ.get("NO_COLOR")
        and environ.get("TERM") != "dumb"
    )


def dressed(text: str, width: int) -> str:
    """Return a result wrapped at `width` and coloured."""
    return "\n".join(
        _coloured(line, part)
        for line in text.splitlines()
        for part in wrapped(line, width)
    )


def width() -> int:
    """Return the width at which text is wrapped on this terminal."""
    return max(LEAST_WIDTH, min(shutil.get_terminal_size().columns, MOST_WIDTH))


def wrapped(line: str, width: int) -> Iterator[str]:
    """Yield a line in parts of at most `width` columns, indented like its text.

    A word that is longer than a line stays whole, so that a path can be copied.
    """
    if columns(line) <= width:
        yield line
        return
    found = _MARGIN.match(line)
    margin = " " * (len(found[0]) if found else 0)
    part = found[0] if found else ""
    begun = False
    for word in line[len(part) :].split(" "):
        longer = f"{part} {word}" if begun else part + word
        if begun and columns(longer) > width:
            yield part.rstrip()
            part = margin + word
        else:
            part = longer
        begun = True
    yield part.rstrip()


def columns(text: str) -> int:
    """Return the number of terminal columns of a text."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(sign) in "WF" for sign in text)
    joined = sum(bool(unicodedata.combining(sign)) for sign in text)
    return len(text) + wide - joined


def _coloured(line: str, part: str) -> str:
    """Return a part of a line in the colours of its kind."""
    if _HEAD.match(line):
        return f"{BOLD}{part}{PLAIN}"
    if bars := _BARS.search(part):
        return f"{part[: bars.start()]}{CYAN}{bars[0]}{PLAIN}{part[bars.end() :]}"
    if line.lstrip().startswith("! "):
        return f"{RED}{part}{PLAIN}"
    if line.lstrip().startswith("“"):
        return f"{GREEN}{part}{PLAIN}"
    if " · " in line and line.startswith(" "):
        return f"{DIM}{part}{PLAIN}"
    if part == line and (key := _KEY.match(part)):
        return f"{key[1]}{CYAN}{key[2]}{PLAIN}{key[3]}"
    return part


def paged(text: str) -> bool:
    """Show a text in a pager if it is longer than the screen; return whether it is."""
    fits = text.count("\n") + 2 <= shutil.get_terminal_size().lines
    if fits or not sys.stdin.isatty():
        return False
    import click

    os.environ.setdefault("LESS", "FRX")
    click.echo_via_pager(text, color=True)
    return True


class Bar:
    """A progress line on standard error for long work.

    With a `total` it has a bar and the time left, otherwise the elapsed time. Nothing
    is printed if standard error is not a terminal, or NO_COLOR is set.
    """

    def __init__(self, words: str, total: int = 0) -> None:
        self.words = words
        self.total = total
        self.done = 0
        self._begun = time.monotonic()
        self._drawn = 0.0
        self._shown = (
            sys.stderr.isatty()
            and not os.environ.get("NO_COLOR")
            and os.environ.get("TERM") != "dumb"
        )
        self._stopped = threading.Event()

    def __enter__(self) -> Self:
        if self._shown and not self.total:
            threading.Thread(target=self._tick, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopped.set()
        if self._shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()

    def advance(self, by: int = 1) -> None:
        """Count finished work."""
        self.reach(self.done + by)

    def reach(self, done: int) -> None:
        """Set the amount of finished work."""
        self.done = done
        now = time.monotonic()
        if self._shown and (now - self._drawn > 0.1 or done >= self.total):
            self._drawn = now
            self._draw(now - self._begun)

    def _tick(self) -> None:
        while not self._stopped.wait(1.0):
            self._draw(time.monotonic() - self._begun)

    def _draw(self, seconds: float) -> None:
        line = progress(self.words, self.done, self.total, seconds)
        most = shutil.get_terminal_size().columns - 1
        sys.stderr.write(f"\r\033[K{line[:most]}")
        sys.stderr.flush()


def progress(words: str, done: int, total: int, seconds: float) -> str:
    """Return one line about the progress of long work.

    >>> progress("import", 50, 200, 10)
    'import  ██████··················  50 of 200  25 %  30 s left'
    >>> progress("reindex", 0, 0, 75)
    'reindex  1 min 15 s'
    """
    if not total:
        return f"{words}  {duration(seconds)}"
    share = min(1.0, done / total)
    filled = round(24 * share)
    remaining = f"  {duration(seconds / share - seconds)} left" if 0 < share < 1 else ""
    bar = "█" * filled + "·" * (24 - filled)
    return f"{words}  {bar}  {done:,} of {total:,}  {share:.0%}{remaining}".replace(
        "%", " %"
    )


def duration(seconds: float) -> str:
    """Return a duration in words.

    >>> duration(4.4), duration(75), duration(3700)
    ('4 s', '1 min 15 s', '1 h 2 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
