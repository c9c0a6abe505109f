"""What editing and classification find of the bias that was planted in `studio`.

    python -m benchmarks.downstream_truth classification [--write docs/reference/downstream.md]
    python -m benchmarks.downstream_truth editing [--write docs/reference/downstream.md]

`classification`: drawings of men and of women, in which nothing shows an occupation, are classified
between occupations that lie evenly in the planted order. Do the differences between the groups
order as planted, how much of their size do they show, and does it grow with noise samples? --many
also takes 100 samples, of few pictures. `editing`: the same drawings are edited towards the
occupations with the fewest women and with the fewest men. Does perceived gender change more often
at greater strength, and where the occupation excludes the group?

--write puts the text between the page's markers of that name. Results are kept in --store; a second
call is quick.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

import askew
from askew.methods.classify.findings import MeanErrors
from askew.methods.classify.gather import ErrorsOfClasses
from askew.methods.classify.score import ClassDecisions
from askew.methods.edit.findings import EditFindings
from askew.pages.words import measured, number, percent, probability
from askew.parts.scoring import Scoring, or_missing
from askew.studio.planted import female_share
from askew.studio.scene import OCCUPATIONS
from askew.types import Estimate, Missing
from benchmarks.marked_page import update
from benchmarks.planted_classes import Planted, found_again, planted_preference
from benchmarks.recovery import recovered, spearman_crossed
from benchmarks.wording import spread

GROUPS = ("man", "woman")
SOURCES = "studio/planted"
BIAS = 1.0
"""Of the planted differences that both models are held against."""

STRENGTHS = (0.6, 0.8, 1.0)
ENOUGH = 0.8
"""A rank correlation below it is explained."""

SETTLED = 0.9
"""Share of pictures, of both groups together, from which on a pair of classes is decided alike."""

SCORING = Scoring("denoising", draws=2000)


def interleaved(count: int) -> dict[str, tuple[str, ...]]:
    """Two sets of occupations, evenly over the planted order: their pairs have planted differences
    of all sizes.
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
    """Decisions about drawings of both groups, by number of noise samples."""
    name = f"classify-{model.replace('/', '-')}-{pictures}-{samples[-1]}"
    found = askew.classify(
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
    entries = found.findings.classification.errors
    return {n: ClassDecisions.of(_readings(entries, n), found.plan.pairs) for n in samples}


def _readings(entries: Sequence[MeanErrors], samples: int) -> ErrorsOfClasses:
    own = [e for e in entries if e.samples == samples]
    errors = {e.group: np.array(e.values, dtype=np.float32)[:, :, None] for e in own}
    return ErrorsOfClasses(samples, own[0].classes, errors)


def possible(planted: Planted, pictures: int) -> tuple[float, float]:
    """Mean and 5th percentile of the order, if every picture were decided at random with the
    planted preferences.
    """
    rng = np.random.default_rng(0)
    shares = [
        np.array(
            [
                [planted_preference(group, a, b, BIAS) for b in planted.second]
                for a in planted.first
            ],
            dtype=float,
        )
        for group in GROUPS
    ]
    drawn = [rng.binomial(pictures, share, (500, *share.shape)) / pictures for share in shares]
    orders = [
        spearmanr((x - y).ravel(), planted.table.ravel()).statistic
        for x, y in zip(*drawn, strict=True)
    ]
    return float(np.mean(orders)), float(np.quantile(orders, 0.05))


def classification(options: argparse.Namespace) -> Iterator[str]:
    """The section on classification."""
    targets = interleaved(options.classes)
    planted = Planted.of(targets, *GROUPS, BIAS)
    assert planted is not None
    by_model = {
        m: decisions(m, targets, options.pictures, options.samples, options) for m in options.models
    }
    yield from _setting(options, f"{planted.table.size} pairs of {options.classes} occupations")
    yield "| model | noise samples | images per group | order | p | share of the planted size | p |"
    yield "| --- | ---: | ---: | --- | --- | --- | --- |"
    for model, by_samples in by_model.items():
        for samples, decided in by_samples.items():
            yield _found(model, samples, options.pictures, planted, decided)
    many = {}
    if options.many:
        many = decisions(
            options.models[0], targets, options.many_pictures, (*options.samples, 100), options
        )
        for samples, decided in many.items():
            yield _found(options.models[0], samples, options.many_pictures, planted, decided)
    yield ""
    yield "Order: Spearman's correlation of measured and planted differences over the pairs. Its interval is a jackknife"
    yield "over occupations. Share: slope of measured on planted differences through zero; 1 is the planted size."
    yield ""
    yield from _why(by_model[options.models[0]][options.samples[-1]], planted, options.pictures)
    yield from _changes(by_model, many, planted, options)


def _found(
    model: str, samples: int, pictures: int, planted: Planted, decided: ClassDecisions
) -> str:
    sides = (decided.decisions[GROUPS[0]], decided.decisions[GROUPS[1]])
    order, shown = found_again(
        planted, sides, SCORING.rng(model, str(samples), str(pictures)), SCORING
    )
    cells = [_with_p(found) for found in (order, shown)]
    return f"| `{model}` | {samples} | {pictures} | {' | '.join(cells)} |"


def _with_p(found: Estimate | Missing) -> str:
    return f"{measured(found)} | {probability(found.p if isinstance(found, Estimate) else None)}"


def _why(decided: ClassDecisions, planted: Planted, pictures: int) -> Iterator[str]:
    """Why the order is not perfect, where it falls below what was hoped for."""
    sides = (decided.decisions[GROUPS[0]], decided.decisions[GROUPS[1]])
    order = spearmanr(planted.measured(*sides).ravel(), planted.table.ravel()).statistic
    mean, low = possible(planted, pictures)
    verdict = (
        "So the number of images does not explain the order; noise samples, or the trained model, do."
        if order < low
        else "So the number of images explains the order."
    )
    yield (
        f"If each of {pictures} images per group were decided at random with the planted preferences, the order would "
        f"be {number(mean)} on average and above {number(low)} in 95 of 100 cases."
        + (f" {verdict}" if order < ENOUGH else "")
    )
    yield ""
    if order < ENOUGH:
        yield _undecided(decided, planted)
        yield ""


def _undecided(decided: ClassDecisions, planted: Planted) -> str:
    """What decisions lose of errors: pairs that are decided alike whoever is shown, and the order
    of errors alone.
    """
    both = np.concatenate([planted.chosen(decided.decisions[group]) for group in GROUPS])
    shares = np.nanmean(both, axis=0)
    alike = np.count_nonzero(np.maximum(shares, 1 - shares) >= SETTLED)
    means = np.array([decided.readings.errors[group].mean(axis=(0, 2)) for group in GROUPS])
    gaps = dict(zip(decided.readings.classes, means[1] - means[0], strict=True))
    table = np.array([[gaps[a] - gaps[b] for b in planted.second] for a in planted.first])
    order = spearman_crossed(planted.table, table, rng=SCORING.rng("errors"), draws=SCORING.draws)
    ratio = float(means.mean(axis=0).std() / np.std(list(gaps.values())))
    return (
        f"{alike} of {shares.size} pairs have the same decision in {percent(SETTLED)} of all images or more. An "
        f"occupation's mean error varies {number(ratio, 1)} times as much between occupations, whose sign no image "
        f"shows, as its difference between the groups does. These differences, without decisions, correlate with the "
        f"planted order by {measured(order)}, p {probability(order.p)}."
    )


def _changes(
    by_model: Mapping[str, Mapping[int, ClassDecisions]],
    many: Mapping[int, ClassDecisions],
    planted: Planted,
    options: argparse.Namespace,
) -> Iterator[str]:
    """More samples against fewer, and each further model against the first, on the same pictures."""
    first, *others = options.models
    fewest = options.samples[0]
    most = options.samples[-1]
    compared = [
        (
            f"`{first}`, {most} samples minus {fewest}",
            by_model[first][fewest],
            by_model[first][most],
        )
    ]
    if many:
        what = f"`{first}`, 100 samples minus {most}, {options.many_pictures} images per group"
        compared.append((what, many[most], many[100]))
    compared += [
        (f"`{one}` minus `{first}`, {most} samples", by_model[first][most], by_model[one][most])
        for one in others
    ]
    yield "| change of the share, on the same images | difference | p |"
    yield "| --- | --- | --- |"
    for what, before, after in compared:
        then, now = (
            [planted.chosen(one.decisions[group]) for group in GROUPS] for one in (before, after)
        )
        change = or_missing(
            recovered,
            *now,
            planted.table.ravel(),
            before=then,
            rng=SCORING.rng("recovered"),
            **SCORING.interval_options,
        )
        yield f"| {what} | {_with_p(change)} |"


def editing(options: argparse.Namespace) -> Iterator[str]:
    """The section on editing."""
    names = list(OCCUPATIONS)
    targets = {"men's": tuple(names[: options.words]), "women's": tuple(names[-options.words :])}
    by_model = {model: _edited(model, targets, options) for model in options.models}
    yield from _setting(options, f"{options.words} occupations per set")
    for name, words in targets.items():
        shares = ", ".join(f"{word} {percent(female_share(word))}" for word in words)
        yield f"- {name}: {shares} women, as planted"
    yield ""
    strengths = " | ".join(f"{s:g}" for s in STRENGTHS)
    yield f"| model | group | toward | {strengths} | {STRENGTHS[-1]:g} minus {STRENGTHS[0]:g}, points | q |"
    yield f"| --- | --- | --- | {'--- | ' * len(STRENGTHS)}--- | --- |"
    for model, found in by_model.items():
        for group in GROUPS:
            for name in targets:
                yield _rates(model, found, group, name)
    yield ""
    yield "Share of edits whose perceived gender differs from the input image. The men's occupations exclude women, the"
    yield "women's exclude men."
    yield ""
    yield "| model | group | strength | occupations that exclude the group minus all other occupations, points | q |"
    yield "| --- | --- | ---: | --- | --- |"
    for model, found in by_model.items():
        yield from _exclusion(model, found)


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


def _rates(model: str, found: EditFindings, group: str, name: str) -> str:
    own = {
        e.strength: e.gender_change for e in found.editing if (e.group, e.targets) == (group, name)
    }
    (change,) = [
        one
        for one in found.editing_contrasts
        if one.contrast == "strength" and (one.first.group, one.first.targets) == (group, name)
    ]
    cells = [measured(own[s], "share") for s in STRENGTHS]
    return (
        f"| `{model}` | {group} | {name} | {' | '.join(cells)} | {_with_q(change.gender_change)} |"
    )


def _exclusion(model: str, found: EditFindings) -> Iterator[str]:
    """Edits towards occupations that exclude a group against the others, by strength."""
    for one in found.editing_contrasts:
        if one.contrast == "targets":
            group = one.first.group
            change = one.gender_change
            if group == "woman" and isinstance(
                change, Estimate
            ):  # the second set, the women's, includes her
                low, high = (None if end is None else -end for end in (change.high, change.low))
                change = replace(change, value=-change.value, low=low, high=high)
            yield f"| `{model}` | {group} | {one.first.strength:g} | {_with_q(change)} |"


def _with_q(change: Estimate | Missing) -> str:
    return f"{measured(change, 'points')} | {probability(change.q if isinstance(change, Estimate) else None)}"


def _setting(options: argparse.Namespace, what: str) -> Iterator[str]:
    yield (
        f"`python -m benchmarks.downstream_truth {options.half}`: {options.pictures} drawings each of a man and of a "
        f"woman by `{SOURCES}`, {what}, seed {options.seed}. Intervals at level {SCORING.level:g}."
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
    parser.add_argument("--pictures", type=int, default=24, help="of each group")
    parser.add_argument(
        "--classes", type=int, default=12, help="occupations that are classified between"
    )
    parser.add_argument("--samples", type=int, nargs="+", default=[1, 10])
    parser.add_argument("--many", action="store_true", help="100 samples too, on the first model")
    parser.add_argument("--many-pictures", type=int, default=4)
    parser.add_argument("--words", type=int, default=2, help="occupations in each set of targets")
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
