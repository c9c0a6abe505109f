"""Commands of benchmarks in the documentation, and the parts of the calibration, exist."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from benchmarks.calibration import PARTS
from benchmarks.calibration_pearson import (
    BIASED,
    PROMPTS,
    from_equal_shares,
    planted_shares,
    significant_axes,
    total_variation_law,
)

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
COMMAND = re.compile(r"python -m benchmarks\.(\w+)([^`\n]*)")


def commands() -> list[tuple[str, str, str]]:
    """Return page, script and arguments of each command."""
    pages = sorted(ROOT.glob("docs/**/*.md"))
    return [
        (str(page.relative_to(ROOT)), *command)
        for page in pages
        for command in COMMAND.findall(page.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize(("page", "script", "arguments"), commands())
def test_a_documented_benchmark_exists_with_its_options(
    page: str, script: str, arguments: str
) -> None:
    path = ROOT / "benchmarks" / f"{script}.py"
    assert path.exists(), page
    source = path.read_text(encoding="utf-8")
    for option in re.findall(r"--[a-z][\w-]*", arguments):
        assert f'"{option}"' in source, (page, option)


def test_every_calibration_is_a_part_and_documented() -> None:
    scripts = {path.stem for path in (ROOT / "benchmarks").glob("calibration_*.py")}
    assert scripts == {f"calibration_{part}" for part in PARTS}
    documented = {script for _, script, _ in commands()}
    assert scripts <= documented
    for part, arguments in PARTS.items():
        source = (ROOT / "benchmarks" / f"calibration_{part}.py").read_text(encoding="utf-8")
        for option in arguments:
            assert not option.startswith("--") or f'"{option}"' in source


def test_tables_of_the_calibration_have_the_columns_of_their_heads() -> None:
    for page in REFERENCE.glob("calibration*.md"):
        tables = re.findall(r"(?:^\|.*\n)+", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert tables
        for table in tables:
            widths = {line.count("|") for line in table.splitlines()}
            assert len(widths) == 1, (page.name, table[:80])


def test_the_law_of_the_total_variation_is_that_of_a_binomial() -> None:
    law = total_variation_law(24, 2)
    for count in (12, 15, 19):
        _, usual = law.p(from_equal_shares(np.array([count, 24 - count])))
        exact = 1.0 if count == 12 else 2 * binom.sf(count - 1, 24, 0.5)
        assert float(usual) == pytest.approx(exact, abs=0.01)


def test_pearson_finds_more_planted_axes_than_the_tests_before() -> None:
    assert {bias for _, bias in BIASED} == {0.0, 0.25, 0.5}
    rng = np.random.default_rng(1)
    axes = planted_shares(PROMPTS[0], 1.0)
    counts = sum(significant_axes(axes, 24, rng).sum(axis=1) for _ in range(30))
    joined, alone, usual, mid = np.asarray(counts)
    assert joined < alone <= usual <= mid
