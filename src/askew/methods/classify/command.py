"""askew classify."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Unpack

from askew import options as opt
from askew.errors import UsageError
from askew.methods.classify import METHOD
from askew.methods.classify.findings import ClassificationResult
from askew.methods.classify.plan import NONE, ClassificationPlan, plan_classification


class ClassifyOptions(opt.VQAOptions, opt.SourceOptions, opt.ModelOptions, total=False):
    """Options that other commands have, too."""


def classify(
    groups: opt.NamesOption = None,
    model: str | None = None,
    *,
    targets: opt.ListsOption = None,
    classes: opt.NamesOption = None,
    truth: opt.PairsOption = None,
    images: int | None = None,
    samples: Annotated[
        Sequence[int] | None, opt.numbers(int, "whole numbers with commas, such as 1,10,100,")
    ] = None,
    loss: Literal["l2", "l1", "huber"] | None = None,
    template: str | None = None,
    plan: opt.PathOption = None,
    **options: Unpack[ClassifyOptions],
) -> ClassificationResult:
    """What a diffusion model takes pictures of social groups for, by its denoising error.

    Examples:

    - `askew classify --groups "man, woman"`

    - `askew classify --model diffusers/stabilityai/stable-diffusion-2-1 --vqa clip/openai/clip-vit-large-patch14`

    - `askew classify --sources folder/faces --targets "a=carpenter,plumber" --targets "b=nurse,secretary"`

    Parameters
    ----------
    groups
        Social groups, with commas: the paper's if none is given, and of a folder all of its own.
    model
        The diffusion model that classifies: studio (if none is given), diffusers/ID-OR-PATH.
    targets
        NAME=CLASS,CLASS,… twice: sets to hold against each other. If not given, the paper's five
        male- and five female-dominated occupations.
    classes
        Classes of which one is right, for the accuracy; man,woman if not given, none for none.
    truth
        GROUP=CLASS where a group's name does not say it.
    images
        Pictures per group: 256, with studio 24.
    samples
        Numbers of noise samples: 1,10,100, with studio 1,10,40.
    loss
        l2 (if not given), l1 or huber.
    template
        What a class is called, at {}: "A portrait of {}."
    plan
        Run this TOML plan, such as a run's plan.toml.

    Raises
    ------
    UsageError
        For a request that cannot be met, such as a model that is a black box; other AskewErrors
        where a run fails.
    """
    opt.only_known(options, ClassifyOptions)
    own = {
        "targets": targets,
        "classes": classes,
        "truth": truth,
        "images": images,
        "samples": samples,
        "loss": loss,
        "template": template,
    }
    if plan is not None:
        opt.only_plan(options, groups=groups, model=model, **own)
        return METHOD.run(ClassificationPlan.read(Path(plan)), **opt.run_options(options))
    shared = opt.plan_fields({"model": model, **options}, "sources_args")
    readers = shared.get("vqa", ())
    if options.get("vqa") is not None and len(readers) != 1:
        raise UsageError(
            f"one instrument reads whether pictures are neutral, not {len(readers)}: --vqa NAME"
        )
    made = plan_classification(
        groups,
        **shared,
        **opt.given(
            targets=None if targets is None else opt.named_lists(targets, "--targets"),
            classes=None
            if classes is None
            else [name for name in opt.names(classes) if name != NONE],
            truth=None if truth is None else opt.pairs(truth, "--truth"),
            images=images,
            samples=samples,
            loss=loss,
            template=template,
        ),
    )
    return METHOD.run(made, **opt.run_options(options))
