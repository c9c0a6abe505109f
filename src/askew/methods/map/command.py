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
        Sequence[float] | None,
        shared.numbers(float, ("numbers from 0 to 100, separated by commas, such as 10,50,90,")),
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
        Prompts. Each prompt must contain the word given with --against.
    concept
        Word to map. The prompt need not contain it. May be given more than once.
    against
        Word that askew compares with the concepts, such as nurse.
    professions
        Add the paper's 20 professions, each with the paper's prompt.
    profession
        Add these professions, separated by commas, each with the paper's prompt.
    model
        Model to map: studio or diffusers/ID-OR-PATH. Several models are separated by commas; askew
        compares each later model with the first. [default: studio]
    images
        Number of images per prompt. [default: 24, or the number that the model suggests]
    baseline_run
        Folder of a finished run. askew compares all models with the model of that run, using the
        settings of that run.
    threshold
        How the threshold of the masks is defined: percentile, max or minmax. [default: percentile]
    tau
        Threshold of the masks, from 0 to 100. [default: 70]
    masks
        Folder with ground-truth masks, which are named WORD/IMAGE.png and are white where the image
        shows the word. askew then reports how accurately the maps locate the word.
    taus
        Thresholds at which maps are compared with the ground-truth masks, separated by commas.
        [default: 10,20,…,90]
    definition
        How a map is computed: ovam (from attention weights), or output (from the attention output,
        for SD3, Flux and similar models). [default: ovam]
    branch
        Branch of classifier-free guidance whose attention is mapped: cond or uncond. [default:
        cond]
    plan
        TOML file with the plan to run, such as the plan.toml of an earlier run.

    Returns
    -------
    MapResult
        The finished run.

    Raises
    ------
    UsageError
        If the request cannot be met. If the run itself fails, another subclass of AskewError is
        raised.
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
