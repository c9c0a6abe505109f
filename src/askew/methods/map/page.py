"""The page of `askew map`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from askew.methods.map.findings import MapFindings
from askew.pages.blocks import Page

if TYPE_CHECKING:
    from askew.pages.media import Media


def page(found: MapFindings, media: Media) -> Page:
    """What to show."""
    return Page(kicker="Attention maps", title=found.plan.prompts[0].text, answer="", facts=(), sections=())
