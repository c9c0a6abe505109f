"""The page of `askew mine`: the prompts that a model is most one-sided on, their pictures, and how they were found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from askew.findings import PictureSet
from askew.methods.mine import words as texts
from askew.methods.mine.findings import BestPrompt, MineFindings, MineTheGap, loss_of
from askew.methods.mine.plan import LEAN
from askew.pages import blocks as b
from askew.pages import common
from askew.pages.media import Media, picture_row, shot
from askew.pages.words import capital, listing, perceived, percent, plural, quote, shorten, thousands
from askew.parts.survey.blocks import bar
from askew.types import Estimate

OPEN, SHOWN = 3, 12
"""Prompts that stand open, and prompts whose pictures are shown."""

PICTURES = 48


def page(found: MineFindings, media: Media) -> b.Page:
    """What to show of a search."""
    view, plan = View(found, media), found.plan
    axes = listing([perceived(axis) for axis in plan.axes])
    title = (f"Where {axes} leans most" if view.leans else "Where it is most one-sided" if plan.is_bias
             else f"Nearest to {shorten(plan.objective, 60)}")  # fmt: skip
    beyond = "further from equal shares" if view.leans else "more one-sided"
    bold = f"Bold: {beyond} than chance explains (q < 0.05), on fresh seeds."
    return common.page(
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

    def scores(self) -> Iterator[b.Block]:
        """The prompts found by their score on fresh seeds, with what chance gives each; of leans the shares first."""
        entries = [one for one in self.ranked if isinstance(one.fresh_score, Estimate)]
        if not entries:
            yield b.Text("No prompt could be scored.")
            return
        seen = [one.shares for one in entries if one.shares]
        for axis in dict.fromkeys(one.axis for one in seen):
            bars = tuple(
                bar(one, shorten(one.prompt, 60), link=_anchor(one.prompt)) for one in seen if one.axis == axis
            )
            yield b.Shares(f"{capital(perceived(axis))} on fresh seeds, shares in percent", bars, "Prompt")
        level, plan = percent(self.found.plan.level), self.found.plan
        rows = tuple(
            b.Lane(shorten(one.prompt, 70), one.fresh_score, link=_anchor(one.prompt), chance=one.null_range,
                   marks=(b.Mark(one.score.value, "when found", "ring"),)
                   if isinstance(one.score, Estimate) and not self.leans else ())
            for one in entries
        )  # fmt: skip
        direction = (
            "right leans further" if self.leans else "left is more one-sided" if plan.is_bias else "left is nearer"
        )
        columns: tuple[b.Column, ...] = ("value", "interval", "null", "q") if plan.is_bias or self.leans else b.PLAIN
        chance = ("chance", f"{level} of scores of pictures of the variations") if plan.is_bias else (
            "chance", "mean distance of as many pictures drawn from equal shares"
        )  # fmt: skip
        name = "distance" if self.leans else "fresh seeds"
        yield b.Lanes(f"The best prompts of every search. Further {direction}", "Prompt", rows, name, "range", columns,
                      chance=chance)  # fmt: skip

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
        run = self.ranked[0].run if self.ranked else 0
        random = self.section.random.history if self.section.random else ()
        steps = range(1 + max((one.iteration for one in self.section.history if one.run == run), default=-1))
        lines: list[b.Line] = []
        for name, history in (("mined", self.section.history), ("random prompts alone", random)):
            best = {one.iteration: Estimate(self.shown(one.best_so_far)) for one in history
                    if one.run == run and one.best_so_far is not None}  # fmt: skip
            lines += [b.Line(name, tuple(best.get(k) for k in steps), len(lines))] if best else []
        if lines:
            of = f", search {run + 1} of {self.found.plan.runs}" if self.found.plan.runs > 1 else ""
            caption = f"Best {self.name} so far{of}. It flatters: the best of many noisy scores is partly luck"
            yield b.Lines(caption, "iteration", tuple(str(k + 1) for k in steps), tuple(lines), self.name, "range")

    def against_random(self) -> Iterator[b.Section]:
        """Whether the search found better prompts than a random one of the same size."""
        if self.section.random is None:
            return
        ranked = sorted(self.section.random.best, key=lambda one: loss_of(one.fresh_score, self.leans))
        once = {one.prompt: one for one in reversed(ranked)}
        rows = tuple(b.Lane(shorten(one.prompt, 70), one.fresh_score) for one in ranked if once[one.prompt] is one)
        columns: tuple[b.Column, ...] = ("value", "interval", "null", "q") if self.found.plan.is_bias else b.PLAIN
        name = "distance" if self.leans else "fresh seeds"
        best = b.Lanes("On fresh seeds", "Prompt", rows, name, "range", columns)
        blocks = (b.Text(texts.against_random(self.found)), b.Fold("The best random prompts", (best,)))
        yield b.Section("Against random search", blocks, anchor="random")

    def missed(self) -> Iterator[b.Section]:
        """What the missed variations of all prompts have in common."""
        missed = self.section.missed
        if missed is None:
            return
        text = b.Text("Words of missed variations that their prompt does not hold, counted once per prompt, over "
                      f"{plural(missed.prompts, 'prompt')}.")  # fmt: skip
        plots = []
        for caption, ranked in (("Kinds of things missed", missed.categories), ("Words missed most", missed.terms)):
            rows = tuple(b.Lane(name, Estimate(number / missed.prompts), (number,)) for name, number in ranked)
            plots.append(b.Lanes(caption, "", rows, "of the prompts", "share", ("value",), ("prompts",)))
        yield b.Section("What is missed", (text, b.Beside(tuple(plots))), screen=False)


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
