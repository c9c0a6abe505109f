"""Reports of every method in a browser: the chart and the images are on the first screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from askew.cli import run
from pages.test_accessibility import SERIOUS, faults
from pages.test_browser import CHROMIUM, sound
from recorded_runs import Workplace

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium on the PATH"),
]

MITIGATION = "mitigation"
RUNS = (
    "audit_planted",
    "audit_people",
    "interact_fair",
    "interact_occupations",
    "map_models",
    "mine_skew",
    "mine_bias",
    "rank_mined",
    "edit_groups",
    "classify_groups",
    MITIGATION,
    "compare_audits",
    "graphs",
)
REPORTS = ("report.html", "comparison.html", "graphs.html")
WIDTHS = (390, 800, 1280, 1920)
DESKTOP = 1280
HIGHEST_CHART = 300
HIGHEST_IMAGE = 800
LARGEST = 3_000_000
"""Largest distances from the top at 1,280 pixels, and largest file in bytes."""


def mitigated(workplace: Workplace) -> Path:
    """Return the folder of a small mitigation."""
    folder = workplace.root / MITIGATION
    options = ["--images", "24", "--eval-images", "24", "--store", str(workplace.store)]
    prompt = ["mitigate", "a photo of a nurse", "--model", "studio/planted", "--axes", "gender"]
    assert run([*prompt, *options, "--run", str(folder)]) == 0
    return folder


@pytest.mark.parametrize("name", RUNS)
def test_the_first_screen_has_the_chart_and_the_images(
    name: str, workplace: Workplace, tmp_path: Path
) -> None:
    folder = mitigated(workplace) if name == MITIGATION else workplace.folder(name)
    (report,) = [folder / file for file in REPORTS if (folder / file).exists()]
    page = report.read_text(encoding="utf-8")
    assert len(page) < LARGEST
    for scheme in (0, 1):
        theme = f"--blink-settings=preferredColorScheme={scheme}"
        measured = sound([(page, width) for width in WIDTHS], tmp_path, theme)
        desktop = measured[WIDTHS.index(DESKTOP)]
        assert desktop["chart"] - desktop["warnings"] < HIGHEST_CHART
        if desktop["image"] is not None:
            assert desktop["image"] - desktop["warnings"] < HIGHEST_IMAGE
        violations = faults(page, tmp_path, theme)
        assert [fault for fault in violations if fault["impact"] in SERIOUS] == []
