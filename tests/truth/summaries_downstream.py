"""Summaries of edits and classifications in worlds whose truth is known."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from askew.measure.portraits import SkinChange
from askew.methods.classify.changes_page import ChangesView
from askew.methods.classify.gather import ErrorsOfClasses
from askew.methods.classify.page import difference_sentence
from askew.methods.classify.plan import ClassificationPlan
from askew.methods.classify.score import classification
from askew.methods.edit.cells import EditData, EditedGroup, EditReadings
from askew.methods.edit.comparisons import contrasts
from askew.methods.edit.headline import gender_sentence, skin_sentence
from askew.methods.edit.score import editing
from askew.parts.scoring import Scoring
from askew.studies.compare_downstream.findings import TaskDifference, with_family
from askew.studies.compare_downstream.page import pair_sentence
from askew.studies.compare_downstream.rows import ImageRows, MatchedRows, rate_score
from askew.types import Estimate, Picture
from truth.summary import Summary

SOURCES = 25
WORDS = ("doctor", "CEO")
GROUPS = ("white man", "black man")
STRENGTH = 0.8
FACE = {"face": np.zeros((1, 1, 3), np.uint8)}
PICTURES = 24
CLASSES = {"first": ("a", "b", "c"), "second": ("d", "e", "f")}


def numbered(name: str, prompt: str) -> tuple[Picture, ...]:
    """Return an image for each source, whose ids are a name and a number."""
    return tuple(Picture(f"{name} {k}", "", prompt) for k in range(SOURCES))


@lru_cache(maxsize=512)
def edit_sentences(
    seed: int, rates: tuple[float, float], lighter: float = 0.0, floor: float = 0.1
) -> tuple[str, str]:
    """Return the sentences on gender and skin of two groups' edits.

    Edits change perceived gender at these rates, correlated within a source, and make skin
    `lighter` by so many degrees in the mean.
    """
    rng = np.random.default_rng(seed)
    gender = {}
    skin = {}
    groups = []
    for name, rate in zip(GROUPS, rates, strict=True):
        sources = numbered(f"{name} source", name)
        restored = numbered(f"{name} restored", name)
        rows = {(word, STRENGTH): numbered(f"{name} {word}", word) for word in WORDS}
        for k, source in enumerate(sources):
            share = rng.random()
            shift = rng.normal(lighter, 8)
            gender[source.id] = "male"
            gender[restored[k].id] = "female" if rng.random() < floor else "male"
            for row in rows.values():
                drawn = share if rng.random() < 0.5 else rng.random()
                gender[row[k].id] = "female" if drawn < rate else "male"
                skin[source.id, row[k].id] = SkinChange(
                    0.0, shift + rng.normal(0, 8), 0.1, 0.1, 0.0, 0.0
                )
        groups.append(EditedGroup(name, sources, restored, rows))
    read = EditReadings({"gender": gender}, {}, {}, skin, FACE, "geometry")
    options = EditData(
        groups, {"high-paid": WORDS}, (STRENGTH,), read, Scoring("studio", seed=seed, draws=400)
    )
    result = editing(options)
    return gender_sentence(result, contrasts(options)), skin_sentence(result)


@lru_cache(maxsize=512)
def class_sentence(seed: int, skew: float) -> str:
    """Return the sentence on two groups.

    The first group's images fit the first set of classes better by `skew`, the second group's fit
    them worse.
    """
    rng = np.random.default_rng(seed)
    errors = {}
    for group, way in zip(GROUPS, (1, -1), strict=True):
        values = rng.normal(0, 1, (PICTURES, 6, 1)) + rng.normal(0, 1, (PICTURES, 6, 10))
        values[:, :3] -= way * skew
        errors[group] = values.astype(np.float32)
    read = ErrorsOfClasses(10, tuple(word for group in CLASSES.values() for word in group), errors)
    plan = ClassificationPlan.checked({"groups": GROUPS, "targets": CLASSES})
    result = classification(plan, [read], [], Scoring("denoising", seed=seed, draws=400))
    (main,) = result.differential
    shares: list[Estimate] = [
        entry.S for entry in result.association if isinstance(entry.S, Estimate)
    ]
    return difference_sentence("first", main, shares)


@lru_cache(maxsize=512)
def samples_sentence(seed: int, skew: float, noise: float) -> str:
    """Return the sentence on the change of the groups' difference from 1 to 10 noise samples.

    Both groups have the same bias without `skew`. The mean noise of 10 samples is `noise` times
    the noise of a single sample.
    """
    rng = np.random.default_rng(seed)
    words = tuple(word for group in CLASSES.values() for word in group)
    few = {}
    many = {}
    for group, way in zip(GROUPS, (1, -1), strict=True):
        fixed = rng.normal(0, 1, (PICTURES, 6, 1))
        fixed[:, :3] -= 0.3 + way * skew
        few[group] = fixed + rng.normal(0, 2, (PICTURES, 6, 1))
        many[group] = fixed + noise * rng.normal(0, 2, (PICTURES, 6, 1))
    readings = [ErrorsOfClasses(1, words, few), ErrorsOfClasses(10, words, many)]
    plan = ClassificationPlan.checked({"groups": GROUPS, "targets": CLASSES})
    result = classification(plan, readings, [], Scoring("denoising", seed=seed, draws=400))
    return ChangesView(section=result, first_set="first", samples=(1, 10)).sentence()


@lru_cache(maxsize=512)
def comparison_sentence(seed: int, shares: tuple[float, float]) -> str:
    """Return the sentence on two runs on the same images, whose groups have these rates."""
    rng = np.random.default_rng(seed)
    scoring = Scoring("denoising", seed=seed, draws=400)
    entries = []
    for group in GROUPS:
        keys = tuple(f"{group} {number}" for number in range(PICTURES))
        rows = [(rng.random((PICTURES, 9)) < share).astype(float) for share in shares]
        first, second = (ImageRows(keys=keys, rows=of_run) for of_run in rows)
        value = rate_score(MatchedRows.of(first, second), scoring, group)
        entries.append(
            TaskDifference(
                score="association",
                group=group,
                runs=("base", "new"),
                pairs=value.pairs,
                of_runs=value.of_runs,
                difference=value.difference,
            )
        )
    return pair_sentence(with_family(entries), "first")


def differ(seed: int, rates: tuple[float, float]) -> bool:
    return "; the groups differ significantly" in edit_sentences(seed, rates)[0]


ROWS = (
    Summary(
        "Perceived gender of edits, between groups",
        ("edit_difference", "no_edit_difference"),
        "Each run has two groups of 25 input images, with two edits per image. If the perceived "
        "gender changes in 30 % of the edits of both groups, a reported difference is an error. If "
        "the perceived gender changes in 10 % of the edits of one group and in 80 % of the edits "
        "of the other group, the report should state that there is a difference.",
        lambda seed: differ(seed, (0.3, 0.3)),
        lambda seed: differ(seed, (0.1, 0.8)),
        0.9,
    ),
    Summary(
        "Perceived gender of edits, against the floor",
        ("edit_change", "no_edit_change"),
        "Each run has two groups of 25 input images, as above. If edits change labels as often as "
        "encoding and decoding do (10 %), any reported change is an error. If edits change 60 % of "
        "the labels, the report should say that labels change.",
        lambda seed: "do not change" not in edit_sentences(seed, (0.1, 0.1))[0],
        lambda seed: "do not change" not in edit_sentences(seed, (0.6, 0.6))[0],
        0.9,
    ),
    Summary(
        "Skin tone of edits",
        ("skin_change",),
        "Each run has two groups of 25 input images, as above. If the skin tone does not change on "
        "average, any reported change is an error. If skin becomes lighter by 10 degrees, the "
        "report should state this change.",
        lambda seed: bool(edit_sentences(seed, (0.3, 0.3))[1]),
        lambda seed: "lighter" in edit_sentences(seed, (0.3, 0.3), 10.0)[1],
        0.9,
    ),
    Summary(
        "Classes of two groups",
        ("class_difference", "no_class_difference"),
        "Each run has two groups of 24 images, and compares three classes with three other "
        "classes. If neither group has an association, a reported difference is an error. If the"
        " groups have opposite associations, the report should state that there is a difference.",
        lambda seed: ", significant (" in class_sentence(seed, 0.0),
        lambda seed: ", significant (" in class_sentence(seed, 0.5),
        0.9,
    ),
    Summary(
        "Two runs of classifications or edits",
        ("task_difference", "no_task_difference"),
        "Two runs use the same 24 images of two groups, with nine decisions per image. If both "
        "runs have the same shares, a reported difference is an error. If the shares in the two "
        "runs are 40 % and 70 %, the comparison should state that there is a difference.",
        lambda seed: "do not differ" not in comparison_sentence(seed, (0.5, 0.5)),
        lambda seed: "do not differ" not in comparison_sentence(seed, (0.4, 0.7)),
        0.9,
    ),
    Summary(
        "Classes with more noise samples",
        ("samples_change", "no_samples_change"),
        "Each run has two groups of 24 images, as above, with 1 noise sample and with 10 noise "
        "samples per decision. If both groups have the same bias, a reported change in the "
        "difference between the groups is an error. If the groups have opposite biases, and the "
        "noise of 10 samples is a tenth of the noise of 1 sample, the report should say that the "
        "difference changes.",
        lambda seed: "changes significantly" in samples_sentence(seed, 0.0, 0.3),
        lambda seed: "changes significantly" in samples_sentence(seed, 1.5, 0.1),
        0.9,
    ),
)
