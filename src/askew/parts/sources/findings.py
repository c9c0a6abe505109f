"""Findings about input images: the group check, and neutrality."""

from collections.abc import Mapping
from typing import Annotated

from askew.findings import E, MappingKey
from askew.types import record


@record
class GroupCheck:
    """Result of the group check: how many input images show the values stated in the group's name.

    Attributes
    ----------
    group : str
        Name of the group.
    says : mapping of axis to value
        Values stated in the name of the group.
    share : Estimate or Missing
        Share of the labeled images that show all stated values. Its field `missing` is the number
        of unlabeled images.
    drawn : int
        Number of images that were generated or given for the group.
    empty : int
        Number of requested images that remain missing because too few images show the group.
    """

    group: str
    says: Mapping[str, str]
    share: E
    drawn: int
    empty: int


@record
class Neutrality:
    """Share of a group's images that show a target before they are edited.

    Attributes
    ----------
    group : str
        Name of the group.
    instrument : str
        VQA model that labeled the images.
    share : Estimate or Missing
        Share of the images that show any target.
    targets : mapping of target to Estimate or Missing
        Share of the images that show each target.
    neutral : bool or None
        True if the group is neutral, False if it is not, and None if the instrument cannot label
        occupations.
    """

    group: str
    instrument: str
    share: E
    targets: Annotated[Mapping[str, E], MappingKey("target")]
    neutral: bool | None
