"""The tables of the paper, filled with changes that are known beforehand, and the page around them."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import numpy as np
import pytest
from PIL import Image

from askew.measure.portraits import FRAME
from askew.measure.skin import ita, tone
from askew.measure.skin_change import SkinChange
from askew.methods.editing import EditedGroup, Readings, editing
from askew.methods.editing_contrasts import contrasts, pooled
from askew.parts.scoring import Scoring
from askew.planning.editing import plan_editing
from askew.report import editing_figures as figures
from askew.report.editing_page import render_editing
from askew.results.file import write_results
from askew.types import Missing, Picture

GROUPS = ("caucasian man", "caucasian woman", "african-american woman")
TARGETS = {"high": ("doctor", "ceo"), "low": ("cleaner", "maid")}
STRENGTHS = (0.6, 1.0)
SOURCES = 10
FLIPS = {("caucasian man", "low"): 2, ("caucasian woman", "high"): 7, ("african-american woman", "high"): 5}
"""By group and set: of the ten edits towards each word, at strength 1, so many change their perceived gender."""

SKIN = {"caucasian man": (200, 150, 120), "caucasian woman": (210, 160, 130), "african-american woman": (150, 100, 75)}
LIGHTER = {0.6: 10, 1.0: 25}
"""By strength how much is added to the skin's colour, towards the high set; taken off it towards the low one."""


def colour(group: str, targets: str | None = None, strength: float = 1.0) -> tuple[int, int, int]:
    step = 0 if targets is None else LIGHTER[strength] * (1 if targets == "high" else -1)
    r, g, b = SKIN[group]
    return r + step, g + step, b + step


def degrees(group: str, targets: str | None = None, strength: float = 1.0) -> float:
    """ITA of a face of one colour."""
    found = ita(np.full((4, 4, 3), colour(group, targets, strength), dtype=np.uint8))
    assert not isinstance(found, Missing)
    return found


def face(group: str, targets: str | None = None, strength: float = 1.0) -> np.ndarray:
    return np.full((FRAME, FRAME, 3), colour(group, targets, strength), dtype=np.uint8)


def made_up() -> tuple[list[EditedGroup], Readings]:
    groups, gender, faces, skin = [], {}, {}, {}
    for name in GROUPS:
        own, other = ("female", "male") if "woman" in name else ("male", "female")
        rows = {kind: tuple(Picture(f"{name} {kind} {k}", "", name) for k in range(SOURCES)) for kind in ("s", "r")}
        gender |= {one.id: own for row in rows.values() for one in row}
        faces |= {one.id: face(name) for one in rows["s"]}
        edits = {}
        for (targets, words), strength in product(TARGETS.items(), STRENGTHS):
            for word in words:
                row = tuple(Picture(f"{name} {word} {strength} {k}", "", word) for k in range(SOURCES))
                edits[word, strength] = row
                for k, (source, edit) in enumerate(zip(rows["s"], row, strict=True)):
                    flips = strength == 1.0 and k < FLIPS.get((name, targets), 0)
                    gender[edit.id] = other if flips else own
                    faces[edit.id] = face(name, targets, strength)
                    change = (degrees(name), degrees(name, targets, strength))
                    skin[source.id, edit.id] = SkinChange(*change, 0.25, 0.5, 3.0, 1.0)
        groups.append(EditedGroup(name, rows["s"], rows["r"], edits))
    jobs = dict.fromkeys(gender, "a doctor")
    return groups, Readings({"gender": gender, "age": gender}, jobs, {}, skin, faces, "rule")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """As a run would have written them."""
    (groups, readings), scoring = made_up(), Scoring("studio", draws=20)
    plan = plan_editing(
        GROUPS, model="studio/planted", targets=TARGETS, strengths=STRENGTHS, images=SOURCES, axes=["gender", "age"]
    )
    what = (groups, TARGETS, STRENGTHS, readings, scoring)
    content = {
        "askew": "0", "plan": plan.model_dump(mode="json"), "plan_hash": plan.hash, "environment": {"packages": {}},
        "warnings": ["<b>"], "model": {"name": "studio", "revision": "1", "settings": {}},
        "sources": {"name": "studio", "revision": "1", "settings": {}}, "landmarks": "studio",
        "instruments": {"vqa": {"studio": "1"}, "embedder": None},
        "sets": [
            {"prompt": g.name, "axis": None, "value": None, "text": g.name, "n": SOURCES, "missing": {},
             "pictures": [one.id for one in g.sources if isinstance(one, Picture)], "seeds": list(range(SOURCES))}
            for g in groups
        ],
        "neutrality": [], "average_faces": [], "editing": editing(*what), "editing_contrasts": contrasts(*what),
        "editing_pooled": pooled(*what),
    }  # fmt: skip
    written = write_results(tmp_path_factory.mktemp("run"), content)
    found: dict[str, Any] = json.loads(written.read_text(encoding="utf-8"))
    return found


def number(text: str) -> float:
    """The first number of a cell, with its sign or arrow."""
    first, *rest = text.replace("−", "-").replace("°", "").replace("%", "").split()
    return float(first) if first not in "↑↓" else (1 if first == "↑" else -1) * float(rest[0])


def cells(table: figures.PlainTable) -> dict[tuple[str, ...], list[figures.Cell]]:
    return {labels: list(row) for labels, row in table.rows}


def test_table_1_has_both_changes_of_every_cell_by_strength(results: dict[str, Any]) -> None:
    table = figures.paper_table(results)
    assert table.columns == ("Δ gender 0.6", "Δ gender 1", "Δ ITA 0.6", "Δ ITA 1")
    assert set(cells(table)) == set(product(GROUPS, TARGETS))
    for (group, targets), row in cells(table).items():
        share = FLIPS.get((group, targets), 0) / SOURCES
        changes = [degrees(group, targets, s) - degrees(group) for s in STRENGTHS]
        assert [number(cell.text) for cell in row] == pytest.approx([0, share, *changes], abs=0.006)
        assert [cell.strong for cell in row] == [False, share > 0.5, *(abs(change) > 15 for change in changes)]


def test_tables_2_and_3_have_the_tone_of_every_average_face_with_its_class(results: dict[str, Any]) -> None:
    of_sources, of_edits = figures.tone_tables(results)
    assert "by the scheme chardon" in of_sources.caption
    assert set(cells(of_sources)) == {(group,) for group in GROUPS}
    for (group,), (cell,) in cells(of_sources).items():
        assert number(cell.text) == pytest.approx(degrees(group), abs=0.006)
        assert cell.note.startswith(tone(degrees(group)))
    assert set(cells(of_edits)) == set(product(GROUPS, TARGETS))
    for (group, targets), row in cells(of_edits).items():
        wanted = [degrees(group, targets, s) for s in STRENGTHS]
        assert [number(cell.text) for cell in row] == pytest.approx(wanted, abs=0.006)
        assert [cell.note.partition(",")[0] for cell in row] == [tone(value) for value in wanted]


def test_figure_3_puts_together_whom_the_names_say_to_be_alike(results: dict[str, Any]) -> None:
    left = figures.pooled_figure(results, "gender", "gender_change")
    middle = figures.pooled_figure(results, "ethnicity", "ita_change")
    assert left is not None
    assert middle is not None
    found = {(row.label, row.note): number(row.cells[0]) for row in left.rows}
    assert found["Female", "high, strength 1"] == 60
    assert found["Male", "low, strength 1"] == 20
    assert sum(found.values()) == 80
    found = {(row.label, row.note): number(row.cells[0]) for row in middle.rows}
    for targets, strength in product(TARGETS, STRENGTHS):

        def change(*groups: str, targets: str = targets, strength: float = strength) -> float:
            return float(np.mean([degrees(g, targets, strength) - degrees(g) for g in groups]))

        where = f"{targets}, strength {strength:g}"
        assert found["White", where] == pytest.approx(change("caucasian man", "caucasian woman"), abs=0.06)
        assert found["Black", where] == pytest.approx(change("african-american woman"), abs=0.06)


def test_every_target_has_its_own_row(results: dict[str, Any]) -> None:
    table = cells(figures.words_table(results))
    assert set(table) == set(product(GROUPS, [word for words in TARGETS.values() for word in words]))
    women = table["caucasian woman", "ceo"]
    assert [number(cell.text) for cell in women[:2]] == [0, 70]
    assert number(women[3].text) == pytest.approx(degrees(GROUPS[1], "high") - degrees(GROUPS[1]), abs=0.06)
    assert [number(cell.text) for cell in women[4:]] == [0, 0]
    assert [number(cell.text) for cell in table["caucasian woman", "doctor"][4:]] == [100, 100]


def test_the_page_holds_every_table_and_names_the_scheme(results: dict[str, Any]) -> None:
    page = render_editing(results, lambda picture: Image.new("RGB", (8, 8), "red"))
    for part in ("table 1", "table 2", "table 3", "figure 3, left", "figure 3, middle", "By single target"):
        assert part in page
    assert "the scheme chardon" in page
    assert "<li>&lt;b&gt;</li>" in page


def test_average_faces_by_geometry_are_read_where_the_cheeks_are() -> None:
    groups, readings = made_up()
    spoilt = {}
    for name, one in readings.faces.items():
        assert isinstance(one, np.ndarray)
        spoilt[name] = one.copy()
        spoilt[name][:60] = spoilt[name][80:] = (235, 185, 155)  # of another tone, which the rule takes as skin as well
    found = {}
    for mask in ("rule", "geometry"):
        changed = Readings(readings.values, readings.occupations, {}, readings.skin, spoilt, mask)
        found[mask] = editing(groups[:1], TARGETS, STRENGTHS, changed, Scoring("studio", draws=20))[0]["average_face"]
    own = degrees("caucasian man")
    assert found["geometry"]["ita_before"].value == pytest.approx(own, abs=0.01)
    assert abs(found["rule"]["ita_before"].value - own) > 5
    assert found["geometry"]["coverage"]["mask"] == "geometry"
    assert 0 < found["geometry"]["coverage"]["before"] < 0.05 < found["rule"]["coverage"]["before"]
