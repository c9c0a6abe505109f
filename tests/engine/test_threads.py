"""Threads: tasks take turns at a provider, and encode images beside the next task."""

from __future__ import annotations

from threading import Event, Lock

from askew.engine.base import Failure
from askew.engine.threads import ThreadEngine
from askew.engine.turn import end_turn

WAIT = 30.0


def test_one_task_at_a_time_uses_the_provider() -> None:
    provider = Lock()
    overlaps = []

    def task(item: int) -> int:
        overlaps.append(not provider.acquire(blocking=False))
        provider.release()
        return item * item

    engine = ThreadEngine(4, takes_turns=True)
    assert sorted(engine.map(task, range(50))) == [(k, k * k) for k in range(50)]
    assert not any(overlaps)


def test_the_next_task_begins_while_the_last_one_encodes() -> None:
    second_began = Event()

    def task(item: int) -> bool:
        if item == 1:
            second_began.set()
        end_turn()
        return second_began.wait(WAIT)

    engine = ThreadEngine(2, takes_turns=True)
    assert dict(engine.map(task, range(2))) == {0: True, 1: True}


def test_a_failure_ends_the_turn() -> None:
    def task(item: int) -> int:
        return 1 // item

    results = dict(ThreadEngine(2, takes_turns=True).map(task, [0, 1, 2]))
    assert isinstance(results.pop(0), Failure)
    assert results == {1: 1, 2: 0}
