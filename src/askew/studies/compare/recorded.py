"""What a finished run saw, from its results and its store. No model and no instrument is loaded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from askew.errors import UsageError
from askew.measure.base import CAPTION
from askew.methods.audit import METHOD
from askew.methods.audit.result import AuditResult
from askew.parts.scoring import Vectors
from askew.parts.survey.instruments import LABELS
from askew.parts.survey.observed import Answer, ObservedSet, observe
from askew.plan import PLAN_FILE, PromptPlan, read_toml
from askew.store.keys import question_hash
from askew.store.store import Store
from askew.types import Missing, Picture, Prompt, Question

NOT_STORED = Missing("error", "the store holds no answer")

COMPARED_BY = {"mine": "askew mine-compare", "interact": "askew graphs"}
"""Which command compares finished runs of a method that this module does not read."""


def finished_run(folder: Path, store: Path | None = None) -> AuditResult:
    """The run in a folder. Raises UsageError that says why there is none, or that it is not finished."""
    if not folder.is_dir():
        raise UsageError(f"there is no run folder {folder}")
    if not (folder / PLAN_FILE).exists():
        raise UsageError(f"{folder} is no run folder: it holds no {PLAN_FILE}")
    data = read_toml(folder / PLAN_FILE)
    method = data.get("method", "audit")
    if method != "audit":
        other = f"; `{COMPARED_BY[method]}` compares such runs" if method in COMPARED_BY else ""
        raise UsageError(f"{folder} is a run of the method {method!r}; this needs a run of `askew audit`{other}")
    return METHOD.load(folder, store)


def identity(run: AuditResult) -> str:
    """A name for what the run was and saw: the same for the same plan, weights and pictures."""
    content = [run.plan.hash, run.results["model"], run.results["sets"]]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def is_generated(run: AuditResult) -> bool:
    """Whether the pictures were made on request, each from its seed."""
    return any(seed is not None for entry in run.results["sets"] for seed in entry["seeds"])


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


class StoredVectors:
    """The embeddings of a run's pictures, read at once."""

    def __init__(self, run: AuditResult, prompts: Sequence[str], embedder: str) -> None:
        fingerprint = run.results["instruments"]["embedder"][embedder]
        ids = [one for entry in run.results["sets"] if entry["prompt"] in prompts for one in entry["pictures"] if one]
        with Store(run.store, create=False) as store:
            self._vectors = store.vectors(fingerprint, ids)
        if not self._vectors.keys() >= set(ids):
            raise _other_store(run, "embeddings")

    def __call__(self, pictures: Sequence[Picture]) -> Vectors:
        """(pictures, dimensions)."""
        return np.stack([self._vectors[picture.id] for picture in pictures])


def _sets(run: AuditResult, prompt: PromptPlan, store: Store) -> list[ObservedSet]:
    axes = [axis.axis() for axis in prompt.axes]
    pictures = [(_prompt(e), _pictures(e)) for e in run.results["sets"] if e["prompt"] == prompt.text]
    ids = list({one.id: None for _, some in pictures for one in some if isinstance(one, Picture)})
    captions = captioner(run)
    answers = {}
    for name, fingerprint in run.results["instruments"]["vqa"].items():
        questions = [question for axis in axes for question in axis.questions]
        questions += [CAPTION] if name == captions else []
        answers[name] = _answers(store, fingerprint, ids, questions)
    return [observe(text, some, axes, answers, captions) for text, some in pictures]


def _answers(
    store: Store, fingerprint: str, ids: Sequence[str], questions: Sequence[Question]
) -> Mapping[str, Sequence[Answer]]:
    """Answers by picture, in the order of the questions."""
    known = store.answers(fingerprint, ids, questions)
    hashes = [question_hash(question) for question in questions]
    return {one: [known.get((one, key), NOT_STORED) for key in hashes] for one in ids}


def _prompt(entry: Mapping[str, Any]) -> Prompt:
    return Prompt(entry["text"], entry["axis"], entry["value"])


def _pictures(entry: Mapping[str, Any]) -> list[Picture | Missing]:
    """The pictures of a set in their order. Results say of a set, not of a picture, why some are missing."""
    reasons = entry["missing"]
    gap = Missing(max(reasons, key=lambda reason: (reasons[reason], reason)) if reasons else "error")
    return [
        gap if one is None else Picture(one, "", entry["text"], seed)
        for one, seed in zip(entry["pictures"], entry["seeds"], strict=True)
    ]


def _check_counts(run: AuditResult, prompts: Sequence[PromptPlan], found: Mapping[str, Sequence[ObservedSet]]) -> None:
    """Whether the answers add up to the counts in the results."""
    axes = {(prompt.text, axis.name): axis.axis() for prompt in prompts for axis in prompt.axes}
    sets = {(prompt, observed.name): observed for prompt, some in found.items() for observed in some}
    for entry in run.results["shares"]:
        axis = axes.get((entry["prompt"], entry["axis"]))
        if axis is None:
            continue
        counted = sets[entry["prompt"], entry["set"]].counts(entry["instrument"], axis)
        if dict(zip(axis.values, counted, strict=True)) != entry["counts"]:
            raise _other_store(run, "answers")


def _other_store(run: AuditResult, what: str) -> UsageError:
    return UsageError(
        f"the store {run.store} does not hold the {what} that {run.folder} was scored by: "
        "name its store (--store), or give the run's own command again"
    )
