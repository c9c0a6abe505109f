"""The server of a study: its address, its encryption, and the links of the raters."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from askew.errors import UsageError
from askew.listening import HOST, Listener, listen
from askew.people.folder import StudyFolder
from askew.people.rating.app import RaterApp
from askew.people.rating.state import StudyState


@dataclass(frozen=True)
class Address:
    """Address at which a study is served.

    Attributes
    ----------
    host
        Address of this machine.
    port
        Port; 0 for a free port.
    url
        Address that raters open, behind a reverse proxy; empty without one.
    certificate, key
        Files of the certificate and its key, for encryption by this server.
    is_plain_allowed
        Whether the owner accepts unencrypted connections in a private network.
    """

    host: str = HOST
    port: int = 8788
    url: str = ""
    certificate: Path | None = None
    key: Path | None = None
    is_plain_allowed: bool = False

    def check(self) -> None:
        """Raise UsageError for an address at which answers could be read by others."""
        try:
            address = ipaddress.ip_address(self.host)
        except ValueError as error:
            raise UsageError(
                f"--host {self.host} is not an address of this machine, such as 127.0.0.1"
            ) from error
        if (self.certificate is None) != (self.key is None):
            raise UsageError("a certificate needs both --certfile and --keyfile")
        if address.is_loopback or self.certificate is not None:
            return
        is_private = address.is_private and not address.is_unspecified
        if not is_private:
            raise UsageError(
                f"--host {self.host} can be reached from other networks, so that answers would be "
                "sent unencrypted. Use --certfile and --keyfile, or a reverse proxy with --url"
            )
        if not self.is_plain_allowed:
            raise UsageError(
                f"--host {self.host} sends answers unencrypted through this network. Use "
                "--certfile and --keyfile, or accept it with --i-know-it-is-plain-http"
            )


class StudyServer:
    """A study on a port of this machine.

    Parameters
    ----------
    folder
        The study.
    address
        Its address.

    Raises
    ------
    UsageError
        If the address is not safe, or the port cannot be used.
    """

    def __init__(self, folder: StudyFolder, address: Address) -> None:
        address.check()
        listening = listen(address.host, address.port)
        port = int(listening.getsockname()[1])
        scheme = "http" if address.certificate is None else "https"
        own_hosts = [f"{address.host}:{port}"]
        if ipaddress.ip_address(address.host).is_loopback:
            own_hosts.append(f"localhost:{port}")
        self.url = (address.url or f"{scheme}://{own_hosts[0]}").rstrip("/")
        hosts = frozenset((*own_hosts, urlsplit(self.url).netloc))
        self.app = RaterApp(StudyState(folder), hosts).app()
        files: Mapping[str, str] = {}
        if address.certificate is not None and address.key is not None:
            files = {"ssl_certfile": str(address.certificate), "ssl_keyfile": str(address.key)}
        self._listener = Listener(self.app, listening, **files)

    def link(self, token: str) -> str:
        """Return the link of a rater."""
        return f"{self.url}/s/{token}"

    def run(self) -> None:
        """Serve until Ctrl-C."""
        self._listener.run()

    def stop(self) -> None:
        """End a server that runs in another thread."""
        self._listener.stop()
