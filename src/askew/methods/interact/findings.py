"""What `askew interact` finds: graphs of which axis moves which, and what follows."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal, Self

from askew.errors import UsageError
from askew.findings import E, Head, IdentifyingField
from askew.method import Result
from askew.methods.interact.plan import InteractionPlan
from askew.parts.survey.confusion import Confusion
from askew.parts.survey.missing_pictures import MissingPictures
from askew.parts.survey.shares import SetShares
from askew.types import Estimate, Missing, Scale, record

Effect = Literal["better", "worse", "changed"]
CountRow = tuple[int, ...]

AS_IT_IS = "as it is"


@record
class GraphAxis:
    """An axis of a graph: the values that are seen on it, and those of its counterfactual prompts.

    ideal         share of every value
    open          whether the values are concepts of open answers
    known_errors  answers of the instrument (columns) to pictures whose truth is known (rows)
    reference_images  in how many pictures of a reference the ideal was counted; None: it is exact
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
        """Whether the counts of both can be added up."""
        same_values = (self.open and other.open) or self.values == other.values
        return same_values and self.counterfactuals == other.counterfactuals


@record
class Edge:
    """A pair of axes: whether `target` depends on what prompts say of `source`, and if that is for
    the better.

    chi2 … q      Pearson's test of the counts, q among all pairs of different axes; None where `untested` says why not
    sensitivity   Intersectional Sensitivity (Eq. 4), debiased: how much nearer to its ideal the target comes
    simultaneous  its interval together with those of all pairs of different axes of all graphs of the run
    plug_in       Eq. 4 as it stands, of the shares as they were read
    as_read       the debiased value without a correction for the instrument's errors, where there was one
    significant   whether the pair is an edge of the graph
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
        """Whether this is the effect of an axis on itself."""
        return self.source == self.target

    @property
    def drawn(self) -> bool:
        """Whether this is an edge between different axes whose sensitivity is known."""
        return self.significant and not self.direct and isinstance(self.sensitivity, Estimate)

    @property
    def size(self) -> float:
        """|IS|, 0 where it is missing."""
        return abs(self.sensitivity.value) if isinstance(self.sensitivity, Estimate) else 0.0

    @property
    def effect(self) -> Effect:
        """Surely nearer to the ideal, surely further from it, or neither: by the simultaneous
        interval.
        """
        low, high = self.simultaneous or (0.0, 0.0)
        return "better" if low > 0 else "worse" if high < 0 else "changed"

    @property
    def shown(self) -> E:
        """The sensitivity with its simultaneous interval."""
        e = self.sensitivity
        if isinstance(e, Missing) or self.simultaneous is None:
            return e
        return replace(
            e,
            low=self.simultaneous[0],
            high=self.simultaneous[1],
            interval=f"{e.interval}, simultaneous",
        )


@record
class Counts:
    """The tables behind a graph, over all its prompts.

    initial  by target: answers in the initial pictures, by value
    after    by source and target: a row of answers per counterfactual prompt of the source
    missing  by target: pictures of all sets without an answer
    """

    initial: Mapping[str, CountRow]
    after: Mapping[str, Mapping[str, tuple[CountRow, ...]]]
    missing: Mapping[str, int]


@record
class Graph:
    """Which axis moves which in the pictures of a prompt, or of all together where `prompt` is
    None.

    alpha           p below which a pair is an edge, where |IS| exceeds `least_sensitivity`
    amplification   sum of |IS| over pairs of different axes (Eq. 14); negative_share: of pairs with IS < 0 (A.5)
    most_influenced the axis on which most others act (MaxInf); most_influential: that acts on most others (MaxImp)
    """

    scope: Annotated[Literal["prompt", "global"], IdentifyingField(False)]
    prompt: str | None
    instrument: str
    alpha: float
    least_sensitivity: float
    axes: tuple[GraphAxis, ...]
    edges: tuple[Edge, ...]
    most_influenced: Annotated[str | None, IdentifyingField(False)]
    most_influential: Annotated[str | None, IdentifyingField(False)]
    amplification: E
    negative_share: E
    counts: Counts

    @property
    def drawn(self) -> list[Edge]:
        """The edges to draw, the strongest first."""
        return sorted((one for one in self.edges if one.drawn), key=lambda one: -one.size)

    @property
    def tested(self) -> int:
        """How many pairs of different axes were tested."""
        return sum(not one.direct and one.p is not None for one in self.edges)

    @property
    def moved(self) -> list[Edge]:
        """The pairs of different axes of which it is sure which way the second moves, the strongest
        first.
        """
        sure = (one for one in self.edges if not one.direct and one.effect != "changed")
        return sorted(sure, key=lambda one: -one.size)

    def edge(self, source: str, target: str) -> Edge | None:
        """The pair of two axes."""
        return next(
            (one for one in self.edges if (one.source, one.target) == (source, target)), None
        )

    def axis(self, name: str) -> GraphAxis:
        """An axis by its name."""
        return next(one for one in self.axes if one.name == name)


@record
class EdgeOverPrompts:
    """A pair of axes over the graphs of all prompts.

    prompts            that could be tested; edges: in how many the pair is an edge
    better, worse      in how many making `source` equal surely moves `target` nearer to its ideal, further from it
    mean               IS averaged over the prompts
    p, q               that `target` changes with `source` in no prompt, by Fisher's sum of their log p
    differ_p, differ_q that IS is the same in all prompts, by Cochran's Q; q of both among all pairs of different axes
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
    """IS as the counterfactual prompts tell it, and as measured once the source is really
    mitigated.
    """

    source: str
    target: str
    estimated: E
    measured: E


@record
class ValidatedPrompt:
    """The edges of a prompt between different axes of which the source was mitigated."""

    prompt: str
    edges: tuple[ValidatedEdge, ...]
    correlation: E


@record
class Validation:
    """Estimates against what a real mitigation did (Eq. 5-8, Table 1), on initial pictures of its
    own.

    overall_correlation  over the edges of all prompts; mean_correlation: of the prompts' own
    paper_correlation    overall as in the paper, estimates and measurements with the same initial pictures; null: its
                         mean if nothing happens
    made_worse           share of all pairs of different axes that mitigation moved away from their ideal (A.5)
    """

    prompts: tuple[ValidatedPrompt, ...]
    mean_correlation: E
    overall_correlation: E
    paper_correlation: E
    made_worse: E


@record
class InteractionFindings(Head):
    """The content of results.json. Graphs of several prompts begin with that of all together."""

    plan: InteractionPlan
    missing_pictures: tuple[MissingPictures, ...]
    shares: tuple[SetShares, ...]
    confusion: tuple[Confusion, ...]
    biasconnect: tuple[Graph, ...]
    over_prompts: tuple[EdgeOverPrompts, ...]
    validation: Validation | None

    def graph(self, prompt: str | None = None) -> Graph:
        """The graph of a prompt; by default of all prompts together, or of the only one. Raises
        UsageError.
        """
        for one in self.biasconnect:
            if prompt in (None, one.prompt):
                return one
        known = ", ".join(repr(p.text) for p in self.plan.prompts)
        raise UsageError(f"this run has no graph of {prompt!r}; it has: {known}")


@dataclass(frozen=True)
class InteractionResult(Result[InteractionPlan, InteractionFindings]):
    """A finished run of `askew interact`."""

    def graph(self, prompt: str | None = None) -> Graph:
        """The graph of a prompt; by default of all prompts together, or of the only one. Raises
        UsageError.
        """
        return self.findings.graph(prompt)

    def sensitivity(
        self, source: str, target: str, prompt: str | None = None
    ) -> Estimate | Missing:
        """How much nearer to its ideal the axis `target` comes when `source` is made equal. Raises
        UsageError.
        """
        edge = self.graph(prompt).edge(source, target)
        if edge is None:
            raise UsageError(f"this graph has no pair of axes {source!r} and {target!r}")
        return edge.sensitivity
