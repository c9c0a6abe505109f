"""What edits and classifications say of worlds whose truth is known."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from askew.measure.portraits import SkinChange
from askew.methods.classify.gather import ErrorsOfClasses
from askew.methods.classify.page import against
from askew.methods.classify.plan import ClassificationPlan
from askew.methods.classify.score import classification
from askew.methods.edit.cells import EditData, EditedGroup, EditReadings
from askew.methods.edit.comparisons import contrasts
from askew.methods.edit.headline import gender_sentence, skin_sentence
from askew.methods.edit.score import editing
from askew.parts.scoring import Scoring
from askew.types import Estimate, Picture
from truth.summary import Summary

SOURCES = 25
WORDS = ("doctor", "CEO")
GROUPS = ("white man", "black man")
STRENGTH = 0.8
FACE = {"face": np.zeros((1, 1, 3), np.uint8)}
PICTURES = 24
CLASSES = {"first": ("a", "b", "c"), "second": ("d", "e", "f")}


@lru_cache(maxsize=512)
def said_of_edits(
    seed: int, rates: tuple[float, float], lighter: float = 0.0, floor: float = 0.1
) -> tuple[str, str]:
    """Of two groups whose edits change perceived gender at such rates, alike within a source, and
    skin by degrees.
    """
    rng = np.random.default_rng(seed)
    gender = {}
    skin = {}
    groups = []
    for name, rate in zip(GROUPS, rates, strict=True):
        sources, restored = (
            tuple(Picture(f"{name} {kind} {k}", "", name) for k in range(SOURCES))
            for kind in ("source", "restored")
        )
        rows = {
            (word, STRENGTH): tuple(Picture(f"{name} {word} {k}", "", word) for k in range(SOURCES))
            for word in WORDS
        }
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
def said_of_classes(seed: int, lean: float) -> str:
    """Of two groups, whose pictures fit the first set of classes better by so much, each in its own
    way.
    """
    rng = np.random.default_rng(seed)
    errors = {}
    for group, way in zip(GROUPS, (1, -1), strict=True):
        values = rng.normal(0, 1, (PICTURES, 6, 1)) + rng.normal(0, 1, (PICTURES, 6, 10))
        values[:, :3] -= way * lean
        errors[group] = values.astype(np.float32)
    read = ErrorsOfClasses(10, tuple(word for group in CLASSES.values() for word in group), errors)
    plan = ClassificationPlan.checked({"groups": GROUPS, "targets": CLASSES})
    result = classification(plan, [read], [], Scoring("denoising", seed=seed, draws=400))
    (main,) = result.differential
    shares: list[Estimate] = [
        entry.S for entry in result.association if isinstance(entry.S, Estimate)
    ]
    return against("a model", "first", main, shares)


def differ(seed: int, rates: tuple[float, float]) -> bool:
    return "; the groups differ significantly" in said_of_edits(seed, rates)[0]


ROWS = (
    Summary(
        "Perceived gender of edits, between groups",
        ("edit_difference", "no_edit_difference"),
        "Two groups of 25 input images, two edits each. Change rates of 30 % in both: a difference. Rates of 10 % and 80 %: a difference.",
        lambda seed: differ(seed, (0.3, 0.3)),
        lambda seed: differ(seed, (0.1, 0.8)),
        0.9,
    ),
    Summary(
        "Perceived gender of edits, against the floor",
        ("edit_change", "no_edit_change"),
        "The same groups. Edits change labels as often (10 %) as encoding and decoding: any change. At 60 %: a change.",
        lambda seed: "do not change" not in said_of_edits(seed, (0.1, 0.1))[0],
        lambda seed: "do not change" not in said_of_edits(seed, (0.6, 0.6))[0],
        0.9,
    ),
    Summary(
        "Skin tone of edits",
        ("skin_change",),
        "The same groups. No change of skin tone on average: any change. Lighter by 10 degrees: lighter.",
        lambda seed: bool(said_of_edits(seed, (0.3, 0.3))[1]),
        lambda seed: "lighter" in said_of_edits(seed, (0.3, 0.3), 10.0)[1],
        0.9,
    ),
    Summary(
        "Classes of two groups",
        ("class_difference", "no_class_difference"),
        "Two groups of 24 images, three classes against three. No association: a difference. Opposite associations: a difference.",
        lambda seed: ", significant (" in said_of_classes(seed, 0.0),
        lambda seed: ", significant (" in said_of_classes(seed, 0.5),
        0.9,
    ),
)
