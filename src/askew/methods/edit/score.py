"""Compute the scores of edits ("downstream" paper, Saravanan et al., sections 3 and 4.2.1)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from askew.errors import NotEnoughData
from askew.findings import Address, E, Head, with_q
from askew.measure.portraits import NOT_SOUGHT
from askew.methods.edit.cells import EditCell, EditData, EditedGroup, EditReadings, Floats, average
from askew.methods.edit.comparisons import contrasts, pooled
from askew.methods.edit.face_tones import average_tones
from askew.methods.edit.findings import Coverage, EditFindings, Editing, MissingEdits
from askew.methods.edit.gather import EditsGathered
from askew.methods.edit.plan import GENDER, EditPlan
from askew.parts.scoring import Scoring, or_missing
from askew.parts.sources.neutrality import names_target
from askew.parts.survey.missing_pictures import CountsOfSets, MissingCount, uneven
from askew.parts.survey.observed import tally_missing
from askew.run.base import Answer, Outcome
from askew.stats import clustered
from askew.stats.intervals import BOUNDED_FORM
from askew.types import Missing, Picture

TESTED = ("gender_change", "ita_change", "lightness_change", "beyond_exposure", "other_axes")
"""Scores to test. The q-values are corrected for all tests of the same score.

The tests on the other axes count as tests of a single score.
"""

NOT_RESTORED = Missing("not_asked", "the autoencoder of the model is not accessible")
"""Value of the floor if the autoencoder is not accessible because a server runs the model."""

GENDER_UNLABELED = Missing("not_asked", "no instrument labeled perceived gender")


def score(plan: EditPlan, gathered: EditsGathered, head: Head) -> EditFindings:
    """Compute the findings of a run of `askew edit`.

    Parameters
    ----------
    plan : EditPlan
        Plan of the run.
    gathered : EditsGathered
        Edits and measurements.
    head : Head
        Fields that the findings of all methods share.

    Returns
    -------
    EditFindings
        The content of results.json.
    """
    scoring = Scoring(
        instrument=plan.vqa[0],
        seed=plan.seed,
        draws=plan.bootstrap_samples,
        level=plan.confidence,
    )
    data = EditData(
        groups=gathered.groups,
        edit_prompts=plan.edit_prompts,
        strengths=plan.strengths,
        readings=gathered.readings,
        scoring=scoring,
    )
    return head.into(
        EditFindings,
        sources=gathered.sources,
        landmarks=gathered.landmarks,
        missing_pictures=missing_edits(data),
        showing=gathered.showing,
        neutrality=gathered.neutrality,
        average_faces=gathered.average_faces,
        editing=editing(data),
        editing_contrasts=contrasts(data),
        editing_pooled=pooled(data),
    )


def missing_edits(data: EditData) -> tuple[MissingEdits, ...]:
    """Test whether input images, faces or edits are missing more often in some groups.

    An input image is counted only once even if several of its edits are missing, because these
    edits are not independent.

    Parameters
    ----------
    data : EditData
        The edits and their measurements.

    Returns
    -------
    tuple of MissingEdits
        Test results for input images, for faces, and for the edits toward each set of edit prompts.
    """
    names: dict[str, str | None] = {"prompt": None, "targets": None, "axis": "group"}
    sources = {group.name: MissingCount.of(group.sources) for group in data.groups}
    tables: list[CountsOfSets] = [(names, sources)]
    if data.readings.faces:
        faces = {group.name: _missing_faces(group, data.readings) for group in data.groups}
        tables.append((names | {"of": "faces"}, faces))
    for name, words in data.edit_prompts.items():
        edits = {group.name: _missing_edits_toward(words, group) for group in data.groups}
        tables.append((names | {"targets": name}, edits))
    return uneven(MissingEdits, tables, data.scoring)


def _missing_faces(group: EditedGroup, readings: EditReadings) -> MissingCount:
    present = [source for source in group.sources if isinstance(source, Picture)]
    return MissingCount.of([readings.faces.get(source.id) for source in present])


def _missing_edits_toward(words: Sequence[str], group: EditedGroup) -> MissingCount:
    """Count the input images for which any edit toward the words is missing."""
    rows = [row for (word, _), row in group.edits.items() if word in words]
    planned = 0
    missing = 0
    for source, *edits in zip(group.sources, *rows, strict=True):
        if isinstance(source, Picture):
            planned += 1
            missing += any(isinstance(edit, Missing) for edit in edits)
    return MissingCount(missing=missing, planned=planned)


def editing(data: EditData) -> tuple[Editing, ...]:
    """Score the edits of each group, for each set of edit prompts and strength.

    Parameters
    ----------
    data : EditData
        The edits and their measurements.

    Returns
    -------
    tuple of Editing
        q-values are corrected over all tests of the same score.
    """
    entries = []
    for group in data.groups:
        for name, words in data.edit_prompts.items():
            for strength in data.strengths:
                cell = EditCell(group=group, words=tuple(words), strength=strength)
                entries.append(_entry(name, cell, data))
    return with_q(tuple(entries), _family)


def _family(address: Address) -> str | None:
    """Return the family in which a score's p-value is corrected; None if the score has none."""
    return str(address[1]) if address[1] in TESTED else None


def _entry(name: str, cell: EditCell, data: EditData) -> Editing:
    readings = data.readings
    scoring = data.scoring
    rng = scoring.rng(cell.group.name, name, f"{cell.strength:g}", "editing")
    scorer = CellScorer(cell=cell, readings=readings, scoring=scoring, rng=rng)
    edits = [edit for row in cell.rows for edit in row]
    # All scores draw from one generator. Their order therefore decides their intervals.
    rates = {axis: scorer.rate(labels) for axis, labels in readings.labels.items()}
    gender = rates.pop(GENDER, RateAndFloor(rate=GENDER_UNLABELED, floor=GENDER_UNLABELED))
    return Editing(
        group=cell.group.name,
        targets=name,
        words=cell.words,
        strength=cell.strength,
        n=len(edits),
        missing={str(reason): count for reason, count in tally_missing(edits).items()},
        gender_change=gender.rate,
        floor=gender.floor,
        gender_table=_label_table(cell, readings.labels.get(GENDER, {})),
        gender_before=_labels_before(cell, readings.labels.get(GENDER, {})),
        target_seen=scorer.share_of_shown_words(),
        ita_before=scorer.skin("before"),
        ita_after=scorer.skin("after"),
        ita_change=scorer.skin("ita", null=0.0),
        lightness_change=scorer.skin("lightness", null=0.0),
        background_change=scorer.skin("background", null=0.0),
        beyond_exposure=scorer.skin("beyond_exposure", null=0.0),
        coverage=_coverage(cell, readings),
        average_face=average_tones(cell, readings, rng, scoring),
        other_axes={axis: entry.rate for axis, entry in rates.items()},
        other_floors={axis: entry.floor for axis, entry in rates.items()},
        identity=scorer.identity(),
        ita_changes=tuple(average(row) for row in cell.skin(readings, "ita")),
    )


@dataclass(frozen=True, slots=True)
class RateAndFloor:
    """Share of images whose label changes when they are edited, or merely encoded and decoded."""

    rate: E
    floor: E


@dataclass(frozen=True, slots=True)
class CellScorer:
    """Compute the scores of a group's edits toward some words at one strength.

    Attributes
    ----------
    cell : EditCell
        The edits.
    readings : EditReadings
        Labels and measurements of all images.
    scoring : Scoring
        Settings of the intervals.
    rng : Generator
        Random generator shared by the scores, which draw from it in turn.
    """

    cell: EditCell
    readings: EditReadings
    scoring: Scoring
    rng: np.random.Generator

    def rate(self, labels: Mapping[str, Answer]) -> RateAndFloor:
        """Estimate how often labels change when images are edited, or only encoded and decoded."""
        if not self.cell.group.restored:
            changes = self.cell.changes(labels)
            rate_only = or_missing(clustered.clustered_rate, changes, level=self.scoring.level)
            return RateAndFloor(rate=rate_only, floor=NOT_RESTORED)
        restored = self.cell.changes(labels, [self.cell.group.restored])
        try:
            rate, floor = clustered.rate_above_floor(
                self.cell.changes(labels), restored, rng=self.rng, **self.scoring.interval_options
            )
        except NotEnoughData:
            missing = _most_frequent_reason(labels)
            return RateAndFloor(rate=missing, floor=missing)
        return RateAndFloor(rate=rate, floor=floor)

    def share_of_shown_words(self) -> E:
        """Estimate the share of edits that show the word toward which they were edited."""
        rows = []
        for word, row in zip(self.cell.words, self.cell.rows, strict=True):
            rows.append([self._shows(word, edit) for edit in row])
        return or_missing(
            clustered.clustered_rate,
            np.array(rows).T,
            level=self.scoring.level,
            detail="no instrument labels occupations",
        )

    def _shows(self, word: str, edit: Outcome) -> float:
        """Return 1 if an edit shows the word, 0 if it does not, and NaN if it has no label."""
        answer = self.readings.occupations.get(edit.id) if isinstance(edit, Picture) else None
        return float(names_target(answer, word)) if isinstance(answer, str) else np.nan

    def skin(self, measure: str, null: float | None = None) -> E:
        """Estimate a measure of skin, averaged over input images."""
        if self.readings.mask == "geometry" and not self.readings.faces:
            return NOT_SOUGHT
        return or_missing(
            clustered.clustered_mean,
            self.cell.skin(self.readings, measure),
            rng=self.rng,
            null=null,
            reason="no_face",
            detail="no input image with a detected face has an edit with a detected face",
            **self.scoring.interval_options,
        )

    def identity(self) -> E:
        """Estimate the cosine similarity between input images and their edits.

        `null` is the mean similarity between an edit and the group's other input images.
        """
        if not self.readings.vectors:
            return Missing("not_asked", "no embedder is set")
        similarity = or_missing(
            clustered.clustered_mean,
            self.cell.pairs(self._cosine),
            rng=self.rng,
            reason="error",
            detail="no input image has an edit",
            **self.scoring.interval_options,
        )
        if isinstance(similarity, Missing):
            return similarity
        similarity = replace(similarity, max=1.0)
        null = average(self._similarity_to_others())
        if null is None or null >= 1:
            return similarity
        return replace(
            similarity,
            null=null,
            corrected=(similarity.value - null) / (1 - null),
            corrected_form=BOUNDED_FORM,
        )

    def _cosine(self, source: Picture, edit: Picture) -> float:
        vectors = self.readings.vectors
        return float(vectors[source.id].astype(np.float64) @ vectors[edit.id])

    def _similarity_to_others(self) -> Floats:
        """Return the mean cosine similarity between each edit and the other input images."""
        vectors = self.readings.vectors
        sources = {
            source.id: vectors[source.id]
            for source in self.cell.group.sources
            if isinstance(source, Picture)
        }
        stacked = np.stack(list(sources.values())).astype(np.float64)

        def mean_of_others(source: Picture, edit: Picture) -> float:
            cosines = stacked @ vectors[edit.id]
            if len(cosines) < 2:
                return np.nan
            return float((cosines.sum() - self._cosine(source, edit)) / (len(cosines) - 1))

        return self.cell.pairs(mean_of_others)


def _most_frequent_reason(labels: Mapping[str, Answer]) -> Missing:
    """Return the most frequent reason for missing labels; if tied, the alphabetically last."""
    reasons = Counter(label.reason for label in labels.values() if isinstance(label, Missing))
    if not reasons:
        return Missing("not_asked")
    return Missing(max(reasons, key=lambda reason: (reasons[reason], reason)))


def _coverage(cell: EditCell, readings: EditReadings) -> Coverage:
    return Coverage(
        mask=readings.mask,
        before=average(cell.skin(readings, "coverage_before")),
        after=average(cell.skin(readings, "coverage_after")),
    )


def _label_table(cell: EditCell, labels: Mapping[str, Answer]) -> dict[str, dict[str, int]]:
    """Count the edits for each pair of an input image's label and an edit's label."""
    counts: dict[str, Counter[str]] = {}
    for row in cell.rows:
        for source, edit in zip(cell.group.sources, row, strict=True):
            before = _label(source, labels)
            after = _label(edit, labels)
            if isinstance(before, str) and isinstance(after, str):
                counts.setdefault(before, Counter())[after] += 1
    return {before: dict(sorted(row.items())) for before, row in sorted(counts.items())}


def _labels_before(cell: EditCell, labels: Mapping[str, Answer]) -> dict[str, int]:
    """Count, for each label, the input images that have at least one labeled edit."""
    counts: Counter[str] = Counter()
    for source, *edits in zip(cell.group.sources, *cell.rows, strict=True):
        before = _label(source, labels)
        labeled = any(isinstance(_label(edit, labels), str) for edit in edits)
        if isinstance(before, str) and labeled:
            counts[before] += 1
    return dict(sorted(counts.items()))


def _label(outcome: Outcome, labels: Mapping[str, Answer]) -> Answer | None:
    return labels.get(outcome.id) if isinstance(outcome, Picture) else None
