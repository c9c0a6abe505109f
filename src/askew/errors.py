"""Exceptions that askew raises on purpose."""

import difflib
from collections.abc import Collection, Iterable
from importlib.util import find_spec

RESUME = "Finished work is kept. Repeat the command to continue"
"""Final sentences of messages about errors that end a run."""

STOPPED = f"stopped. {RESUME}"
"""Message shown after Ctrl-C if the number of finished images is unknown."""


class AskewError(Exception):
    """Base class of all errors that askew raises on purpose.

    The message states what is wrong, what is needed, and which option fixes the problem.

    Attributes
    ----------
    code
        Exit code of the command line.
    """

    code = 1


class UsageError(AskewError):
    """An invalid request, such as an unknown name, an impossible option or an unreadable plan."""

    code = 2


class UnknownName(UsageError):
    """A name is not in the list of known names."""

    def __init__(self, kind: str, name: str, known: Iterable[str], advice: str = "") -> None:
        names = sorted(known)
        near = difflib.get_close_matches(name, names, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        hint += f" {advice}" if advice else ""
        listed = ", ".join(names) if names else "none"
        super().__init__(f"unknown {kind} {name!r}.{hint} Known: {listed}.")

    @classmethod
    def unless_known(cls, kind: str, name: str, known: Collection[str]) -> None:
        """Raise this error if `name` is not among the known names."""
        if name not in known:
            raise cls(kind, name, known)


class MissingPackage(UsageError):
    """An optional package is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}. Install it in a clone of askew's repository "
            f"with: pip install '.[{extra}]'"
        )

    @classmethod
    def unless_installed(cls, package: str, extra: str, purpose: str) -> None:
        """Raise this error if the package is not installed. The package is not imported."""
        if find_spec(package) is None:
            raise cls(package, extra, purpose)


class ManifestError(UsageError):
    """An error in a manifest of existing images."""


class StoreError(AskewError):
    """A store cannot be read or written, or its content is incomplete."""


class RunError(AskewError):
    """A run that cannot continue."""


class Interrupted(AskewError):
    """A run was stopped by Ctrl-C or by a program's stop flag.

    Finished work is kept, and repeating the command continues the run.
    """

    code = 130


class ModelError(AskewError):
    """A failure of the model under audit, or of an instrument."""


class ServerError(ModelError):
    """A server did not answer, or refused a request.

    Attributes
    ----------
    status
        The HTTP status; None if the server did not send a status.
    server_code
        The server's error code; "" if the server sent no code.
    words
        The server's message; "" if the server sent no message.
    """

    def __init__(
        self, message: str, status: int | None = None, server_code: str = "", words: str = ""
    ) -> None:
        super().__init__(message)
        self.status = status
        self.server_code = server_code
        self.words = words


class LanguageModelError(ModelError):
    """All attempts to get a usable answer from a language model failed."""


class NotEnoughData(AskewError):
    """A score cannot be computed from the available data."""


class CheckFailed(AskewError):
    """A --fail-if condition is met.

    Attributes
    ----------
    result
        Result that meets the condition.
    """

    code = 3

    def __init__(self, message: str, result: object = None) -> None:
        super().__init__(message)
        self.result = result
