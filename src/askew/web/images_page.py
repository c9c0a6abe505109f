"""Pages with the images of a run: a filtered list, and a page per image with all its labels."""

from collections.abc import Iterator, Mapping, Sequence

from markupsafe import Markup
from starlette.requests import Request as HTTPRequest
from starlette.responses import Response

from askew.pages import words
from askew.pages.elements import bdi, tag
from askew.run.annotations import NO_LABEL
from askew.studies.labeled_sets import LabeledImage, LabeledSet
from askew.types import REASON_TEXTS, Missing
from askew.web.filters import (
    SHOWN,
    HandMarks,
    ImageFilter,
    PlacedImage,
    disagreeing_axes,
    selected,
    set_title,
    set_titles,
)
from askew.web.marks_page import mark_form
from askew.web.opened import OpenedRun
from askew.web.shell import choice, page, page_number, pager, sheet, table
from askew.web.site import Site

ON_A_PAGE = 96
"""Maximum number of images per page of the list."""

ANY = {"": "any"}


def images_page(site: Site, request: HTTPRequest) -> Response:
    """Return the page that lists a run's images after applying a filter."""
    run = site.opened.run(request.path_params["run"])
    chosen = ImageFilter.of(request.query_params)
    marks = marks_of(run)
    images = list(selected(run.sets, chosen, marks))
    number = page_number(request.query_params.get("page", ""), len(images), ON_A_PAGE)
    base = f"/runs/{run.facts.id}/images"
    last = -(-len(images) // ON_A_PAGE)
    start = (number - 1) * ON_A_PAGE
    shown = images[start : start + ON_A_PAGE]
    content = (
        tag("p", tag("a", "Report of the run", href=f"/runs/{run.facts.id}")),
        _filter_form(run, chosen, base),
        tag("p", f"{words.plural(len(images), 'image')}.", class_="note"),
        _gallery(shown, chosen, marks, base),
        pager(number, last, lambda target: chosen.address(base, page=str(target))),
    )
    title = chosen.sentence(run.sets)
    return page(title, sheet(title, *content), area="runs")


def marks_of(run: OpenedRun) -> HandMarks:
    """Return the label corrections and flags that the user has entered for a run."""
    annotations = run.annotations
    return HandMarks(corrected=annotations.labels, flagged=frozenset(annotations.flags))


def _filter_form(run: OpenedRun, chosen: ImageFilter, base: str) -> Markup:
    sets = {"": "all sets"} | set_titles(run.sets)
    values = _values(run.sets, chosen.axis)
    axes = dict.fromkeys(axis.name for each in run.sets for axis in each.axes)
    instruments = run.result.findings.instruments.vqa or {}
    fields = (
        choice("set", sets, chosen.set, "Image set"),
        choice("axis", ANY | {axis: axis for axis in axes}, chosen.axis, "Axis"),
        choice("value", ANY | {value: value for value in values}, chosen.value, "Label"),
        choice("by", ANY | {name: name for name in instruments}, chosen.by, "Labeled by"),
        choice("show", SHOWN, chosen.show, "Show"),
        tag("button", "Filter", class_="plain"),
    )
    return tag("form", tag("div", *fields, class_="fields"), method="get", action=base)


def _values(sets: Sequence[LabeledSet], axis: str) -> list[str]:
    """Return the possible labels on an axis, or on all axes if `axis` is empty."""
    values: dict[str, None] = {}
    for each in sets:
        for name, of_axis in each.values.items():
            if axis in ("", name):
                values |= dict.fromkeys(of_axis)
    return [*values, NO_LABEL]


def _gallery(
    images: Sequence[PlacedImage], chosen: ImageFilter, marks: HandMarks, base: str
) -> Markup:
    return tag("ul", *(_tile(placed, chosen, marks, base) for placed in images), class_="gallery")


def _tile(placed: PlacedImage, chosen: ImageFilter, marks: HandMarks, base: str) -> Markup:
    name = str(placed.image.id)
    alt = f"Image {placed.image.number} of {words.shorten(placed.of.text, 60)}"
    picture = tag("img", src=f"/images/{name}/small", alt=alt, loading="lazy", decoding="async")
    address = chosen.address(f"{base}/{name}")
    link = tag("a", picture, href=address)
    caption = tag("span", bdi(_labels_in_brief(placed.image, chosen.axis)), class_="small")
    by_hand = [value for (image, _), value in marks.corrected.items() if image == name]
    hand = tag("span", f" by hand: {', '.join(by_hand)}", class_="hand") if by_hand else None
    flag = tag("span", " flagged", class_="hand") if name in marks.flagged else None
    return tag("li", link, caption, hand, flag)


def _labels_in_brief(image: LabeledImage, axis: str) -> str:
    """Return the first instrument's labels.

    If the instruments disagree on an axis, the text contains the labels from all of them.
    """
    disagreeing = disagreeing_axes(image, axis)
    texts = [_disagreement_in_brief(image, name) for name in disagreeing]
    first_instrument = next(iter(image.labels.values()), {})
    agreed = []
    for name, label in first_instrument.items():
        if axis in ("", name) and name not in disagreeing and isinstance(label, str):
            agreed.append(label)
    if agreed:
        texts.append(words.shorten(", ".join(dict.fromkeys(agreed)), 80))
    return "; ".join(texts) or "no label"


def _disagreement_in_brief(image: LabeledImage, axis: str) -> str:
    """Return the labels on an axis as text, such as "gender: male (labels), female (studio)"."""
    labels = []
    for instrument, by_axis in image.labels.items():
        label = by_axis.get(axis)
        if isinstance(label, str):
            labels.append(f"{words.shorten(label, 30)} ({words.shorten(instrument, 30)})")
    return f"{words.axis_label(axis)}: {', '.join(labels)}"


def image_page(site: Site, request: HTTPRequest) -> Response:
    """Return the page of an image, with its labels and a form for correcting them."""
    run = site.opened.run(request.path_params["run"])
    name = request.path_params["image"]
    chosen = ImageFilter.of(request.query_params)
    places = [
        PlacedImage(image=image, of=each)
        for each in run.sets
        for image in each.images
        if image.id == name
    ]
    if not places:
        raise LookupError("the results of this run do not contain this image")
    first = next((place for place in places if str(place.of.number) == chosen.set), places[0])
    title = f"Image {first.image.number} of {set_title(first.of)}"
    picture = tag("a", tag("img", src=f"/images/{name}", alt=title), href=f"/images/{name}")
    marks = None if site.is_read_only else mark_form(site, run, first, chosen)
    side = tag("div", *_facts(places), _label_table(first, run.annotations.labels), marks)
    content = (
        _neighbors(run, chosen, name),
        tag("div", tag("div", picture), side, class_="picture"),
    )
    return page(title, sheet(title, *content), area="runs")


def _neighbors(run: OpenedRun, chosen: ImageFilter, name: str) -> Markup:
    """Return links to the list of images and to the previous and next images in the list."""
    base = f"/runs/{run.facts.id}/images"
    ids = [str(placed.image.id) for placed in selected(run.sets, chosen, marks_of(run))]
    links = [
        tag("a", "Report of the run", href=f"/runs/{run.facts.id}"),
        tag("a", chosen.sentence(run.sets), href=chosen.address(base)),
    ]
    if name in ids:
        place = ids.index(name)
        for text, target, key in (("Previous", place - 1, "p"), ("Next", place + 1, "n")):
            if 0 <= target < len(ids):
                address = chosen.address(f"{base}/{ids[target]}")
                links.append(tag("a", text, href=address, accesskey=key))
        links.append(tag("span", f"{place + 1} of {len(ids)}"))
    return tag("p", *links, class_="pages")


def _facts(places: Sequence[PlacedImage]) -> Iterator[Markup]:
    """Yield a list that states the prompt and seed of the image in each of its image sets."""
    pairs = []
    for place in places:
        pairs.append(("Prompt", words.clean(place.of.text)))
        pairs.append(("Image set", f"{words.set_label(place.of.name)}, image {place.image.number}"))
        if place.image.seed is not None:
            pairs.append(("Seed", str(place.image.seed)))
    pairs.append(("SHA-256", str(places[0].image.id)))
    items = (tag("div", tag("dt", name), tag("dd", bdi(text))) for name, text in pairs)
    yield tag("dl", *items, class_="facts")


def _label_table(placed: PlacedImage, corrected: Mapping[tuple[str, str], str]) -> Markup:
    """Return a table of an image's labels, with a row per axis and a column per instrument."""
    instruments = list(placed.image.labels)
    if not instruments:
        return tag("p", "No instrument labeled this image on axes with known values.")
    rows = []
    disagreeing = disagreeing_axes(placed.image)
    for axis in placed.of.axes:
        labels = [placed.image.labels[name].get(axis.name) for name in instruments]
        remark = "they disagree" if axis.name in disagreeing else ""
        cells = [bdi(label_text(label)) for label in labels]
        by_hand = corrected.get((str(placed.image.id), axis.name), "")
        hand = tag("b", bdi(words.shorten(by_hand, 60))) if by_hand else ""
        rows.append((bdi(axis.name), *cells, hand, remark))
    heads = ("Axis", *(words.shorten(name, 40) for name in instruments), "by hand", "")
    note = "Attributes are perceived. Instruments make errors."
    return tag(
        "section", tag("h2", "Labels"), table(heads, rows, "labels"), tag("p", note, class_="note")
    )


def label_text(label: object) -> str:
    """Return a label as text, or the reason why the label is missing."""
    if isinstance(label, Missing):
        return f"no label: {label.detail or REASON_TEXTS[label.reason]}"
    return words.shorten(str(label), 60) if label is not None else "no label"
