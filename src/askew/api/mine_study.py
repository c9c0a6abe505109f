"""What the command line and Python share about the study of a search's parts on the studio."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from askew.api.mine import run_mine_plan
from askew.errors import UsageError
from askew.jobs.mine import Mining
from askew.methods.gap_validation import known_ranking
from askew.methods.minethegap import BiasObjective
from askew.methods.mining_study import PAPER, POPULATIONS, SELECTIONS, SearchSize, random_study, size_study
from askew.plans.mining import BIAS, MinePlan
from askew.prompts.counterfactuals import counterfactual
from askew.prompts.grammar import article
from askew.report.mining_study import write_mining_study
from askew.results.file import write_json
from askew.run.run import Run
from askew.run.search_progress import SearchMeter, choose, silent
from askew.store.store import Store, default_store
from askew.studio.occupations import OCCUPATIONS, spread
from askew.studio.planted import female_share
from askew.studio.scene import ATTRIBUTES

LEANING = ("studio/planted", "studio")
STUDY_FILE = "study.json"
PAGE_FILE = "study.html"
CROSSED = tuple(product(ATTRIBUTES["gender"], ATTRIBUTES["ethnicity"]))
SIZES = tuple(dict.fromkeys((*SELECTIONS, *POPULATIONS)))
"""All sizes that are studied, each once."""


@dataclass(frozen=True)
class MiningStudy:
    """What a study found: the content of study.json, in its folder beside the page."""

    folder: Path
    results: Mapping[str, Any]

    @property
    def report(self) -> Path:
        """Where the page lies."""
        return self.folder / PAGE_FILE


def mine_study(
    model: str = "studio/planted",
    *,
    model_args: Mapping[str, Any] | None = None,
    runs: int = 10,
    iterations: int = 25,
    images: int = 15,
    ranking_images: int = 48,
    occupations: int = len(OCCUPATIONS),
    seed: int = 0,
    run: str | Path | None = None,
    store: str | Path | None = None,
    progress: bool = False,
    **settings: Any,
) -> MiningStudy:
    """What alpha, population and selection do to a search, on a studio model (MineTheGap, table S1, figures S3 to S5).

    Alphas are judged by Spearman's correlation of the score with the planted skew of occupations, never by the score,
    which falls with alpha by construction. Sizes are judged on fresh seeds, in pairs of runs.

    `runs`            searches of each size, with paired seeds; `iterations` and `images` are theirs
    `ranking_images`  pictures of each of the `occupations` that are ranked, evenly over the planted order
    `run`             folder of the study, which holds a run folder per size, by default runs/mine-study
    `settings`        further fields of `MinePlan`, the same for all sizes

    Raises UsageError for a model whose bias was not planted.
    """
    if model not in LEANING:
        raise UsageError(f"{model} has no planted bias to judge by; study {' or '.join(LEANING)}")
    if not 3 <= occupations <= len(OCCUPATIONS):
        raise UsageError(f"{occupations} occupations cannot be ranked; take 3 to {len(OCCUPATIONS)}")
    folder = Path(run) if run else Path("runs") / "mine-study"
    place = Path(store) if store else default_store(folder)
    own = {**settings, "model": model, "model_args": dict(model_args or {}), "seed": seed, "objective": BIAS}
    plans = {
        size: MinePlan.checked({
            **own, "runs": runs, "iterations": iterations, "images": images, "baseline": size == PAPER,
            "population": size.population, "selected": size.selected, "mutations": size.mutations,
        }, "this study")
        for size in SIZES
    }  # fmt: skip
    ranking = MinePlan.checked({**own, "images": ranking_images}, "this study")
    ranked = _ranking(ranking, occupations, folder, place, progress)
    sections = {size: _section(plan, size, folder, place, progress) for size, plan in plans.items()}
    found = {
        "plan": plans[PAPER].model_dump(mode="json"),
        "ranking": {"images": ranking_images, **ranked},
        "sizes": size_study(sections, runs, plans[PAPER].level),
        "random": random_study(sections[PAPER]["random"], runs),
    }
    path = write_json(folder / STUDY_FILE, found)
    results = json.loads(path.read_text(encoding="utf-8"))
    write_mining_study(results, folder / PAGE_FILE)
    return MiningStudy(folder, results)


def _section(plan: MinePlan, size: SearchSize, folder: Path, store: Path, progress: bool) -> Mapping[str, Any]:
    """What the searches of one size found."""
    own = folder / f"{size.population}-{size.selected}-{size.mutations}"
    section: Mapping[str, Any] = run_mine_plan(plan, own, store, progress=progress).results["minethegap"]
    return section


def _ranking(plan: MinePlan, occupations: int, folder: Path, store: Path, progress: bool) -> dict[str, Any]:
    """How well the score ranks occupations by their planted share of women, for several alphas."""
    skews = {
        f"photo portrait of {article(name)} {name}": abs(2 * female_share(name) - 1) for name in spread(occupations)
    }
    with Store(store) as opened:
        meter = SearchMeter(choose() if progress else silent, 1, 1, 1)
        mining = Mining.prepare(plan, Run(folder / "ranking", opened, plan, progress=meter), meter)
        objective = mining.objective()
        assert isinstance(objective, BiasObjective)  # the plan names no other
        meter.scoring()
        try:
            return known_ranking(replace(objective, variations=_crossed, planned=len(CROSSED)), skews)
        finally:
            meter.stop()


def _crossed(prompt: str) -> list[str]:
    """The prompt with every perceived gender and ethnicity."""
    return [counterfactual(counterfactual(prompt, "gender", g), "ethnicity", e) for g, e in CROSSED]
