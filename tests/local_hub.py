"""A Hugging Face Hub on this machine that serves folders with the few answers its client needs."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import huggingface_hub
import pytest
from huggingface_hub import constants


@dataclass
class LocalHub:
    """Repositories by ID. Gated repositories answer 403, unknown ones 404; `paths` lists the
    requests.
    """

    repositories: dict[str, Path] = field(default_factory=dict)
    gated: set[str] = field(default_factory=set)
    paths: list[str] = field(default_factory=list)
    url: str = ""

    def commit(self, name: str) -> str:
        """Return the only commit of a repository."""
        return hashlib.sha1(name.encode()).hexdigest()


@contextmanager
def serve() -> Iterator[LocalHub]:
    """Run a hub that answers until the context ends."""
    hub = LocalHub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub}))
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()


def use(monkeypatch: pytest.MonkeyPatch, url: str, cache: Path) -> None:
    """Make the client of the Hub use `url` and store downloads in `cache`."""
    monkeypatch.setattr(constants, "ENDPOINT", url)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(huggingface_hub.hf_api.api, "endpoint", url)
    monkeypatch.setattr(
        constants,
        "HUGGINGFACE_CO_URL_TEMPLATE",
        url + "/{repo_id}/resolve/{revision}/{filename}",
        raising=False,
    )


class _Handler(BaseHTTPRequestHandler):
    hub: LocalHub

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def log_message(self, *arguments: Any) -> None:
        pass

    def _answer(self, body: bool) -> None:
        path = unquote(urlsplit(self.path).path).strip("/")
        self.hub.paths.append(path)
        is_api = path.startswith("api/models/")
        owner, name, *rest = path.removeprefix("api/models/").split("/")
        repository = f"{owner}/{name}"
        revision = rest[1] if len(rest) > 1 else "main"
        if repository in self.hub.gated:
            return self._fail(403, "GatedRepo")
        if repository not in self.hub.repositories:
            return self._fail(404, "RepoNotFound")
        if revision not in ("main", self.hub.commit(repository)):
            return self._fail(404, "RevisionNotFound")
        if is_api:
            return self._send_json(repository, rest[:1], body)
        return self._send_file(repository, "/".join(rest[2:]), body)

    def _send_json(self, repository: str, kind: list[str], body: bool) -> None:
        folder = self.hub.repositories[repository]
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        names = [path.relative_to(folder).as_posix() for path in files]
        if kind == ["tree"]:
            answer: Any = [
                {"type": "file", "path": name, "size": path.stat().st_size, "oid": _etag(path)}
                for name, path in zip(names, files, strict=True)
            ]
        else:
            siblings = [{"rfilename": name} for name in names]
            answer = {"id": repository, "sha": self.hub.commit(repository), "siblings": siblings}
        self._send(json.dumps(answer).encode(), body, {"Content-Type": "application/json"})

    def _send_file(self, repository: str, name: str, body: bool) -> None:
        path = self.hub.repositories[repository] / name
        commit = self.hub.commit(repository)
        if not path.is_file():
            return self._fail(404, "EntryNotFound", {"X-Repo-Commit": commit})
        return self._send(
            path.read_bytes(), body, {"ETag": f'"{_etag(path)}"', "X-Repo-Commit": commit}
        )

    def _send(self, data: bytes, body: bool, headers: dict[str, str]) -> None:
        self.send_response(200)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(data)

    def _fail(self, status: int, code: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("X-Error-Code", code)
        self.send_header("X-Error-Message", code)
        self.send_header("Content-Length", "0")
        self.end_headers()


def _etag(path: Path) -> str:
    return hashlib.sha1(path.read_bytes()).hexdigest()
