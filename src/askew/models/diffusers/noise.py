"""One random generator per picture, for its initial noise and for all that a sampler adds later."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from typing import Any

import torch
from diffusers import DiffusionPipeline, SchedulerMixin


@contextmanager
def noise_per_picture(pipeline: DiffusionPipeline, seeds: Sequence[int]) -> Iterator[list[torch.Generator]]:
    """CPU generators, one per picture, to be given to the pipeline; its schedulers draw from them too.

    Some pipelines give their generators to the initial noise alone. A scheduler that adds noise at every step would
    then draw it from the global generator, for the whole batch at once.
    """
    generators = [torch.Generator("cpu").manual_seed(seed) for seed in seeds]
    fed = [part for part in pipeline.components.values() if _draws_noise(part)]
    for scheduler in fed:
        scheduler.step = _with_generators(scheduler.step, generators)
    try:
        yield generators
    finally:
        for scheduler in fed:
            scheduler.__dict__.pop("step", None)


@dataclass(slots=True)
class GlobalNoise:
    """Whether anything was drawn from the global random generators."""

    used: bool = False


@contextmanager
def global_noise(seed: int, device: torch.device) -> Iterator[GlobalNoise]:
    """Seeds the global generators, and tells afterwards whether they were used; they are then as they were before."""
    noise = GlobalNoise()
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        before = _states(device)
        try:
            yield noise
        finally:
            noise.used = any(not torch.equal(a, b) for a, b in zip(before, _states(device), strict=True))


def _draws_noise(part: object) -> bool:
    return isinstance(part, SchedulerMixin) and "generator" in signature(part.step).parameters


def _with_generators(step: Callable[..., Any], generators: list[torch.Generator]) -> Callable[..., Any]:
    known = signature(step)

    @wraps(step)
    def fed(*arguments: Any, **named: Any) -> Any:
        bound = known.bind(*arguments, **named)
        if bound.arguments.get("generator") is None:
            bound.arguments["generator"] = generators
        return step(*bound.args, **bound.kwargs)

    return fed


def _states(device: torch.device) -> list[torch.Tensor]:
    states = [torch.get_rng_state()]
    if device.type == "cuda":
        states.append(torch.cuda.get_rng_state(device))
    if device.type == "mps":
        states.append(torch.mps.get_rng_state())
    return states
