"""Summaries of pages claim effects that exist, and nothing where there are none.

A row names the phrases of `askew.pages.phrases` that it tests. It draws runs of a fair world, of a
world without a mitigation (two runs of one model), or both, and of a world of known bias. A phrase
without a row fails. The rows of each area are in `ROWS` of the modules `summaries_*.py` beside this
file.

`python tests/truth/test_summaries.py` writes docs/reference/wording.md.
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent)]  # when run as a script, too

from truth.summary import Summary  # noqa: E402

ALLOWED = 0.07
TRIED = (2, pytest.param(40, marks=pytest.mark.slow))
"""Largest numbers of runs of a world in the test suites; wording.md uses all runs of a row."""
PAGE = HERE.parents[1] / "docs" / "reference" / "wording.md"


def modules() -> list[str]:
    return sorted(path.stem for path in HERE.glob("summaries_*.py"))


def rows() -> list[Summary]:
    return [row for name in modules() for row in importlib.import_module(f"truth.{name}").ROWS]


ROWS = rows()


def seldom(wrong: Callable[[int], bool], runs: int, allowed: float) -> bool:
    """Check whether at most the allowed share of the runs is wrong.

    More wrong runs than the allowed share are accepted if chance gives them in 1 of 1,000 cases.
    Drawing stops as soon as the remaining runs cannot change the answer.
    """
    most = runs * allowed + 3.1 * math.sqrt(runs * allowed * (1 - allowed))
    count = left = 0
    for seed in range(runs):
        count = count + wrong(seed)
        left = runs - seed - 1
        if count > most or count + left <= most:
            break
    return count <= most


@pytest.mark.parametrize("tried", TRIED)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_nothing_is_claimed_without_an_effect(row: Summary, tried: int) -> None:
    assert seldom(row.claims, min(row.runs, tried), ALLOWED)


@pytest.mark.parametrize("tried", TRIED)
@pytest.mark.parametrize("row", [row for row in ROWS if row.named], ids=lambda row: row.name)
def test_known_effects_are_reported(row: Summary, tried: int) -> None:
    named = row.named
    assert named is not None
    assert seldom(lambda seed: not named(seed), min(row.named_runs, tried), 1 - row.least)


@pytest.mark.parametrize("rate", [0.04, 0.5])
def test_rare_claims_are_separated_from_frequent_ones(rate: float) -> None:
    """The early stop does not change the answer."""
    drawn: list[int] = []
    wrong = np.random.default_rng(0).random(40) < rate
    most = 40 * ALLOWED + 3.1 * math.sqrt(40 * ALLOWED * (1 - ALLOWED))
    assert seldom(lambda seed: drawn.append(seed) or wrong[seed], 40, ALLOWED) == (
        wrong.sum() <= most
    )
    assert len(drawn) < 40


def test_every_phrase_has_a_row_and_is_in_the_reference() -> None:
    from askew.pages.phrases import PHRASES

    phrases = {phrase for row in ROWS for phrase in row.phrases}
    assert phrases == set(PHRASES), (
        f"phrases without a row: {set(PHRASES) - phrases}; unknown: {phrases - set(PHRASES)}"
    )
    page = PAGE.read_text(encoding="utf-8")
    missing = [name for name, phrase in PHRASES.items() if phrase.text not in page]
    assert not missing, (
        f"give `python tests/truth/test_summaries.py`: wording.md lacks {', '.join(missing)}"
    )


def written() -> str:
    """Return the text of docs/reference/wording.md."""
    from askew.pages.phrases import PHRASES

    lines = [
        "# Sentences of the reports",
        "",
        "Some sentences in reports claim an effect, or claim that there is no significant effect. This page lists all "
        "of these sentences. Braces mark placeholders, which askew replaces with values.",
        "",
        "How often is such a claim wrong? For every group of sentences, `tests/truth/test_summaries.py` simulates runs "
        "with bias that is *planted* and therefore known. The error rate is the share of runs that claim an effect "
        "although there is none. The test also requires that most runs report the planted bias.",
        "",
    ]
    for row in ROWS:
        named = (
            f" Reports state the known effect in at least {row.least:.0%} of runs."
            if row.named
            else ""
        )
        lines += [
            f"## {row.name}",
            "",
            f"{row.world} The error rate is {row.error:.1%} ({row.errors} of {row.runs} runs).{named}",
            "",
            "| Sentence | Condition |",
            "| --- | --- |",
        ]
        for name in row.phrases:
            condition = PHRASES[name].condition.replace("|", "\\|")
            lines.append(f"| {PHRASES[name].text} | {condition} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
