"""askew map."""

from collections.abc import Sequence
from typing import Annotated, Literal, Unpack

from askew import options as o
from askew.methods.map import METHOD
from askew.methods.map.findings import MapResult
from askew.methods.map.plan import plan_map
from askew.plan import DEFAULT_MODEL
from askew.stats.overlap import Threshold


def map(
    *prompts: o.PromptArgument,
    concept: o.TextsOption = None,
    against: str | None = None,
    professions: o.Flag = False,
    profession: o.NamesOption = None,
    model: o.NamesOption = None,
    images: int | None = None,
    baseline_run: o.PathOption = None,
    threshold: Threshold | None = None,
    tau: float | None = None,
    masks: o.PathOption = None,
    taus: Annotated[
        Sequence[float] | None, o.numbers(float, "numbers from 0 to 100, such as 10,50,90,")
    ] = None,
    definition: Literal["ovam", "output"] | None = None,
    branch: Literal["cond", "uncond"] | None = None,
    **options: Unpack[o.SurveyOptions],
) -> MapResult:
    """Where a model attends to concepts while it makes pictures, and which it attends to in one
    place (BiasMap).

    Examples:

    - `askew map "a photo of a nurse" --concept woman --concept man --against nurse`

    - `askew map --professions --concept gender --concept race --model studio,diffusers/folder`

    - `askew map --professions --concept gender --model diffusers/mitigated --baseline-run runs/original`

    Parameters
    ----------
    prompts
        Prompts, which hold the word `against`.
    concept
        A word to look for, which need not stand in the prompt; may be repeated.
    against
        The word of the prompt to hold them against.
    professions
        Add the 20 professions of the paper, each with the paper's prompt and held against itself.
    profession
        Add these professions, separated by commas.
    model
        studio (if none is given) or diffusers/ID-OR-PATH; further ones, after commas, are held
        against it.
    images
        Pictures per prompt: 24, if the model suggests no other.
    baseline_run
        A finished run, whose model, with its settings there, all models are held against.
    threshold
        Where a map is high: percentile (if not given), max or minmax.
    tau
        The threshold, 0 to 100; 70 if not given.
    masks
        Folder with true places, WORD/PICTURE.png, white where the word is: how well do maps find
        them?
    taus
        Thresholds at which masks are held against these, with commas; 10,20,…,90 if not given.
    definition
        ovam (if not given): attention weights; output: what attention gathers, of SD3, Flux and
        their like.
    branch
        cond (if not given) or, with guidance, uncond.

    Raises
    ------
    UsageError
        For a request that cannot be met; other AskewErrors where a run fails.
    """
    o.only_known(options, o.SurveyOptions)
    own = {"model": o.names(model)[0]} if o.names(model) else {}
    fields = o.plan_fields({**own, **options, "embedder": "none"})
    models = o.names(model) if model is not None else [fields.get("model", DEFAULT_MODEL)]
    plan = plan_map(
        o.prompts_of(prompts, options),
        concepts=o.several(concept),
        against=against,
        professions=o.names(profession) or professions,
        models=models,
        masks=str(masks or ""),
        **{
            **fields,
            **o.given(
                images=images,
                taus=taus,
                baseline_run=baseline_run and str(baseline_run),
                threshold=threshold,
                tau=tau,
                definition=definition,
                branch=branch,
            ),
        },
    )
    return METHOD.run(plan, **o.run_options(options))
