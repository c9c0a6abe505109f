"""askew mitigate."""

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
    """Options that other commands have, too."""


def mitigate(
    prompts: o.PromptsArgument = (),
    model: str | None = None,
    *,
    plan: o.PathOption = None,
    axes: o.NamesOption = None,
    ways: Annotated[o.NamesOption, Parameter("--with")] = None,
    also: o.NamesOption = None,
    target: o.TextsOption = None,
    priority: o.NamesOption = None,
    way_args: Annotated[o.SettingsOption, Parameter("--way-arg")] = None,
    images: int | None = None,
    confirm: int | None = None,
    statements: int | None = None,
    most_prompts: int | None = None,
    worsening: float | None = None,
    joint: float | None = None,
    **options: Unpack[MitigateOptions],
) -> MitigationResult:
    """What to do about biases together: mitigate them, and measure again what really changed.

    Writes a file for every way, which commands that make pictures of prompts take by `--mitigation
    FILE`.

    Examples
    --------
    `askew mitigate "a photo of a nurse" --axes gender,age --model studio/planted`

    `askew mitigate "a photo of a nurse" --axes gender --with prompts,fair-diffusion,cads`

    `askew mitigate "a photo of a nurse" --axes gender --target gender=male:.1,female:.9`

    `askew audit "a photo of a nurse" --mitigation runs/mine/mitigation-prompts.toml`

    Parameters
    ----------
    prompts
        One prompt or several.
    model
        The model: studio (if none is given), studio/planted, diffusers/ID-OR-PATH, …
    plan
        Run this TOML plan, such as a run's plan.toml.
    axes
        Axes to mitigate, separated by commas.
    ways
        Ways to try, each by itself: prompts (if not given), or others of `askew models`.
    also
        Axes to watch beside them; if not given, BiasConnect's eight.
    target
        AXIS=VALUE:SHARE,VALUE:SHARE; equal shares if not given. May be repeated.
    priority
        AXIS=WEIGHT, separated by commas; 1 if not given.
    way_args
        Setting of a way, such as scale=4, or fair-diffusion:scale=4 of one of several.
    images
        Pictures per prompt to plan by: 48, with studio 24, if not given.
    confirm
        Fresh pictures that judge, before and after each; 96 if not given.
    statements
        Axes that a prompt of a policy states at most; 2 if not given.
    most_prompts
        Prompts of a policy at most; 12 if not given, 0 for no limit.
    worsening
        How much further from its ideal any axis may come before that weighs like a mitigated one;
        0.05 if not given.
    joint
        Weight of mitigated axes being independent of each other and of watched ones; 0.15 if not
        given.

    Raises
    ------
    UsageError
        For a request that cannot be met; other AskewErrors where a run fails.
    """
    o.only_known(options, MitigateOptions)
    own = o.given(
        ways=tuple(o.names(ways)) or None,
        images=images,
        confirm=confirm,
        statements=statements,
        most_prompts=most_prompts,
        worsening=worsening,
        joint=joint,
        way_args=None if way_args is None else o.key_values(way_args, "--way-arg"),
    )
    if plan is not None:
        o.only_plan(
            options,
            prompts=prompts,
            model=model,
            axes=axes,
            also=also,
            target=target,
            priority=priority,
            **own,
        )
        made = MitigationPlan.read(Path(plan))
    else:
        if not o.names(axes):
            raise UsageError("--axes names what is to be mitigated, such as: --axes gender,age")
        made = plan_mitigation(
            o.prompts_of(prompts, options),
            axes=o.names(axes),
            also=None if also is None else o.names(also),
            targets={
                axis: one
                for text in o.several(target)
                for axis, one in given_shares(text, option="--target-shares").shares[""].items()
            },
            priorities=_priorities(o.names(priority)),
            desk=o.ProposalContext.of(options),
            **own,
            **o.plan_fields({**options, "model": model}),
        )
    result = METHOD.run(made, **o.run_options(options))
    if not options.get("dry_run"):
        result.write_files()
    return result


def _priorities(given: list[str]) -> dict[str, float]:
    """AXIS=WEIGHT texts as weights, before anything is asked."""
    found = o.pairs(given, "--priority")
    try:
        return {axis: float(weight) for axis, weight in found.items()}
    except ValueError as error:
        raise UsageError(
            f"--priority {','.join(given)!r}: weights are numbers, such as gender=2,age=1"
        ) from error
