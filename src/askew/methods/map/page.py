"""The page of `askew map`: how much the places of concepts overlap with that of a word, in network
and pictures.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from askew.methods.map import findings as f
from askew.methods.map.findings import ConceptPair, MapFindings, Overall, RiskDifference
from askew.methods.map.plan import axes_of
from askew.methods.map.score import Maps, block_maps, flat_pictures, maps_of
from askew.pages import blocks as b
from askew.pages import skeleton
from askew.pages import words as w
from askew.pages.media import Media
from askew.pages.phrases import format_phrase
from askew.pages.words import capital, perceived, shorten
from askew.parts.survey.blocks import folded
from askew.stats.overlap import iou, mask
from askew.stats.shares import share_intervals
from askew.types import Estimate, Missing

OVAM = "open-vocabulary attention maps (OVAM, Marcos-Manchón et al., CVPR 2024)"
LISTENING = (
    "words that listen in every block of a transformer without being heard (after ConceptAttention, Helbling "
    "et al., arXiv 2502.04320)"
)

SHOWN = 6
MOST = 24
BARS = 10
PLOTS = 4
"""Pictures with overlays, if there is one prompt; prompts with one each; bars of an axis and plots
of given masks that are not folded.
"""


def page(found: MapFindings, media: Media) -> b.Page:
    """What to show of a run of maps."""
    view = MapView(
        found,
        media,
        [model.name for model in found.models],
        [prompt.text for prompt in found.plan.prompts],
    )
    several = len(view.prompts) > 1
    concepts = found.plan.concepts
    attend = "attend" if len(view.models) > 1 else "attends"
    return skeleton.page(
        found,
        skeleton.Heading(
            kicker=f"askew map: where {shorten(w.listing(view.models), 100)} {attend} to {w.listing(concepts)}",
            title=f"{len(view.prompts)} prompts" if several else f"“{view.prompts[0]}”",
            answer=view.answer(),
        ),
        sections=(
            b.Section("What was seen", view.seen()),
            *(b.Section(capital(shorten(one, 60)), view.concept(one)) for one in concepts),
            b.Section("Nearness in meaning", view.nearness(), screen=False),
            b.Section("Against the given masks", view.accuracy()),
            b.Section("Models compared", view.changes()),
        ),
        facts=(
            *skeleton.facts(found, found.models),
            ("Mask", f"{found.plan.threshold} {found.plan.tau:g}"),
        ),
        reading=reading(found),
        notes=(
            "Bold: beyond chance (q < 0.05), that is beyond the same words in other pictures of the prompt.",
            "RD: risk difference of perceived groups. Instruments err.",
            *(
                ["Row of means: q of a t-test of the corrected overlap over prompts."]
                if several
                else []
            ),
        ),
    )


@dataclass(frozen=True)
class MapView:
    """Findings, looked up by concept and model. The first model is the one that others are held
    against.
    """

    findings: MapFindings
    media: Media
    models: list[str]
    prompts: list[str]

    def pairs(self, a: str, model: str | None = None) -> list[ConceptPair]:
        """A concept's, in the order of the prompts."""
        return [p for p in self.findings.biasmap.pairs if p.a == a and model in (None, p.model)]

    def overall(self, a: str, model: str) -> Overall:
        """A concept's means over the prompts."""
        return next(o for o in self.findings.biasmap.overall if (o.a, o.model) == (a, model))

    def answer(self) -> str:
        """What the first model attends to in one place."""
        where = (
            w.quote(self.prompts[0], 60)
            if len(self.prompts) == 1
            else f"{len(self.prompts)} prompts"
        )
        first = self.models[0]
        said = "; to ".join(
            finding(self.pairs(a, first), self.overall(a, first))
            for a in self.findings.plan.concepts
        )
        return f"In pictures of {where}, {model_label(first, 60)} attends to {said}."

    def seen(self) -> Iterator[b.Block]:
        """Who is shown: by axis the shares in every prompt's pictures by every model, with their
        risk difference.
        """
        risks = sorted(
            self.findings.biasmap.risk_difference, key=lambda one: self.prompts.index(one.prompt)
        )
        axes = dict.fromkeys(one.axis for one in risks)
        seen = {
            capital(perceived(axis)): [self._bar(one) for one in risks if one.axis == axis]
            for axis in axes
        }
        if len(self.prompts) == len(self.models) == 1:
            yield b.ShareBars(
                "Shares in percent",
                tuple(replace(bar, label=axis) for axis, (bar,) in seen.items()),
            )
        else:
            for axis, bars in seen.items():
                yield from folded(f"{axis}, shares in percent", bars, "With", BARS)

    def concept(self, a: str) -> Iterator[b.Block]:
        """Overlaps of a concept, with the word of every prompt by every model, through the network
        and in pictures.
        """
        own: list[ConceptPair | Overall] = [
            *sorted(self.pairs(a), key=lambda one: self.prompts.index(one.prompt))
        ]
        own += [self.overall(a, model) for model in self.models] if len(self.prompts) > 1 else []
        rows = []
        axis = axes_of([a]).get(a)
        risks = {
            (r.model, r.prompt): r.estimate
            for r in self.findings.biasmap.risk_difference
            if r.axis == axis
        }
        for one in own:
            label, group, series = self._named(self._word(one), one.model)
            risk = (
                one.risk_difference
                if isinstance(one, Overall)
                else risks.get((one.model, one.prompt))
            )
            more = (w.part(one.mbiou, "value"), w.part(risk, "value"))
            e = one.miou
            if (
                isinstance(one, Overall)
                and isinstance(e, Estimate)
                and isinstance(one.corrected, Estimate)
            ):
                e = replace(e, corrected=one.corrected.value, p=one.corrected.p, q=one.corrected.q)
            rows.append(
                b.IntervalRow(label, e, more, group, series, muted=isinstance(one, Overall))
            )
        caption = f"How much of their union the places of “{shorten(a, 40)}” and of the word beside it share"
        yield b.IntervalChart(
            f"{caption} (mIoU)",
            "With",
            tuple(rows),
            "mIoU",
            more=("mBIoU", "RD"),
            chance=("chance", "the same words in other pictures of the prompt"),
        )
        yield b.Section("Through the network", (self._profile(a),), screen=False)
        yield b.Section("In the pictures", self._pictures(a), screen=False)

    def nearness(self) -> Iterator[b.Table]:
        """Whether words that are nearer in meaning overlap more."""
        for one in self.findings.biasmap.gradient:
            caption = f"Do words that mean nearly the same as “{shorten(one.b, 30)}” overlap more with it?"
            if isinstance(one.spearman, Estimate):
                caption += (
                    f" Rank correlation over {len(one.cosines)} words: {w.measured(one.spearman)}."
                )
            overlaps = {
                p.a: p.miou
                for p in self.findings.biasmap.pairs
                if (p.model, p.prompt) == (one.model, one.prompt)
            }
            near = sorted(one.cosines.items(), key=lambda item: -item[1])
            rows = tuple((shorten(a, 40), w.number(cosine), overlaps[a]) for a, cosine in near)
            note = f"{w.quote(one.prompt, 60)}, {model_label(one.model, 40)}"
            yield b.Table(caption, ("Word", "cosine of text embeddings", "mIoU"), rows, note=note)

    def accuracy(self) -> Iterator[b.Block]:
        """How well maps find the places that were given, over thresholds (the paper's figure 11)."""
        found = self.findings.biasmap.accuracy
        plots = []
        told = []
        for model, prompt, word in dict.fromkeys(
            (one.model, one.prompt, one.word) for one in found
        ):
            own = [
                one for one in found if (one.model, one.prompt, one.word) == (model, prompt, word)
            ]
            lines = (
                b.LineSeries(
                    "of the place, covered by the mask", tuple(one.mask_accuracy for one in own)
                ),
                b.LineSeries(
                    "of the rest, left out", tuple(one.complement_accuracy for one in own), 1
                ),
            )
            name = f"{w.quote(word, 40)} in pictures of {w.quote(prompt, 60)}, {model_label(model, 40)}"
            steps = tuple(f"{one.tau:g}" for one in own)
            plots.append(
                b.LineChart(
                    name,
                    "Threshold",
                    steps,
                    lines,
                    "share",
                    chance="chance: masks of other pictures",
                )
            )
            known = [
                (abs(inside.value - outside.value), one.tau, inside, outside)
                for one in own
                if isinstance(inside := one.mask_accuracy, Estimate)
                and isinstance(outside := one.complement_accuracy, Estimate)
            ]
            if known:
                _, tau, inside, outside = min(known, key=lambda one: one[0])
                name += (
                    f": most even at threshold {tau:g}, where the mask covers {w.measured(inside)} of the place "
                    f"and leaves out {w.measured(outside)} of the rest (chance {w.number(inside.null)}, "
                    f"{w.number(outside.null)})"
                )
            told.append(name if known else f"{name}: no usable mask")
        if plots:
            yield b.Paragraph(items=tuple(told))
            yield from plots[:PLOTS]
            yield b.Details(w.plural(len(plots) - PLOTS, "more plot"), plots[PLOTS:])

    def changes(self) -> Iterator[b.Block]:
        """Every model less the first: over the pictures of a prompt, and of several over prompts."""
        for k, one in enumerate(self.findings.biasmap.changes):
            if k == 0:
                told = "Pictures of one prompt and seed are pairs; means over prompts have intervals by Student's t."
                yield b.Paragraph(told, muted=True)
            first, second = (model_label(model, 40) for model in one.models)
            found: dict[str, b.E | None] = {
                "mIoU": one.prompts[0].miou,
                "mBIoU": one.prompts[0].mbiou,
            }
            if len(one.prompts) > 1:
                found = {f"mIoU, {self._word(own)}": own.miou for own in one.prompts}
                found |= {
                    "mean mIoU": one.miou,
                    "mean mBIoU": one.mbiou,
                    "mean corrected mIoU": one.corrected,
                }
                axis = w.axis_label(axes_of([one.a]).get(one.a, ""))
                found |= (
                    {f"mean risk difference of {axis}": one.risk_difference}
                    if one.risk_difference
                    else {}
                )
            rows = tuple(b.IntervalRow(name, e) for name, e in found.items())
            caption = f"“{shorten(one.a, 40)}”: {second} less {first}"
            yield b.IntervalChart(caption, "Score", rows, "difference", "signed", b.DIFFERENCE)

    def _word(self, one: ConceptPair | Overall | RiskDifference | f.PromptChange) -> str:
        """What tells its prompt from the others: the word that concepts are held against, if each
        has its own.
        """
        if isinstance(one, Overall):
            return "mean"
        held = self.findings.plan.against
        return shorten(
            (held if len({*held}) == len(held) else self.prompts)[self.prompts.index(one.prompt)],
            60,
        )

    def _named(self, label: str, model: str) -> tuple[str, str, int | None]:
        """Label, group and series of a row; of several models one of a group of rows under the
        label.
        """
        if len(self.models) == 1:
            return label, "", None
        return model_label(model, 30), label, self.models.index(model)

    def _bar(self, one: RiskDifference) -> b.Bar:
        """The shares of an axis in a prompt's pictures, beside an even mixture."""
        label, group, series = self._named(self._word(one), one.model)
        counts = list(one.counts.values())
        lost = sum(one.missing.values())
        n = sum(one.counts.values())
        shares: list[b.E] = [Missing("not_asked")] * len(counts)
        if n:
            shares[:] = share_intervals(counts, level=self.findings.plan.confidence, missing=lost)
        parts = tuple(
            b.ShareSegment(*named, 1 / len(counts))
            for named in zip(one.counts, shares, counts, strict=True)
        )
        verdict = f"RD {w.measured(one.estimate)}" if n else ""
        strong = w.has_significant_q(one.estimate)
        return b.Bar(label, parts, n, one.missing, verdict, strong, group, series)

    def _profile(self, a: str) -> b.LineChart:
        """Overlap over the blocks of the network, a line for every model, and a thin one for each
        of its prompts.
        """
        own_pairs = {model: self.pairs(a, model) for model in self.models}
        by_model = [
            (own[0] if len(own) == 1 else self.overall(a, model)).blocks
            for model, own in own_pairs.items()
        ]
        blocks = tuple(dict.fromkeys(block for own in by_model for block in own))
        lines = [
            b.LineSeries(model_label(model, 60), tuple(own.get(block) for block in blocks), series)
            for series, (model, own) in enumerate(zip(self.models, by_model, strict=True))
        ]
        if len(self.prompts) > 1:
            lines += [
                b.LineSeries(
                    self._word(p)
                    + (f", {model_label(p.model, 60)}" if len(self.models) > 1 else ""),
                    tuple(p.blocks.get(block) for block in blocks),
                    self.models.index(p.model),
                    thin=True,
                )
                for p in self.pairs(a)
            ]
        areas = [p.chance_area for p in self.pairs(a) if p.chance_area is not None]
        levels = (("chance: masks of these areas", sum(areas) / len(areas)),) if areas else ()
        over = ", mean over the prompts" if len(self.prompts) > 1 else ""
        return b.LineChart(
            f"Overlap by block, from input to output{over}",
            "Block",
            blocks,
            tuple(lines),
            "overlap",
            levels=levels,
            chance="chance: other pictures of the prompt",
        )

    def _pictures(self, a: str) -> Iterator[b.Block]:
        """The first pictures of every prompt and model with the maps of both words, and one of each
        block by block.
        """
        most = SHOWN if len(self.prompts) == 1 else 1
        rows = []
        strips = []
        for own in self.findings.sets[: MOST * len(self.models)]:
            numbered = [(k, one) for k, one in enumerate(own.pictures, 1) if one][:most]
            for k, one in numbered:
                maps = maps_of(self.findings, self.media, a, own.prompt, str(own.model), one)
                gone = self.media.picture(one) is None
                if maps is None or gone or flat_pictures(total := maps.total()).any():
                    continue
                label = (
                    f"Picture {k} of {w.quote(own.prompt, 40)}, {model_label(str(own.model), 40)}"
                )
                image = b.ImageReference(image_id=one, source=self.media)
                heats = [replace(image, overlay=b.HeatOverlay(map)) for map in total[:, 0]]
                rows.append(
                    b.PictureRow(
                        (
                            b.Thumbnail(image, label),
                            b.Thumbnail(heats[0], f"{label}: attention to {maps.a}"),
                            b.Thumbnail(
                                heats[1],
                                f"{label}: attention to {maps.b}",
                                shorten(maps.b, 20),
                            ),
                            self._high(image, total, f"{label}: where either is high"),
                        ),
                        label,
                    )
                )
                if k == numbered[0][0]:
                    blocks = {
                        name: of
                        for name, of in block_maps(maps.layers).items()
                        if not flat_pictures(of).any()
                    }
                    shots = (
                        self._high(image, of, f"{label}: {name}", f"{name}, ")
                        for name, of in blocks.items()
                    )
                    strips.append(b.PictureRow(tuple(shots), label))
        title = "The picture, attention to both words, and where it is high"
        heads = ("picture", shorten(a, 20), "the other word", "both")
        yield b.PictureGrid(
            title,
            tuple(rows),
            True,
            heads,
            "large",
            (
                ("heat", "attention: lowest to highest in the picture"),
                ("only-a", "the concept alone"),
                ("only-b", "the other word alone"),
                ("both", "both"),
            ),
        )
        yield b.Details(
            "Block by block",
            (b.PictureGrid("Where attention is high, block by block", tuple(strips)),),
        )

    def _high(self, image: b.ImageReference, maps: Maps, alt: str, name: str = "") -> b.Thumbnail:
        """Where the maps (2, 1, H, W) of two words are high, over the picture, and how much they
        overlap.
        """
        first, second = mask(maps[:, 0], self.findings.plan.threshold, self.findings.plan.tau)
        masks = b.MaskOverlay(first=first, second=second)
        overlap = f"{name}IoU {w.number(float(iou(first, second)))}"
        return b.Thumbnail(replace(image, overlay=masks), alt, overlap)


def finding(own: Sequence[ConceptPair], overall: Overall) -> str:
    """What is said of one concept in a model's pictures of all prompts."""
    known = [p for p in own if isinstance(p.miou, Estimate)]
    if not known:
        return f"“{overall.a}” in places that cannot be told: {w.reason(own[0].miou)}"  # type: ignore[arg-type]
    e = known[0].miou if len(own) == 1 else overall.miou
    chance = (
        f", where chance would give {e.null:.2f}"
        if isinstance(e, Estimate) and e.null is not None
        else ""
    )
    value = w.part(e, "value")
    if len(own) == 1:
        phrase = "overlap" if w.has_significant_q(e) else "no_overlap"
        verdict = f" ({format_phrase(phrase)})" if chance else ""
        return f"“{overall.a}” and “{own[0].b}” in places that share {value} of their union{chance}{verdict}"
    mean = overall.corrected
    shared = isinstance(mean, Estimate) and mean.value > 0 and w.has_significant_q(mean)
    beyond = sum(w.has_significant_q(p.miou) for p in known)
    told = format_phrase(
        "mean_overlap" if shared else "no_mean_overlap",
        significant=f"{beyond:,}",
        prompts=w.plural(len(known), "prompt"),
    )
    missing = f"; {len(own) - len(known)} missing" if len(known) < len(own) else ""
    return (
        f"“{overall.a}” and the words beside it in places that share {value} of their union on average{chance} "
        f"({told}{missing})"
    )


def model_label(name: str, width: int) -> str:
    """A model's name on one line; of one that is too long the last parts of its path that fit,
    where paths differ.
    """
    line = shorten(name, len(name) + 1)
    kept = [k for k, letter in enumerate(line) if letter == "/" and len(line) - k < width]
    return line if len(line) <= width else f"…{line[kept[0] if kept else 1 - width :]}"


def reading(found: MapFindings) -> b.Section:
    """What the words of the page mean, and how maps were made, by the plan and by the layers of its
    models.
    """
    layers = {name.partition("-")[0] for pair in found.biasmap.pairs for name in pair.blocks}
    # those have passive streams
    listening = layers & {"joint", "single"}
    output = found.plan.definition == "output"
    sources = [OVAM] if layers - listening or not layers else []
    gathered = (
        "what pixels gather from attention against what it gives"
        if output
        else "attention weights of"
    )
    sources += [f"{gathered} {LISTENING}"] if listening else []
    resized = "each layer resized to the largest by bilinear interpolation"
    summed = f"{resized}; the middle block is shown by block only" if "mid" in layers else resized
    return skeleton.reading(
        (
            (
                "mIoU",
                "The places where two words' maps are high, by the mask of the plan: what both cover over what "
                "either covers (Eq. 4), mean over the pictures. mBIoU (Eq. 6): the mean over the network's blocks.",
            ),
            (
                "Chance",
                "Not zero. Two random masks of 30 % share .176 of their union. Maps are smooth, and models put "
                "heads and signs where they always are. So the grey band is the overlap of the one word in a picture with "
                "the other word in another picture of the prompt. Corrected sets that to 0 and full overlap to 1: what is "
                "left happens picture by picture.",
            ),
        ),
        limits=(
            "Overlap says that two words are attended to in one place. A word for a whole person and a word for how people "
            "look overlap wherever there is one person to see. That is not by itself an unfair link.",
        ),
        source=(
            "BiasMap (Chakraborty et al., “BiasMap: Can Cross-Attention Uncover Hidden Social Biases?”). Maps are made "
            "while the pictures are."
        ),
        method=(
            ("Source", " and ".join(sources)),
            ("Words", "A word need not stand in the prompt: it is read as if it followed."),
            *(
                [
                    (
                        "Branch",
                        "It is the unconditional image, without the prompt, that was listened to.",
                    )
                ]
                if found.plan.branch == "uncond"
                else []
            ),
            ("Map", f"Σ over layers and steps of softmax(oₓ o_cᵀ), {summed}")
            if output
            else (
                "Map (Eq. 1–2)",
                f"Σ over layers, steps and heads of softmax(Q K′ᵀ ⁄ √d), {summed}",
            ),
            (
                "Chance",
                "mean IoU of A in one picture and B in another of the prompt; by area: pq ⁄ (p + q − pq)",
            ),
            *(
                [
                    (
                        "Accuracy of masks (supplement F)",
                        "of the place that was given, the share that the mask covers; of the "
                        "rest, the share that it leaves out",
                    )
                ]
                if found.biasmap.accuracy
                else []
            ),
            ("Risk difference", "|share of one group − share of another| among the pictures"),
        ),
    )
