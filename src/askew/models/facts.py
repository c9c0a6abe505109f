"""Facts about models, stored with a run so that the run can be shown without loading a network."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_FACTS: ContextVar[dict[str, Any]] = ContextVar("facts")


@contextmanager
def remember_facts(facts: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Use facts about models from `facts` within this context, and add new facts to `facts`."""
    token = _FACTS.set(facts)
    try:
        yield facts
    finally:
        _FACTS.reset(token)


def remembered_facts() -> dict[str, Any]:
    """Return the facts of the current context as a dictionary, to which callers may add facts.

    Outside such a context, return a new, empty dictionary.
    """
    return _FACTS.get({})
