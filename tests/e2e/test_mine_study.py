"""askew mine-study in its smallest form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import askew
from askew.cli import run as command
from askew.errors import UsageError

TINY = ["--runs", "2", "--iterations", "1", "--images", "2", "--ranking-images", "4", "--occupations", "6",
        "--draws", "100"]  # fmt: skip


def test_one_command_studies_alpha_selection_and_population(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["mine-study", *TINY, "--run", str(tmp_path / "study"), "--store", str(tmp_path / "store")]
    assert command([*options, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["quantile"] for row in found["ranking"]["quantiles"]] == [0.0, 0.1, 0.25, 0.5, 0.75]
    assert all(-1 <= row["corrected"]["value"] <= 1 for row in found["ranking"]["quantiles"])
    sizes = {(e["population"], e["selected"], e["mutations"]): e for e in found["sizes"]}
    assert len(sizes) == 7
    assert sizes[15, 5, 2]["difference"] is None
    assert sizes[15, 7, 2]["difference"]["value"] == 0.0  # the first population is that of the paper's size: same seeds
    assert sizes[9, 3, 2]["difference"]["n"] == 2
    assert found["random"]["difference"]["n"] == 2
    assert (tmp_path / "study" / "15-5-2" / "report.html").exists()
    assert command(options) == 0
    assert "Spearman" in capsys.readouterr().out


@pytest.mark.parametrize("model", ["folder/pictures", "diffusers/anything"])
def test_without_a_planted_bias_there_is_nothing_to_judge_by(model: str) -> None:
    with pytest.raises(UsageError, match="no planted bias"):
        askew.mine_study(model)


def test_a_ranking_needs_some_occupations() -> None:
    with pytest.raises(UsageError, match="take 3 to"):
        askew.mine_study(occupations=0)
