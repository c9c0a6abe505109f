"""Notes that people wrote about a run, as a section of the run's page."""

from dataclasses import replace

from askew.pages.blocks import Page, Paragraph, Section
from askew.pages.words import clean, plural, shorten
from askew.run.annotations import Annotations

TITLE = "Notes"


def with_notes(page: Page, annotations: Annotations) -> Page:
    """Return a page with people's notes as its first section.

    Parameters
    ----------
    page : Page
        Page of a run.
    annotations : Annotations
        Notes and corrected labels in the folder of the run.

    Returns
    -------
    Page
        The page, which is unchanged if there are neither notes nor corrected labels.
    """
    items = tuple(
        Paragraph(clean(note.text), lead=f"{shorten(note.about, 120)}:" if note.about else "")
        for note in annotations.notes.values()
    )
    remark = ""
    if annotations.labels:
        remark = (
            f"Users corrected {plural(len(annotations.labels), 'label')} of this run by hand. "
            "The `askew serve` app shows the corrected shares."
        )
    if not items and not remark:
        return page
    section = Section(TITLE, (Paragraph(items=items), Paragraph(remark, muted=True)))
    return replace(page, sections=(section, *page.sections))
