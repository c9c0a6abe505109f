"""The page of `askew classify`: which class a model chooses for the pictures of each group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from askew.methods.classify import words as texts
from askew.methods.classify.findings import Classification, ClassificationFindings, Differential, Truth
from askew.methods.classify.plan import DENOISING
from askew.pages import blocks as b
from askew.pages import common
from askew.pages.media import Media, shot
from askew.pages.words import beyond_chance, capital, listing, plural, points, quote, shorten
from askew.parts.showing import showing_fact, showing_section
from askew.parts.sources import neutrality_section
from askew.types import Estimate, Missing

SHOWN = 36
"""Pictures of one side of a comparison, at most."""

LEAST_PLANTED = 0.1
HALF = b.Mark(0.5, "one half: no preference")
Rate = tuple[str, str, int | None, b.E]
"""Of a group by a classifier, with so many noise samples."""


def page(found: ClassificationFindings, media: Media) -> b.Page:
    """What to show of a classification."""
    view, plan = View(found, media), found.plan
    first, second = view.sets
    facts = (
        ("Pictures by", shorten(plan.sources or found.model.name, 120)),
        *showing_fact(found.classification.showing),
        ("Classes", " against ".join(str(len(classes)) for classes in plan.targets.values())),
        ("Noise samples", ", ".join(map(str, plan.samples))),
        ("Error", {"l2": "squared", "l1": "absolute", "huber": "Huber"}[plan.loss]),
    )
    return common.page(
        found, f"askew classify: what {shorten(found.model.name, 80)} takes pictures of people for",
        f"{capital(shorten(first, 40))} or {shorten(second, 40)}?", view.answer(),
        (view.chosen(), *view.pictures(), *view.pairs(), *view.accuracy(), *view.truth(), *view.agreement(),
         showing_section(view.section.showing), neutrality_section(view.section.neutrality)),
        detail=view.detail(), facts=(*common.facts(found), *facts), notes=common.notes(found),
        reading=texts.reading(first, plan.level, bool(found.classification.truth)),
    )  # fmt: skip


@dataclass(frozen=True)
class View:
    """Findings, looked up by group."""

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
    def most(self) -> tuple[str, int]:
        """The classifier by denoising error with its largest number of noise samples."""
        return DENOISING, self.found.plan.samples[-1]

    @property
    def shares(self) -> dict[str, Estimate | Missing]:
        """The association of every group, and after them of those that were pooled, with most noise samples."""
        return {one.group: one.S for one in self.section.association if (one.classifier, one.samples) == self.most}

    @property
    def main(self) -> Differential | None:
        """The difference of the pooled groups, else of the first two, with most noise samples."""
        own = [one for one in self.section.differential if (one.classifier, one.samples) == self.most]
        return next((one for one in own if one.pooled), own[0] if own else None)

    def answer(self) -> str:
        """What the classifier chooses, and for whom more often."""
        model, first, main, shares = shorten(self.found.model.name, 60), self.sets[0], self.main, self.shares
        if main is None or not isinstance(main.S, Estimate):
            return texts.alone(model, first, *next(iter(shares.items())))
        return texts.against(model, first, main, [shares[group] for group in (main.group_x, main.group_y)])

    def detail(self) -> str:
        """What more noise samples change in the main difference, and in the accuracy."""
        main, effects = self.main, self.section.samples_effect
        gains = [one.difference.value for one in effects
                 if one.score == "accuracy" and isinstance(one.difference, Estimate)]  # fmt: skip
        found = (one for one in effects if main and (one.score, one.group_x, one.group_y)
                 == ("differential", main.group_x, main.group_y))  # fmt: skip
        return next((texts.effect(one, gains) for one in found), "")

    def chosen(self) -> b.Section:
        """Associations of all groups, and the differences between them."""
        by_error = [one for one in self.section.differential if one.samples == self.most[1]]
        caption = f"Association: share of decisions for the {shorten(self.sets[0], 40)} class of a pair"
        rates = [(one.group, one.classifier, one.samples, one.S) for one in self.section.association]
        return b.Section("Which class it chooses, by group", (
            self._shares(),
            self._rates(caption, rates, HALF, b.DIFFERENCE),
            *([self._differences(by_error)] if by_error else []),
            *([b.Text(texts.pruning(self.section.pruning))] if self.section.pruning else []),
        ))  # fmt: skip

    def pictures(self) -> Iterator[b.Section]:
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
                rows.append(b.PictureRow(tuple(shots), title, f"{len(own)} of {len(to_a)}{more}"))
        text = (f"Each picture is taken for {quote(shown.a, 40)} or {quote(shown.b, 40)}: of all pairs of classes the "
                f"one in which the groups differ most. Run seed {self.found.plan.seed}.")  # fmt: skip
        yield b.Section("Pictures of one comparison", (b.Text(text), b.Pictures("", tuple(rows))), screen=False)

    def pairs(self) -> Iterator[b.Section]:
        """Pairs of which one class gets more than three quarters of a group's pictures (tables 6 and 7)."""
        folds: list[b.Fold] = []
        for group in self.shares:
            own = [(one.share_a, f"{one.a} or {one.b}") for one in self.section.pairs
                   if (one.group, one.classifier, one.skewed) == (group, DENOISING, True)]  # fmt: skip
            rows = [b.Lane(pair, _plain(share), marks=(HALF,)) for share, pair in own if isinstance(share, Estimate)]
            rows.sort(key=lambda row: -row.score.value if isinstance(row.score, Estimate) else 0.0)
            if rows:
                caption = f"Pictures of {group} that are taken for the first class of a pair"
                block = b.Lanes(caption, "Pair", tuple(rows), "share", "share", b.DIFFERENCE)
                name = f"{shorten(group, 60)}: {plural(len(rows), 'pair')}"
                folds.append(b.Fold(name, (block,), open=not folds))
        if folds:
            samples = plural(self.most[1], "noise sample")
            text = f"Pairs in which one class gets more than three quarters of a group's pictures, with {samples}."
            yield b.Section("Pairs that are decided one way", (b.Text(text), *folds), screen=False)

    def accuracy(self) -> Iterator[b.Section]:
        """How often the right class is chosen."""
        rates = [(one.group, one.classifier, one.samples, one.estimate) for one in self.section.accuracy]
        if any(isinstance(score, Estimate) for *_, score in rates):
            classes = self.found.plan.classes
            text = f"Share of pictures given to the right one of {listing(classes)}"
            lanes = self._rates(text, rates, b.Mark(1 / len(classes), "chance"), b.PLAIN)
            yield b.Section("Accuracy", (lanes,), screen=False)

    def truth(self) -> Iterator[b.Section]:
        """Measured against planted differences, the largest planted one first."""
        own = [one for one in self.section.truth if (one.classifier, one.samples) == self.most]
        own.sort(key=lambda one: -abs(one.planted))
        shown = [one for one in own if abs(one.planted) >= LEAST_PLANTED] or own[:1]
        if not shown:
            return
        text = "The studio's bias was planted, so it is known how much likelier each occupation is for one group."
        yield b.Section("Planted and measured", (b.Text(text), b.Beside(tuple(map(_scatter, shown)))))

    def agreement(self) -> Iterator[b.Section]:
        """How alike two classifiers decide."""
        if found := self.section.agreement:
            sentences = tuple(texts.agreement(one) for one in found)
            yield b.Section("Two classifiers on the same pictures", (b.Text(items=sentences),), screen=False)

    def _shares(self) -> b.Shares:
        """What is chosen with most noise samples."""
        first, second = self.sets
        bars = []
        for group, share in self.shares.items():
            if isinstance(share, Estimate):
                sure = beyond_chance(share)
                verdict = f"more {first if share.value > 0.5 else second}" if sure else "no preference shown"
                low, high = (None if end is None else 1 - end for end in (share.high, share.low))
                rest = Estimate(1 - share.value, low, high, share.level, n=share.n)
                pictures = sum(one.n for one in self.found.sets if one.prompt == group) or share.n or 0
                parts = (b.Part(first, share, ideal=0.5), b.Part(second, rest, ideal=0.5))
                bars.append(b.Bar(shorten(group, 40), parts, pictures, verdict=verdict, strong=sure))
        samples = plural(self.most[1], "noise sample")
        caption = f"Of two classes, which is chosen for each group's pictures, with {samples}"
        return b.Shares(caption, tuple(bars), "Group")

    def _rates(self, caption: str, rates: Iterable[Rate], chance: b.Mark, columns: tuple[b.Column, ...]) -> b.Lanes:
        """A rate of every group by classifier and number of noise samples (figure 3, tables 4 and 5)."""
        by_group = sorted(rates, key=lambda rate: list(self.shares).index(rate[0]))
        rows = tuple(b.Lane(label(by, n), _plain(score), group=shorten(group, 40), marks=(chance,))
                     for group, by, n, score in by_group)  # fmt: skip
        return b.Lanes(caption, "Group", rows, "share", "share", columns)

    def _differences(self, entries: Sequence[Differential]) -> b.Lanes:
        """By one classifier, the pooled groups first."""
        pooled_first = sorted(entries, key=lambda one: not one.pooled)
        rows = tuple(b.Lane(_less(one.group_x, one.group_y), one.S) for one in pooled_first)
        of = f"decisions for the {shorten(self.sets[0], 40)} class, {label(entries[0].classifier, entries[0].samples)}"
        caption = f"Difference in the share of {of}, in percentage points"
        return b.Lanes(caption, "Groups", rows, "difference", "points", b.DIFFERENCE)


def label(classifier: str, samples: int | None) -> str:
    """A classifier in words: "10 samples", or the embedder's name."""
    if samples is not None:
        return plural(samples, "sample")
    return shorten(f"{classifier} embedder" if classifier == "studio" else classifier, 40)


def _plain(score: b.E) -> b.E:
    """A score for a plot in which chance is a line: without its own."""
    return replace(score, null=None) if isinstance(score, Estimate) else score


def _less(x: str, y: str | None) -> str:
    return shorten(x, 60) if y is None else f"{shorten(x, 40)} less {shorten(y, 40)}"


def _scatter(one: Truth) -> b.Scatter:
    """Planted against measured differences, a point for each pair of classes."""
    dots = tuple(
        b.Point(pair.planted, pair.measured,
                f"{pair.a} or {pair.b}: planted {points(pair.planted)}, measured {points(pair.measured)} points")
        for pair in one.pairs
    )  # fmt: skip
    said = f"A point is one of {plural(len(dots), 'pair')} of classes; on the diagonal it is as planted."
    return b.Scatter(texts.truth(one).removesuffix("."), dots, ("planted", "points"), ("measured", "points"), said,
                     square=True, diagonal="as planted")  # fmt: skip
