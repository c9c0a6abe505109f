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
"""Rows and columns of the latents that show the sign, the head, the face and the pin, with weights.

Weights by place do not change the best prediction. They decide where a small network becomes good
first: without them, it learned clothes and rooms, and hardly any faces.
"""

CONTRAST = 0.5
"""Weight of the error of the difference of two drawings that differ in an attribute.

The error counts relative to the size of the difference: 7 between sad and serious faces, 18 between
men and women.
"""

FARTHEST = 2.5
"""Largest distance, in standard deviations, by which noise moves toward a contrary drawing.

If the noisy image already shows what the caption names, a network does not learn to use captions.
With moved noise, it shows the contrary or a mixture, and only the caption is informative. The
movement slightly changes which fitting drawing is most probable, so half of the noise is not moved.
"""

CONTRARY = 10.0
"""Weight of the error along the difference of a drawing and one unlike the caption.

A weight in a direction that differs between drawings is biased: it makes a network overshoot. So it
falls with the learning rate, and unnamed attributes have no such weight.
"""


def loss(networks: Networks, signal_shares: Tensor, batch: Batch, emphasis: float = 1.0) -> Tensor:
    """Return the squared error, weighted by place, of v = √ᾱ noise - √(1 - ᾱ) latents.

    The noise is moved toward a drawing that contradicts the caption, by the share `batch.misled`.

    For twins, the error of the difference of their predictions is added, CONTRAST times. The
    unpredictable part of a drawing is the same in both and cancels; the effect of a word of the
    caption remains. For other scenes, the error along the difference from a drawing unlike the
    caption is added, CONTRARY times `emphasis`.

    Where the caption does not name the gender, the target is not the drawing, but the mean of the
    drawings of both genders, weighted by their probability given the planted world and the noise
    (Rao-Blackwell). It has the same minimum with less noise.

    Parameters
    ----------
    networks
        The networks.
    signal_shares
        ᾱ by timestep.
    batch
        The batch.
    emphasis
        Factor of CONTRARY.
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
    distance = (ratio * length).clamp(max=FARTHEST)
    moved: Tensor = noise + share[:, None, None, None] * distance * contrary / length
    return moved


def _along(wrong: Tensor, apart: Tensor) -> Tensor:
    """Return the squared part (n,) of the error along `apart`, over the number of elements."""
    along = (wrong * apart).flatten(1).sum(dim=1) / _length(apart)
    squared: Tensor = along.square() / wrong[0].numel()
    return squared


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
    """Return the probability (n,) of the other of two drawings, given the noisy image (Bayes).

    The likelihood ratio is that of two Gaussians around the drawings.

    Parameters
    ----------
    chance
        Probability without the noisy image: (n,).
    apart
        Latents of the other drawing minus those of the drawing that was made noisy.
    ratio
        √ᾱ / √(1 - ᾱ).
    noise
        The noise.
    """
    step = (ratio * apart).flatten(1)
    gain = (step * noise.flatten(1)).sum(dim=1)
    loss_of_size = step.square().sum(dim=1) / 2
    return torch.sigmoid(torch.logit(chance) + gain - loss_of_size)


def place_weights(height: int, width: int) -> Tensor:
    """Return the weights of errors by place, with mean 1: (height, width)."""
    weights = torch.ones(height, width)
    for (rows, columns), weight in WEIGHTS:
        weights[rows, columns] = weight
    return weights / weights.mean()
