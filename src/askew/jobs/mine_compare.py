"""Finished searches compared: the pictures of every model for the prompts of every search, results and report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy as np

from askew import registry
from askew.errors import UsageError
from askew.measure.base import Embedder
from askew.methods.minethegap import Alignment
from askew.methods.mining_comparison import GIVEN, mining_comparison, set_similarity
from askew.models.base import Model
from askew.parts.scoring import Vectors, Vision
from askew.parts.survey.observed import picture_set
from askew.plans.mining_comparison import MinedSetPlan, MiningComparisonPlan
from askew.results.mining_comparison import MiningComparisonResult
from askew.run.header import fingerprint, identity, provenance
from askew.run.run import Run
from askew.types import Missing, Picture


@dataclass(frozen=True)
class MiningComparison:
    """A plan with the models and the embedder that it names, ready to run."""

    plan: MiningComparisonPlan
    run: Run
    models: Mapping[str, Model]
    embedder: Embedder

    @classmethod
    def prepare(cls, plan: MiningComparisonPlan, run: Run) -> MiningComparison:
        """Load what the plan names. Raises UsageError for names that do not exist, or pictures that exist already."""
        models = {one.name: registry.model(one.model, **one.model_args) for one in plan.conditions}
        made = {name: model for name, model in models.items() if isinstance(model, Model)}
        for name in models.keys() - made.keys():
            raise UsageError(f"{name} holds pictures that exist already; this needs models that make new ones")
        return cls(plan, run, made, registry.embedder(plan.embedder, **plan.embedder_args))

    def lines(self) -> list[str]:
        """How much there is to do, in words."""
        work = [
            self.run.work(model, _texts(one), self.plan.images, self.plan.seed, (), self.embedder)
            for model in self.models.values()
            for one in self.plan.sets
        ]
        total, stored = sum(w.pictures for w in work), sum(w.pictures_stored for w in work)
        return [
            f"models      {len(self.models)}",
            f"prompts     {sum(len(one.prompts) for one in self.plan.sets)} in {len(self.plan.sets)} sets",
            f"pictures    {total} ({stored} stored, {total - stored} left)",
            f"embeddings  {sum(w.embeddings for w in work)} ({sum(w.embeddings_left for w in work)} left)",
        ]

    def __call__(self) -> MiningComparisonResult:
        """Make what is left of the pictures, score them, and write results.json."""
        started, plan = datetime.now(UTC), self.plan
        pictures = {
            (name, one.name): self.run.pictures(model, _texts(one), plan.images, plan.seed)
            for name, model in self.models.items()
            for one in plan.sets
        }
        losses = {
            name: {one.name: self._losses(one, pictures[name, one.name]) for one in plan.sets} for name in self.models
        }
        sets = {
            (name, text): {"model": name, **picture_set(text, None, None, text, some)}
            for (name, _), made in pictures.items()
            for text, some in made.items()
        }
        self.run.write({
            **self._header(started),
            "sets": list(sets.values()),
            "mining_comparison": {
                **mining_comparison(losses, plan.level), "similarity": set_similarity(self._vectors(), plan.level)
            },
        })  # fmt: skip
        return MiningComparisonResult(plan, self.run.folder, self.run.store.path)

    def _losses(
        self, one: MinedSetPlan, pictures: Mapping[str, Sequence[Picture | Missing]]
    ) -> dict[str, float | Missing]:
        """The bias score of each prompt of a set, by one model's pictures."""
        vision = Vision(partial(self.run.vectors, self.embedder), self.embedder.embed_texts)
        found: dict[str, float | Missing] = {}
        for prompt in one.prompts:
            aligned = Alignment.of(prompt.variations, pictures[prompt.text], vision, self.plan.unit)
            found[prompt.text] = aligned if isinstance(aligned, Missing) else aligned.score(self.plan.quantile)
        return found

    def _vectors(self) -> dict[str, Vectors]:
        """The embedded texts of every set."""
        texts = {one.name: _texts(one) for one in self.plan.sets}
        if self.plan.given:
            texts[GIVEN] = list(self.plan.given)
        return {name: np.asarray(self.embedder.embed_texts(some)) for name, some in texts.items()}

    def _header(self, started: datetime) -> dict[str, Any]:
        models = [{**identity(model), "name": name, "model": model.name} for name, model in self.models.items()]
        return {
            **provenance(self.plan, next(iter(self.models.values())), started, self._warnings()),
            "models": models,
            "instruments": {"embedder": fingerprint(self.embedder)},
        }

    def _warnings(self) -> list[str]:
        """Models that cannot read all of the prompts: their pictures are of something else."""
        found = []
        for name, model in self.models.items():
            unknown = {word for one in self.plan.sets for text in _texts(one) for word in model.unknown_words(text)}
            if unknown:
                listed = ", ".join(repr(word) for word in sorted(unknown))
                found.append(f"{name} does not know these words of the prompts and ignores them: {listed}")
        return found


def _texts(one: MinedSetPlan) -> list[str]:
    return [prompt.text for prompt in one.prompts]
