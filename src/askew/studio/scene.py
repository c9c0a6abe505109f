"""What a studio portrait can show: the attributes, their values, and the occupations.

The occupations are all that the five papers name: BiasConnect's 26, BiasMap's 20, TIBET's 11, the
10 and 4 of the study of downstream tasks, and MineTheGap's 40. The order is the planted one: the
share of women at bias 1 rises evenly from .05 at the first to .95 at the last. It follows common
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
"""Values of every attribute; the first eight and their values are the axes of BiasConnect
(appendix, table 2).
"""

OF_ANY_SCENE = frozenset(("environment", "style"))
"""Attributes that are seen in an empty scene too."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that decides what a drawing shows, but for the jitter that a seed adds.

    `occupation` None draws a person without a sign; `person` False an empty scene, of which only
    `environment` and `style` are seen. A blind person wears dark glasses, so `glasses` must be "no
    glasses".
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
        """A scene with these attribute values; an attribute that is not given keeps its default."""
        given: dict[str, Any] = dict(values)
        return cls(occupation=occupation, person=person, **given)

    def attributes(self) -> dict[str, str]:
        """The attribute values by name, without occupation and person."""
        return {name: getattr(self, name) for name in ATTRIBUTES}


@dataclass(frozen=True, slots=True)
class Occupation:
    """An occupation, other words for it, and where and how formally dressed the planted model likes
    to show it.
    """

    name: str
    aliases: tuple[str, ...]
    place: str
    attire: str


OCCUPATIONS: Mapping[str, Occupation] = {
    name: Occupation(name, tuple(filter(None, aliases.split(", "))), place, attire)
    for name, aliases, place, attire in rows("occupations.txt")
}
