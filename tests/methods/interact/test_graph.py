"""BiasConnect on the planted world, labeled without error."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from askew.errors import UsageError
from askew.methods.interact.counts import GraphCounts, count_answers, pooled
from askew.methods.interact.findings import Edge, Graph, InteractionFindings
from askew.methods.interact.graph import graphs
from askew.methods.interact.plan import InteractionPlan
from askew.methods.interact.validation import UNMITIGATED, counts_of_run, validation
from askew.parts.scoring import Scoring
from askew.stats.contingency import ChiSquare, chi_squares
from askew.stats.distance import sensitivity
from askew.stats.intervals import benjamini_hochberg
from askew.studies.robustness import COLUMNS, simulated
from askew.studio.caption import CaptionContent
from askew.studio.planted import NAMES, conditional
from askew.studio.scene import ATTRIBUTES
from askew.types import Axis, Estimate, Missing, Prompt
from planted_answers import INSTRUMENT, known, observed, planned, planted, scored

NURSE = "a photo of a nurse"
MECHANIC = "a photo of a mechanic"
AXES = ("gender", "age", "clothing", "emotion")
PLAN = planned([NURSE, MECHANIC], AXES, bootstrap_samples=100)
PAPER_PLAN = PLAN.model_copy(update={"edge_rule": "paper"})
SCORING = Scoring.of(PLAN)


@pytest.fixture(scope="module")
def sets() -> dict[str, Any]:
    return planted(PLAN, 96)


@pytest.fixture(scope="module")
def findings(sets: dict[str, Any]) -> InteractionFindings:
    return scored(PLAN, sets)


@pytest.fixture(scope="module")
def entry(sets: dict[str, Any]) -> Graph:
    return graph(count_answers(sets[NURSE], PLAN.prompts[0].axes, INSTRUMENT), NURSE)


def graph(counted: GraphCounts, prompt: str | None, plan: InteractionPlan = PLAN) -> Graph:
    return graphs({prompt: counted}, plan, SCORING)[0]


def edge(entry: Graph, source: str, target: str) -> Edge:
    matching = entry.edge(source, target)
    assert matching is not None
    return matching


def test_tables_have_a_row_per_counterfactual_and_a_column_per_value(sets: dict[str, Any]) -> None:
    counted = count_answers(sets[NURSE], PLAN.prompts[0].axes, INSTRUMENT)
    table = counted.contingency("gender", "age")
    assert table.shape == (2, 3)
    assert table.sum(axis=1).tolist() == [96, 96]
    female = next(s for s in sets[NURSE] if s.name == "gender: female")
    assert table[1, 0] == sum(value == "young" for value in female.values[INSTRUMENT]["age"])


def test_the_test_of_a_pair_is_pearsons(entry: Graph) -> None:
    tested = edge(entry, "gender", "age")
    table = np.array(entry.counts.after["gender"]["age"])
    assert tested.chi2 == pytest.approx(
        chi2_contingency(table, correction=False).statistic, abs=1e-10
    )
    assert tested.significant
    assert (tested.q or 0) >= (tested.p or 1)


def test_the_planted_edges_and_the_direct_effect_are_significant(entry: Graph) -> None:
    assert edge(entry, "gender", "age").significant  # planted: gender -> age, clothing -> emotion
    assert edge(entry, "clothing", "emotion").significant
    assert known(edge(entry, "gender", "gender").sensitivity).low > 0.2
    assert not edge(entry, "emotion", "gender").significant


def test_the_value_of_equation_4_is_reported_with_its_bias_corrected_value(entry: Graph) -> None:
    measured = edge(entry, "gender", "age")
    counts = entry.counts
    after = np.mean([np.array(row) / sum(row) for row in counts.after["gender"]["age"]], axis=0)
    plain = float(sensitivity(counts.initial["age"], after, np.ones(3), "wasserstein"))
    assert measured.plug_in == pytest.approx(plain, abs=1e-12)
    assert known(measured.sensitivity).value != measured.plug_in
    assert measured.as_read is None  # nothing was corrected


def test_a_reference_from_few_images_widens_intervals(sets: dict[str, Any]) -> None:
    axes = [
        axis.model_copy(
            update={
                "reference": dict.fromkeys(axis.values, 1 / len(axis.values)),
                "reference_images": pictures,
            }
        )
        for axis, pictures in zip(PLAN.prompts[0].axes[:2], (None, 24), strict=True)
    ]
    exact, counted = (
        graph(count_answers(sets[NURSE], planned_axes, INSTRUMENT), NURSE)
        for planned_axes in (PLAN.prompts[0].axes[:2], axes)
    )
    for source, wider in (("gender", False), ("age", True)):
        e, c = (
            known(edge(measured, "gender", source).sensitivity) for measured in (exact, counted)
        )
        assert (c.high - c.low > e.high - e.low + 0.01) is wider


def test_no_family_of_q_contains_an_axis_with_itself(entry: Graph) -> None:
    """The test of an axis with itself is significant by construction.

    In one family with it, 30 % of fair graphs had a false pair at q < .05.
    """
    for direct in (False, True):
        family = [measured for measured in entry.edges if measured.direct is direct]
        effects = [known(measured.sensitivity) for measured in family]
        expected = benjamini_hochberg([e.p for e in effects]).tolist()
        assert [e.q for e in effects] == pytest.approx(expected)
    between = [measured for measured in entry.edges if not measured.direct]
    assert [measured.q for measured in between] == pytest.approx(
        benjamini_hochberg([measured.p for measured in between]).tolist()
    )
    assert {measured.q for measured in entry.edges if measured.direct} == {None}


def test_without_bias_there_are_only_direct_effects() -> None:
    fair = planted(PLAN, 48, bias=0.0)
    fair_graph = graph(count_answers(fair[NURSE], PLAN.prompts[0].axes, INSTRUMENT), NURSE)
    assert [e for e in fair_graph.edges if e.significant and e.source != e.target] == []
    assert fair_graph.most_influenced is None


def test_edges_are_those_with_a_small_q_or_by_the_papers_rule_with_a_small_p(
    sets: dict[str, Any],
) -> None:
    few = [observed.picked(range(16)) for observed in sets[NURSE]]
    counted = count_answers(few, PLAN.prompts[0].axes, INSTRUMENT)
    by_q = graph(counted, NURSE)
    by_p = graph(counted, NURSE, PAPER_PLAN)
    between = [measured for measured in by_q.edges if not measured.direct]
    assert all(measured.significant == ((measured.q or 0) < 0.05) for measured in between)
    assert all(measured.significant == ((measured.p or 0) < 1e-4) for measured in by_p.edges)
    assert [edge(by_q, e.source, e.target).significant for e in by_p.drawn] == [True] * len(
        by_p.drawn
    )
    assert len(by_q.drawn) > len(by_p.drawn)
    assert (by_q.edge_rule, by_q.alpha, by_p.edge_rule, by_p.alpha) == ("q", 0.05, "paper", 1e-4)


def test_permutations_suffice_for_the_smallest_p_of_a_family() -> None:
    """999 permutations reach p = .001, and q = .05 of 56 pairs needs p < .0009."""
    table = np.array([[12, 0], [0, 12]])  # every expected count is 6
    rare = np.array([[9, 0, 0], [0, 5, 4]])
    for counts in (table, rare):
        (test,) = chi_squares([counts], rng=np.random.default_rng(0), threshold=0.05 / 56)
        assert isinstance(test, ChiSquare)
        assert test.p < 0.05 / 56


def test_pooling_adds_up_tables_and_has_stricter_edges(sets: dict[str, Any]) -> None:
    parts = [count_answers(sets[p.text], p.axes, INSTRUMENT) for p in PLAN.prompts]
    together = pooled(parts)
    assert (
        together.contingency("gender", "age").tolist()
        == sum(part.contingency("gender", "age") for part in parts).tolist()
    )
    pooled_graph = graph(together, None, PAPER_PLAN)
    assert pooled_graph.scope == "global"
    for measured in pooled_graph.edges:
        if measured.significant:
            assert measured.p is not None
            assert measured.p < PLAN.global_threshold
            assert measured.size > PLAN.least_sensitivity


@pytest.mark.parametrize("erring", [False, True])
def test_graphs_computed_together_equal_graphs_computed_separately(
    sets: dict[str, Any], erring: bool
) -> None:
    errors = (
        {"gender": np.array([[90, 10], [5, 95]]), "age": np.eye(3, dtype=int) * 85 + 5}
        if erring
        else {}
    )
    counted = {
        p.text: count_answers(sets[p.text], p.axes[:2], INSTRUMENT, errors) for p in PLAN.prompts
    }
    for joint, prompt in zip(graphs({**counted}, PLAN, SCORING), counted, strict=True):
        separate = graph(counted[prompt], prompt)
        assert joint.prompt == prompt
        assert known(joint.amplification).null == pytest.approx(known(separate.amplification).null)
        for measured in joint.edges:
            same = known(edge(separate, measured.source, measured.target).sensitivity)
            estimate = known(measured.sensitivity)
            assert (estimate.value, estimate.low, estimate.high, estimate.p) == pytest.approx(
                (same.value, same.low, same.high, same.p)
            )


def test_missing_answers_give_missing_scores_with_a_reason() -> None:
    prompt = PLAN.prompts[0]
    gone = [observed(variant, prompt.axes, 8, skip=8) for variant in prompt.prompts()]
    empty_graph = graph(count_answers(gone, prompt.axes, INSTRUMENT), NURSE)
    assert all(
        isinstance(e.untested, Missing) and e.p is None and not e.significant
        for e in empty_graph.edges
    )
    assert all(isinstance(e.sensitivity, Missing) for e in empty_graph.edges)
    assert isinstance(empty_graph.amplification, Missing)


def test_without_any_open_answer_scores_are_missing() -> None:
    opened = [axis.model_copy(update={"values": ()}) for axis in PLAN.prompts[0].axes[:2]]
    gone = [
        observed(variant, opened, 8, skip=8)
        for variant in PLAN.prompts[0].prompts()
        if variant.axis in (None, "gender", "age")
    ]
    empty_graph = graph(count_answers(gone, opened, INSTRUMENT), NURSE)
    assert all(
        isinstance(measured.sensitivity, Missing) and measured.p is None
        for measured in empty_graph.edges
    )


def test_a_prompt_without_baseline_images_has_tests_and_no_sensitivity(
    sets: dict[str, Any],
) -> None:
    without_baseline = graph(
        count_answers(sets[NURSE][1:], PLAN.prompts[0].axes, INSTRUMENT), NURSE
    )
    assert edge(without_baseline, "gender", "age").p is not None
    assert isinstance(edge(without_baseline, "gender", "age").sensitivity, Missing)


def test_open_answers_become_concepts_with_the_threshold_of_the_paper(sets: dict[str, Any]) -> None:
    prompt = PLAN.prompts[0]
    opened = [axis.model_copy(update={"values": ()}) for axis in prompt.axes]
    counted = count_answers(sets[NURSE], opened, INSTRUMENT)
    gender = next(axis for axis in counted.axes if axis.name == "gender")
    assert set(gender.values) == {"male", "female"}
    assert gender.reference == (0.5, 0.5)
    open_graph = graph(counted, NURSE, PAPER_PLAN)
    assert all(e.significant == (e.p < 0.05) for e in open_graph.edges)


def test_the_order_of_axes_does_not_change_the_graph(sets: dict[str, Any], entry: Graph) -> None:
    axes = PLAN.prompts[0].axes[::-1]
    other = graph(count_answers(sets[NURSE], axes, INSTRUMENT), NURSE)
    for measured in entry.edges:
        assert measured == edge(other, measured.source, measured.target)


def test_scores_include_all_prompts_and_the_pooled_graph(findings: InteractionFindings) -> None:
    assert [g.prompt for g in findings.biasconnect] == [None, NURSE, MECHANIC]
    assert {s.set for s in findings.shares} == {"initial"}


def test_the_two_halves_of_a_set_partition_its_images(sets: dict[str, Any]) -> None:
    first, second = (sets[NURSE][0].picked(range(k, 96, 2)) for k in (0, 1))
    assert {*first.pictures, *second.pictures} == set(sets[NURSE][0].pictures)
    assert not {*first.pictures} & {*second.pictures}


@pytest.mark.slow
def test_an_exact_mitigation_agrees_with_its_estimate(sets: dict[str, Any], entry: Graph) -> None:
    prompt = PLAN.prompts[0]
    counted = count_answers(sets[NURSE], prompt.axes, INSTRUMENT)
    # the images of all counterfactual prompts of an axis together are the mitigation
    mitigated = {}
    for axis in prompt.axes:
        counterfactuals = [s for s in sets[NURSE] if s.prompt.axis == axis.name]
        combined = _combined(counterfactuals)
        mitigated[axis.name] = count_answers([combined], prompt.axes, INSTRUMENT)
    without_baseline = validation({NURSE: counted}, [entry], {NURSE: mitigated}, SCORING)
    # no baseline images besides the baseline images of the estimates
    assert isinstance(without_baseline.overall_correlation, Missing)
    again = observed(Prompt(NURSE), prompt.axes, 96, seed=1)
    mitigated[UNMITIGATED] = count_answers([again], prompt.axes, INSTRUMENT)
    validated = validation({NURSE: counted}, [entry], {NURSE: mitigated}, SCORING)
    (only,) = validated.prompts
    assert {(e.source, e.target) for e in only.edges} >= {
        ("gender", "age"),
        ("clothing", "emotion"),
    }
    for e in only.edges:
        assert known(e.measured).value == pytest.approx(known(e.estimated).value, abs=0.15)
    assert 0 <= known(validated.made_worse).value <= 1


@pytest.mark.slow
def test_without_an_effect_only_the_correlation_of_the_paper_is_above_zero() -> None:
    """A mitigation without effect in a fair world, with each pair as an edge (appendix A.5)."""
    plan = planned([NURSE], AXES, edge_rule="paper", alpha=0.999999)
    prompt = plan.prompts[0]
    scoring = Scoring.of(plan)
    correlations = []
    paper_correlations = []
    claims = []
    for seed in range(6):
        sets = [observed(variant, prompt.axes, 32, 0.0, seed=seed) for variant in prompt.prompts()]
        counted = {NURSE: count_answers(sets, prompt.axes, INSTRUMENT)}
        mitigated = {}
        for k, name in enumerate((*AXES, UNMITIGATED), 50):
            images = [observed(Prompt(NURSE), prompt.axes, 32, 0.0, seed=100 * seed + k)]
            mitigated[name] = count_answers(images, prompt.axes, INSTRUMENT)
        entries = graphs(counted, plan, scoring)
        validated = validation(counted, entries, {NURSE: mitigated}, scoring)
        correlation = known(validated.overall_correlation)
        correlations.append(correlation.value)
        claims.append(correlation.p < 0.05)
        published = known(validated.paper_correlation)
        paper_correlations.append((published.value, published.null))
    assert abs(np.mean(correlations)) < 0.25
    assert sum(claims) <= 2
    mean = np.mean(paper_correlations, axis=0)
    # .48 in 400 simulations; the standard deviation of a single r is .3
    assert 0.35 < mean[1] < 0.75
    assert mean[0] > mean[1] - 0.35


def test_intervals_of_changes_stay_within_their_bounds(sets: dict[str, Any]) -> None:
    """Student's interval of three shares reached from −71 % to 188 %.

    It had no width where all three shares were equal.
    """
    small = PLAN.model_copy(update={"prompts": PLAN.prompts[:1]})
    few = {NURSE: [s.picked(range(0, 96, 6)) for s in sets[NURSE]]}
    for change in simulated(few, small, SCORING, repeats=2):
        for name, column in COLUMNS.items():
            least, most = column.bounds
            score = getattr(change, name)
            if isinstance(score, Estimate) and score.low is not None:
                assert least <= score.low < score.high <= most


@pytest.mark.slow
def test_fewer_images_and_more_errors_change_the_graph_more(sets: dict[str, Any]) -> None:
    small = PLAN.model_copy(update={"prompts": PLAN.prompts[:1]})
    fewer = {NURSE: [s.picked(range(0, 96, 2)) for s in sets[NURSE]]}
    changes = {
        (change.kind, change.size): change for change in simulated(fewer, small, SCORING, repeats=2)
    }
    sizes = {at: known(change.sensitivity_change).value for at, change in changes.items()}
    assert (
        known(changes["pictures", 40].rank_correlation).value
        > known(changes["errors", 0.4].rank_correlation).value
    )
    assert (
        known(changes["errors", 0.4].edges_kept).value
        < known(changes["pictures", 40].edges_kept).value
        <= 1
    )
    assert sizes["pictures", 8] > sizes["pictures", 40] > 0
    assert sizes["errors", 0.4] > sizes["errors", 0.05] > 0
    # the interval is over simulations, since there is a single prompt
    assert known(changes["errors", 0.4].sensitivity_change).low is not None


def test_baseline_images_of_another_run_can_be_the_mitigation(
    sets: dict[str, Any], findings: InteractionFindings
) -> None:
    prompt = PLAN.prompts[0]
    other = findings.shares
    counts_there = counts_of_run("runs/other", other, prompt, INSTRUMENT)
    here = count_answers([sets[NURSE][0]], prompt.axes, INSTRUMENT)
    assert counts_there is not None
    assert {axis: counts.tolist() for axis, counts in counts_there.initial.items()} == {
        axis: counts.tolist() for axis, counts in here.initial.items()
    }
    chef = prompt.model_copy(update={"text": "a photo of a chef"})
    assert counts_of_run("runs/other", other, chef, INSTRUMENT) is None
    with pytest.raises(UsageError, match="labeled by truth"):
        counts_of_run("runs/other", other, prompt, "clip")


class Erring:
    """An instrument that labels this share of images correctly.

    Its errors are known from 300 labeled images per value.
    """

    def __init__(self, right: float) -> None:
        self.right = right

    def rates(self, values: int) -> Any:
        wrong = (1 - self.right) / (values - 1)
        return np.full((values, values), wrong) + np.eye(values) * (self.right - wrong)

    def known_errors(self, axis: Axis) -> Any:
        rng = np.random.default_rng(len(axis.values))
        return rng.multinomial(300, self.rates(len(axis.values)))

    def label_all(self, sets: Any, plan: InteractionPlan, rng: np.random.Generator) -> list[Any]:
        return [self.label(observed_set, plan, rng) for observed_set in sets]

    def label(self, observed_set: Any, plan: InteractionPlan, rng: np.random.Generator) -> Any:
        """The set with labels by this instrument."""
        columns = {}
        for axis in plan.prompts[0].axes:
            rates = self.rates(len(axis.values))
            columns[axis.name] = tuple(
                str(rng.choice(axis.values, p=rates[axis.values.index(value)]))
                for value in observed_set.values[INSTRUMENT][axis.name]
            )
        return replace(observed_set, values={INSTRUMENT: columns})


def true_sensitivity(occupation: str, source: str, target: str) -> float:
    """The true sensitivity in the planted world, with a uniform reference."""

    def shares(stated: dict[str, str]) -> Any:
        table = conditional(CaptionContent(stated, occupation, True, ()), 1.0)
        return table.sum(axis=tuple(k for k, name in enumerate(NAMES) if name != target))

    after = np.mean([shares({source: value}) for value in ATTRIBUTES[source]], axis=0)
    distance = "wasserstein" if target == "age" else "total_variation"
    return float(sensitivity(shares({}), after, np.ones(len(after)), distance))


@pytest.mark.slow
def test_correction_for_labeling_errors_is_closer_to_the_planted_truth() -> None:
    plan = planned(
        [f"a photo of a {occupation}" for occupation in ("nurse", "mechanic", "ceo")],
        ("gender", "age"),
    )
    noisy = Erring(0.8)
    rng = np.random.default_rng(0)
    read = {
        text: noisy.label_all(of_prompt, plan, rng) for text, of_prompt in planted(plan, 96).items()
    }
    errors = {
        (INSTRUMENT, axis.name): noisy.known_errors(axis.axis()) for axis in plan.prompts[0].axes
    }
    graphs = scored(plan, read, errors).biasconnect[1:]
    deviations: dict[str, list[float]] = {"as read": [], "corrected": []}
    covered = []
    for prompt, graph in zip(plan.prompts, graphs, strict=True):
        for source, target in (("gender", "gender"), ("gender", "age"), ("age", "age")):
            measured = edge(graph, source, target)
            truth = true_sensitivity(prompt.text.split()[-1], source, target)
            estimate = known(measured.sensitivity)
            deviations["as read"].append(abs((measured.as_read or 0) - truth))
            deviations["corrected"].append(abs(estimate.value - truth))
            covered.append(estimate.low <= truth <= estimate.high)
    assert np.mean(covered) > 0.8
    assert np.mean(deviations["corrected"]) < 0.7 * np.mean(deviations["as read"])
    plain = plan.model_copy(update={"no_error_correction": True})
    uncorrected = scored(plain, read, errors).biasconnect[1]
    assert edge(uncorrected, "gender", "gender").as_read is None
    assert edge(uncorrected, "gender", "gender").sensitivity.value == pytest.approx(
        edge(graphs[0], "gender", "gender").as_read, abs=0.02
    )


def _combined(sets: list[Any]) -> Any:
    columns = {}
    for name in sets[0].values[INSTRUMENT]:
        columns[name] = tuple(v for s in sets for v in s.values[INSTRUMENT][name])
    pictures = tuple(p for s in sets for p in s.pictures)
    captions = tuple(c for s in sets for c in s.captions)
    return replace(
        sets[0],
        prompt=Prompt(NURSE),
        pictures=pictures,
        values={INSTRUMENT: columns},
        captions=captions,
    )
