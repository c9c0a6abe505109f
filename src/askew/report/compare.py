"""Reading a comparison: its pairs of runs, what differs most between them, and each run's own scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from string import ascii_uppercase
from typing import Any

from PIL import Image

from askew.report.formatting import Record
from askew.report.reading import exceeds_chance, is_estimate

Pair = tuple[str, str]
"""The names of two runs [A, B]; differences are those of B less A."""

OF_SETS = ("share", "distance")
"""Scores of one picture set; the others compare the initial set with the counterfactual ones."""

Key = tuple[str, str, str, str | None, str | None, str | None]


@dataclass(frozen=True, slots=True)
class ComparedModel:
    """One run of a comparison: its name, where it lies, its results, and a way to open its pictures."""

    name: str
    folder: str
    results: Record
    open_picture: Callable[[str], Image.Image | None]


@dataclass(frozen=True, slots=True)
class Change:
    """What differs between two runs on one axis of one picture set.

    `lean` is the entry of the score that says how one-sided the pictures are: MAD where there are counterfactuals, else
    the distance from the ideal. `share` is the entry of the value whose share differs most. `differs` tells whether
    MAD, distance or any share does so beyond chance: CAS would also tell of what differs beside the axis.
    """

    prompt: str
    axis: str
    set: str
    lean: Record | None
    share: Record | None
    differs: bool

    @property
    def size(self) -> float:
        """The share's difference, else the lean's as a share of the largest one possible; -1 if neither is known."""
        found = [e["difference"] for e in (self.share, self.lean) if e is not None and is_estimate(e["difference"])]
        return abs(found[0]["value"]) / (found[0]["max"] or 1.0) if found else -1.0


@dataclass(frozen=True)
class CompareReading:
    """Entries of comparison.json with the results of the runs, and the look-ups that page and table need."""

    models: Sequence[ComparedModel]
    entries: Sequence[Record]
    warnings: Sequence[str]

    @cached_property
    def pairs(self) -> list[Pair]:
        """Every two runs that were compared, in order."""
        return list(dict.fromkeys((e["runs"][0], e["runs"][1]) for e in self.entries))

    @cached_property
    def prompts(self) -> list[str]:
        """The prompts that were compared, in order."""
        return list(dict.fromkeys(e["prompt"] for e in self.entries))

    @cached_property
    def has_counterfactuals(self) -> bool:
        """Whether there are scores of TIBET."""
        return any(e["score"] not in OF_SETS for e in self.entries)

    @cached_property
    def has_several_sets(self) -> bool:
        """Whether there is more than one prompt, or a condition beside the initial one."""
        return len({(c.prompt, c.set) for pair in self.pairs for c in self._changes(pair)}) > 1

    @cached_property
    def is_paired(self) -> bool:
        """Whether pictures of different runs belong together: some have the same seed."""
        seeds = [
            {(s["text"], seed) for s in model.results["sets"] for seed in s["seeds"] if seed is not None}
            for model in self.models
        ]
        return bool(set.intersection(*seeds))

    def letter(self, name: str) -> str:
        """The letter that stands for a run in plots and columns."""
        return ascii_uppercase[[model.name for model in self.models].index(name)]

    def own_settings(self, model: ComparedModel) -> dict[str, Any]:
        """The settings of a run's model that not every run has."""
        everyone = [m.results["model"]["settings"] for m in self.models]
        own = model.results["model"]["settings"]
        return {name: value for name, value in own.items() if any(s.get(name) != value for s in everyone)}

    def select(self, **fields: Any) -> list[Record]:
        """The entries whose fields have these values."""
        return [e for e in self.entries if all(e[name] == value for name, value in fields.items())]

    def changes(self, pair: Pair) -> list[Change]:
        """What differs between two runs, by prompt, axis and set: beyond chance first, then by size."""
        found = list(self._changes(pair))
        return sorted(found, key=lambda change: (not change.differs, -change.size))

    def estimate(self, model: ComparedModel, entry: Record) -> Record | None:
        """A run's own score, of which the entry holds a difference."""
        return self._own[model.name].get(_key(entry))

    @cached_property
    def _own(self) -> dict[str, dict[Key, Record]]:
        return {model.name: dict(own_scores(model.results)) for model in self.models}

    def _changes(self, pair: Pair) -> Iterator[Change]:
        groups: dict[tuple[str, str], list[Record]] = {}
        for entry in self.select(runs=list(pair)):
            groups.setdefault((entry["prompt"], entry["axis"]), []).append(entry)
        for (prompt, axis), entries in groups.items():
            for name in dict.fromkeys(e["set"] or "initial" for e in entries):
                if not name.startswith(f"{axis}: "):
                    yield _change(prompt, axis, name, entries)


def _change(prompt: str, axis: str, name: str, entries: Sequence[Record]) -> Change:
    of_set = [e for e in entries if e["set"] == name]
    spread = [e for e in entries if e["set"] is None] if name == "initial" else []
    leans = [e for e in spread if e["score"] == "mad"] or [e for e in of_set if e["score"] == "distance"]
    first = of_set[0]["instrument"] if of_set else None
    shares = [e for e in of_set if e["score"] == "share" and e["instrument"] == first]
    differs = any(exceeds_chance(e["difference"]) for e in [*leans[:1], *of_set])
    return Change(prompt, axis, name, leans[0] if leans else None, _largest(shares), differs)


def _largest(shares: Sequence[Record]) -> Record | None:
    """The share that differs most; of equals, the first that grows."""
    known = [e for e in shares if is_estimate(e["difference"])]
    order = [(abs(e["difference"]["value"]), e["difference"]["value"] > 0) for e in known]
    return known[order.index(max(order))] if known else (shares[0] if shares else None)


def _key(entry: Record) -> Key:
    """Where a score stands in a run. Scores of TIBET have one instrument, so it need not be told."""
    instrument = entry["instrument"] if entry["score"] in OF_SETS else None
    return entry["score"], entry["prompt"], entry["axis"], entry["set"], entry["value"], instrument


def own_scores(results: Record) -> Iterator[tuple[Key, Record]]:
    """A run's scores by what identifies them: score, prompt, axis, set, value, and the instrument of shares."""
    for s in results["shares"]:
        for value, estimate in s["shares"].items():
            yield ("share", s["prompt"], s["axis"], s["set"], value, s["instrument"]), estimate
        yield ("distance", s["prompt"], s["axis"], s["set"], None, s["instrument"]), s["distance"]
    for entry in results["tibet"]:
        for axis, scores in entry["axes"].items():
            for name in ("mad", "mad_clip"):
                yield (name, entry["prompt"], axis, None, None, None), scores[name]
            for name, estimate in scores["alternatives"].items():
                yield (name, entry["prompt"], axis, None, None, None), estimate
            for name in ("cas", "cas_clip"):
                for value, estimate in (scores[name] or {}).items():
                    yield (name, entry["prompt"], axis, None, value, None), estimate
