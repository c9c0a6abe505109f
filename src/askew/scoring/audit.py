"""From observed picture sets to the scores of an audit, as they stand in results.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.measure.base import VQA, Calibrated
from askew.methods.domain import domain
from askew.methods.missing_pictures import missing_pictures
from askew.methods.shares import confusion_between, differences, shares
from askew.methods.significance import add_q, by_instrument
from askew.methods.tibet import tibet
from askew.parts.scoring import Scoring, Vision
from askew.parts.survey.instruments import LABELS
from askew.parts.survey.observed import ObservedSet, picture_set
from askew.plan import AxisPlan, Plan, PromptPlan

Entries = list[dict[str, Any]]
Sets = Mapping[str, Sequence[ObservedSet]]
Known = Mapping[tuple[str, str], NDArray[np.int64]]


def score(
    plan: Plan, sets: Sets, instruments: Mapping[str, VQA], captioner: str | None, vision: Vision | None
) -> dict[str, Any]:
    """All scores of a plan. `sets` are its observed sets by prompt, the initial one first.

    `captioner` is the instrument whose answers become concepts; None computes no TIBET scores.
    """
    compared, known = confusions(plan, sets, instruments)
    share_entries = _shares(plan, sets, instruments, known)
    by_instrument(share_entries, lambda entry: not entry["set"].startswith(f"{entry['axis']}: "))
    difference_entries = _differences(plan, sets, instruments)
    by_instrument(difference_entries, lambda entry: True)
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


def _shares(plan: Plan, sets: Sets, instruments: Mapping[str, VQA], known: Known) -> Entries:
    """Every axis in initial sets and conditions, and in the counterfactuals of an axis that axis alone."""
    return [
        shares(observed, axis.axis(), axis.ideal, prompt.text, _scoring(plan, name), known.get((name, axis.name)))
        for prompt in plan.prompts
        for observed in sets[prompt.text]
        for axis in _closed(prompt)
        for name in instruments
        if observed.prompt.axis == axis.name or not _is_counterfactual(observed, prompt)
    ]


def _differences(plan: Plan, sets: Sets, instruments: Mapping[str, VQA]) -> Entries:
    """Between the initial set and conditions that are no counterfactuals."""
    return [
        entry
        for prompt in plan.prompts
        for axis in _closed(prompt)
        for name in instruments
        for entry in differences(
            [observed for observed in sets[prompt.text] if not _is_counterfactual(observed, prompt)],
            axis.axis(),
            axis.ideal,
            prompt.text,
            _scoring(plan, name),
        )
    ]


def confusions(plan: Plan, sets: Sets, instruments: Mapping[str, VQA]) -> tuple[Entries, Known]:
    """Instruments against people's labels on the same pictures; and what is known of their errors, by axis."""
    entries, known = [], {}
    axes = {axis.name: axis.axis() for prompt in plan.prompts for axis in _closed(prompt)}
    everything = [observed for some in sets.values() for observed in some]
    for name, vqa in instruments.items():
        for axis in axes.values():
            if isinstance(vqa, Calibrated) and (counts := vqa.known_errors(axis)) is not None:
                known[name, axis.name] = counts
            if LABELS not in instruments or name == LABELS:
                continue
            labelled = [observed for observed in everything if axis.name in observed.values[name]]
            table, entry = confusion_between(labelled, axis, name, LABELS)
            if table.counts.sum():
                entries.append(entry)
                known[name, axis.name] = table.counts
    return entries, known


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


def _closed(prompt: PromptPlan) -> list[AxisPlan]:
    """Axes whose values are known, so that shares can be counted."""
    return [axis for axis in prompt.axes if len(axis.values) > 1]


def _is_counterfactual(observed: ObservedSet, prompt: PromptPlan) -> bool:
    return observed.prompt.axis in {axis.name for axis in prompt.axes}


def _scoring(plan: Plan, instrument: str) -> Scoring:
    return Scoring(instrument, plan.seed, plan.draws, plan.level, plan.variant)
