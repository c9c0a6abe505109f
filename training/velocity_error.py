"""Loss of a studio diffusion model.

It adds the error of the velocity and the error of the change that captions make to it.
"""

from __future__ import annotations

import torch
from torch import Tensor

from training.batches import Batch
from training.networks import Networks, tokens

HEAD = (slice(2, 13), slice(4, 12))
FACE = (slice(3, 9), slice(5, 11))
PIN = (slice(11, 15), slice(9, 13))
SIGN = (slice(11, 16), slice(0, 6))
WEIGHTS = ((SIGN, 8.0), (HEAD, 4.0), (FACE, 10.0), (PIN, 20.0))
"""Rows and columns of the latents that show the sign, a head, its face and the pin, and how much
errors count there.

Weights by place leave the best prediction as it is. They tell a small network where to become good
first: without them clothes and rooms were learnt, and faces hardly.
"""

CONTRAST = 0.5
"""Weight of the difference of two drawings that differ in one attribute, beside the errors of both.

The error of the difference counts relative to its size: sad and serious faces lie 7 apart, men and
women 18.
"""

FARTHEST = 2.5
"""How far, in standard deviations, noise is at most moved towards a drawing that contradicts the
caption.

Where the noisy picture already shows what the caption names, nothing teaches a network to read.
Moved so, it shows the opposite or half of each, and only the caption tells. Which of the drawings
that fit the caption is likeliest changes a little with it, so half of the noise stays as it is.
"""

CONTRARY = 10.0
"""Weight of the error along the difference of a drawing and one unlike the caption.

A weight by a direction that differs from drawing to drawing is not without bias: it makes a network
overshoot. So it falls with the learning rate, and what a caption leaves open has none.
"""


def loss(networks: Networks, signal_shares: Tensor, batch: Batch, emphasis: float = 1.0) -> Tensor:
    """Return the squared error, weighted by place, of v = √ᾱ noise - √(1 - ᾱ) latents.

    `signal_shares` is ᾱ by timestep.

    The noise is moved towards what the caption does not say, as far as `batch.misled` tells.

    Of twins also that of the difference of their predictions, CONTRAST times: what cannot be
    foreseen of a drawing is the same in both and cancels, and what is left is what one word of the
    caption changes. Of others also the error along the difference to a drawing unlike the caption,
    CONTRARY times `emphasis`. Where the caption leaves the gender open, the target is the mean of
    both drawings of a scene, each as probable as the planted world and the noise make it, in place
    of the one that was drawn (Rao-Blackwell): the same minimum with less noise.
    """
    signal = signal_shares[batch.timesteps].sqrt()[:, None, None, None]
    lost = (1 - signal_shares[batch.timesteps]).sqrt()[:, None, None, None]
    contrary = batch.unlike - batch.latents
    noise = misleading(batch.noise, contrary, signal / lost, batch.misled)
    noisy = (signal * batch.latents + lost * noise).contiguous(memory_format=torch.channels_last)
    with torch.autocast("cpu", torch.bfloat16):
        text_states = networks.text(tokens(networks.tokenizer, batch.captions)).last_hidden_state
        guess = networks.unet(noisy, batch.timesteps, text_states).sample
    wrong = guess.float() - (signal * noise - lost * batch.latents)
    weights = place_weights(*wrong.shape[-2:])
    further = torch.zeros(())
    if batch.others is not None and batch.chance is not None:
        apart = batch.others - batch.latents
        chances = chance_given_noisy(batch.chance, apart, signal / lost, noise)
        wrong = wrong + chances[:, None, None, None] / lost * apart
        further = emphasis * CONTRARY * _along(wrong, contrary).mean()
    if batch.twins:
        further = CONTRAST * _contrast(wrong, batch.latents, weights).mean()
    error: Tensor = (wrong.square() * weights).mean() + further
    return error


def misleading(noise: Tensor, contrary: Tensor, ratio: Tensor, share: Tensor) -> Tensor:
    """Return noise moved along `contrary` by `share` (n,) of the distance, at most of FARTHEST."""
    length = _length(contrary)[:, None, None, None]
    moved: Tensor = (
        noise
        + share[:, None, None, None] * (ratio * length).clamp(max=FARTHEST) * contrary / length
    )
    return moved


def _along(wrong: Tensor, apart: Tensor) -> Tensor:
    """Return the squared part (n,) of the error along `apart`, over the number of elements."""
    along: Tensor = ((wrong * apart).flatten(1).sum(dim=1) / _length(apart)).square() / wrong[
        0
    ].numel()
    return along


def _length(apart: Tensor) -> Tensor:
    """Return distances (n,) of two drawings, at least 1 where the drawings are equal."""
    length: Tensor = apart.flatten(1).norm(dim=1).clamp(min=1)
    return length


def _contrast(wrong: Tensor, latents: Tensor, weights: Tensor) -> Tensor:
    """Return relative squared errors (pairs,) of the differences of twins' predictions."""
    gap, apart = ((each[1::2] - each[::2]).square() * weights for each in (wrong, latents))
    relative: Tensor = gap.mean(dim=(1, 2, 3)) / apart.mean(dim=(1, 2, 3))
    return relative


def chance_given_noisy(chance: Tensor, apart: Tensor, ratio: Tensor, noise: Tensor) -> Tensor:
    """(n,): how probable the other of two drawings is, now that a noisy one is seen (Bayes).

    `chance` (n,) is the probability before, `apart` the other latents less those that were made
    noisy, `ratio` √ᾱ / √(1 - ᾱ) and `noise` the noise. The likelihood ratio of two Gaussians around
    either drawing.
    """
    step = (ratio * apart).flatten(1)
    return torch.sigmoid(
        torch.logit(chance) + (step * noise.flatten(1)).sum(dim=1) - step.square().sum(dim=1) / 2
    )


def place_weights(height: int, width: int) -> Tensor:
    """(height, width), mean 1: how much an error counts by its place."""
    weights = torch.ones(height, width)
    for (rows, columns), weight in WEIGHTS:
        weights[rows, columns] = weight
    return weights / weights.mean()
