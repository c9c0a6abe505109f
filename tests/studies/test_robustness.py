"""Wrong answers of simulated graphs have the law of answers that are replaced one by one."""

from __future__ import annotations

from collections import Counter
from io import StringIO

import numpy as np
import pytest
from rich.console import Console
from scipy.stats import chisquare

from askew.parts.survey.observed import ObservedSet
from askew.plan import AxisPlan
from askew.prompts.counterfactuals import counterfactuals
from askew.studies.robustness import GraphChange, Robustness, _with_errors
from askew.types import Axis, Estimate, Missing, Picture, Prompt, Question

IMAGES = 6000
VALUES = ("young", "middle-aged", "old")


def planned(name: str, values: tuple[str, ...]) -> AxisPlan:
    axis = Axis(
        name=name, questions=(Question("Which?", axis=name, options=values),), values=values
    )
    return AxisPlan.of(axis, counterfactuals("a photo of a nurse", name))


@pytest.fixture(scope="module")
def wrong() -> dict[str, tuple[str | Missing, ...]]:
    """Return the answers of a set in which 30 % of the answers are replaced."""
    ages = ("old", "old", Missing("refused")) * (IMAGES // 3)
    observed = ObservedSet(
        prompt=Prompt("a photo of a nurse"),
        pictures=tuple(Picture(str(k), "", "a photo of a nurse") for k in range(IMAGES)),
        values={"truth": {"age": ages, "gender": ("male",) * IMAGES}},
        captions=(Missing("not_asked"),) * IMAGES,
    )
    axes = [planned("age", VALUES), planned("gender", ("male", "female"))]
    return dict(
        _with_errors(observed, axes, "truth", 0.3, np.random.default_rng(0)).values["truth"]
    )


def test_wrong_answers_are_uniform_over_the_other_values(
    wrong: dict[str, tuple[object, ...]],
) -> None:
    counts = Counter(answer for answer in wrong["age"] if not isinstance(answer, Missing))
    known = IMAGES // 3 * 2
    expected = [0.15 * known, 0.15 * known, 0.7 * known]
    assert chisquare([counts[value] for value in VALUES], expected).pvalue > 0.01
    females = Counter(wrong["gender"])["female"]
    assert chisquare([females, IMAGES - females], [0.3 * IMAGES, 0.7 * IMAGES]).pvalue > 0.01


def test_missing_answers_stay_missing_and_axes_err_independently(
    wrong: dict[str, tuple[object, ...]],
) -> None:
    missing = [isinstance(answer, Missing) for answer in wrong["age"]]
    assert missing == [False, False, True] * (IMAGES // 3)
    of_age = np.array([answer not in ("old", Missing("refused")) for answer in wrong["age"]])
    of_gender = np.array([answer == "female" for answer in wrong["gender"]])
    known = ~np.array(missing)
    assert np.mean(of_age[known] & of_gender[known]) == pytest.approx(0.09, abs=0.02)


def change(kind: str, size: float, share: float | None) -> GraphChange:
    """Return the mean change of a graph of four edges."""
    absent = Missing("not_asked", "no edge")
    return GraphChange(
        kind=kind,  # type: ignore[arg-type]
        size=size,
        edges=4,
        over="simulation",
        edges_kept=absent if share is None else Estimate(share, n=3),
        sensitivity_change=Estimate(0.1, n=3),
        rank_correlation=absent,
        paper_change=absent,
    )


def test_the_answer_names_the_hardest_simulations_and_empty_columns_are_left_out() -> None:
    changes = [change("pictures", 16, 1.0), change("pictures", 8, 0.5), change("errors", 0.4, 0.25)]
    result = Robustness(changes)
    assert result.answer() == (
        "On average, the following shares of 4 edges remain: 50 % with 8 images per set and 25 % "
        "with 40 % wrong answers."
    )
    console = Console(width=100, file=StringIO())
    console.print(result)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "remaining edges" in text
    assert "rank correlation" not in text
    assert "no edge" in Robustness([change("errors", 0.4, None)]).answer()
