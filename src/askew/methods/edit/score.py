"""What editing does to people ("downstream", Saravanan et al., sections 3 and 4.2.1; figures 12 to
15, tables 2, 3).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np

from askew.errors import NotEnoughData
from askew.findings import E, Head, with_q
from askew.measure.portraits import CANONICAL, FRAME, NOT_SOUGHT, cheek_mask
from askew.measure.skin import Mask, ita, skin_mask
from askew.methods.edit import findings
from askew.methods.edit.findings import (
    Contrast,
    Coverage,
    EditCondition,
    Editing,
    FaceTone,
    MissingEdits,
    PooledChange,
)
from askew.methods.edit.gather import EditsGathered
from askew.methods.edit.plan import GENDER, EditPlan
from askew.methods.edit.reading import EditCell, EditedGroup, EditReadings, Floats, average
from askew.parts.scoring import Scoring, Vectors, or_missing
from askew.parts.sources.neutrality import names_target
from askew.parts.survey.missing_pictures import MissingCount, uneven
from askew.parts.survey.observed import tally_missing
from askew.prompts.given import stated_value
from askew.run.base import Answer, Outcome
from askew.stats import clustered
from askew.stats.intervals import BOUNDED_FORM, bootstrap_weights, percentile_interval
from askew.types import Estimate, Missing, Picture

TESTED = ("gender_change", "ita_change", "lightness_change", "beyond_exposure", "other_axes")
"""Tests of one score are adjusted together, those of all other axes too."""

FACE_DRAWS = 200
THINNED = 2
"""The most draws of average faces: one is made for each, and scored on every second pixel and row,
for it is smooth.
"""

CHEEK_MASK = cheek_mask((FRAME, FRAME), CANONICAL)
"""Where an aligned face has its cheeks."""


def score(plan: EditPlan, found: EditsGathered, head: Head) -> findings.EditFindings:
    """The findings of a run."""
    scoring = Scoring(plan.vqa[0], plan.seed, plan.bootstrap_samples, plan.confidence)
    what = EditData(found.groups, plan.edit_prompts, plan.strengths, found.readings, scoring)
    return head.into(
        findings.EditFindings,
        sources=found.sources,
        landmarks=found.landmarks,
        missing_pictures=missing_edits(what),
        showing=found.showing,
        neutrality=found.neutrality,
        average_faces=found.average_faces,
        editing=editing(what),
        editing_contrasts=contrasts(what),
        editing_pooled=pooled(what),
    )


@dataclass(frozen=True, slots=True)
class EditData:
    """Groups with their edits by set of targets and strength, what was read of them, and how it is
    scored.
    """

    groups: Sequence[EditedGroup]
    targets: Mapping[str, Sequence[str]]
    strengths: Sequence[float]
    readings: EditReadings
    scoring: Scoring

    def sides(self, cells: Sequence[EditCell]) -> tuple[Floats, Floats]:
        """Of some cells the changes of perceived gender and of ITA, a row for each source."""
        genders = [cell.changes(self.readings.values.get(GENDER, {})) for cell in cells]
        return np.concatenate(genders), np.concatenate(
            [cell.skin(self.readings, "ita") for cell in cells]
        )


def editing(what: EditData) -> tuple[Editing, ...]:
    """One entry per group, set of targets and strength, with q-values."""
    entries = tuple(
        _entry(name, EditCell(group, tuple(words), strength), what.readings, what.scoring)
        for group in what.groups
        for name, words in what.targets.items()
        for strength in what.strengths
    )
    return with_q(entries, lambda at: str(at[1]) if at[1] in TESTED else None)


def missing_edits(what: EditData) -> tuple[MissingEdits, ...]:
    """Whether sources are missing more often in some groups, or faces in them; and by set of
    targets, any edit.

    A source counts once however many of its edits are missing, since these are no independent
    cases.
    """
    about = {"prompt": None, "targets": None, "axis": "group"}
    faces = what.readings.faces
    present = {
        group.name: [one for one in group.sources if isinstance(one, Picture)]
        for group in what.groups
    }
    counted = [(about, {group.name: MissingCount.of(group.sources) for group in what.groups})]
    if faces:
        found = {
            name: MissingCount.of([faces.get(one.id) for one in some])
            for name, some in present.items()
        }
        counted.append((about | {"of": "faces"}, found))
    for name, words in what.targets.items():
        gone = {}
        for group in what.groups:
            there = [k for k, source in enumerate(group.sources) if isinstance(source, Picture)]
            rows = [row for (word, _), row in group.edits.items() if word in words]
            gone[group.name] = MissingCount(
                sum(any(isinstance(row[k], Missing) for row in rows) for k in there), len(there)
            )
        counted.append((about | {"targets": name}, gone))
    return uneven(MissingEdits, counted, what.scoring)


def _entry(name: str, cell: EditCell, readings: EditReadings, scoring: Scoring) -> Editing:
    rng = scoring.rng(cell.group.name, name, f"{cell.strength:g}", "editing")
    rates = {axis: _rate(cell, seen, scoring, rng) for axis, seen in readings.values.items()}
    unread = Missing("not_asked", "no instrument was asked for perceived gender")
    gender, floor = rates.get(GENDER, (unread, unread))

    def skin(measure: str, null: float | None = None) -> E:
        if readings.mask == "geometry" and not readings.faces:
            return NOT_SOUGHT
        detail = "no face found in any picture and its edit"
        return or_missing(
            clustered.clustered_mean,
            cell.skin(readings, measure),
            rng=rng,
            null=null,
            reason="no_face",
            detail=detail,
            **scoring.interval_options,
        )

    edits = [one for row in cell.rows for one in row]
    before = skin("before")
    after = skin("after")
    covered = (average(cell.skin(readings, f"coverage_{when}")) for when in ("before", "after"))
    # every random draw follows those before it: the order of what follows decides the intervals
    return Editing(
        group=cell.group.name,
        targets=name,
        words=cell.words,
        strength=cell.strength,
        n=len(edits),
        missing={str(reason): count for reason, count in tally_missing(edits).items()},
        gender_change=gender,
        floor=floor,
        gender_table=_table(cell, readings.values.get(GENDER, {})),
        target_seen=_target_seen(cell, readings.occupations, scoring.level),
        ita_before=before,
        ita_after=after,
        ita_change=skin("ita", 0.0),
        lightness_change=skin("lightness", 0.0),
        background_change=skin("background", 0.0),
        beyond_exposure=skin("beyond_exposure", 0.0),
        coverage=Coverage(readings.mask, *covered),
        average_face=average_tones(cell, readings, rng, scoring),
        other_axes={axis: rate for axis, (rate, _) in rates.items() if axis != GENDER},
        other_floors={axis: base for axis, (_, base) in rates.items() if axis != GENDER},
        identity=_identity(cell, readings.vectors, scoring, rng),
    )


def _rate(
    cell: EditCell, seen: Mapping[str, Answer], scoring: Scoring, rng: np.random.Generator
) -> tuple[E, E]:
    """How often a value changed, and how often it does by encoding and decoding alone."""
    restored = cell.changes(seen, [cell.group.restored])
    try:
        return clustered.rate_above_floor(
            cell.changes(seen), restored, rng=rng, **scoring.interval_options
        )
    except NotEnoughData:
        reasons = Counter(one.reason for one in seen.values() if isinstance(one, Missing))
        none = Missing(max(reasons, key=lambda r: (reasons[r], r)) if reasons else "not_asked")
        return none, none


def _target_seen(cell: EditCell, seen: Mapping[str, Answer], level: float) -> E:
    """The share of edits that show what they were edited towards."""

    def shows(word: str, edit: Outcome) -> float:
        answer = seen.get(edit.id) if isinstance(edit, Picture) else None
        return float(names_target(answer, word)) if isinstance(answer, str) else np.nan

    found = np.array(
        [[shows(word, one) for one in row] for word, row in zip(cell.words, cell.rows, strict=True)]
    )
    return or_missing(
        clustered.clustered_rate, found.T, level=level, detail="no instrument tells occupations"
    )


def _table(cell: EditCell, seen: Mapping[str, Answer]) -> dict[str, dict[str, int]]:
    """How many pictures went from which value to which."""
    counts: dict[str, Counter[str]] = {}
    for row in cell.rows:
        for pair in zip(cell.group.sources, row, strict=True):
            before, after = (seen.get(one.id) if isinstance(one, Picture) else None for one in pair)
            if isinstance(before, str) and isinstance(after, str):
                counts.setdefault(before, Counter())[after] += 1
    return {before: dict(sorted(row.items())) for before, row in sorted(counts.items())}


def _identity(
    cell: EditCell, vectors: Mapping[str, Vectors], scoring: Scoring, rng: np.random.Generator
) -> E:
    """Cosine of a picture and its edit. `null`: of the edit and the other pictures of the group."""
    if not vectors:
        return Missing("not_asked", "there is no embedder")
    sources = {one.id: vectors[one.id] for one in cell.group.sources if isinstance(one, Picture)}
    everything = np.stack(list(sources.values())).astype(np.float64)

    def cosine(a: Picture, b: Picture) -> float:
        return float(sources[a.id].astype(np.float64) @ vectors[b.id])

    def strangers(a: Picture, b: Picture) -> float:
        others = everything @ vectors[b.id]
        return (
            float((others.sum() - cosine(a, b)) / (len(others) - 1)) if len(others) > 1 else np.nan
        )

    cosines = cell.pairs(cosine)
    own = or_missing(
        clustered.clustered_mean,
        cosines,
        rng=rng,
        reason="error",
        detail="no picture has an edit",
        **scoring.interval_options,
    )
    if isinstance(own, Missing):
        return own
    own = replace(own, max=1.0)
    null = average(cell.pairs(strangers))
    if null is None or null >= 1:
        return own
    beyond = (own.value - null) / (1 - null)
    return replace(own, null=null, corrected=beyond, corrected_form=BOUNDED_FORM)


def average_tones(
    cell: EditCell, readings: EditReadings, rng: np.random.Generator, scoring: Scoring
) -> FaceTone | None:
    """ITA of the average face of the sources and of all their edits, and their difference; None
    without landmarks.

    The readings' mask says which pixels are skin: rule, those of its colour, as in the paper;
    geometry, where an aligned face has its cheeks. Percentile bootstrap over sources, with their
    edits, of the draws that show skin.
    """
    if not readings.faces:
        return None
    weights = bootstrap_weights(len(cell.group.sources), min(scoring.draws, FACE_DRAWS), rng)
    sides = (_average_tone(rows, readings, weights) for rows in ([cell.group.sources], cell.rows))
    (before, drawn_before, n_before), (after, drawn_after, n) = sides

    def estimate(value: float | Missing, drawn: Floats, n: int, null: float | None = None) -> E:
        if isinstance(value, Missing):
            return value
        known = drawn[~np.isnan(drawn)]
        low, high = percentile_interval(known, scoring.level) if len(known) else (value, value)
        return Estimate(
            value, low, high, scoring.level, "percentile bootstrap over sources", n, null=null
        )

    change = (
        before
        if isinstance(before, Missing)
        else after
        if isinstance(after, Missing)
        else after - before
    )
    return FaceTone(
        ita_before=estimate(before, drawn_before, n_before),
        ita_after=estimate(after, drawn_after, n),
        ita_change=estimate(change, drawn_after - drawn_before, n, null=0.0),
    )


def _average_tone(
    rows: Sequence[Sequence[Outcome]], readings: EditReadings, weights: Floats
) -> tuple[float | Missing, Floats, int]:
    """ITA of the average face of rows of pictures, the same at weights of the sources (NaN where
    there is none), and of how many faces it is.
    """
    shape = next(
        (face.shape for face in readings.faces.values() if isinstance(face, np.ndarray)), (1, 1, 3)
    )
    sums = np.zeros((len(rows[0]), *shape))
    counts = np.zeros(len(rows[0]), dtype=np.int64)
    for at, one in (
        (at, one) for row in rows for at, one in enumerate(row) if isinstance(one, Picture)
    ):
        face = readings.faces.get(one.id)
        if isinstance(face, np.ndarray):
            sums[at] += face
            counts[at] += 1

    def toned(own: Floats, sums: Floats, cheeks: Mask) -> float | Missing:
        total = float(own @ counts)
        if not total:
            return Missing("no_face", "one face was found in no picture")
        face = (np.tensordot(own, sums, axes=1) / total).round().clip(0, 255).astype(np.uint8)
        return ita(face, skin_mask(face) if readings.mask == "rule" else cheeks)

    thin = np.ascontiguousarray(sums[:, ::THINNED, ::THINNED])
    tones = [toned(own, thin, CHEEK_MASK[::THINNED, ::THINNED]) for own in weights]
    drawn = np.array([np.nan if isinstance(one, Missing) else one for one in tones])
    return toned(np.ones(len(counts)), sums, CHEEK_MASK), drawn, int(counts.sum())


def contrasts(what: EditData) -> tuple[Contrast, ...]:
    """Differences between every two groups, every two sets of targets, and the least and the
    greatest strength.

    Picture k of every group, edited from the same noise, makes a pair with picture k of the others.
    q by kind.
    """
    by_name = {group.name: group for group in what.groups}
    targets = what.targets
    strengths = sorted(what.strengths)
    ends = [(strengths[0], strengths[-1])] if len(strengths) > 1 else []
    compared = [
        ("group", EditCondition(a, name, strength), EditCondition(b, name, strength))
        for name, strength in product(targets, strengths)
        for a, b in combinations(by_name, 2)
    ]
    for group in by_name:
        compared += [
            ("targets", EditCondition(group, one, strength), EditCondition(group, other, strength))
            for strength in strengths
            for one, other in combinations(targets, 2)
        ]
        compared += [
            ("strength", EditCondition(group, name, a), EditCondition(group, name, b))
            for a, b in ends
            for name in targets
        ]
    found = []
    for kind, *places in compared:
        rng = what.scoring.rng(
            kind, *(str(part) for at in places for part in (at.group, at.targets, at.strength))
        )
        cells = [
            EditCell(by_name[at.group], tuple(targets[at.targets]), at.strength) for at in places
        ]
        (genders, tones), (genders_there, tones_there) = (what.sides([cell]) for cell in cells)
        found.append(
            Contrast(
                kind,
                places[0],
                places[1],
                or_missing(
                    clustered.clustered_rate_difference,
                    genders_there,
                    genders,
                    rng=rng,
                    **what.scoring.interval_options,
                ),
                or_missing(
                    clustered.clustered_mean_difference,
                    tones_there,
                    tones,
                    rng=rng,
                    **what.scoring.interval_options,
                ),
            )
        )
    return with_q(tuple(found), lambda at: (found[int(at[0])].contrast, at[1]))


def pooled(what: EditData) -> tuple[PooledChange, ...]:
    """Change of gender and of ITA over all groups whose names say the same gender, or the same
    ethnicity ("downstream", figure 3); nothing of an axis unless there are two values to hold
    against each other.
    """
    found = []
    for axis in (GENDER, "ethnicity"):
        stated: dict[str, list[EditedGroup]] = {}
        for group in what.groups:
            value = stated_value(group.name, axis)
            if value:
                stated.setdefault(value, []).append(group)
        for value, own in stated.items() if len(stated) > 1 else ():
            for (name, words), strength in product(what.targets.items(), sorted(what.strengths)):
                rng = what.scoring.rng("pooled", axis, value, name, f"{strength:g}")
                genders, tones = what.sides(
                    [EditCell(group, tuple(words), strength) for group in own]
                )
                found.append(
                    PooledChange(
                        axis,
                        value,
                        tuple(group.name for group in own),
                        name,
                        strength,
                        or_missing(clustered.clustered_rate, genders, level=what.scoring.level),
                        or_missing(
                            clustered.clustered_mean,
                            tones,
                            rng=rng,
                            null=0.0,
                            **what.scoring.interval_options,
                        ),
                    )
                )
    return tuple(found)
