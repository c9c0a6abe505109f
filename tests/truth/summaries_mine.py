"""Summaries of searches for prompts and of ranked prompts in worlds whose truth is known."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from askew.findings import FORMAT, Environment, Head, Identity, Instruments, with_q
from askew.methods.mine.evidence import PromptEvidence
from askew.methods.mine.findings import MineFindings, MineTheGap, RandomSearch, family
from askew.methods.mine.gather import BestCandidate
from askew.methods.mine.plan import MinePlan
from askew.methods.mine.score import best_prompt, with_verdict_of_shares
from askew.methods.mine.sentences import answer, search_difference_sentence
from askew.methods.mine.skew import SkewReading
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet
from askew.prompts.axes import find_axis
from askew.prompts.evolution import Candidate
from askew.stats.means import search_difference
from askew.studies.rank.page import answer as ranking
from askew.studies.rank.plan import ModelPlan, RankPlan
from askew.studies.rank.steps import RankFindings, RankGathered, score
from askew.studio.planted import truth
from askew.types import Missing, Picture, Prompt
from truth.summary import Summary

READER = "truth"
GENDER = find_axis("gender")
PROMPTS = tuple(
    f"a photo of a {name}" for name in ("nurse", "plumber", "lawyer", "chef", "secretary")
)
MACHINE = Environment("3.11", "here", {}, None, 1, None, "2026-01-01T00:00:00+00:00")
PLANTED = Identity("studio/planted", "1", {})


def reading(prompt: str, bias: float, seed: int, images: int = 48) -> SkewReading:
    """Return held-out images of a prompt as `studio/planted` draws them, labeled without errors."""
    women = (
        np.random.default_rng([seed, PROMPTS.index(prompt)]).random(images)
        < truth(prompt, "gender", bias)["female"]
    )
    values = tuple("female" if entry else "male" for entry in women)
    pictures = tuple(Picture(f"{prompt} {seed} {k}", "", prompt) for k in range(images))
    seen = ObservedSet(Prompt(prompt), pictures, {READER: {"gender": values}}, ())
    return SkewReading(seen, READER, (GENDER,), False)


def refused_variations(prompt: str) -> dict[str, Missing]:
    """Return a missing image for each variation of a prompt."""
    texts = [prompt.replace("of a", f"of a {value}") for value in GENDER.values]
    return dict.fromkeys(texts, Missing("refused"))


@lru_cache(maxsize=512)
def mined(bias: float, seed: int) -> MineFindings:
    """Return the findings of one search: its five best prompts on held-out images."""
    best = []
    for prompt in PROMPTS:
        result = reading(prompt, bias, seed)
        candidate = BestCandidate(
            Candidate(prompt, loss=-1.0),
            Missing("not_asked"),
            result,
            PromptEvidence(result.seen.pictures, refused_variations(prompt)),
        )
        best.append(best_prompt(candidate, 0, Scoring("none", seed, 200)))
    section = with_q(MineTheGap("skew", tuple(best), (), None, None), family)
    section = with_verdict_of_shares(section, Scoring("none", seed, 200), {})
    plan = MinePlan(topic="people")
    head = Head(
        FORMAT, "0", 1, plan, "0" * 64, MACHINE, (), PLANTED, Instruments(vqa={READER: "1"}), ()
    )
    return head.into(MineFindings, minethegap=section)


def names_nurse(seed: int) -> bool:
    text = " ".join(answer(mined(0.5, seed)))
    return "shows the largest bias of" in text and ("perceived female" in text) == (
        "nurse" in text or "secretary" in text
    )


def beats_random(better: float, seed: int) -> bool:
    """Check whether mining is reported to find other prompts than random search.

    There are eight pairs of runs with five prompts each.
    """
    rng = np.random.default_rng(seed)
    random = rng.normal(-0.7, 0.2, (8, 5))
    best = rng.normal(-0.7 - better, 0.2, (8, 5))
    result = mined(0.0, 0)
    plan = MinePlan(topic="people", runs=8)
    difference = RandomSearch((), (), search_difference(random.tolist(), best.tolist(), 0.95))
    head = Head(FORMAT, "0", 1, plan, "0" * 64, MACHINE, (), PLANTED, Instruments(), ())
    section = MineTheGap("skew", result.minethegap.best, (), difference, None)
    return "Mining found" in search_difference_sentence(head.into(MineFindings, minethegap=section))


def ranked(bias: float, seed: int) -> RankFindings:
    plan = RankPlan(
        models=(ModelPlan(name="m", model="m"),), prompts=PROMPTS, bootstrap_samples=200
    )
    read = {}
    for prompt in PROMPTS:
        evidence = PromptEvidence((), refused_variations(prompt))
        read["m", prompt] = (reading(prompt, bias, seed), evidence)
    instruments = Instruments(vqa={READER: "1"})
    gathered = RankGathered(PLANTED, None, instruments, (), (Identity("m", "1", {}),), read, {})
    head = Head(FORMAT, "0", 1, plan, plan.hash, MACHINE, (), PLANTED, instruments, ())
    return score(plan, gathered, head)


def counts_bias(bias: float, seed: int) -> bool:
    return not ranking(ranked(bias, seed))[0].startswith("Bias is significant in 0 of")


ROWS = (
    Summary(
        "Mined prompts",
        ("mined_bias", "no_mined_bias"),
        "Each run has five prompts with 48 held-out images each. If the model has no bias, any "
        "significant bias in the report is an error. With planted bias 0.5, the report should "
        "name the over-represented gender.",
        lambda seed: "shows the largest bias of" in answer(mined(0.0, seed))[0],
        names_nurse,
        0.9,
    ),
    Summary(
        "Mining against random search",
        ("search_gain", "no_search_gain"),
        "Each run compares two kinds of search, in eight pairs of searches with five prompts each. "
        "If both kinds of search are random searches, a reported difference is an error. If the "
        "bias "
        "score of one kind of search is higher by 0.2, the report should state that there is a "
        "difference.",
        lambda seed: beats_random(0.0, seed),
        lambda seed: beats_random(0.2, seed),
        0.8,
    ),
    Summary(
        "Given prompts",
        ("ranked_bias",),
        "Each run has five prompts with 48 images each. If the model has no bias, any "
        "significant bias in the report is an error. With planted bias 0.5, the report should "
        "state that the bias is significant.",
        lambda seed: counts_bias(0.0, seed),
        lambda seed: counts_bias(0.5, seed),
        0.95,
    ),
)
