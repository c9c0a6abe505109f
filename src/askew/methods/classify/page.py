"""Build the page of `askew classify`: the classes that a model assigns to each group."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from askew.methods.classify.changes_page import TITLE, ChangesView
from askew.methods.classify.findings import (
    Accuracy,
    Association,
    ClassificationFindings,
    Differential,
    DistinctPair,
    PairShare,
)
from askew.pages import blocks as b
from askew.pages import skeleton
from askew.pages import words as w
from askew.pages.media import Media, shot
from askew.pages.phrases import format_phrase
from askew.pages.words import shorten
from askew.parts.sources.words import group_check_fact, group_check_section, neutrality_section
from askew.types import Estimate, grouped

MOST_IMAGES = 36
"""Maximum number of images shown per group and class."""

NO_PREFERENCE = b.ReferenceMark(0.5, "no preference")
ERRORS = {"l2": "squared", "l1": "absolute", "huber": "Huber"}


def page(findings: ClassificationFindings, media: Media) -> b.Page:
    """Return the page for a run of `askew classify`.

    Parameters
    ----------
    findings : ClassificationFindings
        Findings of the run.
    media : Media
        Run that holds the images.

    Returns
    -------
    Page
        The page.
    """
    section = findings.classification
    plan = findings.plan
    first, second = plan.targets
    samples = plan.samples[-1]
    view = ClassificationView(
        findings=findings,
        media=media,
        first=first,
        second=second,
        samples=samples,
        shares={entry.group: entry.S for entry in section.association if entry.samples == samples},
    )
    charts = list(view.decisions())
    title = f"{w.capital(shorten(first, 40))} or {shorten(second, 40)}?"
    return skeleton.page(
        findings,
        skeleton.Heading(
            kicker=f"askew classify: images of people, classified by {shorten(view.model, 80)}",
            title=title,
            answer=view.answer(),
            meta=(*skeleton.meta(findings), *_facts(findings)),
            first=b.FirstScreen(tuple(charts[:1]), tuple(view.comparison()), layout="even"),
        ),
        sections=(
            b.Section("Decisions by group", charts[1:]),
            b.Section(TITLE, ChangesView(section, first, plan.samples).blocks()),
            b.Section("Skewed pairs of classes", view.skewed_pairs(), screen=False),
            b.Section("Accuracy", view.accuracy(), screen=False),
            group_check_section(section.showing),
            neutrality_section(section.neutrality),
        ),
        reading=reading(first),
        notes=skeleton.notes(findings),
    )


def _facts(findings: ClassificationFindings) -> tuple[str, ...]:
    plan = findings.plan
    return (
        f"input images: {shorten(plan.sources or findings.model.name, 120)}",
        *group_check_fact(findings.classification.showing),
        " against ".join(str(len(classes)) for classes in plan.targets.values()) + " classes",
        f"{', '.join(map(str, plan.samples))} noise samples",
        f"error: {ERRORS[plan.loss]}",
    )


@dataclass(frozen=True)
class ClassificationView:
    """Charts and sentences of findings.

    Attributes
    ----------
    findings : ClassificationFindings
        Findings of the run.
    media : Media
        Run that holds the images.
    first, second : str
        Names of the two sets of classes.
    samples : int
        Largest number of noise samples.
    shares : dict of str to Estimate or Missing
        Associations for the largest number of noise samples, keyed by group. Pooled groups come
        last.
    """

    findings: ClassificationFindings
    media: Media
    first: str
    second: str
    samples: int
    shares: dict[str, b.E]

    @property
    def model(self) -> str:
        """Name of the model."""
        return self.findings.model.name

    def answer(self) -> str:
        """Return the headline: the difference between two groups, preferably pooled groups."""
        differences = self._differences()
        if differences and isinstance(differences[0].S, Estimate):
            main = differences[0]
            shares = (self.shares[main.group_x], self.shares[main.group_y])
            return difference_sentence(self.first, main, shares)
        group, share = next(iter(self.shares.items()))
        if not isinstance(share, Estimate):
            return (
                f"{shorten(self.model, 60)} made no decision about images of {w.quote(group, 40)}."
            )
        return (
            f"Images of {w.quote(group, 40)} are classified as {w.quote(self.first, 40)} in "
            f"{w.measured(share, 'share')} of decisions (without a preference, in half of them)."
        )

    def _differences(self) -> list[Differential]:
        """Return the differences for the largest number of noise samples, pooled groups first."""
        differential = self.findings.classification.differential
        entries = [entry for entry in differential if entry.samples == self.samples]
        return sorted(entries, key=lambda entry: not entry.pooled)

    def decisions(self) -> Iterator[b.Block]:
        """Yield charts of the associations of all groups, and of the differences between groups."""
        samples = w.plural(self.samples, "noise sample")
        bars = []
        for group, share in self.shares.items():
            if isinstance(share, Estimate):
                bars.append(self._share_bar(group, share))
        caption = f"Decisions for each set of classes, per group of images, with {samples}"
        yield b.ValueChart(caption, tuple(bars), "Group", value=self.first, counted="decisions")
        of_first = f"decisions for the {shorten(self.first, 40)} class"
        association = sorted(self.findings.classification.association, key=self._place)
        rows = [_rate_row(entry, entry.S, NO_PREFERENCE) for entry in association]
        yield _rate_chart(f"Association: share of {of_first} of a pair", rows, b.DIFFERENCE)
        yield b.IntervalChart(
            caption=f"Difference in the share of {of_first}, {samples}, in percentage points",
            heading="Groups",
            rows=tuple(map(_difference_row, self._differences())),
            name="difference",
            scale="points",
            columns=b.DIFFERENCE,
        )

    def _share_bar(self, group: str, share: Estimate) -> b.ValueGroup:
        """Return a bar with the shares of decisions for both sets of classes."""
        significant = w.has_significant_q(share)
        verdict = "preference not significant"
        if significant:
            verdict = f"more {self.first if share.value > 0.5 else self.second}"
        opposite = Estimate(
            value=1 - share.value,
            low=None if share.high is None else 1 - share.high,
            high=None if share.low is None else 1 - share.low,
            level=share.level,
            n=share.n,
        )
        decisions = share.n or 0
        of_first = round(share.value * decisions)
        return b.ValueGroup(
            label=shorten(group, 40),
            values=(
                b.ValueShare(self.first, share, of_first, reference=0.5),
                b.ValueShare(self.second, opposite, decisions - of_first, reference=0.5),
            ),
            n=decisions,
            verdict=verdict,
            significant=significant,
        )

    def comparison(self) -> Iterator[b.Block]:
        """Yield images for the two classes on which the groups differ most (fig. 16 to 19)."""
        pair = self.findings.classification.comparison
        if pair is None:
            return
        rows = []
        for group in pair.to_a:
            rows.append(self._class_row(pair, group, is_a=True))
            rows.append(self._class_row(pair, group, is_a=False))
        yield b.Paragraph(
            f"{shorten(self.model, 60)} classifies each image as {w.quote(pair.a, 40)} or "
            f"{w.quote(pair.b, 40)}. The groups differ most on these two classes. Run seed: "
            f"{self.findings.plan.seed}."
        )
        yield b.PictureGrid("", tuple(rows), size="medium")

    def _class_row(self, pair: DistinctPair, group: str, is_a: bool) -> b.PictureRow:
        """Return images of a group that the model assigns to one class of a pair."""
        decisions = pair.to_a[group]
        class_name = pair.a if is_a else pair.b
        image_set = next(entry for entry in self.findings.sets if entry.prompt == group)
        present = [image for image in image_set.pictures if image is not None]
        images = [image for image, to_a in zip(present, decisions, strict=True) if to_a is is_a]
        shots = [
            shot(self.media, image, f"{group} classified as {class_name}, {number}")
            for number, image in enumerate(images[:MOST_IMAGES], start=1)
        ]
        note = f"{len(images)} of {len(decisions)}"
        if len(images) > MOST_IMAGES:
            note += f", first {MOST_IMAGES} shown"
        label = f"{shorten(group, 60)}: {shorten(class_name, 40)}"
        return b.PictureRow(shots=tuple(shots), label=label, note=note)

    def skewed_pairs(self) -> Iterator[b.Block]:
        """Yield charts of pairs with over 75 % of a group's images in one class (tables 6, 7)."""
        pairs = [pair for pair in self.findings.classification.pairs if pair.skewed]
        if pairs:
            yield b.Paragraph(
                "Pairs in which one class is assigned to more than three quarters of a group's "
                f"images, with {w.plural(self.samples, 'noise sample')}."
            )
        by_group = grouped(pairs, lambda pair: pair.group)
        for group, of_group in by_group.items():
            of_group.sort(key=lambda pair: w.largest_first(pair.share_a))
            chart = b.IntervalChart(
                caption=f"Images of {group} classified as the first class of a pair",
                heading="Pair",
                rows=tuple(map(_pair_row, of_group)),
                name="share",
                scale="share",
                columns=b.DIFFERENCE,
            )
            summary = f"{shorten(group, 60)}: {w.plural(len(of_group), 'pair')}"
            yield b.Details(summary, (chart,))

    def accuracy(self) -> Iterator[b.Block]:
        """Yield a chart of the shares of images that are assigned their true class."""
        accuracy = sorted(self.findings.classification.accuracy, key=self._place)
        if not any(isinstance(entry.estimate, Estimate) for entry in accuracy):
            return
        classes = self.findings.plan.classes
        chance = b.ReferenceMark(1 / len(classes), "expected by chance")
        rows = [_rate_row(entry, entry.estimate, chance) for entry in accuracy]
        caption = f"Share of images classified correctly as {w.listing(classes)}"
        yield _rate_chart(caption, rows, b.PLAIN)

    def _place(self, entry: Association | Accuracy) -> int:
        return list(self.shares).index(entry.group)


def _difference_row(entry: Differential) -> b.IntervalRow:
    label = f"{shorten(entry.group_x, 40)} minus {shorten(entry.group_y, 40)}"
    return b.IntervalRow(label, entry.S)


def _pair_row(pair: PairShare) -> b.IntervalRow:
    label = f"{pair.a} or {pair.b}"
    return b.IntervalRow(label, _without_null(pair.share_a), marks=(NO_PREFERENCE,))


def _rate_row(entry: Association | Accuracy, rate: b.E, chance: b.ReferenceMark) -> b.IntervalRow:
    """Return a chart row with a group's rate, labeled with the number of noise samples."""
    return b.IntervalRow(
        label=w.plural(entry.samples, "sample"),
        score=_without_null(rate),
        group=shorten(entry.group, 40),
        marks=(chance,),
    )


def _rate_chart(
    caption: str, rows: Sequence[b.IntervalRow], columns: tuple[b.Column, ...]
) -> b.IntervalChart:
    """Return a chart of a rate by group and number of noise samples (fig. 3, tables 4 and 5)."""
    return b.IntervalChart(
        caption=caption,
        heading="Group",
        rows=tuple(rows),
        name="share",
        scale="share",
        columns=columns,
    )


def _without_null(score: b.E) -> b.E:
    """Return a score without its null, for a chart in which a mark already shows the null."""
    return replace(score, null=None) if isinstance(score, Estimate) else score


def difference_sentence(first: str, difference: Differential, shares: Sequence[b.E]) -> str:
    """Return a sentence about the difference between two groups.

    Parameters
    ----------
    first : str
        Name of the first set of classes.
    difference : Differential
        Difference between the groups.
    shares : sequence of Estimate or Missing
        Association of each group.
    """
    x, y = (w.part(share, "value", "share") for share in shares)
    phrase = "class_difference" if w.has_significant_q(difference.S) else "no_class_difference"
    q = w.probability(difference.S.q if isinstance(difference.S, Estimate) else None, "q")
    return (
        f"Images of {w.quote(difference.group_x, 40)} are classified as {w.quote(first, 40)} in "
        f"{x} of decisions, images of {w.quote(difference.group_y, 40)} in {y}: "
        f"{format_phrase(phrase, points=w.measured(difference.S, 'points'), q=q)}."
    )


def reading(first: str) -> b.Section:
    """Return the section that explains how the scores are defined and computed.

    Parameters
    ----------
    first : str
        Name of the first set of classes.
    """
    terms = (
        (
            "Decision",
            "askew adds noise to an image. The model predicts the noise twice, once for each of the "
            "two class prompts. The class with the smaller error is chosen.",
        ),
        (
            "Association",
            f"Share of decisions for the {first} class, over all images of a group and all pairs "
            "of classes. A share of one half means no preference. The interval takes into "
            "account that decisions about the same image are not independent.",
        ),
        (
            "Difference",
            "Association of one group minus association of another group. Zero means that the "
            "groups do not differ.",
        ),
        (
            "Change with the number of noise samples",
            "Score with the larger number of noise samples minus the score with the smaller "
            "number, on the same images. The smaller set reuses the first noise samples of the "
            "larger set, but at different timesteps.",
        ),
    )
    limits = (
        "No class is correct for these images, since they are not meant to show an occupation. A "
        "decision shows what the model associates with a person's appearance.",
        "Groups are defined by a prompt or a label.",
    )
    method = (
        (
            "Error of a class",
            "Mean of ‖ε_θ(√ᾱ x + √(1 − ᾱ) ε, t, class) − ε‖ over N evenly spaced timesteps, "
            "with one noise sample per timestep, the same for all classes, and without guidance "
            "(Li et al. 2023)",
        ),
        (
            "Association and difference",
            "Eq. 2 and 3 of Saravanan et al. (2023), “Exploring social bias in downstream "
            "applications of text-to-image foundation models”",
        ),
        (
            "Intervals",
            "Association: Wilson interval with the effective sample size, which is computed from "
            "the variance of the decisions over images. Difference: combination of both intervals "
            "(MOVER). Pair: mid-P interval. Change: combination of both scores' intervals, "
            "which takes into account that the scores' errors are correlated over images",
        ),
        (
            "p and q",
            "Association: the test permutes the two sets of classes within each image. "
            "Difference: the test permutes the images between the groups. Pair: exact binomial "
            "test. Change in an association: the test randomly flips the sign of each image's "
            "change. Change in a difference: the test permutes the images' changes between the "
            "groups. q-values are corrected within each kind of score",
        ),
    )
    return skeleton.reading(terms, limits=limits, method=method)
