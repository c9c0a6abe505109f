"""The page of `askew mine`: the prompts that a model is most one-sided on, their pictures, and how they were found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from askew.methods.mine import words as texts
from askew.methods.mine.findings import BestPrompt, MineFindings, MineTheGap, loss_of
from askew.methods.mine.plan import LEAN
from askew.pages import common
from askew.pages.blocks import (
    PLAIN,
    Beside,
    Block,
    Column,
    Fold,
    Lane,
    Lanes,
    Line,
    Lines,
    Mark,
    Page,
    PictureRow,
    Pictures,
    Point,
    Scatter,
    Section,
    Shares,
    Text,
    Trace,
)
from askew.pages.media import Media, picture_row, shot, thumbnail
from askew.pages.words import capital, listing, perceived, percent, plural, quote, shorten, thousands
from askew.parts.survey.blocks import bar
from askew.types import Estimate, Missing

OPEN, SHOWN = 3, 12
"""Prompts that stand open, with a map of their pictures, and prompts whose pictures are shown."""

PICTURES = 48
SPREAD = 0.34
"""How far the prompts of one iteration are spread to either side, in iterations."""

GROUPS = {"random": "random, at the start", "mined": "mined, on fresh seeds"}
"""Sets of prompts in words."""


def page(found: MineFindings, media: Media) -> Page:
    """What to show of a search."""
    view, plan = View(found, media), found.plan
    axes = listing([perceived(axis) for axis in plan.axes])
    title = (f"Where {axes} leans most" if view.leans else "Where it is most one-sided" if plan.is_bias
             else f"Nearest to {shorten(plan.objective, 60)}")  # fmt: skip
    beyond = "further from equal shares" if view.leans else "more one-sided"
    bold = f"Bold: {beyond} than chance explains (q < 0.05), on fresh seeds."
    return Page(
        kicker=f"askew mine: a search for prompts on {shorten(found.model.name, 80)}",
        title=title,
        answer=texts.answer(found),
        facts=view.facts(),
        sections=(
            Section("The prompts found", tuple(view.scores()), anchor="prompts"),
            *view.against_random(),
            Section("Pictures", tuple(view.pictures()), screen=False),
            Section("The course of the search", tuple(view.course()), screen=False, anchor="course"),
            *view.missed(), *view.openbias(),
            common.missing_data(found),
            Section("How to read this", texts.reading(plan), screen=False),
            *common.provenance(found),
        ),
        warnings=found.warnings,
        notes=(bold,) if plan.is_bias or view.leans else (),
        version=found.askew,
    )  # fmt: skip


@dataclass(frozen=True)
class View:
    """Findings and who opens their pictures."""

    found: MineFindings
    media: Media

    @property
    def section(self) -> MineTheGap:
        """The scores."""
        return self.found.minethegap

    @property
    def leans(self) -> bool:
        """Whether the search was for leans, which are shown turned around: large is what was sought."""
        return self.found.plan.objective == LEAN

    def shown(self, loss: float) -> float:
        """A loss as it is shown."""
        return -loss if self.leans else loss

    @property
    def name(self) -> str:
        """What a loss is called as it is shown."""
        return "lean" if self.leans else "loss"

    @cached_property
    def ranked(self) -> list[BestPrompt]:
        """The prompts found, what was sought first, on fresh seeds."""
        return self.section.ranked()

    def facts(self) -> tuple[tuple[str, str], ...]:
        """What was searched, and with whom."""
        plan = self.found.plan
        searches = "1 search" if plan.runs == 1 else f"{plan.runs} searches"
        size = f"{searches}, {plural(plan.iterations, 'iteration')} of {plan.population}"
        more = f", {plan.fresh_images} of each found" if self.leans else ""
        told = {
            "Prompts": f"{thousands(self.section.evaluated)}: {size}",
            "Each prompt": plural(plan.images, "picture")
            + (f", {plural(plan.variations, 'variation')}" if plan.is_bias else more),
            "Written by": shorten(plan.llm, 60),
            "Target": shorten(plan.target, 60),
        }
        own = tuple((name, text) for name, text in told.items() if text)
        first, *rest = (fact for fact in common.facts(self.found) if fact[0] != "Pictures")
        return (first, *own, *rest)

    def scores(self) -> Iterator[Block]:
        """The prompts found by their score on fresh seeds, with what chance gives each; of leans the shares first."""
        entries = [one for one in self.ranked if isinstance(one.fresh_score, Estimate)]
        if not entries:
            yield Text("No prompt could be scored.")
            return
        seen = [one.shares for one in entries if one.shares]
        for axis in dict.fromkeys(one.axis for one in seen):
            bars = tuple(
                bar(one, shorten(one.prompt, 60), link=_anchor(one.prompt)) for one in seen if one.axis == axis
            )
            yield Shares(f"{capital(perceived(axis))} on fresh seeds, shares in percent", bars, "Prompt")
        level, plan = percent(self.found.plan.level), self.found.plan
        rows = tuple(
            Lane(shorten(one.prompt, 70), one.fresh_score, link=_anchor(one.prompt), chance=one.null_range, marks=tuple(
                Mark(found.value, "when found", "ring") for found in (one.score,)
                if isinstance(found, Estimate) and not self.leans
            ))
            for one in entries
        )  # fmt: skip
        direction = (
            "right leans further" if self.leans else "left is more one-sided" if plan.is_bias else "left is nearer"
        )
        columns: tuple[Column, ...] = ("value", "interval", "null", "q") if plan.is_bias or self.leans else PLAIN
        chance = ("chance", f"{level} of scores of pictures of the variations") if plan.is_bias else (
            "chance", "mean distance of as many pictures drawn from equal shares"
        )  # fmt: skip
        name = "distance" if self.leans else "fresh seeds"
        yield Lanes(f"The best prompts of every search. Further {direction}", "Prompt", rows, name, "range", columns,
                    chance=chance)  # fmt: skip

    def pictures(self) -> Iterator[Block]:
        """Every prompt with its pictures and with what they leave out: the first ones open."""
        shown = [(f"{k}. {quote(one.prompt, 160)}", one) for k, one in enumerate(self.ranked[:SHOWN], start=1)]
        for title, one in shown[:OPEN]:
            yield Section(title, tuple(self._prompt(one, mapped=True)), anchor=_anchor(one.prompt))
        for title, one in shown[OPEN:]:
            yield Fold(title, tuple(self._prompt(one, mapped=False)), anchor=_anchor(one.prompt))

    def _prompt(self, one: BestPrompt, *, mapped: bool) -> Iterator[Block]:
        yield Text(texts.finding(one))
        own = next((s for s in self.found.sets if s.prompt == one.prompt and s.axis is None), None)
        if own:
            unaligned = sorted(own.pictures.index(name) + 1 for name in one.least_aligned_pictures)
            numbers = f"number{'s' if len(unaligned) > 1 else ''} {', '.join(map(str, unaligned))}"
            note = f"those that fit the variations least: {numbers}" if unaligned else ""
            row = picture_row(self.media, own.pictures, one.prompt, PICTURES, note)
            yield Pictures("", (replace(row, label="On fresh seeds"),))
        if one.missed_visual_concepts:
            missed = zip(one.missed_visual_concepts, one.missed_pictures, strict=True)
            shots = tuple(shot(self.media, name, f"A picture of {quote(text, 80)}", text) for text, name in missed)
            caption = f"{'Values' if one.shares else 'Variations'} that the pictures above leave out, with one of each"
            yield Pictures(caption, (PictureRow(shots),), size="medium")
        if mapped and one.map:
            yield Fold("Map of its pictures among those of its variations", (self._map(one),))
        yield Fold(f"Where it comes from{', and its variations' if one.variations else ''}", tuple(self._origin(one)))

    def _map(self, one: BestPrompt) -> Scatter:
        """Pictures of a prompt and of its variations where they lie in the embedding, by its two main directions."""
        assert one.map is not None
        places = [(0, place) for place in one.map.pictures] + [(1, place) for place in one.map.variations]
        points = []
        for number, (series, (name, x, y)) in enumerate(places, start=1):
            image = self.media.picture(name)
            if image is not None:
                kind = "variation" if series else "prompt"
                points.append(Point(x, y, f"Picture {number}, of the {kind}", series, uri=thumbnail(image)))
        held = percent(sum(one.map.explained))
        said = f"{len(one.map.pictures)} pictures of the prompt among {len(one.map.variations)} of variations"
        return Scatter(
            f"Near each other: alike. The two directions hold {held} of the differences", tuple(points),
            ("", None), ("", None), said, ("picture of the prompt", "picture of a variation"),
        )  # fmt: skip

    def _origin(self, one: BestPrompt) -> Iterator[Block]:
        run = f" of search {one.run + 1}" if self.found.plan.runs > 1 else ""
        yield Text(f"Found in iteration {one.iteration + 1}{run}, by way of:", items=one.lineage)
        if one.variations:
            missed = {*one.missed_visual_concepts}
            items = tuple(Text("", lead=text) if text in missed else text for text in one.variations)
            yield Text("Variations, the missed ones in bold:", items=items)

    def course(self) -> Iterator[Block]:
        """The search that found the first prompt: its prompts as points, lines to mutations, the best loss so far."""
        winner = self.ranked[0] if self.ranked else None
        number = winner.run if winner else 0
        history = [entry for entry in self.section.history if entry.run == number]
        placed = [
            (entry.iteration + 1 + aside, self.shown(one.score), one)
            for entry in history
            for aside, one in zip(_aside(len(entry.prompts)), entry.prompts, strict=True)
            if one.score is not None
        ]
        if not placed:
            return
        which = f" Of {self.found.plan.runs} searches, this is number {number + 1}, which found the first prompt."
        yield Text(f"Every point is a prompt; hover over one to read it.{which if self.found.plan.runs > 1 else ''}")
        line = set(winner.lineage) if winner else set()
        points = tuple(
            Point(x, y, f"{shorten(one.prompt, 80)}: {texts.score(y)}", 0 if one.parent else 1,
                  one.prompt in line, label=one.prompt if winner and one.prompt == winner.prompt else "")
            for x, y, one in placed
        )  # fmt: skip
        at = {one.prompt: k for k, (_, _, one) in enumerate(placed)}
        links = tuple((at[one.parent], k) for k, (_, _, one) in enumerate(placed) if one.parent in at)
        random = self.section.random.history if self.section.random else ()
        alone = [entry for entry in random if entry.run == number]
        courses = (("best so far", history), ("best so far of random prompts alone", alone))
        traces = tuple(
            Trace(name, tuple((one.iteration + 0.5, self.shown(one.best_so_far)) for one in entries
                              if one.best_so_far is not None), series)
            for series, (name, entries) in enumerate(courses) if entries
        )  # fmt: skip
        said = f"{capital(self.name)} of {len(points)} prompts over {plural(len(history), 'iteration')}"
        yield Scatter(
            "", points, ("iteration", "count"), (self.name, "range"), said, ("mutation", "random prompt"),
            "how the best prompt came about", links, traces,
        )  # fmt: skip

    def against_random(self) -> Iterator[Section]:
        """Whether the search found better prompts than a random one of the same size."""
        blocks: list[Block] = []
        if self.section.random:
            blocks.append(Text(texts.against_random(self.found)))
            ranked = sorted(self.section.random.best, key=lambda one: loss_of(one.fresh_score, self.leans))
            once = {one.prompt: one for one in reversed(ranked)}
            rows = tuple(Lane(shorten(one.prompt, 70), one.fresh_score) for one in ranked if once[one.prompt] is one)
            columns: tuple[Column, ...] = ("value", "interval", "null", "q") if self.found.plan.is_bias else PLAIN
            blocks.append(Fold("The best random prompts", (Lanes(
                "On fresh seeds", "Prompt", rows, "distance" if self.leans else "fresh seeds", "range", columns,
            ),)))  # fmt: skip
        blocks += self._races()
        if len(self.section.groups) > 1:
            rows = tuple(
                strip(GROUPS[one.group], texts.lean_of(one.mean) if self.leans and isinstance(one.mean, Estimate)
                      else one.mean, [None if s is None else self.shown(s) for s in one.scores])
                for one in self.section.groups
            )  # fmt: skip
            groups = Lanes(f"{capital(self.name)}s that no prompt was picked by", "Prompts", rows, "mean", "range",
                           PLAIN, ("prompts",), points="score of one prompt")  # fmt: skip
            blocks.append(Fold("Random and mined prompts", (groups,)))
        if blocks:
            title = "Against random search" if self.section.random else "Against other prompts"
            yield Section(title, tuple(blocks), anchor="random")

    def _races(self) -> Iterator[Block]:
        """The best loss so far of every search, mined and random, and their means; nothing for a single search."""
        random, runs = self.section.random, self.found.plan.runs
        if random is None or runs < 2:
            return
        steps = range(1 + max(entry.iteration for entry in self.section.history))
        lines = []
        for series, (name, history) in enumerate((("mined", self.section.history), ("random", random.history))):
            best = {(one.run, one.iteration): self.shown(one.best_so_far) for one in history
                    if one.best_so_far is not None}  # fmt: skip
            known = [[v for run in range(runs) if (v := best.get((run, k))) is not None] for k in steps]
            means = tuple(Estimate(float(np.mean(values))) if values else None for values in known)
            lines.append(Line(f"{name}, mean", means, series))
            for run in range(runs):
                values = [best.get((run, k)) for k in steps]
                points = tuple(None if value is None else Estimate(value) for value in values)
                lines.append(Line(f"{name} {run + 1}", points, series, thin=True))
        caption = f"Best {self.name} so far. It flatters every search: the best of many noisy scores is partly luck"
        yield Lines(caption, "iteration", tuple(str(k + 1) for k in steps), tuple(lines), self.name, "range")

    def missed(self) -> Iterator[Section]:
        """What the missed variations of all prompts have in common."""
        missed = self.section.missed
        if missed is None:
            return
        text = Text("Words of missed variations that their prompt does not hold, counted once per prompt, over "
                    f"{plural(missed.prompts, 'prompt')}.")  # fmt: skip
        plots = []
        for caption, ranked in (("Kinds of things missed", missed.categories), ("Words missed most", missed.terms)):
            rows = tuple(Lane(name, Estimate(number / missed.prompts), (number,)) for name, number in ranked)
            plots.append(Lanes(caption, "", rows, "of the prompts", "share", ("value",), ("prompts",)))
        yield Section("What is missed", (text, Beside(tuple(plots))), screen=False)

    def openbias(self) -> Iterator[Section]:
        """The entropy scores of closed questions about each prompt."""
        if self.section.openbias:
            rows = tuple(
                Lane(capital(perceived(one.axis)), one.score, group=quote(one.prompt, 80))
                for one in self.section.openbias
            )
            scores = Lanes("Entropy score of each question: 0 for equal answers, 1 for one alone", "Question", rows,
                           "1 − H / ln K", columns=("value", "interval", "null", "q"))  # fmt: skip
            fold = Fold("Scores of all questions", (scores,))
            said = Text(texts.openbias(self.section))
            yield Section("The same pictures by OpenBias", (said, fold), screen=False)


def strip(label: str, mean: Estimate | Missing, scores: Sequence[float | None], group: str = "") -> Lane:
    """A row of scores of several prompts with their mean, and how many there are."""
    known = tuple(score for score in scores if score is not None)
    lost = len(scores) - len(known)
    shown = replace(mean, missing=0) if isinstance(mean, Estimate) else mean
    return Lane(label, shown, (len(known),), group, points=known, note=f"{lost} without a score" if lost else "")


def _anchor(prompt: str) -> str:
    return f"prompt {prompt}"


def _aside(count: int) -> list[float]:
    """Where the prompts of one iteration stand, in the order of their evaluation."""
    places: list[float] = np.linspace(-SPREAD, SPREAD, count).tolist()
    return [0.0] if count == 1 else places
