"""What the command line and Python share about classification by denoising error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askew.api.jobs import finished
from askew.planning.classification import plan_classification
from askew.plans.classification import ClassificationPlan
from askew.plans.settings import column_settings
from askew.presets import with_preset
from askew.results.classification import ClassificationResult
from askew.run.opening import looked_at, run_folder

if TYPE_CHECKING:
    from askew.jobs.classify import ClassificationWork


def classify(
    groups: str | Sequence[str] | None = None,
    model: str | None = None,
    *,
    model_args: Mapping[str, Any] | None = None,
    preset: str | None = None,
    sources: str | None = None,
    sources_args: Mapping[str, Any] | None = None,
    targets: Mapping[str, Sequence[str]] | None = None,
    classes: Sequence[str] | None = None,
    truth: Mapping[str, str] | None = None,
    images: int | None = None,
    samples: Sequence[int] | None = None,
    loss: str = "l2",
    stages: Sequence[tuple[int, int]] = (),
    template: str | None = None,
    embedder: str | None = None,
    embedder_args: Mapping[str, Any] | None = None,
    vqa: str | None = None,
    vqa_args: Mapping[str, Any] | None = None,
    seed: int = 0,
    run: str | Path | None = None,
    store: str | Path | None = None,
    manifest: str | Path | None = None,
    progress: bool = False,
    **settings: Any,
) -> ClassificationResult:
    """Measure what a diffusion model takes pictures of social groups for, and write results and report.

    `groups`    names of groups, with commas or in a list, such as "caucasian man, african-american woman"; may be left
                out for a collection
    `model`     the diffusion model that classifies, the embedded studio by default; `model_args` are its settings
    `sources`   where the groups' pictures come from: another model, or a collection such as `folder/PATH`; None is the
                model itself. `sources_args` are its settings, `manifest` a CSV that describes a folder
    `targets`   two sets of classes by name; None is the paper's five male- and five female-dominated occupations
    `classes`   classes of which one is right, for the accuracy: man and woman by default, none leaves it out
    `truth`     the right class by group, where a group's name does not say it
    `images`    pictures per group, 256 by default, 24 for the studio
    `samples`   numbers of noise samples: 1, 10 and 100 by default, 1, 10 and 40 for the studio
    `loss`      l2, l1 or huber
    `stages`    (samples, classes): after so many samples go on with the so many best target classes
    `template`  what the classifier is told of a class, which stands at {}
    `embedder`  a second classifier on the same pictures, such as clip/ID-OR-PATH; the studio's own for the studio
    `vqa`       who reads whether the pictures are neutral; the studio's own for the studio
    `settings`  further fields of `ClassificationPlan`: level, draws

    The other arguments are those of `askew.audit`. Raises UsageError for a request that cannot be met, such as a model
    that is a black box, other AskewErrors where a run fails.
    """
    parts = {"model": model, "vqa": vqa, "embedder": embedder}
    chosen: dict[str, Any] = {name: value for name, value in parts.items() if value is not None}
    chosen |= {"model_args": dict(model_args or {}), "vqa_args": dict(vqa_args or {})}
    chosen["embedder_args"] = dict(embedder_args or {})
    described = column_settings(Path(manifest) if manifest else None)
    plan = plan_classification(
        groups,
        targets=targets,
        sources=sources,
        sources_args={**described, **(sources_args or {})},
        classes=None if classes is None else tuple(classes),
        truth=dict(truth or {}),
        images=images,
        samples=None if samples is None else tuple(samples),
        loss=loss,
        stages=tuple(stages),
        template=template,
        seed=seed,
        **with_preset(preset, chosen, chosen),
        **settings,
    )
    return run_classification(plan, run, store, progress=progress)


def run_classification(
    plan: ClassificationPlan,
    run: str | Path | None = None,
    store: str | Path | None = None,
    *,
    budget: int | None = None,
    progress: bool = False,
) -> ClassificationResult:
    """Run a plan, or what is left of it, and write results and report into the run folder."""
    from askew.jobs.classify import Classification  # imports torch

    folder = Path(run) if run else default_folder(plan)
    return finished(Classification.prepare, plan, folder, store, budget=budget, progress=progress)


def classification_work(
    plan: ClassificationPlan, run: str | Path | None = None, store: str | Path | None = None
) -> ClassificationWork:
    """What running a plan would make and evaluate. Nothing is made or written."""
    folder = Path(run) if run else default_folder(plan)
    with looked_at(plan, folder, store) as session:
        from askew.jobs.classify import Classification  # imports torch

        return Classification.prepare(plan, session).work()


def default_folder(plan: ClassificationPlan) -> Path:
    """runs/classify-NAME-HASH, from the first group and the plan's hash."""
    return run_folder(plan.groups[0], plan, "classify-", "groups")
