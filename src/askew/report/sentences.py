"""Results in plain language. What is said never goes further than the q-value and the interval allow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from askew.report.formatting import (
    Record,
    axis_label,
    capital,
    listing,
    measured,
    number,
    perceived,
    percent,
    plural,
    points,
    probability,
    quote,
    reads_appearance,
    reason,
    shorten,
    thousands,
)
from askew.report.reading import (
    SIGNIFICANCE,
    Reading,
    Strength,
    exceeds_chance,
    extremes,
    is_estimate,
    leaning,
    ranked_axes,
    strength,
)

_STRENGTHS: Mapping[Strength, str] = {
    "strongly": "strongly one-sided",
    "clearly": "clearly one-sided",
    "slightly": "slightly one-sided",
    "unsettled": "one-sided, but how far is not settled",
}


def headline(results: Record) -> str:
    """The answer of a run in a sentence or two."""
    reading = Reading(results)
    if len(reading.tibet) == 1:
        return _one_prompt(reading, reading.tibet[0])
    if reading.tibet:
        return _many_prompts(reading)
    if reading.part("shares"):
        return _shares_only(reading)
    return f"Nothing could be measured: {_pictures_of(reading)}, and no answer about any of them."


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found on an axis: a verdict, what it rests on, and the numbers of the test."""

    label: str
    verdict: str
    ground: str = ""
    test: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, [f"{self.label}: {self.verdict}", self.ground, self.test]))


def axis_finding(reading: Reading, prompt: str, name: str) -> Finding:
    """What the pictures of a prompt show on one axis, in full sentences."""
    axis = next(entry for entry in reading.part("tibet") if entry["prompt"] == prompt)["axes"][name]
    label, mad = capital(axis_label(name)), axis["mad"]
    if not is_estimate(mad):
        return Finding(label, f"not measured – {reason(mad)}.")
    says = _lean if exceeds_chance(mad) else _no_lean
    ground = "; ".join(filter(None, [says(prompt, axis), _seen(reading, prompt, name)]))
    return Finding(label, f"{_verdict(mad)}.", f"{ground}.", _chance(mad))


def shares_sentence(entry: Record) -> str:
    """What an instrument read on one axis in one picture set, against the ideal."""
    who = f"{capital(perceived(entry['axis']))} in {set_label(entry['set'])}"
    distance, seen = entry["distance"], _most_seen(entry)
    if not is_estimate(distance):
        return f"{who}: not measured – {reason(distance)}."
    verdict = {
        True: "further from the ideal than chance would bring it",
        False: "no distance from the ideal that chance would not produce at this number of pictures",
        None: "not tested against chance",
    }[exceeds_chance(distance)]
    n = distance.get("n")
    count = f" ({thousands(n)})" if n and exceeds_chance(distance) is False else ""
    shown = f" {capital(seen)}." if seen else ""
    return f"{who}: {verdict}{count}.{shown} Distance {measured(distance)}{_tail(distance)}."


def difference_sentence(entry: Record) -> str | None:
    """The largest difference between two picture sets that exceeds chance, None if none does."""
    found = {v: e for v, e in entry["shares"].items() if exceeds_chance(e)}
    if not found:
        return None
    value = max(found, key=lambda v: abs(found[v]["value"]))
    before, after = (set_label(s) for s in entry["sets"])
    more = "more" if found[value]["value"] > 0 else "less"
    return (
        f"{capital(perceived(entry['axis']))}: {shorten(value, 40)} is seen {more} often in {after} than in {before}, "
        f"{measured(found[value], points)} points{_tail(found[value])}."
    )


def missing_pictures_sentence(entry: Record) -> str | None:
    """On which value of an axis pictures are missing most often, None if chance would do the same."""
    if entry["q"] >= SIGNIFICANCE:
        return None
    counts = entry["counts"]
    rates = {value: count["missing"] / count["planned"] for value, count in counts.items()}
    often, seldom = (
        f"{shorten(value, 40)} ({counts[value]['missing']} of {counts[value]['planned']})"
        for value in (max(rates, key=lambda v: rates[v]), min(rates, key=lambda v: rates[v]))
    )
    return (
        f"{capital(axis_label(entry['axis']))}: {_hidden(entry)} are missing more often for "
        f"{often} than for {seldom}; {probability(entry['q'], 'q')}. "
        "What is missing may differ from what is left, and no score can correct that."
    )


def missing_lines(results: Record) -> list[str]:
    """How many pictures are missing, and where more often than elsewhere; nothing if all are there."""
    missing = sum(sum((s.get("missing") or {}).values()) for s in results["sets"])
    uneven = map(missing_pictures_sentence, results.get("missing_pictures") or ())
    counted = [f"Missing: {plural(missing, 'picture')}; the report says which and why."] if missing else []
    return counted + [f"Warning: {sentence}" for sentence in uneven if sentence]


def _hidden(entry: Record) -> str:
    if entry["prompt"] is not None:
        return f"pictures of {quote(entry['prompt'])}"
    towards = entry["targets"]
    return "sources" if towards is None else f"edits towards {shorten(towards, 30)}, any of a source,"


def set_label(name: str) -> str:
    """A picture set in words: "the initial pictures", or its condition."""
    return "the initial pictures" if name == "initial" else shorten(name.removeprefix("condition: "), 60)


def domain_sentence(entry: Record) -> str | None:
    """The mean CAS of each value over all prompts."""
    means = [f"{shorten(v, 40)} {measured(e)}" for v, e in entry["cas"].items() if is_estimate(e)]
    return f"Mean CAS over all prompts: {', '.join(means)}." if means else None


def _one_prompt(reading: Reading, entry: Record) -> str:
    axes, start = ranked_axes(entry), f"For {quote(entry['prompt'])}, {shorten(reading.model, 60)}"
    measured_axes = [axis for _, axis in axes if is_estimate(axis["mad"])]
    if not measured_axes:
        return f"{start} could not be measured on any axis."
    count = leaning(measured_axes)
    if not count:
        return f"{start} shows no lean that chance would not produce at this number of pictures ({_per_set(reading)})."
    of = f"{count} of {len(measured_axes)} axes" if len(measured_axes) > 1 else "the one axis measured"
    return f"{start} leans further than chance would on {of}{_strongest_lean(axes)}."


def _strongest_lean(axes: list[tuple[str, Record]]) -> str:
    name, axis = next((n, a) for n, a in axes if exceeds_chance(a["mad"]))
    ends = extremes(axis["cas"])
    towards = f", towards {shorten(ends[0], 40)}" if ends and ends[2] else ""
    return f", most on {perceived(name)}{towards}"


def _many_prompts(reading: Reading) -> str:
    pairs = [(n, a) for entry in reading.tibet for n, a in entry["axes"].items() if is_estimate(a["mad"])]
    start = f"Over {plural(len(reading.tibet), 'prompt')}, {shorten(reading.model, 60)}"
    if not pairs:
        return f"{start} could not be measured on any axis."
    count = leaning(a for _, a in pairs)
    if not count:
        return f"{start} shows no lean that chance would not produce at this number of pictures ({_per_set(reading)})."
    names = list(dict.fromkeys(n for n, _ in pairs))
    times = {n: leaning(a for other, a in pairs if other == n) for n in names}
    top = max(names, key=lambda n: times[n])
    asked = sum(n == top for n, _ in pairs)
    return (
        f"{start} leans further than chance would in {count} of {len(pairs)} pairs of a prompt and an axis, "
        f"most often on {perceived(top)} ({times[top]} of {plural(asked, 'prompt')})."
    )


def _shares_only(reading: Reading) -> str:
    first = reading.part("shares")[0]["instrument"]
    entries = [s for s in reading.part("shares") if s["instrument"] == first]
    entries = [s for s in entries if exceeds_chance(s["distance"]) is not None]
    if not entries:
        return f"{capital(_pictures_of(reading))}; no share could be tested against chance."
    far = [s for s in entries if exceeds_chance(s["distance"])]
    axes = listing(list(dict.fromkeys(perceived(s["axis"]) for s in far or entries)))
    tests = f"in {len(far) or 'none'} of {plural(len(entries), 'picture set')}"
    if len({s["axis"] for s in entries}) > 1:
        tests = f"in {len(far) or 'none'} of {len(entries)} pairs of a picture set and an axis"
    reader = f"as read by {shorten(first, 40)}"
    few = "" if far else " at this number of pictures"
    return f"{capital(axes)}: further from the ideal than chance would bring it {tests}{few}, {reader}."


def _verdict(mad: Record) -> str:
    significant = exceeds_chance(mad)
    if significant is None:
        return "not tested against chance"
    if not significant:
        n = f" ({thousands(mad['n'])})" if mad.get("n") else ""
        return f"no lean that chance would not produce at this number of pictures{n}"
    return _STRENGTHS[strength(mad)]


def _lean(prompt: str, axis: Record) -> str:
    ends = extremes(axis["cas"])
    if ends is None:
        return f"Pictures of {quote(prompt)} are not equally near to the counterfactuals"
    top, low, apart = ends
    scores = f"CAS {measured(axis['cas'][top])} against {measured(axis['cas'][low])}"
    if not apart:
        return (
            f"The counterfactuals are not equally near to the pictures of {quote(prompt)}, "
            "but which is nearest is not settled: "
            f"{shorten(top, 40)} measures highest and {shorten(low, 40)} lowest, {scores}"
        )
    much = "much " if strength(axis["mad"]) == "strongly" else ""
    return (
        f"Pictures of {quote(prompt)} resemble its {shorten(top, 40)} counterfactual {much}more than "
        f"its {shorten(low, 40)} one: {scores}"
    )


def _no_lean(prompt: str, axis: Record) -> str:
    found = extremes(axis["cas"])
    if found is None:
        return f"Pictures of {quote(prompt)} were compared with too few counterfactuals"
    top, low, _ = found
    ends = (f"{measured(axis['cas'][value])} ({shorten(value, 40)})" for value in (low, top))
    return f"CAS runs from {' to '.join(ends)}"


def _chance(mad: Record) -> str:
    null, high = mad.get("null"), mad.get("high")
    expected = f"; chance alone would give {number(null)}" if null is not None else ""
    room = ""
    if exceeds_chance(mad) is False and high is not None:
        room = f" More pictures could still show a MAD of up to {number(high)}."
    return f"MAD {measured(mad)}{expected}{_tail(mad)}.{room}"


def _tail(estimate: Record) -> str:
    names = [n for n in ("p", "q") if estimate.get(n) is not None]
    return "".join(f"{'; ' if k == 0 else ', '}{probability(estimate[n], n)}" for k, n in enumerate(names))


def _seen(reading: Reading, prompt: str, axis: str) -> str:
    """The value read most often by the first instrument; said to be beyond chance by the shares' own test."""
    entries = reading.shares_of(prompt, "initial", axis)
    return (
        _most_seen(entries[0], ", beyond chance" if exceeds_chance(entries[0]["distance"]) else "") if entries else ""
    )


def _most_seen(entry: Record, remark: str = "") -> str:
    """The value read most often, as "perceived female in 44 of the 46 pictures that could be read"."""
    counts = entry.get("counts") or {}
    read = sum(counts.values())
    if not read:
        return ""
    value = max(counts, key=lambda v: counts[v])
    unread = sum((entry.get("missing") or {}).values())
    of = f"{read}" if not unread else f"the {plural(read, 'picture')} that could be read ({unread} could not)"
    how = "perceived" if reads_appearance(entry["axis"]) else "seen as"
    ideal = (entry.get("ideal") or {}).get(value)
    share = f" ({percent(counts[value] / read)}, ideal {percent(ideal)}{remark})" if ideal is not None else ""
    return f"{how} {shorten(value, 40)} in {counts[value]} of {of}{share}"


def _pictures_of(reading: Reading) -> str:
    return f"{plural(reading.pictures, 'picture')} of {plural(len(reading.prompts), 'prompt')}"


def _per_set(reading: Reading) -> str:
    return f"{reading.pictures_per_set()} a set"
