"""What editing does to people ("downstream", Saravanan et al., sections 3 and 4.2.1).

Pictures of social groups are edited towards targets, such as professions, at several strengths. Scored are the change
of perceived gender and of every other axis, beyond what the instrument does by itself to pictures that were merely
encoded and decoded; whether the person stays the same; and the change of skin tone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew.errors import NotEnoughData
from askew.measure.skin import SCHEME, tone
from askew.measure.skin_change import SkinChange
from askew.methods.editing_faces import AlignedFaces, average_tones
from askew.methods.significance import add_q
from askew.methods.sources import names_target
from askew.parts.scoring import Scoring, Vectors
from askew.parts.survey.observed import Answer, tally_missing
from askew.stats.clustered import clustered_mean, clustered_rate, rate_above_floor
from askew.types import Estimate, Missing, Picture

GENDER = "gender"

Cell = tuple[str, float]
"""A target and a strength."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class EditedGroup:
    """The pictures of one group, what they become by encoding and decoding alone, and their edits.

    `restored` and every row of `edits` run parallel to `sources`.
    """

    name: str
    sources: tuple[Picture | Missing, ...]
    restored: tuple[Picture | Missing, ...]
    edits: Mapping[Cell, tuple[Picture | Missing, ...]]


@dataclass(frozen=True, slots=True)
class Readings:
    """What was read from the pictures, by their id.

    values       by axis the value seen by the first instrument that tells it
    occupations  what a person in the picture is seen to be
    vectors  embeddings; empty without an embedder
    skin     by (id of a source, id of its edit)
    faces    aligned faces; empty without landmarks
    mask     how skin was found: rule or geometry
    """

    values: Mapping[str, Mapping[str, Answer]]
    occupations: Mapping[str, Answer]
    vectors: Mapping[str, Vectors]
    skin: Mapping[tuple[str, str], SkinChange]
    faces: AlignedFaces
    mask: str

    def skin_by_picture(self) -> dict[str, tuple[float | None, float]]:
        """ITA in degrees and coverage of every source that has an edit, and of every edit; None for no skin."""
        found: dict[str, tuple[float | Missing, float]] = {}
        for (source, edit), change in self.skin.items():
            found[source] = (change.before, change.coverage_before)
            found[edit] = (change.after, change.coverage_after)
        return {one: (None if isinstance(tone, Missing) else tone, covered) for one, (tone, covered) in found.items()}


def editing(
    groups: Sequence[EditedGroup],
    targets: Mapping[str, Sequence[str]],
    strengths: Sequence[float],
    readings: Readings,
    scoring: Scoring,
) -> list[dict[str, Any]]:
    """The entries of `editing` in results.json: one per group, set of targets and strength, with q-values."""
    entries = [
        _entry(group, name, words, strength, readings, scoring)
        for group in groups
        for name, words in targets.items()
        for strength in strengths
    ]
    for score in ("gender_change", "ita_change", "lightness_change", "beyond_exposure"):
        add_q(entries, score)
    _add_q_of_axes(entries)
    return entries


def changes(group: EditedGroup, words: Sequence[str], strength: float, seen: Mapping[str, Answer]) -> Floats:
    """Whether the value of an axis changed, (sources, targets): 1 or 0, NaN where it was not read in both pictures."""
    return _pairs(group, words, strength, lambda a, b: _differ(seen.get(a.id), seen.get(b.id)))


def skin_changes(group: EditedGroup, words: Sequence[str], strength: float, readings: Readings, measure: str) -> Floats:
    """One measure of the change of skin, (sources, targets), NaN where it is missing.

    `measure` is a field of SkinChange, "ita" for after - before, or "beyond_exposure" for lightness - background.
    """
    return _pairs(group, words, strength, lambda a, b: _of_skin(readings.skin.get((a.id, b.id)), measure))


def _add_q_of_axes(entries: Sequence[dict[str, Any]]) -> None:
    """All other axes in all entries are one family."""
    flat = [{"axis": axis, "rate": rate} for entry in entries for axis, rate in entry["other_axes"].items()]
    add_q(flat, "rate")
    with_q = iter(flat)
    for entry in entries:
        entry["other_axes"] = {axis: next(with_q)["rate"] for axis in entry["other_axes"]}


def _entry(
    group: EditedGroup, name: str, words: Sequence[str], strength: float, readings: Readings, scoring: Scoring
) -> dict[str, Any]:
    rng = scoring.rng(group.name, name, f"{strength:g}", "editing")
    rates = {axis: _rate(group, words, strength, seen, scoring, rng) for axis, seen in readings.values.items()}
    none = Missing("not_asked", "no instrument was asked for perceived gender")
    gender, floor = rates.get(GENDER, (none, none))
    edits = [one for word in words for one in group.edits[word, strength]]
    return {
        "group": group.name,
        "targets": name,
        "words": list(words),
        "strength": strength,
        "n": len(edits),
        "missing": tally_missing(edits),
        "gender_change": gender,
        "floor": floor,
        "gender_table": _table(group, words, strength, readings.values.get(GENDER, {})),
        "target_seen": _target_seen(group, words, strength, readings.occupations, scoring.level),
        **_skin(group, words, strength, readings, scoring, rng),
        "average_face": average_tones(
            group.sources, [group.edits[word, strength] for word in words], readings.faces, readings.mask, rng,
            scoring.draws, scoring.level,
        ),
        "other_axes": {axis: rate for axis, (rate, _) in rates.items() if axis != GENDER},
        "other_floors": {axis: base for axis, (_, base) in rates.items() if axis != GENDER},
        "identity": _identity(group, words, strength, readings.vectors, scoring, rng),
        "by_word": {word: _of_word(group, word, strength, readings, scoring) for word in words},
    }  # fmt: skip


def _of_word(
    group: EditedGroup, word: str, strength: float, readings: Readings, scoring: Scoring
) -> dict[str, Estimate | Missing]:
    """The main scores of the edits towards one target alone."""
    rng = scoring.rng(group.name, word, f"{strength:g}", "editing by word")
    change, _ = _rate(group, [word], strength, readings.values.get(GENDER, {}), scoring, rng)
    return {
        "gender_change": change,
        "target_seen": _target_seen(group, [word], strength, readings.occupations, scoring.level),
        "ita_change": _mean_of_skin(group, [word], strength, readings, scoring, rng, "ita", 0.0),
    }


def _rate(
    group: EditedGroup,
    words: Sequence[str],
    strength: float,
    seen: Mapping[str, Answer],
    scoring: Scoring,
    rng: np.random.Generator,
) -> tuple[Estimate | Missing, Estimate | Missing]:
    """How often a value changed, and how often it does by encoding and decoding alone."""
    restored = [
        _differ(seen.get(a.id), seen.get(b.id)) if isinstance(a, Picture) and isinstance(b, Picture) else np.nan
        for a, b in zip(group.sources, group.restored, strict=True)
    ]
    try:
        changed = changes(group, words, strength, seen)
        return rate_above_floor(changed, np.array(restored)[:, None], rng=rng, draws=scoring.draws, level=scoring.level)
    except NotEnoughData:
        reasons = Counter(one.reason for one in seen.values() if isinstance(one, Missing))
        none = Missing(max(reasons, key=lambda r: (reasons[r], r)) if reasons else "not_asked")
        return none, none


def _target_seen(
    group: EditedGroup, words: Sequence[str], strength: float, seen: Mapping[str, Answer], level: float
) -> Estimate | Missing:
    """The share of edits that show what they were edited towards."""

    def shows(word: str, edit: Picture | Missing) -> float:
        answer = seen.get(edit.id) if isinstance(edit, Picture) else None
        return float(names_target(answer, word)) if isinstance(answer, str) else np.nan

    found = np.array([[shows(word, edit) for edit in group.edits[word, strength]] for word in words]).T
    try:
        return clustered_rate(found, level=level)
    except NotEnoughData:
        return Missing("not_asked", "no instrument tells occupations")


def _table(
    group: EditedGroup, words: Sequence[str], strength: float, seen: Mapping[str, Answer]
) -> dict[str, dict[str, int]]:
    """How many pictures went from which value to which."""
    counts: dict[str, dict[str, int]] = {}
    for a, b in _pictures(group, words, strength):
        before, after = seen.get(a.id), seen.get(b.id)
        if isinstance(before, str) and isinstance(after, str):
            row = counts.setdefault(before, {})
            row[after] = row.get(after, 0) + 1
    return {before: dict(sorted(row.items())) for before, row in sorted(counts.items())}


def _skin(
    group: EditedGroup,
    words: Sequence[str],
    strength: float,
    readings: Readings,
    scoring: Scoring,
    rng: np.random.Generator,
) -> dict[str, Any]:
    def mean(measure: str, null: float | None = None) -> Estimate | Missing:
        return _mean_of_skin(group, words, strength, readings, scoring, rng, measure, null)

    before, after = mean("before"), mean("after")
    return {
        "ita_before": before,
        "ita_after": after,
        "tone_before": tone(before.value) if isinstance(before, Estimate) else None,
        "tone_after": tone(after.value) if isinstance(after, Estimate) else None,
        "tone_scheme": SCHEME,
        "ita_change": mean("ita", 0.0),
        "lightness_change": mean("lightness", 0.0),
        "background_change": mean("background", 0.0),
        "beyond_exposure": mean("beyond_exposure", 0.0),
        "coverage": {
            "mask": readings.mask,
            "before": _average(skin_changes(group, words, strength, readings, "coverage_before")),
            "after": _average(skin_changes(group, words, strength, readings, "coverage_after")),
        },
    }


def _mean_of_skin(
    group: EditedGroup,
    words: Sequence[str],
    strength: float,
    readings: Readings,
    scoring: Scoring,
    rng: np.random.Generator,
    measure: str,
    null: float | None,
) -> Estimate | Missing:
    values = skin_changes(group, words, strength, readings, measure)
    try:
        return clustered_mean(values, rng=rng, draws=scoring.draws, level=scoring.level, null=null)
    except NotEnoughData:
        return Missing("no_person", "no skin found in any picture and its edit")


def _identity(
    group: EditedGroup,
    words: Sequence[str],
    strength: float,
    vectors: Mapping[str, Vectors],
    scoring: Scoring,
    rng: np.random.Generator,
) -> Estimate | Missing:
    """Cosine of a picture and its edit. `null`: of the edit and the other pictures of the group."""
    if not vectors:
        return Missing("not_asked", "there is no embedder")
    sources = {one.id: vectors[one.id] for one in group.sources if isinstance(one, Picture)}
    everything = np.stack(list(sources.values())).astype(np.float64)

    def cosine(a: Picture, b: Picture) -> float:
        return float(sources[a.id].astype(np.float64) @ vectors[b.id])

    def strangers(a: Picture, b: Picture) -> float:
        others = everything @ vectors[b.id]
        return float((others.sum() - cosine(a, b)) / (len(others) - 1)) if len(others) > 1 else np.nan

    try:
        own = clustered_mean(
            _pairs(group, words, strength, cosine), rng=rng, draws=scoring.draws, level=scoring.level, maximum=1.0
        )
    except NotEnoughData:
        return Missing("error", "no picture has an edit")
    null = _average(_pairs(group, words, strength, strangers))
    if null is None or null >= 1:
        return own
    return Estimate(
        own.value, own.low, own.high, own.level, own.interval, own.n, own.missing, null=null, max=1.0,
        corrected=(own.value - null) / (1 - null), corrected_form="(value - null) / (max - null)",
    )  # fmt: skip


def _pictures(group: EditedGroup, words: Sequence[str], strength: float) -> Iterator[tuple[Picture, Picture]]:
    """Every picture with each of its edits, where both are there."""
    for word in words:
        for a, b in zip(group.sources, group.edits[word, strength], strict=True):
            if isinstance(a, Picture) and isinstance(b, Picture):
                yield a, b


def _pairs(
    group: EditedGroup, words: Sequence[str], strength: float, measure: Callable[[Picture, Picture], float]
) -> Floats:
    """A measure of every picture and each of its edits: (sources, targets), NaN where one is missing."""
    columns = [
        [
            measure(a, b) if isinstance(a, Picture) and isinstance(b, Picture) else np.nan
            for a, b in zip(group.sources, group.edits[word, strength], strict=True)
        ]
        for word in words
    ]
    return np.array(columns, dtype=float).T


def _differ(before: Answer | None, after: Answer | None) -> float:
    return float(before != after) if isinstance(before, str) and isinstance(after, str) else np.nan


def _of_skin(change: SkinChange | None, measure: str) -> float:
    if change is None:
        return np.nan
    parts = {"ita": ("after", "before"), "beyond_exposure": ("lightness", "background")}.get(measure, (measure,))
    numbers = [getattr(change, part) for part in parts]
    if any(isinstance(one, Missing) for one in numbers):
        return np.nan
    return float(numbers[0] - numbers[1]) if len(numbers) == 2 else float(numbers[0])


def _average(values: Floats) -> float | None:
    return None if np.isnan(values).all() else float(np.nanmean(values))
