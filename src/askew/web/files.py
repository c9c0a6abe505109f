"""Files that the app serves: images, attention overlays, and the style sheet."""

from starlette.requests import Request as HTTPRequest
from starlette.responses import Response

from askew.pages import media
from askew.web.opened import MEDIA_TYPES, decoded, intact_bytes
from askew.web.shell import style_sheet
from askew.web.site import Site

SMALL = 160
"""Length in pixels of the longer side of an image's small copy."""

FOREVER = {"cache-control": "private, max-age=31536000, immutable"}
"""Headers for content that never changes.

The address of such content contains a hash of the content.
"""


def style(site: Site, request: HTTPRequest) -> Response:
    """Return the style sheet."""
    return Response(style_sheet(), media_type="text/css", headers=FOREVER)


ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="8" '
    'fill="#b2440a"/><path d="M4 11h8" stroke="#fff" stroke-width="2" '
    'transform="rotate(-18 8 8)"/></svg>'
)


def icon(site: Site, request: HTTPRequest) -> Response:
    """Return the icon of the app."""
    return Response(ICON, media_type="image/svg+xml", headers=FOREVER)


def image(site: Site, request: HTTPRequest) -> Response:
    """Return an image file."""
    file = site.opened.image_file(request.path_params["image"])
    return Response(intact_bytes(file), media_type=MEDIA_TYPES[file.suffix], headers=FOREVER)


def small_image(site: Site, request: HTTPRequest) -> Response:
    """Return a small copy of an image for a gallery."""
    return _copy(site, request, SMALL)


def large_image(site: Site, request: HTTPRequest) -> Response:
    """Return a copy of an image that is large enough to fill a third of the page width."""
    return _copy(site, request, media.LARGE)


def _copy(site: Site, request: HTTPRequest, side: int) -> Response:
    file = site.opened.image_file(request.path_params["image"])
    content = media.small_copy(decoded(file), side)
    return Response(content, media_type="image/webp", headers=FOREVER)


def overlay(site: Site, request: HTTPRequest) -> Response:
    """Return an attention overlay that was drawn and cached when a page was requested."""
    content = site.overlays.get(request.path_params["digest"])
    return Response(content, media_type="image/webp", headers=FOREVER)
