"""Findings of `askew audit`, the content of results.json."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, TypeVar

from askew.errors import UnknownName, UsageError
from askew.findings import E, Head, MappingKey
from askew.method import Result
from askew.methods.audit.plan import AuditPlan
from askew.parts.survey.agreement import RaterAgreement
from askew.parts.survey.confusion import Confusion
from askew.parts.survey.following import Following
from askew.parts.survey.missing_labels import MissingLabels
from askew.parts.survey.missing_pictures import MissingPictures
from askew.parts.survey.over_prompts import SharesOverPrompts
from askew.parts.survey.rewriting import Rewriting
from askew.parts.survey.shares import SetShares, SharesDifference
from askew.types import Estimate, Kind, Missing, record

T = TypeVar("T")

Frequencies = tuple[tuple[str, float], ...]
"""Concepts and the share of images that show each concept, in order of decreasing share."""


@record
class Alternatives:
    """Alternatives to the MAD of an axis (TIBET, table 2)."""

    wasserstein: E
    standard_deviation: E


@record
class SecondTest:
    """Chi-squared test of whether the labels on another axis differ between counterfactual sets.

    Attributes
    ----------
    p, q : float
        p-value, and q-value corrected over all tests of this kind in a run.
    """

    p: float
    q: float


@record
class AxisScores:
    """TIBET's scores for one axis of a prompt.

    Attributes
    ----------
    kind : "societal" or "incidental"
        Whether the axis is societal or incidental.
    question : tuple of str
        Questions that the instrument is asked about the axis.
    mad : Estimate or Missing
        Mean absolute deviation (MAD) of the CAS values (Eq. 5-7).
    cas : mapping of value to Estimate or Missing
        Concept similarity between the prompt's images and the images of each counterfactual (Eq.
        1-3).
    cas_contrast : mapping of value to Estimate or Missing
        CAS minus the mean CAS of the other values.
    alternatives : Alternatives
        Scores that can replace MAD.
    mad_clip, cas_clip
        MAD and CAS, computed from image embeddings (Eq. 4). None if the plan has no embedder.
    bipartite : mapping of value to float, or None
        The baseline score of the paper (table 3), which matches concepts by meaning.
    top_concepts : mapping of "initial" or value to Frequencies
        Concepts in the answers about this axis, for each image set.
    second_axis : mapping of value and other axis to Frequencies
        Concepts in the answers about other axes, for each counterfactual set of this axis.
    second_tests : mapping of other axis to SecondTest
        Tests of whether the labels on another axis change with the value of this axis.
    cas_apart : mapping of value to float
        Possible error in each value's debiased CAS. Averaging over prompts does not reduce this
        error (see `stats.means.mean_cas`).
    chosen_by_shares : bool
        True if the axis was scored because its shares are biased. In this case, its scores are not
        tested.
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
    chosen_by_shares: bool = False


@record
class Tibet:
    """TIBET's scores for a prompt that has counterfactuals, and concepts in its baseline images."""

    prompt: str
    top_concepts: Frequencies
    axes: Annotated[Mapping[str, AxisScores], MappingKey("axis")]


@record
class PromptDifference:
    """Difference in CAS between two values, for the images of one prompt."""

    prompt: str
    values: tuple[str, str]
    estimate: E


@record
class Domain:
    """Comparison of prompts that share an axis with the same values (TIBET, section 5.2).

    The sampling units are the prompts, not the images.

    Attributes
    ----------
    axis : str
        Name of the axis.
    cas : mapping of value to Estimate or Missing
        Debiased CAS of each value, averaged over prompts.
    against_rest : mapping of value to Estimate or Missing
        CAS of the value minus the mean CAS of the other values, averaged over prompts. An axis with
        two values has a single entry.
    scaled : mapping of value to Estimate or Missing
        CAS of each value divided by the sum over all values of the axis, averaged over prompts (for
        example, .56 and .44 in the paper). Empty if all CAS of a prompt are 0.
    differences : tuple of PromptDifference
        Difference in CAS between two values, for each prompt.
    """

    axis: str
    cas: Annotated[Mapping[str, E], MappingKey("value")]
    against_rest: Annotated[Mapping[str, E], MappingKey("value")]
    scaled: Annotated[Mapping[str, E], MappingKey("value")]
    differences: tuple[PromptDifference, ...]


@record
class PairedVerdict:
    """Test of whether the shares on an axis differ between the model and the compared run.

    Attributes
    ----------
    prompt, axis, instrument : str
        Prompt, axis, and the instrument that labeled the images of both models.
    images : int
        Number of images from each model.
    differences : mapping of value to Estimate or Missing
        Share in this model's images minus the share in the same number of images from the compared
        run. The intervals allow for all looks.
    p, q : float
        Sequential p over all looks, and q corrected over all prompts and axes (Benjamini-Hochberg).
    looks : tuple of float
        Mid-p-value at each look.
    """

    prompt: str
    axis: str
    instrument: str
    images: int
    differences: Annotated[Mapping[str, E], MappingKey("value")]
    p: float
    q: float
    looks: tuple[float, ...]


@record
class AuditFindings(Head):
    """Content of results.json.

    Attributes
    ----------
    plan : AuditPlan
        Plan of the run.
    missing_pictures : tuple of MissingPictures
        Tests of whether images are missing more often in some sets than in others.
    shares, differences
        Shares in all sets, and differences between the shares of two sets.
    confusion : tuple of Confusion
        Comparisons of instrument labels with human labels.
    tibet : tuple of Tibet
        Scores of concept association for each prompt.
    domain : tuple of Domain
        Comparisons between prompts that have an axis in common.
    shares_over_prompts, differences_over_prompts
        Shares pooled over the images of all prompts, and the differences between conditions. Empty
        if there is only one prompt.
    following : tuple of Following
        Comparisons between the labels of baseline images and the values requested by mitigations.
    agreement : tuple of RaterAgreement
        Agreement between raters. Empty if a single person labeled the images.
    rewriting : tuple of Rewriting
        Comparisons of images from prompts that a server rewrote with images from the original
        prompts.
    missing_labels : tuple of MissingLabels
        Tests of whether an instrument leaves more images unlabeled in some sets, prompts or groups
        of people than in others.
    compared : tuple of PairedVerdict
        Differences from the compared run. Empty if there is none.
    """

    plan: AuditPlan
    missing_pictures: tuple[MissingPictures, ...]
    shares: tuple[SetShares, ...]
    differences: tuple[SharesDifference, ...]
    confusion: tuple[Confusion, ...]
    tibet: tuple[Tibet, ...]
    domain: tuple[Domain, ...]
    shares_over_prompts: tuple[SharesOverPrompts, ...] = ()
    differences_over_prompts: tuple[SharesDifference, ...] = ()
    following: tuple[Following, ...] = ()
    agreement: tuple[RaterAgreement, ...] = ()
    rewriting: tuple[Rewriting, ...] = ()
    missing_labels: tuple[MissingLabels, ...] = ()
    compared: tuple[PairedVerdict, ...] = ()


@dataclass(frozen=True)
class AuditResult(Result[AuditPlan, AuditFindings]):
    """A finished audit."""

    def mad(self, axis: str, prompt: str | None = None) -> Estimate | Missing:
        """Return TIBET's MAD of an axis.

        Parameters
        ----------
        axis
            Name of the axis.
        prompt
            Prompt of the audit. By default its first prompt.

        Raises
        ------
        UnknownName
            If the audit has no such prompt or axis.
        """
        return self._scores(axis, prompt).mad

    def cas(self, axis: str, value: str, prompt: str | None = None) -> Estimate | Missing:
        """Return TIBET's CAS: the similarity of the images to the counterfactual images of `value`.

        The parameters and errors are the same as those of `mad`.
        """
        return _entry("value", value, self._scores(axis, prompt).cas)

    def share(
        self, axis: str, value: str, prompt: str | None = None, set_name: str = "initial"
    ) -> Estimate | Missing:
        """Return a value's share in an image set, according to the first instrument's labels.

        Parameters
        ----------
        axis
            Name of the axis.
        value
            Value of the axis.
        prompt
            Prompt of the audit. By default its first prompt.
        set_name
            "initial", or "AXIS: VALUE" of a counterfactual or condition.

        Raises
        ------
        UsageError
            If the audit does not contain this share.
        """
        text = prompt or self.plan.prompts[0].text
        for entry in self.findings.shares:
            if (entry.prompt, entry.axis, entry.set) == (text, axis, set_name):
                return _entry("value", value, entry.shares)
        raise UsageError(
            f"this audit contains no shares on axis {axis!r} for the set {set_name!r} of {text!r}"
        )

    def _scores(self, axis: str, prompt: str | None) -> AxisScores:
        by_prompt = {entry.prompt: entry for entry in self.findings.tibet}
        of_prompt = _entry("prompt", prompt or self.plan.prompts[0].text, by_prompt)
        return _entry("axis", axis, of_prompt.axes)


def _entry(kind: str, name: str, table: Mapping[str, T]) -> T:
    UnknownName.unless_known(f"{kind} in this audit", name, table)
    return table[name]
