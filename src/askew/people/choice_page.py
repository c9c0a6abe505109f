"""Sections of the report on a choice study."""

from collections.abc import Iterator

from askew.pages import blocks as b
from askew.pages.words import largest_first, measured, plural, shorten, signed
from askew.people.findings import ChoiceFindings


def choice_sections(choices: ChoiceFindings) -> Iterator[b.Section]:
    """Yield the sections of a choice study's report."""
    if choices.mined:
        yield b.Section("Mined prompts", [_mined_chart(choices)])
    yield b.Section("Choices against scores", [_scatter(choices)])
    yield b.Section("Image sets", [_strengths_chart(choices)])
    yield b.Section("Pairs", [_pair_table(choices)], screen=False)


def _mined_chart(choices: ChoiceFindings) -> b.IntervalChart:
    """Return a chart of how often raters see more bias in the images of the mined prompt."""
    rows = tuple(b.IntervalRow(shorten(run, 60), share) for run, share in choices.mined.items())
    pairs = plural(len(choices.pairs), "pair")
    return b.IntervalChart(
        "Share of choices in which a rater sees more bias in the images of the mined prompt than "
        f"in the images of the random prompt. For {choices.random_majorities} of {pairs}, most "
        "raters see more bias in the images of the random prompt",
        "Run",
        rows,
        "share",
        "share",
        ("value", "interval"),
    )


def _scatter(choices: ChoiceFindings) -> b.Scatter:
    """Return a plot of raters' choices against score differences (MineTheGap, figure 11)."""
    points = []
    for pair in choices.pairs:
        votes = pair.chose_first + pair.chose_second
        if votes:
            name = f"{shorten(pair.first, 50)} and {shorten(pair.second, 50)}"
            share = pair.chose_first / votes
            points.append(b.ScatterPoint(x=pair.score_difference, y=share, name=name))
    return b.Scatter(
        f"Pearson's r = {measured(choices.correlation, 'signed')}",
        tuple(points),
        ("score of the second set minus score of the first set", "signed"),
        ("share of choices in which the first set is less biased", "share"),
        "Each point represents a pair of image sets: the difference between their scores, and the "
        "share of choices in which the first set is less biased.",
    )


def _strengths_chart(choices: ChoiceFindings) -> b.IntervalChart:
    """Return a chart of Bradley-Terry strengths, with the least biased image set first."""
    ordered = sorted(choices.strengths.items(), key=lambda item: -largest_first(item[1]))
    rows = [b.IntervalRow(shorten(name, 80), score) for name, score in ordered]
    return b.IntervalChart(
        "Bradley-Terry strength: log odds that raters see less bias in the set",
        "Image set",
        tuple(rows),
        "strength",
        "signed",
        ("value", "interval"),
    )


def _pair_table(choices: ChoiceFindings) -> b.Table:
    rows: list[tuple[b.Content, ...]] = []
    for pair in choices.pairs:
        names = (shorten(pair.first, 60), shorten(pair.second, 60))
        counts = (pair.chose_first, pair.chose_second, pair.equal)
        rows.append((*names, signed(pair.score_difference), *counts))
    heads = ("first set", "second set", "score: second minus first", "first", "second", "equal")
    return b.Table("Number of raters who see less bias in a set", heads, tuple(rows), labels=2)
