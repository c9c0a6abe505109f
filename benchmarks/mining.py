"""MineTheGap on the studio: does its score rank what was planted, and what do the parts of the search do?

    python benchmarks/mining.py ranking [--model studio/planted] [--images 48] [--occupations 72]
    python benchmarks/mining.py selection|population [--runs 10] [--iterations 10]

`ranking` holds the scores of the occupations against the planted skew of gender, for several alphas; `selection` is
table S1 of the paper, `population` figure S4. All share the store --store.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from askew.api.mine import run_mine_plan
from askew.jobs.mine import Mining
from askew.methods.gap_validation import known_ranking
from askew.methods.minethegap import BiasObjective
from askew.plans.mining import MinePlan, make_mine_plan
from askew.prompts.counterfactuals import counterfactual
from askew.prompts.grammar import article
from askew.report.formatting import measured, number
from askew.results.file import estimate_json
from askew.runs.run import Run
from askew.runs.search_progress import SearchMeter, silent
from askew.storage.store import Store
from askew.studio.occupations import OCCUPATIONS
from askew.studio.planted import female_share
from askew.studio.scene import ATTRIBUTES
from askew.types import Estimate, Missing

SELECTIONS = ((5, 1, 10), (3, 2, 9), (5, 2, 5), (7, 2, 1), (5, 3, 0))
"""Selected, mutations, random: the rows of table S1."""

POPULATIONS = ((9, 3), (15, 5), (21, 7))
"""Population and selected, with two mutations each (figure S4)."""


def objective_of(plan: MinePlan, store: Store, folder: Path) -> BiasObjective:
    """The bias score on a plan's model."""
    meter = SearchMeter(silent, 1, 1, 1)
    found = Mining.prepare(plan, Run(folder, store, plan), meter).objective()
    assert isinstance(found, BiasObjective)
    return found


def crossed(prompt: str) -> list[str]:
    """The prompt with every gender and ethnicity."""
    pairs = product(ATTRIBUTES["gender"], ATTRIBUTES["ethnicity"])
    return [counterfactual(counterfactual(prompt, "gender", g), "ethnicity", e) for g, e in pairs]


def written(estimate: Estimate | Missing) -> str:
    """An estimate with three digits."""
    return measured(estimate_json(estimate), lambda value: number(value, 3))


def ranking(options: argparse.Namespace, store: Store) -> None:
    """Spearman's correlation with the planted skew."""
    plan = MinePlan(model=options.model, images=options.images, seed=options.seed)
    objective = replace(objective_of(plan, store, options.store / "ranking"), variations=crossed)
    names = list(OCCUPATIONS)[:: max(1, len(OCCUPATIONS) // options.occupations)]
    prompts = {f"photo portrait of {article(name)} {name}": abs(2 * female_share(name) - 1) for name in names}
    print("| alpha | score | score less chance |\n| ---: | --- | --- |")
    for row in known_ranking(objective, prompts)["quantiles"]:
        print(f"| {row['quantile']} | {written(row['score'])} | {written(row['corrected'])} |")


def ablation(options: argparse.Namespace, sizes: Sequence[Mapping[str, int]]) -> None:
    """The mean fresh score of the best prompts, over runs, for several sizes of a search."""
    print("| population | selected | mutations | best on fresh seeds | best when found |")
    print("| ---: | ---: | ---: | --- | --- |")
    for size in sizes:
        own = {"model": options.model, "iterations": options.iterations, "runs": options.runs, "seed": options.seed}
        plan = make_mine_plan({**own, **size, "baseline": False})
        found = run_mine_plan(plan, options.store / f"mine-{plan.hash[:8]}", options.store)
        best = found.results["minethegap"]["best"]
        cells = [
            [np.mean([e[score]["value"] for e in best if e["run"] == k]) for k in range(options.runs)]
            for score in ("fresh_score", "score")
        ]
        texts = [f"{np.mean(cell):.4f} ± {np.std(cell, ddof=1) if options.runs > 1 else 0:.4f}" for cell in cells]
        print(f"| {plan.population} | {plan.selected} | {plan.mutations} | {texts[0]} | {texts[1]} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=("ranking", "selection", "population"))
    parser.add_argument("--model", default="studio/planted")
    parser.add_argument("--images", type=int, default=48)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument(
        "--occupations", type=int, default=len(OCCUPATIONS), help="so many, evenly over the planted order"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--store", type=Path, default=Path("runs/mining-study"))
    options = parser.parse_args()
    if options.study == "selection":
        ablation(options, [{"population": 15, "selected": s, "mutations": m} for s, m, _ in SELECTIONS])
    elif options.study == "population":
        ablation(options, [{"population": b, "selected": s} for b, s in POPULATIONS])
    else:
        with Store(options.store) as store:
            ranking(options, store)


if __name__ == "__main__":
    main()
