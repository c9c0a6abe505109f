"""Parts that all pages share: facts, missing data, the reading guide, the plan and provenance."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from askew.findings import Head, Identity, PictureSet
from askew.pages import words
from askew.pages.blocks import CodeBlock, DefinitionList, Details, Page, Paragraph, Section, Table

PLACES = 12
"""Largest number of visible rows of missing data."""
MACHINE = ("python", "platform", "device", "threads", "started", "finished")

INTERVAL = (
    "Interval",
    "Confidence interval for the model's true score, at the confidence level of the plan. If the "
    "interval of a difference contains zero, the direction of the difference is not determined.",
)
Q = (
    "q",
    "False discovery rate (Benjamini and Hochberg 1995) over all tests of a family. It is the "
    "expected share of false discoveries if this result, and all results with a smaller q, are "
    "called significant. This page calls results with q below 0.05 significant. A larger q does "
    "not show that there is no effect.",
)
PERCEIVED = (
    "Instruments label how people in images look, and they make errors. Gender, age, ethnicity "
    "and similar axes are perceived; they do not describe anyone's identity."
)
HOLDS = (
    "The results hold for these prompts, this model with these settings, and these instruments. "
    "They do not explain causes, and they are not a statement on any law or standard."
)
DRAWN = Paragraph("All random draws follow from the run seed: the same plan gives the same page.")

Named = tuple[str, str]
"""A name and its meaning: a fact or a term."""


@dataclass(frozen=True, slots=True)
class MissingNote:
    """Number of missing images or labels in one place.

    Attributes
    ----------
    name : str
        Name of the missing things: "images", "perceived gender by studio".
    where : str
        Prompt and image set.
    of : int
        Number of planned things.
    missing : mapping of str to int
        Number of missing things by reason.
    """

    name: str
    where: str
    of: int
    missing: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Heading:
    """Texts at the head of a page, see `Page`."""

    kicker: str
    title: str
    answer: str
    detail: str = ""


def page(
    head: Head,
    heading: Heading,
    sections: Iterable[Section],
    *,
    facts: Iterable[Named],
    reading: Section,
    notes: Iterable[str],
    gaps: Sequence[MissingNote] = (),
    uneven: Sequence[str] = (),
) -> Page:
    """Return the page of a run: the sections of a method, then the sections of all pages.

    Parameters
    ----------
    head : Head
        Findings of the run.
    heading : Heading
        Texts at the head of the page.
    sections : iterable of Section
        Sections of the method.
    facts : iterable of (str, str)
        Names and values below the answer.
    reading : Section
        The reading guide.
    notes : iterable of str
        Texts at the end of the page and below the tables of a terminal.
    gaps : sequence of MissingNote
        Missing labels, in addition to the missing images.
    uneven : sequence of str
        Sentences about data that are missing more often for one value than for another.

    Returns
    -------
    Page
        The page.
    """
    closing = (
        missing_section([*picture_gaps(head.sets), *gaps], uneven),
        reading,
        *provenance(head),
    )
    return Page(
        kicker=heading.kicker,
        title=heading.title,
        answer=heading.answer,
        facts=(*facts,),
        sections=(*sections, *closing),
        warnings=head.warnings,
        notes=(*notes, *uneven),
        detail=heading.detail,
        version=head.askew,
    )


def reading(
    terms: Iterable[Named],
    limits: Iterable[str] = (),
    method: tuple[Named, ...] = (),
    source: str = "",
    of: str = "score",
) -> Section:
    """Return the reading guide of a page.

    Parameters
    ----------
    terms : iterable of (str, str)
        Terms of the page and their meaning.
    limits : iterable of str
        Sentences on what a score does not mean.
    method : tuple of (str, str)
        Scores and how they are computed.
    source : str
        Paper that the method follows.
    of : str
        Noun for the numbers of the page.

    Returns
    -------
    Section
        The guide, which a terminal leaves out.
    """
    not_meant = Paragraph(lead=f"Limits of a {of}", items=(PERCEIVED, *limits, HOLDS))
    definitions = Details(
        f"Definitions and limits of the {of}s", (DefinitionList((*terms, INTERVAL, Q)), not_meant)
    )
    steps = (Paragraph(source), DefinitionList(method), DRAWN) if method else ()
    return Section("How to read this", (definitions, Details("Method", steps)), screen=False)


def identity(model: Identity) -> str:
    """Return the name of a model with its settings."""
    settings = ", ".join(f"{name} {value}" for name, value in model.settings.items())
    return words.shorten(f"{model.name}, {settings}" if settings else model.name, 160)


def facts(head: Head, models: Sequence[Identity] = ()) -> tuple[Named, ...]:
    """Return the facts at the head of a page.

    Parameters
    ----------
    head : Head
        Findings of a run.
    models : sequence of Identity
        Models of the run, if there are several.

    Returns
    -------
    tuple of (str, str)
        Models, images, instruments, missing images, run seed and confidence level, where known.
    """
    model_name = "Models" if len(models) > 1 else "Model"
    missing = sum(sum(image_set.missing.values()) for image_set in head.sets)
    seed = getattr(head.plan, "seed", None)
    confidence = getattr(head.plan, "confidence", None)
    named = (
        (model_name, "; ".join(map(identity, models or (head.model,)))),
        ("Images", _image_count(head.sets)),
        ("Instruments", words.listing(_instrument_names(head))),
        ("Missing", words.plural(missing, "image") if missing else "no image"),
        ("Run seed", "" if seed is None else str(seed)),
        ("Intervals", "" if confidence is None else words.percent(confidence)),
    )
    return tuple((name, text) for name, text in named if text)


def _instrument_names(head: Head) -> list[str]:
    return list(dict.fromkeys([*(head.instruments.vqa or ()), *(head.instruments.embedder or ())]))


def _image_count(sets: Sequence[PictureSet]) -> str:
    """Return the number of images, with the number and the sizes of their sets."""
    names = [name for image_set in sets for name in image_set.pictures]
    images = len(names) - names.count(None)
    sizes = sorted({len(image_set.pictures) for image_set in sets}) or [0]
    ends = dict.fromkeys(f"{size:,}" for size in (sizes[0], sizes[-1]))
    return f"{images:,} in {words.plural(len(sets), 'set')} of {' to '.join(ends)}"


def picture_gaps(sets: Sequence[PictureSet]) -> list[MissingNote]:
    """Return the numbers of missing images of each image set."""
    return [_picture_gap(image_set) for image_set in sets]


def _picture_gap(image_set: PictureSet) -> MissingNote:
    condition = "initial"
    if image_set.axis is not None:
        condition = f"{image_set.axis}: {image_set.value}"
    return MissingNote(
        name="images",
        where=f"{words.shorten(image_set.prompt, 60)} – {words.set_label(condition)}",
        of=len(image_set.pictures),
        missing=image_set.missing,
    )


def missing_section(gaps: Sequence[MissingNote], sentences: Sequence[str] = ()) -> Section:
    """Return the section on missing data.

    Parameters
    ----------
    gaps : sequence of MissingNote
        Missing images and labels.
    sentences : sequence of str
        Sentences about data that are missing more often for one value than for another.

    Returns
    -------
    Section
        A table of all gaps, or a sentence that nothing is missing.
    """
    rows = tuple(_gap_row(gap) for gap in gaps if sum(gap.missing.values()))
    if not rows:
        nothing = "Nothing is missing: all images were generated and all questions were answered."
        return Section("Missing data", (Paragraph(nothing),), screen=False)
    excluded = "Missing images and labels are excluded from all counts. A missing label never counts as a value."
    table = Table("Missing data by reason", ("What", "Where", "missing", "Reasons"), rows)
    block: Table | Details = table
    if len(rows) > PLACES:
        block = Details(f"{words.plural(len(rows), 'place')} with missing data", (table,))
    return Section(
        "Missing data", (Paragraph(excluded, items=tuple(sentences)), block), screen=False
    )


def _gap_row(gap: MissingNote) -> tuple[str, str, str, str]:
    missing = sum(gap.missing.values())
    share = f" ({words.percent(missing / gap.of)})" if gap.of else ""
    return (
        words.capital(gap.name),
        gap.where,
        f"{missing:,} of {gap.of:,}{share}",
        words.reasons(gap.missing),
    )


def provenance(head: Head) -> tuple[Section, Section]:
    """Return the sections on the plan and on the environment of a run.

    Parameters
    ----------
    head : Head
        Findings of the run.

    Returns
    -------
    tuple of Section
        The plan with its hash; the machine, the instruments, the model and the packages.
    """
    toml = Details("Complete plan, to edit and to run", (CodeBlock(head.plan.to_toml()),))
    plan_hash = DefinitionList((("hash", head.plan_hash),), facts=True)
    plan = Section("Plan", (plan_hash, toml), screen=False)
    machine = [(name, str(getattr(head.environment, name) or "")) for name in MACHINE]
    known = tuple(fact for fact in (("askew", head.askew), *machine) if fact[1])
    details = DefinitionList(
        (
            *_instrument_facts(head),
            ("model", identity(head.model)),
            ("model revision", head.model.revision),
            *head.environment.packages.items(),
        ),
        facts=True,
    )
    environment = Section(
        "Environment",
        (
            DefinitionList(known, facts=True),
            Details("Instruments, model and packages", (details,)),
        ),
        screen=False,
    )
    return plan, environment


def _instrument_facts(head: Head) -> list[Named]:
    """Return the fingerprints of all instruments by kind and name."""
    kinds = (
        ("vqa", head.instruments.vqa),
        ("embedder", head.instruments.embedder),
        ("llm", head.instruments.llm),
    )
    facts = []
    for kind, fingerprints in kinds:
        for name, fingerprint in (fingerprints or {}).items():
            facts.append((f"{kind} {words.shorten(name, 60)}", fingerprint))
    return facts


def notes(head: Head) -> tuple[str, ...]:
    """Return the notes below the tables of all pages."""
    bold = "Bold: significant (q < 0.05). Attributes are perceived; instruments make errors."
    missing = sum(sum(image_set.missing.values()) for image_set in head.sets)
    if not missing:
        return (bold,)
    return bold, f"Missing: {words.plural(missing, 'image')}. The report lists the reasons."
