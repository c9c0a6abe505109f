"""What `askew audit` costs: pictures, what instruments see in them, vectors of pictures and of concepts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from askew import registry
from askew.findings import Identity, Instruments, PictureSet
from askew.measure.base import Embedder
from askew.methods.audit.plan import AuditPlan
from askew.methods.audit.tibet import Vectors, extract_concepts, paired
from askew.models.base import Model
from askew.parts.scoring import Scoring
from askew.parts.survey import reader
from askew.parts.survey.reader import Errors, calibrations
from askew.run.base import Run
from askew.run.work import Work, unique

NO_EMBEDDER = "none"


@dataclass(frozen=True, slots=True)
class AuditGathered:
    """All of a run.

    observed   by prompt its sets, the initial one first
    errors     what instruments know of their own errors
    captioner  the instrument whose answers become concepts; None: there are no TIBET scores
    vectors    by prompt those of its pictures and concepts; None without an embedder
    """

    model: Identity
    device: str | None
    instruments: Instruments
    sets: tuple[PictureSet, ...]
    observed: reader.Observed
    errors: Errors
    captioner: str | None
    vectors: Mapping[str, Vectors] | None


def gather(plan: AuditPlan, run: Run) -> AuditGathered:
    """Everything that the plan names. Raises UsageError for names that do not exist."""
    source = registry.model(plan.model, **plan.model_args)
    instruments = reader.instruments_of(plan, source)
    captioner = reader.captioner_of(instruments)
    embedder = _embedder(plan, source) if captioner else None
    observed = reader.observed_sets(plan, run, source, reader.Reader(run, instruments, captioner))
    vectors = _vectors(plan, run, observed, captioner, embedder) if captioner and embedder else None
    run.warn(*reader.oddities(plan.texts(), source, instruments))
    run.warn(*reader.beyond_drawings([source.name], instruments, [embedder.name] if embedder else []))
    return AuditGathered(
        reader.identity_of(source, plan.model_args),
        getattr(source, "device", None),
        reader.fingerprints(instruments, embedder),
        reader.picture_sets(observed),
        observed,
        calibrations(plan.prompts, instruments),
        captioner,
        vectors,
    )


def _embedder(plan: AuditPlan, source: reader.Source) -> Embedder | None:
    """None where no vectors are needed: a collection has counterfactuals, which alone need them, only by chance."""
    axes = {axis.name for prompt in plan.prompts for axis in prompt.axes}
    wanted = isinstance(source, Model) or any(filed.axis in axes for filed in source.pictures())
    return registry.embedder(plan.embedder, **plan.embedder_args) if wanted and plan.embedder != NO_EMBEDDER else None


def _vectors(
    plan: AuditPlan, run: Run, observed: reader.Observed, captioner: str, embedder: Embedder
) -> dict[str, Vectors] | None:
    """Of all pictures, read at once, and of the concepts that the answers hold."""
    everything = unique(picture for some in observed.values() for one in some for picture in one.pictures)
    rows = dict(zip((one.id for one in everything), run.read(embedder, everything), strict=True))
    scoring = Scoring(captioner, variant=plan.variant)

    def of_concepts() -> dict[str, Vectors]:
        found = {}
        for prompt in plan.prompts:
            if sets := paired(prompt, observed[prompt.text]):
                concepts = extract_concepts(sets, [axis.axis() for axis in prompt.axes], scoring)[0].counts.vocabulary
                meanings = embedder.embed_texts(concepts) if concepts else np.zeros((0, 0), np.float32)
                found[prompt.text] = Vectors(rows, meanings)
        return found

    return run.decide("concepts", of_concepts, at_most=Work(), otherwise=None)
