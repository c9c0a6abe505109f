"""Do the estimates hold where an axis is really mitigated? (BiasConnect, Eq. 5-8, Table 1, appendix
A.5 and A.7.)
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from askew.errors import UsageError
from askew.methods.interact.findings import (
    AS_IT_IS,
    Graph,
    ValidatedEdge,
    ValidatedPrompt,
    Validation,
)
from askew.methods.interact.graph import Counts, GraphCounts
from askew.parts.scoring import Scoring
from askew.parts.survey.shares import SetShares
from askew.plan import PromptPlan
from askew.stats.distance import normalised
from askew.stats.interaction_graph import (
    AxisPair,
    correlation,
    mean_correlation,
    negative_share,
    pearson,
)
from askew.stats.intervals import Floats, p_value
from askew.stats.sensitivity import AxisPairSample, debiased_value, interactions
from askew.types import Estimate, Missing

Mitigated = Mapping[str, GraphCounts]
"""What is seen in initial pictures, by the axis that is mitigated in them; under `AS_IT_IS` in
others as they are, no part of the estimates, where there are.
"""

Same = tuple[tuple[str, str], AxisPairSample, AxisPairSample]
"""Of a prompt and a target: what is known of a pair, and the same with mitigated pictures."""

SIMULATIONS = 100


def of_run(
    name: str, found: Iterable[SetShares], prompt: PromptPlan, instrument: str
) -> GraphCounts | None:
    """What is seen in the initial pictures of another run; None if it has none of this prompt.
    Raises UsageError where that run read them with another instrument, or other values.
    """
    initial = [one for one in found if (one.prompt, one.set) == (prompt.text, "initial")]
    own = {one.axis: one for one in initial if one.instrument == instrument}
    if initial and not own:
        others = ", ".join(sorted({one.instrument for one in initial}))
        raise UsageError(
            f"the pictures of the run {name} were read by {others}; {instrument} is needed to compare"
        )
    for axis in prompt.axes:
        if axis.name in own and set(own[axis.name].counts) != set(axis.values):
            listed = ", ".join(own[axis.name].counts)
            raise UsageError(
                f"{name} has the values {listed} of {axis.name}; here they are {', '.join(axis.values)}"
            )
    shared = {axis.name: axis.values for axis in prompt.axes if axis.name in own}
    counts = {
        axis: np.array([[own[axis].counts[value] for value in shared[axis]]]) for axis in shared
    }
    return (
        GraphCounts((), counts, {}, {axis: sum(own[axis].missing.values()) for axis in shared})
        if shared
        else None
    )


def validation(
    counted: Mapping[str, GraphCounts],
    graphs: Sequence[Graph],
    mitigated: Mapping[str, Mitigated],
    scoring: Scoring,
) -> Validation:
    """Estimates against what mitigation did, over the edges between different axes, of each prompt
    and of all. The share of pairs that mitigation made worse is over all pairs of different axes,
    whether they are edges or not.
    """
    axes = list(dict.fromkeys(axis.name for tables in counted.values() for axis in tables.axes))

    def grid(found: Mapping[AxisPair, Estimate | Missing]) -> Floats:
        """Values by source and target, NaN where there is none."""
        rows = [
            [e.value if isinstance(e := found.get((x, y)), Estimate) else np.nan for y in axes]
            for x in axes
        ]
        return np.array(rows)

    def correlated(
        grids: Sequence[tuple[Floats, Floats]], name: str, fresh: bool
    ) -> Estimate | Missing:
        if not fresh:
            return Missing(
                "not_asked",
                "the same initial pictures on both sides correlate where nothing is done",
            )
        estimated, measured = (np.array(side) for side in zip(*grids, strict=True))
        return correlation(
            estimated,
            measured,
            rng=scoring.rng(name, scoring.instrument, "validation"),
            **scoring.interval_options,
        )

    by_prompt = {one.prompt: one for one in graphs}
    prompts = []
    grids = []
    effects = list[Estimate]()
    papers = []
    for text, sets in mitigated.items():
        known = {
            (x, y): counted[text].pair(x, y)
            for x, y in counted[text].pairs()
            if x != y and x in sets and y in sets[x].initial
        }
        again = {at: _after(one, at, sets, fresh=True) for at, one in known.items()}
        rng = scoring.rng(text, scoring.instrument, "mitigated")
        after = dict(
            zip(
                again,
                interactions([*again.values()], rng=rng, **scoring.interval_options),
                strict=True,
            )
        )
        edges = {
            (e.source, e.target): e.sensitivity
            for e in by_prompt[text].drawn
            if (e.source, e.target) in after
        }
        grids.append((grid(edges), grid(after)))
        told = tuple(ValidatedEdge(*at, estimated=e, measured=after[at]) for at, e in edges.items())
        prompts.append(ValidatedPrompt(text, told, correlated(grids[-1:], text, AS_IT_IS in sets)))
        effects += [effect for effect in after.values() if isinstance(effect, Estimate)]
        papers += [
            ((text, at[1]), known[at], _after(known[at], at, sets, fresh=False)) for at in edges
        ]
    return Validation(
        prompts=tuple(prompts),
        mean_correlation=mean_correlation(
            [one.correlation for one in prompts], level=scoring.level
        ),
        overall_correlation=correlated(
            grids, "all prompts", all(AS_IT_IS in own for own in mitigated.values())
        ),
        paper_correlation=paper_correlation(
            papers, scoring.rng(scoring.instrument, "nothing done")
        ),
        made_worse=negative_share(effects),
    )


def _after(known: AxisPairSample, at: AxisPair, sets: Mitigated, *, fresh: bool) -> AxisPairSample:
    """A pair with the mitigated pictures in the place of the counterfactual ones (Eq. 8), and with
    initial pictures of its own where there are some.
    """
    (x, y), again = at, sets.get(AS_IT_IS) if fresh else None
    made = replace(known, counterfactual=sets[x].initial[y], missing=sets[x].missing[y])
    return (
        made if again is None or y not in again.initial else replace(made, initial=again.initial[y])
    )


def paper_correlation(asked: Sequence[Same], rng: np.random.Generator) -> Estimate | Missing:
    """Pearson's r over the edges with the same initial pictures in estimates and measurements (Eq.
    7-8). The shared noise alone makes it large: null is its mean, and p how often it is as large,
    in simulations of a mitigation that changes nothing, all sets of a target being drawn from what
    they show together.
    """

    def values(pairs: Iterable[AxisPairSample]) -> Floats:
        found = (debiased_value(one) for one in pairs)
        return np.array([np.nan if isinstance(one, Missing) else one for one in found])

    def still(sets: ArrayLike, shares: Floats) -> Counts:
        return rng.multinomial(np.atleast_2d(sets).sum(axis=-1), shares)

    r = pearson(values(a for _, a, _ in asked), values(b for _, _, b in asked))
    if not np.isfinite(r):
        return Missing(
            "not_asked", "a correlation needs at least three pairs whose values are not all equal"
        )
    together: dict[tuple[str, str], Floats] = {}
    for key, *both in asked:
        sets = np.vstack([both[0].initial, *(one.counterfactual for one in both)])
        together[key] = together.get(key, 0) + normalised(sets.sum(axis=0))
    found = []
    for _ in range(SIMULATIONS):
        initial = dict[tuple[str, str], Counts]()
        sides = []
        for key, *both in asked:
            shares = normalised(together[key])
            same = initial.setdefault(key, still(both[0].initial, shares))
            sides.append(
                [
                    replace(p, initial=same, counterfactual=still(p.counterfactual, shares))
                    for p in both
                ]
            )
        found.append(pearson(values(a for a, _ in sides), values(b for _, b in sides)))
    null = np.array(found)[np.isfinite(found)]
    return (
        Estimate(r, n=len(asked), null=float(null.mean()), max=1.0, p=p_value(r, null))
        if len(null)
        else Estimate(r)
    )
