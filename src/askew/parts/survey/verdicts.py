"""Decide whether each image set is biased on an axis.

In every method, all tests on one model's images with one instrument's labels form one family for
the Benjamini-Hochberg correction. The family contains the tests of all sets and axes, and the tests
of the shares pooled over all prompts. A model's images therefore get the same verdicts in an audit,
in a ranking of several models, and before a mitigation. The tests on images of a mitigated model
form a separate family. Sets that have too few images to be significant, whatever their labels, are
excluded from the family, because they would raise the q-values of the other sets. The q-value of an
excluded set is 1. MAD is only an estimate and gets no verdict.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from askew.parts.scoring import Scoring
from askew.parts.survey.confusion import Errors
from askew.parts.survey.observed import ObservedSet
from askew.parts.survey.over_prompts import SharesOverPrompts, over_prompts
from askew.parts.survey.reader import Observed
from askew.parts.survey.shares import DISTANCE, SetShares, Verdict, shares, usable_errors
from askew.plan import AxisPlan, Plan, PromptPlan
from askew.stats.distance_intervals import as_exact_together
from askew.stats.goodness_of_fit import smallest_p
from askew.stats.intervals import benjamini_hochberg
from askew.stats.power import detectable_distance
from askew.stats.significance import SIGNIFICANCE_LEVEL, is_significant
from askew.types import Estimate, record


@dataclass(frozen=True)
class JudgedShares:
    """Shares and their verdicts, which form one family of tests.

    Attributes
    ----------
    of_sets : tuple of SetShares
        Shares in the image sets of each prompt.
    over_prompts : tuple of SharesOverPrompts
        Shares pooled over all prompts.
    """

    of_sets: tuple[SetShares, ...]
    over_prompts: tuple[SharesOverPrompts, ...]


@record
class ModelShares:
    """Shares pooled over all prompts, for one model.

    Attributes
    ----------
    model : str
        The model.
    shares : SharesOverPrompts
        The shares.
    """

    model: str
    shares: SharesOverPrompts


@dataclass(frozen=True)
class JudgedModels:
    """Shares for several models and their verdicts, which form one family of tests per model.

    Attributes
    ----------
    of_sets : tuple of SetShares
        Shares in the image sets of each prompt, in the given order.
    over_prompts : tuple of ModelShares
        Shares pooled over all prompts.
    """

    of_sets: tuple[SetShares, ...]
    over_prompts: tuple[ModelShares, ...]


def survey_shares(
    plan: Plan, observed: Observed, errors: Errors, *, counterfactuals: bool = False
) -> JudgedShares:
    """Return the shares in a survey and their verdicts, for all instruments.

    For a baseline set or a condition, shares are computed on all axes. For a counterfactual set,
    shares are computed only on its axis.

    Parameters
    ----------
    plan
        Plan of the run.
    observed
        Sets by prompt.
    errors
        Known errors of the instruments.
    counterfactuals
        If True, include counterfactual sets. They have no verdict.
    """
    entries: list[SetShares] = []
    for prompt in plan.prompts:
        for of_prompt, axis in _sets_and_axes(prompt, observed[prompt.text]):
            if counterfactuals or of_prompt.prompt.axis != axis.name:
                entries += _by_instrument(plan, prompt, of_prompt, axis, errors)
    return judged_shares(entries, Scoring.of(plan), errors)


def _by_instrument(
    plan: Plan, prompt: PromptPlan, observed: ObservedSet, axis: AxisPlan, errors: Errors
) -> Iterator[SetShares]:
    """Yield an image set's shares according to each instrument's labels."""
    for instrument in dict.fromkeys(plan.vqa):
        known = errors.get((instrument, axis.name))
        yield shares(observed, axis, prompt.text, Scoring.of(plan, instrument), known)


def with_counterfactual_sets(
    judged: JudgedShares, plan: Plan, observed: Observed, errors: Errors
) -> JudgedShares:
    """Add the shares in counterfactual sets to the judged shares in baseline sets.

    Counterfactual sets have no verdicts, so adding them does not change the other verdicts.

    Parameters
    ----------
    judged
        Shares of the baseline sets, with verdicts.
    plan
        Plan of the run.
    observed
        Sets by prompt.
    errors
        Known errors of the instruments.
    """
    entries: list[SetShares] = []
    for prompt in plan.prompts:
        entries += [entry for entry in judged.of_sets if entry.prompt == prompt.text]
        for of_prompt, axis in _sets_and_axes(prompt, observed[prompt.text]):
            if of_prompt.prompt.axis == axis.name:
                of_set = _by_instrument(plan, prompt, of_prompt, axis, errors)
                entries += [replace(entry, verdict=None) for entry in of_set]
    return replace(judged, of_sets=tuple(entries))


def _sets_and_axes(
    prompt: PromptPlan, sets: Iterable[ObservedSet]
) -> Iterator[tuple[ObservedSet, AxisPlan]]:
    """Yield an (image set, axis) pair for each axis on which a set's shares are computed."""
    for observed in sets:
        for axis in prompt.closed:
            if observed.prompt.axis == axis.name or not prompt.has(observed.prompt.axis):
                yield observed, axis


def judged_shares(entries: Sequence[SetShares], scoring: Scoring, errors: Errors) -> JudgedShares:
    """Return the shares in image sets and the shares pooled over all prompts, with their verdicts.

    Parameters
    ----------
    entries
        Shares in all image sets of a run, according to each instrument.
    scoring
        Settings of the run.
    errors
        Known errors of the instruments.
    """
    judged = with_verdicts([*entries, *over_prompts(entries, scoring, errors)], errors)
    return JudgedShares(
        of_sets=tuple(entry for entry in judged if not isinstance(entry, SharesOverPrompts)),
        over_prompts=tuple(entry for entry in judged if isinstance(entry, SharesOverPrompts)),
    )


def judged_by_model(
    entries: Sequence[SetShares], models: Sequence[str], scoring: Scoring, errors: Errors
) -> JudgedModels:
    """Return the shares in several models' images, with verdicts that form one family per model.

    Parameters
    ----------
    entries
        Shares of all sets of all models.
    models
        Model of each entry.
    scoring
        Settings of the run.
    errors
        Known errors of the instruments.
    """
    judged = list(entries)
    over_prompts: list[ModelShares] = []
    for model in dict.fromkeys(models):
        places = [place for place, name in enumerate(models) if name == model]
        of_model = judged_shares([entries[place] for place in places], scoring, errors)
        for place, entry in zip(places, of_model.of_sets, strict=True):
            judged[place] = entry
        over_prompts += [ModelShares(model=model, shares=row) for row in of_model.over_prompts]
    return JudgedModels(of_sets=tuple(judged), over_prompts=tuple(over_prompts))


def with_verdicts(
    entries: Iterable[SetShares], known_errors: Errors | None = None
) -> tuple[SetShares, ...]:
    """Return the shares with the q-values of their tests.

    Parameters
    ----------
    entries
        Shares of all sets and instruments.
    known_errors
        Known errors of instruments. The errors affect the power of the tests.
    """
    judged = [entry if entry.of_prompt else replace(entry, verdict=None) for entry in entries]
    for instrument in dict.fromkeys(entry.instrument for entry in judged):
        places = [
            place
            for place, entry in enumerate(judged)
            if entry.instrument == instrument and entry.verdict
        ]
        of_instrument = _with_q_values([judged[place] for place in places], known_errors or {})
        for place, entry in zip(places, of_instrument, strict=True):
            judged[place] = entry
    return tuple(judged)


def _with_q_values(entries: Sequence[SetShares], known_errors: Errors) -> list[SetShares]:
    """Return an instrument's entries, with q-values for the entries that were tested."""
    p_values = {}
    worst_cases = {}
    for place, entry in enumerate(entries):
        if entry.verdict and _can_be_significant(entry):
            p_values[place] = entry.verdict.p
            worst_cases[place] = _worst_case_p(entry.verdict)
    q_values = _corrected(p_values, len(entries))
    worst_case_q_values = _corrected(worst_cases, len(entries))
    tests = max(len(p_values), 1)
    judged = []
    for entry, q, worst in zip(entries, q_values, worst_case_q_values, strict=True):
        judged.append(_with_worst_case(_with_q(entry, q, tests, known_errors), worst))
    return judged


def _worst_case_p(verdict: Verdict) -> float:
    """Return the p-value for the labeled images or for the worst case, whichever is larger."""
    return max(verdict.p, verdict.worst_case_p or 0.0)


def _corrected(p_values: Mapping[int, float], entries: int) -> list[float]:
    """Return the q-values of a family of tests, keyed by position; 1 for entries without a test."""
    q_values = [1.0] * entries
    corrected = benjamini_hochberg([*p_values.values()]).tolist()
    for place, q in zip(p_values, corrected, strict=True):
        q_values[place] = q
    return q_values


def _with_worst_case(entry: SetShares, q: float) -> SetShares:
    """Return an entry, adding the worst-case q-value if the entry has missing labels."""
    verdict = entry.verdict
    if verdict is None or verdict.worst_case_p is None:
        return entry
    return replace(entry, verdict=replace(verdict, worst_case_q=q))


def _can_be_significant(entry: SetShares) -> bool:
    """Check whether an entry has enough images for a p-value below the significance level."""
    if entry.reference_images is not None:
        return True
    return smallest_p(entry.tested_images, tuple(entry.reference.values())) < SIGNIFICANCE_LEVEL


def _with_q(entry: SetShares, q: float, tests: int, known_errors: Errors) -> SetShares:
    """Return an entry with the q-value and the power of its test within a family of tests."""
    verdict = entry.verdict
    if verdict is None or not isinstance(entry.distance, Estimate):
        return entry
    total_variation = entry.total_variation
    if isinstance(total_variation, Estimate):
        total_variation = replace(total_variation, q=q)
    return replace(
        entry,
        distance=replace(entry.distance, q=q),
        total_variation=total_variation,
        verdict=replace(
            verdict, q=q, detectable=_detectable(entry, verdict, tests, known_errors), tests=tests
        ),
    )


def _detectable(
    entry: SetShares, verdict: Verdict, tests: int, known_errors: Errors
) -> float | None:
    """Return the deviation that a test within a family has 90 % power to detect.

    The result is None for a test at several looks, because its power is not computed.
    """
    if verdict.looks:
        return None
    errors = None
    if verdict.corrected_for_errors:
        errors = usable_errors(known_errors.get((entry.instrument, entry.axis)))
    return detectable_distance(
        as_exact_together(entry.tested_images, entry.reference_images),
        tuple(entry.reference.values()),
        DISTANCE[entry.scale],
        level=SIGNIFICANCE_LEVEL / tests,
        errors=errors,
    )


def is_biased(entry: SetShares) -> bool | None:
    """Check whether the shares of an image set on an axis deviate significantly from the reference.

    Returns
    -------
    bool or None
        True if the verdict's q-value or, if there is no verdict, the deviation is significant. None
        if there is no test.
    """
    if entry.verdict is None:
        return is_significant(entry.distance)
    return entry.verdict.q < SIGNIFICANCE_LEVEL


def family_size(entries: Iterable[SetShares]) -> int:
    """Return the number of tests in the family that contains the verdicts of the entries.

    Sets that have no labels or too few images do not belong to the family.

    Parameters
    ----------
    entries
        Shares of an instrument.
    """
    return max((entry.verdict.tests or 1 for entry in entries if entry.verdict), default=1)


def holds_in_worst_case(entry: SetShares) -> bool | None:
    """Check whether a significant bias remains significant whatever the missing labels are.

    Returns
    -------
    bool or None
        True if the bias remains significant. None if the bias is not significant, or if no label is
        missing.
    """
    if not is_biased(entry) or entry.verdict is None or entry.verdict.worst_case_q is None:
        return None
    return entry.verdict.worst_case_q < SIGNIFICANCE_LEVEL
