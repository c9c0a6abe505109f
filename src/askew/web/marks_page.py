"""Forms for correcting labels, flagging images, and writing notes on a run."""

from collections.abc import Iterator

from markupsafe import Markup
from starlette.requests import Request as HTTPRequest
from starlette.responses import RedirectResponse, Response

from askew.errors import UsageError
from askew.pages import words
from askew.pages.elements import bdi, tag
from askew.run.annotations import (
    MOST_TEXT,
    NO_LABEL,
    Annotation,
    Annotations,
    add_annotations,
    corrected_label,
    flag,
    note,
)
from askew.types import Axis
from askew.web.filters import ImageFilter, PlacedImage
from askew.web.opened import OpenedRun
from askew.web.sent_form import SentForm
from askew.web.shell import choice, form, page, sheet
from askew.web.site import Site

LABEL_FIELD = "label:"
"""Prefix of form field names for corrected labels. The name of the axis follows the prefix."""

FILTER_FIELDS = ("set", "axis", "value", "by", "show")
WHOLE_RUN = "the whole run"
MOST_SUBJECTS = 60
"""Maximum number of subjects offered for a note."""

SEE_OTHER = 303


def mark_form(
    site: Site, run: OpenedRun, placed: PlacedImage, chosen: ImageFilter
) -> Markup | None:
    """Return the form for correcting an image's labels and flagging the image.

    Parameters
    ----------
    site, run
        The app and the run.
    placed
        The image.
    chosen
        Filter of the list in which the user opened the image.
    """
    axes = [axis for axis in placed.of.axes if placed.of.values.get(axis.name)]
    action = f"/runs/{run.facts.id}/images/{placed.image.id}"
    annotations = run.annotations
    image = str(placed.image.id)
    fields = [_axis_field(placed, axis, annotations) for axis in axes]
    remark = tag(
        "label",
        tag("span", "Flag this image, with a reason"),
        tag(
            "input",
            type="text",
            name="flag",
            value=annotations.flags.get(image, ""),
            maxlength=MOST_TEXT,
            size=30,
        ),
    )
    hidden = [(name, getattr(chosen, name)) for name in FILTER_FIELDS]
    question = "How would most viewers label this image?"
    return tag(
        "section",
        tag("h2", "Correct the labels"),
        tag("p", question, class_="note") if axes else None,
        form(
            action,
            site.session.form_token(action),
            tag("div", *fields, remark, tag("button", "Save"), class_="fields"),
            hidden=[(name, value) for name, value in hidden if value],
        ),
    )


def _axis_field(placed: PlacedImage, axis: Axis, annotations: Annotations) -> Markup:
    values = placed.of.values[axis.name]
    options = (
        {"": "as labeled"} | {value: value for value in values} | {NO_LABEL: "nobody can tell"}
    )
    chosen = annotations.labels.get((str(placed.image.id), axis.name), "")
    return choice(f"{LABEL_FIELD}{axis.name}", options, chosen, words.capital(axis.name))


def mark_image(site: Site, request: HTTPRequest, sent: SentForm) -> Response:
    """Save the corrected labels and the flag of an image, and redirect to the image's page."""
    run = site.opened.run(request.path_params["run"])
    image = request.path_params["image"]
    places = [
        PlacedImage(image=each, of=image_set)
        for image_set in run.sets
        for each in image_set.images
        if each.id == image
    ]
    if not places:
        raise LookupError("the results of this run do not contain this image")
    entries = list(_changes(run, image, places[0], sent))
    if entries:
        add_annotations(run.facts.folder, entries)
    chosen = ImageFilter.of({name: sent.text(name) for name in FILTER_FIELDS})
    address = chosen.address(f"/runs/{run.facts.id}/images/{image}")
    return RedirectResponse(address, SEE_OTHER)


def _changes(
    run: OpenedRun, image: str, placed: PlacedImage, sent: SentForm
) -> Iterator[Annotation]:
    """Yield a form's labels and flag where they differ from the saved values.

    Raises
    ------
    UsageError
        If a label is not a value of its axis.
    """
    saved = run.annotations
    for axis in placed.of.axes:
        name = f"{LABEL_FIELD}{axis.name}"
        if name in sent.fields:
            value = sent.text(name)
            known = ("", NO_LABEL, *placed.of.values[axis.name])
            if value not in known:
                raise UsageError(f"{value!r} is not a value of the axis {axis.name}")
            if value != saved.labels.get((image, axis.name), ""):
                yield corrected_label(image, axis.name, value)
    text = sent.text("flag")
    if "flag" in sent.fields and text != saved.flags.get(image, ""):
        yield flag(image, text)


def notes_page(site: Site, request: HTTPRequest) -> Response:
    """Return the page that shows the notes on a run and forms for writing notes."""
    run = site.opened.run(request.path_params["run"])
    annotations = run.annotations
    action = f"/runs/{run.facts.id}/notes"
    token = site.session.form_token(action)
    forms = []
    if not site.is_read_only:
        forms = [_note_form(action, token, saved) for saved in annotations.notes.values()]
        forms.append(_note_form(action, token, None, _subjects(run)))
    else:
        forms = [tag("p", bdi(saved.text)) for saved in annotations.notes.values()]
    lead = "Notes become the first section of the report, also in exported reports."
    back = tag("p", tag("a", "Report of the run", href=f"/runs/{run.facts.id}"))
    return page("Notes", sheet("Notes", back, *forms, lead=lead), area="runs")


def _subjects(run: OpenedRun) -> list[str]:
    """Return the possible subjects of a note: the whole run, or a prompt and an axis."""
    subjects = {WHOLE_RUN: None}
    for each in run.sets:
        for axis in each.axes:
            subjects[f"{words.quote(each.prompt, 60)}, {axis.name}"] = None
    return list(subjects)[:MOST_SUBJECTS]


def _note_form(
    action: str, token: str, saved: Annotation | None, subjects: list[str] | None = None
) -> Markup:
    """Return the form for editing a saved note or writing a new note."""
    about = saved.about if saved else WHOLE_RUN
    options = dict.fromkeys([about, *(subjects or ())])
    text = tag(
        "label",
        tag("span", "Note (to delete the note, save it without text)" if saved else "New note"),
        tag("textarea", saved.text if saved else "", name="text", maxlength=MOST_TEXT, rows=3),
    )
    subject = choice("about", {name: name for name in options}, about, "About")
    hidden = [("id", saved.id)] if saved else []
    return form(
        action,
        token,
        tag("div", text, subject, tag("button", "Save"), class_="fields"),
        hidden=hidden,
    )


def write_note(site: Site, request: HTTPRequest, sent: SentForm) -> Response:
    """Save a note, and redirect to the page that shows the notes."""
    run = site.opened.run(request.path_params["run"])
    identity = sent.text("id")
    saved = run.annotations.notes
    if identity and identity not in saved:
        raise LookupError("there is no such note")
    text = sent.text("text")
    if len(text) > MOST_TEXT:
        raise UsageError(f"the note is too long; it can contain at most {MOST_TEXT} characters")
    if text or identity:
        add_annotations(run.facts.folder, [note(sent.text("about")[:200], text, identity)])
    return RedirectResponse(f"/runs/{run.facts.id}/notes", SEE_OTHER)
