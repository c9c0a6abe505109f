"""A running app over small audits, and requests to it as a browser sends them."""

from __future__ import annotations

import csv
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import askew
import raw_requests
from askew.web.server import WebServer
from raw_requests import Answer

PLANTED: dict[str, Any] = {
    "model": "studio/planted",
    "axes": ["gender", "age"],
    "counterfactuals": "none",
    "embedder": "none",
    "bootstrap_samples": 100,
}


@dataclass
class Browser:
    """A client with the cookie of the owner. Paths are sent exactly as they are given."""

    server: WebServer
    cookie: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.server.port}"

    def send(self, method: str, path: str, body: bytes = b"", **headers: str | None) -> Answer:
        """Send a request. A header that is None is left out."""
        usual: dict[str, str | None] = {"Cookie": self.cookie, "Sec-Fetch-Site": "same-origin"}
        if method == "POST":
            usual["Origin"] = self.origin
        return raw_requests.send(
            f"127.0.0.1:{self.server.port}", method, path, body, usual, headers
        )

    def get(self, path: str, **headers: str | None) -> Answer:
        return self.send("GET", path, **headers)

    def post(self, path: str, fields: dict[str, str], **headers: str | None) -> Answer:
        """Send a form with its token."""
        fields = {"token": self.server.site.session.form_token(path), **fields}
        return self.send("POST", path, urlencode(fields).encode(), **headers)


@contextmanager
def served(folders: Sequence[Path], *, is_read_only: bool = False) -> Iterator[Browser]:
    """Serve runs until the context ends, after all of them were read."""
    server = WebServer(list(folders), port=0, is_read_only=is_read_only)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    for folder in server.site.index.scan():
        server.site.index.read(folder)
    browser = Browser(server)
    entered = browser.send("GET", f"/?t={server.site.session.token}", Sec_Fetch_Site="none")
    browser.cookie = entered.headers["Set-Cookie"].partition(";")[0]
    try:
        yield browser
    finally:
        server.stop()
        thread.join(10)


def make_runs(folder: Path) -> Path:
    """Make an audit of a generated set, a copy of it, and an audit of files with two instruments."""
    runs = folder / "runs"
    first = askew.audit("a photo of a nurse", images=12, run=runs / "nurse", **PLANTED)
    ids = [name for name in first.findings.sets[0].pictures if name]
    with (folder / "labels.csv").open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(["file", "prompt", "gender"])
        for number, name in enumerate(ids):
            file = f"runs/.askew/pictures/{name[:2]}/{name}.png"
            writer.writerow([file, "nurse", "male" if number < 5 else "female"])
    askew.audit(
        model=f"folder/{folder}",
        manifest=folder / "labels.csv",
        vqa="labels,studio",
        model_args={"label": "gender=gender"},
        embedder="none",
        bootstrap_samples=100,
        run=runs / "labeled",
    )
    shutil.copytree(runs / "nurse", runs / "nurse-again")
    return runs
