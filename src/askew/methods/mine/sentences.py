"""Write the sentences on the page of `askew mine`."""

from collections.abc import Sequence
from dataclasses import replace

from askew.methods.mine.findings import (
    BestPrompt,
    ExplainedPrompt,
    MineFindings,
    WordEffect,
    ranked,
)
from askew.methods.mine.plan import COLOR, SKEW, MinePlan, ScoredPlan
from askew.pages import blocks as b
from askew.pages import skeleton
from askew.pages import words as w
from askew.pages.phrases import format_phrase
from askew.parts.survey import sentences as survey
from askew.parts.survey.sentences import bias_of_all_prompts, most_seen
from askew.stats.looks import looks
from askew.types import Estimate, Missing


def answer(findings: MineFindings) -> list[str]:
    """Return the summary of a search: the headline, then at most three sentences."""
    plan = findings.plan
    best = ranked(findings.minethegap.best, plan.objective == SKEW)
    scored = [prompt for prompt in best if isinstance(prompt.held_out_score, Estimate)]
    if not scored:
        evaluated = w.plural(findings.minethegap.evaluated, "prompt")
        return [f"None of {evaluated} could be scored on {findings.model.name}."]
    if plan.objective == SKEW:
        return _answer_skew(findings, scored)
    if plan.is_eq1:
        return _answer_eq1(findings, scored)
    return [_answer_loss(findings, scored[0])]


def _answer_skew(findings: MineFindings, scored: Sequence[BestPrompt]) -> list[str]:
    first = scored[0]
    biased = _biased(scored)
    headline = format_phrase(
        "mined_bias" if biased else "no_mined_bias",
        tried=w.plural(findings.minethegap.evaluated, "prompt"),
        prompt=w.quote(first.prompt),
        observed=most_seen(first.shares) if first.shares else "no labels",
    )
    sentences = [headline]
    if biased and len(scored) > 1:
        sentences.append(f"Bias is significant in {_part_of(biased, scored)}.")
    sentences += stop_sentences(findings, scored)
    together = [("", entry) for entry in findings.minethegap.shares_over_prompts]
    return sentences + bias_of_all_prompts(together, "All best prompts together")


def stop_sentences(findings: MineFindings, scored: Sequence[BestPrompt]) -> list[str]:
    """Return sentences about how many held-out images the verdicts needed; empty without `until`.

    Parameters
    ----------
    findings
        Findings of the search.
    scored
        Best prompts that have a held-out score.
    """
    plan = findings.plan
    if not plan.until:
        return []
    biased = _biased(scored)
    return survey.stop_sentences(
        sizes=[held_out_images(prompt) for prompt in biased],
        undecided=len(scored) - len(biased),
        noun="best prompt",
        most=f"{plan.eval_images} held-out images",
        caution="This does not mean that there is no bias.",
    )


def held_out_images(prompt: ExplainedPrompt) -> int:
    """Return the number of held-out images of a prompt that is scored by skew."""
    if prompt.shares is None:
        return 0
    return sum(prompt.shares.counts.values()) + sum(prompt.shares.missing.values())


def _answer_eq1(findings: MineFindings, scored: Sequence[BestPrompt]) -> list[str]:
    evaluated = w.plural(findings.minethegap.evaluated, "prompt")
    biased = _biased(scored)
    if not biased:
        return [
            f"None of {evaluated} shows significant bias in held-out images.",
            f"{w.quote(scored[0].prompt)} has the lowest score.",
        ]
    first = biased[0]
    sentences = [f"{w.quote(first.prompt)} shows the largest bias among {evaluated}."]
    if first.is_read and first.missed_visual_concepts:
        missed = [w.quote(concept, 60) for concept in first.missed_visual_concepts[:2]]
        sentences.append(f"Its images leave out {w.listing(missed)}.")
    if len(scored) > 1:
        sentences.append(f"In held-out images, bias is significant for {_part_of(biased, scored)}.")
    return sentences


def _answer_loss(findings: MineFindings, first: BestPrompt) -> str:
    verb = "have the lowest value of"
    if findings.plan.objective.startswith(COLOR):
        verb = "come closest to"
    section = findings.minethegap
    loss = _with_interval(first.held_out_score)
    return (
        f"Out of {w.plural(section.evaluated, 'prompt')}, the images of {w.quote(first.prompt)} "
        f"from {findings.model.name} {verb} {section.objective}: the held-out loss is {loss}."
    )


def _biased(prompts: Sequence[BestPrompt]) -> list[BestPrompt]:
    return [prompt for prompt in prompts if w.has_significant_q(prompt.held_out_score)]


def _part_of(biased: Sequence[BestPrompt], scored: Sequence[BestPrompt]) -> str:
    return f"{len(biased)} of the {w.plural(len(scored), 'best prompt')}"


def _with_interval(score: b.E) -> str:
    """Return a held-out score and its interval, formatted as in the table."""
    return f"{w.part(score, 'value', 'range')} {w.interval(score, 'range')}".strip()


def describe_prompt(prompt: BestPrompt) -> str:
    """Describe a prompt's held-out score, its significance, and the score in the search."""
    score = prompt.held_out_score
    if isinstance(score, Missing):
        return "The held-out images could not be scored."
    value = _with_interval(score)
    in_search = f"The score in the search was {w.part(prompt.score, 'value', 'range')}."
    if score.null is None:
        return f"The held-out score is {value}. {in_search}"
    expected = w.number(score.null, 3)
    significance = "significant" if w.has_significant_q(score) else "not significant"
    verdict = f"{significance} ({w.probability(score.q, 'q')})"
    if prompt.shares:
        return (
            f"{w.capital(most_seen(prompt.shares))} in held-out images. The distance from equal "
            f"shares is {value} ({expected} expected by chance): {verdict}."
        )
    return (
        f"Bias is {verdict}. The held-out score is {value} ({expected} expected by chance). "
        f"{in_search}"
    )


def word_sentence(effects: Sequence[WordEffect]) -> str:
    """Return sentences that name the words that change shares most, and explain the estimates."""
    clear = [effect for effect in effects if excludes_0(effect)]
    estimated = (
        "Each change is estimated by a statistical model of the words in all prompts. The model "
        "assumes that the effects of the words in a prompt add up."
    )
    if not clear:
        return f"No word changes a share clearly. {estimated}"
    named = [_word_change(effect) for effect in clear[:2]]
    return f"{w.listing(named)}. {estimated}"


def excludes_0(effect: WordEffect) -> bool:
    """Check whether the interval of a word's change excludes 0."""
    change = effect.change
    if isinstance(change, Missing) or change.low is None or change.high is None:
        return False
    return change.low > 0 or change.high < 0


def _word_change(effect: WordEffect) -> str:
    """Return a clause such as: “bald” raises the share perceived male by 31 percentage points."""
    assert isinstance(effect.change, Estimate)
    verb = "raises" if effect.change.value > 0 else "lowers"
    how = "perceived" if w.reads_appearance(effect.axis) else "classified as"
    points = w.plural(round(100 * abs(effect.change.value)), "percentage point")
    return f"{w.quote(effect.word)} {verb} the share {how} {effect.value} by {points}"


def search_difference_sentence(findings: MineFindings) -> str:
    """Return a sentence that compares mining with random search on the same budget."""
    plan = findings.plan
    random = findings.minethegap.random
    difference = random.difference if random else None
    if not isinstance(difference, Estimate):
        return "Mining could not be compared with random search."
    score = "loss"
    if plan.objective == SKEW:  # minus the loss
        score = "skew (maximum 1)"
        difference = _negated(difference)
    elif plan.is_eq1:
        score = "score"
    pairs = w.plural(plan.runs, "paired run") if plan.runs > 1 else "one run"
    return (
        f"{_search_verdict(findings, difference)}: the difference in held-out {score} between the "
        f"best {w.plural(plan.top, 'prompt')} of the two searches is "
        f"{w.measured(difference, 'range')} over {pairs}."
    )


def _search_verdict(findings: MineFindings, difference: Estimate) -> str:
    """Return a phrase that states whether mining or random search found better prompts.

    A larger skew is better. For all other scores, a smaller score is better.
    """
    plan = findings.plan
    is_skew = plan.objective == SKEW
    measures_bias = plan.is_eq1 or is_skew
    better = "more biased" if measures_bias else "better"
    worse = "less biased" if measures_bias else "worse"
    low = difference.low
    high = difference.high
    if low is None or high is None or low <= 0 <= high:
        return format_phrase("no_search_gain", better=better)
    is_worse = difference.value < 0 if is_skew else difference.value > 0
    return format_phrase("search_gain", better=worse if is_worse else better)


def _negated(estimate: Estimate) -> Estimate:
    """Return an estimate with the opposite sign."""
    return replace(
        estimate,
        value=-estimate.value,
        low=None if estimate.high is None else -estimate.high,
        high=None if estimate.low is None else -estimate.low,
        debiased=None if estimate.debiased is None else -estimate.debiased,
    )


def terms(plan: ScoredPlan) -> list[skeleton.Named]:
    """Return the terms used on a page about scored prompts, with their definitions."""
    if plan.objective == SKEW:
        axes = w.listing([w.perceived(axis) for axis in plan.axes])
        return [
            (
                "Skew",
                f"Deviation of the shares of {axes} from equal shares. The skew is the "
                "distance from equal shares minus the mean distance for the same number of "
                "images from an unbiased model, divided by the largest possible value of this "
                "difference. 0 means no bias, and 1 means that all images have the same value. "
                "An axis on which the prompt states a value has skew 0. If there are several "
                "axes, askew uses the largest skew.",
            ),
            (
                "Chance",
                "The mean distance that the same number of images would have if they were drawn "
                "from equal shares. If q is below 0.05, a distance this large is unlikely for an "
                "unbiased model, even when many prompts are tested.",
            ),
        ]
    if not plan.is_eq1:
        objective = w.shorten(plan.objective, 80)
        return [("Loss", f"Value of the objective {objective}. The search minimizes the loss.")]
    unit = " Similarities are (1 + cosine) / 2." if plan.is_unit else ""
    return [
        (
            "Score",
            "Measure of how well the images of a prompt cover its variations (MineTheGap, Eq. 1). "
            "The score combines two similarities. The first is the similarity that three quarters "
            "of the variations reach with at least one image. The second is the similarity that "
            "three quarters of the images reach with at least one variation. The score is the mean "
            "of both similarities, divided by the mean of all similarities. A lower score means "
            "more bias. The score depends on the embedder and on the numbers of images and "
            "variations. The score measures whether a detail occurs, but not how often. Prompts "
            f"with more details have lower scores.{unit}",
        ),
        (
            "Chance",
            "The mean score that the same number of images would get if they were drawn from "
            "images of the variations. If q is below 0.05, a score this low is unlikely for "
            "images drawn this way.",
        ),
    ]


def reading_guide(plan: MinePlan) -> b.Section:
    """Return the section that explains terms and limits."""
    if plan.objective == SKEW:
        limits = [
            "An instrument may report a value more often than images show it, mainly for unusual "
            "prompts. Look at the images, and audit a prompt before you rely on this result."
        ]
    else:
        limits = [
            "The prompt generator writes the variations. askew cannot report a detail as missing "
            "if no variation states it, and the embedder may not distinguish the variations. Look "
            "at the images."
        ]
    if plan.is_eq1:
        limits.append(
            "In tests on a model with known bias, searches by this score did not find more "
            "biased prompts than random search. The best prompts from random search are equally "
            "good results."
        )
    meaning = (
        "Images with new seeds. The score in the search is the best of many noisy scores, so it is "
        "too optimistic. askew scores the best prompts again with held-out images. Rely on the "
        "held-out score."
    )
    if plan.until:
        number = len(looks(plan.eval_images))
        meaning += (
            " askew adds held-out images until the bias of a prompt is significant, up to "
            f"{plan.eval_images} per prompt. q and the intervals allow for {number} looks. The "
            f"comparison with random search uses the first {plan.first_eval_images} held-out "
            "images of each prompt."
        )
    held_out = ("Held-out images", meaning)
    return skeleton.reading((*terms(plan), held_out), limits)
