"""Build the first screens of pages about labels: shares, sorted images, and a matrix of prompts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile

from askew.findings import PictureSet
from askew.pages import blocks as b
from askew.pages import words
from askew.pages.media import Media, shot
from askew.pages.value_rows import deviation
from askew.pages.words import axis_label, capital, percent, plural, quote, shorten
from askew.parts.survey.blocks import Link, leads, value_group
from askew.parts.survey.image_links import image_query
from askew.parts.survey.shares import SetShares
from askew.parts.survey.verdicts import family_size, is_biased
from askew.stats.distance import distance_max, total_variation
from askew.types import Estimate

ALL_SHOWN = 60
FIRST_SHOWN = 48
"""Maximum number of images shown from a set. All images of smaller sets are shown."""

MATRIX_ROWS = 12
STRIP = 5
"""Maximum number of rows in a matrix, and number of images shown beside each row."""

NO_LABEL = "no label"


def shares_chart(entries: Sequence[SetShares], link: Link) -> b.ValueChart:
    """Return a chart of an image set's shares on all axes, with significant axes first.

    Parameters
    ----------
    entries
        Shares from the first instrument's labels.
    link
        Function that returns the anchor of the details of an entry.
    """
    ordered = leads(entries)
    groups = [
        value_group(entry, capital(axis_label(entry.axis)), link=link(entry)) for entry in ordered
    ]
    most = max((group.n for group in groups), default=0)
    note = ""
    if any(not group.significant and len(group.values) > 1 for group in groups):
        note = "For axes that are not significant, only the most over-represented value is shown."
    return b.ValueChart(
        f"Share of the {plural(most, 'image')} with each label",
        tuple(groups),
        note=note,
        brief=True,
    )


def images_by_label(
    media: Media, image_set: PictureSet, entry: SetShares, label: str = ""
) -> b.SortedImages:
    """Return a block with the images of a set, sorted by their label on an axis.

    Parameters
    ----------
    media
        Run that contains the images.
    image_set
        The image set.
    entry
        Shares of the set on the axis, from the first instrument's labels.
    label
        Name of the set; "" if there is only one set.
    """
    column = label_column(media, image_set, entry, label)
    shown = sum(len(group.shots) for group in column.groups)
    axis = axis_label(entry.axis)
    total = len(image_set.pictures)
    caption = f"All {total}, sorted by {axis} label"
    if shown < total:
        caption = f"{shown} of {total:,}, sorted by {axis} label"
    note = f"Labeled by {shorten(entry.instrument, 40)}, which makes labeling errors."
    return b.SortedImages(caption, (column,), note)


def label_column(
    media: Media,
    image_set: PictureSet,
    entry: SetShares,
    label: str = "",
    note: str = "",
    most: int | None = None,
) -> b.ImageColumn:
    """Return a column with the images of a set, grouped by label, with the largest group first.

    Parameters
    ----------
    media, image_set, entry
        Run that contains the images, image set, and shares of the set on an axis.
    label, note
        Name of the set, and the small text after the name.
    most
        Number of images. The default is all images of a small set, or the first images of a larger
        set.
    """
    if most is None:
        most = ALL_SHOWN if len(image_set.pictures) <= ALL_SHOWN else FIRST_SHOWN
    group = value_group(entry, "")
    name = shorten(image_set.text, 40)
    shots = shots_by_label(media, image_set, entry.axis, most, f"of {name}")
    groups = []
    ordered = sorted(group.values, key=lambda value: words.largest_first(value.share))
    for value in ordered:
        count = entry.counts.get(value.value, 0)
        if count or shots.get(value.value):
            groups.append(
                b.LabelGroup(
                    label=value.value,
                    count=count,
                    shots=tuple(shots.get(value.value, ())),
                    reference=None if value.reference is None else value.reference * group.n,
                    deviation=deviation(group, value),
                    images=image_query(entry, value.value),
                )
            )
    unlabeled = sum(entry.missing.values())
    if unlabeled:
        groups.append(
            b.LabelGroup(
                label=NO_LABEL,
                count=unlabeled,
                shots=tuple(shots.get(None, ())),
                n=group.n + unlabeled,
            )
        )
    return b.ImageColumn(tuple(groups), group.n, label, note)


def shots_by_label(
    media: Media, image_set: PictureSet, axis: str, most: int, place: str
) -> dict[str | None, list[b.Thumbnail]]:
    """Return thumbnails of a set's first images, keyed by label (None for unlabeled images).

    Parameters
    ----------
    media, image_set, axis
        Run that contains the images, image set, and axis of the labels.
    most
        Number of images.
    place
        Words that identify the set in the images' alternative texts, such as "of a photo of a
        nurse".
    """
    labels = (image_set.labels or {}).get(axis, ())
    by_label: dict[str | None, list[b.Thumbnail]] = {}
    pairs = zip(image_set.pictures[:most], labels, strict=False)
    for number, (picture, label) in enumerate(pairs, start=1):
        if picture is not None:
            alt = f"Image {number} {place}, {f'labeled {label}' if label else NO_LABEL}"
            by_label.setdefault(label, []).append(shot(media, picture, alt))
    return by_label


def prompt_matrix(
    media: Media,
    entries: Sequence[SetShares],
    image_sets: Sequence[PictureSet],
    link: Link,
    together: Sequence[SetShares] = (),
    together_link: str | None = None,
) -> b.ScoreMatrix:
    """Return a matrix that shows each image set's most over-represented value on each axis.

    Parameters
    ----------
    media
        Run that contains the images.
    entries
        Shares from the first instrument's labels.
    image_sets
        Image sets of the run.
    link
        Function that returns the anchor of the details of an entry.
    together, together_link
        Shares pooled over all prompts, and the anchor of the section with details on these shares.
    """
    ordered = leads(entries)
    axes = _axes_by_bias(ordered)
    places = list(dict.fromkeys((entry.prompt, entry.set) for entry in ordered))
    prompts = list(dict.fromkeys(prompt for prompt, _ in places))
    several_sets = len({name for _, name in places}) > 1
    prefix = common_start(prompts)
    by_place = {(entry.prompt, entry.set, entry.axis): entry for entry in ordered}
    rows = _rows_together(together, axes, together_link)
    shots = _strips(media, image_sets)
    for prompt, set_name in places[:MATRIX_ROWS]:
        label = shorten(prompt.removeprefix(prefix), 60)
        if several_sets:
            condition = words.set_label(set_name)
            label = f"{label}: {condition}" if len(prompts) > 1 else capital(condition)
        of_place = [by_place.get((prompt, set_name, axis)) for axis in axes]
        known = [entry for entry in of_place if entry]
        cells = tuple(_cell(entry, link) for entry in of_place)
        rows.append(b.MatrixRow(label, cells, shots.get((prompt, set_name), ()), link(known[0])))
    return b.ScoreMatrix(
        caption="Most over-represented value of each axis",
        heading=quote(f"{prefix}…", 40) if prefix else "Prompt",
        columns=tuple(capital(axis_label(axis)) for axis in axes),
        rows=tuple(rows),
        note=_matrix_note(len(places)),
        keys=_matrix_keys([*ordered, *together]),
    )


def _matrix_note(places: int) -> str:
    order = "A matrix in which the prompts and axes with the largest deviations come first."
    if places > MATRIX_ROWS:
        return f"{order} {places - MATRIX_ROWS} more follow below."
    return order


def _rows_together(
    together: Sequence[SetShares], axes: Sequence[str], link: str | None
) -> list[b.MatrixRow]:
    """Return the matrix rows for the pooled prompts, one per condition."""
    ordered = leads(together)
    names = list(dict.fromkeys(entry.set for entry in ordered))
    rows = []
    for name in names:
        by_axis = {entry.axis: entry for entry in ordered if entry.set == name}
        cells = tuple(_cell(by_axis.get(axis), lambda _: link) for axis in axes)
        label = "All prompts together"
        if len(names) > 1:
            label += f": {words.set_label(name)}"
        rows.append(b.MatrixRow(label, cells, link=link))
    return rows


def _axes_by_bias(entries: Iterable[SetShares]) -> list[str]:
    """Sort the axes so that the axes with the most significant sets come first."""
    biased: dict[str, int] = {}
    for entry in entries:
        biased[entry.axis] = biased.get(entry.axis, 0) + (is_biased(entry) is True)
    return sorted(biased, key=lambda axis: -biased[axis])


def _cell(entry: SetShares | None, link: Callable[[SetShares], str | None]) -> b.MatrixCell | None:
    """Return a cell with an entry's most over-represented value, shaded by the deviation."""
    if entry is None:
        return None
    labeled = sum(entry.counts.values())
    if not labeled or not isinstance(entry.distance, Estimate):
        return b.MatrixCell("not measured", link=link(entry))
    text = f"{shorten(entry.leading, 24)} {percent(entry.counts[entry.leading] / labeled)}"
    images = image_query(entry, entry.leading)
    significant = is_biased(entry) is True
    if not significant:
        q = words.probability(entry.verdict.q, "q") if entry.verdict else ""
        small = ", ".join(filter(None, ("n.s.", q)))
        return b.MatrixCell(text, small, link=link(entry), images=images)
    return b.MatrixCell(
        text,
        level=relative_deviation(entry),
        significant=True,
        link=link(entry),
        images=images,
    )


def relative_deviation(entry: SetShares) -> float:
    """Return the total variation distance from the reference, divided by its maximum.

    Parameters
    ----------
    entry
        Shares of a set with at least one label.

    Returns
    -------
    float
        From 0 to 1. The distance is largest if all images of a set show the rarest value of the
        reference.
    """
    labeled = sum(entry.counts.values())
    shares = [entry.counts[value] / labeled for value in entry.reference]
    reference = list(entry.reference.values())
    return float(total_variation(shares, reference)) / distance_max(reference)


def _matrix_keys(entries: Sequence[SetShares]) -> tuple[tuple[str, str], ...]:
    tests = family_size(entries)
    shades = (
        "over",
        "deviation from the reference, relative to the largest possible deviation: 0–25, 25–50, "
        "50–75, 75–100 %",
    )
    correction = f" after correction for {tests} tests" if tests > 1 else ""
    return shades, ("none", f"n.s.: not significant{correction}")


def _strips(
    media: Media, image_sets: Iterable[PictureSet]
) -> Mapping[tuple[str, str], tuple[b.Thumbnail, ...]]:
    """Return the first images of each set, keyed by prompt and set name."""
    strips = {}
    for image_set in image_sets:
        text = shorten(image_set.text, 40)
        strips[image_set.prompt, image_set.name] = tuple(
            shot(media, picture, f"Image {number} of {text}")
            for number, picture in enumerate(image_set.pictures[:STRIP], start=1)
        )
    return strips


def common_start(texts: Sequence[str]) -> str:
    """Return the words with which all texts begin.

    Parameters
    ----------
    texts
        Prompts.

    Returns
    -------
    str
        The words, followed by a space, such as "a photo of a ". Empty for one text.
    """
    if len(texts) < 2:
        return ""
    columns = zip(*(text.split(" ")[:-1] for text in texts), strict=False)
    shared = [words_at[0] for words_at in takewhile(lambda words: len(set(words)) == 1, columns)]
    return " ".join(shared) + " " if len(shared) > 1 else ""
