"""Report page of a study with human raters: the main result, tables and images."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from askew.pages import blocks as b
from askew.pages import skeleton
from askew.pages.words import (
    axis_label,
    capital,
    describe_score,
    listing,
    measured,
    perceived,
    percent,
    plural,
    shorten,
)
from askew.people.agreement import ALL
from askew.people.choice_page import choice_sections
from askew.people.findings import (
    GroupAgreement,
    LabelingErrors,
    PeopleShares,
    RaterSummary,
    StudyFindings,
)
from askew.people.folder import StudyFolder
from askew.people.rating_page import rating_headline, rating_sections
from askew.people.selection_page import selection_headline, selection_sections
from askew.types import Estimate

IMAGES = 24
"""Maximum number of images without a majority label to show on the page."""


class ReportedStudy(b.ImageSource, Protocol):
    """Results of a study, and access to its images."""

    @property
    def folder(self) -> StudyFolder:
        """The study."""

    @property
    def findings(self) -> StudyFindings:
        """The results."""


def page(result: ReportedStudy) -> b.Page:
    """Return the report page of a study."""
    findings = result.findings
    plan = findings.plan
    excluded = [rater for rater in findings.raters if rater.excluded]
    raters = plural(len(findings.raters), "rater")
    return b.Page(
        kicker=f"askew study: {plan.kind}",
        title=plan.title,
        answer=_answer(findings),
        detail=_detail(findings),
        meta=skeleton.meta_line(
            (
                listing([shorten(f"{each.model} ({each.run})", 60) for each in plan.sources])
                if plan.sources
                else "no run",
                f"{raters}, {len(excluded)} excluded, {findings.withdrawn} withdrawn",
                f"{plan.raters_per_item} per item",
                f"seed {plan.seed}",
            )
        ),
        sections=tuple(_sections(result)),
        warnings=findings.warnings,
        notes=tuple(_notes(findings)),
        version=findings.askew,
        limits=skeleton.HOLDS,
    )


def _notes(findings: StudyFindings) -> Iterator[str]:
    """Yield sentences on the labels and the design of the study."""
    yield (
        "Labels describe how raters perceive images. The rules by which raters are excluded were "
        "fixed before the first answer."
    )
    if findings.plan.pilot is not None:
        yield (
            "The sample has two stages: the labels of the pilot determine how many images the second "
            "stage adds. The intervals of the shares take this into account."
        )


def _answer(findings: StudyFindings) -> str:
    """Return the headline of the page, which is the study's main result."""
    if findings.included.ratings is not None:
        return rating_headline(findings.included.ratings)
    if findings.included.selections is not None:
        return selection_headline(findings.plan.kind, findings.included.selections)
    choices = findings.included.choices
    if choices is not None and isinstance(choices.agreement_with_score, Estimate):
        share = describe_score(choices.agreement_with_score, scale="share")
        text = f"In {share} of the choices, raters chose the image set with the smaller score."
        return f"{text} {_against_half(choices.agreement_with_score)}".strip()
    for entry in findings.included.errors:
        if isinstance(entry.equal, Estimate):
            equal = describe_score(entry.equal, scale="share")
            return (
                f"{capital(_raters(findings))} and {entry.instrument} assign the same "
                f"{perceived(entry.axis)} to {equal} of the images."
            )
    return "There are not enough labels for a result."


def _raters(findings: StudyFindings) -> str:
    """Return a phrase that names the raters whose labels are used, such as "most raters"."""
    if findings.plan.raters_per_item > 1:
        return "most raters"
    return "the raters" if findings.plan.raters > 1 else "the rater"


def _against_half(share: Estimate) -> str:
    """Return a note that a share is not significantly different from one half; empty if it is."""
    if share.low is None or share.high is None or share.low <= 0.5 <= share.high:
        return "This share is not significantly different from 50 %."
    return ""


def _detail(findings: StudyFindings) -> str:
    """Return a sentence about the choice-score correlation, or about the raters' agreement."""
    choices = findings.included.choices
    if choices is not None:
        return (
            f"Correlation between score differences and choices: {measured(choices.correlation)}, "
            f"across {plural(len(choices.pairs), 'pair')}."
        )
    parts = []
    for entry in findings.included.agreement:
        if entry.group == ALL and isinstance(entry.agreement, Estimate):
            name = "κ" if entry.coefficient == "kappa" else "α"
            parts.append(f"{name} = {measured(entry.agreement)} on {axis_label(entry.axis)}")
    return f"Agreement between raters: {listing(parts)}." if parts else ""


def _sections(result: ReportedStudy) -> Iterator[b.Section]:
    findings = result.findings
    included = findings.included
    if included.choices is not None:
        yield from choice_sections(included.choices)
    if included.ratings is not None:
        yield from rating_sections(included.ratings)
    if included.selections is not None:
        yield from selection_sections(findings.plan.kind, included.selections)
    raters = _raters(findings)
    charts = [_shares_chart(entry, raters) for entry in included.shares]
    yield b.Section("Shares by people", charts)
    yield b.Section("Labeling errors", list(_error_tables(included.errors)))
    if findings.plan.raters_per_item > 1:
        yield b.Section("Agreement between raters", [_agreement_table(included.agreement)])
    yield b.Section("With all raters", list(_with_everyone(findings)), screen=False)
    yield b.Section("Images without a majority", list(_split_images(result)), screen=False)
    yield b.Section("Raters", [_rater_table(findings.raters)], screen=False)


def _shares_chart(entry: PeopleShares, raters: str) -> b.IntervalChart:
    """Return a chart of the shares on an axis. Marks show each instrument's uncorrected shares."""
    rows = []
    for value, share in entry.shares.items():
        marks = [
            b.ReferenceMark(shares[value], f"labels from {shorten(name, 30)}", "ring")
            for name, shares in entry.by_instrument.items()
            if value in shares
        ]
        votes = percent(entry.votes[value]) if value in entry.votes else "–"
        model = measured(entry.model_shares[value], "share")
        rows.append(b.IntervalRow(value, share, more=(votes, model), marks=tuple(marks)))
    reached = ""
    if entry.reached is not None:
        not_reached = "" if entry.reached else "not "
        reached = f" The planned precision is {not_reached}reached."
    run = f" from {shorten(entry.run, 40)}" if entry.run else ""
    stages = ""
    if entry.pilot is not None:
        stages = f" ({entry.pilot} in the pilot, {entry.labeled - entry.pilot} in the second stage)"
    return b.IntervalChart(
        f"{capital(perceived(entry.axis))} in {plural(entry.images, 'image')}{run}: shares according "
        f"to {raters}, from {plural(entry.labeled, 'labeled image')}{stages}.{reached}",
        "Value",
        tuple(rows),
        "share",
        "share",
        ("value", "interval"),
        more=("all votes", "model's true share"),
    )


def _error_tables(entries: Iterable[LabelingErrors]) -> Iterator[b.Table]:
    """Yield a table of P(label | true value) for each instrument and axis."""
    for entry in entries:
        columns = list(next(iter(entry.rates.values())))
        rows: list[tuple[b.Content, ...]] = []
        for value, rates in entry.rates.items():
            cells = [measured(rates[column], "share") for column in columns]
            rows.append((shorten(value, 40), *cells, sum(entry.counts[value].values())))
        yield b.Table(
            f"{capital(perceived(entry.axis))}: labels from {shorten(entry.instrument, 60)} (columns) "
            "for each true value (rows), corrected for the raters' errors and weighted by stratum",
            ("true value", *columns, "images by majority"),
            tuple(rows),
        )


def _agreement_table(entries: Sequence[GroupAgreement]) -> b.Table:
    rows: list[tuple[b.Content, ...]] = []
    for entry in entries:
        rows.append(
            (
                capital(axis_label(entry.axis)),
                "all images" if entry.group == ALL else shorten(entry.group, 50),
                f"{'κ' if entry.coefficient == 'kappa' else 'α'} = {measured(entry.agreement)}",
                f"{entry.unanimous} of {entry.images}",
                f"{entry.no_majority} of {entry.images}",
            )
        )
    heads = ("axis", "images", "agreement", "equal labels", "no majority")
    caption = (
        "Agreement between raters (Cohen's κ for two, Krippendorff's α for more; 0 is expected by "
        "chance)"
    )
    return b.Table(caption, heads, tuple(rows), labels=2)


def _with_everyone(findings: StudyFindings) -> Iterator[b.Table]:
    """Yield a table of the shares with and without excluded raters, if any rater is excluded."""
    if not any(rater.excluded for rater in findings.raters):
        return
    pairs = zip(findings.included.shares, findings.everyone.shares, strict=True)
    rows: list[tuple[b.Content, ...]] = []
    for included, everyone in pairs:
        for value in included.shares:
            cells = (
                measured(included.shares[value], "share"),
                measured(everyone.shares[value], "share"),
            )
            rows.append((capital(axis_label(included.axis)), value, *cells))
    heads = ("axis", "value", "without excluded raters", "with all raters")
    yield b.Table("Shares with and without excluded raters", heads, tuple(rows), labels=2)


def _split_images(result: ReportedStudy) -> Iterator[b.PictureGrid]:
    items = [result.folder.items[name] for name in result.findings.included.split]
    images = [image for item in items for image in item.images]
    if images:
        shots = []
        for number, image in enumerate(images[:IMAGES], 1):
            reference = b.ImageReference(image_id=image, source=result)
            shots.append(b.Thumbnail(reference, f"Image {number} without a majority"))
        row = b.PictureRow(tuple(shots), label=f"{len(shots)} of {plural(len(images), 'image')}")
        yield b.PictureGrid("Raters gave these images different labels", (row,))


def _rater_table(raters: Sequence[RaterSummary]) -> b.Table:
    rows: list[tuple[b.Content, ...]] = []
    for rater in raters:
        rows.append(
            (
                rater.id,
                f"{rater.answered} of {rater.assigned}",
                f"{rater.checks_passed} of {rater.checks}",
                f"{rater.repeats_equal} of {rater.repeats}",
                "–" if rater.seconds is None else f"{rater.seconds:.1f}",
                rater.excluded or "no",
            )
        )
    heads = ("rater", "answers", "checks passed", "equal repeats", "median seconds", "excluded")
    return b.Table("Work of the raters", heads, tuple(rows))
