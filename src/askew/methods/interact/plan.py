"""Define the plan of `askew interact`, and build it from a request."""

from collections.abc import Mapping, Sequence
from typing import Literal, Self

from pydantic import Field, model_validator

from askew.errors import UsageError
from askew.options import ProposalContext
from askew.parts.references import is_run
from askew.parts.survey.open_answers import check_open_answers, with_open_question
from askew.parts.survey.propose import survey_plan
from askew.plan import NonEmptyText, Plan, Settings
from askew.prompts.given import asked_as_in_biasconnect

PAPER_THRESHOLDS = ("alpha", "open_threshold", "global_threshold", "least_sensitivity")
"""Settings that imply the edge rule "paper"."""

AXIS = "{axis}"
"""Placeholder for the mitigated axis in the names and settings of mitigated models and runs."""


class InteractionPlan(Plan):
    """Plan of a run that measures how biases affect each other (BiasConnect).

    Attributes
    ----------
    distance : str
        Measure of the distance between shares and the reference. "auto" chooses it by the scale of
        the axis.
    edge_rule : "q" or "paper"
        Rule that decides whether a pair is an edge. "q" requires q < 0.05, corrected over the pairs
        in a graph by the Benjamini-Hochberg method. "paper" requires a p below the thresholds
        listed next.
    alpha : float
        Threshold in (0, 1). A pair is an edge in the graph of a single prompt if the p of its
        chi-squared test is below this threshold. This threshold and the next three are used only
        with the rule "paper".
    open_threshold : float
        Threshold that replaces alpha for axes with open answers.
    global_threshold : float
        Threshold that replaces alpha in the graph of all prompts together.
    least_sensitivity : float
        Value that |IS| must exceed for a pair to be an edge in the graph of all prompts together.
    no_error_correction : bool
        True to leave the instrument's known labeling errors uncorrected.
    mitigated : mapping of str to str
        For each axis, the model in which the axis is mitigated, or the folder of a finished run.
    mitigated_args : mapping of str to setting
        Settings for the mitigated models. `{axis}` stands for the mitigated axis.
    """

    method: Literal["interact"] = "interact"
    distance: Literal["auto", "ordinal", "nominal", "values"] = "auto"
    edge_rule: Literal["q", "paper"] = "q"
    alpha: float = Field(default=1e-4, gt=0, lt=1)
    open_threshold: float = Field(default=0.05, gt=0, lt=1)
    global_threshold: float = Field(default=5e-5, gt=0, lt=1)
    least_sensitivity: float = Field(default=0.03, ge=0, lt=1)
    no_error_correction: bool = False
    mitigated: dict[str, NonEmptyText] = Field(default_factory=dict)
    mitigated_args: Settings = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_axes(self) -> Self:
        axes = [axis for prompt in self.prompts for axis in prompt.axes]
        if self.distance == "values" and any(axis.reference for axis in axes):
            raise ValueError(
                "the distance 'values' ignores which value has which share, so it needs a "
                "uniform reference. Leave out --reference, or choose another --distance"
            )
        names = {axis.name for axis in axes}
        if not names >= set(self.mitigated):
            known = ", ".join(sorted(names))
            raise ValueError(
                f"mitigated axes must be axes of the plan. The plan has the axes {known}"
            )
        return self


def plan_interactions(
    prompts: Sequence[str],
    *,
    axes: Sequence[str] | None = None,
    reference: Sequence[str] = (),
    open_answers: bool = False,
    mitigated: Sequence[str] = (),
    context: ProposalContext | None = None,
    **settings: object,
) -> InteractionPlan:
    """Return the plan for a request to measure interactions.

    Parameters
    ----------
    prompts
        Prompts for which graphs are built.
    axes
        Names of axes. If None, the prompt generator chooses the axes.
    reference
        Values of `--reference`.
    open_answers
        True to ask open-ended questions, as TIBET does, instead of questions whose options are the
        axes' values.
    mitigated
        Models or finished runs in which an axis is mitigated, each as AXIS=NAME. If the name or
        `mitigated_args` contains `{axis}`, the entry applies to every axis. If some of these runs
        are finished, askew uses only the finished runs.
    context
        Settings for the prompt generator, and the store that holds its answers.
    **settings
        Other fields of the plan (see `survey_plan`).

    Raises
    ------
    UsageError
        If the request cannot be planned.
    """
    if open_answers:
        check_open_answers(reference)
    planned = survey_plan(
        InteractionPlan,
        prompts,
        axes=axes,
        reference=reference,
        asked=with_open_question if open_answers else asked_as_in_biasconnect,
        desk=context,
        draft=None,
        **{**_with_edge_rule(settings), "embedder": "none"},
    )
    names = list(dict.fromkeys(axis.name for prompt in planned.prompts for axis in prompt.axes))
    sources = _mitigated_by_axis(mitigated, names, planned.mitigated_args)
    return InteractionPlan.checked({**planned.model_dump(), "mitigated": sources}, "this request")


def _with_edge_rule(settings: Mapping[str, object]) -> dict[str, object]:
    """Return the settings, with the rule "paper" added if they contain one of its thresholds."""
    thresholds = [name for name in PAPER_THRESHOLDS if name in settings]
    if not thresholds:
        return dict(settings)
    if settings.get("edge_rule", "paper") != "paper":
        option = thresholds[0].replace("_", "-")
        raise UsageError(
            f"--{option} is a threshold of the paper's edge rule, which --edge-rule q does not "
            f"use. Leave out --{option}, or use --edge-rule paper"
        )
    return {**settings, "edge_rule": "paper"}


def _mitigated_by_axis(
    mitigated: Sequence[str], axes: Sequence[str], settings: Mapping[str, object]
) -> dict[str, str]:
    """Return the mitigated model or run of each axis, read from the values of --mitigated."""
    sources: dict[str, str] = {}
    for text in mitigated:
        axis, equals, name = text.partition("=")
        if equals and axis in axes:
            sources[axis] = name
        elif AXIS in text or any(AXIS in str(value) for value in settings.values()):
            sources |= _for_each_axis(text, axes)
        else:
            raise UsageError(
                f"--mitigated {text} does not name the mitigated axis. Write AXIS={text}, or use "
                f"{AXIS} in the name or in --mitigated-arg. The axes are: {', '.join(axes)}"
            )
    return sources


def _for_each_axis(name: str, axes: Sequence[str]) -> dict[str, str]:
    """Return the model or run for each axis; if some are finished runs, return only those runs."""
    names = {axis: name.replace(AXIS, axis) for axis in axes}
    finished = {axis: folder for axis, folder in names.items() if is_run(folder)}
    return finished if finished else names
