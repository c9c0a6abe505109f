"""The page of `askew classify`: which class a model chooses for the pictures of each group."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from askew.methods.classify import words
from askew.methods.classify.decisions import DENOISING
from askew.methods.classify.findings import (
    Accuracy,
    Association,
    Classification,
    ClassificationFindings,
    Differential,
    SamplesEffect,
    Truth,
)
from askew.pages import common
from askew.pages.blocks import (
    DIFFERENCE,
    Bar,
    Beside,
    Cell,
    Fold,
    Lane,
    Lanes,
    Line,
    Lines,
    Mark,
    Page,
    Part,
    PictureRow,
    Pictures,
    Point,
    Scatter,
    Section,
    Shares,
    Table,
    Terms,
    Text,
)
from askew.pages.media import Media, shot
from askew.pages.words import beyond_chance, capital, listing, plural, points, probability, quote, shorten
from askew.parts.sources import neutrality_section
from askew.types import Estimate, Missing

COLOURS = 6
SHOWN = 36
"""Pictures of one side of a comparison, at most."""

LEAST_PLANTED = 0.1
HALF = (Mark(0.5, "one half: no preference"),)
AS_PLANTED = (Mark(1.0, "as planted"),)
SCORES = {"association": "Association", "differential": "Difference", "accuracy": "Accuracy",
          "recovered": "Planted difference shown"}  # fmt: skip

Column = tuple[str, int | None]
"""A classifier with its number of noise samples."""


def page(found: ClassificationFindings, media: Media) -> Page:
    """What to show of a classification."""
    view, plan = View(found, media), found.plan
    first, second = view.sets
    detail = words.effect(view.effect, view.gains) if view.effect else ""
    facts = (
        ("Pictures by", shorten(plan.sources or found.model.name, 120)),
        ("Classes", " against ".join(str(len(classes)) for classes in plan.targets.values())),
        ("Noise samples", ", ".join(map(str, plan.samples))),
        ("Error", {"l2": "squared", "l1": "absolute", "huber": "Huber"}[plan.loss]),
    )
    return Page(
        kicker=f"askew classify: what {shorten(found.model.name, 80)} takes pictures of people for",
        title=f"{capital(shorten(first, 40))} or {shorten(second, 40)}?",
        answer=view.answer(),
        detail=detail,
        facts=(*common.facts(found), *facts),
        sections=(
            view.chosen(), *view.pictures(), *view.pairs(), *view.accuracy(), *view.truth(), *view.agreement(),
            neutrality_section(found.classification.neutrality),
            common.missing_data(found),
            Section("How to read this", words.reading(first), screen=False),
            Section("Method", (Terms(words.method_terms(plan.level, bool(found.classification.truth))),), screen=False),
            *common.provenance(found),
        ),
        warnings=found.warnings,
        notes=common.notes(found),
        version=found.askew,
    )  # fmt: skip


@dataclass(frozen=True)
class View:
    """Findings, looked up by group and classifier."""

    found: ClassificationFindings
    media: Media

    @property
    def section(self) -> Classification:
        """Everything about decisions."""
        return self.found.classification

    @property
    def sets(self) -> tuple[str, str]:
        """The names of the two target sets."""
        first, second = self.found.plan.targets
        return first, second

    @property
    def groups(self) -> list[str]:
        """The groups, and after them those that were pooled."""
        return list(dict.fromkeys(one.group for one in self.section.association))

    @property
    def coloured(self) -> list[str]:
        """Groups that get a colour: the pooled ones first, as many as everybody can tell apart."""
        pooled = {one.group for one in self.section.association if one.pooled}
        return sorted(self.groups, key=lambda group: group not in pooled)[:COLOURS]

    @property
    def columns(self) -> list[Column]:
        """Every classifier with every number of noise samples."""
        return list(dict.fromkeys((one.classifier, one.samples) for one in self.section.association))

    @property
    def most(self) -> int:
        """The largest number of noise samples."""
        return self.found.plan.samples[-1]

    @property
    def main(self) -> Differential | None:
        """The difference of the pooled groups, else of the first two, with most noise samples."""
        own = [one for one in self.section.differential if (one.classifier, one.samples) == (DENOISING, self.most)]
        return next((one for one in own if one.pooled), own[0] if own else None)

    @property
    def effect(self) -> SamplesEffect | None:
        """What more noise samples change in the main difference."""
        main = self.main
        wanted = None if main is None else ("differential", main.group_x, main.group_y)
        found = (one for one in self.section.samples_effect if (one.score, one.group_x, one.group_y) == wanted)
        return next(found, None)

    @property
    def gains(self) -> list[float]:
        """By how much more noise samples change the accuracy on each group."""
        gained = (one.difference for one in self.section.samples_effect if one.score == "accuracy")
        return [one.value for one in gained if isinstance(one, Estimate)]

    def association(self, group: str, column: Column) -> Estimate | Missing | None:
        """Of one group by one classifier."""
        return _one(self.section.association, group, column, lambda one: one.S)

    def right(self, group: str, column: Column) -> Estimate | Missing | None:
        """The accuracy on one group by one classifier; None if none was asked for."""
        return _one(self.section.accuracy, group, column, lambda one: one.estimate)

    def answer(self) -> str:
        """What the classifier chooses, and for whom more often."""
        model, first, main = shorten(self.found.model.name, 60), self.sets[0], self.main
        column = (DENOISING, self.most)
        if main is None or not isinstance(main.S, Estimate):
            return words.alone(model, first, self.groups[0], self.association(self.groups[0], column))
        shares = [self.association(group, column) for group in (main.group_x, main.group_y)]
        return words.against(model, first, main, shares)

    def chosen(self) -> Section:
        """Associations of all groups, and the differences between them."""
        first = shorten(self.sets[0], 40)
        of = f"decisions for the {first} class of a pair"
        by_error = [one for one in self.section.differential if one.samples == self.most]
        others = [one for one in self.section.differential if one.samples is None]
        effects = self.section.samples_effect
        changes = [Lane(_less(one.group_x, one.group_y), one.difference, group=SCORES[one.score]) for one in effects]
        folds = [Fold("The same by the second classifier", (self._differences(others),))] if others else []
        if effects:
            few, many = effects[0].samples
            caption = f"Change from {few} to {many} noise samples on the same pictures, in percentage points"
            lanes = Lanes(caption, "Groups", tuple(changes), "change", "points", DIFFERENCE)
            folds.append(Fold("What more noise samples change", (lanes,)))
        return Section("Which class it chooses, by group", (
            self._shares(),
            *self._rates(f"Share of {of}; half is no preference", self.association, 0.5),
            self._table(),
            *([self._differences(by_error)] if by_error else []),
            *folds,
            *([Text(words.pruning(self.section.pruning))] if self.section.pruning else []),
        ))  # fmt: skip

    def pictures(self) -> Iterator[Section]:
        """The pictures on both sides of the comparison in which the groups differ most (figures 16 to 19)."""
        shown = self.section.comparison
        if shown is None:
            return
        names = {one.prompt: [name for name in one.pictures if name is not None] for one in self.found.sets}
        rows = []
        for group, to_a in shown.to_a.items():
            for word, side in ((shown.a, True), (shown.b, False)):
                own = [name for name, went in zip(names[group], to_a, strict=True) if went is side]
                shots = [shot(self.media, name, f"{group} taken for {word}, {k}")
                         for k, name in enumerate(own[:SHOWN], 1)]  # fmt: skip
                more = f", the first {SHOWN} shown" if len(own) > SHOWN else ""
                title = f"{shorten(group, 60)}: {shorten(word, 40)}"
                rows.append(PictureRow(tuple(shots), title, f"{len(own)} of {len(to_a)}{more}"))
        text = (f"Each picture is taken for {quote(shown.a, 40)} or {quote(shown.b, 40)}: of all pairs of classes the "
                f"one in which the groups differ most. Run seed {self.found.plan.seed}.")  # fmt: skip
        yield Section("Pictures of one comparison", (Text(text), Pictures("", tuple(rows))), screen=False)

    def pairs(self) -> Iterator[Section]:
        """Pairs of which one class gets more than three quarters of a group's pictures (tables 6 and 7)."""
        folds: list[Fold] = []
        by_error = [one for one in self.section.pairs if one.classifier == DENOISING and one.skewed]
        for group in self.groups:
            own = [one for one in by_error if one.group == group]
            lanes = [(f"{one.a} or {one.b}", one.share_a) for one in own if isinstance(one.share_a, Estimate)]
            rows = [Lane(label, replace(share, null=None), marks=HALF)
                    for label, share in sorted(lanes, key=lambda pair: -pair[1].value)]  # fmt: skip
            if rows:
                caption = f"Pictures of {group} that are taken for the first class of a pair"
                block = Lanes(caption, "Pair", tuple(rows), "share", "share", DIFFERENCE)
                name = f"{shorten(group, 60)}: {plural(len(rows), 'pair')}"
                folds.append(Fold(name, (block,), open=not folds))
        if folds:
            samples = plural(self.most, "noise sample")
            text = f"Pairs in which one class gets more than three quarters of a group's pictures, with {samples}."
            yield Section("Pairs that are decided one way", (Text(text), *folds), screen=False)

    def accuracy(self) -> Iterator[Section]:
        """How often the right class is chosen."""
        plan = self.found.plan
        if any(isinstance(one.estimate, Estimate) for one in self.section.accuracy):
            text = f"Share of pictures given to the right one of {listing(plan.classes)}"
            yield Section("Accuracy", tuple(self._rates(text, self.right, 1 / len(plan.classes))), screen=False)

    def truth(self) -> Iterator[Section]:
        """Measured against planted differences, the largest planted one first."""
        own = [one for one in self.section.truth if (one.classifier, one.samples) == (DENOISING, self.most)]
        own.sort(key=lambda one: -abs(one.planted))
        shown = [one for one in own if abs(one.planted) >= LEAST_PLANTED] or own[:1]
        if not shown:
            return
        wanted = [(one.group_x, one.group_y) for one in shown]
        rows = [
            Lane(label(one.classifier, one.samples), one.recovered, (_plain(one.spearman),), group=_less(*pair),
                 marks=AS_PLANTED)
            for pair in wanted for one in self.section.truth
            if (one.group_x, one.group_y) == pair and isinstance(one.recovered, Estimate)
        ]  # fmt: skip
        caption = ("Share of the planted differences that the decisions show: 0 none, 1 as much as was planted. Order: "
                   "the rank correlation of measured and planted differences over the pairs of classes")  # fmt: skip
        text = "The studio's bias was planted, so it is known how much likelier each occupation is for one group."
        lanes = [Lanes(caption, "Groups", tuple(rows), "share", "signed", DIFFERENCE, ("order",))] if rows else []
        yield Section("Planted and measured", (Text(text), Beside(tuple(map(_scatter, shown))), *lanes))

    def agreement(self) -> Iterator[Section]:
        """How alike two classifiers decide."""
        if found := self.section.agreement:
            sentences = tuple(words.agreement(one) for one in found)
            yield Section("Two classifiers on the same pictures", (Text(items=sentences),), screen=False)

    def _shares(self) -> Shares:
        """What is chosen with most noise samples."""
        first, second = self.sets
        bars = []
        for group in self.groups:
            share = self.association(group, (DENOISING, self.most))
            if isinstance(share, Estimate):
                sure = beyond_chance(share)
                verdict = f"more {first if share.value > 0.5 else second}" if sure else "no preference shown"
                parts = (Part(first, share, ideal=0.5), Part(second, _rest(share), ideal=0.5))
                pictures = sum(one.n for one in self.found.sets if one.prompt == group) or share.n or 0
                bars.append(Bar(shorten(group, 40), parts, pictures, verdict=verdict, strong=sure))
        caption = f"Of two classes, which is chosen for each group's pictures, with {plural(self.most, 'noise sample')}"
        return Shares(caption, tuple(bars), "Group")

    def _rates(
        self, caption: str, find: Callable[[str, Column], Estimate | Missing | None], chance: float
    ) -> Iterator[Lines]:
        """A rate by classifier and number of noise samples, a line for each group (figure 3)."""
        measured = [g for g in self.groups if any(isinstance(find(g, column), Estimate) for column in self.columns)]
        lines = tuple(
            Line(shorten(g, 40), tuple(_plain(find(g, c)) for c in self.columns), self.coloured.index(g))
            for g in self.coloured
            if g in measured
        )
        if lines:
            left = [group for group in measured if group not in self.coloured]
            more = f". Without a line, for want of colours: {listing(left)}; the table below has them" if left else ""
            steps = tuple(label(*column) for column in self.columns)
            yield Lines(caption + more, "Classifier", steps, lines, "share", "share", levels=(("chance", chance),))

    def _table(self) -> Table:
        """Associations and accuracies of all groups by all classifiers, as the paper's tables 4 and 5."""
        rows = []
        for group in self.groups:
            for column in self.columns:
                found, right = self.association(group, column), self.right(group, column)
                q = probability(found.q if isinstance(found, Estimate) else None)
                accuracy = Cell(right, strong=False) if isinstance(right, Estimate) else None
                rows.append((shorten(group, 40), label(*column), found, q, accuracy))
        caption = f"Association: share of decisions for the {shorten(self.sets[0], 40)} class. Accuracy: of pictures "
        classes = f"given to the right one of {listing(self.found.plan.classes)}" if self.section.accuracy else "none"
        return Table(caption + classes, ("Group", "By", "association", "q", "accuracy"), tuple(rows), 2, scale="share")

    def _differences(self, entries: Sequence[Differential]) -> Lanes:
        """By one classifier, the pooled groups first."""
        rows = tuple(
            Lane(_less(one.group_x, one.group_y), one.S) for one in sorted(entries, key=lambda e: not e.pooled)
        )
        by = label(entries[0].classifier, entries[0].samples)
        of = f"decisions for the {shorten(self.sets[0], 40)} class, {by}"
        return Lanes(f"Difference in the share of {of}, in percentage points", "Groups", rows, "difference", "points",
                     DIFFERENCE)  # fmt: skip


def label(classifier: str, samples: int | None) -> str:
    """A classifier in words: "10 samples", or the embedder's name."""
    if samples is not None:
        return plural(samples, "sample")
    return shorten(f"{classifier} embedder" if classifier == "studio" else classifier, 40)


def _one(
    entries: Sequence[Association | Accuracy], group: str, column: Column, score: Callable[..., Estimate | Missing]
) -> Estimate | Missing | None:
    return next((score(e) for e in entries if (e.group, e.classifier, e.samples) == (group, *column)), None)


def _plain(score: Estimate | Missing | None) -> Estimate | Missing | None:
    """A score for a plot in which chance is a line: without its own."""
    return replace(score, null=None) if isinstance(score, Estimate) else score


def _rest(share: Estimate) -> Estimate:
    """The share of all others."""
    low, high = (None if end is None else 1 - end for end in (share.high, share.low))
    return Estimate(1 - share.value, low, high, share.level, n=share.n)


def _less(x: str, y: str | None) -> str:
    return shorten(x, 60) if y is None else f"{shorten(x, 40)} less {shorten(y, 40)}"


def _scatter(one: Truth) -> Scatter:
    """Planted against measured differences, a point for each pair of classes."""
    dots = tuple(
        Point(pair.planted, pair.measured,
              f"{pair.a} or {pair.b}: planted {points(pair.planted)}, measured {points(pair.measured)} points")
        for pair in one.pairs
    )  # fmt: skip
    said = f"A point is one of {plural(len(dots), 'pair')} of classes; on the diagonal it is as planted."
    return Scatter(words.truth(one).removesuffix("."), dots, ("planted", "points"), ("measured", "points"), said,
                   square=True, diagonal="as planted")  # fmt: skip
