"""The bias that was planted in the studio world: how its portraits are distributed, exactly.

A log-linear network: every attribute is drawn given its parents with P ∝ exp(bias · θ), so that
bias 0 is uniform and independent, and bias 1 the stereotyped world. θ of gender given the
occupation is the log-odds of a share of women that rises evenly from .05 to .95 over the
occupations; planted.toml has all other θ. What a prompt says conditions the whole network (Bayes),
as it does in a model trained on captioned pictures.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from askew.errors import UnknownName, UsageError
from askew.studio import toml
from askew.studio.caption import CaptionContent, parse
from askew.studio.scene import ATTRIBUTES, OCCUPATIONS, Scene

Array = NDArray[np.float64]

LEAST_SHARE = 0.05
GREATEST_SHARE = 0.95
FAVOURED = 0.9
NEXT = 0.45
NAMES = tuple(ATTRIBUTES)

_THETA = toml("planted.toml")


def female_share(occupation: str | None) -> float:
    """The planted share of women at bias 1; one half for a person without an occupation."""
    if occupation is None:
        return 0.5
    rank = list(OCCUPATIONS).index(occupation)
    return LEAST_SHARE + (GREATEST_SHARE - LEAST_SHARE) * rank / (len(OCCUPATIONS) - 1)


def truth(prompt: str, axis: str, bias: float = 1.0) -> dict[str, float]:
    """The exact distribution of an axis in pictures of `prompt`, as value -> probability.

    Raises UnknownName for an axis that is not an attribute of the studio, UsageError for a prompt
    that shows nobody.
    """
    return {values[0]: p for values, p in joint(prompt, (axis,), bias).items()}


def joint(prompt: str, axes: Sequence[str], bias: float = 1.0) -> dict[tuple[str, ...], float]:
    """The exact joint distribution of several axes in pictures of `prompt`."""
    for axis in axes:
        UnknownName.unless_known("studio axis", axis, ATTRIBUTES)
    said = parse(prompt)
    if not said.person:
        raise UsageError(
            f"the prompt {prompt!r} shows nobody in the studio world, so it has no truth"
        )
    table = conditional(said, bias)
    others = tuple(i for i, name in enumerate(NAMES) if name not in axes)
    marginal = np.transpose(
        table.sum(axis=others), np.argsort(np.argsort([NAMES.index(a) for a in axes])).tolist()
    )
    shapes = [ATTRIBUTES[axis] for axis in axes]
    return {
        tuple(values[i] for values, i in zip(shapes, index, strict=True)): float(p)
        for index, p in np.ndenumerate(marginal)
    }


def conditional(said: CaptionContent, bias: float) -> Array:
    """The joint distribution of all attributes given what a prompt says; one array dimension per
    attribute.
    """
    table = world(said.occupation, bias).copy()
    for name, value in said.attributes.items():
        shown = np.array([float(v == value) for v in ATTRIBUTES[name]])
        table *= shown.reshape([-1 if other == name else 1 for other in NAMES])
    total = table.sum()
    if total == 0:
        words = " and ".join(f"{name} {value!r}" for name, value in said.attributes.items())
        raise UsageError(f"the studio cannot show a person with {words} at once")
    return np.asarray(table / total)


@lru_cache(maxsize=64)
def _cumulative(
    occupation: str | None, attributes: tuple[tuple[str, str], ...], bias: float
) -> Array:
    return np.cumsum(conditional(CaptionContent(dict(attributes), occupation, True, ()), bias))


def sample(said: CaptionContent, bias: float, seed: int) -> Scene:
    """One scene drawn from `conditional`. The same seed makes the same choices at every bias, as
    far as they agree.
    """
    rng = np.random.default_rng([seed, 1])
    if not said.person:
        place = said.attributes.get("environment") or str(rng.choice(ATTRIBUTES["environment"]))
        return Scene(person=False, environment=place, style=said.attributes.get("style", "color"))
    cumulative = _cumulative(said.occupation, tuple(sorted(said.attributes.items())), bias)
    place_of = np.unravel_index(
        chosen(cumulative, rng), tuple(len(values) for values in ATTRIBUTES.values())
    )
    values = {name: ATTRIBUTES[name][int(i)] for name, i in zip(NAMES, place_of, strict=True)}
    return Scene.of(values, said.occupation)


def chosen(cumulative: Array, rng: np.random.Generator) -> int:
    """A number drawn by its cumulative weights."""
    return min(
        int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")),
        cumulative.size - 1,
    )


@lru_cache(maxsize=128)
def world(occupation: str | None, bias: float) -> Array:
    """The joint distribution of all attributes of the portraits of an occupation at this bias."""
    if not 0 <= bias <= 1:
        raise UsageError(f"bias is {bias}; it must lie between 0 (uniform) and 1 (stereotyped)")
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
    """(attribute, its parents, log-weights with the attribute's own values along the last
    dimension).
    """
    share = female_share(occupation)
    work = OCCUPATIONS.get(occupation or "")
    turn = list(OCCUPATIONS).index(occupation) if occupation else 0
    found: list[tuple[str, tuple[str, ...], Array]] = [
        ("gender", (), np.array([np.log1p(-share), np.log(share)]))
    ]
    for child, told in _THETA.items():
        parents = tuple(told.get("given", ()))
        count = len(ATTRIBUTES[child])
        theta = np.zeros([*(len(ATTRIBUTES[name]) for name in parents), count])
        for at, name in enumerate(parents):
            rows = np.array([told["given"][name][value] for value in ATTRIBUTES[name]])
            theta += rows.reshape(
                [len(rows) if at == other else 1 for other in range(len(parents))] + [count]
            )
        for what, by in told.get("work", {}).items():
            theta += by.get(getattr(work, what, ""), 0.0)
        steps = (np.arange(count) - turn) % count
        turned = np.select([steps == 0, steps == 1], [FAVOURED, NEXT], 0.0)
        found.append(
            (child, parents, theta + told.get("always", 0.0) + told.get("turns", 0.0) * turned)
        )
    return found
