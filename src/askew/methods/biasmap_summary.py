"""BiasMap over prompts and models: means, what differs between models, and the q-values of all that was tested."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from askew.methods.biasmap import MIDDLE, Entry
from askew.methods.significance import add_q_at
from askew.stats.overlap import mean_estimate, t_test
from askew.types import Estimate, Missing

DIFFERENCE = (-1.0, 1.0)
"""Bounds of the difference of two scores from 0 to 1."""

NO_MAP = Missing("error", "this prompt's pictures have no such map")
NO_PAIR = Missing("error", "the models have no picture of one seed in common")
NOT_CORRECTED = Missing("not_asked", "no prompt has a corrected overlap")


def overall(pairs: Sequence[Entry], risks: Sequence[Entry], axis_of: Mapping[str, str], level: float) -> list[Entry]:
    """Entries of `biasmap.overall`: means over the prompts of a model, by concept, with t intervals over prompts."""
    entries = []
    for (model, a), own in _grouped(pairs, "model", "a").items():
        axis = axis_of.get(a)
        found = [r["estimate"] for r in risks if (r["model"], r["axis"]) == (model, axis)]
        areas = [e["chance_area"] for e in own if e["chance_area"] is not None]
        entries.append({
            "model": model, "a": a, "prompts": len(own),
            **{score: _mean([e[score] for e in own], level) for score in ("miou", "mbiou")},
            "corrected": _tested([e["corrected"] for e in own], level),
            "risk_difference": _mean(found, level) if found else None,
            **{part: _mean_parts([e[part] for e in own], level) for part in ("blocks", "layers")},
            "chance_area": float(np.mean(areas)) if areas else None,
        })  # fmt: skip
    return entries


def changes(
    pairs: Sequence[Entry], risks: Sequence[Entry], axis_of: Mapping[str, str], models: Sequence[str], level: float
) -> list[Entry]:
    """Entries of `biasmap.changes`: every later model less the first, paired by seed, and by t-test over prompts.

    mBIoU is a mean over blocks: where a prompt's counted other blocks, their difference is Missing.
    """
    entries = []
    by_model = _grouped(pairs, "model", "a")
    for model in models[1:]:
        for a in dict.fromkeys(e["a"] for e in pairs):
            befores, afters = by_model.get((models[0], a), []), by_model.get((model, a), [])
            matched = [(x, y) for x in befores for y in afters if x["prompt"] == y["prompt"]]
            if not matched:
                continue
            entries.append({
                "models": [models[0], model], "a": a,
                "prompts": [_prompt_change(before, after, level) for before, after in matched],
                "miou": _over_prompts([_minus(y["miou"], x["miou"]) for x, y in matched], level, DIFFERENCE),
                "mbiou": _over_prompts([_mbiou_change(x, y) for x, y in matched], level, DIFFERENCE),
                "corrected": _over_prompts([_minus(y["corrected"], x["corrected"]) for x, y in matched], level),
                "blocks": _block_changes(matched, level),
                "risk_difference": _risk_change(risks, axis_of.get(a), models[0], model, level),
            })  # fmt: skip
    return entries


def add_q(section: Mapping[str, Sequence[Entry]]) -> None:
    """q-values of all that a section `biasmap` of results.json tests: a family per score and kind of entry.

    Blocks are one family, layers another; so are the single prompts of a score's differences, beside its means.
    """
    pairs, differences = section["pairs"], section["changes"]
    for score in ("miou", "mbiou"):
        add_q_at([(entry, score) for entry in pairs])
        add_q_at([(one, score) for entry in differences for one in entry["prompts"]])
    for score in ("miou", "mbiou", "corrected", "risk_difference"):
        add_q_at([(entry, score) for entry in differences])
    for entries, part in ((pairs, "blocks"), (pairs, "layers"), (differences, "blocks")):
        add_q_at([(entry[part], name) for entry in entries for name in entry[part]])
    for kind, score in (("risk_difference", "estimate"), ("overall", "corrected"), ("intersections", "overlap"),
                        ("gradient", "spearman")):  # fmt: skip
        add_q_at([(entry, score) for entry in section[kind]])


def _prompt_change(before: Entry, after: Entry, level: float) -> Entry:
    """Mean difference of IoU between pictures of one seed."""
    other = _other_blocks(before, after)
    return {
        "prompt": before["prompt"],
        "miou": _picture_change(before, after, "miou", "pictures", level),
        "mbiou": other or _picture_change(before, after, "mbiou", "block_pictures", level),
    }


def _picture_change(before: Entry, after: Entry, score: str, pictures: str, level: float) -> Estimate | Missing:
    gap = _minus(after[score], before[score])
    if isinstance(gap, Missing):
        return gap
    earlier, later = (_by_seed(entry, pictures) for entry in (before, after))
    values = [later[seed] - earlier[seed] for seed in earlier if seed in later]
    return t_test(values, level=level, bounds=DIFFERENCE) if values else NO_PAIR


def _by_seed(entry: Entry, pictures: str) -> dict[int, float]:
    """The scores of those pictures that have one."""
    found = zip(entry["seeds"], entry[pictures], strict=True)
    return {seed: value for seed, value in found if value is not None}


def _mbiou_change(before: Entry, after: Entry) -> float | Missing:
    return _other_blocks(before, after) or _minus(after["mbiou"], before["mbiou"])


def _other_blocks(before: Entry, after: Entry) -> Missing | None:
    """Why mBIoU of two models cannot be compared; None where it can, or where one has none."""
    first, second = (_counted(entry) for entry in (before, after))
    if first == second or not first or not second:
        return None
    return Missing("error", f"mBIoU counts other blocks: {', '.join(second)} and not {', '.join(first)}")


def _counted(entry: Entry) -> list[str]:
    """The blocks that mBIoU is the mean of."""
    return [block for block, e in entry["blocks"].items() if block != MIDDLE and isinstance(e, Estimate)]


def _block_changes(matched: Sequence[tuple[Entry, Entry]], level: float) -> dict[str, Estimate | Missing]:
    """By block that both models have, the mean difference over prompts."""
    names = dict.fromkeys(name for x, y in matched for name in x["blocks"] if name in y["blocks"])
    return {
        name: _over_prompts([_minus(y["blocks"].get(name, NO_MAP), x["blocks"].get(name, NO_MAP)) for x, y in matched],
                            level, DIFFERENCE)
        for name in names
    }  # fmt: skip


def _risk_change(
    risks: Sequence[Entry], axis: str | None, first: str, second: str, level: float
) -> Estimate | Missing | None:
    """Mean change of the risk difference over prompts, by t-test."""
    known = {
        (r["model"], r["prompt"]): r["estimate"].value
        for r in risks
        if r["axis"] == axis and isinstance(r["estimate"], Estimate)
    }
    gaps = [known[second, prompt] - value for (model, prompt), value in known.items()
            if model == first and (second, prompt) in known]  # fmt: skip
    return t_test(gaps, level=level, bounds=DIFFERENCE) if gaps else None


def _mean(estimates: Sequence[Estimate | Missing], level: float) -> Estimate | Missing:
    known = [e for e in estimates if isinstance(e, Estimate)]
    if not known:
        return next(e for e in estimates if isinstance(e, Missing))
    nulls = [e.null for e in known if e.null is not None]
    null = float(np.mean(nulls)) if len(nulls) == len(known) else None
    mean = mean_estimate([e.value for e in known], level=level, bounds=(0, 1))
    return replace(mean, missing=len(estimates) - len(known), null=null, max=1.0)


def _mean_parts(parts: Sequence[Mapping[str, Estimate | Missing]], level: float) -> dict[str, Estimate | Missing]:
    """By block or layer the mean over those prompts that have it."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: _mean([part.get(name, NO_MAP) for part in parts], level) for name in names}


def _tested(estimates: Sequence[Estimate | Missing], level: float) -> Estimate | Missing:
    known = [e.value for e in estimates if isinstance(e, Estimate)]
    return replace(t_test(known, level=level), missing=len(estimates) - len(known)) if known else NOT_CORRECTED


def _over_prompts(
    gaps: Sequence[float | Missing], level: float, bounds: tuple[float, float] | None = None
) -> Estimate | Missing:
    """The mean of differences by prompt, tested against 0."""
    known = [gap for gap in gaps if not isinstance(gap, Missing)]
    if not known:
        return next(gap for gap in gaps if isinstance(gap, Missing))
    return replace(t_test(known, level=level, bounds=bounds), missing=len(gaps) - len(known))


def _minus(a: Estimate | Missing, b: Estimate | Missing) -> float | Missing:
    if isinstance(a, Missing):
        return a
    return b if isinstance(b, Missing) else a.value - b.value


def _grouped(entries: Iterable[Entry], *names: str) -> dict[tuple[Any, ...], list[Entry]]:
    groups: dict[tuple[Any, ...], list[Entry]] = {}
    for entry in entries:
        groups.setdefault(tuple(entry[name] for name in names), []).append(entry)
    return groups
