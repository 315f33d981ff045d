"""The routes of the page: pages, its files, and the forms that change the vault."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
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
from engram.serve.http import result_of
from engram.serve.web.access import OPEN_PATH, SESSION_SECONDS
from engram.serve.web.markup import FILES, STATIC, asset, link, rendered
from engram.serve.web.pages import PAGES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from starlette.requests import Request

    from engram.serve.http import Routes
    from engram.serve.web.access import WebAccess
    from engram.serve.web.pages import Call, Query, Shown

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
KEPT = HEADERS | {"Cache-Control": "private, max-age=31536000, immutable"}
"""The headers of a file whose address changes with its content."""
ACTIONS = {
    "confirm": "Confirmed.",
    "correct": "Corrected.",
    "decide": "Decided.",
    "dispute": "Marked as doubtful.",
    "forget": "Forgotten. It can be restored.",
    "remember": "Remembered.",
    "settle": "Done.",
    "undo": "Undone.",
    "update": "Changed.",
}
"""Operations that a form may name, with the message shown afterwards."""
MOST_FIELDS = 600


@dataclass(frozen=True, slots=True)
class Visit:
    """The request of a page: path, query and form token.

    `done` tells the last action, and `runs` are its runs, by which it can be undone.
    `waiting` is the number of open review cases.
    """

    path: str
    query: Mapping[str, str]
    token: str = ""
    done: str = ""
    runs: Sequence[str] = ()
    waiting: int = 0

    @property
    def here(self) -> str:
        """The address of the page, to which a form returns."""
        return link(self.path, **self.query)


class WebPages:
    """The pages of one server."""

    def __init__(self, answers: Routes, access: WebAccess) -> None:
        self.answers = answers
        self.access = access

    def routes(self) -> list[Route]:
        """Return the routes of the page."""
        *shown, absent = [
            Route(path, self._endpoint(make), methods=["GET"])
            for path, make in PAGES.items()
        ]
        return [
            *shown,
            Route("/web/do", self.act, methods=["POST"]),
            Route(OPEN_PATH, self.open, methods=["GET"]),
            Route(STATIC + "{name}", self.file, methods=["GET"]),
            absent,
        ]

    def _endpoint(
        self, make: Callable[[Call, Query], Shown]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            return await run_in_threadpool(self._shown, make, request)

        return endpoint

    def _shown(
        self, make: Callable[[Call, Query], Shown], request: Request
    ) -> Response:
        waiting = 0
        with suppress(EngramError):
            waiting = len(self.call("review", all=True)["cases"])
        query = dict(request.query_params)
        runs = query.pop("runs", "").split(",")
        visit = Visit(
            request.url.path,
            query,
            self.access.form_token(self.access.session(request.headers.raw)),
            _told(query.pop("done", ""), len(runs)),
            [run for run in runs if run],
            waiting,
        )
        try:
            template, values = make(self.call, query | request.path_params)
        except EngramError as fault:
            return _fault(visit, fault)
        clients = request.app.state.clients.rows
        return _page(template, visit=visit, clients=clients, **values)

    async def open(self, request: Request) -> Response:
        """Begin a session by a link that works once."""
        cookie = self.access.redeem(request.url.query)
        if not cookie:
            raise UnauthorisedError(
                "this link was used or has expired",
                fix="Run `engram web` in a terminal; it opens a new one.",
            )
        # a page with a link: after a redirect from another program, a browser does not
        # send a cookie that is SameSite=Strict
        response = _page("opened.html")
        response.set_cookie(
            self.access.cookie_name,
            cookie,
            max_age=SESSION_SECONDS,
            httponly=True,
            samesite="strict",
        )
        return response

    async def file(self, request: Request) -> Response:
        """Return a file of the page; a browser keeps it under its present address."""
        name = request.path_params["name"]
        if name not in FILES:
            raise NotFoundError("the page has no such file", where=name)
        content, address = asset(name)
        is_present = address.endswith(f"?{request.url.query}")
        return Response(
            content, headers=KEPT if is_present else HEADERS, media_type=FILES[name]
        )

    async def act(self, request: Request) -> Response:
        """Carry out the operation that a form names, and redirect to its page."""
        raw = (await request.body()).decode("utf-8", "replace")
        try:
            fields = parse_qsl(raw, keep_blank_values=True, max_num_fields=MOST_FIELDS)
        except ValueError as fault:
            raise BadRequestError("the form has too many fields") from fault
        session = self.access.session(request.headers.raw)
        if not self.access.is_form_token(session, dict(fields).get("token", "")):
            raise ForbiddenError(
                "the form is not one of this session", fix="Open the page again."
            )
        return await run_in_threadpool(self._act, fields)

    def _act(self, fields: list[tuple[str, str]]) -> Response:
        """Carry out an operation, for each selected id if the form names several."""
        sent = dict(fields)
        back, name = sent.get("back", "/"), sent.get("operation", "")
        if not back.startswith("/") or back.startswith("//") or "\\" in back:
            back = "/"
        results: list[dict[str, Any]] = []
        try:
            if name not in ACTIONS:
                raise BadRequestError("the page has no such action", where=name)
            for arguments in _arguments(name, fields):
                results.append(self.call(name, **arguments))  # noqa: PERF401  # what was done before a fault is told
        except EngramError as fault:
            done = _told(name, len(results)) if results else ""
            return _fault(Visit(back, {}, done=done), fault)
        # undone in the opposite order
        runs = [one["run"] for one in reversed(results) if one.get("run")]
        target, _, query = back.partition("?")
        kept = dict(parse_qsl(query))
        if name in {"correct", "remember"} and results[0].get("id"):
            target, kept = f"/web/memory/{results[0]['id']}", {}
        told = {"done": name, "runs": "" if name == "undo" else ",".join(runs)}
        return RedirectResponse(link(target, **(kept | told)), 303, HEADERS)

    def call(self, name: str, /, **params: Any) -> dict[str, Any]:
        """Carry out an operation for the owner and wait for its result."""
        return result_of(self.answers, name, params, OWNER)


def _arguments(name: str, fields: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return the arguments of each call that a form asks for."""
    kinds = {param.name: param.kind for param in BY_NAME[name].params}
    shared = {
        key: value == "true" if kinds.get(key) == "bool" else value
        for key, value in fields
        if value and key not in {"token", "back", "operation", "id"}
    }
    if "id" not in kinds:
        return [shared]
    ids = [value for key, value in fields if key == "id" and value]
    if not ids:
        raise BadRequestError("nothing is selected", fix="Select one or more.")
    return [shared | {"id": one} for one in ids]


def _told(name: str, times: int) -> str:
    """Return the message after an action that was carried out once or several times."""
    words = ACTIONS.get(name, "")
    return f"{words} ({times})" if words and times > 1 else words


def _page(template: str, status: int = 200, /, **values: Any) -> Response:
    return Response(
        rendered(template, **values),
        status,
        HEADERS,
        media_type="text/html; charset=utf-8",
    )


def _fault(visit: Visit, fault: EngramError) -> Response:
    """Return an error as a page: what happened, where, and how to fix it."""
    return _page("fault.html", fault.status, visit=visit, fault=fault)
