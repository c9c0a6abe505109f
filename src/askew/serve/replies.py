"""Responses of a served model that report errors or that contain deliberate faults."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping

from starlette.responses import JSONResponse, Response, StreamingResponse

LARGE = 50 * 2**20
"""Size of the response for the fault `large`, in bytes."""

DRIP = 0.05
"""Seconds between consecutive bytes of the response for the fault `drip`."""

FAILURES: Mapping[str, tuple[int, str, str]] = {
    "refuse": (400, "the content filter refused this prompt", "moderation_blocked"),
    "500": (500, "the server failed on purpose", "server_error"),
    "401": (401, "the key is invalid", "invalid_api_key"),
    "quota": (429, "you exceeded your current quota", "insufficient_quota"),
}
"""HTTP status, message and error code for each fault that produces an error response."""


class BadRequest(Exception):
    """Exception for a request that the server does not accept."""


def failure(
    status: int, message: str, code: str | None = None, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """Return an error response in the format of OpenAI's interface."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    error = {"message": message, "type": kind, "param": None, "code": code}
    return JSONResponse({"error": error}, status, headers=headers)


async def fault_in_place(faults: Collection[str]) -> Response | None:
    """Return the response that replaces the normal response; None if no fault requires one."""
    for kind in faults:
        if kind in FAILURES:
            return failure(*FAILURES[kind])
    if "429" in faults:
        return failure(429, "too many requests", headers={"Retry-After": "0.2"})
    if "redirect" in faults:
        return Response(status_code=307, headers={"Location": "http://127.0.0.1:9/v1"})
    if "hang" in faults:
        await asyncio.sleep(3600)
    return None


def damaged(body: bytes, faults: Collection[str]) -> Response:
    """Return a response that contains this body, after applying the faults."""
    if "type" in faults:
        return Response("<!doctype html><title>gateway</title>", media_type="text/html")
    if "large" in faults:
        return Response(b" " * LARGE, media_type="application/json")
    if "half" in faults:
        return Response(body[: len(body) // 2], media_type="application/json")
    if "drip" in faults:
        return StreamingResponse(_drip(body), media_type="application/json")
    return Response(body, media_type="application/json")


async def _drip(body: bytes) -> AsyncIterator[bytes]:
    for number in range(len(body)):
        yield body[number : number + 1]
        await asyncio.sleep(DRIP)
