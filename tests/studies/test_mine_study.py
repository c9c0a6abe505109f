"""The study of a search's parts: sizes on results that are known, rankings on vectors whose bias is known."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO, StringIO
from typing import Any

import html5lib
import numpy as np
import pytest
from rich.console import Console

from askew.errors import NotEnoughData
from askew.methods.mine.findings import BestPrompt, Iteration, MineTheGap
from askew.methods.mine.objectives import Alignment
from askew.methods.mine.plan import MinePlan
from askew.pages import html, terminal
from askew.parts.scoring import Scoring
from askew.run.base import Outcome, Rows
from askew.studies.mine_study.findings import (
    AlphaRanks,
    CurvePoint,
    MiningStudyFindings,
    RandomStudy,
    RankedPrompt,
    Ranking,
    SizeScore,
)
from askew.studies.mine_study.page import answer, page
from askew.studies.mine_study.score import PAPER, Known, SearchSize, best_so_far, known_ranking, size_study
from askew.types import Estimate, Missing, Picture
from known_vectors import bias_objective

OTHER = SearchSize(9, 3, 2)
HISTORY = tuple(Iteration(run, k, None, None, 1.1 - k / 100 + run / 10) for run in (0, 1) for k in (0, 1))


def section(*fresh: tuple[float | None, ...]) -> MineTheGap:
    """By run the fresh scores of its best prompts, found 0.02 lower."""
    refused = Missing("refused")
    best = tuple(
        BestPrompt(run, "", refused if v is None else Estimate(v - 0.02), refused if v is None else Estimate(v), 0, ())
        for run, values in enumerate(fresh)
        for v in values
    )
    return MineTheGap("bias", best, HISTORY, None, (), (), None, ())


def value(found: Estimate | Missing | None) -> float:
    assert isinstance(found, Estimate)
    return found.value


def test_sizes_differ_in_pairs_of_runs() -> None:
    sections = {PAPER: section((1.0, 1.2), (1.0, 1.0)), OTHER: section((1.3, 1.3), (1.1, 1.1))}
    paper, other = size_study(sections, 2, 0.95)
    assert paper.random == 5
    assert paper.by_run == pytest.approx([1.1, 1.0])
    assert paper.difference is None
    assert value(paper.found) == pytest.approx(1.03)
    assert value(other.difference) == pytest.approx(0.15)
    assert isinstance(other.difference, Estimate)
    assert other.difference.q == other.difference.p


def test_runs_without_a_score_are_missing() -> None:
    _, other = size_study({PAPER: section((1.0,), (1.1,)), OTHER: section((None,), (1.2,))}, 2, 0.95)
    assert isinstance(other.fresh, Estimate)
    assert (other.fresh.n, other.fresh.missing) == (1, 1)
    assert value(other.difference) == pytest.approx(0.1)
    (nothing,) = size_study({PAPER: section((None,), (None,))}, 2, 0.95)
    assert isinstance(nothing.fresh, Missing)


def test_curves_are_means_over_runs() -> None:
    curve = best_so_far(HISTORY, 2)
    assert [one.mean for one in curve] == pytest.approx([1.15, 1.14])
    assert curve[0].error == pytest.approx(0.05)


KINDS = 6
SKEWS = {f"prompt {k}": k / 7 for k in range(8)}
VARIED: dict[str, Outcome] = {f"variation #{k}": Picture(f"variation #{k}", "", "") for k in range(KINDS)}


def embed(names: Sequence[str]) -> Rows:
    """A name ends with its kind, a direction of its own beside a common one."""
    kinds = [int(name.split("#")[1]) for name in names]
    return np.asarray(np.hstack([np.ones((len(kinds), 1)), np.eye(KINDS)[kinds]]) / np.sqrt(2), np.float32)


def pictures_of(prompt: str, seed: int) -> list[Outcome]:
    """Of a prompt with skew x the share x shows kind 0 beside what an even model shows."""
    shown = round(SKEWS[prompt] * 24)
    kinds = [0] * shown + [k % KINDS for k in range(24 - shown)]
    return [Picture(f"{prompt} {k} #{kind}", "", prompt, seed) for k, kind in enumerate(kinds)]


def known(*prompts: str) -> list[Known]:
    objective, found = bias_objective(pictures_of, list(VARIED), embed), []
    for prompt in prompts:
        seen, chance = objective.read(prompt, 0), objective.chance(prompt, VARIED, 0)
        assert isinstance(seen, Alignment)
        assert chance is not None
        found.append(Known(prompt, SKEWS[prompt], seen, chance))
    return found


def test_prompts_are_ranked_by_what_is_known_of_them() -> None:
    found = known_ranking(known(*SKEWS), Scoring("none", draws=100), (0.0, 0.25))
    assert [row.prompt for row in found.prompts] == list(SKEWS)
    assert found.images == 24
    strict = found.quantiles[0]
    assert strict.quantile == 0.0
    assert value(strict.corrected) > 0.6
    assert isinstance(strict.score, Estimate)
    assert strict.score.low is not None


def test_a_ranking_needs_three_prompts() -> None:
    with pytest.raises(NotEnoughData, match="three"):
        known_ranking(known("prompt 1", "prompt 2"), Scoring("none", draws=100))


def e(value: float, **fields: Any) -> Estimate:
    return Estimate(value, **{"low": value - 0.01, "high": value + 0.01, "level": 0.95, "n": 3, **fields})


def size(population: int, difference: Estimate | None) -> SizeScore:
    curve = tuple(CurvePoint(k, 1.05 - k / 100, 0.01) for k in range(3))
    selected = population // 3
    return SizeScore(population, selected, 2, selected, e(1.02), (1.01, None), e(1.0), difference, curve)


def study(random: Estimate) -> MiningStudyFindings:
    halves = (e(0.5), Missing("error", "equal"))
    alphas = (AlphaRanks(0.0, e(0.7), e(0.2), *halves), AlphaRanks(0.25, e(0.3), e(0.6), *halves))
    prompts = tuple(RankedPrompt(name, 0.5, 1.0, 0.1) for name in "abc")
    sizes = (size(15, None), size(9, e(0.01, p=0.01, q=0.01)))
    return MiningStudyFindings(MinePlan(runs=2, iterations=3, images=4), Ranking(8, prompts, alphas), sizes,
                               RandomStudy(random, sizes[0].curve))  # fmt: skip


def test_a_study_is_judged_by_what_was_planted() -> None:
    found = study(e(-0.02, low=-0.03, high=-0.01))
    said = answer(found)
    assert "best by what was planted at alpha 0.25" in said
    assert "one differs from the paper's on fresh seeds: 9: 3 × 2 + 3 random." in said
    assert "Mining finds lower losses than random search" in said
    assert "does not show to find other losses" in answer(study(e(-0.02, low=-0.05, high=0.01)))


def test_its_page_draws_both_populations_and_random_search() -> None:
    found = study(e(-0.02))
    text = html.page(page(found))
    assert text.count("<figure><figcaption>Best loss so far") == 2
    for line in ("9: 3 × 2 + 3 random", "15: 5 × 2 + 5 random", "mined", "random"):
        assert f'<th scope="col" class="num"><bdi>{line}</bdi></th>' in text  # in the numbers of a plot
    html5lib.HTMLParser(strict=True).parse(BytesIO(text.encode()))
    console = Console(width=80, record=True, file=StringIO())
    console.print(terminal.screen(page(found)))
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= 80
    assert any("0.25" in line and "+0.60" in line for line in lines)
