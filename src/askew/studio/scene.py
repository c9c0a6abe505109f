"""Attributes, values and occupations that studio portraits can show.

The occupations come from five papers: 26 from BiasConnect, 20 from BiasMap, 11 from TIBET, two
lists of 10 and 4 from the study of downstream tasks, and 40 from MineTheGap. The order of the
occupations defines the planted bias: at bias 1, the share of women rises linearly from .05 for the
first occupation to .95 for the last. The order follows common stereotypes and makes no statement
about any real occupation.
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
"""Values by attribute.

The first eight attributes are the axes in BiasConnect (appendix, table 2).
"""

OF_ANY_SCENE = frozenset(("environment", "style"))
"""Attributes that are visible even in an empty scene."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Content of a drawing, excluding the random variation (jitter) that the seed adds.

    Attributes that are not listed below take their values from `ATTRIBUTES`. If `disability` is
    "blind", the person wears dark glasses, and `glasses` must be "no glasses".

    Attributes
    ----------
    occupation : str, optional
        Name of the occupation. None for a person who is drawn without an occupation's card,
        headwear and accent.
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
                    f"{name} is {getattr(self, name)!r}. Possible values: {', '.join(values)}"
                )
        if self.occupation is not None and self.occupation not in OCCUPATIONS:
            raise ValueError(f"unknown occupation {self.occupation!r}")
        if self.disability == "blind" and self.glasses != "no glasses":
            raise ValueError("a blind person wears dark glasses, so glasses must be 'no glasses'")

    @classmethod
    def of(
        cls, values: Mapping[str, str], occupation: str | None = None, person: bool = True
    ) -> Self:
        """Create a scene that has these attribute values.

        Parameters
        ----------
        values
            Values by attribute. Attributes that are not listed have their default values.
        occupation
            Name of the occupation, or None.
        person
            False for an empty scene.
        """
        given: dict[str, Any] = dict(values)
        return cls(occupation=occupation, person=person, **given)

    def attributes(self) -> dict[str, str]:
        """Return the attribute values, keyed by name, excluding `occupation` and `person`."""
        return {name: getattr(self, name) for name in ATTRIBUTES}


@dataclass(frozen=True, slots=True)
class Occupation:
    """An occupation that the studio can draw.

    Attributes
    ----------
    name : str
        Name of the occupation in prompts.
    aliases : tuple of str
        Other names of the occupation.
    place : str
        Environment that the planted bias favors for the occupation.
    attire : str
        Clothing that the planted bias favors for the occupation.
    """

    name: str
    aliases: tuple[str, ...]
    place: str
    attire: str


OCCUPATIONS: Mapping[str, Occupation] = {
    name: Occupation(name, tuple(filter(None, aliases.split(", "))), place, attire)
    for name, aliases, place, attire in rows("occupations.txt")
}
