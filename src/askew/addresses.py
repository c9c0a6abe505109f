"""Server addresses. askew never stores a user name, password or key that an address contains.

Settings are stored in plans, results and reports, and command-line options remain in the shell's
history. Therefore a setting must not contain a secret. By contrast, an address in an environment
variable may contain secrets.
"""

import base64
import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, unquote, urlsplit

from askew.errors import UsageError

HARMLESS = ("api-version", "api_version", "version")
"""Names of query parameters whose values are not secret."""

KEYS_IN_ENVIRONMENT = (
    "put the key into the environment variable ASKEW_API_KEY. For an address that needs a password "
    "or a query string, put the address into ASKEW_MODEL_URL, ASKEW_VQA_URL or ASKEW_LLM_URL, and "
    "omit the option"
)
"""Advice for users whose address contains a secret."""

_LOGIN = re.compile(r"(?<=//)[^\s\"'<>]*@")
"""Pattern for the user name and password of an address within a text.

The password may contain a slash.
"""


def check_address(name: str, value: object) -> None:
    """Check that a setting is not an address with a user name, a password or a key.

    Parameters
    ----------
    name
        Name of the setting. The value of a setting named `url` is always treated as an address.
    value
        Value of the setting.

    Raises
    ------
    UsageError
        If the value is an address with credentials, a fragment, or query parameters that are not in
        `HARMLESS`. The message does not contain the value.
    """
    if not isinstance(value, str):
        return
    is_address = value.startswith(("http://", "https://")) or name.rpartition(":")[2] == "url"
    if not is_address:
        return
    part = _secret_part(value)
    if part:
        raise UsageError(
            f"the address in {name} contains {part}, which plans and reports would show; "
            f"{KEYS_IN_ENVIRONMENT}"
        )


def check_addresses(settings: Mapping[str, object]) -> None:
    """Check all settings with `check_address`."""
    for name, value in settings.items():
        check_address(name, value)


def _secret_part(address: str) -> str:
    """Describe the part of an address that may be secret; "" if there is no such part."""
    if "@" in address:
        return "a name or a password"
    _, _, query = address.partition("?")
    query, _, fragment = query.partition("#")
    if fragment or "#" in address:
        return "a fragment (#)"
    names = [name for name, _ in parse_qsl(query, keep_blank_values=True)]
    if query and not (names and set(names) <= {*HARMLESS}):
        return "a query string (after ?) that may contain a key"
    return ""


def shown(address: str) -> str:
    """Return an address for display, excluding credentials, query string and fragment."""
    start = address.find("//") + 2 if "//" in address else 0
    rest = address[start:]
    if "@" in rest:
        rest = f"***@{rest.rpartition('@')[2]}"
    return address[:start] + re.split("[?#]", rest)[0]


def without_logins(text: str) -> str:
    """Replace the user name and password in each address in a text with ***."""
    return _LOGIN.sub("***@", text)


def secrets_of(address: str) -> list[str]:
    """Return the parts of an address that are removed from a server's messages, longest first."""
    parts = urlsplit(address)
    login = parts.netloc.rpartition("@")[0]
    name, _, password = login.partition(":")
    texts = {login, name, password, unquote(login), unquote(name), unquote(password)}
    if login:
        texts.add(base64.b64encode(unquote(login).encode()).decode())
    texts |= {value for key, value in parse_qsl(parts.query) if key not in HARMLESS}
    return sorted(texts - {""}, key=len, reverse=True)
