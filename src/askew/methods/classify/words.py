"""What the page of `askew classify` says and explains."""

from __future__ import annotations

from collections.abc import Sequence

from askew.methods.classify.findings import Agreement, Differential, Pruning, SamplesEffect, Truth
from askew.pages import common
from askew.pages.blocks import Section, Terms
from askew.pages.phrases import say
from askew.pages.words import beyond_chance, interval, measured, percent, plural, points, probability, quote
from askew.types import Estimate, Missing


def alone(model: str, first: str, group: str, share: Estimate | Missing) -> str:
    """The answer for a single group."""
    if not isinstance(share, Estimate):
        return f"{model} made no decision about {quote(group, 40)}."
    return (f"Of two classes, {model} takes pictures of {quote(group, 40)} for the {quote(first, 40)} one in "
            f"{measured(share, 'share')} of its decisions; without a lean it would be half.")  # fmt: skip


def against(model: str, first: str, main: Differential, shares: Sequence[Estimate | Missing]) -> str:
    """The answer for two groups."""
    x, y = (percent(one.value if isinstance(one, Estimate) else None) for one in shares)
    return (f"Of two classes, {model} chooses the {quote(first, 40)} one in {x} of its decisions about "
            f"{quote(main.group_x, 40)} and in {y} about {quote(main.group_y, 40)}: {difference(main.S)}.")  # fmt: skip


def difference(score: Estimate | Missing) -> str:
    """A difference of shares in points, and whether chance would give it."""
    if not isinstance(score, Estimate):
        return "not measured"
    phrase = "chosen_apart" if beyond_chance(score) else "chosen_alike"
    return say(phrase, points=measured(score, "points"), q=probability(score.q, "q"))


def effect(one: SamplesEffect, gains: Sequence[float]) -> str:
    """Whether more noise samples make the decisions more right, and more one-sided."""
    if not isinstance(one.difference, Estimate):
        return ""
    few, many = one.samples
    how = "changes by" if beyond_chance(one.difference) else "changes no more than chance gives:"
    text = f"With {plural(many, 'noise sample')} instead of {few} the difference between the groups {how}"
    text += f" {points(one.difference.value)} points {interval(one.difference, 'points')}"
    if gains:
        text += f", and the accuracy by {points(sum(gains) / len(gains))} points on average over the groups"
    return f"{text}."


def truth(one: Truth) -> str:
    """Whether measured differences order as planted ones."""
    start = f"{quote(one.group_x, 40)} less {quote(one.group_y, 40)}: planted {points(one.planted)} points"
    if not one.pairs:
        return f"{start} on average; not every pair of classes was decided."
    if not isinstance(one.spearman, Estimate):
        mean = sum(pair.measured for pair in one.pairs) / len(one.pairs)
        return f"{start} in every pair, so that there is no order to find; measured {points(mean)} points on average."
    shown = isinstance(one.recovered, Estimate)
    size = f", and show {measured(one.recovered, 'share')} of their size" if shown else ""
    return (f"{start} on average; over {len(one.pairs)} pairs the measured differences have a rank correlation of "
            f"{measured(one.spearman)} with the planted ones ({probability(one.spearman.p, 'p')}){size}.")  # fmt: skip


def agreement(one: Agreement) -> str:
    """How often two classifiers decide alike, and by how much their associations differ."""
    first, second = one.classifiers
    if not isinstance(one.agreement, Estimate) or not isinstance(one.difference, Estimate):
        return f"{quote(one.group, 40)}: no decision by both."
    return (f"{quote(one.group, 40)}: {second} and the {first} error decide alike in {percent(one.agreement.value)} of "
            f"cases; {second} less {first}: {difference(one.difference)}.")  # fmt: skip


def pruning(one: Pruning) -> str:
    """What giving up classes has saved."""
    stages = ", ".join(f"after {plural(samples, 'sample')} the best {keep}" for samples, keep in one.stages)
    saved = f"{one.evaluations:,} evaluations instead of {one.evaluations_full:,}, {percent(one.saving)} saved"
    return f"Classes were given up on the way ({stages}): {saved}. Pairs are decided by the samples that both have."


def reading(first: str, level: float, planted: bool) -> Section:
    """How to read the scores, and how they are computed."""
    terms = (
        ("Decision", "Noise is added to a picture, and the model is asked to find it, once told that the picture shows "
         "one class, once the other. The class with which it errs less is its choice."),
        ("Association", f"The share of decisions for the {first} class, over all pictures of a group and all pairs of "
         "classes. One half is no preference. Decisions about one picture count as one."),
        ("Difference", "One group's association less another's. Zero means that the group makes no difference."),
    )  # fmt: skip
    limits = (
        "No class is right for these pictures: nothing in them is meant to show an occupation. What the model chooses "
        "tells what it connects with how people look.",
        "Groups are what a prompt or a label says.",
    )
    truth = ("Planted and measured", "share: slope of the measured on the planted differences through zero, Welch's t "
             "over pictures; order: Spearman's correlation, its interval by a jackknife over classes, since pairs "
             "share them, its p by dealing the classes out anew")  # fmt: skip
    computed = Terms((
        ("Error of a class", "mean of ‖ε_θ(√ᾱ x + √(1 − ᾱ) ε, t, class) − ε‖ over N timesteps, evenly spread, and as "
         "many noises, which all classes share; no guidance (Li et al. 2023)"),
        ("Association and difference", "Eq. 2 and 3 of Saravanan et al. (2023), “Exploring social bias in downstream "
         "applications of text-to-image foundation models”"),
        ("Intervals", "Wilson's at the number of independent decisions that would vary as much over pictures; of "
         f"differences both joined (MOVER); of single pairs mid-P; at {percent(level)}"),
        *([truth] if planted else []),
        ("p and q", "of an association: the classes change places at random, picture by picture; of a difference: "
         "pictures are dealt to the groups at random; of noise samples: few and many change places; of a pair: exact "
         "binomial; q by Benjamini and Hochberg (1995) within each kind"),
    ))  # fmt: skip
    return common.reading(terms, limits, (computed,))
