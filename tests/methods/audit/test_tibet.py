"""TIBET on image sets whose true values are known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from askew.methods.audit.findings import Tibet
from askew.methods.audit.tibet import axis_concepts, domain, extract_concepts, tibet, with_q
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet
from askew.prompts.axes import BIASCONNECT
from askew.studio.planted import female_share
from askew.studio.scene import OCCUPATIONS
from askew.types import Axis, Estimate, Missing, Picture, Prompt
from planted_sets import planted_sets

SCORING = Scoring("truth", draws=200)


def test_the_planted_bias_is_measured_and_ranked_first() -> None:
    initial, others, axes = planted_sets("a photo of a mechanic", ["gender", "body_type"], 48, 1.0)
    entry = tibet(initial, others, axes, SCORING)
    gender = entry.axes["gender"]
    assert gender.cas["male"].value > gender.cas["female"].value
    assert gender.cas_contrast["male"].low > 0
    assert gender.cas_contrast["female"].mark == pytest.approx(-gender.cas_contrast["male"].mark)
    assert gender.mad.p < 0.01
    assert gender.mad.corrected > entry.axes["body_type"].mad.corrected


def test_scores_follow_the_equations() -> None:
    initial, others, axes = planted_sets("a photo of a nurse", ["gender"], 30, 1.0)
    concepts = extract_concepts([initial, *others], axes, SCORING)
    histograms = [c.counts.counts.mean(axis=0) for c in concepts]
    cas = [
        np.minimum(histograms[0], h).sum() / np.maximum(histograms[0], h).sum()
        for h in histograms[1:]
    ]
    deviation = np.abs(np.array(cas) - np.mean(cas)).mean()
    entry = tibet(initial, others, axes, SCORING).axes["gender"]
    assert [entry.cas[v].value for v in ("male", "female")] == pytest.approx(cas)
    assert entry.mad.value == pytest.approx(np.sqrt(deviation / 0.5))


def test_scores_do_not_depend_on_the_order_of_images() -> None:
    initial, others, axes = planted_sets("a photo of a chef", ["gender", "age"], 20, 1.0)
    assert tibet(_reversed(initial), [_reversed(s) for s in others], axes, SCORING) == tibet(
        initial, others, axes, SCORING
    )


def test_an_image_with_a_missing_answer_is_left_out_and_counted() -> None:
    initial, others, axes = planted_sets("a photo of a nurse", ["gender", "age"], 20, 1.0)
    holes = _with_missing(initial, "gender", 5)
    cut = replace(
        initial,
        pictures=initial.pictures[5:],
        captions=initial.captions[5:],
        values={"truth": {name: column[5:] for name, column in initial.values["truth"].items()}},
    )
    missing, without = (tibet(s, others, axes, SCORING).axes["age"] for s in (holes, cut))
    assert missing.cas["old"].value == without.cas["old"].value
    assert missing.mad.value == without.mad.value
    assert (missing.mad.n, missing.mad.missing) == (without.mad.n, 5)


def test_without_answers_scores_are_missing_with_the_reason() -> None:
    initial, others, axes = planted_sets("a photo of a nurse", ["gender"], 6, 1.0)
    entry = tibet(_with_missing(initial, "gender", 6), others, axes, SCORING).axes["gender"]
    assert isinstance(entry.mad, Missing)
    assert entry.mad.reason == "no_person"
    assert all(isinstance(score, Missing) for score in entry.cas.values())


def test_an_axis_without_any_answer_is_left_out() -> None:
    initial, others, axes = planted_sets("a photo of a nurse", ["gender", "age"], 20, 1.0)
    blind = [_with_missing(s, "age", 20, "not_asked") for s in (initial, *others)]
    entry = tibet(blind[0], blind[1:], axes, SCORING).axes["gender"]
    assert isinstance(entry.mad, Estimate)
    assert entry.mad.missing == 0


def test_second_axis_lists_top_concepts() -> None:
    initial, others, axes = planted_sets("a photo of a nurse", ["gender", "age"], 48, 1.0)
    entry = tibet(initial, others, axes, SCORING).axes["gender"]
    women, men = (dict(entry.second_axis[value]["age"]) for value in ("female", "male"))
    assert women["young"] > men["young"]
    assert entry.top_concepts["initial"] == axis_concepts(initial, axes[0], SCORING)
    assert set(entry.second_axis["male"]) == {"age"}


@pytest.mark.slow
def test_corrected_gender_mad_orders_occupations_as_planted() -> None:
    names = list(OCCUPATIONS)[::5]
    scores = []
    for name in names:
        initial, others, axes = planted_sets(f"a photo of a {name}", ["gender"], 48, 1.0)
        scores.append(tibet(initial, others, axes, SCORING).axes["gender"].mad.corrected)
    planted = [abs(2 * female_share(name) - 1) for name in names]
    assert spearmanr(scores, planted).statistic >= 0.85


@pytest.mark.slow
def test_false_alarms_of_a_fair_model_are_rare() -> None:
    p = []
    for seed, name in enumerate(list(OCCUPATIONS)[:40]):
        initial, others, axes = planted_sets(f"a photo of a {name}", BIASCONNECT, 48, 0.0, seed)
        scores = tibet(initial, others, axes, replace(SCORING, draws=500)).axes
        p += [axis.mad.p for axis in scores.values()]
    assert 0.02 <= np.mean(np.array(p) < 0.05) <= 0.07


def _reversed(observed: ObservedSet) -> ObservedSet:
    values = {"truth": {name: column[::-1] for name, column in observed.values["truth"].items()}}
    return replace(
        observed, pictures=observed.pictures[::-1], captions=observed.captions[::-1], values=values
    )


def _with_missing(
    observed: ObservedSet, axis: str, count: int, reason: Any = "no_person"
) -> ObservedSet:
    column = observed.values["truth"][axis]
    values = {
        "truth": {**observed.values["truth"], axis: (Missing(reason),) * count + column[count:]}
    }
    return replace(observed, values=values)


def exactly_fair(values: tuple[str, ...]) -> tuple[ObservedSet, list[ObservedSet], list[Axis]]:
    """A set with all values equally often, and a counterfactual set for each value."""
    axis = Axis("ethnicity", values, "societal", "nominal", ())

    def of(prompt: Prompt, shown: tuple[str, ...]) -> ObservedSet:
        pictures = tuple(Picture(f"{prompt.text} {k}", "", prompt.text) for k in range(len(shown)))
        captions = tuple(f"a photo of a {value} person" for value in shown)
        return ObservedSet(prompt, pictures, {"truth": {axis.name: shown}}, captions)

    initial = of(Prompt("a person"), values * 8)
    return initial, [of(Prompt(f"a {v} person", axis.name, v), (v,) * 48) for v in values], [axis]


@pytest.mark.parametrize("own_concepts", [False, True])
def test_a_value_of_several_words_is_one_concept(own_concepts: bool) -> None:
    initial, others, axes = exactly_fair(
        ("white", "asian", "south asian", "middle eastern", "hearing aid")
    )
    entry = tibet(initial, others, axes, SCORING, own_concepts=own_concepts)
    assert entry.axes["ethnicity"].mad.value == pytest.approx(0)
    assert dict(entry.axes["ethnicity"].top_concepts["initial"])["asian"] == pytest.approx(0.2)
    assert "south asian" in dict(entry.top_concepts)
    split = tibet(initial, others, axes, replace(SCORING, variant="code")).axes["ethnicity"]
    assert split.mad.value > 0.1
    assert dict(split.top_concepts["initial"])["asian"] == pytest.approx(0.4)


def test_with_concepts_of_the_axis_only_an_axis_does_not_depend_on_other_axes() -> None:
    initial, others, axes = planted_sets("a photo of a nurse", ["gender", "age"], 24, 1.0)
    alone = tibet(
        initial,
        [s for s in others if s.prompt.axis == "gender"],
        axes[:1],
        SCORING,
        own_concepts=True,
    )
    both = tibet(initial, others, axes, SCORING, own_concepts=True)
    assert both.axes["gender"].mad == alone.axes["gender"].mad
    everything = tibet(initial, others, axes, SCORING).axes["gender"].mad
    assert everything.value != pytest.approx(both.axes["gender"].mad.value)


def test_changes_of_a_second_axis_are_tested() -> None:
    initial, others, axes = planted_sets("a photo of a nurse", ["clothing", "environment"], 48, 1.0)
    entry = with_q([tibet(initial, others, axes, SCORING)])[0]
    assert entry.axes["environment"].second_tests["clothing"].q < 0.05


@pytest.mark.slow
def test_means_over_a_domain_estimate_the_means_of_the_population() -> None:
    prompts = [f"a photo of a {name}" for name in list(OCCUPATIONS)[::8]]
    axes = ["gender", "ethnicity", "emotion"]

    def scored(prompt: str, images: int) -> Tibet:
        return tibet(*planted_sets(prompt, axes, images, 1.0, by=["gender"]), SCORING)

    def mean_cas(entries: list[Tibet], value: str) -> float:
        return float(np.mean([entry.axes["gender"].cas[value].value for entry in entries]))

    small = [scored(prompt, 24) for prompt in prompts]
    large = [scored(prompt, 600) for prompt in prompts]
    (means,) = domain(small, 0.95)
    for value in ("male", "female"):
        truth = mean_cas(large, value)
        assert abs(means.cas[value].mark - truth) < abs(mean_cas(small, value) - truth) / 2
    assert means.scaled["male"].value + means.scaled["female"].value == pytest.approx(1)
    estimated = np.mean([entry.axes["gender"].cas_contrast["male"].mark for entry in small])
    assert means.against_rest["male"].value == pytest.approx(estimated)
    truth = np.mean([entry.axes["gender"].cas_contrast["male"].value for entry in large])
    assert abs(means.against_rest["male"].value - truth) < 0.05
    assert set(means.against_rest) == {"male"}
