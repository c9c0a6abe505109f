"""From what was seen in pictures to the findings of BiasConnect."""

from collections.abc import Iterator

from askew.findings import Head, LocatedEstimate
from askew.methods.interact.findings import InteractionFindings
from askew.methods.interact.gather import InteractionGathered
from askew.methods.interact.graph import GraphCounts, graphs, over_prompts, pooled, tables
from askew.methods.interact.plan import InteractionPlan
from askew.methods.interact.validation import validation
from askew.parts.scoring import Scoring
from askew.parts.survey.missing_pictures import missing_pictures
from askew.parts.survey.shares import shares
from askew.parts.survey.verdicts import with_verdicts
from askew.types import Estimate


def score(plan: InteractionPlan, found: InteractionGathered, head: Head) -> InteractionFindings:
    """The findings of a run. Graphs are those of the first instrument; of several prompts there is
    one of all together, before the others.
    """
    scoring = Scoring.of(plan)
    sets = found.observed
    errors = {
        axis: n
        for (name, axis), n in found.errors.items()
        if name == scoring.instrument and n.sum(axis=1).all() and not plan.no_error_correction
    }  # the reference has seen every value
    counted = {
        one.text: tables(sets[one.text], one.axes, scoring.instrument, errors, plan.distance)
        for one in plan.prompts
    }
    every: dict[str | None, GraphCounts] = (
        {None: pooled(list(counted.values()))} if len(counted) > 1 else {}
    )
    every.update(counted)
    drawn = tuple(graphs(every, plan, scoring))
    initial = (
        shares(one, axis, prompt.text, Scoring.of(plan, name), found.errors.get((name, axis.name)))
        for prompt in plan.prompts
        for one in sets[prompt.text]
        if one.prompt.axis is None
        for axis in prompt.closed
        for name in plan.vqa
    )
    return head.into(
        InteractionFindings,
        missing_pictures=missing_pictures(sets, scoring),
        shares=with_verdicts(initial)[0],
        confusion=found.confusion,
        biasconnect=drawn,
        over_prompts=over_prompts(drawn, plan.confidence),
        validation=validation(counted, drawn, found.mitigated, scoring) if plan.mitigated else None,
    )


def pulls(found: InteractionFindings) -> Iterator[LocatedEstimate]:
    """The sensitivities of edges between different axes, for --fail-if: picked by either axis."""
    for k, graph in enumerate(found.biasconnect):
        for j, edge in enumerate(graph.edges):
            if edge.significant and not edge.direct and isinstance(edge.sensitivity, Estimate):
                where = (
                    {"prompt": graph.prompt} if graph.prompt else {"scope": "all prompts together"}
                )
                names = {**where, "source": edge.source, "target": edge.target}
                yield LocatedEstimate(
                    "sensitivity",
                    ("biasconnect", k, "edges", j, "sensitivity"),
                    names,
                    edge.sensitivity,
                )
