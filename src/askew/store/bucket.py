"""Packs in object storage (Amazon S3 and compatible servers, Google Cloud Storage, or Azure).

The address names the bucket and a prefix. The address never contains credentials. Like the
provider's own tools, askew reads credentials from the environment or the machine. When a `Bucket`
is sent to another process, it reconnects to its address there.

Servers sometimes fail briefly. If a server does not respond, askew repeats the request for up to
three minutes.
"""

import os
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any, Literal, TypeVar

from askew.errors import RESUME, MissingPackage, StoreError, UsageError
from askew.store.pack_storage import ASIDE, SLICES

T = TypeVar("T")

SCHEMES = ("s3", "gs", "az", "memory")
PATIENCE = 180.0
"""Seconds after which askew gives up on a server that does not respond."""

TIMEOUT = 120.0
"""Time limit for one request, in seconds. A pack of 64 large images takes about 100 MB."""

LONGEST_PAUSE = 5.0
"""Maximum number of seconds that askew waits before a retry."""

CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
}
"""Names of the environment variables that contain the credentials, keyed by address scheme."""

OVERWRITES = (
    "the server replaces existing files, although askew asks it to keep existing files. Do not "
    "run two copies of the same job at the same time"
)

_MEMORIES: dict[str, Any] = {}
"""In-memory packs for tests, keyed by address. Their content is lost when the process ends."""


class Bucket:
    """Packs in an object storage bucket.

    Parameters
    ----------
    address
        The address, such as s3://bucket/prefix.
    patience
        Seconds after which askew gives up on a server that does not respond.
    timeout
        Time limit for one request, in seconds.

    Attributes
    ----------
    note
        A message to the user about the server; empty if there is none.

    Raises
    ------
    UsageError
        If the address cannot be used, or the obstore package is not installed.
    """

    def __init__(self, address: str, patience: float = PATIENCE, timeout: float = TIMEOUT) -> None:
        self.address = address
        self.note = ""
        self._patience = patience
        self._timeout = timeout
        self._scheme = _checked_scheme(address)
        self._is_probed = False
        MissingPackage.unless_installed("obstore", "s3", f"--packs {self._scheme}://…")
        self._store = _opened(self._scheme, address, timeout)

    def __reduce__(self) -> tuple[type["Bucket"], tuple[str, float, float]]:
        """Pickle only the address and the time limits. The open connection contains credentials."""
        return Bucket, (self.address, self._patience, self._timeout)

    def __repr__(self) -> str:
        return f"Bucket({self.address!r})"

    def paths(self, folder: str = SLICES) -> set[str]:
        """Return the paths of all files in a folder."""
        import obstore

        def listed() -> set[str]:
            return {entry["path"] for part in obstore.list(self._store, folder) for entry in part}

        return self._patiently(listed)

    def put(self, path: str, data: bytes) -> bool:
        """Write a new file, and return True. If the file exists, return False and write nothing."""
        if not self._is_probed:
            self._probe()
        if self.note and self._exists(path):
            return False
        return self._created(path, data)

    def get(self, path: str) -> bytes | None:
        """Return the content of a file; None if there is no such file."""
        import obstore

        def content() -> bytes | None:
            try:
                return bytes(obstore.get(self._store, path).bytes())
            except FileNotFoundError:
                return None

        return self._patiently(content)

    def set_aside(self, path: str) -> None:
        """Move a damaged file to the folder `damaged`, so that it counts as missing."""
        import obstore

        aside = f"{ASIDE}/{path.rpartition('/')[2]}"

        def move() -> None:
            with suppress(FileNotFoundError):
                obstore.copy(self._store, path, aside)
                obstore.delete(self._store, path)

        self._patiently(move)

    def _probe(self) -> None:
        """Check whether the server honors a request not to replace an existing file."""
        import obstore

        path = f"probes/{secrets.token_hex(8)}"
        self._created(path, b"1")
        if self._created(path, b"2"):
            self.note = OVERWRITES
        self._is_probed = True
        with suppress(obstore.exceptions.BaseError):  # a job may lack the right to delete
            obstore.delete(self._store, path)

    def _created(self, path: str, data: bytes) -> bool:
        """Write a file. Return False if the server reports that the file already exists."""
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        def create() -> bool:
            mode: Literal["overwrite", "create"] = "overwrite" if self.note else "create"
            try:
                obstore.put(self._store, path, data, mode=mode, use_multipart=False)
            except (AlreadyExistsError, PreconditionError):
                return False
            return True

        return self._patiently(create)

    def _exists(self, path: str) -> bool:
        import obstore

        def head() -> bool:
            try:
                obstore.head(self._store, path)
            except FileNotFoundError:
                return False
            return True

        return self._patiently(head)

    def _patiently(self, request: Callable[[], T]) -> T:
        """Repeat a request until the server responds, and return the result.

        Raises
        ------
        StoreError
            If the server refuses the request, or keeps failing for `patience` seconds.
        """
        from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

        begun = time.monotonic()
        pause = 0.1
        while True:
            try:
                return request()
            except (PermissionDeniedError, UnauthenticatedError) as error:
                raise StoreError(self._refusal()) from error
            except FileNotFoundError as error:
                raise StoreError(
                    f"there is no bucket at {self.address}. Create it first"
                ) from error
            except BaseError as error:
                if "NoSuchBucket" in str(error):
                    raise StoreError(
                        f"there is no bucket at {self.address}. Create it first"
                    ) from error
                if time.monotonic() - begun > self._patience:
                    raise StoreError(self._silence(error)) from error
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _refusal(self) -> str:
        names = CREDENTIALS.get(self._scheme, "the credentials")
        return (
            f"{self.address} refuses access. Set credentials with read and write access in the "
            f"environment variables {names}"
        )

    def _silence(self, error: Exception) -> str:
        reason = str(error).partition("\n")[0][:200]
        return f"{self.address} has not responded for {self._patience:.0f} s ({reason}). {RESUME}"


def _checked_scheme(address: str) -> str:
    """Check that an address has a known scheme and no credentials, and return the scheme.

    Raises
    ------
    UsageError
        If the scheme is unknown, or the address contains credentials or a query string.
    """
    scheme, _, rest = address.partition("://")
    if scheme not in SCHEMES:
        known = ", ".join(f"{name}://" for name in SCHEMES[:3])
        raise UsageError(
            f"--packs does not support addresses with {scheme}://. Use {known} or a folder"
        )
    if any(mark in rest for mark in "@?#"):
        raise UsageError(
            "the address given to --packs contains credentials or a query string, which may be "
            "secret. Name only the bucket and a prefix, and put credentials into "
            f"{CREDENTIALS.get(scheme, '')}"
        )
    return scheme


def _opened(scheme: str, address: str, timeout: float) -> Any:
    """Open an object store with the obstore package, using credentials from the environment."""
    from obstore.exceptions import BaseError
    from obstore.store import MemoryStore, from_url

    if scheme == "memory":
        return _MEMORIES.setdefault(address, MemoryStore())
    options: dict[str, Any] = {
        "client_options": {
            "timeout": timedelta(seconds=timeout),
            "connect_timeout": timedelta(seconds=min(timeout, 10.0)),
            "allow_http": os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://"),
        },
        # this module repeats requests, including requests with incomplete answers
        "retry_config": {"max_retries": 0, "retry_timeout": timedelta(seconds=timeout)},
    }
    if scheme == "s3":
        options["region"] = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
        options["region"] = options["region"] or "us-east-1"
    try:
        return from_url(address, **options)
    except (BaseError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise UsageError(
            f"cannot use the address {address} of --packs: {reason}. Set {CREDENTIALS[scheme]}"
        ) from error
