"""Reports of every method in a browser: the first screen, and the printed page."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from askew.cli import run
from pages.test_accessibility import SERIOUS, faults
from pages.test_browser import CHROMIUM, SWITCHES, sound
from recorded_runs import Workplace
from served_models import served

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium on the PATH"),
]

MITIGATION = "mitigation"
HOSTED = "hosted audit"
UNTIL_DECIDED = "audit until decided"
AUDIT = ("audit", "a photo of a nurse", "a photo of a chef", "--axes", "gender")
RUNS = (
    "audit_planted",
    "audit_people",
    "audit_two_instruments",
    "interact_fair",
    "interact_occupations",
    "map_models",
    "mine_skew",
    "mine_bias",
    "rank_mined",
    "edit_groups",
    "classify_groups",
    MITIGATION,
    HOSTED,
    UNTIL_DECIDED,
    "compare_audits",
    "graphs",
)
REPORTS = ("report.html", "comparison.html", "graphs.html")
WIDTHS = (390, 800, 1280, 1920)
DESKTOP = 1280
HIGHEST_CHART = 300
HIGHEST_IMAGE = 800
HEADLINE_LINES = 2
"""Largest distances from the top, and most lines of the headline, at 1,280 pixels."""
LARGEST = 3_000_000
FIRST_PAINT = 300_000
"""Largest report, and largest part of it up to the end of the first screen, in characters."""


def mitigated(workplace: Workplace) -> Path:
    """Return the folder of a small mitigation."""
    folder = workplace.root / MITIGATION
    options = ["--images", "24", "--eval-images", "24", "--store", str(workplace.store)]
    prompt = ["mitigate", "a photo of a nurse", "--model", "studio/planted", "--axes", "gender"]
    assert run([*prompt, *options, "--run", str(folder)]) == 0
    return folder


def hosted_audit(workplace: Workplace) -> Path:
    """Return the folder of an audit of a server that refuses and rewrites prompts: five warnings."""
    folder = workplace.root / HOSTED
    options = ["--images", "24", "--vqa", "studio", "--embedder", "studio", "--price", "0.02"]
    with served("studio/planted", "refuse:female=0.4", "rewrite:smiling=0.5") as server:
        model = ["--model", "openai/studio/planted", "--model-url", server.url]
        assert run([*AUDIT, *options, *model, "--run", str(folder)]) == 0
    return folder


def audit_until_decided(workplace: Workplace) -> Path:
    """Return the folder of an audit that adds images until a verdict is reached."""
    folder = workplace.root / UNTIL_DECIDED
    options = ["--model", "studio/planted", "--until", "decided", "--max-images", "24"]
    assert run([*AUDIT, *options, "--run", str(folder)]) == 0
    return folder


MADE = {MITIGATION: mitigated, HOSTED: hosted_audit, UNTIL_DECIDED: audit_until_decided}
"""Runs that no recorded numbers need."""


@pytest.mark.parametrize("name", RUNS)
def test_the_first_screen_has_the_chart_and_the_images(
    name: str, workplace: Workplace, tmp_path: Path
) -> None:
    folder = MADE[name](workplace) if name in MADE else workplace.folder(name)
    (report,) = [folder / file for file in REPORTS if (folder / file).exists()]
    page = report.read_text(encoding="utf-8")
    assert len(page) < LARGEST
    assert len(page.partition("<section")[0]) < FIRST_PAINT
    for scheme in (0, 1):
        theme = f"--blink-settings=preferredColorScheme={scheme}"
        measured = sound([(page, width) for width in WIDTHS], tmp_path, theme)
        desktop = measured[WIDTHS.index(DESKTOP)]
        assert desktop["chart"] < HIGHEST_CHART
        if desktop["image"] is not None:
            assert desktop["image"] < HIGHEST_IMAGE
        assert desktop["headline"] <= HEADLINE_LINES
        violations = faults(page, tmp_path, theme)
        assert [fault for fault in violations if fault["impact"] in SERIOUS] == []
    assert printed_pages(report, tmp_path) == 1


def printed_pages(report: Path, folder: Path) -> int:
    """Return the number of pages of a printed report whose details are closed."""
    file = folder / "report.pdf"
    profile = f"--user-data-dir={folder / 'print-profile'}"
    command = [str(CHROMIUM), *SWITCHES.split(), profile, f"--print-to-pdf={file}"]
    subprocess.run([*command, report.as_uri()], capture_output=True, timeout=300, check=True)
    return len(re.findall(rb"/Type /Page\b", file.read_bytes()))
