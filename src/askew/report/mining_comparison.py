"""Reading a comparison of searches, and what it says in plain sentences that go no further than its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from askew.report.formatting import Record, listing, measured, plural, probability
from askew.report.mining_sentences import score
from askew.report.reading import exceeds_chance, is_estimate


@dataclass(frozen=True)
class MiningComparisonReading:
    """The results of `askew mine-compare`, with the look-ups that page and table need."""

    results: Record

    @property
    def section(self) -> Record:
        """The scores."""
        found: Record = self.results["mining_comparison"]
        return found

    @cached_property
    def models(self) -> list[str]:
        """In the order of the plan: that of a varied setting."""
        return [one["name"] for one in self.results["plan"]["conditions"]]

    @cached_property
    def sets(self) -> list[str]:
        """The sets of prompts, in the order of the runs."""
        return [one["name"] for one in self.results["plan"]["sets"]]

    @cached_property
    def vary(self) -> str:
        """The setting that was varied; empty where models are compared."""
        return str(self.results["plan"]["vary"])

    @cached_property
    def ranking(self) -> list[Record]:
        """Models and their mean scores: the most one-sided first, a varied setting in the order of its values."""
        entries = {entry["model"]: entry for entry in self.section["ranking"]}
        return [entries[name] for name in self.models] if self.vary else list(entries.values())

    @cached_property
    def prompts(self) -> int:
        """Distinct prompts that were scored on each model."""
        return len({prompt["text"] for one in self.results["plan"]["sets"] for prompt in one["prompts"]})

    def cell(self, model: str, mined_for: str) -> Record:
        """One entry of the matrix."""
        return next(e for e in self.section["matrix"] if (e["model"], e["mined_for"]) == (model, mined_for))

    def scores(self, model: str) -> dict[str, float]:
        """Every prompt's score on a model."""
        cells = [self.cell(model, name) for name in self.sets]
        return {text: value for cell in cells for text, value in cell["prompts"] if value is not None}

    def differences(self, mined_for: str | None = None) -> list[Record]:
        """The differences over one set, or over all prompts; of a varied setting those to its first value."""
        found = [e for e in self.section["differences"] if e["mined_for"] == mined_for]
        return [e for e in found if e["models"][0] == self.models[0]] if self.vary else found

    def between(self, first: str, second: str) -> Record | None:
        """The difference of two models over all prompts, whichever comes first."""
        wanted = {first, second}
        return next((e for e in self.section["differences"] if set(e["models"]) == wanted and not e["mined_for"]), None)


def headline(reading: MiningComparisonReading) -> str:
    """The answer in a sentence or two."""
    ordered = [e for e in reading.section["ranking"] if is_estimate(e["score"])]
    if len(ordered) < 2:
        return "Fewer than two models could be scored, so nothing is compared."
    first, last = ordered[0], ordered[-1]
    return (
        f"Over {plural(reading.prompts, 'mined prompt')}, {first['model']} is the most one-sided of "
        f"{len(ordered)}, with a mean score of {measured(first['score'], score)}, and {last['model']} the least, with "
        f"{measured(last['score'], score)}. {_apart(reading.between(first['model'], last['model']))}"
    )


def _apart(entry: Record | None) -> str:
    difference = (entry or {}).get("difference") or {}
    if not is_estimate(difference):
        return "The two could not be compared prompt by prompt."
    size = score(abs(difference["value"]))
    if not exceeds_chance(difference):
        return f"Prompt by prompt the two differ by {size}, no more than chance explains."
    return f"Prompt by prompt the two differ by {size}, more than chance explains ({_test(difference)})."


def own_sentence(reading: MiningComparisonReading) -> str:
    """Whether models score lowest on the prompts mined for them; empty where that cannot be asked."""
    if reading.vary or len(reading.sets) < 2:
        return ""
    own = {one["condition"]: one["name"] for one in reading.results["plan"]["sets"] if one["condition"]}
    asked = [name for name in own if all(is_estimate(reading.cell(name, other)["score"]) for other in reading.sets)]
    lowest = [name for name in asked if _lowest(reading, name) == own[name]]
    if len(own) < 2 or not asked:
        return ""
    named = f": {listing(lowest)}" if lowest else ""
    return f"{len(lowest)} of {plural(len(asked), 'model')} score lowest on the prompts mined for them{named}."


def similarity_sentence(entries: Sequence[Record], given: str) -> str:
    """How near the mined sets are to each other; and to the prompts given, where there are some."""
    mined = [e["cosine"]["value"] for e in entries if given not in (e["of"], e["among"]) and e["of"] != e["among"]]
    other = [e["cosine"]["value"] for e in entries if (e["of"] == given) != (e["among"] == given)]
    if not mined:
        return ""
    text = f"A mined prompt finds its nearest neighbour in another mined set at a cosine of {_mean(mined)}"
    return f"{text}; between mined and given prompts the nearest are at {_mean(other)}." if other else f"{text}."


def _lowest(reading: MiningComparisonReading, model: str) -> str:
    return min(reading.sets, key=lambda name: float(reading.cell(model, name)["score"]["value"]))


def _mean(values: Sequence[float]) -> str:
    return score(sum(values) / len(values))


def _test(difference: Record) -> str:
    return probability(difference.get("q"), "q")
