"""Facts about models that a run stores, so that showing the run again opens no network."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_FACTS: ContextVar[dict[str, Any]] = ContextVar("facts")


@contextmanager
def remember_facts(facts: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Keep facts about models in `facts` within this context, and use the facts that it holds."""
    token = _FACTS.set(facts)
    try:
        yield facts
    finally:
        _FACTS.reset(token)


def remembered_facts() -> dict[str, Any]:
    """Return the facts of this context, to read and to add to; a new dictionary outside of one."""
    return _FACTS.get({})
