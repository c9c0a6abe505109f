"""Check packages, open sockets and choose settings for servers on this machine."""

import socket

from askew.errors import MissingPackage, UsageError

HOST = "127.0.0.1"
"""Address that can be reached only from this machine."""

IDLE_SECONDS = 15
"""Seconds after which an idle connection is closed."""


def check_packages(command: str) -> None:
    """Raise MissingPackage unless the packages of the extra `web` are installed."""
    for package in ("starlette", "uvicorn"):
        MissingPackage.unless_installed(package, "web", f"`{command}`")


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on a port. Port 0 selects a free port.

    Raises
    ------
    UsageError
        If the port cannot be used.
    """
    try:
        return socket.create_server((host, port))
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(
            f"the port {port} of {host} cannot be used ({reason}). Choose another port: --port 0 "
            "takes a free port"
        ) from error


class Listener:
    """A server that runs an app on a listening socket.

    Parameters
    ----------
    app
        The ASGI application that the server runs.
    listening
        The socket.
    **files
        Paths of the certificate and its key, as keyword arguments of uvicorn.
    """

    def __init__(self, app: object, listening: socket.socket, **files: str) -> None:
        import uvicorn

        config = uvicorn.Config(
            app,  # type: ignore[arg-type]
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="off",
            timeout_keep_alive=IDLE_SECONDS,
            **files,  # type: ignore[arg-type]
        )
        self._socket = listening
        self._server: uvicorn.Server = uvicorn.Server(config)

    @property
    def port(self) -> int:
        """The port."""
        return int(self._socket.getsockname()[1])

    def run(self) -> None:
        """Serve until Ctrl-C."""
        try:
            self._server.run(sockets=[self._socket])
        except KeyboardInterrupt:
            return

    def stop(self) -> None:
        """Stop a server that runs in another thread."""
        self._server.should_exit = True
        self._server.force_exit = True
