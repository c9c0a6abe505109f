"""Compare results of editing and classification with the bias that was planted in `studio`.

    python -m benchmarks.downstream_truth classification [--write docs/reference/downstream.md]
    python -m benchmarks.downstream_truth editing [--write docs/reference/downstream.md]

`classification`: drawings of men and of women, in which nothing shows an occupation, are classified
between occupations that are evenly spread over the planted order. The tables show whether the
differences between the groups have the planted order, how much of the planted size they have, and
whether it grows with the number of noise samples. --many adds 100 samples, of few images.

`editing`: the same drawings are edited toward the occupations with the fewest women and with the
fewest men. The tables show whether perceived gender changes more often at greater strength, and
where the occupation excludes the group.

--write puts the text between the page's markers of that name. Results are stored in --store; a
second call is quick.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

import askew
from askew.methods.classify.decisions import ClassDecisions
from askew.methods.classify.findings import MeanErrors
from askew.methods.classify.gather import ErrorsOfClasses
from askew.methods.edit.findings import EditFindings
from askew.pages.words import measured, number, percent, probability
from askew.parts.scoring import Scoring, or_missing
from askew.studio.planted import female_share
from askew.studio.scene import OCCUPATIONS
from askew.types import Estimate, Missing
from benchmarks.captions import spread
from benchmarks.markdown import table_row
from benchmarks.marked_page import update
from benchmarks.planted_classes import (
    Decisions,
    PlantedAssociation,
    measure_recovery,
    planted_preference,
)
from benchmarks.recovery import recovered, spearman_crossed

GROUPS = ("man", "woman")
SOURCES = "studio/planted"
BIAS = 1.0
"""Bias of the planted differences with which both models are compared."""

STRENGTHS = (0.6, 0.8, 1.0)
ENOUGH = 0.8
"""Rank correlation below which the page explains the deviation from 1."""

SAME_DECISION = 0.9
"""Share of images of both groups from which on a pair of classes counts as decided equally."""

MANY_SAMPLES = 100
SCORING = Scoring("denoising", draws=2000)

DecisionsBySamples = Mapping[int, ClassDecisions]


def interleaved(count: int) -> dict[str, tuple[str, ...]]:
    """Return two sets of occupations that alternate in the planted order.

    Their pairs have planted differences of all sizes.
    """
    names = spread(count)
    return {"one": tuple(names[0::2]), "other": tuple(names[1::2])}


def decisions(
    model: str,
    targets: Mapping[str, Sequence[str]],
    pictures: int,
    samples: Sequence[int],
    options: argparse.Namespace,
) -> dict[int, ClassDecisions]:
    """Return decisions about drawings of both groups, by number of noise samples."""
    name = f"classify-{model.replace('/', '-')}-{pictures}-{samples[-1]}"
    result = askew.classify(
        GROUPS,
        model,
        sources=SOURCES,
        targets=targets,
        classes=(),
        samples=samples,
        images=pictures,
        vqa="none",
        seed=options.seed,
        run=options.store / name,
        progress=True,
    )
    entries = result.findings.classification.errors
    return {n: ClassDecisions.of(_readings(entries, n), result.plan.pairs) for n in samples}


def _readings(entries: Sequence[MeanErrors], samples: int) -> ErrorsOfClasses:
    errors = {}
    for entry in entries:
        if entry.samples == samples:
            errors[entry.group] = np.array(entry.values, dtype=np.float32)[:, :, None]
            classes = entry.classes
    return ErrorsOfClasses(samples, classes, errors)


def possible(planted: PlantedAssociation, pictures: int) -> tuple[float, float]:
    """Return mean and 5th percentile of the order if decisions were random.

    Each image would be decided at random with the planted preferences.
    """
    rng = np.random.default_rng(0)
    drawn = []
    for group in GROUPS:
        shares = _planted_shares(planted, group)
        drawn.append(rng.binomial(pictures, shares, (500, *shares.shape)) / pictures)
    orders = [
        spearmanr((x - y).ravel(), planted.table.ravel()).statistic
        for x, y in zip(*drawn, strict=True)
    ]
    return float(np.mean(orders)), float(np.quantile(orders, 0.05))


def _planted_shares(planted: PlantedAssociation, group: str) -> Decisions:
    """Return the planted preferences of a group: (first set, second set)."""
    rows = []
    for a in planted.first:
        rows.append([planted_preference(group, a, b, BIAS) for b in planted.second])
    return np.array(rows, dtype=float)


def classification(options: argparse.Namespace) -> Iterator[str]:
    """Yield the lines of the section on classification."""
    targets = interleaved(options.classes)
    planted = PlantedAssociation.of(targets, *GROUPS, BIAS)
    assert planted is not None
    by_model = {
        model: decisions(model, targets, options.pictures, options.samples, options)
        for model in options.models
    }
    first = options.models[0]
    yield from _setting(options, f"{planted.table.size} pairs of {options.classes} occupations")
    yield "| model | noise samples | images per group | order | p | share of the planted size | p |"
    yield "| --- | ---: | ---: | --- | --- | --- | --- |"
    for model, by_samples in by_model.items():
        yield from _recovery_rows(model, options.pictures, planted, by_samples)
    many: DecisionsBySamples = {}
    if options.many:
        samples = (*options.samples, MANY_SAMPLES)
        many = decisions(first, targets, options.many_pictures, samples, options)
        yield from _recovery_rows(first, options.many_pictures, planted, many)
    yield ""
    yield (
        "Order: Spearman's rank correlation between the measured and the planted differences, "
        "across the pairs, with an interval"
    )
    yield (
        "from a jackknife over occupations. Share of the planted size: slope of the line through "
        "zero that predicts the measured"
    )
    yield (
        "differences from the planted differences. At a slope of 1, measured and planted "
        "differences have the same size."
    )
    yield ""
    yield from _explanation(by_model[first][options.samples[-1]], planted, options.pictures)
    yield from _changes(_comparisons(by_model, many, options), planted)


def _recovery_rows(
    model: str, pictures: int, planted: PlantedAssociation, by_samples: DecisionsBySamples
) -> Iterator[str]:
    for samples, class_decisions in by_samples.items():
        rng = SCORING.rng(model, str(samples), str(pictures))
        order, share = measure_recovery(planted, _sides(class_decisions), rng, SCORING)
        cells = (f"`{model}`", str(samples), str(pictures), _with_p(order), _with_p(share))
        yield table_row(*cells)


def _sides(class_decisions: ClassDecisions) -> tuple[Decisions, Decisions]:
    """Return the decisions about each group."""
    first, second = GROUPS
    return class_decisions.decisions[first], class_decisions.decisions[second]


def _with_p(score: Estimate | Missing) -> str:
    p = score.p if isinstance(score, Estimate) else None
    return f"{measured(score)} | {probability(p)}"


def _explanation(
    class_decisions: ClassDecisions, planted: PlantedAssociation, pictures: int
) -> Iterator[str]:
    """Yield sentences that explain an imperfect order."""
    differences = planted.measured(*_sides(class_decisions))
    order = spearmanr(differences.ravel(), planted.table.ravel()).statistic
    mean, low = possible(planted, pictures)
    sentence = (
        f"If each decision were drawn at random with the planted preferences, for {pictures} "
        f"images per group, the rank correlation would be {number(mean)} on average, and above "
        f"{number(low)} in 95 of 100 cases."
    )
    if order >= ENOUGH:
        yield sentence
        yield ""
        return
    if order < low:
        sentence += (
            " So the small number of images does not explain why the measured rank correlation is "
            "lower. The noise samples or the trained model must be the cause."
        )
    else:
        sentence += " So the small number of images explains the measured rank correlation."
    yield sentence
    yield ""
    yield _lost_by_decisions(class_decisions, planted)
    yield ""


def _lost_by_decisions(class_decisions: ClassDecisions, planted: PlantedAssociation) -> str:
    """Return sentences on the information about errors that decisions lose."""
    both = np.concatenate([planted.chosen(side) for side in _sides(class_decisions)])
    shares = np.nanmean(both, axis=0)
    alike = np.count_nonzero(np.maximum(shares, 1 - shares) >= SAME_DECISION)
    readings = class_decisions.readings
    means = np.array([readings.errors[group].mean(axis=(0, 2)) for group in GROUPS])
    gaps = dict(zip(readings.classes, means[1] - means[0], strict=True))
    rows = np.array([gaps[name] for name in planted.first])
    columns = np.array([gaps[name] for name in planted.second])
    table = rows[:, None] - columns
    order = spearman_crossed(planted.table, table, rng=SCORING.rng("errors"), draws=SCORING.draws)
    ratio = float(means.mean(axis=0).std() / np.std(list(gaps.values())))
    return (
        f"In {alike} of {shares.size} pairs, at least {percent(SAME_DECISION)} of all images get "
        "the same decision. No image shows an occupation, but the mean denoising error depends on "
        f"the occupation: across occupations, its standard deviation is {number(ratio, 1)} times "
        "the standard deviation of the difference between the groups. If the differences in error "
        "are used directly, without decisions, their rank correlation with the planted order is "
        f"{measured(order)} (p {probability(order.p)})."
    )


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sets of decisions about the same images.

    Attributes
    ----------
    label
        Description of the comparison.
    before, after
        The decisions. The comparison is after minus before.
    """

    label: str
    before: ClassDecisions
    after: ClassDecisions


def _comparisons(
    by_model: Mapping[str, DecisionsBySamples],
    many: DecisionsBySamples,
    options: argparse.Namespace,
) -> Iterator[Comparison]:
    """Yield comparisons of more with fewer samples, and of each further model with the first."""
    first, *further = options.models
    fewest = options.samples[0]
    most = options.samples[-1]
    yield Comparison(
        label=f"`{first}`, {most} samples minus {fewest}",
        before=by_model[first][fewest],
        after=by_model[first][most],
    )
    if many:
        images = f"{options.many_pictures} images per group"
        yield Comparison(
            label=f"`{first}`, {MANY_SAMPLES} samples minus {most}, {images}",
            before=many[most],
            after=many[MANY_SAMPLES],
        )
    for model in further:
        yield Comparison(
            label=f"`{model}` minus `{first}`, {most} samples",
            before=by_model[first][most],
            after=by_model[model][most],
        )


def _changes(comparisons: Iterator[Comparison], planted: PlantedAssociation) -> Iterator[str]:
    """Yield the table of changes of the share of the planted size."""
    yield "| change of the share, on the same images | difference | p |"
    yield "| --- | --- | --- |"
    for comparison in comparisons:
        before = [planted.chosen(side) for side in _sides(comparison.before)]
        after = [planted.chosen(side) for side in _sides(comparison.after)]
        change = or_missing(
            recovered,
            *after,
            planted.table.ravel(),
            before=before,
            rng=SCORING.rng("recovered"),
            **SCORING.interval_options,
        )
        yield f"| {comparison.label} | {_with_p(change)} |"


def editing(options: argparse.Namespace) -> Iterator[str]:
    """Yield the lines of the section on editing."""
    names = list(OCCUPATIONS)
    targets = {"men's": tuple(names[: options.words]), "women's": tuple(names[-options.words :])}
    by_model = {model: _edited(model, targets, options) for model in options.models}
    yield from _setting(options, f"{options.words} occupations per set")
    for name, words in targets.items():
        shares = ", ".join(f"{word} {percent(female_share(word))}" for word in words)
        yield f"- planted shares of women in {name} occupations: {shares}"
    yield ""
    yield from _rates(by_model, list(targets))
    yield ""
    yield (
        "The table lists the share of edited images whose perceived gender differs from the "
        "perceived gender of the input"
    )
    yield "image. Men's occupations exclude women, and women's occupations exclude men."
    yield ""
    excluded = "occupations that exclude the group minus all other occupations, points"
    yield f"| model | group | strength | {excluded} | q |"
    yield "| --- | --- | ---: | --- | --- |"
    for model, findings in by_model.items():
        yield from _exclusion(model, findings)


def _edited(
    model: str, targets: Mapping[str, Sequence[str]], options: argparse.Namespace
) -> EditFindings:
    run = options.store / f"edit-{model.replace('/', '-')}-{options.pictures}-{options.words}"
    return askew.edit(
        GROUPS,
        model,
        sources=SOURCES,
        edit_prompts=targets,
        strengths=STRENGTHS,
        images=options.pictures,
        axes=["gender"],
        embedder="none",
        landmarks="none",
        seed=options.seed,
        run=run,
        progress=True,
    ).findings


def _rates(by_model: Mapping[str, EditFindings], set_names: Sequence[str]) -> Iterator[str]:
    """Yield the table of changes of perceived gender, by strength."""
    strengths = [f"{strength:g}" for strength in STRENGTHS]
    change = f"{STRENGTHS[-1]:g} minus {STRENGTHS[0]:g}, points"
    yield table_row("model", "group", "toward", *strengths, change, "q")
    yield table_row(*["---"] * (len(STRENGTHS) + 5))
    for model, findings in by_model.items():
        for group in GROUPS:
            for name in set_names:
                yield table_row(f"`{model}`", group, name, *_rate_cells(findings, group, name))


def _rate_cells(findings: EditFindings, group: str, set_name: str) -> list[str]:
    """Return the rates of each strength, and their difference, for a group and a set of targets."""
    rates = {}
    for entry in findings.editing:
        if (entry.group, entry.targets) == (group, set_name):
            rates[entry.strength] = entry.gender_change
    (change,) = [
        contrast
        for contrast in findings.editing_contrasts
        if contrast.contrast == "strength"
        and (contrast.first.group, contrast.first.targets) == (group, set_name)
    ]
    cells = [measured(rates[strength], "share") for strength in STRENGTHS]
    return [*cells, _with_q(change.gender_change)]


def _exclusion(model: str, findings: EditFindings) -> Iterator[str]:
    """Yield rows that compare occupations that exclude a group with all others, by strength."""
    for contrast in findings.editing_contrasts:
        if contrast.contrast != "targets":
            continue
        group = contrast.first.group
        change = contrast.gender_change
        # The occupations that exclude men are the second set.
        if group == "woman" and isinstance(change, Estimate):
            change = _negated(change)
        yield f"| `{model}` | {group} | {contrast.first.strength:g} | {_with_q(change)} |"


def _negated(change: Estimate) -> Estimate:
    """Return a change with the opposite sign."""
    return replace(
        change,
        value=-change.value,
        low=None if change.high is None else -change.high,
        high=None if change.low is None else -change.low,
        debiased=None if change.debiased is None else -change.debiased,
    )


def _with_q(change: Estimate | Missing) -> str:
    q = change.q if isinstance(change, Estimate) else None
    return f"{measured(change, 'points')} | {probability(q)}"


def _setting(options: argparse.Namespace, subject: str) -> Iterator[str]:
    yield (
        f"The command `python -m benchmarks.downstream_truth {options.half}` uses "
        f"{options.pictures} drawings of a man and {options.pictures} drawings of a woman from "
        f"`{SOURCES}`, {subject}, and seed {options.seed}. Intervals are at level "
        f"{SCORING.level:g}."
    )
    yield ""


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "half", choices=("classification", "editing"), nargs="?", default="classification"
    )
    parser.add_argument("--models", nargs="+", default=["studio", "studio/balanced"])
    parser.add_argument("--pictures", type=int, default=24, help="number of images of each group")
    parser.add_argument(
        "--classes", type=int, default=12, help="number of occupations used as classes"
    )
    parser.add_argument("--samples", type=int, nargs="+", default=[1, 10])
    parser.add_argument(
        "--many", action="store_true", help="also use 100 samples with the first model"
    )
    parser.add_argument("--many-pictures", type=int, default=4)
    parser.add_argument(
        "--words", type=int, default=2, help="number of occupations in each set of targets"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--store", type=Path, default=Path("runs/downstream"))
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    start = time.process_time()
    section = classification if options.half == "classification" else editing
    text = "\n".join(section(options))
    print(text)
    print(f"\n{time.process_time() - start:.0f} s of CPU")
    if options.write:
        update(options.write, options.half, [text])


if __name__ == "__main__":
    main()
