"""askew interact."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Unpack

from cyclopts import Parameter

from askew import options as shared
from askew.methods.interact import METHOD
from askew.methods.interact.findings import InteractionResult
from askew.methods.interact.plan import InteractionPlan, plan_interactions
from askew.prompts.given import OCCUPATIONS, occupation_prompts


class InteractOptions(
    shared.WriterOptions, shared.FolderOptions, shared.SurveyOptions, total=False
):
    """Options that other commands have, too."""


def interact(
    prompts: shared.PromptsArgument = (),
    model: str | None = None,
    *,
    occupations: Annotated[
        bool | Sequence[str], Parameter(negative="", show_default=False, metavar="")
    ] = False,
    plan: shared.PathOption = None,
    images: int | None = None,
    axes: shared.NamesOption = None,
    reference: shared.TextsOption = None,
    distance: Literal["auto", "ordinal", "nominal", "values"] | None = None,
    alpha: float | None = None,
    open_threshold: float | None = None,
    global_threshold: float | None = None,
    least_sensitivity: float | None = None,
    open_answers: shared.Flag = False,
    no_error_correction: shared.Flag = False,
    mitigated: shared.TextsOption = None,
    mitigated_args: Annotated[shared.SettingsOption, Parameter("--mitigated-arg")] = None,
    **options: Unpack[InteractOptions],
) -> InteractionResult:
    """How biases pull on each other: which axes move when one is made equal (BiasConnect).

    Pictures that an audit with the same store has made are used again.

    Examples:

    - `askew interact "a photo of a nurse"`

    - `askew interact --occupations --model studio/planted --reference bls-2022`

    - `askew interact --prompts prompts.txt --axes gender,age,clothing`

    Parameters
    ----------
    prompts
        One prompt or several; none for occupations, or for a folder's own.
    model
        The model: studio (if none is given), studio/planted, diffusers/ID-OR-PATH, folder/PATH, …
    occupations
        Add BiasConnect's 26 occupations.
    plan
        Run this TOML plan, such as a run's plan.toml.
    images
        Pictures per prompt: 48, with studio 24, if not given.
    axes
        Axes, separated by commas; if not given, all that the writer proposes.
    reference
        Shares to hold against: uniform (if not given), bls-2022, a CSV, a run's folder,
        AXIS=VALUE:SHARE,…; a later one precedes.
    distance
        From the ideal: auto (if not given: by the axis's scale), ordinal, nominal or values.
    alpha
        p below which there is an edge in the graph of a prompt; 0.0001 if not given.
    open_threshold
        The same of axes with open answers; 0.05 if not given.
    global_threshold
        The same in the graph of all prompts together; 0.00005 if not given.
    least_sensitivity
        What |IS| of an edge must exceed in the graph of all prompts together; 0.03 if not given.
    open_answers
        Take the concepts in any answer instead of the axes' values.
    no_error_correction
        Do not correct for what is known of the instrument's errors.
    mitigated
        Model or run to validate against: AXIS=NAME, or with {axis} for the mitigated axis.
    mitigated_args
        Setting of that model, such as equal={axis}.

    Raises
    ------
    UsageError
        For a request that cannot be met; other AskewErrors where a run fails.
    """
    shared.only_known(options, InteractOptions)
    fields = shared.given(
        images=images,
        distance=distance,
        alpha=alpha,
        open_threshold=open_threshold,
        global_threshold=global_threshold,
        least_sensitivity=least_sensitivity,
    )
    if plan is not None:
        shared.only_plan(
            options,
            prompts=prompts,
            model=model,
            occupations=occupations,
            axes=axes,
            reference=reference,
            open_answers=open_answers,
            no_error_correction=no_error_correction,
            mitigated=mitigated,
            mitigated_args=mitigated_args,
            **fields,
        )
        made = InteractionPlan.read(Path(plan))
    else:
        people = occupation_prompts(OCCUPATIONS if occupations is True else occupations or ())
        made = plan_interactions(
            [*shared.prompts_of(prompts, options), *people],
            axes=None if axes is None else shared.names(axes),
            reference=shared.several(reference),
            open_answers=open_answers,
            mitigated=shared.several(mitigated),
            mitigated_args=shared.key_values(mitigated_args or {}, "--mitigated-arg"),
            desk=shared.ProposalContext.of(options),
            no_error_correction=no_error_correction,
            **fields,
            **shared.plan_fields({**options, "model": model}),
        )
    return METHOD.run(made, **shared.run_options(options))
