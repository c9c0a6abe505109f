"""Finished audits: what they saw, and whether they can be compared. No model and no instrument is loaded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from askew.errors import UsageError
from askew.findings import Instruments, PictureSet
from askew.measure.base import CAPTION
from askew.measure.labels import MISSING, Spelling, aliases_of, key
from askew.method import method_of
from askew.methods.audit import METHOD
from askew.methods.audit.findings import AuditResult
from askew.parts.survey.observed import Answer, ObservedSet, observe
from askew.parts.survey.reader import LABELS, captioner_of
from askew.plan import AxisPlan, Plan, PromptPlan
from askew.prompts.axes import AXES
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
    """By prompt the run's sets, with the answers that its store holds.

    Raises UsageError for a store that does not hold the answers that the run was scored by.
    """
    with Store(run.store, create=False) as store:
        found = {prompt.text: _sets(run, prompt, store) for prompt in prompts}
    _check_counts(run, prompts, found)
    return found


def stored_vectors(run: AuditResult, prompts: Sequence[PromptPlan], embedder: str) -> Mapping[str, NDArray[np.float32]]:
    """The embeddings of a run's pictures, by id. Raises UsageError for a store that does not hold them."""
    fingerprint, texts = (run.found.instruments.embedder or {})[embedder], [prompt.text for prompt in prompts]
    ids = [one for own in run.found.sets if own.prompt in texts for one in own.pictures if one]
    with Store(run.store, create=False) as store:
        vectors = store.vectors(fingerprint, ids)
    if not vectors.keys() >= set(ids):
        raise _other_store(run, "embeddings")
    return vectors


def _sets(run: AuditResult, prompt: PromptPlan, store: Store) -> list[ObservedSet]:
    axes, captions = [axis.axis() for axis in prompt.axes], captioner_of(run.plan.vqa)
    sets = [(Prompt(s.text, s.axis, s.value), _pictures(s)) for s in run.found.sets if s.prompt == prompt.text]
    ids = list({one.id: None for _, some in sets for one in some if isinstance(one, Picture)})
    answers: dict[str, dict[str, list[Answer]]] = {}
    for name, fingerprint in (run.found.instruments.vqa or {}).items():
        questions = [question for axis in axes for question in axis.questions]
        questions += [CAPTION] if name == captions else []
        known, hashes = store.answers(fingerprint, ids, questions), [question_hash(one) for one in questions]
        answers[name] = {one: [known.get((one, asked), NOT_STORED) for asked in hashes] for one in ids}
    return [observe(text, some, axes, answers, captions) for text, some in sets]


def _pictures(own: PictureSet) -> list[Picture | Missing]:
    """The pictures of a set in their order. Findings say of a set, not of a picture, why some are missing."""
    reason = max(own.missing, key=lambda reason: (own.missing[reason], reason)) if own.missing else "error"
    gap = Missing(reason)  # type: ignore[arg-type]
    named = zip(own.pictures, own.seeds, strict=True)
    return [gap if one is None else Picture(one, "", own.text, seed) for one, seed in named]


def _check_counts(run: AuditResult, prompts: Sequence[PromptPlan], found: Mapping[str, Sequence[ObservedSet]]) -> None:
    """Whether the answers add up to the counts in the findings."""
    axes = {(prompt.text, axis.name): axis.axis() for prompt in prompts for axis in prompt.axes}
    sets = {(prompt, observed.name): observed for prompt, some in found.items() for observed in some}
    for entry in run.found.shares:
        if axis := axes.get((entry.prompt, entry.axis)):
            counted = sets[entry.prompt, entry.set].counts(entry.instrument, axis)
            if dict(zip(axis.values, counted, strict=True)) != entry.counts:
                raise _other_store(run, "answers")


def _other_store(run: AuditResult, what: str) -> UsageError:
    return UsageError(f"the store {run.store} does not hold the {what} that {run.folder} was scored by: "
                      "name its store (--store), or give the run's own command again")  # fmt: skip


SHOWN = 3
"""Prompts that a warning names before it counts the rest."""

WHAT_COUNTS = ("values", "scale", "ideal", "questions", "counterfactuals")
"""Fields of an axis that decide its scores."""


def common_prompts(plans: Mapping[str, Plan], generated: bool) -> tuple[list[PromptPlan], list[str]]:
    """The prompts that all plans have, in the first plan's order, and warnings about those that only some have.

    `plans` are by the name of their run. `generated` says that the pictures were made on request, so that
    their number and seed must be the same. Raises UsageError that says what differs, or that nothing is shared.
    """
    (first, reference), *others = plans.items()
    texts = {name: [prompt.text for prompt in plan.prompts] for name, plan in plans.items()}
    common = [prompt for prompt in reference.prompts if all(prompt.text in own for own in texts.values())]
    if not common:
        examples = "; ".join(f"{name} has {_some(own)}" for name, own in texts.items())
        raise UsageError(f"these runs share no prompt, so there is nothing to compare: {examples}")
    for name, plan in others:
        found = _differences(plan, reference, common, generated)
        if found:
            raise UsageError(f"{name} and {first} cannot be compared, since {name} has {'; '.join(found)}")
    shared = {prompt.text for prompt in common}
    left = {name: [text for text in own if text not in shared] for name, own in texts.items()}
    return common, [f"prompts of {name} alone are left out: {_some(own)}" for name, own in left.items() if own]


def check_instruments(found: Mapping[str, Instruments]) -> None:
    """Raise UsageError unless all runs, by name, were read by the same instruments; labels belong to their pictures."""
    (first, reference), *others = found.items()
    for name, own in others:
        for kind in ("vqa", "embedder"):
            here, there = _versions(own, kind), _versions(reference, kind)
            if here != there:
                others_read = here.keys() != there.keys()
                what = f"{_shown(tuple(here))}, not {_shown(tuple(there))}" if others_read else "another version"
                raise UsageError(f"{name} and {first} cannot be compared, since {name} was read by another {kind}: "
                                 f"{what}. Audit both with the same instruments")  # fmt: skip


def _differences(plan: Plan, reference: Plan, prompts: Sequence[PromptPlan], generated: bool) -> list[str]:
    """What a plan has otherwise than the reference, in words."""
    fields = ("method", "variant", "concepts", "vqa", "embedder", *(("images", "seed") if generated else ()))
    both = {field: (getattr(plan, field), getattr(reference, field)) for field in fields}
    found = [f"{field} {_shown(own)}, not {_shown(other)}" for field, (own, other) in both.items() if own != other]
    by_text = {prompt.text: prompt for prompt in plan.prompts}
    for prompt in prompts:
        own, wanted = ({axis.name: axis for axis in one.axes} for one in (by_text[prompt.text], prompt))
        if own.keys() != wanted.keys():
            found.append(f"axes {', '.join(own)} of {prompt.text!r}, not {', '.join(wanted)}")
            continue
        for name, axis in own.items():
            if other := [one for one in WHAT_COUNTS if getattr(axis, one) != getattr(wanted[name], one)]:
                found.append(f"other {' and other '.join(other)} on axis {name} of {prompt.text!r}")
    if LABELS in plan.vqa and LABELS in reference.vqa:
        axes = {axis.name: axis for prompt in prompts for axis in prompt.axes}
        found += [text for axis in axes.values() for text in _other_readings(plan, reference, axis)]
    return found


def _other_readings(plan: Plan, reference: Plan, axis: AxisPlan) -> list[str]:
    """Where a person's labels are read otherwise."""
    own, wanted = _spelling(plan, axis), _spelling(reference, axis)
    if own.values != wanted.values:
        return [f"labels with the values {_shown(own.values)} on axis {axis.name}, not {_shown(wanted.values)}"]
    labels = (key(label) for one in (plan, reference) for label in aliases_of(axis.name, one.aliases))
    readings = {label: (own.read(label), wanted.read(label)) for label in labels}
    return [
        f"the label {label!r} read as {_answer(here)} on axis {axis.name}, not as {_answer(there)}"
        for label, (here, there) in readings.items()
        if here != there and here is not None and there is not None  # a label that means nothing is not in the run
    ]


def _spelling(plan: Plan, axis: AxisPlan) -> Spelling:
    """How a plan reads the labels of an axis; values that it does not give are the catalogue's, else those found."""
    values = plan.values.get(axis.name, AXES[axis.name].values if axis.name in AXES else axis.values)
    return Spelling(axis.name, values, aliases_of(axis.name, plan.aliases))


def _answer(read: str | Missing) -> str:
    return f"{MISSING}:{read.reason}" if isinstance(read, Missing) else read


def _versions(found: Instruments, kind: str) -> dict[str, str]:
    """Fingerprints by name; those of labels change with the pictures and say nothing about how they are read."""
    return {name: "" if name == LABELS else text for name, text in (getattr(found, kind) or {}).items()}


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)


def _some(texts: Sequence[str]) -> str:
    shown = ", ".join(repr(text) for text in texts[:SHOWN])
    return shown if len(texts) <= SHOWN else f"{shown} and {len(texts) - SHOWN} more"
