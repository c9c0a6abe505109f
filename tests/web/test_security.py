"""Every route refuses requests of other pages, of other users, and with hostile addresses."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable

import pytest
from starlette.routing import Route

from askew.web.app import routes
from askew.web.gate import POLICY, user_of_connection
from askew.web.session import Session
from askew.web.shell import STYLE_ADDRESS
from web_app import Browser


def run_of(browser: Browser, number: int = 1) -> str:
    return browser.server.site.index.runs(order="name")[number].id


def image_of(browser: Browser) -> str:
    return browser.server.site.index.images_of_run(run_of(browser))[0]


def job_of(browser: Browser) -> str:
    """Return a job that never starts, because a read-only app starts none."""
    jobs = browser.server.site.jobs
    return jobs.add("0" * 16, ["models"], jobs.folder).id


Address = Callable[[Browser], str]

READ: dict[str, Address] = {
    "/": lambda browser: "/",
    "/runs/{run}": lambda browser: f"/runs/{run_of(browser)}",
    "/runs/{run}/images": lambda browser: f"/runs/{run_of(browser)}/images",
    "/runs/{run}/images/{image}": lambda browser: (
        f"/runs/{run_of(browser)}/images/{image_of(browser)}"
    ),
    "/runs/{run}/notes": lambda browser: f"/runs/{run_of(browser)}/notes",
    "/runs/{run}/gaps": lambda browser: f"/runs/{run_of(browser)}/gaps",
    "/runs/{run}/remove": lambda browser: f"/runs/{run_of(browser)}/remove",
    "/compare": lambda browser: f"/compare?run={run_of(browser)}&run={run_of(browser, 2)}",
    "/new": lambda browser: "/new",
    "/jobs": lambda browser: "/jobs",
    "/jobs/{job}": lambda browser: f"/jobs/{job_of(browser)}",
    "/images/{image}": lambda browser: f"/images/{image_of(browser)}",
    "/images/{image}/small": lambda browser: f"/images/{image_of(browser)}/small",
    "/images/{image}/large": lambda browser: f"/images/{image_of(browser)}/large",
    "/overlays/{digest}": lambda browser: (
        f"/overlays/{browser.server.site.overlays.put(b'an overlay')}"
    ),
    "/icon.svg": lambda browser: "/icon.svg",
    STYLE_ADDRESS: lambda browser: STYLE_ADDRESS,
}
"""An address of each GET route that the owner may open."""

WRITE: dict[str, Address] = {
    "/runs/{run}/images/{image}": READ["/runs/{run}/images/{image}"],
    "/runs/{run}/notes": READ["/runs/{run}/notes"],
    "/runs/{run}/remove": READ["/runs/{run}/remove"],
    "/new": READ["/new"],
    "/new/start": lambda browser: "/new/start",
    "/new/preview": lambda browser: "/new/preview",
    "/new/plan.toml": lambda browser: "/new/plan.toml",
    "/jobs/{job}/stop": lambda browser: f"/jobs/{job_of(browser)}/stop",
    "/jobs/{job}/continue": lambda browser: f"/jobs/{job_of(browser)}/continue",
}
"""An address of each POST route."""

FOREIGN: dict[str, tuple[dict[str, str | None], int]] = {
    "no cookie": ({"Cookie": None}, 401),
    "a foreign cookie": ({"Cookie": "askew-1=x; askew-2=y"}, 401),
    "a foreign Origin": ({"Origin": "http://example.org"}, 403),
    "the Origin of another port": ({"Origin": "http://127.0.0.1:1"}, 403),
    "the Origin of a sandbox": ({"Origin": "null"}, 403),
    "a foreign Host": ({"Host": "example.org"}, 421),
    "a Host without the port": ({"Host": "127.0.0.1"}, 421),
    "a cross-site request": ({"Sec_Fetch_Site": "cross-site"}, 403),
    "a same-site request": ({"Sec_Fetch_Site": "same-site"}, 403),
}

HOSTILE = {
    "traversal": ("/../../etc/passwd", 400),
    "encoded traversal": ("/%2e%2e/%2e%2e/etc/passwd", 400),
    "doubly encoded traversal": ("/%252e%252e/etc/passwd", 400),
    "backslashes": ("/..%5c..%5cetc", 400),
    "two slashes": ("//etc/passwd", 400),
    "an over-long path": ("/" + "a" * 5000, 414),
    "an over-long query": ("?q=" + "a" * 5000, 414),
    "NUL": ("/%00", 400),
    "NUL in the query": ("?q=%00", 400),
    "a bidi override": ("/%E2%80%AE", 400),
    "a bidi override in the query": ("?q=%E2%80%AE", 400),
    "a line break": ("?q=%0d%0aSet-Cookie:%20x", 400),
    "invalid UTF-8": ("/%ff", 400),
}


def test_every_route_has_a_row(browser: Browser) -> None:
    listed: dict[str, set[str]] = {"GET": set(), "POST": set()}
    for route in routes(browser.server.site):
        assert isinstance(route, Route)
        assert route.methods is not None
        for method in route.methods - {"HEAD"}:
            listed[method].add(route.path)
    assert listed == {"GET": set(READ), "POST": set(WRITE)}


@pytest.mark.parametrize("route", READ)
def test_the_owner_reads_every_route(browser: Browser, route: str) -> None:
    answer = browser.get(READ[route](browser))
    assert answer.status == 200
    assert answer.headers["Content-Security-Policy"] == POLICY
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "same-origin"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "<script" not in answer.body.decode("latin-1")


@pytest.mark.parametrize("case", FOREIGN)
def test_requests_of_others_are_refused(browser: Browser, case: str) -> None:
    headers, status = FOREIGN[case]
    for route, address in READ.items():
        answer = browser.get(address(browser), **headers)
        assert (route, answer.status) == (route, status)
        assert len(answer.body) < 200
    for route, address in WRITE.items():
        answer = browser.post(address(browser), {}, **headers)
        assert (route, answer.status) == (route, status)


def with_suffix(address: str, suffix: str) -> str:
    """Return an address with an addition to its path or to its query."""
    path, _, query = address.partition("?")
    if suffix.startswith("?"):
        return f"{path}{suffix}&{query}"
    return f"{path}{suffix}?{query}"


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_addresses_are_refused(browser: Browser, case: str) -> None:
    suffix, status = HOSTILE[case]
    for route, address in READ.items():
        answer = browser.get(with_suffix(address(browser), suffix))
        assert (route, answer.status) == (route, status)
    for route, address in WRITE.items():
        answer = browser.post(with_suffix(address(browser), suffix), {})
        assert (route, answer.status) == (route, status)


def test_nothing_is_written_by_get_or_read_by_post(browser: Browser) -> None:
    for route, address in READ.items():
        if route not in WRITE:
            assert (route, browser.post(address(browser), {}).status) == (route, 405)
    for route, address in WRITE.items():
        if route not in READ:
            assert (route, browser.get(address(browser)).status) == (route, 405)


def test_forms_need_their_token(browser: Browser) -> None:
    for route, address in WRITE.items():
        for token in ("", "x", browser.server.site.session.form_token("/other")):
            answer = browser.post(address(browser), {"token": token})
            assert (route, answer.status) == (route, 403)


@pytest.mark.parametrize(
    "path",
    [
        "/images/" + "0" * 64,
        "/images/" + "0" * 63,
        "/images/" + "G" * 64,
        "/images/" + "0" * 64 + ".png",
        "/runs/0000000000000000",
        "/runs/0",
        "/overlays/" + "0" * 64,
        "/report.html",
        "/static/app.css",
    ],
)
def test_unknown_names_are_not_found(browser: Browser, path: str) -> None:
    answer = browser.get(path)
    assert answer.status == 404
    assert "Traceback" not in answer.text


def test_the_address_works_once() -> None:
    session = Session(1)
    token = session.token
    assert session.exchange("x") is None
    cookie = session.exchange(token)
    assert cookie
    assert session.is_owner(cookie)
    assert session.exchange(token) is None
    assert not session.is_owner("")


def test_a_used_address_is_refused(browser: Browser) -> None:
    assert browser.get("/?t=used", Sec_Fetch_Site="none").status == 401


def test_the_system_reports_the_user_of_a_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            user = user_of_connection(client.getsockname()[1], port)
    if sys.platform != "linux":
        assert user is None
    else:
        assert user == os.getuid()


@pytest.mark.skipif(
    not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can act as another user"
)
def test_another_user_of_the_machine_is_refused_with_the_cookie(browser: Browser) -> None:
    port = browser.server.port
    code = (
        "import os, socket, sys\nos.setuid(65534)\ns = socket.socket()\n"
        f"s.connect(('127.0.0.1', {port}))\n"
        f"s.sendall(b'GET / HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\nCookie: '"
        " + sys.argv[1].encode() + b'\\r\\n\\r\\n')\nprint(s.recv(12).decode())"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code, browser.cookie],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "HTTP/1.1 403"
