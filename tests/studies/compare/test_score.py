"""Comparisons on picture sets whose truth is known: what was planted is found, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet
from askew.plan import AxisPlan, PromptPlan
from askew.prompts.axes import find_axis
from askew.prompts.counterfactuals import counterfactuals
from askew.store.keys import picture_seed
from askew.studies.compare.findings import ScoreDifference
from askew.studies.compare.score import ComparedRun, score
from askew.studio.planted import truth
from askew.types import Missing, Picture
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


def find(entries: Entries, name: str, value: str | None = None, **where: str) -> Any:
    wanted = {"score": name, "value": value, **where}
    return next(
        e.difference
        for e in entries
        if all(getattr(e, field) == sought for field, sought in wanted.items())
    )


def test_a_planted_difference_is_found() -> None:
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
    obeyed = find(entries, "share", "male", set="gender: male")
    assert (obeyed.value, obeyed.p) == (0.0, 1.0)


def test_every_entry_says_what_it_is_about() -> None:
    entries = compared(run_at(1.0), run_at(0.0))
    scores = [e.score for e in entries]
    assert scores == ["mad", "cas", "cas", *["share", "share", "distance"] * 3]
    assert all(e.runs == ("bias 1.0", "bias 0.0") for e in entries)


def test_every_two_runs_are_compared_and_an_axis_is_one_test() -> None:
    entries = compared(run_at(1.0), run_at(0.5), run_at(0.0))
    pairs = list(dict.fromkeys(e.runs for e in entries))
    assert pairs == [("bias 1.0", "bias 0.5"), ("bias 1.0", "bias 0.0"), ("bias 0.5", "bias 0.0")]
    for name, value in (
        ("share", "male"),
        ("mad", None),
    ):  # both shares of a binary axis are one test
        tested = [
            e.difference for e in entries if e.score == name and e.value == value and e.of_prompt
        ]
        assert [d.q for d in tested] == pytest.approx(
            multipletests([d.p for d in tested], method="fdr_bh")[1]
        )
    assert (
        len({find(entries, "share", value, set="initial").q for value in ("male", "female")}) == 1
    )


def test_a_run_does_not_differ_from_itself() -> None:
    for entry in compared(run_at(1.0), replace(run_at(1.0), name="again")):
        assert (entry.difference.value, entry.difference.p) == (0.0, 1.0), entry


def test_swapped_runs_give_the_same_with_the_other_sign() -> None:
    forth = compared(run_at(1.0), run_at(0.0))
    back = compared(run_at(0.0), run_at(1.0))
    for one, other in zip(forth, back, strict=True):
        a = one.difference
        b = other.difference
        assert (a.value, a.low, a.high, a.p, a.q) == (-b.value, -b.high, -b.low, b.p, b.q)
        assert one.runs == other.runs[::-1]


def test_without_seeds_swapped_runs_give_the_same_too() -> None:
    runs = [anonymous(run_at(bias)) for bias in (1.0, 0.0)]
    for one, other in zip(compared(*runs), compared(*runs[::-1]), strict=True):
        assert (one.difference.value, one.difference.p) == (
            -other.difference.value,
            other.difference.p,
        )


def test_the_order_of_pictures_does_not_matter() -> None:
    turned = replace(run_at(0.0), sets={PROMPT: [backwards(s) for s in run_at(0.0).sets[PROMPT]]})
    assert compared(run_at(1.0), run_at(0.0)) == compared(run_at(1.0), turned)
    a = anonymous(run_at(1.0))
    b = anonymous(run_at(0.0))
    assert compared(a, b) == compared(
        a, replace(b, sets={PROMPT: [backwards(s) for s in b.sets[PROMPT]]})
    )


def test_pairs_are_found_by_seed() -> None:
    paired = compared(run_at(1.0), run_at(0.0))
    apart = compared(run_at(1.0), run_at(0.0, seed=5))
    for name, value in (("share", "male"), ("mad", None)):
        assert "paired" in find(paired, name, value).interval
    assert find(apart, "share", "male").interval == "Newcombe"


def test_what_is_missing_is_left_out_and_counted() -> None:
    whole = run_at(1.0)
    other = run_at(0.0)
    holed = replace(
        other,
        sets={PROMPT: [with_holes(s, 5) if s.name == "initial" else s for s in other.sets[PROMPT]]},
    )
    share = find(compared(whole, holed), "share", "male", set="initial")
    kept = [a == "male" for a in holed.sets[PROMPT][0].values["truth"]["gender"][5:]]
    all_of_them = [a == "male" for a in whole.sets[PROMPT][0].values["truth"]["gender"]]
    assert share.value == pytest.approx(np.mean(kept) - np.mean(all_of_them))
    assert (share.n, share.missing) == (43, 5)
    assert find(compared(whole, holed), "mad").missing == 5


def test_nothing_seen_is_missing_and_never_zero() -> None:
    other = run_at(0.0)
    blind = replace(other, sets={PROMPT: [with_holes(s, 24) for s in other.sets[PROMPT]]})
    for entry in compared(run_at(1.0), blind):
        assert isinstance(entry.difference, Missing)
        assert entry.difference.reason == "no_person"


def anonymous(run: ComparedRun) -> ComparedRun:
    """The run without seeds, as a collection has none."""
    sets = [
        replace(
            s, pictures=tuple(replace(p, seed=None) for p in s.pictures if isinstance(p, Picture))
        )
        for s in run.sets[PROMPT]
    ]
    return replace(run, sets={PROMPT: sets})


def backwards(observed: ObservedSet) -> ObservedSet:
    values = {
        name: {a: v[::-1] for a, v in columns.items()} for name, columns in observed.values.items()
    }
    return replace(
        observed, pictures=observed.pictures[::-1], captions=observed.captions[::-1], values=values
    )


def with_holes(observed: ObservedSet, count: int) -> ObservedSet:
    """The first pictures show nobody."""
    gaps = (Missing("no_person"),) * count
    values = {
        name: {a: gaps + v[count:] for a, v in columns.items()}
        for name, columns in observed.values.items()
    }
    return replace(observed, values=values)
