"""Fair Diffusion (Friedrich et al. 2023): semantic guidance towards the value that a picture is
asked for.
"""

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from askew.mitigations.steering import NetworkCall, TargetSteering
from askew.prompts.counterfactuals import counterfactual

if TYPE_CHECKING:
    from torch import Tensor


class FairDiffusion(TargetSteering):
    """Semantic guidance (SEGA, Brack et al. 2023) with edits c of direction s_c and weight w_c on
    top of the prompt.

        g_c = scale s_c (o_c - o_u), kept where |g_c| is at least its quantile `threshold` over a
        channel's pixels
        g   = sum_c w_c g_c + momentum m;   m <- decay m + (1 - decay) g;   o = o_u + G (o_p - o_u) + g

    Of each target axis the value asked of a picture is an edit up, every other one down, with
    weight 1 / (K - 1). Edits count from the fraction `warm_up` of the steps on; the momentum m
    grows before. Outputs are taken as the network gives them (noise or velocity). Defaults are
    those of the authors' script.
    """

    transformers: ClassVar[bool] = True
    method: Literal["fair-diffusion"] = "fair-diffusion"
    words: dict[str, str] = Field(default_factory=dict)
    scale: float = Field(default=4.0, ge=0)
    threshold: float = Field(default=0.95, ge=0, lt=1)
    warm_up: float = Field(default=0.1, ge=0, lt=1)
    momentum: float = Field(default=0.5, ge=0, le=1)
    decay: float = Field(default=0.6, ge=0, lt=1)

    @property
    def cost(self) -> float:
        """Evaluations: two halves, and one for every value of every target axis."""
        return (2 + sum(map(len, self.targets.values()))) / 2 if self.scale else 1.0

    def text(self, axis: str, value: str) -> str:
        """The edit for a value: "male person", unless `words` say another for AXIS=VALUE."""
        return self.words.get(f"{axis}={value}") or counterfactual("person", axis, value)

    def rows(self, call: NetworkCall) -> list[str]:
        """A text for every value of every target axis."""
        if not self.scale:
            return []
        return [self.text(axis, value) for axis, shares in self.targets.items() for value in shares]

    def outputs(self, out: "Tensor", others: "Tensor", call: NetworkCall) -> "Tensor":
        """The conditional half with g / G added, so that guidance by G adds g."""
        import torch

        if not self.scale:
            return out
        plain, prompted = out.chunk(2)
        asked = call.once(
            "asked", lambda: [self.requested_values(request) for request in call.requests]
        )
        every = [
            [1.0 if one[axis] == value else -1.0 / (len(shares) - 1) for one in asked]
            for axis, shares in self.targets.items()
            for value in shares
        ]
        momentum = call.once("momentum", lambda: torch.zeros_like(prompted))
        total = self.momentum * momentum
        for other, weights in zip(others, every, strict=True):
            edit = self.scale * (other - plain)
            size = edit.abs().flatten(2)
            least = torch.quantile(size.float(), self.threshold, dim=2, keepdim=True).to(size)
            kept = torch.where(size >= least, edit.flatten(2), 0).reshape(edit.shape)
            total = (
                total + torch.tensor(weights).to(kept).reshape(-1, *[1] * (kept.dim() - 1)) * kept
            )
        momentum.copy_(self.decay * momentum + (1 - self.decay) * total)
        if call.step < self.warm_up * call.steps:
            return out
        return torch.cat([plain, prompted + total / call.scale])
