"""Command and function `mitigate`."""

from pathlib import Path
from typing import Annotated, Unpack

from cyclopts import Parameter

from askew import options as o
from askew.errors import UsageError
from askew.methods.mitigate import METHOD
from askew.methods.mitigate.findings import MitigationResult
from askew.methods.mitigate.plan import MitigationPlan, plan_mitigation
from askew.parts.references import given_shares


class MitigateOptions(o.EmbedderOptions, o.WriterOptions, o.SurveyOptions, total=False):
    """Options that other commands share."""


def mitigate(
    prompts: o.PromptsArgument = (),
    model: str | None = None,
    *,
    plan: o.PathOption = None,
    axes: o.NamesOption = None,
    choose_axes: int | None = None,
    techniques: Annotated[o.NamesOption, Parameter("--technique")] = None,
    monitor: o.NamesOption = None,
    target_shares: o.TextsOption = None,
    priority: o.NamesOption = None,
    technique_args: Annotated[o.SettingsOption, Parameter("--technique-arg")] = None,
    images: int | None = None,
    eval_images: int | None = None,
    max_stated: int | None = None,
    max_prompts: int | None = None,
    tolerance: float | None = None,
    independence_weight: float | None = None,
    **options: Unpack[MitigateOptions],
) -> MitigationResult:
    """Mitigate biases on several axes together, and measure the result on held-out images.

    The command writes one mitigation file per technique. Every command that generates images from
    prompts accepts such a file as `--mitigation FILE`.

    Examples
    --------
    `askew mitigate "a photo of a nurse" --axes gender,age --model studio/planted`

    `askew mitigate "a photo of a nurse" --axes gender --technique prompts,fair-diffusion,cads`

    `askew mitigate "a photo of a nurse" --choose-axes 2 --technique prompts,intermit`

    `askew mitigate "a photo of a nurse" --axes gender --target-shares gender=male:.1,female:.9`

    `askew audit "a photo of a nurse" --mitigation runs/mine/mitigation-prompts.toml`

    Parameters
    ----------
    prompts
        Prompts to mitigate.
    model
        Model to mitigate: studio, studio/planted, diffusers/ID-OR-PATH … [default: studio]
    plan
        TOML file with the plan to run, such as the plan.toml of an earlier run.
    axes
        Target axes, separated by commas. [default with --choose-axes: BiasConnect's eight]
    choose_axes
        Number of target axes to mitigate. askew measures the interactions of the axes, and chooses
        the axes whose mitigation is predicted to bring all axes closest to their references.
        [default: all]
    techniques
        Techniques to try, separated by commas: prompts, intermit, or others listed by `askew
        models`. Each technique is applied separately. [default: prompts]
    monitor
        Axes to monitor in addition to the target axes. [default: BiasConnect's eight]
    target_shares
        AXIS=VALUE:SHARE,VALUE:SHARE. May be repeated. [default: uniform]
    priority
        Weights of axes in the form AXIS=WEIGHT, separated by commas. [default: 1 for each axis]
    technique_args
        Setting of a technique, such as scale=4. With several techniques: fair-diffusion:scale=4.
    images
        Number of images per prompt for planning. [default: 48; 24 with studio]
    eval_images
        Number of held-out images per prompt for the evaluation. askew generates this number before
        mitigation and for each technique. [default: 96]
    max_stated
        Maximum number of axes on which a single prompt of a policy states a value. [default: 2]
    max_prompts
        Maximum number of prompts in a policy; 0 for no limit. [default: 12]
    tolerance
        Largest tolerated increase in the deviation of any axis. [default: 0.15]
    independence_weight
        Weight of keeping target axes independent of each other and of monitored axes. [default:
        1.0]

    Returns
    -------
    MitigationResult
        The finished run.

    Raises
    ------
    UsageError
        If the request cannot be met. If the run itself fails, another subclass of AskewError is
        raised.
    """
    o.only_known(options, MitigateOptions)
    settings = o.given(
        choose_axes=choose_axes,
        techniques=tuple(o.names(techniques)) or None,
        images=images,
        eval_images=eval_images,
        max_stated=max_stated,
        max_prompts=max_prompts,
        tolerance=tolerance,
        independence_weight=independence_weight,
        technique_args=None
        if technique_args is None
        else o.key_values(technique_args, "--technique-arg"),
    )
    if plan is not None:
        o.only_plan(
            options,
            prompts=prompts,
            model=model,
            axes=axes,
            monitor=monitor,
            target_shares=target_shares,
            priority=priority,
            **settings,
        )
        chosen_plan = MitigationPlan.read(Path(plan))
    else:
        if not o.names(axes) and choose_axes is None:
            raise UsageError(
                "no target axis is given. Give the axes to mitigate, such as --axes gender,age, "
                "or let askew choose two axes with --choose-axes 2"
            )
        chosen_plan = plan_mitigation(
            o.prompts_of(prompts, options),
            axes=o.names(axes),
            monitor=None if monitor is None else o.names(monitor),
            targets=_target_shares(o.several(target_shares)),
            priorities=_priorities(o.names(priority)),
            desk=o.ProposalContext.of(options),
            **settings,
            **o.plan_fields({**options, "model": model}),
        )
    return METHOD.run(chosen_plan, **o.run_options(options))


def _target_shares(given: list[str]) -> dict[str, dict[str, float]]:
    """Parse texts of the form AXIS=VALUE:SHARE,VALUE:SHARE into the shares for each axis."""
    shares: dict[str, dict[str, float]] = {}
    for text in given:
        of_text = given_shares(text, option="--target-shares").shares[""]
        shares |= {axis: dict(by_value) for axis, by_value in of_text.items()}
    return shares


def _priorities(given: list[str]) -> dict[str, float]:
    """Parse texts of the form AXIS=WEIGHT into the weight of each axis."""
    weights = o.pairs(given, "--priority")
    try:
        return {axis: float(weight) for axis, weight in weights.items()}
    except ValueError as error:
        raise UsageError(
            f"--priority {','.join(given)!r} is invalid: weights must be numbers, as in "
            "gender=2,age=1"
        ) from error
