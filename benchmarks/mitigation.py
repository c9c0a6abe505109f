"""Measure costs and effects of mitigation techniques.

    python -m benchmarks.mitigation costs [--pictures 12] [--rounds 3]
    python -m benchmarks.mitigation occupations [--pictures 48]
        [--techniques prompts,fair-diffusion,iti-gen] [--every 3]
    python -m benchmarks.mitigation maps [--pictures 24]
        [--techniques fair-diffusion,entanglement] [--folder …]
    python -m benchmarks.mitigation policies [--pictures 48] [--every 12] [--rounds 3]
        [--axes …] [--max-stated 2]
    python -m benchmarks.mitigation association [--pictures 48] [--folder …]
    python -m benchmarks.mitigation side-effects [--pictures 48] [--seed 0]
    python -m benchmarks.mitigation strategies [--pictures 48] [--seed 0]
    python -m benchmarks.mitigation variety [--pictures 15] [--prompts 45] [--seed 0]
        [--folder runs/mitigation]

costs         Time with and without each technique on `studio`, in turn. Also time to choose a
              policy from random tables: all prompts with two statements of eight axes (316), with
              all pairs of axes.
occupations   Perceived gender of twelve occupations whose planted share of women lies outside
              .25-.75, or of every third occupation of the world. The tokens of ITI-GEN are learned
              once, from images of all occupations.
policies      True remaining distance of policies over four axes in the planted world. Policies are
              chosen from sampled scenes of each prompt, for every twelfth occupation, several
              times.
association   TIBET: CAS and MAD of the twelve occupations before and after ITI-GEN, against
              counterfactual images of the plain model.
maps          BiasMap's table 1 for eight of its professions: risk difference of perceived gender,
              and overlap of the attention to "gender" and to the profession, over all layers and
              in the middle block, which entanglement guidance does not optimize. A file
              FOLDER/TECHNIQUE.toml is used where it exists, for example with learned tokens.
              "prompts" alternates the two words, as BiasMap describes Fair Diffusion.
side-effects  BiasConnect: effects that sensitivities predict for 56 pairs of axes, and effects of
              making an axis uniform, or of no mitigation.
strategies    InterMit in the planted world: axes are stated one after another in equal shares,
              until their mean distance is .10.
variety       Random prompts about people with and without CADS, and along the guidance scale, on
              the same seeds: MineTheGap's Eq. 1, where lower is more biased, and the skew of
              perceived gender.

Studies that generate images resume where they were stopped.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np

import askew
from askew import registry
from askew.methods.audit.tibet import tibet
from askew.methods.map.plan import profession_prompt
from askew.methods.mine.gather import Miner
from askew.methods.mine.objectives import Objective
from askew.methods.mine.plan import MinePlan
from askew.methods.mine.skew import SkewObjective
from askew.methods.mitigate import METHOD
from askew.methods.mitigate.findings import MitigationFindings
from askew.methods.mitigate.gather import gather
from askew.methods.mitigate.plan import MitigationPlan, plan_mitigation
from askew.methods.mitigate.policy import PolicyTables, choose
from askew.mitigations import base as mitigation
from askew.models.base import Model, Request
from askew.parts.scoring import Scoring
from askew.parts.survey.instruments import instruments_of
from askew.parts.survey.observed import ObservedSet
from askew.parts.survey.reader import SurveyReader, observed_sets
from askew.prompts.axes import BIASCONNECT, find_axis
from askew.prompts.counterfactuals import counterfactual
from askew.prompts.vocabulary import article
from askew.run.live import LiveRun, opened_run
from askew.stats.contingency import cramers_v, raked
from askew.stats.intervals import Floats
from askew.stats.policy import Goal, cells, plan_policy
from askew.store.keys import derived_seed
from askew.studio.caption import parse
from askew.studio.planted import conditional, sample
from askew.studio.scene import ATTRIBUTES
from askew.studio.scene import OCCUPATIONS as OCCUPATIONS_OF_THE_WORLD
from askew.types import Missing, Prompt
from benchmarks.markdown import mark, mean_cell, table_row
from benchmarks.mitigation_strategies import deviation, strategies
from benchmarks.planted_interactions import SIZES, World, world

UNIFORM_GENDER = {"gender": {"male": 0.5, "female": 0.5}}
TECHNIQUE_SETTINGS: dict[str, dict[str, object]] = {
    "fair-diffusion": {"targets": UNIFORM_GENDER},
    "cads": {},
    "entanglement": {"targets": UNIFORM_GENDER},
    "guidance": {"scale": 2.0},
    "negative-prompt": {"words": "a female person"},
}
SCALES = (1.0, 2.0, 4.0)
"""Guidance scales; the studio's default is 1.4."""

OCCUPATIONS = (
    "mechanic",
    "firefighter",
    "roofer",
    "plumber",
    "electrician",
    "carpenter",
    "maid",
    "housekeeper",
    "receptionist",
    "librarian",
    "babysitter",
    "secretary",
)
"""Occupations whose planted share of women lies outside .25-.75."""

PROFESSIONS = (
    "chef",
    "doctor",
    "firefighter",
    "journalist",
    "lawyer",
    "mechanic",
    "nurse",
    "teacher",
)
"""Professions of BiasMap."""

FOUR = "gender,age,clothing,environment"


def seconds(work: Callable[[], object]) -> float:
    """Return the time of a call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def policy_seconds(seed: int = 0) -> float:
    """Return the time to choose a policy over prompts of up to two statements.

    There is a goal for each of eight axes and for each pair of axes.
    """
    rng = np.random.default_rng(seed)
    number = len(cells(SIZES, 2))
    goals = [Goal(rng.dirichlet(np.ones(k), number), np.full(k, 1 / k)) for k in SIZES]
    for k, m in combinations(SIZES, 2):
        shares = rng.dirichlet(np.ones(k * m), number)
        goals.append(Goal(shares, np.full(k * m, 1 / (k * m))))
    return seconds(lambda: plan_policy(goals, costs=np.full(number, 0.002), max_prompts=12))


def costs(options: argparse.Namespace) -> None:
    """Print the time and the cost of each technique."""
    pictures = options.pictures or 12
    bare = registry.model("studio")
    assert isinstance(bare, Model)
    requests = [Request("a photo of a nurse", 100 + k, k) for k in range(pictures)]
    techniques = {
        name: mitigation.parse_mitigation({"method": name, **settings}, name)
        for name, settings in TECHNIQUE_SETTINGS.items()
    }
    models: dict[str, Model] = {"bare": bare}
    for name, technique in techniques.items():
        models[name] = technique.wrap(bare)
    bare.generate(requests[:1])  # loads the network
    times: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(options.rounds):
        for name, model in models.items():
            times[name].append(seconds(partial(model.generate, requests)))
    fastest = {name: min(rounds) for name, rounds in times.items()}
    for name, least in fastest.items():
        evaluations = techniques[name].cost if name in techniques else 1.0
        ratio = least / fastest["bare"]
        per_image = f"{least / pictures:6.3f} s per image, ratio {ratio:4.2f}"
        print(f"{name:16} {per_image}, network evaluations {evaluations:3.1f}")
    prompts = len(cells(SIZES, 2))
    print(f"{'policy':16} {policy_seconds():6.2f} s for {prompts} prompts and 28 pairs of axes")


def occupations(options: argparse.Namespace) -> None:
    """Print the gender of occupations by technique.

    The tables contain shares of women, the deviation from uniform shares, the share of images that
    follow the technique, and the share that show the occupation.
    """
    names: Sequence[str] = OCCUPATIONS
    suffix = []
    if options.every:
        names = list(OCCUPATIONS_OF_THE_WORLD)[:: options.every]
        suffix = [str(options.every)]
    techniques = tuple((options.techniques or "prompts,fair-diffusion,iti-gen").split(","))
    plan = plan_mitigation(
        [f"a photo of {article(name)} {name}" for name in names],
        axes=["gender"],
        model="studio",
        techniques=techniques,
        eval_images=options.pictures or 48,
    )
    folder = options.folder / "-".join(("occupations", *plan.techniques, *suffix))
    findings = METHOD.run(plan, run=folder).findings
    if "iti-gen" in findings.mitigations:
        (options.folder / "iti-gen.toml").write_text(findings.mitigations["iti-gen"])
    _print_shares_of_women(plan, findings, names)
    _print_effects(plan, findings)


def _print_shares_of_women(
    plan: MitigationPlan, findings: MitigationFindings, names: Sequence[str]
) -> None:
    print(table_row("share of women", *names, "near half"))
    print(table_row("---", *["---:"] * (len(names) + 1)))
    for name in ("initial", *(f"mitigation: {technique}" for technique in plan.techniques)):
        women = {}
        for entry in findings.shares:
            if (entry.axis, entry.set) == ("gender", name):
                women[entry.prompt] = mark(entry.shares["female"])
        shares = [women[prompt.text] for prompt in plan.prompts]
        near = sum(0.4 <= share <= 0.6 for share in shares)
        cells_of_row = [f"{share:.2f}" for share in shares]
        print(table_row(name, *cells_of_row, f"{near} of {len(shares)}"))


def _print_effects(plan: MitigationPlan, findings: MitigationFindings) -> None:
    columns = ("technique", "distance before", "after", "after minus before", "remaining")
    subject = ("shows the occupation, before", "after minus before", "minimum")
    print("\n" + table_row(*columns, "followed", *subject))
    print(table_row("---", "---:", "---:", "---", "---:", "---", "---:", "---", "---:"))
    for technique in plan.techniques:
        print(table_row(technique, *_effect_cells(findings, technique)))


def _effect_cells(findings: MitigationFindings, technique: str) -> list[str]:
    """Return the effects of a technique, over all prompts."""
    entries = [entry for entry in findings.techniques if entry.technique == technique]
    gender = [axis for entry in entries for axis in entry.axes if axis.is_target]
    before = np.array([mark(axis.before) for axis in gender])
    after = np.array([mark(axis.after) for axis in gender])
    subject_before = np.array([mark(entry.subject_before) for entry in entries])
    subject_change = np.array([mark(entry.subject) for entry in entries])
    return [
        f"{before.mean():.3f}",
        f"{after.mean():.3f}",
        mean_cell(after - before),
        f"{after.mean() / before.mean():.2f}",
        mean_cell([mark(axis.followed) for axis in gender]),
        f"{subject_before.mean():.3f}",
        mean_cell(subject_change),
        f"{(subject_before + subject_change).min():.2f}",
    ]


@dataclass(frozen=True, slots=True)
class PolicyOutcome:
    """Exact effects of a policy in the planted world.

    Attributes
    ----------
    remaining, predicted
        Mean deviation of the target axes, and the mean of its predictions.
    worsening
        Largest increase of the deviation of a monitored axis.
    rises
        Largest increases of Cramér's V: of two target axes, of any two axes, and of any two axes
        beyond the effect of their new shares: (3,).
    """

    remaining: float
    predicted: float
    worsening: float
    rises: Floats


def policies(options: argparse.Namespace) -> None:
    """Print remaining deviations, worsening of monitored axes, and rises of associations."""
    target_axes = options.axes.split(",")
    outcomes = []
    for occupation in list(OCCUPATIONS_OF_THE_WORLD)[:: options.every or 12]:
        plan = plan_mitigation(
            [f"a photo of {article(occupation)} {occupation}"],
            axes=target_axes,
            model="studio/planted",
            max_stated=options.max_stated,
        )
        for seed in range(options.rounds):
            outcomes.append(_policy_outcome(plan, options.pictures or 48, seed))
    remaining = np.mean([outcome.remaining for outcome in outcomes])
    predicted = np.mean([outcome.predicted for outcome in outcomes])
    worse = np.mean([outcome.worsening > 0.05 for outcome in outcomes])
    print(
        f"{len(outcomes)} policies; remaining distance {remaining:.4f}, "
        f"predicted {predicted:.4f}; a monitored axis worse by > .05: {worse:.3f}"
    )
    names = ("two target axes", "any two axes", "any two axes, at the new shares")
    rises = np.array([outcome.rises for outcome in outcomes])
    for name, rise in zip(names, rises.T, strict=True):
        often = np.mean(rise > 0.2)
        print(f"V of {name} rises by at most {rise.mean():.3f}, by > .2 in {often:.3f}")


def _policy_outcome(plan: MitigationPlan, images: int, seed: int) -> PolicyOutcome:
    """Choose a policy from sampled scenes, and return its exact effects."""
    prompt = plan.prompts[0]
    sets = [_sampled(text, images, 2 * seed) for text in prompt.prompts()]
    tables = PolicyTables.of(prompt, plan.target_axes, sets, "studio", {})
    refine = partial(_refined_samples, images=plan.refine, seed=2 * seed + 1)
    solved = choose(plan, tables, refine)
    parts = solved.policy.parts
    before = conditional(parse(prompt.text), 1.0)
    each = np.array([conditional(parse(part.text), 1.0) for part in parts])
    after = np.tensordot([part.weight for part in parts], each, axes=1)
    deviations_after = _deviations(after)
    deviations_before = _deviations(before)
    is_target = np.isin(BIASCONNECT, plan.target_axes)
    return PolicyOutcome(
        remaining=float(deviations_after[is_target].mean()),
        predicted=float(np.mean([solved.predicted[axis].mark for axis in plan.target_axes])),
        worsening=float((deviations_after - deviations_before)[~is_target].max()),
        rises=_largest_rises(before, after, plan.target_axes),
    )


def _deviations(table: Floats) -> Floats:
    """Return the deviation of each axis from uniform shares: (axes,)."""
    marginals = [_shares(table, name) for name in BIASCONNECT]
    return np.array([float(deviation(shares, k)) for k, shares in enumerate(marginals)])


def _largest_rises(before: Floats, after: Floats, target_axes: Sequence[str]) -> Floats:
    """Return the largest rises of Cramér's V, as in `PolicyOutcome.rises`."""
    rises = []
    for pair in combinations(BIASCONNECT, 2):
        shares_before = _shares(before, *pair)
        shares_after = _shares(after, *pair)
        v_before = float(cramers_v(shares_before))
        v_after = float(cramers_v(shares_after))
        v_raked = float(cramers_v(raked(shares_before, shares_after)))
        rise = v_after - v_before
        rise_of_targets = rise if set(pair) <= set(target_axes) else 0.0
        rises.append((rise_of_targets, rise, v_after - v_raked))
    return np.asarray(np.max(rises, axis=0))


def _refined_samples(texts: Sequence[str], images: int, seed: int) -> list[ObservedSet]:
    return [_sampled(Prompt(text), images, seed) for text in texts]


def _sampled(prompt: Prompt, number: int, seed: int) -> ObservedSet:
    """Sample scenes of a prompt, labeled without errors."""
    content = parse(prompt.text)
    seeds = [derived_seed(seed, prompt.text, str(k)) for k in range(number)]
    scenes = [sample(content, 1.0, scene_seed) for scene_seed in seeds]
    values = {}
    for name in BIASCONNECT:
        values[name] = tuple(str(getattr(scene, name)) for scene in scenes)
    blank = (Missing("not_asked"),) * number
    return ObservedSet(prompt, blank, {"studio": values}, blank)


def _shares(table: Floats, *axes: str) -> Floats:
    """Return shares of the values of an axis, or of two axes in their order, in a joint table."""
    names = list(ATTRIBUTES)
    others = tuple(k for k, name in enumerate(names) if name not in axes)
    joint = table.sum(axis=others)
    if len(axes) == 2 and names.index(axes[0]) > names.index(axes[1]):
        joint = joint.T
    return np.asarray(joint)


def association(options: argparse.Namespace) -> None:
    """Print CAS and MAD of perceived gender before and after ITI-GEN, means over occupations."""
    plan = plan_mitigation(
        [f"a photo of {article(name)} {name}" for name in OCCUPATIONS],
        axes=["gender"],
        model="studio",
        techniques=("iti-gen",),
        eval_images=options.pictures or 48,
    )
    with opened_run(plan, options.folder / "association", options.folder / ".askew") as live:
        judged = gather(plan, live).judged
        model = registry.model("studio")
        reader = SurveyReader(live, instruments_of(plan, model), person=True)
        planned = observed_sets(plan, model, reader)
    scores = []
    for prompt in plan.prompts:
        axes = [axis.axis() for axis in prompt.axes]
        for entry in judged[prompt.text]:
            baseline = replace(entry.observed, prompt=Prompt(prompt.text))
            scoring = Scoring(plan.vqa[0], plan.seed)
            gender = tibet(baseline, planned[prompt.text][1:], axes, scoring).axes["gender"]
            male, female = (mark(gender.cas[value]) for value in UNIFORM_GENDER["gender"])
            scores.append((mark(gender.mad), abs(male - female)))
    before, after = np.array(scores).reshape(len(plan.prompts), 2, 2).transpose(1, 0, 2)
    print(table_row("score", "before", "after", "after minus before"))
    print(table_row("---", "---:", "---:", "---"))
    for k, name in enumerate(("MAD", "CAS of a value minus CAS of the other value")):
        means = (f"{before[:, k].mean():.3f}", f"{after[:, k].mean():.3f}")
        print(table_row(name, *means, mean_cell(after[:, k] - before[:, k])))


def maps(options: argparse.Namespace) -> None:
    """Print risk difference and overlap of each technique.

    Differences are from the plain model, on the same seeds.
    """
    plain_run = options.folder / "maps"
    map_options = {
        "concept": "gender",
        "profession": PROFESSIONS,
        "model": "studio",
        "images": options.pictures or 24,
        "store": options.folder / ".askew",
    }
    plain = askew.map(**map_options, run=plain_run).findings.biasmap.overall[0]
    columns = ["technique"]
    for score in ("risk difference", "mIoU", "mBIoU", "middle block"):
        columns += [score, "minus plain"]
    print(table_row(*columns))
    print(table_row("---", *["---:", "---"] * 4))
    _print_overlaps("plain", plain, None)
    for technique in (options.techniques or "fair-diffusion,entanglement").split(","):
        result = askew.map(
            **map_options,
            mitigation=_technique_file(options.folder, technique),
            baseline_run=plain_run,
            run=options.folder / f"maps-{technique}",
        )
        bias_map = result.findings.biasmap
        _print_overlaps(technique, bias_map.overall[0], bias_map.changes[0])


def _technique_file(folder: Path, technique: str) -> Path:
    """Return the file of a technique's settings, and write it if it is missing."""
    file = folder / f"{technique}.toml"
    if not file.exists():
        settings: dict[str, object] = {"method": technique, "targets": UNIFORM_GENDER}
        if technique == "prompts":
            settings["policies"] = [_alternation(name) for name in PROFESSIONS]
        file.write_text(mitigation.parse_mitigation(settings, technique).to_toml())
    return file


def _alternation(profession: str) -> dict[str, object]:
    """Return a policy that alternates the two genders of a profession."""
    text = profession_prompt(profession)
    parts = []
    for value in UNIFORM_GENDER["gender"]:
        stated = counterfactual(text, "gender", value)
        parts.append({"text": stated, "weight": 0.5, "says": {"gender": value}})
    return {"prompt": text, "parts": parts}


def _print_overlaps(name: str, overall: Any, change: Any) -> None:
    """Print a row with the overlaps of a model."""
    row = []
    for score in ("risk_difference", "miou", "mbiou", "mid"):
        difference = _overlap_score(change, score)
        row.append(f"{mark(_overlap_score(overall, score)):.3f}")
        if difference:
            ends = f"[{difference.low:+.3f}, {difference.high:+.3f}]"
            row.append(f"{difference.value:+.3f} {ends}")
        else:
            row.append("")
    print(table_row(name, *row), flush=True)


def _overlap_score(overlaps: Any, score: str) -> Any:
    """Return a score of a model's overlaps; None where there are no overlaps."""
    if not overlaps:
        return None
    return overlaps.blocks["mid"] if score == "mid" else getattr(overlaps, score)


AXIS_PAIRS = list(permutations(range(len(SIZES)), 2))


def side_effects(options: argparse.Namespace) -> None:
    """Print how well sensitivities predict the effects of making an axis uniform.

    The effects of no mitigation are printed for comparison.
    """
    rng = np.random.default_rng(options.seed)
    n = options.pictures or 48
    rows: dict[str, list[tuple[float, float]]] = {}
    for occupation in OCCUPATIONS_OF_THE_WORLD:
        for name, agreement in _side_effects_of(world(occupation, 1.0), n, rng).items():
            rows.setdefault(name, []).append(agreement)
    print(table_row("measured", "correlation with the prediction", "share made worse"))
    print(table_row("---", "---", "---"))
    for name, row in rows.items():
        print(table_row(name, *map(mean_cell, np.array(row).T)))


def _side_effects_of(
    planted: World, n: int, rng: np.random.Generator
) -> dict[str, tuple[float, float]]:
    """Return correlation with the prediction and share made worse, by kind of measurement."""
    first = [rng.multinomial(n, shares) for shares in planted.initial]
    held_out = [rng.multinomial(n, shares) for shares in planted.initial]
    predicted = _predicted_effects(planted, first, n, rng)
    agreements = {}
    for mitigated in (True, False):
        effect = "uniform" if mitigated else "no mitigation"
        after = []
        for a, b in AXIS_PAIRS:
            shares = planted.after[a][b].mean(axis=0) if mitigated else planted.initial[b]
            after.append(rng.multinomial(n, shares))
        for label, before in (
            ("separate baseline images", held_out),
            ("baseline images of the prediction", first),
        ):
            measured = []
            for (_, b), counts in zip(AXIS_PAIRS, after, strict=True):
                measured.append(deviation(before[b], b) - float(deviation(counts, b)))
            agreements[f"{effect}, {label}"] = _agreement(predicted, measured, 0.0)
    exact = [planted.truth(a, b) for a, b in AXIS_PAIRS]
    agreements["the exact change"] = _agreement(predicted, exact, 1e-9)
    return agreements


def _predicted_effects(
    planted: World, first: Sequence[Any], n: int, rng: np.random.Generator
) -> list[Any]:
    """Return sensitivities of all pairs of axes, from n counterfactual images of each value."""
    drawn = [rng.multinomial(n, planted.after[a][b]) for a, b in AXIS_PAIRS]
    resampled = []
    for table in drawn:
        resampled.append(rng.multivariate_hypergeometric(table.sum(axis=0), n, 50))
    predicted = []
    for (_, b), few in zip(AXIS_PAIRS, resampled, strict=True):
        predicted.append(deviation(first[b], b) - deviation(few, b).mean())
    return predicted


def _agreement(
    predicted: Sequence[Any], measured: Sequence[Any], tolerance: float
) -> tuple[float, float]:
    """Return the correlation, and the share of effects that bring an axis further from uniform."""
    correlation = float(np.corrcoef(predicted, measured)[0, 1])
    return correlation, float(np.mean(np.array(measured) < -tolerance))


def variety(options: argparse.Namespace) -> None:
    """Print Eq. 1 and the skew of perceived gender of random prompts.

    Differences are from the plain model, with CADS and with other guidance scales.
    """
    plan = MinePlan(
        model="studio",
        objective="eq1",
        topic="people",
        images=options.pictures or 15,
        seed=options.seed,
    )
    with opened_run(plan, options.folder / "variety", options.folder / ".askew") as live:
        miner = Miner.prepare(plan, live)
        texts = miner.writer.write(
            "random prompts", "", options.prompts, seed=plan.seed, topic="people"
        )
        cads = mitigation.parse_mitigation({"method": "cads"}, "CADS")
        models: dict[str, Any] = {"plain": miner.model, "CADS": cads.wrap(miner.model)}
        for scale in SCALES:
            models[f"guidance {scale:g}"] = registry.model("studio", guidance_scale=scale)
        scores = {
            name: _variety_scores(replace(miner, model=model), live, texts)
            for name, model in models.items()
        }
    minus = "minus the plain model's"
    print(table_row("model", "Eq. 1", minus, "skew of gender", minus))
    print(table_row("---", "---:", "---", "---:", "---"))
    for name, values in scores.items():
        row = []
        for column, plain in zip(values.T, scores["plain"].T, strict=True):
            row += [f"{np.nanmean(column):.4f}", mean_cell(column - plain)]
        print(table_row(name, *row))


def _variety_scores(miner: Miner, live: LiveRun, texts: Sequence[str]) -> Floats:
    """Return Eq. 1 and the skew of perceived gender of each prompt: (prompts, 2)."""
    plan = miner.plan
    live.pictures(miner.model, texts, plan.images, plan.seed)
    skew = SkewObjective(
        run=live,
        reader=registry.vqa("studio"),
        pictures=miner.pictures,
        axes=(find_axis("gender"),),
        images=plan.images,
        eval_images=0,
    )
    scores = []
    for text in texts:
        eq1 = _loss(miner.objective, text, plan.seed)
        scores.append((eq1, -_loss(skew, text, plan.seed)))
    return np.array(scores)


def _loss(objective: Objective, text: str, seed: int) -> float:
    """Return the loss of a prompt; NaN where it is missing."""
    reading = objective.read(text, seed)
    loss = reading if isinstance(reading, Missing) else reading.loss()
    return np.nan if isinstance(loss, Missing) else loss


STUDIES = {
    "association": association,
    "costs": costs,
    "occupations": occupations,
    "policies": policies,
    "maps": maps,
    "side-effects": side_effects,
    "strategies": strategies,
    "variety": variety,
}


def main() -> None:
    """Run a study from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", choices=STUDIES, nargs="?", default="costs")
    parser.add_argument("--pictures", type=int)
    parser.add_argument("--techniques")
    parser.add_argument("--axes", default=FOUR)
    parser.add_argument("--max-stated", type=int, default=2)
    parser.add_argument("--every", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--prompts", type=int, default=45)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path("runs/mitigation"))
    options = parser.parse_args()
    STUDIES[options.study](options)


if __name__ == "__main__":
    main()
