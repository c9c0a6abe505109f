"""The page of `askew classify`: which class a model chooses for the pictures of each group."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from askew.methods.classify.findings import ClassificationFindings, Differential
from askew.pages import blocks as b
from askew.pages import skeleton
from askew.pages import words as w
from askew.pages.media import Media, shot
from askew.pages.phrases import format_phrase
from askew.parts.sources.words import group_check_fact, group_check_section, neutrality_section
from askew.types import Estimate

SHOWN = 36
"""Pictures of one side of a comparison, at most."""

HALF = b.ReferenceMark(0.5, "one half: no preference")
Rate = tuple[str, int, b.E]
"""Of a group, with so many noise samples."""


def page(found: ClassificationFindings, media: Media) -> b.Page:
    """Return the content of the report."""
    plan = found.plan
    section = found.classification
    (first, second), most = plan.targets, plan.samples[-1]
    shares = {one.group: one.S for one in section.association if one.samples == most}
    view = ClassificationView(found, media, (first, second), most, shares)
    facts = (
        ("Source images", w.shorten(plan.sources or found.model.name, 120)),
        *group_check_fact(section.showing),
        ("Classes", " against ".join(str(len(classes)) for classes in plan.targets.values())),
        ("Noise samples", ", ".join(map(str, plan.samples))),
        ("Error", {"l2": "squared", "l1": "absolute", "huber": "Huber"}[plan.loss]),
    )
    return skeleton.page(
        found,
        skeleton.Heading(
            kicker=f"askew classify: images of people, classified by {w.shorten(found.model.name, 80)}",
            title=f"{w.capital(w.shorten(first, 40))} or {w.shorten(second, 40)}?",
            answer=view.answer(),
        ),
        sections=(
            b.Section("Which class it chooses, by group", view.chosen()),
            b.Section("Pictures of one comparison", view.pictures(), screen=False),
            b.Section("Pairs that are decided one way", view.pairs(), screen=False),
            b.Section("Accuracy", view.accuracy(), screen=False),
            group_check_section(section.showing),
            neutrality_section(section.neutrality),
        ),
        facts=(*skeleton.facts(found), *facts),
        reading=reading(first),
        notes=skeleton.notes(found),
    )


@dataclass(frozen=True)
class ClassificationView:
    """Findings, looked up by group: `shares` are associations with `most` noise samples, of pooled
    groups last.
    """

    findings: ClassificationFindings
    media: Media
    sets: tuple[str, str]
    most: int
    shares: dict[str, b.E]

    def answer(self) -> str:
        """What the classifier chooses, and for whom more often: of the pooled groups, else of the
        first two.
        """
        model = w.shorten(self.findings.model.name, 60)
        first = self.sets[0]
        shares = self.shares
        own = [one for one in self.findings.classification.differential if one.samples == self.most]
        main = next((one for one in own if one.pooled), own[0] if own else None)
        if main is not None and isinstance(main.S, Estimate):
            return against(
                model, first, main, [shares[group] for group in (main.group_x, main.group_y)]
            )
        group, share = next(iter(shares.items()))
        if not isinstance(share, Estimate):
            return f"{model} made no decision about {w.quote(group, 40)}."
        return (
            f"Of two classes, {model} takes pictures of {w.quote(group, 40)} for the {w.quote(first, 40)} one in "
            f"{w.measured(share, 'share')} of its decisions (half without a preference)."
        )

    def chosen(self) -> Iterator[b.Block]:
        """Yield the associations of all groups, and the differences between them."""
        (first, second), bars = self.sets, []
        for group, share in self.shares.items():
            if isinstance(share, Estimate):
                sure = w.has_significant_q(share)
                verdict = (
                    f"more {first if share.value > 0.5 else second}"
                    if sure
                    else "preference not significant"
                )
                low, high = (None if end is None else 1 - end for end in (share.high, share.low))
                rest = Estimate(1 - share.value, low, high, share.level, n=share.n)
                pictures = (share.n or 0) // len(self.findings.plan.pairs)
                parts = (
                    b.ShareSegment(first, share, reference=0.5),
                    b.ShareSegment(second, rest, reference=0.5),
                )
                bars.append(
                    b.Bar(w.shorten(group, 40), parts, pictures, verdict=verdict, strong=sure)
                )
        first = w.shorten(first, 40)
        samples = w.plural(self.most, "noise sample")
        chosen = f"Of two classes, which is chosen for each group's pictures, with {samples}"
        yield b.ShareBars(chosen, tuple(bars), "Group")
        caption = f"Association: share of decisions for the {first} class of a pair"
        rates = [
            (one.group, one.samples, one.S) for one in self.findings.classification.association
        ]
        yield self._rates(caption, rates, HALF, b.DIFFERENCE)
        pooled_first = sorted(
            self.findings.classification.differential, key=lambda one: not one.pooled
        )
        rows = tuple(
            b.IntervalRow(f"{w.shorten(one.group_x, 40)} minus {w.shorten(one.group_y, 40)}", one.S)
            for one in pooled_first
            if one.samples == self.most
        )
        of = f"decisions for the {first} class, {w.plural(self.most, 'sample')}"
        caption = f"Difference in the share of {of}, in percentage points"
        yield b.IntervalChart(caption, "Groups", rows, "difference", "points", b.DIFFERENCE)

    def pictures(self) -> Iterator[b.Block]:
        """The pictures on both sides of the comparison in which the groups differ most (figures 16
        to 19).
        """
        shown = self.findings.classification.comparison
        if shown is None:
            return
        names = {
            one.prompt: [name for name in one.pictures if name is not None]
            for one in self.findings.sets
        }
        rows = []
        for group, to_a in shown.to_a.items():
            for word, side in ((shown.a, True), (shown.b, False)):
                own = [name for name, went in zip(names[group], to_a, strict=True) if went is side]
                shots = [
                    shot(self.media, name, f"{group} taken for {word}, {k}")
                    for k, name in enumerate(own[:SHOWN], 1)
                ]
                more = f", the first {SHOWN} shown" if len(own) > SHOWN else ""
                title = f"{w.shorten(group, 60)}: {w.shorten(word, 40)}"
                rows.append(b.PictureRow(tuple(shots), title, f"{len(own)} of {len(to_a)}{more}"))
        yield b.Paragraph(
            f"Each picture is taken for {w.quote(shown.a, 40)} or {w.quote(shown.b, 40)}: of all pairs of "
            f"classes the one in which the groups differ most. Run seed {self.findings.plan.seed}."
        )
        yield b.PictureGrid("", tuple(rows))

    def pairs(self) -> Iterator[b.Block]:
        """Pairs of which one class gets more than three quarters of a group's pictures (tables 6
        and 7).
        """
        skewed = [one for one in self.findings.classification.pairs if one.skewed]
        groups = [group for group in self.shares if any(one.group == group for one in skewed)]
        if groups:
            samples = w.plural(self.most, "noise sample")
            text = f"Pairs in which one class gets more than three quarters of a group's pictures, with {samples}."
            yield b.Paragraph(text)
        for group in groups:
            own = sorted(
                (one for one in skewed if one.group == group),
                key=lambda one: w.largest_first(one.share_a),
            )
            rows = tuple(
                b.IntervalRow(f"{one.a} or {one.b}", _plain(one.share_a), marks=(HALF,))
                for one in own
            )
            caption = f"Pictures of {group} that are taken for the first class of a pair"
            block = b.IntervalChart(caption, "Pair", rows, "share", "share", b.DIFFERENCE)
            yield b.Details(
                f"{w.shorten(group, 60)}: {w.plural(len(rows), 'pair')}",
                (block,),
                open=group == groups[0],
            )

    def accuracy(self) -> Iterator[b.Block]:
        """Yield how often the true class is chosen."""
        rates = [
            (one.group, one.samples, one.estimate) for one in self.findings.classification.accuracy
        ]
        if any(isinstance(score, Estimate) for *_, score in rates):
            classes = self.findings.plan.classes
            text = f"Share of pictures given to the right one of {w.listing(classes)}"
            yield self._rates(text, rates, b.ReferenceMark(1 / len(classes), "chance"), b.PLAIN)

    def _rates(
        self,
        caption: str,
        rates: Iterable[Rate],
        chance: b.ReferenceMark,
        columns: tuple[b.Column, ...],
    ) -> b.IntervalChart:
        """A rate of every group by number of noise samples (figure 3, tables 4 and 5)."""
        by_group = sorted(rates, key=lambda rate: list(self.shares).index(rate[0]))
        rows = tuple(
            b.IntervalRow(
                w.plural(n, "sample"), _plain(score), group=w.shorten(group, 40), marks=(chance,)
            )
            for group, n, score in by_group
        )
        return b.IntervalChart(caption, "Group", rows, "share", "share", columns)


def _plain(score: b.E) -> b.E:
    """A score for a plot in which chance is a line: without its own."""
    return replace(score, null=None) if isinstance(score, Estimate) else score


def against(model: str, first: str, main: Differential, shares: Sequence[b.E]) -> str:
    """The answer for two groups, whose difference was measured."""
    x, y = (w.part(one, "value", "share") for one in shares)
    phrase = "class_difference" if w.has_significant_q(main.S) else "no_class_difference"
    q = w.probability(main.S.q if isinstance(main.S, Estimate) else None, "q")
    return (
        f"Of two classes, {model} chooses the {w.quote(first, 40)} one in {x} of its decisions about "
        f"{w.quote(main.group_x, 40)} and in {y} about {w.quote(main.group_y, 40)}: "
        f"{format_phrase(phrase, points=w.measured(main.S, 'points'), q=q)}."
    )


def reading(first: str) -> b.Section:
    """Return how the scores are defined and computed."""
    return skeleton.reading(
        (
            (
                "Decision",
                "Noise is added to a picture, and the model is asked to find it, once told that the picture shows "
                "one class, once the other. The class with which it errs less is its choice.",
            ),
            (
                "Association",
                f"The share of decisions for the {first} class, over all pictures of a group and all pairs of "
                "classes. One half is no preference. Decisions about one picture count as one.",
            ),
            (
                "Difference",
                "Association of one group minus that of another. Zero: the group makes no difference.",
            ),
        ),
        limits=(
            "No class is right for these pictures: nothing in them is meant to show an occupation. What the model chooses "
            "tells what it connects with how people look.",
            "Groups are defined by a prompt or a label.",
        ),
        method=(
            (
                "Error of a class",
                "mean of ‖ε_θ(√ᾱ x + √(1 − ᾱ) ε, t, class) − ε‖ over N timesteps, evenly spread, and as "
                "many noises, which all classes share; no guidance (Li et al. 2023)",
            ),
            (
                "Association and difference",
                "Eq. 2 and 3 of Saravanan et al. (2023), “Exploring social bias in downstream "
                "applications of text-to-image foundation models”",
            ),
            (
                "Intervals",
                "Wilson's at the number of independent decisions that would vary as much over pictures; of "
                "differences both joined (MOVER); of single pairs mid-P",
            ),
            (
                "p and q",
                "of an association: the classes change places at random, picture by picture; of a difference: "
                "pictures are dealt to the groups at random; of a pair: exact binomial; q within each kind",
            ),
        ),
    )
