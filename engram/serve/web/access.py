"""Access to the page: one-time links, session cookies, form tokens.

`engram web` gets a link through the Unix socket, which only the owner can open. The
link works once and sets a cookie. The cookie and the tokens of its forms are signed
with a key derived from the token file: sessions survive a restart, and end when the
token file is deleted.
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
"""Seconds for which a link is valid."""
SESSION_SECONDS = 12 * 60 * 60
MOST_LINKS = 20
OPEN_PATH = "/web/open"
FORM_TYPE = b"application/x-www-form-urlencoded"


def is_page(path: str) -> bool:
    """Return whether a path belongs to the page, which uses the cookie."""
    is_below = path.startswith("/web/") and path != LINK_PATH
    return path in {"/", "/web"} or is_below


class WebAccess:
    """The links and sessions of one server."""

    def __init__(self, token: str, clock: Callable[[], float] = time.time) -> None:
        self._key = hmac.digest(token.encode(), b"web page", "sha256")
        self._clock = clock
        self._links: dict[str, float] = {}
        name = hashlib.sha256(self._key).hexdigest()[:8]
        self.cookie_name = f"engram-{name}"

    def new_link(self) -> str:
        """Return the path of a link that can be used once, within five minutes."""
        self._forget_old_links()
        while len(self._links) >= MOST_LINKS:
            del self._links[next(iter(self._links))]
        key = secrets.token_urlsafe(32)
        self._links[key] = self._clock() + LINK_SECONDS
        return f"{OPEN_PATH}?key={key}"

    def is_link(self, query: str) -> bool:
        """Return whether the query of a link has a valid key."""
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
        """Return the token for the forms of a session."""
        return self._sign(f"form {session}")

    def is_form_token(self, session: str, token: str) -> bool:
        """Return whether a form token is that of its session."""
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
