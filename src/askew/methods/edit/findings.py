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
    """An image set of a group: its input images, restored images or edits.

    Sets of input images have no axis. Sets of edits have a strength, and a word toward which the
    images were edited.

    Attributes
    ----------
    target : str or None
        Word toward which the images were edited.
    strength : float or None
        Strength of the edits, in (0, 1].
    """

    target: str | None = None
    strength: float | None = None


@record
class MissingEdits(MissingPictures):
    """Test of whether images of some groups are missing more often than images of other groups.

    Attributes
    ----------
    targets : str or None
        Name of a set of edit prompts. None for input images.
    of : "pictures" or "faces"
        "pictures" counts missing images, and "faces" counts input images without a detected face.
    """

    targets: str | None
    of: Literal["pictures", "faces"] = "pictures"


@record
class Coverage:
    """Share of the image that the skin mask covers.

    Attributes
    ----------
    mask : str
        Pixels that count as skin: "rule" or "geometry".
    before, after : float or None
        Mean share in the input images and in the edits, in [0, 1].
    """

    mask: Annotated[str, IdentifyingField(False)]
    before: float | None
    after: float | None


@record
class FaceTone:
    """ITA, in degrees, of two average faces: one of a group's input images, one of the edits."""

    ita_before: E
    ita_after: E
    ita_change: E


@record
class Editing:
    """Changes caused by editing a group's images toward one set of edit prompts at one strength.

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
        Share of edits whose perceived gender differs from the perceived gender of their input
        image. `null` is `floor`.
    floor : Estimate or Missing
        Share of input images whose perceived gender changes when the model merely encodes and
        decodes them.
    gender_table : mapping of label to mapping of label to int
        Number of edits, keyed by the label of the input image and then by the label of the edit.
    gender_before : mapping of label to int
        Number of input images with at least one labeled edit, keyed by the input image's label.
        Each image counts once.
    target_seen : Estimate or Missing
        Share of edits that show the word toward which they were edited.
    ita_before, ita_after, ita_change : Estimate or Missing
        Mean ITA of skin in degrees before and after the edits, and its mean change.
    lightness_change, background_change : Estimate or Missing
        Change in lightness L*, for skin and for all other pixels.
    beyond_exposure : Estimate or Missing
        Change in the lightness L* of skin, minus the change in L* of all other pixels.
    coverage : Coverage
        Share of the images that the skin mask covers.
    average_face : FaceTone or None
        Skin tone of average faces. None if there is no face detector.
    other_axes, other_floors : mapping of axis to Estimate or Missing
        Scores like `gender_change` and `floor`, but for the other axes.
    identity : Estimate or Missing
        Cosine similarity between input images and their edits.
    ita_changes : tuple of float or None
        Change in ITA of each input image, averaged over its edits, in the order of
        `sets[].pictures`. None where the change was not measured.
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
    """Difference in change between two conditions: the second minus the first.

    Attributes
    ----------
    contrast : "group", "targets" or "strength"
        Field in which the conditions differ.
    first, second : EditCondition
        The conditions.
    gender_change, ita_change : Estimate or Missing
        Differences in the scores that have the same names in `Editing`.
    """

    contrast: str
    first: Annotated[EditCondition, IdentifyingField()]
    second: Annotated[EditCondition, IdentifyingField()]
    gender_change: E
    ita_change: E


@record
class PooledChange:
    """Changes pooled over all groups whose names state the same value of an axis.

    Attributes
    ----------
    axis, value : str
        The axis, and the value that the names state.
    groups : tuple of str
        Names of the groups.
    targets : str
        Name of the set of edit prompts.
    strength : float
        Strength of the edits, in (0, 1].
    gender_change, ita_change : Estimate or Missing
        Pooled values of the scores that have the same names in `Editing`.
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
        ID of the average face in the store. None if no face was detected.
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
        Model or collection from which the input images come. The field `model` is the model that
        edited the images.
    landmarks : str or None
        Fingerprint of the face detector.
    missing_pictures : tuple of MissingEdits
        Tests of whether images are missing more often in some groups than in others.
    showing : tuple of GroupCheck
        For each group, how many of its input images show what the group's name states.
    neutrality : tuple of Neutrality
        For each group, how many of its input images already show an edit prompt.
    average_faces : tuple of AverageFace
        Average faces.
    editing : tuple of Editing
        Scores for each group, set of edit prompts and strength.
    editing_contrasts : tuple of Contrast
        Differences in scores between groups, sets of edit prompts and strengths.
    editing_pooled : tuple of PooledChange
        Scores pooled over groups that have the same gender or ethnicity.
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
"""Fields of `Editing` that --fail-if conditions can use as scores."""


def scores_of(field: str, findings: EditFindings) -> Iterator[LocatedEstimate]:
    """Yield the estimates in a field of `Editing`, for --fail-if conditions."""
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
            If the run does not contain these edits.
        """
        for entry in self.findings.editing:
            if (entry.group, entry.targets, entry.strength) == (group, targets, strength):
                return entry
        strengths = ", ".join(f"{known:g}" for known in self.plan.strengths)
        raise UsageError(
            f"this run contains no edits of {group!r} toward {targets!r} at strength "
            f"{strength:g}. Groups: {', '.join(self.plan.groups)}. Sets of edit prompts: "
            f"{', '.join(self.plan.edit_prompts)}. Strengths: {strengths}"
        )
