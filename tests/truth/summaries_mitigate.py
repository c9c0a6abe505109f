"""Summaries of mitigations without an effect and with a known effect."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from askew.methods.mitigate.findings import TechniqueFindings
from askew.parts.survey.observed import ObservedSet
from askew.types import Missing, Prompt
from truth.mitigations import (
    NURSE,
    READ,
    evaluation_set,
    fitted,
    image_set,
    policy,
    technique_findings,
    with_labels,
)
from truth.summary import Summary

PICTURES = 48
HALVES = ["male", "female"] * (PICTURES // 2)


@cache
def nothing_done(seed: int, bias: float = 1.0) -> TechniqueFindings:
    """Return findings on images of one world, before and after, with different seeds."""
    before, after = (
        image_set(Prompt(NURSE), [NURSE] * PICTURES, bias, 1000 * seed + k) for k in range(2)
    )
    return compared(before, with_labels(after, {}))


def compared(
    before: ObservedSet, after: ObservedSet, subjects: Sequence[str] = (), **settings: object
) -> TechniqueFindings:
    asked = {
        "target_axes": ("gender",),
        "monitored": ("gender", "age", "clothing"),
        "bootstrap_samples": 100,
        **settings,
    }
    return technique_findings(
        evaluation_set(before), evaluation_set(after, subjects), policy(fitted(1.0, 7)), **asked
    )


@cache
def mitigated(seed: int) -> TechniqueFindings:
    """Return findings on equal numbers of women and men, with all men formal.

    One of two instruments labels no change.
    """
    before = image_set(Prompt(NURSE), [NURSE] * PICTURES, 1.0, seed)
    clothing = ["formal" if entry == "male" else "informal" for entry in HALVES]
    sets = [
        ObservedSet(
            value.prompt,
            value.pictures,
            {**value.values, "other": before.values[READ]},
            value.captions,
        )
        for value in (before, with_labels(before, {"gender": HALVES, "clothing": clothing}))
    ]
    return compared(*sets, vqa=(READ, "other"))


def unlabeled(seed: int) -> TechniqueFindings:
    """Return findings where half of the images have no label, and half show another subject."""
    before = image_set(Prompt(NURSE), [NURSE] * PICTURES, 1.0, seed)
    gender = before.values[READ]["gender"]
    after = with_labels(
        before,
        {"gender": [Missing("unparseable") if k % 2 else entry for k, entry in enumerate(gender)]},
    )
    return compared(before, after, ["nurse", "chef"] * (PICTURES // 2))


ROWS = (
    Summary(
        "Techniques",
        ("technique_improvement", "no_technique_improvement", "technique_headline"),
        f"Each run has a biased model, three axes, and {PICTURES} images before and after a "
        "mitigation. If the mitigation has no effect, any reported improvement is an error. If "
        "gender becomes uniform, the report should state that gender improved.",
        lambda seed: bool(nothing_done(seed).helped),
        lambda seed: "gender" in {entry.axis for entry in mitigated(seed).helped},
        0.9,
    ),
    Summary(
        "Axes that a technique harms",
        ("technique_harm",),
        "Each run uses the same biased model as above, with a mitigation that has no effect. "
        "Therefore it is an error to report that an axis became worse.",
        lambda seed: bool(nothing_done(seed).harmed),
    ),
    Summary(
        "Associations that a technique creates",
        ("technique_association",),
        "Each run uses the same biased model as above. If the mitigation has no effect, a reported "
        "stronger association is an error. If all men and no women wear formal clothing after the "
        "mitigation, the report should state that gender and clothing are more strongly "
        "associated.",
        lambda seed: bool(nothing_done(seed).built),
        lambda seed: ("gender", "clothing") in {entry.axes for entry in mitigated(seed).built},
        0.9,
    ),
    Summary(
        "Losses of the images",
        ("technique_subject_loss", "technique_prompt_loss", "technique_label_loss"),
        "Each run uses the same biased model as above. If the mitigation has no effect, any "
        "reported loss is an error. If half of the images show another occupation and half are "
        "unlabeled, the report should name both losses.",
        lambda seed: bool(nothing_done(seed).broken),
        lambda seed: (
            {*unlabeled(seed).broken} == {"technique_subject_loss", "technique_label_loss"}
        ),
        0.9,
    ),
    Summary(
        "Changes that a second instrument does not confirm",
        ("technique_doubt",),
        "Each run uses the same biased model as above. If the mitigation has no effect, a reported "
        "doubt is an error. If the second instrument does not confirm that gender changed, the "
        "report should express this doubt.",
        lambda seed: any(axis.doubted for axis in nothing_done(seed).axes),
        lambda seed: ["other"] in (axis.doubted for axis in mitigated(seed).axes),
        0.9,
    ),
)
