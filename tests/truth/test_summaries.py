"""Every summary of a page, in worlds whose truth is known: it claims what is there, and nothing where nothing is.

A row names the phrases of `askew.pages.phrases` that it stands for. It draws runs of a fair world (nothing leans), of
one where nothing was done (two runs of one model), or both, and of a world of known bias. A phrase without a row fails.
Areas keep their rows in modules `summaries_*.py` beside this file: `ROWS`.

`python tests/truth/test_summaries.py` writes docs/reference/wording.md.
"""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent)]  # given as a script, too

from truth.summary import Summary  # noqa: E402

ALLOWED = 0.07
PAGE = HERE.parents[1] / "docs" / "reference" / "wording.md"


def modules() -> list[str]:
    return sorted(path.stem for path in HERE.glob("summaries_*.py"))


def rows() -> list[Summary]:
    return [row for name in modules() for row in importlib.import_module(f"truth.{name}").ROWS]


ROWS = rows()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_nothing_is_claimed_where_nothing_is(row: Summary) -> None:
    """At most 7 % of runs, and what chance adds in so many of them (one-sided, 1 in 1,000)."""
    assert row.error <= ALLOWED + 3.1 * math.sqrt(ALLOWED * (1 - ALLOWED) / row.runs)


@pytest.mark.parametrize("row", [row for row in ROWS if row.named], ids=lambda row: row.name)
def test_what_is_there_is_not_denied(row: Summary) -> None:
    assert row.named is not None
    found = sum(map(row.named, range(row.named_runs))) / row.named_runs
    assert found >= row.least - 3.1 * math.sqrt(row.least * (1 - row.least) / row.named_runs)


def test_every_phrase_has_a_row_and_stands_in_the_reference() -> None:
    from askew.pages.phrases import PHRASES

    told = {phrase for row in ROWS for phrase in row.phrases}
    assert told == set(PHRASES), f"phrases without a row: {set(PHRASES) - told}; unknown: {told - set(PHRASES)}"
    page = PAGE.read_text(encoding="utf-8")
    missing = [name for name, (text, _) in PHRASES.items() if text not in page]
    assert not missing, f"give `python tests/truth/test_summaries.py`: wording.md lacks {', '.join(missing)}"


def written() -> str:
    """docs/reference/wording.md."""
    from askew.pages.phrases import PHRASES

    lines = [
        "# What pages say, and when", "",
        "Every sentence that claims something, or says that nothing is shown. {…} is filled in.",
        "The error is how often a summary claims something where nothing is: in runs drawn from a fair world, or from "
        "one model twice. It is measured by `tests/truth/test_summaries.py`, which also demands that a known bias is "
        "named.", "",
    ]  # fmt: skip
    for row in ROWS:
        named = f" A known bias is named in at least {row.least:.0%} of runs." if row.named else ""
        lines += [f"## {row.name}", "", f"{row.world} Error: {row.error:.1%} of {row.runs} runs.{named}", "",
                  "| Phrase | Said when |", "| --- | --- |"]  # fmt: skip
        lines += [f"| {PHRASES[one][0]} | {PHRASES[one][1]} |" for one in row.phrases]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
