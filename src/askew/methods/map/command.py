"""Command and function `map`."""

from collections.abc import Sequence
from typing import Annotated, Literal, Unpack

from askew import options as shared
from askew.methods.map import METHOD
from askew.methods.map.findings import MapResult
from askew.methods.map.plan import MapPlan, plan_map
from askew.plan import DEFAULT_MODEL
from askew.stats.overlap import Threshold


def map(
    *prompts: shared.PromptArgument,
    concept: shared.TextsOption = None,
    against: str | None = None,
    professions: shared.Flag = False,
    profession: shared.NamesOption = None,
    model: shared.NamesOption = None,
    images: int | None = None,
    baseline_run: shared.PathOption = None,
    threshold: Threshold | None = None,
    tau: float | None = None,
    masks: shared.PathOption = None,
    taus: Annotated[
        Sequence[float] | None, shared.numbers(float, "numbers from 0 to 100, such as 10,50,90,")
    ] = None,
    definition: Literal["ovam", "output"] | None = None,
    branch: Literal["cond", "uncond"] | None = None,
    plan: shared.PathOption = None,
    **options: Unpack[shared.SurveyOptions],
) -> MapResult:
    """Map a model's attention to concepts, and measure how strongly the maps overlap (BiasMap).

    Examples
    --------
    `askew map "a photo of a nurse" --concept woman --concept man --against nurse`

    `askew map --professions --concept gender --concept race --model studio,diffusers/folder`

    `askew map --professions --concept gender --model diffusers/new --baseline-run runs/original`

    Parameters
    ----------
    prompts
        Prompts. Each must contain the word of --against.
    concept
        Word to map. The prompt need not contain it. May be repeated.
    against
        Word of the prompt with which the concepts are compared, such as nurse.
    professions
        Add the paper's 20 professions, each with the paper's prompt.
    profession
        Add these professions, separated by commas, each with the paper's prompt.
    model
        studio or diffusers/ID-OR-PATH. Separate several models by commas; askew compares each later
        model with the first. [default: studio]
    images
        Images per prompt. [default: 24, or the number that the model suggests]
    baseline_run
        Folder of a finished run. All models are compared with the model of that run, under its
        settings.
    threshold
        Kind of threshold of the masks: percentile, max or minmax. [default: percentile]
    tau
        Threshold of the masks, from 0 to 100. [default: 70]
    masks
        Folder with true masks, named WORD/IMAGE.png and white where the image shows the word. askew
        reports how accurately the maps locate the word.
    taus
        Thresholds at which maps are compared with the true masks, separated by commas. [default:
        10,20,…,90]
    definition
        How a map is defined: ovam (from attention weights), or output (from the attention output,
        for SD3, Flux and similar models). [default: ovam]
    branch
        Branch of classifier-free guidance whose attention is mapped: cond, or uncond. [default:
        cond]
    plan
        TOML file of the plan to run, such as plan.toml of a run.

    Returns
    -------
    MapResult
        The finished run.

    Raises
    ------
    UsageError
        If the request cannot be met. A run that fails raises other kinds of AskewError.
    """

    def build() -> MapPlan:
        names = shared.names(model)
        first = {"model": names[0]} if names else {}
        fields = shared.plan_fields({**first, **options, "embedder": "none"})
        models = [fields.get("model", DEFAULT_MODEL)] if model is None else names
        given = shared.given(
            images=images,
            taus=taus,
            baseline_run=baseline_run and str(baseline_run),
            threshold=threshold,
            tau=tau,
            definition=definition,
            branch=branch,
        )
        return plan_map(
            shared.prompts_of(prompts, options),
            concepts=shared.several(concept),
            against=against,
            professions=shared.names(profession) or professions,
            models=models,
            masks=str(masks or ""),
            **{**fields, **given},
        )

    return METHOD.run_command(
        options,
        shared.SurveyOptions,
        build,
        plan,
        prompts=prompts,
        concept=concept,
        against=against,
        professions=professions or None,
        profession=profession,
        model=model,
        images=images,
        baseline_run=baseline_run,
        threshold=threshold,
        tau=tau,
        masks=masks,
        taus=taus,
        definition=definition,
        branch=branch,
    )
