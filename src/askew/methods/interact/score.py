"""From observed picture sets to the graphs of interactions, as they stand in results.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from askew.measure.base import VQA
from askew.methods.biasconnect import graphs
from askew.methods.interaction_counts import Tables, pooled, tables
from askew.methods.interaction_mixture import plan_of_mixture
from askew.methods.joint import joint
from askew.parts.scoring import Scoring
from askew.parts.survey.confusion import Errors, calibrations, confusions, known_errors
from askew.parts.survey.missing import missing_pictures
from askew.parts.survey.observed import ObservedSet, picture_set
from askew.parts.survey.shares import SetShares, shares, with_q_of_distances
from askew.plan import PromptPlan
from askew.plans.interactions import InteractionPlan
from askew.types import Missing

Sets = Mapping[str, Sequence[ObservedSet]]


def score_interactions(plan: InteractionPlan, sets: Sets, instruments: Mapping[str, VQA]) -> dict[str, Any]:
    """All that a plan of interactions asks for. `sets` are its observed sets by prompt.

    The graphs are those of the first instrument; of several prompts there is one of all together, before the others.
    """
    scoring = interaction_scoring(plan)
    compared = confusions(plan.prompts, sets, list(instruments))
    known = known_errors(calibrations(plan.prompts, instruments), compared)
    counted = _counted(plan, sets, known)
    every: dict[str | None, Tables] = {None: pooled(list(counted.values()))} if len(counted) > 1 else {}
    every.update(counted)
    found = graphs(every, plan, scoring)
    mixtures = {p.text: _mixture(p, sets[p.text], plan, scoring) for p in plan.prompts}
    return {
        "sets": [
            picture_set(text, one.prompt.axis, one.prompt.value, one.prompt.text, one.pictures)
            for text, some in sets.items()
            for one in some
        ],
        "missing_pictures": missing_pictures(sets, scoring),
        "shares": _initial_shares(plan, sets, instruments, known),
        "confusion": compared,
        "biasconnect": [graph | {"mixture": mixtures.get(graph["prompt"])} for graph in found],
        "joint": _joint_shares(plan, sets, scoring),
        "validation": None,
    }


def counted_tables(plan: InteractionPlan, sets: Sets, instruments: Mapping[str, VQA]) -> dict[str, Tables]:
    """The tables of every prompt, with what is known of the instrument's errors unless the plan takes it as read."""
    compared = confusions(plan.prompts, sets, list(instruments))
    return _counted(plan, sets, known_errors(calibrations(plan.prompts, instruments), compared))


def _counted(plan: InteractionPlan, sets: Sets, known: Errors) -> dict[str, Tables]:
    """Errors on an axis count as known where the reference has seen every value."""
    instrument = interaction_scoring(plan).instrument
    complete = {axis: n for (name, axis), n in known.items() if name == instrument and n.sum(axis=1).all()}
    errors = {} if plan.as_read else complete
    return {p.text: tables(sets[p.text], p.axes, instrument, errors) for p in plan.prompts}


def _mixture(
    prompt: PromptPlan, sets: Sequence[ObservedSet], plan: InteractionPlan, scoring: Scoring
) -> dict[str, Any] | Missing | None:
    return plan_of_mixture(prompt, sets, plan, scoring) if plan.mixture or plan.mixture_images else None


def _joint_shares(plan: InteractionPlan, sets: Sets, scoring: Scoring) -> list[dict[str, Any]]:
    """Joint shares of the groups of axes that the plan names, in the initial pictures."""
    found = []
    for prompt in plan.prompts:
        axes = {axis.name: axis for axis in prompt.axes if len(axis.values) > 1}
        initial = next((s for s in sets[prompt.text] if s.prompt.axis is None), None)
        for group in plan.joint:
            if initial is not None and axes.keys() >= set(group):
                ideal = plan.joint_ideal_of(prompt.text, group)
                found.append(joint(prompt.text, initial, [axes[name] for name in group], scoring, ideal))
    return found


def interaction_scoring(plan: InteractionPlan) -> Scoring:
    """How a plan's graphs are computed."""
    return Scoring(plan.vqa[0], plan.seed, plan.draws, plan.level, plan.variant)


def _initial_shares(
    plan: InteractionPlan, sets: Sets, instruments: Mapping[str, VQA], known: Errors
) -> list[dict[str, Any]]:
    """What is seen in the pictures of the prompts themselves, by every instrument."""
    entries = [
        shares(
            observed,
            axis.axis(),
            axis.ideal,
            prompt.text,
            Scoring(name, plan.seed, plan.draws, plan.level),
            known.get((name, axis.name)),
        )
        for prompt in plan.prompts
        for observed in sets[prompt.text]
        if observed.prompt.axis is None
        for axis in prompt.axes
        if len(axis.values) > 1
        for name in instruments
    ]
    return [{f.name: getattr(one, f.name) for f in fields(SetShares)} for one in with_q_of_distances(entries)]
