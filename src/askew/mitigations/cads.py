"""CADS (Sadat et al. 2024), and two techniques that any user could apply, as baselines.

CADS adds noise to the text states in early steps, so that images vary more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from askew.errors import UsageError
from askew.mitigations.steering import NetworkCall, Steering, encode_text
from askew.store.keys import derived_seed

if TYPE_CHECKING:
    from torch import Tensor


class CADS(Steering):
    """Condition-annealed diffusion sampling, which has no target shares.

    Text states y become

        y'  = sqrt(gamma) y + noise sqrt(1 - gamma) n
        y'' = mixing rescaled(y') + (1 - mixing) y'

    for standard normal n, where y' is rescaled to the mean and standard deviation of y. At times
    t = 1 - step / steps, gamma is 1 up to `begin`, falls linearly, and is 0 from `end` on. The
    unconditional and the conditional states receive different noise, from the image's seed.

    Statistics are computed per row, so that no image depends on its batch. The public plug-in
    computes them over the batch.

    Attributes
    ----------
    begin, end
        Times in [0, 1] between which gamma falls from 1 to 0.
    noise
        Standard deviation of the noise.
    mixing
        Weight of the rescaled states, in [0, 1].
    """

    method: Literal["cads"] = "cads"
    begin: float = Field(default=0.6, ge=0, le=1)
    end: float = Field(default=0.9, ge=0, le=1)
    noise: float = Field(default=0.25, ge=0)
    mixing: float = Field(default=1.0, ge=0, le=1)

    def gamma(self, step: int, steps: int) -> float:
        """Return the remaining share of the condition at a step, in [0, 1]."""
        t = 1 - step / steps
        if t <= self.begin:
            return 1.0
        return 0.0 if t >= self.end else (self.end - t) / (self.end - self.begin)

    def change_states(self, states: Tensor, call: NetworkCall) -> Tensor:
        """Return the states with noise."""
        import torch

        gamma = self.gamma(call.step, call.steps)
        if gamma == 1:
            return states
        seeds = [derived_seed(request.seed, "cads") for request in call.requests]
        generators = call.once(
            "generators", lambda: [torch.Generator("cpu").manual_seed(seed) for seed in seeds]
        )
        # Each image draws two rows, for its unconditional and its conditional states.
        noises = [
            torch.randn((2, *states.shape[1:]), generator=generator) for generator in generators
        ]
        noise = torch.stack(noises, dim=1).reshape(states.shape).to(states)
        return anneal(states, noise, gamma=gamma, scale=self.noise, mixing=self.mixing)


def anneal(states: Tensor, noise: Tensor, gamma: float, scale: float, mixing: float) -> Tensor:
    """Return the annealed states y'' of `CADS`.

    Parameters
    ----------
    states
        States y, (rows, tokens, d). Each row has its own mean and (unbiased) standard deviation.
    noise
        Standard normal noise n of the same shape.
    gamma
        Remaining share of the condition, in [0, 1].
    scale
        Standard deviation of the noise.
    mixing
        Weight of the rescaled states, in [0, 1].

    Returns
    -------
    Tensor
        Annealed states, (rows, tokens, d).
    """
    noised = gamma**0.5 * states + scale * (1 - gamma) ** 0.5 * noise
    mean, deviation = _row_moments(states)
    noised_mean, noised_deviation = _row_moments(noised)
    rescaled = (noised - noised_mean) / noised_deviation * deviation + mean
    mixed: Tensor = mixing * rescaled + (1 - mixing) * noised
    return mixed


def _row_moments(states: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and standard deviation of every row, (rows, 1, 1) each."""
    return states.mean(dim=(1, 2), keepdim=True), states.std(dim=(1, 2), keepdim=True)


class Guidance(Steering):
    """Change of the guidance scale, a baseline.

    Attributes
    ----------
    scale
        Guidance scale that replaces the pipeline's.
    """

    transformers: ClassVar[bool] = True
    method: Literal["guidance"] = "guidance"
    scale: float = Field(default=1.0, ge=0)

    def change_outputs(self, out: Tensor, others: Tensor, call: NetworkCall) -> Tensor:
        """Return o_u + (scale / G) (o_p - o_u) in the conditional half, for guidance by G."""
        import torch

        unconditional, conditional = out.chunk(2)
        ratio = self.scale / call.scale
        return torch.cat([unconditional, unconditional + ratio * (conditional - unconditional)])


class NegativePrompt(Steering):
    """Negative prompt in place of the empty prompt, a baseline.

    Attributes
    ----------
    words
        The negative prompt.
    """

    method: Literal["negative-prompt"] = "negative-prompt"
    words: str = ""

    def change_states(self, states: Tensor, call: NetworkCall) -> Tensor:
        """Return states whose unconditional half is the negative prompt."""
        import torch

        if not self.words:
            raise UsageError(
                'negative-prompt needs words; give them, as in --technique-arg words="a woman"'
            )
        negative = call.once("words", lambda: encode_text(call.pipeline, self.words))
        batch = len(call.requests)
        unconditional = negative.states.to(states).expand(batch, -1, -1)
        return torch.cat([unconditional, states[batch:]])
