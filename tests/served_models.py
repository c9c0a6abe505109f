"""Models behind a local server, in a thread of the test's process."""

from __future__ import annotations

import io
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from PIL import Image

from askew import registry
from askew.models.base import Request
from askew.models.planted import PlantedModel
from askew.serve.app import ImageServer
from askew.serve.faults import Fault
from local_server import Reply


def planted_reply(content: dict[str, Any]) -> Reply:
    """Return the planted image of a request as an endpoint of Hugging Face sends it."""
    seed = content.get("parameters", {}).get("seed", 1)
    (image,) = PlantedModel().generate([Request(content["inputs"], seed)])
    assert isinstance(image, Image.Image)
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return Reply(buffer.getvalue(), headers={"Content-Type": "image/png"})


@dataclass
class ServedModel:
    """A running server with its address and the number of answered image requests."""

    url: str
    bodies: list[bytes] = field(default_factory=list)


@contextmanager
def served(name: str = "studio/planted", *faults: str, **settings: Any) -> Iterator[ServedModel]:
    """Serve a model until the context ends."""
    with served_model(registry.model(name, **settings), *faults, name=name) as local:
        yield local


@contextmanager
def served_model(model: Any, *faults: str, name: str = "m") -> Iterator[ServedModel]:
    """Serve an opened model until the context ends."""
    server = ImageServer(name, model, [Fault.parse(text) for text in faults])
    app = server.app()
    listener = socket.create_server(("127.0.0.1", 0))
    local = ServedModel(f"http://127.0.0.1:{listener.getsockname()[1]}/v1")

    async def counted(scope: Any, receive: Any, send: Any) -> None:
        async def receive_and_keep() -> Any:
            message = await receive()
            if message.get("type") == "http.request":
                local.bodies.append(message["body"])
            return message

        await app(scope, receive_and_keep, send)

    config = uvicorn.Config(counted, log_level="critical", lifespan="off", loop="asyncio")
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, args=([listener],), daemon=True)
    thread.start()
    try:
        yield local
    finally:
        running.should_exit = True
        running.force_exit = True
        thread.join(5)
        listener.close()
