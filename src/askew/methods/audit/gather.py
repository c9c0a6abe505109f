"""What `askew audit` costs: pictures, what instruments see in them, vectors of pictures and of
concepts.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from askew import mitigations, registry
from askew.methods.audit.plan import AuditPlan
from askew.methods.audit.tibet import Vectors, extract_concepts, paired
from askew.models.base import Model
from askew.parts.scoring import Scoring
from askew.parts.survey.instruments import captioner_of, instruments_of
from askew.parts.survey.reader import SurveyData, SurveyReader, observed_sets, surveyed
from askew.run.base import Run
from askew.run.work import Work, unique


@dataclass(frozen=True)
class AuditGathered(SurveyData):
    """All of a run. `captioner` is the instrument whose answers become concepts (None: there are no
    TIBET scores), `vectors` by prompt those of its pictures and concepts (None without an
    embedder).
    """

    captioner: str | None
    vectors: Mapping[str, Vectors] | None


def gather(plan: AuditPlan, run: Run) -> AuditGathered:
    """Everything that the plan names. Raises UsageError for names that do not exist."""
    source = mitigations.open_model(plan.model, plan.model_args)
    instruments = instruments_of(plan, source)
    captioner = captioner_of(instruments)
    embedder = None
    vectors = None
    axes = {axis.name for prompt in plan.prompts for axis in prompt.axes}
    # a collection has counterfactuals, which alone need vectors, only by chance
    wanted = isinstance(source, Model) or any(filed.axis in axes for filed in source.pictures())
    if captioner and wanted and plan.embedder != "none":
        embedder = registry.embedder(plan.embedder, **plan.embedder_args)
    reader = SurveyReader(run, instruments, captioner)
    found = surveyed(plan, source, reader, observed_sets(plan, source, reader), embedder)
    if captioner and embedder:
        everything = unique(
            picture for some in found.observed.values() for one in some for picture in one.pictures
        )
        rows = dict(
            zip((one.id for one in everything), run.read(embedder, everything), strict=True)
        )
        scoring = Scoring.of(plan, captioner)

        def of_concepts() -> dict[str, Vectors]:
            made = {}
            for prompt in plan.prompts:
                sets = paired(prompt, found.observed[prompt.text])
                if sets:
                    concepts = extract_concepts(
                        sets, [axis.axis() for axis in prompt.axes], scoring
                    )[0]
                    words = concepts.counts.vocabulary
                    meanings = (
                        embedder.embed_texts(words) if words else np.zeros((0, 0), np.float32)
                    )
                    made[prompt.text] = Vectors(rows, meanings)
            return made

        vectors = run.decide("concepts", of_concepts, at_most=Work(), otherwise=None)
    return found.into(AuditGathered, captioner=captioner, vectors=vectors)
