"""What `askew interact` costs: pictures of every prompt, of mitigated models, and of the mixture that graphs advise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from askew import registry
from askew.errors import UsageError
from askew.findings import Identity, Instruments, PictureSet
from askew.methods.interact.findings import AS_IT_IS
from askew.methods.interact.mitigation import chosen
from askew.methods.interact.plan import AXIS, InteractionPlan
from askew.methods.interact.validation import Mitigated, Mitigation, of_pictures, of_run
from askew.models.base import Model
from askew.parts import drawings
from askew.parts.references import is_run
from askew.parts.survey import reader as survey
from askew.parts.survey.confusion import Errors, calibrations
from askew.parts.survey.observed import ObservedSet
from askew.parts.survey.reader import Observed, Reader, Source
from askew.parts.survey.shares import recorded_shares
from askew.plan import PromptPlan
from askew.run.base import Run
from askew.run.work import unmade
from askew.store.keys import derived_seed
from askew.types import Missing, Prompt

WAYS = 3
"""That are drawn with the mixture, itself included."""


@dataclass(frozen=True, slots=True)
class InteractionGathered:
    """All of a run.

    observed      by prompt its sets
    calibrations  what instruments know of their own errors
    mixed         by prompt the pictures drawn from its mixture, and of its rivals, by way
    mitigated     by prompt what is seen once an axis is mitigated, and in further initial pictures
    """

    model: Identity
    device: str | None
    instruments: Instruments
    observed: Observed
    calibrations: Errors
    mixed: Mapping[str, Mapping[str, ObservedSet]]
    mitigated: Mapping[str, Mitigated]

    @property
    def sets(self) -> tuple[PictureSet, ...]:
        """The sets of the graphs."""
        return survey.picture_sets(self.observed)


def gather(plan: InteractionPlan, run: Run) -> InteractionGathered:
    """Every set of every prompt, and what follows.

    Raises UsageError for a mixture of pictures that exist already, and for a mitigation that cannot be held against it.
    """
    source = survey.source_of(plan)
    reader = reader_of(plan, run, source)
    observed = survey.observed_sets(plan, run, source, reader)
    mixed = _mixtures(plan, source, reader, observed) if plan.mixture_images else {}
    mitigated = _mitigated(plan, source, reader) if plan.mitigated else {}
    makers = [source.name, *(name for name in plan.mitigated.values() if not is_run(name))]
    run.warn(*survey.oddities(plan, source, reader.instruments))
    run.warn(*drawings.beyond(makers, {"vqa": reader.instruments}))
    return InteractionGathered(
        survey.identity_of(plan, source),
        getattr(source, "device", None),
        survey.fingerprints(reader.instruments),
        observed,
        calibrations(plan.prompts, reader.instruments),
        mixed,
        mitigated,
    )


def seen(plan: InteractionPlan, run: Run) -> Observed:
    """By prompt its sets."""
    source = survey.source_of(plan)
    return survey.observed_sets(plan, run, source, reader_of(plan, run, source))


def reader_of(plan: InteractionPlan, run: Run, source: Source) -> Reader:
    """The instruments; they are asked whether there is a person, and describe nothing."""
    return Reader(run, survey.instruments_of(plan, source), person=True)


def _mixtures(
    plan: InteractionPlan, source: Source, reader: Reader, observed: Observed
) -> dict[str, dict[str, ObservedSet]]:
    """Pictures of the mixture that each prompt's graph advises, and of its rivals; none of prompts without one."""
    if not isinstance(source, Model):
        raise UsageError("pictures that exist already cannot be drawn anew; --mixture-images needs a model")
    found = {}
    for prompt in plan.prompts:
        at_most = unmade(source, WAYS * plan.mixture_images, [len(reader.questions(prompt, name)) for name in plan.vqa])
        flow = partial(_mixture, plan, source, reader, prompt, observed[prompt.text])
        drawn = reader.run.decide("the mixture", flow, at_most, otherwise=None)
        if drawn is not None:
            found[prompt.text] = drawn
    return found


def _mixture(
    plan: InteractionPlan, model: Model, reader: Reader, prompt: PromptPlan, sets: Sequence[ObservedSet]
) -> dict[str, ObservedSet] | None:
    """Every way drawn on fresh seeds of its own, as many pictures of each of its prompts as its weight says."""
    best = chosen(prompt, sets, plan, plan.vqa[0])
    if isinstance(best, Missing):
        return None
    found = {}
    for name, way in best.ways.items():
        wanted, seed = best.pictures(way, plan.mixture_images), derived_seed(plan.seed, "mixture", name)
        pictures = [one for text, n in wanted.items() for one in reader.run.pictures(model, [text], n, seed)[text]]
        (found[name],) = reader.read(prompt, [(Prompt(prompt.text), pictures)])
    return found


def _mitigated(plan: InteractionPlan, source: Source, reader: Reader) -> Mapping[str, Mitigated]:
    """Pictures of the prompts in which one axis each is mitigated, by a model or in a finished run.

    Beside them as many initial pictures again: those of the graphs have a part in the estimates already.
    """
    runs = {name: recorded_shares(Path(name)) for name in sorted(set(plan.mitigated.values())) if is_run(name)}
    found: dict[str, dict[str, Mitigation]] = {}
    for prompt in plan.prompts:
        for axis in (axis.name for axis in prompt.axes if axis.name in plan.mitigated):
            name = plan.mitigated[axis]
            own = (of_run(name, runs[name], prompt, plan.vqa[0]) if name in runs
                   else _by_model(plan, reader, prompt, _mitigated_model(plan, axis), axis))  # fmt: skip
            if own is not None:
                found.setdefault(prompt.text, {})[axis] = own
    if not found:
        prompts = ", ".join(prompt.text for prompt in plan.prompts)
        raise UsageError(f"no run given by --mitigated has one of the prompts: {prompts}")
    for prompt in plan.prompts:
        if isinstance(source, Model) and prompt.text in found:
            found[prompt.text][AS_IT_IS] = _by_model(plan, reader, prompt, source, "initial")
    return found


def _mitigated_model(plan: InteractionPlan, axis: str) -> Model:
    name = plan.mitigated[axis]
    settings = {k: v.replace(AXIS, axis) if isinstance(v, str) else v for k, v in plan.mitigated_args.items()}
    model = registry.model(name, **settings)
    if not isinstance(model, Model):
        raise UsageError(f"{name} holds pictures that exist already; --mitigated needs a model, or a finished run")
    return model


def _by_model(plan: InteractionPlan, reader: Reader, prompt: PromptPlan, model: Model, what: str) -> Mitigation:
    """Further pictures of a prompt by a model, on a seed of their own, so that they are independent of all others."""
    pictures = reader.run.pictures(model, [prompt.text], plan.images, derived_seed(plan.seed, "mitigated", what))
    (observed,) = reader.read(prompt, [(Prompt(prompt.text), pictures[prompt.text])])
    return of_pictures(observed, prompt, plan.vqa[0])
