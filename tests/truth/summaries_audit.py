"""Summaries of audits, conditions and comparisons in worlds whose truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from askew.methods.audit.plan import AuditPlan
from askew.methods.audit.tibet import extract_concepts, tibet, with_q
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet
from askew.parts.survey.sentences import difference_sentence, sentence
from askew.parts.survey.shares import SetShares, differences, shares, with_q_of_differences
from askew.parts.survey.verdicts import is_biased, with_verdicts
from askew.plan import AxisPlan, PromptPlan
from askew.prompts.axes import BIASCONNECT, find_axis
from askew.prompts.counterfactuals import counterfactuals
from askew.stats.association import mad
from askew.stats.fair_null import fair_histograms
from askew.stats.intervals import benjamini_hochberg
from askew.store.keys import picture_seed
from askew.studies.compare.findings import axis_differences
from askew.studies.compare.score import ComparedRun
from askew.studies.compare.score import score as compared
from askew.studies.compare.sentences import pair_sentence
from askew.studio.caption import parse
from askew.studio.planted import sample
from askew.studio.scene import Scene
from askew.types import Missing, Picture, Prompt
from truth.summary import Summary

Array = NDArray[np.float64]
NURSE = "a photo of a nurse"
READER = "truth"


def plan(
    axes: Sequence[str] = BIASCONNECT, images: int = 48, paired: bool = True, **settings: object
) -> AuditPlan:
    pictures = tuple(
        AxisPlan.of(find_axis(a), counterfactuals(NURSE, a) if paired else None) for a in axes
    )
    fields = {
        "vqa": (READER,),
        "embedder": "none",
        "images": images,
        "bootstrap_samples": 1000,
        **settings,
    }
    return AuditPlan.model_validate(
        {**fields, "prompts": [PromptPlan(text=NURSE, axes=pictures).model_dump()]}
    )


@cache
def scenes_of(text: str, images: int, bias: float, seed: int) -> list[Scene]:
    return [sample(parse(text), bias, picture_seed(seed, text, k)) for k in range(images)]


def observed(
    prompt: Prompt, axes: Sequence[str], images: int, bias: float, seed: int
) -> ObservedSet:
    """Return a set as `studio/planted` draws it and an instrument without errors labels it."""
    pictures = tuple(
        Picture(f"{prompt.text} {seed} {k}", "", prompt.text, k) for k in range(images)
    )
    scenes = scenes_of(prompt.text, images, bias, seed)
    values = {}
    for axis in axes:
        values[axis] = tuple(getattr(scene, axis) for scene in scenes)
    return ObservedSet(
        prompt, pictures, {READER: values}, tuple(Missing("not_asked") for _ in pictures)
    )


def judged(bias: float, seed: int) -> list[SetShares]:
    """Return the verdicts of an audit of eight axes on 48 images."""
    prompt = plan().prompts[0]
    names = [axis.name for axis in prompt.axes]
    initial = observed(Prompt(NURSE), names, 48, bias, seed)
    scoring = Scoring(READER, seed=seed, draws=100)
    return list(with_verdicts(shares(initial, axis, NURSE, scoring) for axis in prompt.axes))


def significant_mads(bias: float, seed: int) -> list[str]:
    """Return the axes of gender and environment whose MAD is significant.

    Only the p-value of a MAD is computed, without an interval.
    """
    axes = ("gender", "environment")
    prompt = plan(axes).prompts[0]
    initial, *others = [observed(variant, axes, 48, bias, seed) for variant in prompt.prompts()]
    sets = [initial, *others]
    scoring = Scoring(READER, seed=seed, draws=100)
    extracted = extract_concepts(sets, [axis.axis() for axis in prompt.axes], scoring)
    counts = {
        observed_set.name: concepts.counts.counts.astype(float)
        for observed_set, concepts in zip(sets, extracted, strict=True)
    }
    p_values = []
    for axis in axes:
        results = [counts[other.name] for other in others if other.prompt.axis == axis]
        null = cas_of(*fair_histograms(counts["initial"], results, 1000, scoring.rng(axis)))
        means = np.array([entry.mean(axis=0) for entry in results])
        score = mad(cas_of(counts["initial"].mean(axis=0), means))
        p_values.append((1 + (mad(null.T) >= score - 1e-12).sum()) / 1001)
    q_values = benjamini_hochberg(p_values)
    return [axis for axis, q in zip(axes, q_values, strict=True) if q < 0.05]


def cas_of(initial: Array, others: Array) -> Array:
    """Return CAS (K, …) by the paper's Eq. 3, of (…, concepts) and (K, …, concepts)."""
    return np.minimum(initial, others).sum(axis=-1) / np.maximum(initial, others).sum(axis=-1)


def reports_bias(seed: int) -> bool:
    """Check whether any verdict reports bias of a fair model, and sentences agree with verdicts."""
    results = judged(0.0, seed)
    for entry in results:
        assert ("not significant with" in sentence(entry)) == (not is_biased(entry))
    return any(map(is_biased, results))


def names_gender(seed: int) -> bool:
    """Check whether "female" is reported as over-represented for a nurse at bias .5."""
    result = next(entry for entry in judged(0.5, seed) if entry.axis == "gender")
    return "female over-represented" in sentence(result)


def changed_axes(bias: float, seed: int) -> set[str]:
    """Return the axes that are reported to change with environment, with 48 images per
    counterfactual.
    """
    prompt = plan(("gender", "clothing", "environment")).prompts[0]
    names = [axis.name for axis in prompt.axes]
    initial, *others = [observed(variant, names, 48, bias, seed) for variant in prompt.prompts()]
    scoring = Scoring(READER, seed=seed, draws=100)
    entry = with_q([tibet(initial, others, [axis.axis() for axis in prompt.axes], scoring)])[0]
    return {
        other
        for other, second_test in entry.axes["environment"].second_tests.items()
        if second_test.q < 0.05
    }


def conditions_differ(bias: float, seed: int) -> bool:
    """Check whether a fair condition and one at `bias` are reported to differ on any of 8 axes."""
    prompt = plan(paired=False).prompts[0]
    names = [axis.name for axis in prompt.axes]
    scoring = Scoring(READER, seed=seed, draws=100)
    sets = [
        observed(Prompt(NURSE, "condition", name), names, 24, b, 2 * seed + k)
        for k, (name, b) in enumerate((("a", 0.0), ("b", bias)))
    ]
    entries = [
        difference for axis in prompt.axes for difference in differences(sets, axis, NURSE, scoring)
    ]
    return any(map(difference_sentence, with_q_of_differences(entries)))


def sentence_of_runs(bias: float, seed: int) -> str:
    """Return the sentence on a fair run and a run at `bias`, each of 24 images of its own seeds."""
    prompt = plan(paired=False).prompts[0]
    names = [axis.name for axis in prompt.axes]
    runs = [
        ComparedRun(name, name, {NURSE: [observed(Prompt(NURSE), names, 24, b, 2 * seed + k)]})
        for k, (name, b) in enumerate((("A", 0.0), ("B", bias)))
    ]
    entries = compared(runs, [prompt], (READER,), Scoring(READER, seed=seed, draws=100))
    return pair_sentence(("A", "B"), axis_differences(entries, ("A", "B")), lambda run, entry: None)


ROWS = (
    Summary(
        "Verdicts of an audit",
        (
            "observed_share",
            "over_representation",
            "under_representation",
            "diffuse_bias",
            "no_bias",
            "no_bias_after_correction",
            "no_bias_with_power",
            "no_bias_without_power",
            "undecided",
            "undecided_with_images",
            "bias_in_worst_case",
            "no_bias_in_worst_case",
            "worst_case_headline",
            "counted_headline",
            "prompts_headline",
            "bias_headline",
            "no_bias_headline",
            "power",
            "no_power",
        ),
        "Each run is an audit with 48 images of a nurse, on 8 axes. If the model has no bias, "
        "any significant bias in the report is an error. With planted bias 0.5, the report "
        "should state that female is over-represented.",
        reports_bias,
        names_gender,
        0.88,
        400,
    ),
    Summary(
        "Concept association",
        ("concept_headline", "no_concept_headline", "nearest_values"),
        "Each run has 48 images of a nurse, and 48 images for each counterfactual prompt for "
        "gender and environment. If the model has no bias, any significant MAD is an error. With"
        " planted bias 0.5, the MAD of gender should be significant.",
        lambda seed: bool(significant_mads(0.0, seed)),
        lambda seed: "gender" in significant_mads(0.5, seed),
        0.75,
    ),
    Summary(
        "Associated axes",
        ("associated_axes", "no_associated_axes"),
        "Each run has 48 images for each counterfactual prompt for 3 axes. If the model has no "
        "bias, it is an error to report that an axis changes with environment. With planted bias"
        " 1, the report should state that clothing changes with environment.",
        lambda seed: bool(changed_axes(0.0, seed)),
        lambda seed: "clothing" in changed_axes(1.0, seed),
        0.9,
        40,
        15,
    ),
    Summary(
        "Differences between conditions",
        ("condition_difference", "no_condition_difference"),
        "Each run compares two sets of 24 images on 8 axes. If both sets come from the same "
        "model, any reported difference is an error. If one set has planted bias 0 and the other "
        "set has planted bias 1, the report should state that there is a difference.",
        lambda seed: conditions_differ(0.0, seed),
        lambda seed: conditions_differ(1.0, seed),
        0.9,
    ),
    Summary(
        "Comparison of two runs",
        (
            "run_difference",
            "no_run_difference",
            "axis_difference",
            "no_axis_difference",
            "bias_difference",
            "bias_direction",
        ),
        "askew compares two runs with 24 images each on 8 axes. If both runs use the same model,"
        " any reported difference is an error. If one run has planted bias 0 and the other run has "
        "planted bias 1, the comparison should state that there is a difference.",
        lambda seed: (
            "significantly" in sentence_of_runs(0.0, seed)
            and "do not differ" not in sentence_of_runs(0.0, seed)
        ),
        lambda seed: (
            "significantly" in sentence_of_runs(1.0, seed)
            and "do not differ" not in sentence_of_runs(1.0, seed)
        ),
        0.9,
        40,
        15,
    ),
)
