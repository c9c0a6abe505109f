"""How a mitigation reaches into a diffusion pipeline: what its network is given and what it
returns, call by call.
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
from askew.mitigations.base import Mitigation, Rule, choose_part
from askew.models.base import Model, Request

if TYPE_CHECKING:
    from diffusers import DiffusionPipeline
    from torch import Tensor

T = TypeVar("T")

POOLED = ("text_embeds", "pooled_projections")
"""What SDXL's network, and that of SD3, are given of a text beside its states."""


@dataclass(frozen=True, slots=True)
class NetworkCall:
    """One evaluation of the network for the pictures of `requests`, in the order unconditional,
    then conditional rows.

    step   of `steps`, from 0, by the scheduler's list of times
    scale  of the guidance
    kept   what `once` has made for this batch
    """

    pipeline: DiffusionPipeline
    requests: Sequence[Request]
    step: int
    steps: int
    scale: float
    kept: dict[str, object]

    def once(self, name: str, make: Callable[[], T]) -> T:
        """What is made at a batch's first evaluation, and found at the others."""
        if name not in self.kept:
            self.kept[name] = make()
        return cast("T", self.kept[name])


class Steering(Mitigation):
    """A mitigation of pipelines whose network is guided without a classifier; a kind overrides some
    of the steps.

    What it keeps from step to step, it makes by `call.once`, anew for every batch; pictures do not
    meet in it.
    """

    transformers: ClassVar[bool] = False
    """Whether it works on the transformer of Stable Diffusion 3, too."""

    def wrap(self, model: Model) -> Model:
        """The model with its network steered. Raises UsageError for a model without one that is
        known, in reach.
        """
        kind = getattr(model, "pipeline_class", None)
        if kind is None:
            raise UsageError(
                f"{self.method} works inside a diffusion network; {model.name} shows none: use prompts"
            )
        self._check(kind, f" of {model.name}")
        return super().wrap(model)

    def _check(self, kind: type, whose: str = "") -> None:
        known = self.transformers and kind.__name__.startswith("StableDiffusion3")
        if not known and "unet" not in signature(kind.__init__).parameters:  # type: ignore[misc]
            also = " and on Stable Diffusion 3" if self.transformers else ""
            raise UsageError(
                f"{self.method} works on pipelines with a UNet{also}; {kind.__name__}{whose} has none: "
                "use prompts"
            )

    def inputs(self, states: Tensor, call: NetworkCall) -> Tensor:
        """What the texts (2 B, tokens, d) become before this evaluation."""
        return states

    def rows(self, call: NetworkCall) -> list[str]:
        """Further texts on which the network is evaluated for every picture."""
        return []

    def outputs(self, out: Tensor, others: Tensor, call: NetworkCall) -> Tensor:
        """What the outputs (2 B, …) become; `others` (rows, B, …) are those of the further texts."""
        return out

    def evaluated(
        self, network: Callable[[Tensor], Tensor], sample: Tensor, call: NetworkCall
    ) -> Tensor:
        """What the network gives for all rows."""
        return network(sample)

    @contextmanager
    def steer(self, pipeline: DiffusionPipeline, requests: Sequence[Request]) -> Iterator[None]:
        """Within, the pipeline's network is evaluated under this mitigation."""
        import torch
        from diffusers.models.unets.unet_2d_condition import UNet2DConditionOutput

        self._check(type(pipeline))
        inside = getattr(pipeline, "unet", None) or pipeline.transformer
        # that of a compiled one
        plain = inside.forward
        known = signature(getattr(inside, "_orig_mod", inside).forward)
        batch = len(requests)
        kept = dict[str, object]()

        def joined(rows: Tensor, further: Sequence[Tensor | None]) -> Tensor:
            """Rows of both halves, then for each further text its own, or those of the conditional
            half.
            """
            own = (
                rows[batch:] if one is None else one.to(rows).expand(batch, *rows.shape[1:])
                for one in further
            )
            return torch.cat([rows, *own])

        def forward(*args: Any, **named: Any) -> Any:
            given = dict(known.bind(*args, **named).arguments)
            name = "sample" if "sample" in given else "hidden_states"
            if len(given[name]) != 2 * batch:
                raise UsageError(f"{self.method} needs guidance: a guidance_scale above 1")
            timestep = torch.as_tensor(given["timestep"]).flatten()[0]
            times = pipeline.scheduler.timesteps
            step = int((times - float(timestep)).abs().argmin())
            call = NetworkCall(
                pipeline, requests, step, len(times), float(pipeline.guidance_scale), kept
            )
            further = [
                call.once(f"text {text}", partial(encoded, pipeline, text))
                for text in self.rows(call)
            ]
            added = given.get("added_cond_kwargs") or {}
            beside = added or {key: given[key] for key in ("pooled_projections",) if key in given}
            beside = {
                key: joined(value, [pooled if key in POOLED else None for _, pooled in further])
                for key, value in beside.items()
            }
            states = joined(
                self.inputs(given["encoder_hidden_states"], call), [own for own, _ in further]
            )
            latents = joined(given[name], [None] * len(further))
            short = not given.get("return_dict", True)
            given |= {"encoder_hidden_states": states, "return_dict": False}
            given |= {"added_cond_kwargs": beside} if added else beside
            if torch.is_tensor(given["timestep"]) and given["timestep"].ndim:
                given["timestep"] = timestep.expand(len(latents))

            def network(some: Tensor) -> Tensor:
                found: Tensor = plain(**{**given, name: some})[0]
                return found

            out = self.evaluated(network, latents, call)
            others = out[2 * batch :].reshape(len(further), batch, *out.shape[1:])
            changed = self.outputs(out[: 2 * batch], others, call)
            return (changed,) if short else UNet2DConditionOutput(sample=changed)

        inside.forward = forward
        try:
            yield
        finally:
            del inside.forward
            if inside.forward != plain:  # an offloading hook had put its own there
                inside.forward = plain


class TargetSteering(Steering):
    """A steering towards the value of every target axis that is asked of a picture, each as often
    as is wanted.
    """

    targets: dict[str, dict[str, float]] = Field(min_length=1)
    rule: Rule = "quota"

    def requested_values(self, request: Request) -> Mapping[str, str]:
        """The value of every target axis that is asked of a picture."""
        return {
            axis: [*shares][
                choose_part([*shares.values()], f"{request.prompt} {axis}", request, self.rule, k)
            ]
            for k, (axis, shares) in enumerate(self.targets.items())
        }


def encoded(pipeline: DiffusionPipeline, text: str) -> tuple[Tensor, Tensor | None]:
    """The states (1, tokens, d) of a text, and its pooled vector where the pipeline has one, else
    None.
    """
    others = [
        name
        for name in ("prompt_2", "prompt_3")
        if name in signature(pipeline.encode_prompt).parameters
    ]
    found = pipeline.encode_prompt(
        prompt=text,
        device=pipeline._execution_device,
        num_images_per_prompt=1,
        do_classifier_free_guidance=False,
        **dict.fromkeys(others),
    )
    return found[0], found[2] if len(found) > 2 else None
