"""The page of `askew mine-compare`: every model's scores on every set of prompts, and what tells them apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from askew.methods.mine.page import strip
from askew.methods.mine.words import PERCEIVED, score
from askew.pages import common
from askew.pages.blocks import (
    DIFFERENCE,
    PLAIN,
    Block,
    Fold,
    Lane,
    Lanes,
    Matrix,
    Page,
    Pictures,
    Section,
    Terms,
    Text,
)
from askew.pages.media import Media, picture_row
from askew.pages.words import axis_label, beyond_chance, capital, listing, measured, plural, probability, quote, shorten
from askew.studies.mine_compare.findings import Difference, MiningComparison, MiningComparisonFindings, Rank
from askew.studies.mine_compare.gather import GIVEN
from askew.types import Estimate

PICTURES = 8
"""Of each model for a prompt that is shown."""


def page(found: MiningComparisonFindings, media: Media) -> Page:
    """What to show of a comparison of searches."""
    view = View(found, media)
    return Page(
        kicker="askew mine-compare: searches for prompts compared",
        title=f"What {axis_label(view.vary)} changes" if view.vary else "Whose prompts, whose pictures",
        answer=view.answer(),
        facts=view.facts(),
        sections=(
            Section("Scores", tuple(view.scores())),
            Section("Differences", tuple(view.differences())),
            *view.pictures(), *view.nearness(),
            common.missing_data(found),
            Section("How to read this", view.reading(), screen=False),
            *common.provenance(found),
        ),
        warnings=found.warnings,
        notes=("Lower is more one-sided. Bold: beyond chance (q < 0.05).",),
        detail=view.own(),
        version=found.askew,
    )  # fmt: skip


@dataclass(frozen=True)
class View:
    """Findings, looked up by model and set."""

    found: MiningComparisonFindings
    media: Media

    @property
    def section(self) -> MiningComparison:
        """The scores."""
        return self.found.mining_comparison

    @property
    def vary(self) -> str:
        """The setting that was varied; empty where models are compared."""
        return self.found.plan.vary

    @cached_property
    def models(self) -> list[str]:
        """In the order of the plan: that of a varied setting."""
        return [one.name for one in self.found.plan.conditions]

    @cached_property
    def sets(self) -> list[str]:
        """The sets of prompts, in the order of the runs."""
        return [one.name for one in self.found.plan.sets]

    @cached_property
    def ranking(self) -> list[Rank]:
        """Models: the most one-sided first, a varied setting in the order of its values."""
        entries = {entry.model: entry for entry in self.section.ranking}
        return [entries[name] for name in self.models] if self.vary else list(entries.values())

    @cached_property
    def prompts(self) -> int:
        """Distinct prompts that were scored on each model."""
        return len({prompt.text for one in self.found.plan.sets for prompt in one.prompts})

    def facts(self) -> tuple[tuple[str, str], ...]:
        """What was compared, and by whom."""
        plan = self.found.plan
        models = shorten(listing(list(dict.fromkeys(one.model for one in plan.conditions))), 80)
        rest = (fact for fact in common.facts(self.found) if fact[0] in ("Read by", "Missing", "Run seed"))
        return (
            ("Values" if self.vary else "Models", f"{len(self.models)}: {models}"),
            ("Prompts", f"{self.prompts} in {plural(len(self.sets), 'set')}"),
            ("Each prompt", f"{plural(plan.images, 'picture')} per model, of fresh seeds"),
            *rest,
        )

    def answer(self) -> str:
        """Who is most one-sided, and whether that is settled."""
        ordered = [one for one in self.section.ranking if isinstance(one.score, Estimate)]
        if len(ordered) < 2:
            return "Fewer than two models could be scored, so nothing is compared."
        first, last = ordered[0], ordered[-1]
        return (
            f"Over {plural(self.prompts, 'mined prompt')}, {first.model} is the most one-sided of {len(ordered)}, with "
            f"a mean score of {measured(first.score, 'range')}, and {last.model} the least, with "
            f"{measured(last.score, 'range')}. {self._apart(first.model, last.model)}"
        )

    def _apart(self, first: str, last: str) -> str:
        whole = (one for one in self.section.differences if set(one.models) == {first, last} and not one.mined_for)
        entry = next(whole, None)
        if entry is None or not isinstance(entry.difference, Estimate):
            return "The two could not be compared prompt by prompt."
        size, q = score(abs(entry.difference.value)), probability(entry.difference.q, "q")
        settled = beyond_chance(entry.difference)
        chance = f"more than chance explains ({q})" if settled else "no more than chance explains"
        return f"Prompt by prompt the two differ by {size}, {chance}."

    def own(self) -> str:
        """Whether models score lowest on the prompts mined for them; empty where that cannot be asked."""
        own = {one.condition: one.name for one in self.found.plan.sets if one.condition}
        if self.vary or len(self.sets) < 2 or len(own) < 2:
            return ""
        known = {name: {cell.mined_for: cell.score.value for cell in self.section.matrix
                        if cell.model == name and isinstance(cell.score, Estimate)} for name in own}  # fmt: skip
        asked = {name: of for name, of in known.items() if len(of) == len(self.sets)}
        lowest = [name for name, of in asked.items() if min(of, key=of.__getitem__) == own[name]]
        if not asked:
            return ""
        named = f": {listing(lowest)}" if lowest else ""
        return f"{len(lowest)} of {plural(len(asked), 'model')} score lowest on the prompts mined for them{named}."

    def scores(self) -> Iterator[Block]:
        """Every model's scores: of all prompts, then of those of every set."""
        if not any(isinstance(one.score, Estimate) for one in self.ranking):
            yield Text("No prompt could be scored.")
            return
        heading = self.vary or "Model"
        scores: dict[str, dict[str, float | None]] = {}
        for cell in self.section.matrix:
            scores.setdefault(cell.model, {}).update(cell.prompts)
        rows = tuple(strip(shorten(one.model, 60), one.score, [*scores[one.model].values()]) for one in self.ranking)
        yield Lanes("Scores of all prompts. Further left is more one-sided", heading, rows, "mean", "range", PLAIN,
                    ("prompts",), points="score of one prompt")  # fmt: skip
        if len(self.sets) > 1:
            own = {(one.condition, one.name) for one in self.found.plan.sets}
            cells = [(mined, model, self.section.cell(model, mined)) for mined in self.sets for model in self.models]
            rows = tuple(
                replace(strip(shorten(model, 60), cell.score, [value for _, value in cell.prompts],
                              f"mined for {shorten(mined, 60)}"), strong=(model, mined) in own)
                for mined, model, cell in cells
            )  # fmt: skip
            yield Lanes("Scores of the prompts mined for each. Bold: for the model itself", heading, rows, "mean",
                        "range", PLAIN, ("prompts",), points="score of one prompt")  # fmt: skip

    def differences(self) -> Iterator[Block]:
        """Paired differences over all prompts, then over those of each set; of a varied setting to its first value."""
        caption = "Differences of the mean score over {}, prompt by prompt. Left of 0: the first named is lower"
        shown = [one for one in self.section.differences if not self.vary or one.models[0] == self.models[0]]
        if whole := [one for one in shown if one.mined_for is None]:
            yield _differences(caption.format("all prompts"), whole)
        if len(self.sets) > 1 and whole:
            yield Fold("Over the prompts of each set", tuple(
                _differences(caption.format(f"the prompts mined for {shorten(name, 60)}"),
                             [one for one in shown if one.mined_for == name])
                for name in self.sets
            ))  # fmt: skip

    def pictures(self) -> Iterator[Section]:
        """Of every set the prompt on which the models' scores differ most, with some pictures of each."""
        blocks = [block for name in self.sets for block in self._shown(name)]
        if blocks:
            text = Text("Of every set of prompts the one on which the scores differ most. Pictures below each other "
                        "have the same seed.")  # fmt: skip
            yield Section("Pictures", (text, *blocks), screen=False)

    def _shown(self, mined_for: str) -> Iterator[Pictures]:
        scores: dict[str, dict[str, float]] = {}
        for model in self.models:
            for text, value in self.section.cell(model, mined_for).prompts:
                if value is not None:
                    scores.setdefault(text, {})[model] = value
        several = {text: of for text, of in scores.items() if len(of) > 1}
        if not several:
            return
        prompt = max(several, key=lambda text: max(several[text].values()) - min(several[text].values()))
        of_set = f", mined for {shorten(mined_for, 60)}" if len(self.sets) > 1 else ""
        rows = []
        for model, value in several[prompt].items():
            own = next(one for one in self.found.sets if (one.model, one.prompt) == (model, prompt))
            row = picture_row(self.media, own.pictures, f"{prompt} by {model}", PICTURES)
            rows.append(replace(row, label=shorten(model, 60), note=f"score {score(value)}",
                                series=self.models.index(model)))  # fmt: skip
        yield Pictures(f"{quote(prompt, 160)}{of_set}", tuple(rows), aligned=True)

    def nearness(self) -> Iterator[Section]:
        """How near the texts of the sets are to each other."""
        entries = {(one.of, one.among): one.cosine for one in self.section.similarity}
        names = list(dict.fromkeys(of for of, _ in entries))
        if len(names) < 2:
            return
        matrix = Matrix(
            "How near the prompts of the sets are to each other", "Prompts of", tuple(shorten(n, 40) for n in names),
            tuple((shorten(a, 40), tuple(entries[a, b] for b in names)) for a in names), plot="lanes", diagonal=True,
            note="The mean cosine of a prompt (row) to the nearest of equally many prompts of a set (column); of its "
            "own set, without itself.",
        )  # fmt: skip
        yield Section("The prompts themselves", (Text(self._near()), matrix), screen=False)

    def _near(self) -> str:
        entries = [(one.of, one.among, one.cosine) for one in self.section.similarity]
        known = [(a, b, e.value) for a, b, e in entries if isinstance(e, Estimate)]
        mined = [value for a, b, value in known if GIVEN not in (a, b) and a != b]
        given = [value for a, b, value in known if (a == GIVEN) != (b == GIVEN)]
        sentences = (("a mined prompt finds its nearest neighbour in another mined set at a cosine of", mined),
                     ("between mined and given prompts the nearest are at", given))  # fmt: skip
        said = "; ".join(f"{what} {score(sum(some) / len(some))}" for what, some in sentences if some)
        return f"{capital(said)}."

    def reading(self) -> tuple[Block, ...]:
        """What the words of the page mean, and what a difference does not."""
        which = "values" if self.vary else "models"
        return Terms((
            ("Score", "How well the pictures of a prompt cover what its variations ask for (MineTheGap, Eq. 1). Lower "
             f"is more one-sided. All {which} are held against the variations that a prompt was mined with, on "
             "pictures of the same seeds, which no search has seen."),
            ("Interval", "Where the mean would lie for more prompts that are found in the same way (Student's t). It "
             "is for prompts like these: what a model shows for other prompts, it does not say."),
            ("Difference", "The mean over prompts of one score less the other. q below 0.05: such a difference is rare "
             "if there is none."),
        )), Text("What a difference does not mean:", items=(
            "Prompts that were mined for one model are those on which this one is one-sided. Over all sets together no "
            "model is favoured; over a single set, its own is.",
            "A score also falls if pictures look less like what their prompt asks for. Look at the pictures.",
            PERCEIVED,
        ))  # fmt: skip


def _differences(caption: str, entries: Sequence[Difference]) -> Lanes:
    """Without their numbers of missing, which are no pictures."""
    rows = tuple(
        Lane(f"{shorten(one.models[1], 40)} less {shorten(one.models[0], 40)}",
             replace(e, missing=0) if isinstance(e := one.difference, Estimate) else e)
        for one in entries
    )  # fmt: skip
    return Lanes(
        caption, "Models", rows, "difference", "signed", DIFFERENCE, interval="interval over prompts", digits=3
    )
