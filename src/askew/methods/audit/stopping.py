"""Addition of images to a prompt until its verdicts are reached (`--until decided`).

askew looks for verdicts after 8, 12, 16, 24, 32, … images. A prompt gets no more images when its
named axes, or any axis, are significant. Its p is then the sequential p (`stats.looks`), which
allows for all looks, and its intervals are wide enough for all looks. Every axis of every prompt
belongs to the family of q from the first look on, so that a later look never takes a verdict back.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from askew.methods.audit.plan import AuditPlan
from askew.models.base import Model
from askew.parts.scoring import Scoring
from askew.parts.survey.confusion import Errors, calibrations
from askew.parts.survey.observed import ObservedSet
from askew.parts.survey.reader import Observed, PromptImages, SurveyReader
from askew.parts.survey.shares import (
    Counts,
    SetShares,
    reference_of,
    shares,
    usable_errors,
    worst_case_p,
)
from askew.parts.survey.verdicts import JudgedShares, with_verdicts
from askew.plan import AxisPlan, PromptPlan
from askew.run.base import ModelMaker, Outcome
from askew.run.work import Work, once_each, wanted_pictures
from askew.stats.confusion import ReadingErrors
from askew.stats.intervals import benjamini_hochberg
from askew.stats.looks import look_confidence, look_p, looks, sequential_p
from askew.stats.significance import SIGNIFICANCE_LEVEL
from askew.types import Estimate, Missing, Prompt

E = Estimate | Missing


def observed_until_decided(
    plan: AuditPlan, model: Model, reader: SurveyReader
) -> dict[str, list[ObservedSet]]:
    """Return the labeled baseline images of each prompt, as many as its verdicts need."""
    sizes = looks(plan.images)
    errors = calibrations(plan.prompts, reader.instruments)
    outcomes: dict[str, list[Outcome]] = {prompt.text: [] for prompt in plan.prompts}
    observed: dict[str, list[ObservedSet]] = {}
    undecided = list(plan.prompts)
    for size in sizes:
        _add_images(plan, model, reader, {p.text: outcomes[p.text] for p in undecided}, size)
        images = []
        for prompt in undecided:
            pictures = once_each(outcomes[prompt.text])
            images.append(PromptImages(prompt, [(Prompt(prompt.text), pictures)]))
        for prompt, sets in zip(undecided, reader.read_all(images), strict=True):
            observed[prompt.text] = sets
        if not reader.run.has_all:
            further = [reader.unmade(model, prompt, sizes[-1] - size) for prompt in undecided]
            left = len(sizes) - 1 - sizes.index(size)
            reader.run.decide("further images", dict, sum(further, Work()), {}, rounds=left)
            break
        decided = decided_prompts(plan, observed, errors)
        undecided = [prompt for prompt in undecided if prompt.text not in decided]
        if not undecided:
            break
    return {prompt.text: observed[prompt.text] for prompt in plan.prompts}


def _add_images(
    plan: AuditPlan,
    model: Model,
    reader: SurveyReader,
    outcomes: Mapping[str, list[Outcome]],
    size: int,
) -> None:
    """Add images to the outcomes of each prompt, up to the size of a look."""
    wanted = []
    for text, present in outcomes.items():
        wanted += wanted_pictures(model, [text], size, plan.seed)[len(present) :]
    by_key = reader.run.make(ModelMaker(model), wanted)
    for request in wanted:
        outcomes[request.prompt].append(by_key[request.key])


def decided_prompts(plan: AuditPlan, observed: Observed, errors: Errors) -> set[str]:
    """Return the prompts whose named axes, or any axis, are significant by the first instrument."""
    instrument = plan.vqa[0]
    p_values: dict[tuple[str, str], float] = {}
    for prompt in plan.prompts:
        baseline = observed[prompt.text][0]
        for axis in prompt.closed:
            known = usable_errors(errors.get((instrument, axis.name)))
            trial = _Trial(plan, baseline, axis, instrument, known)
            p_values[prompt.text, axis.name] = trial.p(trial.look_p_values())
    corrected = benjamini_hochberg([*p_values.values()]).tolist()
    significant = {
        place for place, q in zip(p_values, corrected, strict=True) if q < SIGNIFICANCE_LEVEL
    }
    return {prompt.text for prompt in plan.prompts if is_decided(plan, prompt, significant)}


def is_decided(
    plan: AuditPlan, prompt: PromptPlan, significant: AbstractSet[tuple[str, str]]
) -> bool:
    """Check whether the named axes of a prompt, or any of its axes, are significant.

    Parameters
    ----------
    plan
        The plan, which may name axes.
    prompt
        The prompt.
    significant
        Prompts and axes with a significant verdict.
    """
    results = {axis.name: (prompt.text, axis.name) in significant for axis in prompt.closed}
    named = [results[name] for name in plan.decide if name in results]
    return all(named) if named else any(results.values())


class _Trial:
    """The looks at an axis of an image set, with the labels from an instrument."""

    def __init__(
        self,
        plan: AuditPlan,
        observed: ObservedSet,
        axis: AxisPlan,
        instrument: str,
        errors: ReadingErrors | None,
    ) -> None:
        self._axis = axis.axis()
        self._errors = errors
        self._reference = tuple(reference_of(axis).values())
        planned = looks(plan.images)
        reached = [size for size in planned if size <= len(observed.pictures)]
        self._parts = [observed.picked(range(size)) for size in reached]
        self._instrument = instrument
        labeled = [sum(part.counts(instrument, self._axis)) for part in self._parts]
        last = labeled[-1] if labeled else 0
        self._sizes = (*labeled, *(max(size, last) for size in planned[len(reached) :]))

    def look_p_values(self) -> list[float]:
        """Return p of each look so far."""
        return [
            look_p(part.counts(self._instrument, self._axis), self._reference, self._errors)
            for part in self._parts
        ]

    def worst_case_p_values(self, entry: SetShares) -> list[float] | None:
        """Return p of each look in the worst case of missing labels; None if none is missing."""
        if not sum(entry.missing.values()):
            return None
        p_values = []
        for part in self._parts:
            counts = part.counts(self._instrument, self._axis)
            reasons = part.missing(self._instrument, self._axis)
            at_look = replace(
                entry,
                counts=dict(zip(self._axis.values, counts, strict=True)),
                missing={str(reason): count for reason, count in reasons.items()},
            )
            p = worst_case_p(at_look, self._errors) if sum(counts) else 1.0
            p_values.append(look_p(counts, self._reference, self._errors) if p is None else p)
        return p_values

    def p(self, p_values: Sequence[float]) -> float:
        """Return the sequential p of the looks so far."""
        smallest = min(p_values, default=1.0)
        return sequential_p(smallest, self._sizes, self._reference, self._errors)


def sequential_shares(plan: AuditPlan, observed: Observed, errors: Errors) -> JudgedShares:
    """Return the shares of the baseline images, with sequential verdicts and intervals.

    There are no rows for all prompts together, because the number of images of each prompt depends
    on its labels.
    """
    entries = []
    for prompt in plan.prompts:
        for axis in prompt.closed:
            for instrument in dict.fromkeys(plan.vqa):
                known = errors.get((instrument, axis.name))
                baseline = observed[prompt.text][0]
                entries.append(_entry(plan, prompt, axis, instrument, baseline, known))
    return JudgedShares(of_sets=with_verdicts(entries, errors), over_prompts=())


def _entry(
    plan: AuditPlan,
    prompt: PromptPlan,
    axis: AxisPlan,
    instrument: str,
    baseline: ObservedSet,
    known_errors: Counts | None,
) -> SetShares:
    """Return the shares of a set on an axis, with the sequential p and intervals of all looks."""
    confidence = look_confidence(looks(plan.images), plan.confidence)
    scoring = replace(Scoring.of(plan, instrument), level=confidence)
    entry = shares(baseline, axis, prompt.text, scoring, known_errors)
    if entry.verdict is None:
        return entry
    trial = _Trial(plan, baseline, axis, instrument, usable_errors(known_errors))
    p_values = trial.look_p_values()
    p = trial.p(p_values)
    worst = trial.worst_case_p_values(entry)
    verdict = replace(
        entry.verdict,
        p=p,
        q=p,
        exact_p=p,
        looks=tuple(p_values),
        worst_case_p=None if worst is None else trial.p(worst),
    )

    def of_all_looks(score: E) -> E:
        """Return an estimate with the confidence of its interval over all looks."""
        if isinstance(score, Missing):
            return score
        kind = None if score.interval is None else f"{score.interval}, repeated looks"
        tested = None if score.p is None else p
        return replace(score, level=plan.confidence, interval=kind, p=tested)

    def of_values(scores: Mapping[str, E]) -> dict[str, E]:
        return {value: of_all_looks(score) for value, score in scores.items()}

    corrected = entry.instrument_corrected
    total_variation = entry.total_variation
    return replace(
        entry,
        shares=of_values(entry.shares),
        distance=of_all_looks(entry.distance),
        instrument_corrected=None if corrected is None else of_values(corrected),
        total_variation=None if total_variation is None else of_all_looks(total_variation),
        verdict=verdict,
    )
