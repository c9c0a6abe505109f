"""Findings of `askew interact`: graphs of how axes affect each other, and their validation."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal, Self

from askew.errors import UsageError
from askew.findings import E, Head, IdentifyingField
from askew.method import Result
from askew.methods.interact.plan import InteractionPlan
from askew.parts.survey.confusion import Confusion
from askew.parts.survey.missing_pictures import MissingPictures
from askew.parts.survey.over_prompts import SharesOverPrompts
from askew.parts.survey.shares import SetShares
from askew.types import Estimate, Missing, Scale, record

Effect = Literal["better", "worse", "changed"]
"""Effect on a target axis: closer to its reference, further from it, or not determined."""

CountRow = tuple[int, ...]


@record
class GraphAxis:
    """An axis of a graph.

    Attributes
    ----------
    name : str
        Name of the axis.
    values : tuple of str
        Values that image labels can take.
    counterfactuals : tuple of str
        Values stated in the axis's counterfactual prompts.
    scale : Scale
        Scale of the values.
    open : bool
        True if the values are concepts in open answers.
    distance : str
        Name of the distance between shares and the reference.
    reference : tuple of float
        Reference share of every value.
    known_errors : tuple of CountRow or None
        Counts of the instrument's answers (columns) about images with known true values (rows).
    reference_images : int or None
        Number of images from which the reference was computed. None if it is exact.
    """

    name: str
    values: tuple[str, ...]
    counterfactuals: tuple[str, ...]
    scale: Scale
    open: bool
    distance: str
    reference: tuple[float, ...]
    known_errors: tuple[CountRow, ...] | None
    reference_images: int | None = None

    def fits(self, other: Self) -> bool:
        """Check whether the counts of this axis and another axis can be summed."""
        same_values = (self.open and other.open) or self.values == other.values
        return same_values and self.counterfactuals == other.counterfactuals


@record
class Edge:
    """Results for a pair of axes: dependence of `target` on `source`, and change in its deviation.

    Attributes
    ----------
    source, target : str
        Axis that the counterfactual prompts change, and axis that the answers describe.
    chi2, dof, p, draws, cramers_v : float or int or None
        Results of Pearson's chi-squared test (section 3.3). None if the pair was not tested.
    untested : Missing or None
        Reason why the pair was not tested.
    q : float or None
        q-value of the test, corrected over all pairs of different axes.
    sensitivity : E
        Bias-corrected Intersectional Sensitivity (IS, Eq. 4): the decrease in the target's
        deviation from its reference, in [-1, 1].
    simultaneous : tuple of (float, float) or None
        Simultaneous interval of IS, for all pairs of different axes in all graphs of the run.
    plug_in : float or None
        IS computed from the shares of the labels by Eq. 4, without bias correction.
    as_read : float or None
        Bias-corrected IS before the correction for labeling errors; None if these errors were not
        corrected.
    significant : bool
        True if the pair is an edge of the graph.
    """

    source: str
    target: str
    chi2: float | None
    dof: int | None
    p: float | None
    draws: int | None
    cramers_v: float | None
    untested: Missing | None
    q: float | None
    sensitivity: E
    simultaneous: tuple[float, float] | None
    plug_in: float | None
    as_read: float | None
    significant: bool

    @property
    def direct(self) -> bool:
        """True if this is the effect of an axis on itself."""
        return self.source == self.target

    @property
    def drawn(self) -> bool:
        """True if this is an edge between different axes and its sensitivity is known."""
        return self.significant and not self.direct and isinstance(self.sensitivity, Estimate)

    @property
    def size(self) -> float:
        """Absolute value of IS; 0 if IS is missing."""
        return abs(self.sensitivity.value) if isinstance(self.sensitivity, Estimate) else 0.0

    @property
    def effect(self) -> Effect:
        """Direction of the effect, determined from the simultaneous interval."""
        low, high = self.simultaneous or (0.0, 0.0)
        if low > 0:
            return "better"
        return "worse" if high < 0 else "changed"

    @property
    def simultaneous_estimate(self) -> E:
        """Sensitivity with its simultaneous interval."""
        estimate = self.sensitivity
        if isinstance(estimate, Missing) or self.simultaneous is None:
            return estimate
        low, high = self.simultaneous
        interval = f"{estimate.interval}, simultaneous"
        return replace(estimate, low=low, high=high, interval=interval)


@record
class RecordedCounts:
    """Counts from which a graph was computed, summed over its prompts.

    Attributes
    ----------
    initial : mapping of str to CountRow
        For each target, the counts of answers about the baseline images, one per value.
    after : mapping of str to mapping of str to tuple of CountRow
        For each source and target, the counts of answers: one row per counterfactual prompt of the
        source.
    missing : mapping of str to int
        For each target, the number of images that have no answer, summed over all sets.
    """

    initial: Mapping[str, CountRow]
    after: Mapping[str, Mapping[str, tuple[CountRow, ...]]]
    missing: Mapping[str, int]


@record
class Graph:
    """Effects of axes on each other in the images of one prompt, or of all prompts together.

    Attributes
    ----------
    scope : "prompt" or "global"
        "prompt" if the graph describes a single prompt, "global" if it describes all prompts
        together.
    prompt : str or None
        Text of the prompt. None for all prompts together.
    instrument : str
        VQA model that labeled the images.
    edge_rule : "q" or "paper"
        "q" if `alpha` is compared with q of the chi-squared test, "paper" if it is compared with p.
    alpha : float
        A pair is an edge if its q or p is below this level, in (0, 1).
    least_sensitivity : float
        Value that |IS| must exceed for a pair to be an edge; 0 for no minimum.
    axes : tuple of GraphAxis
        Axes of the graph.
    edges : tuple of Edge
        All pairs of axes, including those that are not edges of the graph.
    most_influenced : str or None
        Axis that depends on the largest number of other axes (MaxInf).
    most_influential : str or None
        Axis on which the largest number of other axes depend (MaxImp).
    amplification : E
        Sum of |IS| over pairs of different axes (Eq. 14).
    negative_share : E
        Share of pairs of different axes with IS < 0 (appendix A.5).
    counts : RecordedCounts
        Counts from which the graph was computed.
    """

    scope: Annotated[Literal["prompt", "global"], IdentifyingField(False)]
    prompt: str | None
    instrument: str
    edge_rule: Annotated[Literal["q", "paper"], IdentifyingField(False)]
    alpha: float
    least_sensitivity: float
    axes: tuple[GraphAxis, ...]
    edges: tuple[Edge, ...]
    most_influenced: Annotated[str | None, IdentifyingField(False)]
    most_influential: Annotated[str | None, IdentifyingField(False)]
    amplification: E
    negative_share: E
    counts: RecordedCounts

    @property
    def drawn(self) -> list[Edge]:
        """Edges to draw, strongest first."""
        return _strongest_first(edge for edge in self.edges if edge.drawn)

    @property
    def edge_count(self) -> int:
        """Number of edges between different axes, including edges whose sensitivity is unknown."""
        return sum(edge.significant and not edge.direct for edge in self.edges)

    @property
    def tested_pairs(self) -> int:
        """Number of tested pairs of different axes."""
        return sum(not edge.direct and edge.p is not None for edge in self.edges)

    @property
    def determined(self) -> list[Edge]:
        """Pairs of different axes with a determined effect, strongest effect first."""
        return _strongest_first(
            edge for edge in self.edges if not edge.direct and edge.effect != "changed"
        )

    def edge(self, source: str, target: str) -> Edge | None:
        """Return the pair of the given source and target, or None if there is no such pair."""
        for edge in self.edges:
            if (edge.source, edge.target) == (source, target):
                return edge
        return None

    def axis(self, name: str) -> GraphAxis:
        """Return the axis with the given name."""
        return next(axis for axis in self.axes if axis.name == name)


def _strongest_first(edges: Iterable[Edge]) -> list[Edge]:
    return sorted(edges, key=lambda edge: -edge.size)


@record
class EdgeOverPrompts:
    """Summary of a pair of different axes over the graphs of all prompts.

    Attributes
    ----------
    source, target : str
        The axes of the pair.
    prompts : int
        Number of prompts in which the pair could be tested.
    edges : int
        Number of prompts in which the pair is an edge.
    better, worse : int
        Number of prompts in which making `source` uniform moves `target` significantly closer to
        its reference (`better`) or significantly further from it (`worse`).
    mean : E
        IS averaged over the prompts.
    p, q : float or None
        p and q of a test of the null hypothesis that `target` does not depend on `source` in any
        prompt, based on Fisher's sum of log p. q is corrected over all pairs.
    differ_p, differ_q : float or None
        p and q of a test of the null hypothesis that IS is the same in all prompts, based on
        Cochran's Q. q is corrected over all pairs.
    """

    source: str
    target: str
    prompts: int
    edges: int
    better: int
    worse: int
    mean: E
    p: float | None
    q: float | None
    differ_p: float | None
    differ_q: float | None


@record
class ValidatedEdge:
    """IS of a pair of axes: the estimated value, and the value measured with a mitigation.

    Attributes
    ----------
    source, target : str
        The axes of the pair.
    estimated, measured : E
        `estimated` is the IS computed from counterfactual prompts (Eq. 4). `measured` is the IS
        computed from images in which `source` is mitigated (Eq. 8).
    """

    source: str
    target: str
    estimated: E
    measured: E


@record
class ValidatedPrompt:
    """Edges of a prompt, between different axes, whose source axis was actually mitigated.

    Attributes
    ----------
    prompt : str
        The prompt.
    edges : tuple of ValidatedEdge
        The edges.
    correlation : E
        Correlation between estimated and measured IS over these edges.
    """

    prompt: str
    edges: tuple[ValidatedEdge, ...]
    correlation: E


@record
class Validation:
    """Comparison of estimated effects with an actual mitigation (Eq. 5-8, Table 1).

    The measured effects are computed from separate baseline images.

    Attributes
    ----------
    prompts : tuple of ValidatedPrompt
        Edges of each prompt.
    mean_correlation : E
        Correlation between estimated and measured IS, averaged over prompts.
    overall_correlation : E
        Correlation between estimated and measured IS over the edges of all prompts.
    paper_correlation : E
        Correlation over the same edges, computed as in the paper: estimates and measurements share
        the baseline images. Its `null` is the mean correlation that would result if the mitigation
        had no effect.
    made_worse : E
        Share of pairs of different axes for which mitigating the source moved the target further
        from its reference (appendix A.5).
    """

    prompts: tuple[ValidatedPrompt, ...]
    mean_correlation: E
    overall_correlation: E
    paper_correlation: E
    made_worse: E


@record
class InteractionFindings(Head):
    """Content of the results.json of `askew interact`.

    Attributes
    ----------
    plan : InteractionPlan
        The plan.
    missing_pictures : tuple of MissingPictures
        Tests of whether images are missing more often in some image sets than in others.
    shares : tuple of SetShares
        Shares in the baseline images, and in the images of conditions.
    confusion : tuple of Confusion
        Comparisons of instrument labels with true values.
    biasconnect : tuple of Graph
        Graphs, one for each prompt. If there are several prompts, the graph of all prompts together
        comes first.
    over_prompts : tuple of EdgeOverPrompts
        Summaries of the pairs of axes over all prompts; empty for a single prompt.
    validation : Validation or None
        Comparison with an actual mitigation; None if the run has no mitigation.
    shares_over_prompts : tuple of SharesOverPrompts
        Shares in the images of all prompts together. Empty if there is only one prompt.
    """

    plan: InteractionPlan
    missing_pictures: tuple[MissingPictures, ...]
    shares: tuple[SetShares, ...]
    confusion: tuple[Confusion, ...]
    biasconnect: tuple[Graph, ...]
    over_prompts: tuple[EdgeOverPrompts, ...]
    validation: Validation | None
    shares_over_prompts: tuple[SharesOverPrompts, ...] = ()

    def graph(self, prompt: str | None = None) -> Graph:
        """Return the graph of a prompt or of all prompts together.

        Parameters
        ----------
        prompt
            Prompt of the graph. None for the graph of all prompts together or, if the run has only
            one prompt, for the graph of this prompt.

        Raises
        ------
        UsageError
            If the run has no graph of this prompt.
        """
        for graph in self.biasconnect:
            if prompt in (None, graph.prompt):
                return graph
        known = ", ".join(repr(planned.text) for planned in self.plan.prompts)
        raise UsageError(f"the run contains no graph of {prompt!r}. Its prompts are: {known}")


@dataclass(frozen=True)
class InteractionResult(Result[InteractionPlan, InteractionFindings]):
    """A finished run of `askew interact`."""

    def graph(self, prompt: str | None = None) -> Graph:
        """Return the graph of a prompt; see `InteractionFindings.graph`."""
        return self.findings.graph(prompt)

    def sensitivity(
        self, source: str, target: str, prompt: str | None = None
    ) -> Estimate | Missing:
        """Return the Intersectional Sensitivity (IS) of a pair of axes.

        Parameters
        ----------
        source, target
            Names of the axes. If `source` is made uniform, the deviation of `target` from its
            reference decreases by IS.
        prompt
            Prompt of the graph. None for the graph of all prompts together or, if the run has only
            one prompt, for the graph of this prompt.

        Raises
        ------
        UsageError
            If the run does not contain this graph or pair.
        """
        edge = self.graph(prompt).edge(source, target)
        if edge is None:
            raise UsageError(f"the graph contains no pair of the axes {source!r} and {target!r}")
        return edge.sensitivity
