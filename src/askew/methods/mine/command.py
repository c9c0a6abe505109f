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
from askew.parts.survey.sequential import MAX_IMAGES
from askew.prompts.evolution import Selection


def _objective(_: object, tokens: Sequence[Token]) -> str:
    """Return the objective.

    If the objective is a function, modules in the current folder can be imported.
    """
    text = tokens[0].value
    if runs_code(text):
        sys.path.insert(0, str(Path.cwd()))
    return text


def _words(_: object, tokens: Sequence[Token]) -> tuple[int, int]:
    """Parse a text such as 3-8 into the smallest and the largest number."""
    smallest, dash, largest = tokens[0].value.partition("-")
    if not (smallest.isdecimal() and largest.isdecimal() and dash):
        raise UsageError(
            f"--words {tokens[0].value!r} is invalid. Give the smallest and the largest number of "
            "words in a prompt, such as --words 3-8"
        )
    return int(smallest), int(largest)


class MineOptions(
    shared.VQASettingOptions,
    shared.EmbedderOptions,
    shared.WriterOptions,
    shared.MitigationOptions,
    shared.ModelOptions,
    total=False,
):
    """Options that `askew mine` shares with other commands."""


def mine(
    model: str | None = None,
    *,
    plan: PathOption = None,
    objective: Annotated[str | None, Parameter(converter=_objective, n_tokens=1)] = None,
    axes: NamesOption = None,
    topic: str | None = None,
    vqa: str | None = None,
    iterations: int | None = None,
    population: int | None = None,
    selected: int | None = None,
    mutations: int | None = None,
    selection: Selection | None = None,
    words: Annotated[
        tuple[int, int] | None,
        Parameter(converter=_words, n_tokens=1, negative="", metavar="MIN-MAX"),
    ] = None,
    images: int | None = None,
    eval_images: int | None = None,
    until: Literal["decided"] | None = None,
    max_images: int | None = None,
    variations: int | None = None,
    quantile: float | None = None,
    similarity: Literal["auto", "cosine", "unit"] | None = None,
    top: int | None = None,
    runs: int | None = None,
    random_search: Annotated[bool | None, Parameter(negative="--no-random-search")] = None,
    **options: Unpack[MineOptions],
) -> MiningResult:
    """Search for the prompts on which a model is most biased (MineTheGap).

    Examples
    --------
    `askew mine --model studio/planted --iterations 10`

    `askew mine --axes gender,age`

    `askew mine --until decided --max-images 200`

    `askew mine --topic people --objective eq1 --runs 10`

    `askew mine --objective color:blue --iterations 4 --population 9 --selected 3`

    Parameters
    ----------
    model
        Model to search on, such as studio or diffusers/ID-OR-PATH. A search generates thousands of
        images. [default: studio/planted]
    plan
        TOML file with the plan to run, such as the plan.toml of an earlier run.
    objective
        Score by which prompts are selected. skew: deviation of the shares on --axes from equal
        shares. eq1: the paper's score. eq1-corrected: the paper's score minus its value expected by
        chance. color:red: distance from a color. module:function: a function of (prompt, images),
        which the search minimizes. [default: skew]
    axes
        Axes for a search by skew, separated by commas, such as gender,age. [default: gender]
    topic
        Topic of the prompts: people, clothing, style, or any words. [default: people for skew on
        axes about people; any topic for other objectives]
    vqa
        VQA model that labels images on --axes and checks which details images leave out. [default:
        the embedder labels the images]
    iterations
        Number of iterations of each search. [default: 25]
    population
        Number of prompts in each iteration. [default: 15]
    selected
        Number of best prompts that the search mutates in each iteration. [default: 5]
    mutations
        Number of mutations per selected prompt. Random prompts fill the rest of the population.
        [default: 2]
    selection
        How prompts are selected. score: by the measured score. learned: by a score predicted from
        the prompt's words. [default: learned with --objective skew; score with other objectives]
    words
        Smallest and largest number of words in a prompt. [default: 3-8]
    images
        Number of images per prompt. [default: 15; 5 with --objective skew]
    eval_images
        Number of held-out images per best prompt in a search by skew. [default: 48]
    until
        In a search by skew, add held-out images to each of the best prompts until its bias is
        significant. askew tests after 8, 12, 16, 24, … images, up to --max-images.
    max_images
        Maximum number of held-out images per best prompt with --until decided. [default: 400]
    variations
        Number of variations of each prompt in a search by eq1. [default: 15]
    quantile
        Quantile alpha in the score eq1. [default: 0.25]
    similarity
        Measure of similarity between images and texts. cosine: the cosine. unit: (1 + cosine) / 2.
        auto: unit for the studio's embedder, cosine for other embedders. [default: auto]
    top
        Number of best prompts per search that are scored with held-out seeds. [default: 5]
    runs
        Number of independent searches. [default: 1]
    random_search
        Also run a random search of the same size for each search. [default: yes]

    Returns
    -------
    MiningResult
        The finished run.

    Raises
    ------
    UsageError
        If an option is invalid, or if options contradict each other.
    AskewError
        If the run fails.
    """
    shared.only_known(options, MineOptions)
    shared.check_until(until, max_images, eval_images, "--eval-images", "held-out images")
    if until is not None and plan is None:
        eval_images = max_images or MAX_IMAGES
    chosen = given(
        objective=objective,
        topic=topic,
        vqa=vqa,
        iterations=iterations,
        population=population,
        selected=selected,
        mutations=mutations,
        selection=selection,
        words=words,
        images=images,
        eval_images=eval_images,
        until=until,
        variations=variations,
        quantile=quantile,
        similarity=similarity,
        top=top,
        runs=runs,
        random_search=random_search,
    )
    run_options = shared.run_options(options)
    if plan is not None:
        texts = {name: str(value) for name, value in chosen.items()}
        shared.only_plan(options, model=model, axes=axes, max_images=max_images, **texts)
        return METHOD.run(read_mine_plan(Path(plan)), **run_options)
    fields: dict[str, object] = {
        **shared.plan_fields({"model": model, **options}),
        "llm_args": shared.writer_settings(options),
    }
    fields.pop("vqa", None)  # a preset names the VQA model of an audit
    data = fields | chosen | {"axes": shared.names(axes)}
    return METHOD.run(MinePlan.checked(data, "this request"), **run_options)
