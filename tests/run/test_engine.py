"""Engines: several parts in flight give equal results; a stop flag ends a run between parts."""

from __future__ import annotations

import subprocess
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier, Event, get_ident
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))

from doubles import BRIGHT, OPEN, BrightVQA, MeanEmbedder, PatternModel, small_plan

from askew.engine.base import Item, Output
from askew.engine.local import LocalEngine
from askew.errors import Interrupted, ModelError
from askew.models.base import Request
from askew.run.base import ModelMaker
from askew.run.live import LiveRun
from askew.run.work import wanted_pictures
from askew.store.store import Store
from askew.types import Missing, Picture

TEXTS = ["a nurse", "a doctor"]
WAIT = 30.0
"""Seconds that one part waits for another."""


class ThreadEngine:
    """An engine with two items in flight, each in a thread."""

    workers = 2

    def __init__(self) -> None:
        self.drawn = 0
        self.yielded = 0
        self.most_in_flight = 0

    def map(
        self, task: Callable[[Item], Output], items: Iterable[Item]
    ) -> Generator[tuple[Item, Output], None, None]:
        in_flight = deque[tuple[Item, Future[Output]]]()
        with ThreadPoolExecutor(self.workers) as pool:
            for item in items:
                in_flight.append((item, pool.submit(task, item)))
                self.drawn += 1
                self.most_in_flight = max(self.most_in_flight, len(in_flight))
                if len(in_flight) == self.workers:
                    yield self._result(in_flight)
            while in_flight:
                yield self._result(in_flight)

    def _result(self, in_flight: deque[tuple[Item, Future[Output]]]) -> tuple[Item, Output]:
        item, future = self.next_of(in_flight)
        output = future.result()
        self.yielded += 1
        return item, output

    def next_of(self, in_flight: deque[Any]) -> tuple[Any, Any]:
        return in_flight.popleft()


class LatestFirstEngine(ThreadEngine):
    """An engine whose first item is yielded last."""

    def next_of(self, in_flight: deque[Any]) -> tuple[Any, Any]:
        return in_flight.pop()


class MeetingVQA(BrightVQA):
    """A VQA model that answers only while two parts are in flight."""

    def __init__(self) -> None:
        super().__init__()
        self.barrier = Barrier(2)

    def answer(self, *arguments: Any) -> list[list[str | Missing]]:
        self.barrier.wait(WAIT)
        return super().answer(*arguments)


class MeetingEmbedder(MeanEmbedder):
    """An embedder that works only while two parts are in flight."""

    def __init__(self) -> None:
        super().__init__()
        self.barrier = Barrier(2)

    def embed_pictures(self, pictures: Sequence[Picture]) -> Any:
        self.barrier.wait(WAIT)
        return super().embed_pictures(pictures)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store") as opened:
        yield opened


def outcomes(run: LiveRun, model: PatternModel, images: int = 8) -> dict[str, Any]:
    return run.pictures(model, TEXTS, images, 0)


def test_two_parts_are_in_flight_and_results_are_equal(tmp_path: Path, store: Store) -> None:
    barrier = Barrier(2)
    meeting = PatternModel(before=lambda requests: barrier.wait(WAIT))
    engine = ThreadEngine()
    run = LiveRun(tmp_path / "run", store, small_plan(), engine=engine)
    parallel = outcomes(run, meeting, 64)
    images = [picture for row in parallel.values() for picture in row]
    answers = run.ask(MeetingVQA(), images, [BRIGHT, OPEN])
    vectors = run.read(MeetingEmbedder(), images)
    assert engine.most_in_flight == 2
    assert engine.drawn == engine.yielded == 128 // 4 + 2 + 2
    with Store(tmp_path / "other") as other:
        alone = LiveRun(tmp_path / "alone", other, small_plan())
        serial = outcomes(alone, PatternModel(), 64)
        serial_images = [picture for row in serial.values() for picture in row]
        assert [picture.id for picture in images] == [picture.id for picture in serial_images]
        assert answers == alone.ask(BrightVQA(), serial_images, [BRIGHT, OPEN])
        assert np.array_equal(vectors, alone.read(MeanEmbedder(), serial_images))


def test_results_in_another_order_belong_to_their_items(tmp_path: Path, store: Store) -> None:
    run = LiveRun(tmp_path / "run", store, small_plan(), engine=LatestFirstEngine())
    images = [picture for row in outcomes(run, PatternModel(), 64).values() for picture in row]
    answers = run.ask(BrightVQA(), images, [BRIGHT, OPEN])
    lengths = run.look(len, ["a", Missing("copy"), "bb", "ccc"])
    with Store(tmp_path / "other") as other:
        alone = LiveRun(tmp_path / "alone", other, small_plan())
        serial = [
            picture for row in outcomes(alone, PatternModel(), 64).values() for picture in row
        ]
        assert [picture.id for picture in images] == [picture.id for picture in serial]
        assert answers == alone.ask(BrightVQA(), serial, [BRIGHT, OPEN])
    assert lengths == [1, Missing("copy"), 2, 3]


LOCKED = """
import sys
from askew.store.store import Store
with Store(sys.argv[1]) as store:
    for key in sys.argv[2:]:
        with store.turn(key) as is_mine:
            print(is_mine)
"""


def test_every_part_in_flight_is_locked(tmp_path: Path, store: Store) -> None:
    """Another process can lock a stored part, but no part in flight."""
    first_keys: list[str] = []
    seen: list[list[str]] = []

    class LockingEngine(ThreadEngine):
        def _result(self, in_flight: deque[Any]) -> Any:
            if self.yielded == 1:
                command = [sys.executable, "-c", LOCKED, str(store.path), *first_keys]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                seen.append(done.stdout.split())
            return super()._result(in_flight)

        def map(self, task: Any, items: Iterable[Any]) -> Generator[Any, None, None]:
            yield from super().map(task, self._noted(items))

        def _noted(self, items: Iterable[Any]) -> Iterator[Any]:
            for item in items:
                first_keys.append(item.content[0].key)
                yield item

    outcomes(LiveRun(tmp_path / "run", store, small_plan(), engine=LockingEngine()), PatternModel())
    assert seen == [["True", "False", "False"]]


def test_stores_of_one_process_exclude_each_other(tmp_path: Path, store: Store) -> None:
    """Closing one of them does not release the locks of the other one."""

    def locked_elsewhere() -> bool:
        command = [sys.executable, "-c", LOCKED, str(store.path), "a"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout.split() == ["False"]

    with store.turn("a") as is_mine:
        with Store(store.path) as other, other.turn("a") as is_others, other.turn("b") as is_free:
            assert (is_mine, is_others, is_free) == (True, False, True)
        assert locked_elsewhere()
    assert not locked_elsewhere()


def test_a_failing_part_keeps_the_parts_before_it(tmp_path: Path, store: Store) -> None:
    def fail(requests: Sequence[Request]) -> None:
        if requests[0].prompt == "a doctor":
            raise RuntimeError("out of memory")

    run = LiveRun(tmp_path / "run", store, small_plan(), engine=ThreadEngine())
    with pytest.raises(ModelError, match="out of memory"):
        outcomes(run, PatternModel(before=fail))
    calm = PatternModel()
    assert len(outcomes(run, calm)) == 2
    assert {request.prompt for request in calm.requests} == {"a doctor"}


@pytest.mark.parametrize(("engine", "made_before"), [(None, 4), (ThreadEngine(), 8)])
def test_a_stop_flag_ends_a_run_after_the_parts_in_flight(
    tmp_path: Path, store: Store, engine: ThreadEngine | None, made_before: int
) -> None:
    stop = Event()
    model = PatternModel(before=lambda requests: stop.set())
    run = LiveRun(tmp_path / "run", store, small_plan(), engine=engine, stop=stop)
    if engine:  # its first two parts are drawn before the first begins
        barrier = Barrier(2)
        model = PatternModel(before=lambda requests: (barrier.wait(WAIT), stop.set()))  # type: ignore[arg-type]
    with pytest.raises(Interrupted, match=rf"{made_before} of 16 images are done"):
        outcomes(run, model)
    assert len(model.requests) == made_before
    calm = PatternModel()
    again = LiveRun(tmp_path / "run", store, small_plan(), engine=engine)
    assert all(len(row) == 8 for row in outcomes(again, calm).values())
    assert len(calm.requests) == 16 - made_before


def test_a_stop_flag_ends_the_run_of_lenses(tmp_path: Path, store: Store) -> None:
    stop = Event()
    run = LiveRun(tmp_path / "run", store, small_plan(), stop=stop)
    assert run.look(len, ["a", "bb"]) == [1, 2]
    stop.set()
    with pytest.raises(Interrupted):
        run.look(len, ["a"])


def test_images_of_a_model_without_seeds_are_not_made_again(tmp_path: Path, store: Store) -> None:
    """In a batch with one absent file, only the absent image is requested."""

    class Unseeded(PatternModel):
        seeded = False

    model = Unseeded()
    run = LiveRun(tmp_path / "run", store, small_plan())
    images = outcomes(run, model)
    Path(images["a nurse"][1].path).unlink()
    model.requests.clear()
    assert outcomes(run, model) == images
    assert [request.number for request in model.requests] == [1]


def test_facts_of_an_image_come_from_the_place_where_it_was_made(
    tmp_path: Path, store: Store
) -> None:
    class DistantEngine(LocalEngine):
        def map(self, task: Any, items: Iterable[Any]) -> Generator[Any, None, None]:
            for item, batch in super().map(task, items):
                yield item, replace(batch, provenance={**batch.provenance, "device": "cuda:7"})

    run = LiveRun(tmp_path / "run", store, small_plan(), engine=DistantEngine())
    outcomes(run, PatternModel())
    assert run.device == "cuda:7"
    assert '"device": "cuda:7"' in (store.path / "journal.jsonl").read_text()


def test_a_maker_checks_itself_where_images_are_made(tmp_path: Path, store: Store) -> None:
    threads: list[int] = []

    class CheckingMaker(ModelMaker):
        def check(self) -> None:
            threads.append(get_ident())

    run = LiveRun(tmp_path / "run", store, small_plan(), engine=ThreadEngine())
    model = PatternModel()
    run.make(CheckingMaker(model), wanted_pictures(model, TEXTS, 2, 0))
    assert len(threads) == 1
    assert threads[0] != get_ident()
