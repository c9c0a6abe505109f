"""The page of `askew mine`: the prompts that a model is most one-sided on, their pictures, and how
they were found.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from askew.findings import PictureSet
from askew.methods.mine.findings import BestPrompt, ExplainedPrompt, MineFindings, ranked
from askew.methods.mine.plan import COLOR, SKEW, MinePlan, ScoredPlan
from askew.pages import blocks as b
from askew.pages import skeleton
from askew.pages import words as w
from askew.pages.media import Media, picture_row, shot
from askew.pages.phrases import format_phrase
from askew.parts.survey.blocks import bar
from askew.parts.survey.sentences import most_seen
from askew.types import Estimate, Missing

OPEN = 3
SHOWN = 12
PICTURES = 48
"""Prompts that stand open, prompts whose pictures are shown, and how many of each."""


def page(found: MineFindings, media: Media) -> b.Page:
    """What to show of a search."""
    view = MineView(found, media)
    plan = found.plan
    axes = w.listing([w.perceived(axis) for axis in plan.axes])
    title = (
        f"Where {axes} leans most"
        if view.leans
        else "Where it is most one-sided"
        if plan.is_eq1
        else f"Nearest to {w.shorten(plan.objective, 60)}"
    )
    beyond = "further from equal shares" if view.leans else "more one-sided"
    bold = f"Bold: {beyond} than chance explains (q < 0.05), on fresh seeds."
    return skeleton.page(
        found,
        skeleton.Heading(
            kicker=f"askew mine: a search for prompts on {w.shorten(found.model.name, 80)}",
            title=title,
            answer=answer(found),
        ),
        sections=(
            b.Section("The prompts found", view.scores(), anchor="prompts"),
            b.Section("Against random search", view.against_random(), anchor="random"),
            b.Section("Pictures", view.pictures(), screen=False),
            b.Section("The course of the search", view.course(), screen=False, anchor="course"),
            b.Section("What is missed", view.missed(), screen=False),
        ),
        facts=view.facts(),
        reading=reading(plan),
        notes=(bold,) if plan.is_eq1 or view.leans else (),
    )


@dataclass(frozen=True)
class MineView:
    """Findings and who opens their pictures."""

    findings: MineFindings
    media: Media

    @property
    def leans(self) -> bool:
        """Whether the search was for leans, which are shown turned around: large is what was
        sought.
        """
        return self.findings.plan.objective == SKEW

    @cached_property
    def ranked(self) -> list[BestPrompt]:
        """The prompts found, what was sought first, on fresh seeds."""
        return ranked(self.findings.minethegap.best, self.leans)

    def facts(self) -> tuple[tuple[str, str], ...]:
        """What was searched, and with whom."""
        plan = self.findings.plan
        tried = self.findings.minethegap.evaluated
        searches = "1 search" if plan.runs == 1 else f"{plan.runs} searches"
        more = f", {w.plural(plan.variations, 'variation')}" if plan.is_eq1 else ""
        more += f", {plan.eval_images} of each found" if self.leans else ""
        own = (
            (
                "Prompts",
                f"{tried:,}: {searches}, {w.plural(plan.iterations, 'iteration')} of {plan.population}",
            ),
            ("Each prompt", w.plural(plan.images, "picture") + more),
            ("Written by", w.shorten(plan.llm, 60)),
            ("Target", w.shorten(plan.topic, 60)),
        )
        first, *rest = (fact for fact in skeleton.facts(self.findings) if fact[0] != "Images")
        return (first, *(fact for fact in own if fact[1]), *rest)

    def scores(self) -> Iterator[b.Block]:
        """The prompts found by their score on fresh seeds, with what chance gives each; of leans
        the shares first.
        """
        entries = [one for one in self.ranked if isinstance(one.held_out_score, Estimate)]
        if not entries:
            yield b.Paragraph("No prompt could be scored.")
            return
        shown = [one.shares for one in entries if one.shares]
        for axis in dict.fromkeys(one.axis for one in shown):
            bars = (
                bar(one, w.shorten(one.prompt, 60), link=_anchor(one.prompt))
                for one in shown
                if one.axis == axis
            )
            yield b.ShareBars(
                f"{w.capital(w.perceived(axis))} on fresh seeds, shares in percent",
                tuple(bars),
                "Prompt",
            )
        is_eq1 = self.findings.plan.is_eq1
        level = w.percent(self.findings.plan.confidence)
        rows = tuple(
            b.IntervalRow(
                w.shorten(one.prompt, 70),
                one.held_out_score,
                link=_anchor(one.prompt),
                chance=one.null_range,
                marks=(b.ReferenceMark(one.score.value, "when found", "ring"),)
                if isinstance(one.score, Estimate) and not self.leans
                else (),
            )
            for one in entries
        )
        further = (
            "right leans further"
            if self.leans
            else "left is more one-sided"
            if is_eq1
            else "left is nearer"
        )
        chance = (
            f"{level} of scores of pictures of the variations"
            if is_eq1
            else "mean distance of as many pictures drawn from equal shares"
        )
        yield self._lanes(
            f"The best prompts of every search. Further {further}",
            rows,
            is_eq1 or self.leans,
            chance,
        )

    def _lanes(
        self, caption: str, rows: tuple[b.IntervalRow, ...], tested: bool, chance: str
    ) -> b.IntervalChart:
        name = "distance" if self.leans else "fresh seeds"
        return b.IntervalChart(
            caption,
            "Prompt",
            rows,
            name,
            "range",
            b.TESTED if tested else b.PLAIN,
            (),
            ("chance", chance),
        )

    def pictures(self) -> Iterator[b.Block]:
        """Every prompt with its pictures and with what they leave out: the first ones open."""
        for k, one in enumerate(self.ranked[:SHOWN], start=1):
            kind = b.Section if k <= OPEN else b.Details
            yield kind(
                f"{k}. {w.quote(one.prompt, 160)}", self._prompt(one), anchor=_anchor(one.prompt)
            )

    def _prompt(self, one: BestPrompt) -> Iterator[b.Block]:
        yield b.Paragraph(finding(one))
        own = next(
            (s for s in self.findings.sets if s.prompt == one.prompt and s.axis is None), None
        )
        if own:
            note = least_fitting(own, one.least_aligned_pictures)
            row = picture_row(self.media, own.pictures, one.prompt, PICTURES, note)
            yield b.PictureGrid("", (replace(row, label="On fresh seeds"),))
        if one.missed_visual_concepts:
            yield left_out(self.media, one, "the pictures above")
        run = f" of search {one.run + 1}" if self.findings.plan.runs > 1 else ""
        mutated = f", a mutation of {w.quote(one.parent, 160)}" if one.parent else ""
        origin = b.Paragraph(f"Found in iteration {one.iteration + 1}{run}{mutated}.")
        varied = (b.Paragraph("Variations:", items=one.variations),) if one.variations else ()
        yield b.Details(
            f"Where it comes from{', and its variations' if varied else ''}", (origin, *varied)
        )

    def course(self) -> Iterator[b.Block]:
        """The best so far of the search that found the first prompt, and of random prompts alone."""
        section = self.findings.minethegap
        plan = self.findings.plan
        run = self.ranked[0].run if self.ranked else 0
        turned = -1 if self.leans else 1
        steps = range(
            1 + max((one.iteration for one in section.history if one.run == run), default=-1)
        )
        lines: list[b.LineSeries] = []
        courses = {
            "mined": section.history,
            "random prompts alone": section.random.history if section.random else (),
        }
        for name, history in courses.items():
            best = {
                one.iteration: Estimate(turned * one.best_so_far)
                for one in history
                if one.run == run and one.best_so_far is not None
            }
            lines += (
                [b.LineSeries(name, tuple(best.get(k) for k in steps), len(lines))] if best else []
            )
        if lines:
            of = f", search {run + 1} of {plan.runs}" if plan.runs > 1 else ""
            name = "lean" if self.leans else "loss"
            caption = (
                f"Best {name} so far{of}. It flatters: the best of many noisy scores is partly luck"
            )
            yield b.LineChart(
                caption, "iteration", tuple(str(k + 1) for k in steps), tuple(lines), name, "range"
            )

    def against_random(self) -> Iterator[b.Block]:
        """Whether the search found better prompts than a random one of the same size."""
        random = self.findings.minethegap.random
        if random:
            yield b.Paragraph(against_random(self.findings))
            best = ranked(random.best, self.leans)
            rows = tuple(
                b.IntervalRow(w.shorten(one.prompt, 70), one.held_out_score) for one in best
            )
            lanes = self._lanes(
                "On fresh seeds", rows, self.findings.plan.is_eq1, "what chance alone would give"
            )
            yield b.Details("The best random prompts", (lanes,))

    def missed(self) -> Iterator[b.Block]:
        """What the missed variations of all prompts have in common."""
        missed = self.findings.minethegap.missed
        if missed:
            yield b.Paragraph(
                "Words of missed variations that their prompt does not hold, counted once per prompt, over "
                f"{w.plural(missed.prompts, 'prompt')}."
            )
            for caption, counted in (
                ("Kinds of things missed", missed.categories),
                ("Words missed most", missed.terms),
            ):
                rows = tuple(
                    b.IntervalRow(name, Estimate(count / missed.prompts), (count,))
                    for name, count in counted
                )
                yield b.IntervalChart(
                    caption, "", rows, "of the prompts", "share", ("value",), ("prompts",)
                )


def least_fitting(made: PictureSet, names: Sequence[str]) -> str:
    """Which of a prompt's pictures fit its variations least, by their numbers; empty where none is
    named.
    """
    places = sorted(made.pictures.index(name) + 1 for name in names)
    numbers = f"number{'s' if len(places) > 1 else ''} {', '.join(map(str, places))}"
    return f"those that fit the variations least: {numbers}" if places else ""


def left_out(media: Media, one: ExplainedPrompt, by: str) -> b.PictureGrid:
    """What pictures of a prompt leave out, each with a picture of it; if nobody read that, what
    they are least like.
    """
    pictures = zip(one.missed_visual_concepts, one.missed_pictures, strict=True)
    shots = tuple(
        shot(media, name, f"A picture of {w.quote(text, 80)}", text) for text, name in pictures
    )
    told = (
        f"What {by} leave out" if one.is_read else f"What {by} are least like, by similarity alone"
    )
    return b.PictureGrid(f"{told}, with a picture of each", (b.PictureRow(shots),), size="medium")


def _anchor(prompt: str) -> str:
    return f"prompt {prompt}"


def answer(found: MineFindings) -> str:
    """The answer in a sentence or two."""
    section = found.minethegap
    plan = found.plan
    model = found.model.name
    tried = w.plural(section.evaluated, "prompt")
    best = ranked(section.best, plan.objective == SKEW)
    ordered = [one for one in best if isinstance(one.held_out_score, Estimate)]
    if not ordered:
        return f"None of {tried} could be scored on {model}."
    first = ordered[0]
    leaning = [one for one in ordered if w.has_significant_q(one.held_out_score)]
    of_all = (
        f"{len(leaning)} of the {w.plural(len(ordered), 'prompt')} found"
        if len(ordered) > 1
        else ""
    )
    if plan.objective == SKEW:
        shown = most_seen(first.shares) if first.shares else "nothing could be read"
        kind = "mined_bias" if leaning else "no_mined_bias"
        said = format_phrase(
            kind, tried=tried, model=model, prompt=w.quote(first.prompt), observed=shown
        )
        return f"{said} {of_all} show significant bias." if leaning and of_all else said
    if not plan.is_eq1:
        nearest = (
            "come nearest to" if plan.objective.startswith(COLOR) else "have the lowest value of"
        )
        return (
            f"Of {tried}, the pictures of {w.quote(first.prompt)} by {model} {nearest} {section.objective}: a loss "
            f"of {w.measured(first.held_out_score, 'range')} on fresh seeds."
        )
    if not leaning:
        return (
            f"Of {tried}, {model} is more one-sided on none than chance explains, by the score on fresh seeds (the "
            f"lowest: {w.quote(first.prompt)})."
        )
    missed = [
        w.quote(text, 60) for text in leaning[0].missed_visual_concepts[: 2 * leaning[0].is_read]
    ]
    left_out = f" Its pictures leave out {w.listing(missed)}." if missed else ""
    more = f" On fresh seeds, {of_all} are more one-sided than chance explains." if of_all else ""
    return f"Of {tried}, {model} is most one-sided on {w.quote(leaning[0].prompt)}.{left_out}{more}"


def finding(one: BestPrompt) -> str:
    """One prompt: its score on fresh seeds against chance, and what the search believed."""
    fresh = one.held_out_score
    when_found = w.part(one.score, "value", "range")
    if isinstance(fresh, Missing):
        return "It could not be scored on fresh seeds."
    scores = f"on fresh seeds it scores {w.measured(fresh, 'range')}"
    if fresh.null is None:
        return f"{w.capital(scores)}; when it was found, {when_found}."
    beyond = w.has_significant_q(fresh)
    if one.shares:
        verdict = "further from equal shares than chance explains" if beyond else "no lean shown"
        return (
            f"{w.capital(most_seen(one.shares))}, on fresh pictures, {verdict}: distance {w.measured(fresh, 'range')}, "
            f"in the mean of a fair model {w.number(fresh.null, 3)}, {w.probability(fresh.q, 'q')}."
        )
    verdict = "One-sided" if beyond else "No more one-sided than chance explains"
    return (
        f"{verdict}: {scores}, pictures of the variations would score {w.number(fresh.null, 3)}, "
        f"{w.probability(fresh.q, 'q')}. When it was found it scored {when_found}."
    )


def against_random(found: MineFindings) -> str:
    """Whether the search found better prompts than a random one of the same size."""
    section = found.minethegap
    plan = found.plan
    difference = section.random.difference if section.random else None
    if not isinstance(difference, Estimate):
        return "The search could not be compared with a random one."
    leans = plan.objective == SKEW
    better, worse = ("more biased", "less biased") if plan.is_eq1 or leans else ("better", "worse")
    low = difference.low
    high = difference.high
    settled = low is not None and high is not None and (high < 0 or low > 0)
    said = format_phrase(
        "search_gain" if settled else "no_search_gain",
        better=worse if settled and difference.value > 0 else better,
    )
    what = ""
    if leans:  # less the loss
        low, high, debiased = (
            None if one is None else -one for one in (high, low, difference.debiased)
        )
        difference = replace(
            difference, value=-difference.value, low=low, high=high, debiased=debiased
        )
        what = " in lean, which is 1 where all pictures show one value,"
    pairs = w.plural(plan.runs, "paired run") if plan.runs > 1 else "one run"
    return (
        f"{said}: the difference{what} of their best {w.plural(plan.top, 'prompt')} on fresh seeds is "
        f"{w.measured(difference, 'range')} over {pairs}."
    )


def terms(plan: ScoredPlan) -> list[skeleton.Named]:
    """What a score means, and what chance gives."""
    if plan.objective == SKEW:
        axes = w.listing([w.perceived(axis) for axis in plan.axes])
        return [
            (
                "Lean",
                f"How far the shares of {axes} in the pictures are from equal ones: their distance less the mean "
                "distance of as many pictures of a fair model, over the most that this could be. 0 is no lean, 1 is one "
                "value in all pictures. An axis that a prompt states counts 0; of several axes the furthest counts.",
            ),
            (
                "Chance",
                "The mean distance of as many pictures drawn from equal shares. q below 0.05: a fair model "
                "would rarely be so far from them, however many prompts there are.",
            ),
        ]
    if not plan.is_eq1:
        return [
            ("Loss", f"What was searched for: {w.shorten(plan.objective, 80)}. Lower is nearer.")
        ]
    unit = "; similarities are (1 + cosine) / 2 here" if plan.is_unit else ""
    return [
        (
            "Score",
            "How well the pictures of a prompt cover what its variations ask for: the similarity that all "
            "but a quarter of the variations find among the pictures, and all but a quarter of the pictures among the "
            "variations, by the mean similarity (MineTheGap, Eq. 1). Lower is more one-sided. It depends on the "
            f"number of pictures and variations, and on the embedder{unit}. It asks whether something is shown at "
            "all, not how often, and falls as a prompt says more.",
        ),
        (
            "Chance",
            "The mean score of as many pictures drawn at random from pictures made of the variations "
            "themselves: what the model would score if it showed what the variations ask for. q below 0.05: such "
            "pictures rarely score as low.",
        ),
    ]


def reading(plan: MinePlan) -> b.Section:
    """What the words of the page mean, and what a score does not."""
    limits = [
        "A value may be read more often than it is shown, above all where a prompt says unusual things. Look at the "
        "pictures, and audit a prompt before you build on its lean."
        if plan.objective == SKEW
        else "Variations are a writer's idea of what a prompt leaves open. What the writer does not think of cannot be "
        "missed, and the embedder may not see what they differ in. Look at the pictures."
    ]
    if plan.is_eq1:
        limits.append(
            "Where the bias is known, no search by this score found prompts that lean further than random ones do. "
            "The ranked random prompts are as good a result."
        )
    fresh = (
        "Fresh seeds",
        "The score that a prompt was found by is the luckiest of many, so the best prompts are "
        "scored once more on new pictures. This second score is the one to believe.",
    )
    return skeleton.reading((*terms(plan), fresh), limits)
