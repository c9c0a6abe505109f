"""The first screen of `askew compare`, which shows shares and images of two runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from askew.findings import PictureSet
from askew.methods.audit.findings import AuditResult
from askew.pages import blocks as b
from askew.pages import words
from askew.pages.words import axis_label, capital, quote, shorten
from askew.parts.survey.first_screen import label_column
from askew.parts.survey.sentences import not_significant
from askew.parts.survey.shares import SetShares
from askew.stats.intervals import sure_ends
from askew.studies.compare.findings import AxisDifference
from askew.types import Estimate

MOST_ROWS = 12
"""Maximum number of axes in the chart."""

SHOWN = 48
"""Maximum number of images that are shown per run."""

Runs = Mapping[str, AuditResult]


def first_screen(
    runs: Runs,
    letters: Mapping[str, str],
    differences: Sequence[AxisDifference],
    tests: int,
    more: b.Table | None = None,
) -> b.FirstScreen | None:
    """Return a chart of the share that differs most on each axis, and images from both runs.

    Parameters
    ----------
    runs
        The first and the second run, keyed by name.
    letters
        Letter that represents each run, keyed by the run's name.
    differences
        Differences between the two runs. Significant differences come first.
    tests
        Number of tests in the family, which covers all pairs of runs.
    more
        Table below the chart.

    Returns
    -------
    FirstScreen or None
        None if no axis has shares in both runs.
    """
    rows = []
    several = len({difference.place for difference in differences}) > 1
    for difference in differences[:MOST_ROWS]:
        shares = _shares_of(runs, difference)
        if shares:
            rows.append(_row(shares, difference, tests, several))
    if not rows:
        return None
    before, after = (letters[name] for name in runs)
    chart = b.ChangeChart(
        caption="Share of images, by run",
        heading="Axis: value",
        rows=tuple(rows),
        name="Share",
        scale="share",
        before=before,
        after=after,
        note="Each axis has a row for the value whose share differs most.",
        tested="Difference between the runs",
    )
    of_prompts = [difference for difference in differences if difference.prompts is None]
    images = _images(runs, letters, of_prompts[0]) if of_prompts else ()
    return b.FirstScreen((chart, more) if more else (chart,), images, layout="even")


@dataclass(frozen=True, slots=True)
class _RunShares:
    """A value's share in each of the two runs, and its reference share.

    The reference is None if the shares are averaged over all prompts.
    """

    value: str
    before: b.E
    after: b.E
    reference: float | None


def _shares_of(runs: Runs, difference: AxisDifference) -> _RunShares | None:
    """Return both runs' shares of the value whose share differs most; None if any is missing."""
    entry = difference.share
    if entry is None or entry.value is None:
        return None
    if entry.of_runs:
        before, after = entry.of_runs
        return _RunShares(value=entry.value, before=before, after=after, reference=None)
    pair = _sets_of(runs, difference)
    if len(pair) < 2:
        return None
    return _RunShares(
        value=entry.value,
        before=pair[0].shares[entry.value],
        after=pair[1].shares[entry.value],
        reference=pair[0].reference.get(entry.value),
    )


def _sets_of(runs: Runs, difference: AxisDifference) -> list[SetShares]:
    """Return both runs' shares on the axis of a difference, from one instrument's labels.

    If several instruments label the images, the labels come from the first instrument.
    """
    pair = []
    for run in runs.values():
        for entry in run.findings.shares:
            if (entry.prompt, entry.set, entry.axis) == (*difference.place, difference.axis):
                pair.append(entry)
                break
    return pair


def _row(shares: _RunShares, difference: AxisDifference, tests: int, several: bool) -> b.ChangeRow:
    place = difference.prompt if difference.prompts is None else capital(difference.prompt)
    if difference.set != "initial":
        place += f", {words.set_label(difference.set)}"
    if difference.prompts is None:
        place = quote(place, 60)
    return b.ChangeRow(
        label=f"{capital(axis_label(difference.axis))}: {shorten(shares.value, 30)}",
        before=shares.before,
        after=shares.after,
        verdict=_verdict(difference, tests),
        significant=difference.differs,
        deviation=_direction(difference, shares),
        group=place if several else "",
        reference=shares.reference,
        brief=_brief(difference),
    )


def _brief(difference: AxisDifference) -> str:
    """Return a short note that a result is not significant; "" if it is significant."""
    test = difference.test.difference if difference.test else None
    if not isinstance(test, Estimate) or difference.differs:
        return ""
    return f"n.s. ({words.probability(test.q, 'q')})"


def _verdict(difference: AxisDifference, tests: int) -> str:
    """Describe the result of the test for a difference between the runs on an axis."""
    test = difference.test.difference if difference.test else None
    if not isinstance(test, Estimate):
        return "not tested"
    q = words.probability(test.q, "q")
    if difference.differs:
        return f"significant ({q})"
    return not_significant(tests if difference.in_family else 1, q)


def _direction(difference: AxisDifference, shares: _RunShares) -> b.Deviation:
    """Return "under" for a change toward the reference, and "over" for a change away from it.

    The result is "none" unless the runs differ on the axis, the interval of the share's difference
    excludes 0, and both shares are on the same side of the reference.
    """
    change = difference.share.difference if difference.share else None
    estimates = [each for each in (shares.before, shares.after) if isinstance(each, Estimate)]
    if not difference.differs or not isinstance(change, Estimate) or shares.reference is None:
        return "none"
    low, high = sure_ends(change)
    deviations = [share.value - shares.reference for share in estimates]
    if low <= 0 <= high or len(deviations) < 2 or deviations[0] * deviations[1] < 0:
        return "none"
    return "under" if abs(deviations[1]) < abs(deviations[0]) else "over"


def _images(
    runs: Runs, letters: Mapping[str, str], difference: AxisDifference
) -> tuple[b.SortedImages, ...]:
    """Return the images of both runs, sorted by their label on an axis.

    The groups of images have no color, because the comparison gives no verdict on a single run.
    """
    columns = []
    for (name, run), entry in zip(runs.items(), _sets_of(runs, difference), strict=False):
        image_set = image_set_of(run, difference.place)
        if image_set is not None:
            label = f"{letters[name]}: {shorten(name, 40)}"
            column = label_column(run, image_set, entry, label, most=SHOWN)
            groups = [replace(group, deviation="none") for group in column.groups]
            columns.append(replace(column, groups=tuple(groups)))
    if len(columns) < 2:
        return ()
    caption = f"Images sorted by {axis_label(difference.axis)} label"
    note = f"{quote(difference.prompt, 60)}: at most {SHOWN} images from each run."
    return (b.SortedImages(caption, tuple(columns), note),)


def image_set_of(run: AuditResult, place: tuple[str, str]) -> PictureSet | None:
    """Return an image set of a run; None if the run has no images in this set.

    Parameters
    ----------
    run
        A finished audit.
    place
        Prompt and name of the image set.
    """
    for image_set in run.findings.sets:
        if (image_set.prompt, image_set.name) == place and image_set.pictures:
            return image_set
    return None
