"""Who may see the page: one-time links, the cookie of a session, the token of a form.

`engram web` gets a link through the Unix socket, which only the owner can open. The
link works once and sets a cookie; the cookie and the tokens of its forms are signed
with a key that follows from the token file, so that a restart ends no session and a
deleted token file ends all.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from engram.serve.socket_client import LINK_PATH

if TYPE_CHECKING:
    from collections.abc import Callable

LINK_SECONDS = 300
"""How long a link can be used."""
SESSION_SECONDS = 12 * 60 * 60
MOST_LINKS = 20
OPEN_PATH = "/web/open"
FORM_TYPE = b"application/x-www-form-urlencoded"


def is_page(path: str) -> bool:
    """Whether a path belongs to the page, where the cookie counts."""
    return path == "/" or (path.startswith("/web/") and path != LINK_PATH)


class WebAccess:
    """The links and sessions of one server."""

    def __init__(self, token: str, clock: Callable[[], float] = time.time) -> None:
        self._key = hmac.digest(token.encode(), b"web page", "sha256")
        self._clock = clock
        self._links: dict[str, float] = {}
        name = hashlib.sha256(self._key).hexdigest()[:8]
        self.cookie_name = f"engram-{name}"

    def new_link(self) -> str:
        """Return the path of a link that can be used once, for five minutes."""
        self._forget_old_links()
        while len(self._links) >= MOST_LINKS:
            del self._links[next(iter(self._links))]
        key = secrets.token_urlsafe(32)
        self._links[key] = self._clock() + LINK_SECONDS
        return f"{OPEN_PATH}?key={key}"

    def is_link(self, query: str) -> bool:
        """Whether the query of a link holds a key that can still be used."""
        self._forget_old_links()
        return _key(query) in self._links

    def redeem(self, query: str) -> str:
        """Return the cookie of a new session for the query of a link, or ''."""
        self._forget_old_links()
        if self._links.pop(_key(query), None) is None:
            return ""
        begun = f"{int(self._clock()) + SESSION_SECONDS}.{secrets.token_urlsafe(18)}"
        return f"{begun}.{self._sign(begun)}"

    def session(self, headers: list[tuple[bytes, bytes]]) -> str:
        """Return the cookie of a valid session in the headers of a request, or ''."""
        for key, value in headers:
            if key != b"cookie":
                continue
            try:
                found = SimpleCookie(value.decode("latin-1")).get(self.cookie_name)
            except CookieError:
                continue
            if found and self._is_valid(found.value):
                return found.value
        return ""

    def form_token(self, session: str) -> str:
        """Return the token that each form of a session carries."""
        return self._sign(f"form {session}")

    def is_form_token(self, session: str, token: str) -> bool:
        """Whether a form carries the token of its session."""
        wanted = self.form_token(session).encode()
        return hmac.compare_digest(wanted, token.encode("utf-8", "replace"))

    def _is_valid(self, cookie: str) -> bool:
        begun, _, signature = cookie.rpartition(".")
        signed = hmac.compare_digest(
            self._sign(begun).encode(), signature.encode("utf-8", "replace")
        )
        until = begun.partition(".")[0]
        return signed and until.isdecimal() and self._clock() < int(until)

    def _sign(self, words: str) -> str:
        return hmac.new(
            self._key, words.encode("utf-8", "replace"), "sha256"
        ).hexdigest()

    def _forget_old_links(self) -> None:
        now = self._clock()
        self._links = {key: until for key, until in self._links.items() if now < until}


def _key(query: str) -> str:
    return parse_qs(query).get("key", [""])[-1]
