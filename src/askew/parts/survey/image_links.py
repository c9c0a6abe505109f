"""Build queries that select the images counted by a number or phrase in the report.

The web app links to these images.
"""

from askew.pages.blocks import ImageQuery, PhraseLink
from askew.parts.survey.over_prompts import SharesOverPrompts
from askew.parts.survey.sentences import most_seen
from askew.parts.survey.shares import SetShares
from askew.types import Missing


def image_query(entry: SetShares, value: str = "") -> ImageQuery:
    """Return a query for all images of a set, or only for images with the label `value`."""
    return ImageQuery(
        prompt="" if isinstance(entry, SharesOverPrompts) else entry.prompt,
        set=entry.set,
        axis=entry.axis,
        instrument=entry.instrument,
        value=value,
    )


def share_link(entry: SetShares) -> tuple[PhraseLink, ...]:
    """Return a link for the phrase that counts the images of the most over-represented value."""
    if isinstance(entry.distance, Missing):
        return ()
    return (PhraseLink(most_seen(entry), image_query(entry, entry.leading)),)
