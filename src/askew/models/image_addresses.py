"""Fetch images for which a server sends only an address, without trusting this address.

A malicious server could send an address inside the user's network, to make askew fetch files that
only the user may read. Therefore askew fetches an image only from the server itself or from a
public host. A public host must use https on the usual port. askew connects to the IP address that
it has checked, because a second lookup of the host name could lead to another address. askew does
not send a key or follow redirects, ignores proxy settings in the environment, and limits the size
and duration of the download. askew opens the file in the same way as any other untrusted image.
"""

import ipaddress
import socket
import ssl
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

import httpx2

from askew.addresses import shown
from askew.errors import ServerError
from askew.hosted import (
    BoundedClient,
    FailedAttempt,
    PermanentFailure,
    doubled_pause,
    pause_after,
    wait_for_attempt,
)

ATTEMPTS = 3
"""Maximum number of attempts to fetch an image."""

SECONDS = 60.0
"""Maximum number of seconds that fetching an image may take."""

LONGEST = 4000
"""Maximum number of characters in an address."""

USUAL_PORTS = {"http": 80, "https": 443}

REMEDY = "request the image itself with -M response_format=b64_json"


@dataclass(frozen=True, slots=True)
class Target:
    """Checked address of an image.

    Attributes
    ----------
    url
        The address to fetch. This address contains the host's IP address unless the host is the
        server itself.
    host
        Name of the host, used to check the host's certificate; None for the server itself.
    name
        The address without secrets, used in messages.
    """

    url: str
    host: str | None
    name: str


def fetch_image(address: str, server: str) -> bytes:
    """Return the content of the file at an address that a server sent.

    Parameters
    ----------
    address
        The file's address, not yet checked.
    server
        Address of the server.

    Raises
    ------
    ServerError
        If askew is not allowed to fetch files from this address, or if there is no file at the
        address.
    """
    target = checked_target(address, server)
    attempt = 1
    while True:
        answer = _attempt(target, attempt)
        if isinstance(answer, bytes):
            return answer
        if answer.pause is None or attempt == ATTEMPTS:
            raise answer.error
        attempt += 1
        wait_for_attempt(attempt, ATTEMPTS, target.name, answer.error.status, answer.pause)


def checked_target(address: str, server: str) -> Target:
    """Check an address that a server sent, and return the target to fetch.

    Raises
    ------
    ServerError
        If the address is neither on the server itself nor a public https address.
    """
    try:
        place = urlsplit(address)
        origin = _origin(place)
    except ValueError as error:
        raise ServerError(f"the server sent an address that cannot be parsed; {REMEDY}") from error
    name = shown(place._replace(query="", fragment="").geturl())
    host = place.hostname or ""
    if len(address) > LONGEST or place.username is not None or not (host and host.isascii()):
        raise ServerError(f"the server sent an address that askew does not open; {REMEDY}")
    if origin == _origin(urlsplit(server)):
        return Target(url=address, host=None, name=name)
    if origin[0] != "https" or origin[2] != USUAL_PORTS["https"]:
        raise ServerError(
            f"the server sent the address {name}, but askew opens only https addresses on port 443 "
            f"and addresses of the server itself; {REMEDY}"
        )
    number = _public_number(host, name)
    netloc = f"[{number}]" if ":" in number else number
    netloc += f":{USUAL_PORTS['https']}"
    return Target(url=place._replace(netloc=netloc).geturl(), host=host, name=name)


def _origin(place: SplitResult) -> tuple[str, str, int]:
    """Return an address's scheme, host and port; raise ValueError if the port is invalid."""
    port = place.port or USUAL_PORTS.get(place.scheme, 0)
    return place.scheme, place.hostname or "", port


def _public_number(host: str, name: str) -> str:
    """Return a host's first numeric address; raise ServerError if any address is not public."""
    try:
        places = socket.getaddrinfo(host, USUAL_PORTS["https"], type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ServerError(f"the host of the address {name} is unknown; {REMEDY}") from error
    numbers = [str(entry[4][0]).partition("%")[0] for entry in places]
    if not numbers or not all(map(is_public, numbers)):
        raise ServerError(
            f"askew does not open the address {name}, because its host is not public; {REMEDY}"
        )
    return numbers[0]


def is_public(number: str) -> bool:
    """Check whether an IP address is on the public internet rather than in a private network.

    The result is False for IPv6 addresses that contain an IPv4 address, because they could lead to
    any network.
    """
    address = ipaddress.ip_address(number)
    if isinstance(address, ipaddress.IPv6Address):
        contains_other = address.ipv4_mapped or address.sixtofour or address.teredo
        if contains_other or address in TRANSLATED or address.is_site_local:
            return False
    return address.is_global and not (address.is_multicast or address.is_reserved)


TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
"""Range of IPv6 addresses that gateways translate to IPv4 addresses."""


def _attempt(target: Target, attempt: int) -> bytes | FailedAttempt:
    """Make one attempt to fetch the file, and return the file's content or the failure."""
    headers = {"Accept-Encoding": "identity"}
    extensions: dict[str, Any] = {}
    if target.host is not None:
        headers["Host"] = target.host
        extensions["sni_hostname"] = target.host
    try:
        with BoundedClient(
            follow_redirects=False,
            trust_env=False,
            timeout=SECONDS,
            verify=ssl.create_default_context(),
        ) as client:
            client.deadline = SECONDS
            answer = client.get(target.url, headers=headers, extensions=extensions)
    except PermanentFailure as error:
        return FailedAttempt(ServerError(f"the image at {target.name}: the host {error}"))
    except httpx2.HTTPError as error:
        fault = ServerError(f"the image at {target.name} cannot be fetched ({error})")
        return FailedAttempt(fault, doubled_pause(attempt))
    if answer.is_success:
        return answer.content
    status = answer.status_code
    fault = ServerError(f"the host of the image at {target.name} answered {status}", status=status)
    if answer.is_redirect:
        fault = ServerError(f"the image at {target.name} redirects to another address; {REMEDY}")
    return FailedAttempt(fault, pause_after(status, answer.headers, attempt))
