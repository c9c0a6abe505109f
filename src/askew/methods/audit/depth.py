"""Choose the axes for which an audit generates counterfactual images.

Verdicts need only the baseline images. Most images of an audit are counterfactual images, which
only TIBET's scores need. With `--counterfactuals significant`, they are generated only for axes on
which the baseline images are biased. askew computes these verdicts only once, so the page shows the
verdicts that selected the axes. The verdicts allow for labeling errors if the instruments report
their error rates, or if people also labeled the baseline images. The choice of axes depends on the
labels of the baseline images. A test of the scores would use the same images, so it would add no
evidence of bias. askew therefore omits this test (`without_tests`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from askew.errors import UsageError
from askew.methods.audit.findings import Alternatives, AxisScores, Tibet
from askew.methods.audit.plan import AuditPlan
from askew.models.base import Collection, Model
from askew.parts.survey.confusion import confusions, instrument_errors
from askew.parts.survey.instruments import Source
from askew.parts.survey.reader import SurveyReader, observed_sets
from askew.parts.survey.verdicts import JudgedShares, is_biased, survey_shares
from askew.plan import AxisPlan, PromptPlan
from askew.run.work import Work
from askew.types import Estimate, Missing

E = Estimate | Missing


@dataclass(frozen=True)
class Depth:
    """Counterfactual images that an audit generates.

    Attributes
    ----------
    plan
        The plan, reduced to the counterfactual prompts whose images are generated.
    baseline
        Shares and verdicts of the baseline images if the axes were selected by verdicts; otherwise
        None.
    """

    plan: AuditPlan
    baseline: JudgedShares | None = None


def plan_in_depth(plan: AuditPlan, source: Source, reader: SurveyReader) -> Depth:
    """Return the counterfactual prompts whose images are generated.

    Raises
    ------
    UsageError
        If `--counterfactuals` would choose which images to generate, but the images exist already.
    """
    if plan.counterfactuals == "all":
        return Depth(plan)
    if isinstance(source, Collection):
        option = f"--counterfactuals {plan.counterfactuals}"
        if plan.until:
            option = f"--until {plan.until}"
        raise UsageError(
            f"{option} chooses the images that a model generates, but the images of {source.name} "
            f"exist already. Remove {option}"
        )
    baseline = plan.with_counterfactuals(lambda _, axis: axis.name in plan.axes_in_depth)
    if plan.counterfactuals == "none":
        return Depth(baseline)
    judged = _baseline_verdicts(baseline, source, reader)

    def with_biased_axes() -> Depth:
        chosen = plan.with_counterfactuals(
            lambda prompt, axis: axis.name in plan.axes_in_depth or _is_chosen(judged, prompt, axis)
        )
        return Depth(chosen, judged)

    if reader.run.has_all:
        return with_biased_axes()
    return reader.run.decide(
        "the counterfactual images",
        with_biased_axes,
        at_most=_most_work(plan, baseline, source, reader),
        otherwise=Depth(baseline),
    )


def _baseline_verdicts(baseline: AuditPlan, source: Source, reader: SurveyReader) -> JudgedShares:
    """Return the shares in the baseline images, with their verdicts."""
    without_counterfactuals = baseline.with_counterfactuals(lambda prompt, axis: False)
    observed = observed_sets(without_counterfactuals, source, reader)
    compared = confusions(baseline.prompts, observed, baseline.vqa)
    errors = instrument_errors(baseline.prompts, reader.instruments, observed, compared)
    return survey_shares(without_counterfactuals, observed, errors)


def _is_chosen(judged: JudgedShares, prompt: PromptPlan, axis: AxisPlan) -> bool:
    """Check whether an axis is biased in a prompt's images or in all prompts' pooled images."""
    of_prompt = [entry for entry in judged.of_sets if entry.prompt == prompt.text]
    return any(
        entry.axis == axis.name and is_biased(entry) is True
        for entry in (*of_prompt, *judged.over_prompts)
    )


def _most_work(plan: AuditPlan, baseline: AuditPlan, model: Model, reader: SurveyReader) -> Work:
    """Return the work needed for the counterfactual images that are missing from `baseline`."""
    known = set(baseline.texts())
    work = Work()
    for prompt in plan.prompts:
        texts = {counterfactual.text for counterfactual in prompt.prompts()} - known
        known |= texts
        of_prompt = reader.unmade(model, prompt, plan.images * len(texts))
        work += replace(of_prompt, prompts=len(texts))
    if reader.captioner is None or plan.embedder == "none":
        return work
    return replace(work, embeddings=work.pictures, embeddings_left=work.pictures)


def cost_lines(plan: AuditPlan) -> list[str]:
    """Return a line that states how many images each `--counterfactuals` setting would generate."""
    most = plan.images * len(plan.texts())
    baseline = plan.images * len(plan.prompts)
    if most == baseline:
        return []
    named = plan.with_counterfactuals(lambda _, axis: axis.name in plan.axes_in_depth)
    fewest = plan.images * len(named.texts())
    return [
        "by setting  --counterfactuals "
        f"none: {fewest:,} images, significant: {fewest:,} to {most:,}, all: {most:,}"
    ]


def chosen_by_shares(plan: AuditPlan, axis: str) -> bool:
    """Check whether an axis has counterfactual images because its shares are biased."""
    return plan.counterfactuals == "significant" and axis not in plan.axes_in_depth


def without_tests(entry: Tibet, plan: AuditPlan) -> Tibet:
    """Return a prompt's scores, without tests on axes that were chosen because of biased shares."""
    axes = {}
    for name, scores in entry.axes.items():
        axes[name] = _untested(scores) if chosen_by_shares(plan, name) else scores
    return replace(entry, axes=axes)


def _untested(scores: AxisScores) -> AxisScores:
    """Return the scores of an axis without the tests on its baseline images."""
    alternatives = Alternatives(
        wasserstein=_without_p(scores.alternatives.wasserstein),
        standard_deviation=_without_p(scores.alternatives.standard_deviation),
    )
    by_vectors = scores.mad_clip
    return replace(
        scores,
        mad=_without_p(scores.mad),
        cas=_all_without_p(scores.cas),
        cas_contrast=_all_without_p(scores.cas_contrast),
        alternatives=alternatives,
        mad_clip=None if by_vectors is None else _without_p(by_vectors),
        cas_clip=None if scores.cas_clip is None else _all_without_p(scores.cas_clip),
        chosen_by_shares=True,
    )


def _all_without_p(scores: Mapping[str, E]) -> dict[str, E]:
    return {value: _without_p(score) for value, score in scores.items()}


def _without_p(score: E) -> E:
    return score if isinstance(score, Missing) else replace(score, p=None, q=None)
