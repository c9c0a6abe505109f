"""Every command offers an engine enough parts at a time to keep several workers busy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Any

import pytest

import askew
from askew.engine.base import Item, Output
from askew.engine.local import LocalEngine

OCCUPATIONS = "nurse doctor chef pilot teacher lawyer farmer baker".split()
PROMPTS = [f"a photo of a {occupation}" for occupation in OCCUPATIONS]
WORDS = "red blue green gray large small old new".split()
WORKERS = 2
ENOUGH = 4 * WORKERS
SHARED: dict[str, Any] = {"bootstrap_samples": 100, "model": "studio/planted"}
SEARCH: dict[str, Any] = {
    "iterations": 2,
    "population": ENOUGH,
    "selected": 4,
    "images": 2,
    "top": ENOUGH,
    "random_search": False,
    **SHARED,
}


class CountingEngine(LocalEngine):
    """An engine that counts the parts of each call.

    Attributes
    ----------
    offers
        Name of the task and number of parts of each call with work.
    """

    def __init__(self) -> None:
        self.offers: list[tuple[str, int]] = []

    def map(
        self, task: Callable[[Item], Output], items: Iterable[Item]
    ) -> Generator[tuple[Item, Output], None, None]:
        parts = 0
        for result in super().map(task, items):
            parts += 1
            yield result
        if parts:
            self.offers.append((name_of(task), parts))


def name_of(task: Any) -> str:
    """Return the name of the innermost function of partial functions."""
    while hasattr(task, "func"):
        first = task.args[0] if task.args else None
        task = first if callable(first) and not hasattr(first, "name") else task.func
    return str(getattr(task, "__qualname__", type(task).__name__))


def small(offers: list[tuple[str, int]]) -> Counter[str]:
    """Return the tasks of calls with too few parts, each with the number of these calls."""
    return Counter(name for name, parts in offers if parts < ENOUGH)


COMMANDS: dict[str, Callable[..., Any]] = {
    "audit": lambda **place: askew.audit(PROMPTS, axes=["gender"], images=2, **SHARED, **place),
    "interact": lambda **place: askew.interact(
        PROMPTS,
        axes=["gender", "age"],
        mitigated="gender=studio/planted",
        images=2,
        **SHARED,
        **place,
    ),
    "map": lambda **place: askew.map(
        [f"a {word} photo of a nurse" for word in WORDS],
        model="studio",
        concept="gender",
        against="nurse",
        images=1,
        model_args={"batch_size": 1, "num_inference_steps": 1},
        bootstrap_samples=100,
        **place,
    ),
    "mine": lambda **place: askew.mine(objective="eq1", variations=4, **SEARCH, **place),
    "mine skew": lambda **place: askew.mine(objective="skew", **SEARCH, **place),
    "mine color": lambda **place: askew.mine(objective="color:red", **SEARCH, **place),
    "mitigate": lambda **place: askew.mitigate(
        PROMPTS, axes="gender", images=4, eval_images=4, **SHARED, **place
    ),
    "rank": lambda **place: askew.rank(*PROMPTS, images=2, **SHARED, **place),
}

WHOLE: dict[str, set[str]] = {
    "audit": {"make_batch"},
    "interact": {"make_batch"},
    "mine": {"answer_group"},
    "mine skew": {"subject_vectors"},
    "rank": {"make_batch", "subject_vectors"},
    "map": {"check_maker"},
    "mitigate": {"make_batch"},
}
"""Tasks with fewer parts in all: a batch of the planted model has 64 images, and few variations
state some of the details. `subject_vectors` is one constant.
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [pytest.param(name, marks=[pytest.mark.slow] if name != "audit" else []) for name in COMMANDS],
)
def test_a_call_offers_enough_parts(command: str, tmp_path: Path) -> None:
    engine = CountingEngine()
    COMMANDS[command](run=tmp_path / "run", store=tmp_path / "store", engine=engine)
    assert small(engine.offers).keys() <= WHOLE.get(command, set()), engine.offers
