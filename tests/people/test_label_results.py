"""Results of label studies hold what is planted, and exclude by the rules fixed before."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from askew.cli import run
from askew.findings import read
from askew.people.findings import StudyFindings
from askew.people.folder import StudyFolder
from askew.people.results import StudyResult, study_results
from askew.types import Estimate
from planted_raters import ERRORS, INSTRUMENT, answers, planted_study


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    rng = np.random.default_rng(5)
    folder, truth = planted_study(tmp_path_factory.mktemp("planted") / "study", rng)
    folder.write_answers(answers(folder, truth, rng, always_first=("r007",)))
    return study_results(StudyFolder.opened(folder.path)).write()


def holds(score: object, truth: float) -> bool:
    assert isinstance(score, Estimate)
    assert score.low is not None
    assert score.high is not None
    return score.low <= truth <= score.high


def test_a_rater_who_always_presses_one_is_excluded(result: StudyResult) -> None:
    excluded = {rater.id: rater.excluded for rater in result.findings.raters if rater.excluded}
    assert list(excluded) == ["r007"]
    assert "attention checks" in excluded["r007"]
    assert result.findings.included.raters == 29
    assert result.findings.everyone.raters == 30


def test_errors_and_shares_hold_what_is_planted(result: StudyResult) -> None:
    (errors,) = result.findings.included.errors
    (shares,) = result.findings.included.shares
    assert errors.instrument == INSTRUMENT
    for row, value in enumerate(("male", "female")):
        assert holds(errors.rates[value]["female"], float(ERRORS[row, 1]))
    assert holds(shares.model_shares["female"], 0.4)
    assert shares.by_instrument[INSTRUMENT]["female"] == pytest.approx(0.39, abs=0.05)
    assert errors.rater_rates["female"]["male"] == pytest.approx(0.15, abs=0.07)
    (agreement,) = result.findings.included.agreement
    assert agreement.coefficient == "alpha"
    # two raters agree on 75 to 82 % of the images, and on half of them by chance
    assert holds(agreement.agreement, 0.57)


def test_results_are_read_back_and_shown(
    result: StudyResult, capsys: pytest.CaptureFixture[str]
) -> None:
    again = read(StudyFindings, result.numbers)
    assert again == result.findings
    assert run(["study", "results", str(result.folder.path)]) == 0
    text = capsys.readouterr().out
    assert "Most raters and planted assign the same perceived gender" in text
    assert run(["study", "results", str(result.folder.path), "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["included"]["shares"][0]["images"] == 600
    report = result.report.read_text(encoding="utf-8")
    assert "passed 0 of" in report
    assert {row.score for row in result.estimates()} >= {"equal", "rates", "shares", "agreement"}


def test_a_single_rater_is_not_most_raters_and_agrees_with_nobody(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    folder, truth = planted_study(
        tmp_path / "study", rng, images=40, labeled=20, raters=1, per_item=1
    )
    folder.write_answers(answers(folder, truth, rng))
    page = study_results(StudyFolder.opened(folder.path)).page
    assert page.answer.startswith("The rater and planted assign the same perceived gender to ")
    assert "Agreement between raters" not in [section.title for section in page.sections]


def test_nobody_answered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, _ = planted_study(tmp_path / "study", np.random.default_rng(0), labeled=20, raters=3)
    assert run(["study", "results", str(folder.path)]) == 2
    assert "has no answers yet" in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_intervals_hold_the_truth_in_200_studies(tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    held: list[bool] = []
    for number in range(200):
        folder, truth = planted_study(tmp_path / f"{number}", rng)
        folder.write_answers(answers(folder, truth, rng, always_first=("r003",)))
        findings = study_results(folder).findings
        assert [rater.id for rater in findings.raters if rater.excluded] == ["r003"]
        (errors,) = findings.included.errors
        for row, value in enumerate(("male", "female")):
            held.append(holds(errors.rates[value]["female"], float(ERRORS[row, 1])))
    assert 0.93 <= np.mean(held) <= 0.97
