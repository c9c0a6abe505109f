"""The page of `askew mine`: the prompts that a model is most one-sided on, their pictures, and how they were found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from askew.findings import PictureSet
from askew.methods.mine import words as texts
from askew.methods.mine.findings import BestPrompt, MineFindings, ranked
from askew.methods.mine.plan import LEAN
from askew.pages import blocks as b
from askew.pages import skeleton
from askew.pages.media import Media, picture_row, shot
from askew.pages.words import capital, listing, perceived, percent, plural, quote, shorten, thousands
from askew.parts.survey.blocks import bar
from askew.types import Estimate

OPEN, SHOWN = 3, 12
"""Prompts that stand open, and prompts whose pictures are shown."""

PICTURES = 48
CHANCE = "what chance alone would give"


def page(found: MineFindings, media: Media) -> b.Page:
    """What to show of a search."""
    view, plan = View(found, media), found.plan
    axes = listing([perceived(axis) for axis in plan.axes])
    title = (f"Where {axes} leans most" if view.leans else "Where it is most one-sided" if plan.is_bias
             else f"Nearest to {shorten(plan.objective, 60)}")  # fmt: skip
    beyond = "further from equal shares" if view.leans else "more one-sided"
    bold = f"Bold: {beyond} than chance explains (q < 0.05), on fresh seeds."
    return skeleton.page(
        found, f"askew mine: a search for prompts on {shorten(found.model.name, 80)}", title, texts.answer(found),
        (b.Section("The prompts found", tuple(view.scores()), anchor="prompts"), *view.against_random(),
         b.Section("Pictures", tuple(view.pictures()), screen=False),
         b.Section("The course of the search", tuple(view.course()), screen=False, anchor="course"),
         *view.missed()),
        facts=view.facts(), reading=texts.reading(plan), notes=(bold,) if plan.is_bias or view.leans else (),
    )  # fmt: skip


@dataclass(frozen=True)
class View:
    """Findings and who opens their pictures."""

    found: MineFindings
    media: Media

    @property
    def leans(self) -> bool:
        """Whether the search was for leans, which are shown turned around: large is what was sought."""
        return self.found.plan.objective == LEAN

    @cached_property
    def ranked(self) -> list[BestPrompt]:
        """The prompts found, what was sought first, on fresh seeds."""
        return ranked(self.found.minethegap.best, self.leans)

    def facts(self) -> tuple[tuple[str, str], ...]:
        """What was searched, and with whom."""
        plan, evaluated = self.found.plan, thousands(self.found.minethegap.evaluated)
        searches = "1 search" if plan.runs == 1 else f"{plan.runs} searches"
        more = f", {plural(plan.variations, 'variation')}" if plan.is_bias else ""
        more += f", {plan.fresh_images} of each found" if self.leans else ""
        own = (
            ("Prompts", f"{evaluated}: {searches}, {plural(plan.iterations, 'iteration')} of {plan.population}"),
            ("Each prompt", plural(plan.images, "picture") + more),
            ("Written by", shorten(plan.llm, 60)),
            ("Target", shorten(plan.target, 60)),
        )
        first, *rest = (fact for fact in skeleton.facts(self.found) if fact[0] != "Pictures")
        return (first, *(fact for fact in own if fact[1]), *rest)

    def scores(self) -> Iterator[b.Block]:
        """The prompts found by their score on fresh seeds, with what chance gives each; of leans the shares first."""
        entries = [one for one in self.ranked if isinstance(one.fresh_score, Estimate)]
        if not entries:
            yield b.Text("No prompt could be scored.")
            return
        seen = [one.shares for one in entries if one.shares]
        for axis in dict.fromkeys(one.axis for one in seen):
            bars = [bar(one, shorten(one.prompt, 60), link=_anchor(one.prompt)) for one in seen if one.axis == axis]
            yield b.Shares(f"{capital(perceived(axis))} on fresh seeds, shares in percent", tuple(bars), "Prompt")
        is_bias, level = self.found.plan.is_bias, percent(self.found.plan.level)
        rows = tuple(
            b.Lane(shorten(one.prompt, 70), one.fresh_score, link=_anchor(one.prompt), chance=one.null_range,
                   marks=(b.Mark(one.score.value, "when found", "ring"),)
                   if isinstance(one.score, Estimate) and not self.leans else ())
            for one in entries
        )  # fmt: skip
        further = "right leans further" if self.leans else "left is more one-sided" if is_bias else "left is nearer"
        chance = f"{level} of scores of pictures of the variations" if is_bias else (
            "mean distance of as many pictures drawn from equal shares"
        )  # fmt: skip
        yield self._lanes(f"The best prompts of every search. Further {further}", rows, is_bias or self.leans, chance)

    def _lanes(self, caption: str, rows: Sequence[b.Lane], tested: bool, chance: str = CHANCE) -> b.Lanes:
        columns: tuple[b.Column, ...] = ("value", "interval", "null", "q") if tested else b.PLAIN
        name = "distance" if self.leans else "fresh seeds"
        return b.Lanes(caption, "Prompt", tuple(rows), name, "range", columns, chance=("chance", chance))

    def pictures(self) -> Iterator[b.Block]:
        """Every prompt with its pictures and with what they leave out: the first ones open."""
        shown = [(f"{k}. {quote(one.prompt, 160)}", one) for k, one in enumerate(self.ranked[:SHOWN], start=1)]
        for title, one in shown[:OPEN]:
            yield b.Section(title, tuple(self._prompt(one)), anchor=_anchor(one.prompt))
        for title, one in shown[OPEN:]:
            yield b.Fold(title, tuple(self._prompt(one)), anchor=_anchor(one.prompt))

    def _prompt(self, one: BestPrompt) -> Iterator[b.Block]:
        yield b.Text(texts.finding(one))
        own = next((s for s in self.found.sets if s.prompt == one.prompt and s.axis is None), None)
        if own:
            note = least_fitting(own, one.least_aligned_pictures)
            row = picture_row(self.media, own.pictures, one.prompt, PICTURES, note)
            yield b.Pictures("", (replace(row, label="On fresh seeds"),))
        if one.missed_visual_concepts:
            pictures = dict(zip(one.missed_visual_concepts, one.missed_pictures, strict=True))
            yield left_out(self.media, pictures, "the pictures above", is_read=one.is_read)
        yield b.Fold(f"Where it comes from{', and its variations' if one.variations else ''}", tuple(self._origin(one)))

    def _origin(self, one: BestPrompt) -> Iterator[b.Block]:
        run = f" of search {one.run + 1}" if self.found.plan.runs > 1 else ""
        mutated = f", a mutation of {quote(one.parent, 160)}" if one.parent else ""
        yield b.Text(f"Found in iteration {one.iteration + 1}{run}{mutated}.")
        if one.variations:
            yield b.Text("Variations:", items=one.variations)

    def course(self) -> Iterator[b.Block]:
        """The best so far of the search that found the first prompt, and of random prompts alone."""
        section, plan = self.found.minethegap, self.found.plan
        run, turned = self.ranked[0].run if self.ranked else 0, -1 if self.leans else 1
        steps = range(1 + max((one.iteration for one in section.history if one.run == run), default=-1))
        lines: list[b.Line] = []
        for name, history in (
            ("mined", section.history), ("random prompts alone", section.random.history if section.random else ()),
        ):  # fmt: skip
            best = {one.iteration: Estimate(turned * one.best_so_far) for one in history
                    if one.run == run and one.best_so_far is not None}  # fmt: skip
            lines += [b.Line(name, tuple(best.get(k) for k in steps), len(lines))] if best else []
        if lines:
            of, name = f", search {run + 1} of {plan.runs}" if plan.runs > 1 else "", "lean" if self.leans else "loss"
            caption = f"Best {name} so far{of}. It flatters: the best of many noisy scores is partly luck"
            yield b.Lines(caption, "iteration", tuple(str(k + 1) for k in steps), tuple(lines), name, "range")

    def against_random(self) -> Iterator[b.Section]:
        """Whether the search found better prompts than a random one of the same size."""
        random = self.found.minethegap.random
        if random:
            rows = [b.Lane(shorten(one.prompt, 70), one.fresh_score) for one in ranked(random.best, self.leans)]
            best = b.Fold("The best random prompts", (self._lanes("On fresh seeds", rows, self.found.plan.is_bias),))
            yield b.Section("Against random search", (b.Text(texts.against_random(self.found)), best), anchor="random")

    def missed(self) -> Iterator[b.Section]:
        """What the missed variations of all prompts have in common."""
        missed = self.found.minethegap.missed
        if missed is None:
            return
        text = b.Text("Words of missed variations that their prompt does not hold, counted once per prompt, over "
                      f"{plural(missed.prompts, 'prompt')}.")  # fmt: skip
        plots = []
        for caption, counted in (("Kinds of things missed", missed.categories), ("Words missed most", missed.terms)):
            rows = tuple(b.Lane(name, Estimate(number / missed.prompts), (number,)) for name, number in counted)
            plots.append(b.Lanes(caption, "", rows, "of the prompts", "share", ("value",), ("prompts",)))
        yield b.Section("What is missed", (text, *plots), screen=False)


def least_fitting(made: PictureSet, names: Sequence[str]) -> str:
    """Which of a prompt's pictures fit its variations least, by their numbers; empty where none is named."""
    places = sorted(made.pictures.index(name) + 1 for name in names)
    numbers = f"number{'s' if len(places) > 1 else ''} {', '.join(map(str, places))}"
    return f"those that fit the variations least: {numbers}" if places else ""


def left_out(media: Media, pictures: Mapping[str, str | None], by: str, *, is_read: bool) -> b.Pictures:
    """What some pictures leave out, each with a picture of it; if nobody read that, what they are least like."""
    shots = tuple(shot(media, name, f"A picture of {quote(text, 80)}", text) for text, name in pictures.items())
    told = f"What {by} leave out" if is_read else f"What {by} are least like, by similarity alone"
    return b.Pictures(f"{told}, with a picture of each", (b.PictureRow(shots),), size="medium")


def _anchor(prompt: str) -> str:
    return f"prompt {prompt}"
