"""Mitigations that change what a diffusion network receives and returns in each evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from pydantic import Field

from askew.errors import UsageError
from askew.mitigations.base import Mitigation, Rule, choose_part
from askew.models.base import Model, Request

if TYPE_CHECKING:
    from diffusers import DiffusionPipeline
    from torch import Tensor

T = TypeVar("T")

TRANSFORMER_FAMILY = "StableDiffusion3"
"""Beginning of the class names of pipelines with a transformer that some techniques steer."""

POOLED = ("text_embeds", "pooled_projections")
"""Arguments with a pooled vector of the text, of the networks of SDXL and of SD3."""


@dataclass(frozen=True, slots=True)
class NetworkCall:
    """One evaluation of the network for the images of a batch.

    The network receives the unconditional rows of all images, then the conditional rows.

    Attributes
    ----------
    pipeline
        The pipeline whose network is evaluated.
    requests
        Requests of the B images of the batch.
    step, steps
        Position of the evaluation in the scheduler's list of timesteps, from 0, and its length.
    scale
        Guidance scale.
    memory
        Results of `once` for this batch, by name.
    """

    pipeline: DiffusionPipeline
    requests: Sequence[Request]
    step: int
    steps: int
    scale: float
    memory: dict[str, object]

    def once(self, name: str, make: Callable[[], T]) -> T:
        """Return the result of `make`, which is called in the batch's first evaluation only."""
        if name not in self.memory:
            self.memory[name] = make()
        return cast("T", self.memory[name])


@dataclass(frozen=True, slots=True)
class TextStates:
    """Text as the network receives it.

    Attributes
    ----------
    states
        States of its tokens, (1, tokens, d).
    pooled
        Pooled vector, (1, d), or None if the pipeline has none.
    """

    states: Tensor
    pooled: Tensor | None


class Steering(Mitigation):
    """Mitigation of pipelines with classifier-free guidance.

    A technique overrides some of the four steps of an evaluation: `change_states`,
    `further_texts`, `evaluate` and `change_outputs`. It stores values between steps by `call.once`.
    Each batch starts without stored values, and images of a batch do not affect each other.
    """

    transformers: ClassVar[bool] = False
    """True for techniques that also work on the transformer of Stable Diffusion 3."""

    def wrap(self, model: Model) -> Model:
        """Return the model with its network steered.

        Raises
        ------
        UsageError
            If the model has no accessible network, or a network of another kind.
        """
        pipeline_class = getattr(model, "pipeline_class", None)
        if pipeline_class is None:
            raise UsageError(
                f"{self.method} works inside a diffusion network, but {model.name} gives no access "
                "to a network; use --technique prompts"
            )
        self._check(pipeline_class, f" of {model.name}")
        return super().wrap(model)

    def _check(self, pipeline_class: type, owner: str = "") -> None:
        """Raise UsageError for a pipeline whose network this technique cannot steer."""
        name = pipeline_class.__name__
        is_known_transformer = self.transformers and name.startswith(TRANSFORMER_FAMILY)
        parts = signature(pipeline_class.__init__).parameters  # type: ignore[misc]
        if not is_known_transformer and "unet" not in parts:
            also = " and on Stable Diffusion 3" if self.transformers else ""
            raise UsageError(
                f"{self.method} works on pipelines with a UNet{also}, but {name}{owner} has none; "
                "use --technique prompts"
            )

    def change_states(self, states: Tensor, call: NetworkCall) -> Tensor:
        """Return the text states (2 B, tokens, d) that this evaluation receives."""
        return states

    def further_texts(self, call: NetworkCall) -> list[str]:
        """Return further texts for which the network is evaluated, for every image."""
        return []

    def evaluate(
        self, network: Callable[[Tensor], Tensor], sample: Tensor, call: NetworkCall
    ) -> Tensor:
        """Return the network's outputs for all rows of `sample`."""
        return network(sample)

    def change_outputs(self, out: Tensor, others: Tensor, call: NetworkCall) -> Tensor:
        """Return the outputs that the pipeline receives.

        Parameters
        ----------
        out
            Outputs (2 B, …) of the unconditional, then of the conditional rows.
        others
            Outputs (texts, B, …) for the further texts.
        call
            The evaluation.
        """
        return out

    @contextmanager
    def steer(self, pipeline: DiffusionPipeline, requests: Sequence[Request]) -> Iterator[None]:
        """Evaluate the pipeline's network under this mitigation while the context is open."""
        self._check(type(pipeline))
        network = getattr(pipeline, "unet", None) or pipeline.transformer
        plain_forward = network.forward
        network.forward = _SteeredNetwork(self, pipeline, network, requests).forward
        try:
            yield
        finally:
            del network.forward
            # An offloading hook may have replaced the method of the class by its own function.
            if network.forward != plain_forward:
                network.forward = plain_forward


class _SteeredNetwork:
    """A network's `forward` under a steering, for one batch."""

    def __init__(
        self,
        steering: Steering,
        pipeline: DiffusionPipeline,
        network: Any,
        requests: Sequence[Request],
    ) -> None:
        self.steering = steering
        self.pipeline = pipeline
        self.requests = requests
        self.plain_forward = network.forward
        # A compiled network hides the parameters of the original one.
        self.signature = signature(getattr(network, "_orig_mod", network).forward)
        self.memory: dict[str, object] = {}

    def forward(self, *arguments: Any, **named: Any) -> Any:
        """Return what the network returns, with changed inputs and outputs."""
        import torch
        from diffusers.models.unets.unet_2d_condition import UNet2DConditionOutput

        given = dict(self.signature.bind(*arguments, **named).arguments)
        sample_name = "sample" if "sample" in given else "hidden_states"
        batch = len(self.requests)
        if len(given[sample_name]) != 2 * batch:
            raise UsageError(f"{self.steering.method} needs guidance; set a guidance_scale above 1")
        timestep = torch.as_tensor(given["timestep"]).flatten()[0]
        call = self._call_at(timestep)
        texts = self._further_texts(call)
        changed = given | self._text_arguments(given, call, texts)
        changed["return_dict"] = False
        sample = self._join(given[sample_name], [None] * len(texts))
        if torch.is_tensor(given["timestep"]) and given["timestep"].ndim:
            changed["timestep"] = timestep.expand(len(sample))

        def network(rows: Tensor) -> Tensor:
            output: Tensor = self.plain_forward(**{**changed, sample_name: rows})[0]
            return output

        out = self.steering.evaluate(network, sample, call)
        others = out[2 * batch :].reshape(len(texts), batch, *out.shape[1:])
        result = self.steering.change_outputs(out[: 2 * batch], others, call)
        if given.get("return_dict", True):
            return UNet2DConditionOutput(sample=result)
        return (result,)

    def _call_at(self, timestep: Tensor) -> NetworkCall:
        """Describe the evaluation at a timestep."""
        timesteps = self.pipeline.scheduler.timesteps
        return NetworkCall(
            pipeline=self.pipeline,
            requests=self.requests,
            step=int((timesteps - float(timestep)).abs().argmin()),
            steps=len(timesteps),
            scale=float(self.pipeline.guidance_scale),
            memory=self.memory,
        )

    def _further_texts(self, call: NetworkCall) -> list[TextStates]:
        """Encode the further texts of the steering, once for the batch."""
        return [
            call.once(f"text {text}", partial(encode_text, self.pipeline, text))
            for text in self.steering.further_texts(call)
        ]

    def _text_arguments(
        self, given: Mapping[str, Any], call: NetworkCall, texts: Sequence[TextStates]
    ) -> dict[str, Any]:
        """Return the network's arguments that describe texts, with rows for the further texts."""
        # SDXL receives conditions besides the states in a dictionary, SD3 as an argument.
        nested = given.get("added_cond_kwargs") or {}
        conditions = nested or {
            name: given[name] for name in ("pooled_projections",) if name in given
        }
        pooled = [text.pooled for text in texts]
        joined = {}
        for name, rows in conditions.items():
            further = pooled if name in POOLED else [None] * len(texts)
            joined[name] = self._join(rows, further)
        states = self._join(
            self.steering.change_states(given["encoder_hidden_states"], call),
            [text.states for text in texts],
        )
        changed = {"added_cond_kwargs": joined} if nested else joined
        return {"encoder_hidden_states": states, **changed}

    def _join(self, rows: Tensor, further: Sequence[Tensor | None]) -> Tensor:
        """Append rows for each further text: its vector, or None for the conditional half."""
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
    """Steering of each image towards one value of every target axis.

    Attributes
    ----------
    targets
        Wanted share of each value, by axis.
    rule
        Rule by which a value is assigned to an image.
    """

    targets: dict[str, dict[str, float]] = Field(min_length=1)
    rule: Rule = "quota"

    def requested_values(self, request: Request) -> Mapping[str, str]:
        """Return the value of every target axis that is requested of an image."""
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


def encode_text(pipeline: DiffusionPipeline, text: str) -> TextStates:
    """Encode a text by the pipeline's text encoders, without guidance."""
    parameters = signature(pipeline.encode_prompt).parameters
    other_prompts = [name for name in ("prompt_2", "prompt_3") if name in parameters]
    encoded = pipeline.encode_prompt(
        prompt=text,
        device=pipeline._execution_device,
        num_images_per_prompt=1,
        do_classifier_free_guidance=False,
        **dict.fromkeys(other_prompts),
    )
    return TextStates(states=encoded[0], pooled=encoded[2] if len(encoded) > 2 else None)
