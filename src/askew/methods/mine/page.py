"""Page of `askew mine`: the most biased prompts, their images, and the course of the search."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from askew.findings import PictureSet
from askew.methods.mine.findings import (
    BestPrompt,
    ExplainedPrompt,
    Iteration,
    MineFindings,
    ranked,
)
from askew.methods.mine.plan import SKEW, MinePlan
from askew.methods.mine.sentences import (
    answer,
    describe_prompt,
    reading_guide,
    search_difference_sentence,
)
from askew.pages import blocks as b
from askew.pages import skeleton
from askew.pages import words as w
from askew.pages.media import Media, picture_row, shot
from askew.parts.survey.blocks import bar
from askew.parts.survey.shares import SetShares
from askew.types import Estimate

MOST_OPEN = 3
"""Number of prompts whose images are not folded."""

MOST_PROMPTS = 12
"""Number of prompts whose images are shown."""

MOST_IMAGES = 48
"""Number of images shown of each prompt."""


def page(findings: MineFindings, media: Media) -> b.Page:
    """Return the page of a search.

    Parameters
    ----------
    findings
        Findings of the search.
    media
        Run that holds the images.
    """
    view = MineView(findings, media)
    plan = findings.plan
    notes: tuple[str, ...] = ()
    if plan.is_eq1 or view.is_skew:
        notes = ("Bold: significant bias in held-out images (q < 0.05).",)
    return skeleton.page(
        findings,
        skeleton.Heading(
            kicker=f"askew mine: a search for prompts on {w.shorten(findings.model.name, 80)}",
            title=_title(plan),
            answer=answer(findings),
        ),
        sections=(
            b.Section("Best prompts", view.scores(), anchor="prompts"),
            b.Section("Comparison with random search", view.against_random(), anchor="random"),
            b.Section("Images", view.pictures(), screen=False),
            b.Section("Course of the search", view.course(), screen=False, anchor="course"),
            b.Section("Missing details", view.missed(), screen=False),
        ),
        facts=view.facts(),
        reading=reading_guide(plan),
        notes=notes,
    )


def _title(plan: MinePlan) -> str:
    if plan.objective == SKEW:
        axes = w.listing([w.perceived(axis) for axis in plan.axes])
        return f"Prompts with the largest bias of {axes}"
    if plan.is_eq1:
        return "Prompts with the largest bias"
    return f"Prompts with the lowest loss by {w.shorten(plan.objective, 60)}"


@dataclass(frozen=True)
class MineView:
    """Blocks of the page of a search, from its findings and its images."""

    findings: MineFindings
    media: Media

    @property
    def is_skew(self) -> bool:
        """True if the objective is skew. Its losses are shown with the opposite sign."""
        return self.findings.plan.objective == SKEW

    @property
    def has_tests(self) -> bool:
        """True if scores have q-values."""
        return self.is_skew or self.findings.plan.is_eq1

    @cached_property
    def ranked(self) -> list[BestPrompt]:
        """Best prompts, the lowest held-out loss first."""
        return ranked(self.findings.minethegap.best, self.is_skew)

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return the size of the search, and its instruments."""
        plan = self.findings.plan
        evaluated = self.findings.minethegap.evaluated
        searches = w.plural(plan.runs, "search", "searches")
        iterations = w.plural(plan.iterations, "iteration")
        images = w.plural(plan.images, "image")
        if plan.is_eq1:
            images += f", {w.plural(plan.variations, 'variation')}"
        if self.is_skew:
            images += f", {plan.eval_images} held-out images of each best prompt"
        facts = [
            ("Prompts", f"{evaluated:,}: {searches}, {iterations} of {plan.population}"),
            ("Each prompt", images),
            ("Prompt generator", w.shorten(plan.llm, 60)),
        ]
        if plan.topic:
            facts.append(("Topic", w.shorten(plan.topic, 60)))
        first, *others = [fact for fact in skeleton.facts(self.findings) if fact[0] != "Images"]
        return (first, *facts, *others)

    def scores(self) -> Iterator[b.Block]:
        """Yield the held-out scores of the best prompts, after the shares of searches by skew."""
        entries = [prompt for prompt in self.ranked if isinstance(prompt.held_out_score, Estimate)]
        if not entries:
            yield b.Paragraph("No prompt could be scored.")
            return
        shares = [prompt.shares for prompt in entries if prompt.shares]
        for axis in dict.fromkeys(entry.axis for entry in shares):
            yield _share_bars(axis, [entry for entry in shares if entry.axis == axis])
        rows = tuple(self._score_row(prompt) for prompt in entries)
        if self.is_skew:
            direction = "right: more biased"
        elif self.has_tests:
            direction = "left: more biased"
        else:
            direction = "left: closer"
        chance = "mean distance of the same number of images drawn from equal shares"
        if self.findings.plan.is_eq1:
            level = w.percent(self.findings.plan.confidence)
            chance = f"{level} of the scores of images of the variations"
        caption = f"Best prompts of all searches, held-out images ({direction})"
        yield self._intervals(caption, rows, self.has_tests, chance)

    def _score_row(self, prompt: BestPrompt) -> b.IntervalRow:
        marks: tuple[b.ReferenceMark, ...] = ()
        if isinstance(prompt.score, Estimate) and not self.is_skew:
            marks = (b.ReferenceMark(prompt.score.value, "score in the search", "ring"),)
        return b.IntervalRow(
            w.shorten(prompt.prompt, 70),
            prompt.held_out_score,
            link=_anchor(prompt.prompt),
            chance=prompt.null_range,
            marks=marks,
        )

    def _intervals(
        self, caption: str, rows: tuple[b.IntervalRow, ...], tested: bool, chance: str
    ) -> b.IntervalChart:
        return b.IntervalChart(
            caption=caption,
            heading="Prompt",
            rows=rows,
            name="distance" if self.is_skew else "held-out score",
            scale="range",
            columns=b.TESTED if tested else b.PLAIN,
            chance=("chance", chance),
        )

    def pictures(self) -> Iterator[b.Block]:
        """Yield the best prompts with their images, and with details that the images leave out."""
        for number, prompt in enumerate(self.ranked[:MOST_PROMPTS], start=1):
            kind = b.Section if number <= MOST_OPEN else b.Details
            title = f"{number}. {w.quote(prompt.prompt, 160)}"
            yield kind(title, self._prompt(prompt), anchor=_anchor(prompt.prompt))

    def _prompt(self, prompt: BestPrompt) -> Iterator[b.Block]:
        yield b.Paragraph(describe_prompt(prompt))
        for image_set in self.findings.sets:
            if image_set.prompt == prompt.prompt and image_set.axis is None:
                yield self._images(image_set, prompt)
                break
        if prompt.missed_visual_concepts:
            yield missed_details(self.media, prompt, "the images above")
        yield self._origin(prompt)

    def _images(self, image_set: PictureSet, prompt: BestPrompt) -> b.PictureGrid:
        note = least_fitting(image_set, prompt.least_aligned_pictures)
        row = picture_row(self.media, image_set.pictures, prompt.prompt, MOST_IMAGES, note)
        return b.PictureGrid("", (replace(row, label="Held-out images"),))

    def _origin(self, prompt: BestPrompt) -> b.Details:
        """Return the iteration, the parent and the variations of a prompt."""
        origin = f"Written in iteration {prompt.iteration + 1}"
        if self.findings.plan.runs > 1:
            origin += f" of search {prompt.run + 1}"
        if prompt.parent:
            origin += f", a mutation of {w.quote(prompt.parent, 160)}"
        if not prompt.variations:
            return b.Details("Origin", (b.Paragraph(f"{origin}."),))
        variations = b.Paragraph("Variations:", items=prompt.variations)
        return b.Details("Origin and variations", (b.Paragraph(f"{origin}."), variations))

    def course(self) -> Iterator[b.Block]:
        """Yield the best loss so far in the first prompt's search and in its random search."""
        section = self.findings.minethegap
        plan = self.findings.plan
        run = self.ranked[0].run if self.ranked else 0
        iterations = [entry.iteration for entry in section.history if entry.run == run]
        count = 1 + max(iterations, default=-1)
        courses = {"mining": section.history}
        if section.random:
            courses["random search"] = section.random.history
        lines: list[b.LineSeries] = []
        for name, history in courses.items():
            points = self._best_so_far(history, run, count)
            if any(points):
                lines.append(b.LineSeries(name, points, len(lines)))
        if not lines:
            return
        score = "skew" if self.is_skew else "loss"
        search = f", search {run + 1} of {plan.runs}" if plan.runs > 1 else ""
        yield b.LineChart(
            caption=f"Best {score} so far{search}. It is too optimistic: the best of many noisy "
            "scores is low or high by chance",
            heading="iteration",
            steps=tuple(str(number) for number in range(1, count + 1)),
            lines=tuple(lines),
            name=score,
            scale="range",
        )

    def _best_so_far(
        self, history: Sequence[Iteration], run: int, count: int
    ) -> tuple[Estimate | None, ...]:
        """Return the best score up to each iteration of a search."""
        sign = -1 if self.is_skew else 1
        best: dict[int, Estimate] = {}
        for entry in history:
            if entry.run == run and entry.best_so_far is not None:
                best[entry.iteration] = Estimate(sign * entry.best_so_far)
        return tuple(best.get(number) for number in range(count))

    def against_random(self) -> Iterator[b.Block]:
        """Yield the comparison with random search, if there is one."""
        random = self.findings.minethegap.random
        if random is None:
            return
        yield b.Paragraph(search_difference_sentence(self.findings))
        rows = tuple(
            b.IntervalRow(w.shorten(prompt.prompt, 70), prompt.held_out_score)
            for prompt in ranked(random.best, self.is_skew)
        )
        tested = self.findings.plan.is_eq1
        chart = self._intervals("Held-out images", rows, tested, "expected by chance")
        yield b.Details("Best prompts of random search", (chart,))

    def missed(self) -> Iterator[b.Block]:
        """Yield the words and kinds of things that images of the best prompts leave out."""
        missed = self.findings.minethegap.missed
        if missed is None:
            return
        yield b.Paragraph(
            "Words of missing variations. Words of the prompt do not count. A word "
            f"counts once per prompt, over {w.plural(missed.prompts, 'prompt')}."
        )
        captions = {"Missing kinds of things": missed.categories, "Missing words": missed.terms}
        for caption, counts in captions.items():
            rows = tuple(
                b.IntervalRow(name, Estimate(count / missed.prompts), (count,))
                for name, count in counts
            )
            yield b.IntervalChart(
                caption, "", rows, "of the prompts", "share", ("value",), ("prompts",)
            )


def _share_bars(axis: str, entries: Sequence[SetShares]) -> b.ShareBars:
    """Return the shares of prompts on an axis as bars."""
    bars = [
        bar(entry, w.shorten(entry.prompt, 60), link=_anchor(entry.prompt)) for entry in entries
    ]
    caption = f"{w.capital(w.perceived(axis))} in held-out images, shares in percent"
    return b.ShareBars(caption, tuple(bars), "Prompt")


def least_fitting(image_set: PictureSet, names: Sequence[str]) -> str:
    """Return the numbers of the images that fit the variations least; empty if there are none.

    Parameters
    ----------
    image_set
        Images of a prompt.
    names
        Ids of the images that fit least.
    """
    if not names:
        return ""
    numbers = sorted(image_set.pictures.index(name) + 1 for name in names)
    noun = "numbers" if len(numbers) > 1 else "number"
    return f"least similar to the variations: {noun} {', '.join(map(str, numbers))}"


def missed_details(media: Media, prompt: ExplainedPrompt, images: str) -> b.PictureGrid:
    """Return the variations that images of a prompt leave out, each with an example image.

    Parameters
    ----------
    media
        Run that holds the images.
    prompt
        The prompt.
    images
        Name of the images, such as "the images above".
    """
    pictures = zip(prompt.missed_visual_concepts, prompt.missed_pictures, strict=True)
    shots = tuple(
        shot(media, name, f"An image of {w.quote(text, 80)}", text) for text, name in pictures
    )
    caption = f"Variations that are least similar to {images}, with an image of each"
    if prompt.is_read:
        caption = f"Details that {images} leave out, with an image of each"
    return b.PictureGrid(caption, (b.PictureRow(shots),), size="medium")


def _anchor(prompt: str) -> str:
    return f"prompt {prompt}"
