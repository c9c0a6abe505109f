"""The web app as a Starlette application, with its routes and its error pages."""

import re
import sys
import traceback
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request as HTTPRequest
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from askew.errors import AskewError, UsageError
from askew.web import (
    compare_page,
    files,
    gaps_page,
    images_page,
    jobs_page,
    marks_page,
    new_page,
    removal_page,
    run_page,
    runs_page,
)
from askew.web.sent_form import FormRefused, read_form
from askew.web.shell import STYLE_ADDRESS, message
from askew.web.site import FormHandler, Handler, Site

PATTERNS = {
    "run": r"[0-9a-f]{16}",
    "image": r"[0-9a-f]{64}",
    "digest": r"[0-9a-f]{64}",
    "job": r"[0-9a-f]{16}",
}
"""Regular expressions that the variable parts of paths must match. Other paths do not exist."""

GET_ROUTES: dict[str, Handler] = {
    "/": runs_page.runs_page,
    "/runs/{run}": run_page.run_page,
    "/runs/{run}/notes": marks_page.notes_page,
    "/runs/{run}/gaps": gaps_page.gaps_page,
    "/runs/{run}/remove": removal_page.removal_page,
    "/runs/{run}/images": images_page.images_page,
    "/runs/{run}/images/{image}": images_page.image_page,
    "/new": new_page.new_page,
    "/jobs": jobs_page.jobs_page,
    "/jobs/{job}": jobs_page.job_page,
    "/compare": compare_page.compare_page,
    "/images/{image}": files.image,
    "/images/{image}/small": files.small_image,
    "/images/{image}/large": files.large_image,
    "/overlays/{digest}": files.overlay,
    "/icon.svg": files.icon,
    STYLE_ADDRESS: files.style,
}
"""Functions that return pages and files, keyed by path."""

FORM_ROUTES: dict[str, FormHandler] = {
    "/runs/{run}/images/{image}": marks_page.mark_image,
    "/runs/{run}/notes": marks_page.write_note,
    "/runs/{run}/remove": removal_page.remove_run,
    "/new": new_page.new_step,
    "/new/start": new_page.start_run,
    "/new/preview": new_page.preview_run,
    "/new/plan.toml": new_page.save_plan,
    "/jobs/{job}/stop": jobs_page.stop_job,
    "/jobs/{job}/continue": jobs_page.continue_job,
}
"""Functions that process submitted forms, keyed by path."""

Endpoint = Callable[[HTTPRequest], Awaitable[Response]]

READ_ONLY = "The app was started with --read-only, so it changes nothing on disk."
MISSING = "There is no such page."
UNEXPECTED = (
    "askew could not make this page because of an internal error. The terminal of `askew serve` shows "
    "the error. Other pages are not affected."
)


def application(site: Site) -> Starlette:
    """Return the app. `gate.Gate` adds the security checks.

    Parameters
    ----------
    site
        Objects that all pages of the app share.
    """
    handlers: dict[Any, Callable[..., Response]] = {HTTPException: _http_error}
    return Starlette(routes=routes(site), exception_handlers=handlers)


def routes(site: Site) -> Sequence[BaseRoute]:
    """Return all routes."""
    paths = [_get(path, handler, site) for path, handler in GET_ROUTES.items()]
    return [*paths, *(_post(path, handler, site) for path, handler in FORM_ROUTES.items())]


def _get(path: str, handler: Handler, site: Site) -> Route:
    async def answer(request: HTTPRequest) -> Response:
        if not _are_valid(request.path_params):
            return message("Not found", MISSING, 404)
        return await run_in_threadpool(_answered, handler, site, request)

    return Route(path, answer, methods=["GET"])


def _post(path: str, handler: FormHandler, site: Site) -> Route:
    async def answer(request: HTTPRequest) -> Response:
        try:
            form = await read_form(request, site.session)
        except FormRefused as error:
            return message("The form was refused", _sentence(error), error.status)
        if not _are_valid(request.path_params):
            return message("Not found", MISSING, 404)
        if site.is_read_only:
            return message("Read-only", READ_ONLY, 403)

        def carry_out(site: Site, request: HTTPRequest) -> Response:
            return handler(site, request, form)

        return await run_in_threadpool(_answered, carry_out, site, request)

    return Route(path, answer, methods=["POST"])


def _are_valid(parts: dict[str, Any]) -> bool:
    """Check whether the variable parts of a path match their patterns."""
    return all(re.fullmatch(PATTERNS[name], str(text)) for name, text in parts.items())


def _answered(handler: Handler, site: Site, request: HTTPRequest) -> Response:
    """Return a handler's response.

    If the handler raises an error, return an error page.
    """
    try:
        return handler(site, request)
    except LookupError as error:
        return message("Not found", _sentence(error.args[0] if error.args else MISSING), 404)
    except UsageError as error:
        return message("This cannot be shown", _sentence(error), 409)
    except (AskewError, OSError) as error:
        return message("This cannot be shown", _sentence(error), 500)
    except Exception:
        traceback.print_exc(file=sys.stderr)
        return message("Error", UNEXPECTED, 500)


def _sentence(error: object) -> str:
    text = str(error).strip() or MISSING
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _http_error(request: HTTPRequest, error: HTTPException) -> Response:
    texts = {404: MISSING, 405: "This address does not accept this kind of request."}
    return message("Not found", texts.get(error.status_code, error.detail), error.status_code)
