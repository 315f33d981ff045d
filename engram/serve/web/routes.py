"""The routes of the page: each calls operations and shows their results."""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import suppress
from datetime import datetime
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from engram.core.trust import OWNER
from engram.errors import (
    BadRequestError,
    EngramError,
    ForbiddenError,
    NotFoundError,
    UnauthorisedError,
)
from engram.operations.table import BY_NAME
from engram.serve.web import memory, overview, review, search
from engram.serve.web.access import OPEN_PATH, SESSION_SECONDS
from engram.serve.web.html import Html, join, tag
from engram.serve.web.layout import STATIC, Visit, button, link, page, title

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.requests import Request

    from engram.serve.http import Routes
    from engram.serve.web.access import WebAccess

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; "
    "style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
FILES = {
    "style.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""The files of the page, with their media types."""
HITS, ROWS, RUNS = 20, 60, 10
FORECAST_DAYS = 365
ACTIONS = {
    "decide": "Decided.",
    "undo": "The run was undone.",
    "update": "Changed.",
    "forget": "Forgotten. It can be restored.",
    "confirm": "Confirmed.",
    "dispute": "Marked as doubtful.",
    "correct": "Corrected.",
    "settle": "Done.",
}
"""Operations that a form may name, with the message shown afterwards."""
MOST_FIELDS = 20


class WebPages:
    """The pages of one server."""

    def __init__(self, answers: Routes, access: WebAccess) -> None:
        self.answers = answers
        self.access = access
        folder = resources.files("engram.serve.web") / "static"
        self._files = {name: (folder / name).read_bytes() for name in FILES}

    def routes(self) -> list[Route]:
        """Return the routes of the page."""
        pages: dict[str, Callable[[Visit], str]] = {
            "/": self.search,
            "/web/timeline": self.timeline,
            "/web/review": self.review,
            "/web/people": self.people,
            "/web/entity": self.entity,
            "/web/graph": self.graph,
            "/web/health": self.health,
            "/web/conversation": self.conversation,
            "/web/memory/{id:path}": self.memory,
        }
        shown = [
            Route(path, self._endpoint(make), methods=["GET"])
            for path, make in pages.items()
        ]
        return [
            *shown,
            Route("/web/do", self.act, methods=["POST"]),
            Route(OPEN_PATH, self.open, methods=["GET"]),
            Route(STATIC + "{name}", self.file, methods=["GET"]),
            Route("/web/{rest:path}", self._endpoint(_no_page), methods=["GET"]),
        ]

    # -- requests ----------------------------------------------------------------------

    def _endpoint(
        self, make: Callable[[Visit], str]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            return await run_in_threadpool(self._shown, make, request)

        return endpoint

    def _shown(self, make: Callable[[Visit], str], request: Request) -> Response:
        session = self.access.session(request.headers.raw)
        query = {**dict(request.query_params), **request.path_params}
        waiting = 0
        with suppress(EngramError):
            waiting = len(self.call("review", {"all": True})["cases"])
        visit = Visit(request.url.path, query, self.access.form_token(session))
        visit = Visit(visit.path, query, visit.token, _done(visit), waiting)
        try:
            return _page(make(visit))
        except EngramError as fault:
            return _page(_fault_page(visit, fault), fault.status)

    async def open(self, request: Request) -> Response:
        """Begin a session by a link that works once."""
        cookie = self.access.redeem(request.url.query)
        if not cookie:
            raise UnauthorisedError("this link was used or has expired")
        # a page with a link: after a redirect from another program, a browser does not
        # send a cookie that is SameSite=Strict
        head = join(
            tag("meta", http_equiv="refresh", content="0;url=/"),
            tag("link", rel="icon", href=f"{STATIC}icon.svg", type="image/svg+xml"),
        )
        body = tag("p", tag("a", "Open your memory", href="/"))
        response = _page(f"<!doctype html>\n{join(head, body)}")
        response.set_cookie(
            self.access.cookie_name,
            cookie,
            max_age=SESSION_SECONDS,
            httponly=True,
            samesite="strict",
        )
        return response

    async def file(self, request: Request) -> Response:
        """Return a file of the page."""
        name = request.path_params["name"]
        if name not in FILES:
            raise NotFoundError("the page has no such file", where=name)
        return Response(self._files[name], media_type=FILES[name], headers=HEADERS)

    async def act(self, request: Request) -> Response:
        """Carry out the operation that a form names, and redirect to its page."""
        raw = (await request.body()).decode("utf-8", "replace")
        try:
            fields = dict(
                parse_qsl(raw, keep_blank_values=True, max_num_fields=MOST_FIELDS)
            )
        except ValueError as fault:
            raise BadRequestError("the form has too many fields") from fault
        session = self.access.session(request.headers.raw)
        if not self.access.is_form_token(session, fields.pop("token", "")):
            raise ForbiddenError(
                "the form is not one of this session", fix="Open the page again."
            )
        return await run_in_threadpool(self._act, fields)

    def _act(self, fields: dict[str, str]) -> Response:
        back, name = fields.pop("back", "/"), fields.pop("operation", "")
        if not back.startswith("/") or back.startswith("//") or "\\" in back:
            back = "/"
        visit = Visit(back, {}, "")
        try:
            if name not in ACTIONS:
                raise BadRequestError("the page has no such action", where=name)
            result = self.call(name, _arguments(name, fields))
        except EngramError as fault:
            return _page(_fault_page(visit, fault), fault.status)
        more = {"run": result["run"]} if name == "decide" and result.get("run") else {}
        target, _, query = back.partition("?")
        kept = dict(parse_qsl(query))
        if name == "correct" and result.get("id"):
            target, kept = f"/web/memory/{result['id']}", {}
        return RedirectResponse(
            link(target, **(kept | {"done": name} | more)), 303, HEADERS
        )

    def call(self, name: str, params: dict[str, Any]) -> dict[str, Any]:
        """Carry out an operation for the owner and wait for its result."""
        result = self.answers.call(name, params, OWNER)
        return result.result() if isinstance(result, Future) else result

    # -- pages -------------------------------------------------------------------------

    def search(self, visit: Visit) -> str:
        """Return the hits of a question; without a question, the first page."""
        asked = visit.query.get("q", "").strip()
        if not asked:
            listed = self.call("list", {"limit": 12, "all_personas": True})
            promises = self.call("todos", {"all_personas": True})["todos"]
            return search.start_page(visit, promises, listed)
        arguments = {
            "query": asked,
            "k": HITS,
            "explain": True,
            "all_personas": True,
            "archive": bool(visit.query.get("archive")),
        }
        if preset := visit.query.get("preset"):
            arguments["preset"] = preset
        return search.search_page(visit, self.call("recall", arguments))

    def timeline(self, visit: Visit) -> str:
        """Return the memories by day."""
        today = datetime.now().astimezone().date()
        last = overview.last_day(visit.query, today)
        everything = self.call("timeline", {"all_personas": True})["days"]
        first = overview.first_day(last).isoformat()
        days = {
            name: number
            for name, number in everything.items()
            if first <= name <= last.isoformat()
        }
        arguments: dict[str, Any] = {"limit": ROWS, "all_personas": True}
        chosen = visit.query.get("day")
        if chosen:
            arguments |= {"since": chosen, "until": chosen}
        elif visit.query.get("year"):
            arguments["until"] = last.isoformat()
        if after := visit.query.get("after"):
            arguments["after"] = after
        listed = self.call("list", arguments | {"status": "active"})
        counted = {"days": days, "total": sum(days.values()), "all": everything}
        return overview.timeline_page(visit, counted, listed, last)

    def review(self, visit: Visit) -> str:
        """Return the open cases and the latest runs."""
        cases = self.call("review", {"all": True})["cases"]
        return review.review_page(
            visit, cases, self.call("runs", {"last": RUNS})["runs"]
        )

    def people(self, visit: Visit) -> str:
        """Return people, places and things."""
        found = self.call("entities", {"all_personas": True})
        return overview.people_page(visit, found["entities"])

    def entity(self, visit: Visit) -> str:
        """Return the card of one person, place or thing."""
        name = visit.query.get("name", "")
        found = self.call("entities", {"name": name, "all_personas": True})
        (row,) = found["entities"]
        arguments = {"about": row["name"], "limit": ROWS, "all_personas": True}
        if after := visit.query.get("after"):
            arguments["after"] = after
        shown = self.call("show", {"id": row["name"]})
        return memory.entity_page(visit, row, shown, self.call("list", arguments))

    def memory(self, visit: Visit) -> str:
        """Return a memory, the conversation of a turn, or the card of an entity."""
        name = visit.query["id"]
        shown = self.call("show", {"id": name, "forecast": FORECAST_DAYS})
        if "memory" in shown:
            exact = {"id": shown["memory"]["id"]}
            versions = self.call("history", exact)["versions"]
            return memory.memory_page(visit, shown, self.call("why", exact), versions)
        if "entity" in shown:
            query = {**visit.query, "name": shown["entity"]["name"]}
            return self.entity(
                Visit(visit.path, query, visit.token, visit.done, visit.waiting)
            )
        return memory.note_page(visit, name, shown)

    def conversation(self, visit: Visit) -> str:
        """Return the turns of one stretch of a conversation."""
        arguments = {"id": visit.query.get("id", ""), "all_personas": True}
        return memory.conversation_page(visit, self.call("session", arguments))

    def graph(self, visit: Visit) -> str:
        """Return the neighbourhood of a memory or an entity."""
        name = visit.query.get("of", "")
        found = self.call(
            "neighbours", {"id": name, "limit": 120, "all_personas": True}
        )
        return memory.graph_page(visit, name, found)

    def health(self, visit: Visit) -> str:
        """Return the state of the daemon, the queue and the model.

        The files are checked only on request, because that reads the whole folder.
        """
        checks = visit.query.get("check")
        return overview.health_page(
            visit,
            self.call("status", {}),
            self.call("doctor", {}) if checks else None,
            self.call("runs", {"last": 1})["runs"],
        )


def _no_page(visit: Visit) -> str:
    raise NotFoundError("there is no such page", where=visit.path)


def _arguments(name: str, fields: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a form as the arguments of an operation."""
    kinds = {param.name: param.kind for param in BY_NAME[name].params}
    return {
        key: value == "true" if kinds.get(key) == "bool" else value
        for key, value in fields.items()
        if value != ""
    }


def _done(visit: Visit) -> Html:
    """Return the last action, with a button that undoes it."""
    words = ACTIONS.get(visit.query.get("done", ""))
    if not words:
        return Html("")
    run = visit.query.get("run", "")
    undo = button(visit, "Undo", "undo", key="u", id=run) if run else None
    return tag("div", tag("span", words), undo, class_="done", role="status")


def _page(text: str, status: int = 200) -> Response:
    return Response(
        text.encode("utf-8", "replace"),
        status,
        HEADERS,
        media_type="text/html; charset=utf-8",
    )


def _fault_page(visit: Visit, fault: EngramError) -> str:
    """Return an error as a page: what happened, where, and how to fix it."""
    return page(
        "Error",
        visit,
        title(fault.what[:1].upper() + fault.what[1:]),
        tag("p", tag("code", fault.where)) if fault.where else None,
        tag("p", fault.fix) if fault.fix else None,
        tag("p", tag("a", "Back to the search", href="/")),
    )
