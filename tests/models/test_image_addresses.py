"""Images that servers answer by address: private networks are not reached, and no key is sent."""

from __future__ import annotations

import io
import json
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from PIL import Image

from askew.errors import ServerError
from askew.hosted import KEY_VARIABLE
from askew.models import image_addresses
from askew.models.base import Request
from askew.models.image_addresses import checked_target, fetch_image, is_public
from askew.models.openai import create
from local_server import Reply, replying

SERVER = "https://api.example/v1"
HOST = "images.example"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("askew.hosted.FIRST_PAUSE", 0.01)


def leads_to(monkeypatch: pytest.MonkeyPatch, *numbers: str, port: int = 443) -> None:
    """Let every name lead to some numeric addresses."""
    places = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (number, port)) for number in numbers]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: places)


def picture() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (8, 8), "teal").save(file, "PNG")
    return file.getvalue()


@pytest.mark.parametrize(
    "number",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "fe80::1",
        "fd00::1",
        "fec0::1",
        "::ffff:8.8.8.8",
        "2002:0808:0808::1",
        "64:ff9b::808:808",
    ],
)
def test_addresses_of_private_networks_are_not_public(
    number: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not is_public(number)
    leads_to(monkeypatch, "93.184.216.34", number)
    with pytest.raises(ServerError, match="host is not public"):
        checked_target(f"https://{HOST}/0.png", SERVER)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        (f"http://{HOST}/0.png", "only https addresses on port 443"),
        (f"https://{HOST}:8443/0.png", "only https addresses on port 443"),
        ("file:///etc/passwd", "does not open"),
        ("ftp://host/0.png", "only https"),
        ("data:image/png;base64,AAAA", "does not open"),
        (f"https://user:canary@{HOST}/0.png", "does not open"),
        ("https://[1/0.png", "cannot be parsed"),
        ("https://host:port/0.png", "cannot be parsed"),
        ("https://ıcon.example/0.png", "does not open"),
        (f"https://{HOST}/{'a' * 5000}", "does not open"),
    ],
)
def test_other_addresses_are_refused_with_the_remedy(address: str, words: str) -> None:
    with pytest.raises(ServerError, match=f"{words}.*response_format=b64_json") as caught:
        checked_target(address, SERVER)
    assert "canary" not in str(caught.value)


def test_the_checked_numeric_address_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    leads_to(monkeypatch, "93.184.216.34")
    target = checked_target(f"https://{HOST}/0.png?key=canary", SERVER)
    assert target.url == "https://93.184.216.34:443/0.png?key=canary"
    assert (target.host, target.name) == (HOST, f"https://{HOST}/0.png")
    leads_to(monkeypatch, "2606:4700::1111")
    target = checked_target(f"https://{HOST}/0.png", SERVER)
    assert target.url == "https://[2606:4700::1111]:443/0.png"


def test_the_server_itself_may_answer_its_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "canary-key")
    requests: list[tuple[str, dict[str, str]]] = []

    def reply(path: str, headers: dict[str, str], body: bytes) -> Reply:
        requests.append((path, headers))
        if path.startswith("/files/"):
            return Reply(b"busy", 503) if len(requests) == 2 else Reply(picture())
        content = {"created": 1, "data": [{"url": f"http://{headers['host']}/files/0.png?sig=1"}]}
        return Reply(json.dumps(content).encode(), headers={"Content-Type": "application/json"})

    with replying(reply) as url:
        (image,) = create("m", url=f"{url}/v1").generate([Request("a nurse", 1)])
    assert isinstance(image, Image.Image)
    assert image.getpixel((0, 0)) == (0, 128, 128)
    assert [path for path, _ in requests][1:] == ["/files/0.png?sig=1"] * 2
    assert requests[0][1]["authorization"] == "Bearer canary-key"
    assert all("canary" not in str(headers) for _, headers in requests[1:])


def test_redirects_are_not_followed_and_large_files_are_refused() -> None:
    paths: list[str] = []

    def reply(path: str, headers: dict[str, str], body: bytes) -> Reply:
        paths.append(path)
        if path == "/large":
            return Reply(b"0" * 34_000_000)
        return Reply(b"", 302, headers={"Location": "/secret"})

    with replying(reply) as url:
        with pytest.raises(ServerError, match="redirects to another address"):
            fetch_image(f"{url}/0.png", url)
        with pytest.raises(ServerError, match="more than 32 MB"):
            fetch_image(f"{url}/large", url)
    assert paths == ["/0.png", "/large"]


@pytest.fixture
def public_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], list[dict[str, str]]]]:
    """A host with a certificate that this process trusts, and the headers of its requests."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate")
    options = ["-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={HOST}"]
    options += ["-addext", f"subjectAltName=DNS:{HOST}", "-keyout", "key", "-out", "cert"]
    command = ["openssl", "req", "-x509", *options]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    requests: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(dict(self.headers))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(picture())

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    monkeypatch.setitem(image_addresses.USUAL_PORTS, "https", server.server_port)
    monkeypatch.setattr(image_addresses, "is_public", lambda number: True)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert"))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    leads_to(monkeypatch, "127.0.0.1", port=server.server_port)
    yield lambda: requests
    server.shutdown()


def test_a_public_host_shows_the_certificate_of_its_name(
    public_host: Callable[[], list[dict[str, str]]],
) -> None:
    port = image_addresses.USUAL_PORTS["https"]
    assert fetch_image(f"https://{HOST}:{port}/0.png", SERVER) == picture()
    (headers,) = public_host()
    assert headers["Host"] == HOST
    assert "Authorization" not in headers
    with pytest.raises(ServerError, match="certificate that cannot be verified"):
        fetch_image(f"https://other.example:{port}/0.png", SERVER)
