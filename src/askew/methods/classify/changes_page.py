"""Build the section on how scores change with the number of noise samples."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from askew.methods.classify.findings import (
    AccuracyOverSamples,
    AssociationOverSamples,
    Classification,
    DifferentialOverSamples,
)
from askew.pages import blocks as b
from askew.pages import words as w
from askew.pages.phrases import format_phrase
from askew.pages.words import shorten
from askew.types import Estimate

Change = AccuracyOverSamples | AssociationOverSamples | DifferentialOverSamples

MOST_LINES = 6
"""Maximum number of groups in the line chart; each group needs a different color."""

TITLE = "Change with the number of noise samples"

Names = tuple[str, ...]
"""Names of the group, or of the two groups, that a score describes."""


@dataclass(frozen=True)
class ChangesView:
    """Charts and sentences about how scores change with the number of noise samples.

    Attributes
    ----------
    section : Classification
        Scores of the run.
    first_set : str
        Name of the first set of classes.
    samples : tuple of int
        Numbers of noise samples, in increasing order.
    """

    section: Classification
    first_set: str
    samples: tuple[int, ...]

    @cached_property
    def scores(self) -> Mapping[Names, Mapping[int, b.E]]:
        """Associations and differentials, keyed by groups and number of noise samples."""
        scores: dict[Names, dict[int, b.E]] = {}
        for entry in self.section.association:
            scores.setdefault((entry.group,), {})[entry.samples] = entry.S
        for difference in self.section.differential:
            names = (difference.group_x, difference.group_y)
            scores.setdefault(names, {})[difference.samples] = difference.S
        return scores

    def blocks(self) -> Iterator[b.Block]:
        """Yield the section's blocks; nothing if the run has only one number of noise samples."""
        change = self.section.change
        if not change.association:
            return
        yield b.Paragraph(self.sentence())
        yield self.lines()
        overall: Sequence[Change] = change.differential or change.association
        yield self._chart(overall, self._from_first_to_last)
        details: list[b.Block] = []
        for entries in (change.differential, change.association, change.accuracy):
            if any(isinstance(_score_of(entry), Estimate) for entry in entries):
                details.append(self._chart(entries))
        yield b.Details(
            ("Changes in all scores from each number of noise samples to the next"), details
        )

    @property
    def _from_first_to_last(self) -> tuple[int, int]:
        """The smallest and the largest number of noise samples."""
        return self.samples[0], self.samples[-1]

    def sentence(self) -> str:
        """Return a sentence about how the main score changes with the number of noise samples."""
        change = self.section.change
        entries: Sequence[Change] = change.differential or change.association
        main = _of_step(entries, self._from_first_to_last)[0]
        score = _score_of(main)
        fewer = w.plural(main.fewer, "noise sample")
        if not isinstance(score, Estimate):
            return f"From {fewer} to {main.samples}, the change is unknown: {w.reason(score)}."
        names = _names(main)
        of_names = self.scores[names]
        phrase = "samples_change" if w.has_significant_q(score) else "no_samples_change"
        scale: b.Scale = "points" if len(names) > 1 else "share"
        return format_phrase(
            phrase,
            fewer=fewer,
            more=main.samples,
            score=self._score_name(names),
            before=_bare(of_names[main.fewer], scale),
            after=_bare(of_names[main.samples], scale),
            points=w.measured(score, "points"),
            q=w.probability(score.q, "q"),
        )

    def _score_name(self, names: Names) -> str:
        quoted = [w.quote(name, 40) for name in names]
        decisions = f"decisions for {w.quote(self.first_set, 40)}"
        if len(names) == 1:
            return f"the share of {decisions} for images of {quoted[0]}"
        return f"the difference between {quoted[0]} and {quoted[1]} in the share of {decisions}"

    def lines(self) -> b.LineChart:
        """Return a line chart of each group's association by number of noise samples."""
        groups = [names for names in self.scores if len(names) == 1]
        pooled = {e.group for e in self.section.association if e.pooled}
        if len(groups) > MOST_LINES and pooled:
            groups = [names for names in groups if names[0] in pooled]
        lines = []
        for number, names in enumerate(groups[:MOST_LINES]):
            points = tuple(_without_null(self.scores[names].get(count)) for count in self.samples)
            lines.append(b.LineSeries(shorten(names[0], 40), points, series=number))
        return b.LineChart(
            caption=f"Share of decisions for the {shorten(self.first_set, 40)} class of a pair",
            heading="Noise samples",
            steps=tuple(map(str, self.samples)),
            lines=tuple(lines),
            name="share",
            scale="share",
            levels=(("no preference", 0.5),),
        )

    def _chart(self, entries: Sequence[Change], step: tuple[int, int] | None = None) -> b.Block:
        """Return a chart of the changes in a score, from one number of noise samples to another."""
        title = self._change_name(entries[0])
        if step is None:
            order = {names: place for place, names in enumerate(map(_names, entries))}
            by_group = sorted(entries, key=lambda entry: order[_names(entry)])
            rows = [_row(entry, _step_name(entry), _groups_name(entry)) for entry in by_group]
        else:
            title += f", from {step[0]} to {w.plural(step[1], 'noise sample')}"
            rows = [_row(entry, _groups_name(entry)) for entry in _of_step(entries, step)]
        return b.IntervalChart(
            caption=f"{title}, in percentage points",
            heading="Groups" if isinstance(entries[0], DifferentialOverSamples) else "Group",
            rows=tuple(rows),
            name="change",
            scale="points",
            columns=b.DIFFERENCE,
        )

    def _change_name(self, entry: Change) -> str:
        if isinstance(entry, AccuracyOverSamples):
            return "Change in the accuracy"
        score = f"share of decisions for the {shorten(self.first_set, 40)} class"
        if isinstance(entry, DifferentialOverSamples):
            return f"Change in the difference in the {score}"
        return f"Change in the {score}"


def _of_step(entries: Sequence[Change], step: tuple[int, int]) -> list[Change]:
    """Return the changes from one number of noise samples to another, with pooled groups first."""
    of_step = [entry for entry in entries if (entry.fewer, entry.samples) == step]
    return sorted(of_step, key=lambda entry: not _is_pooled(entry))


def _row(entry: Change, label: str, group: str = "") -> b.IntervalRow:
    return b.IntervalRow(label=label, score=_without_null(_score_of(entry)), group=group)


def _step_name(entry: Change) -> str:
    return f"{entry.fewer} to {w.plural(entry.samples, 'sample')}"


def _groups_name(entry: Change) -> str:
    return " minus ".join(shorten(name, 40) for name in _names(entry))


def _names(entry: Change) -> Names:
    if isinstance(entry, DifferentialOverSamples):
        return entry.group_x, entry.group_y
    return (entry.group,)


def _score_of(entry: Change) -> b.E:
    return entry.estimate if isinstance(entry, AccuracyOverSamples) else entry.S


def _is_pooled(entry: Change) -> bool:
    return not isinstance(entry, AccuracyOverSamples) and entry.pooled


def _bare(score: b.E, scale: b.Scale) -> str:
    """Return the value of a score without its unit, which the sentence already states."""
    return w.part(score, "value", scale).removesuffix(w.UNITS.get(scale, ""))


def _without_null(score: b.E | None) -> b.E | None:
    """Return a score without its null, for a chart in which a line already marks the null."""
    return replace(score, null=None) if isinstance(score, Estimate) else score
