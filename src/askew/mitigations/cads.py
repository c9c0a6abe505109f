"""CADS (Sadat et al. 2024): noise on the condition early on, for diversity; and two baselines that
anyone can set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from askew.errors import UsageError
from askew.mitigations.steering import NetworkCall, Steering, encoded
from askew.store.keys import derived_seed

if TYPE_CHECKING:
    from torch import Tensor


class CADS(Steering):
    """Condition-annealed sampling: it aims at no share, only at variety.

        y' = sqrt(gamma) y + noise sqrt(1 - gamma) n,    y'' = mixing rescaled(y') + (1 - mixing) y'

    gamma is 1 for times t = 1 - step / steps up to `begin`, 0 from `end` on, and falls evenly
    between; y' is rescaled to the mean and standard deviation of y. Both halves of the guidance get
    noise of their own, from the picture's seed. Statistics are of one picture's text each, so that
    no picture depends on its batch; the public plug-in takes them over the whole batch.
    """

    method: Literal["cads"] = "cads"
    begin: float = Field(default=0.6, ge=0, le=1)
    end: float = Field(default=0.9, ge=0, le=1)
    noise: float = Field(default=0.25, ge=0)
    mixing: float = Field(default=1.0, ge=0, le=1)

    def gamma(self, step: int, steps: int) -> float:
        """How much of the condition is left at a step."""
        t = 1 - step / steps
        if t <= self.begin:
            return 1.0
        return 0.0 if t >= self.end else (self.end - t) / (self.end - self.begin)

    def inputs(self, states: Tensor, call: NetworkCall) -> Tensor:
        """The noised states."""
        import torch

        gamma = self.gamma(call.step, call.steps)
        if gamma == 1:
            return states
        seeds = [derived_seed(one.seed, "cads") for one in call.requests]
        generators = call.once(
            "generators", lambda: [torch.Generator("cpu").manual_seed(seed) for seed in seeds]
        )
        noises = [torch.randn((2, *states.shape[1:]), generator=one) for one in generators]
        noise = torch.stack(noises, dim=1).reshape(states.shape).to(states)
        return annealed(states, noise, gamma, self.noise, self.mixing)


def annealed(states: Tensor, noise: Tensor, gamma: float, scale: float, mixing: float) -> Tensor:
    """y'' of states y (rows, tokens, d), every row with its own mean and (unbiased) standard
    deviation.
    """
    noised = gamma**0.5 * states + scale * (1 - gamma) ** 0.5 * noise
    (mean, deviation), (own, spread) = (
        (one.mean(dim=(1, 2), keepdim=True), one.std(dim=(1, 2), keepdim=True))
        for one in (states, noised)
    )
    rescaled = (noised - own) / spread * deviation + mean
    mixed: Tensor = mixing * rescaled + (1 - mixing) * noised
    return mixed


class Guidance(Steering):
    """Another guidance scale: what any user can set, as a baseline."""

    transformers: ClassVar[bool] = True
    method: Literal["guidance"] = "guidance"
    scale: float = Field(default=1.0, ge=0)

    def outputs(self, out: Tensor, others: Tensor, call: NetworkCall) -> Tensor:
        """o_u + (scale / G) (o_p - o_u) in the conditional half, which guidance by G multiplies by
        G.
        """
        import torch

        plain, prompted = out.chunk(2)
        return torch.cat([plain, plain + self.scale / call.scale * (prompted - plain)])


class NegativePrompt(Steering):
    """A negative prompt in the place of the empty one: what any user can set, as a baseline."""

    method: Literal["negative-prompt"] = "negative-prompt"
    words: str = ""

    def inputs(self, states: Tensor, call: NetworkCall) -> Tensor:
        """The unconditional half reads the words."""
        import torch

        if not self.words:
            raise UsageError('negative-prompt needs words, such as --way-arg words="a woman"')
        words, _ = call.once("words", lambda: encoded(call.pipeline, self.words))
        batch = len(call.requests)
        return torch.cat([words.to(states).expand(batch, -1, -1), states[batch:]])
