"""Compare the labels of images with the values that a model's mitigations request.

A mitigation file states the shares that it requests. However, the file may be damaged, its words
may have been replaced, or a model may not follow it. Therefore askew compares the labels of the
images with the requests.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress

import numpy as np
from numpy.typing import NDArray

from askew.findings import E
from askew.mitigations.base import MitigatedModel, requested_values
from askew.mitigations.prompts import PromptReplacement
from askew.models.base import Request
from askew.pages import blocks as b
from askew.pages.words import axis_label, capital, listing, perceived, percent, quote
from askew.parts.survey.observed import Answer, ObservedSet
from askew.plan import Plan, PromptPlan
from askew.stats.following import Verdict, followed
from askew.stats.significance import SIGNIFICANCE_LEVEL
from askew.store.keys import picture_seed
from askew.types import Estimate, Missing, record

Requests = Mapping[str, Sequence[str | None]]
"""For each axis, the value requested for each image of a prompt (None for no value)."""

Targets = Mapping[str, Mapping[str, float]]
"""For each axis, the target share of each value."""

WARNED: Mapping[Verdict, str] = {
    "less_than_by_chance": "follow the mitigation less often than expected by chance",
    "no_more_than_by_chance": "do not follow the mitigation more often than expected by chance",
    "fewer_than_asked": "show {values} significantly less often than the mitigation requests",
}


@record
class Following:
    """Comparison between the labels of a prompt's images and the values requested by mitigations.

    Attributes
    ----------
    prompt, axis, instrument : str
        Prompt, axis, and the instrument that labels the images.
    asked : mapping of value to float
        Target shares of the mitigation or, if it has none, the shares of the requested values.
    requested : mapping of value to int
        Number of labeled images for which each value is requested.
    labeled : mapping of value to int
        Number of these images that have each label.
    followed : Estimate
        Share of these images that have the requested label. `null` is the share that is expected by
        chance.
    verdict : str
        "followed", "fewer_than_asked", "no_more_than_by_chance" or "less_than_by_chance".
    fewer : tuple of str
        Values that are significantly less frequent than requested.
    """

    prompt: str
    axis: str
    instrument: str
    asked: Mapping[str, float]
    requested: Mapping[str, int]
    labeled: Mapping[str, int]
    followed: E
    verdict: Verdict
    fewer: tuple[str, ...]


def requests_of(prompt: str, model: object, images: int, seed: int) -> dict[str, list[str | None]]:
    """Return, for each axis, the value that a model's mitigations request for each image.

    Parameters
    ----------
    prompt
        Text of the prompt.
    model
        The model. If it has no mitigations, nothing is requested.
    images
        Number of images of the prompt.
    seed
        Seed of the run.
    """
    requests = [
        Request(prompt, picture_seed(seed, prompt, number), number) for number in range(images)
    ]
    requested = [requested_values(model, request) for request in requests]
    by_axis = {}
    for axis in dict.fromkeys(chain.from_iterable(requested)):
        by_axis[axis] = [values.get(axis) for values in requested]
    return by_axis


def targets_of(model: object) -> Targets:
    """Return the target shares of a model's mitigations, keyed by axis.

    A policy can request shares that differ from its targets, because models do not always follow
    prompts.
    """
    targets: dict[str, Mapping[str, float]] = {}
    if isinstance(model, MitigatedModel):
        for mitigation in model.stack.mitigations:
            if not isinstance(mitigation, PromptReplacement):
                targets |= mitigation.targets
    return targets


def following_of_plan(
    plan: Plan, model: object, observed: Mapping[str, Sequence[ObservedSet]]
) -> tuple[Following, ...]:
    """Compare the labels of all prompts' baseline images with the values requested by mitigations.

    Parameters
    ----------
    plan
        Plan of the run.
    model
        The model. If it has no mitigations, nothing is requested.
    observed
        Image sets of each prompt, baseline set first.
    """
    if not isinstance(model, MitigatedModel):
        return ()
    entries: list[Following] = []
    for prompt in plan.prompts:
        baseline = observed[prompt.text][0]
        requests = requests_of(prompt.text, model, len(baseline.pictures), plan.seed)
        asked = ImageRequests(requests=requests, targets=targets_of(model))
        entries += following(prompt, baseline, asked, plan.vqa[0], plan.confidence)
    return tuple(entries)


@dataclass(frozen=True, slots=True)
class ImageRequests:
    """Values requested for the images of a prompt, and target shares for all prompts."""

    requests: Requests
    targets: Targets


def following(
    prompt: PromptPlan, observed: ObservedSet, asked: ImageRequests, instrument: str, level: float
) -> Iterator[Following]:
    """Yield a comparison between labels and requests for each axis that has both.

    Parameters
    ----------
    prompt
        The prompt.
    observed
        Images of the mitigated model, in the order of their requests.
    asked
        Values that are requested for the images.
    instrument
        Instrument whose labels are compared.
    level
        Confidence level of the intervals, in (0, 1).
    """
    for axis in prompt.closed:
        labels = observed.values[instrument][axis.name]
        table, missing = _table(axis.values, asked.requests.get(axis.name, ()), labels)
        if not table.any():
            continue
        result = followed(table, level=level, missing=missing)
        requested = dict(zip(axis.values, table.sum(axis=1).tolist(), strict=True))
        total = sum(requested.values())
        shares = {value: count / total for value, count in requested.items() if count}
        fewer = compress(axis.values, result.shortfall_p < SIGNIFICANCE_LEVEL)
        yield Following(
            prompt=prompt.text,
            axis=axis.name,
            instrument=instrument,
            asked=asked.targets.get(axis.name) or shares,
            requested=requested,
            labeled=dict(zip(axis.values, table.sum(axis=0).tolist(), strict=True)),
            followed=result.rate,
            verdict=result.verdict,
            fewer=tuple(fewer),
        )


def _table(
    values: Sequence[str], requests: Sequence[str | None], labels: Sequence[Answer]
) -> tuple[NDArray[np.int64], int]:
    """Count images per requested value and label, and unlabeled images with a requested value."""
    table = np.zeros((len(values), len(values)), dtype=np.int64)
    missing = 0
    for request, label in zip(requests, labels, strict=False):
        if request not in values:
            continue
        if isinstance(label, Missing):
            missing += 1
        else:
            table[values.index(request), values.index(label)] += 1
    return table, missing


def following_warnings(entries: Iterable[Following], name: str = "") -> list[str]:
    """Return a warning for each prompt and axis for which images do not follow a mitigation.

    Parameters
    ----------
    entries
        Comparisons of labels with requests.
    name
        Name of the run or technique. If given, the warnings begin with this name.
    """
    warnings = []
    for entry in entries:
        if entry.verdict in WARNED:
            values = listing([f"{perceived(entry.axis)} {value}" for value in entry.fewer])
            claim = WARNED[entry.verdict].format(values=values)
            subject = f"{name}: images" if name else "images"
            where = "" if "{values}" in WARNED[entry.verdict] else f" on {perceived(entry.axis)}"
            warnings.append(
                f"{subject} of {quote(entry.prompt, 60)} {claim}{where}: {request_sentence(entry)}"
            )
    return warnings


def request_sentence(entry: Following) -> str:
    """Return a phrase that states the requested shares and how many images follow the requests.

    For example, "asked male 90 %, female 10 %; followed 44 of 48 (by chance 40)".
    """
    shares = [f"{value} {percent(share)}" for value, share in entry.asked.items() if share]
    text = f"asked {', '.join(shares)}"
    rate = entry.followed
    if not isinstance(rate, Estimate) or not rate.n:
        return text
    text += f"; followed {round(rate.value * rate.n)} of {rate.n}"
    if rate.null is not None:
        text += f" (by chance {round(rate.null * rate.n)})"
    return text


def request_blocks(entries: Sequence[Following], name: str = "") -> Iterator[b.Block]:
    """Yield, per prompt and axis, a list of the requested values and how many images show them.

    Parameters
    ----------
    entries
        Comparisons of labels with requests.
    name
        Name of the run; "" if there is only one run.
    """
    sentences = []
    several = len({entry.prompt for entry in entries}) > 1
    for entry in entries:
        place = f"{capital(axis_label(entry.axis))}"
        if several:
            place = f"{quote(entry.prompt, 60)}, {axis_label(entry.axis)}"
        if name:
            place = f"{name}, {place}"
        sentences.append(f"{place}: {request_sentence(entry)}.")
    if sentences:
        yield b.Paragraph("", items=tuple(sentences))
