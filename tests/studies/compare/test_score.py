"""Comparisons on image sets with planted bias: only the planted difference is significant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet
from askew.plan import AxisPlan, PromptPlan
from askew.prompts.axes import find_axis
from askew.prompts.counterfactuals import counterfactuals
from askew.store.keys import picture_seed
from askew.studies.compare.findings import ScoreDifference, score_key
from askew.studies.compare.score import ComparedRun, difference_of_scores, score
from askew.studio.planted import truth
from askew.types import Estimate, Missing, Picture, Prompt
from planted_sets import planted_sets

PROMPT = "a photo of a mechanic"
SCORING = Scoring("truth", draws=100)
Entries = tuple[ScoreDifference, ...]


def plan(axes: Sequence[str], prompt: str = PROMPT) -> PromptPlan:
    return PromptPlan(
        text=prompt,
        axes=tuple(AxisPlan.of(find_axis(name), counterfactuals(prompt, name)) for name in axes),
    )


def seeded(observed: ObservedSet, seed: int = 0) -> ObservedSet:
    text = observed.prompt.text
    pictures = (
        replace(p, seed=picture_seed(seed, text, k)) for k, p in enumerate(observed.pictures)
    )
    return replace(observed, pictures=tuple(pictures))


def run_at(
    bias: float, axes: Sequence[str] = ("gender",), images: int = 24, seed: int = 0
) -> ComparedRun:
    initial, others, _ = planted_sets(PROMPT, axes, images, bias, seed)
    return ComparedRun(
        f"bias {bias}", f"{bias}", {PROMPT: [seeded(s, seed) for s in (initial, *others)]}
    )


def compared(*runs: ComparedRun, axes: Sequence[str] = ("gender",)) -> Entries:
    return score(runs, [plan(axes)], ("truth",), SCORING)


@given(
    marks=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    ends=st.none() | st.tuples(st.floats(-1, 0), st.floats(0, 1)),
    sizes=st.tuples(st.integers(1, 50), st.integers(1, 50)),
    others=st.integers(0, 1),
)
def test_a_difference_is_that_of_the_scores_of_its_runs(
    marks: tuple[float, float],
    ends: tuple[float, float] | None,
    sizes: tuple[int, int],
    others: int,
) -> None:
    """Unless the difference is computed from other images than the scores."""
    low, high = ends or (None, None)
    n = sum(sizes) - others
    entry = ScoreDifference(
        score="mad",
        prompt=PROMPT,
        axis="gender",
        set=None,
        value=None,
        instrument=None,
        runs=("a", "b"),
        difference=Estimate(0.0, low=low, high=high, level=0.95, n=n, p=0.5),
    )
    scores = {
        name: {score_key(entry): Estimate(mark, n=size)}
        for name, mark, size in zip("ab", marks, sizes, strict=True)
    }
    result: Any = difference_of_scores(entry, scores)
    if others:
        assert result == entry
        return
    assert result.difference.mark == result.difference.value == marks[1] - marks[0]
    assert result.difference.p == 0.5
    if ends:
        assert result.difference.low <= min(result.difference.mark, ends[0])
        assert result.difference.high >= max(result.difference.mark, ends[1])
    assert difference_of_scores(entry, {"a": scores["a"]}) == entry


def find(entries: Entries, name: str, value: str | None = None, **where: str) -> Any:
    wanted = {"score": name, "value": value, **where}
    for entry in entries:
        if {field: getattr(entry, field) for field in wanted} == wanted:
            return entry.difference
    raise LookupError(wanted)


def test_a_planted_difference_is_significant() -> None:
    entries = compared(run_at(1.0, images=48), run_at(0.0, images=48))
    male = find(entries, "share", "male", set="initial")
    planted = truth(PROMPT, "gender", 0.0)["male"] - truth(PROMPT, "gender", 1.0)["male"]
    assert male.low <= planted <= male.high
    assert male.high < 0
    assert male.q < 0.01
    mad = find(entries, "mad")
    assert mad.value < 0
    assert mad.q < 0.05
    assert find(entries, "cas", "male").value < 0 < find(entries, "cas", "female").value
    followed = find(entries, "share", "male", set="gender: male")
    assert (followed.value, followed.p) == (0.0, 1.0)


def test_entries_come_in_order_of_score_and_set() -> None:
    entries = compared(run_at(1.0), run_at(0.0))
    scores = [e.score for e in entries]
    of_axis = ["mad", "cas", "cas", "wasserstein", "standard_deviation"]
    assert scores == [*of_axis, *["share", "share", "distance", "run_distance"] * 3]
    assert all(e.runs == ("bias 1.0", "bias 0.0") for e in entries)


def test_all_pairs_of_runs_are_compared_and_an_axis_is_one_test() -> None:
    entries = compared(run_at(1.0), run_at(0.5), run_at(0.0))
    pairs = list(dict.fromkeys(e.runs for e in entries))
    assert pairs == [("bias 1.0", "bias 0.5"), ("bias 1.0", "bias 0.0"), ("bias 0.5", "bias 0.0")]
    for name in ("run_distance", "mad"):
        tested = [
            entry.difference
            for entry in entries
            if entry.score == name and entry.of_prompt and (entry.smallest_p or 0) < 0.05
        ]
        corrected = multipletests([difference.p for difference in tested], method="fdr_bh")[1]
        assert [difference.q for difference in tested] == pytest.approx(corrected)
    male = find(entries, "share", "male", set="initial")
    female = find(entries, "share", "female", set="initial")
    between = find(entries, "run_distance", set="initial")
    # both shares of a binary axis have the test of the axis
    assert (male.p, male.q) == (female.p, female.q) == (between.p, between.q)


def test_a_run_does_not_differ_from_itself() -> None:
    for entry in compared(run_at(1.0), replace(run_at(1.0), name="again")):
        if entry.score == "run_distance":
            assert (entry.difference.q, entry.exact_p) == (1.0, 1.0)
        assert (entry.difference.value, entry.difference.p) == (0.0, 1.0), entry


def test_swapped_runs_give_the_same_with_the_opposite_sign() -> None:
    forth = compared(run_at(1.0), run_at(0.0))
    back = compared(run_at(0.0), run_at(1.0))
    for forward, backward in zip(forth, back, strict=True):
        a = forward.difference
        b = backward.difference
        assert (a.p, a.q) == (b.p, b.q)
        if forward.score == "run_distance":
            assert (a.value, a.null) == (b.value, b.null)
        else:
            assert (a.value, a.low, a.high) == (-b.value, -b.high, -b.low)
        assert forward.runs == backward.runs[::-1]


def test_without_seeds_swapped_runs_give_the_same_too() -> None:
    runs = [anonymous(run_at(bias)) for bias in (1.0, 0.0)]
    for entry, swapped in zip(compared(*runs), compared(*runs[::-1]), strict=True):
        sign = 1 if entry.score == "run_distance" else -1
        difference = entry.difference
        assert difference.value == sign * swapped.difference.value
        assert difference.p == swapped.difference.p


def test_the_order_of_pictures_does_not_matter() -> None:
    assert compared(run_at(1.0), run_at(0.0)) == compared(run_at(1.0), reversed_run(run_at(0.0)))
    a = anonymous(run_at(1.0))
    b = anonymous(run_at(0.0))
    assert compared(a, b) == compared(a, reversed_run(b))


def test_images_are_paired_by_seed() -> None:
    paired = compared(run_at(1.0), run_at(0.0))
    apart = compared(run_at(1.0), run_at(0.0, seed=5))
    for name, value in (("share", "male"), ("mad", None)):
        assert "paired" in find(paired, name, value).interval
    assert find(apart, "share", "male").interval == "Newcombe"


def test_missing_images_are_left_out_and_counted() -> None:
    complete = run_at(1.0)
    initial, *others = run_at(0.0).sets[PROMPT]
    incomplete = replace(run_at(0.0), sets={PROMPT: [with_holes(initial, 5), *others]})
    share = find(compared(complete, incomplete), "share", "male", set="initial")
    present = [label == "male" for label in initial.values["truth"]["gender"][5:]]
    complete_initial = complete.sets[PROMPT][0]
    all_labels = [label == "male" for label in complete_initial.values["truth"]["gender"]]
    assert share.value == pytest.approx(np.mean(present) - np.mean(all_labels))
    assert (share.n, share.missing) == (43, 5)
    assert find(compared(complete, incomplete), "mad").missing == 5


def test_a_run_without_labels_is_missing_and_never_zero() -> None:
    other = run_at(0.0)
    blind = replace(other, sets={PROMPT: [with_holes(s, 24) for s in other.sets[PROMPT]]})
    for entry in compared(run_at(1.0), blind):
        assert isinstance(entry.difference, Missing)
        assert entry.difference.reason == "no_person"


def with_vectors(run: ComparedRun) -> ComparedRun:
    """Return a run whose images have a vector that shows their gender, with noise."""
    rng = np.random.default_rng(4)
    vectors = {}
    sets = []
    for observed in run.sets[PROMPT]:
        pictures = []
        for k, (picture, label) in enumerate(
            zip(observed.pictures, observed.values["truth"]["gender"], strict=True)
        ):
            name = f"{run.name} {observed.name} {k}"
            center = np.array([1.0, 0.0, 0.5] if label == "male" else [0.0, 1.0, 0.5])
            vectors[name] = (center + rng.normal(size=3) * 0.05).astype(np.float32)
            pictures.append(replace(picture, id=name))
        sets.append(replace(observed, pictures=tuple(pictures)))
    return replace(run, sets={PROMPT: sets}, vectors=vectors, embedder="planted")


def test_scores_by_embedding_are_compared_where_both_runs_have_vectors() -> None:
    biased = with_vectors(run_at(1.0))
    fair = with_vectors(run_at(0.0))
    entries = compared(biased, fair)
    assert find(entries, "cas_clip", "male").value < 0 < find(entries, "cas_clip", "female").value
    mad_clip = find(entries, "mad_clip")
    assert mad_clip.value < 0
    assert mad_clip.q < 0.05
    assert {e.instrument for e in entries if e.score.endswith("_clip")} == {"planted"}
    without = compared(biased, run_at(0.0))
    assert not any(e.score.endswith("_clip") for e in without)


def test_an_image_without_a_vector_is_left_out_and_counted() -> None:
    biased = with_vectors(run_at(1.0))
    fair = with_vectors(run_at(0.0))
    vectors = dict(fair.vectors)
    for name in [name for name in vectors if "initial" in name][:5]:
        del vectors[name]
    mad_clip = find(compared(biased, replace(fair, vectors=vectors)), "mad_clip")
    assert mad_clip.missing == 5


def labeled_run(name: str, labels: Sequence[str], axis: str, prompt: str = PROMPT) -> ComparedRun:
    """Return a run whose images have these labels on an axis, with seeds."""
    pictures = tuple(Picture(f"{name} {k}", "", prompt, k) for k in range(len(labels)))
    missing = (Missing("not_asked"),) * len(labels)
    observed = ObservedSet(Prompt(prompt), pictures, {"truth": {axis: tuple(labels)}}, missing)
    return ComparedRun(name, name, {prompt: [observed]})


def compared_labels(
    first: Sequence[str], second: Sequence[str], axis: str = "gender"
) -> tuple[ScoreDifference, ...]:
    runs = (labeled_run("a", first, axis), labeled_run("b", second, axis))
    return score(runs, [plan([axis])], ("truth",), SCORING)


def test_few_pairs_that_change_are_a_difference_by_the_mid_p() -> None:
    """Five of five changed pairs point to one value: McNemar's exact test has p .0625, mid-p .031."""
    before = ["male"] * 16 + ["female"] * 8
    after = ["male"] * 11 + ["female"] * 13
    entry = next(e for e in compared_labels(before, after) if e.score == "run_distance")
    table = [[11, 5], [0, 8]]
    exact = mcnemar(table, exact=True).pvalue
    assert entry.exact_p == pytest.approx(exact)
    assert isinstance(entry.difference, Estimate)
    assert entry.difference.p == pytest.approx(exact - binom.pmf(5, 5, 0.5))
    assert entry.difference.q is not None
    assert entry.difference.q < 0.05 < exact
    assert entry.difference.value == pytest.approx(5 / 24)


def test_shares_are_not_significant_where_their_axis_is_not() -> None:
    """Without the test of the axis, Holm would call a share significant beside an axis that is not."""
    values = find_axis("ethnicity").values
    rng = np.random.default_rng(2)
    for _ in range(10):
        before, after = (rng.choice(values, 24).tolist() for _ in range(2))
        entries = compared_labels(before, [values[0]] * 5 + after[5:], "ethnicity")
        of_axis = find(entries, "run_distance")
        q_values = [entry.difference.q for entry in entries if entry.score == "share"]
        assert min(q_values) >= of_axis.q


def test_sets_that_cannot_differ_do_not_hide_other_sets() -> None:
    """Twenty prompts of two images each leave the one prompt of many images its own p."""
    prompts = [f"a photo of a person, number {k}" for k in range(20)]
    runs = []
    for name, few, many in (
        ("a", ["male"] * 2, ["male"] * 24),
        ("b", ["female"] * 2, ["male"] * 16),
    ):
        sets = dict(labeled_run(name, many + ["female"] * (24 - len(many)), "gender").sets)
        for prompt in prompts:
            sets |= labeled_run(name, few, "gender", prompt).sets
        runs.append(ComparedRun(name, name, sets))
    plans = [plan(["gender"]), *(plan(["gender"], prompt) for prompt in prompts)]
    entries = score(runs, plans, ("truth",), SCORING)
    tested = find(entries, "run_distance", prompt=PROMPT)
    assert tested.q == tested.p < 0.05
    assert find(entries, "run_distance", prompt=prompts[0]).q == 1.0


def anonymous(run: ComparedRun) -> ComparedRun:
    """Return the run without seeds, like a collection."""
    return replace(run, sets={PROMPT: [unseeded(observed) for observed in run.sets[PROMPT]]})


def unseeded(observed: ObservedSet) -> ObservedSet:
    pictures = [replace(p, seed=None) for p in observed.pictures if isinstance(p, Picture)]
    return replace(observed, pictures=tuple(pictures))


def reversed_run(run: ComparedRun) -> ComparedRun:
    return replace(run, sets={PROMPT: [backwards(observed) for observed in run.sets[PROMPT]]})


def backwards(observed: ObservedSet) -> ObservedSet:
    values = {}
    for name, columns in observed.values.items():
        values[name] = {axis: labels[::-1] for axis, labels in columns.items()}
    return replace(
        observed, pictures=observed.pictures[::-1], captions=observed.captions[::-1], values=values
    )


def with_holes(observed: ObservedSet, count: int) -> ObservedSet:
    """Return the set with nobody in its first images."""
    gaps = (Missing("no_person"),) * count
    values = {}
    for name, columns in observed.values.items():
        values[name] = {axis: gaps + labels[count:] for axis, labels in columns.items()}
    return replace(observed, values=values)
