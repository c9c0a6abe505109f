"""Results of concept and axis studies: precision and recall of the options that runs propose."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from askew.parts.scoring import or_missing
from askew.people.agreement import ALL, coded_agreement
from askew.people.findings import (
    OptionCount,
    SelectionFindings,
    SelectionScores,
    StudyAnalysis,
)
from askew.people.new_selections import KIND, PROPOSED
from askew.people.raters import StudyAnswers
from askew.people.records import NONE_OF_THESE, AnswerRecord, FrameEntry
from askew.stats.crossed import crossed_rate
from askew.stats.intervals import Floats
from askew.types import Estimate, Missing, grouped

SOCIETAL = "societal"
MOST_GROUPS = 12
"""Maximum number of image sets per run for which scores are computed separately."""

LARGEST_LIST = 60


def selection_analysis(study: StudyAnswers) -> StudyAnalysis:
    """Compute the results of a concept study or an axis study from the raters' answers."""
    lists = _Lists(study)
    codes = np.where(np.isnan(lists.chosen), -1, lists.chosen).astype(np.int64)
    kind = study.folder.plan.kind
    agreement = coded_agreement(study, codes.reshape(len(study.raters), -1), 2, name=kind)
    findings = SelectionFindings(
        scores=tuple(lists.all_scores()),
        options=tuple(lists.option_counts()),
        free_text=tuple(_free_texts(study)),
    )
    return StudyAnalysis(raters=len(study.raters), agreement=(agreement,), selections=findings)


def _free_texts(study: StudyAnswers) -> Iterator[tuple[str, int]]:
    """Yield each line of text that raters entered, with the number of answers that contain it.

    Frequent lines come first.
    """
    counts: Counter[str] = Counter()
    for item in study.items:
        for answer in study.of_item(item.id):
            lines = (line.strip().lower() for line in answer.text.splitlines())
            counts.update({line for line in lines if line})
    yield from counts.most_common(LARGEST_LIST)


@dataclass(frozen=True)
class _Lists:
    """The lists of options in a study, and the raters' choices as an array."""

    study: StudyAnswers

    @cached_property
    def entries(self) -> list[FrameEntry]:
        """Facts about each list."""
        facts = {entry.id: entry for entry in self.study.folder.frame}
        return [facts[item.id] for item in self.study.items]

    @cached_property
    def options(self) -> list[list[str]]:
        """Options in each list, in the order of the sampling frame."""
        return [list(entry.labels) for entry in self.entries]

    @cached_property
    def chosen(self) -> Floats:
        """Array of shape (raters, lists, options): 1 if the rater chose the option, otherwise 0.

        NaN if the rater did not answer the list. Lists with fewer options are padded with NaN.
        """
        most = max(map(len, self.options), default=0)
        chosen = np.full((len(self.study.raters), len(self.options), most), np.nan)
        for column, item in enumerate(self.study.items):
            options = self.options[column]
            for row, rater in enumerate(self.study.raters):
                answer = self.study.answers.get((rater, item.id))
                if answer is not None and _is_selection(answer):
                    chosen[row, column, : len(options)] = [
                        float(name in answer.answer) for name in options
                    ]
        return chosen

    def mask(self, matches: Callable[[FrameEntry, Mapping[str, str]], bool]) -> Floats:
        """Return a mask of shape (lists, options): 1 if `matches` accepts an option, otherwise 0.

        Lists with fewer options are padded with NaN.
        """
        mask = np.full(self.chosen.shape[1:], np.nan)
        for row, entry in enumerate(self.entries):
            for column, name in enumerate(self.options[row]):
                mask[row, column] = float(matches(entry, entry.labels[name]))
        return mask

    def all_scores(self) -> Iterator[SelectionScores]:
        """Yield each run's scores, first for all lists and then for groups of lists or axes."""
        plan = self.study.folder.plan
        for number, source in enumerate(plan.sources or ()):
            if plan.kind == "axes":
                for group in (ALL, SOCIETAL):
                    yield self._axes_scores(source.run, group)
            else:
                yield from self._concept_scores(number, source.run)

    def _axes_scores(self, run: str, group: str) -> SelectionScores:
        """Return a run's scores, computed from all axes or only from societal axes."""
        proposed = self.mask(lambda _, facts: facts.get(run) == PROPOSED)
        counted = self.mask(lambda _, facts: group == ALL or facts.get(KIND) == SOCIETAL)
        return self._scores(run, group, proposed, counted)

    def _concept_scores(self, number: int, run: str) -> Iterator[SelectionScores]:
        """Yield the scores of a run's concepts, first for all image sets, then for each set."""
        proposed = self.mask(lambda _, facts: PROPOSED in facts)
        sets = grouped(self.entries, lambda entry: entry.set if entry.source == number else "")
        names = [name for name in sets if name]
        groups = [ALL, *names[:MOST_GROUPS]] if len(names) > 1 else [ALL]
        for group in groups:
            counted = self.mask(partial(_is_counted, number, group))
            yield self._scores(run, group, proposed, counted)

    def _scores(self, run: str, group: str, proposed: Floats, counted: Floats) -> SelectionScores:
        """Return the precision and recall of the options that a run proposes."""
        answers = np.where(counted == 1, self.chosen, np.nan)
        votes = (~np.isnan(answers)).sum(axis=0)
        most = np.where(votes > 0, (2 * np.nansum(answers, axis=0) > votes).astype(float), np.nan)
        majority = most[None]
        return SelectionScores(
            run=run,
            group=group,
            precision=self._rate(answers, proposed == 1),
            others=self._rate(answers, proposed == 0),
            recall=self._recall(answers, proposed),
            precision_by_majority=self._rate(majority, proposed == 1),
            recall_by_majority=self._recall(majority, proposed),
        )

    def _rate(self, answers: Floats, wanted: NDArray[np.bool_]) -> Estimate | Missing:
        """Return how often raters choose one of the options that the mask `wanted` selects."""
        return self._estimate(np.where(wanted, answers, np.nan))

    def _recall(self, answers: Floats, proposed: Floats) -> Estimate | Missing:
        """Return how often the run proposes an option that raters choose."""
        return self._estimate(np.where(answers == 1, proposed[None], np.nan))

    def _estimate(self, happened: Floats) -> Estimate | Missing:
        return or_missing(crossed_rate, happened, level=self.study.folder.plan.confidence)

    def option_counts(self) -> list[OptionCount]:
        """Return how often each option was shown and how often it was chosen.

        Proposed options come first, in ascending order of the share of raters who chose them.
        """
        counts: dict[tuple[str, bool], list[int]] = {}
        for row, entry in enumerate(self.entries):
            for column, name in enumerate(self.options[row]):
                is_proposed = PROPOSED in entry.labels[name] or (
                    PROPOSED in entry.labels[name].values()
                )
                answers = self.chosen[:, row, column]
                count = counts.setdefault((name, is_proposed), [0, 0])
                count[0] += int((~np.isnan(answers)).sum())
                count[1] += int(np.nansum(answers))
        options = [
            OptionCount(option=name, proposed=proposed, answers=shown, chosen=chosen)
            for (name, proposed), (shown, chosen) in counts.items()
        ]
        return sorted(options, key=_confirmed)[:LARGEST_LIST]


def _is_counted(source: int, group: str, entry: FrameEntry, facts: Mapping[str, str]) -> bool:
    """Check whether a list belongs to a run and to a group of image sets."""
    return entry.source == source and group in (ALL, entry.set)


def _is_selection(answer: AnswerRecord) -> bool:
    """Check whether an answer selects options or "none of these", rather than "cannot tell"."""
    special = [name for name in answer.answer if name.startswith(":")]
    return bool(answer.answer) and special in ([], [NONE_OF_THESE])


def _confirmed(option: OptionCount) -> tuple[bool, float, str]:
    share = option.chosen / option.answers if option.answers else 0.5
    return not option.proposed, share if option.proposed else -share, option.option


def proposals_first(scores: Sequence[SelectionScores]) -> SelectionScores | None:
    """Return the first run's scores across all lists; None if there are no scores."""
    return next((entry for entry in scores if entry.group == ALL), None)
