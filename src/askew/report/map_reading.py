"""Reading the results of attention maps: the entries of `biasmap` by concept and model, in one order everywhere."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from askew.report.formatting import Record, plural, quote, reason, shorten
from askew.report.reading import Reading, grouped, is_estimate


class MapReading(Reading):
    """The results of one run of maps, with the look-ups that its reports need."""

    @cached_property
    def biasmap(self) -> Record:
        """The section of results.json."""
        found: Record = self.results["biasmap"]
        return found

    @cached_property
    def models(self) -> list[str]:
        """Names of the models, the first being the one that others are held against."""
        return [str(model["name"]) for model in self.results["models"]]

    @cached_property
    def concepts(self) -> list[str]:
        return list(dict.fromkeys(entry["a"] for entry in self.biasmap["pairs"]))

    def pairs(self, **wanted: Any) -> list[Record]:
        """The pairs whose fields are as wanted."""
        return [e for e in self.biasmap["pairs"] if all(e[name] == value for name, value in wanted.items())]

    def profile(self, model: str, concept: str, part: str = "blocks") -> Record:
        """By block, or by layer, the overlap of a concept: of the only prompt, else the mean over prompts."""
        own = self.pairs(model=model, a=concept)
        if len(own) == 1:
            found: Record = own[0][part]
            return found
        return next(e[part] for e in self.biasmap["overall"] if (e["model"], e["a"]) == (model, concept))

    def chance_area(self, concept: str) -> float | None:
        """Chance by area of a concept's masks, over models and prompts; None if there is no mask."""
        known = [float(e["chance_area"]) for e in self.pairs(a=concept) if e["chance_area"] is not None]
        return sum(known) / len(known) if known else None

    def risks(self, model: str, axis: str) -> list[Record]:
        """Risk differences of an axis, in the order of the prompts."""
        return [r for r in self.biasmap["risk_difference"] if (r["model"], r["axis"]) == (model, axis)]

    @cached_property
    def axes(self) -> list[str]:
        return list(dict.fromkeys(r["axis"] for r in self.biasmap["risk_difference"]))

    def word_of(self, prompt: str) -> str:
        """The word of a prompt that concepts are held against."""
        return shorten(next(e["b"] for e in self.biasmap["pairs"] if e["prompt"] == prompt), 60)


def model_label(name: str, width: int) -> str:
    """A model's name on one line; of one that is too long the last parts of its path that fit, where paths differ."""
    line = shorten(name, len(name) + 1)
    if len(line) <= width:
        return line
    kept = [k for k, letter in enumerate(line) if letter == "/" and len(line) - k < width]
    return f"…{line[kept[0] if kept else 1 - width :]}"


def headline(reading: MapReading) -> str:
    """The answer in two sentences."""
    prompts = reading.prompts
    where = f"In pictures of {quote(prompts[0], 60)}" if len(prompts) == 1 else f"In pictures of {len(prompts)} prompts"
    said = [_finding(reading, a) for a in reading.concepts]
    return f"{where}, {model_label(reading.models[0], 60)} attends to " + "; to ".join(said) + "."


def beyond_chance(entry: Record) -> bool:
    """Whether a pair overlaps more than the same words in other pictures."""
    return is_estimate(entry["miou"]) and (entry["miou"].get("q") or 1.0) < 0.05


def absence(estimate: Record) -> str:
    """Why a score is missing, or how many pictures it lacks; nothing if it has all."""
    if not is_estimate(estimate):
        return reason(estimate)
    return f"{plural(estimate['missing'], 'picture')} missing" if estimate.get("missing") else ""


def _finding(reading: MapReading, a: str) -> str:
    own = reading.pairs(model=reading.models[0], a=a)
    known = [e for e in own if is_estimate(e["miou"])]
    if not known:
        return f"“{a}” in places that cannot be told: {reason(own[0]['miou'])}"
    if len(own) == 1:
        e = own[0]["miou"]
        chance = e.get("null")
        against = "" if chance is None else f", where chance would give {chance:.2f}"
        verdict = "" if chance is None else f" ({'beyond' if beyond_chance(own[0]) else 'not beyond'} chance)"
        return f"“{a}” and “{own[0]['b']}” in places that share {e['value']:.2f} of their union{against}{verdict}"
    summary = next(e for e in reading.biasmap["overall"] if (e["model"], e["a"]) == (reading.models[0], a))
    e, number = summary["miou"], sum(map(beyond_chance, own))
    chance = "" if e.get("null") is None else f", where chance would give {e['null']:.2f}"
    missing = f", {len(own) - len(known)} missing" if len(known) < len(own) else ""
    return (
        f"“{a}” and the words beside it in places that share {e['value']:.2f} of their union on average{chance} "
        f"(beyond chance in {number} of {len(known)}{missing})"
    )


def by_prompt(reading: MapReading, concept: str) -> dict[tuple[Any, ...], list[Record]]:
    """The pairs of a concept by prompt, each by its models."""
    return grouped(reading.pairs(a=concept), ["prompt"])
