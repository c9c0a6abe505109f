"""From a request to a plan: prompts with axes and counterfactuals, or the prompts of a collection."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import TypeVar, cast

from askew import registry
from askew.errors import LanguageModelError, UsageError
from askew.measure.labels import LabelVQA
from askew.mitigations import open_model, open_model_if_fast
from askew.models.base import Collection
from askew.options import ProposalContext
from askew.parts.references import with_references
from askew.parts.survey.reader import LABELS, load_instruments
from askew.plan import AxisPlan, Plan, PlanFields, PromptPlan
from askew.prompts.axes import find_axis
from askew.prompts.base import AxisProposal, Writer
from askew.prompts.llm import report_usage
from askew.types import Axis

P = TypeVar("P", bound=Plan)


@dataclass(slots=True)
class PlanDraft:
    """What is known of a plan beside the plan: its writer, and why that gave nothing for some
    prompts.
    """

    writer: Writer | None = None
    failed: dict[str, str] = field(default_factory=dict)


AXES_OF_PEOPLE = ("gender", "age", "ethnicity")
"""What is read from existing pictures if neither axes nor labels say otherwise."""


def survey_plan(
    kind: type[P],
    prompts: Sequence[str],
    *,
    axes: Sequence[str] | None = None,
    reference: Sequence[str] = (),
    asked: Callable[[Axis], Axis] | None = None,
    desk: ProposalContext | None = None,
    draft: PlanDraft | None = None,
    **settings: object,
) -> P:
    """A plan for `prompts`, with axes and counterfactuals by the writer `llm` at a `desk`. Prompts
    for which it gave nothing are an error, or, with a `draft`, left out and noted there. `axes`
    None lets the writer choose; `asked` turns an axis into what is asked about it. `reference` names
    the shares that pictures should have (`reference`). `settings` are the other fields of the plan:
    without `vqa` a collection of existing pictures is read by labels and a model's by the studio;
    without `images` a model may suggest how many, and to the lexicon also which axes. Of a
    collection its own prompts are planned, restricted to `prompts` if any are given. Raises
    UsageError, LanguageModelError.
    """
    desk = desk or ProposalContext()
    defaults = {
        name: field.get_default(call_default_factory=True)
        for name, field in Plan.model_fields.items()
    }
    chosen = cast("PlanFields", defaults | settings)
    # A model that cannot be opened is an error before a paid language model is asked.
    is_free = chosen["llm"].startswith("lexicon")
    open_source = open_model_if_fast if is_free else open_model
    source = open_source(chosen["model"], chosen["model_args"])
    usual_axes = None
    suggested = getattr(source, "suggestion", None)
    if suggested:
        settings = {"images": suggested.images} | settings
        named = axes is not None or not {"axes", "axes_on"}.isdisjoint(desk.settings)
        usual_axes = suggested.axes if chosen["llm"].startswith("lexicon") and not named else None
    if settings.get("vqa") is None:
        chosen["vqa"] = (LABELS,) if isinstance(source, Collection) else defaults["vqa"]
    if LABELS not in chosen["vqa"] and (chosen["aliases"] or chosen["values"]):
        raise UsageError("aliases and values are of a person's labels, which --vqa labels reads")
    if isinstance(source, Collection):
        planned = _plan_collection(source, prompts, axes, chosen)
    elif not prompts:
        raise UsageError('there is no prompt; give one, such as "a photo of a nurse"')
    else:
        goes_on = draft is not None
        draft = draft or PlanDraft()
        writer = draft.writer = registry.writer(chosen["llm"], cache=desk.cache, **desk.settings)
        try:
            proposals = zip(
                prompts, _proposals(writer, prompts, axes, usual_axes, chosen["seed"]), strict=True
            )
        finally:
            report_usage(writer, desk.tell)
        planned = []
        for text, proposed in proposals:
            if isinstance(proposed, LanguageModelError):
                draft.failed[text] = str(proposed)
            else:
                planned.append(
                    PromptPlan.of(
                        text, (AxisPlan.of(one.axis, one.counterfactuals) for one in proposed)
                    )
                )
        told = "; ".join(f"{text!r}: {reason}" for text, reason in draft.failed.items())
        if told and planned and goes_on and desk.tell:
            desk.tell(
                f"{len(draft.failed)} of {len(prompts)} prompts are left out, for which no axes came: {told}"
            )
        elif told and not (planned and goes_on):
            hint = (
                "; `askew axes --to plan.toml`, with the same options, plans the other prompts"
                if planned
                else ""
            )
            raise LanguageModelError(
                f"no axes came for {len(draft.failed)} of {len(prompts)} prompts: {told}{hint}"
            )
    if asked is not None:
        planned = [
            PromptPlan.of(
                one.text,
                (AxisPlan.of(asked(axis.axis()), axis.counterfactuals) for axis in one.axes),
            )
            for one in planned
        ]
    planned = with_references(planned, reference)
    return kind.checked(
        {**settings, "vqa": chosen["vqa"], "prompts": [prompt.model_dump() for prompt in planned]},
        "this request",
    )


def _proposals(
    writer: Writer,
    prompts: Sequence[str],
    axes: Sequence[str] | None,
    usual: Sequence[str] | None,
    seed: int,
) -> list[list[AxisProposal] | LanguageModelError]:
    """Proposals for each prompt, or why there are none, as many at once as the writer can work on.
    `usual` axes are proposed for prompts that they fit, whatever the writer would choose.
    """

    def propose(text: str) -> list[AxisProposal] | LanguageModelError:
        try:
            with suppress(UsageError) if usual else nullcontext():
                return writer.propose(text, usual or axes, seed)
            return writer.propose(text, axes, seed)
        except LanguageModelError as error:
            return error

    if writer.concurrency == 1:
        return [propose(text) for text in prompts]
    with ThreadPoolExecutor(writer.concurrency) as pool:
        futures = [pool.submit(propose, text) for text in prompts]
        try:
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _plan_collection(
    source: Collection, prompts: Sequence[str], axes: Sequence[str] | None, chosen: PlanFields
) -> list[PromptPlan]:
    """Axes are those asked for, else those with labels, else the usual ones of people."""
    found = list(dict.fromkeys(filed.prompt for filed in source.pictures()))
    for prompt in prompts:
        if prompt not in found:
            raise UsageError(
                f"{source.name} has no pictures of {prompt!r}; it has: {', '.join(found)}"
            )
    labels = None
    if LABELS in chosen["vqa"]:
        labels = load_instruments((LABELS,), source, chosen["aliases"], chosen["values"])[LABELS]
    labelled = {axis.name: axis for axis in labels.axes()} if isinstance(labels, LabelVQA) else {}
    names = [*labelled] or AXES_OF_PEOPLE if axes is None else axes
    plans = tuple(AxisPlan.of(labelled.get(name) or find_axis(name)) for name in names)
    return [PromptPlan.of(text, plans) for text in prompts or found]
