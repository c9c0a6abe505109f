"""What `askew interact` costs: pictures of every prompt, and of mitigated models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from askew import registry
from askew.errors import UsageError
from askew.findings import Identity, Instruments, PictureSet
from askew.methods.interact.findings import AS_IT_IS
from askew.methods.interact.graph import Tables, tables
from askew.methods.interact.plan import AXIS, InteractionPlan
from askew.methods.interact.validation import Mitigated, of_run
from askew.models.base import Model
from askew.parts.references import is_run
from askew.parts.survey import reader as survey
from askew.parts.survey.reader import Errors, Observed, Reader, Source, calibrations
from askew.parts.survey.shares import recorded_shares
from askew.plan import PromptPlan
from askew.run.base import Run
from askew.store.keys import derived_seed
from askew.types import Prompt


@dataclass(frozen=True, slots=True)
class InteractionGathered:
    """All of a run.

    observed      by prompt its sets
    calibrations  what instruments know of their own errors
    mitigated     by prompt what is seen once an axis is mitigated, and in further initial pictures
    """

    model: Identity
    device: str | None
    instruments: Instruments
    observed: Observed
    calibrations: Errors
    mitigated: Mapping[str, Mitigated]

    @property
    def sets(self) -> tuple[PictureSet, ...]:
        """The sets of the graphs."""
        return survey.picture_sets(self.observed)


def gather(plan: InteractionPlan, run: Run) -> InteractionGathered:
    """Every set of every prompt, and what follows.

    Raises UsageError for a mitigation that cannot be held against it.
    """
    source = registry.model(plan.model, **plan.model_args)
    reader = reader_of(plan, run, source)
    observed = survey.observed_sets(plan, run, source, reader)
    mitigated = _mitigated(plan, source, reader) if plan.mitigated else {}
    makers = [source.name, *(name for name in plan.mitigated.values() if not is_run(name))]
    run.warn(*survey.oddities(plan.texts(), source, reader.instruments))
    run.warn(*survey.beyond_drawings(makers, reader.instruments))
    return InteractionGathered(
        survey.identity_of(source, plan.model_args),
        getattr(source, "device", None),
        survey.fingerprints(reader.instruments),
        observed,
        calibrations(plan.prompts, reader.instruments),
        mitigated,
    )


def seen(plan: InteractionPlan, run: Run) -> Observed:
    """By prompt its sets."""
    source = registry.model(plan.model, **plan.model_args)
    return survey.observed_sets(plan, run, source, reader_of(plan, run, source))


def reader_of(plan: InteractionPlan, run: Run, source: Source) -> Reader:
    """The instruments; they are asked whether there is a person, and describe nothing."""
    return Reader(run, survey.instruments_of(plan, source), person=True)


def _mitigated(plan: InteractionPlan, source: Source, reader: Reader) -> Mapping[str, Mitigated]:
    """Pictures of the prompts in which one axis each is mitigated, by a model or in a finished run.

    Beside them as many initial pictures again: those of the graphs have a part in the estimates already.
    """
    runs = {name: recorded_shares(Path(name)) for name in sorted(set(plan.mitigated.values())) if is_run(name)}
    found: dict[str, dict[str, Tables]] = {}
    for prompt in plan.prompts:
        for axis, name in ((a.name, plan.mitigated[a.name]) for a in prompt.axes if a.name in plan.mitigated):
            if name not in runs:
                settings = {key: value.replace(AXIS, axis) if isinstance(value, str) else value
                            for key, value in plan.mitigated_args.items()}  # fmt: skip
                model = registry.model(name, **settings)
                if not isinstance(model, Model):
                    raise UsageError(f"{name} holds pictures that exist already; --mitigated needs a model, or a "
                                     "finished run")  # fmt: skip
                found.setdefault(prompt.text, {})[axis] = _by_model(plan, reader, prompt, model, axis)
            elif own := of_run(name, runs[name], prompt, plan.vqa[0]):
                found.setdefault(prompt.text, {})[axis] = own
    if not found:
        prompts = ", ".join(prompt.text for prompt in plan.prompts)
        raise UsageError(f"no run given by --mitigated has one of the prompts: {prompts}")
    for prompt in plan.prompts:
        if isinstance(source, Model) and prompt.text in found:
            found[prompt.text][AS_IT_IS] = _by_model(plan, reader, prompt, source, "initial")
    return found


def _by_model(plan: InteractionPlan, reader: Reader, prompt: PromptPlan, model: Model, what: str) -> Tables:
    """Further pictures of a prompt by a model, on a seed of their own, so that they are independent of all others."""
    pictures = reader.run.pictures(model, [prompt.text], plan.images, derived_seed(plan.seed, "mitigated", what))
    (observed,) = reader.read(prompt, [(Prompt(prompt.text), pictures[prompt.text])])
    return tables([observed], prompt.axes, plan.vqa[0])
