"""askew mine."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Unpack

from cyclopts import Parameter, Token

from askew import options as shared
from askew.errors import UsageError
from askew.methods.mine import METHOD
from askew.methods.mine.findings import MiningResult
from askew.methods.mine.plan import MinePlan, read_mine_plan, runs_code
from askew.options import NamesOption, PathOption, given
from askew.prompts.evolution import Selection


def _objective(_: object, tokens: Sequence[Token]) -> str:
    """Converter: an objective. A function on the command line may lie in the current folder, as for
    `python -m`.
    """
    text = tokens[0].value
    if runs_code(text):
        sys.path.insert(0, str(Path.cwd()))
    return text


def _words(_: object, tokens: Sequence[Token]) -> tuple[int, int]:
    """Converter: a least and a greatest number, such as 3-8."""
    least, dash, most = tokens[0].value.partition("-")
    if not (least.isdecimal() and most.isdecimal() and dash):
        raise UsageError(
            f"--words is {tokens[0].value!r}; write the least and the greatest number, such as 3-8"
        )
    return int(least), int(most)


class MineOptions(
    shared.EmbedderOptions,
    shared.WriterOptions,
    shared.MitigationOptions,
    shared.ModelOptions,
    total=False,
):
    """Options that other commands have, too."""


def mine(
    model: str | None = None,
    *,
    plan: PathOption = None,
    objective: Annotated[str | None, Parameter(converter=_objective, n_tokens=1)] = None,
    axes: NamesOption = None,
    target: str | None = None,
    vqa: str | None = None,
    iterations: int | None = None,
    population: int | None = None,
    selected: int | None = None,
    mutations: int | None = None,
    selection: Selection | None = None,
    words: Annotated[
        tuple[int, int] | None,
        Parameter(converter=_words, n_tokens=1, negative="", metavar="LEAST-MOST"),
    ] = None,
    images: int | None = None,
    fresh_images: int | None = None,
    variations: int | None = None,
    quantile: float | None = None,
    similarity: Literal["auto", "cosine", "unit"] | None = None,
    top: int | None = None,
    runs: int | None = None,
    baseline: Annotated[bool | None, Parameter(negative="--no-baseline")] = None,
    **options: Unpack[MineOptions],
) -> MiningResult:
    """Search for the prompts that a model is most one-sided on (MineTheGap).

    Examples:

    - `askew mine --model studio/planted --iterations 10`

    - `askew mine --target people --axes gender,age`

    - `askew mine --target people --objective bias --runs 10`

    - `askew mine --objective color:blue --iterations 4 --population 9 --selected 3`

    Parameters
    ----------
    model
        The model: studio/planted (if none is given: a search makes thousands of pictures), studio,
        diffusers/ID-OR-PATH, …
    plan
        Run this TOML plan, such as plan.toml of a run.
    objective
        What to search for: lean, how far the shares of --axes are from equal ones (if not given,
        for --target people); bias (if not given, for anything else), the paper's score;
        bias-corrected, that score less chance; color:red; or module:function of (prompt, pictures),
        whose low values are sought.
    axes
        Axes of a search for leans: gender,age,…; gender if not given.
    target
        What texts are about: people, clothing, style, any words.
    vqa
        Who reads the axes of leans, and what the prompts found leave out; the embedder if not
        given.
    iterations
        Iterations of each search; 25 if not given.
    population
        Prompts in each iteration; 15 if not given.
    selected
        Best prompts of an iteration that are mutated; 5 if not given.
    mutations
        Mutations of each, 2 if not given; random prompts fill the rest.
    selection
        What prompts are chosen by: score, their own; learned (if not given, in a search for leans),
        the one that the scores of all prompts with the same words let expect.
    words
        Least and greatest number of words of a prompt; 3-8 if not given.
    images
        Pictures per prompt; 15 if not given, 5 in a search for leans.
    fresh_images
        Pictures of each winner of a search for leans; 48 if not given.
    variations
        Variations per prompt in a search for bias; 15 if not given.
    quantile
        Alpha of the score bias; 0.25 if not given.
    similarity
        cosine, unit ((1 + cosine) / 2), or auto (if not given): unit for the studio's embedder.
    top
        Best prompts of a search, scored again on fresh seeds; 5 if not given.
    runs
        Independent searches; 1 if not given.
    baseline
        Put a random search of the same size beside each; done if not told otherwise.

    Raises
    ------
    UsageError
        For a request that cannot be met; other AskewErrors where a run fails.
    """
    shared.only_known(options, MineOptions)
    own = given(
        objective=objective,
        target=target,
        vqa=vqa,
        iterations=iterations,
        population=population,
        selected=selected,
        mutations=mutations,
        selection=selection,
        words=words,
        images=images,
        fresh_images=fresh_images,
        variations=variations,
        quantile=quantile,
        similarity=similarity,
        top=top,
        runs=runs,
        baseline=baseline,
    )
    if plan is not None:
        shared.only_plan(
            options, model=model, axes=axes, **{name: str(value) for name, value in own.items()}
        )
        return METHOD.run(read_mine_plan(Path(plan)), **shared.run_options(options))
    fields = {
        **shared.plan_fields({"model": model, **options}),
        "llm_args": shared.writer_settings(options),
    }
    fields.pop("vqa", None)  # a preset's are those of an audit
    data = {**fields, **own, "axes": shared.names(axes)}
    return METHOD.run(MinePlan.checked(data, "this request"), **shared.run_options(options))
