"""Kinds and sizes of the papers' user studies that `askew study new --like NAME` repeats."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from askew.people.records import StudyKind

PaperStudy = Literal["tibet-1", "tibet-2", "tibet-3", "minethegap"]
PAPER_STUDIES: tuple[str, ...] = get_args(PaperStudy)


@dataclass(frozen=True)
class StudyTemplate:
    """Kind and size of a paper's user study.

    Attributes
    ----------
    kind
        Kind of the study.
    raters_per_item
        Number of raters who answer each question.
    items
        Number of questions; None to ask all possible questions.
    """

    kind: StudyKind
    raters_per_item: int
    items: int | None = None


TEMPLATES: Mapping[PaperStudy, StudyTemplate] = {
    "tibet-1": StudyTemplate(kind="axes", raters_per_item=5),
    "tibet-2": StudyTemplate(kind="rate", raters_per_item=10),
    "tibet-3": StudyTemplate(kind="concepts", raters_per_item=3, items=80),
    "minethegap": StudyTemplate(kind="choose", raters_per_item=30, items=40),
}
"""Studies, keyed by name (TIBET, section 5.4 and appendix 13; MineTheGap, appendix A.2)."""
