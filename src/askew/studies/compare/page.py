"""Page of `askew compare`, which shows the shares in all runs, their differences, and images."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from string import ascii_uppercase

from askew.methods.audit.findings import AuditResult
from askew.pages import blocks as b
from askew.pages import skeleton, words
from askew.pages.media import allowance, picture_row
from askew.pages.words import axis_label, capital, quote, set_label, shorten
from askew.parts.survey import blocks as survey
from askew.parts.survey.following import request_blocks
from askew.stats.significance import is_significant
from askew.studies.compare.findings import (
    ALL_PROMPTS,
    RUN_DISTANCE,
    SET_SCORES,
    AxisDifference,
    ComparisonFindings,
    RunPair,
    ScoreDifference,
    ScoreKey,
    axis_differences,
    run_scores,
    score_key,
)
from askew.studies.compare.first_screen import first_screen, image_set_of
from askew.studies.compare.sentences import (
    SCORE_NAMES,
    axis_sentence,
    compared_scores,
    comparison_sentences,
    pair_sentence,
)
from askew.types import Estimate, grouped

Place = tuple[str, str]
"""A prompt and the name of one of its image sets."""

BARS = 16
"""Maximum number of bars at the top of the page. Further bars are collapsed."""

ROWS = 12
"""Maximum number of axes per pair of runs at the top of the page.

Further axes are collapsed.
"""

IMAGES = 12
"""Maximum number of images per run at the top of the page.

Further images are collapsed.
"""


def page(comparison: ComparisonFindings) -> b.Page:
    """Return the page of a comparison."""
    view = ComparisonView(comparison)
    runs = comparison.runs
    prompts = view.prompts
    pair = view.main_pair
    title = f"“{prompts[0]}”" if len(prompts) == 1 else words.plural(len(prompts), "prompt")
    claim, evidence = comparison_sentences(list(runs), view.by_pair, pair, view.run_score)
    return b.Page(
        kicker=f"askew compare: {len(runs)} runs",
        title=title,
        answer=claim,
        detail=evidence,
        meta=skeleton.meta_line(
            f"{view.letter(name)}: {view.fact(name, run)}" for name, run in runs.items()
        ),
        first=first_screen(
            {name: runs[name] for name in pair},
            {name: view.letter(name) for name in pair},
            view.by_pair[pair],
            view.tests,
            more=view.mean_biases(),
        ),
        sections=_sections(view),
        warnings=tuple(comparison.warnings),
        notes=(
            "Bold: significant (q < 0.05). Attributes are perceived; instruments make errors.",
            "Intervals are not corrected for multiple testing; q-values are.",
        ),
        version=next(iter(runs.values())).findings.askew,
        limits=skeleton.HOLDS,
    )


def _sections(view: "ComparisonView") -> tuple[b.Section, ...]:
    first_images = [view.pictures(place, IMAGES) for place in view.of_prompts[:1]]
    has_concepts = any(entry.score not in SET_SCORES for entry in view.comparison.entries)
    runs = [
        b.Details(f"{view.letter(name)}: {shorten(name, 80)}", skeleton.provenance(run.findings))
        for name, run in view.comparison.runs.items()
    ]
    return (
        b.Section("Differences", view.differences()),
        b.Section("Requested values", view.requests()),
        b.Section("Shares", view.shares(), screen=False),
        b.Section("Images", first_images, screen=False),
        b.Section("Each prompt and axis", view.details(), screen=False),
        skeleton.missing_section(view.gaps()),
        reading(view.paired, has_concepts, len(view.of_prompts) < len(view.places)),
        b.Section("Runs", runs, screen=False),
    )


@dataclass(frozen=True)
class ComparisonView:
    """A comparison, grouped by pair of runs, prompt, image set and axis.

    Attributes
    ----------
    comparison
        The findings.
    """

    comparison: ComparisonFindings

    @property
    def prompts(self) -> list[str]:
        """The compared prompts."""
        entries = self.comparison.entries
        return list(dict.fromkeys(entry.prompt for entry in entries if entry.prompts is None))

    @cached_property
    def by_pair(self) -> Mapping[RunPair, list[AxisDifference]]:
        """Differences for each pair of runs. See `axis_differences`."""
        entries = self.comparison.entries
        pairs = dict.fromkeys(entry.runs for entry in entries)
        return {pair: axis_differences(entries, pair) for pair in pairs}

    @cached_property
    def main_pair(self) -> RunPair:
        """The pair of runs with the largest difference. Significant differences have priority."""
        return min(self.by_pair, key=lambda pair: _largest_first(self.by_pair[pair]))

    @property
    def tests(self) -> int:
        """Number of tests in the family of verdicts."""
        pairs = self.by_pair.values()
        return sum(difference.in_family for of_pair in pairs for difference in of_pair)

    @property
    def pairs(self) -> list[RunPair]:
        """All pairs of runs."""
        return list(self.by_pair)

    @cached_property
    def places(self) -> dict[Place, list[str]]:
        """Axes on which the runs are compared, for each prompt and image set.

        Axes with the largest differences come first.
        """
        ranks = []
        for differences in self.by_pair.values():
            for rank, difference in enumerate(differences):
                ranks.append((rank, *difference.place, difference.axis))
        places: dict[Place, dict[str, None]] = {}
        for _, prompt, set_name, axis in sorted(ranks):
            places.setdefault((prompt, set_name), {})[axis] = None
        return {place: list(axes) for place, axes in places.items()}

    @property
    def of_prompts(self) -> list[Place]:
        """Image sets of single prompts. The page can show images only for single prompts."""
        return [place for place in self.places if place[0] != ALL_PROMPTS]

    @cached_property
    def paired(self) -> bool:
        """True if the images of all runs can be paired by prompt and seed."""
        seeds_of_runs = []
        for run in self.comparison.runs.values():
            seeds = [(of_set.text, seed) for of_set in run.findings.sets for seed in of_set.seeds]
            seeds_of_runs.append({(text, seed) for text, seed in seeds if seed is not None})
        return bool(set.intersection(*seeds_of_runs))

    @cached_property
    def _run_scores(self) -> Mapping[str, Mapping[ScoreKey, Estimate]]:
        return {name: run_scores(run.findings) for name, run in self.comparison.runs.items()}

    def run_score(self, run: str, entry: ScoreDifference) -> Estimate | None:
        """Return a run's score that was used to compute a difference; None if it is unknown."""
        if entry.of_runs:
            return entry.of_runs[entry.runs.index(run)]
        return self._run_scores[run].get(score_key(entry))

    def letter(self, name: str) -> str:
        """Return the letter that represents a run on the page."""
        return ascii_uppercase[list(self.comparison.runs).index(name)]

    def minus(self, pair: RunPair) -> str:
        """Return the difference between two runs as a pair of letters, such as "B − A"."""
        return f"{self.letter(pair[1])} − {self.letter(pair[0])}"

    def fact(self, name: str, run: AuditResult) -> str:
        """Return a run's name and folder, and its model and settings unless the name contains them.

        The text contains only the settings that differ between the runs.
        """
        model = run.findings.model
        all_settings = [other.findings.model.settings for other in self.comparison.runs.values()]
        parts = [model.name]
        for setting, value in model.settings.items():
            if any(settings.get(setting) != value for settings in all_settings):
                parts.append(f"{setting}={value}")
        missing_parts = [part for part in parts if part not in name]
        return shorten(", ".join([name, *missing_parts, str(run.folder)]), 240)

    def gaps(self) -> list[skeleton.MissingNote]:
        """Return notes about the images and labels that are missing from each run."""
        prompts = self.prompts
        notes = []
        for name, run in self.comparison.runs.items():
            sets = [image_set for image_set in run.findings.sets if image_set.prompt in prompts]
            shares = [entry for entry in run.findings.shares if entry.prompt in prompts]
            for gap in (*skeleton.picture_gaps(sets), *survey.gaps(shares)):
                notes.append(replace(gap, name=f"{self.letter(name)}: {gap.name}"))
        return notes

    def requests(self) -> Iterator[b.Block]:
        """Yield the values that each run's mitigation requests, and how many images show them."""
        for name, run in self.comparison.runs.items():
            yield from request_blocks(run.findings.following, self.letter(name))

    def shares(self) -> Iterator[b.Block]:
        """Yield a chart of all runs' shares, grouped by axis and image set."""
        groups: list[b.ValueGroup] = []
        for place, axes in self.places.items():
            for axis in axes:
                groups += self._groups(place, axis)
        count = len(self.comparison.runs)
        most = max(1, BARS // count) * count
        caption = "Shares in each run, largest difference first"
        return survey.folded(caption, groups, "Axis", most, "Shares with smaller differences")

    def _groups(self, place: Place, axis: str) -> Iterator[b.ValueGroup]:
        """Yield each run's shares on an axis of an image set, as labeled by the first instrument.

        The groups omit the runs' own verdicts, because the comparison has a separate family of
        tests.
        """
        group = capital(axis_label(axis))
        if len(self.places) > 1:
            group = f"{group}, {_place_label(place)}"
        for name, run in self.comparison.runs.items():
            label = f"{self.letter(name)}: {shorten(name, 40)}"
            for entry in run.findings.shares:
                if (entry.prompt, entry.set) == place and entry.axis == axis:
                    shares = survey.value_group(entry, label, group, _anchor(place, axis))
                    yield replace(shares, verdict="", significant=False)
                    break

    def differences(self) -> Iterator[b.Block]:
        """Yield the largest differences for each pair of runs.

        Smaller differences are collapsed.
        """
        for pair, differences in self.by_pair.items():
            folded = b.Details("Smaller differences", self._charts(pair, differences[ROWS:]))
            blocks: list[b.Block] = [*self._charts(pair, differences[:ROWS]), folded]
            if len(self.by_pair) > 1:
                sentence = pair_sentence(pair, differences, self.run_score)
                blocks.insert(0, b.Paragraph(sentence))
            if len(self.by_pair) == 1:
                yield from blocks
            else:
                first, second = (f"{shorten(name, 60)} ({self.letter(name)})" for name in pair)
                yield b.Section(f"{second} minus {first}", blocks)

    def mean_biases(self) -> b.Table | None:
        """Return the mean bias of each run on each axis, if there are more than two runs."""
        if len(self.comparison.runs) == 2:
            return None
        names = list(self.comparison.runs)
        entries = [each.bias for each in self.by_pair[self.pairs[0]] if each.bias]
        by_axis = grouped(entries, lambda entry: (entry.score, entry.axis))
        rows = []
        for (score, axis), of_axis in by_axis.items():
            means = [self._mean_score(name, of_axis) for name in names]
            numbers = [words.number(mean) for mean in means]
            rows.append((capital(axis_label(axis)), SCORE_NAMES[score], *numbers))
        return b.Table(
            caption="Mean bias of each run",
            columns=("Axis", "Score", *map(self.letter, names)),
            rows=tuple(rows),
            labels=2,
            note="Mean over the compared image sets. A larger value means more bias. Only the "
            "differences below are tested.",
        )

    def _mean_score(self, run: str, entries: Sequence[ScoreDifference]) -> float | None:
        """Return the mean of a run's compared scores; None if one of the scores is missing."""
        scores = [self.run_score(run, entry) for entry in entries]
        known = [score.mark for score in scores if score is not None]
        if len(known) < len(scores):
            return None
        return fmean(known)

    def _charts(self, pair: RunPair, differences: Sequence[AxisDifference]) -> Iterator[b.Block]:
        """Yield charts of the difference in bias and the largest share difference on each axis."""
        biases = [difference.bias for difference in differences if difference.bias]
        shares = [difference.share for difference in differences if difference.share]
        if biases:
            score = "MAD"
            if biases[0].score == "distance":
                score = "the deviation from the reference"
            second = self.letter(pair[1])
            caption = f"Difference in {score} (negative: {second} is less biased)"
            yield self._chart(caption, biases, pair)
        if shares:
            caption = "Largest difference in a share on each axis, in percentage points"
            yield self._chart(caption, shares, pair)

    def _chart(
        self,
        caption: str,
        entries: Sequence[ScoreDifference],
        pair: RunPair,
        by_score: bool = False,
    ) -> b.IntervalChart:
        """Return a chart of differences whose rows are labeled with axes or with scores."""
        of_shares = entries[0].score == "share"
        rows = [self._row(entry, pair, by_score) for entry in entries]
        tested = any(isinstance(row.score, Estimate) and row.score.q is not None for row in rows)
        return b.IntervalChart(
            caption,
            heading="Axis",
            rows=tuple(rows),
            name="points" if of_shares else self.minus(pair),
            scale="points" if of_shares else "signed",
            columns=b.DIFFERENCE if tested else b.PLAIN,
            more=tuple(map(self.letter, pair)),
        )

    def _row(self, entry: ScoreDifference, pair: RunPair, by_score: bool) -> b.IntervalRow:
        """Return a row of a chart. The row is bold only if the verdict on its axis is significant.

        The row shows a q-value only if the verdict is based on the test of the row's difference.
        """
        place = _place_of(entry)
        difference = self._find(pair, place, entry.axis)
        score = entry.difference
        if isinstance(score, Estimate) and difference and entry != difference.test:
            score = replace(score, p=None, q=None)
        label = SCORE_NAMES[entry.score] if by_score else capital(axis_label(entry.axis))
        if entry.value is not None:
            label += f"{',' if by_score else ':'} {shorten(entry.value, 40)}"
        write = words.percent if entry.score == "share" else words.number
        scores = [self.run_score(run, entry) for run in pair]
        return b.IntervalRow(
            label,
            score,
            more=tuple(write(score.mark if score else None) for score in scores),
            group=_place_label(place) if len(self.places) > 1 else "",
            link=_anchor(place, entry.axis),
            strong=bool(difference and difference.differs and is_significant(entry.difference)),
        )

    def _find(self, pair: RunPair, place: Place, axis: str) -> AxisDifference | None:
        """Return the difference between two runs on an axis of a set; None if there is none."""
        for difference in self.by_pair[pair]:
            if difference.place == place and difference.axis == axis:
                return difference
        return None

    def details(self) -> Iterator[b.Block]:
        """Yield the images and axes of all image sets.

        If there are several image sets, the details of each set are collapsed.
        """
        sets = [
            image_set for run in self.comparison.runs.values() for image_set in run.findings.sets
        ]
        initial = sum(image_set.axis is None for image_set in sets)
        most, _ = allowance(initial, len(sets) - initial)
        for place, axes in self.places.items():
            blocks: list[b.Block] = [self._axis(place, axis) for axis in axes]
            if place in self.of_prompts:
                blocks.insert(0, b.Details("More images", (self.pictures(place, most),)))
            if len(self.places) == 1:
                yield from blocks
            else:
                yield b.Details(_place_label(place), blocks)

    def pictures(self, place: Place, most: int) -> b.PictureGrid:
        """Return the images of each run that belong to an image set.

        Images that have the same seed are aligned.

        Parameters
        ----------
        place
            Prompt and name of the image set.
        most
            Maximum number of images that are shown from each run.
        """
        rows = []
        seeds = []
        for number, (name, run) in enumerate(self.comparison.runs.items()):
            image_set = image_set_of(run, place)
            if image_set is not None:
                rows.append(picture_row(run, image_set.pictures, name, most, series=number))
                seeds.append(image_set.seeds)
        columns = [set(column) - {None} for column in zip(*seeds, strict=False)]
        aligned = any(columns) and all(len(column) <= 1 for column in columns)
        return b.PictureGrid("", tuple(rows), aligned)

    def _axis(self, place: Place, axis: str) -> b.Details:
        """Return the verdict on an axis of an image set, and the differences in all scores."""
        blocks: list[b.Block] = []
        differences = []
        for pair in self.pairs:
            difference = self._find(pair, place, axis)
            if difference is None:
                continue
            differences.append(difference)
            first, second = map(self.letter, pair)
            sentence = axis_sentence(difference, first, second, self.run_score)
            lead = f"{self.minus(pair)}:" if len(self.pairs) > 1 else ""
            blocks += [b.Paragraph(sentence, lead=lead), *self._axis_charts(pair, place, axis)]
        verdict = f"no significant difference (compared by {compared_scores(differences)})"
        if any(difference.differs for difference in differences):
            verdict = "differs significantly"
        summary = f"{capital(axis_label(axis))}: {verdict}"
        return b.Details(summary, blocks, anchor=_anchor(place, axis))

    def _axis_charts(self, pair: RunPair, place: Place, axis: str) -> Iterator[b.IntervalChart]:
        """Yield a chart of share differences for each instrument, and a chart of all other scores."""
        entries = [
            entry
            for entry in self.comparison.entries
            if (entry.runs, _place_of(entry), entry.axis) == (pair, place, axis)
        ]
        shares = [entry for entry in entries if entry.score == "share"]
        kind = "Perceived shares" if words.reads_appearance(axis) else "Shares"
        for instrument in dict.fromkeys(entry.instrument for entry in shares):
            labels = f"labeled by {shorten(instrument, 60)}, in percentage points"
            caption = f"{kind} in {set_label(place[1])}, {labels}"
            of_instrument = [entry for entry in shares if entry.instrument == instrument]
            yield self._chart(caption, of_instrument, pair, by_score=True)
        others = [entry for entry in entries if entry.score not in ("share", RUN_DISTANCE)]
        if others:
            yield self._chart(f"Scores of {axis_label(axis)}", others, pair, by_score=True)


def _largest_first(differences: Sequence[AxisDifference]) -> tuple[bool, float]:
    """Return a sort key that ranks pairs of runs by significance, then by largest difference."""
    keys = ((not difference.differs, -difference.size) for difference in differences)
    return min(keys, default=(True, 1.0))


def _place_of(entry: ScoreDifference) -> Place:
    return entry.prompt, entry.set or "initial"


def _place_label(place: Place) -> str:
    prompt, set_name = place
    label = capital(ALL_PROMPTS) if prompt == ALL_PROMPTS else quote(prompt, 50)
    if set_name == "initial":
        return label
    return f"{label}, {set_label(set_name)}"


def _anchor(place: Place, axis: str) -> str:
    return f"{place[0]} {place[1]} {axis}"


def reading(paired: bool, has_concepts: bool, over_prompts: bool = False) -> b.Section:
    """Return the section that explains how to read a comparison.

    Parameters
    ----------
    paired
        True if images that have the same seed form pairs.
    has_concepts
        True if MAD and CAS are compared.
    over_prompts
        True if the runs are also compared over all prompts.
    """
    difference = (
        "Difference",
        "The bias-corrected score of the second run minus the bias-corrected score of the first "
        "run. On each axis, a single test of the shares decides whether two runs differ. The "
        "tests of all axes are corrected together. The tests of each other score are corrected "
        "separately. The reports of the runs contain their own verdicts.",
    )
    between = (
        SCORE_NAMES[RUN_DISTANCE],
        "The share of images that would have to change their value to make the shares of both runs "
        "equal. On an ordinal axis, a change is weighted by its number of steps.",
    )
    terms = [difference, between]
    if paired:
        seed = (
            "Same seed",
            "Image 7 of a prompt starts from the same seed in all runs. askew compares images "
            "with the same seed pair by pair, so random differences between seeds matter less.",
        )
        terms.insert(0, seed)
    limit = (
        "Less bias is not better in itself. "
        "Which shares are right depends on what the images are used for."
    )
    method = _method_of_pairs() if paired else _method_of_independent_sets()
    if over_prompts:
        method.append(TOGETHER)
    if has_concepts:
        concepts = (
            "askew computes MAD and CAS as in TIBET (Chinchure et al., ECCV 2024), and merges "
            "synonyms across both runs."
        )
        method.append(("MAD and CAS", concepts))
    deviation = (
        "Distance between the shares and the reference in the plan. The default reference is "
        "equal shares for all values."
    )
    method.append((SCORE_NAMES["distance"], deviation))
    return skeleton.reading(terms, limits=(limit,), method=tuple(method), of="difference")


INTERVALS = "askew combines the intervals of both scores (MOVER; for shares, Newcombe's tenth method). {errors}"
P_VALUES = (
    "For shares, p is the mid-p value of {shares}. The test uses Pearson's chi-squared statistic "
    "for the two runs. For other scores, askew uses the same permutations, and p = (1 + "
    "permutations with a difference at least as far from zero) ⁄ (1 + permutations)."
)
Q_VALUES = (
    "q",
    "The tests of all image sets and axes are corrected together (Benjamini-Hochberg). The "
    "q-value of a share is also corrected for the number of values of its axis (Holm), and is "
    "never below the q-value of the axis.",
)

TOGETHER = (
    "All prompts together",
    "If the runs share six or more prompts, askew averages the shares over all prompts, weighted "
    "by each prompt's number of images. Differences in opposite directions on different prompts "
    "cancel out. The permutation test swaps all images of a prompt as a unit.",
)


def _method_of_pairs() -> list[skeleton.Named]:
    errors = "The combined interval accounts for the correlation between paired images."
    p = P_VALUES.format(
        shares="a permutation test that swaps the two images in randomly chosen pairs (McNemar's "
        "test if the axis has two values)",
    )
    return [("Intervals", INTERVALS.format(errors=errors)), ("p", p), Q_VALUES]


def _method_of_independent_sets() -> list[skeleton.Named]:
    errors = "The sets are independent samples."
    p = P_VALUES.format(
        shares="a permutation test that randomly assigns the images to the runs (Fisher's test "
        "if the axis has two values)",
    )
    return [("Intervals", INTERVALS.format(errors=errors)), ("p", p), Q_VALUES]
