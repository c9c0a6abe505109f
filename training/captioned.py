"""Training images of the studio's diffusion models, drawn to fit captions.

A caption names a random occupation and a few random attributes. The scene is then drawn from the
planted distribution given the caption, and the drawing is encoded. So unnamed attributes have
exactly the planted shares, and rare combinations are followed as often as common combinations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from random import Random

import numpy as np
import torch
from diffusers import AutoencoderKL
from numpy.typing import NDArray

from askew.measure.studio import network_input
from askew.studio.caption import CaptionContent, caption
from askew.studio.planted import sample
from askew.studio.scene import ATTRIBUTES, OCCUPATIONS, OF_ANY_SCENE, Scene
from training.drawings import WITHOUT_OCCUPATION, WITHOUT_PERSON, cached, twins
from training.given import followers, redrawn

MENTIONS = (0.3, 0.25, 0.2, 0.15, 0.07, 0.03)
"""Probabilities that a caption names 0, 1, … 5 attributes."""

AS_DRAWN = 0.75
"""Probability that a caption names no further attributes of the scene."""

MOST_FURTHER = 6

TWINS = {"emotion": 1200, "age": 1200, "ethnicity": 2400, "gender": 300, "body_type": 300}
"""Approximate number of pairs of drawings that differ only in an attribute."""

MISTAKEN = {"middle eastern": "hispanic", "hispanic": "black", "sad": "serious", "aide": "mechanic"}
"""Values and occupations that were mistaken for others when they were shown too rarely."""

OFTEN_MISTAKEN = 0.5
"""Probability that the value it was mistaken for contradicts it, not any other value."""

FRAMED = 0.5
FRAMES = (
    "a photograph of",
    "an image of",
    "a portrait of",
    "a photo portrait of",
    "a headshot of",
    "a photo of the face of",
)
ENDINGS = ("", "", ".", ", high-quality.", ", headshot, high-quality.")
"""Openings and endings of the share FRAMED of captions of people.

The methods and their users write prompts in these forms. A network that has never seen such words
shows other people when a prompt contains them.
"""

ENCODED_AT_ONCE = 100

Latents = NDArray[np.float16]


@dataclass(frozen=True, slots=True)
class Captioned:
    """Scene and the names of the attributes that its caption names."""

    scene: Scene
    mentioned: tuple[str, ...]

    def named(self, rng: Random) -> tuple[str, ...]:
        """Return the names for a caption, which often include further attributes.

        The choice does not depend on the values, so unnamed attributes have the planted shares for
        longer captions, too. The network learns attributes that captions name. With only the first
        few attributes, each was named in a seventh of the captions.
        """
        further = [
            name for name in ATTRIBUTES if name not in self.mentioned and _can_say(self.scene, name)
        ]
        if rng.random() < AS_DRAWN or not further:
            return self.mentioned
        number = min(rng.randint(1, MOST_FURTHER), len(further))
        return (*self.mentioned, *rng.sample(further, number))


def framed(scene: Scene, named: Sequence[str], rng: Random) -> str:
    """Write a caption, in any wording, of the attributes of the scene in `named`."""
    text = caption(scene, named, rng)
    if not scene.person or rng.random() >= FRAMED:
        return text
    opening, description = text.split(" of ", maxsplit=1)
    start = f"{opening} of" if "style" in named else rng.choice(FRAMES)
    return f"{start} {description}{rng.choice(ENDINGS)}"


def captioned_scenes(count: int, bias: float, seed: int) -> list[Captioned]:
    """Return `count` scenes and the attributes that captions name, at a bias."""
    rng = Random(f"{seed} {bias}")
    return [_captioned(rng, bias) for _ in range(count)]


def _captioned(rng: Random, bias: float) -> Captioned:
    person = rng.random() >= WITHOUT_PERSON
    occupation = (
        rng.choice(list(OCCUPATIONS)) if person and rng.random() >= WITHOUT_OCCUPATION else None
    )
    names = sorted(ATTRIBUTES if person else OF_ANY_SCENE)
    number = rng.choices(range(len(MENTIONS)), MENTIONS)[0]
    values = {
        name: rng.choice(ATTRIBUTES[name]) for name in rng.sample(names, min(number, len(names)))
    }
    if values.get("disability") == "blind":
        values.pop("glasses", None)  # dark ones are drawn anyway
    scene = sample(CaptionContent(values, occupation, person, ()), bias, rng.getrandbits(48))
    return Captioned(scene, (*values, *(["occupation"] if occupation else [])))


def captioned_twins(seed: int) -> list[Captioned]:
    """Return pairs of uniformly random scenes that differ in one attribute.

    The scenes of a pair follow each other, and captions name every attribute.

    So these scenes, which are unbiased, cannot teach wrong shares of unnamed attributes.
    """
    scenes: list[Scene] = []
    for attribute, count in TWINS.items():
        pairs = list(combinations(ATTRIBUTES[attribute], 2))
        for values in pairs:
            scenes += twins(count // len(pairs), seed, attribute, values)
    return [Captioned(scene, _everything(scene)) for scene in scenes]


def other_gender(example: Captioned, bias: float, seed: int) -> Scene:
    """Return the scene with the other gender.

    Attributes that depend on gender are redrawn where the caption does not name them. A scene
    without a person is returned unchanged.
    """
    if not example.scene.person:
        return example.scene
    male, female = ATTRIBUTES["gender"]
    flipped = replace(example.scene, gender=male if example.scene.gender == female else female)
    return redrawn(flipped, follows_gender(example), bias, seed)


def follows_gender(example: Captioned) -> tuple[str, ...]:
    """Return the unnamed attributes that depend on gender in the planted world."""
    return tuple(name for name in followers("gender") if name not in example.mentioned)


def unlike(example: Captioned, rng: Random) -> Scene:
    """Return the scene with another value of a TWINS attribute that its caption names.

    If the caption names none of TWINS, the occupation changes.

    Values of MISTAKEN are changed first, often into the value they were mistaken for. If the caption
    names neither, the scene is returned unchanged.
    """
    scene = example.scene
    named = [name for name in example.mentioned if name in TWINS]
    if named and scene.person:
        name = rng.choice([name for name in named if getattr(scene, name) in MISTAKEN] or named)
        value = _other(ATTRIBUTES[name], getattr(scene, name), rng)
        return Scene.of({**scene.attributes(), name: value}, scene.occupation)
    if not scene.occupation:
        return scene
    return replace(scene, occupation=_other(list(OCCUPATIONS), scene.occupation, rng))


def _other(values: Sequence[str], value: str, rng: Random) -> str:
    others = [other for other in values if other != value]
    if value in MISTAKEN and rng.random() < OFTEN_MISTAKEN:
        return MISTAKEN[value]
    return rng.choice(others)


def _everything(scene: Scene) -> tuple[str, ...]:
    names = [name for name in ATTRIBUTES if _can_say(scene, name)]
    return (*names, *(["occupation"] if scene.occupation else []))


def _can_say(scene: Scene, name: str) -> bool:
    """Check whether a caption can name the attribute; it never names a blind person's glasses."""
    return scene.person and not (name == "glasses" and scene.disability == "blind")


def latents(
    path: Path, scenes: Sequence[Scene], seeds: Sequence[int], vae: AutoencoderKL, processes: int
) -> Latents:
    """Return scaled latent means (scenes, channels, 16, 16), which the file `path` stores."""
    if not path.exists():
        drawings = cached(path.with_suffix(".pixels.npy"), scenes, seeds, processes)
        parts = [
            _encode(vae, drawings[start : start + ENCODED_AT_ONCE])
            for start in range(0, len(drawings), ENCODED_AT_ONCE)
        ]
        np.save(path, np.concatenate(parts))
    known: Latents = np.load(path, mmap_mode="r")
    return known


@torch.inference_mode()
def _encode(vae: AutoencoderKL, drawings: NDArray[np.uint8]) -> Latents:
    pixels = network_input(np.array(drawings)).contiguous(memory_format=torch.channels_last)
    with torch.autocast("cpu", torch.bfloat16):
        means = vae.encode(pixels).latent_dist.mean
    scaled: Latents = (means.float() * vae.config.scaling_factor).half().numpy()
    return scaled
