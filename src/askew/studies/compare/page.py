"""The page of `askew compare`: what was seen in every run, where they differ, and the pictures beside each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from string import ascii_uppercase

from askew.findings import PictureSet
from askew.methods.audit.findings import AuditResult
from askew.pages import blocks as b
from askew.pages import skeleton
from askew.pages.media import allowance, picture_row
from askew.pages.skeleton import Gap
from askew.pages.words import axis_label, capital, plural, quote, reads_appearance, set_label, shorten
from askew.parts.survey import blocks as survey
from askew.parts.survey.words import exceeds_chance
from askew.studies.compare import words as texts
from askew.studies.compare.findings import OF_SETS, Change, Difference, Key, Pair, changes, key, own_scores
from askew.studies.compare.result import Comparison
from askew.types import Estimate

Place = tuple[str, str]
"""A prompt and the name of one of its sets."""

BARS, ROWS, FIRST = 16, 12, 12
"""Bars, rows of a pair of runs, and pictures of a run at the head; the rest is folded."""


def page(found: Comparison) -> b.Page:
    """What to show of a comparison."""
    view = View(found)
    prompts = list(dict.fromkeys(entry.prompt for entry in found.entries))
    counterfactuals = any(entry.score not in OF_SETS for entry in found.entries)
    plan = next(iter(found.runs.values())).plan
    return b.Page(
        kicker=f"askew comparison of {len(found.runs)} runs",
        title=f"“{prompts[0]}”" if len(prompts) == 1 else plural(len(prompts), "prompt"),
        answer=texts.pair_sentence(view.pairs[0], view.changes[view.pairs[0]], view.own),
        facts=tuple((view.letter(name), view.fact(name, run)) for name, run in found.runs.items()),
        sections=(
            *view.seen(), b.Section("Where they differ", tuple(view.differences())), *view.pictures(),
            b.Section("Each prompt and axis", view.each(), screen=False),
            skeleton.missing_section(view.gaps(prompts)),
            texts.reading(view.paired, counterfactuals, plan.level),
            b.Section("Runs", tuple(
                b.Fold(f"{view.letter(name)}: {shorten(name, 80)}", skeleton.provenance(run.found))
                for name, run in found.runs.items()
            ), screen=False),
        ),
        warnings=tuple(found.warnings),
        notes=("Bold: beyond chance (q < 0.05). Attributes are perceived, and instruments err.",
               "An interval is of one difference alone; q allows for all that were tested together."),
        version=next(iter(found.runs.values())).found.askew,
    )  # fmt: skip


def _label(entry: Difference) -> str:
    name = capital(axis_label(entry.axis))
    return name if entry.value is None else f"{name}: {shorten(entry.value, 40)}"


@dataclass(frozen=True)
class View:
    """A comparison, looked up by pair, prompt, set and axis."""

    comparison: Comparison

    @cached_property
    def pairs(self) -> list[Pair]:
        """Every two runs that were compared, in order."""
        return list(dict.fromkeys(entry.runs for entry in self.comparison.entries))

    @cached_property
    def changes(self) -> Mapping[Pair, list[Change]]:
        """What differs between every two runs: beyond chance first, then by size."""
        return {pair: changes(self.comparison.entries, pair) for pair in self.pairs}

    @cached_property
    def places(self) -> dict[Place, list[str]]:
        """By prompt and set its axes, those that differ most first."""
        order = sorted(
            (rank, change.prompt, change.set, change.axis)
            for found in self.changes.values()
            for rank, change in enumerate(found)
        )
        places: dict[Place, list[str]] = {}
        for _, prompt, name, axis in order:
            axes = places.setdefault((prompt, name), [])
            axes += [axis] if axis not in axes else []
        return places

    @cached_property
    def paired(self) -> bool:
        """Whether pictures of different runs belong together: some have the same seed."""
        seeds = [
            {(one.text, seed) for one in run.found.sets for seed in one.seeds if seed is not None}
            for run in self.comparison.runs.values()
        ]
        return bool(set.intersection(*seeds))

    @cached_property
    def _own(self) -> dict[str, Mapping[Key, Estimate]]:
        return {name: own_scores(run.found) for name, run in self.comparison.runs.items()}

    def own(self, run: str, entry: Difference) -> Estimate | None:
        """A run's own score, of which the entry is a difference."""
        return self._own[run].get(key(entry))

    def letter(self, name: str) -> str:
        """The letter that stands for a run in columns."""
        return ascii_uppercase[list(self.comparison.runs).index(name)]

    def less(self, pair: Pair) -> str:
        """Which difference a pair is: "B − A"."""
        return f"{self.letter(pair[1])} − {self.letter(pair[0])}"

    def fact(self, name: str, run: AuditResult) -> str:
        """A run's name, model and settings where the name does not tell them, and its folder."""
        model, everyone = run.found.model, [other.found.model.settings for other in self.comparison.runs.values()]
        told = (model.name, *(f"{setting}={value}" for setting, value in model.settings.items()
                              if any(other.get(setting) != value for other in everyone)))  # fmt: skip
        return shorten(", ".join([name, *(one for one in told if one not in name), str(run.folder)]), 240)

    def seen(self) -> Iterator[b.Section]:
        """What every run shows: a group of bars an axis, of several sets an axis and set."""
        groups = [[*self._bars(place, axis)] for place, axes in self.places.items() for axis in axes]
        most = len([*chain(*groups[: max(1, BARS // len(self.comparison.runs))])])
        caption = "Shares in percent, a bar a run; what differs most first"
        if bars := [*chain(*groups)]:
            shown = survey.folded(caption, bars, "Axis", most, "The shares that differ less")
            yield b.Section("What was seen", tuple(shown))

    def _bars(self, place: Place, axis: str) -> Iterator[b.Bar]:
        where = f", {self._where(place)}" if len(self.places) > 1 else ""
        for k, (name, run) in enumerate(self.comparison.runs.items()):
            for entry in [s for s in run.found.shares if (s.prompt, s.set, s.axis) == (*place, axis)][:1]:
                yield survey.bar(entry, f"{self.letter(name)}: {shorten(name, 40)}",
                                 f"{capital(axis_label(axis))}{where}", k, _anchor(place, axis))  # fmt: skip

    def _where(self, place: Place) -> str:
        prompt, name = place
        return quote(prompt, 50) if name == "initial" else f"{quote(prompt, 50)}, {set_label(name)}"

    def differences(self) -> Iterator[b.Block]:
        """By pair of runs the scores that differ most."""
        for pair in self.pairs:
            found = self.changes[pair]
            blocks = [*self._pair(pair, found[:ROWS])]
            if found[ROWS:]:
                blocks.append(b.Fold("The smaller differences", tuple(self._pair(pair, found[ROWS:]))))
            if len(self.pairs) == 1:
                yield from blocks
                continue
            first, second = (f"{shorten(name, 60)} ({self.letter(name)})" for name in pair)
            told = [] if pair == self.pairs[0] else [b.Text(texts.pair_sentence(pair, found, self.own))]
            yield b.Section(f"{second} less {first}", (*told, *blocks))

    def _pair(self, pair: Pair, found: Sequence[Change]) -> Iterator[b.Block]:
        """By how much the second run is more one-sided, and on each axis the value whose share differs most."""
        leans, shares = ([e for change in found if (e := getattr(change, name))] for name in ("lean", "share"))
        second = self.letter(pair[1])
        if leans:
            what = "MAD" if leans[0].score == "mad" else "distance of the shares from the ideal"
            caption = f"Difference in {what}: left of zero {second} is less one-sided, right of zero more"
            yield self._lanes(caption, leans, pair)
        if shares:
            caption = "On each axis the value whose share differs most, in percentage points"
            yield self._lanes(caption, shares, pair)

    def _lanes(
        self, caption: str, entries: Sequence[Difference], pair: Pair, label: Callable[[Difference], str] = _label
    ) -> b.Lanes:
        share = entries[0].score == "share"
        rows = [
            b.Lane(label(e), e.difference, tuple(texts.own_number(self.own(run, e), share) for run in pair),
                   group=self._where((e.prompt, e.set or "initial")) if len(self.places) > 1 else "",
                   link=_anchor((e.prompt, e.set or "initial"), e.axis), strong=self._strong(e))
            for e in entries
        ]  # fmt: skip
        return b.Lanes(caption, "Axis", tuple(rows), "points" if share else self.less(pair),
                       "points" if share else "signed", b.DIFFERENCE, tuple(map(self.letter, pair)),
                       interval="interval for the true difference")  # fmt: skip

    def _strong(self, entry: Difference) -> bool:
        """A score stands out only where the runs differ on its axis."""
        own = (one for one in self.changes[entry.runs] if (one.prompt, one.axis) == (entry.prompt, entry.axis))
        differs = any(one.differs for one in own if one.set == (entry.set or "initial")) or not entry.of_prompt
        return differs and exceeds_chance(entry.difference) is True

    def pictures(self) -> Iterator[b.Section]:
        """The first pictures of the set that differs most, of every run."""
        if place := next(iter(self.places), None):
            shown = self._pictures(place, FIRST)
            found = shown if shown.rows else b.Text("There are no pictures.")
            yield b.Section("The pictures", (found,), screen=False)

    def each(self) -> tuple[b.Block, ...]:
        """All pictures and all axes of every set of a prompt, folded where there are several."""
        sets = [one for run in self.comparison.runs.values() for one in run.found.sets]
        most, _ = allowance(sum(one.axis is None for one in sets), sum(one.axis is not None for one in sets))
        found: dict[Place, tuple[b.Block, ...]] = {}
        for place, axes in self.places.items():
            pictures = self._pictures(place, most)
            more = [b.Fold("More pictures", (pictures,))] if pictures.rows else []
            found[place] = (*more, *(self._axis(place, axis) for axis in axes))
        if len(found) == 1:
            return next(iter(found.values()))
        return tuple(b.Fold(self._where(place), blocks) for place, blocks in found.items())

    def _pictures(self, place: Place, most: int) -> b.Pictures:
        """A set in every run; pictures under each other where they come from the same seeds."""
        prompt, name = place
        axis, _, value = (None, "", None) if name == "initial" else name.partition(": ")
        found: list[tuple[int, str, PictureSet]] = [
            (k, run, one)
            for k, (run, own) in enumerate(self.comparison.runs.items())
            for one in own.found.sets
            if (one.prompt, one.axis, one.value) == (prompt, axis, value) and one.pictures
        ]
        rows = [picture_row(self.comparison.runs[run], one.pictures, run, most, series=k) for k, run, one in found]
        seeds = [{*some} - {None} for some in zip(*(one.seeds for _, _, one in found), strict=False)]
        aligned = any(seeds) and all(len(some) <= 1 for some in seeds)
        return b.Pictures("", tuple(rows), aligned)

    def _axis(self, place: Place, axis: str) -> b.Fold:
        """All of one axis of a set: what is said of it, and every value's difference beside the runs' own scores."""
        prompt, name = place
        blocks: list[b.Block] = []
        differs = False
        for pair in self.pairs:
            for one in self.changes[pair]:
                if (one.prompt, one.set, one.axis) == (prompt, name, axis):
                    differs = differs or one.differs
                    told = texts.change_sentence(one, self.letter(pair[0]), self.letter(pair[1]), self.own)
                    blocks.append(b.Text(told, lead=f"{self.less(pair)}:" if len(self.pairs) > 1 else ""))
            own = [e for e in self.comparison.entries if (e.runs, e.prompt, e.axis) == (pair, prompt, axis)]
            shares = [e for e in own if e.score == "share" and e.set == name]
            how = "Perceived shares" if reads_appearance(axis) else "Shares seen"
            kinds = [(f"{how} in {set_label(name)}, read by {shorten(reader, 60)}, in percentage points",
                      [e for e in shares if e.instrument == reader])
                     for reader in dict.fromkeys(e.instrument for e in shares)]  # fmt: skip
            others = [e for e in own if e.score != "share" and (e.set or "initial") == name]
            kinds.append((f"Scores of {axis_label(axis)}", others))
            blocks += [self._lanes(caption, some, pair, texts.score_label) for caption, some in kinds if some]
        verdict = "differs beyond chance" if differs else "no difference shown"
        return b.Fold(f"{capital(axis_label(axis))}: {verdict}", tuple(blocks), anchor=_anchor(place, axis))

    def gaps(self, prompts: Sequence[str]) -> list[Gap]:
        """What is missing in every run, of the prompts that were compared."""
        found: list[Gap] = []
        for name, run in self.comparison.runs.items():
            sets = skeleton.picture_gaps([one for one in run.found.sets if one.prompt in prompts])
            answers = survey.gaps(one for one in run.found.shares if one.prompt in prompts)
            found += [replace(gap, what=f"{self.letter(name)}: {gap.what}") for gap in (*sets, *answers)]
        return found


def _anchor(place: Place, axis: str) -> str:
    return f"{place[0]} {place[1]} {axis}"
