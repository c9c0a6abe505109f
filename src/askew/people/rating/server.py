"""The server through which raters answer a study's questions, and its connection settings."""

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
        Network address of this machine on which the server listens.
    port
        Port of the server; 0 for any free port.
    url
        Address of a reverse proxy, through which raters reach the server; empty if there is none.
    certificate, key
        Files with the TLS certificate and its key; None if the server does not encrypt connections
        itself.
    is_plain_allowed
        Whether unencrypted connections are accepted in a private network.
    """

    host: str = HOST
    port: int = 8788
    url: str = ""
    certificate: Path | None = None
    key: Path | None = None
    is_plain_allowed: bool = False

    def check(self) -> None:
        """Raise UsageError if other people could intercept answers sent to this address."""
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
                f"--host {self.host} can be reached from other networks, and answers would be sent "
                "there unencrypted. Use --certfile and --keyfile, or a reverse proxy with --url"
            )
        if not self.is_plain_allowed:
            raise UsageError(
                f"--host {self.host} sends answers unencrypted through this network. Use "
                "--certfile and --keyfile, or accept this with --i-know-it-is-plain-http"
            )


class StudyServer:
    """Server for the web app in which raters answer a study's questions.

    Parameters
    ----------
    folder
        The study.
    address
        Address at which the study is served.

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
        """Return the link of the rater who has this secret."""
        return f"{self.url}/s/{token}"

    def run(self) -> None:
        """Serve until Ctrl-C."""
        self._listener.run()

    def stop(self) -> None:
        """Stop a server that runs in another thread."""
        self._listener.stop()
