"""Compute the shares, deviations, verdicts and differences of an audit from corrected labels.

A label that a person has corrected replaces the labels from all instruments.
Association scores (MAD, CAS) do not change, because they count concepts, not labels. Images that a
person chose to check are not a random sample, so correcting a few images can bias a share.
Correcting a random sample of images does not bias shares.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace

from askew import registry
from askew.findings import Head, PictureSet
from askew.measure.base import CalibratedInstrument
from askew.methods.audit.findings import AuditFindings, AuditResult
from askew.methods.audit.gather import AuditGathered
from askew.methods.audit.score import score
from askew.methods.audit.stored import observed_sets
from askew.parts.survey.confusion import Errors, calibrations
from askew.parts.survey.instruments import STUDIO
from askew.parts.survey.observed import Answer, ObservedSet
from askew.run.annotations import NO_LABEL
from askew.types import Missing, Picture

HandLabels = Mapping[tuple[str, str], str]
"""Corrected labels, keyed by image and axis."""


def corrected_findings(result: AuditResult, labels: HandLabels) -> AuditFindings:
    """Recompute the findings of an audit with corrected labels.

    Parameters
    ----------
    result
        A finished audit.
    labels
        The corrected labels.

    Raises
    ------
    UsageError
        If the store does not contain the answers from which the audit's scores were computed.
    """
    findings = result.findings
    original = observed_sets(result, result.plan.prompts)
    observed = {}
    for text, of_prompt in original.items():
        observed[text] = [_relabeled(each, labels) for each in of_prompt]
    sets = tuple(_relabeled_set(image_set, labels) for image_set in findings.sets)
    gathered = AuditGathered(
        model=findings.model,
        device=None,
        instruments=findings.instruments,
        sets=sets,
        observed=observed,
        confusion=findings.confusion,
        errors=_known_errors(findings),
        following=findings.following,
        ratings=(),
        captioner=None,
        vectors=None,
        sent={},
    )
    head = Head(**{each.name: getattr(findings, each.name) for each in fields(Head)})
    rescored = score(result.plan, gathered, head)
    return replace(
        findings,
        sets=sets,
        shares=rescored.shares,
        shares_over_prompts=rescored.shares_over_prompts,
        differences=rescored.differences,
        differences_over_prompts=rescored.differences_over_prompts,
    )


def _known_errors(findings: AuditFindings) -> Errors:
    """Return the labeling-error counts that an audit used to test shares.

    Of askew's instruments, only the studio instruments report their errors. Instruments outside the
    studio are not loaded, because their networks take a long time to load.
    """
    instruments = {}
    for name in findings.plan.vqa:
        if name.partition("/")[0] == STUDIO:
            vqa = registry.vqa(name, **findings.plan.vqa_args)
            if isinstance(vqa, CalibratedInstrument):
                instruments[name] = vqa
    measured = {(entry.instrument, entry.axis): entry.table for entry in findings.confusion}
    return {**calibrations(findings.plan.prompts, instruments), **measured}


def _relabeled(observed: ObservedSet, labels: HandLabels) -> ObservedSet:
    values = {}
    for instrument, by_axis in observed.values.items():
        values[instrument] = {
            axis: _corrected(observed.pictures, axis, answers, labels)
            for axis, answers in by_axis.items()
        }
    return replace(observed, values=values)


def _corrected(
    pictures: Sequence[Picture | Missing],
    axis: str,
    answers: Sequence[Answer],
    labels: HandLabels,
) -> tuple[Answer, ...]:
    """Return the labels on an axis after replacing original labels with corrected labels."""
    corrected: list[Answer] = []
    for picture, answer in zip(pictures, answers, strict=True):
        by_hand = labels.get((picture.id, axis)) if isinstance(picture, Picture) else None
        if by_hand == NO_LABEL:
            corrected.append(Missing("cannot_tell", "a person could not tell"))
        else:
            corrected.append(answer if by_hand is None else by_hand)
    return tuple(corrected)


def _relabeled_set(image_set: PictureSet, labels: HandLabels) -> PictureSet:
    if not image_set.labels:
        return image_set
    relabeled = {}
    for axis, texts in image_set.labels.items():
        row = []
        for name, text in zip(image_set.pictures, texts, strict=False):
            by_hand = labels.get((name, axis)) if name else None
            row.append(None if by_hand == NO_LABEL else by_hand or text)
        relabeled[axis] = tuple(row)
    return replace(image_set, labels=relabeled)
