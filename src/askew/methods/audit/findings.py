"""What `askew audit` finds; the content of results.json."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, TypeVar

from askew.errors import UnknownName, UsageError
from askew.findings import E, Head, MappingKey
from askew.method import Result
from askew.methods.audit.plan import AuditPlan
from askew.parts.survey.confusion import Confusion
from askew.parts.survey.missing_pictures import MissingPictures
from askew.parts.survey.shares import SetShares, SharesDifference
from askew.types import Estimate, Kind, Missing, record

T = TypeVar("T")

Frequencies = tuple[tuple[str, float], ...]
"""Concepts with how often they were said of a picture, the most frequent first."""


@record
class Alternatives:
    """Scores of an axis instead of MAD (table 2)."""

    wasserstein: E
    standard_deviation: E


@record
class SecondTest:
    """Pearson's chi-squared test of the values of another axis against the counterfactual sets; q
    over all of a run.
    """

    p: float
    q: float


@record
class AxisScores:
    """TIBET's scores of one axis of a prompt.

    cas           by value how near the prompt's pictures are to its counterfactual's, by concepts (Eq. 1-3)
    cas_apart     by value how far its debiased CAS may be off in all prompts alike (`stats.means.mean_cas`)
    mad           how unequal these are (Eq. 5-7)
    cas_contrast  by value its CAS minus the mean of the others'
    cas_clip      by embedding (Eq. 4), with their mad_clip; None without an embedder
    bipartite     the baseline of table 3: concepts matched by meaning
    top_concepts  by "initial" or value: those of the answers about this axis alone
    second_axis   by value and other axis: concepts of the other in this one's counterfactual sets
    second_tests  by other axis: whether it changes with this one beyond chance
    """

    kind: Kind
    question: tuple[str, ...]
    mad: E
    cas: Annotated[Mapping[str, E], MappingKey("value")]
    cas_contrast: Annotated[Mapping[str, E], MappingKey("value")]
    alternatives: Alternatives
    mad_clip: E | None
    cas_clip: Annotated[Mapping[str, E], MappingKey("value")] | None
    bipartite: Mapping[str, float] | None
    top_concepts: Mapping[str, Frequencies]
    second_axis: Mapping[str, Mapping[str, Frequencies]]
    second_tests: Mapping[str, SecondTest]
    cas_apart: Mapping[str, float] = field(default_factory=dict)


@record
class Tibet:
    """A prompt with counterfactuals; its concepts are those of its own pictures."""

    prompt: str
    top_concepts: Frequencies
    axes: Annotated[Mapping[str, AxisScores], MappingKey("axis")]


@record
class PromptDifference:
    """CAS of a value less that of another in one prompt's pictures."""

    prompt: str
    values: tuple[str, str]
    estimate: E


@record
class Domain:
    """An axis over all prompts that share it with the same values (section 5.2), prompts being the
    sample.

    cas           by value its mean debiased CAS
    against_rest  by value how much nearer it is than the others' mean, prompt by prompt; of two values one alone
    scaled        by value its mean share of the sum of CAS, as the paper's .56 and .44; empty where all are 0
    differences   of two values, by prompt
    """

    axis: str
    cas: Annotated[Mapping[str, E], MappingKey("value")]
    against_rest: Annotated[Mapping[str, E], MappingKey("value")]
    scaled: Annotated[Mapping[str, E], MappingKey("value")]
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


@dataclass(frozen=True)
class AuditResult(Result[AuditPlan, AuditFindings]):
    """A finished audit."""

    def mad(self, axis: str, prompt: str | None = None) -> Estimate | Missing:
        """How one-sided the pictures of a prompt (the first by default) are on an axis, by TIBET's
        MAD.
        """
        return self._scores(axis, prompt).mad

    def cas(self, axis: str, value: str, prompt: str | None = None) -> Estimate | Missing:
        """How much the pictures of a prompt resemble those of the counterfactual `value`, by
        TIBET's CAS.
        """
        return _entry("value", value, self._scores(axis, prompt).cas)

    def share(
        self, axis: str, value: str, prompt: str | None = None, set_name: str = "initial"
    ) -> Estimate | Missing:
        """The perceived share of a value in a picture set."""
        text = prompt or self.plan.prompts[0].text
        for entry in self.findings.shares:
            if (entry.prompt, entry.axis, entry.set) == (text, axis, set_name):
                return _entry("value", value, entry.shares)
        raise UsageError(
            f"this audit has no shares of axis {axis!r} for the set {set_name!r} of {text!r}"
        )

    def _scores(self, axis: str, prompt: str | None) -> AxisScores:
        by_prompt = {entry.prompt: entry for entry in self.findings.tibet}
        return _entry(
            "axis", axis, _entry("prompt", prompt or self.plan.prompts[0].text, by_prompt).axes
        )


def _entry(what: str, name: str, table: Mapping[str, T]) -> T:
    UnknownName.unless_known(f"{what} in this audit", name, table)
    return table[name]
