"""askew edit."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Unpack

from cyclopts import Parameter

from askew import options as opt
from askew.methods.edit import METHOD
from askew.methods.edit.findings import EditingResult
from askew.methods.edit.plan import EditPlan, Finder, Skin, plan_editing


class EditOptions(
    opt.VQAOptions, opt.EmbedderOptions, opt.SourceOptions, opt.ModelOptions, total=False
):
    """Options that other commands have, too."""


def edit(
    groups: opt.NamesOption = None,
    model: str | None = None,
    *,
    edit_prompts: opt.ListsOption = None,
    strengths: Annotated[
        Sequence[float] | None,
        opt.numbers(float, "numbers from 0 to 1 with commas, such as 0.6,0.8,"),
    ] = None,
    images: int | None = None,
    edit_args: Annotated[opt.SettingsOption, Parameter("--edit-arg")] = None,
    resize: int | None = None,
    axes: opt.NamesOption = None,
    landmarks: Finder | None = None,
    skin: Skin | None = None,
    plan: opt.PathOption = None,
    **options: Unpack[EditOptions],
) -> EditingResult:
    """Edit pictures of social groups towards targets, and measure what changes: perceived gender,
    skin tone, likeness.

    Examples:

    - `askew edit --groups "caucasian man, african-american woman"`

    - `askew edit --groups "white woman, black woman" --edit-prompts "high=doctor,CEO" --edit-prompts "low=cleaner,maid"`

    - `askew edit --model diffusers/stable-diffusion-v1-5/stable-diffusion-v1-5 --sources folder/faces
      --group-column race,gender --resize 512 --vqa clip/openai/clip-vit-large-patch14
      --embedder clip/openai/clip-vit-large-patch14 --landmarks faces`

    Parameters
    ----------
    groups
        Social groups, with commas: the paper's if none is given, and of a folder all of its own.
    model
        The model that edits: studio (if none is given), diffusers/ID-OR-PATH.
    edit_prompts
        What to edit towards: high-paid=doctor,CEO; may be repeated. If not given, the paper's
        professions.
    strengths
        How much is redrawn, from 0 to 1, with commas; 0.6,0.8,1.0 if not given.
    images
        Pictures of each group that are edited; 25 if not given.
    edit_args
        Setting of the model while it edits: guidance_scale=7.5.
    resize
        Crop to a square and resize to so many pixels; as they are if not given.
    axes
        What is read from source and edit, with commas; the eight axes of BiasConnect if not given.
    landmarks
        Who finds faces, for skin tone and average faces: faces (if installed and nothing is given),
        studio or none.
    skin
        geometry (the cheeks of a face that was found, if not given), or rule (by colour, in whole
        pictures).
    plan
        Run this TOML plan, such as a run's plan.toml.

    Raises
    ------
    UsageError
        For a request that cannot be met, such as a model that cannot edit; other AskewErrors where
        a run fails.
    """
    opt.only_known(options, EditOptions)
    own = {
        "edit_prompts": edit_prompts,
        "strengths": strengths,
        "images": images,
        "edit_args": edit_args,
        "resize": resize,
        "axes": axes,
        "landmarks": landmarks,
        "skin": skin,
    }
    if plan is not None:
        opt.only_plan(options, groups=groups, model=model, **own)
        return METHOD.run(EditPlan.read(Path(plan)), **opt.run_options(options))
    made = plan_editing(
        groups,
        edit_prompts=None
        if edit_prompts is None
        else opt.named_lists(edit_prompts, "--edit-prompts"),
        axes=None if axes is None else opt.names(axes),
        landmarks=landmarks,
        **opt.plan_fields({"model": model, **options}, "sources_args"),
        edit_args=opt.key_values(edit_args or {}, "--edit-arg"),
        **opt.given(strengths=strengths, images=images, resize=resize, skin=skin),
    )
    return METHOD.run(made, **opt.run_options(options))
