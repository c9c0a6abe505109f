"""What a way to mitigate is said to do, in worlds where it does nothing, and where it does what is
known.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from askew.methods.mitigate.findings import TechniqueFindings
from askew.parts.survey.observed import ObservedSet
from askew.types import Missing, Prompt
from truth.mitigations import NURSE, READ, changed, chosen, judged, policy, seen, told
from truth.summary import Summary

PICTURES = 48
HALVES = ["male", "female"] * (PICTURES // 2)


@cache
def nothing_done(seed: int, bias: float = 1.0) -> TechniqueFindings:
    """Pictures before and after are of one world, each of its own seed."""
    before, after = (
        seen(Prompt(NURSE), [NURSE] * PICTURES, bias, 1000 * seed + k) for k in range(2)
    )
    return compared(before, changed(after, {}))


def compared(
    before: ObservedSet, after: ObservedSet, subjects: Sequence[str] = (), **settings: object
) -> TechniqueFindings:
    asked = {
        "aims": ("gender",),
        "watched": ("gender", "age", "clothing"),
        "bootstrap_samples": 100,
        **settings,
    }
    return told(judged(before), judged(after, subjects), policy(chosen(1.0, 7)), **asked)


@cache
def mitigated(seed: int) -> TechniqueFindings:
    """As many men as women, all of those formal and none of these; of two instruments one sees
    nothing of it.
    """
    before = seen(Prompt(NURSE), [NURSE] * PICTURES, 1.0, seed)
    clothing = ["formal" if one == "male" else "informal" for one in HALVES]
    sets = [
        ObservedSet(
            one.prompt, one.pictures, {**one.values, "other": before.values[READ]}, one.captions
        )
        for one in (before, changed(before, {"gender": HALVES, "clothing": clothing}))
    ]
    return compared(*sets, vqa=(READ, "other"))


def unread(seed: int) -> TechniqueFindings:
    """Half of the pictures cannot be read, and as many show somebody else."""
    before = seen(Prompt(NURSE), [NURSE] * PICTURES, 1.0, seed)
    gender = before.values[READ]["gender"]
    after = changed(
        before,
        {"gender": [Missing("unparseable") if k % 2 else one for k, one in enumerate(gender)]},
    )
    return compared(before, after, ["nurse", "chef"] * (PICTURES // 2))


ROWS = (
    Summary(
        "A way to mitigate",
        ("way_nearer", "way_none"),
        f"A leaning model, three axes, {PICTURES} pictures before and after: nothing is done; gender becomes even.",
        lambda seed: bool(nothing_done(seed).helped),
        lambda seed: "gender" in {one.axis for one in mitigated(seed).helped},
        0.9,
    ),
    Summary(
        "Axes that pay for it",
        ("way_further",),
        "The same, nothing is done.",
        lambda seed: bool(nothing_done(seed).harmed),
    ),
    Summary(
        "Axes that hang together",
        ("way_ties",),
        "The same: nothing is done; all men become formal and no woman does.",
        lambda seed: bool(nothing_done(seed).built),
        lambda seed: ("gender", "clothing") in {one.axes for one in mitigated(seed).built},
        0.9,
    ),
    Summary(
        "What pictures lose",
        ("way_loses_subject", "way_loses_prompt", "way_unread"),
        "The same, nothing is done; half of the pictures show another occupation, and half cannot be read.",
        lambda seed: bool(nothing_done(seed).broken),
        lambda seed: {*unread(seed).broken} == {"way_loses_subject", "way_unread"},
        0.9,
    ),
    Summary(
        "An instrument that does not see it",
        ("way_doubted",),
        "The same: nothing is done; a second instrument does not see that gender becomes even.",
        lambda seed: any(one.doubted for one in nothing_done(seed).axes),
        lambda seed: ["other"] in (one.doubted for one in mitigated(seed).axes),
        0.9,
    ),
)
