"""Filters for a run's images: by image set, axis, label, instrument or disagreement."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from urllib.parse import urlencode

from askew.pages import words
from askew.run.annotations import NO_LABEL
from askew.studies.labeled_sets import LabeledImage, LabeledSet
from askew.types import Missing

SHOWN = {
    "": "all images",
    "disagreement": "images on which instruments disagree",
    "unlabeled": "images without a label",
    "corrected": "images corrected by hand",
    "flagged": "flagged images",
}
"""Descriptions of the possible values of the filter `show`."""


NAMED = "name:"
"""Prefix for values of the filter `set` that select all image sets with a given name."""

DEPENDENT_ON_AXIS = ("disagreement", "unlabeled")
"""Values of the filter `show` whose meaning depends on the filter's axis."""


@dataclass(frozen=True, slots=True)
class ImageFilter:
    """Filter that selects images of a run.

    Attributes
    ----------
    set
        Number of an image set, as text; empty for all image sets. `NAMED` followed by a name
        selects the image sets with this name for all prompts.
    axis, value, by
        Axis, label, and the instrument that assigned the label. Empty values match everything.
    show
        Which images to show, as a key of `SHOWN`.
    """

    set: str = ""
    axis: str = ""
    value: str = ""
    by: str = ""
    show: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "ImageFilter":
        """Convert the query string of an address to a filter."""
        given = {name: query.get(name, "") for name in cls.__dataclass_fields__}
        chosen = cls(**given)
        return chosen if chosen.show in SHOWN else replace(chosen, show="")

    def address(self, base: str, **more: str) -> str:
        """Return the address of the page that shows the images selected by this filter."""
        given = {name: text for name, text in {**asdict(self), **more}.items() if text}
        return f"{base}?{urlencode(given)}" if given else base

    def sentence(self, sets: Sequence[LabeledSet]) -> str:
        """Return a sentence that describes the selected images."""
        axis = f" on {words.axis_label(self.axis)}" if self.axis else ""
        by = f" by {words.shorten(self.by, 60)}" if self.by else ""
        parts = [SHOWN[self.show]]
        if self.value == NO_LABEL:
            parts.append(f"without a label{axis}{by}")
        elif self.value:
            parts.append(f"labeled {words.shorten(self.value, 60)}{axis}{by}")
        elif self.show in DEPENDENT_ON_AXIS:
            parts[0] += axis
        if self.value and not self.show:
            parts = [f"images {parts[1]}"]
        titles = set_titles(sets)
        if self.set in titles:
            parts.append(f"of {titles[self.set]}")
        return words.capital(", ".join(parts))


@dataclass(frozen=True, slots=True)
class PlacedImage:
    """An image that a filter has selected, and its image set."""

    image: LabeledImage
    of: LabeledSet


@dataclass(frozen=True, slots=True)
class HandMarks:
    """Label corrections and flags that the user has entered.

    Attributes
    ----------
    corrected
        Corrected labels, keyed by image id and axis.
    flagged
        Ids of flagged images.
    """

    corrected: Mapping[tuple[str, str], str]
    flagged: frozenset[str] = frozenset()


def selected(
    sets: Sequence[LabeledSet], chosen: ImageFilter, marks: HandMarks
) -> Iterator[PlacedImage]:
    """Yield the images that a filter selects.

    A corrected label replaces the labels from all instruments.
    """
    for each in sets:
        if chosen.set in ("", str(each.number), NAMED + each.name):
            for image in each.images:
                if image.id is not None and _fits(image, image.id, chosen, marks):
                    yield PlacedImage(image=image, of=each)


def _fits(image: LabeledImage, name: str, chosen: ImageFilter, marks: HandMarks) -> bool:
    if chosen.show == "flagged" and name not in marks.flagged:
        return False
    corrected_axes = [axis for image_id, axis in marks.corrected if image_id == name]
    if chosen.show == "corrected" and not corrected_axes:
        return False
    if chosen.show == "disagreement" and not disagreeing_axes(image, chosen.axis):
        return False
    labels = list(_labels(image, name, chosen, marks))
    if chosen.show == "unlabeled" and NO_LABEL not in labels:
        return False
    return not chosen.value or chosen.value in labels


def _labels(image: LabeledImage, name: str, chosen: ImageFilter, marks: HandMarks) -> Iterator[str]:
    """Yield an image's labels, limited to the filter's axis and instrument."""
    for instrument, by_axis in image.labels.items():
        if chosen.by in ("", instrument):
            for axis, label in by_axis.items():
                if chosen.axis in ("", axis):
                    by_hand = marks.corrected.get((name, axis))
                    read = NO_LABEL if isinstance(label, Missing) else label
                    yield by_hand if by_hand is not None else read


def disagreeing_axes(image: LabeledImage, only: str = "") -> list[str]:
    """Return the axes on which instruments gave an image different labels.

    Parameters
    ----------
    image
        The image.
    only
        Name of the axis to check; empty for all axes.
    """
    labels: dict[str, set[str]] = {}
    for by_axis in image.labels.values():
        for axis, label in by_axis.items():
            if isinstance(label, str) and only in ("", axis):
                labels.setdefault(axis, set()).add(label)
    return [axis for axis, names in labels.items() if len(names) > 1]


def sets_named(sets: Sequence[LabeledSet]) -> dict[str, str]:
    """Return the filter values for names that several image sets share, keyed by name."""
    counts = Counter(each.name for each in sets)
    return {name: NAMED + name for name, count in counts.items() if count > 1}


def set_titles(sets: Sequence[LabeledSet]) -> dict[str, str]:
    """Return the possible values of the filter `set`, mapped to their titles."""
    titles = {}
    for name, chosen in sets_named(sets).items():
        titles[chosen] = f"all prompts, {words.set_label(name)}"
    return titles | {str(each.number): set_title(each) for each in sets}


def set_title(each: LabeledSet) -> str:
    """Return the title of an image set, with its prompt, its name and, if known, its model."""
    title = f"{words.quote(each.prompt, 60)}, {words.set_label(each.name)}"
    return f"{title}, {words.shorten(each.model, 40)}" if each.model else title
