"""The command `plan`.

The command shows the axes, counterfactual prompts and questions of an audit before any image is
generated.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Unpack

from cyclopts import Parameter
from rich import box
from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from askew import options as shared
from askew.errors import LanguageModelError, UsageError
from askew.methods.audit.plan import AuditPlan
from askew.parts.survey.propose import PlanDraft, survey_plan
from askew.plan import PromptPlan
from askew.prompts.llm import AnswerTally
from askew.stats.shares import share_intervals


class PreviewOptions(shared.PromptOptions, shared.WriterOptions, total=False):
    """Options that other commands share."""

    seed: Annotated[int, Parameter(help="Seed of the prompt generator. [default: 0]")]
    store: Annotated[
        shared.PathOption,
        Parameter(help="Store for the answers of a language model. [default: runs/.askew]"),
    ]
    progress: Annotated[bool, Parameter(parse=False)]


def plan(
    prompts: shared.PromptsArgument = (),
    /,
    *,
    model: str | None = None,
    axes: shared.NamesOption = None,
    output: shared.PathOption = None,
    report: bool = False,
    **options: Unpack[PreviewOptions],
) -> Group | Table | str:
    """Show the axes, counterfactual prompts and questions of an audit, or write a plan file.

    Examples
    --------
    `askew plan "a photo of a nurse"`

    `askew plan "a photo of a nurse" --output plan.toml`, edit it, then `askew audit --plan
    plan.toml`

    `askew plan --prompts prompts.txt --llm openai/MODEL --llm-url http://localhost:8080/v1
    --report`

    Parameters
    ----------
    prompts
        Prompts of the audit.
    model
        Model to audit. [default: studio]
    axes
        Bias axes, separated by commas. By default, the prompt generator chooses them.
    output
        TOML file to which the plan is written. If askew rejects answers from a language model, it
        adds them to the file as comments.
    report
        Show how many answers from the language model were usable in each step.

    Raises
    ------
    UsageError
        If the prompt generator cannot use a prompt or an axis, or if the file cannot be written.
    """
    draft = PlanDraft()
    try:
        audit_plan = survey_plan(
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
        return _usable_answers(getattr(draft.writer, "tally", None))
    if output is None:
        return _preview(audit_plan)
    return _write(audit_plan, draft, Path(output))


def _write(audit_plan: AuditPlan, draft: PlanDraft, path: Path) -> str:
    text = audit_plan.to_toml() + "\n".join([*_rejected(draft), ""])
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write the plan to {path}: {error.strerror}") from error
    return f"plan: {path}"


def _rejected(draft: PlanDraft) -> Iterator[str]:
    """Yield a comment line for each rejected answer from a language model."""
    from askew.prompts.llm_writer import LLMWriter

    if not isinstance(draft.writer, LLMWriter):
        return
    for prompt, axes in draft.writer.rejected.items():
        name = json.dumps(prompt)
        if prompt in draft.failed:
            yield f"# {name} is left out: {' '.join(draft.failed[prompt].split())}"
        for axis, (reason, texts) in axes.items():
            yield f"# {name}, axis {axis}, rejected: {reason}"
            yield from (f"#   {json.dumps(value)} = {json.dumps(text)}" for value, text in texts)
        for text in draft.writer.rejected_texts[prompt].values():
            if text.axis not in axes:
                yield f"# {name}, axis {text.axis}, value {text.value}, rejected: {text.reason}"
                yield f"#   {json.dumps(text.value)} = {json.dumps(text.text)}"


def _usable_answers(tally: object) -> Table:
    """Return how many answers were usable in each step, and why the others were rejected."""
    if not isinstance(tally, AnswerTally):
        raise UsageError(
            "--report shows how many answers of a language model were usable. Choose a language "
            "model with --llm openai/MODEL"
        )
    table = _table("step", "usable", "of", "share", "95 % interval", "reasons for rejection")
    for step, (usable, asked) in tally.steps.items():
        if not asked:
            continue
        share = share_intervals([usable, asked - usable])[0]
        faults = tally.faults[step].most_common()
        reasons = "\n".join(f"{reason} ({count})" for reason, count in faults)
        interval = f"{share.low:.0%} to {share.high:.0%}"
        table.add_row(step, str(usable), str(asked), f"{share.value:.0%}", interval, Text(reasons))
    return table


def _preview(audit_plan: AuditPlan) -> Group:
    parts: list[RenderableType] = []
    for prompt in audit_plan.prompts:
        parts += [Text(prompt.text, style="bold"), _axes_table(prompt)]
    return Group(*parts)


def _axes_table(prompt: PromptPlan) -> Table:
    table = _table("axis", "question", "counterfactual prompts")
    for axis in prompt.axes:
        questions = "\n".join(question.text for question in axis.questions)
        counterfactuals = "\n".join(axis.counterfactuals.values())
        table.add_row(Text(axis.axis().label), Text(questions), Text(counterfactuals))
        table.add_section()
    return table


def _table(*headers: str) -> Table:
    columns = [Column(header, overflow="fold") for header in headers]
    return Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False)
