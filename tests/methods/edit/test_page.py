"""The page of edits and the tables of the paper, filled with known changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from io import StringIO
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from rich.console import Console

from askew.findings import FORMAT, Environment, Head, Identity, Instruments
from askew.measure.portraits import FRAME, SkinChange
from askew.measure.skin import ita, tone
from askew.methods.edit import METHOD
from askew.methods.edit.cells import EditData, EditedGroup, EditReadings
from askew.methods.edit.comparisons import contrasts, pooled
from askew.methods.edit.findings import AverageFace, EditFindings, EditSet, MissingEdits
from askew.methods.edit.headline import answer
from askew.methods.edit.plan import plan_editing
from askew.methods.edit.score import editing
from askew.pages import html, terminal
from askew.pages.blocks import Block, Details, IntervalChart, IntervalRow, Page, Section
from askew.parts.scoring import Scoring
from askew.parts.survey.missing_pictures import MissingCount
from askew.types import Estimate, Missing, Picture
from counted_shares import check_counts, value_groups
from pages import test_browser as browser

GROUPS = ("caucasian man", "caucasian woman", "african-american woman")
TARGETS = {"high": ("doctor", "ceo"), "low": ("cleaner", "maid")}
STRENGTHS = (0.6, 0.8)
SOURCES = 10
SCORING = Scoring("studio", draws=20)
FLIPS = {
    ("caucasian man", "low"): 2,
    ("caucasian woman", "high"): 7,
    ("african-american woman", "high"): 5,
}
"""Number of ten edits at strength 0.8 that change perceived gender, by group and set."""

SKIN = {
    "caucasian man": (200, 150, 120),
    "caucasian woman": (210, 160, 130),
    "african-american woman": (150, 100, 75),
}
LIGHTER = {0.6: 10, 0.8: 25}
"""Step by strength, added to the skin color for the high set and subtracted for the low set."""


def color(group: str, targets: str | None = None, strength: float = 0.8) -> tuple[int, int, int]:
    step = 0
    if targets is not None:
        step = LIGHTER[strength] if targets == "high" else -LIGHTER[strength]
    r, g, b = SKIN[group]
    return r + step, g + step, b + step


def degrees(group: str, targets: str | None = None, strength: float = 0.8) -> float:
    """ITA of a face of a uniform color."""
    angle = ita(np.full((4, 4, 3), color(group, targets, strength), dtype=np.uint8))
    assert not isinstance(angle, Missing)
    return angle


def face(group: str, targets: str | None = None, strength: float = 0.8) -> NDArray[np.uint8]:
    return np.full((FRAME, FRAME, 3), color(group, targets, strength), dtype=np.uint8)


def edited_groups() -> tuple[list[EditedGroup], EditReadings]:
    gender: dict[str, str] = {}
    faces: dict[str, NDArray[np.uint8]] = {}
    skin: dict[tuple[str, str], SkinChange] = {}
    groups = [edited_group(name, gender, faces, skin) for name in GROUPS]
    jobs = dict.fromkeys(gender, "a doctor")
    return groups, EditReadings(
        {"gender": gender, "age": gender}, jobs, {}, skin, faces, "geometry"
    )


def edited_group(
    name: str,
    gender: dict[str, str],
    faces: dict[str, NDArray[np.uint8]],
    skin: dict[tuple[str, str], SkinChange],
) -> EditedGroup:
    """A group whose labels, faces and skin tones are added to the three dictionaries."""
    before, after = ("female", "male") if "woman" in name else ("male", "female")
    sources = tuple(Picture(f"{name} s {k}", "", name) for k in range(SOURCES))
    restored = tuple(Picture(f"{name} r {k}", "", name) for k in range(SOURCES))
    gender |= {image.id: before for image in (*sources, *restored)}
    faces |= {image.id: face(name) for image in sources}
    edits = {}
    for (targets, words), strength, second in product(TARGETS.items(), STRENGTHS, (0, 1)):
        word = words[second]
        row = tuple(Picture(f"{name} {word} {strength} {k}", "", word) for k in range(SOURCES))
        edits[word, strength] = row
        for k, (source, edit) in enumerate(zip(sources, row, strict=True)):
            flips = strength == 0.8 and k < FLIPS.get((name, targets), 0)
            gender[edit.id] = after if flips else before
            faces[edit.id] = face(name, targets, strength)
            change = (degrees(name), degrees(name, targets, strength))
            skin[source.id, edit.id] = SkinChange(*change, 0.25, 0.5, 3.0, 1.0)
    return EditedGroup(name, sources, restored, edits)


@cache
def edit_findings() -> EditFindings:
    """The findings of a run with these changes."""
    groups, readings = edited_groups()
    plan = plan_editing(
        GROUPS,
        model="studio/planted",
        edit_prompts=TARGETS,
        strengths=STRENGTHS,
        images=SOURCES,
        axes=["gender", "age"],
    )
    data = EditData(groups, TARGETS, STRENGTHS, readings, SCORING)
    studio = Identity("studio", "1", {})
    machine = Environment("3", "here", {}, None, 1, None, "now")
    sets = [EditSet.of(g.name, g.sources) for g in groups]
    sets += [
        replace(
            EditSet.of(g.name, row, "edit", f"{word} {strength:g}"), target=word, strength=strength
        )
        for g in groups
        for (word, strength), row in g.edits.items()
    ]
    head = Head(
        FORMAT,
        "0",
        1,
        plan,
        plan.hash,
        machine,
        ("<b>",),
        studio,
        Instruments({"studio": "1"}),
        tuple(sets),
    )
    uneven = {"man": MissingCount(1, 48), "woman": MissingCount(14, 48)}
    faceless = {"man": MissingCount(16, 24), "woman": MissingCount(4, 13)}
    cells = [(None, None), *product(TARGETS, STRENGTHS)]
    return head.into(
        EditFindings,
        sources=studio,
        landmarks="studio",
        showing=(),
        neutrality=(),
        editing=editing(data),
        missing_pictures=(
            MissingEdits(None, "group", uneven, 12.0, 1, 0.001, 0, 0.5, 0.001, "high"),
            MissingEdits(None, "group", uneven, 12.0, 1, 0.2, 0, 0.5, 0.2, None),
            MissingEdits(None, "group", faceless, 12.0, 1, 0.04, 0, 0.5, 0.04, None, "faces"),
        ),
        average_faces=tuple(
            AverageFace(g, *cell, SOURCES, 7, "face") for g in GROUPS for cell in cells
        ),
        editing_contrasts=contrasts(data),
        editing_pooled=pooled(data),
    )


@pytest.mark.parametrize(
    ("text", "places"),
    [
        (
            "gender_change > 0.6",
            ["caucasian woman, high, strength 0.8: gender_change.value is 0.7"],
        ),
        (
            "Caucasian Man: gender_change > 0",
            ["caucasian man, low, strength 0.8: gender_change.value is 0.2"],
        ),
        ("high: ita_change < 0", []),
        (
            "age: axis_change > 0.6",
            ["caucasian woman, high, strength 0.8, age: axis_change.value is 0.7"],
        ),
        ("body type: axis_change > 0", []),
    ],
)
def test_conditions_check_each_set_of_edits(text: str, places: list[str]) -> None:
    (condition,) = METHOD.conditions(text)
    assert condition.violations(edit_findings()) == places


class Media:
    """A store of images with a uniform color."""

    def picture(self, name: str) -> Image.Image:
        return Image.new("RGB", (8, 8), "red")

    def rows(self, fingerprint: str, names: object) -> Mapping[str, NDArray[np.float32]]:
        return {}


@pytest.fixture(scope="module")
def page() -> Page:
    return METHOD.page(edit_findings(), Media())


def blocks(node: Page | Block) -> Iterator[Block]:
    """All blocks of a page, also the folded ones."""
    inner: tuple[Block, ...] = ()
    if isinstance(node, Page):
        inner = node.sections
    elif isinstance(node, Section | Details):
        inner = node.blocks
    for block in inner:
        yield block
        yield from blocks(block)


def chart_rows(page: Page, words: str) -> list[tuple[str, IntervalRow]]:
    """The rows of all charts with these words in their caption, with the caption."""
    charts = charts_in(page, words)
    return [(chart.caption, row) for chart in charts for row in chart.rows]


def charts_in(page: Page, words: str) -> list[IntervalChart]:
    return [
        block
        for block in blocks(page)
        if isinstance(block, IntervalChart) and words in block.caption
    ]


def value(row: IntervalRow) -> float:
    assert isinstance(row.score, Estimate)
    return row.score.value


def number(text: object) -> float:
    """The first number of a cell, with its sign."""
    return float(str(text).replace("−", "-").replace(",", " ").split()[0])


def test_every_set_has_a_row_a_group_and_strength_with_its_change(page: Page) -> None:
    rows = [
        (caption, row)
        for caption, row in chart_rows(page, "whose perceived gender differs")
        if "toward" in caption  # the other chart shows all edits of a group together
    ]
    assert len(rows) == len(GROUPS) * len(TARGETS) * len(STRENGTHS)
    for caption, row in rows:
        targets = "high" if "high (doctor, ceo)" in caption else "low"
        share = FLIPS.get((row.group, targets), 0) / SOURCES if row.label == "strength 0.8" else 0
        assert value(row) == pytest.approx(share)


def test_input_images_are_counted_once(page: Page) -> None:
    """Each input image has an edit toward every word, so counting edits would repeat it."""
    groups = value_groups(page)
    for group in groups:
        check_counts(group)
    sizes = {(group.label == "input images", group.n) for group in groups}
    assert sizes == {(True, SOURCES), (False, SOURCES * 2)}


def test_tables_1_to_3_have_the_tone_of_every_average_face_with_its_class(page: Page) -> None:
    rows = chart_rows(page, "tables 1 to 3")
    assert "according to the scheme chardon" in rows[0][0]
    seen = {(row.group, row.label): row for _, row in rows}
    assert len(seen) == len(rows)
    for group, targets, strength in product(GROUPS, TARGETS, STRENGTHS):
        row = seen[group, f"{targets}, strength {strength:g}"]
        tones = degrees(group), degrees(group, targets, strength)
        assert value(row) == pytest.approx(tones[1] - tones[0], abs=0.006)
        assert [number(cell) for cell in row.more] == pytest.approx(tones, abs=0.006)
        assert [str(cell).split(", ")[-1] for cell in row.more] == [tone(angle) for angle in tones]


def test_figure_3_pools_groups_that_share_a_word_of_their_names(page: Page) -> None:
    def points(side: str) -> dict[tuple[str, str], float]:
        (chart,) = charts_in(page, f"figure 3 of the paper, {side}")
        return {
            (row.group, row.label): row.score.value for row in chart.rows if row.score is not None
        }

    left = points("left")
    middle = points("middle")
    assert left["Female", "high, strength 0.8"] == pytest.approx(0.6)
    assert left["Male", "low, strength 0.8"] == pytest.approx(0.2)
    assert sum(left.values()) == pytest.approx(0.8)
    for targets, strength in product(TARGETS, STRENGTHS):
        changes = {g: degrees(g, targets, strength) - degrees(g) for g in GROUPS}
        where = f"{targets}, strength {strength:g}"
        white = (changes["caucasian man"] + changes["caucasian woman"]) / 2
        assert middle["White", where] == pytest.approx(white, abs=0.06)
        assert middle["Black", where] == pytest.approx(changes["african-american woman"], abs=0.06)


def test_the_page_begins_with_the_answer_and_has_all_parts(page: Page) -> None:
    drawn = html.page(page)
    before, _, body = drawn.partition("</nav>")
    assert before.count("do not change") == 1
    assert "Edits toward “high” and “low” at strength 0.8 do not change" in before
    parts = [
        "Perceived gender in input images and in edits at strength 0.8",
        "whose perceived gender differs",
        "Average faces",
        "caucasian man → doctor",
        "Skin tone of edits",
        "Other axes",
        "Perceived gender: ",
        "Neutrality of the input images",
        "individual typology angle",
        "Intervals of rates",
    ]
    assert [body.index(part) for part in parts] == sorted(body.index(part) for part in parts)
    assert "&lt;b&gt;" in drawn
    first_screen = 3 * 2 * 6
    assert drawn.count("<img ") == first_screen + 3 * 5 + 3 * 4 * 3 * SOURCES


def test_only_a_significant_difference_in_missing_edits_is_reported(
    page: Page,
) -> None:
    missing_edits = (
        "edits toward high (at least one per input image) are missing more often for woman (14 of 48) "
        "than for man (1 of 48)"
    )
    assert missing_edits in html.page(page)
    assert ": input images are missing" not in html.page(page)
    assert (
        "faces in input images are missing more often for man (16 of 24) than for woman (4 of 13)"
        in html.page(page)
    )


def test_the_headline_uses_a_strength_below_1_if_there_is_such_a_strength() -> None:
    def headline(*strengths: float) -> str:
        findings = edit_findings()
        cells = tuple(
            replace(cell, strength=strengths[-1] if cell.strength == 0.8 else 0.5)
            for cell in findings.editing
        )
        planned = (0.5, *strengths) if len(strengths) < 2 else strengths
        plan = findings.plan.model_copy(update={"strengths": planned})
        return answer(replace(findings, plan=plan, editing=cells))

    assert "“low” at strength 0.9 " in headline(0.9)
    assert "“low” at strength 0.5 " in headline(1.0)
    only = edit_findings().plan.model_copy(update={"strengths": (1.0,)})
    last = tuple(
        replace(cell, strength=1.0) for cell in edit_findings().editing if cell.strength == 0.8
    )
    assert "Strength 1 is text-to-image" in answer(
        replace(edit_findings(), plan=only, editing=last)
    )


def test_skin_tone_without_a_face_mask_is_not_in_the_headline() -> None:
    assert "make skin significantly lighter" in answer(edit_findings())
    by_rule = tuple(
        replace(cell, coverage=replace(cell.coverage, mask="rule"))
        for cell in edit_findings().editing
    )
    assert "skin" not in answer(replace(edit_findings(), editing=by_rule))


def test_without_a_face_skin_tone_is_missing() -> None:
    groups, readings = edited_groups()
    nobody = replace(
        readings,
        faces=dict.fromkeys(readings.faces, Missing("no_face")),
        skin=dict.fromkeys(
            readings.skin,
            SkinChange(*[Missing("no_face")] * 2, 0.0, 0.0, *[Missing("no_face")] * 2),
        ),
    )
    unsought = replace(readings, faces={}, skin={})
    for read, reason in ((nobody, "no_face"), (unsought, "not_asked")):
        entry = editing(EditData(groups, TARGETS, STRENGTHS, read, SCORING))[0]
        assert entry.ita_before.reason == entry.ita_change.reason == reason


def test_a_terminal_of_80_columns_shows_the_changes(page: Page) -> None:
    console = Console(width=80, record=True, file=StringIO())
    console.print(terminal.screen(page))
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= 80
    text = " ".join(" ".join(lines).split())
    assert "strength 0.8 70 %" in text
    assert "missing more often for woman" in text


def test_average_faces_by_geometry_measure_the_cheeks() -> None:
    groups, readings = edited_groups()
    spoilt = {}
    for name, pixels in readings.faces.items():
        assert isinstance(pixels, np.ndarray)
        spoilt[name] = pixels.copy()
        # of another tone, which the rule takes as skin as well
        spoilt[name][:60] = spoilt[name][80:] = (235, 185, 155)
    tones = {}
    for mask in ("rule", "geometry"):
        changed = replace(readings, vectors={}, faces=spoilt, mask=mask)
        data = EditData(groups[:1], TARGETS, STRENGTHS, changed, SCORING)
        tones[mask] = editing(data)[0].average_face
    truth = degrees("caucasian man")
    assert tones["geometry"].ita_before.value == pytest.approx(truth, abs=0.01)
    assert abs(tones["rule"].ita_before.value - truth) > 5


@pytest.mark.skipif(browser.CHROMIUM is None, reason="needs Chromium on the PATH")
@pytest.mark.slow
def test_plots_stack_before_they_scroll(page: Page, tmp_path: Path) -> None:
    source = html.page(page)
    widths = (390, 800)
    layouts = browser.measure([(source, width) for width in widths], tmp_path)
    for width, layout in zip(widths, layouts, strict=True):
        faults = [layout[name] for name in ("scrolled", "small", "narrow", "cut")]
        assert layout["width"] == width
        assert faults == [0, [], [], []]
