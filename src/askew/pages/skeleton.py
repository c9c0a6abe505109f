"""Parts that all pages have in common: facts, missing data, reading guide and provenance."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from askew.findings import Head, Identity, PictureSet
from askew.pages import words
from askew.pages.blocks import (
    Block,
    CodeBlock,
    DefinitionList,
    Details,
    FirstScreen,
    Page,
    Paragraph,
    PhraseLink,
    Section,
    Table,
)
from askew.types import MOST_EXAMPLES, REASON_TEXTS, MissingItem

PLACES = 12
"""Maximum number of rows with missing data that are visible without opening details."""
MACHINE = ("python", "platform", "device", "threads", "started", "finished")

INTERVAL = (
    "Interval",
    "Confidence interval for the model's true score, at the confidence level set in the plan. If the "
    "interval of a difference contains zero, the direction of the difference is not determined.",
)
Q = (
    "q",
    "False discovery rate (Benjamini and Hochberg 1995) across all tests in a family. The q-value of "
    "a result is the expected share of false discoveries if this result, and all results with a "
    "smaller q-value, are called significant. This page calls a result "
    "significant if its q-value is below 0.05. A larger q-value does not show that there is no effect.",
)
PERCEIVED = (
    "Instruments label how people in images look, and some of these labels are wrong. Labels for "
    "gender, age, ethnicity and similar axes are perceptions; they do not describe anyone's identity."
)
HOLDS = (
    "The results apply only to these prompts, to this model with these settings, and to these "
    "instruments. The results do not explain causes, and make no statement about any law or standard."
)
DRAWN = Paragraph(
    "All random draws depend on the run seed, so the same plan produces the same page."
)

Named = tuple[str, str]
"""A term and its meaning, or the name and value of a fact."""


@dataclass(frozen=True, slots=True)
class MissingNote:
    """Number of images or labels that are missing from an image set.

    Attributes
    ----------
    name : str
        Name of the missing items, such as "images" or "perceived gender by studio".
    where : str
        Prompt and image set.
    of : int
        Number of planned images or labels.
    missing : mapping of str to int
        Number of missing images or labels, keyed by reason.
    items : tuple of MissingItem
        Examples of missing images or labels, with reasons.
    """

    name: str
    where: str
    of: int
    missing: Mapping[str, int]
    items: tuple[MissingItem, ...] = ()


@dataclass(frozen=True, slots=True)
class Heading:
    """Text at the top of a page, and the page's first screen; see `Page`.

    `meta` contains the facts that `Page.meta` lists on one line.
    """

    kicker: str
    title: str
    answer: str
    detail: str = ""
    meta: Sequence[str] = ()
    first: FirstScreen | None = None
    links: tuple[PhraseLink, ...] = ()


def page(
    head: Head,
    heading: Heading,
    sections: Iterable[Section],
    *,
    reading: Section,
    notes: Iterable[str],
    gaps: Sequence[MissingNote] = (),
    uneven: Sequence[str] = (),
) -> Page:
    """Return the page of a run: the method's sections, then the sections that all pages have.

    Parameters
    ----------
    head : Head
        Findings of the run.
    heading : Heading
        Text at the top of the page.
    sections : iterable of Section
        Sections that the method adds.
    reading : Section
        Reading guide of the page.
    notes : iterable of str
        Texts to show at the end of the page, and below the tables in a terminal.
    gaps : sequence of MissingNote
        Notes on missing labels, to which askew adds the missing images.
    uneven : sequence of str
        Sentences about data that are missing more often for some values than for others.

    Returns
    -------
    Page
        The page.
    """
    all_gaps = [*picture_gaps(head.sets), *gaps]
    closing = (
        missing_section(all_gaps, uneven),
        reading,
        reproduce(head),
    )
    return Page(
        kicker=heading.kicker,
        title=heading.title,
        answer=heading.answer,
        meta=meta_line(heading.meta),
        first=heading.first,
        sections=(*sections, *closing),
        warnings=head.warnings,
        notes=tuple(notes),
        screen_notes=(*uneven, *reason_sentences(all_gaps)),
        detail=heading.detail,
        version=head.askew,
        limits=HOLDS,
        links=heading.links,
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
        Terms on the page, with their meanings.
    limits : iterable of str
        Sentences that state what a score does not mean.
    method : tuple of (str, str)
        Names of scores, each with an explanation of how the score is computed.
    source : str
        Text about the paper that the method follows.
    of : str
        Noun for the numbers on the page, such as "score".

    Returns
    -------
    Section
        The reading guide, which is not shown in terminals.
    """
    not_meant = Paragraph(lead=f"Limits of a {of}", items=(PERCEIVED, *limits, HOLDS))
    definitions = Details(
        f"Definitions and limits of the {of}s", (DefinitionList((*terms, INTERVAL, Q)), not_meant)
    )
    steps = (Paragraph(source), DefinitionList(method), DRAWN) if method else ()
    return Section("How to read this", (definitions, Details("Method", steps)), screen=False)


def identity(model: Identity) -> str:
    """Return the name and the settings of a model."""
    settings = ", ".join(f"{name} {value}" for name, value in model.settings.items())
    return words.shorten(f"{model.name}, {settings}" if settings else model.name, 160)


def meta(
    head: Head, models: Sequence[Identity] = (), *, images: str = "", date: bool = True
) -> tuple[str, ...]:
    """Return the facts of a run for the line below the headline.

    Parameters
    ----------
    head : Head
        Findings of the run.
    models : sequence of Identity
        Models in the run; empty to use the model in `head`.
    images : str
        Text that states the number of images; "" to count the images in all sets.
    date : bool
        Whether to include the date of the run.

    Returns
    -------
    tuple of str
        Models, images, instruments, missing images, run seed and date, as far as they are known.
    """
    missing = sum(sum(image_set.missing.values()) for image_set in head.sets)
    seed = getattr(head.plan, "seed", None)
    instruments = words.listing(_instrument_names(head))
    started = head.environment.started if date else None
    texts = (
        "; ".join(map(identity, models or (head.model,))),
        images or _image_count(head.sets),
        f"labeled by {instruments}" if instruments else "",
        f"{words.plural(missing, 'image')} missing" if missing else "no missing images",
        "" if seed is None else f"seed {seed}",
        "" if started is None else started.partition("T")[0],
    )
    return tuple(text for text in texts if text)


def meta_line(facts: Iterable[str]) -> str:
    """Join facts into one line."""
    return " · ".join(facts)


def _instrument_names(head: Head) -> list[str]:
    return list(dict.fromkeys([*(head.instruments.vqa or ()), *(head.instruments.embedder or ())]))


def _image_count(sets: Sequence[PictureSet]) -> str:
    """Return the number of images as text, with the number of image sets and their sizes."""
    names = [name for image_set in sets for name in image_set.pictures]
    images = len(names) - names.count(None)
    sizes = sorted({len(image_set.pictures) for image_set in sets}) or [0]
    ends = dict.fromkeys(f"{size:,}" for size in (sizes[0], sizes[-1]))
    if len(sets) == 1:
        return words.plural(images, "image")
    return f"{images:,} images in {len(sets):,} sets of {' to '.join(ends)}"


def picture_gaps(sets: Sequence[PictureSet]) -> list[MissingNote]:
    """For each image set, return a note on its missing images."""
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
        items=image_set.reasons,
    )


def missing_section(gaps: Sequence[MissingNote], sentences: Sequence[str] = ()) -> Section:
    """Return the section on missing data.

    Parameters
    ----------
    gaps : sequence of MissingNote
        Missing images and labels.
    sentences : sequence of str
        Sentences about data that are missing more often for some values than for others.

    Returns
    -------
    Section
        Section that contains the sentences and a table of all missing data; empty if nothing is
        missing.
    """
    excluded = "Missing images and labels are excluded from all counts. A missing label never counts as a value."
    rows = tuple(_gap_row(gap) for gap in gaps if sum(gap.missing.values()))
    if not rows:
        blocks = (Paragraph(excluded, items=tuple(sentences)),) if sentences else ()
        return Section("Missing data", blocks, screen=False)
    table = Table("Missing data by reason", ("What", "Where", "missing", "Reasons"), rows)
    block: Table | Details = table
    if len(rows) > PLACES:
        block = Details(f"{words.plural(len(rows), 'place')} with missing data", (table,))
    items = (*sentences, *reason_sentences(gaps))
    return Section("Missing data", (Paragraph(excluded, items=items), block), screen=False)


def reason_sentences(gaps: Iterable[MissingNote]) -> list[str]:
    """For each reason, return a sentence that lists up to five missing images or labels."""
    named: dict[str, dict[str, list[str]]] = {}
    for gap in gaps:
        for item in gap.items:
            of_reason = named.setdefault(item.reason, {})
            place = f"{item.name} ({gap.where})"
            places = of_reason.setdefault(item.sentence, [])
            if sum(map(len, of_reason.values())) < MOST_EXAMPLES and place not in places:
                places.append(place)
    return [_reason_sentence(reason, of_reason) for reason, of_reason in named.items()]


def _reason_sentence(reason: str, names: Mapping[str, Sequence[str]]) -> str:
    """Return a sentence that states a reason and lists the images or labels missing for it."""
    parts = []
    for sentence, places in names.items():
        if places:
            is_general = sentence == REASON_TEXTS[reason]
            detail = "" if is_general else f"{words.shorten(sentence, 200)}: "
            parts.append(detail + ", ".join(places))
    return f"{words.capital(REASON_TEXTS[reason])}: {'; '.join(parts)}."


def _gap_row(gap: MissingNote) -> tuple[str, str, str, str]:
    missing = sum(gap.missing.values())
    share = f" ({words.percent(missing / gap.of)})" if gap.of else ""
    return (
        words.capital(gap.name),
        gap.where,
        f"{missing:,} of {gap.of:,}{share}",
        words.reasons(gap.missing),
    )


def reproduce(head: Head) -> Section:
    """Return a section that contains everything a reader needs to repeat a run.

    Parameters
    ----------
    head : Head
        Findings of the run.

    Returns
    -------
    Section
        Section whose details show the command, the plan and the environment.
    """
    details = Details("Command, plan and environment", provenance(head))
    return Section("Reproduce this run", (details,), screen=False)


def provenance(head: Head) -> tuple[Block, ...]:
    """Return blocks that show the command to repeat a run, and the run's plan and environment.

    Parameters
    ----------
    head : Head
        Findings of the run.

    Returns
    -------
    tuple of Block
        The command, the plan with its hash, the machine, the instruments, the model and the
        packages.
    """
    machine = [(name, str(getattr(head.environment, name) or "")) for name in MACHINE]
    known = [fact for fact in (("askew", head.askew), *machine) if fact[1]]
    facts = (
        ("plan hash", head.plan_hash),
        *known,
        ("model", identity(head.model)),
        ("model revision", head.model.revision),
        *_instrument_facts(head),
        *head.environment.packages.items(),
    )
    return (
        Paragraph("Save the plan below as plan.toml. The command repeats the run."),
        CodeBlock(f"askew {getattr(head.plan, 'method', '')} --plan plan.toml"),
        Details("Plan (plan.toml)", (CodeBlock(head.plan.to_toml()),)),
        DefinitionList(facts, facts=True),
    )


def _instrument_facts(head: Head) -> list[Named]:
    """Return the kind, name and fingerprint of each instrument."""
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
    """Return the notes that all pages show below their tables."""
    bold = "Bold: significant (q < 0.05). Attributes are perceived; instruments make errors."
    missing = sum(sum(image_set.missing.values()) for image_set in head.sets)
    if not missing:
        return (bold,)
    return bold, f"Missing: {words.plural(missing, 'image')}. The report lists the reasons."
