"""What `askew interact` costs: pictures of every prompt, and of mitigated models."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from askew import mitigations
from askew.errors import UsageError
from askew.methods.interact.findings import AS_IT_IS
from askew.methods.interact.graph import GraphCounts, tables
from askew.methods.interact.plan import AXIS, InteractionPlan
from askew.methods.interact.validation import Mitigated, of_run
from askew.models.base import Model
from askew.parts.references import is_run
from askew.parts.survey.instruments import Source, instruments_of
from askew.parts.survey.reader import SurveyData, SurveyReader, observed_sets, surveyed
from askew.parts.survey.shares import recorded_shares
from askew.plan import PromptPlan
from askew.run.base import Run
from askew.store.keys import derived_seed
from askew.types import Prompt


@dataclass(frozen=True)
class InteractionGathered(SurveyData):
    """All of a run; `mitigated` by prompt what is seen once an axis is mitigated, and in further
    initial pictures.
    """

    mitigated: Mapping[str, Mitigated]


def gather(plan: InteractionPlan, run: Run) -> InteractionGathered:
    """Every set of every prompt, and what follows. Raises UsageError for a mitigation that cannot
    be held against it.
    """
    source = mitigations.open_model(plan.model, plan.model_args)
    reader = SurveyReader(run, instruments_of(plan, source), person=True)
    others = [name for name in plan.mitigated.values() if not is_run(name)]
    found = surveyed(
        plan, source, reader, observed_sets(plan, source, reader), other_sources=others
    )
    mitigated = _mitigated(plan, source, reader) if plan.mitigated else {}
    return found.into(InteractionGathered, mitigated=mitigated)


def _mitigated(
    plan: InteractionPlan, source: Source, reader: SurveyReader
) -> Mapping[str, Mitigated]:
    """Pictures of the prompts in which one axis each is mitigated, by a model or in a finished run.
    Beside them as many initial pictures again: those of the graphs have a part in the estimates
    already.
    """
    runs = {
        name: recorded_shares(Path(name))
        for name in sorted(set(plan.mitigated.values()))
        if is_run(name)
    }
    found: dict[str, dict[str, GraphCounts]] = {}
    for prompt in plan.prompts:
        read: dict[str, GraphCounts | None] = {}
        for axis, name in (
            (a.name, plan.mitigated[a.name]) for a in prompt.axes if a.name in plan.mitigated
        ):
            if name in runs:
                read[axis] = of_run(name, runs[name], prompt, plan.vqa[0])
                continue
            settings = {
                key: value.replace(AXIS, axis) if isinstance(value, str) else value
                for key, value in plan.mitigated_args.items()
            }
            model = mitigations.open_model(name, settings)
            if not isinstance(model, Model):
                raise UsageError(
                    f"{name} holds pictures that exist already; --mitigated needs a model, or a "
                    "finished run"
                )
            read[axis] = _by_model(plan, reader, prompt, model, axis)
        known = {axis: own for axis, own in read.items() if own}
        if known:
            found[prompt.text] = known
            if isinstance(source, Model):
                found[prompt.text][AS_IT_IS] = _by_model(plan, reader, prompt, source, "initial")
    if not found:
        prompts = ", ".join(prompt.text for prompt in plan.prompts)
        raise UsageError(f"no run given by --mitigated has one of the prompts: {prompts}")
    return found


def _by_model(
    plan: InteractionPlan, reader: SurveyReader, prompt: PromptPlan, model: Model, what: str
) -> GraphCounts:
    """Further pictures of a prompt by a model, on a seed of their own, so that they are independent
    of all others.
    """
    pictures = reader.run.pictures(
        model, [prompt.text], plan.images, derived_seed(plan.seed, "mitigated", what)
    )
    (observed,) = reader.read(prompt, [(Prompt(prompt.text), pictures[prompt.text])])
    return tables([observed], prompt.axes, plan.vqa[0])
