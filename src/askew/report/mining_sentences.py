"""What a search found, in plain sentences that go no further than its numbers."""

from __future__ import annotations

import numpy as np

from askew.report.formatting import Record, listing, measured, number, plural, probability, quote
from askew.report.mining import by_fresh_score, evaluated, is_bias, one_sided
from askew.report.reading import SIGNIFICANCE, exceeds_chance, is_estimate, tested


def score(value: float | None) -> str:
    """A loss with three digits: scores of prompts differ in the second and third."""
    return number(value, 3)


def headline(results: Record) -> str:
    """The answer in a sentence or two."""
    section = results["minethegap"]
    model, count = results["model"]["name"], plural(evaluated(section), "prompt")
    ordered = [e for e in by_fresh_score(section["best"]) if is_estimate(e["fresh_score"])]
    if not ordered:
        return f"None of {count} could be scored on {model}."
    first = ordered[0]
    if not is_bias(section):
        return (
            f"Of {count}, the pictures of {quote(first['prompt'])} by {model} come nearest to {section['objective']}: "
            f"a loss of {measured(first['fresh_score'], score)} on fresh seeds."
        )
    found = one_sided(section["best"])
    if not found:
        return (
            f"Of {count}, {model} is more one-sided on none than chance explains, by the score on fresh seeds "
            f"(the lowest: {quote(first['prompt'])})."
        )
    return (
        f"Of {count}, {model} is most one-sided on {quote(found[0]['prompt'])}. {_missed(found[0])} "
        f"{_of_all(len(found), len(ordered))}"
    )


def finding(entry: Record) -> str:
    """One prompt: its score on fresh seeds against chance, and what the search believed."""
    fresh, found = entry["fresh_score"], entry["score"]
    if not is_estimate(fresh):
        return "It could not be scored on fresh seeds."
    if fresh.get("null") is None:
        return f"On fresh seeds it scores {measured(fresh, score)}; when it was found, {score(found.get('value'))}."
    test = tested(fresh)
    verdict = ("one-sided" if test[1] < SIGNIFICANCE else "no more one-sided than chance explains") if test else ""
    said = f", {probability(test[1], test[0])}" if test else ""
    return (
        f"{verdict.capitalize()}: on fresh seeds it scores {measured(fresh, score)}, pictures of the variations would "
        f"score {score(fresh['null'])}{said}. When it was found it scored {score(found.get('value'))}."
    )


def random_sentence(results: Record) -> str:
    """Whether the search found better prompts than a random one of the same size."""
    section, plan = results["minethegap"], results["plan"]
    difference = section["random"]["difference"]
    if not is_estimate(difference):
        return "The search could not be compared with a random one."
    low, high = difference.get("low"), difference.get("high")
    settled = low is not None and high is not None and (high < 0 or low > 0)
    what = f"{'more biased' if is_bias(section) else 'better'} prompts than random search on the same budget"
    verdict = f"does not show to find {what}" if not settled else f"finds {what}"
    if settled and difference["value"] > 0:
        verdict = f"finds less {'biased' if is_bias(section) else 'fitting'} prompts than random search"
    pairs = f"{plural(plan['runs'], 'paired run')}" if plan["runs"] > 1 else "one run"
    return (
        f"Mining {verdict}: the difference of their best {plan['top']} prompts on fresh seeds is "
        f"{measured(difference, score)} over {pairs}."
    )


def captions_sentence(section: Record) -> str:
    """How the prompts found compare with a given set; empty where none was given."""
    scores = sorted(c["score"] for c in section["captions"] if isinstance(c["score"], float))
    fresh = sorted(e["fresh_score"]["value"] for e in section["best"] if is_estimate(e["fresh_score"]))
    if not scores or not fresh:
        return ""
    given, found = float(np.median(scores)), float(np.median(fresh))
    below = sum(value < found for value in scores)
    return (
        f"The {plural(len(scores), 'given prompt')} score {score(given)} in the middle, the prompts found "
        f"{score(found)} on fresh seeds; {below} of the given ones score lower than that."
    )


def openbias_sentence(section: Record) -> str:
    """What closed questions about the same pictures find, and where the two methods part."""
    entries = section["openbias"]
    asked = list(dict.fromkeys(e["prompt"] for e in entries))
    by_questions = {e["prompt"] for e in entries if is_estimate(e["score"]) and exceeds_chance(e["score"])}
    by_gap = {e["prompt"] for e in one_sided(section["best"])}
    parts = [
        f"Closed questions find a bias that chance does not explain in {len(by_questions & set(asked))} of the "
        f"{plural(len(asked), 'prompt')}, the score above in {len(by_gap & set(asked))}"
    ]
    for found, other, name in ((by_gap, by_questions, "score"), (by_questions, by_gap, "questions")):
        alone = [prompt for prompt in asked if prompt in found - other]
        if alone:
            listed = [quote(p, 60) for p in alone[:2]]
            listed += [f"{len(alone) - 2} more"] if len(alone) > 2 else []
            parts.append(f"only the {name} find{'s' if name == 'score' else ''} {listing(listed)}")
    return "; ".join(parts) + "."


def _missed(entry: Record) -> str:
    missed = [quote(text, 60) for text in entry.get("missed_visual_concepts") or ()]
    return f"Its pictures leave out {listing(missed[:2])}." if missed else ""


def _of_all(found: int, scored: int) -> str:
    if scored == 1:
        return ""
    return f"On fresh seeds, {found} of the {scored} prompts found are more one-sided than chance explains."
