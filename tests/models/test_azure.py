"""`openai/DEPLOYMENT` on servers with the interface of Azure OpenAI, by real local requests."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from PIL import Image

from askew.hosted import AZURE_KEY_VARIABLE, KEY_VARIABLE, OPENAI_KEY_VARIABLE, AzureServer
from askew.models.base import Request
from askew.models.openai import create

VERSION = "2025-04-01-preview"
PATH = f"/openai/deployments/gpt-image/images/generations?api-version={VERSION}"


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (KEY_VARIABLE, OPENAI_KEY_VARIABLE, AZURE_KEY_VARIABLE):
        monkeypatch.delenv(variable, raising=False)


@contextmanager
def azure() -> Iterator[tuple[str, list[tuple[str, dict[str, str]]]]]:
    """Run a server that accepts the path and version of Azure only."""
    received: list[tuple[str, dict[str, str]]] = []
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(buffer, "PNG")
    entry = {"b64_json": base64.b64encode(buffer.getvalue()).decode()}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            received.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
            body = json.dumps({"created": 1, "data": [entry]}).encode()
            self.send_response(200 if self.path == PATH else 404)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", received
        finally:
            server.shutdown()


def test_path_version_and_key_are_those_of_azure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "the-key")
    monkeypatch.setenv("AZURE_OPENAI_AD_TOKEN", "canary-token")
    with azure() as (url, received):
        model = create("gpt-image", url=url, revision="1", api_version=VERSION)
        (image,) = model.generate([Request("a nurse", 1)])
    assert isinstance(image, Image.Image)
    ((path, headers),) = received
    assert path == PATH
    assert headers["api-key"] == "the-key"
    assert "authorization" not in headers
    assert "canary-token" not in str(headers)
    assert model.settings == {}


def test_keys_of_azure_and_openai_go_to_no_other_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(AZURE_KEY_VARIABLE, "canary-key")
    monkeypatch.setenv(OPENAI_KEY_VARIABLE, "canary-key")
    with azure() as (url, received):
        create("gpt-image", url=url, api_version=VERSION).generate([Request("a nurse", 1)])
    assert "canary-key" not in str(received)
    assert "api-key" not in received[0][1]


def test_the_version_of_the_environment_is_for_addresses_of_azure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_VERSION", VERSION)
    resource = "https://name.openai.azure.com"
    kinds = {
        url: isinstance(create("m", url=url).server, AzureServer)
        for url in (resource, f"{resource}/openai/v1", "http://127.0.0.1:1/v1")
    }
    assert list(kinds.values()) == [True, False, False]
