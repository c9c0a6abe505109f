"""Figures of what follows from a graph: the mixture of prompts, its validation, and joint shares."""

from __future__ import annotations

from collections.abc import Sequence

from askew.methods.interaction_mixture import THIS_MIXTURE
from askew.report.figures import PlotTable, Row
from askew.report.formatting import (
    ABSENT,
    Record,
    axis_label,
    capital,
    interval,
    listing,
    measured,
    number,
    percent,
    plural,
    probability,
    reason,
    shorten,
)
from askew.report.graph import signed
from askew.report.plots import Mark, scale_axis, share_scale, signed_scale, track, unit_scale
from askew.report.reading import is_estimate

STAGES = ("before", "predicted", "measured")


def distances_by_stage(mixture: Record) -> PlotTable:
    """Every axis's distance from its ideal: as it is, as predicted, and as measured where the mixture was drawn."""
    stages = [stage for stage in STAGES if mixture[stage]]
    scale = unit_scale(e for stage in stages for e in mixture[stage].values())
    rows = []
    for axis in mixture["before"]:
        for stage in stages:
            e = mixture[stage][axis]
            plot = track(scale, e, f"{axis_label(axis)}, {stage}", measured(e), hollow=stage == "predicted")
            label = capital(axis_label(axis)) if stage == "before" else ""
            rows.append(Row(label, plot, (stage, measured(e) if is_estimate(e) else reason(e)),
                            strong=stage == stages[-1]))  # fmt: skip
    return PlotTable(
        "Distance of every axis from its ideal before and with the mixture",
        "Axis",
        scale_axis(scale),
        ("", "distance"),
        tuple(rows),
        (("dot", "measured"), ("dot hollow", "predicted, from pictures that had no part in choosing the weights"),
         ("line", "interval for the true distance"), ("null", "what chance alone would give")),
    )  # fmt: skip


def totals(mixture: Record) -> list[tuple[str, str, str]]:
    """Each way of mitigating: its name, the sum of all distances, and the steps it took."""
    return [
        (capital(name), number(total), listing([axis_label(axis) for axis in mixture["steps"].get(name, [])]) or ABSENT)
        for name, total in mixture["totals"].items()
    ]


def strategies(found: Sequence[Record]) -> PlotTable:
    """Ways to mitigate, over all prompts: the bias that each leaves, its steps, and how much more than the mixture."""
    scale = unit_scale(one["final_bias"] for one in found)
    rows = tuple(
        Row(
            capital(one["strategy"]),
            track(scale, one["final_bias"], one["strategy"], measured(one["final_bias"])),
            (
                measured(one["final_bias"]),
                steps_taken(one),
                f"{signed(one['beyond_mixture']['value'])} {interval(one['beyond_mixture'])}".strip()
                if one["beyond_mixture"]
                else ABSENT,
            ),
            strong=one["strategy"].startswith(THIS_MIXTURE),
        )
        for one in found
    )
    return PlotTable(
        f"Ways to mitigate, averaged over {plural(found[0]['final_bias']['n'], 'prompt')}: the mean distance of all "
        "axes from their ideals that is left, on pictures that had no part in the plan, and after how many steps",
        "Way",
        scale_axis(scale),
        ("bias left", "steps", "more than the mixture"),
        rows,
        (("dot", "mean over prompts"), ("line", "interval for the mean over prompts like these")),
    )


def steps_taken(strategy: Record) -> str:
    """ "2.4 [1.9, 2.9]", over the prompts."""
    return measured(strategy["steps"], lambda value: number(value, 1))


def weights(mixture: Record) -> list[tuple[str, str]]:
    """The prompts of the mixture with their weights, the heaviest first."""
    ordered = sorted(mixture["prompts"], key=lambda one: -one["weight"])
    return [(one["text"], percent(one["weight"])) for one in ordered]


def validated(entry: Record) -> PlotTable:
    """Edges of one prompt: the estimated sensitivity as a mark, the measured one as a dot on its interval."""
    scale = signed_scale(e[kind] for e in entry["edges"] for kind in ("estimated", "measured"))
    rows = tuple(
        Row(
            f"{capital(axis_label(e['source']))} → {axis_label(e['target'])}",
            track(
                scale,
                e["measured"],
                f"{e['source']} on {e['target']}",
                f"measured {measured(e['measured'])}",
                marks=(Mark(e["estimated"]["value"], "ideal"),) if is_estimate(e["estimated"]) else (),
            ),
            (
                signed(e["estimated"]["value"]) if is_estimate(e["estimated"]) else ABSENT,
                signed(e["measured"]["value"]) if is_estimate(e["measured"]) else ABSENT,
                interval(e["measured"]),
            ),
        )
        for e in entry["edges"]
    )
    return PlotTable(
        "Sensitivity measured on the mitigated model, against the estimate",
        "Edge",
        scale_axis(scale),
        ("estimated", "measured", "interval"),
        rows,
        (("dot", "measured after mitigation"), ("line", "interval for the true value"), ("ideal", "estimate before")),
    )


def validation_sentence(validation: Record) -> str:
    """How well the estimates hold, in words."""
    overall, worse = validation["overall_correlation"], validation["made_worse"]
    held = (
        f"Over {plural(overall['n'], 'edge')} the estimates correlate {measured(overall)} with what mitigation did"
        if is_estimate(overall)
        else f"There is no correlation of estimates and mitigation: {reason(overall)}"
    )
    share = f"; it moved {percent(worse['value'])} of all pairs away from their ideal" if is_estimate(worse) else ""
    return f"{held}{share}."


def mitigations(validation: Record) -> list[tuple[str, str]]:
    """Models or runs in which axes are mitigated, each with its axes in words."""
    by_name: dict[str, list[str]] = {}
    for axis, name in validation["mitigated"].items():
        by_name.setdefault(name, []).append(axis_label(axis))
    return [(name, listing(axes)) for name, axes in by_name.items()]


def joint_figure(entry: Record) -> PlotTable:
    """Combinations of values with their shares, the expected share as a mark."""
    scale = share_scale()
    rows = tuple(
        Row(
            _cell_name(cell),
            track(scale, cell["share"], _cell_name(cell), measured(cell["share"], percent),
                  marks=(Mark(cell["expected"], "ideal"),)),
            (measured(cell["share"], percent), percent(cell["expected"]), f"× {number(cell['ratio'][0])}"),
        )
        for cell in entry["cells"]
    )  # fmt: skip
    axes = " × ".join(axis_label(axis) for axis in entry["axes"])
    test = entry["distance"]
    found = f"; distance {measured(test)}, {probability(test['p'], 'p')}" if is_estimate(test) else ""
    independent = entry["against"] == "independence"
    against = "the axes' own shares multiplied" if independent else f"the shares of {shorten(entry['reference'], 60)}"
    return PlotTable(
        f"{capital(axes)}: shares of combinations, against {against}{found}",
        "Combination",
        scale_axis(scale),
        ("share", "expected", "ratio"),
        rows,
        (
            ("dot", "share"),
            ("line", "interval for the true share"),
            ("ideal", "expected if the axes were independent" if independent else "share in the reference"),
        ),
    )


def _cell_name(cell: Record) -> str:
    if cell["pooled"]:
        return f"{plural(len(cell['values']), 'rare combination')}"
    return ", ".join(cell["values"][0])
