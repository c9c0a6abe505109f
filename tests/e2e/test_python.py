"""askew.audit in Python: typed, with the same content as the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

import askew


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> askew.AuditResult:
    folder = tmp_path_factory.mktemp("python")
    return askew.audit(
        "a photo of a mechanic",
        model="studio/planted",
        images=12,
        axes=["gender", "hair"],
        bootstrap_samples=100,
        run=folder / "run",
    )


def test_planted_bias_is_found(result: askew.AuditResult) -> None:
    mad = result.mad("gender")
    assert isinstance(mad, askew.Estimate)
    assert mad.p is not None
    assert mad.p < 0.01
    male = result.cas("gender", "male")
    female = result.cas("gender", "female")
    assert isinstance(male, askew.Estimate)
    assert isinstance(female, askew.Estimate)
    assert male.value > female.value
    share = result.share("gender", "male")
    assert isinstance(share, askew.Estimate)
    assert share.low is not None
    assert share.high is not None
    assert share.low <= 0.95 <= share.high + 0.03


def test_counterfactuals_are_followed(result: askew.AuditResult) -> None:
    share = result.share("gender", "female", set_name="gender: female")
    assert isinstance(share, askew.Estimate)
    assert share.value > 0.9


def test_it_shows_itself_in_a_notebook(result: askew.AuditResult) -> None:
    page = result._repr_html_()
    assert "Gender" in page
    assert (result.folder / "report.html").exists()


def test_errors_name_what_does_not_exist(result: askew.AuditResult) -> None:
    with pytest.raises(askew.AskewError, match="gender"):
        result.mad("age")
    with pytest.raises(askew.AskewError, match="male"):
        result.cas("gender", "other")


def test_an_axis_that_the_instrument_does_not_know_is_missing(tmp_path: Path) -> None:
    result = askew.audit(
        "a photo of a nurse",
        "studio/planted",
        axes=["gender", "lighting"],
        images=4,
        bootstrap_samples=100,
        run=tmp_path / "run",
    )
    share = result.share("lighting", "soft")
    assert isinstance(share, askew.Missing)
    assert share.reason == "not_asked"
