"""Verdicts whether an image set is biased on an axis, by all that was tested there.

Tests of a set and axis are joined by Holm. They are the deviation of the shares from the reference,
on an ordinal axis also their total variation, and MAD. All sets and axes of an instrument form one
family of Benjamini-Hochberg (`holm_then_bh`). MAD tests whether counterfactuals are equally similar
to the baseline images. Where the reference is not uniform it gets no q.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from askew.parts.survey.shares import DISTANCE, SetShares, Verdict
from askew.stats.distance_intervals import as_exact_together
from askew.stats.intervals import holm_then_bh
from askew.stats.shares import detectable_distance
from askew.stats.significance import SIGNIFICANCE_LEVEL, is_significant
from askew.types import Estimate

SetAndAxis = tuple[str, str]
"""A prompt and an axis."""

TestKey = int | SetAndAxis
"""Place of an entry, or prompt and axis of a MAD without shares."""


@dataclass(frozen=True)
class _Family:
    """Tests of an instrument.

    Attributes
    ----------
    entries : dict of int to SetShares
        Entries by their place in the findings.
    p_values : dict
        p-values of the tests of each set and axis.
    mad_keys : dict
        Keys of `p_values` to which each MAD belongs. MAD is the last test there.
    """

    entries: dict[int, SetShares]
    p_values: dict[TestKey, list[float]]
    mad_keys: dict[SetAndAxis, TestKey] = field(default_factory=dict)


def with_verdicts(
    entries: Iterable[SetShares],
    mads: Mapping[SetAndAxis, float] | None = None,
    captioner: str | None = None,
) -> tuple[tuple[SetShares, ...], dict[SetAndAxis, float]]:
    """Return shares with a verdict on each set of a prompt or condition, and the q of each MAD.

    Parameters
    ----------
    entries
        Shares of all sets and instruments.
    mads
        p-values of MAD by prompt and axis.
    captioner
        Instrument whose answers MAD rests on.
    """
    judged = list(entries)
    instruments = [entry.instrument for entry in judged]
    if mads and captioner:
        instruments.append(captioner)
    mad_q_values: dict[SetAndAxis, float] = {}
    for instrument in dict.fromkeys(instruments):
        family = _family(judged, instrument)
        if instrument == captioner:
            _add_mads(family, mads or {})
        results = dict(
            zip(family.p_values, holm_then_bh(list(family.p_values.values())), strict=True)
        )
        for mad, key in family.mad_keys.items():
            _, _, q_values = results[key]
            mad_q_values[mad] = q_values[-1]
        for place in family.entries.keys() & results.keys():
            p, q, q_values = results[place]
            family_size = len(family.p_values)
            level = SIGNIFICANCE_LEVEL / (len(family.p_values[place]) * family_size)
            entry = _judge(family.entries[place], p, q, q_values, level)
            judged[place] = _with_family_size(entry, family_size)
    return tuple(judged), mad_q_values


def _family(entries: Sequence[SetShares], instrument: str) -> _Family:
    """Return the tests of deviations by an instrument."""
    of_instrument = {
        place: entry
        for place, entry in enumerate(entries)
        if entry.instrument == instrument and entry.of_prompt
    }
    p_values: dict[TestKey, list[float]] = {}
    for place, entry in of_instrument.items():
        tests = [estimate.p for estimate in entry.from_reference if estimate.p is not None]
        if tests:
            p_values[place] = tests
    return _Family(entries=of_instrument, p_values=p_values)


def _add_mads(family: _Family, mads: Mapping[SetAndAxis, float]) -> None:
    """Join each MAD with the shares of its baseline set; without shares it is tested by itself."""
    baseline_places = {
        (entry.prompt, entry.axis): place
        for place, entry in family.entries.items()
        if entry.set == "initial"
    }
    for mad, p in mads.items():
        place = baseline_places.get(mad)
        if place is not None and not family.entries[place].even:
            continue
        key: TestKey = mad
        if place is not None and place in family.p_values:
            key = place
        family.mad_keys[mad] = key
        family.p_values.setdefault(key, []).append(p)


def _judge(
    entry: SetShares, p: float, q: float, q_values: Sequence[float], level: float
) -> SetShares:
    """Return an entry with its verdict and the q-values of its deviations.

    `level` is the significance level of a single test after correction, for the power.
    """
    distance = DISTANCE["nominal" if entry.total_variation is None else "ordinal"]
    images = as_exact_together(sum(entry.counts.values()), entry.reference_images)
    verdict = Verdict(
        value=entry.leading,
        p=p,
        q=q,
        detectable=detectable_distance(
            images, tuple(entry.reference.values()), distance, level=level
        ),
    )
    # q_values may end with that of MAD
    tested: list[Estimate] = [
        replace(estimate, q=each)
        for estimate, each in zip(entry.from_reference, q_values, strict=False)
    ]
    return replace(
        entry,
        distance=tested[0] if tested else entry.distance,
        total_variation=tested[1] if len(tested) > 1 else None,
        verdict=verdict,
    )


def _with_family_size(entry: SetShares, size: int) -> SetShares:
    if entry.verdict is None:
        return entry
    return replace(entry, verdict=replace(entry.verdict, tests=size))


def is_biased(entry: SetShares) -> bool | None:
    """Check whether the shares of an image set on an axis deviate significantly from the reference.

    Returns
    -------
    bool or None
        By the verdict on the set. None where nothing was tested.
    """
    if entry.verdict is None:
        return is_significant(entry.distance)
    return entry.verdict.q < SIGNIFICANCE_LEVEL
