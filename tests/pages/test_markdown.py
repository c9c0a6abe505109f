"""The page as Markdown: complete tables, and no foreign text that is read as markup."""

from __future__ import annotations

import re

from askew.pages.blocks import (
    CodeBlock,
    IntervalChart,
    IntervalRow,
    Page,
    Paragraph,
    Section,
    Table,
)
from askew.pages.plain import markdown
from pages.gallery import HOSTILE, estimate, gallery


def shown(*blocks: object) -> str:
    return markdown(Page("k", "t", "a", "", (Section("Only", blocks),)))  # type: ignore[arg-type]


def test_rows_have_as_many_cells_as_their_head() -> None:
    for table in re.findall(r"(?:^\|.*\|$\n?)+", markdown(gallery()), re.MULTILINE):
        counts = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(counts) == 1


def test_contains_no_foreign_markup() -> None:
    text = markdown(gallery())
    plain_text = re.sub(
        r"</?(details|summary|sub)>", "", re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    )
    assert not re.search(r"(?<!\\)<", plain_text)
    assert "\\<script\\>" in text


def test_foreign_lines_stay_in_their_place() -> None:
    text = shown(
        Table("c", ("a", "b"), (("x\n| y | z |", "@all # head\n- item"),)), Paragraph("1\n# 2")
    )
    assert "| x \\| y \\| z \\| | @\u200ball \\# head - item |" in text
    assert "\n# 2" not in text


def test_foreign_text_cannot_end_a_code_block() -> None:
    text = shown(CodeBlock(f"```\n{HOSTILE}\n````"))
    assert text.count("`````\n") == 2


def test_significant_results_are_bold() -> None:
    text = shown(IntervalChart("c", "Axis", (IntervalRow("age", estimate(0.5, q=0.01)),), "MAD"))
    assert "| age | **0.50** | **\\[0.44, 0.56\\]** | **–** | **–** | **0.010** |" in text


def test_details_stay_collapsed() -> None:
    text = markdown(gallery())
    assert text.count("<details>") == text.count("</details>") == 3
    assert "Which axis moves which" not in text  # the section is not for screens
    assert "data:image" not in text
