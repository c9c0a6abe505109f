"""How a mitigation reaches into a diffusion pipeline: what its UNet is given and what it returns, call by call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from askew.errors import UsageError
from askew.mitigation import Mitigation, place
from askew.models.base import Model, Request

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Call:
    """One evaluation of the UNet for the pictures of `requests`, in the order unconditional, then conditional rows.

    step   of `steps`, from 0, by the scheduler's list of times
    scale  of the guidance
    """

    pipeline: Any
    requests: Sequence[Request]
    step: int
    steps: int
    scale: float


class Steering(Mitigation):
    """A mitigation of pipelines with a UNet that is guided without a classifier.

    A kind overrides `inputs`, `evaluated`, or `rows` with `outputs`. What it keeps from step to step is in `memory`,
    made anew for every batch; pictures do not meet in it.
    """

    def wrap(self, model: Model) -> Model:
        """The model with its UNet steered. Raises UsageError for a model without a UNet in reach."""
        kind = getattr(model, "pipeline_class", None)
        if kind is None:
            raise UsageError(f"{self.method} works inside a diffusion network; {model.name} shows none: use prompts")
        if "unet" not in _components(kind):
            raise UsageError(f"{self.method} works on pipelines with a UNet; {kind.__name__} of {model.name} has none: "
                             "use prompts")  # fmt: skip
        return super().wrap(model)

    def inputs(self, states: Tensor, call: Call, memory: dict[str, Any]) -> Tensor:
        """What the texts (2 B, tokens, d) become before this evaluation."""
        return states

    def rows(self, call: Call, memory: dict[str, Any]) -> list[str]:
        """Further texts on which the UNet is evaluated for every picture."""
        return []

    def outputs(self, out: Tensor, others: Tensor, call: Call, memory: dict[str, Any]) -> Tensor:
        """What the outputs (2 B, …) become; `others` (rows, B, …) are those of the further texts."""
        return out

    def evaluated(
        self, network: Callable[[Tensor], Tensor], sample: Tensor, call: Call, memory: dict[str, Any]
    ) -> Tensor:
        """What the network gives for all rows."""
        return network(sample)

    @contextmanager
    def steered(self, pipeline: Any, requests: Sequence[Request]) -> Iterator[None]:
        """Within, the pipeline's UNet is evaluated under this mitigation."""
        import torch

        unet, plain, memory = pipeline.unet, pipeline.unet.forward, dict[str, Any]()
        texts = dict[str, tuple[Any, ...]]()

        def forward(sample: Any, timestep: Any, encoder_hidden_states: Any, *rest: Any, **named: Any) -> Any:
            batch = len(requests)
            if sample.shape[0] != 2 * batch:
                raise UsageError(f"{self.method} needs guidance: a guidance_scale above 1")
            call = Call(pipeline, requests, *_step(pipeline, timestep), float(pipeline.guidance_scale))
            states = self.inputs(encoder_hidden_states, call, memory)
            extra = self.rows(call, memory)
            for text in extra:
                if text not in texts:
                    texts[text] = encoded(pipeline, text)
            latents, added = [sample], dict(named.get("added_cond_kwargs") or {})
            parts = {"states": [states], **{name: [value] for name, value in added.items()}}
            for text in extra:
                hidden, pooled = texts[text]
                latents.append(sample[batch:])
                parts["states"].append(hidden.to(states).expand(batch, -1, -1))
                for name, value in added.items():
                    own = pooled.to(value).expand(batch, -1) if name == "text_embeds" else value[batch:]
                    parts[name].append(own)
            joined = {name: torch.cat(some) for name, some in parts.items()}
            if added:
                named["added_cond_kwargs"] = {name: joined[name] for name in added}
            whole = {**named, "return_dict": False}

            def network(some: Tensor) -> Tensor:
                found: Tensor = plain(some, timestep, joined["states"], *rest, **whole)[0]
                return found

            out = self.evaluated(network, torch.cat(latents), call, memory)
            others = out[2 * batch :].reshape(len(extra), batch, *out.shape[1:])
            changed = self.outputs(out[: 2 * batch], others, call, memory)
            return (changed,) if not named.get("return_dict", True) else _Output(changed)

        unet.forward = forward
        try:
            yield
        finally:
            del unet.forward
            if unet.forward != plain:  # an offloading hook had put its own there
                unet.forward = plain


class Asking(Steering):
    """A steering towards the value of every target axis that is asked of a picture, each as often as is wanted.

    rule  "quota" or "independent", as in `PromptPolicy`
    """

    targets: dict[str, dict[str, float]] = Field(min_length=1)
    rule: Literal["quota", "independent"] = "quota"

    def statement(self, request: Request) -> Mapping[str, str]:
        """The value of every target axis that is asked of a picture."""
        counted = request if self.rule == "quota" else replace(request, number=None)
        found: dict[str, str] = {}
        for k, (axis, shares) in enumerate(self.targets.items()):
            at = place(f"{request.prompt} {axis}", counted, k)
            below = int(np.searchsorted(np.cumsum([*shares.values()]), at, side="right"))
            found[axis] = list(shares)[min(below, len(shares) - 1)]
        return found


@dataclass(frozen=True, slots=True)
class _Output:
    sample: Any

    def __getitem__(self, at: int) -> Any:
        return (self.sample,)[at]


def _components(kind: type) -> Sequence[str]:
    from inspect import signature

    return list(signature(kind.__init__).parameters)  # type: ignore[misc]


def _step(pipeline: Any, timestep: Any) -> tuple[int, int]:
    """Which step this is, and of how many."""
    times = pipeline.scheduler.timesteps
    return int((times - float(timestep)).abs().argmin()), len(times)


def encoded(pipeline: Any, text: str) -> tuple[Any, Any]:
    """The states (1, tokens, d) of a text, and its pooled vector where the pipeline has one (SDXL), else None."""
    found = pipeline.encode_prompt(
        prompt=text, device=pipeline._execution_device, num_images_per_prompt=1, do_classifier_free_guidance=False
    )
    return found[0], found[2] if len(found) > 2 else None
