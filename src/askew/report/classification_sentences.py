"""What a classification found, in sentences."""

from __future__ import annotations

from askew.report.classification_reading import DENOISING, ClassificationReading
from askew.report.formatting import Record, interval, measured, percent, plural, points, probability, quote
from askew.report.reading import exceeds_chance, is_estimate


def headline(reading: ClassificationReading) -> str:
    """The answer in a sentence or two."""
    column = (DENOISING, reading.most)
    model, (first, _) = reading.model, reading.sets
    main = reading.main
    if main is None or not is_estimate(main["S"]):
        group = reading.groups[0]
        found = reading.association(group, column)
        if not is_estimate(found):
            return f"{model} made no decision about {quote(group, 40)}."
        return (
            f"Of two classes, {model} takes pictures of {quote(group, 40)} for the {quote(first, 40)} one in "
            f"{measured(found, percent)} of its decisions; without a lean it would be half."
        )
    x, y = main["group_x"], main["group_y"]
    shares = [reading.association(group, column) for group in (x, y)]
    start = (
        f"Of two classes, {model} chooses the {quote(first, 40)} one in {percent(shares[0].get('value'))} of its "
        f"decisions about {quote(x, 40)} and in {percent(shares[1].get('value'))} about {quote(y, 40)}"
    )
    return f"{start}: {difference_sentence(main['S'])}."


def difference_sentence(estimate: Record) -> str:
    """A difference of shares in points, and whether chance would give it."""
    size = f"{points(estimate['value'])} points {interval(estimate, points)}"
    test = probability(estimate.get("q"), "q")
    return f"{size}, {'beyond chance' if exceeds_chance(estimate) else 'no more than chance gives'} ({test})"


def effect_sentence(reading: ClassificationReading) -> str | None:
    """Whether more noise samples make the decisions more right, and more one-sided."""
    main = reading.main
    effect = reading.effect("differential", main["group_x"], main["group_y"]) if main else None
    if effect is None or not is_estimate(effect["difference"]):
        return None
    few, many = effect["samples"]
    difference = effect["difference"]
    how = "changes by" if exceeds_chance(difference) else "changes no more than chance gives:"
    text = f"With {plural(many, 'noise sample')} instead of {few} the difference between the groups {how}"
    text += f" {points(difference['value'])} points {interval(difference, points)}"
    gains = [e["difference"] for e in reading.section["samples_effect"] if e["score"] == "accuracy"]
    known = [gain["value"] for gain in gains if is_estimate(gain)]
    if known:
        text += f", and the accuracy by {points(sum(known) / len(known))} points on average over the groups"
    return f"{text}."


def truth_sentence(entry: Record) -> str:
    """Whether measured differences order as planted ones."""
    start = (
        f"{quote(entry['group_x'], 40)} less {quote(entry['group_y'], 40)}: planted {points(entry['planted'])} points"
    )
    found = entry["spearman"]
    if not entry["pairs"]:
        return f"{start} on average; not every pair of classes was decided."
    if not is_estimate(found):
        mean = sum(row["measured"] for row in entry["pairs"]) / len(entry["pairs"])
        return f"{start} in every pair, so that there is no order to find; measured {points(mean)} points on average."
    return (
        f"{start} on average; over {len(entry['pairs'])} pairs the measured differences have a rank correlation of "
        f"{measured(found)} with the planted ones ({probability(found.get('p'), 'p')})"
        f"{_shown(entry['recovered'])}."
    )


def _shown(found: Record) -> str:
    return f", and show {measured(found, percent)} of their size" if is_estimate(found) else ""


def agreement_sentence(entry: Record) -> str:
    """How often two classifiers decide alike, and by how much their associations differ."""
    one, other = entry["classifiers"]
    alike, less = entry["agreement"], entry["difference"]
    if not is_estimate(alike) or not is_estimate(less):
        return f"{quote(entry['group'], 40)}: no decision by both."
    return (
        f"{quote(entry['group'], 40)}: {other} and the {one} error decide alike in {percent(alike['value'])} of cases; "
        f"{other} less {one}: {difference_sentence(less)}."
    )


def pruning_sentence(pruning: Record) -> str:
    """What giving up classes has saved."""
    stages = ", ".join(f"after {plural(samples, 'sample')} the best {keep}" for samples, keep in pruning["stages"])
    return (
        f"Classes were given up on the way ({stages}): {pruning['evaluations']:,} evaluations instead of "
        f"{pruning['evaluations_full']:,}, {percent(pruning['saving'])} saved. Pairs are decided by the samples that "
        "both classes have."
    )
