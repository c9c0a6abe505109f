"""From pictures before and after to what a mitigation changed: nothing that chose it has a part in this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from askew.findings import E, Head, with_q
from askew.methods.mitigate.findings import AxisChange, MitigationFindings, PairChange, WayFindings
from askew.methods.mitigate.gather import Judged, MitigationGathered
from askew.methods.mitigate.plan import PROMPTS, MitigationPlan
from askew.parts.scoring import Scoring
from askew.parts.survey.confusion import confusions, known_errors
from askew.parts.survey.shares import SetShares, differences, shares
from askew.parts.survey.verdicts import with_verdicts
from askew.plan import AxisPlan, PromptPlan
from askew.prompts.noun_phrases import parse_prompt
from askew.stats.contingency import cramers_v
from askew.stats.differences import share_difference
from askew.stats.intervals import ends
from askew.stats.quality import dependence_change, kernel_distance, mean_difference
from askew.stats.shares import share_intervals
from askew.types import Estimate, Missing

ONE_VALUE = "a single value of one of them was seen, before or after"


def score(plan: MitigationPlan, found: MitigationGathered, head: Head) -> MitigationFindings:
    """The findings of a run.

    q-values: changes of the aimed axes are one family, those of the watched axes another, rises of dependence a third.
    """
    observed = {text: [one.observed for one in some] for text, some in found.judged.items()}
    confused = confusions(plan.prompts, observed, plan.vqa)
    known = known_errors(found.errors, confused)
    scoring = Scoring(plan.vqa[0], plan.seed, plan.draws, plan.level, plan.variant)
    prompts = {prompt.text: prompt for prompt in plan.prompts}
    seen: list[SetShares] = []
    ways: list[WayFindings] = []
    for text, judged in found.judged.items():
        own = [
            [shares(one.observed, axis.axis(), axis.ideal, text, scoring, known.get((plan.vqa[0], axis.name)),
                    axis.ideal_pictures)
             for axis in prompts[text].closed]
            for one in judged
        ]  # fmt: skip
        seen += [entry for entries in own for entry in entries]
        ways += [
            _way(
                plan,
                prompts[text],
                found,
                judged[0],
                after,
                dict(zip(("before", "after"), (own[0], entries), strict=True)),
                scoring,
            )
            for after, entries in zip(judged[1:], own[1:], strict=True)
        ]

    def family(at: tuple[str | int, ...]) -> str | None:
        if at[-1] == "change":
            return "aimed" if ways[int(at[0])].axes[int(at[2])].aimed else "watched"
        return "pairs" if at[-1] == "rise" else None

    return head.into(
        MitigationFindings,
        shares=with_verdicts(seen, plan.prompts)[0],
        confusion=confused,
        ways=with_q(tuple(ways), family),
        mitigations={name: way.to_toml() for name, way in found.ways.items()},
    )


def _way(
    plan: MitigationPlan, prompt: PromptPlan, found: MitigationGathered, before: Judged, after: Judged,
    seen: Mapping[str, Sequence[SetShares]], scoring: Scoring,
) -> WayFindings:  # fmt: skip
    way = str(after.way)
    rng = scoring.rng(prompt.text, way, "pictures")
    chosen = found.chosen.get(prompt.text) if way == PROMPTS else None
    axes = tuple(
        AxisChange(
            axis.name, axis.name in plan.aims, one.distance, other.distance,
            _subtracted(_change(before, after, axis, prompt, scoring), one.distance, other.distance),
            {name: _change(before, after, axis, prompt, replace(scoring, instrument=name)) for name in plan.vqa[1:]},
            chosen.predicted[axis.name] if chosen else None, _obeyed(after, axis, scoring),
        )
        for axis, one, other in zip(prompt.closed, seen["before"], seen["after"], strict=True)
    )  # fmt: skip
    vectors = [one.vectors for one in (before, after) if one.vectors is not None and len(one.vectors) > 1]
    unread = [_unread(one, plan, scoring) for one in (after, before)]
    kept = [_kept(one, prompt.text) for one in (before, after)]
    return WayFindings(
        prompt.text,
        way,
        found.ways[way].cost,
        axes,
        tuple(_pairs(prompt, before, after, scoring)),
        share_difference(kept[1], kept[0], 0, level=plan.level) if all(map(any, kept)) and kept[0][0] else None,
        share_intervals(kept[0], level=plan.level)[0] if any(kept[0]) and kept[0][0] else None,
        share_difference(unread[0], unread[1], 0, level=plan.level),
        _nearness(before, after, plan.level),
        kernel_distance(vectors[0], vectors[1], rng=rng, draws=plan.draws) if len(vectors) == 2 else None,
    )


def _change(before: Judged, after: Judged, axis: AxisPlan, prompt: PromptPlan, scoring: Scoring) -> E:
    """The distance after less that before."""
    found = differences([before.observed, after.observed], axis.axis(), axis.ideal, prompt.text, scoring)
    return found[0].distance if found else Missing("not_asked", "no picture before or after has an answer")


def _subtracted(change: E, before: E, after: E) -> E:
    """The change as what stands beside it: the debiased distance after less that before, kept within its interval."""
    if not (isinstance(change, Estimate) and isinstance(before, Estimate) and isinstance(after, Estimate)):
        return change
    value = after.mark - before.mark
    low, high = ends(change)
    return replace(change, value=value, low=min(low, value), high=max(high, value))


def _obeyed(after: Judged, axis: AxisPlan, scoring: Scoring) -> Estimate | None:
    """How often that is read which was asked of a picture; what cannot be read counts as missing, not as disobeyed."""
    asked = after.asked.get(axis.name)
    if asked is None:
        return None
    read = after.observed.values[scoring.instrument][axis.name]
    pairs = [(a, b) for a, b in zip(asked, read, strict=True) if a is not None]
    known = [a == b for a, b in pairs if not isinstance(b, Missing)]
    if not known:
        return None
    counts = [sum(known), len(known) - sum(known)]
    return share_intervals(counts, level=scoring.level, missing=len(pairs) - len(known))[0]


def _pairs(prompt: PromptPlan, before: Judged, after: Judged, scoring: Scoring) -> list[PairChange]:
    """Every pair of axes."""
    found = []
    for one, other in combinations(prompt.closed, 2):
        tables = [_table(judged, one, other, scoring.instrument) for judged in (before, after)]
        if not all(table.sum() for table in tables):
            continue
        rng = scoring.rng(prompt.text, str(after.way), one.name, other.name, "dependence")
        varied = all((table.sum(axis=side) > 0).sum() > 1 for table in tables for side in (0, 1))
        rise = dependence_change(*tables, rng=rng, **scoring.how) if varied else Missing("not_asked", ONE_VALUE)
        was, became = (float(cramers_v(table)) for table in tables)
        found.append(PairChange((one.name, other.name), was, became, rise))
    return found


def _table(judged: Judged, one: AxisPlan, other: AxisPlan, instrument: str) -> NDArray[np.int64]:
    table = np.zeros((len(one.values), len(other.values)), dtype=np.int64)
    values = judged.observed.values[instrument]
    for a, b in zip(values[one.name], values[other.name], strict=True):
        if not isinstance(a, Missing) and not isinstance(b, Missing):
            table[one.values.index(a), other.values.index(b)] += 1
    return table


def _kept(judged: Judged, prompt: str) -> list[int]:
    """Pictures whose occupation reads as the prompt's, and others; none where the prompt names none."""
    nouns = {phrase.noun.says["occupation"] for phrase in parse_prompt(prompt).phrases
             if phrase.noun and "occupation" in phrase.noun.says}  # fmt: skip
    if not nouns:
        return [0, 0]
    known = [str(one).lower() for one in judged.subjects if not isinstance(one, Missing)]
    kept = sum(any(noun.lower() in text or text in noun.lower() for noun in nouns) for text in known)
    return [kept, len(known) - kept]


def _unread(judged: Judged, plan: MitigationPlan, scoring: Scoring) -> list[int]:
    """Pictures in which an aimed axis could not be read, and others."""
    columns = [judged.observed.values[scoring.instrument][name] for name in plan.aims]
    lost = sum(any(isinstance(value, Missing) for value in row) for row in zip(*columns, strict=True))
    return [lost, len(columns[0]) - lost]


def _nearness(before: Judged, after: Judged, level: float) -> Estimate | None:
    sides = [one.vectors @ one.text for one in (after, before) if one.vectors is not None and one.text is not None]
    return mean_difference(*sides, level=level) if len(sides) == 2 and min(map(len, sides)) > 1 else None
