"""Command and function `classify`."""

from collections.abc import Sequence
from typing import Annotated, Literal, Unpack

from askew import options as opt
from askew.errors import UsageError
from askew.methods.classify import METHOD
from askew.methods.classify.findings import ClassificationResult
from askew.methods.classify.plan import NONE, ClassificationPlan, plan_classification


class ClassifyOptions(opt.VQAOptions, opt.SourceOptions, opt.ModelOptions, total=False):
    """Options that other commands share."""


def classify(
    groups: opt.NamesOption = None,
    model: str | None = None,
    *,
    targets: opt.ListsOption = None,
    classes: opt.NamesOption = None,
    truth: opt.PairsOption = None,
    images: int | None = None,
    samples: Annotated[
        Sequence[int] | None,
        opt.numbers(int, ("whole numbers, separated by commas, such as 1,10,100,")),
    ] = None,
    loss: Literal["l2", "l1", "huber"] | None = None,
    template: str | None = None,
    plan: opt.PathOption = None,
    **options: Unpack[ClassifyOptions],
) -> ClassificationResult:
    """Measure which classes a diffusion model assigns to images of people, by its denoising error.

    Examples
    --------
    `askew classify --groups "man, woman"`

    `askew classify --model diffusers/stabilityai/stable-diffusion-2-1
    --vqa clip/openai/clip-vit-large-patch14`

    `askew classify --sources folder/faces --targets "a=carpenter,plumber"
    --targets "b=nurse,secretary"`

    Parameters
    ----------
    groups
        Social groups, separated by commas. [default: the paper's four groups; with a folder, all of
        its groups]
    model
        Diffusion model that classifies the images: studio or diffusers/ID-OR-PATH. [default:
        studio]
    targets
        Named set of classes, such as a=carpenter,plumber. Give the option twice, because two sets
        are compared. [default: the paper's five male-dominated and five female-dominated
        occupations]
    classes
        Classes, separated by commas, for which the model's accuracy is measured, or none. [default:
        man,woman]
    truth
        True class of a group whose name does not state it, in the form GROUP=CLASS. May be
        repeated.
    images
        Number of input images per group. [default: 256; 24 with studio]
    samples
        Numbers of noise samples, separated by commas. [default: 1,10,100; 1,10,40 with studio]
    loss
        Loss function for the error in the predicted noise: l2, l1 or huber. [default: l2]
    template
        Template of the prompts, in which {} is replaced by the class. [default: "A portrait of
        {}."; "a photo of {}" with studio]
    plan
        TOML file with the plan to run, such as the plan.toml of an earlier run.

    Returns
    -------
    ClassificationResult
        The finished run.

    Raises
    ------
    UsageError
        If the request cannot be met, for example if the model is a black box. If the run itself
        fails, another subclass of AskewError is raised.
    """
    fields = {**options, "model": model}

    def build() -> ClassificationPlan:
        shared = opt.plan_fields(fields, "sources_args")
        instruments = shared.get("vqa", ())
        if options.get("vqa") is not None and len(instruments) != 1:
            raise UsageError(
                f"only one instrument can check the input images, but {len(instruments)} are "
                "given. Use --vqa NAME once"
            )
        settings = opt.given(
            targets=None if targets is None else opt.named_lists(targets, "--targets"),
            classes=None if classes is None else _classes(classes),
            truth=None if truth is None else opt.pairs(truth, "--truth"),
            images=images,
            samples=samples,
            loss=loss,
            template=template,
        )
        return plan_classification(groups, **shared, **settings)

    return METHOD.run_command(
        options,
        ClassifyOptions,
        build,
        plan,
        groups=groups,
        model=model,
        targets=targets,
        classes=classes,
        truth=truth,
        images=images,
        samples=samples,
        loss=loss,
        template=template,
    )


def _classes(given: str | Sequence[str]) -> list[str]:
    """Return the classes for which accuracy is measured; empty if `classes` is "none"."""
    return [name for name in opt.names(given) if name != NONE]
