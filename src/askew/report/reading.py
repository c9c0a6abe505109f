"""Reading results: what is an estimate, what exceeds chance, and the one order in which all reports list it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from askew.report.formatting import Record, thousands

SIGNIFICANCE = 0.05
"""A lean is called one if its q-value is below this."""

Strength = Literal["strongly", "clearly", "slightly", "unsettled"]


def is_estimate(node: Record | None) -> bool:
    """Whether the node holds a number, not the reason for having none."""
    return node is not None and node.get("value") is not None


def tested(estimate: Record) -> tuple[str, float] | None:
    """The q-value, else the p-value, with its name; None if chance was not tested."""
    for name in ("q", "p"):
        if estimate.get(name) is not None:
            return name, estimate[name]
    return None


def exceeds_chance(estimate: Record) -> bool | None:
    """Whether chance alone would rarely give this score; None if it is missing or was not tested."""
    test = tested(estimate)
    return None if test is None or not is_estimate(estimate) else test[1] < SIGNIFICANCE


def strength(estimate: Record) -> Strength:
    """How far a score that exceeds chance goes: the corrected score, held back by the lower end of its interval."""
    low, corrected = estimate.get("low"), estimate.get("corrected")
    if low is None or corrected is None or low <= 0:
        return "unsettled"
    if corrected >= 0.5 and low >= 0.3:
        return "strongly"
    return "clearly" if corrected >= 0.2 and low >= 0.1 else "slightly"


def strongest_first(estimate: Record) -> tuple[int, float, float]:
    """Sort key: corrected score from large to small, scores without correction after, missing ones last."""
    if not is_estimate(estimate):
        return 2, 0.0, 0.0
    corrected = estimate.get("corrected")
    return (1, 0.0, -estimate["value"]) if corrected is None else (0, -corrected, -estimate["value"])


def extremes(scores: Mapping[str, Record]) -> tuple[str, str, bool] | None:
    """The values with the highest and the lowest score, and whether their intervals are apart."""
    known = [(value, e) for value, e in scores.items() if is_estimate(e)]
    if len(known) < 2:
        return None
    top, top_e = max(known, key=lambda item: item[1]["value"])
    low, low_e = min(known, key=lambda item: item[1]["value"])
    above, below = top_e.get("low"), low_e.get("high")
    return top, low, above is not None and below is not None and above > below


@dataclass(frozen=True)
class Reading:
    """The results of one run, with the look-ups that a report needs. Everything may be absent."""

    results: Record

    def part(self, name: str) -> list[Record]:
        """A list of results.json, empty if absent."""
        return list(self.results.get(name) or [])

    @cached_property
    def plan(self) -> Record:
        return self.results.get("plan") or {}

    @cached_property
    def prompts(self) -> list[str]:
        """Every initial prompt, in the plan's order."""
        return _distinct(entry["prompt"] for name in ("tibet", "sets", "shares") for entry in self.part(name))

    @cached_property
    def tibet(self) -> list[Record]:
        """The prompts with counterfactuals, the one with the strongest lean first."""
        return sorted(self.part("tibet"), key=lambda entry: _strongest(entry["axes"].values()))

    @cached_property
    def model(self) -> str:
        model = self.results.get("model") or {}
        return str(model.get("name") or self.plan.get("model") or "unknown model")

    @cached_property
    def is_folder(self) -> bool:
        """Whether the pictures were found rather than made on request."""
        return str(self.plan.get("model") or self.model).startswith("folder/")

    @cached_property
    def pictures(self) -> int:
        """Pictures at hand, each counted once per set."""
        return sum(sum(p is not None for p in s["pictures"]) for s in self.part("sets"))

    def pictures_per_set(self) -> str:
        """How many pictures a set asked for: "48", or "45 to 48"."""
        sizes = [len(s["pictures"]) for s in self.part("sets")]
        if not sizes:
            return "0"
        return (
            thousands(sizes[0]) if min(sizes) == max(sizes) else f"{thousands(min(sizes))} to {thousands(max(sizes))}"
        )

    def set_of(self, prompt: str, axis: str | None, value: str | None) -> Record | None:
        """A picture set, None if the results hold no such set."""
        wanted = (prompt, axis, value)
        return next((s for s in self.part("sets") if (s["prompt"], s["axis"], s["value"]) == wanted), None)

    def shares_of(self, prompt: str, picture_set: str, axis: str) -> list[Record]:
        """The shares of an axis in one set, one entry per instrument."""
        wanted = (prompt, picture_set, axis)
        return [s for s in self.part("shares") if (s["prompt"], s["set"], s["axis"]) == wanted]

    @cached_property
    def other_shares(self) -> list[Record]:
        """Shares that no counterfactual section shows: those of folders, and of axes without counterfactuals."""
        axes = {entry["prompt"]: set(entry["axes"]) for entry in self.part("tibet")}
        shares = [s for s in self.part("shares") if not axes.get(s["prompt"]) or _is_extra(s, axes[s["prompt"]])]
        return [s for group in grouped(shares, ("prompt", "axis", "instrument")).values() for s in group]


def ranked_axes(entry: Record) -> list[tuple[str, Record]]:
    """The axes of a prompt by corrected MAD, the largest first; equal ones keep their order."""
    return sorted(entry["axes"].items(), key=lambda item: strongest_first(item[1]["mad"]))


def grouped(entries: Iterable[Record], names: Sequence[str]) -> dict[tuple[Any, ...], list[Record]]:
    """The entries by the values of some of their fields, in order of first appearance."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for entry in entries:
        groups.setdefault(tuple(entry[name] for name in names), []).append(entry)
    return groups


def leaning(axes: Iterable[Record]) -> int:
    """How many of these axes exceed chance."""
    return sum(exceeds_chance(axis["mad"]) is True for axis in axes)


def _strongest(axes: Iterable[Record]) -> tuple[int, float, float]:
    return min((strongest_first(axis["mad"]) for axis in axes), default=(2, 0.0, 0.0))


def _is_extra(entry: Record, axes: set[str]) -> bool:
    return entry["set"] == "initial" and entry["axis"] not in axes


def _distinct(items: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(items))
