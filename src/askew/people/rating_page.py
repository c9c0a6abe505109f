"""Sections of the report on a rating study."""

from collections.abc import Iterator, Sequence

from askew.pages import blocks as b
from askew.pages.words import axis_label, measured, plural, shorten
from askew.people.findings import RatedGrid, RatingFindings, ScoreAgreement
from askew.types import Estimate

GROUP_NAMES = {
    "all": "All axes",
    "societal": "Societal axes, for prompts that have at least two such axes, as in TIBET",
}


def rating_headline(ratings: RatingFindings) -> str:
    """Return a sentence that states the correlation between ratings and the first bias score."""
    for entry in ratings.scores:
        if isinstance(entry.spearman, Estimate):
            return (
                f"The rank correlation between people's mean ratings and {entry.score} is "
                f"{measured(entry.spearman, 'signed')}, across {plural(entry.grids, 'image grid')}."
                f"{_caution(entry.spearman)}"
            )
    return "There are not enough ratings for a correlation."


def _caution(correlation: Estimate) -> str:
    """Return a note that a correlation is not significantly different from 0; empty if it is."""
    if correlation.low is None or correlation.high is None:
        return (
            " There are too few prompts for an interval, so the correlation may be due to chance."
        )
    if correlation.low <= 0 <= correlation.high:
        return " The correlation is not significantly different from 0."
    return ""


def rating_sections(ratings: RatingFindings) -> Iterator[b.Section]:
    """Yield the sections that show the correlations, TIBET's table 3, and all grids."""
    groups: dict[str, list[ScoreAgreement]] = {}
    for entry in ratings.scores:
        groups.setdefault(entry.group, []).append(entry)
    tables: list[b.Block] = []
    sizes = set(map(_sizes, groups.values()))
    if len(groups) > 1 and len(sizes) == 1:
        # all axes are societal axes
        groups.pop("societal", None)
    for group, entries in groups.items():
        tables += [_correlations(group, entries), _ranks(group, entries)]
    reliability = (
        f"Reliability of the mean ratings: {measured(ratings.reliability)}. Corrected correlations "
        "are divided by the square root of the reliability. Top-1 and top-2 are shares of the "
        "prompts that have three or more axes."
    )
    yield b.Section("Ratings and scores", [*tables, b.Paragraph(reliability)])
    yield b.Section("Ratings against scores", list(_scatters(ratings)))
    yield b.Section("Grids", [_grid_table(ratings.grids)], screen=False)


def _sizes(entries: Sequence[ScoreAgreement]) -> tuple[int, ...]:
    """Return, for each score, the number of grids that have it."""
    return tuple(entry.grids for entry in entries)


def _correlations(group: str, entries: Sequence[ScoreAgreement]) -> b.IntervalChart:
    rows = []
    for entry in entries:
        more = (
            measured(entry.kendall, "signed"),
            measured(entry.corrected, "signed"),
            "–" if entry.detectable is None else f"{entry.detectable:.2f}",
        )
        rows.append(b.IntervalRow(entry.score, entry.spearman, more=more))
    return b.IntervalChart(
        f"{GROUP_NAMES[group]}: rank correlation between mean ratings and scores, across "
        f"{plural(entries[0].grids, 'image grid')} for {plural(entries[0].prompts, 'prompt')}",
        "Score",
        tuple(rows),
        "Spearman",
        "signed",
        ("value", "interval"),
        more=("Kendall", "corrected for raters", "detectable with 90 % power"),
    )


def _ranks(group: str, entries: Sequence[ScoreAgreement]) -> b.Table:
    rows: list[tuple[b.Content, ...]] = []
    for entry in entries:
        rows.append(
            (
                entry.score,
                measured(entry.top_1, "share"),
                measured(entry.top_2, "share"),
                measured(entry.within_prompts, "signed"),
                measured(entry.spearman_of_medians, "signed"),
            )
        )
    heads = ("score", "top-1", "top-2", "ranking within prompts", "ranking by median ratings")
    return b.Table(f"{GROUP_NAMES[group]}: table 3 of TIBET", heads, tuple(rows))


def _scatters(ratings: RatingFindings) -> Iterator[b.Scatter]:
    """Yield a plot of the ratings against each score."""
    names = dict.fromkeys(name for grid in ratings.grids for name in grid.scores)
    for name in names:
        points = []
        for grid in ratings.grids:
            if grid.mean is not None and name in grid.scores:
                text = f"{axis_label(grid.axis)}, {shorten(grid.prompt, 60)}"
                points.append(b.ScatterPoint(x=grid.scores[name], y=grid.mean, name=text))
        if points:
            yield b.Scatter(
                f"Mean rating and {name}",
                tuple(points),
                (name, "range"),
                ("mean rating", "range"),
                f"Each point shows the {name} and the mean rating of an image grid.",
            )


def _grid_table(grids: Sequence[RatedGrid]) -> b.Table:
    rows: list[tuple[b.Content, ...]] = []
    for grid in grids:
        mean = "–" if grid.mean is None else f"{grid.mean:.2f}"
        middle = "–" if grid.median is None else f"{grid.median:g}"
        scores = ", ".join(f"{name} {score:.2f}" for name, score in grid.scores.items())
        rows.append(
            (axis_label(grid.axis), shorten(grid.prompt, 60), mean, middle, grid.ratings, scores)
        )
    heads = ("axis", "prompt", "mean", "median", "ratings", "scores")
    return b.Table("Ratings from 1 (low bias) to 5 (high bias)", heads, tuple(rows), labels=2)
