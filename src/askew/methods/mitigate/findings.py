"""Findings of `askew mitigate`: changes in axes, pairs of axes, subject and images, and cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from askew.errors import UsageError
from askew.findings import RESULTS_FILE, E, Head, MappingKey
from askew.method import Result
from askew.methods.mitigate.plan import MitigationPlan
from askew.mitigations import base as mitigation
from askew.mitigations.base import Mitigation
from askew.parts.survey.confusion import Confusion
from askew.parts.survey.over_prompts import SharesOverPrompts
from askew.parts.survey.shares import SetShares
from askew.stats.intervals import sure_ends
from askew.stats.significance import SIGNIFICANCE_LEVEL
from askew.types import Estimate, record


@record
class AxisChange:
    """Deviation on an axis before and after a technique is applied.

    Attributes
    ----------
    axis : str
        Name of the axis.
    is_target : bool
        True for a target axis, False for a monitored axis.
    before, after : Estimate or Missing
        Deviation from the target shares or, for a monitored axis, from the reference.
    change : Estimate or Missing
        Debiased deviation after mitigation minus debiased deviation before. Negative: closer to the
        target.
    by_others : mapping of instrument to Estimate or Missing
        `change`, computed from the labels of each of the other instruments.
    predicted : Estimate, Missing or None
        Deviation under the policy, as predicted from the planning images. None if there is no policy.
    followed : Estimate, Missing or None
        Share of images whose label is the value that the technique requested. None without
        requests.
    """

    axis: str
    is_target: bool
    before: E
    after: E
    change: E
    by_others: Annotated[Mapping[str, E], MappingKey("instrument")]
    predicted: E | None
    followed: E | None

    @property
    def fell(self) -> bool:
        """True if the axis has moved significantly closer to its target."""
        return is_significant_change(self.change, -1)

    @property
    def doubted(self) -> list[str]:
        """Other instruments whose labels do not confirm a significant improvement."""
        if not self.fell:
            return []
        return [name for name, change in self.by_others.items() if not _excludes_zero(change, -1)]

    @property
    def as_predicted(self) -> bool:
        """True if the deviation after mitigation lies within the predicted interval."""
        if not (isinstance(self.predicted, Estimate) and isinstance(self.after, Estimate)):
            return False
        low, high = sure_ends(self.predicted)
        return low <= self.after.mark <= high

    @property
    def rose(self) -> bool:
        """True if the axis deviates significantly more from its target than before mitigation."""
        return is_significant_change(self.change)


@record
class PairChange:
    """Change in the association between two axes (Cramér's V).

    Cramér's V also rises when rare values become more frequent.

    Attributes
    ----------
    axes : tuple of str
        Names of the axes.
    before, after : float
        Cramér's V in [0, 1].
    carried : float or None
        V computed from the shares after mitigation and the odds ratios before mitigation. None if a
        value that occurs after mitigation occurs in fewer than five images before mitigation.
    rise : Estimate or Missing
        V after mitigation minus V before.
    """

    axes: tuple[str, str]
    before: float
    carried: float | None
    after: float
    rise: E


@record
class OverallChange:
    """Mean deviation of all axes before and after a technique, weighted by the priorities.

    Attributes
    ----------
    mitigated : tuple of str
        Axes that the technique mitigates.
    before, after : float
        Mean of the debiased deviations of all axes, before and after mitigation.
    change : Estimate
        Mean deviation after mitigation minus mean deviation before. Negative: closer to the
        references.
    predicted : Estimate, Missing or None
        Mean deviation after mitigation, as predicted from the planning images. None for a technique
        that makes no prediction.
    """

    mitigated: tuple[str, ...]
    before: float
    after: float
    change: Estimate
    predicted: E | None


@record
class AxisSubset:
    """A set of axes, and the predicted mean deviation of all axes if this set is mitigated.

    Attributes
    ----------
    axes : tuple of str
        Names of the axes.
    deviation : float
        Predicted mean deviation of all axes, weighted by the priorities. It is bias-corrected.
    """

    axes: tuple[str, ...]
    deviation: float


@record
class AxisChoice:
    """Choice of the axes whose mitigation brings all axes closest to their references.

    Attributes
    ----------
    axes : tuple of str
        The chosen axes.
    compared : int
        Number of compared subsets. 0 if there were too many subsets to compare; in this case, the
        greedy rule chose the axes.
    unmitigated : Estimate
        Predicted mean deviation of all axes if no axis is mitigated.
    predicted : Estimate
        Predicted mean deviation if the chosen axes are mitigated.
    best : tuple of AxisSubset
        The subsets with the smallest predicted deviations, best first.
    greedy : tuple of AxisSubset
        Axes selected after each step of the greedy rule, which starts with no axis.
    sensitivities : mapping of axis to float
        For each axis that can be chosen, the mean Intersectional Sensitivity of all axes to this
        axis. Positive if mitigating this axis brings all axes closer to their references on
        average.
    """

    axes: tuple[str, ...]
    compared: int
    unmitigated: Estimate
    predicted: Estimate
    best: tuple[AxisSubset, ...]
    greedy: tuple[AxisSubset, ...]
    sensitivities: Annotated[Mapping[str, float], MappingKey("axis")]


@record
class TechniqueFindings:
    """Changes in a prompt's images caused by a technique.

    Attributes
    ----------
    prompt, technique : str
        Prompt, and name of the technique.
    cost : float
        Number of network evaluations per image, as a multiple of the number without the technique.
    axes : tuple of AxisChange
        Changes in target axes and monitored axes.
    pairs : tuple of PairChange
        Changes in the associations between axes.
    subject : Estimate, Missing or None
        Change in the share of images that show the prompt's occupation, after minus before. None
        for a prompt without an occupation.
    subject_before : Estimate, Missing or None
        Share of images that show the prompt's occupation before mitigation.
    unlabeled : Estimate or Missing
        Change in the share of images without a label on a target axis, after minus before.
    nearness : Estimate, Missing or None
        Change in the mean cosine similarity between images and prompt, after minus before. None
        without an embedder.
    quality : Estimate, Missing or None
        Kernel distance between the images before mitigation and the images after it. None without
        an embedder.
    overall : OverallChange or None
        Change in the mean deviation of all axes. None if the run does not choose axes.
    """

    prompt: str
    technique: str
    cost: float
    axes: tuple[AxisChange, ...]
    pairs: tuple[PairChange, ...]
    subject: E | None
    subject_before: E | None
    unlabeled: E
    nearness: E | None
    quality: E | None
    overall: OverallChange | None

    @property
    def helped(self) -> list[AxisChange]:
        """Target axes that have moved significantly closer to their target."""
        return [change for change in self.axes if change.is_target and change.fell]

    @property
    def harmed(self) -> list[AxisChange]:
        """Axes that deviate significantly more."""
        return [change for change in self.axes if change.rose]

    @property
    def built(self) -> list[PairChange]:
        """Pairs of axes that have become significantly more associated."""
        return [change for change in self.pairs if is_significant_change(change.rise)]

    @property
    def broken(self) -> list[str]:
        """Keys of the phrases that describe significant losses in the images."""
        losses = {
            "technique_subject_loss": _excludes_zero(self.subject, -1),
            "technique_prompt_loss": _excludes_zero(self.nearness, -1),
            "technique_label_loss": _excludes_zero(self.unlabeled, 1),
        }
        return [phrase for phrase, is_lost in losses.items() if is_lost]


@record
class MitigationFindings(Head):
    """Content of results.json.

    Attributes
    ----------
    shares : tuple of SetShares
        Shares in the held-out images before and after mitigation. q-values of the verdicts are
        corrected separately for each technique.
    choice : AxisChoice or None
        Choice of the mitigated axes. None if all target axes are mitigated.
    mitigations : mapping of technique to str
        Content of each technique's mitigation file.
    shares_over_prompts : tuple of SharesOverPrompts
        Shares pooled over the images of all prompts. Empty if there is only one prompt.
    """

    plan: MitigationPlan
    shares: tuple[SetShares, ...]
    confusion: tuple[Confusion, ...]
    techniques: tuple[TechniqueFindings, ...]
    choice: AxisChoice | None
    mitigations: Annotated[Mapping[str, str], MappingKey("technique")]
    shares_over_prompts: tuple[SharesOverPrompts, ...] = ()


@dataclass(frozen=True)
class MitigationResult(Result[MitigationPlan, MitigationFindings]):
    """A finished run of `askew mitigate`."""

    def file(self, technique: str | None = None) -> Path:
        """Return the path of a mitigation file.

        Parameters
        ----------
        technique
            Name of the technique. By default the first one.

        Raises
        ------
        UsageError
            If the run did not try this technique.
        """
        name = technique or self.plan.techniques[0]
        if name not in self.findings.mitigations:
            raise UsageError(
                f"this run did not try the technique {name!r}; it tried: "
                f"{', '.join(self.findings.mitigations)}"
            )
        return self.folder / f"mitigation-{name}.toml"

    @property
    def mitigation(self) -> Mitigation:
        """Mitigation by the first technique, ready to be applied to a model."""
        return mitigation.load_mitigation(self.file())

    def extra_files(self) -> Mapping[str, bytes]:
        """Return the mitigation files and the files that belong to them, keyed by name."""
        files = dict[str, bytes]()
        for technique, text in self.findings.mitigations.items():
            path = self.file(technique)
            files[path.name] = text.encode()
            changed = mitigation.read_mitigation(text, f"{RESULTS_FILE}: {technique}")
            for suffix, content in changed.extra_files().items():
                files[path.with_suffix(suffix).name] = content
        return files


def is_significant_change(score: E, sign: int = 1) -> bool:
    """Check whether a change has the given sign and is significant after correction."""
    return (
        isinstance(score, Estimate)
        and score.q is not None
        and score.q < SIGNIFICANCE_LEVEL
        and sign * score.value > 0
    )


def _excludes_zero(score: E | None, sign: int) -> bool:
    """Check whether an interval excludes 0."""
    return isinstance(score, Estimate) and min(sign * end for end in sure_ends(score)) > 0
