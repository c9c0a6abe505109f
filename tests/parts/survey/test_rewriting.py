"""Prompts that a server rewrote: what was asked for, what was sent, and the shares of both kinds."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from scipy.stats import binomtest, fisher_exact

from askew.methods.audit.plan import AuditPlan
from askew.parts.survey.observed import ObservedSet
from askew.parts.survey.rewriting import Rewriting, rewriting, rewriting_sentences
from askew.plan import AxisPlan, PromptPlan
from askew.prompts.axes import AXES
from askew.types import Missing, Picture, Prompt

PROMPT = "a photo of a doctor"
FEMALE = f"{PROMPT}, female"
AXIS = AxisPlan.of(AXES["gender"])


def compared(labels: Sequence[str | Missing], sent: Sequence[str | None]) -> tuple[Rewriting, ...]:
    pictures = tuple(
        label
        if isinstance(label, Missing) and label.reason == "refused"
        else Picture(f"{n}", "", PROMPT)
        for n, label in enumerate(labels)
    )
    observed = ObservedSet(
        prompt=Prompt(PROMPT),
        pictures=pictures,
        values={"vqa": {"gender": tuple(labels)}},
        captions=(Missing("not_asked"),) * len(labels),
    )
    plan = AuditPlan(
        model="openai/m",
        vqa=("vqa",),
        prompts=(PromptPlan(text=PROMPT, axes=(AXIS,)),),
        bootstrap_samples=200,
    )
    return rewriting(plan, {PROMPT: sent}, {PROMPT: [observed]})


def test_shares_of_rewritten_and_of_given_prompts_are_apart() -> None:
    labels = ["female"] * 11 + ["male"] + ["male"] * 17 + ["female"] * 7
    sent = [FEMALE] * 12 + [None] * 24
    (entry,) = compared(labels, sent)
    assert (entry.rewritten, entry.verbatim) == (12, 24)
    assert entry.shares_rewritten["female"].value == pytest.approx(11 / 12)
    assert entry.shares_verbatim["female"].value == pytest.approx(7 / 24)
    exact = fisher_exact([[11, 1], [7, 17]]).pvalue
    assert entry.difference.p < exact < 0.01
    assert "92 % female (12 images)" in " ".join(rewriting_sentences([entry]))


def test_added_values_are_tested_against_the_reference() -> None:
    (entry,) = compared(["male"] * 16, [FEMALE] * 9 + [f"{PROMPT}, male"] + [None] * 6)
    assert entry.added == {"male": 1, "female": 9}
    mid_p = binomtest(1, 10).pvalue - 10 / 2**10
    assert entry.added_deviation.p == pytest.approx(mid_p)
    assert entry.added_deviation.q >= entry.added_deviation.p
    assert entry.examples == (FEMALE, f"{PROMPT}, male")
    assert "does not state: male 1 and female 9" in " ".join(rewriting_sentences([entry]))


def test_words_that_state_no_value_or_several_add_none() -> None:
    sent = [f"{PROMPT}, smiling", f"{PROMPT} with a man and a woman", None, None]
    (entry,) = compared(["male", "female", "male", "male"], sent)
    assert entry.added == {"male": 0, "female": 0}
    assert isinstance(entry.added_deviation, Missing)
    assert not list(rewriting_sentences([entry]))


def test_given_prompts_need_no_entry_and_missing_images_do_not_count() -> None:
    assert compared(["male"] * 3, [None] * 3) == ()
    refused = Missing("refused")
    (entry,) = compared([refused, Missing("unparseable"), "female"], [FEMALE, FEMALE, None])
    assert (entry.rewritten, entry.verbatim) == (1, 1)
    assert entry.shares_rewritten == {}
    assert isinstance(entry.difference, Missing)
