"""First screen of `askew graphs`: images, and the associations between axes in all runs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from askew.methods.interact.sentences import pair, title
from askew.pages import blocks as b
from askew.pages.media import Media
from askew.pages.words import ABSENT, axis_label, number, plural, probability, shorten
from askew.parts.survey.first_screen import label_column
from askew.parts.survey.shares import SetShares
from askew.studies.graph_differences import AssociationChange, Runs

MOST_ROWS = 12
"""Maximum number of pairs in the chart."""

SHOWN = 48
"""Maximum number of images shown per run."""

LEVEL = 0.6
"""Strength of the shading that marks an association as significantly different."""

Pair = tuple[str, str]
"""The axis that counterfactual prompts vary, and the axis on which their images are compared."""


def first_screen(
    runs: Runs,
    changes: Sequence[AssociationChange],
    prompt: str | None,
    media: Mapping[str, Media],
) -> b.FirstScreen | None:
    """Return a chart of all runs' associations, and baseline images from the first two runs.

    Parameters
    ----------
    runs
        Runs by name.
    changes
        Changes in association from the first run to the later runs.
    prompt
        Prompt whose graphs are compared. None for the graphs over all prompts.
    media
        Images of each run, keyed by the run's name.

    Returns
    -------
    FirstScreen or None
        None if no association can be compared.
    """
    shown = [change for change in changes if change.prompt == prompt]
    shown.sort(key=lambda change: (change.q, -max(change.first_v, change.later_v)))
    pairs = list(dict.fromkeys((change.source, change.target) for change in shown))[:MOST_ROWS]
    if not pairs:
        return None
    with_changes = {change.run for change in shown}
    compared = [name for name in runs if name in with_changes]
    names = [next(iter(runs)), *compared]
    rows = _rows(shown, pairs, compared)
    chart = b.ScoreMatrix(
        caption="Association between axes (Cramér's V) in each run",
        heading="Pair",
        columns=tuple(shorten(name, 30) for name in names),
        rows=tuple(rows),
        note="The pairs with the smallest q come first. “Edge” means that the pair is "
        "significantly associated in the run.",
        keys=_keys(rows, len(changes)),
    )
    targets = list(dict.fromkeys(target for _, target in pairs))
    return b.FirstScreen((chart,), _images(runs, names[:2], targets, prompt, media), layout="even")


def _rows(
    changes: Sequence[AssociationChange], pairs: Sequence[Pair], compared: Sequence[str]
) -> list[b.MatrixRow]:
    """Return a row for each pair, with its association in the first run and in each later run."""
    by_place = {(change.run, change.source, change.target): change for change in changes}
    rows = []
    for source, target in pairs:
        of_runs = [by_place.get((name, source, target)) for name in compared]
        first = next(change for change in of_runs if change is not None)
        cells = [b.MatrixCell(number(first.first_v), _edge(first.first_edge))]
        cells += [_later_cell(change) for change in of_runs]
        rows.append(b.MatrixRow(pair(source, target), tuple(cells)))
    return rows


def _edge(is_edge: bool) -> str:
    return "edge" if is_edge else "no edge"


def _later_cell(change: AssociationChange | None) -> b.MatrixCell:
    """Return a later run's association, shaded if it differs significantly from the first run's."""
    if change is None:
        return b.MatrixCell(ABSENT)
    edge = _edge(change.later_edge)
    if not change.is_significant:
        return b.MatrixCell(number(change.later_v), f"n.s., {edge}")
    return b.MatrixCell(
        text=number(change.later_v),
        small=f"{probability(change.q, 'q')}, {edge}",
        level=LEVEL if change.later_v > change.first_v else -LEVEL,
        significant=True,
    )


def _keys(rows: Sequence[b.MatrixRow], tests: int) -> tuple[tuple[str, str], ...]:
    """Return a legend entry for each shade used in the rows."""
    levels = {cell.level for row in rows for cell in row.cells if cell is not None}
    first_run = "than in the first run"
    keys = []
    if max(levels) > 0:
        keys.append(("over-3", f"significantly stronger {first_run}"))
    if min(levels) < 0:
        keys.append(("under-3", f"significantly weaker {first_run}"))
    correction = f" after correction for {plural(tests, 'test')}" if tests > 1 else ""
    keys.append(("none", f"n.s.: not significantly different from the first run{correction}"))
    return tuple(keys)


def _images(
    runs: Runs,
    names: Sequence[str],
    axes: Sequence[str],
    prompt: str | None,
    media: Mapping[str, Media],
) -> tuple[b.SortedImages, ...]:
    """Return the baseline images of runs, sorted by label on the first axis that has shares."""
    if not all(name in media for name in names):
        return ()
    for axis in axes:
        entries = [_baseline_shares(runs, name, axis, prompt) for name in names]
        columns = []
        for name, entry in zip(names, entries, strict=True):
            if entry is not None and entry.prompt == (entries[0] or entry).prompt:
                columns.append(_column(runs, name, entry, media[name]))
        if len(columns) == len(names) and all(column.groups for column in columns):
            place = title(entries[0].prompt if entries[0] else prompt)
            return (
                b.SortedImages(
                    f"Baseline images sorted by {axis_label(axis)} label",
                    tuple(columns),
                    f"{place}: at most {SHOWN} images from each run.",
                ),
            )
    return ()


def _baseline_shares(runs: Runs, name: str, axis: str, prompt: str | None) -> SetShares | None:
    """Return the shares on an axis in the baseline images of a run."""
    for entry in runs[name].shares:
        if entry.axis == axis and entry.set == "initial" and prompt in (None, entry.prompt):
            return entry
    return None


def _column(runs: Runs, name: str, entry: SetShares, media: Media) -> b.ImageColumn:
    """Return the images of a run, grouped by label.

    The groups have no color, because the comparison gives no verdict on a single run.
    """
    for image_set in runs[name].sets:
        if (image_set.prompt, image_set.name) == (entry.prompt, entry.set):
            column = label_column(media, image_set, entry, shorten(name, 40), most=SHOWN)
            groups = [replace(group, deviation="none") for group in column.groups]
            return replace(column, groups=tuple(groups))
    return b.ImageColumn((), 0, shorten(name, 40))
