"""Every task of every command can be sent to another process: small, and without a live model,
store or connection.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import askew
from askew import registry
from askew.run import live
from askew.run.work import Engine

LARGEST = 1_000_000
"""Bytes of a task with its item."""


def sending(sizes: list[int]) -> Engine:
    """An engine that does what another process would: it works on what arrives, with providers
    loaded anew.
    """

    def each(task: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        for item in items:
            sent = pickle.dumps((task, item))
            sizes.append(len(sent))
            own, arrived = pickle.loads(sent)
            yield pickle.loads(pickle.dumps(own(arrived)))

    return each


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of the tasks that were sent."""
    found: list[int] = []
    monkeypatch.setattr(live, "engine", sending(found))
    monkeypatch.setattr(registry, "_LOADED", {})
    return found


PLANTED: dict[str, Any] = {"model": "studio/planted", "images": 4}
COMMANDS: dict[str, Callable[[Path], Any]] = {
    "audit": lambda run: askew.audit(
        "a photo of a nurse", axes=["gender"], bootstrap_samples=100, run=run, **PLANTED
    ),
    "interact": lambda run: askew.interact(
        "a photo of a nurse",
        axes=["gender", "age"],
        bootstrap_samples=100,
        run=run,
        mitigated="gender=studio/planted",
        **PLANTED,
    ),
    "map": lambda run: askew.map(
        "a photo of a nurse",
        model="studio",
        concept="gender",
        against="nurse",
        images=2,
        bootstrap_samples=100,
        run=run,
    ),
    "mine": lambda run: askew.mine(
        model="studio/planted",
        iterations=2,
        population=4,
        selected=1,
        images=4,
        variations=4,
        bootstrap_samples=100,
        run=run,
    ),
    "edit": lambda run: askew.edit(
        "caucasian man, african-american woman",
        model="studio",
        sources="studio/planted",
        images=3,
        targets={"high": ["doctor", "CEO"]},
        strengths=(0.5,),
        side=64,
        landmarks="studio",
        bootstrap_samples=100,
        run=run,
    ),
    "classify": lambda run: askew.classify(
        "caucasian man, african-american woman",
        model="studio",
        sources="studio/planted",
        images=3,
        targets={"a": ["chef", "pilot"], "b": ["nurse", "maid"]},
        samples=(1, 4),
        bootstrap_samples=100,
        run=run,
    ),
}


@pytest.mark.parametrize(
    "command", [name for name in COMMANDS if name in registry.providers("method")]
)
def test_tasks_travel(command: str, sizes: list[int], tmp_path: Path) -> None:
    result = COMMANDS[command](tmp_path / "run")
    assert result.report.exists()
    assert len(sizes) > 1
    assert max(sizes) < LARGEST


def test_a_provider_travels_by_its_name(sizes: list[int]) -> None:
    model = registry.model("studio/planted", bias=0.25)
    sent = pickle.dumps(model)
    assert len(sent) < 500
    arrived = pickle.loads(sent)
    assert arrived is not model
    assert arrived.settings == model.settings
    assert pickle.loads(sent) is arrived
