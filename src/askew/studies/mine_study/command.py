"""askew mine-study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Annotated, ClassVar, Unpack

from askew import findings, registry
from askew.document import Document, Row, rows
from askew.errors import UsageError
from askew.methods.mine import METHOD
from askew.methods.mine.command import SearchOptions, search_fields
from askew.methods.mine.objectives import Alignment, BiasObjective
from askew.methods.mine.plan import BIAS, MinePlan
from askew.models.base import Model
from askew.options import SETTINGS, WhereOptions, repeated, settings
from askew.pages.blocks import Page
from askew.parts.scoring import Scoring
from askew.prompts.counterfactuals import counterfactual
from askew.prompts.grammar import article
from askew.run.base import Outcome, Run
from askew.run.live import opened_run
from askew.store.store import default_store
from askew.studies.mine_study.findings import MiningStudyFindings, RandomStudy
from askew.studies.mine_study.page import page
from askew.studies.mine_study.score import (
    PAPER,
    POPULATIONS,
    SELECTIONS,
    Known,
    best_so_far,
    known_ranking,
    size_study,
)
from askew.studio.planted import female_share
from askew.studio.scene import ATTRIBUTES, OCCUPATIONS, spread

LEANING = ("studio/planted", "studio")
STUDY_FILE = "study.json"
PAGE_FILE = "study.html"
CROSSED = tuple(product(ATTRIBUTES["gender"], ATTRIBUTES["ethnicity"]))
SIZES = tuple(dict.fromkeys((*SELECTIONS, *POPULATIONS)))
"""All sizes that are studied, each once."""


class MineStudyOptions(SearchOptions, WhereOptions, total=False):
    """Options that `askew mine` has, too, the same for all sizes."""

    model_args: Annotated[SETTINGS, repeated(settings, "Model setting, such as bias=0.5.", "-M")]


@dataclass(frozen=True)
class MiningStudy(Document):
    """What a study found: study.json in its folder, beside the page."""

    folder: Path
    found: MiningStudyFindings
    warnings: ClassVar[Sequence[str]] = ()
    """None: those of every search stand in its own report."""

    @property
    def numbers(self) -> Path:
        """Where the findings lie as JSON."""
        return self.folder / STUDY_FILE

    @property
    def report(self) -> Path:
        """Where the page lies."""
        return self.folder / PAGE_FILE

    @cached_property
    def page(self) -> Page:
        """What the report shows."""
        return page(self.found)

    def estimates(self) -> list[Row]:
        """A row for every estimate, in the order of study.json."""
        return rows(findings.scored(self.found), "mine-study", self.found.plan.model)


def mine_study(
    model: str = "studio/planted",
    *,
    runs: int = 10,
    iterations: int = 25,
    images: int = 15,
    ranking_images: int = 48,
    occupations: int = len(OCCUPATIONS),
    **options: Unpack[MineStudyOptions],
) -> MiningStudy:
    """What alpha, population and selection do to a search, judged on the studio, where the bias is known.

    Alphas are judged by Spearman's correlation of the score with the planted skew of occupations, never by the score,
    which falls with alpha by construction. Sizes are judged on fresh seeds, in pairs of runs (MineTheGap, table S1,
    figures S3 to S5).

    Example: `askew mine-study --runs 10 --iterations 10`

    Parameters
    ----------
    model
        A studio model whose bias is planted.
    runs
        Searches of each size, with paired seeds.
    iterations
        Iterations of each search.
    images
        Pictures per prompt in the searches.
    ranking_images
        Pictures per occupation in the study of alpha.
    occupations
        Occupations that are ranked, evenly over the planted order.

    Raises
    ------
    UsageError
        For a model whose bias was not planted; other AskewErrors where a run fails.
    """
    if model not in LEANING:
        raise UsageError(f"{model} has no planted bias to judge by; study {' or '.join(LEANING)}")
    if not 3 <= occupations <= len(OCCUPATIONS):
        raise UsageError(f"{occupations} occupations cannot be ranked; take 3 to {len(OCCUPATIONS)}")
    folder = Path(options.get("run") or Path("runs") / "mine-study")
    store, progress = Path(options.get("store") or default_store(folder)), options.get("progress", False)
    common = {**search_fields({"model": model, **options}), "objective": BIAS}
    fields = {**common, "runs": runs, "iterations": iterations, "images": images}
    plans = {
        size: MinePlan.checked({**fields, **asdict(size), "baseline": size == PAPER}, "this study") for size in SIZES
    }
    alphas = MinePlan.checked({**common, "images": ranking_images}, "this study")
    with opened_run(alphas, folder / "ranking", store, progress=progress) as live:
        known = gather_known(alphas, live, occupations)
    sections = {
        size: METHOD.run(plan, run=folder / f"{size.population}-{size.selected}-{size.mutations}", store=store,
                         progress=progress).found.minethegap
        for size, plan in plans.items()
    }  # fmt: skip
    paper, random = plans[PAPER], sections[PAPER].random
    study = MiningStudy(folder, MiningStudyFindings(
        paper,
        known_ranking(known, Scoring(paper.vqa, alphas.seed, alphas.draws, alphas.level)),
        size_study(sections, runs, paper.level),
        RandomStudy(random.difference, best_so_far(random.history, runs)) if random else None,
    ))  # fmt: skip
    findings.write(study.found, study.numbers)
    study.write_report()
    return study


def gather_known(plan: MinePlan, run: Run, occupations: int) -> list[Known]:
    """Occupations, evenly over their planted share of women, held against every perceived gender and ethnicity."""
    model = registry.model(plan.model, **plan.model_args)
    assert isinstance(model, Model)  # the studio's
    embedder = registry.embedder(plan.embedder, **plan.embedder_args)

    def pictures(prompt: str, seed: int) -> Sequence[Outcome]:
        return run.pictures(model, [prompt], plan.images, seed)[prompt]

    objective = BiasObjective(run, embedder, pictures, crossed, len(CROSSED), plan.quantile, plan.is_unit)
    found = []
    with run.steps("prompts", model.name, occupations) as steps:
        for name in spread(occupations):
            prompt = f"photo portrait of {article(name)} {name}"
            seen = objective.read(prompt, plan.seed)
            varied = {text: made[0] for text, made in run.pictures(model, crossed(prompt), 1, plan.seed).items()}
            chance = objective.chance(prompt, varied, plan.seed)
            if isinstance(seen, Alignment) and chance:
                found.append(Known(prompt, abs(2 * female_share(name) - 1), seen, chance))
            steps.advance(1)
    return found


def crossed(prompt: str) -> list[str]:
    """The prompt with every perceived gender and ethnicity."""
    return [counterfactual(counterfactual(prompt, "gender", g), "ethnicity", e) for g, e in CROSSED]
