"""Mitigations that change the inputs and outputs of a diffusion network at each evaluation.

Several techniques can steer the same network. Techniques that replace a text are applied first,
then techniques that change the guidance scale, then all others in the order of their contexts.
With this order, no technique undoes the change that another technique makes, and the order of the
contexts affects only rounding errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from pydantic import Field

from askew.errors import UsageError
from askew.mitigations.assignment import Rule, choose_part
from askew.mitigations.base import Mitigation
from askew.models.base import Model, Request, Setting
from askew.store.files import digest_of

if TYPE_CHECKING:
    from diffusers import DiffusionPipeline
    from torch import Tensor

T = TypeVar("T")

UNET_CLASSES = frozenset(
    (
        "StableDiffusionPipeline",
        "StableDiffusionImg2ImgPipeline",
        "StableDiffusionXLPipeline",
        "StableDiffusionXLImg2ImgPipeline",
    )
)
"""Pipelines whose UNet all techniques can steer. Other pipelines call their UNet differently."""

TRANSFORMER_CLASSES = frozenset(("StableDiffusion3Pipeline", "StableDiffusion3Img2ImgPipeline"))
"""Pipelines whose transformer can be steered by some of the techniques."""

POOLED = ("text_embeds", "pooled_projections")
"""Names of the network argument that contains a text's pooled vector, in SDXL and in SD3."""

REPLACES_TEXT = 0
CHANGES_GUIDANCE = 1
ADDS = 2
"""Stages at which techniques change an evaluation, in this order."""


@dataclass(frozen=True, slots=True)
class TextStates:
    """Encoded text, as the network receives it.

    Attributes
    ----------
    states
        State of each token in the text, of shape (1, tokens, d).
    pooled
        Pooled vector of the text, of shape (1, d). None if the pipeline has no pooled vectors.
    """

    states: Tensor
    pooled: Tensor | None


@dataclass(frozen=True, slots=True)
class TextInputs:
    """Encoded texts of a batch: B unconditional rows, then B conditional rows.

    Attributes
    ----------
    states
        State of each token in each text, of shape (2 B, tokens, d).
    pooled
        Pooled vectors of the texts, of shape (2 B, d), for SDXL and SD3. None if the pipeline has
        no pooled vectors.
    """

    states: Tensor
    pooled: Tensor | None

    def with_unconditional(self, text: TextStates) -> TextInputs:
        """Return inputs with `text` in place of the unconditional text of every image."""
        return TextInputs(
            states=_with_first_half(self.states, text.states),
            pooled=None if self.pooled is None else _with_first_half(self.pooled, text.pooled),
        )


def _with_first_half(rows: Tensor, row: Tensor | None) -> Tensor:
    """Replace the first B of the 2 B `rows` with B copies of `row`."""
    import torch

    if row is None:
        raise UsageError("the pipeline's text encoders return no pooled vector for a text")
    batch = len(rows) // 2
    return torch.cat([row.to(rows).expand(batch, *rows.shape[1:]), rows[batch:]])


@dataclass(frozen=True, slots=True)
class NetworkCall:
    """One evaluation of the network for a batch of images.

    The network receives the unconditional rows of all B images, followed by their conditional rows.

    Attributes
    ----------
    pipeline
        The pipeline whose network is evaluated.
    requests
        Requests for the B images of the batch.
    prompts
        Prompts that the pipeline received for the B images.
    step, steps
        Zero-based index of this evaluation's timestep in the scheduler's list of timesteps, and the
        length of the list.
    scale
        Guidance scale.
    tokens
        Number of token states in an encoded text.
    memory
        Results that `once` has stored for this batch and technique, keyed by name.
    """

    pipeline: DiffusionPipeline
    requests: Sequence[Request]
    prompts: Sequence[str]
    step: int
    steps: int
    scale: float
    tokens: int
    memory: dict[str, object]

    def once(self, name: str, make: Callable[[], T]) -> T:
        """Return the result of `make`, which is called only once per batch.

        askew calls `make` only in the first evaluation of a batch, and stores the result.
        """
        if name not in self.memory:
            self.memory[name] = make()
        return cast("T", self.memory[name])

    def encoded(self, text: str) -> TextStates:
        """Encode a text as the pipeline encodes prompts.

        The text is encoded only once per batch.
        """
        clip_skip = getattr(self.pipeline, "_clip_skip", None)
        return self._encoded_once(f"text {text}", text, clip_skip)

    def encoded_negative(self, text: str) -> TextStates:
        """Encode a text as the pipeline encodes negative prompts, with all encoder layers."""
        return self._encoded_once(f"negative text {text}", text, None)

    def _encoded_once(self, name: str, text: str, clip_skip: int | None) -> TextStates:
        return self.once(
            name, partial(encode_text, self.pipeline, text, self.tokens, clip_skip=clip_skip)
        )


class Steering(Mitigation):
    """Mitigation that steers the network of a pipeline that uses classifier-free guidance.

    An evaluation has four steps, and a technique overrides some of these steps: `change_texts`,
    `further_texts`, `evaluate` and `change_outputs`. With `call.once`, a technique can keep values
    from one evaluation to the next. Each batch starts with no stored values, and the images in a
    batch do not affect each other.
    """

    transformers: ClassVar[bool] = False
    """True if the technique also works on the transformer of Stable Diffusion 3."""

    stage: ClassVar[int] = ADDS
    """Stage at which the technique changes an evaluation."""

    encodes_texts: ClassVar[bool] = False
    """True if the technique encodes texts as the pipeline encodes prompts."""

    steers_outputs: ClassVar[bool] = False
    """True if the technique changes the network's outputs for the conditional rows."""

    def wrap(self, model: Model) -> Model:
        """Return the model with a steered network.

        Raises
        ------
        UsageError
            If the model does not provide access to its network, if the technique does not support
            this kind of network, or if the technique does not work with the model's settings.
        """
        pipeline_class = getattr(model, "pipeline_class", None)
        if pipeline_class is None:
            raise UsageError(
                f"{self.method} works inside a diffusion network, but {model.name} does not "
                "provide access to a network; use --technique prompts"
            )
        self.check_class(pipeline_class, f" of {model.name}")
        self._check_settings(pipeline_class, model.settings)
        repository = getattr(model, "repository", None)
        if repository is not None and repository.config("unet").get("time_cond_proj_dim"):
            raise UsageError(
                f"{self.method} needs a prediction without the prompt, but the UNet of "
                f"{model.name} takes the guidance scale as an input and never makes such a "
                "prediction; use --technique prompts"
            )
        return super().wrap(model)

    def check_class(self, pipeline_class: type, owner: str = "") -> None:
        """Raise UsageError for a pipeline whose network this technique cannot steer.

        Parameters
        ----------
        pipeline_class
            Class of the pipeline.
        owner
            Text that follows the class name in the error message, such as " of studio".
        """
        names = {kind.__name__ for kind in pipeline_class.__mro__}
        known = UNET_CLASSES | TRANSFORMER_CLASSES if self.transformers else UNET_CLASSES
        if not names & known:
            families = "1, 2, XL and 3" if self.transformers else "1, 2 and XL"
            raise UsageError(
                f"{self.method} works on pipelines of Stable Diffusion {families}, but not on the "
                f"{pipeline_class.__name__}{owner}; use --technique prompts"
            )

    def _check_settings(self, pipeline_class: type, settings: Mapping[str, Setting]) -> None:
        """Raise UsageError if the technique does not work with the settings of a model."""
        defaults = signature(pipeline_class.__call__).parameters
        values: dict[str, Any] = {}
        for name in ("guidance_scale", "guidance_rescale", "clip_skip"):
            default = defaults[name].default if name in defaults else None
            values[name] = settings.get(name, default)
        scale = values["guidance_scale"]
        if isinstance(scale, int | float) and scale <= 1:
            raise UsageError(f"{self.method} needs guidance; set a guidance_scale above 1")
        self.check_call(rescale=values["guidance_rescale"], clip_skip=values["clip_skip"])

    def check_call(self, rescale: float | None, clip_skip: int | None) -> None:
        """Raise UsageError if the technique does not work with the settings of a pipeline's call.

        Parameters
        ----------
        rescale
            The setting guidance_rescale, which rescales the guided output to match the conditional
            output.
        clip_skip
            The setting clip_skip.
        """
        if self.steers_outputs and rescale:
            raise UsageError(
                f"{self.method} does not work with guidance_rescale={rescale:g}, because this "
                f"setting rescales the guided output to match an output that {self.method} "
                "changes; omit guidance_rescale"
            )

    def fingerprint_on(self, model: Model) -> str:
        """Digest that differs from `fingerprint` if the model's settings contain clip_skip.

        Earlier versions of askew ignored clip_skip when they encoded texts.
        """
        if self.encodes_texts and model.settings.get("clip_skip"):
            return digest_of([self.fingerprint, "clip_skip"])[:16]
        return self.fingerprint

    def change_texts(self, texts: TextInputs, call: NetworkCall) -> TextInputs:
        """Return the encoded texts that the network receives in this evaluation."""
        return texts

    def further_texts(self, call: NetworkCall) -> list[str]:
        """Return the additional texts with which the network is evaluated for every image."""
        return []

    def evaluate(
        self, network: Callable[[Tensor], Tensor], sample: Tensor, call: NetworkCall
    ) -> Tensor:
        """Return the network's outputs for all rows of `sample`.

        The first B rows are the unconditional rows, and the next B rows are the conditional rows.
        The rows for the additional texts of all techniques follow the conditional rows.
        """
        return network(sample)

    def change_outputs(self, out: Tensor, others: Tensor, call: NetworkCall) -> Tensor:
        """Return the outputs that the pipeline receives in place of the network's outputs.

        Parameters
        ----------
        out
            Network outputs of shape (2 B, …), for the unconditional rows, followed by the
            conditional rows.
        others
            Network outputs of shape (texts, B, …), for the technique's additional texts.
        call
            The evaluation.
        """
        return out

    @contextmanager
    def steer(
        self,
        pipeline: DiffusionPipeline,
        requests: Sequence[Request],
        prompts: Sequence[str] | None = None,
    ) -> Iterator[None]:
        """Provide a context in which the mitigation changes the pipeline's network."""
        self.check_class(type(pipeline))
        network = getattr(pipeline, "unet", None) or pipeline.transformer
        steered = getattr(network.forward, "__self__", None)
        if isinstance(steered, _SteeredNetwork):
            with steered.joined_by(self):
                yield
            return
        plain_forward = network.forward
        if prompts is None:
            prompts = [request.prompt for request in requests]
        steered = _SteeredNetwork(pipeline, network, requests, prompts)
        network.forward = steered.forward
        try:
            with steered.joined_by(self):
                yield
        finally:
            del network.forward
            # An offloading hook may have replaced the method of the class by its own function.
            if network.forward != plain_forward:
                network.forward = plain_forward


def _parts(pipeline_class: type) -> Mapping[str, object]:
    """Return the components of a pipeline class, keyed by name."""
    return signature(pipeline_class.__init__).parameters  # type: ignore[misc]


def has_pooled_vectors(model: Model) -> bool:
    """Check whether a model's network receives pooled vectors, as in SDXL and SD3."""
    pipeline_class = getattr(model, "pipeline_class", None)
    return pipeline_class is not None and "text_encoder_2" in _parts(pipeline_class)


@dataclass(frozen=True, slots=True)
class _Steered:
    """The part of an evaluation that belongs to a single technique.

    Attributes
    ----------
    steering
        The technique.
    call
        The current evaluation of the network, including the technique's memory.
    texts
        The technique's additional texts.
    first
        Index of the technique's first additional text among the additional texts of all techniques.
    """

    steering: Steering
    call: NetworkCall
    texts: Sequence[TextStates]
    first: int

    def evaluate(self, network: Callable[[Tensor], Tensor], sample: Tensor) -> Tensor:
        """Return the outputs for all rows, with the technique's changes in the first 2 B rows."""
        import torch

        out = self.steering.evaluate(network, sample, self.call)
        batch = len(self.call.requests)
        start = (2 + self.first) * batch
        stop = start + len(self.texts) * batch
        # The gradient of entanglement needs no outputs.
        with torch.no_grad():
            rows = out.detach()
            others = rows[start:stop].reshape(len(self.texts), batch, *out.shape[1:])
            changed = self.steering.change_outputs(rows[: 2 * batch], others, self.call)
            return torch.cat([changed, rows[2 * batch :]])


class _SteeredNetwork:
    """Replacement for a network's `forward` that applies one or more techniques to a batch."""

    def __init__(
        self,
        pipeline: DiffusionPipeline,
        network: Any,
        requests: Sequence[Request],
        prompts: Sequence[str],
    ) -> None:
        self.pipeline = pipeline
        self.requests = requests
        self.prompts = prompts
        self.plain_forward = network.forward
        # A compiled network hides the parameters of the original one.
        self.signature = signature(getattr(network, "_orig_mod", network).forward)
        self.steerings: list[tuple[Steering, dict[str, object]]] = []

    @contextmanager
    def joined_by(self, steering: Steering) -> Iterator[None]:
        """Provide a context in which a technique steers the network."""
        entry: tuple[Steering, dict[str, object]] = (steering, {})
        self.steerings.append(entry)
        self.steerings.sort(key=lambda item: item[0].stage)
        try:
            yield
        finally:
            self.steerings = [other for other in self.steerings if other is not entry]

    def forward(self, *arguments: Any, **named: Any) -> Any:
        """Evaluate the network with changed inputs, and return its changed outputs."""
        import torch
        from diffusers.models.unets.unet_2d_condition import UNet2DConditionOutput

        given = dict(self.signature.bind(*arguments, **named).arguments)
        sample_name = "sample" if "sample" in given else "hidden_states"
        self._check(given, len(given[sample_name]))
        timestep = torch.as_tensor(given["timestep"]).flatten()[0]
        techniques = self._techniques_at(timestep, given["encoder_hidden_states"].shape[1])
        texts = [text for technique in techniques for text in technique.texts]
        changed = given | self._text_arguments(given, techniques, texts)
        changed["return_dict"] = False
        sample = self._join(given[sample_name], [None] * len(texts))
        if torch.is_tensor(given["timestep"]) and given["timestep"].ndim:
            changed["timestep"] = timestep.expand(len(sample))

        def network(rows: Tensor) -> Tensor:
            output: Tensor = self.plain_forward(**{**changed, sample_name: rows})[0]
            return output

        for technique in techniques:
            network = partial(technique.evaluate, network)
        result = network(sample)[: 2 * len(self.requests)]
        if given.get("return_dict", True):
            return UNet2DConditionOutput(sample=result)
        return (result,)

    def _check(self, given: Mapping[str, Any], rows: int) -> None:
        """Raise UsageError if a technique does not work with this call."""
        for steering, _ in self.steerings:
            if given.get("skip_layers"):
                raise UsageError(
                    f"{steering.method} does not work with skip-layer guidance; omit "
                    "skip_guidance_layers"
                )
            if rows < 2 * len(self.requests):
                raise UsageError(f"{steering.method} needs guidance; set a guidance_scale above 1")
            if rows > 2 * len(self.requests):
                raise UsageError(
                    f"{steering.method} needs two network evaluations per image, but "
                    f"{type(self.pipeline).__name__} makes {rows} evaluations for "
                    f"{len(self.requests)} images"
                )
            steering.check_call(
                rescale=getattr(self.pipeline, "_guidance_rescale", None),
                clip_skip=getattr(self.pipeline, "_clip_skip", None),
            )

    def _techniques_at(self, timestep: Tensor, tokens: int) -> list[_Steered]:
        """Return the parts of an evaluation at a timestep, one for each technique."""
        timesteps = self.pipeline.scheduler.timesteps
        step = int((timesteps - float(timestep)).abs().argmin())
        techniques: list[_Steered] = []
        count = 0
        for steering, memory in self.steerings:
            call = NetworkCall(
                pipeline=self.pipeline,
                requests=self.requests,
                prompts=self.prompts,
                step=step,
                steps=len(timesteps),
                scale=float(self.pipeline.guidance_scale),
                tokens=tokens,
                memory=memory,
            )
            texts = [call.encoded(text) for text in steering.further_texts(call)]
            techniques.append(_Steered(steering=steering, call=call, texts=texts, first=count))
            count += len(texts)
        return techniques

    def _text_arguments(
        self, given: Mapping[str, Any], techniques: Sequence[_Steered], texts: Sequence[TextStates]
    ) -> dict[str, Any]:
        """Return the network's text arguments, with appended rows for the additional texts."""
        # SDXL receives conditions besides the states in a dictionary, SD3 as an argument.
        nested = given.get("added_cond_kwargs") or {}
        conditions = nested or {name: given[name] for name in POOLED if name in given}
        pooled_name = next((name for name in POOLED if name in conditions), None)
        inputs = TextInputs(
            states=given["encoder_hidden_states"], pooled=conditions.get(pooled_name)
        )
        for technique in techniques:
            inputs = technique.steering.change_texts(inputs, technique.call)
        states = self._join(inputs.states, [text.states for text in texts])
        joined = {name: self._join(rows, [None] * len(texts)) for name, rows in conditions.items()}
        if pooled_name is not None and inputs.pooled is not None:
            joined[pooled_name] = self._join(inputs.pooled, [text.pooled for text in texts])
        changed = {"added_cond_kwargs": joined} if nested else joined
        return {"encoder_hidden_states": states, **changed}

    def _join(self, rows: Tensor, further: Sequence[Tensor | None]) -> Tensor:
        """For each additional text, append its vector to the rows, once for each image.

        If the vector is None, append the conditional half of the rows.
        """
        import torch

        batch = len(self.requests)
        parts = [rows]
        for vector in further:
            if vector is None:
                parts.append(rows[batch:])
            else:
                parts.append(vector.to(rows).expand(batch, *rows.shape[1:]))
        return torch.cat(parts)


class TargetSteering(Steering):
    """Mitigation that steers each image toward a requested value on every target axis.

    Attributes
    ----------
    targets
        For each axis, the target share of each value.
    rule
        Rule that assigns a value to each image.
    """

    targets: dict[str, dict[str, float]] = Field(min_length=1)
    rule: Rule = "quota"

    @property
    def requested_axes(self) -> set[str]:
        """Names of the target axes."""
        return {*self.targets}

    def conflict_with(self, other: Mitigation) -> str | None:
        """Return the reason why another mitigation conflicts with this one; None if there is none.

        Two techniques with the same targets do not conflict, since they request the same values for
        each image.
        """
        is_same_request = (
            isinstance(other, TargetSteering)
            and [*self.targets.items()] == [*other.targets.items()]
            and self.rule == other.rule
        )
        if is_same_request and self.method != other.method:
            return None
        return super().conflict_with(other)

    def requested_values(self, request: Request) -> Mapping[str, str]:
        """Return the value that is requested for an image on each target axis."""
        requested = {}
        for position, (axis, shares) in enumerate(self.targets.items()):
            index = choose_part(
                [*shares.values()],
                f"{request.prompt} {axis}",
                request,
                rule=self.rule,
                axis=position,
            )
            requested[axis] = [*shares][index]
        return requested


def encode_text(
    pipeline: DiffusionPipeline, text: str, tokens: int, clip_skip: int | None
) -> TextStates:
    """Encode a text with the pipeline's text encoders, without guidance.

    Parameters
    ----------
    pipeline
        The pipeline, with the settings of its current call.
    text
        The text.
    tokens
        Number of token states in the pipeline's encoded prompts. The encoded text is given the same
        number of token states as the prompts.
    clip_skip
        Number of CLIP's final layers to skip.
    """
    parameters = signature(pipeline.encode_prompt).parameters
    arguments: dict[str, Any] = dict.fromkeys(
        name for name in ("prompt_2", "prompt_3") if name in parameters
    )
    if "clip_skip" in parameters:
        arguments["clip_skip"] = clip_skip
    if "max_sequence_length" in parameters and hasattr(pipeline, "tokenizer_max_length"):
        # States of CLIP come first, then those of T5.
        arguments["max_sequence_length"] = tokens - pipeline.tokenizer_max_length
    encoded = pipeline.encode_prompt(
        prompt=text,
        device=pipeline._execution_device,
        num_images_per_prompt=1,
        do_classifier_free_guidance=False,
        **arguments,
    )
    return TextStates(states=encoded[0], pooled=encoded[2] if len(encoded) > 2 else None)
