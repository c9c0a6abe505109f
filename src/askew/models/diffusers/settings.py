"""Settings of diffusers pipelines, and checks that the user's settings have an effect."""

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
from askew.models.diffusers.families import call_signature
from askew.models.diffusers.repository import Repository
from askew.models.pipeline_constants import CAPTION_CLEANING

MULTIPLES: Mapping[str, int] = {
    "PixArtAlphaPipeline": 8,
    "PixArtSigmaPipeline": 8,
    "StableDiffusionPipeline": 8,
    "StableDiffusionXLPipeline": 8,
    "FluxPipeline": 16,
    "ChromaPipeline": 16,
    "QwenImagePipeline": 16,
    "BriaFiboPipeline": 16,
    "Krea2Pipeline": 16,
    "SanaPipeline": 32,
    "SanaSprintPipeline": 32,
}
"""Number that must divide height and width, keyed by pipeline class.

Flux, Chroma, Qwen-Image and Krea 2 would round other sizes without a warning.
"""

RECORDED = (
    "clean_caption",
    "guidance_scale",
    "num_inference_steps",
    "prior_guidance_scale",
    "prior_num_inference_steps",
    "true_cfg_scale",
)
"""Parameters whose defaults are recorded together with the user's settings.

As a result, askew generates new images if a new version of diffusers changes one of these defaults.
"""

NOT_SETTINGS = (
    "prompt",
    "prompt_2",
    "prompt_3",
    "num_images_per_prompt",
    "output_type",
    "return_dict",
    "callback_steps",
)
OTHERS = (
    "batch_size",
    "config",
    "device",
    "dtype",
    "lora",
    "offload",
    "revision",
    "scheduler",
    "textual_inversion",
    "variant",
)
"""Settings that are not parameters of the pipeline's call."""

WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
SIDES = ("height", "width")
AT_LEAST_ONE = ("num_inference_steps", "prior_num_inference_steps", *SIDES)
ABOUT_SETTINGS = re.compile(r"[/\\]diffusers[/\\](?:pipelines|schedulers)[/\\]")
"""Pattern for the paths of the diffusers files that check and use settings.

Errors raised in other files, such as network code, are not about settings.
"""

NEGATIVE = ("negative_prompt", "negative_prompt_2", "negative_prompt_3")
LAYERS = ("skip_layer_guidance_scale", "skip_layer_guidance_start", "skip_layer_guidance_stop")


@dataclass(frozen=True, slots=True)
class Parameter:
    """Parameter of a pipeline's call that a user can set.

    Attributes
    ----------
    kind
        Type of the parameter: bool, int, float or str.
    default
        The pipeline's default.
    """

    kind: type
    default: Setting | None


def parameters(family: type) -> dict[str, Parameter]:
    """Return the string, numeric and boolean parameters of a pipeline's call that users can set."""
    known = {}
    for name, parameter in call_signature(family).items():
        kind = _setting_kind(parameter)
        if kind is not None and name not in NOT_SETTINGS:
            known[name] = Parameter(kind=kind, default=parameter.default)
    return known


def _setting_kind(parameter: inspect.Parameter) -> type | None:
    """Return the type of a parameter; None if a user cannot set it."""
    annotation = parameter.annotation
    options = (annotation,)
    if get_origin(annotation) in (Union, UnionType):
        options = get_args(annotation)
    kinds = {*options, type(parameter.default)}
    return next((kind for kind in (bool, int, float, str) if kind in kinds), None)


def call_arguments(
    family: type,
    prompts: Sequence[str],
    generators: Sequence[torch.Generator],
    settings: Mapping[str, Setting],
    output: str = "np",
) -> dict[str, Any]:
    """Return the arguments of a call that generates one image for each prompt.

    The images have values in [0, 1]. `output` is "np" for arrays or "pt" for a tensor on the
    pipeline's device.
    """
    known = call_signature(family)
    negative = {
        name: [value] * len(prompts)
        for name, value in settings.items()
        if name.startswith("negative_prompt")
    }
    call_generators = list(generators)
    if negative and family.__name__.startswith("KandinskyV22"):
        # Its prior appends the negative prompts to the prompts, a batch of twice the size.
        call_generators *= 2
    arguments = {
        "prompt": list(prompts),
        **settings,
        **negative,
        "output_type": output,
        "generator": call_generators,
    }
    return {name: value for name, value in arguments.items() if name in known}


def call_settings(
    known: Mapping[str, Parameter],
    defaults: Mapping[str, Setting],
    given: Mapping[str, Setting],
    name: str,
) -> dict[str, Setting]:
    """Return the settings with which askew calls a pipeline, keyed by name.

    Parameters
    ----------
    known
        Parameters of the pipeline's call.
    defaults
        Settings that replace the pipeline's own defaults.
    given
        The user's settings, which override all defaults.
    name
        Name of the model, for messages.

    Raises
    ------
    UsageError
        If a setting does not exist or has the wrong type. The message lists the known settings.
    """
    for setting in given:
        if setting not in known:
            raise UsageError(f"{name}: {UnknownName('setting', setting, (*known, *OTHERS))}")
    recorded = {setting: known[setting].default for setting in RECORDED if setting in known}
    absent = [package for module, package in CAPTION_CLEANING.items() if find_spec(module) is None]
    if "clean_caption" in recorded and absent:
        # diffusers would skip the cleaning without a warning.
        recorded["clean_caption"] = False
        if given.get("clean_caption") is True:
            raise UsageError(
                f"clean_caption needs additional packages: pip install {' '.join(absent)}"
            )
    usable = {setting: value for setting, value in defaults.items() if setting in known}
    chosen = {**recorded, **usable, **given}
    return {
        setting: _checked_value(setting, value, known[setting].kind, name)
        for setting, value in sorted(chosen.items())
        if value is not None
    }


def _checked_value(setting: str, value: Setting, kind: type, name: str) -> Setting:
    """Convert a value to the type of its setting; raise UsageError if it does not fit."""
    if not _fits(value, kind):
        raise UsageError(f"{name}: {setting} is {value!r}; it must be {WORDS[kind]}")
    if setting in AT_LEAST_ONE and float(value) < 1:
        raise UsageError(f"{name}: {setting} is {value}; it must be at least 1")
    converted: Setting = kind(value)
    return converted


def _fits(value: Setting, kind: type) -> bool:
    """Check whether a value can be converted to a type without loss."""
    if isinstance(value, bool) != (kind is bool):
        return False
    if kind is int:
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if kind is float:
        return isinstance(value, int | float) and math.isfinite(value)
    return True


@dataclass(frozen=True, slots=True)
class ChosenSettings:
    """Settings of a pipeline, and the facts that determine whether each setting has an effect.

    Attributes
    ----------
    repository
        The pipeline's repository.
    known
        Parameters of the pipeline's call.
    chosen
        Settings with which the pipeline is called.
    scheduler
        Class that replaces the pipeline's scheduler, or None.
    """

    repository: Repository
    known: Mapping[str, Parameter]
    chosen: Mapping[str, Setting]
    scheduler: type | None

    @property
    def uses_true_cfg(self) -> bool:
        """True if the pipeline's parameter for classifier-free guidance is `true_cfg_scale`."""
        return "true_cfg_scale" in self.known

    def check_effects(self, given: Mapping[str, Setting], name: str) -> None:
        """Check that each of the user's settings has an effect.

        Parameters
        ----------
        given
            The user's settings.
        name
            Name of the model, for messages.

        Raises
        ------
        UsageError
            If a setting would have no effect, given the other settings.
        """
        reasons = {
            **self._without_guidance(),
            **self._without_negative_prompt(),
            **self._without_scheduler_support(),
            **dict.fromkeys(
                LAYERS,
                "{setting} has no effect because askew cannot set the layers to skip; "
                "omit this setting",
            ),
        }
        transformer = self.repository.config("transformer")
        if self.uses_true_cfg and transformer.get("guidance_embeds") is False:
            reasons["guidance_scale"] = (
                "{setting} has no effect because the model was not distilled with guidance; "
                "omit this setting"
            )
        if self.repository.is_distilled:
            reasons["guidance_scale"] = (
                "{setting} has no effect because the model is distilled; omit this setting"
            )
        for setting in given.keys() & reasons.keys():
            raise UsageError(f"{name}: {reasons[setting].format(setting=setting)}")

    def _without_guidance(self) -> dict[str, str]:
        """Return the message for each setting that has no effect because guidance is off."""
        scale = self.chosen.get("true_cfg_scale" if self.uses_true_cfg else "guidance_scale")
        has_guidance_input = self.repository.config("unet").get("time_cond_proj_dim")
        if scale is None or (float(scale) > 1 and not has_guidance_input):
            return {}
        example = "true_cfg_scale=4" if self.uses_true_cfg else "guidance_scale=5"
        reason = (
            f"{{setting}} has no effect unless guidance is above 1; add -M {example}, "
            "or omit this setting"
        )
        return dict.fromkeys((*NEGATIVE, "guidance_rescale"), reason)

    def _without_negative_prompt(self) -> dict[str, str]:
        """Return the message for each setting that has no effect without a negative prompt."""
        if "negative_prompt" in self.chosen:
            return {}
        settings: list[str] = ["true_cfg_scale"] if self.uses_true_cfg else []
        # With a third text encoder, the further negative prompts work without the first.
        if self.uses_true_cfg or NEGATIVE[2] not in self.known:
            settings += NEGATIVE[1:]
        reason = (
            "{setting} has no effect without a negative prompt; "
            "add -M negative_prompt=TEXT, or omit this setting"
        )
        return dict.fromkeys(settings, reason)

    def _without_scheduler_support(self) -> dict[str, str]:
        """Return the message for each setting that the scheduler does not use."""
        reasons = {}
        scheduler = self.scheduler
        if scheduler is None and "scheduler" in self.repository.components:
            scheduler = self.repository.kind("scheduler")
        step = getattr(scheduler, "step", None)
        if step is None or "eta" not in inspect.signature(step).parameters:
            reasons["eta"] = (
                "{setting} has no effect with this model's scheduler; choose a scheduler that "
                "uses it, as in -M scheduler=DDIM, or omit this setting"
            )
        if not self.repository.config("scheduler").get("use_dynamic_shifting"):
            reasons["mu"] = (
                "{setting} has no effect because this model's scheduler does not use dynamic "
                "shifting; omit this setting"
            )
        return reasons


def check_size(settings: Mapping[str, Setting], multiple: int, name: str) -> None:
    """Check that height and width are given together and are multiples of `multiple`.

    Raises
    ------
    UsageError
        If only the height or only the width is given (some families would ignore it), or if one of
        them is not a multiple of `multiple`.
    """
    sides = {side: settings[side] for side in SIDES if side in settings}
    for side in SIDES:
        if sides and side not in sides:
            given = next(iter(sides))
            raise UsageError(
                f"{name}: {given} is given without {side}; give both, as in "
                "-M height=512 -M width=512"
            )
    for side, length in sides.items():
        if isinstance(length, int) and length % multiple:
            near = max(length // multiple, 1) * multiple
            raise UsageError(
                f"{name}: {side} is {length}; it must be a multiple of {multiple}, such as {near}"
            )


@contextmanager
def fitting(settings: Mapping[str, Setting], name: str) -> Iterator[None]:
    """Convert setting-related errors raised in this context to UsageError."""
    try:
        yield
    except (IndexError, ValueError) as error:
        if not ABOUT_SETTINGS.search(extract_tb(error.__traceback__)[-1].filename):
            raise
        given = ", ".join(f"{setting}={value!r}" for setting, value in settings.items())
        raise UsageError(
            f"{name} does not work with one of its settings ({given}): {str(error).rstrip('.')}; "
            "change or omit the setting"
        ) from error


def scheduler_class(repository: Repository, name: str) -> type | None:
    """Return the class of the scheduler that replaces the model's own scheduler.

    Parameters
    ----------
    repository
        The model's repository.
    name
        Name of the class, with or without "Scheduler" at its end. Empty for the model's own
        scheduler.

    Returns
    -------
    type or None
        The class; None if the model keeps its own scheduler.

    Raises
    ------
    UsageError
        If the model does not work with this scheduler.
    """
    if not name:
        return None
    if "scheduler" not in repository.components:
        raise UsageError(
            f"{repository.name!r} has no scheduler that could be replaced; omit -M scheduler"
        )
    original = repository.kind("scheduler")
    compatible = (original.__name__, *getattr(original, "_compatibles", ()))
    known = {kind for kind in compatible if hasattr(diffusers, kind)}
    kinds = {name, f"{name}Scheduler"} & known
    if not kinds:
        raise UnknownName(f"scheduler for {repository.name!r}", name, sorted(known))
    kind = getattr(diffusers, kinds.pop())
    # diffusers has a stand-in for a class whose packages are not installed
    absent = [package for package in getattr(kind, "_backends", ()) if find_spec(package) is None]
    if absent:
        raise UsageError(
            f"-M scheduler={name} needs a package that is not installed: "
            f"pip install {' '.join(absent)}"
        )
    return cast("type", kind)
