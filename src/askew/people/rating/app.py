"""The web app for raters. The addresses of all pages begin with the rater's secret link.

The app reads only the files of its study. A rater's link is the only credential, so the app needs no
cookies. The secret in the link has 128 bits, and the study stores only its hash. GET requests change
nothing.
"""

from collections.abc import Awaitable, Callable
from importlib import resources
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HTTPRequest
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from askew.errors import AskewError
from askew.people.rating import pages
from askew.people.rating.gate import RaterGate
from askew.people.rating.state import (
    AnswerRefused,
    Progress,
    StudyState,
    checked_answer,
)
from askew.people.records import AnswerRecord
from askew.serve.forms import bounded_body
from askew.serve.replies import BadRequest
from askew.web.files import ICON

ICON_NAME = "icon.svg"

MOST_BYTES = 2**16
"""Maximum size of a submitted form in bytes."""

Page = Callable[[HTTPRequest, Progress, str], Awaitable[Response]]

UNKNOWN = "This link does not work. Ask the person who sent you the link."
BUSY = "Too many requests. Wait a moment, then reload the page."


class RaterApp:
    """The web app for the raters of a study.

    Parameters
    ----------
    state
        State of the study.
    hosts
        Values of the Host header that the app accepts, such as "127.0.0.1:8788".
    """

    def __init__(self, state: StudyState, hosts: frozenset[str]) -> None:
        self._state = state
        self._hosts = hosts

    def routes(self) -> list[Route]:
        """Return all routes. The security test must have a row for each route."""
        return [
            Route("/s/{token}", self._page(self.start), methods=["GET"]),
            Route("/s/{token}", self._page(self.consent), methods=["POST"]),
            Route("/s/{token}/done", self._page(self.done), methods=["GET"]),
            Route("/s/{token}/withdraw", self._page(self.ask_withdrawal), methods=["GET"]),
            Route("/s/{token}/withdraw", self._page(self.withdraw), methods=["POST"]),
            Route("/s/{token}/image/{digest}", self._page(self.image), methods=["GET"]),
            Route("/s/{token}/{item}", self._page(self.question), methods=["GET"]),
            Route("/s/{token}/{item}", self._page(self.answer), methods=["POST"]),
            Route("/static/{name}", self.static, methods=["GET"]),
        ]

    def app(self) -> RaterGate:
        """Return the app, wrapped so that every request is checked."""
        inner = Starlette(routes=self.routes(), exception_handlers={404: self._not_found})
        return RaterGate(inner, self._hosts)

    def _page(self, page: Page) -> Callable[[HTTPRequest], Awaitable[Response]]:
        """Return a request handler that shows a page only to raters with a valid secret link."""

        async def opened(request: HTTPRequest) -> Response:
            token = request.path_params["token"]
            progress = await run_in_threadpool(self._state.progress, token)
            if progress is None:
                return self._message(404, "Unknown link", UNKNOWN)
            # a question may show dozens of images, which a browser loads at once
            if "digest" not in request.path_params and self._state.is_busy(token):
                return self._message(429, "Too many requests", BUSY)
            try:
                return await page(request, progress, token)
            except ClientDisconnect:  # nobody reads the reply
                return Response(status_code=400)
            except BadRequest as error:
                return self._message(400, "The answer could not be read", f"{error}.")
            except AskewError as error:
                return self._message(500, "The answer was not stored", f"{error}. Try again.")

        return opened

    def _message(self, status: int, heading: str, text: str) -> HTMLResponse:
        return HTMLResponse(pages.message(self._state.plan.title, heading, text), status)

    async def _not_found(self, request: HTTPRequest, error: Exception) -> Response:
        return self._message(404, "Not found", "There is no such page.")

    async def start(self, request: HTTPRequest, progress: Progress, token: str) -> Response:
        """Show the first page.

        If the rater has already agreed to take part, redirect to the next question.
        """
        if not progress.rater.consented:
            return HTMLResponse(pages.consent(self._state, progress, token))
        return _to(token, progress.next_item)

    async def consent(self, request: HTTPRequest, progress: Progress, token: str) -> Response:
        """Record that the rater agreed to take part, and redirect to the next question."""
        if not progress.rater.consented:
            await run_in_threadpool(self._state.consent, progress.rater)
        return _to(token, progress.next_item)

    async def question(self, request: HTTPRequest, progress: Progress, token: str) -> Response:
        """Show a question, if it is assigned to the rater."""
        item = self._state.items.get(request.path_params["item"])
        if not progress.rater.consented:
            return RedirectResponse(f"/s/{token}", 303)
        if item is None or item.id not in progress.rater.items:
            return self._message(404, "Not found", "There is no such question.")
        return HTMLResponse(pages.question(self._state, progress, token, item))

    async def answer(self, request: HTTPRequest, progress: Progress, token: str) -> Response:
        """Store an answer, and redirect to the next unanswered question."""
        item = self._state.items.get(request.path_params["item"])
        if item is None or item.id not in progress.rater.items:
            return self._message(404, "Not found", "There is no such question.")
        if not progress.rater.consented:
            return RedirectResponse(f"/s/{token}", 303)
        body = (await bounded_body(request, MOST_BYTES)).decode("utf-8", "replace")
        form = parse_qs(body, max_num_fields=200)
        text = form.get("text", [""])[0].strip() if item.free_text else ""
        try:
            chosen = checked_answer(item, form.get("answer", []), text)
        except AnswerRefused as error:
            fault = f"Your answer was not stored: {error}."
            page = pages.question(self._state, progress, token, item, fault)
            return HTMLResponse(page, 400)
        record = AnswerRecord(
            rater=progress.rater.id,
            item=item.id,
            version=self._state.plan.version,
            answer=chosen,
            text=text,
            seconds=self._state.seconds_since(form.get("shown", [""])[0], item.id),
        )
        await run_in_threadpool(self._state.answer, record)
        answers = {**progress.answers, item.id: record}
        return _to(token, Progress(rater=progress.rater, answers=answers).after(item.id))

    async def done(self, request: HTTPRequest, progress: Progress, token: str) -> Response:
        """Show the last page. If questions are unanswered, redirect to the first page instead."""
        if progress.next_item is not None or not progress.rater.consented:
            return RedirectResponse(f"/s/{token}", 303)
        return HTMLResponse(pages.done(self._state, progress, token))

    async def ask_withdrawal(
        self, request: HTTPRequest, progress: Progress, token: str
    ) -> Response:
        """Show the page that asks whether to delete all of the rater's answers."""
        return HTMLResponse(pages.withdrawal(self._state.plan, token))

    async def withdraw(self, request: HTTPRequest, progress: Progress, token: str) -> Response:
        """Delete all of the rater's answers."""
        await run_in_threadpool(self._state.withdraw, progress.rater)
        return HTMLResponse(pages.withdrawn(self._state.plan))

    async def image(self, request: HTTPRequest, progress: Progress, token: str) -> Response:
        """Return an image, if it belongs to one of the rater's questions."""
        digest = request.path_params["digest"]
        names = (name for name in progress.rater.items if name in self._state.items)
        if not any(digest in self._state.items[name].images for name in names):
            return self._message(404, "Not found", "There is no such image.")
        headers = {"Cache-Control": "private, max-age=86400, immutable"}
        return FileResponse(
            self._state.folder.image(digest), media_type="image/png", headers=headers
        )

    async def static(self, request: HTTPRequest) -> Response:
        """Return the style sheet, the script or the icon."""
        kinds = {"rater.css": "text/css", "rater.js": "text/javascript"}
        name = request.path_params["name"]
        if name == ICON_NAME:
            return Response(ICON, media_type="image/svg+xml")
        if name not in kinds:
            return self._message(404, "Not found", "There is no such file.")
        content = resources.files("askew.people.rating").joinpath(name).read_bytes()
        return Response(content, media_type=kinds[name])


def _to(token: str, item: str | None) -> RedirectResponse:
    return RedirectResponse(f"/s/{token}/{item or 'done'}", 303)
