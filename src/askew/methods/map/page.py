"""The page of `askew map`: how much the places of concepts overlap with that of a word, through the network and in
the pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from askew.methods.map import words
from askew.methods.map.findings import Change, Gradient, Intersection, MapFindings, Overall, Pair, RiskDifference
from askew.methods.map.overlap import Masking, PairMaps, flat_pictures
from askew.methods.map.plan import axes_of
from askew.methods.map.score import maps_of
from askew.pages import common
from askew.pages.blocks import (
    DIFFERENCE,
    SCORE,
    Block,
    Content,
    Fold,
    Lane,
    Lanes,
    Line,
    Lines,
    Page,
    PictureRow,
    Pictures,
    Section,
    Shot,
    Swatch,
    Table,
    Terms,
    Text,
)
from askew.pages.media import Media, heat, masks, thumbnail
from askew.pages.words import (
    axis_label,
    beyond_chance,
    capital,
    listing,
    measured,
    number,
    perceived,
    probability,
    quote,
    reason,
    shorten,
)
from askew.stats.overlap import iou
from askew.types import Estimate, Missing

SHOWN = 6
"""Pictures with overlays, if there is one prompt; one of each if there are more."""

MOST = 24
"""Prompts with overlays."""

KEYS: tuple[tuple[Swatch, str], ...] = (
    ("heat", "attention: lowest to highest in the picture"),
    ("only-a", "the concept alone"),
    ("only-b", "the other word alone"),
    ("both", "both"),
)
CHANCE = ("chance", "the same words in other pictures of the prompt")


def page(found: MapFindings, media: Media) -> Page:
    """What to show of a run of maps."""
    view = View(found, media)
    several = len(view.prompts) > 1
    return Page(
        kicker=f"askew map: where {shorten(listing(view.models), 100)} attend{'' if len(view.models) > 1 else 's'} to "
        f"{listing(found.plan.concepts)}",
        title=f"{len(view.prompts)} prompts" if several else f"“{view.prompts[0]}”",
        answer=view.answer(),
        facts=(*common.facts(found, found.models), ("Mask", f"{found.plan.threshold} {found.plan.tau:g}")),
        sections=(
            *(view.concept(concept) for concept in found.plan.concepts),
            *view.three(), *view.nearness(), *view.changes(), view.people(),
            common.missing_data(found),
            Section("How to read this", words.READING, screen=False),
            Section("Method", (words.SOURCE, Terms(words.method_terms(found))), screen=False),
            *common.provenance(found),
        ),
        warnings=found.warnings,
        notes=(
            "Bold: beyond chance (q < 0.05), that is beyond the same words in other pictures of the prompt.",
            "RD: risk difference of perceived groups. Instruments err.",
            *(["Row of means: q of a t-test of the corrected overlap over prompts."] if several else []),
        ),
        version=found.askew,
    )  # fmt: skip


@dataclass(frozen=True)
class View:
    """Findings, looked up by concept and model."""

    found: MapFindings
    media: Media

    @property
    def models(self) -> list[str]:
        """Their names; the first is the one that others are held against."""
        return [model.name for model in self.found.models]

    @property
    def prompts(self) -> list[str]:
        """Those of the plan."""
        return [prompt.text for prompt in self.found.plan.prompts]

    def pairs(self, a: str, model: str | None = None) -> list[Pair]:
        """A concept's, in the order of the prompts."""
        return [p for p in self.found.biasmap.pairs if p.a == a and model in (None, p.model)]

    def overall(self, a: str, model: str) -> Overall:
        """A concept's means over the prompts."""
        return next(o for o in self.found.biasmap.overall if (o.a, o.model) == (a, model))

    def risk(self, one: Pair) -> RiskDifference | None:
        """Of the axis that the pair's concept is, in the same pictures."""
        place = (one.model, one.prompt, axes_of([one.a]).get(one.a))
        return next((r for r in self.found.biasmap.risk_difference if (r.model, r.prompt, r.axis) == place), None)

    def _risk_of(self, one: Pair) -> Estimate | Missing | None:
        found = self.risk(one)
        return found.estimate if found else None

    def answer(self) -> str:
        """What the first model attends to in one place."""
        prompts = self.prompts
        where = quote(prompts[0], 60) if len(prompts) == 1 else f"{len(prompts)} prompts"
        said = "; to ".join(_finding(self.pairs(a, self.models[0]), self.overall(a, self.models[0]))
                            for a in self.found.plan.concepts)  # fmt: skip
        return f"In pictures of {where}, {model_label(self.models[0], 60)} attends to {said}."

    def concept(self, a: str) -> Section:
        """Overlaps of a concept, their way through the network, and pictures."""
        network = Section("Through the network", (self._profile(a), Fold("By layer, and by prompt", self._parts(a))),
                          screen=False)  # fmt: skip
        return Section(capital(shorten(a, 60)), (self._overlaps(a), *self._paper(a), network, *self._pictures(a)))

    def three(self) -> Iterator[Section]:
        """What three words share."""
        if found := self.found.biasmap.intersections:
            table = Table(
                "What three words share. Chance: the pictures of each word dealt anew.",
                ("Words", "Prompt", "Model", "all three", "chance", "q"),
                tuple(_three(one) for one in found),
            )
            given = Table(
                "Two of them inside and outside the place of the third. Chance: two random places of the same areas "
                "there, which maps that are smooth exceed by themselves.",
                ("Two words", "Given", "Prompt", "Model", "inside", "chance", "outside", "chance "),
                tuple(row for one in found for row in _given(one)),
            )
            yield Section("Three at once", (table, Fold("Given the third", (given,))), screen=False)

    def nearness(self) -> Iterator[Section]:
        """Whether words that are nearer in meaning overlap more."""
        if found := self.found.biasmap.gradient:
            yield Section("Nearness in meaning", tuple(self._gradient(one) for one in found), screen=False)

    def changes(self) -> Iterator[Section]:
        """Every model less the first."""
        if found := self.found.biasmap.changes:
            text = Text("Pictures of one prompt and seed are pairs: the intervals of a single prompt are over its "
                        "pictures, those of means over prompts, by Student's t.", muted=True)  # fmt: skip
            blocks = [_lanes(f"{_caption(one)}, by block", "Block", one.blocks) for one in found
                      if len(one.prompts) > 1 and one.blocks]  # fmt: skip
            fold = [Fold("By block, means over the prompts", tuple(blocks))] if blocks else []
            figures = (_lanes(_caption(one), "Score", self._changed(one)) for one in found)
            yield Section("Models compared", (text, *figures, *fold))

    def people(self) -> Section:
        """Who is shown, by the risk difference of every axis."""
        risks = self.found.biasmap.risk_difference
        axes = dict.fromkeys(r.axis for r in risks)
        return Section("Who is shown", tuple(self._risks([r for r in risks if r.axis == axis]) for axis in axes),
                       screen=False)  # fmt: skip

    def _word(self, prompt: str) -> str:
        """What tells a prompt from the others: the word that concepts are held against, if each has its own."""
        held = self.found.plan.against
        names = held if len({*held}) == len(held) else self.prompts
        return shorten(names[self.prompts.index(prompt)], 60)

    def _series(self, model: str) -> int | None:
        return self.models.index(model) if len(self.models) > 1 else None

    def _lane(self, label: str, model: str, score: Estimate | Missing, *more: Content, muted: bool = False) -> Lane:
        """A row; of several models one of a group of rows under the label."""
        if len(self.models) == 1:
            return Lane(label, score, more, muted=muted)
        return Lane(model_label(model, 30), score, more, group=label, series=self._series(model), muted=muted)

    def _overlaps(self, a: str) -> Lanes:
        """mIoU with the word of every prompt by every model."""
        rows = [
            self._lane(self._word(p.prompt), p.model, p.miou, _plain(p.mbiou), _plain(self._risk_of(p)))
            for prompt in self.prompts
            for p in self.pairs(a)
            if p.prompt == prompt
        ]
        means = [self.overall(a, model) for model in self.models] if len(self.prompts) > 1 else []
        rows += [self._lane("mean", o.model, _mean(o), _plain(o.mbiou), _plain(o.risk_difference), muted=True)
                 for o in means]  # fmt: skip
        caption = f"How much of their union the places of “{shorten(a, 40)}” and of the word beside it share (mIoU)"
        return Lanes(caption, "With", tuple(rows), "mIoU", "unit", SCORE, ("mBIoU", "RD"), CHANCE)

    def _paper(self, a: str) -> Iterator[Fold]:
        """The form of BiasMap's tables 3 to 6, for more than one number of each."""
        if len(self.prompts) * len(self.models) == 1:
            return
        axis = axes_of([a]).get(a)
        scores = ("mIoU", "mBIoU", *((f"risk difference of {axis_label(axis)}",) if axis else ()))
        rows = [
            (self._word(prompt), *(cell for column in zip(*(_cells(p, self._risk_of(p), axis) for p in self.pairs(a)
             if p.prompt == prompt), strict=True) for cell in column))
            for prompt in self.prompts
        ]  # fmt: skip
        if len(self.prompts) > 1:
            means = [self.overall(a, model) for model in self.models]
            last = [o.risk_difference for o in means] if axis else []
            rows.append(("mean", *(o.miou for o in means), *(o.mbiou for o in means), *last))
        names = [model_label(model, 30) for model in self.models]
        yield Fold("In the form of the paper's tables", (Table(
            f"“{shorten(a, 40)}” in the form of the paper's tables; in brackets intervals",
            ("With", *(name for _ in scores for name in names)), tuple(rows),
            groups=tuple((score, len(names)) for score in scores),
        ),))  # fmt: skip

    def _parts_of(self, a: str, model: str, part: str) -> Mapping[str, Estimate | Missing]:
        """By block, or layer, the overlap of a concept: of the only prompt, else the mean over prompts."""
        own = self.pairs(a, model)
        found: Mapping[str, Estimate | Missing] = getattr(own[0] if len(own) == 1 else self.overall(a, model), part)
        return found

    def _profile(self, a: str) -> Lines:
        """Overlap over the blocks of the network, a line for every model; of a single model one for each prompt too."""
        by_model = [self._parts_of(a, model, "blocks") for model in self.models]
        blocks = tuple(dict.fromkeys(block for own in by_model for block in own))
        lines = [Line(model_label(model, 60), tuple(own.get(block) for block in blocks), series)
                 for series, (model, own) in enumerate(zip(self.models, by_model, strict=True))]  # fmt: skip
        if len(self.models) == 1 and len(self.prompts) > 1:
            lines += [Line(self._word(p.prompt), tuple(p.blocks.get(block) for block in blocks), thin=True)
                      for p in self.pairs(a)]  # fmt: skip
        areas = [p.chance_area for p in self.pairs(a) if p.chance_area is not None]
        levels = (("chance: masks of these areas", sum(areas) / len(areas)),) if areas else ()
        over = ", mean over the prompts" if len(self.prompts) > 1 else ""
        return Lines(f"Overlap by block, from input to output{over}", "Block", blocks, tuple(lines), "overlap",
                     levels=levels, chance="chance: other pictures of the prompt")  # fmt: skip

    def _parts(self, a: str) -> tuple[Block, ...]:
        """The numbers by layer, and by block and prompt."""
        found: list[Block] = []
        for model in self.models:
            layers = self._parts_of(a, model, "layers")
            rows = tuple(Lane(name, e) for name, e in layers.items())
            caption = f"Overlap by layer, from input to output, by {model_label(model, 60)}"
            found.append(Lanes(caption, "Layer", rows, "overlap", "unit", SCORE, (), CHANCE))
            own = self.pairs(a, model)
            if len(own) > 1:
                blocks = self._parts_of(a, model, "blocks")
                singles = [(self._word(p.prompt), *(p.blocks.get(block) for block in blocks)) for p in own]
                found.append(Table(
                    f"Overlap of “{shorten(a, 30)}” by block and prompt, by {model_label(model, 60)}; in brackets "
                    f"intervals",
                    ("With", *blocks), (*singles, ("mean", *blocks.values())),
                ))  # fmt: skip
        return tuple(found)

    def _pictures(self, a: str) -> Iterator[Section]:
        """The first pictures of every prompt and model with the maps of both words, and one of each block by block."""
        most = SHOWN if len(self.prompts) == 1 else 1
        rows, strips = [], []
        for own in self.found.sets[: MOST * len(self.models)]:
            numbered = [(k, one) for k, one in enumerate(own.pictures, 1) if one][:most]
            for k, one in numbered:
                maps = maps_of(self.found, self.media, a, own.prompt, str(own.model), one)
                label = f"Picture {k} of {quote(own.prompt, 40)}, {model_label(str(own.model), 40)}"
                made = None if maps is None else self._overlays(maps, one, label)
                if maps is not None and made is not None:
                    rows.append(made)
                    if k == numbered[0][0]:
                        strips.append(self._strip(maps, one, label))
        if rows:
            title = "The picture, attention to both words, and where it is high"
            blocks = Fold("Block by block", (Pictures("Where attention is high, block by block", tuple(strips)),))
            heads = ("picture", shorten(a, 20), "the other word", "both")
            pictures = Pictures(title, tuple(rows), True, heads, "large", KEYS)
            yield Section("In the pictures", (pictures, blocks), screen=False)

    def _overlays(self, maps: PairMaps, picture: str, label: str) -> PictureRow | None:
        image, total = self.media.picture(picture), maps.total()
        if image is None or flat_pictures(total).any():
            return None
        first, second = self._masking(total[:, 0])
        share = f"IoU {number(float(iou(first, second)))}"
        return PictureRow((
            Shot(thumbnail(image), label),
            Shot(heat(image, total[0, 0]), f"{label}: attention to {maps.a}"),
            Shot(heat(image, total[1, 0]), f"{label}: attention to {maps.b}", shorten(maps.b, 20)),
            Shot(masks(image, first, second), f"{label}: where either is high", share),
        ), label)  # fmt: skip

    def _strip(self, maps: PairMaps, picture: str, label: str) -> PictureRow:
        image = self.media.picture(picture)
        shots = []
        for block, own in maps.blocks().items():
            if image is not None and not flat_pictures(own).any():
                first, second = self._masking(own[:, 0])
                shots.append(Shot(masks(image, first, second), f"{label}: {block}",
                                  f"{block}, IoU {number(float(iou(first, second)))}"))  # fmt: skip
        return PictureRow(tuple(shots), label)

    @property
    def _masking(self) -> Masking:
        return Masking(self.found.plan.threshold, self.found.plan.tau)

    def _gradient(self, one: Gradient) -> Table:
        """Words by their nearness in meaning."""
        caption = f"Do words that mean nearly the same as “{shorten(one.b, 30)}” overlap more with it?"
        if isinstance(one.spearman, Estimate):
            caption += f" Rank correlation over {len(one.cosines)} words: {measured(one.spearman)}."
        overlaps = {p.a: p.miou for p in self.found.biasmap.pairs if (p.model, p.prompt) == (one.model, one.prompt)}
        near = sorted(one.cosines.items(), key=lambda item: -item[1])
        note = f"{quote(one.prompt, 60)}, {model_label(one.model, 40)}"
        return Table(caption, ("Word", "cosine of text embeddings", "mIoU"),
                     tuple((shorten(a, 40), number(cosine), overlaps[a]) for a, cosine in near), note=note)  # fmt: skip

    def _changed(self, one: Change) -> Mapping[str, Estimate | Missing | None]:
        """By label the differences: over the pictures of a prompt, and over prompts; of a single prompt the first."""
        if len(one.prompts) == 1:
            return {"mIoU": one.prompts[0].miou, "mBIoU": one.prompts[0].mbiou}
        found = {f"mIoU, {self._word(own.prompt)}": own.miou for own in one.prompts}
        found |= {"mean mIoU": one.miou, "mean mBIoU": one.mbiou, "mean corrected mIoU": one.corrected}
        if one.risk_difference:
            axis = axis_label(axes_of([one.a]).get(one.a, ""))
            found[f"mean risk difference of {axis}"] = one.risk_difference
        return found

    def _risks(self, own: Sequence[RiskDifference]) -> Lanes:
        seen = [", ".join(f"{value} {count}" for value, count in r.counts.items() if count) for r in own]
        rows = tuple(self._lane(self._word(r.prompt), r.model, r.estimate, text)
                     for r, text in zip(own, seen, strict=True))  # fmt: skip
        first, second = own[0].groups
        caption = f"Risk difference of {perceived(own[0].axis)}: |share of {first} − share of {second}|"
        return Lanes(caption, "With", rows, "risk difference", "unit", ("value", "interval", "null"), ("seen",))


def _finding(own: Sequence[Pair], overall: Overall) -> str:
    known = [p for p in own if isinstance(p.miou, Estimate)]
    if not known:
        return f"“{overall.a}” in places that cannot be told: {reason(own[0].miou)}"  # type: ignore[arg-type]
    e = known[0].miou if len(own) == 1 else overall.miou
    chance = f", where chance would give {e.null:.2f}" if isinstance(e, Estimate) and e.null is not None else ""
    value = f"{e.value:.2f}" if isinstance(e, Estimate) else "–"
    if len(own) == 1:
        verdict = f" ({'beyond' if beyond_chance(e) else 'not beyond'} chance)" if chance else ""
        return f"“{overall.a}” and “{own[0].b}” in places that share {value} of their union{chance}{verdict}"
    missing = f", {len(own) - len(known)} missing" if len(known) < len(own) else ""
    beyond = sum(beyond_chance(p.miou) for p in known)
    return (f"“{overall.a}” and the words beside it in places that share {value} of their union on average{chance} "
            f"(beyond chance in {beyond} of {len(known)}{missing})")  # fmt: skip


def _mean(overall: Overall) -> Estimate | Missing:
    """The mean with what the corrected one says of chance."""
    if isinstance(overall.miou, Missing) or isinstance(overall.corrected, Missing):
        return overall.miou
    return replace(overall.miou, corrected=overall.corrected.value, p=overall.corrected.p, q=overall.corrected.q)


def _cells(one: Pair, risk: Estimate | Missing | None, axis: str | None) -> tuple[Content, ...]:
    return (one.miou, one.mbiou, *((risk,) if axis else ()))


def _plain(score: Estimate | Missing | None) -> str:
    """A score without its interval."""
    return number(score.value if isinstance(score, Estimate) else None)


def _three(one: Intersection) -> tuple[Content, ...]:
    q = one.overlap.q if isinstance(one.overlap, Estimate) else None
    return (
        " · ".join(one.concepts),
        quote(one.prompt, 40),
        model_label(one.model, 30),
        one.overlap,
        _null(one.overlap),
        probability(q),
    )


def _given(one: Intersection) -> Iterator[tuple[Content, ...]]:
    for c in one.conditional:
        inside, outside = (_null(e) for e in (c.inside, c.outside))
        where = (f"{c.a} and {c.b}", c.given, quote(one.prompt, 40), model_label(one.model, 30))
        yield (*where, c.inside, inside, c.outside, outside)


def _null(e: Estimate | Missing) -> str:
    return number(e.null if isinstance(e, Estimate) else None)


def _caption(one: Change) -> str:
    first, second = one.models
    return f"“{shorten(one.a, 40)}”: {model_label(second, 40)} less {model_label(first, 40)}"


def _lanes(caption: str, heading: str, found: Mapping[str, Estimate | Missing | None]) -> Lanes:
    rows = tuple(Lane(name, e) for name, e in found.items())
    return Lanes(
        caption, heading, rows, "difference", "signed", DIFFERENCE, interval="interval for the true difference"
    )


def model_label(name: str, width: int) -> str:
    """A model's name on one line; of one that is too long the last parts of its path that fit, where paths differ."""
    line = shorten(name, len(name) + 1)
    if len(line) <= width:
        return line
    kept = [k for k, letter in enumerate(line) if letter == "/" and len(line) - k < width]
    return f"…{line[kept[0] if kept else 1 - width :]}"
