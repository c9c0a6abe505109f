"""Every route of the rater app refuses other hosts, other pages, and other raters' secrets."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from askew.errors import UsageError
from askew.people.folder import StudyFolder
from askew.people.rating.app import RaterApp
from askew.people.rating.gate import POLICY
from askew.people.rating.server import Address
from askew.people.rating.state import MOST_REQUESTS, StudyState
from study_folders import RaterClient, links_of, served, small_study

RouteAddress = Callable[[StudyFolder, str], str]


def item_of(study: StudyFolder) -> str:
    return study.raters()[0].items[0]


def image_of(study: StudyFolder) -> str:
    first = next(name for name in study.raters()[0].items if name.startswith("i"))
    return study.items[first].images[0]


ROUTES: dict[tuple[str, str], RouteAddress] = {
    ("GET", "/s/{token}"): lambda study, token: f"/s/{token}",
    ("POST", "/s/{token}"): lambda study, token: f"/s/{token}",
    ("GET", "/s/{token}/done"): lambda study, token: f"/s/{token}/done",
    ("GET", "/s/{token}/withdraw"): lambda study, token: f"/s/{token}/withdraw",
    ("POST", "/s/{token}/withdraw"): lambda study, token: f"/s/{token}/withdraw",
    ("GET", "/s/{token}/image/{digest}"): lambda study, token: (
        f"/s/{token}/image/{image_of(study)}"
    ),
    ("GET", "/s/{token}/{item}"): lambda study, token: f"/s/{token}/{item_of(study)}",
    ("POST", "/s/{token}/{item}"): lambda study, token: f"/s/{token}/{item_of(study)}",
    ("GET", "/static/{name}"): lambda study, token: "/static/rater.css",
}
"""An address of each route."""

REFUSED: dict[str, tuple[dict[str, str | None], int]] = {
    "a foreign Host": ({"Host": "example.org"}, 421),
    "a Host without the port": ({"Host": "127.0.0.1"}, 421),
    "an address that is too long": ({}, 414),
}
REFUSED_FORMS: dict[str, tuple[dict[str, str | None], int]] = {
    "a foreign Origin": ({"Origin": "http://example.org"}, 403),
    "a cross-site request": ({"Sec_Fetch_Site": "cross-site"}, 403),
    "a sandbox": ({"Origin": "null", "Sec_Fetch_Site": "cross-site"}, 403),
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    return small_study(tmp_path_factory.mktemp("gate") / "study", raters=4)


@pytest.fixture(scope="module")
def client(study: StudyFolder) -> Iterator[RaterClient]:
    with served(study) as opened:
        yield opened


@pytest.fixture
def token(study: StudyFolder) -> str:
    return links_of(study)["r001"]


def test_each_route_has_a_row(study: StudyFolder) -> None:
    routes = RaterApp(StudyState(study), frozenset()).routes()
    methods = {
        (method, route.path) for route in routes for method in (route.methods or set()) - {"HEAD"}
    }
    assert methods == set(ROUTES)


@pytest.mark.parametrize("route", ROUTES, ids=" ".join)
def test_routes_refuse_other_pages_hosts_and_addresses(
    route: tuple[str, str], client: RaterClient, study: StudyFolder, token: str
) -> None:
    method, pattern = route
    address = ROUTES[route](study, token)
    before = (study.path / "raters.jsonl").read_bytes()
    for name, (headers, status) in (REFUSED | (REFUSED_FORMS if method == "POST" else {})).items():
        target = address + "?" + "x" * 5000 if "too long" in name else address
        answer = client.send(method, target, **headers)
        assert answer.status == status, name
        assert answer.headers["Content-Security-Policy"] == POLICY
        assert answer.headers["Referrer-Policy"] == "no-referrer"
    for hostile in (
        f"{address}/../x",
        f"{address}%00",
        f"{address}%E2%80%AE",
        f"{address}/%2e%2e/x",
    ):
        assert client.send(method, hostile).status in (400, 404, 405)
    if "{token}" in pattern:
        assert client.send(method, address.replace(token, "0" * 32)).status == 404
    assert (study.path / "raters.jsonl").read_bytes() == before


@pytest.mark.parametrize("name", ["..%2fstudy.toml", "study.toml", "0" * 64, "x"])
def test_only_images_of_the_rater_are_read(name: str, client: RaterClient, token: str) -> None:
    assert client.get(f"/s/{token}/image/{name}").status in (400, 404)
    assert client.get(f"/static/{name}").status in (400, 404)


def test_a_script_that_sends_too_many_requests_is_refused(study: StudyFolder) -> None:
    state = StudyState(study)
    busy = [state.is_busy("token") for _ in range(MOST_REQUESTS + 5)]
    assert busy == [False] * MOST_REQUESTS + [True] * 5
    assert not state.is_busy("another token")


def test_all_images_of_a_question_are_sent_at_once(
    client: RaterClient, study: StudyFolder, token: str
) -> None:
    address = f"/s/{token}/image/{image_of(study)}"
    statuses = [client.get(address).status for _ in range(2 * MOST_REQUESTS)]
    assert set(statuses) == {200}


def test_secrets_are_not_stored(study: StudyFolder) -> None:
    tokens = links_of(study)
    content = b"".join(file.read_bytes() for file in study.path.glob("*.*l"))
    assert len(set(tokens.values())) == len(tokens)
    assert all(len(secret) == 32 and secret.encode() not in content for secret in tokens.values())


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (Address(host="0.0.0.0"), "unencrypted"),
        (Address(host="8.8.8.8", is_plain_allowed=True), "unencrypted"),
        (Address(host="192.168.0.7"), "--i-know-it-is-plain-http"),
        (Address(host="example.org"), "not an address"),
    ],
)
def test_addresses_without_encryption_are_refused(address: Address, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        address.check()
    Address(host="192.168.0.7", is_plain_allowed=True).check()
