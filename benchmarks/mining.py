"""MineTheGap on the studio: how well its score repeats and could rank, what a search inherits, and where time goes.

    python -m benchmarks.mining repeat [--model studio/planted] [--prompts 24] [--images 60]
    python -m benchmarks.mining ceiling [--repeats 20]
    python -m benchmarks.mining inherit RUN
    python -m benchmarks.mining selections RUN RUN
    python -m benchmarks.mining time [--model studio/planted] [--selection learned]

`repeat` scores random prompts on two disjoint sets of pictures; their correlation over prompts says how much of a score
is the prompt, and how much the draw of its pictures; and what a fifth fewer pictures, or variations, do to a score.
`ceiling` ranks the studio's occupations with similarities that
know the perceived gender and ethnicity of every picture, by the planted skew of gender; no picture is drawn. `inherit`
holds the scores of parents and children in a finished run of `askew mine` against random prompts, and `selections` two
such runs of several searches, as of both selections, against each other, pair by pair.
`time` runs a search of ten iterations with its random search, and says where the seconds go.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from askew.findings import RESULTS_FILE
from askew.findings import read as read_findings
from askew.methods.mine import METHOD
from askew.methods.mine.findings import MineFindings, MineTheGap
from askew.methods.mine.gather import Miner
from askew.methods.mine.objectives import Alignment, Objective, enough
from askew.methods.mine.plan import MinePlan
from askew.prompts.grammar import article
from askew.prompts.noun_phrases import parse_prompt
from askew.prompts.open_details import main_phrase
from askew.run.live import Live, opened_run
from askew.stats.gap import bias_score
from askew.stats.means import student_mean
from askew.store.keys import derived_seed
from askew.studio.planted import female_share, joint
from askew.studio.scene import ATTRIBUTES, OCCUPATIONS
from askew.types import Estimate

P = ParamSpec("P")
R = TypeVar("R")

CEILING_IMAGES = (15, 24, 48, 96, 192)
QUANTILES = (0.0, 0.1, 0.25)
NOISE = 0.05
"""Standard deviation of a similarity, where one attribute that fits adds 0.25."""

PAIRS = list(product(ATTRIBUTES["gender"], ATTRIBUTES["ethnicity"]))
FIT = np.array([[0.5 + 0.25 * sum(a == b for a, b in zip(v, p, strict=True)) for p in PAIRS] for v in PAIRS])
"""(variations, kinds of pictures): what a reader without noise sees."""


def repeat(options: argparse.Namespace) -> None:
    """How much two scores of one prompt, on pictures of other seeds, have in common."""
    plan = MinePlan(model=options.model, images=options.images, seed=options.seed)
    with opened_run(plan, options.store / "repeat", options.store) as live:
        miner = Miner.prepare(plan, live)
        prompts = miner.writer.random_prompts(options.prompts, seed=plan.seed)
        sides = [[_aligned(miner.objective, text, derived_seed(plan.seed, name)) for text in prompts] for name in "ab"]
    print(
        "| pictures | correlation of two scores | sd between prompts | sd of a score |\n| ---: | ---: | ---: | ---: |"
    )
    for images in (n for n in (15, 30, 60, 120, 240) if n <= options.images):
        a, b = (np.array([bias_score(one.similarity[:, :images]) for one in side]) for side in sides)
        noise = float(np.std(a - b, ddof=1) / np.sqrt(2))
        between = float(np.sqrt(max(np.var((a + b) / 2, ddof=1) - noise**2 / 2, 0)))
        print(f"| {images} | {np.corrcoef(a, b)[0, 1]:.2f} | {between:.4f} | {noise:.4f} |", flush=True)
    whole = [one.similarity[:, :15] for side in sides for one in side]
    for what, axis in (("variations", 0), ("pictures", 1)):
        fewer = [np.delete(s, np.s_[enough(s.shape[axis]) :], axis) for s in whole]
        changes = [bias_score(x) - bias_score(y) for x, y in zip(fewer, whole, strict=True)]
        print(f"{fewer[0].shape[axis]} of {whole[0].shape[axis]} {what}: {_interval(changes)}")


def _aligned(objective: Objective, text: str, seed: int) -> Alignment:
    found = objective.read(text, seed)
    assert isinstance(found, Alignment)
    return found


def ceiling(options: argparse.Namespace) -> None:
    """Spearman's correlations of a perfect reader's scores with what was planted."""
    laws = {name: _law(name) for name in OCCUPATIONS}
    skews = [abs(2 * female_share(name) - 1) for name in OCCUPATIONS]
    print("| pictures | alpha | score | counted share |\n| ---: | ---: | ---: | ---: |")
    for images in CEILING_IMAGES:
        found: dict[float, list[float]] = {q: [] for q in QUANTILES}
        counted: list[float] = []
        for k in range(options.repeats):
            rng = np.random.default_rng([options.seed, images, k])
            shown = [rng.choice(len(PAIRS), size=images, p=law) for law in laws.values()]
            counted.append(spearmanr([_counted_skew(s) for s in shown], skews)[0])
            for q in QUANTILES:
                found[q].append(spearmanr([-_score(s, q, rng) for s in shown], skews)[0])
        for q in QUANTILES:
            print(f"| {images} | {q} | {np.mean(found[q]):.2f} | {np.mean(counted):.2f} |", flush=True)


def _law(occupation: str) -> NDArray[np.float64]:
    """The planted probability of every pair of gender and ethnicity."""
    found = joint(f"photo portrait of {article(occupation)} {occupation}", ("gender", "ethnicity"))
    return np.array([found[pair] for pair in PAIRS])


def _counted_skew(shown: NDArray[np.int_]) -> float:
    female = np.mean([PAIRS[k][0] == "female" for k in shown])
    return float(abs(2 * female - 1))


def _score(shown: NDArray[np.int_], quantile: float, rng: np.random.Generator) -> float:
    """The bias score where the more attributes agree the larger a similarity is, up to a little noise."""
    return bias_score(FIT[:, shown] + NOISE * rng.normal(size=(len(PAIRS), len(shown))), quantile)


def inherit(options: argparse.Namespace) -> None:
    """How much of what selected prompts are below random ones their mutations still have."""
    prompts = [one for entry in _section(options.run).history for one in entry.prompts]
    scores = {one.prompt: one.score for one in prompts if one.score is not None}
    random = np.mean([scores[one.prompt] for one in prompts if one.origin == "random" and one.prompt in scores])
    children = [(one.parent, one.prompt) for one in prompts if one.parent and one.prompt in scores]
    same = [pair for pair in children if _subject(pair[0]) == _subject(pair[1])]
    other = [pair for pair in children if pair not in same]
    print(f"random prompts score {random:.4f}\n")
    print("| mutations with | pairs | parents | children | passed on |\n| --- | ---: | ---: | ---: | ---: |")
    for name, some in (("any subject", children), ("the same subject", same), ("another subject", other)):
        above, below = (np.mean([scores[pair[k]] for pair in some]) for k in (0, 1))
        passed = (random - below) / (random - above)
        print(f"| {name} | {len(some)} | {above:.4f} | {below:.4f} | {passed:.0%} |")


def selections(options: argparse.Namespace) -> None:
    """The second run's searches less the first's, by number: mean mutation, and mean of the best on fresh seeds."""
    found = [_section(folder) for folder in (options.run, options.other)]
    mutations, best = ([_by_run(section, kind) for section in found] for kind in (_mutations, _fresh))
    for what, (first, second) in (("mutations", mutations), ("best, fresh seeds", best)):
        print(f"{what}: {_interval([second[k] - first[k] for k in sorted(first.keys() & second.keys())])}")


def _section(run: Path) -> MineTheGap:
    return read_findings(MineFindings, run / RESULTS_FILE).minethegap


def _by_run(section: MineTheGap, scores: Callable[[MineTheGap], Iterable[tuple[int, float]]]) -> dict[int, float]:
    found = defaultdict(list)
    for number, score in scores(section):
        found[number].append(score)
    return {number: float(np.mean(some)) for number, some in found.items()}


def _mutations(section: MineTheGap) -> Iterable[tuple[int, float]]:
    return [(entry.run, one.score) for entry in section.history for one in entry.prompts
            if one.parent and one.score is not None]  # fmt: skip


def _fresh(section: MineTheGap) -> Iterable[tuple[int, float]]:
    return [(one.run, one.fresh_score.value) for one in section.best if isinstance(one.fresh_score, Estimate)]


def _interval(values: Sequence[float]) -> str:
    e = student_mean(values, 0.95, "Student's t")
    return f"{e.value:.4f} [{e.low:.4f}, {e.high:.4f}]"


def _subject(prompt: str) -> str | None:
    phrase = main_phrase(parse_prompt(prompt))
    return phrase.noun.singular if phrase and phrase.noun else None


def spent(options: argparse.Namespace) -> None:
    """Processor time of a search by what it is spent on, in a folder of its own."""
    plan = MinePlan(model=options.model, iterations=10, selection=options.selection, seed=options.seed)
    clock = Clock()
    Live.pictures = clock.timed("pictures", Live.pictures)  # type: ignore[method-assign]
    Live.read = clock.timed("embedding", Live.read)  # type: ignore[method-assign]
    Live.look = clock.timed("embedding", Live.look)  # type: ignore[method-assign]
    timed = replace(METHOD, gather=clock.timed("search", METHOD.gather), score=clock.timed("scores", METHOD.score),
                    page=clock.timed("report", METHOD.page))  # fmt: skip
    with TemporaryDirectory() as folder:
        timed.run(plan, run=Path(folder) / "run", store=Path(folder) / "store")
    clock.seconds["search"] -= clock.seconds["pictures"] + clock.seconds["embedding"]
    print("| part | seconds | share |\n| --- | ---: | ---: |")
    total = sum(clock.seconds.values())
    for part, seconds in clock.seconds.items():
        print(f"| {part} | {seconds:.1f} | {seconds / total:.1%} |")


class Clock:
    """Seconds of processor time, by what they were spent on."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def timed(self, part: str, function: Callable[P, R]) -> Callable[P, R]:
        """The function, its time counted."""

        def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
            begun = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                self.seconds[part] += time.process_time() - begun

        return wrapped


STUDIES = {"repeat": repeat, "ceiling": ceiling, "inherit": inherit, "selections": selections, "time": spent}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=STUDIES, nargs="?", default="time")
    parser.add_argument("run", type=Path, nargs="?", help="the run of `inherit` and `selections`")
    parser.add_argument("other", type=Path, nargs="?", help="the second run of `selections`")
    parser.add_argument("--selection", choices=("score", "learned"), default="score")
    parser.add_argument("--model", default="studio/planted")
    parser.add_argument("--prompts", type=int, default=24)
    parser.add_argument("--images", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--store", type=Path, default=Path("runs/mining-study"))
    options = parser.parse_args()
    runs = {"inherit": 1, "selections": 2}.get(options.study, 0)
    if runs != sum(one is not None for one in (options.run, options.other)):
        parser.error("inherit takes the folder of a run, selections those of two, the others take none")
    STUDIES[options.study](options)


if __name__ == "__main__":
    main()
