"""What `askew audit` finds; the content of results.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from askew.findings import E, Head, Keyed
from askew.methods.audit.plan import AuditPlan
from askew.parts.survey.confusion import Confusion
from askew.parts.survey.missing import MissingPictures
from askew.parts.survey.shares import SetShares, SharesDifference
from askew.types import Kind, record

Frequencies = tuple[tuple[str, float], ...]
"""Concepts with how often they were said of a picture, the most frequent first."""


@record
class Alternatives:
    """Scores of an axis instead of MAD (table 2)."""

    wasserstein: E
    standard_deviation: E


@record
class AxisScores:
    """TIBET's scores of one axis of a prompt.

    cas           by value how near the prompt's pictures are to its counterfactual's, by concepts (Eq. 1-3)
    mad           how unequal these are (Eq. 5-7)
    difference    CAS of the first value less that of the second
    cas_clip      by embedding (Eq. 4), with their mad_clip; None without an embedder
    bipartite     the baseline of table 3: concepts matched by meaning
    top_concepts  by "initial" or value: those of the answers about this axis alone
    second_axis   by value and other axis: what else changes with this one
    """

    kind: Kind
    question: tuple[str, ...]
    mad: E
    cas: Annotated[Mapping[str, E], Keyed("value")]
    difference: E
    alternatives: Alternatives
    mad_clip: E | None
    cas_clip: Annotated[Mapping[str, E], Keyed("value")] | None
    bipartite: Mapping[str, float] | None
    top_concepts: Mapping[str, Frequencies]
    second_axis: Mapping[str, Mapping[str, Frequencies]]


@record
class Tibet:
    """A prompt with counterfactuals; its concepts are those of its own pictures."""

    prompt: str
    top_concepts: Frequencies
    axes: Annotated[Mapping[str, AxisScores], Keyed("axis")]


@record
class PromptDifference:
    """CAS of a value less that of another in one prompt's pictures."""

    prompt: str
    values: tuple[str, str]
    estimate: E


@record
class Domain:
    """An axis over all prompts that share it with the same values (section 5.2): mean CAS by value."""

    axis: str
    cas: Annotated[Mapping[str, E], Keyed("value")]
    differences: tuple[PromptDifference, ...]


@record
class AuditFindings(Head):
    """The content of results.json."""

    plan: AuditPlan
    missing_pictures: tuple[MissingPictures, ...]
    shares: tuple[SetShares, ...]
    differences: tuple[SharesDifference, ...]
    confusion: tuple[Confusion, ...]
    tibet: tuple[Tibet, ...]
    domain: tuple[Domain, ...]
