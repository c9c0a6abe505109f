"""What a run of attention maps found, in Python."""

from __future__ import annotations

from dataclasses import dataclass

from askew.errors import UsageError
from askew.method import Result
from askew.methods.map.findings import MapFindings
from askew.methods.map.plan import MapPlan
from askew.types import Estimate, Missing


@dataclass(frozen=True)
class MapResult(Result[MapPlan, MapFindings]):
    """A finished run of `askew map`."""

    def miou(self, concept: str, prompt: str | None = None, model: str | None = None) -> Estimate | Missing:
        """How much of their union the places of a concept, and of the word that it is held against, share.

        Of the first prompt and model unless named. Raises UsageError for what the run did not look at.
        """
        wanted = (model or self.found.models[0].name, prompt or self.plan.prompts[0].text, concept)
        for pair in self.found.biasmap.pairs:
            if (pair.model, pair.prompt, pair.a) == wanted:
                return pair.miou
        raise UsageError(f"this run has no maps of {concept!r} in {wanted[1]!r} by {wanted[0]}")
