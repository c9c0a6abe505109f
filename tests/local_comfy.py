"""A local server with ComfyUI's interface, which draws planted images and shows chosen faults."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from PIL import Image

from askew.models.base import Request
from askew.models.planted import PlantedModel
from local_server import Reply, replying

WORKFLOW = Path(__file__).with_name("comfy_workflow.json")

Fault = Callable[[str, int], Reply | None]
"""A function from a path and the number of the request to a reply in place of the usual one."""


@dataclass
class LocalComfy:
    """A running server with its address, its queued workflows and all requests."""

    url: str
    fault: Fault
    unfinished: int = 1
    workflows: list[dict[str, Any]] = field(default_factory=list)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    polls: dict[str, int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def reply(self, path: str, headers: dict[str, str], body: bytes) -> Reply:
        """Return the reply to a request."""
        with self.lock:
            self.requests.append((path, headers))
            number = len(self.requests)
        place = urlsplit(path)
        faulty = self.fault(place.path, number)
        if faulty is not None:
            return faulty
        if place.path == "/prompt":
            return self._queue(json.loads(body)["prompt"])
        if place.path.startswith("/history/"):
            return self._history(place.path.removeprefix("/history/"))
        name = parse_qs(place.query)["filename"][0]
        return Reply(self._drawn(int(name.split(".")[0])))

    def _queue(self, workflow: dict[str, Any]) -> Reply:
        if not isinstance(workflow["3"]["inputs"]["seed"], int):
            error = {"error": {"type": "prompt_outputs_failed_validation", "message": "bad seed"}}
            return Reply(json.dumps(error).encode(), 400)
        with self.lock:
            self.workflows.append(workflow)
            number = str(len(self.workflows) - 1)
        return Reply(json.dumps({"prompt_id": number, "number": 1, "node_errors": {}}).encode())

    def _history(self, number: str) -> Reply:
        with self.lock:
            self.polls[number] = self.polls.get(number, 0) + 1
            if self.polls[number] <= self.unfinished:
                return Reply(b"{}")
        image = {"filename": f"{number}.png", "subfolder": "", "type": "output"}
        entry = {
            "outputs": {"9": {"images": [image]}},
            "status": {"status_str": "success", "completed": True, "messages": []},
        }
        return Reply(json.dumps({number: entry}).encode())

    def _drawn(self, number: int) -> bytes:
        nodes = self.workflows[number]
        request = Request(nodes["6"]["inputs"]["text"], nodes["3"]["inputs"]["seed"])
        (image,) = PlantedModel().generate([request])
        assert isinstance(image, Image.Image)
        buffer = io.BytesIO()
        image.save(buffer, "PNG")
        return buffer.getvalue()


@contextmanager
def comfy(fault: Fault = lambda path, number: None) -> Iterator[LocalComfy]:
    """Run a server until the context ends."""
    with replying(lambda *request: local.reply(*request)) as address:
        local = LocalComfy(address, fault)
        yield local
