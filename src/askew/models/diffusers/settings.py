"""What a user sets on the command line or in a plan, checked against what the pipeline takes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from inspect import signature
from traceback import extract_tb

import diffusers
import torch

from askew.errors import MissingPackage, UnknownName, UsageError
from askew.models.base import Setting
from askew.models.diffusers.families import RECORDED, Parameter
from askew.models.diffusers.repository import Repository

OTHERS = ("batch_size", "device", "dtype", "offload", "revision", "scheduler", "variant")
WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
SIDES = ("height", "width")
AT_LEAST_ONE = ("num_inference_steps", "prior_num_inference_steps", *SIDES)
ABOUT_SETTINGS = re.compile(r"[/\\]diffusers[/\\](?:pipelines|schedulers)[/\\]")
"""Where in diffusers settings are checked and used; errors from networks further down are not about them."""

NEGATIVE = ("negative_prompt", "negative_prompt_2", "negative_prompt_3")
LAYERS = ("skip_layer_guidance_scale", "skip_layer_guidance_start", "skip_layer_guidance_stop")

CLEANING = {"bs4": "beautifulsoup4", "ftfy": "ftfy"}
OFFLOADS = ("none", "model", "sequential")
BATCH = {"cuda": 8, "mps": 4, "cpu": 4}


def call_settings(
    known: Mapping[str, Parameter], defaults: Mapping[str, Setting], given: Mapping[str, Setting], name: str
) -> dict[str, Setting]:
    """All values that a pipeline is called with: what is given, else `defaults`, else its own of `RECORDED`.

    Raises UsageError for a setting that does not exist, listing those that do, or one of the wrong kind.
    """
    for setting in given:
        if setting not in known:
            raise UsageError(f"{name}: {UnknownName('setting', setting, (*known, *OTHERS))}")
    own = {setting: known[setting].default for setting in RECORDED if setting in known}
    own |= _cleaning(known, given)
    chosen = {**own, **{k: v for k, v in defaults.items() if k in known}, **given}
    return {k: _checked(k, v, known[k].kind, name) for k, v in sorted(chosen.items()) if v is not None}


def check_heard(
    repository: Repository, known: Mapping[str, Parameter], chosen: Mapping[str, Setting],
    given: Mapping[str, Setting], scheduler: type | None, name: str,
) -> None:  # fmt: skip
    """Raises UsageError for a setting that is given and would change nothing beside the others that are chosen."""
    kind = repository.components.get("scheduler", ("", ""))[1]
    step = getattr(scheduler or getattr(diffusers, kind, None), "step", None)
    takes_eta = step is not None and "eta" in signature(step).parameters
    by_true_cfg = "true_cfg_scale" in known
    guidance = chosen.get("true_cfg_scale" if by_true_cfg else "guidance_scale")
    guided = guidance is None or (float(guidance) > 1 and not repository.config("unet").get("time_cond_proj_dim"))
    lacks: dict[str, str] = {}
    if not guided:
        how = "true_cfg_scale=4" if by_true_cfg else "guidance_scale=5"
        unguided = f"without guidance above 1: add -M {how}, or leave it out"
        lacks |= dict.fromkeys((*NEGATIVE, "guidance_rescale"), unguided)
    if "negative_prompt" not in chosen:
        alone = "without a negative prompt: add -M negative_prompt=TEXT, or leave it out"
        first = ("true_cfg_scale",) if by_true_cfg else ()
        lacks |= dict.fromkeys((*first, *(NEGATIVE[1:] if by_true_cfg or NEGATIVE[2] not in known else ())), alone)
    if not takes_eta:
        lacks["eta"] = "with this model's scheduler: name one that takes it, as in -M scheduler=DDIM, or leave it out"
    lacks |= dict.fromkeys(LAYERS, "without layers to skip, which cannot be named here: leave it out")
    if not repository.config("scheduler").get("use_dynamic_shifting"):
        lacks["mu"] = "with this model's scheduler, which does not shift dynamically: leave it out"
    if by_true_cfg and repository.config("transformer").get("guidance_embeds") is False:
        lacks["guidance_scale"] = "in this model, which was not distilled with guidance: leave it out"
    for setting in given.keys() & lacks.keys():
        raise UsageError(f"{name}: {setting} changes nothing {lacks[setting]}")


def check_size(settings: Mapping[str, Setting], multiple: int, name: str) -> None:
    """Raises UsageError for a height without a width, which some families ignore, and for sides that do not fit."""
    sides = {side: settings[side] for side in SIDES if side in settings}
    if len(sides) == 1:
        (given,) = sides
        lacking = next(side for side in SIDES if side != given)
        raise UsageError(f"{name}: {given} is given without {lacking}; give both, as in -M height=512 -M width=512")
    for side, length in sides.items():
        if isinstance(length, int) and length % multiple:
            raise UsageError(
                f"{name}: {side} is {length}; it must be a multiple of {multiple}, such as "
                f"{max(length // multiple, 1) * multiple}"
            )


@contextmanager
def fitting(settings: Mapping[str, Setting], name: str) -> Iterator[None]:
    """What a pipeline or its scheduler says against the settings that it is called with becomes a UsageError."""
    try:
        yield
    except (IndexError, ValueError) as error:
        if not ABOUT_SETTINGS.search(extract_tb(error.__traceback__)[-1].filename):
            raise
        given = ", ".join(f"{setting}={value!r}" for setting, value in settings.items())
        says = str(error).rstrip(".")
        raise UsageError(
            f"{name} does not work with one of its settings ({given}): {says}; change it or leave it out"
        ) from error


def scheduler_class(repository: Repository, wanted: str) -> type | None:
    """The class of the scheduler called `wanted`, with or without "Scheduler" at its end; None for the model's own.

    Raises UsageError for one that this model does not work with.
    """
    if not wanted:
        return None
    if "scheduler" not in repository.components:
        raise UsageError(f"{repository.name!r} has no scheduler that could be replaced: leave the scheduler out")
    own = repository.components["scheduler"][1]
    fitting = {own, *getattr(getattr(diffusers, own), "_compatibles", ())}
    known = sorted(kind for kind in fitting if hasattr(diffusers, kind))
    for kind in (wanted, f"{wanted}Scheduler"):
        if kind in known:
            found: type = getattr(diffusers, kind)
            return found
    raise UnknownName(f"scheduler for {repository.name!r}", wanted, known)


def offload_mode(wanted: Setting, device: torch.device) -> str:
    """none, model or sequential; true means model.

    Raises UsageError, also where the package for it is missing; on a CPU, where it does nothing, none is needed.
    """
    mode = {True: "model", False: "none"}.get(wanted, wanted) if isinstance(wanted, bool) else wanted
    if mode not in OFFLOADS:
        raise UnknownName("offload", str(mode), OFFLOADS)
    if mode != "none" and device.type != "cpu":
        purpose = "moving parts of a model to the GPU only while they work"
        MissingPackage.unless_installed("accelerate", "offload", purpose)
    return str(mode)


def batch(wanted: Setting, device: torch.device, name: str) -> int:
    """Pictures to make at once: `wanted`, or what suits the kind of device if that is 0. Raises UsageError."""
    if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < 0:
        raise UsageError(f"{name}: batch_size is {wanted!r}; it must be a whole number, 0 to have it chosen")
    return wanted or BATCH[device.type]


def _cleaning(known: Mapping[str, Parameter], given: Mapping[str, Setting]) -> dict[str, Setting]:
    """Cleaning of prompts is skipped where its packages are missing: that changes pictures, so it is recorded."""
    absent = [package for module, package in CLEANING.items() if find_spec(module) is None]
    if "clean_caption" not in known or not absent:
        return {}
    if given.get("clean_caption") is True:
        raise UsageError(f"clean_caption needs more packages: pip install {' '.join(absent)}")
    return {"clean_caption": False}


def _checked(setting: str, value: Setting, kind: type, name: str) -> Setting:
    fits = isinstance(value, bool) if kind is bool else not isinstance(value, bool)
    if kind is int:
        fits = fits and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))
    if kind is float:
        fits = fits and isinstance(value, int | float) and math.isfinite(value)
    if not fits:
        raise UsageError(f"{name}: {setting} is {value!r}; it must be {WORDS[kind]}")
    if setting in AT_LEAST_ONE and float(value) < 1:
        raise UsageError(f"{name}: {setting} is {value}; it must be at least 1")
    checked: Setting = kind(value)
    return checked
