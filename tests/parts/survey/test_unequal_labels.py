"""Tests of whether labels are missing more often for some requested images than for others."""

from __future__ import annotations

from askew.parts.scoring import Scoring
from askew.parts.survey.confusion import Confusion
from askew.parts.survey.missing_labels import missing_labels
from askew.parts.survey.missing_pictures import MissingCount
from askew.parts.survey.observed import ObservedSet
from askew.parts.survey.sentences import missing_label_sentences
from askew.types import Missing, Picture, Prompt

NURSE = "a photo of a nurse"
PILOT = "a photo of a pilot"
SCORING = Scoring("faces", seed=4)


def labeled(
    prompt: str,
    value: str | None,
    missing: int,
    total: int,
    *,
    instrument: str = "faces",
    axis: str | None = "gender",
) -> ObservedSet:
    """Return a set of which some images have no face."""
    pictures = tuple(Picture(f"{prompt} {value} {k}", "", prompt) for k in range(total))
    labels = (Missing("no_face"),) * missing + ("male",) * (total - missing)
    ages = (Missing("no_face"),) * missing + ("old",) * (total - missing)
    values = {instrument: {"gender": labels, "age": ages}}
    return ObservedSet(Prompt(prompt, axis if value else None, value), pictures, values, ())


def test_labels_that_are_missing_more_often_for_a_requested_value_are_reported() -> None:
    sets = [
        labeled(NURSE, None, 2, 48),
        labeled(NURSE, "male", 1, 48),
        labeled(NURSE, "female", 20, 48),
    ]
    (entry,) = missing_labels({NURSE: sets}, (), SCORING)
    assert (entry.axis, entry.instrument, entry.labeled) == ("gender", "faces", "gender")
    assert entry.counts["female"] == MissingCount(missing=20, planned=48)
    (text,) = missing_label_sentences([entry])
    assert text.startswith(
        "Gender: labels of perceived gender from faces for “a photo of a nurse” are missing more "
        "often for female (20 of 48) than for male (1 of 48)"
    )
    assert "Images without a label may differ from the other images" in text


def test_prompts_are_compared_and_equal_rates_are_not_reported() -> None:
    uneven = {NURSE: [labeled(NURSE, None, 1, 48)], PILOT: [labeled(PILOT, None, 20, 48)]}
    (entry,) = missing_labels(uneven, (), SCORING)
    assert (entry.prompt, entry.axis) == (None, "prompt")
    (text,) = missing_label_sentences([entry])
    assert "more often for a photo of a pilot (20 of 48) than for a photo of a nurse" in text
    alike = {NURSE: [labeled(NURSE, None, 3, 48)], PILOT: [labeled(PILOT, None, 5, 48)]}
    assert missing_label_sentences(missing_labels(alike, (), SCORING)) == []


def test_a_persons_labels_distinguish_images_and_unasked_labels_do_not_count() -> None:
    entry = Confusion(
        axis="gender",
        instrument="faces",
        truth="labels",
        values=("male", "female"),
        counts=((40, 2), (6, 30)),
        missing={"male": {"no_face": 1, "not_asked": 30}, "female": {"no_face": 22}},
    )
    (test,) = missing_labels({}, [entry], SCORING)
    assert test.counts == {
        "male": MissingCount(missing=1, planned=43),
        "female": MissingCount(missing=22, planned=58),
    }
    (text,) = missing_label_sentences([test])
    assert "in images labeled by labels, are missing more often for female (22 of 58)" in text


def test_missing_images_and_labels_by_people_are_left_out() -> None:
    by_people = [labeled(NURSE, value, 9, 48, instrument="labels") for value in (None, "male")]
    by_people[1] = labeled(NURSE, "male", 0, 48, instrument="labels")
    assert missing_labels({NURSE: by_people}, (), SCORING) == ()
    absent = Missing("blank_image")
    sets = [labeled(NURSE, None, 1, 24), labeled(NURSE, "female", 1, 24)]
    hidden = ObservedSet(
        Prompt(NURSE, "gender", "female"),
        (absent,) * 20 + sets[1].pictures[20:],
        {"faces": {"gender": (absent,) * 20 + ("male",) * 4}},
        (),
    )
    (entry,) = missing_labels({NURSE: [sets[0], hidden]}, (), SCORING)
    assert entry.counts["female"] == MissingCount(missing=0, planned=4)
