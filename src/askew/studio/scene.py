"""Content of studio portraits: the attributes, their values, and the occupations.

The occupations are those of the five papers: BiasConnect's 26, BiasMap's 20, TIBET's 11, the
10 and 4 of the study of downstream tasks, and MineTheGap's 40. The order is the planted one: the
share of women at bias 1 rises linearly from .05 at the first to .95 at the last. It follows common
stereotypes and says nothing about any real trade.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from askew.studio import rows

ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    "gender": ("male", "female"),
    "age": ("young", "middle-aged", "old"),
    "ethnicity": ("white", "black", "asian", "south asian", "middle eastern", "hispanic"),
    "body_type": ("slim", "muscular", "obese"),
    "emotion": ("happy", "sad", "serious", "tired"),
    "clothing": ("formal", "informal"),
    "environment": ("indoors", "outdoors"),
    "disability": ("fit", "blind", "hearing aid", "wheelchair"),
    "glasses": ("no glasses", "glasses"),
    "hair": ("short", "long", "bald"),
    "style": ("color", "greyscale", "sketch"),
}
"""Values by attribute. The first eight are the axes of BiasConnect (appendix, table 2)."""

OF_ANY_SCENE = frozenset(("environment", "style"))
"""Attributes that are visible in an empty scene, too."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Content of a drawing, without the jitter that a seed adds.

    The other attributes are values of `ATTRIBUTES`. A blind person wears dark glasses, so
    `glasses` must be "no glasses".

    Attributes
    ----------
    occupation : str, optional
        Name of the occupation. None draws a person without a sign.
    person : bool
        False for an empty scene, in which only `environment` and `style` are visible.
    """

    gender: str = "female"
    age: str = "young"
    ethnicity: str = "white"
    body_type: str = "slim"
    emotion: str = "happy"
    clothing: str = "informal"
    environment: str = "indoors"
    disability: str = "fit"
    glasses: str = "no glasses"
    hair: str = "short"
    style: str = "color"
    occupation: str | None = None
    person: bool = True

    def __post_init__(self) -> None:
        for name, values in ATTRIBUTES.items():
            if getattr(self, name) not in values:
                raise ValueError(
                    f"{name} is {getattr(self, name)!r}; possible: {', '.join(values)}"
                )
        if self.occupation is not None and self.occupation not in OCCUPATIONS:
            raise ValueError(f"unknown occupation {self.occupation!r}")
        if self.disability == "blind" and self.glasses != "no glasses":
            raise ValueError("a blind person wears dark glasses: glasses must be 'no glasses'")

    @classmethod
    def of(
        cls, values: Mapping[str, str], occupation: str | None = None, person: bool = True
    ) -> Self:
        """Create a scene with these attribute values.

        Parameters
        ----------
        values
            Values by attribute. An attribute without a value keeps its default.
        occupation
            Name of the occupation.
        person
            False for an empty scene.
        """
        given: dict[str, Any] = dict(values)
        return cls(occupation=occupation, person=person, **given)

    def attributes(self) -> dict[str, str]:
        """Return the attribute values by name, without occupation and person."""
        return {name: getattr(self, name) for name in ATTRIBUTES}


@dataclass(frozen=True, slots=True)
class Occupation:
    """An occupation of the studio world.

    Attributes
    ----------
    name : str
        Name in prompts.
    aliases : tuple of str
        Other names.
    place : str
        Environment that the planted model prefers for it.
    attire : str
        Clothing that the planted model prefers for it.
    """

    name: str
    aliases: tuple[str, ...]
    place: str
    attire: str


OCCUPATIONS: Mapping[str, Occupation] = {
    name: Occupation(name, tuple(filter(None, aliases.split(", "))), place, attire)
    for name, aliases, place, attire in rows("occupations.txt")
}
