"""Fair Diffusion (Friedrich et al. 2023): semantic guidance toward the requested value."""

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from askew.mitigations.steering import NetworkCall, TargetSteering
from askew.prompts.counterfactuals import counterfactual

if TYPE_CHECKING:
    from torch import Tensor


class FairDiffusion(TargetSteering):
    """Semantic guidance (SEGA, Brack et al. 2023), added to the guidance from the prompt.

    Each value c of a target axis is an edit with a separate text. The network's output is o_u
    without a text, o_p with the prompt, and o_c with the text of the edit. With guidance scale G:

        g_c = scale s_c (o_c - o_u), where |g_c| is at least its quantile `threshold`, else 0
        g   = sum_c w_c g_c + momentum m
        m   <- decay m + (1 - decay) g
        o   = o_u + G (o_p - o_u) + g

    askew computes the quantile over the pixels of each channel. The requested value has direction
    s_c = 1 and weight w_c = 1. If the axis has K values, each other value has s_c = -1 and w_c =
    1/(K-1). During the warm-up, the momentum m accumulates, but the edits have no effect on the
    image. The outputs are noise or velocities, whichever the network predicts. The default settings
    come from the authors' script.

    Attributes
    ----------
    words
        Text of each edit, keyed by "AXIS=VALUE". The default for the value male, for example, is
        "male person".
    scale
        Guidance scale of the edits. 0 turns the edits off.
    threshold
        Share of each channel's pixels that an edit leaves unchanged, in [0, 1).
    warm_up
        Share of the denoising steps, in [0, 1), that pass before the edits take effect.
    momentum, decay
        Weight of the momentum in g, and share of the momentum that is kept in each step.
    """

    transformers: ClassVar[bool] = True
    encodes_texts: ClassVar[bool] = True
    steers_outputs: ClassVar[bool] = True
    repeatable: ClassVar[bool] = True
    method: Literal["fair-diffusion"] = "fair-diffusion"
    words: dict[str, str] = Field(default_factory=dict)
    scale: float = Field(default=4.0, ge=0)
    threshold: float = Field(default=0.95, ge=0, lt=1)
    warm_up: float = Field(default=0.1, ge=0, lt=1)
    momentum: float = Field(default=0.5, ge=0, le=1)
    decay: float = Field(default=0.6, ge=0, lt=1)

    @property
    def cost(self) -> float:
        """Relative cost (2 + n) / 2 for n target values.

        Guidance needs two evaluations, and each value needs one additional evaluation.
        """
        edits = sum(len(shares) for shares in self.targets.values())
        return (2 + edits) / 2 if self.scale else 1.0

    def text(self, axis: str, value: str) -> str:
        """Return the text of a value's edit, such as "male person"."""
        return self.words.get(f"{axis}={value}") or counterfactual("person", axis, value)

    def further_texts(self, call: NetworkCall) -> list[str]:
        """Return the text of the edit for each value of each target axis."""
        if not self.scale:
            return []
        return [self.text(axis, value) for axis, shares in self.targets.items() for value in shares]

    def change_outputs(self, out: "Tensor", others: "Tensor", call: NetworkCall) -> "Tensor":
        """Add g / G to the conditional half, so that guidance with scale G adds g."""
        import torch

        if not self.scale:
            return out
        unconditional, conditional = out.chunk(2)
        edit_weights = call.once("weights", lambda: self._edit_weights(call))
        momentum = call.once("momentum", lambda: torch.zeros_like(conditional))
        total = self.momentum * momentum
        for other, weights in zip(others, edit_weights, strict=True):
            edit = self._masked_edit(other, unconditional)
            by_image = torch.tensor(weights).to(edit).reshape(-1, *[1] * (edit.dim() - 1))
            total = total + by_image * edit
        momentum.copy_(self.decay * momentum + (1 - self.decay) * total)
        if call.step < self.warm_up * call.steps:
            return out
        return torch.cat([unconditional, conditional + total / call.scale])

    def _edit_weights(self, call: NetworkCall) -> list[list[float]]:
        """Return s_c w_c for each edit and each image.

        The edits are in the same order as in `further_texts`.
        """
        requested = [self.requested_values(request) for request in call.requests]
        edit_weights = []
        for axis, shares in self.targets.items():
            against = -1.0 / (len(shares) - 1)
            for value in shares:
                weights = [1.0 if values[axis] == value else against for values in requested]
                edit_weights.append(weights)
        return edit_weights

    def _masked_edit(self, other: "Tensor", unconditional: "Tensor") -> "Tensor":
        """Return scale (o_c - o_u), but 0 where its magnitude is below the channel's quantile."""
        import torch

        edit = self.scale * (other - unconditional)
        size = edit.abs().flatten(2)
        least = torch.quantile(size.float(), self.threshold, dim=2, keepdim=True).to(size)
        return torch.where(size >= least, edit.flatten(2), 0).reshape(edit.shape)
