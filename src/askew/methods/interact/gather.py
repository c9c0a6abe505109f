"""Images and answers that `askew interact` needs, of the prompts and of mitigated models."""

from collections.abc import Mapping
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
from askew.parts.survey.reader import SurveyData, SurveyReader, observed_sets, surveyed
from askew.parts.survey.shares import SetShares, recorded_shares
from askew.plan import PromptPlan
from askew.run.base import Run
from askew.store.keys import derived_seed
from askew.types import Prompt


@dataclass(frozen=True)
class InteractionGathered(SurveyData):
    """Images and answers of a run.

    Attributes
    ----------
    mitigated : mapping of str to MitigatedCounts
        By prompt, counts of the images in which an axis is mitigated.
    """

    mitigated: Mapping[str, MitigatedCounts]


def gather(plan: InteractionPlan, run: Run) -> InteractionGathered:
    """Obtain and label all image sets of all prompts, and the images of mitigated models.

    Parameters
    ----------
    plan
        The plan.
    run
        The run, which stores images and answers.

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
    """Return the counts of mitigated images, for prompts with mitigated images."""
    runs = {
        name: recorded_shares(Path(name))
        for name in sorted(set(plan.mitigated.values()))
        if is_run(name)
    }
    mitigated: dict[str, MitigatedCounts] = {}
    for prompt in plan.prompts:
        counts = _mitigated_of_prompt(plan, prompt, runs, reader)
        if counts:
            if isinstance(source, Model):
                counts[UNMITIGATED] = _counts_of_model(plan, reader, prompt, source, "initial")
            mitigated[prompt.text] = counts
    if not mitigated:
        prompts = ", ".join(prompt.text for prompt in plan.prompts)
        raise UsageError(
            f"the runs of --mitigated contain no prompt of this plan: {prompts}. "
            "Name runs of the same prompts"
        )
    return mitigated


def _mitigated_of_prompt(
    plan: InteractionPlan,
    prompt: PromptPlan,
    runs: Mapping[str, tuple[SetShares, ...]],
    reader: SurveyReader,
) -> dict[str, GraphCounts]:
    """Return the counts of a prompt's mitigated images by axis."""
    counts: dict[str, GraphCounts] = {}
    for axis in prompt.axes:
        if axis.name not in plan.mitigated:
            continue
        name = plan.mitigated[axis.name]
        if name in runs:
            of_axis = counts_of_run(name, runs[name], prompt, plan.vqa[0])
        else:
            model = _mitigated_model(plan, axis.name)
            of_axis = _counts_of_model(plan, reader, prompt, model, axis.name)
        if of_axis:
            counts[axis.name] = of_axis
    return counts


def _mitigated_model(plan: InteractionPlan, axis: str) -> Model:
    """Open the model that mitigates an axis."""
    name = plan.mitigated[axis]
    settings = {}
    for key, value in plan.mitigated_args.items():
        settings[key] = value.replace(AXIS, axis) if isinstance(value, str) else value
    model = mitigations.open_model(name, settings)
    if not isinstance(model, Model):
        raise UsageError(
            f"--mitigated {axis}={name} names a folder of existing images. "
            "It needs a model, or the folder of a finished run"
        )
    return model


def _counts_of_model(
    plan: InteractionPlan,
    reader: SurveyReader,
    prompt: PromptPlan,
    model: Model,
    purpose: str,
) -> GraphCounts:
    """Label further images of a prompt; their seed makes them independent of all other images."""
    seed = derived_seed(plan.seed, "mitigated", purpose)
    images = reader.run.pictures(model, [prompt.text], plan.images, seed)
    (observed,) = reader.read(prompt, [(Prompt(prompt.text), images[prompt.text])])
    return count_answers([observed], prompt.axes, plan.vqa[0])
