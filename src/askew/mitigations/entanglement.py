"""Entanglement guidance, the mitigation from BiasMap.

Entanglement guidance separates the image regions of two words: each guided step reduces the overlap
between the region that attends to one word and the region that attends to the other word.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from askew.errors import UsageError
from askew.mitigations.steering import NetworkCall, Steering
from askew.prompts.statements import occupations_in

if TYPE_CHECKING:
    from diffusers import DiffusionPipeline
    from torch import Tensor

AREA = 0.3
"""Share of an attention map that the map's mask covers."""

GAMMA = 0.01
"""Strength of entropic regularization in the optimal transport that computes a mask."""

ROUNDS = 20
"""Number of iterations for balancing the optimal transport."""

PREDICTIONS = ("epsilon", "v_prediction")
"""Scheduler prediction types for which the predicted noise can be changed."""

Variant = Literal["paper", "code"]


@dataclass(frozen=True, slots=True)
class AttributionWords:
    """Encoded attribution prompt, with the positions of the two words that guidance separates.

    Attributes
    ----------
    vectors
        Vectors of the prompt's tokens, of shape (tokens, d).
    axis, against
        Token positions of the axis's name, and of the word from which guidance separates that name.
    """

    vectors: Tensor
    axis: list[int]
    against: list[int]


@dataclass(frozen=True, slots=True)
class LayerQueries:
    """Queries of a cross-attention layer in the current step.

    Attributes
    ----------
    attention
        The diffusers attention module.
    rows
        Queries of the conditional half, of shape (B, pixels, heads · d).
    """

    attention: Any
    rows: Tensor


class Entanglement(Steering):
    """Guidance that reduces the overlap between the attention maps of an axis's name and of a word.

    The predicted noise changes by

        scale sqrt(1 - alpha_bar) grad_x sum_axes soft_iou(mask(A_axis), mask(A_against))

    where x is the noisy latent. A_axis and A_against are the attention maps in this step for the
    axis's name and for the other word. The maps come from the conditional half of the batch. The
    maps are summed over the layers of the down and up blocks, and then scaled to [0, 1]. If the
    norm of an image's gradient exceeds 1, the gradient is scaled to norm 1. If the network predicts
    velocities, its output is changed so that the predicted noise changes by the amount given above.

    Attributes
    ----------
    targets
        Target shares by axis. The target shares have no effect, because guidance only separates the
        axes' names from the word.
    against
        The word from which guidance separates the axes' names. By default, the prompt's occupation.
    scale
        Strength of the guidance. 0 turns it off.
    interval_steps
        Interval between guided steps: 1 guides every step, 2 every second step. The first step is
        guided.
    variant
        "paper" follows the formula above. "code" follows the published code, in which maps are not
        scaled, a mask covers the share `AREA` of each row, and gradients of norm 1 or more are
        ignored.
    """

    steers_outputs: ClassVar[bool] = True
    method: Literal["entanglement"] = "entanglement"
    targets: dict[str, dict[str, float]] = Field(min_length=1)
    against: str = ""
    scale: float = Field(default=100.0, ge=0)
    interval_steps: int = Field(default=1, ge=1)
    variant: Variant = "paper"

    @property
    def cost(self) -> float:
        """Relative cost, assuming that a backward pass costs as much as a forward pass."""
        return 1 + 1 / self.interval_steps if self.scale else 1.0

    def evaluate(
        self, network: Callable[[Tensor], Tensor], sample: Tensor, call: NetworkCall
    ) -> Tensor:
        """Return the network's outputs, modified so that guidance adds the scaled gradient."""
        import torch

        if not self.scale or call.step % self.interval_steps:
            return network(sample)
        noise_factor = _noise_factor(call)
        out, gradient = self._overlap_gradient(network, sample, call)
        length = gradient.flatten(1).norm(dim=1).reshape(-1, 1, 1, 1)
        if self.variant == "paper":
            limited = gradient / length.clamp(min=1)
        else:
            limited = gradient * (length < 1)
        batch = len(call.requests)
        conditional = out[batch : 2 * batch]
        changed = conditional + self.scale * noise_factor / call.scale * limited
        return torch.cat([out[:batch], changed, out[2 * batch :]])

    def _overlap_gradient(
        self, network: Callable[[Tensor], Tensor], sample: Tensor, call: NetworkCall
    ) -> tuple[Tensor, Tensor]:
        """Return the outputs, and the gradient of the overlap with respect to the latents."""
        import torch

        from askew.measure.attention.unet import cross_attention

        batch = len(call.requests)
        layers: list[LayerQueries] = []

        def record(attention: Any, out: Tensor) -> None:
            layers.append(LayerQueries(attention=attention, rows=out[batch : 2 * batch]))

        with torch.enable_grad(), ExitStack() as hooks:
            latents = sample[batch : 2 * batch].detach().requires_grad_()
            for _, layer in cross_attention(call.pipeline, middle=False):
                hook = layer.attention.to_q.register_forward_hook(
                    lambda _, __, out, attention=layer.attention: record(attention, out)
                )
                hooks.callback(hook.remove)
            out = network(torch.cat([sample[:batch], latents, sample[2 * batch :]]))
            overlap = sum(self._overlap(call, k, layers, sample.shape) for k in range(batch))
            (gradient,) = torch.autograd.grad(overlap, latents)  # type: ignore[arg-type]
        return out.detach(), gradient

    def _overlap(
        self, call: NetworkCall, image: int, layers: list[LayerQueries], shape: Any
    ) -> Tensor:
        """Return the soft IoU of an image's two masks, summed over the target axes."""
        import torch
        from torch.nn.functional import interpolate

        prompt = call.requests[image].prompt
        total = torch.zeros((), device=layers[0].rows.device)
        for axis in self.targets:
            words = call.once(
                f"{axis} in {prompt}",
                partial(self._attribution_words, call.pipeline, prompt, axis),
            )
            by_layer = [_layer_maps(layer, image, words, shape) for layer in layers]
            size = max(maps.shape[-2:] for maps in by_layer)
            resized = [interpolate(maps[None], size, mode="bilinear")[0] for maps in by_layer]
            axis_map, against_map = sum(resized)  # type: ignore[misc]
            total = total + soft_iou(
                soft_mask(axis_map, self.variant), soft_mask(against_map, self.variant)
            )
        return total

    def _attribution_words(
        self, pipeline: DiffusionPipeline, prompt: str, axis: str
    ) -> AttributionWords:
        """Encode the attribution prompt for a prompt and an axis."""
        from askew.measure.attention import AttentionMaps, attribution_text
        from askew.measure.attribution import encode_attribution

        known = [self.against] if self.against else occupations_in(prompt)
        if not known:
            raise UsageError(
                f"entanglement: {prompt!r} contains no known occupation; use --technique-arg "
                f"against=WORD to name the word from which {axis} is separated"
            )
        name = axis.replace("_", " ")
        text = attribution_text(prompt, name, known[0])
        maps = AttentionMaps(pipeline, text)
        return AttributionWords(
            vectors=encode_attribution(pipeline, text).vectors,
            axis=maps.positions(name),
            against=maps.positions(known[0]),
        )


def _layer_maps(layer: LayerQueries, image: int, words: AttributionWords, shape: Any) -> Tensor:
    """Return an image's attention maps in a layer, one for the axis and one for the word.

    The array has the shape (2, h, w).
    """
    import torch

    attention = layer.attention
    with torch.no_grad():
        keys = attention.to_k(words.vectors.to(layer.rows)).float()
        keys = keys.reshape(len(words.vectors), attention.heads, -1)
    queries = layer.rows[image].float().reshape(layer.rows.shape[1], attention.heads, -1)
    scores = torch.einsum("phd,thd->htp", queries, keys) * attention.scale
    weights = scores.softmax(dim=1).sum(dim=0)
    height = round((weights.shape[-1] * shape[-2] / shape[-1]) ** 0.5)
    return torch.stack(
        [weights[tokens].mean(dim=0).reshape(height, -1) for tokens in (words.axis, words.against)]
    )


def soft_mask(map: Tensor, variant: Variant = "paper") -> Tensor:
    """Return a differentiable mask that covers the highest values in a map.

    The mask is near 1 on the share `AREA` of the map where the values are highest, and near 0
    elsewhere. The mask is computed by entropic optimal transport, which moves the fraction `AREA`
    of the map's values to 1 and all other values to 0. The cost is the squared distance, and
    `ROUNDS` iterations balance the transport. If a map has no clear edges, its mask covers a larger
    share of the map.

    Parameters
    ----------
    map
        Array of shape (H, W).
    variant
        "paper" scales the map to [0, 1] and computes one mask for the full map. "code" computes a
        mask for each row.

    Returns
    -------
    Tensor
        Mask, of shape (H, W).
    """
    import torch

    rows = map
    if variant == "paper":
        low = map.min()
        high = map.max()
        rows = ((map - low) / (high - low).clamp(min=1e-12)).reshape(1, -1)
    n = rows.shape[1]
    ones = int(n * AREA)
    like_rows: dict[str, Any] = {"dtype": rows.dtype, "device": rows.device}
    log_shares = torch.tensor([n - ones, ones], **like_rows).div(n).log()
    sides = torch.tensor([0.0, 1.0], **like_rows)
    log_kernel = -((rows[..., None] - sides) ** 2) / GAMMA
    by_value = torch.zeros_like(rows)
    for _ in range(ROUNDS):
        by_side = log_shares - torch.logsumexp(log_kernel + by_value[..., None], dim=1)
        by_value = -torch.logsumexp(log_kernel + by_side[:, None], dim=2)
        by_value = by_value - torch.tensor(float(n)).log()
    mask: Tensor = n * torch.exp(log_kernel[..., 1] + by_value + by_side[:, 1:])
    return mask.reshape(map.shape)


def soft_iou(a: Tensor, b: Tensor) -> Tensor:
    """Return the soft IoU of two masks: the sum of a b divided by the sum of a + b - a b."""
    shared = (a * b).sum()
    return shared / (a.sum() + b.sum() - shared)


def _noise_factor(call: NetworkCall) -> float:
    """Return the change in output that changes the predicted noise by sqrt(1 - alpha_bar).

    The change is 0 at the first step if the schedule begins with pure noise.
    """
    scheduler = call.pipeline.scheduler
    alphas = getattr(scheduler, "alphas_cumprod", None)
    prediction = scheduler.config.get("prediction_type", "epsilon")
    if alphas is None or prediction not in PREDICTIONS:
        raise UsageError(
            "entanglement needs a network that predicts noise or velocity, not "
            f"{prediction} of {type(scheduler).__name__}"
        )
    alpha = float(alphas[round(float(scheduler.timesteps[call.step]))])
    if prediction == "epsilon":
        return float((1 - alpha) ** 0.5)
    return float(((1 - alpha) / alpha) ** 0.5) if alpha > 1e-6 else 0.0
