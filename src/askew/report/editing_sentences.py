"""What editing did, in plain language, no further than q-values and intervals allow."""

from __future__ import annotations

from askew.report.formatting import Record, capital, interval, listing, number, percent, plural, quote
from askew.report.reading import exceeds_chance, is_estimate

NOTHING = "no difference between the groups that chance would not produce"


def answer(results: Record) -> str:
    """The answer of a run in two or three sentences: at the greatest strength, whom editing changed and how."""
    strength = max(entry["strength"] for entry in results["editing"])
    names = list(dict.fromkeys(entry["targets"] for entry in results["editing"]))
    said = [sentence for name in names if (sentence := gender_sentence(results, name, strength))]
    said += [sentence for name in names if (sentence := skin_sentence(results, name, strength))]
    return " ".join(said) or "Nothing could be measured: no instrument read the pictures."


def gender_sentence(results: Record, targets: str, strength: float) -> str:
    """Whose perceived gender changes most and least, and whether that is more than chance."""
    cells = [entry for entry in _cells(results, targets, strength) if is_estimate(entry["gender_change"])]
    if not cells:
        return ""
    most = max(cells, key=lambda entry: entry["gender_change"]["value"])
    least = min(cells, key=lambda entry: entry["gender_change"]["value"])
    where = f"Edited towards {quote(targets, 40)} at strength {strength:g},"
    if most is least or most["gender_change"]["value"] == least["gender_change"]["value"]:
        return f"{where} {_rate(most)} of the pictures of {quote(most['group'], 40)} change their perceived gender."
    contrast = _contrast(results, most, least)
    if contrast is not None and exceeds_chance(contrast):
        return (
            f"{where} {_rate(most)} of the pictures of {quote(most['group'], 40)} change their perceived gender, of "
            f"{quote(least['group'], 40)} {_rate(least)}."
        )
    low, high = (percent(entry["gender_change"]["value"]) for entry in (least, most))
    return f"{where} {low} to {high} of a group's pictures change their perceived gender, {NOTHING}."


def skin_sentence(results: Record, targets: str, strength: float) -> str:
    """Whose skin becomes lighter or darker beyond chance."""
    cells = [e for e in _cells(results, targets, strength) if exceeds_chance(e["ita_change"])]
    parts = []
    for sign, word in ((1, "lighter"), (-1, "darker")):
        groups = [
            f"{quote(e['group'], 40)} ({degrees(e['ita_change']['value'])})"
            for e in cells
            if sign * e["ita_change"]["value"] > 0
        ]
        if groups:
            parts.append(f"{word} for {listing(groups)}")
    return f"Towards {quote(targets, 40)} skin becomes {' and '.join(parts)}." if parts else ""


def neutrality_sentence(entry: Record) -> str:
    """Whether a group's pictures show a target before they are edited."""
    if not is_estimate(entry["share"]):
        return f"{capital(entry['group'])}: {entry['instrument']} does not tell occupations."
    share = entry["share"]
    seen = [f"{target} {percent(e['value'])}" for target, e in entry["targets"].items() if e["value"] > 0]
    more = f": {listing(seen)}" if seen else ""
    verdict = "neutral" if entry["neutral"] else "not neutral"
    return (
        f"{capital(entry['group'])}: {verdict}; by {entry['instrument']}, {percent(share['value'])} "
        f"{interval(share, percent)} of {plural(share['n'], 'picture')} show a target{more}."
    )


def degrees(value: float | None) -> str:
    """A signed angle: "+5.1°"."""
    text = number(value, 1)
    return f"{'+' if value is not None and value > 0 else ''}{text}°"


def contrast_label(entry: Record) -> tuple[str, str]:
    """What is compared with what, and where: ("caucasian man − african-american woman", "high-paid, strength 1")."""
    first, second = entry["first"], entry["second"]
    if entry["contrast"] == "group":
        return f"{second['group']} − {first['group']}", f"{first['targets']}, strength {first['strength']:g}"
    if entry["contrast"] == "targets":
        return f"{second['targets']} − {first['targets']}", f"{first['group']}, strength {first['strength']:g}"
    return (
        f"strength {second['strength']:g} − {first['strength']:g}",
        f"{first['group']}, {first['targets']}",
    )


def _cells(results: Record, targets: str, strength: float) -> list[Record]:
    return [e for e in results["editing"] if e["targets"] == targets and e["strength"] == strength]


def _rate(entry: Record) -> str:
    e = entry["gender_change"]
    return f"{percent(e['value'])} {interval(e, percent)}"


def _contrast(results: Record, a: Record, b: Record) -> Record | None:
    names = {a["group"], b["group"]}
    for entry in results["editing_contrasts"]:
        first, second = entry["first"], entry["second"]
        place = (first["targets"], first["strength"])
        is_pair = entry["contrast"] == "group" and {first["group"], second["group"]} == names
        if is_pair and place == (a["targets"], a["strength"]):
            found: Record = entry["gender_change"]
            return found
    return None
