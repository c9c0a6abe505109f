"""Finished audits: what they saw, and whether they can be compared. No model and no instrument is loaded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from askew.errors import UsageError
from askew.findings import PictureSet
from askew.measure.base import CAPTION
from askew.method import method_of
from askew.methods.audit import METHOD
from askew.methods.audit.findings import AuditResult
from askew.methods.audit.plan import AuditPlan
from askew.parts.survey.observed import Answer, ObservedSet, observe
from askew.parts.survey.reader import LABELS, captioner_of
from askew.plan import AxisPlan, PromptPlan
from askew.store.keys import question_hash
from askew.store.store import Store
from askew.types import Missing, Picture, Prompt

NOT_STORED = Missing("error", "the store holds no answer")

COMPARED_BY = {"mine": "askew rank --mined", "interact": "askew graphs"}
"""Which command compares finished runs of another method."""


def finished_run(folder: Path, store: Path | None = None) -> AuditResult:
    """The run in a folder. Raises UsageError that says why there is none, or that it is not finished."""
    method = method_of(folder).name
    if method != METHOD.name:
        other = f"; `{COMPARED_BY[method]}` compares such runs" if method in COMPARED_BY else ""
        raise UsageError(f"{folder} is a run of the method {method!r}; this needs a run of `askew audit`{other}")
    return METHOD.load(folder, store)


def identity(run: AuditResult) -> str:
    """A name for what the run was and saw: the same for the same plan, weights and pictures."""
    sets = [{name: value for name, value in asdict(one).items() if name != "model"} for one in run.found.sets]
    content = [run.plan.hash, asdict(run.found.model), sets]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def is_generated(run: AuditResult) -> bool:
    """Whether the pictures were made on request, each from its seed."""
    return any(seed is not None for one in run.found.sets for seed in one.seeds)


def observed_sets(run: AuditResult, prompts: Sequence[PromptPlan]) -> dict[str, list[ObservedSet]]:
    """By prompt the run's sets, with the answers that its store holds; without those of axes that are not in `prompts`.

    Raises UsageError for a store that does not hold the answers that the run was scored by.
    """
    planned = {prompt.text: prompt for prompt in run.plan.prompts}
    with Store(run.store, create=False) as store:
        found = {prompt.text: _sets(run, prompt, planned[prompt.text], store) for prompt in prompts}
    axes = {(prompt.text, axis.name): axis.axis() for prompt in prompts for axis in prompt.axes}
    sets = {(prompt, observed.name): observed for prompt, some in found.items() for observed in some}
    for entry in run.found.shares:
        axis, observed = axes.get((entry.prompt, entry.axis)), sets.get((entry.prompt, entry.set))
        if axis and observed and observed.counts(entry.instrument, axis) != [*entry.counts.values()]:
            raise UsageError(f"the store {run.store} does not hold the answers that {run.folder} was scored by: "
                             "name its store (--store), or give the run's own command again")  # fmt: skip
    return found


def _sets(run: AuditResult, prompt: PromptPlan, planned: PromptPlan, store: Store) -> list[ObservedSet]:
    axes, captioner = [axis.axis() for axis in prompt.axes], captioner_of(run.plan.vqa)
    sets = [(Prompt(s.text, s.axis, s.value), _pictures(s)) for s in run.found.sets
            if s.prompt == prompt.text and (prompt.has(s.axis) or not planned.has(s.axis))]  # fmt: skip
    ids = list({one.id: None for _, some in sets for one in some if isinstance(one, Picture)})
    answers: dict[str, dict[str, list[Answer]]] = {}
    for name, fingerprint in (run.found.instruments.vqa or {}).items():
        questions = [question for axis in axes for question in axis.questions]
        questions += [CAPTION] if name == captioner else []
        known, hashes = store.answers(fingerprint, ids, questions), [question_hash(one) for one in questions]
        answers[name] = {one: [known.get((one, asked), NOT_STORED) for asked in hashes] for one in ids}
    return [observe(text, some, axes, answers, captioner) for text, some in sets]


def _pictures(own: PictureSet) -> list[Picture | Missing]:
    """The pictures of a set in their order. Findings say of a set, not of a picture, why some are missing."""
    reason = max(own.missing, key=lambda reason: (own.missing[reason], reason)) if own.missing else "error"
    gap = Missing(reason)  # type: ignore[arg-type]
    named = zip(own.pictures, own.seeds, strict=True)
    return [gap if one is None else Picture(one, "", own.text, seed) for one, seed in named]


SHOWN = 3
"""What a warning names before it counts the rest."""

OF_PLAN = ("variant", "concepts", "vqa")
OF_MADE = ("images", "seed")
OF_LABELS = ("aliases", "values")
"""Fields of a plan that must be the same: of any, of one that made pictures, of one that read a person's labels."""

OF_AXIS = ("values", "scale", "ideal", "questions", "counterfactuals")
"""Fields of an axis that decide its scores."""


def comparable_prompts(runs: Mapping[str, AuditPlan], generated: bool) -> tuple[list[PromptPlan], list[str]]:
    """The prompts that all plans have, in the first's order, with the axes that all ask alike; and what is left out.

    Plans are by the name of their run. `generated` says that the pictures were made on request, so that their number
    and seed must be the same. Raises UsageError that says what differs, or that nothing is shared.
    """
    (first, reference), *others = runs.items()
    labels = LABELS in reference.vqa
    fields = (*OF_PLAN, *(OF_MADE if generated else ()), *(OF_LABELS if labels else ()))
    for name, plan in others:
        both = {field: (getattr(plan, field), getattr(reference, field)) for field in fields}
        if found := [f"{field} {_shown(own)}, not {_shown(other)}" for field, (own, other) in both.items()
                     if own != other]:  # fmt: skip
            raise UsageError(f"{name} and {first} cannot be compared, since {name} has {'; '.join(found)}")
    asked = {name: {prompt.text: prompt for prompt in plan.prompts} for name, plan in runs.items()}
    shared = [text for text in asked[first] if all(text in own for own in asked.values())]
    common, other_axes = [], list[str]()
    for text in shared:
        axes = {axis.name: [next((a for a in own[text].axes if a.name == axis.name), None) for own in asked.values()]
                for one in asked.values() for axis in one[text].axes}  # fmt: skip
        differ = {name: why for name, some in axes.items() if (why := _why_other(some))}
        other_axes += [f"{name} of {text!r} ({why})" for name, why in differ.items()]
        if alike := tuple(axis for axis in asked[first][text].axes if axis.name not in differ):
            common.append(asked[first][text].model_copy(update={"axes": alike}))
    if not common:
        own = "; ".join(f"{name} has {_some(map(repr, of))}" for name, of in asked.items())
        why = f"no axis is asked alike: {_some(other_axes)}" if shared else f"no prompt is shared: {own}"
        raise UsageError(f"there is nothing to compare in {' and '.join(runs)}: {why}")
    warnings = [f"prompts of {name} alone are left out: {_some(map(repr, left))}" for name, own in asked.items()
                if (left := [text for text in own if text not in shared])]  # fmt: skip
    if other_axes:
        warnings.append(f"axes that are not asked alike are left out: {_some(other_axes)}")
    if other_axes and reference.concepts == "all":
        warnings.append(
            "these runs ask different questions: differences of MAD and CAS rest on what all of them ask, the MAD and "
            "CAS of each run on all that it asks, so that these columns need not subtract"
        )
    return common, warnings


def check_instruments(runs: Mapping[str, AuditResult]) -> None:
    """Raise UsageError unless instruments of the same names were the same; labels belong to their pictures."""
    versions = {name: {one: text for one, text in (run.found.instruments.vqa or {}).items() if one != LABELS}
                for name, run in runs.items()}  # fmt: skip
    (first, reference), *others = versions.items()
    for name, own in others:
        if own != reference:
            other = _some(one for one in own if own[one] != reference.get(one))
            raise UsageError(f"{name} and {first} cannot be compared, since {name} was read by another version of "
                             f"{other}. Audit both with the same instruments")  # fmt: skip


def _why_other(asked: Sequence[AxisPlan | None]) -> str:
    """Why an axis of the same name cannot be compared; nothing where it can."""
    axes = [one for one in asked if one is not None]
    if len(axes) < len(asked):
        return "not asked by all"
    other = [field for field in OF_AXIS if any(getattr(one, field) != getattr(axes[0], field) for one in axes)]
    return f"other {' and other '.join(other)}" if other else ""


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        value = tuple(f"{name}={_shown(one)}" for name, one in value.items())
    return ", ".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)


def _some(texts: Iterable[str]) -> str:
    named = [*texts]
    return ", ".join(named[:SHOWN]) + (f" and {len(named) - SHOWN} more" if len(named) > SHOWN else "")
