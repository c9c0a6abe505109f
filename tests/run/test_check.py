"""Checks after a run name everything lost or changed, and the next run repairs it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))

from doubles import PatternModel, small_plan

from askew.errors import Interrupted, UsageError
from askew.models.base import Request
from askew.run.check import check
from askew.run.live import LiveRun
from askew.store.store import Store
from askew.types import Picture

TEXTS = ["a nurse", "refuse this", "a blank"]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def run(tmp_path: Path, store: Store) -> LiveRun:
    return LiveRun(tmp_path / "run", store, small_plan())


def make(run: LiveRun, **settings: object) -> list[Picture]:
    """Run a small plan to its end."""
    pictures = run.pictures(PatternModel(**settings), TEXTS, 4, 0)  # type: ignore[arg-type]
    return [outcome for row in pictures.values() for outcome in row if isinstance(outcome, Picture)]


def test_complete_run(run: LiveRun, store: Store) -> None:
    make(run)
    report = check(run.folder, store)
    assert report.ok
    assert report.lines() == ["planned 12, stored 4, missing 4 blank_image, 4 refused, left 0"]


@pytest.mark.parametrize("damage", ["changed", "cut", "gone"])
def test_damaged_image_is_named_and_made_again(run: LiveRun, store: Store, damage: str) -> None:
    picture = Path(make(run)[2].path)
    data = picture.read_bytes()
    if damage == "gone":
        picture.unlink()
    else:
        picture.write_bytes(data[:50] if damage == "cut" else data[:-20] + b"x" + data[-19:])
    report = check(run.folder, store)
    assert not report.ok
    assert any(str(picture) in fault for fault in report.faults)
    make(run)
    assert picture.read_bytes() == data
    assert check(run.folder, store).ok


def test_interrupted_run_has_images_left(run: LiveRun, store: Store) -> None:
    def stop(requests: Sequence[Request]) -> None:
        if requests[0].prompt == "a blank":
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        make(run, before=stop)
    report = check(run.folder, store)
    assert report.counts == "planned 12, stored 4, missing 4 refused, left 4"
    assert not report.ok
    assert report.lines()[-1].startswith("Repeat the run's command")


def test_new_weights_replace_the_old(run: LiveRun, store: Store) -> None:
    make(run)
    make(run, revision="2")
    assert check(run.folder, store).counts.startswith("planned 12,")


def test_folder_without_a_run(tmp_path: Path, store: Store) -> None:
    with pytest.raises(UsageError, match="is not a run folder"):
        check(tmp_path, store)
