"""What `askew edit` finds; sections `editing`, `editing_contrasts`, `editing_pooled` and others of
results.json.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from askew.errors import UsageError
from askew.findings import (
    E,
    Head,
    IdentifyingField,
    Identity,
    LocatedEstimate,
    MappingKey,
    PictureSet,
    scored,
)
from askew.method import Result
from askew.methods.edit.plan import EditPlan
from askew.parts.sources.findings import GroupCheck, Neutrality
from askew.parts.survey.missing_pictures import MissingPictures
from askew.types import record

Strength = Annotated[float, IdentifyingField()]


@record
class EditSet(PictureSet):
    """Sources (no axis), what encoding and decoding makes of them, or edits towards a target at a
    strength.
    """

    target: str | None = None
    strength: float | None = None


@record
class MissingEdits(MissingPictures):
    """By group, of edits towards some targets or, for None, of sources; `of` pictures, or faces not
    found in them.
    """

    targets: str | None
    of: Literal["pictures", "faces"] = "pictures"


@record
class Coverage:
    """By which mask skin was found, and which share of pictures it took."""

    mask: Annotated[str, IdentifyingField(False)]
    before: float | None
    after: float | None


@record
class FaceTone:
    """ITA of the average face of the sources and of all their edits."""

    ita_before: E
    ita_after: E
    ita_change: E


@record
class Editing:
    """What edits of a group's pictures towards a set of targets at a strength change.

    gender_change, other_axes  share whose value is not that of the source; above `floor`, `other_floors`: the same of
                               pictures that were merely encoded and decoded
    gender_table               how many pictures went from which value to which
    target_seen                share that shows what it was edited towards
    ita_, lightness_change     of skin; `background_change`: of L* where there is no skin; `beyond_exposure`: the rest
    identity                   cosine of a picture and its edit
    """

    group: str
    targets: str
    words: tuple[str, ...]
    strength: Strength
    n: int
    missing: Mapping[str, int]
    gender_change: E
    floor: E
    gender_table: Mapping[str, Mapping[str, int]]
    target_seen: E
    ita_before: E
    ita_after: E
    ita_change: E
    lightness_change: E
    background_change: E
    beyond_exposure: E
    coverage: Coverage
    average_face: FaceTone | None
    other_axes: Annotated[Mapping[str, E], MappingKey("axis")]
    other_floors: Annotated[Mapping[str, E], MappingKey("axis")]
    identity: E


@record
class EditCondition:
    """A group, a set of targets, a strength."""

    group: str
    targets: str
    strength: float

    def __str__(self) -> str:
        return f"{self.group}, {self.targets}, strength {self.strength:g}"


@record
class Contrast:
    """The second's change less the first's: of two groups, two sets of targets, or the least and
    greatest strength.
    """

    contrast: str
    first: Annotated[EditCondition, IdentifyingField()]
    second: Annotated[EditCondition, IdentifyingField()]
    gender_change: E
    ita_change: E


@record
class PooledChange:
    """Changes over all groups whose names say one value of an axis."""

    axis: str
    value: str
    groups: tuple[str, ...]
    targets: str
    strength: Strength
    gender_change: E
    ita_change: E


@record
class AverageFace:
    """The average face of a group's sources, or of its edits towards targets: of the `faces` found
    in `n` pictures.
    """

    group: str
    targets: str | None
    strength: float | None
    n: int
    faces: int
    picture: str | None


@record
class EditFindings(Head):
    """The content of results.json. `model` edited, `sources` made the pictures, `landmarks` found
    faces.
    """

    plan: EditPlan
    sets: tuple[EditSet, ...]
    sources: Identity
    landmarks: str | None
    missing_pictures: tuple[MissingEdits, ...]
    showing: tuple[GroupCheck, ...]
    neutrality: tuple[Neutrality, ...]
    average_faces: tuple[AverageFace, ...]
    editing: tuple[Editing, ...]
    editing_contrasts: tuple[Contrast, ...]
    editing_pooled: tuple[PooledChange, ...]


SCORES = (
    "gender_change",
    "ita_change",
    "lightness_change",
    "beyond_exposure",
    "identity",
    "target_seen",
)
"""Names of scores in --fail-if, where they stand in an entry of `editing` itself."""


def scores_of(field: str, found: EditFindings) -> Iterator[LocatedEstimate]:
    """The estimates of a field of the entries of `editing`."""
    return (one for one in scored(found.editing) if one.address[1] == field)


@dataclass(frozen=True)
class EditingResult(Result[EditPlan, EditFindings]):
    """A finished run of `askew edit`."""

    def cell(self, group: str, targets: str, strength: float) -> Editing:
        """What was found of a group, a set of targets and a strength. Raises UsageError if there is
        none.
        """
        for one in self.findings.editing:
            if (one.group, one.targets, one.strength) == (group, targets, strength):
                return one
        raise UsageError(
            f"this run has no edits of {group!r} towards {targets!r} at {strength:g}; its groups are "
            f"{', '.join(self.plan.groups)}; its targets {', '.join(self.plan.edit_prompts)}; its strengths "
            f"{', '.join(f'{one:g}' for one in self.plan.strengths)}"
        )
