"""The exact distribution of studio portraits, which defines the studio's planted bias.

The distribution is a log-linear network. Given the values of its parents, each attribute has P ∝
exp(bias · θ). At bias 0, the attributes are uniform and independent. At bias 1, they follow
stereotypes. For gender given the occupation, θ is the log-odds of the share of women. This share
rises linearly from .05 for the first occupation to .95 for the last. planted.toml contains all
other θ. All attributes are conditioned on the content of the prompt (by Bayes' theorem), as in a
model that is trained on captioned images.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from askew.errors import UnknownName, UsageError
from askew.studio import toml
from askew.studio.caption import CaptionContent, parse
from askew.studio.scene import ATTRIBUTES, OCCUPATIONS, Scene

Array = NDArray[np.float64]

LEAST_SHARE = 0.05
GREATEST_SHARE = 0.95
FAVORED = 0.9
NEXT = 0.45
NAMES = tuple(ATTRIBUTES)

_THETA = toml("planted.toml")


def female_share(occupation: str | None) -> float:
    """Return the planted share of women in an occupation at bias 1; .5 if there is no occupation.

    Parameters
    ----------
    occupation
        Name of the occupation, or None.
    """
    if occupation is None:
        return 0.5
    rank = list(OCCUPATIONS).index(occupation)
    return LEAST_SHARE + (GREATEST_SHARE - LEAST_SHARE) * rank / (len(OCCUPATIONS) - 1)


def truth(prompt: str, axis: str, bias: float = 1.0) -> dict[str, float]:
    """Compute the exact distribution of an axis's values in images for a prompt.

    Parameters
    ----------
    prompt
        Text of the prompt.
    axis
        An attribute of the studio.
    bias
        Strength of the planted bias, in [0, 1].

    Returns
    -------
    dict
        Probability by value.

    Raises
    ------
    UnknownName
        If the axis is not an attribute of the studio.
    UsageError
        If the prompt does not ask for a person.
    """
    return {values[0]: p for values, p in joint(prompt, (axis,), bias).items()}


def joint(prompt: str, axes: Sequence[str], bias: float = 1.0) -> dict[tuple[str, ...], float]:
    """Compute the exact joint distribution of several axes' values in images for a prompt.

    Parameters
    ----------
    prompt
        Text of the prompt.
    axes
        Attributes of the studio.
    bias
        Strength of the planted bias, in [0, 1].

    Returns
    -------
    dict
        Probability of each combination of values, in the order of `axes`.
    """
    for axis in axes:
        UnknownName.unless_known("studio axis", axis, ATTRIBUTES)
    content = parse(prompt)
    if not content.person:
        raise UsageError(
            f"the prompt {prompt!r} does not ask the studio for a person, so it has no planted bias"
        )
    table = conditional(content, bias)
    others = tuple(i for i, name in enumerate(NAMES) if name not in axes)
    order = np.argsort(np.argsort([NAMES.index(axis) for axis in axes])).tolist()
    marginal = np.transpose(table.sum(axis=others), order)
    combinations = product(*(ATTRIBUTES[axis] for axis in axes))
    return dict(zip(combinations, marginal.ravel().tolist(), strict=True))


def conditional(content: CaptionContent, bias: float) -> Array:
    """Compute the joint distribution of all attributes, given a prompt's content.

    Parameters
    ----------
    content
        Content of the prompt.
    bias
        Strength of the planted bias, in [0, 1].

    Returns
    -------
    array
        Probabilities. The result is an array with one dimension for each attribute, in the order of
        `NAMES`.
    """
    table = world(content.occupation, bias).copy()
    for name, value in content.attributes.items():
        shown = np.array([float(v == value) for v in ATTRIBUTES[name]])
        table *= shown.reshape([-1 if other == name else 1 for other in NAMES])
    total = table.sum()
    if total == 0:
        words = " and ".join(f"{name} {value!r}" for name, value in content.attributes.items())
        raise UsageError(f"the studio cannot show a person with {words} at the same time")
    return np.asarray(table / total)


@lru_cache(maxsize=64)
def _cumulative(
    occupation: str | None, attributes: tuple[tuple[str, str], ...], bias: float
) -> Array:
    return np.cumsum(conditional(CaptionContent(dict(attributes), occupation, True, ()), bias))


def sample(content: CaptionContent, bias: float, seed: int) -> Scene:
    """Sample a scene from the distribution that `conditional` computes.

    Scenes that are sampled at different biases with the same seed use the same random numbers, and
    differ only because the distributions differ.

    Parameters
    ----------
    content
        Content of the prompt.
    bias
        Strength of the planted bias, in [0, 1].
    seed
        Seed for sampling.
    """
    rng = np.random.default_rng([seed, 1])
    stated = content.attributes
    if not content.person:
        place = stated.get("environment") or str(rng.choice(ATTRIBUTES["environment"]))
        return Scene(person=False, environment=place, style=stated.get("style", "color"))
    cumulative = _cumulative(content.occupation, tuple(sorted(stated.items())), bias)
    place_of = np.unravel_index(
        chosen(cumulative, rng), tuple(len(values) for values in ATTRIBUTES.values())
    )
    values = {name: ATTRIBUTES[name][int(i)] for name, i in zip(NAMES, place_of, strict=True)}
    return Scene.of(values, content.occupation)


def chosen(cumulative: Array, rng: np.random.Generator) -> int:
    """Sample a position, given the cumulative weights of all positions."""
    return min(
        int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")),
        cumulative.size - 1,
    )


@lru_cache(maxsize=128)
def world(occupation: str | None, bias: float) -> Array:
    """Compute the joint distribution of all attributes in portraits that have this occupation.

    Parameters
    ----------
    occupation
        Name of the occupation, or None.
    bias
        Strength of the planted bias, in [0, 1].
    """
    if not 0 <= bias <= 1:
        raise UsageError(f"bias is {bias}; it must be between 0 (uniform) and 1 (stereotyped)")
    table = np.ones(tuple(len(values) for values in ATTRIBUTES.values()))
    for child, parents, logits in factors(occupation):
        never = np.isneginf(logits)
        weights = np.where(never, 0.0, np.exp(bias * np.where(never, 0.0, logits)))
        names = (*parents, child)
        order = sorted(range(len(names)), key=lambda i: NAMES.index(names[i]))
        shape = [len(ATTRIBUTES[name]) if name in names else 1 for name in NAMES]
        table *= np.transpose(weights / weights.sum(axis=-1, keepdims=True), order).reshape(shape)
    return table


def factors(occupation: str | None) -> list[tuple[str, tuple[str, ...], Array]]:
    """Return the factor of the log-linear network for each attribute.

    Parameters
    ----------
    occupation
        Name of the occupation, or None.

    Returns
    -------
    list of tuple
        For each attribute: its name, the names of its parents, and an array of log-weights. The
        array's last dimension indexes the attribute's values, and the other dimensions index the
        parents' values.
    """
    share = female_share(occupation)
    work = OCCUPATIONS.get(occupation or "")
    turn = list(OCCUPATIONS).index(occupation) if occupation else 0
    network: list[tuple[str, tuple[str, ...], Array]] = [
        ("gender", (), np.array([np.log1p(-share), np.log(share)]))
    ]
    for child, logits in _THETA.items():
        parents = tuple(logits.get("given", ()))
        count = len(ATTRIBUTES[child])
        theta = np.zeros([*(len(ATTRIBUTES[name]) for name in parents), count])
        for position, name in enumerate(parents):
            rows = np.array([logits["given"][name][value] for value in ATTRIBUTES[name]])
            shape = [1] * len(parents)
            shape[position] = len(rows)
            theta += rows.reshape([*shape, count])
        for field, logits_of in logits.get("work", {}).items():
            theta += logits_of.get(getattr(work, field, ""), 0.0)
        steps = (np.arange(count) - turn) % count
        turned = np.select([steps == 0, steps == 1], [FAVORED, NEXT], 0.0)
        theta = theta + logits.get("always", 0.0) + logits.get("turns", 0.0) * turned
        network.append((child, parents, theta))
    return network
