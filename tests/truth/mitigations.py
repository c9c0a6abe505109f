"""Mitigation techniques in worlds whose truth is known.

The labels of images are their planted attributes: nothing is drawn, and there are no labeling
errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import planted_answers
from askew.methods.mitigate.findings import TechniqueFindings
from askew.methods.mitigate.gather import TECHNIQUE_AXIS, EvaluationSet, MitigationGathered
from askew.methods.mitigate.plan import MitigationPlan
from askew.methods.mitigate.policy import PolicyTables, SolvedPolicy, choose
from askew.methods.mitigate.score import score
from askew.mitigations.prompts import PromptPolicy
from askew.models.base import Request
from askew.parts.survey.observed import ObservedSet
from askew.plan import AxisPlan, PromptPlan
from askew.prompts.axes import BIASCONNECT, find_axis
from askew.prompts.counterfactuals import counterfactuals
from askew.store.keys import picture_seed
from askew.studio.caption import parse
from askew.studio.planted import sample
from askew.studio.scene import ATTRIBUTES
from askew.types import Missing, Picture, Prompt

NURSE = "a photo of a nurse"
TARGET_AXES = ("gender", "age", "clothing", "environment")
NAMES = list(ATTRIBUTES)
READ = "truth"


def planned(
    target_axes: Sequence[str] = TARGET_AXES,
    monitored: Sequence[str] = BIASCONNECT,
    **settings: object,
) -> MitigationPlan:
    axes = tuple(
        AxisPlan.of(find_axis(name), counterfactuals(NURSE, name) if name in target_axes else {})
        for name in monitored
    )
    prompt = PromptPlan(text=NURSE, axes=axes)
    fields = {
        "vqa": (READ,),
        "embedder": "none",
        "bootstrap_samples": 100,
        "target_axes": target_axes,
        "prompts": [prompt.model_dump()],
    }
    return MitigationPlan.model_validate({**fields, **settings})


def image_set(
    prompt: Prompt, texts: Sequence[str], bias: float, seed: int, base: str = NURSE
) -> ObservedSet:
    """Return one image for each text, as the planted world generates them."""
    scenes = [
        sample(parse(text), bias, picture_seed(seed, base, k)) for k, text in enumerate(texts)
    ]
    values = {}
    for name in BIASCONNECT:
        values[name] = tuple(str(getattr(scene, name)) for scene in scenes)
    pictures = tuple(
        Picture(f"{seed}-{k}-{prompt.text}-{prompt.value}", "", prompt.text, k)
        for k in range(len(texts))
    )
    return ObservedSet(prompt, pictures, {READ: values}, tuple(Missing("not_asked") for _ in texts))


@cache
def fitted(bias: float, seed: int, images: int = 48) -> SolvedPolicy:
    plan = planned()
    prompts = plan.prompts[0].prompts()
    sets = [
        image_set(prompt, [prompt.text] * images, bias, seed, prompt.text) for prompt in prompts
    ]
    tables = PolicyTables.of(plan.prompts[0], plan.target_axes, sets, READ, {})

    def draw(texts: Sequence[str]) -> list[ObservedSet]:
        return [
            image_set(Prompt(text), [text] * plan.refine, bias, seed + 1, text) for text in texts
        ]

    return choose(plan, tables, draw)


def evaluation_set(observed: ObservedSet, subjects: Sequence[str] = ()) -> EvaluationSet:
    known = list(subjects) or ["nurse"] * len(observed.pictures)
    return EvaluationSet(observed.prompt.value, observed, {}, known, {}, None)


def technique_findings(
    before: EvaluationSet, after: EvaluationSet, technique: PromptPolicy, **settings: object
) -> TechniqueFindings:
    plan = planned(**settings)  # type: ignore[arg-type]
    head = planted_answers.head(plan)  # type: ignore[arg-type]
    observed = {NURSE: [before.observed, after.observed]}
    gathered = MitigationGathered(
        model=head.model,
        device=None,
        instruments=head.instruments,
        sets=(),
        observed=observed,
        ratings=(),
        confusion=(),
        errors={},
        following=(),
        predictions={},
        selection=None,
        deviations=None,
        techniques={"prompts": technique},
        judged={NURSE: [before, after]},
    )
    return score(plan, gathered, head).techniques[0]


def policy(result: SolvedPolicy) -> PromptPolicy:
    return PromptPolicy(policies=(result.policy,))


def measured_findings(
    bias: float, seed: int, result: SolvedPolicy | None, eval_images: int = 96
) -> TechniqueFindings:
    """Measure a policy on held-out images before and after it; None changes nothing."""
    technique = policy(result or fitted(bias, 0))
    requests = [Request(NURSE, picture_seed(seed, NURSE, k), k) for k in range(eval_images)]
    texts = (
        [technique.prompt_for(request) for request in requests] if result else [NURSE] * eval_images
    )
    before = image_set(Prompt(NURSE), [NURSE] * eval_images, bias, seed)
    after = image_set(Prompt(NURSE, TECHNIQUE_AXIS, "prompts"), texts, bias, seed + 500_000)
    return technique_findings(evaluation_set(before), evaluation_set(after), technique)


def with_labels(observed: ObservedSet, columns: Mapping[str, Sequence[str]]) -> ObservedSet:
    values = {
        READ: {**observed.values[READ], **{name: tuple(column) for name, column in columns.items()}}
    }
    return ObservedSet(
        Prompt(NURSE, TECHNIQUE_AXIS, "prompts"), observed.pictures, values, observed.captions
    )
