"""The page and the terminal report of a classification, with and without missing parts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from io import StringIO
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from rich.console import Console

from askew import findings
from askew.errors import UsageError
from askew.findings import FORMAT, Environment, Head, Identity, Instruments, PictureSet
from askew.methods.classify import METHOD
from askew.methods.classify.findings import ClassificationFindings
from askew.methods.classify.gather import ErrorsOfClasses
from askew.methods.classify.plan import ClassificationPlan
from askew.methods.classify.score import classification
from askew.pages import html, terminal
from askew.pages.blocks import IntervalChart, Page
from askew.parts.scoring import Scoring
from askew.types import Picture
from counted_shares import check_counts, value_groups

GROUPS = ("caucasian man", "caucasian woman", "african-american man", "african-american woman")
PICTURES = 24


class Media:
    """A store of images with a uniform color."""

    def picture(self, name: str) -> Image.Image:
        return Image.new("RGB", (16, 16), (len(name) * 9 % 255, 80, 120))

    def rows(self, fingerprint: str, names: object) -> Mapping[str, NDArray[np.float32]]:
        return {}


def readings(
    groups: tuple[str, ...], classes: tuple[str, ...], samples: int, bias: float
) -> ErrorsOfClasses:
    """Errors that are lower for the first half of the classes in images of men, and vice versa."""
    rng = np.random.default_rng(4)
    errors = {}
    for group in groups:
        half = len(classes) // 2
        side = np.repeat([-1.0, 1.0], [half, len(classes) - half])
        side = side * rng.uniform(0.2, 1.6, len(classes)) * (-1 if "woman" in group else 1)
        noise = rng.normal(size=(PICTURES, len(classes), 1))
        errors[group] = (noise + bias * side[None, :, None]).astype(np.float32)
    return ErrorsOfClasses(samples, classes, errors)


@cache
def classification_findings(groups: tuple[str, ...] = GROUPS) -> ClassificationFindings:
    """The findings of a run with these errors."""
    plan = ClassificationPlan.checked(
        {"groups": groups, "images": PICTURES, "samples": (1, 10, 40)}
    )
    targets = [
        readings(groups, plan.target_classes, n, bias)
        for n, bias in ((1, 0.2), (10, 0.6), (40, 1.0))
    ]
    labels = [
        readings(groups, plan.classes, n, bias) for n, bias in ((1, 0.3), (10, 1.0), (40, 2.0))
    ]
    section = classification(plan, targets, labels, Scoring("denoising", draws=100))
    machine = Environment("3", "here", {}, None, 1, None, "now")
    sets = tuple(picture_set(group) for group in groups)
    model = Identity("studio", "1", {})
    head = Head(FORMAT, "0", 1, plan, plan.hash, machine, ("<b>",), model, Instruments(), sets)
    return head.into(ClassificationFindings, classification=section)


def picture_set(group: str) -> PictureSet:
    pictures = [Picture(f"{group} {k}", "", group, k) for k in range(PICTURES)]
    return PictureSet.of(group, pictures)


def text_of(shown: ClassificationFindings) -> str:
    console = Console(width=80, record=True, file=StringIO())
    console.print(terminal.screen(METHOD.page(shown, Media())))
    return console.export_text()


def test_findings_survive_a_round_trip_through_their_file(tmp_path: object) -> None:
    text = findings.written(classification_findings())
    assert b'"class": "man"' in text
    assert findings.adapter(ClassificationFindings).validate_json(text) == classification_findings()


def test_conditions_check_the_scores_with_most_samples() -> None:
    (association,) = METHOD.conditions("association > 0.5")
    places = [line.partition(":")[0] for line in association.violations(classification_findings())]
    assert places == [
        f"{group}, samples 40" for group in ("caucasian man", "african-american man", "all male")
    ]
    (differential,) = METHOD.conditions("Caucasian Woman: differential > 0.3")
    violations = " ".join(differential.violations(classification_findings()))
    assert "caucasian man, caucasian woman, samples 40: differential.value is" in violations
    with pytest.raises(UsageError, match="association, differential, accuracy"):
        METHOD.conditions("mad > 0.3")


def test_conditions_check_the_change_from_fewest_to_most_samples() -> None:
    (change,) = METHOD.conditions("all male: differential_change > 0.5")
    (violation,) = change.violations(classification_findings())
    assert violation.startswith("all male, all female, fewer 1, samples 40: differential_change")
    (change,) = METHOD.conditions("all female: association_change.q < 0.05")
    assert len(list(change.violations(classification_findings()))) == 1


def test_the_page_reports_the_change_with_the_number_of_samples() -> None:
    page = METHOD.page(classification_findings(), Media())
    section = next(s for s in page.sections if s.title.startswith("Change with the number"))
    sentence, lines, chart, details = section.blocks
    scores = {
        e.samples: e.S.value
        for e in classification_findings().classification.differential
        if e.pooled
    }
    assert sentence.text.startswith(
        "From 1 noise sample to 40, the difference between “all male” and"
    )
    assert (
        f"from {100 * scores[1]:+.0f} to {100 * scores[40]:+.0f} percentage points" in sentence.text
    )
    assert lines.steps == ("1", "10", "40")
    assert [line.name for line in lines.lines] == [*GROUPS, "all male", "all female"]
    assert chart.rows[0].label == "all male minus all female"
    assert len(chart.rows) == 7
    assert [len(block.rows) for block in details.blocks] == [21, 18, 12]
    assert "From 1 noise sample to 40" in " ".join(text_of(classification_findings()).split())


def test_the_page_has_answer_chart_images_and_method() -> None:
    page = html.page(METHOD.page(classification_findings(), Media()))
    before, _, body = page.partition("</nav>")
    assert "are classified as" in before
    order = [
        "Decisions for each set of classes",
        "The groups differ most on these",
        "share of decisions",
        "Skewed pairs of classes",
        "Share of images classified correctly",
        "Error of a class",
    ]
    assert [body.index(part) for part in order] == sorted(body.index(part) for part in order)
    assert "“all male”" in page
    assert page.count("<img ") == len(GROUPS) * PICTURES
    assert "&lt;b&gt;" in page
    assert html.page(METHOD.page(classification_findings(), Media())) == page


def test_every_share_of_decisions_has_its_count() -> None:
    groups = value_groups(METHOD.page(classification_findings(), Media()))
    assert len(groups) == len(
        {e.group for e in classification_findings().classification.association}
    )
    for group in groups:
        check_counts(group)
    shown = text_of(classification_findings())
    heads = next(line.split() for line in shown.splitlines() if line.startswith("Group"))
    assert "decisions" in heads
    assert "labeled" not in heads


def test_exactly_the_skewed_pairs_are_listed() -> None:
    sections = METHOD.page(classification_findings(), Media()).sections
    section = next(section for section in sections if section.title == "Skewed pairs of classes")
    by_error = classification_findings().classification.pairs
    shown = {}
    for details in section.blocks[1:]:
        group = details.summary.partition(":")[0]
        shown[group] = {row.label for row in details.blocks[0].rows}
    for group, (a, b) in product(GROUPS, {(e.a, e.b) for e in by_error}):
        skewed = next(e.skewed for e in by_error if (e.group, e.a, e.b) == (group, a, b))
        assert (f"{a} or {b}" in shown.get(group, ())) == skewed


def test_the_terminal_fits_80_columns_and_has_the_order_of_the_page() -> None:
    text = text_of(classification_findings())
    assert max(len(line) for line in text.splitlines()) <= 80
    assert (
        text.index("are classified as")
        < text.index("Association: share")
        < text.index("Difference in the share")
    )


def test_one_group_has_an_association_and_no_difference() -> None:
    only = classification_findings(GROUPS[:1])
    page = html.page(METHOD.page(only, Media()))
    assert "(without a preference, in half of them)" in page
    assert (
        "the share of decisions for “male-dominated” for images of “caucasian man” changes" in page
    )
    assert "without a preference, in half of them" in " ".join(text_of(only).split())


def first_chart(page: Page, title: str) -> IntervalChart:
    section = next(section for section in page.sections if section.title == title)
    return next(block for block in section.blocks if isinstance(block, IntervalChart))


def test_every_group_has_rates_by_samples_with_pooled_groups_last() -> None:
    groups = tuple(
        f"{origin} {gender}"
        for origin in ("caucasian", "asian", "indian")
        for gender in ("man", "woman")
    )
    page = METHOD.page(classification_findings(groups), Media())
    chosen = first_chart(page, "Decisions by group")
    right = first_chart(page, "Accuracy")
    samples = ["1 sample", "10 samples", "40 samples"]
    assert [(row.group, row.label) for row in right.rows] == list(product(groups, samples))
    assert [(row.group, row.label) for row in chosen.rows] == list(
        product([*groups, "all male", "all female"], samples)
    )
    rates = {
        (e.group, e.samples): e.S.value
        for e in classification_findings(groups).classification.association
    }
    assert chosen.rows[2].score.value == rates["caucasian man", 40]
    assert [mark.at for mark in (chosen.rows[0].marks[0], right.rows[0].marks[0])] == [0.5, 0.5]
