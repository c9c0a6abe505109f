"""The command `askew interact`."""

from collections.abc import Sequence
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
    """Options that other commands share."""


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
    edge_rule: Literal["q", "paper"] | None = None,
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
    """Measure how each bias axis would change if another axis were uniform (BiasConnect).

    If an audit with the same store already generated the images, they are reused.

    Examples
    --------
    `askew interact "a photo of a nurse"`

    `askew interact --occupations --model studio/planted --reference bls-2022`

    `askew interact --prompts prompts.txt --axes gender,age,clothing`

    Parameters
    ----------
    prompts
        One or more prompts. You may omit them with --occupations, or for a folder of images.
    model
        Model under test: studio/planted, diffusers/ID-OR-PATH, folder/PATH, … [default: studio]
    occupations
        Add prompts for the 26 occupations in the BiasConnect paper.
    plan
        TOML file with the plan to run, such as the plan.toml of an earlier run.
    images
        Number of images per prompt. [default: 48; 24 with studio]
    axes
        Names of axes, separated by commas. By default, the prompt generator chooses them.
    reference
        Reference shares: uniform, bls-2022, a CSV file, a run folder, or AXIS=VALUE:SHARE,… May be
        given more than once; later references override earlier ones. [default: uniform]
    distance
        Measure of the distance from the reference: ordinal, nominal, values, or auto (according to
        the scale of the axis). [default: auto]
    edge_rule
        Rule that decides whether a pair of axes is an edge: q (q < 0.05, corrected over all pairs
        in a graph), or paper (p below the paper's thresholds). [default: q]
    alpha
        A pair of axes is an edge in the graph of a single prompt if its p is below this threshold.
        This option and the next three imply --edge-rule paper. [default: 0.0001]
    open_threshold
        Threshold that replaces --alpha if --open-answers is set. [default: 0.05]
    global_threshold
        Threshold that replaces --alpha in the graph of all prompts together. [default: 0.00005]
    least_sensitivity
        Value that |IS| must exceed for a pair to be an edge in the graph of all prompts together.
        [default: 0.03]
    open_answers
        Ask open-ended questions, and count the concepts in the answers.
    no_error_correction
        Do not correct for the instrument's known labeling errors.
    mitigated
        Model or finished run in which an axis is actually mitigated. askew compares the effects
        measured in its images with the estimated effects. Give AXIS=NAME for a single axis or, for
        all axes, a name that contains {axis}.
    mitigated_args
        Setting of the mitigated model, such as equal={axis}, where {axis} stands for the mitigated
        axis.

    Returns
    -------
    InteractionResult
        The finished run.

    Raises
    ------
    UsageError
        If the request cannot be met. If the run itself fails, another subclass of AskewError is
        raised.
    """

    def build() -> InteractionPlan:
        fields = shared.given(
            images=images,
            distance=distance,
            edge_rule=edge_rule,
            alpha=alpha,
            open_threshold=open_threshold,
            global_threshold=global_threshold,
            least_sensitivity=least_sensitivity,
        )
        return plan_interactions(
            [*shared.prompts_of(prompts, options), *_occupation_prompts(occupations)],
            axes=None if axes is None else shared.names(axes),
            reference=shared.several(reference),
            open_answers=open_answers,
            mitigated=shared.several(mitigated),
            mitigated_args=shared.key_values(mitigated_args or {}, "--mitigated-arg"),
            context=shared.ProposalContext.of(options),
            no_error_correction=no_error_correction,
            **fields,
            **shared.plan_fields({**options, "model": model}),
        )

    return METHOD.run_command(
        options,
        InteractOptions,
        build,
        plan,
        prompts=prompts,
        model=model,
        occupations=occupations,
        axes=axes,
        reference=reference,
        open_answers=open_answers,
        no_error_correction=no_error_correction,
        mitigated=mitigated,
        mitigated_args=mitigated_args,
        images=images,
        distance=distance,
        edge_rule=edge_rule,
        alpha=alpha,
        open_threshold=open_threshold,
        global_threshold=global_threshold,
        least_sensitivity=least_sensitivity,
    )


def _occupation_prompts(occupations: bool | Sequence[str]) -> list[str]:
    """Return the prompts of --occupations."""
    if occupations is True:
        return occupation_prompts(OCCUPATIONS)
    return occupation_prompts(occupations) if occupations else []
