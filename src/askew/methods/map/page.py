"""Build the page of `askew map`: overlap between attention to concepts and to a prompt's word."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from askew.methods.map.findings import (
    ConceptPair,
    MapFindings,
    MaskAccuracy,
    ModelChange,
    Overall,
    RiskDifference,
)
from askew.methods.map.guide import guide
from askew.methods.map.overlays import overlays, typical_overlay
from askew.methods.map.plan import axes_of
from askew.methods.map.sentences import accuracy_name, accuracy_sentence, finding, model_label
from askew.pages import blocks as b
from askew.pages import skeleton
from askew.pages import words as w
from askew.pages.media import Media
from askew.pages.words import capital, perceived, plural, shorten
from askew.parts.survey.blocks import folded
from askew.stats.shares import share_intervals
from askew.types import Missing, grouped

BARS = 10
"""Maximum number of bars per axis that are shown outside a collapsed block."""

ACCURACY_CHARTS = 4
"""Maximum number of mask accuracy charts that are shown outside a collapsed block."""

NOTES = (
    "Bold: significantly above chance (q < 0.05). Chance is the overlap between masks of the "
    "same words from different images of the prompt.",
    "RD: risk difference between perceived groups. Instruments make labeling errors.",
)
NOTE_ON_MEANS = "In rows with means, q comes from a t-test of the corrected overlap over prompts."


def page(findings: MapFindings, media: Media) -> b.Page:
    """Return the page for a run of `askew map`."""
    plan = findings.plan
    models = [model.name for model in findings.models]
    prompts = [prompt.text for prompt in plan.prompts]
    several = len(prompts) > 1
    view = MapView(findings, models, prompts)
    clauses = view.clauses()
    listed_models = shorten(w.listing(models), 100)
    return skeleton.page(
        findings,
        skeleton.Heading(
            kicker=f"askew map: attention of {listed_models} to {w.listing(plan.concepts)}",
            title=plural(len(prompts), "prompt") if several else f"“{prompts[0]}”",
            answer=clauses[0],
            detail=" ".join(clauses[1:]),
            first=view.first_screen(media),
            meta=(
                *skeleton.meta(findings, findings.models),
                f"masks: {plan.threshold} {plan.tau:g}",
            ),
        ),
        sections=(
            b.Section("Shares in the images", view.shares()),
            *(view.concept(concept, media) for concept in plan.concepts),
            b.Section("Similarity of meaning", view.similarity(), screen=False),
            b.Section("Accuracy of masks", view.accuracy()),
            b.Section("Comparison of models", view.changes()),
        ),
        reading=guide(findings),
        notes=(*NOTES, NOTE_ON_MEANS) if several else NOTES,
    )


@dataclass(frozen=True)
class MapView:
    """Blocks of the page, computed from the findings for each concept and model.

    Attributes
    ----------
    findings : MapFindings
        Findings of the run.
    models, prompts : list of str
        Names of the run's models, and its prompts.
    """

    findings: MapFindings
    models: list[str]
    prompts: list[str]

    def pairs(self, a: str, model: str | None = None) -> list[ConceptPair]:
        """Return the scores of a concept in all prompts, for one model or for all models."""
        pairs = self.findings.biasmap.pairs
        return [pair for pair in pairs if pair.a == a and model in (None, pair.model)]

    def overall(self, a: str, model: str) -> Overall:
        """Return the scores of a concept averaged over the prompts of a model."""
        means = self.findings.biasmap.overall
        return next(mean for mean in means if (mean.a, mean.model) == (a, model))

    def clauses(self) -> list[str]:
        """Return a sentence about the overlap of each concept, for the first model's images."""
        first = self.models[0]
        clauses = [
            finding(self.pairs(a, first), self.overall(a, first))
            for a in self.findings.plan.concepts
        ]
        if len(self.prompts) == 1:
            clauses[0] = f"in images of {w.quote(self.prompts[0], 60)}, {clauses[0]}"
        return [f"{capital(clause)}." for clause in clauses]

    def shares(self) -> Iterator[b.Block]:
        """Yield charts of the shares on each axis, with risk differences."""
        risks = sorted(self.findings.biasmap.risk_difference, key=self._prompt_number)
        by_axis = grouped(risks, lambda risk: capital(perceived(risk.axis)))
        if len(self.prompts) == len(self.models) == 1:
            bars = [replace(self._bar(risk), label=axis) for axis, (risk,) in by_axis.items()]
            yield b.ValueChart("Shares in percent", tuple(bars))
            return
        for axis, of_axis in by_axis.items():
            bars = [self._bar(risk) for risk in of_axis]
            yield from folded(f"{axis} by prompt", bars, "Prompt", BARS)

    def _bar(self, risk: RiskDifference) -> b.ValueGroup:
        """Return a bar with an axis's shares in a prompt's images, with marks at equal shares."""
        counts = list(risk.counts.values())
        labeled = sum(counts)
        shares: Sequence[b.E] = [Missing("not_asked")] * len(counts)
        verdict = ""
        if labeled:
            level = self.findings.plan.confidence
            shares = share_intervals(counts, level=level, missing=sum(risk.missing.values()))
            verdict = f"RD {w.measured(risk.estimate)}"
        segments = [
            b.ValueShare(value, share, count, reference=1 / len(counts))
            for value, share, count in zip(risk.counts, shares, counts, strict=True)
        ]
        name = self._row_name(self._word(risk.prompt), risk.model)
        return b.ValueGroup(
            label=name["label"],
            group=name.get("group", ""),
            values=tuple(segments),
            n=labeled,
            missing=risk.missing,
            verdict=verdict,
            significant=w.has_significant_q(risk.estimate),
        )

    def concept(self, a: str, media: Media) -> b.Section:
        """Return a section about a concept's overlap: by prompt, by block, and shown on images."""
        blocks = b.Section("Overlap by block", (self._profile(a),), screen=False)
        images = b.Section("Images", overlays(self.findings, media, a), screen=False)
        chart = () if a == self.findings.plan.concepts[0] else (self.overlap_chart(a),)
        return b.Section(capital(shorten(a, 60)), (*chart, blocks, images))

    def overlap_chart(self, a: str) -> b.IntervalChart:
        """Return a chart of a concept's overlap for each prompt and model."""
        return b.IntervalChart(
            caption=(
                f"Overlap between the masks of “{shorten(a, 40)}” and of the prompt's word (mIoU)"
            ),
            heading="Prompt",
            rows=tuple(self._rows(a)),
            name="mIoU",
            columns=b.TESTED,
            more=("mBIoU", "RD"),
            chance=("chance", "masks of the same words from different images of the prompt"),
        )

    def first_screen(self, media: Media) -> b.FirstScreen:
        """Return a chart of the first concept's overlap, and a typical image with both masks."""
        first = self.findings.plan.concepts[0]
        pairs = self.pairs(first, self.models[0])
        images = typical_overlay(self.findings, media, pairs[0])
        return b.FirstScreen((self.overlap_chart(first),), (images,), layout="images")

    def _rows(self, a: str) -> Iterator[b.IntervalRow]:
        """Yield a row per prompt and, if there are several prompts, a row of means per model."""
        axis = axes_of([a]).get(a)
        risks = {
            (risk.model, risk.prompt): risk.estimate
            for risk in self.findings.biasmap.risk_difference
            if risk.axis == axis
        }
        for pair in sorted(self.pairs(a), key=self._prompt_number):
            risk = risks.get((pair.model, pair.prompt))
            yield self._row(pair, self._word(pair.prompt), risk)
        if len(self.prompts) > 1:
            for model in self.models:
                mean = self.overall(a, model)
                row = self._row(mean, "mean", mean.risk_difference)
                yield replace(row, score=_tested_mean(mean), muted=True)

    def _row(self, score: ConceptPair | Overall, name: str, risk: b.E | None) -> b.IntervalRow:
        more = (w.part(score.mbiou, "value"), w.part(risk, "value"))
        return b.IntervalRow(**self._row_name(name, score.model), score=score.miou, more=more)

    def _profile(self, a: str) -> b.LineChart:
        """Return a chart of the overlap by block: a line per model, and a thin line per prompt."""
        several = len(self.prompts) > 1
        scores = [
            self.overall(a, model) if several else self.pairs(a, model)[0] for model in self.models
        ]
        blocks = tuple(dict.fromkeys(block for score in scores for block in score.blocks))
        lines = [self._line(score, model_label(score.model, 60), blocks) for score in scores]
        caption = "Overlap by block, from input to output"
        if several:
            caption += ", mean over the prompts"
            for pair in self.pairs(a):
                name = self._word(pair.prompt)
                if len(self.models) > 1:
                    name += f", {model_label(pair.model, 60)}"
                lines.append(replace(self._line(pair, name, blocks), thin=True))
        areas = [pair.chance_area for pair in self.pairs(a) if pair.chance_area is not None]
        levels = (("random masks with the same areas", sum(areas) / len(areas)),) if areas else ()
        return b.LineChart(
            caption=caption,
            heading="Block",
            steps=blocks,
            lines=tuple(lines),
            name="overlap",
            levels=levels,
            chance="chance: masks from different images of the prompt",
        )

    def _line(self, score: ConceptPair | Overall, name: str, blocks: Sequence[str]) -> b.LineSeries:
        points = tuple(score.blocks.get(block) for block in blocks)
        return b.LineSeries(name, points, series=self.models.index(score.model))

    def similarity(self) -> Iterator[b.Table]:
        """Yield tables of each concept's similarity to a word and its overlap with the word."""
        pairs = self.findings.biasmap.pairs
        overlaps = {(pair.model, pair.prompt, pair.a): pair.miou for pair in pairs}
        for gradient in self.findings.biasmap.gradient:
            caption = (
                f"Overlap with “{shorten(gradient.b, 30)}”, in order of decreasing similarity of "
                "meaning."
            )
            if not isinstance(gradient.spearman, Missing):
                correlation = w.measured(gradient.spearman)
                words = plural(len(gradient.cosines), "word")
                caption += f" Rank correlation over {words}: {correlation}."
            rows = []
            for a in sorted(gradient.cosines, key=gradient.cosines.__getitem__, reverse=True):
                cosine = w.number(gradient.cosines[a])
                rows.append((shorten(a, 40), cosine, overlaps[gradient.model, gradient.prompt, a]))
            yield b.Table(
                caption=caption,
                columns=("Word", "cosine of text embeddings", "mIoU"),
                rows=tuple(rows),
                note=f"{w.quote(gradient.prompt, 60)}, {model_label(gradient.model, 40)}",
            )

    def accuracy(self) -> Iterator[b.Block]:
        """Yield charts of mask accuracy at each threshold (figure 11 of the paper)."""
        accuracies = self.findings.biasmap.accuracy
        if not accuracies:
            return
        words = grouped(accuracies, lambda entry: (entry.model, entry.prompt, entry.word)).values()
        yield b.Paragraph(items=tuple(map(accuracy_sentence, words)))
        charts = [*map(_accuracy_chart, words)]
        yield from charts[:ACCURACY_CHARTS]
        more = charts[ACCURACY_CHARTS:]
        yield b.Details(plural(len(more), "more chart"), more)

    def changes(self) -> Iterator[b.Block]:
        """Yield charts of each later model's scores minus the first model's scores."""
        if self.findings.biasmap.changes:
            yield b.Paragraph(
                "Images with the same prompt and seed are paired. Means over prompts have "
                "Student's t intervals.",
                muted=True,
            )
        for change in self.findings.biasmap.changes:
            first, later = (model_label(model, 40) for model in change.models)
            yield b.IntervalChart(
                caption=f"“{shorten(change.a, 40)}”: {later} minus {first}",
                heading="Score",
                rows=tuple(self._change_rows(change)),
                name="difference",
                scale="signed",
                columns=b.DIFFERENCE,
            )

    def _change_rows(self, change: ModelChange) -> Iterator[b.IntervalRow]:
        """Yield a row of differences per prompt and, if there are several prompts, their means."""
        if len(change.prompts) == 1:
            yield b.IntervalRow("mIoU", change.prompts[0].miou)
            yield b.IntervalRow("mBIoU", change.prompts[0].mbiou)
            return
        for prompt in change.prompts:
            yield b.IntervalRow(f"mIoU, {self._word(prompt.prompt)}", prompt.miou)
        yield b.IntervalRow("mean mIoU", change.miou)
        yield b.IntervalRow("mean mBIoU", change.mbiou)
        yield b.IntervalRow("mean corrected mIoU", change.corrected)
        if change.risk_difference is not None:
            axis = w.axis_label(axes_of([change.a])[change.a])
            yield b.IntervalRow(f"mean risk difference of {axis}", change.risk_difference)

    def _prompt_number(self, score: ConceptPair | RiskDifference) -> int:
        return self.prompts.index(score.prompt)

    def _word(self, prompt: str) -> str:
        """Return a row's label: the prompt's word or, if prompts share a word, the prompt."""
        words: Sequence[str] = self.findings.plan.against
        names = words if len(set(words)) == len(words) else self.prompts
        return shorten(names[self.prompts.index(prompt)], 60)

    def _row_name(self, name: str, model: str) -> dict[str, Any]:
        """Return a row's label and, if the run has several models, its group and series."""
        if len(self.models) == 1:
            return {"label": name}
        series = self.models.index(model)
        return {"label": model_label(model, 30), "group": name, "series": series}


def _tested_mean(mean: Overall) -> b.E:
    """Return the mean mIoU, with p and q from the test of its corrected mean."""
    corrected = mean.corrected
    if isinstance(mean.miou, Missing) or isinstance(corrected, Missing):
        return mean.miou
    return replace(mean.miou, corrected=corrected.value, p=corrected.p, q=corrected.q)


def _accuracy_chart(entries: Sequence[MaskAccuracy]) -> b.LineChart:
    """Return a chart of a word's mask accuracy at each threshold."""
    covered = tuple(entry.mask_accuracy for entry in entries)
    omitted = tuple(entry.complement_accuracy for entry in entries)
    return b.LineChart(
        caption=accuracy_name(entries[0]),
        heading="Threshold",
        steps=tuple(f"{entry.tau:g}" for entry in entries),
        lines=(
            b.LineSeries("share of the ground-truth mask that the mask covers", covered),
            b.LineSeries("share of the remaining area that the mask leaves out", omitted, series=1),
        ),
        name="share",
        chance="chance: masks from other images",
    )
