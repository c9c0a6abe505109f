"""From observed picture sets to the scores of an audit, as they stand in results.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from askew.measure.base import VQA
from askew.methods.domain import domain
from askew.methods.significance import add_q
from askew.methods.tibet import tibet
from askew.parts.scoring import Scoring, Vision
from askew.parts.survey.confusion import Errors, calibrations, confusions, known_errors
from askew.parts.survey.missing import missing_pictures
from askew.parts.survey.observed import ObservedSet, picture_set
from askew.parts.survey.shares import SetShares, SharesDifference, differences, shares, with_q_of_distances
from askew.plan import Plan, PromptPlan

Entries = list[dict[str, Any]]
Sets = Mapping[str, Sequence[ObservedSet]]


def score(
    plan: Plan, sets: Sets, instruments: Mapping[str, VQA], captioner: str | None, vision: Vision | None
) -> dict[str, Any]:
    """All scores of a plan. `sets` are its observed sets by prompt, the initial one first.

    `captioner` is the instrument whose answers become concepts; None computes no TIBET scores.
    """
    compared = confusions(plan.prompts, sets, list(instruments))
    known = known_errors(calibrations(plan.prompts, instruments), compared)
    share_entries = with_q_of_distances(_shares(plan, sets, instruments, known), lambda entry: entry.of_prompt)
    difference_entries = with_q_of_distances(_differences(plan, sets, instruments))
    tibet_entries = _tibet(plan, sets, _scoring(plan, captioner), vision) if captioner else []
    add_q([axis for entry in tibet_entries for axis in entry["axes"].values()], "mad")
    axes = {prompt.text: [axis.axis() for axis in prompt.axes] for prompt in plan.prompts}
    return {
        "sets": [set_entry(text, observed) for text, some in sets.items() for observed in some],
        "missing_pictures": missing_pictures(sets, _scoring(plan, plan.vqa[0])),
        "shares": share_entries,
        "differences": difference_entries,
        "confusion": compared,
        "tibet": tibet_entries,
        "domain": domain(tibet_entries, [axes[entry["prompt"]] for entry in tibet_entries], plan.level),
    }


def set_entry(prompt: str, observed: ObservedSet) -> dict[str, Any]:
    """A picture set as it stands in `sets` of results.json."""
    own = observed.prompt
    return picture_set(prompt, own.axis, own.value, own.text, observed.pictures)


def _shares(plan: Plan, sets: Sets, instruments: Mapping[str, VQA], known: Errors) -> list[SetShares]:
    """Every axis in initial sets and conditions, and in the counterfactuals of an axis that axis alone."""
    return [
        shares(observed, axis.axis(), axis.ideal, prompt.text, _scoring(plan, name), known.get((name, axis.name)))
        for prompt in plan.prompts
        for observed in sets[prompt.text]
        for axis in prompt.closed
        for name in instruments
        if observed.prompt.axis == axis.name or not _is_counterfactual(observed, prompt)
    ]


def _differences(plan: Plan, sets: Sets, instruments: Mapping[str, VQA]) -> list[SharesDifference]:
    """Between the initial set and conditions that are no counterfactuals."""
    return [
        entry
        for prompt in plan.prompts
        for axis in prompt.closed
        for name in instruments
        for entry in differences(
            [observed for observed in sets[prompt.text] if not _is_counterfactual(observed, prompt)],
            axis.axis(),
            axis.ideal,
            prompt.text,
            _scoring(plan, name),
        )
    ]


def _tibet(plan: Plan, sets: Sets, scoring: Scoring, vision: Vision | None) -> Entries:
    """One entry per prompt that has an initial set and counterfactuals."""
    entries = []
    for prompt in plan.prompts:
        initial = [observed for observed in sets[prompt.text] if observed.prompt.axis is None]
        own = [observed for observed in sets[prompt.text] if _is_counterfactual(observed, prompt)]
        if initial and own:
            axes = [axis.axis() for axis in prompt.axes]
            entries.append(tibet(initial[0], own, axes, scoring, vision))
    return entries


def _is_counterfactual(observed: ObservedSet, prompt: PromptPlan) -> bool:
    return observed.prompt.axis in {axis.name for axis in prompt.axes}


def _scoring(plan: Plan, instrument: str) -> Scoring:
    return Scoring(instrument, plan.seed, plan.draws, plan.level, plan.variant)
