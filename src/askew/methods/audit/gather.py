"""Collect the data of an audit: images, labels, and embeddings of images and concepts."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from askew import mitigations, registry
from askew.measure.base import Embedder
from askew.methods.audit.compared import compared_sets
from askew.methods.audit.depth import cost_lines, plan_in_depth
from askew.methods.audit.plan import AuditPlan
from askew.methods.audit.stopping import observed_until_decided
from askew.methods.audit.tibet import Vectors, extract_concepts, paired
from askew.models.base import Model
from askew.parts.scoring import Scoring
from askew.parts.survey.instruments import Source, captioner_of, instruments_of
from askew.parts.survey.observed import ObservedSet
from askew.parts.survey.reader import (
    Observed,
    SurveyData,
    SurveyReader,
    observed_sets,
    surveyed,
)
from askew.parts.survey.rewriting import SentPrompts
from askew.parts.survey.verdicts import JudgedShares
from askew.run.base import Run
from askew.run.work import Work, unique
from askew.types import Missing


@dataclass(frozen=True)
class AuditGathered(SurveyData):
    """Data of an audit.

    Attributes
    ----------
    captioner : str or None
        Instrument whose answers become concepts. If None, no TIBET scores are computed.
    vectors : mapping of prompt to Vectors, or None
        Embeddings of images and concepts. None if there is no embedder.
    sent : mapping of prompt to sequence of str or None
        For each image of the baseline set, the prompt that a server used instead of the given
        prompt.
    compared : mapping of prompt to ObservedSet
        Labeled images of the compared run, keyed by prompt. Empty if there is no compared run.
    baseline : JudgedShares or None
        Shares and verdicts of the baseline images if the axes were selected by verdicts; otherwise
        None.
    """

    captioner: str | None
    vectors: Mapping[str, Vectors] | None
    sent: SentPrompts
    compared: Mapping[str, ObservedSet] = field(default_factory=dict)
    baseline: JudgedShares | None = None


def gather(plan: AuditPlan, run: Run) -> AuditGathered:
    """Generate and label the images of a plan, and compute their embeddings.

    Raises
    ------
    UsageError
        If a model or an instrument does not exist.
    """
    source = mitigations.open_model(plan.model, plan.model_args)
    instruments = instruments_of(plan, source)
    captioner = captioner_of(instruments)
    reader = SurveyReader(run, instruments, captioner)
    if isinstance(source, Model):
        run.explain(*cost_lines(plan))
    depth = plan_in_depth(plan, source, reader)
    in_depth = depth.plan
    embedder = _embedder(in_depth, source) if captioner else None
    compared = compared_sets(plan, reader)
    observed: Observed
    if plan.until and isinstance(source, Model):
        observed = observed_until_decided(plan, source, reader, compared)
    else:
        observed = observed_sets(in_depth, source, reader)
    survey = surveyed(in_depth, source, reader, observed, embedder)
    vectors = None
    if captioner and embedder:
        scoring = Scoring.of(plan, captioner)
        vectors = _vectors(in_depth, run, survey.observed, embedder, scoring)
    sent = _sent_prompts(plan, run, source, survey.observed)
    return survey.into(
        AuditGathered,
        captioner=captioner,
        vectors=vectors,
        sent=sent,
        compared=compared,
        baseline=depth.baseline,
    )


def _sent_prompts(plan: AuditPlan, run: Run, source: Source, observed: Observed) -> SentPrompts:
    """Return the prompts that a server used to generate the images of the baseline sets."""
    sent: dict[str, list[str | None]] = {}
    if isinstance(source, Model):
        for text, sets in observed.items():
            sent |= run.sent_prompts(source, [text], len(sets[0].pictures), plan.seed)
    return sent


def _embedder(plan: AuditPlan, source: Source) -> Embedder | None:
    """Open the plan's embedder if there are counterfactual images. Only these need vectors."""
    axes = {axis.name for prompt in plan.prompts for axis in prompt.axes}
    if isinstance(source, Model):
        has_counterfactuals = len(plan.texts()) > len(plan.prompts)
    else:
        has_counterfactuals = any(filed.axis in axes for filed in source.pictures())
    if not has_counterfactuals or plan.embedder == "none":
        return None
    return registry.embedder(plan.embedder, **plan.embedder_args)


def _vectors(
    plan: AuditPlan, run: Run, observed: Observed, embedder: Embedder, scoring: Scoring
) -> Mapping[str, Vectors] | None:
    """Return the embeddings of images and concepts for each prompt that has counterfactuals."""
    all_sets = [image_set for of_prompt in observed.values() for image_set in of_prompt]
    pictures = unique(picture for image_set in all_sets for picture in image_set.pictures)
    rows = run.read(embedder, pictures)
    of_pictures = {picture.id: row for picture, row in zip(pictures, rows, strict=True)}

    def of_concepts() -> dict[str, Vectors]:
        vocabularies = {}
        for prompt in plan.prompts:
            sets = paired(prompt, observed[prompt.text])
            if sets:
                axes = [axis.axis() for axis in prompt.axes]
                baseline_concepts = extract_concepts(sets, axes, scoring)[0]
                vocabularies[prompt.text] = baseline_concepts.counts.vocabulary
        known = [words for words in vocabularies.values() if words]
        meanings = iter(run.look(embedder.embed_texts, known))
        vectors = {}
        for text, words in vocabularies.items():
            concepts = next(meanings) if words else np.zeros((0, 0), np.float32)
            assert not isinstance(concepts, Missing)
            vectors[text] = Vectors(pictures=of_pictures, concepts=concepts)
        return vectors

    return run.decide("concepts", of_concepts, at_most=Work(), otherwise=None)
