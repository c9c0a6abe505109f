"""Compute BiasConnect's findings from the answers about images."""

from collections.abc import Iterator, Mapping

from askew.findings import Head, LocatedEstimate
from askew.methods.interact.counts import Counts, GraphCounts, count_answers, pooled
from askew.methods.interact.findings import Graph, InteractionFindings
from askew.methods.interact.gather import InteractionGathered
from askew.methods.interact.graph import graphs, over_prompts
from askew.methods.interact.plan import InteractionPlan
from askew.methods.interact.validation import validation
from askew.parts.scoring import Scoring
from askew.parts.survey.missing_pictures import missing_pictures
from askew.parts.survey.verdicts import survey_shares
from askew.types import Estimate


def score(plan: InteractionPlan, gathered: InteractionGathered, head: Head) -> InteractionFindings:
    """Compute the findings of a run of `askew interact`.

    Parameters
    ----------
    plan
        Plan of the run.
    gathered
        Answers about the images.
    head
        Fields that the findings of all methods share.

    Returns
    -------
    InteractionFindings
        Findings with the graphs for the first instrument. If there are several prompts, the graph
        of all prompts together comes first.
    """
    scoring = Scoring.of(plan)
    counted = _counted(plan, gathered, scoring.instrument)
    by_prompt: dict[str | None, GraphCounts] = {}
    if len(counted) > 1:
        by_prompt[None] = pooled(list(counted.values()))
    by_prompt.update(counted)
    all_graphs = tuple(graphs(by_prompt, plan, scoring))
    validated = None
    if plan.mitigated:
        validated = validation(counted, all_graphs, gathered.mitigated, scoring)
    judged = survey_shares(plan, gathered.observed, gathered.errors)
    return head.into(
        InteractionFindings,
        missing_pictures=missing_pictures(gathered.observed, scoring),
        shares=judged.of_sets,
        confusion=gathered.confusion,
        biasconnect=all_graphs,
        over_prompts=over_prompts(all_graphs, plan.confidence),
        validation=validated,
        shares_over_prompts=judged.over_prompts,
    )


def _counted(
    plan: InteractionPlan, gathered: InteractionGathered, instrument: str
) -> dict[str, GraphCounts]:
    """Return the counts of answers, keyed by prompt."""
    errors: Mapping[str, Counts] = {}
    if not plan.no_error_correction:
        errors = _known_errors(gathered, instrument)
    counted = {}
    for prompt in plan.prompts:
        counted[prompt.text] = count_answers(
            gathered.observed[prompt.text], prompt.axes, instrument, errors, plan.distance
        )
    return counted


def _known_errors(gathered: InteractionGathered, instrument: str) -> dict[str, Counts]:
    """Return an instrument's known errors, keyed by axis.

    An axis is left out unless images of every true value are labeled.
    """
    return {
        axis: counts
        for (name, axis), counts in gathered.errors.items()
        if name == instrument and counts.sum(axis=1).all()
    }


def edge_sensitivities(findings: InteractionFindings) -> Iterator[LocatedEstimate]:
    """Yield the sensitivities of edges between different axes, for --fail-if."""
    for place, graph in enumerate(findings.biasconnect):
        yield from _sensitivities_of_graph(place, graph)


def _sensitivities_of_graph(place: int, graph: Graph) -> Iterator[LocatedEstimate]:
    names = {"prompt": graph.prompt} if graph.prompt else {"scope": "all prompts together"}
    for k, edge in enumerate(graph.edges):
        if edge.significant and not edge.direct and isinstance(edge.sensitivity, Estimate):
            yield LocatedEstimate(
                "sensitivity",
                ("biasconnect", place, "edges", k, "sensitivity"),
                {**names, "source": edge.source, "target": edge.target},
                edge.sensitivity,
            )
