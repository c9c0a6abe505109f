"""How a mitigation reaches into a diffusion pipeline: what its network is given and what it returns, call by call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from askew.errors import UsageError
from askew.mitigation import Mitigation, place
from askew.models.base import Model, Request

if TYPE_CHECKING:
    from torch import Tensor


POOLED = ("text_embeds", "pooled_projections")
"""What SDXL's network, and that of SD3, are given of a text beside its states."""


@dataclass(frozen=True, slots=True)
class Call:
    """One evaluation of the network for the pictures of `requests`, in the order unconditional, then conditional rows.

    step   of `steps`, from 0, by the scheduler's list of times
    scale  of the guidance
    """

    pipeline: Any
    requests: Sequence[Request]
    step: int
    steps: int
    scale: float


class Steering(Mitigation):
    """A mitigation of pipelines whose network, as a rule a UNet, is guided without a classifier.

    A kind overrides `inputs`, `evaluated`, or `rows` with `outputs`. What it keeps from step to step is in `memory`,
    made anew for every batch; pictures do not meet in it.
    """

    transformers: ClassVar[bool] = False
    """Whether it works on the transformer of Stable Diffusion 3, too."""

    def wrap(self, model: Model) -> Model:
        """The model with its network steered. Raises UsageError for a model without one that is known, in reach."""
        kind = getattr(model, "pipeline_class", None)
        if kind is None:
            raise UsageError(f"{self.method} works inside a diffusion network; {model.name} shows none: use prompts")
        self._check(kind, f" of {model.name}")
        return super().wrap(model)

    def _check(self, kind: type, whose: str = "") -> None:
        known = self.transformers and kind.__name__.startswith("StableDiffusion3")
        if not known and "unet" not in signature(kind.__init__).parameters:  # type: ignore[misc]
            also = " and on Stable Diffusion 3" if self.transformers else ""
            raise UsageError(f"{self.method} works on pipelines with a UNet{also}; {kind.__name__}{whose} has none: "
                             "use prompts")  # fmt: skip

    def inputs(self, states: Tensor, call: Call, memory: dict[str, Any]) -> Tensor:
        """What the texts (2 B, tokens, d) become before this evaluation."""
        return states

    def rows(self, call: Call, memory: dict[str, Any]) -> list[str]:
        """Further texts on which the network is evaluated for every picture."""
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
        """Within, the pipeline's network is evaluated under this mitigation."""
        import torch

        self._check(type(pipeline))
        inside = getattr(pipeline, "unet", None) or pipeline.transformer
        plain, known = inside.forward, signature(getattr(inside, "_orig_mod", inside).forward)  # that of a compiled one
        memory, texts = dict[str, Any](), dict[str, tuple[Any, Any]]()

        def forward(*args: Any, **named: Any) -> Any:
            given, batch = known.bind(*args, **named).arguments, len(requests)
            name = "sample" if "sample" in given else "hidden_states"
            if len(given[name]) != 2 * batch:
                raise UsageError(f"{self.method} needs guidance: a guidance_scale above 1")
            timestep = torch.as_tensor(given["timestep"]).flatten()[0]
            call = Call(pipeline, requests, *_step(pipeline, timestep), float(pipeline.guidance_scale))
            extra, own = self.rows(call, memory), dict(given.get("added_cond_kwargs") or {})
            own |= {key: given[key] for key in ("pooled_projections",) if key in given}
            parts = {key: [value] for key, value in own.items()}
            states, latents = [self.inputs(given["encoder_hidden_states"], call, memory)], [given[name]]
            for text in extra:
                if text not in texts:
                    texts[text] = encoded(pipeline, text)
                hidden, pooled = texts[text]
                latents.append(given[name][batch:])
                states.append(hidden.to(states[0]).expand(batch, -1, -1))
                for key, value in own.items():
                    parts[key].append(pooled.to(value).expand(batch, -1) if key in POOLED else value[batch:])
            joined: dict[str, Any] = {key: torch.cat(some) for key, some in parts.items()}
            if given.get("added_cond_kwargs"):
                joined = {"added_cond_kwargs": joined}
            joined |= {"encoder_hidden_states": torch.cat(states), "return_dict": False}
            if torch.is_tensor(given["timestep"]) and given["timestep"].ndim:
                joined["timestep"] = timestep.expand(batch * (2 + len(extra)))

            def network(some: Tensor) -> Tensor:
                found: Tensor = plain(**{**given, **joined, name: some})[0]
                return found

            out = self.evaluated(network, torch.cat(latents), call, memory)
            others = out[2 * batch :].reshape(len(extra), batch, *out.shape[1:])
            changed = self.outputs(out[: 2 * batch], others, call, memory)
            return (changed,) if not given.get("return_dict", True) else _Output(changed)

        inside.forward = forward
        try:
            yield
        finally:
            del inside.forward
            if inside.forward != plain:  # an offloading hook had put its own there
                inside.forward = plain


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


def _step(pipeline: Any, timestep: Any) -> tuple[int, int]:
    """Which step this is, and of how many."""
    times = pipeline.scheduler.timesteps
    return int((times - float(timestep)).abs().argmin()), len(times)


def encoded(pipeline: Any, text: str) -> tuple[Any, Any]:
    """The states (1, tokens, d) of a text, and its pooled vector where the pipeline has one, else None."""
    others = [name for name in ("prompt_2", "prompt_3") if name in signature(pipeline.encode_prompt).parameters]
    found = pipeline.encode_prompt(prompt=text, device=pipeline._execution_device, num_images_per_prompt=1,
                                   do_classifier_free_guidance=False, **dict.fromkeys(others))  # fmt: skip
    return found[0], found[2] if len(found) > 2 else None
