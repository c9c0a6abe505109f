"""The page and the table of a classification say what was found, whatever is missing."""

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
from askew.pages.blocks import IntervalChart
from askew.parts.scoring import Scoring
from askew.types import Picture

GROUPS = ("caucasian man", "caucasian woman", "african-american man", "african-american woman")
PICTURES = 24


class Media:
    """Pictures of one colour."""

    def picture(self, name: str) -> Image.Image:
        return Image.new("RGB", (16, 16), (len(name) * 9 % 255, 80, 120))

    def rows(self, fingerprint: str, names: object) -> Mapping[str, NDArray[np.float32]]:
        return {}


def readings(
    groups: tuple[str, ...], classes: tuple[str, ...], samples: int, lean: float
) -> ErrorsOfClasses:
    """Men's pictures fit the first half of the classes better, women's the second."""
    rng = np.random.default_rng(4)
    errors = {}
    for group in groups:
        side = np.repeat([-1.0, 1.0], [len(classes) // 2, len(classes) - len(classes) // 2])
        side = side * rng.uniform(0.2, 1.6, len(classes)) * (-1 if "woman" in group else 1)
        errors[group] = (
            rng.normal(size=(PICTURES, len(classes), 1)) + lean * side[None, :, None]
        ).astype(np.float32)
    return ErrorsOfClasses(samples, classes, errors)


@cache
def found(groups: tuple[str, ...] = GROUPS) -> ClassificationFindings:
    """As a run would have found them."""
    plan = ClassificationPlan.checked(
        {"groups": groups, "images": PICTURES, "samples": (1, 10, 40)}
    )
    targets = [
        readings(groups, plan.target_classes, n, lean)
        for n, lean in ((1, 0.2), (10, 0.6), (40, 1.0))
    ]
    labels = [
        readings(groups, plan.classes, n, lean) for n, lean in ((1, 0.3), (10, 1.0), (40, 2.0))
    ]
    section = classification(plan, targets, labels, Scoring("denoising", draws=100))
    machine = Environment("3", "here", {}, None, 1, None, "now")
    sets = tuple(
        PictureSet.of(g, [Picture(f"{g} {k}", "", g, k) for k in range(PICTURES)]) for g in groups
    )
    model = Identity("studio", "1", {})
    head = Head(FORMAT, "0", 1, plan, plan.hash, machine, ("<b>",), model, Instruments(), sets)
    return head.into(ClassificationFindings, classification=section)


def text_of(one: ClassificationFindings) -> str:
    console = Console(width=80, record=True, file=StringIO())
    console.print(terminal.screen(METHOD.page(one, Media())))
    return console.export_text()


def test_findings_are_read_back_from_their_file(tmp_path: object) -> None:
    text = findings.written(found())
    assert b'"class": "man"' in text
    assert findings.adapter(ClassificationFindings).validate_json(text) == found()


def test_conditions_look_at_most_samples() -> None:
    (one,) = METHOD.conditions("association > 0.5")
    told = [line.partition(":")[0] for line in one.violations(found())]
    assert told == [
        f"{group}, samples 40" for group in ("caucasian man", "african-american man", "all male")
    ]
    (one,) = METHOD.conditions("Caucasian Woman: differential > 0.3")
    assert "caucasian man, caucasian woman, samples 40: differential.value is" in " ".join(
        one.violations(found())
    )
    with pytest.raises(UsageError, match="association, differential, accuracy"):
        METHOD.conditions("mad > 0.3")


def test_the_page_gives_answer_plot_pictures_and_method() -> None:
    page = html.page(METHOD.page(found(), Media()))
    before, _, body = page.partition("</nav>")
    assert "Of two classes, studio chooses" in before
    order = [
        "which is chosen for each group",
        "share of decisions",
        "Pictures of one comparison",
        "Pairs that are decided one way",
        "Share of pictures given to the right one",
        "Missing data",
        "Error of a class",
    ]
    assert [body.index(part) for part in order] == sorted(body.index(part) for part in order)
    assert "“all male”" in page
    assert page.count("<img ") == len(GROUPS) * PICTURES
    assert "&lt;b&gt;" in page
    assert html.page(METHOD.page(found(), Media())) == page


def test_every_skewed_pair_is_listed_and_no_other() -> None:
    sections = METHOD.page(found(), Media()).sections
    section = next(one for one in sections if one.title == "Pairs that are decided one way")
    by_error = found().classification.pairs
    shown = {
        fold.summary.partition(":")[0]: {row.label for row in fold.blocks[0].rows}
        for fold in section.blocks[1:]
    }
    for group, (a, b) in product(GROUPS, {(e.a, e.b) for e in by_error}):
        skewed = next(e.skewed for e in by_error if (e.group, e.a, e.b) == (group, a, b))
        assert (f"{a} or {b}" in shown.get(group, ())) == skewed


def test_the_table_fits_80_columns_and_follows_the_page() -> None:
    text = text_of(found())
    assert max(len(line) for line in text.splitlines()) <= 80
    assert (
        text.index("chooses the")
        < text.index("Association: share")
        < text.index("Difference in the share")
    )


def test_one_group_has_an_association_and_no_difference() -> None:
    alone = found(GROUPS[:1])
    page = html.page(METHOD.page(alone, Media()))
    assert "(half without a preference)" in page
    assert "half without a preference" in " ".join(text_of(alone).split())


def test_every_group_has_its_rates_by_samples_the_pooled_ones_last() -> None:
    groups = tuple(
        f"{origin} {gender}"
        for origin in ("caucasian", "asian", "indian")
        for gender in ("man", "woman")
    )
    page = METHOD.page(found(groups), Media())
    chosen, right = (
        next(b for b in s.blocks if isinstance(b, IntervalChart))
        for s in page.sections
        if s.title in ("Which class it chooses, by group", "Accuracy")
    )
    by = ["1 sample", "10 samples", "40 samples"]
    assert [(row.group, row.label) for row in right.rows] == list(product(groups, by))
    assert [(row.group, row.label) for row in chosen.rows] == list(
        product([*groups, "all male", "all female"], by)
    )
    rates = {(e.group, e.samples): e.S.value for e in found(groups).classification.association}
    assert chosen.rows[2].score.value == rates["caucasian man", 40]
    assert [mark.at for mark in (chosen.rows[0].marks[0], right.rows[0].marks[0])] == [0.5, 0.5]
