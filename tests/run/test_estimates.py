"""Time and size of images that are not made yet, from stored images of the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from askew.run.count import CountingRun
from askew.run.estimates import ImageMeasure, StoredFile, duration
from askew.run.live import LiveRun
from askew.store.store import Store
from faults.doubles import PatternModel, small_plan

SECOND = 10**9
BASIS = "as measured for the last 5 stored images from m"


def stored(folder: Path, times: list[float], size: int = 500_000) -> list[StoredFile]:
    files = []
    for number, seconds in enumerate(times):
        path = folder / str(number)
        path.write_bytes(b"0" * size)
        files.append(StoredFile(path=path, modified=round(seconds * SECOND)))
    return files


def test_a_rest_of_the_model_does_not_count(tmp_path: Path) -> None:
    measure = ImageMeasure.of(stored(tmp_path, [5000, 0, 2, 4, 5002]))
    assert measure is not None
    assert measure.seconds == pytest.approx(2)
    assert measure.lines("m", 1200) == [
        f"storage     about 0.6 GB for 1,200 images (0.5 MB per image, {BASIS})",
        f"time        about 40 min for 1,200 images (2 s per image, {BASIS})",
    ]


def test_a_batch_takes_the_time_since_the_batch_before_it(tmp_path: Path) -> None:
    times = [batch + image / 1000 for batch in (0, 40, 80, 120) for image in range(4)]
    files = stored(tmp_path, times)
    measure = ImageMeasure.of(files, batch_size=4)
    assert measure is not None
    assert measure.seconds == pytest.approx(10, abs=0.01)
    single = ImageMeasure.of(files[:4], batch_size=4)
    assert single is not None
    assert single.seconds is None


def test_few_images_and_images_of_one_batch_have_no_rate(tmp_path: Path) -> None:
    assert ImageMeasure.of(stored(tmp_path, [1, 2, 3])) is None
    measure = ImageMeasure.of(stored(tmp_path, [1, 1, 1, 1]))
    assert measure is not None
    assert measure.seconds is None
    assert len(measure.lines("m", 10)) == 1
    assert duration(90 * 60) == "1.5 h"


def test_a_dry_run_estimates_the_images_that_are_left(tmp_path: Path) -> None:
    plan = small_plan(4)
    model = PatternModel()
    with Store(tmp_path / "store") as store:
        counted = CountingRun(store)
        counted.pictures(model, plan.texts(), 4, plan.seed)
        assert not [line for line in counted.lines() if line.startswith(("storage", "time"))]
        run = LiveRun(tmp_path / "run", store, plan)
        outcomes = run.pictures(model, plan.texts(), 4, plan.seed)
        counted = CountingRun(store)
        counted.pictures(model, plan.texts(), 10, plan.seed)
        left = 6 * len(outcomes)
        (line,) = [line for line in counted.lines() if line.startswith("storage")]
        assert f"for {left} images" in line
        assert f"stored images from {model.name}" in line
