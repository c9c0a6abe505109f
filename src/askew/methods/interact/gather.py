"""Collect the images and answers for `askew interact`, including images of mitigated models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from askew import mitigations
from askew.errors import UsageError
from askew.methods.interact.counts import GraphCounts, count_answers
from askew.methods.interact.plan import AXIS, InteractionPlan
from askew.methods.interact.validation import UNMITIGATED, MitigatedCounts, counts_of_run
from askew.models.base import Model
from askew.parts.references import is_run
from askew.parts.survey.instruments import Source, instruments_of
from askew.parts.survey.reader import (
    PromptImages,
    SurveyData,
    SurveyReader,
    observed_sets,
    surveyed,
)
from askew.parts.survey.shares import SetShares, recorded_shares
from askew.plan import PromptPlan
from askew.run.base import Run
from askew.store.keys import derived_seed
from askew.types import Prompt


@dataclass(frozen=True)
class InteractionGathered(SurveyData):
    """All data that a run of `askew interact` obtained.

    Attributes
    ----------
    mitigated : mapping of str to MitigatedCounts
        For each prompt, counts of the answers about images in which an axis is mitigated.
    """

    mitigated: Mapping[str, MitigatedCounts]


def gather(plan: InteractionPlan, run: Run) -> InteractionGathered:
    """Generate and label all image sets of all prompts, and the images of mitigated models.

    Parameters
    ----------
    plan
        The plan.
    run
        Run that stores images and answers.

    Raises
    ------
    UsageError
        If a mitigated model or run cannot be compared with the plan.
    """
    source = mitigations.open_model(plan.model, plan.model_args)
    reader = SurveyReader(run, instruments_of(plan, source), person=True)
    models = [name for name in plan.mitigated.values() if not is_run(name)]
    observed = observed_sets(plan, source, reader)
    data = surveyed(plan, source, reader, observed, other_sources=models)
    mitigated = _mitigated(plan, source, reader) if plan.mitigated else {}
    return data.into(InteractionGathered, mitigated=mitigated)


def _mitigated(
    plan: InteractionPlan, source: Source, reader: SurveyReader
) -> dict[str, MitigatedCounts]:
    """Return the counts for mitigated images, keyed by prompt; skip prompts without such images."""
    runs = {
        name: recorded_shares(Path(name))
        for name in sorted(set(plan.mitigated.values()))
        if is_run(name)
    }
    drawn: dict[str, dict[str, GraphCounts]] = {}
    for axis, name in plan.mitigated.items():
        prompts = [prompt for prompt in plan.prompts if _has_axis(prompt, axis)]
        if prompts and name not in runs:
            model = _mitigated_model(plan, axis)
            drawn[axis] = _counts_of_model(plan, reader, prompts, model, axis)
    mitigated: dict[str, MitigatedCounts] = {}
    for prompt in plan.prompts:
        counts = _mitigated_of_prompt(plan, prompt, runs, drawn)
        if counts:
            mitigated[prompt.text] = counts
    if isinstance(source, Model):
        prompts = [prompt for prompt in plan.prompts if prompt.text in mitigated]
        initial = _counts_of_model(plan, reader, prompts, source, "initial")
        for text, of_prompt in initial.items():
            mitigated[text] = {**mitigated[text], UNMITIGATED: of_prompt}
    if not mitigated:
        texts = ", ".join(prompt.text for prompt in plan.prompts)
        raise UsageError(
            f"the runs given with --mitigated contain none of the prompts in this plan: {texts}. "
            "Use runs with the same prompts"
        )
    return mitigated


def _has_axis(prompt: PromptPlan, name: str) -> bool:
    return any(axis.name == name for axis in prompt.axes)


def _mitigated_of_prompt(
    plan: InteractionPlan,
    prompt: PromptPlan,
    runs: Mapping[str, tuple[SetShares, ...]],
    drawn: Mapping[str, Mapping[str, GraphCounts]],
) -> dict[str, GraphCounts]:
    """Return the counts for a prompt's mitigated images, keyed by the mitigated axis."""
    counts: dict[str, GraphCounts] = {}
    for axis in prompt.axes:
        if axis.name not in plan.mitigated:
            continue
        name = plan.mitigated[axis.name]
        if name in runs:
            of_axis = counts_of_run(name, runs[name], prompt, plan.vqa[0])
        else:
            of_axis = drawn[axis.name][prompt.text]
        if of_axis:
            counts[axis.name] = of_axis
    return counts


def _mitigated_model(plan: InteractionPlan, axis: str) -> Model:
    """Open the model in which an axis is mitigated."""
    name = plan.mitigated[axis]
    settings = {}
    for key, value in plan.mitigated_args.items():
        settings[key] = value.replace(AXIS, axis) if isinstance(value, str) else value
    model = mitigations.open_model(name, settings)
    if not isinstance(model, Model):
        raise UsageError(
            f"--mitigated {axis}={name} is a folder of existing images. Give a model, or the "
            "folder of a finished run"
        )
    return model


def _counts_of_model(
    plan: InteractionPlan,
    reader: SurveyReader,
    prompts: Sequence[PromptPlan],
    model: Model,
    purpose: str,
) -> dict[str, GraphCounts]:
    """Generate and label further images for each prompt, and return the counts, keyed by prompt.

    Their seeds differ from the seeds of all other images, so these images are independent.
    """
    seed = derived_seed(plan.seed, "mitigated", purpose)
    texts = [prompt.text for prompt in prompts]
    pictures = reader.run.pictures(model, texts, plan.images, seed, separate_batches=True)
    images = [
        PromptImages(prompt, [(Prompt(prompt.text), pictures[prompt.text])]) for prompt in prompts
    ]
    counts = {}
    for prompt, observed in zip(prompts, reader.read_all(images), strict=True):
        counts[prompt.text] = count_answers(observed, prompt.axes, plan.vqa[0])
    return counts
