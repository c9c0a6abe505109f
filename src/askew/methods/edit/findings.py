"""Findings of `askew edit`, the content of results.json."""

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
    """An image set of one group: input images, restored images or edits.

    Input images have no axis. Edits have a word toward which they were edited, and a strength.

    Attributes
    ----------
    target : str or None
        Word that the images were edited toward.
    strength : float or None
        Strength of the edits, in (0, 1].
    """

    target: str | None = None
    strength: float | None = None


@record
class MissingEdits(MissingPictures):
    """Test whether images of some groups are missing more often than images of other groups.

    Attributes
    ----------
    targets : str or None
        Name of a set of edit prompts. None for input images.
    of : "pictures" or "faces"
        What is missing: images, or a detected face in input images.
    """

    targets: str | None
    of: Literal["pictures", "faces"] = "pictures"


@record
class Coverage:
    """Share of the image that the mask of skin covers.

    Attributes
    ----------
    mask : str
        Pixels that count as skin: "rule" or "geometry".
    before, after : float or None
        Mean share of input images and of edits, in [0, 1].
    """

    mask: Annotated[str, IdentifyingField(False)]
    before: float | None
    after: float | None


@record
class FaceTone:
    """ITA in degrees of two average faces: of all input images, and of all their edits."""

    ita_before: E
    ita_after: E
    ita_change: E


@record
class Editing:
    """Changes due to the edits of a group's images toward a set of edit prompts at one strength.

    Attributes
    ----------
    group : str
        Name of the group.
    targets : str
        Name of the set of edit prompts.
    words : tuple of str
        The edit prompts.
    strength : float
        Strength of the edits, in (0, 1].
    n : int
        Number of planned edits.
    missing : mapping of reason to int
        Number of missing edits.
    gender_change : Estimate or Missing
        Share of edits whose perceived gender differs from that of their input image. `null` is
        `floor`.
    floor : Estimate or Missing
        The same share for images that were only encoded and decoded.
    gender_table : mapping of label to mapping of label to int
        Number of edits, keyed by the label of the input image and then by the label of the edit.
    gender_before : mapping of label to int
        Number of input images that have at least one labeled edit, keyed by the input image's
        label. Each image counts once.
    target_seen : Estimate or Missing
        Share of edits that show the word that they were edited toward.
    ita_before, ita_after, ita_change : Estimate or Missing
        ITA of skin in degrees.
    lightness_change, background_change : Estimate or Missing
        Change of the lightness L*, in skin and in all other pixels.
    beyond_exposure : Estimate or Missing
        Change of the skin's lightness L* minus the change of L* in all other pixels.
    coverage : Coverage
        Size of the mask of skin.
    average_face : FaceTone or None
        Skin tone of average faces. None without a face detector.
    other_axes, other_floors : mapping of axis to Estimate or Missing
        The same scores as `gender_change` and `floor`, for the other axes.
    identity : Estimate or Missing
        Cosine similarity between input images and their edits.
    ita_changes : tuple of float or None
        Mean change of ITA over the edits of each input image, in the order of `sets[].pictures`.
        None where it was not measured.
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
    gender_before: Mapping[str, int]
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
    ita_changes: tuple[float | None, ...] = ()


@record
class EditCondition:
    """A group, the name of a set of edit prompts, and a strength."""

    group: str
    targets: str
    strength: float

    def __str__(self) -> str:
        """Return the condition in words."""
        return f"{self.group}, {self.targets}, strength {self.strength:g}"


@record
class Contrast:
    """Difference between the changes under two conditions, computed as the second minus the first.

    Attributes
    ----------
    contrast : "group", "targets" or "strength"
        Field in which the conditions differ.
    first, second : EditCondition
        The conditions.
    gender_change, ita_change : Estimate or Missing
        Differences of the scores of `Editing`.
    """

    contrast: str
    first: Annotated[EditCondition, IdentifyingField()]
    second: Annotated[EditCondition, IdentifyingField()]
    gender_change: E
    ita_change: E


@record
class PooledChange:
    """Pooled changes of all groups whose names state the same value of an axis.

    Attributes
    ----------
    axis, value : str
        The stated value.
    groups : tuple of str
        Names of the groups.
    targets : str
        Name of the set of edit prompts.
    strength : float
        Strength of the edits, in (0, 1].
    gender_change, ita_change : Estimate or Missing
        The scores of `Editing`.
    """

    axis: str
    value: str
    groups: tuple[str, ...]
    targets: str
    strength: Strength
    gender_change: E
    ita_change: E


@record
class AverageFace:
    """Average face of a group's input images, or of its edits toward a set of edit prompts.

    Attributes
    ----------
    group : str
        Name of the group.
    targets : str or None
        Name of the set of edit prompts. None for input images.
    strength : float or None
        Strength of the edits, in (0, 1].
    n : int
        Number of planned images.
    faces : int
        Number of averaged faces.
    picture : str or None
        Id of the average face. None if no face was detected.
    """

    group: str
    targets: str | None
    strength: float | None
    n: int
    faces: int
    picture: str | None


@record
class EditFindings(Head):
    """The content of results.json.

    Attributes
    ----------
    plan : EditPlan
        Plan of the run.
    sets : tuple of EditSet
        All images.
    sources : Identity
        Model or collection from which the input images come. `model` is the model that edited them.
    landmarks : str or None
        Fingerprint of the face detector.
    missing_pictures : tuple of MissingEdits
        Tests whether images are missing more often in some groups.
    showing : tuple of GroupCheck
        Group checks of the input images.
    neutrality : tuple of Neutrality
        Neutrality of the input images.
    average_faces : tuple of AverageFace
        Average faces.
    editing : tuple of Editing
        Scores for each group, set of edit prompts and strength.
    editing_contrasts : tuple of Contrast
        Differences between the scores.
    editing_pooled : tuple of PooledChange
        Scores pooled over groups of the same gender or ethnicity.
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
"""Fields of `Editing` that conditions of --fail-if can use as scores."""


def scores_of(field: str, findings: EditFindings) -> Iterator[LocatedEstimate]:
    """Return the estimates of a field of `Editing`, for conditions of --fail-if."""
    return (located for located in scored(findings.editing) if located.address[1] == field)


@dataclass(frozen=True)
class EditingResult(Result[EditPlan, EditFindings]):
    """A finished run of `askew edit`."""

    def cell(self, group: str, targets: str, strength: float) -> Editing:
        """Return the scores for a group, a set of edit prompts and a strength.

        Parameters
        ----------
        group : str
            Name of the group.
        targets : str
            Name of the set of edit prompts.
        strength : float
            Strength of the edits, in (0, 1].

        Raises
        ------
        UsageError
            If the run has no such edits.
        """
        for entry in self.findings.editing:
            if (entry.group, entry.targets, entry.strength) == (group, targets, strength):
                return entry
        strengths = ", ".join(f"{known:g}" for known in self.plan.strengths)
        raise UsageError(
            f"this run has no edits of {group!r} toward {targets!r} at strength {strength:g}. "
            f"Groups: {', '.join(self.plan.groups)}. "
            f"Sets of edit prompts: {', '.join(self.plan.edit_prompts)}. Strengths: {strengths}"
        )
