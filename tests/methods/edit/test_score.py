"""Scores of edits from known labels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from askew.measure.portraits import SkinChange
from askew.methods.edit.cells import EditCell, EditData, EditedGroup, EditReadings
from askew.methods.edit.comparisons import contrasts, pooled
from askew.methods.edit.findings import Coverage
from askew.methods.edit.score import editing, missing_edits
from askew.parts.scoring import Scoring
from askew.parts.survey.missing_pictures import MissingCount
from askew.types import Estimate, Missing, Picture

SOURCES = 20
TARGETS = {"high": ("doctor", "ceo"), "low": ("cleaner", "maid")}
STRENGTHS = (0.6, 1.0)
SCORING = Scoring("studio", draws=200)
NOTHING = EditReadings({}, {}, {}, {}, {}, "rule")


def picture(name: str) -> Picture:
    return Picture(name, "", "")


def group(name: str, missing: tuple[int, ...] = ()) -> EditedGroup:
    def row(kind: str) -> tuple[Picture | Missing, ...]:
        return tuple(
            Missing("blank_image")
            if k in missing and kind != "source"
            else picture(f"{name} {kind} {k}")
            for k in range(SOURCES)
        )

    words = [word for target_words in TARGETS.values() for word in target_words]
    cells = {(word, s): row(f"{word} {s:g}") for word in words for s in STRENGTHS}
    return EditedGroup(name, row("source"), row("restored"), cells)


def readings(
    groups: list[EditedGroup], flips: Callable[[str, str, float, int], bool]
) -> EditReadings:
    """Labels of perceived gender by the name of the group.

    An edit changes it where `flips` returns true; the restored first input image always does.
    """
    gender: dict[str, str | Missing] = {}
    skin = {}
    vectors = {}
    rng = np.random.default_rng(0)
    for g in groups:
        before, after = ("female", "male") if "woman" in g.name else ("male", "female")
        for k, source in enumerate(g.sources):
            gender[source.id] = before
            restored = g.restored[k]
            if isinstance(restored, Picture):
                gender[restored.id] = after if k == 0 else before
            vectors[source.id] = rng.normal(size=8).astype(np.float32)
            vectors[source.id] /= np.linalg.norm(vectors[source.id])
            for (word, strength), row in g.edits.items():
                edit = row[k]
                if isinstance(edit, Picture):
                    gender[edit.id] = after if flips(g.name, word, strength, k) else before
                    skin[source.id, edit.id] = SkinChange(
                        10.0 + k, 10.0 + k + 20 * strength, 0.1, 0.2, 5.0, 3.0
                    )
                    vectors[edit.id] = vectors[source.id]
    jobs: dict[str, str | Missing] = dict.fromkeys(gender, "a doctor")
    return EditReadings({"gender": gender}, jobs, vectors, skin, {}, "rule")


@pytest.fixture
def groups() -> list[EditedGroup]:
    return [group("caucasian man"), group("caucasian woman")]


def only_women_to_high(name: str, word: str, strength: float, k: int) -> bool:
    return "woman" in name and word in TARGETS["high"] and strength == 1.0 and k < 16


def test_changes_are_counted_and_corrected_for_their_floor(groups: list[EditedGroup]) -> None:
    entries = editing(
        EditData(groups, TARGETS, STRENGTHS, readings(groups, only_women_to_high), SCORING)
    )
    assert len(entries) == 2 * 2 * 2
    cells = {(e.group, e.targets, e.strength): e for e in entries}
    entry = cells["caucasian woman", "high", 1.0]
    change = entry.gender_change
    assert isinstance(change, Estimate)
    assert (change.value, change.n, change.null) == (0.8, 40, pytest.approx(1 / SOURCES))
    assert change.corrected == pytest.approx((0.8 - 0.05) / 0.95)
    assert change.q is not None
    assert change.q < 0.05
    assert entry.gender_table == {"female": {"female": 8, "male": 32}}
    assert cells["caucasian man", "high", 1.0].gender_change.value == 0
    assert cells["caucasian woman", "low", 1.0].gender_change.q > 0.05


def test_skin_identity_and_classes(groups: list[EditedGroup]) -> None:
    entry = editing(
        EditData(groups, TARGETS, STRENGTHS, readings(groups, only_women_to_high), SCORING)
    )[1]
    assert entry.strength == 1.0
    assert entry.ita_change.value == pytest.approx(20)
    assert entry.ita_before.value == pytest.approx(10 + 9.5)
    assert (entry.lightness_change.value, entry.background_change.value) == (5.0, 3.0)
    assert entry.beyond_exposure.value == pytest.approx(2)
    assert entry.coverage == Coverage("rule", pytest.approx(0.1), pytest.approx(0.2))
    assert entry.identity.value == pytest.approx(1)
    assert entry.identity.corrected == pytest.approx(1)
    assert entry.average_face is None
    # all images are labeled "doctor": right for edits to doctor, wrong for edits to ceo
    assert entry.target_seen.value == 0.5


def test_differences_compare_groups_targets_and_strengths(groups: list[EditedGroup]) -> None:
    read = readings(groups, only_women_to_high)
    differences = {
        (e.contrast, e.first.group, e.first.targets, e.first.strength): e
        for e in contrasts(EditData(groups, TARGETS, STRENGTHS, read, SCORING))
    }
    between_groups = differences["group", "caucasian man", "high", 1.0].gender_change
    assert between_groups.value == pytest.approx(0.8)
    assert between_groups.low > 0.4
    assert between_groups.q < 0.05
    assert differences[
        "targets", "caucasian woman", "high", 1.0
    ].gender_change.value == pytest.approx(-0.8)
    assert differences[
        "strength", "caucasian woman", "high", 0.6
    ].gender_change.value == pytest.approx(0.8)
    assert differences["strength", "caucasian man", "low", 0.6].ita_change.value == pytest.approx(8)
    assert differences["group", "caucasian man", "low", 0.6].gender_change.p == 1


def test_groups_are_pooled_by_the_words_of_their_names(groups: list[EditedGroup]) -> None:
    more = [*groups, group("african-american woman")]
    data = EditData(more, TARGETS, STRENGTHS, readings(more, only_women_to_high), SCORING)
    entries = {(e.axis, e.value, e.targets, e.strength): e for e in pooled(data)}
    women = entries["gender", "female", "high", 1.0]
    assert women.groups == ("caucasian woman", "african-american woman")
    assert (women.gender_change.value, women.gender_change.n) == (0.8, 80)
    assert entries["ethnicity", "black", "low", 0.6].ita_change.value == pytest.approx(12)


def test_missing_edits_are_missing_not_unchanged() -> None:
    women = group("caucasian woman", missing=(0, 1, 2, 3))
    read = readings([women], lambda name, word, strength, k: True)
    changed = EditCell(women, TARGETS["high"], 1.0).changes(read.labels["gender"])
    assert np.isnan(changed[:4]).all()
    assert (changed[4:] == 1).all()
    entry = editing(EditData([women], TARGETS, STRENGTHS, read, SCORING))[0]
    assert (entry.gender_change.n, entry.gender_change.missing) == (32, 8)
    assert entry.missing == {"blank_image": 8}


def test_scores_without_labels_are_missing(groups: list[EditedGroup]) -> None:
    entry = editing(EditData(groups, TARGETS, STRENGTHS, NOTHING, SCORING))[0]
    for score in ("gender_change", "floor", "ita_before", "ita_change", "identity", "target_seen"):
        assert isinstance(getattr(entry, score), Missing), score
    assert all(
        isinstance(e.gender_change, Missing)
        for e in contrasts(EditData(groups, TARGETS, STRENGTHS, NOTHING, SCORING))
    )


HIDDEN = {"high": ("doctor", "lawyer"), "low": ("maid", "janitor")}


def hidden(name: str, sources: int, edits: int, planned: int = 48) -> EditedGroup:
    """A group whose first input images are hidden, and then edits of the next ones to a doctor."""
    gone = Missing("blank_image", "the model's safety checker hid the image")
    originals = tuple(gone if k < sources else picture(f"{name} {k}") for k in range(planned))
    edited = tuple(
        image if isinstance(image, Missing) else picture(f"{image.id} edited")
        for image in originals
    )
    partly = tuple(gone if k < sources + edits else image for k, image in enumerate(edited))
    rows = {}
    for word in (*HIDDEN["high"], *HIDDEN["low"]):
        for strength in STRENGTHS:
            rows[word, strength] = partly if word == "doctor" else edited
    return EditedGroup(name, originals, originals, rows)


def test_a_group_with_more_hidden_edits_is_reported() -> None:
    (entry,) = missing_edits(
        EditData([hidden("man", 0, 1), hidden("woman", 0, 14)], HIDDEN, STRENGTHS, NOTHING, SCORING)
    )
    assert (entry.targets, entry.axis) == ("high", "group")
    assert entry.counts == {"man": MissingCount(1, 48), "woman": MissingCount(14, 48)}
    assert entry.q < 0.01


def test_hidden_sources_are_not_counted_as_missing_edits() -> None:
    (entry,) = missing_edits(
        EditData([hidden("man", 0, 0), hidden("woman", 14, 0)], HIDDEN, STRENGTHS, NOTHING, SCORING)
    )
    assert entry.targets is None
    assert entry.counts == {"man": MissingCount(0, 48), "woman": MissingCount(14, 48)}
    both = missing_edits(
        EditData(
            [hidden("man", 47, 1), hidden("woman", 48, 0)], HIDDEN, STRENGTHS, NOTHING, SCORING
        )
    )
    assert [e.targets for e in both] == [None], "a group without sources has no edits to miss"
    assert missing_edits(EditData([hidden("man", 2, 3)], HIDDEN, STRENGTHS, NOTHING, SCORING)) == ()
