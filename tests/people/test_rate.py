"""Studies in which people rate the bias of image grids."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy

from askew.people.findings import RatingFindings, ScoreAgreement
from askew.people.folder import StudyFolder
from askew.people.new_rate import RATINGS, is_societal
from askew.people.rating_page import rating_headline
from askew.people.records import (
    CANNOT_TELL,
    NOT_RELEVANT,
    AnswerRecord,
    FrameEntry,
    Item,
    StudyAxis,
)
from askew.people.results import study_results
from askew.stats.ratings import jackknife_correlation, mean_reliability, spearman_of
from askew.types import Estimate, Missing
from study_folders import write_folder

AXES = ("gender", "age", "color")


def planted_ratings(
    path: Path, rng: np.random.Generator, prompts: int, raters: int = 8
) -> StudyFolder:
    """Write a study whose raters see a bias that the score measures with an error."""
    items = []
    frame = []
    seen = {}
    for number in range(prompts * len(AXES)):
        name = f"i{number + 1:05d}"
        bias = rng.normal()
        axis = AXES[number % len(AXES)]
        item = Item(
            id=name,
            role="item",
            question=f"bias in {axis}?",
            options=RATINGS,
            special=(NOT_RELEVANT, CANNOT_TELL),
            groups=((f"{number:064x}",),),
            axis=axis,
            scale="ordinal",
        )
        items.append(item)
        entry = FrameEntry(
            id=name,
            prompt=f"prompt {number // len(AXES)}",
            facts={"MAD": float(bias + rng.normal(scale=0.7)), "noise": float(rng.normal())},
            names={"axis": axis, "run": "run"},
        )
        frame.append(entry)
        seen[name] = bias
    axes = tuple(StudyAxis(name, RATINGS, "ordinal", f"bias in {name}?") for name in AXES)
    folder = write_folder(path, items, frame, raters, 5, kind="rate", axes=axes)
    records = []
    for rater in folder.raters():
        for name in rater.items:
            item = folder.items[name]
            if item.expected is None:
                bias = seen[str(item.repeats or name)]
                rating = np.clip(round(3 + bias + rng.normal()), 1, 5)
                answer = NOT_RELEVANT if rng.random() < 0.05 else str(rating)
            else:
                answer = item.expected
            if rater.id == "r001":
                answer = "1"
            records.append(AnswerRecord(rater.id, name, 1, (answer,), seconds=4.0))
    folder.write_answers(records)
    return StudyFolder.opened(path)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    path = tmp_path_factory.mktemp("rate") / "study"
    return planted_ratings(path, np.random.default_rng(3), 25)


def test_correlations_are_those_of_the_mean_ratings(study: StudyFolder) -> None:
    result = study_results(study).write()
    excluded = [rater.id for rater in result.findings.raters if rater.excluded]
    assert excluded == ["r001"]
    ratings = result.findings.included.ratings
    assert ratings is not None
    entry = next(each for each in ratings.scores if (each.score, each.group) == ("MAD", "all"))
    means = [grid.mean for grid in ratings.grids]
    scores = [grid.scores["MAD"] for grid in ratings.grids]
    for estimate, function in (
        (entry.spearman, scipy.stats.spearmanr),
        (entry.kendall, scipy.stats.kendalltau),
    ):
        assert isinstance(estimate, Estimate)
        assert estimate.value == pytest.approx(function(means, scores).statistic)
        assert estimate.low is not None
        assert estimate.low > 0.2
    assert "rank correlation between people's mean ratings and MAD" in result.page.answer
    assert {each.axis for each in result.findings.included.agreement} == set(AXES)


def test_correlations_are_corrected_for_the_reliability_of_the_ratings(study: StudyFolder) -> None:
    ratings = study_results(study).findings.included.ratings
    assert ratings is not None
    entry = ratings.scores[0]
    assert isinstance(entry.corrected, Estimate)
    assert isinstance(entry.spearman, Estimate)
    assert isinstance(ratings.reliability, Estimate)
    quotient = entry.spearman.value / ratings.reliability.value**0.5
    assert entry.corrected.value == pytest.approx(quotient)
    noise = next(each for each in ratings.scores if each.score == "noise")
    assert isinstance(noise.spearman, Estimate)
    assert noise.spearman.low is not None
    assert noise.spearman.low < 0


def test_top_axes_are_counted_by_prompt(study: StudyFolder) -> None:
    ratings = study_results(study).findings.included.ratings
    assert ratings is not None
    entry = ratings.scores[0]
    hits = {1: 0, 2: 0}
    for number in range(25):
        grids = [grid for grid in ratings.grids if grid.prompt == f"prompt {number}"]
        order = sorted(grids, key=lambda grid: -grid.scores["MAD"])
        for most in hits:
            larger = [grid for grid in grids if (grid.mean or 0) > (order[0].mean or 0)]
            hits[most] += len(larger) < most
    assert isinstance(entry.top_1, Estimate)
    assert isinstance(entry.top_2, Estimate)
    assert (entry.top_1.value, entry.top_2.value) == (hits[1] / 25, hits[2] / 25)
    assert entry.top_1.low is not None
    societal = next(each for each in ratings.scores if each.group == "societal")
    assert societal.grids == 50


def test_a_correlation_that_may_be_chance_is_called_so() -> None:
    def headline(low: float | None, high: float | None) -> str:
        spearman = Estimate(0.4, low=low, high=high, n=4, max=1.0)
        missing = Missing("not_asked", "")
        others = dict.fromkeys(
            ("spearman_of_medians", "kendall", "corrected", "within_prompts", "top_1", "top_2"),
            missing,
        )
        entry = ScoreAgreement(
            score="MAD",
            group="all",
            grids=4,
            prompts=2,
            spearman=spearman,
            detectable=None,
            **others,
        )
        return rating_headline(RatingFindings(reliability=missing, scores=(entry,), grids=()))

    assert headline(None, None).endswith(
        "too few prompts for an interval, so the correlation may be due to chance."
    )
    assert headline(-0.1, 0.7).endswith("not significantly different from 0.")
    assert headline(0.1, 0.7).endswith("across 4 image grids.")


def test_names_decide_whether_an_axis_is_societal() -> None:
    names = ("gender", "perceived age", "racial diversity", "geographic location", "image style")
    assert [is_societal(name) for name in names] == [True, True, True, True, False]


def test_reliability_is_that_of_shrout_and_fleiss() -> None:
    """Table 2 of Shrout and Fleiss (1979): four judges of six targets; ICC(1, 4) is .44."""
    rows = [[9, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4], [8, 2, 8, 6, 9, 7]]
    assert mean_reliability(rows) == pytest.approx(0.44, abs=0.005)


@pytest.mark.slow
def test_intervals_hold_the_true_correlation() -> None:
    rng = np.random.default_rng(0)

    def draw(prompts: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        common = rng.normal(size=(prompts, 1))
        x = common + rng.normal(size=(prompts, 3))
        y = common + rng.normal(size=(prompts, 3))
        return x.ravel(), y.ravel(), np.repeat(np.arange(prompts), 3)

    x, y, _ = draw(100_000)
    true = spearman_of(x, y)
    held = 0
    for _ in range(300):
        x, y, clusters = draw(15)
        estimate = jackknife_correlation(
            lambda places, x=x, y=y: spearman_of(x[places], y[places]), clusters
        )
        assert estimate.low is not None
        assert estimate.high is not None
        held += estimate.low <= true <= estimate.high
    assert 0.92 <= held / 300 <= 0.99
