"""Which class of diffusers makes pictures from a prompt, what can be set when it is called, and
whether it is heard.
"""

import inspect
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from traceback import extract_tb
from types import UnionType
from typing import Any, Union, cast, get_args, get_origin

import diffusers
import torch

from askew.errors import UnknownName, UsageError
from askew.models.base import Setting
from askew.models.diffusers.repository import Repository, quiet
from askew.models.pipeline_constants import CAPTION_CLEANING

with quiet():  # on import, pipelines complain about packages that they could use
    from diffusers import AutoPipelineForText2Image, DiffusionPipeline
    from diffusers.pipelines.auto_pipeline import AUTO_TEXT2IMAGE_PIPELINES_MAPPING, _get_task_class

MULTIPLES: Mapping[str, int] = {
    **dict.fromkeys(("PixArtAlphaPipeline", "PixArtSigmaPipeline"), 8),
    **dict.fromkeys(("StableDiffusionPipeline", "StableDiffusionXLPipeline"), 8),
    **dict.fromkeys(("FluxPipeline", "ChromaPipeline", "QwenImagePipeline"), 16),
    **dict.fromkeys(("SanaPipeline", "SanaSprintPipeline"), 32),
}
"""What height and width must be multiples of, as far as is known. Flux, Chroma and Qwen-Image would
round silently.
"""

RECORDED = tuple(
    "clean_caption guidance_scale num_inference_steps prior_guidance_scale prior_num_inference_steps "
    "true_cfg_scale".split()
)
"""Parameters whose defaults are recorded beside what the user sets, so that a new default means new
pictures.
"""

NOT_SETTINGS = (
    "prompt prompt_2 prompt_3 num_images_per_prompt output_type return_dict callback_steps".split()
)
OTHERS = ("batch_size", "device", "dtype", "offload", "revision", "scheduler", "variant")
WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
SIDES = ("height", "width")
AT_LEAST_ONE = ("num_inference_steps", "prior_num_inference_steps", *SIDES)
ABOUT_SETTINGS = re.compile(r"[/\\]diffusers[/\\](?:pipelines|schedulers)[/\\]")
"""Where in diffusers settings are checked and used; errors from networks further down are not about
them.
"""

NEGATIVE = ("negative_prompt", "negative_prompt_2", "negative_prompt_3")
LAYERS = ("skip_layer_guidance_scale", "skip_layer_guidance_start", "skip_layer_guidance_stop")


@dataclass(frozen=True, slots=True)
class Parameter:
    """Something that can be set when a pipeline is called: a text, a number or yes/no."""

    kind: type
    default: Setting | None


def pipeline_class(repository: Repository) -> Any:
    """The class that makes pictures from a prompt alone with the weights of `repository`. Raises
    UsageError.
    """
    name = repository.class_name
    found = _get_task_class(AUTO_TEXT2IMAGE_PIPELINES_MAPPING, name, throw_error_if_not_exist=False)
    found = found or getattr(diffusers, name, None)
    if not isinstance(found, type):
        raise UsageError(
            f"{repository.name!r} is a {name}, which is no pipeline that diffusers {diffusers.__version__} knows: "
            f"try a newer version of diffusers"
        )
    takes = _signature(found)
    if "prompt" not in takes or (loader(found) is DiffusionPipeline and "image" in takes):
        what = f"it takes {'an image' if 'image' in takes else 'no prompt'}"
        raise UsageError(
            f"{repository.name!r} is a {name}, which makes no pictures from a prompt alone: {what}"
        )
    return found


def loader(found: type[DiffusionPipeline]) -> Any:
    """Who loads pipelines of a class: AutoPipelineForText2Image, or DiffusionPipeline for families
    it does not know.
    """
    known = found in AUTO_TEXT2IMAGE_PIPELINES_MAPPING.values()
    return AutoPipelineForText2Image if known else DiffusionPipeline


def parameters(found: type[DiffusionPipeline]) -> dict[str, Parameter]:
    """By name, whatever a user can set when a pipeline of this class is called: a text, a number or
    yes/no.
    """
    known = {}
    for name, parameter in _signature(found).items():
        annotation = parameter.annotation
        options = (
            get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
        )
        kinds = {*options, type(parameter.default)}
        kind = next((kind for kind in (bool, int, float, str) if kind in kinds), None)
        if kind is not None and name not in NOT_SETTINGS:
            known[name] = Parameter(kind, parameter.default)
    return known


def call_arguments(
    found: type,
    prompts: Sequence[str],
    generators: Sequence[torch.Generator],
    settings: Mapping[str, Setting],
) -> dict[str, Any]:
    """The arguments of a call that makes one picture of each prompt, as an array of numbers in [0,
    1].
    """
    known = _signature(found)
    negative = {
        k: [v] * len(prompts) for k, v in settings.items() if k.startswith("negative_prompt")
    }
    arguments = {
        "prompt": list(prompts),
        **settings,
        **negative,
        "output_type": "np",
        "generator": list(generators),
    }
    if negative and found.__name__.startswith("KandinskyV22"):
        arguments["generator"] *= (
            2  # its prior appends the negative prompts to the prompts: a batch twice as large
        )
    return {name: value for name, value in arguments.items() if name in known}


def _signature(found: type[DiffusionPipeline]) -> dict[str, inspect.Parameter]:
    try:
        signature = inspect.signature(found.__call__, eval_str=True)
    except NameError:  # names that are imported for type checkers alone
        signature = inspect.signature(found.__call__)
    return {name: p for name, p in signature.parameters.items() if name != "self"}


def call_settings(
    known: Mapping[str, Parameter],
    defaults: Mapping[str, Setting],
    given: Mapping[str, Setting],
    name: str,
) -> dict[str, Setting]:
    """All values that a pipeline is called with: what is given, else `defaults`, else its own of
    `RECORDED`. Raises UsageError for a setting that does not exist, listing those that do, or one
    of the wrong kind.
    """
    for setting in given:
        if setting not in known:
            raise UsageError(f"{name}: {UnknownName('setting', setting, (*known, *OTHERS))}")
    own = {setting: known[setting].default for setting in RECORDED if setting in known}
    absent = [package for module, package in CAPTION_CLEANING.items() if find_spec(module) is None]
    if "clean_caption" in own and absent:  # it would be skipped silently
        own["clean_caption"] = False
        if given.get("clean_caption") is True:
            raise UsageError(f"clean_caption needs more packages: pip install {' '.join(absent)}")
    chosen = {**own, **{k: v for k, v in defaults.items() if k in known}, **given}
    checked: dict[str, Setting] = {}
    for setting, value in sorted(chosen.items()):
        if value is None:
            continue
        kind = known[setting].kind
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        fits = isinstance(value, bool) == (kind is bool) and (whole or kind is not int)
        if kind is float:
            fits = fits and isinstance(value, int | float) and math.isfinite(value)
        if not fits:
            raise UsageError(f"{name}: {setting} is {value!r}; it must be {WORDS[kind]}")
        if setting in AT_LEAST_ONE and float(value) < 1:
            raise UsageError(f"{name}: {setting} is {value}; it must be at least 1")
        checked[setting] = kind(value)
    return checked


def check_heard(
    repository: Repository,
    known: Mapping[str, Parameter],
    chosen: Mapping[str, Setting],
    given: Mapping[str, Setting],
    scheduler: type | None,
    name: str,
) -> None:
    """Raises UsageError for a setting that is given and would change nothing beside the others that
    are chosen.
    """
    own = repository.kind("scheduler") if "scheduler" in repository.components else None
    step = getattr(scheduler or own, "step", None)
    by_true_cfg = "true_cfg_scale" in known
    guidance = chosen.get("true_cfg_scale" if by_true_cfg else "guidance_scale")
    lacks: dict[str, str] = {}
    if guidance is not None and (
        float(guidance) <= 1 or repository.config("unet").get("time_cond_proj_dim")
    ):
        how = "true_cfg_scale=4" if by_true_cfg else "guidance_scale=5"
        unguided = f"without guidance above 1: add -M {how}, or leave it out"
        lacks |= dict.fromkeys((*NEGATIVE, "guidance_rescale"), unguided)
    if "negative_prompt" not in chosen:
        alone = "without a negative prompt: add -M negative_prompt=TEXT, or leave it out"
        first = ("true_cfg_scale",) if by_true_cfg else ()
        lacks |= dict.fromkeys(
            (*first, *(NEGATIVE[1:] if by_true_cfg or NEGATIVE[2] not in known else ())), alone
        )
    if step is None or "eta" not in inspect.signature(step).parameters:
        lacks["eta"] = (
            "with this model's scheduler: name one that takes it, as in -M scheduler=DDIM, or leave it out"
        )
    lacks |= dict.fromkeys(
        LAYERS, "without layers to skip, which cannot be named here: leave it out"
    )
    if not repository.config("scheduler").get("use_dynamic_shifting"):
        lacks["mu"] = "with this model's scheduler, which does not shift dynamically: leave it out"
    if by_true_cfg and repository.config("transformer").get("guidance_embeds") is False:
        lacks["guidance_scale"] = (
            "in this model, which was not distilled with guidance: leave it out"
        )
    for setting in given.keys() & lacks.keys():
        raise UsageError(f"{name}: {setting} changes nothing {lacks[setting]}")


def check_size(settings: Mapping[str, Setting], multiple: int, name: str) -> None:
    """Raises UsageError for a height without a width, which some families ignore, and for sides
    that do not fit.
    """
    sides = {side: settings[side] for side in SIDES if side in settings}
    for given, lacking in (SIDES, SIDES[::-1]):
        if given in sides and lacking not in sides:
            raise UsageError(
                f"{name}: {given} is given without {lacking}; give both, as in -M height=512 -M width=512"
            )
    for side, length in sides.items():
        if isinstance(length, int) and length % multiple:
            near = max(length // multiple, 1) * multiple
            raise UsageError(
                f"{name}: {side} is {length}; it must be a multiple of {multiple}, such as {near}"
            )


@contextmanager
def fitting(settings: Mapping[str, Setting], name: str) -> Iterator[None]:
    """What a pipeline or its scheduler says against the settings that it is called with becomes a
    UsageError.
    """
    try:
        yield
    except (IndexError, ValueError) as error:
        if not ABOUT_SETTINGS.search(extract_tb(error.__traceback__)[-1].filename):
            raise
        given = ", ".join(f"{setting}={value!r}" for setting, value in settings.items())
        fault = f"does not work with one of its settings ({given}): {str(error).rstrip('.')}"
        raise UsageError(f"{name} {fault}; change it or leave it out") from error


def scheduler_class(repository: Repository, wanted: str) -> type | None:
    """The class of the scheduler called `wanted`, with or without "Scheduler" at its end; None for
    the model's own. Raises UsageError for one that this model does not work with.
    """
    if not wanted:
        return None
    if "scheduler" not in repository.components:
        raise UsageError(
            f"{repository.name!r} has no scheduler that could be replaced: leave the scheduler out"
        )
    own = repository.kind("scheduler")
    known = {
        kind
        for kind in (own.__name__, *getattr(own, "_compatibles", ()))
        if hasattr(diffusers, kind)
    }
    kinds = {wanted, f"{wanted}Scheduler"} & known
    if not kinds:
        raise UnknownName(f"scheduler for {repository.name!r}", wanted, sorted(known))
    return cast("type", getattr(diffusers, kinds.pop()))
