"""BiasConnect on the planted world, read without error."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from askew.errors import UsageError
from askew.methods.biasconnect import biasconnect, graphs
from askew.methods.interaction_counts import pooled, tables
from askew.methods.interaction_mixture import half, measured_distances, pictures_by_prompt, plan_of_mixture
from askew.methods.interaction_robustness import robustness
from askew.methods.interaction_validation import Mitigation, of_pictures, of_run, validation
from askew.methods.joint import joint
from askew.plans.interactions import InteractionPlan, JointIdeal
from askew.scoring.interactions import interaction_scoring, score_interactions
from askew.stats.distance import sensitivity
from askew.studio.caption import Said
from askew.studio.planted import NAMES, conditional
from askew.studio.scene import ATTRIBUTES
from askew.types import Axis, Estimate, Missing, Prompt
from planted_answers import INSTRUMENT, observed, planned, planted

NURSE, MECHANIC = "a photo of a nurse", "a photo of a mechanic"
AXES = ("gender", "age", "clothing", "emotion")
PLAN = planned([NURSE, MECHANIC], AXES)
SCORING = interaction_scoring(PLAN)


@pytest.fixture(scope="module")
def sets() -> dict[str, Any]:
    return planted(PLAN, 96)


@pytest.fixture(scope="module")
def entry(sets: dict[str, Any]) -> dict[str, Any]:
    return biasconnect(tables(sets[NURSE], PLAN.prompts[0].axes, INSTRUMENT), PLAN, SCORING, NURSE)


def edge(entry: dict[str, Any], source: str, target: str) -> dict[str, Any]:
    found: dict[str, Any] = next(e for e in entry["edges"] if (e["source"], e["target"]) == (source, target))
    return found


def test_tables_hold_a_row_per_counterfactual_and_a_column_per_value(sets: dict[str, Any]) -> None:
    counted = tables(sets[NURSE], PLAN.prompts[0].axes, INSTRUMENT)
    table = counted.contingency("gender", "age")
    assert table.shape == (2, 3)
    assert table.sum(axis=1).tolist() == [96, 96]
    own = next(s for s in sets[NURSE] if s.name == "gender: female")
    assert table[1, 0] == sum(value == "young" for value in own.values[INSTRUMENT]["age"])


def test_the_test_of_a_pair_is_pearsons(entry: dict[str, Any]) -> None:
    found = edge(entry, "gender", "age")
    table = np.array(entry["counts"]["after"]["gender"]["age"])
    assert found["chi2"] == pytest.approx(chi2_contingency(table, correction=False).statistic, abs=1e-10)
    assert found["significant"]
    assert found["q"] >= found["p"]


def test_the_planted_edges_are_found_and_the_direct_effect_is_kept(entry: dict[str, Any]) -> None:
    assert edge(entry, "gender", "age")["significant"]  # planted: gender -> age, clothing -> emotion
    assert edge(entry, "clothing", "emotion")["significant"]
    assert edge(entry, "gender", "gender")["sensitivity"].low > 0.2
    assert not edge(entry, "emotion", "gender")["significant"]


def test_without_a_bias_there_are_only_direct_effects() -> None:
    fair = planted(PLAN, 48, bias=0.0)
    found = biasconnect(tables(fair[NURSE], PLAN.prompts[0].axes, INSTRUMENT), PLAN, SCORING, NURSE)
    assert [e for e in found["edges"] if e["significant"] and e["source"] != e["target"]] == []
    assert found["most_influenced"] is None


def test_pooling_adds_up_tables_and_has_stricter_edges(sets: dict[str, Any]) -> None:
    parts = [tables(sets[p.text], p.axes, INSTRUMENT) for p in PLAN.prompts]
    together = pooled(parts)
    assert (
        together.contingency("gender", "age").tolist()
        == sum(part.contingency("gender", "age") for part in parts).tolist()
    )
    found = biasconnect(together, PLAN, SCORING, None)
    assert found["scope"] == "global"
    for one in found["edges"]:
        if one["significant"]:
            assert one["p"] < PLAN.global_threshold
            assert abs(one["sensitivity"].value) > PLAN.least_sensitivity


@pytest.mark.parametrize("erring", [False, True])
def test_graphs_made_at_once_are_those_made_one_by_one(sets: dict[str, Any], erring: bool) -> None:
    known = {"gender": np.array([[90, 10], [5, 95]]), "age": np.eye(3, dtype=int) * 85 + 5} if erring else {}
    counted = {p.text: tables(sets[p.text], p.axes[:2], INSTRUMENT, known) for p in PLAN.prompts}
    for together, prompt in zip(graphs({**counted}, PLAN, SCORING), counted, strict=True):
        alone = biasconnect(counted[prompt], PLAN, SCORING, prompt)
        assert together["prompt"] == prompt
        assert together["amplification"].null == pytest.approx(alone["amplification"].null)
        for one in together["edges"]:
            same, found = edge(alone, one["source"], one["target"])["sensitivity"], one["sensitivity"]
            assert (found.value, found.low, found.high, found.p) == pytest.approx(
                (same.value, same.low, same.high, same.p)
            )


def test_missing_answers_give_missing_and_a_reason() -> None:
    prompt = PLAN.prompts[0]
    gone = [observed(one, prompt.axes, 8, skip=8) for one in prompt.prompts()]
    found = biasconnect(tables(gone, prompt.axes, INSTRUMENT), PLAN, SCORING, NURSE)
    assert all(isinstance(e["untested"], Missing) and e["p"] is None and not e["significant"] for e in found["edges"])
    assert all(isinstance(e["sensitivity"], Missing) for e in found["edges"])
    assert isinstance(found["amplification"], Missing)


def test_a_prompt_without_initial_pictures_has_tests_and_no_sensitivity(sets: dict[str, Any]) -> None:
    found = biasconnect(tables(sets[NURSE][1:], PLAN.prompts[0].axes, INSTRUMENT), PLAN, SCORING, NURSE)
    assert edge(found, "gender", "age")["p"] is not None
    assert isinstance(edge(found, "gender", "age")["sensitivity"], Missing)


def test_open_answers_become_concepts_and_have_the_papers_threshold(sets: dict[str, Any]) -> None:
    prompt = PLAN.prompts[0]
    opened = [axis.model_copy(update={"values": ()}) for axis in prompt.axes]
    counted = tables(sets[NURSE], opened, INSTRUMENT)
    gender = next(axis for axis in counted.axes if axis.name == "gender")
    assert set(gender.values) == {"male", "female"}
    assert gender.ideal.tolist() == [0.5, 0.5]
    found = biasconnect(counted, PLAN, SCORING, NURSE)
    assert all(e["significant"] == (e["p"] < 0.05) for e in found["edges"])


def test_the_order_of_the_axes_changes_nothing(sets: dict[str, Any], entry: dict[str, Any]) -> None:
    axes = PLAN.prompts[0].axes[::-1]
    other = biasconnect(tables(sets[NURSE], axes, INSTRUMENT), PLAN, SCORING, NURSE)
    for one in entry["edges"]:
        assert one == edge(other, one["source"], one["target"])


def test_scores_hold_all_that_was_asked_for(sets: dict[str, Any]) -> None:
    wanted = PLAN.model_copy(update={"mixture": True, "joint": (("gender", "age"),)})
    scores = score_interactions(wanted, sets, {INSTRUMENT: object()})  # type: ignore[dict-item]
    assert [g["prompt"] for g in scores["biasconnect"]] == [None, NURSE, MECHANIC]
    assert scores["biasconnect"][1]["mixture"]["prompts"]
    assert len(scores["joint"]) == 2
    assert {s["set"] for s in scores["shares"]} == {"initial"}


def test_the_mixture_beats_one_axis_alone_and_its_shares_make_whole_pictures(sets: dict[str, Any]) -> None:
    prompt = PLAN.prompts[0]
    mixture = plan_of_mixture(prompt, sets[NURSE], PLAN, SCORING)
    assert isinstance(mixture, dict)
    assert sum(one["weight"] for one in mixture["prompts"]) == pytest.approx(1)
    assert len(mixture["steps"]["the worst first, while it helps"]) <= len(prompt.axes)
    assert mixture["totals"]["this mixture"] < mixture["totals"]["worst axis alone"] < mixture["totals"]["as it is"]
    drawn = pictures_by_prompt(mixture, 47)
    assert sum(drawn.values()) == 47
    measured = measured_distances(prompt, observed(Prompt(NURSE), prompt.axes, 48), PLAN, SCORING)
    assert all(isinstance(e, Estimate) for e in measured.values())


def test_a_limit_on_the_prompts_of_the_mixture_holds(sets: dict[str, Any]) -> None:
    few = plan_of_mixture(PLAN.prompts[0], sets[NURSE], PLAN.model_copy(update={"mixture_prompts": 2}), SCORING)
    assert isinstance(few, dict)
    assert len(few["prompts"]) <= 2


def test_halves_share_no_picture_and_leave_none_out(sets: dict[str, Any]) -> None:
    first, second = half(sets[NURSE][0], 0), half(sets[NURSE][0], 1)
    assert {*first.pictures, *second.pictures} == set(sets[NURSE][0].pictures)
    assert not {*first.pictures} & {*second.pictures}


def test_an_exact_mitigation_agrees_with_its_estimate(sets: dict[str, Any], entry: dict[str, Any]) -> None:
    prompt = PLAN.prompts[0]
    counted = tables(sets[NURSE], prompt.axes, INSTRUMENT)
    # the pictures of an axis's counterfactual prompts together are that mitigation
    drawn = {axis.name: _together([s for s in sets[NURSE] if s.prompt.axis == axis.name]) for axis in prompt.axes}
    mitigated = {axis: of_pictures(some, prompt, INSTRUMENT) for axis, some in drawn.items()}
    found = validation({NURSE: counted}, {NURSE: entry["edges"]}, {NURSE: mitigated}, PLAN, SCORING)
    (only,) = found["prompts"]
    assert {(e["source"], e["target"]) for e in only["edges"]} >= {("gender", "age"), ("clothing", "emotion")}
    for e in only["edges"]:
        assert e["measured"].value == pytest.approx(e["estimated"].value, abs=0.05)
    assert 0 <= found["made_worse"].value <= 1


@pytest.mark.slow
def test_fewer_pictures_and_more_errors_change_more(sets: dict[str, Any]) -> None:
    small = PLAN.model_copy(update={"prompts": PLAN.prompts[:1]})
    fewer = {NURSE: [half(s, 0) for s in sets[NURSE]]}
    rows = {(r["kind"], r["size"]): r for r in robustness(fewer, small, SCORING, repeats=2)}
    assert rows["pictures", 8]["sensitivity_change"] > rows["pictures", 40]["sensitivity_change"] > 0
    assert rows["errors", 0.4]["sensitivity_change"] > rows["errors", 0.05]["sensitivity_change"] > 0


def test_another_runs_initial_pictures_can_be_the_mitigation(sets: dict[str, Any]) -> None:
    prompt = PLAN.prompts[0]
    other = score_interactions(PLAN, sets, {INSTRUMENT: object()})  # type: ignore[dict-item]
    found = of_run("runs/other", other, prompt, INSTRUMENT)
    here = of_pictures(sets[NURSE][0], prompt, INSTRUMENT)
    assert isinstance(found, Mitigation)
    assert {axis: counts.tolist() for axis, counts in found.counts.items()} == {
        axis: counts.tolist() for axis, counts in here.counts.items()
    }
    assert of_run("runs/other", other, prompt.model_copy(update={"text": "a photo of a chef"}), INSTRUMENT) is None
    with pytest.raises(UsageError, match="read by truth"):
        of_run("runs/other", other, prompt, "clip")


def test_joint_shares_add_up(sets: dict[str, Any]) -> None:
    found = joint(NURSE, sets[NURSE][0], PLAN.prompts[0].axes[:2], SCORING)
    assert sum(cell["share"].value for cell in found["cells"]) == pytest.approx(1)
    assert found["against"] == "independence"
    assert found["distance"].low <= found["distance"].value


def test_joint_shares_are_held_against_a_reference_in_any_order_of_its_axes(sets: dict[str, Any]) -> None:
    shares = {"young/male": 0.1, "young/female": 0.2, "old/female": 0.3, "middle-aged/male": 0.4}
    ideal = JointIdeal(axes=("age", "gender"), shares=shares, source="census.csv")
    found = joint(NURSE, sets[NURSE][0], PLAN.prompts[0].axes[:2], SCORING, ideal)
    expected = {tuple(cell["values"][0]): cell["expected"] for cell in found["cells"] if not cell["pooled"]}
    assert expected == {("male", "middle-aged"): pytest.approx(0.4), ("female", "old"): pytest.approx(0.3),
                        ("female", "young"): pytest.approx(0.2)}  # fmt: skip
    rest = found["cells"][-1]  # combinations without a share, and the rarest with one, as none alone would be expected
    assert rest["expected"] == pytest.approx(0.1)
    assert ["male", "young"] in rest["values"]
    assert (found["against"], found["reference"]) == ("reference", "census.csv")
    assert found["distance"].low > 0


class Erring:
    """An instrument that reads a value rightly in so many of a hundred cases, as 300 labelled pictures of each tell."""

    def __init__(self, right: float) -> None:
        self.right = right

    def rates(self, values: int) -> Any:
        return np.full((values, values), (1 - self.right) / (values - 1)) + np.eye(values) * (
            self.right - (1 - self.right) / (values - 1)
        )

    def known_errors(self, axis: Axis) -> Any:
        rng = np.random.default_rng(len(axis.values))
        return rng.multinomial(300, self.rates(len(axis.values)))

    def reads(self, some: Any, plan: InteractionPlan, rng: np.random.Generator) -> Any:
        """A set as this instrument reads it."""
        columns = {
            axis.name: tuple(
                str(rng.choice(axis.values, p=self.rates(len(axis.values))[axis.values.index(value)]))
                for value in some.values[INSTRUMENT][axis.name]
            )
            for axis in plan.prompts[0].axes
        }
        return replace(some, values={INSTRUMENT: columns})


def true_sensitivity(occupation: str, source: str, target: str) -> float:
    """By total variation or ranks, the ideal uniform, from the planted world itself."""

    def shares(said: dict[str, str]) -> Any:
        table = conditional(Said(said, occupation, True, ()), 1.0)
        return table.sum(axis=tuple(k for k, name in enumerate(NAMES) if name != target))

    after = np.mean([shares({source: value}) for value in ATTRIBUTES[source]], axis=0)
    distance = "wasserstein" if target == "age" else "total_variation"
    return float(sensitivity(shares({}), after, np.ones(len(after)), distance))


def test_correction_for_a_noisy_instrument_comes_closer_to_the_planted_truth() -> None:
    plan = planned([f"a photo of a {one}" for one in ("nurse", "mechanic", "ceo")], ("gender", "age"))
    noisy, rng = Erring(0.8), np.random.default_rng(0)
    read = {text: [noisy.reads(s, plan, rng) for s in some] for text, some in planted(plan, 96).items()}
    graphs = score_interactions(plan, read, {INSTRUMENT: noisy})["biasconnect"][1:]  # type: ignore[dict-item]
    off: dict[str, list[float]] = {"as read": [], "corrected": []}
    covered = []
    for prompt, graph in zip(plan.prompts, graphs, strict=True):
        for source, target in (("gender", "gender"), ("gender", "age"), ("age", "age")):
            found, truth = edge(graph, source, target), true_sensitivity(prompt.text.split()[-1], source, target)
            off["as read"].append(abs(found["as_read"] - truth))
            off["corrected"].append(abs(found["sensitivity"].value - truth))
            covered.append(found["sensitivity"].low <= truth <= found["sensitivity"].high)
    assert np.mean(covered) > 0.8
    assert np.mean(off["corrected"]) < 0.7 * np.mean(off["as read"])
    plain = plan.model_copy(update={"as_read": True})
    left = score_interactions(plain, read, {INSTRUMENT: noisy})["biasconnect"][1]  # type: ignore[dict-item]
    assert edge(left, "gender", "gender")["as_read"] is None
    assert edge(left, "gender", "gender")["sensitivity"].value == pytest.approx(
        edge(graphs[0], "gender", "gender")["as_read"], abs=0.02
    )


def _together(some: list[Any]) -> Any:
    columns = {name: tuple(v for s in some for v in s.values[INSTRUMENT][name]) for name in some[0].values[INSTRUMENT]}
    pictures = tuple(p for s in some for p in s.pictures)
    captions = tuple(c for s in some for c in s.captions)
    return replace(some[0], prompt=Prompt(NURSE), pictures=pictures, values={INSTRUMENT: columns}, captions=captions)
