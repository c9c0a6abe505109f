"""Invented findings that look like findings of real audits, and images for them."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from askew import findings
from askew.methods.audit.findings import AuditFindings

Results = dict[str, Any]

AXES: dict[str, tuple[str, ...]] = {
    "gender": ("male", "female"),
    "age": ("young", "middle-aged", "old"),
    "ethnicity": ("white", "black", "asian", "south asian", "middle eastern", "hispanic"),
    "body_type": ("slim", "muscular", "obese"),
    "emotion": ("happy", "sad", "serious", "tired"),
    "clothing": ("formal", "informal"),
    "environment": ("indoors", "outdoors"),
    "disability": ("fit", "blind", "hearing aid", "wheelchair"),
}
CONCEPTS = (
    "woman",
    "man",
    "young",
    "scrubs",
    "stethoscope",
    "hospital",
    "smile",
    "serious",
    "white",
    "black",
    "dark",
    "hair",
    "short",
    "bun",
    "desk",
    "window",
)


def estimate(value: float, half: float | None = 0.05, **fields: Any) -> Results:
    """An estimate as results.json holds it."""
    bounds = (None, None) if half is None else (round(value - half, 4), round(value + half, 4))
    absent = dict.fromkeys(("null", "max", "corrected", "corrected_form", "p", "q"))
    known = {
        "value": value,
        "low": bounds[0],
        "high": bounds[1],
        "level": 0.95,
        "interval": "test inversion",
        "n": 48,
        "missing": 0,
    }
    return {**known, **absent, **fields}


def mad_estimate(value: float, null: float = 0.11, q: float = 0.002, half: float = 0.06) -> Results:
    return estimate(
        value,
        half,
        null=null,
        max=1.0,
        corrected=(value - null) / (1 - null),
        p=q / 2,
        q=q,
        corrected_form="(value - null) / (max - null)",
    )


def top_concepts(rng: random.Random) -> list[list[Any]]:
    words = rng.sample(CONCEPTS, 10)
    frequencies = sorted((rng.random() for _ in words), reverse=True)
    return [[word, round(frequency, 3)] for word, frequency in zip(words, frequencies, strict=True)]


def tibet_axis(rng: random.Random, name: str, values: tuple[str, ...], strength: float) -> Results:
    towards = rng.randrange(len(values))
    cas = {}
    for k, value in enumerate(values):
        effect = strength * 0.45 if k == towards else 0
        cas[value] = estimate(round(0.42 + effect + rng.uniform(0, 0.03), 3), 0.035)
    q = 0.0009 if strength > 0.2 else 0.61
    mad = mad_estimate(round(0.12 + strength * 0.75, 3), q=q)

    second = {}
    for value in values:
        second[value] = {other: top_concepts(rng)[:5] for other in AXES if other != name}
    mean_cas = sum(score["value"] for score in cas.values()) / len(cas)
    return {
        "cas_contrast": {v: estimate(cas[v]["value"] - mean_cas, 0.05) for v in cas},
        "kind": "incidental" if name == "environment" else "societal",
        "question": [f"What is the {name} of the person?"],
        "mad": mad,
        "mad_clip": mad_estimate(0.2, q=0.04),
        "cas": cas,
        "cas_clip": {v: estimate(0.8, 0.01) for v in values},
        "bipartite": {v: round(rng.uniform(0.5, 0.9), 3) for v in values},
        "alternatives": {
            "wasserstein": mad_estimate(0.3),
            "standard_deviation": mad_estimate(0.28),
        },
        "top_concepts": {shown: top_concepts(rng) for shown in ("initial", *values)},
        "second_axis": second,
        "second_tests": {
            other: {"p": 0.001, "q": 0.004 if strength > 0.2 else 0.4}
            for other in AXES
            if other != name
        },
    }


def shares_entry(
    prompt: str,
    picture_set: str,
    axis: str,
    counts: dict[str, int],
    q: float = 0.002,
    **fields: Any,
) -> Results:
    n = sum(counts.values())
    reference = {v: 1 / len(counts) for v in counts}
    distance = sum(abs(c / n - reference[v]) for v, c in counts.items()) / 2
    return {
        "prompt": prompt,
        "set": picture_set,
        "axis": axis,
        "instrument": "studio",
        "shares": {
            v: estimate(c / n, 0.09, n=n, low=max(0, c / n - 0.09), high=min(1, c / n + 0.09))
            for v, c in counts.items()
        },
        "distance": mad_estimate(round(distance, 3), null=0.06, q=q),
        "reference": reference,
        "counts": counts,
        "missing": {},
        "bounds": None,
        "instrument_corrected": None,
        **fields,
    }


def picture_set(
    prompt: str, axis: str | None, value: str | None, text: str, n: int = 48
) -> Results:
    name = f"{prompt}/{axis}/{value}"
    ids = [hashlib.sha256(f"{name}/{k}".encode()).hexdigest() for k in range(n)]
    return {
        "prompt": prompt,
        "axis": axis,
        "value": value,
        "text": text,
        "n": n,
        "missing": {},
        "pictures": ids,
        "seeds": list(range(n)),
    }


def plan(prompts: list[str], axes: dict[str, tuple[str, ...]], model: str) -> Results:
    return {
        "method": "audit",
        "model": model,
        "model_args": {"bias": 1.0},
        "images": 48,
        "vqa": ["studio"],
        "embedder": "studio",
        "llm": "lexicon",
        "seed": 0,
        "confidence": 0.95,
        "bootstrap_samples": 1000,
        "variant": "paper",
        "prompts": [planned_prompt(prompt, axes) for prompt in prompts],
    }


def planned_prompt(prompt: str, axes: dict[str, tuple[str, ...]]) -> Results:
    planned_axes = []
    for name, values in axes.items():
        question = {"text": f"What is the {name}?", "options": list(values)}
        planned_axes.append(
            {
                "name": name,
                "kind": "societal",
                "scale": "nominal",
                "values": list(values),
                "questions": [question],
                "counterfactuals": {value: f"{prompt} ({value})" for value in values},
                "reference": None,
            }
        )
    return {"text": prompt, "axes": planned_axes}


def base(
    prompts: list[str], axes: dict[str, tuple[str, ...]], model: str = "studio/planted"
) -> Results:
    return {
        "format": findings.FORMAT,
        "version": 1,
        "askew": "0.1.0",
        "missing_pictures": [],
        "plan": plan(prompts, axes, model),
        "plan_hash": "5e" * 32,
        "environment": {
            "python": "3.11.9",
            "platform": "Linux x86_64",
            "packages": {"numpy": "2.4.6", "torch": "2.13.0"},
            "device": "cpu",
            "threads": 1,
            "started": "2026-11-21T22:47:10+00:00",
            "finished": "2026-11-21T22:51:02+00:00",
        },
        "warnings": [],
        "instruments": {"vqa": {"studio": "ab" * 32}, "embedder": {"studio": "cd" * 32}},
        "model": {"name": model, "revision": "ef" * 20, "settings": {"bias": 1.0}},
        "sets": [],
        "shares": [],
        "differences": [],
        "confusion": [],
        "tibet": [],
        "domain": [],
    }


def tibet_results(
    prompts: list[str], axes: dict[str, tuple[str, ...]] | None = None, seed: int = 7
) -> Results:
    """An audit with counterfactuals: 27 image sets per prompt for the default axes."""
    axes = axes or AXES
    rng = random.Random(seed)
    results = base(prompts, axes)
    for prompt in prompts:
        results["sets"].append(picture_set(prompt, None, None, prompt))
        axis_scores = {}
        for name, values in axes.items():
            axis_scores[name] = tibet_axis(rng, name, values, rng.choice([0.0, 0.05, 0.3, 0.7]))
            top = max(values, key=lambda v: axis_scores[name]["cas"][v]["value"])
            rest = 48 - 4 * (len(values) - 1)
            counts = {v: (rest if v == top else 4) for v in values}
            results["shares"].append(shares_entry(prompt, "initial", name, counts))
            for value in values:
                results["sets"].append(picture_set(prompt, name, value, f"{prompt}, {value}"))
                value_counts = {v: (46 if v == value else 2) for v in values}
                results["shares"].append(
                    shares_entry(prompt, f"{name}: {value}", name, value_counts)
                )
        results["tibet"].append(
            {
                "prompt": prompt,
                "top_concepts": [[c, 0.9 - 0.05 * k] for k, c in enumerate(CONCEPTS[:12])],
                "axes": axis_scores,
            }
        )
    if len(prompts) > 1:
        results["domain"] = [
            _domain(name, values, results["tibet"]) for name, values in axes.items()
        ]
    return results


def _domain(name: str, values: tuple[str, ...], tibet: list[Results]) -> Results:
    pairs = [values] if len(values) == 2 else [(value, "the others") for value in values]
    differences = [
        {
            "prompt": entry["prompt"],
            "values": [a, b],
            "estimate": estimate(entry["axes"][name]["cas"][a]["value"] - 0.5, 0.06),
        }
        for a, b in pairs
        for entry in tibet
    ]
    means = {v: estimate(0.5, 0.03) for v in values}
    rest = {v: estimate(0.02, 0.03, p=0.2) for v in (values if len(values) > 2 else values[:1])}
    return {
        "axis": name,
        "cas": means,
        "against_rest": rest,
        "scaled": means,
        "differences": differences,
    }


def folder_results() -> Results:
    """An audit of a folder with two conditions, labeling errors and missing labels."""
    prompts = ["A CEO in an office", "A nurse at work"]
    results = base(prompts, {"gender": ("male", "female")}, "folder/pictures")
    results["plan"]["vqa"] = ["labels", "faces"]
    results["instruments"] = {"vqa": {"labels": "11" * 32, "faces": "22" * 32}, "embedder": None}
    for k, prompt in enumerate(prompts):
        for condition, male in (("baseline", 26 - 20 * k), ("controlled", 15)):
            results["sets"].append(picture_set(prompt, "condition", condition, prompt, n=30))
            for instrument, unlabeled in (("labels", 1), ("faces", 18)):
                counts = {
                    "male": max(male - unlabeled // 2, 1),
                    "female": max(30 - male - unlabeled // 2, 1),
                }
                results["shares"].append(
                    shares_entry(
                        prompt,
                        f"condition: {condition}",
                        "gender",
                        counts,
                        q=0.6 if condition == "controlled" else 0.003,
                        instrument=instrument,
                        missing={"no_person": unlabeled},
                        bounds={"male": [0.2, 0.9], "female": [0.1, 0.8]},
                        instrument_corrected={
                            v: estimate(c / sum(counts.values()), 0.12) for v, c in counts.items()
                        },
                    )
                )
        change = -0.4 if k == 0 else 0.3
        results["differences"].append(
            {
                "prompt": prompt,
                "axis": "gender",
                "instrument": "labels",
                "sets": ["condition: baseline", "condition: controlled"],
                "shares": {
                    "male": estimate(change, 0.15, q=0.004, p=0.002),
                    "female": estimate(-change, 0.15, q=0.004, p=0.002),
                },
                "distance": estimate(-0.3, 0.1),
            }
        )
    results["confusion"] = [
        {
            "axis": "gender",
            "instrument": "faces",
            "truth": "labels",
            "values": ["male", "female"],
            "counts": [[40, 4], [6, 31]],
            "missing": {
                "male": {"no_person": 20},
                "female": {"no_person": 17, "several_people": 2},
            },
        }
    ]
    return results


MISSING = {"reason": "no_person", "detail": "no picture could be read"}


def empty_tibet_results() -> Results:
    """An audit in which no image could be generated."""
    results = tibet_results(["a photo of a ghost"], {"gender": ("male", "female")})
    for s in results["sets"]:
        s.update(pictures=[None] * 48, seeds=[None] * 48, missing={"error": 48})
    for s in results["shares"]:
        s.update(
            shares=dict.fromkeys(s["shares"], MISSING), distance=MISSING, missing={"error": 48}
        )
        s["counts"] = dict.fromkeys(s["counts"], 0)
    axis = results["tibet"][0]["axes"]["gender"]
    axis.update(
        mad=MISSING,
        mad_clip=None,
        cas=dict.fromkeys(axis["cas"], MISSING),
        cas_clip=None,
        bipartite=None,
        top_concepts={},
        second_axis={},
        alternatives={"wasserstein": MISSING, "standard_deviation": MISSING},
    )
    results["tibet"][0]["top_concepts"] = []
    results["instruments"]["embedder"] = None
    return results


HOSTILE = (
    "<script>alert(\"x\")</script> & 'quotes' </style> <img src=http://evil.example/x.png onerror=alert(1)> "
    "עברית \u202e desrever \x1b[31m \x00 " + "verylong" * 30
)


def hostile_results() -> Results:
    """An audit in which each name is an attack on the page."""
    results = tibet_results(
        [HOSTILE], {HOSTILE: (HOSTILE + "a", HOSTILE + "b"), "gender": ("male", "female")}
    )
    results["warnings"] = [f"unknown word {HOSTILE}"]
    results["model"]["name"] = f"folder/{HOSTILE}"
    results["sets"][0]["missing"] = {HOSTILE: 2}
    results["sets"][0]["pictures"][0] = None
    axis = results["tibet"][0]["axes"][HOSTILE]
    axis["top_concepts"]["initial"][0][0] = HOSTILE
    axis["question"] = [HOSTILE]
    results["confusion"] = [
        {
            "axis": HOSTILE,
            "instrument": HOSTILE,
            "truth": HOSTILE,
            "values": [HOSTILE, "b"],
            "counts": [[0, 0], [1, 2]],
            "missing": {},
        }
    ]
    return results


@cache
def draw(picture_id: str) -> Image.Image:
    """An image whose colors follow from its id."""
    rng = random.Random(picture_id)

    def color() -> tuple[int, int, int]:
        return rng.randrange(256), rng.randrange(256), rng.randrange(256)

    image = Image.new("RGB", (128, 128), color())
    pen = ImageDraw.Draw(image)
    pen.rectangle((20, 90, 108, 128), fill=color())
    pen.ellipse((40, 20, 88, 84), fill=color())
    for _ in range(30):
        x = rng.randrange(128)
        y = rng.randrange(128)
        pen.line(
            (x, y, x + rng.randrange(-20, 20), y + rng.randrange(-20, 20)), fill=color(), width=2
        )
    return image.resize((40, 40))


CASES: dict[str, Callable[[], Results]] = {
    "one prompt": lambda: tibet_results(["a photo of a nurse"]),
    "one axis": lambda: tibet_results(["a photo of a nurse"], {"gender": ("male", "female")}),
    "many prompts": lambda: tibet_results(
        [f"a photo of a {o}" for o in ("nurse", "mechanic", "chef")],
        {k: AXES[k] for k in ("gender", "age", "environment")},
    ),
    "sixty prompts": lambda: tibet_results(
        [f"a photo of a person at work {k}" for k in range(60)],
        {k: AXES[k] for k in ("gender", "age", "clothing")},
    ),
    "folder": folder_results,
    "nothing": lambda: base(["a photo of a nurse"], {"gender": ("male", "female")}),
    "all missing": empty_tibet_results,
    "hostile": hostile_results,
}


class Drawn:
    """A store that draws an image for any id."""

    def picture(self, name: str) -> Image.Image | None:
        return draw(name)

    def rows(self, fingerprint: str, names: Sequence[str]) -> Mapping[str, NDArray[np.float32]]:
        return {}


def audit_findings(results: Results) -> AuditFindings:
    """The findings in these results."""
    validated: AuditFindings = findings.adapter(AuditFindings).validate_python(results)
    return validated
