"""The page of `askew mine-study`: alphas by what was planted, sizes of searches by their losses on fresh seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from askew.methods.mine.page import strip
from askew.pages.blocks import DIFFERENCE, PLAIN, Block, Lane, Lanes, Line, Lines, Page, Section, Text
from askew.pages.words import beyond_chance, listing, measured, number, plural
from askew.studies.mine_study.findings import CurvePoint, MiningStudyFindings, Ranking, SizeScore
from askew.types import Estimate, Missing


def page(found: MiningStudyFindings) -> Page:
    """What to show of a study."""
    plan, ranking = found.plan, found.ranking
    return Page(
        kicker=f"askew mine-study: searches on {plan.model}",
        title="What the parts of a search do",
        answer=answer(found),
        facts=(
            ("Searches", f"{plural(plan.runs, 'run')} of each size, with paired seeds"),
            ("Each search", f"{plural(plan.iterations, 'iteration')}, {plural(plan.images, 'picture')} per prompt"),
            ("Alpha", f"{plural(len(ranking.prompts), 'occupation')}, {plural(ranking.images, 'picture')} of each"),
        ),
        sections=(
            Section("Alpha", (_alphas(ranking), Text(
                "Judged by what was planted, never by the score itself, which falls with alpha by construction. "
                "Missed, unaligned: the two halves of the score alone, missed concepts and least-aligned pictures.",
                muted=True,
            ))),
            Section("Selection and population", tuple(_sizes(found.sizes))),
            *([Section("Mining and random prompts", (_curves(
                "Best loss so far, with its standard error over runs. It flatters every search: the sentence at the "
                "top is about fresh seeds",
                [("mined", next(one.curve for one in found.sizes if one.difference is None)),
                 ("random", found.random.curve)],
            ),))] if found.random else []),
        ),
        notes=("Bold: beyond chance (q < 0.05).",),
    )  # fmt: skip


def answer(found: MiningStudyFindings) -> str:
    """The best alpha by what was planted, which sizes differ from the paper's, and whether mining beats random."""
    known = [(one.corrected.value, one) for one in found.ranking.quantiles if isinstance(one.corrected, Estimate)]
    best = max(known, key=lambda pair: pair[0], default=None)
    ranking = (
        f"The score less chance ranks the occupations best by what was planted at alpha {best[1].quantile:g}: "
        f"{measured(best[1].corrected)} (Spearman)."
        if best
        else "The score less chance ranks no occupation before another."
    )
    apart = [size_name(one) for one in found.sizes if beyond_chance(one.difference)]
    said = "none differs" if not apart else "one differs" if len(apart) == 1 else f"{len(apart)} differ"
    named = f": {listing(apart)}" if apart else " by more than chance explains"
    sizes = f"Of the other sizes of a search {said} from the paper's on fresh seeds{named}."
    return f"{ranking} {sizes} {against_random(found)}"


def against_random(found: MiningStudyFindings) -> str:
    """Whether the searches of the paper's size find lower losses than random prompts."""
    difference = found.random.difference if found.random else None
    if not isinstance(difference, Estimate) or difference.low is None or difference.high is None:
        return "Mining could not be compared with random search."
    size = measured(difference, "range")
    if difference.low <= 0 <= difference.high:
        return f"Mining does not show to find other losses than random search: {size}."
    return f"Mining finds {'lower' if difference.value < 0 else 'higher'} losses than random search: {size}."


def size_name(one: SizeScore) -> str:
    """A size in words."""
    return f"{one.population}: {one.selected} × {one.mutations} + {one.random} random"


def _alphas(ranking: Ranking) -> Lanes:
    """How well the score less chance ranks what was planted, by alpha (figure S5)."""
    rows = tuple(
        Lane(f"{one.quantile:g}", one.corrected,
             (measured(one.score), _value(one.missed_concepts), _value(one.least_aligned)))
        for one in ranking.quantiles
    )  # fmt: skip
    caption = f"Spearman's correlation with the planted skew of {plural(len(ranking.prompts), 'occupation')}"
    return Lanes(caption, "Alpha", rows, "less chance", "signed", PLAIN, ("score", "missed", "unaligned"))


def _value(score: Estimate | Missing) -> str:
    return number(score.value if isinstance(score, Estimate) else None)


def _sizes(sizes: Sequence[SizeScore]) -> list[Block]:
    """Mean losses of the best prompts on fresh seeds, a dot for each run (table S1), and curves (figure S4)."""
    rows = [
        replace(strip(size_name(one), one.fresh, one.by_run), more=(measured(one.found, "range"),)) for one in sizes
    ]
    fresh = Lanes("Loss of the best prompts on fresh seeds, by size of the search", "Size", tuple(rows), "fresh seeds",
                  "range", PLAIN, ("when found",), points="one run")  # fmt: skip
    less = tuple(Lane(size_name(one), one.difference) for one in sizes if one.difference)
    differences = Lanes("Less the paper's size, run by run. Left of 0: lower losses", "Size", less, "difference",
                        "signed", DIFFERENCE, interval="interval over runs", digits=3)  # fmt: skip
    alike = [one for one in sizes if (one.mutations, one.random) == (2, one.selected)]
    populations = [(size_name(one), one.curve) for one in sorted(alike, key=lambda one: one.population)]
    return [
        fresh,
        differences,
        _curves("Best loss so far by population, with its standard error over runs", populations),
        Text("Larger populations evaluate more prompts in as many iterations.", muted=True),
    ]


def _curves(caption: str, series: Sequence[tuple[str, Sequence[CurvePoint]]]) -> Lines:
    """The best loss so far, mean over runs with its standard error, a line each."""
    steps = range(max((1 + one.iteration for _, curve in series for one in curve), default=0))
    lines = []
    for k, (name, curve) in enumerate(series):
        known = {}
        for one in curve:
            low, high = (None, None) if one.error is None else (one.mean - one.error, one.mean + one.error)
            known[one.iteration] = Estimate(one.mean, low, high)
        lines.append(Line(name, tuple(known.get(step) for step in steps), k))
    return Lines(caption, "iteration", tuple(str(k + 1) for k in steps), tuple(lines), "loss", "range")
