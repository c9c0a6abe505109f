"""What a finished audit saw, from its findings and its store. No model and no instrument is loaded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from askew.errors import UsageError
from askew.findings import PictureSet
from askew.measure.base import CAPTION
from askew.method import method_of
from askew.methods.audit import METHOD
from askew.methods.audit.result import AuditResult
from askew.parts.survey.instruments import LABELS
from askew.parts.survey.observed import Answer, ObservedSet, observe
from askew.plan import PromptPlan
from askew.store.keys import question_hash
from askew.store.store import Store
from askew.types import Missing, Picture, Prompt, Question

NOT_STORED = Missing("error", "the store holds no answer")

COMPARED_BY = {"mine": "askew mine-compare", "interact": "askew graphs"}
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


def captioner(run: AuditResult) -> str | None:
    """The instrument that described the pictures; a person's labels cannot."""
    return next((name for name in run.plan.vqa if name != LABELS), None)


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
    axes = [axis.axis() for axis in prompt.axes]
    sets = [(Prompt(s.text, s.axis, s.value), _pictures(s)) for s in run.found.sets if s.prompt == prompt.text]
    ids = list({one.id: None for _, some in sets for one in some if isinstance(one, Picture)})
    captions = captioner(run)
    answers = {}
    for name, fingerprint in (run.found.instruments.vqa or {}).items():
        questions = [question for axis in axes for question in axis.questions]
        questions += [CAPTION] if name == captions else []
        answers[name] = _answers(store, fingerprint, ids, questions)
    return [observe(text, some, axes, answers, captions) for text, some in sets]


def _answers(
    store: Store, fingerprint: str, ids: Sequence[str], questions: Sequence[Question]
) -> Mapping[str, Sequence[Answer]]:
    """Answers by picture, in the order of the questions."""
    known = store.answers(fingerprint, ids, questions)
    hashes = [question_hash(question) for question in questions]
    return {one: [known.get((one, key), NOT_STORED) for key in hashes] for one in ids}


def _pictures(own: PictureSet) -> list[Picture | Missing]:
    """The pictures of a set in their order. Findings say of a set, not of a picture, why some are missing."""
    reason = max(own.missing, key=lambda reason: (own.missing[reason], reason)) if own.missing else "error"
    gap = Missing(reason)  # type: ignore[arg-type]
    return [
        gap if one is None else Picture(one, "", own.text, seed)
        for one, seed in zip(own.pictures, own.seeds, strict=True)
    ]


def _check_counts(run: AuditResult, prompts: Sequence[PromptPlan], found: Mapping[str, Sequence[ObservedSet]]) -> None:
    """Whether the answers add up to the counts in the findings."""
    axes = {(prompt.text, axis.name): axis.axis() for prompt in prompts for axis in prompt.axes}
    sets = {(prompt, observed.name): observed for prompt, some in found.items() for observed in some}
    for entry in run.found.shares:
        axis = axes.get((entry.prompt, entry.axis))
        if axis is None:
            continue
        counted = sets[entry.prompt, entry.set].counts(entry.instrument, axis)
        if dict(zip(axis.values, counted, strict=True)) != entry.counts:
            raise _other_store(run, "answers")


def _other_store(run: AuditResult, what: str) -> UsageError:
    return UsageError(
        f"the store {run.store} does not hold the {what} that {run.folder} was scored by: "
        "name its store (--store), or give the run's own command again"
    )
