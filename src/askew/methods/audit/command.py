"""Command and function `audit`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Unpack

from askew import options as shared
from askew.errors import UsageError
from askew.methods.audit import METHOD
from askew.methods.audit.compared import compared_plan
from askew.methods.audit.findings import AuditResult
from askew.methods.audit.plan import AuditPlan
from askew.parts.survey.open_answers import check_open_answers, with_open_question
from askew.parts.survey.propose import survey_plan
from askew.parts.survey.sequential import MAX_IMAGES

MODEL_OPTIONS = {
    *shared.SettingOptions.__annotations__,
    *shared.MitigationOptions.__annotations__,
}
"""Options that choose or modify a model. They can be combined with --compared-run."""


class AuditOptions(
    shared.EmbedderOptions,
    shared.WriterOptions,
    shared.FolderOptions,
    shared.SurveyOptions,
    total=False,
):
    """Options that other commands share."""


def audit(
    prompts: shared.PromptsArgument = (),
    model: str | None = None,
    *,
    plan: shared.PathOption = None,
    images: int | None = None,
    axes: shared.NamesOption = None,
    reference: shared.TextsOption = None,
    counterfactuals: Literal["all", "significant", "none"] | None = None,
    axes_in_depth: shared.NamesOption = None,
    until: Literal["decided"] | None = None,
    decide: shared.NamesOption = None,
    max_images: int | None = None,
    compared_run: shared.PathOption = None,
    concepts: Literal["all", "axis"] | None = None,
    open_answers: shared.Flag = False,
    variant: Literal["paper", "code"] | None = None,
    **options: Unpack[AuditOptions],
) -> AuditResult:
    """Audit a text-to-image model, or images that you already have, for bias (TIBET).

    Examples
    --------
    `askew audit "a photo of a nurse"`

    `askew audit "a photo of a chef" --model studio/planted -M bias=0.5 --images 24`

    `askew audit "a photo of a nurse" --preset sdxl-turbo-clip`

    `askew audit "a photo of a nurse" --counterfactuals significant`

    `askew audit "a photo of a nurse" --until decided --decide gender`

    `askew audit --model studio/planted -M bias=0.5 --until decided --compared-run runs/base`

    `askew audit "a photo of a chef" --open-answers --vqa transformers/HuggingFaceTB/SmolVLM-256M-Instruct`

    `askew audit --prompts prompts.txt --run runs/mine --dry-run`

    `askew audit --model folder/images --manifest labels.csv --vqa labels --prompt-column occupation
    --condition condition --baseline-condition baseline`

    Parameters
    ----------
    prompts
        Prompts to audit. If you give no prompt, askew audits all prompts in the folder of images.
    model
        Model under audit: studio, studio/planted, diffusers/ID-OR-PATH, folder/PATH … [default:
        studio]
    plan
        TOML file with the plan to run, such as one written by `askew plan --output FILE`.
    images
        Number of images per prompt. [default: 48; 24 with studio]
    axes
        Bias axes, separated by commas. By default, the prompt generator chooses them. With studio,
        the default axes are gender, age and ethnicity.
    reference
        Reference shares: bls-2022 (U.S. occupations), a CSV file, the folder of a finished run, or
        shares such as gender=male:0.4,female:0.6. May be given more than once; later references
        override earlier ones. [default: uniform]
    counterfactuals
        Axes for which askew generates counterfactual images and computes TIBET's scores: all (all
        axes), significant (axes on which the baseline images are significantly biased), or none.
        Verdicts need only the baseline images. [default: all]
    axes_in_depth
        Axes, separated by commas, for which counterfactual images are always generated. Only
        allowed with --counterfactuals significant or none.
    until
        Add images until a verdict is reached. askew tests after 8, 12, 16, 24, … images per prompt,
        up to --max-images. No counterfactual images are generated.
    decide
        Axes, separated by commas. With --until decided, askew stops adding images to a prompt once
        all of these axes have significant verdicts. By default, a significant verdict on any axis
        is enough.
    max_images
        Maximum number of images per prompt with --until decided. [default: 400; with
        --compared-run, the number in that run]
    compared_run
        Folder of a finished audit. With --until decided, askew runs the plan of that audit on
        another --model and adds images until the shares of the two models differ significantly.
        Images with the same seed form pairs.
    concepts
        Answers from which askew takes the concepts for CAS and MAD: all (all answers, as in the
        paper), or axis (only the answers about the axis). [default: all]
    open_answers
        Ask TIBET's open questions. CAS and MAD compare the concepts in the answers. askew then
        reports neither shares nor verdicts on shares. --open-answers needs an instrument that
        generates free text, such as --vqa transformers/ID-OR-PATH.
    variant
        Definition of the scores: paper (as in the paper), or code (as in the authors' code).
        [default: paper]

    Returns
    -------
    AuditResult
        The finished run.

    Raises
    ------
    UsageError
        If the request cannot be met. If the run itself fails, another subclass of AskewError is
        raised.
    """
    shared.check_until(until, max_images, images, "--images", "images")
    if until is None and compared_run is not None:
        raise UsageError(
            "--compared-run needs --until decided, which is not given. To compare two finished "
            "runs, use `askew compare`"
        )
    asked_counterfactuals = counterfactuals
    if until is not None:
        images = max_images or MAX_IMAGES
        counterfactuals = counterfactuals or "none"
    if open_answers:
        check_open_answers(shared.several(reference))
        _check_counterfactuals(until, counterfactuals)
    fields = {**options, "model": model, "images": images, "variant": variant}
    compared = None if compared_run is None else Path(compared_run)
    if compared is not None and plan is None:
        _check_compared(
            options,
            prompts=prompts,
            axes=axes,
            reference=reference,
            counterfactuals=asked_counterfactuals,
            axes_in_depth=axes_in_depth,
            concepts=concepts,
            open_answers=open_answers,
            variant=variant,
        )

    def build() -> AuditPlan:
        if compared is not None:
            store = options.get("store")
            return compared_plan(
                folder=compared,
                store=Path(str(store)) if store else None,
                model=_model_fields({**options, "model": model}),
                decide=shared.names(decide),
                most=max_images,
            )
        return survey_plan(
            AuditPlan,
            shared.prompts_of(prompts, options),
            reference=shared.several(reference),
            asked=with_open_question if open_answers else None,
            axes=None if axes is None else shared.names(axes),
            desk=shared.ProposalContext.of(options),
            concepts=concepts or "all",
            counterfactuals=counterfactuals or "all",
            axes_in_depth=tuple(shared.names(axes_in_depth)),
            until=until,
            decide=tuple(shared.names(decide)),
            **shared.plan_fields(fields),
        )

    return METHOD.run_command(
        options,
        AuditOptions,
        build,
        plan,
        prompts=prompts,
        model=model,
        images=images,
        axes=axes,
        reference=reference,
        counterfactuals=counterfactuals,
        axes_in_depth=axes_in_depth,
        until=until,
        decide=decide,
        max_images=max_images,
        compared_run=compared_run,
        concepts=concepts,
        open_answers=open_answers,
        variant=variant,
    )


def _model_fields(options: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of the plan that describe the model, as set by the options."""
    fields = shared.plan_fields(options)
    return {name: value for name, value in fields.items() if name in ("model", "model_args")}


def _check_compared(options: Mapping[str, object], **request: object) -> None:
    """Raise UsageError for options whose values must come from the plan of the compared run."""
    names = shared.given_names(options, request)
    excluded = sorted(names - shared.ALLOWED_WITH_PLAN - MODEL_OPTIONS)
    if excluded:
        raise UsageError(
            "with --compared-run, the prompts, axes and settings come from that run. Leave out: "
            f"{', '.join(excluded)}"
        )


def _check_counterfactuals(until: str | None, counterfactuals: str | None) -> None:
    """Raise UsageError for options that need shares, because open answers have no shares."""
    option = None
    if until is not None:
        option = f"--until {until}"
    elif counterfactuals in ("significant", "none"):
        option = f"--counterfactuals {counterfactuals}"
    if option is not None:
        raise UsageError(
            f"{option} needs verdicts on shares, but open-ended answers have no shares. "
            f"Leave out {option} or --open-answers"
        )
