"""Entanglement guidance (BiasMap's own mitigation): at every step the places of two words are moved
apart.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from askew.errors import UsageError
from askew.mitigations.steering import NetworkCall, Steering
from askew.prompts.statements import occupations_in

if TYPE_CHECKING:
    from diffusers import DiffusionPipeline
    from torch import Tensor

AREA = 0.3
GAMMA = 0.01
ROUNDS = 20
"""The share of a map that its mask covers, the entropy of the mask's transport, and how often that
is balanced.
"""


class Entanglement(Steering):
    """Guidance away from the overlap of each target axis's name with a word of the prompt.

        noise = noise + scale sqrt(1 - alpha_bar) grad_x sum_axes soft_iou(mask(A_axis),
        mask(A_against))

    A are attention maps of this one step, of the conditional half, summed over the layers of both
    sides and scaled to [0, 1]. Of a picture's gradient no more than length 1 counts. Velocities are
    changed so that the noise is.

    against  the word; by default the prompt's occupation
    every    of so many steps the first is guided
    variant  "code" is as published: maps are not scaled, masks cover their share of each row, and a gradient of length
             1 or more is left out
    """

    method: Literal["entanglement"] = "entanglement"
    targets: dict[str, dict[str, float]] = Field(min_length=1)
    against: str = ""
    scale: float = Field(default=100.0, ge=0)
    every: int = Field(default=1, ge=1)
    variant: Literal["paper", "code"] = "paper"

    @property
    def cost(self) -> float:
        """The way back through the network costs about what the way there does."""
        return 1 + 1 / self.every if self.scale else 1.0

    def evaluated(
        self, network: Callable[[Tensor], Tensor], sample: Tensor, call: NetworkCall
    ) -> Tensor:
        """The outputs, with the gradient in the conditional half, from where guidance adds it once."""
        import torch

        if not self.scale or call.step % self.every:
            return network(sample)
        from askew.measure.attention.unet import cross_attention

        batch = len(call.requests)
        by_noise = _by_noise(call)
        with torch.enable_grad(), ExitStack() as hooks:
            own = sample[batch:].detach().requires_grad_()
            queries: list[tuple[Any, Tensor]] = []
            for _, layer in cross_attention(call.pipeline, middle=False):
                hooks.callback(
                    layer.attention.to_q.register_forward_hook(
                        lambda _, __, out, attention=layer.attention: queries.append(
                            (attention, out[batch:])
                        )
                    ).remove
                )
            out = network(torch.cat([sample[:batch], own]))
            shared = sum(self._overlap(call, k, queries, sample.shape) for k in range(batch))
            (gradient,) = torch.autograd.grad(shared, own)  # type: ignore[arg-type]
        length = gradient.flatten(1).norm(dim=1).reshape(-1, 1, 1, 1)
        kept = (
            gradient / length.clamp(min=1) if self.variant == "paper" else gradient * (length < 1)
        )
        plain, prompted = out.detach().chunk(2)
        return torch.cat([plain, prompted + self.scale * by_noise / call.scale * kept])

    def _overlap(
        self, call: NetworkCall, at: int, queries: list[tuple[Any, Tensor]], shape: Any
    ) -> Tensor:
        """How much of their union the soft masks of one picture share, summed over the target axes."""
        import torch
        from torch.nn.functional import interpolate

        prompt = call.requests[at].prompt
        total = torch.zeros((), device=queries[0][1].device)
        for axis in self.targets:
            vectors, places = call.once(
                f"{axis} in {prompt}", partial(self._words, call.pipeline, prompt, axis)
            )
            layers = []
            for attention, rows in queries:
                with torch.no_grad():
                    keys = (
                        attention.to_k(vectors.to(rows))
                        .float()
                        .reshape(len(vectors), attention.heads, -1)
                    )
                asked = rows[at].float().reshape(rows.shape[1], attention.heads, -1)
                weights = (
                    (torch.einsum("phd,thd->htp", asked, keys) * attention.scale)
                    .softmax(dim=1)
                    .sum(dim=0)
                )
                height = round((weights.shape[-1] * shape[-2] / shape[-1]) ** 0.5)
                layers.append(
                    torch.stack([weights[own].mean(dim=0).reshape(height, -1) for own in places])
                )
            size = max(one.shape[-2:] for one in layers)
            maps = sum(interpolate(one[None], size, mode="bilinear")[0] for one in layers)
            total = total + soft_iou(*(soft_mask(one, self.variant) for one in maps))  # type: ignore[union-attr]
        return total

    def _words(
        self, pipeline: DiffusionPipeline, prompt: str, axis: str
    ) -> tuple[Tensor, list[list[int]]]:
        """The vectors (tokens, d) of the attribution prompt, and where the axis and the word stand
        in it.
        """
        from askew.measure.attention import AttentionMaps, attribution_text
        from askew.measure.attribution import encode_attribution

        known = [self.against] if self.against else occupations_in(prompt)
        if not known:
            raise UsageError(
                f"entanglement: {prompt!r} names no occupation; name the word that {axis} is moved away "
                "from by --way-arg against=WORD"
            )
        words = (axis.replace("_", " "), known[0])
        text = attribution_text(prompt, *words)
        maps = AttentionMaps(pipeline, text)
        return encode_attribution(pipeline, text).vectors, [maps.positions(word) for word in words]


def soft_mask(map: Tensor, variant: Literal["paper", "code"] = "paper") -> Tensor:
    """About 1 where a map (H, W) is highest, on `AREA` of it, about 0 elsewhere, with a gradient
    everywhere.

    Entropic transport of the map's numbers to 0 and 1 in these shares, at squared distance,
    balanced `ROUNDS` times: of maps without clear edges it covers more.
    """
    import torch

    low = map.min()
    high = map.max()
    rows = (
        ((map - low) / (high - low).clamp(min=1e-12)).reshape(1, -1) if variant == "paper" else map
    )
    n = rows.shape[1]
    high_ones = int(n * AREA)
    wanted = (
        torch.tensor([n - high_ones, high_ones], dtype=rows.dtype, device=rows.device).div(n).log()
    )
    near = (
        -((rows[..., None] - torch.tensor([0.0, 1.0], dtype=rows.dtype, device=rows.device)) ** 2)
        / GAMMA
    )
    by_row = torch.zeros_like(rows)
    for _ in range(ROUNDS):
        by_side = wanted - torch.logsumexp(near + by_row[..., None], dim=1)
        by_row = -torch.logsumexp(near + by_side[:, None], dim=2) - torch.tensor(float(n)).log()
    mask: Tensor = n * torch.exp(near[..., 1] + by_row + by_side[:, 1:])
    return mask.reshape(map.shape)


def soft_iou(a: Tensor, b: Tensor) -> Tensor:
    """Sum of a b over sum of a + b - a b."""
    shared = (a * b).sum()
    return shared / (a.sum() + b.sum() - shared)


def _by_noise(call: NetworkCall) -> float:
    """What a change of the noise by sqrt(1 - alpha_bar) is to the network's output; 0 where nothing
    but noise is.
    """
    scheduler = call.pipeline.scheduler
    kinds = ("epsilon", "v_prediction")
    kept = getattr(scheduler, "alphas_cumprod", None)
    kind = scheduler.config.get("prediction_type", "epsilon")
    if kept is None or kind not in kinds:
        raise UsageError(
            f"entanglement needs a network that predicts noise or velocity, not {kind} of "
            f"{type(scheduler).__name__}"
        )
    left = float(kept[round(float(scheduler.timesteps[call.step]))])
    if kind == "epsilon":
        return float((1 - left) ** 0.5)
    return float(((1 - left) / left) ** 0.5) if left > 1e-6 else 0.0
