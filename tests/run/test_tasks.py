"""Tasks of all commands can be sent to another process: small, without model or store."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Any

import pytest

import askew
from askew import registry
from askew.engine.base import Item, Output
from askew.errors import UsageError

LARGEST = 1_000_000
"""Largest size of a task with its item in bytes."""


class SendingEngine:
    """An engine that pickles tasks as if for another process, so that they load their providers
    again.
    """

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def map(
        self, task: Callable[[Item], Output], items: Iterable[Item]
    ) -> Generator[tuple[Item, Output], None, None]:
        for item in items:
            sent = pickle.dumps((task, item))
            self.sizes.append(len(sent))
            arrived_task, arrived_item = pickle.loads(sent)
            yield item, pickle.loads(pickle.dumps(arrived_task(arrived_item)))


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> SendingEngine:
    monkeypatch.setattr(registry, "_LOADED", {})
    return SendingEngine()


PLANTED: dict[str, Any] = {"model": "studio/planted", "images": 4}
COMMANDS: dict[str, Callable[..., Any]] = {
    "audit": lambda **shared: askew.audit(
        "a photo of a nurse", axes=["gender"], **PLANTED, **shared
    ),
    "interact": lambda **shared: askew.interact(
        "a photo of a nurse",
        axes=["gender", "age"],
        mitigated="gender=studio/planted",
        **PLANTED,
        **shared,
    ),
    "map": lambda **shared: askew.map(
        "a photo of a nurse", model="studio", concept="gender", against="nurse", images=2, **shared
    ),
    "mine": lambda **shared: askew.mine(
        model="studio/planted",
        objective="eq1",
        iterations=2,
        population=4,
        selected=1,
        images=4,
        variations=4,
        **shared,
    ),
    "mitigate": lambda **shared: askew.mitigate(
        "a photo of a nurse",
        axes="gender",
        techniques="prompts,intermit",
        model="studio/planted",
        images=6,
        eval_images=8,
        **shared,
    ),
    "rank": lambda **shared: askew.rank(
        "a photo of a nurse", "a photo of a doctor", axes=["gender"], **PLANTED, **shared
    ),
    "edit": lambda **shared: askew.edit(
        "caucasian man, african-american woman",
        model="studio",
        sources="studio/planted",
        images=3,
        edit_prompts={"high": ["doctor", "CEO"]},
        strengths=(0.5,),
        resize=64,
        landmarks="studio",
        **shared,
    ),
    "classify": lambda **shared: askew.classify(
        "caucasian man, african-american woman",
        model="studio",
        sources="studio/planted",
        images=3,
        targets={"a": ["chef", "pilot"], "b": ["nurse", "maid"]},
        samples=(1, 4),
        **shared,
    ),
}


LONG = {"classify", "edit", "map", "mine", "mitigate", "rank"}


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in LONG else [])
        for name in COMMANDS
        if name in registry.providers("method")
    ],
)
def test_tasks_can_be_sent(command: str, engine: SendingEngine, tmp_path: Path) -> None:
    result = COMMANDS[command](run=tmp_path / "run", engine=engine, bootstrap_samples=100)
    assert result.report.exists()
    assert len(engine.sizes) > 1
    assert max(engine.sizes) < LARGEST


@pytest.mark.usefixtures("engine")
def test_a_provider_is_sent_by_its_name() -> None:
    model = registry.model("studio/planted", bias=0.25)
    sent = pickle.dumps(model)
    assert len(sent) < 500
    arrived = pickle.loads(sent)
    assert arrived is not model
    assert arrived.settings == model.settings
    assert pickle.loads(sent) is arrived


@pytest.mark.usefixtures("engine")
def test_a_provider_that_differs_elsewhere_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = registry.model("studio/planted")
    sent = pickle.dumps(model)
    pickle.loads(sent)
    monkeypatch.setattr(type(model), "dtype", "bfloat16", raising=False)
    other = pickle.dumps(model)
    monkeypatch.setattr(type(model), "dtype", "float32", raising=False)
    with pytest.raises(UsageError, match=r"dtype 'float32' in place of 'bfloat16'.*-M dtype="):
        pickle.loads(other)
