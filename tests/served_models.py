"""Models behind a local server, in a thread of the test's process."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn

from askew import registry
from askew.serve.app import ImageServer
from askew.serve.faults import Fault


@dataclass
class ServedModel:
    """A running server with its address and the number of answered image requests."""

    url: str
    bodies: list[bytes] = field(default_factory=list)


@contextmanager
def served(name: str = "studio/planted", *faults: str, **settings: Any) -> Iterator[ServedModel]:
    """Serve a model until the context ends."""
    model = registry.model(name, **settings)
    server = ImageServer(name, model, [Fault.parse(text) for text in faults])  # type: ignore[arg-type]
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
