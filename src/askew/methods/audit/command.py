"""askew audit, and the preview of what it would ask."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, Unpack

from cyclopts import Parameter
from rich import box
from rich.console import Group
from rich.table import Column, Table
from rich.text import Text

from askew import options as shared
from askew.errors import LanguageModelError, UsageError
from askew.methods.audit import METHOD
from askew.methods.audit.findings import AuditResult
from askew.methods.audit.plan import AuditPlan
from askew.parts.survey.propose import PlanDraft, survey_plan
from askew.plan import PromptPlan
from askew.prompts.llm import AnswerTally
from askew.stats.shares import share_intervals

Axes = shared.NamesOption


class AuditOptions(
    shared.EmbedderOptions,
    shared.WriterOptions,
    shared.FolderOptions,
    shared.SurveyOptions,
    total=False,
):
    """Options that other commands have, too."""


class PreviewOptions(shared.PromptOptions, shared.WriterOptions, total=False):
    """Options of the preview that other commands have, too."""

    seed: Annotated[int, Parameter(help="Seed of the writer; 0 if not given.")]
    store: Annotated[
        shared.PathOption,
        Parameter(help="Store that keeps what a language model answers; default: runs/.askew."),
    ]
    progress: Annotated[bool, Parameter(parse=False)]


def audit(
    prompts: shared.PromptsArgument = (),
    model: str | None = None,
    *,
    plan: shared.PathOption = None,
    images: int | None = None,
    axes: Axes = None,
    reference: shared.TextsOption = None,
    concepts: Literal["all", "axis"] | None = None,
    variant: Literal["paper", "code"] | None = None,
    **options: Unpack[AuditOptions],
) -> AuditResult:
    """Audit prompts on a model, or pictures that you already have: which way they lean (TIBET).

    Examples
    --------
    `askew audit "a photo of a nurse"`

    `askew audit "a photo of a chef" --model studio/planted -M bias=0.5 --images 24`

    `askew audit "a photo of a nurse" --preset sdxl-turbo-clip`

    `askew audit --prompts prompts.txt --run runs/mine --dry-run`

    `askew audit --model folder/pictures --manifest labels.csv --vqa labels --prompt-column
    occupation --condition condition --baseline-condition baseline`

    Parameters
    ----------
    prompts
        One prompt or several; none for a folder's own.
    model
        The model under audit: studio (if none is given), studio/planted, diffusers/ID-OR-PATH,
        folder/PATH, …
    plan
        Run this TOML plan, made by `askew axes`.
    images
        Pictures per prompt: 48, with studio 24, if not given.
    axes
        Names of axes, separated by commas; if not given, the writer's choice, for studio gender,
        age and ethnicity.
    reference
        The shares that pictures should have: bls-2022 (U.S. occupations), a CSV file, the folder of
        a finished run, gender=male:0.4,female:0.6, or uniform (if not given). May be repeated;
        later ones go first.
    concepts
        Of CAS and MAD: all (if not given, the paper's: those of all answers, so that an axis's
        score depends on which other axes are asked about), or axis (those of the answers about it
        alone).
    variant
        Whose definition of the scores: paper (if not given) or code.

    Raises
    ------
    UsageError
        For a request that cannot be met; other AskewErrors where a run fails.
    """
    fields = {**options, "model": model, "images": images, "variant": variant}

    def build() -> AuditPlan:
        return survey_plan(
            AuditPlan,
            shared.prompts_of(prompts, options),
            reference=shared.several(reference),
            axes=None if axes is None else shared.names(axes),
            desk=shared.ProposalContext.of(options),
            concepts=concepts or "all",
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
        concepts=concepts,
        variant=variant,
    )


def axes(
    prompts: shared.PromptsArgument = (),
    /,
    *,
    model: str | None = None,
    axes: Axes = None,
    to: shared.PathOption = None,
    report: bool = False,
    **options: Unpack[PreviewOptions],
) -> Group | Table | str:
    """Preview the axes, counterfactual prompts and questions of an audit.

    Examples
    --------
    `askew axes "a photo of a nurse"`

    `askew axes "a photo of a nurse" --to plan.toml`, edit it, then `askew audit --plan plan.toml`

    `askew axes --prompts prompts.txt --llm openai/MODEL --llm-url http://localhost:8080/v1
    --report`

    Parameters
    ----------
    prompts
        One prompt or several.
    model
        The model that the plan is for: studio, if none is given.
    axes
        Names of axes, separated by commas; the writer's choice if not given.
    to
        Write a TOML plan here, to edit and run. What a language model wrote and askew did not take
        is a comment in it.
    report
        Show instead how much of what a language model answered could be used, step by step.

    Raises
    ------
    UsageError
        For a prompt or an axis that the writer cannot use, and a file that cannot be written.
    """
    draft = PlanDraft()
    try:
        made = survey_plan(
            AuditPlan,
            shared.prompts_of(prompts, options),
            axes=None if axes is None else shared.names(axes),
            desk=shared.ProposalContext.of(options),
            draft=draft,
            **shared.plan_fields({**options, "model": model}),
        )
    except LanguageModelError:
        if not report:
            raise
    if report:
        return _report(getattr(draft.writer, "tally", None))
    if to is None:
        return Group(
            *(
                part
                for one in made.prompts
                for part in (Text(one.text, style="bold"), _preview(one))
            )
        )
    try:
        Path(to).write_text(made.to_toml() + "\n".join(_not_taken(draft)), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write the plan to {to}: {error.strerror}") from error
    return f"plan: {to}"


def _not_taken(draft: PlanDraft) -> Iterator[str]:
    """Comments of a plan: what a language model wrote and askew did not take."""
    from askew.prompts.llm_writer import LLMWriter

    for prompt, axes in (
        draft.writer.rejected.items() if isinstance(draft.writer, LLMWriter) else ()
    ):
        if prompt in draft.failed:
            yield f"# {json.dumps(prompt)} is left out: {' '.join(draft.failed[prompt].split())}"
        for axis, (reason, texts) in axes.items():
            yield f"# {json.dumps(prompt)}, axis {axis}, not taken: {reason}"
            yield from (f"#   {json.dumps(value)} = {json.dumps(text)}" for value, text in texts)
    yield ""


def _report(tally: object) -> Table:
    if not isinstance(tally, AnswerTally):
        raise UsageError(
            "--report counts the answers of a language model; name one with --llm openai/MODEL"
        )
    headers = ("step", "usable", "of", "share", "95 % interval", "what was wrong with the others")
    table = Table(
        *(Column(one, overflow="fold") for one in headers), box=box.SIMPLE_HEAD, pad_edge=False
    )
    for step, (usable, asked) in tally.steps.items():
        if asked:
            share = share_intervals([usable, asked - usable])[0]
            wrong = ", ".join(
                f"{reason} ({count})" for reason, count in tally.faults[step].most_common(3)
            )
            between = f"{share.low:.0%} to {share.high:.0%}"
            table.add_row(step, str(usable), str(asked), f"{share.value:.0%}", between, wrong)
    return table


def _preview(prompt: PromptPlan) -> Table:
    headers = ("axis", "question", "counterfactual prompts")
    table = Table(
        *(Column(one, overflow="fold") for one in headers), box=box.SIMPLE_HEAD, pad_edge=False
    )
    for axis in prompt.axes:
        questions = "\n".join(question.text for question in axis.questions)
        table.add_row(
            axis.axis().label, Text(questions), Text("\n".join(axis.counterfactuals.values()))
        )
        table.add_section()
    return table
