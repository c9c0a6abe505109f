"""The bias that was planted in the studio world: how its portraits are distributed, exactly.

A log-linear network: every attribute is drawn given its parents with P ∝ exp(bias · θ), so that bias 0 is
uniform and independent, and bias 1 the stereotyped world. θ of gender given the occupation is the log-odds of
a share of women that rises evenly from .05 to .95 over the occupations. Interactions: gender -> age,
gender -> hair, age -> glasses, ethnicity -> clothing, environment -> clothing, clothing -> emotion. What a
prompt says conditions the whole network (Bayes), as it does in a model trained on captioned pictures.

The leanings of ethnicity, body type, age, emotion and disability are dealt out to the occupations by rotation: they are
a known pattern to be found again, and describe no real group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from askew.errors import UnknownName, UsageError
from askew.studio.caption import Said, parse
from askew.studio.scene import ATTRIBUTES, OCCUPATIONS, Scene

Array = NDArray[np.float64]

LEAST_SHARE, GREATEST_SHARE = 0.05, 0.95
NAMES = tuple(ATTRIBUTES)

_AGE_GIVEN_GENDER = {"male": (-0.6, 0.5, 0.4), "female": (0.9, 0.0, -0.9)}
_HAIR_GIVEN_GENDER = {"male": (1.2, -0.8, 0.0), "female": (-0.2, 1.2, -1.6)}
_GLASSES_GIVEN_AGE = {"young": 0.5, "middle-aged": 0.0, "old": -0.5}
_CLOTHING_GIVEN_ETHNICITY = (0.8, -0.8, 0.5, -0.5, 0.3, -0.3)
_CLOTHING_GIVEN_ENVIRONMENT = {"indoors": 0.6, "outdoors": -0.6}
_CLOTHING_GIVEN_ATTIRE = {"formal": 0.6, "informal": -0.6}
_EMOTION_GIVEN_CLOTHING = {"formal": (0.0, -0.7, 1.2, -0.5), "informal": (1.2, 0.0, -0.7, -0.2)}
_ENVIRONMENT_GIVEN_PLACE = 0.9
_STYLE = (2.0, 0.0, -0.4)
_ROTATION = 0.9
_FIT = 1.6


def female_share(occupation: str | None) -> float:
    """The planted share of women at bias 1; one half for a person without an occupation."""
    if occupation is None:
        return 0.5
    rank = list(OCCUPATIONS).index(occupation)
    return LEAST_SHARE + (GREATEST_SHARE - LEAST_SHARE) * rank / (len(OCCUPATIONS) - 1)


def truth(prompt: str, axis: str, bias: float = 1.0) -> dict[str, float]:
    """The exact distribution of an axis in pictures of `prompt`, as value -> probability.

    Raises UnknownName for an axis that is not an attribute of the studio, UsageError for a prompt that shows nobody.
    """
    return {values[0]: p for values, p in joint(prompt, (axis,), bias).items()}


def joint(prompt: str, axes: Sequence[str], bias: float = 1.0) -> dict[tuple[str, ...], float]:
    """The exact joint distribution of several axes in pictures of `prompt`."""
    for axis in axes:
        if axis not in ATTRIBUTES:
            raise UnknownName("studio axis", axis, ATTRIBUTES)
    said = parse(prompt)
    if not said.person:
        raise UsageError(f"the prompt {prompt!r} shows nobody in the studio world, so it has no truth")
    table = conditional(said, bias)
    others = tuple(i for i, name in enumerate(NAMES) if name not in axes)
    marginal = np.transpose(table.sum(axis=others), np.argsort(np.argsort([NAMES.index(a) for a in axes])).tolist())
    shapes = [ATTRIBUTES[axis] for axis in axes]
    return {
        tuple(values[i] for values, i in zip(shapes, index, strict=True)): float(p)
        for index, p in np.ndenumerate(marginal)
    }


def conditional(said: Said, bias: float) -> Array:
    """The joint distribution of all attributes given what a prompt says; one array dimension per attribute."""
    table = world(said.occupation, bias).copy()
    for name, value in said.attributes.items():
        shown = np.array([float(v == value) for v in ATTRIBUTES[name]])
        table *= shown.reshape([-1 if other == name else 1 for other in NAMES])
    total = table.sum()
    if total == 0:
        words = " and ".join(f"{name} {value!r}" for name, value in said.attributes.items())
        raise UsageError(f"the studio cannot show a person with {words} at once")
    given: Array = table / total
    return given


@lru_cache(maxsize=64)
def _cumulative(occupation: str | None, attributes: tuple[tuple[str, str], ...], bias: float) -> Array:
    return np.cumsum(conditional(Said(dict(attributes), occupation, True, ()), bias))


def sample(said: Said, bias: float, seed: int) -> Scene:
    """One scene drawn from `conditional`. The same seed makes the same choices at every bias, as far as they agree."""
    rng = np.random.default_rng([seed, 1])
    if not said.person:
        place = said.attributes.get("environment") or str(rng.choice(ATTRIBUTES["environment"]))
        return Scene(person=False, environment=place, style=said.attributes.get("style", "color"))
    cumulative = _cumulative(said.occupation, tuple(sorted(said.attributes.items())), bias)
    place_of = np.unravel_index(chosen(cumulative, rng), tuple(len(values) for values in ATTRIBUTES.values()))
    values = {name: ATTRIBUTES[name][int(i)] for name, i in zip(NAMES, place_of, strict=True)}
    return Scene.of(values, said.occupation)


def chosen(cumulative: Array, rng: np.random.Generator) -> int:
    """A number drawn by its cumulative weights."""
    return min(int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")), cumulative.size - 1)


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
    """(attribute, its parents, log-weights with the attribute's own values along the last dimension)."""
    turn, share, shown = 0, female_share(occupation), OCCUPATIONS.get(occupation or "")
    if occupation is not None:
        turn = list(OCCUPATIONS).index(occupation)
    outdoors = {"outdoors": 1, "indoors": -1}.get(shown.place if shown else "", 0) * _ENVIRONMENT_GIVEN_PLACE
    formal = np.add.outer(_CLOTHING_GIVEN_ETHNICITY, _by(_CLOTHING_GIVEN_ENVIRONMENT, "environment"))
    formal += _CLOTHING_GIVEN_ATTIRE.get(shown.attire if shown else "", 0.0)
    fit = np.array([_FIT, 0.0, 0.0, 0.0]) + _rotated("disability", turn) / 2
    lens = _by(_GLASSES_GIVEN_AGE, "age")
    glasses = np.repeat(np.stack([lens, -lens], axis=-1)[:, None, :], len(ATTRIBUTES["disability"]), axis=1)
    glasses[:, ATTRIBUTES["disability"].index("blind"), 1] = -np.inf  # dark ones and never clear ones
    return [
        ("gender", (), np.array([np.log1p(-share), np.log(share)])),
        ("age", ("gender",), _by(_AGE_GIVEN_GENDER, "gender") + _rotated("age", turn) / 2),
        ("ethnicity", (), _rotated("ethnicity", turn)),
        ("body_type", (), _rotated("body_type", turn)),
        ("environment", (), np.array([-outdoors, outdoors])),
        ("clothing", ("ethnicity", "environment"), np.stack([formal, -formal], axis=-1)),
        ("emotion", ("clothing",), _by(_EMOTION_GIVEN_CLOTHING, "clothing") + _rotated("emotion", turn) / 2),
        ("disability", (), fit),
        ("glasses", ("age", "disability"), glasses),
        ("hair", ("gender",), _by(_HAIR_GIVEN_GENDER, "gender")),
        ("style", (), np.array(_STYLE)),
    ]


def _rotated(attribute: str, turn: int) -> Array:
    """One value favoured, the next one half as much; which one turns with the occupation."""
    count = len(ATTRIBUTES[attribute])
    steps = (np.arange(count) - turn) % count
    return np.select([steps == 0, steps == 1], [_ROTATION, _ROTATION / 2], 0.0)


def _by(table: Mapping[str, float | Sequence[float]], parent: str) -> Array:
    return np.array([table[value] for value in ATTRIBUTES[parent]])
