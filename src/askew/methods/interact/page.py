"""The page of `askew interact`."""

from __future__ import annotations

from askew.methods.interact.findings import InteractionFindings
from askew.pages.blocks import Page
from askew.pages.media import Media


def page(found: InteractionFindings, media: Media) -> Page:
    """What to show."""
    return Page(kicker="Interactions", title=found.plan.prompts[0].text, answer="", facts=(), sections=())
