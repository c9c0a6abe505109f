"""The page as a file: safe, complete, accessible without images, and always the same."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, replace
from html import unescape

import html5lib
import pytest

from askew.pages import charts, html
from askew.pages.blocks import (
    Arrow,
    Details,
    GraphDiagram,
    IntervalChart,
    IntervalRow,
    LineChart,
    LineSeries,
    Page,
    Paragraph,
    Section,
    Table,
    Thumbnail,
    ValueChart,
    ValueGroup,
    ValueShare,
)
from askew.types import Estimate
from pages.gallery import GONE, HOSTILE, LONG_WORD, estimate, gallery


@pytest.fixture(scope="module")
def page() -> str:
    return html.page(gallery())


def shown(*blocks: object, **more: object) -> str:
    section = Section("Only", blocks)  # type: ignore[arg-type]
    return html.page(Page("kicker", "title", "answer", "meta", (section,), **more))  # type: ignore[arg-type]


def test_is_valid_html(page: str) -> None:
    html5lib.HTMLParser(strict=True).parse(page)


def test_allows_only_the_style_of_the_page(page: str) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    assert policy
    assert style
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert unescape(policy[1]) == f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'"


@pytest.mark.parametrize(
    "forbidden", ["<script", " style=", "javascript:", "@import", "http-equiv=refresh"]
)
def test_contains_no_script_or_request(page: str, forbidden: str) -> None:
    assert forbidden not in page


def test_shows_foreign_markup_as_text(page: str) -> None:
    assert "&lt;script&gt;alert(" in page
    assert "<img src=x" not in page


def test_every_image_has_an_alternative_text(page: str) -> None:
    pictures = re.findall(r"<img [^>]*>", page)
    assert len(pictures) > 40
    assert all(re.search(r'alt="[^"]+"', picture) for picture in pictures)


def test_every_drawing_has_a_description(page: str) -> None:
    for drawing in re.findall(r'<svg [^>]*role="img"[^>]*>.{0,80}', page):
        assert "<title>" in drawing


def test_ids_are_unique_and_links_have_targets(page: str) -> None:
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)


def test_a_link_to_nothing_is_text() -> None:
    page = shown(
        IntervalChart("c", "Axis", (IntervalRow("here", estimate(0.2), link="nowhere"),), "MAD")
    )
    assert "nowhere" not in page
    assert "here" in page


def test_a_link_leads_to_collapsed_details() -> None:
    fold = Details("more", (Paragraph("told"),), anchor="a b")
    page = shown(
        IntervalChart("c", "Axis", (IntervalRow("here", estimate(0.2), link="a b"),), "MAD"), fold
    )
    assert '<a href="#a-b"><bdi>here</bdi></a>' in page
    assert '<details id="a-b">' in page


def test_empty_blocks_are_left_out() -> None:
    empty = Section(
        "Empty",
        (Details("nobody", (IntervalChart("c", "Axis", (), "MAD"),)), Table("t", ("a",), ())),
    )
    document = Page("", "", "", "", (Section("Full", iter([Paragraph("told"), empty])), empty))
    assert [section.title for section in document.sections] == ["Full"]
    assert document.sections[0].blocks == (Paragraph("told"),)


def test_the_same_page_gives_the_same_bytes(page: str) -> None:
    assert page == html.page(gallery())


def test_the_style_of_a_fragment_applies_only_to_it() -> None:
    fragment = html.fragment(gallery())
    style = re.search(r"<style>(.*?)</style>", fragment, re.DOTALL)
    assert style
    outer = re.sub(
        r"\{[^{}]*\}", "", re.sub(r"\{[^{}]*\}", "", re.sub(r"\{[^{}]*\}", "", style[1]))
    )
    assert all(
        rule.startswith((".askew", "@")) for rule in re.findall(r"^[^\s}].*", outer, re.MULTILINE)
    )
    assert fragment.startswith('<div class="askew part">')
    assert "Share of the 48 images" in fragment
    assert "Effects" in fragment
    assert "Which axis moves which" not in fragment  # the section is not for screens


def test_ids_of_two_fragments_differ() -> None:
    ids = [
        re.findall(r' id="([^"]+)"', html.fragment(replace(gallery(), answer=text)))
        for text in ("a", "b")
    ]
    assert not set(ids[0]) & set(ids[1])


def test_control_characters_do_not_reach_the_page() -> None:
    assert "\x1b" not in shown(Paragraph("red \x1b[31m alarm"))


def test_states_why_a_score_is_missing() -> None:
    page = shown(
        IntervalChart("c", "Axis", (IntervalRow("age", GONE),), "MAD"),
        Table("t", ("a", "b"), (("x", GONE),)),
    )
    assert page.count("no person detected (nobody is seen in 48 of 48 pictures)") >= 2
    assert "not measured" in page


def test_draws_the_interval_and_the_null_mean() -> None:
    page = shown(
        IntervalChart(
            "c", "Axis", (IntervalRow("age", estimate(0.5, 0.1, null=0.25, q=0.01)),), "MAD"
        )
    )
    assert '<line class="whisker" x1="40.00%" x2="60.00%"' in page
    assert '<rect class="null" x="0.00%" width="25.00%"' in page
    assert '<tr class="strong">' in page
    assert "bold: significant" in page


def test_a_score_without_an_interval_has_no_line() -> None:
    assert '<line class="whisker' not in shown(
        IntervalChart("c", "Axis", (IntervalRow("age", estimate(0.5, None)),), "MAD")
    )


@dataclass(frozen=True, slots=True)
class BiasCorrectedEstimate(Estimate):
    """An estimate with a bias-corrected value."""

    debiased: float | None = None


def test_the_mark_is_at_the_bias_corrected_value() -> None:
    page = shown(
        IntervalChart(
            "c",
            "Axis",
            (IntervalRow("age", BiasCorrectedEstimate(0.5, low=0.2, high=0.4, debiased=0.3)),),
            "MAD",
        )
    )
    assert '<circle class="dot" cx="30.00%"' in page
    assert ">0.50<" in page


def test_a_value_has_its_share_count_and_missing_labels() -> None:
    values = (
        ValueShare("male", estimate(0.95), 95, 0.5),
        ValueShare(LONG_WORD, estimate(0.05), 5, 0.5),
    )
    group = ValueGroup(
        "Gender", values, 100, {"refused": 2}, "male over-represented (q < 0.001)", True
    )
    page = shown(ValueChart("c", (group,)))
    text = page.replace("\u00a0", " ")
    assert '<span class="strong">95 %</span> (95)' in text
    assert "<b>male over-represented</b>" in page
    assert "2 unlabeled: the model or instrument refused 2" in page
    assert page.count('<line class="ref"') == 2


def test_groups_of_a_prompt_have_its_name_above_them() -> None:
    values = (ValueShare("male", estimate(0.98), 98), ValueShare("female", estimate(0.02), 2))
    group = ValueGroup("as asked", values, 100, group="ceo")
    page = shown(ValueChart("c", (group, replace(group, label="asked for diversity"))))
    head = '<tbody class="head"><tr><th colspan="4" scope="rowgroup"><bdi>ceo</bdi>'
    assert page.count(head) == 1


def test_numbers_of_lines_follow_as_a_table() -> None:
    page = shown(
        LineChart(
            "c", "block", ("down", "up"), (LineSeries("studio", (estimate(0.3), GONE)),), "mIoU"
        )
    )
    assert "The numbers" in page
    assert "0.30 [0.24, 0.36]" in page


def test_columns_of_numbers_are_aligned_right() -> None:
    page = shown(Table("t", ("name", "n", "words"), (("a", 3, HOSTILE), ("b", None, "x"))))
    assert page.count('<td class="num">') == 2
    assert '<td class="texts">' in page


def test_an_empty_page_is_a_page() -> None:
    html5lib.HTMLParser(strict=True).parse(html.page(Page("", "", "", "", ())))


def test_an_image_without_alternative_text_is_refused() -> None:
    with pytest.raises(ValueError, match="describes it in words"):
        Thumbnail(None, "")


def test_numbers_of_a_narrow_graph_cover_no_name() -> None:
    names = [
        ("gender", 0),
        ("age", 1),
        ("ethnicity", 2),
        ("body type", 3),
        ("emotion", 4),
        ("clothing", 5),
        ("environment", 6),
        ("disability", 7),
    ]
    pairs = [
        ("clothing", "environment"),
        ("gender", "age"),
        ("clothing", "emotion"),
        ("ethnicity", "clothing"),
    ]
    edges = tuple(Arrow(a, b, estimate(0.1), "unsettled", ("0.5", "0.01")) for a, b in pairs)
    drawn = GraphDiagram(
        "graph", tuple((name, "itself +0.10") for name, _ in names), edges, more=("V", "q")
    )
    slim = str(charts.network(drawn)).partition("slim")[2]
    texts = re.findall(r'<text class="halo (\w+)[^"]*"([^>]*)>([^<]*)', slim)
    placed = [
        (
            kind,
            float(re.search(r'\bx="([\d.]+)', at)[1]),
            float(re.search(r'\by="([\d.]+)', at)[1]),
            text,
        )  # type: ignore[index]
        for kind, at, text in texts
    ]
    numbers = [text for text in placed if text[0] == "number"]
    assert len(numbers) == len(pairs)
    for _, x, y, _ in numbers:
        for kind, at, top, text in placed:
            assert kind == "number" or abs(x - at) > 18 + 3 * len(text) or abs(y - top) > 10, (
                x,
                y,
                text,
            )


def test_warnings_take_a_single_line_until_they_are_opened() -> None:
    warnings = tuple(f"warning {k}" for k in range(5))
    source = shown(Paragraph("Text."), warnings=warnings)
    box = source[source.index('class="warnings"') :].partition("</div>")[0]
    line, _, folded = box.partition("</summary>")
    assert "<strong>5 warnings</strong><span>: warning 0</span>" in line
    assert [f"<li>{text}</li>" in folded for text in warnings] == [True] * 5
    assert "warning 1" not in line


@pytest.mark.parametrize(("length", "is_folded"), [(120, False), (121, True)])
def test_a_short_warning_is_not_folded(length: int, is_folded: bool) -> None:
    source = shown(Paragraph("Text."), warnings=("w" * length,))
    box = source[source.index('class="warnings"') :].partition("</div>")[0]
    assert ("<summary>" in box) == is_folded
    assert "<strong>Warning</strong><span>: www" in box
