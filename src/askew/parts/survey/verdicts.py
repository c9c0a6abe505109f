"""Do a prompt's pictures lean? One verdict per picture set and axis, by all that was tested there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from askew.pages.words import SIGNIFICANT
from askew.parts.survey.shares import DISTANCE, SetShares, Verdict
from askew.plan import PromptPlan
from askew.stats.distance_intervals import as_exact_together
from askew.stats.verdicts import detectable_distance, holm_then_bh

Place = tuple[str, str]
"""A prompt and an axis."""


def with_verdicts(
    entries: Iterable[SetShares],
    prompts: Sequence[PromptPlan],
    mads: Mapping[Place, float] | None = None,
    captioner: str | None = None,
) -> tuple[tuple[SetShares, ...], dict[Place, float]]:
    """Shares with a verdict on every set of a prompt's own, and the q of every MAD.

    Tests of one set and axis are joined by Holm: the distance of its shares, of ordered values also their total
    variation, and MAD. Those of all that an instrument read are one family of Benjamini-Hochberg (`holm_then_bh`).
    `mads` are p-values of MAD by prompt and axis, which rest on the answers of `captioner`. MAD asks whether pictures
    are equally near to all values: where the ideal is another it tells nothing, and gets no q. Where an axis has no
    shares it is tested alone.
    """
    found, qs = list(entries), dict[Place, float]()
    for name in dict.fromkeys([*(one.instrument for one in found), *([captioner] if mads and captioner else [])]):
        own = {k: one for k, one in enumerate(found) if one.instrument == name and one.of_prompt}
        tests: dict[int | Place, list[float]] = {
            k: ps for k, one in own.items() if (ps := [e.p for e in one.from_ideal if e.p is not None])
        }
        places = {(one.prompt, one.axis): k for k, one in own.items() if one.set == "initial"}
        asked = dict[Place, int | Place]()
        for place, p in (mads or {}).items() if name == captioner else ():
            k = places.get(place)
            if k is None or own[k].even:
                asked[place] = k if k in tests else place
                tests.setdefault(asked[place], []).append(p)
        results = dict(zip(tests, holm_then_bh([*tests.values()]), strict=True))
        qs |= {place: results[key][2][-1] for place, key in asked.items()}
        scales = {(prompt.text, axis.name): axis.scale for prompt in prompts for axis in prompt.axes}
        for k, one in own.items():
            if k in results:
                scale, level = scales[one.prompt, one.axis], SIGNIFICANT / (len(tests[k]) * len(tests))
                found[k] = _judged(one, *results[k], DISTANCE[scale], level)
    return tuple(found), qs


def _judged(one: SetShares, p: float, q: float, qs: Sequence[float], distance: str, level: float) -> SetShares:
    """With the q of its own distances, the value that leads, and what so many pictures could have shown."""
    read = sum(one.counts.values())
    value = max(one.counts, key=lambda v: one.counts[v] / read - one.ideal[v])
    shown = detectable_distance(
        as_exact_together(read, one.ideal_pictures), [*one.ideal.values()], distance, level=level
    )
    first, second = ([replace(e, q=own) for e, own in zip(one.from_ideal, qs, strict=False)] + [None])[:2]
    return replace(one, distance=first or one.distance, total_variation=second, verdict=Verdict(value, p, q, shown))
