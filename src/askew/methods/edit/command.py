"""Command and function `edit`."""

from collections.abc import Sequence
from typing import Annotated, Unpack

from cyclopts import Parameter

from askew import options as shared
from askew.methods.edit import METHOD
from askew.methods.edit.findings import EditingResult
from askew.methods.edit.plan import EditPlan, Finder, Skin, plan_editing


class EditOptions(
    shared.VQAOptions,
    shared.EmbedderOptions,
    shared.SourceOptions,
    shared.ModelOptions,
    total=False,
):
    """Options that other commands share."""


def edit(
    groups: shared.NamesOption = None,
    model: str | None = None,
    *,
    edit_prompts: shared.ListsOption = None,
    strengths: Annotated[
        Sequence[float] | None,
        shared.numbers(float, "numbers from 0 to 1, separated by commas, such as 0.6,0.8,"),
    ] = None,
    images: int | None = None,
    edit_args: Annotated[shared.SettingsOption, Parameter("--edit-arg")] = None,
    resize: int | None = None,
    axes: shared.NamesOption = None,
    landmarks: Finder | None = None,
    skin: Skin | None = None,
    plan: shared.PathOption = None,
    **options: Unpack[EditOptions],
) -> EditingResult:
    """Edit images of people, and measure how perceived gender, skin tone and similarity change.

    Examples
    --------
    `askew edit --groups "caucasian man, african-american woman"`

    `askew edit --groups "white woman, black woman" --edit-prompts "high=doctor,CEO"
    --edit-prompts "low=cleaner,maid"`

    `askew edit --model diffusers/stable-diffusion-v1-5/stable-diffusion-v1-5
    --sources folder/faces --group-column race,gender --resize 512
    --vqa clip/openai/clip-vit-large-patch14 --embedder clip/openai/clip-vit-large-patch14
    --landmarks faces`

    Parameters
    ----------
    groups
        Social groups, separated by commas. [default: the paper's four groups; with a folder, all of
        its groups]
    model
        Model that edits the images: studio, diffusers/ID-OR-PATH or openai/MODEL. [default: studio]
    edit_prompts
        Named set of words toward which images are edited, such as high-paid=doctor,CEO. May be
        given more than once. [default: the paper's professions]
    strengths
        Strengths of the edits, greater than 0 and at most 1, separated by commas. [default:
        0.6,0.8,1.0]
    images
        Number of input images per group. [default: 25]
    edit_args
        Model setting that applies only to edits, such as guidance_scale=7.5.
    resize
        Crop input images to a square, and resize them to this width and height in pixels. By
        default, the images keep their size.
    axes
        Axes on which input images and edits are labeled, separated by commas. [default: the eight
        axes of BiasConnect]
    landmarks
        Face detector used for skin tone and average faces: faces, hog, studio or none. hog needs
        the extra `faces`. [default: studio for images of the studio; otherwise faces]
    skin
        Pixels that count as skin: geometry (the cheeks of a detected face) or rule (all pixels of
        skin color). [default: geometry]
    plan
        TOML file with the plan to run, such as the plan.toml of an earlier run.

    Returns
    -------
    EditingResult
        The finished run.

    Raises
    ------
    UsageError
        If the request cannot be met, for example if the model cannot edit. If the run itself fails,
        another subclass of AskewError is raised.
    """

    def build() -> EditPlan:
        by_set = None
        if edit_prompts is not None:
            by_set = shared.named_lists(edit_prompts, "--edit-prompts")
        return plan_editing(
            groups,
            edit_prompts=by_set,
            axes=None if axes is None else shared.names(axes),
            landmarks=landmarks,
            edit_args=shared.key_values(edit_args or {}, "--edit-arg"),
            **shared.plan_fields({"model": model, **options}, "sources_args"),
            **shared.given(strengths=strengths, images=images, resize=resize, skin=skin),
        )

    return METHOD.run_command(
        options,
        EditOptions,
        build,
        plan,
        groups=groups,
        model=model,
        edit_prompts=edit_prompts,
        edit_args=edit_args,
        axes=axes,
        landmarks=landmarks,
        strengths=strengths,
        images=images,
        resize=resize,
        skin=skin,
    )
