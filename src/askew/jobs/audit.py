"""The main job: audit prompts on a model, or pictures that exist already, and write results and report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import numpy as np

from askew.parts.scoring import Vision
from askew.parts.survey.observed import ObservedSet
from askew.results.audit import AuditResult
from askew.run.session import Session
from askew.scoring.audit import score
from askew.types import Picture


class Audit(Session):
    """A plan with the model and the instruments that it names, ready to run."""

    def __call__(self) -> AuditResult:
        """Make what is left of the pictures and observations, compute the scores, and write results.json."""
        started = datetime.now(UTC)
        sets = self.observe()
        scores = score(self.plan, sets, self.instruments, self.captioner, self._vision(sets))
        self.run.write({**self.header(started), **scores})
        return AuditResult(self.plan, self.run.folder, self.run.store.path)

    def _vision(self, sets: Mapping[str, Sequence[ObservedSet]]) -> Vision | None:
        """Vectors of all pictures, made at once and looked up by id."""
        if self.embedder is None:
            return None
        everything = [p for some in sets.values() for s in some for p in s.pictures if isinstance(p, Picture)]
        vectors = dict(zip((p.id for p in everything), self.run.vectors(self.embedder, everything), strict=True))
        return Vision(lambda pictures: np.stack([vectors[p.id] for p in pictures]), self.embedder.embed_texts)
