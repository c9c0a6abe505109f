"""Command and function `audit`."""

from typing import Literal, Unpack

from askew import options as shared
from askew.errors import UsageError
from askew.methods.audit import METHOD
from askew.methods.audit.findings import AuditResult
from askew.methods.audit.plan import AuditPlan
from askew.parts.survey.open_answers import check_open_answers, with_open_question
from askew.parts.survey.propose import survey_plan
from askew.parts.survey.sequential import MAX_IMAGES


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
    concepts: Literal["all", "axis"] | None = None,
    open_answers: shared.Flag = False,
    variant: Literal["paper", "code"] | None = None,
    **options: Unpack[AuditOptions],
) -> AuditResult:
    """Audit prompts on a model, or images that you already have, for bias (TIBET).

    Examples
    --------
    `askew audit "a photo of a nurse"`

    `askew audit "a photo of a chef" --model studio/planted -M bias=0.5 --images 24`

    `askew audit "a photo of a nurse" --preset sdxl-turbo-clip`

    `askew audit "a photo of a nurse" --counterfactuals significant`

    `askew audit "a photo of a nurse" --until decided --decide gender`

    `askew audit "a photo of a chef" --open-answers --vqa transformers/HuggingFaceTB/SmolVLM-256M-Instruct`

    `askew audit --prompts prompts.txt --run runs/mine --dry-run`

    `askew audit --model folder/images --manifest labels.csv --vqa labels --prompt-column occupation
    --condition condition --baseline-condition baseline`

    Parameters
    ----------
    prompts
        Prompts to audit. Without prompts, askew audits all prompts of a folder.
    model
        Model under audit: studio, studio/planted, diffusers/ID-OR-PATH, folder/PATH … [default:
        studio]
    plan
        TOML file of the plan to run, as written by `askew plan --output FILE`.
    images
        Images per prompt. [default: 48; 24 with studio]
    axes
        Bias axes, separated by commas. By default the prompt generator chooses them; with studio
        the axes are gender, age and ethnicity.
    reference
        Reference shares: bls-2022 (U.S. occupations), a CSV file, the folder of a finished run, or
        gender=male:0.4,female:0.6. May be repeated; later references override earlier ones.
        [default: uniform]
    counterfactuals
        Axes for which counterfactual images are generated and TIBET's scores are computed: all
        axes, significant (axes with a significant bias in the baseline images), or none. Verdicts
        need only the baseline images. [default: all]
    axes_in_depth
        Further axes for which counterfactual images are generated, separated by commas. Only for
        --counterfactuals significant or none.
    until
        Generate more images until a verdict is reached: 8, then 12, 16, 24, … per prompt, up to
        --max-images. No counterfactual images are generated.
    decide
        Axes, separated by commas. With --until decided, a prompt gets no more images once these
        axes have significant verdicts. By default, one significant axis is enough.
    max_images
        Maximum number of images per prompt with --until decided. [default: 400]
    concepts
        Answers from which the concepts for CAS and MAD are taken: all answers (as in the paper), or
        only the answers about the axis. [default: all]
    open_answers
        Ask TIBET's open questions. CAS and MAD compare the concepts in the answers. There are no
        shares and no verdicts on shares. Needs an instrument that answers freely, such as --vqa
        transformers/ID-OR-PATH.
    variant
        Definition of the scores: the paper's, or the authors' code. [default: paper]

    Returns
    -------
    AuditResult
        The finished run.

    Raises
    ------
    UsageError
        If the request cannot be met. A run that fails raises other kinds of AskewError.
    """
    if until is None and max_images is not None:
        raise UsageError(
            "--max-images bounds --until decided. Add --until decided, or use --images"
        )
    if until is not None and images is not None:
        raise UsageError(
            "--until decided chooses the number of images. Use --max-images instead of --images"
        )
    if until is not None:
        images = max_images or MAX_IMAGES
        counterfactuals = counterfactuals or "none"
    if open_answers:
        check_open_answers(shared.several(reference))
        _check_counterfactuals(until, counterfactuals)
    fields = {**options, "model": model, "images": images, "variant": variant}

    def build() -> AuditPlan:
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
        concepts=concepts,
        open_answers=open_answers,
        variant=variant,
    )


def _check_counterfactuals(until: str | None, counterfactuals: str | None) -> None:
    """Raise an error for options that need shares, which open answers do not have."""
    option = None
    if until is not None:
        option = f"--until {until}"
    elif counterfactuals in ("significant", "none"):
        option = f"--counterfactuals {counterfactuals}"
    if option is not None:
        raise UsageError(
            f"{option} relies on verdicts on shares, but open answers have no shares. Leave out "
            f"{option} or --open-answers"
        )
