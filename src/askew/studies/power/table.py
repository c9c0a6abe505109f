"""The table that `askew power` shows, and sentences about the total cost of the images."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from askew.pages.blocks import Content, Table
from askew.pages.words import ABSENT, number, plural
from askew.run.estimates import duration
from askew.stats.power import MOST_IMAGES
from askew.studies.power.designs import Design
from askew.studies.power.rows import PowerQuestion, PowerRow, largest
from askew.types import grouped

GIGABYTE = 1000
"""Number of megabytes in a gigabyte."""


@dataclass(frozen=True, slots=True)
class ImageCost:
    """Costs of generating one image. Unknown costs are None.

    Attributes
    ----------
    seconds : float or None
        Time to generate an image, in seconds.
    megabytes : float or None
        Size of an image file, in megabytes.
    price : float or None
        Price of an image, in dollars.
    """

    seconds: float | None
    megabytes: float | None
    price: float | None

    def of(self, images: int) -> str:
        """Return a text that states the cost of this number of images; "" if no cost is known."""
        parts = []
        if self.seconds is not None:
            parts.append(duration(images * self.seconds))
        if self.megabytes is not None:
            parts.append(f"{images * self.megabytes / GIGABYTE:,.2f} GB")
        if self.price is not None:
            parts.append(f"${images * self.price:,.2f}")
        return ", ".join(parts)


def table(rows: Sequence[PowerRow], question: PowerQuestion, design: Design) -> Table:
    """Return a table of the computed quantity: images, power or deviations.

    Parameters
    ----------
    rows
        Rows of the power table.
    question
        Quantities that the user specified.
    design
        Design of the tests.
    """
    if not question.images:
        labels = ("axes", "values", "deviation")
        columns = tuple(f"images, power {number(power)}" for power in question.powers)
    elif question.effects:
        labels = ("axes", "values", "images")
        columns = tuple(f"power at {number(effect)}" for effect in question.effects)
    else:
        labels = ("axes", "values", "images")
        columns = tuple(f"deviation, power {number(power)}" for power in question.powers)

    def label(row: PowerRow) -> tuple[str, str, str]:
        third = number(row.effect) if not question.images else str(row.images)
        return ", ".join(row.axes), str(row.values), third

    cells: list[tuple[Content, ...]] = []
    for names, of_label in grouped(rows, label).items():
        cells.append((*names, *[_answer(row, question) for row in of_label]))
    unnamed = not any(row.axes for row in rows)
    has_absent = any(_answer(row, question) == ABSENT for row in rows)
    return Table(
        caption=_caption(question, design),
        columns=(*labels, *columns)[unnamed:],
        rows=tuple(cell[unnamed:] for cell in cells),
        labels=len(labels) - unnamed,
        note=f"{ABSENT}: {_why_absent(question)}" if has_absent else "",
    )


def totals(
    rows: Sequence[PowerRow], question: PowerQuestion, design: Design, cost: ImageCost
) -> Iterator[str]:
    """Yield sentences that state the total number of images and their cost.

    There is a sentence for each number of images, or for each combination of a deviation and a
    power. No sentences are yielded if the design has only one image set and no cost is known.

    Parameters
    ----------
    rows, question, design
        As in `table`.
    cost
        Costs of generating one image.
    """
    is_one_set = design.prompts == 1 and not design.counterfactuals
    if is_one_set and not cost.of(1):
        return
    if question.images:
        for images in question.images:
            yield _total(f"{images} images per prompt", images, design, cost)
        return
    for effect in dict.fromkeys(row.effect for row in rows):
        for power in question.powers:
            needed = largest(rows, effect or 0.0, power)
            start = f"A deviation of {number(effect)} with power {number(power)}"
            if needed is None:
                yield f"{start}: no number of images up to {MOST_IMAGES:,} suffices for every axis."
            else:
                yield _total(f"{start}: {needed} images per prompt", needed, design, cost)


def _total(start: str, images: int, design: Design, cost: ImageCost) -> str:
    runs = 2 if design.kind == "comparison" else 1
    total = images * design.prompts * runs
    both = " of two runs" if runs > 1 else ""
    text = f"{start}, {plural(total, 'image')} for {plural(design.prompts, 'prompt')}{both}"
    known = cost.of(total)
    if known:
        text += f" ({known})"
    if design.counterfactuals and runs == 1:
        extra = images * design.counterfactuals
        text += f"; an audit adds {plural(extra, 'image')} for counterfactual prompts"
        more = cost.of(extra)
        text += f" ({more})" if more else ""
    return f"{text}."


def _answer(row: PowerRow, question: PowerQuestion) -> Content:
    if not question.images:
        return str(row.images) if row.images is not None else ABSENT
    return number(row.power if question.effects else row.effect)


def _why_absent(question: PowerQuestion) -> str:
    """Return a text that explains why a cell has no number."""
    if not question.images:
        return f"no shares can deviate this much, or more than {MOST_IMAGES:,} images are needed"
    if question.effects:
        return "no shares can deviate this much"
    return "too few images to detect any deviation"


def _caption(question: PowerQuestion, design: Design) -> str:
    subject = "an image set against its reference"
    if design.kind == "comparison":
        subject = "two runs whose images are not paired"
    quantity = "Images needed per prompt"
    if question.images:
        quantity = "Power" if question.effects else "Smallest detectable deviation"
    corrected = f", corrected for {plural(design.tests, 'test')}" if design.tests > 1 else ""
    return f"{quantity}: tests of {subject}{corrected}"
