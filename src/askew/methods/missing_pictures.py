"""Whether sources or edits are missing more often in one group than in another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from askew.methods.editing import EditedGroup
from askew.parts.scoring import Scoring
from askew.parts.survey.missing import Gone, MissingPictures, uneven
from askew.types import Missing, Picture, record


@record
class MissingEdits(MissingPictures):
    """Of edits towards some targets, or for `targets` None of sources; the axis is the group."""

    targets: str | None


def missing_edits(
    groups: Sequence[EditedGroup], targets: Mapping[str, Sequence[str]], scoring: Scoring
) -> list[dict[str, Any]]:
    """Over groups: of their sources, and by set of targets of sources of which any edit is missing.

    A source counts once however many of its edits are missing, since these are no independent cases.
    """
    sources = {group.name: Gone.of(group.sources) for group in groups}
    edits = {name: {group.name: _without_edit(group, words) for group in groups} for name, words in targets.items()}
    counted = [({"prompt": None, "targets": name, "axis": "group"}, counts)
               for name, counts in ((None, sources), *edits.items())]  # fmt: skip
    return [asdict(one) for one in uneven(MissingEdits, counted, scoring)]


def _without_edit(group: EditedGroup, words: Sequence[str]) -> Gone:
    there = [k for k, source in enumerate(group.sources) if isinstance(source, Picture)]
    rows = [row for (word, _), row in group.edits.items() if word in words]
    return Gone(sum(any(isinstance(row[k], Missing) for row in rows) for k in there), len(there))
