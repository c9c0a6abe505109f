"""Build plans from requests: prompts with axes and counterfactuals, or a collection."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any, TypeVar

from askew import registry
from askew.errors import LanguageModelError, UsageError
from askew.measure.labels import LabelVQA
from askew.messages import message_listener
from askew.mitigations import open_model, open_model_if_fast
from askew.models.base import Collection
from askew.options import ProposalContext
from askew.parts.references import with_references
from askew.parts.survey.instruments import LABELS, Source, load_instruments
from askew.plan import AxisPlan, Plan, PromptPlan
from askew.prompts.axes import find_axis
from askew.prompts.base import AxisProposal, Writer
from askew.prompts.llm import report_usage
from askew.types import Axis

P = TypeVar("P", bound=Plan)
Proposal = list[AxisProposal] | LanguageModelError

AXES_OF_PEOPLE = ("gender", "age", "ethnicity")
"""Default axes for existing images, used if neither `--axes` nor labels are given."""

EXAMPLE_PROMPT = "a photo of a nurse"


@dataclass(slots=True)
class PlanDraft:
    """Information about a plan that the plan itself does not contain.

    Attributes
    ----------
    writer : Writer or None
        The prompt generator of the plan.
    failed : dict of prompt to str
        Prompts without axes, each with the reason.
    """

    writer: Writer | None = None
    failed: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class AxesRequest:
    """Axes that a request wants.

    Attributes
    ----------
    named : sequence of str or None
        Axes given with `--axes`. If None, the prompt generator chooses the axes.
    usual : sequence of str or None
        Axes that the text-to-image model suggests. Each axis is used for the prompts that it fits.
    """

    named: Sequence[str] | None
    usual: Sequence[str] | None = None


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
    """Return the plan that a survey request describes.

    Parameters
    ----------
    kind
        Class of the plan.
    prompts
        Prompts. For a collection, prompts of the collection. By default, all its prompts are
        planned.
    axes
        Names of axes. If None, the prompt generator chooses the axes.
    reference
        Values of `--reference`.
    asked
        Function that takes an axis and returns the questions to ask about it.
    desk
        Settings of the prompt generator, and the store of its answers.
    draft
        If given, prompts without axes are left out of the plan and recorded in the draft. Otherwise
        they are an error.
    **settings
        Other fields of the plan. If `vqa` is missing, the default is the labels of a collection or,
        if there are none, the studio VQA. If `images` is missing, the model may suggest a number of
        images. The model may also suggest the axes that the lexicon uses.

    Raises
    ------
    UsageError
        If the request cannot be planned.
    LanguageModelError
        If the prompt generator chose no axes for a prompt.
    """
    context = desk or ProposalContext()
    defaults = _plan_defaults()
    chosen: dict[str, Any] = defaults | settings
    source = _open_source(chosen)
    usual_axes = None
    suggestion = getattr(source, "suggestion", None)
    if suggestion:
        settings = {"images": suggestion.images} | settings
        if axes is None and _chooses_axes_freely(chosen, context):
            usual_axes = suggestion.axes
    if settings.get("vqa") is None:
        chosen["vqa"] = (LABELS,) if isinstance(source, Collection) else defaults["vqa"]
    _check_labels_are_used(chosen)
    if isinstance(source, Collection):
        planned = _plan_collection(source, prompts, axes, chosen)
    else:
        request = AxesRequest(named=axes, usual=usual_axes)
        planned = _plan_prompts(prompts, request, chosen, context, draft)
    if asked is not None:
        planned = [_with_questions(prompt, asked) for prompt in planned]
    planned = with_references(planned, reference)
    fields = {
        **settings,
        "vqa": chosen["vqa"],
        "prompts": [prompt.model_dump() for prompt in planned],
    }
    return kind.checked(fields, "this request")


def _plan_defaults() -> dict[str, Any]:
    return {
        name: field.get_default(call_default_factory=True)
        for name, field in Plan.model_fields.items()
    }


def _is_lexicon(chosen: Mapping[str, Any]) -> bool:
    return bool(chosen["llm"].startswith("lexicon"))


def _open_source(chosen: Mapping[str, Any]) -> Source | None:
    """Open the plan's model early if this is fast or if a paid language model will be used."""
    # A model that cannot be opened is an error before a paid language model is asked.
    open_source = open_model_if_fast if _is_lexicon(chosen) else open_model
    return open_source(chosen["model"], chosen["model_args"])


def _chooses_axes_freely(chosen: Mapping[str, Any], context: ProposalContext) -> bool:
    """Check whether the lexicon chooses the axes without a setting that restricts its choice."""
    return _is_lexicon(chosen) and {"axes", "axes_on"}.isdisjoint(context.settings)


def _check_labels_are_used(chosen: Mapping[str, Any]) -> None:
    """Raise UsageError if options concern human labels but no instrument uses human labels."""
    if LABELS not in chosen["vqa"] and (chosen["aliases"] or chosen["values"]):
        raise UsageError(
            "--alias and --values describe human labels, but no instrument uses human labels. "
            "Add --vqa labels"
        )


def _plan_prompts(
    prompts: Sequence[str],
    axes: AxesRequest,
    chosen: Mapping[str, Any],
    context: ProposalContext,
    draft: PlanDraft | None,
) -> list[PromptPlan]:
    """Plan the prompts for a model, with axes chosen by the prompt generator."""
    if not prompts:
        raise UsageError(f'no prompt is given. Name one, such as "{EXAMPLE_PROMPT}"')
    notes = draft or PlanDraft()
    writer = registry.writer(chosen["llm"], cache=context.cache, **context.settings)
    notes.writer = writer
    try:
        with message_listener(context.tell):
            proposals = _proposals(writer, prompts, axes, chosen["seed"])
    finally:
        report_usage(writer, context.tell)
    planned = []
    for text, proposal in zip(prompts, proposals, strict=True):
        if isinstance(proposal, LanguageModelError):
            notes.failed[text] = str(proposal)
        else:
            planned.append(_prompt_plan(text, proposal))
    if notes.failed:
        may_continue = draft is not None and bool(planned)
        _report_failures(notes.failed, len(prompts), bool(planned), may_continue, context)
    return planned


def _prompt_plan(text: str, proposals: Iterable[AxisProposal]) -> PromptPlan:
    axes = [AxisPlan.of(proposal.axis, proposal.counterfactuals) for proposal in proposals]
    return PromptPlan.of(text, axes)


def _report_failures(
    failed: Mapping[str, str],
    prompt_count: int,
    some_planned: bool,
    may_continue: bool,
    context: ProposalContext,
) -> None:
    """Record prompts without axes in the draft; raise LanguageModelError if there is no draft."""
    reasons = "; ".join(f"{text!r}: {reason}" for text, reason in failed.items())
    summary = f"the language model chose no axes for {len(failed)} of {prompt_count} prompts"
    if may_continue:
        if context.tell:
            context.tell(f"{summary}, which are left out: {reasons}")
        return
    hint = ""
    if some_planned:
        hint = (
            ". To plan the other prompts, use `askew plan --output plan.toml` with the same options"
        )
    raise LanguageModelError(f"{summary}: {reasons}{hint}")


def _with_questions(prompt: PromptPlan, asked: Callable[[Axis], Axis]) -> PromptPlan:
    """Return the prompt with each axis's questions replaced by the questions from `asked`."""
    axes = [AxisPlan.of(asked(axis.axis()), axis.counterfactuals) for axis in prompt.axes]
    return PromptPlan.of(prompt.text, axes)


def _proposals(
    writer: Writer, prompts: Sequence[str], axes: AxesRequest, seed: int
) -> list[Proposal]:
    """Return the axes of each prompt, or an error for the prompt.

    The prompt generator processes several prompts at once.
    """
    if writer.concurrency == 1:
        return [_propose(writer, text, axes, seed) for text in prompts]
    with ThreadPoolExecutor(writer.concurrency) as pool:
        futures = [
            pool.submit(copy_context().run, _propose, writer, text, axes, seed) for text in prompts
        ]
        try:
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _propose(writer: Writer, text: str, axes: AxesRequest, seed: int) -> Proposal:
    """Return the proposals for a prompt, limited to the usual axes if any of these is proposed."""
    try:
        proposals = writer.propose(text, axes.named, seed)
    except LanguageModelError as error:
        return error
    usual = [proposal for proposal in proposals if proposal.axis.name in (axes.usual or ())]
    return usual or proposals


def _plan_collection(
    source: Collection,
    prompts: Sequence[str],
    axes: Sequence[str] | None,
    chosen: Mapping[str, Any],
) -> list[PromptPlan]:
    """Plan a collection with the named axes or, by default, its human-labeled or default axes."""
    filed = list(dict.fromkeys(picture.prompt for picture in source.pictures()))
    for prompt in prompts:
        if prompt not in filed:
            raise UsageError(
                f"{source.name} has no images of {prompt!r}. It has images of: {', '.join(filed)}"
            )
    labeled = _labeled_axes(source, chosen) if LABELS in chosen["vqa"] else {}
    names = axes
    if names is None:
        names = list(labeled) or AXES_OF_PEOPLE
    plans = tuple(AxisPlan.of(labeled.get(name) or find_axis(name)) for name in names)
    return [PromptPlan.of(text, plans) for text in prompts or filed]


def _labeled_axes(source: Collection, chosen: Mapping[str, Any]) -> dict[str, Axis]:
    """Return the axes that have human labels, keyed by name."""
    instruments = load_instruments((LABELS,), source, chosen["aliases"], chosen["values"])
    labels = instruments[LABELS]
    if not isinstance(labels, LabelVQA):
        return {}
    return {axis.name: axis for axis in labels.axes()}
