"""Compare images from prompts that a server rewrote with images from the given prompts.

A server that rewrites prompts is part of the model under audit. Rewritten prompts may state values
that the user did not ask for: "a photo of a nurse" may become "a photo of a smiling female nurse".
askew tests two questions:

- Do the values added in rewritten prompts deviate from the reference shares? The lexicon detects
  the values that a prompt states, so this test needs no images.
- Do rewritten and given prompts lead to different shares? If they do, the rewriting (or the reason
  for it) explains part of the bias.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from askew.findings import E, MappingKey, with_q
from askew.pages import blocks as b
from askew.pages.words import (
    axis_label,
    capital,
    listing,
    perceived,
    percent,
    plural,
    quote,
    shorten,
)
from askew.parts.scoring import Scoring, or_missing
from askew.parts.survey.observed import Answer, ObservedSet
from askew.parts.survey.shares import DISTANCE, reference_of
from askew.plan import AxisPlan, Plan
from askew.prompts.axes import catalogue
from askew.prompts.statements import stated_values
from askew.stats.exchange import distance_of_sets, exchange_test
from askew.stats.paired_sets import PairedSets
from askew.stats.shares import distance_estimate, share_intervals
from askew.stats.significance import is_significant
from askew.types import Estimate, Missing, Picture, record

SentPrompts = Mapping[str, Sequence[str | None]]
"""Prompts that the server used for the images of each given prompt.

None stands for the given prompt itself.
"""

EXAMPLES = 3
"""Maximum number of rewritten prompts stored in the results."""

NO_ADDITION = "no rewritten prompt adds exactly one value"
UNKNOWN_AXIS = Missing("not_asked", "the lexicon has no words for this axis")


@record
class Rewriting:
    """Comparison between labels of images from the given prompt and from rewritten prompts.

    Attributes
    ----------
    prompt, axis, instrument : str
        Given prompt, axis, and the instrument that labels the images.
    rewritten, verbatim : int
        Numbers of images from rewritten prompts and from the given prompt.
    asked : tuple of str
        Values of the axis that are stated in the given prompt.
    added : mapping of value to int
        For each value, the number of rewritten prompts that add only this value.
    added_deviation : Estimate or Missing
        Deviation of the added values from the reference shares.
    shares_rewritten, shares_verbatim : mapping of value to Estimate
        Shares in the labeled images from rewritten prompts and from the given prompt, respectively.
        Empty if no such image is labeled.
    difference : Estimate or Missing
        Distance between the two sets of shares.
    examples : tuple of str
        The first distinct rewritten prompts.
    """

    prompt: str
    axis: str
    instrument: str
    rewritten: int
    verbatim: int
    asked: tuple[str, ...]
    added: Mapping[str, int]
    added_deviation: E
    shares_rewritten: Annotated[Mapping[str, E], MappingKey("value")]
    shares_verbatim: Annotated[Mapping[str, E], MappingKey("value")]
    difference: E
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ServerImages:
    """Images that a server generated for a prompt.

    Attributes
    ----------
    prompt
        The given prompt.
    sent
        Prompt that the server used for each image; None if it used the given prompt.
    observed
        The images and their labels.
    """

    prompt: str
    sent: Sequence[str | None]
    observed: ObservedSet

    @property
    def rewritten(self) -> list[int]:
        """Positions of the images from rewritten prompts."""
        return [place for place in self._made if self.sent[place] is not None]

    @property
    def verbatim(self) -> list[int]:
        """Positions of the images from the given prompt."""
        return [place for place in self._made if self.sent[place] is None]

    @property
    def _made(self) -> list[int]:
        """Positions of existing images that do not repeat an earlier image."""
        pictures = self.observed.pictures
        return [place for place, picture in enumerate(pictures) if isinstance(picture, Picture)]

    def labels(self, instrument: str, axis: str, places: Iterable[int]) -> list[Answer]:
        """Return the labels of the images at the given positions."""
        of_axis = self.observed.values[instrument][axis]
        return [of_axis[place] for place in places]


def rewriting(
    plan: Plan, sent: SentPrompts, observed: Mapping[str, Sequence[ObservedSet]]
) -> tuple[Rewriting, ...]:
    """Compare images from the given prompts with images from rewritten prompts, on each axis.

    Parameters
    ----------
    plan
        Plan of the run.
    sent
        Prompts that the server used, keyed by given prompt.
    observed
        Image sets of each prompt, baseline set first.

    Returns
    -------
    tuple of Rewriting
        Comparisons for prompts that the server rewrote at least once. q is corrected over all of
        their tests.
    """
    scoring = Scoring.of(plan)
    entries = []
    for prompt in plan.prompts:
        images = ServerImages(
            prompt=prompt.text, sent=sent.get(prompt.text, ()), observed=observed[prompt.text][0]
        )
        if images.sent and images.rewritten:
            entries += [_entry(images, axis, scoring) for axis in prompt.axes if axis.values]
    return with_q(tuple(entries), lambda address: "rewriting")


def _entry(images: ServerImages, planned: AxisPlan, scoring: Scoring) -> Rewriting:
    axis = planned.axis()
    sides = [
        _one_hot(images.labels(scoring.instrument, axis.name, places), axis.values)
        for places in (images.rewritten, images.verbatim)
    ]
    sent = [str(images.sent[place]) for place in images.rewritten]
    asked = _stated(images.prompt, planned)
    added = _added(sent, asked, planned)
    place = (images.prompt, axis.name, scoring.instrument)
    return Rewriting(
        prompt=images.prompt,
        axis=axis.name,
        instrument=scoring.instrument,
        rewritten=len(images.rewritten),
        verbatim=len(images.verbatim),
        asked=tuple(value for value in axis.values if value in asked),
        added=added,
        added_deviation=_deviation(added, planned, scoring, place),
        shares_rewritten=_shares(sides[0], axis.values, scoring),
        shares_verbatim=_shares(sides[1], axis.values, scoring),
        difference=or_missing(
            _difference, *sides, DISTANCE[axis.scale], scoring.rng(*place, "rewriting"), scoring
        ),
        examples=tuple(dict.fromkeys(sent))[:EXAMPLES],
    )


def _one_hot(labels: Sequence[Answer], values: Sequence[str]) -> np.ndarray:
    """Return a one-hot row for each labeled image, with 1 in the column of its value."""
    places = [values.index(label) for label in labels if label in values]
    return np.eye(len(values))[places]


def _stated(text: str, planned: AxisPlan) -> set[str]:
    """Return the values that a text states for an axis; empty if the lexicon has no such axis."""
    if planned.name not in catalogue():
        return set()
    return stated_values(text, planned.name) & set(planned.values)


def _added(sent: Iterable[str], asked: set[str], planned: AxisPlan) -> dict[str, int]:
    """Count, for each value, the rewritten prompts that add only this value."""
    counts = dict.fromkeys(planned.values, 0)
    for text in sent:
        values = _stated(text, planned) - asked
        if len(values) == 1:
            counts[values.pop()] += 1
    return counts


def _deviation(
    added: Mapping[str, int], planned: AxisPlan, scoring: Scoring, place: Sequence[str]
) -> E:
    """Estimate how far the added values deviate from the reference."""
    if planned.name not in catalogue():
        return UNKNOWN_AXIS
    if not any(added.values()):
        return Missing("not_asked", NO_ADDITION)
    return distance_estimate(
        list(added.values()),
        list(reference_of(planned).values()),
        distance=DISTANCE[planned.axis().scale],
        rng=scoring.rng(*place, "added values"),
        **scoring.interval_options,
    )


def _shares(rows: np.ndarray, values: Sequence[str], scoring: Scoring) -> dict[str, Estimate]:
    if not len(rows):
        return {}
    estimates = share_intervals(rows.sum(axis=0), level=scoring.level)
    return dict(zip(values, estimates, strict=True))


def _difference(
    rewritten: np.ndarray,
    verbatim: np.ndarray,
    distance: str,
    rng: np.random.Generator,
    scoring: Scoring,
) -> Estimate:
    sets = PairedSets.of(verbatim, rewritten)
    test = exchange_test(sets)
    return distance_of_sets(sets, test, distance=distance, rng=rng, draws=scoring.draws)


def rewriting_sentences(entries: Iterable[Rewriting]) -> Iterator[str]:
    """Yield a sentence for each significant finding about rewritten prompts."""
    for entry in entries:
        name = perceived(entry.axis)
        if is_significant(entry.added_deviation):
            yield (
                f"The server adds values to {quote(entry.prompt, 60)} that the prompt does not "
                f"state: {added_words(entry)} ({name}; "
                f"{plural(entry.rewritten, 'rewritten prompt')}). The added values deviate "
                "significantly from the reference."
            )
        if is_significant(entry.difference):
            yield (
                f"Images from rewritten versions of {quote(entry.prompt, 60)} differ "
                f"significantly in {name} from images from the given prompt: "
                f"{_share_words(entry.shares_rewritten)}, compared with "
                f"{_share_words(entry.shares_verbatim)}."
            )


def added_words(entry: Rewriting) -> str:
    """Return a phrase that lists the added values and their counts, such as "female 12"."""
    return listing([f"{value} {count}" for value, count in entry.added.items() if count])


def rewriting_blocks(entries: Sequence[Rewriting]) -> Iterator[b.Block]:
    """Yield a list of given and rewritten prompts, and a table that compares them on each axis."""
    if not entries:
        return
    by_prompt = {entry.prompt: entry for entry in entries}
    asked = []
    for prompt, entry in by_prompt.items():
        total = entry.rewritten + entry.verbatim
        sent = listing([quote(shorten(text, 160)) for text in entry.examples])
        asked.append(
            f"Asked for: {quote(prompt, 160)}. Sent for {entry.rewritten} of {total} images, for "
            f"example: {sent}."
        )
    yield b.Paragraph("", items=(*asked, *rewriting_sentences(entries)))
    yield _table(entries, len(by_prompt) > 1)


def _table(entries: Sequence[Rewriting], has_several_prompts: bool) -> b.Table:
    rows: list[tuple[b.Content, ...]] = []
    for entry in entries:
        names: list[b.Content] = [capital(axis_label(entry.axis))]
        if has_several_prompts:
            names.insert(0, quote(entry.prompt, 60))
        rows.append(
            (
                *names,
                added_words(entry) if any(entry.added.values()) else "none",
                _tested(entry.added_deviation),
                _share_words(entry.shares_rewritten),
                _share_words(entry.shares_verbatim),
                _tested(entry.difference),
            )
        )
    labels = ("prompt", "axis") if has_several_prompts else ("axis",)
    columns = (
        *labels,
        "added by the server",
        "deviation of added values",
        "images of rewritten prompts",
        "images of the given prompt",
        "difference",
    )
    return b.Table(
        "Values that rewritten prompts state but the given prompt does not",
        columns,
        tuple(rows),
        labels=len(labels),
        note=(
            "The lexicon identifies the values that prompts state. q is corrected over all tests "
            "in this table."
        ),
    )


def _share_words(shares: Mapping[str, E]) -> str:
    """Return a phrase that states shares and the number of images."""
    known = {value: share for value, share in shares.items() if isinstance(share, Estimate)}
    if not known:
        return "no labeled image"
    images = next(iter(known.values())).n or 0
    words = [f"{percent(share.value)} {value}" for value, share in known.items() if share.value]
    return f"{', '.join(words)} ({plural(images, 'image')})"


def _tested(score: E) -> b.Content:
    """Return a table cell with a score, and a note that states whether the score is significant."""
    if isinstance(score, Missing):
        return None
    return b.TableCell(score, note="significant" if is_significant(score) else "not significant")
