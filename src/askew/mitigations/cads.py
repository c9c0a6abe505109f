"""CADS (Sadat et al. 2024), and two baseline techniques that any user can apply.

CADS adds noise to the encoded text in the early denoising steps. The noise makes the images more
diverse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from askew.errors import UsageError
from askew.mitigations.steering import (
    CHANGES_GUIDANCE,
    REPLACES_TEXT,
    NetworkCall,
    Steering,
    TextInputs,
    has_pooled_vectors,
)
from askew.models.base import Model
from askew.store.files import digest_of
from askew.store.keys import derived_seed

if TYPE_CHECKING:
    from torch import Tensor


class CADS(Steering):
    """Condition-annealed diffusion sampling (CADS), a technique without target shares.

    Text states y become

        y'  = sqrt(gamma) y + noise sqrt(1 - gamma) n
        y'' = mixing rescaled(y') + (1 - mixing) y'

    for standard normal n, where y' is rescaled to the mean and standard deviation of y. At time t =
    1 - step / steps, gamma is 1 for t up to `begin`, falls linearly between `begin` and `end`, and
    is 0 for t from `end` on. The unconditional and the conditional states receive different noise.
    The image's seed determines the noise. The pooled vectors of SDXL and SD3 receive noise in the
    same way, because they also encode the prompt.

    askew computes the mean and the standard deviation for each row, so that no image depends on the
    other images in its batch. The public CADS plug-in computes the mean and the standard deviation
    over the batch.

    Attributes
    ----------
    begin, end
        Times in [0, 1] between which gamma falls from 1 to 0.
    noise
        Standard deviation of the noise.
    mixing
        Weight of the rescaled states, in [0, 1].
    """

    transformers: ClassVar[bool] = True
    method: Literal["cads"] = "cads"
    begin: float = Field(default=0.6, ge=0, le=1)
    end: float = Field(default=0.9, ge=0, le=1)
    noise: float = Field(default=0.25, ge=0)
    mixing: float = Field(default=1.0, ge=0, le=1)

    def gamma(self, step: int, steps: int) -> float:
        """Return the share, in [0, 1], of the condition that remains at a step."""
        t = 1 - step / steps
        if t <= self.begin:
            return 1.0
        return 0.0 if t >= self.end else (self.end - t) / (self.end - self.begin)

    def fingerprint_on(self, model: Model) -> str:
        """Digest that differs from `fingerprint` if the model has pooled vectors.

        In earlier versions of askew, pooled vectors received no noise.
        """
        if has_pooled_vectors(model):
            return digest_of([self.fingerprint, "pooled"])[:16]
        return self.fingerprint

    def change_texts(self, texts: TextInputs, call: NetworkCall) -> TextInputs:
        """Add noise to the encoded texts."""
        gamma = self.gamma(call.step, call.steps)
        if gamma == 1:
            return texts
        pooled = texts.pooled
        if pooled is not None:
            pooled = self._annealed(pooled, gamma, call, "cads", "pooled")
        return TextInputs(states=self._annealed(texts.states, gamma, call, "cads"), pooled=pooled)

    def _annealed(self, rows: Tensor, gamma: float, call: NetworkCall, *purpose: str) -> Tensor:
        """Add noise to the B unconditional and the B conditional rows.

        Each combination of image and `purpose` has its own random generator.
        """
        import torch

        seeds = [derived_seed(request.seed, *purpose) for request in call.requests]
        generators = call.once(
            " ".join(purpose),
            lambda: [torch.Generator("cpu").manual_seed(seed) for seed in seeds],
        )
        # Each image draws two rows, for its unconditional and its conditional text.
        noises = [
            torch.randn((2, *rows.shape[1:]), generator=generator) for generator in generators
        ]
        noise = torch.stack(noises, dim=1).reshape(rows.shape).to(rows)
        return anneal(rows, noise, gamma=gamma, scale=self.noise, mixing=self.mixing)


def anneal(states: Tensor, noise: Tensor, gamma: float, scale: float, mixing: float) -> Tensor:
    """Return the annealed states y'' that `CADS` defines.

    Parameters
    ----------
    states
        States y of shape (rows, tokens, d), or pooled vectors of shape (rows, d). Mean and
        (unbiased) standard deviation are computed for each row.
    noise
        Standard normal noise n, of the same shape as `states`.
    gamma
        Share gamma of the condition that remains, in [0, 1].
    scale
        Standard deviation of the noise.
    mixing
        Weight of the rescaled states, in [0, 1].

    Returns
    -------
    Tensor
        Annealed states, of the same shape as `states`.
    """
    noised = gamma**0.5 * states + scale * (1 - gamma) ** 0.5 * noise
    mean, deviation = _row_moments(states)
    noised_mean, noised_deviation = _row_moments(noised)
    rescaled = (noised - noised_mean) / noised_deviation * deviation + mean
    mixed: Tensor = mixing * rescaled + (1 - mixing) * noised
    return mixed


def _row_moments(states: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean and the standard deviation of each row, as arrays of shape (rows, 1, …)."""
    sides = tuple(range(1, states.ndim))
    return states.mean(dim=sides, keepdim=True), states.std(dim=sides, keepdim=True)


class Guidance(Steering):
    """Baseline technique that changes the guidance scale.

    Attributes
    ----------
    scale
        Guidance scale that replaces the pipeline's guidance scale.
    """

    transformers: ClassVar[bool] = True
    stage: ClassVar[int] = CHANGES_GUIDANCE
    steers_outputs: ClassVar[bool] = True
    method: Literal["guidance"] = "guidance"
    scale: float = Field(default=1.0, ge=0)

    def change_outputs(self, out: Tensor, others: Tensor, call: NetworkCall) -> Tensor:
        """Replace the conditional half of the outputs with o_u + (scale / G) (o_p - o_u).

        Guidance with the pipeline's scale G then has the same effect as guidance with `scale`.
        """
        import torch

        unconditional, conditional = out.chunk(2)
        ratio = self.scale / call.scale
        return torch.cat([unconditional, unconditional + ratio * (conditional - unconditional)])


class NegativePrompt(Steering):
    """Baseline technique that uses a negative prompt in place of the empty prompt.

    Attributes
    ----------
    words
        The negative prompt.
    """

    transformers: ClassVar[bool] = True
    stage: ClassVar[int] = REPLACES_TEXT
    method: Literal["negative-prompt"] = "negative-prompt"
    words: str = ""

    def check_class(self, pipeline_class: type, owner: str = "") -> None:
        """Raise UsageError if the pipeline cannot be steered, or if no negative prompt is given."""
        super().check_class(pipeline_class, owner)
        if not self.words:
            raise UsageError(
                'negative-prompt needs words; give them, as in --technique-arg words="a woman"'
            )

    def fingerprint_on(self, model: Model) -> str:
        """Digest that differs from `fingerprint` if the model has pooled vectors.

        In earlier versions of askew, the pooled vector came from the empty prompt.
        """
        if has_pooled_vectors(model):
            return digest_of([self.fingerprint, "pooled"])[:16]
        return self.fingerprint

    def change_texts(self, texts: TextInputs, call: NetworkCall) -> TextInputs:
        """Replace the unconditional half of the encoded texts with the encoded negative prompt."""
        return texts.with_unconditional(call.encoded_negative(self.words))
