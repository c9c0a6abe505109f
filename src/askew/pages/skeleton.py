"""What every page has: facts at its head, missing data, how to read it, the plan, where the numbers
come from.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from askew.findings import Head, Identity, PictureSet
from askew.pages import words
from askew.pages.blocks import CodeBlock, DefinitionList, Details, Page, Paragraph, Section, Table

PLACES = 12
"""Rows of missing data before they are folded."""
MACHINE = ("python", "platform", "device", "threads", "started", "finished")

INTERVAL = (
    "Interval",
    "Where the score would lie if the model were asked for endless pictures, at the confidence "
    "level of the plan. If that of a difference holds zero, the direction is not settled.",
)
Q = (
    "q",
    "How often chance alone gives as much, adjusted for all that is tested together (Benjamini and Hochberg "
    "1995). Below 0.05 this page says “beyond chance”. A larger q does not show that there is nothing.",
)
PERCEIVED = (
    "Instruments read how people look in pictures, and they err. Gender, age, ethnicity and the like are "
    "perceived: nobody's identity is known."
)
HOLDS = (
    "What is found holds for these prompts, this model with these settings, and these instruments. It says "
    "nothing about why, and is no statement on any law or standard."
)
DRAWN = Paragraph("All random draws follow from the run seed: the same plan gives the same page.")

Named = tuple[str, str]
"""A fact or a term, and what it is."""


@dataclass(frozen=True, slots=True)
class MissingNote:
    """What is missing: of so many of something, somewhere, by reason."""

    what: str
    where: str
    of: int
    missing: Mapping[str, int]


def page(
    found: Head,
    kicker: str,
    title: str,
    answer: str,
    sections: Iterable[Section],
    *,
    facts: Iterable[Named],
    reading: Section,
    notes: Iterable[str],
    detail: str = "",
    gaps: Sequence[MissingNote] = (),
    uneven: Sequence[str] = (),
) -> Page:
    """The page of a run: a method's own sections, then what every page ends with."""
    ends = (
        missing_section([*picture_gaps(found.sets), *gaps], uneven),
        reading,
        *provenance(found),
    )
    notes = (*notes, *uneven)
    return Page(
        kicker,
        title,
        answer,
        (*facts,),
        (*sections, *ends),
        found.warnings,
        notes,
        detail,
        found.askew,
    )


def reading(
    terms: Iterable[Named],
    limits: Iterable[str] = (),
    method: tuple[Named, ...] = (),
    source: str = "",
    of: str = "score",
) -> Section:
    """How to read a page: what its words mean, what a score does not, by which `source` and how it
    was computed.
    """
    not_meant = Paragraph(lead=f"What a {of} does not mean", items=(PERCEIVED, *limits, HOLDS))
    told = Details(
        f"The {of}s, and what they do not mean", (DefinitionList((*terms, INTERVAL, Q)), not_meant)
    )
    computed = Details(
        "Method", (Paragraph(source), DefinitionList(method), DRAWN) if method else ()
    )
    return Section("How to read this", (told, computed), screen=False)


def identity(one: Identity) -> str:
    """A model with its settings."""
    settings = ", ".join(f"{name} {value}" for name, value in one.settings.items())
    return words.shorten(f"{one.name}, {settings}" if settings else one.name, 160)


def facts(found: Head, models: Sequence[Identity] = ()) -> tuple[Named, ...]:
    """Model, pictures, who read them, what is missing, the run's seed, the level of intervals."""
    made = sum(name is not None for one in found.sets for name in one.pictures)
    lost = sum(sum(one.missing.values()) for one in found.sets)
    readers = [*(found.instruments.vqa or ()), *(found.instruments.embedder or ())]
    seed, level = (getattr(found.plan, name, None) for name in ("seed", "confidence"))
    sizes = sorted({len(one.pictures) for one in found.sets}) or [0]
    each = " to ".join(dict.fromkeys(f"{size:,}" for size in (sizes[0], sizes[-1])))
    told = [
        (
            "Models" if len(models) > 1 else "Model",
            "; ".join(map(identity, models or (found.model,))),
        ),
        ("Pictures", f"{made:,} in {words.plural(len(found.sets), 'set')} of {each}"),
        ("Read by", words.listing(list(dict.fromkeys(readers)))),
        ("Missing", words.plural(lost, "picture") if lost else "no picture"),
        ("Run seed", "" if seed is None else str(seed)),
        ("Intervals", "" if level is None else words.percent(level)),
    ]
    return tuple((name, text) for name, text in told if text)


def picture_gaps(sets: Sequence[PictureSet]) -> list[MissingNote]:
    """Pictures that are missing, set by set: under its prompt and its condition."""
    conditions = ("initial" if one.axis is None else f"{one.axis}: {one.value}" for one in sets)
    return [
        MissingNote(
            "pictures",
            f"{words.shorten(one.prompt, 60)} – {words.set_label(condition)}",
            len(one.pictures),
            one.missing,
        )
        for one, condition in zip(sets, conditions, strict=True)
    ]


def missing_section(gaps: Sequence[MissingNote], sentences: Sequence[str] = ()) -> Section:
    """What is missing and why."""
    rows = []
    for gap in gaps:
        lost = sum(gap.missing.values())
        if lost:
            share = f" ({words.percent(lost / gap.of)})" if gap.of else ""
            found = f"{lost:,} of {gap.of:,}{share}"
            rows.append((words.capital(gap.what), gap.where, found, words.reasons(gap.missing)))
    if not rows:
        nothing = "Nothing is missing: every picture was made and every question was answered."
        return Section("Missing data", (Paragraph(nothing),), screen=False)
    left = "Missing pictures and answers are left out of every count; they are never counted as an answer."
    told = Paragraph(left, items=tuple(sentences))
    table = Table("What is missing, and why", ("What", "Where", "missing", "Reasons"), tuple(rows))
    many = Details(words.plural(len(rows), "place") + " with missing data", (table,))
    return Section("Missing data", (told, many if len(rows) > PLACES else table), screen=False)


def provenance(found: Head) -> tuple[Section, Section]:
    """The plan, to read and run again; and the machine, the packages, the instruments."""
    toml = Details(
        "The whole plan, to read, edit and run again", (CodeBlock(found.plan.to_toml()),)
    )
    plan = Section(
        "Plan", (DefinitionList((("hash", found.plan_hash),), facts=True), toml), screen=False
    )
    known = found.environment
    told = found.instruments
    machine = [
        ("askew", found.askew),
        *((name, str(getattr(known, name) or "")) for name in MACHINE),
    ]
    instruments = [
        (f"{kind} {words.shorten(name, 60)}", fingerprint)
        for kind, by_name in (("vqa", told.vqa), ("embedder", told.embedder), ("llm", told.llm))
        for name, fingerprint in (by_name or {}).items()
    ]
    model = (("model", identity(found.model)), ("model revision", found.model.revision))
    details = DefinitionList((*instruments, *model, *known.packages.items()), facts=True)
    shown = DefinitionList(tuple(fact for fact in machine if fact[1]), facts=True)
    return plan, Section(
        "Environment", (shown, Details("Instruments, model and packages", (details,))), screen=False
    )


def notes(found: Head) -> tuple[str, ...]:
    """What stands below a terminal's tables on every page."""
    lost = sum(sum(one.missing.values()) for one in found.sets)
    missing = (
        [f"Missing: {words.plural(lost, 'picture')}; the report says which and why."]
        if lost
        else []
    )
    return (
        "Bold: beyond chance (q < 0.05). Attributes are perceived, and instruments err.",
        *missing,
    )
