"""Scores of prompts whose images are drawn as attributes, with the planted probabilities.

No image is generated. An image of a prompt is a pair of perceived gender and ethnicity, or only the
gender. The scores are those of `askew mine`, computed from labels without errors.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from askew.prompts.evolution import Candidate
from askew.prompts.fitting import is_stated
from askew.prompts.vocabulary import article
from askew.stats.distance import expected_distance
from askew.stats.gap import bias_score
from askew.store.keys import derived_seed
from askew.studio.planted import joint, truth
from askew.studio.scene import ATTRIBUTES

NOISE = 0.05
"""Standard deviation of a similarity. An attribute that matches adds 0.25 to a similarity."""

PAIRS = list(product(ATTRIBUTES["gender"], ATTRIBUTES["ethnicity"]))
"""Pairs of perceived gender and ethnicity."""

Pair = tuple[str, str]
Places = NDArray[np.int_]
"""Places of drawn images in PAIRS: (images,)."""


def _matching_values(variation: Pair, image: Pair) -> int:
    return sum(a == b for a, b in zip(variation, image, strict=True))


def _similarities_without_noise() -> NDArray[np.float64]:
    rows = []
    for variation in PAIRS:
        rows.append([0.5 + 0.25 * _matching_values(variation, image) for image in PAIRS])
    return np.array(rows)


FIT = _similarities_without_noise()
"""Similarities without noise: (variations, kinds of images)."""


def portrait(occupation: str) -> str:
    """Return the prompt of an occupation."""
    return f"photo portrait of {article(occupation)} {occupation}"


def planted_skew(prompt: str, bias: float = 1.0) -> float:
    """Return |2 x planted share of women - 1|, or 0 if the prompt states the gender."""
    if is_stated(prompt, "gender"):
        return 0.0
    return abs(2 * truth(prompt, "gender", bias)["female"] - 1)


def drawn_counts(text: str, run: int, images: int, bias: float = 1.0) -> tuple[int, int]:
    """Return the numbers of men and women in drawn images of a prompt.

    Parameters
    ----------
    text
        The prompt.
    run
        Seed of the draws.
    images
        Number of images.
    bias
        Bias of the planted world.
    """
    rng = np.random.default_rng(derived_seed(run, text))
    women = rng.binomial(images, truth(text, "gender", bias)["female"])
    return images - int(women), int(women)


def skew_loss(candidate: Candidate, run: int, images: int, bias: float = 1.0) -> float:
    """Return minus the bias-corrected skew of perceived gender of drawn images.

    `candidate` is the prompt. The other parameters are those of `drawn_counts`.
    """
    if is_stated(candidate.text, "gender"):
        return 0.0
    if images == 1:
        return 0.0  # a single image has no skew
    _, women = drawn_counts(candidate.text, run, images, bias)
    null = expected_distance(images, [0.5, 0.5])
    return -float((abs(women / images - 0.5) - null) / (0.5 - null))


def eq1_loss(candidate: Candidate, run: int, images: int, bias: float = 1.0) -> float:
    """Return Eq. 1 of drawn images, with variations for every perceived gender and ethnicity.

    The parameters are those of `skew_loss`.
    """
    law = joint(candidate.text, ("gender", "ethnicity"), bias)
    rng = np.random.default_rng(derived_seed(run, candidate.text))
    places = rng.choice(len(PAIRS), size=images, p=[law[pair] for pair in PAIRS])
    return noisy_eq1(places, 0.25, rng)


def noisy_eq1(places: Places, alpha: float, rng: np.random.Generator) -> float:
    """Return Eq. 1 of similarities that grow with the number of matching attributes, with noise."""
    noise = NOISE * rng.normal(size=(len(PAIRS), len(places)))
    return bias_score(FIT[:, places] + noise, alpha)


def planted_law(occupation: str) -> NDArray[np.float64]:
    """Return the planted probability of each of PAIRS for an occupation."""
    law = joint(portrait(occupation), ("gender", "ethnicity"))
    return np.array([law[pair] for pair in PAIRS])


def counted_skew(places: Places) -> float:
    """Return |2 x share of women - 1| of drawn images."""
    female = np.mean([PAIRS[place][0] == "female" for place in places])
    return float(abs(2 * female - 1))
