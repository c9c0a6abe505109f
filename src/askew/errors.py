"""Every exception that askew raises on purpose."""

import difflib
from collections.abc import Collection, Iterable
from importlib.util import find_spec

STOPPED = "stopped: what was made is kept; the same command continues"
"""What is said of Ctrl-C where nothing better is known."""


class AskewError(Exception):
    """Root of all errors that askew raises on purpose. The message says what was wrong and what
    would be right.

    `code` is that with which the command line exits.
    """

    code = 1


class UsageError(AskewError):
    """The request itself is wrong: an unknown name, an impossible option, an unreadable plan."""

    code = 2


class UnknownName(UsageError):
    """A name that is not in a known list."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = difflib.get_close_matches(name, names, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        super().__init__(f"unknown {what} {name!r}.{hint} Known: {', '.join(names) or 'none'}.")

    @classmethod
    def unless_known(cls, what: str, name: str, known: Collection[str]) -> None:
        """Raises itself for a name that is not among those that are known."""
        if name not in known:
            raise cls(what, name, known)


class MissingPackage(UsageError):
    """An optional package is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}. Install it with: pip install 'askew[{extra}]'"
        )

    @classmethod
    def unless_installed(cls, package: str, extra: str, purpose: str) -> None:
        """Raises itself where the package is absent. The package is looked for, and not imported."""
        if find_spec(package) is None:
            raise cls(package, extra, purpose)


class ManifestError(UsageError):
    """A manifest of existing pictures cannot be used as it is."""


class StoreError(AskewError):
    """The store cannot be written or read, or does not hold what it should."""


class RunError(AskewError):
    """A run cannot go on."""


class Interrupted(AskewError):
    """A person stopped the run (Ctrl-C). What was finished is kept; the same command continues."""

    code = 130


class ModelError(AskewError):
    """The model under audit, or an instrument, failed."""


class ServerError(ModelError):
    """A server did not answer, or refused. `status` is its HTTP status, None if there was none."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class LanguageModelError(ModelError):
    """A language model gave nothing that could be used, however often it was asked."""


class NotEnoughData(AskewError):
    """There is nothing to compute a score from."""


class CheckFailed(AskewError):
    """A condition given by --fail-if holds. `result` is what it holds of."""

    code = 3

    def __init__(self, message: str, result: object = None) -> None:
        super().__init__(message)
        self.result = result
