"""What a run of attention maps found, in Python."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rich.console import RenderableType

from askew.errors import UsageError
from askew.measure.attention_reader import decode_maps
from askew.methods.biasmap import Masking, PairMaps
from askew.plans.maps import MapPlan
from askew.report.map_page import write_maps
from askew.report.map_table import maps_table
from askew.results.file import estimate_of
from askew.results.run import RunResult
from askew.store.store import Store
from askew.types import Estimate, Missing


@dataclass(frozen=True)
class MapResult(RunResult):
    """A plan of maps, its run folder, and the store that holds its pictures and maps."""

    plan: MapPlan

    def miou(self, concept: str, prompt: str | None = None, model: str | None = None) -> Estimate | Missing:
        """How much of their union the places of a concept, and of the word that it is held against, share.

        Of the first prompt and model unless named.
        """
        wanted = (concept, prompt or self.plan.prompts[0].text, model or self.results["models"][0]["name"])
        for entry in self.results["biasmap"]["pairs"]:
            if (entry["a"], entry["prompt"], entry["model"]) == wanted:
                return estimate_of(entry["miou"])
        raise UsageError(f"this run has no maps of {wanted[0]!r} in {wanted[1]!r} by {wanted[2]}")

    def maps(self, concept: str, prompt: str, model: str, picture: str) -> PairMaps | None:
        """The maps of one picture, by its id, for a concept; None if the store has them no more."""
        fingerprint = next(
            (m["fingerprint"] for m in self.results["maps"] if (m["model"], m["prompt"]) == (model, prompt)), ""
        )
        with Store(self.store, create=False) as store:
            row = store.vectors(fingerprint, [picture]).get(picture)
        if row is None or concept not in self.plan.concepts:
            return None
        k = 2 * self.plan.concepts.index(concept)
        layers = {name: m[:, k : k + 2].swapaxes(0, 1) for name, m in decode_maps(row[None]).items()}
        against = self.plan.against[[p.text for p in self.plan.prompts].index(prompt)]
        return PairMaps(model, prompt, concept, against, layers, (None,))

    def table(self) -> RenderableType:
        """The main results as a table for a terminal, to print with rich."""
        return maps_table(self.results)

    def write_report(self) -> Path:
        """Write report.html into the run folder and return its path."""
        masking = Masking(self.plan.threshold, self.plan.tau)
        return write_maps(self.results, self.open_picture, self.maps, masking, self.report)
