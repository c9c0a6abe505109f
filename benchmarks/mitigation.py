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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import askew
from askew import registry
from askew.methods.audit.tibet import tibet
from askew.methods.map.plan import profession_prompt
from askew.methods.mine.gather import Miner
from askew.methods.mine.objectives import Objective
from askew.methods.mine.plan import MinePlan
from askew.methods.mine.skew import SkewObjective
from askew.methods.mitigate import METHOD
from askew.methods.mitigate.gather import gather
from askew.methods.mitigate.plan import plan_mitigation
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
from askew.run.live import opened_run
from askew.stats.contingency import cramers_v, raked
from askew.stats.distance import distance_named
from askew.stats.intervals import Floats
from askew.stats.means import student_mean
from askew.stats.policy import Cell, Goal, cells, composed, plan_policy
from askew.store.keys import derived_seed
from askew.studio.caption import CaptionContent, parse
from askew.studio.planted import NAMES, conditional, sample
from askew.studio.scene import ATTRIBUTES
from askew.studio.scene import OCCUPATIONS as OCCUPATIONS_OF_THE_WORLD
from askew.types import Estimate, Missing, Prompt
from benchmarks.planted_interactions import DISTANCES, SIZES, world

EVEN = {"gender": {"male": 0.5, "female": 0.5}}
WAYS: dict[str, dict[str, object]] = {
    "fair-diffusion": {"targets": EVEN},
    "cads": {},
    "entanglement": {"targets": EVEN},
    "guidance": {"scale": 2.0},
    "negative-prompt": {"words": "a female person"},
}
ENOUGH = 0.1
"""The mean distance at which a greedy strategy stops."""
SCALES = (1.0, 2.0, 4.0)
"""Of guidance, beside the studio's own 1.4."""


def seconds(work: Callable[[], object]) -> float:
    """The time that one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def policy_seconds(seed: int = 0) -> float:
    """The time to weigh all prompts of up to two statements, with goals for axes and pairs."""
    rng = np.random.default_rng(seed)
    number = len(cells(SIZES, 2))
    goals = [Goal(rng.dirichlet(np.ones(k), number), np.full(k, 1 / k)) for k in SIZES]
    goals += [
        Goal(rng.dirichlet(np.ones(k * m), number), np.full(k * m, 1 / (k * m)), weight=0.15)
        for k, m in combinations(SIZES, 2)
    ]
    return seconds(lambda: plan_policy(goals, costs=np.full(number, 0.002), max_prompts=12))


def costs(given: argparse.Namespace) -> None:
    """Print a line per way."""
    pictures = given.pictures or 12
    bare = registry.model("studio")
    assert isinstance(bare, Model)
    requests = [Request("a photo of a nurse", 100 + k, k) for k in range(pictures)]
    techniques = {
        name: mitigation.parse_mitigation({"method": name, **settings}, name)
        for name, settings in WAYS.items()
    }
    models: dict[str, Model] = {
        "bare": bare,
        **{name: technique.wrap(bare) for name, technique in techniques.items()},
    }
    taken: dict[str, list[float]] = {name: [] for name in models}
    bare.generate(requests[:1])  # loads the network
    for _ in range(given.rounds):
        for name, model in models.items():
            taken[name].append(seconds(lambda model=model: model.generate(requests)))  # type: ignore[misc]
    base = min(taken["bare"])
    for name, times in taken.items():
        evaluations = techniques[name].cost if name in techniques else 1.0
        per = min(times) / pictures
        ratio = min(times) / base
        print(
            f"{name:16} {per:6.3f} s a picture, ratio {ratio:4.2f}, network evaluations {evaluations:3.1f}"
        )
    print(
        f"{'policy':16} {policy_seconds():6.2f} s for {len(cells(SIZES, 2))} prompts and 28 pairs of axes"
    )


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


def occupations(given: argparse.Namespace) -> None:
    """Gender of the occupations by every way: shares of women, distance from equal ones, obedience,
    the subject.
    """
    names = list(OCCUPATIONS_OF_THE_WORLD)[:: given.every] if given.every else OCCUPATIONS
    texts = [f"a photo of {article(name)} {name}" for name in names]
    techniques = tuple((given.techniques or "prompts,fair-diffusion,iti-gen").split(","))
    plan = plan_mitigation(
        texts,
        axes=["gender"],
        model="studio",
        techniques=techniques,
        eval_images=given.pictures or 48,
    )
    findings = METHOD.run(
        plan,
        run=given.folder
        / "-".join(("occupations", *plan.techniques, *map(str, filter(None, [given.every])))),
    ).findings
    if "iti-gen" in findings.mitigations:
        (given.folder / "iti-gen.toml").write_text(findings.mitigations["iti-gen"])
    print(
        f"| share of women | {' | '.join(names)} | near half |\n| --- |{' ---: |' * len(names)} ---: |"
    )
    for name in ("initial", *(f"mitigation: {technique}" for technique in plan.techniques)):
        women = {
            share.prompt: share.shares["female"]
            for share in findings.shares
            if (share.axis, share.set) == ("gender", name)
        }
        shares = [_mark(women[text]) for text in texts]
        near = sum(0.4 <= share <= 0.6 for share in shares)
        print(
            f"| {name} | {' | '.join(f'{share:.2f}' for share in shares)} | {near} of {len(shares)} |"
        )
    print(
        "\n| technique | distance before | after | after minus before | remaining | followed | "
        "shows the occupation, before | after minus before | minimum |"
    )
    print("| --- | ---: | ---: | --- | ---: | --- | ---: | --- | ---: |")
    for technique in plan.techniques:
        entries = [entry for entry in findings.techniques if entry.technique == technique]
        gender = [axis for entry in entries for axis in entry.axes if axis.is_target]
        before, after = (
            np.array([_mark(getattr(axis, when)) for axis in gender])
            for when in ("before", "after")
        )
        remaining, change = (
            np.array([_mark(getattr(entry, name)) for entry in entries])
            for name in ("subject_before", "subject")
        )
        lines = (
            f"{before.mean():.3f}",
            f"{after.mean():.3f}",
            _mean(after - before),
            f"{after.mean() / before.mean():.2f}",
            _mean([_mark(axis.followed) for axis in gender]),
            f"{remaining.mean():.3f}",
            _mean(change),
            f"{(remaining + change).min():.2f}",
        )
        print(f"| {technique} | {' | '.join(lines)} |")


FOUR = "gender,age,clothing,environment"


def policies(given: argparse.Namespace) -> None:
    """The mean distance that policies leave, how far watched axes get worse, and how much more
    pairs hang together.
    """
    target_axes = given.axes.split(",")
    rows = []
    for occupation in list(OCCUPATIONS_OF_THE_WORLD)[:: given.every or 12]:
        plan = plan_mitigation(
            [f"a photo of {article(occupation)} {occupation}"],
            axes=target_axes,
            model="studio/planted",
            max_stated=given.max_stated,
        )
        prompt = plan.prompts[0]
        for seed in range(given.rounds):
            sets = [_sampled(text, given.pictures or 48, 2 * seed) for text in prompt.prompts()]
            tables = PolicyTables.of(prompt, plan.target_axes, sets, "studio", {})
            result = choose(
                plan, tables, partial(_refined_sample, images=plan.refine, seed=2 * seed + 1)
            )
            before, *each = (
                conditional(parse(value), 1.0)
                for value in (prompt.text, *(p.text for p in result.policy.parts))
            )
            after = np.tensordot(
                [part.weight for part in result.policy.parts], np.array(each), axes=1
            )
            far = np.array(
                [
                    [float(_far(_shares(table, name), k)) for k, name in enumerate(BIASCONNECT)]
                    for table in (after, before)
                ]
            )
            is_target = np.isin(BIASCONNECT, target_axes)
            rises = []
            for pair in combinations(BIASCONNECT, 2):
                new, was = (_shares(table, *pair) for table in (after, before))
                v, carried, then = (
                    float(cramers_v(value)) for value in (new, raked(was, new), was)
                )
                rises.append(
                    (v - then if {*pair} <= {*target_axes} else 0.0, v - then, v - carried)
                )
            rows.append(
                (
                    far[0, is_target].mean(),
                    (far[0] - far[1])[~is_target].max(),
                    *np.max(rises, axis=0),
                )
            )
    left, worse, *tied = np.array(rows).T
    print(
        f"{len(rows)} policies; remaining distance {left.mean():.3f}; a monitored axis worse by > .05: {np.mean(worse > 0.05):.3f}"
    )
    for name, rise in zip(
        ("two target axes", "any two axes", "any two axes, at the new shares"), tied, strict=True
    ):
        print(
            f"V of {name} rises by at most {rise.mean():.3f}, by > .2 in {np.mean(rise > 0.2):.3f}"
        )


def _refined_sample(text: str, images: int, seed: int) -> ObservedSet:
    return _sampled(Prompt(text), images, seed)


def _sampled(prompt: Prompt, number: int, seed: int) -> ObservedSet:
    """Scenes of a prompt, read without an error."""
    scenes = [
        sample(parse(prompt.text), 1.0, derived_seed(seed, prompt.text, str(k)))
        for k in range(number)
    ]
    values = {name: tuple(str(getattr(scene, name)) for scene in scenes) for name in BIASCONNECT}
    blank = (Missing("not_asked"),) * number
    return ObservedSet(prompt, blank, {"studio": values}, blank)


def _shares(table: Floats, *axes: str) -> Floats:
    """Of the values of one axis, or of two in their order, in the joint table of a world."""
    names = list(ATTRIBUTES)
    joint = table.sum(axis=tuple(k for k, name in enumerate(names) if name not in axes))
    return np.asarray(
        joint.T if len(axes) == 2 and names.index(axes[0]) > names.index(axes[1]) else joint
    )


def association(given: argparse.Namespace) -> None:
    """CAS and MAD of perceived gender before and after ITI-GEN, means over the occupations."""
    texts = [f"a photo of {article(entry)} {entry}" for entry in OCCUPATIONS]
    plan = plan_mitigation(
        texts,
        axes=["gender"],
        model="studio",
        techniques=("iti-gen",),
        eval_images=given.pictures or 48,
    )
    with opened_run(plan, given.folder / "association", given.folder / ".askew") as live:
        result = gather(plan, live)
        model = registry.model("studio")
        reader = SurveyReader(live, instruments_of(plan, model), person=True)
        planned = observed_sets(plan, model, reader)
    scores = []
    for prompt in plan.prompts:
        axes = [axis.axis() for axis in prompt.axes]
        for entry in result.judged[prompt.text]:
            initial = replace(entry.observed, prompt=Prompt(prompt.text))
            gender = tibet(
                initial, planned[prompt.text][1:], axes, Scoring(plan.vqa[0], plan.seed)
            ).axes["gender"]
            cas = [_mark(gender.cas[value]) for value in EVEN["gender"]]
            scores.append((_mark(gender.mad), abs(cas[0] - cas[1])))
    before, after = np.array(scores).reshape(len(texts), 2, 2).transpose(1, 0, 2)
    print("| score | before | after | after minus before |\n| --- | ---: | ---: | --- |")
    for k, name in enumerate(("MAD", "CAS of a value minus CAS of the other value")):
        print(
            f"| {name} | {before[:, k].mean():.3f} | {after[:, k].mean():.3f} | {_mean(after[:, k] - before[:, k])} |"
        )


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


def maps(given: argparse.Namespace) -> None:
    """Risk difference and overlap of each way, and what they are less the plain model's on the same
    seeds.
    """
    prompt_sets = {
        "concept": "gender",
        "profession": PROFESSIONS,
        "model": "studio",
        "images": given.pictures or 24,
        "store": given.folder / ".askew",
    }
    alternation = [
        {
            "prompt": text,
            "parts": [
                {
                    "text": counterfactual(text, "gender", value),
                    "weight": 0.5,
                    "says": {"gender": value},
                }
                for value in EVEN["gender"]
            ],
        }
        for text in map(profession_prompt, PROFESSIONS)
    ]
    plain = askew.map(**prompt_sets, run=given.folder / "maps").findings.biasmap.overall[0]
    scores = ("risk difference", "mIoU", "mBIoU", "middle block")
    print(f"| technique | {' | '.join(f'{score} | minus plain' for score in scores)} |")
    print("| --- |" + " ---: | --- |" * 4)
    _overlaps("plain", plain, None)
    for technique in (given.techniques or "fair-diffusion,entanglement").split(","):
        file = given.folder / f"{technique}.toml"
        options = {"policies": alternation} if technique == "prompts" else {}
        if not file.exists():
            file.write_text(
                mitigation.parse_mitigation(
                    {"method": technique, "targets": EVEN, **options}, technique
                ).to_toml()
            )
        bias_map = askew.map(
            **prompt_sets,
            mitigation=file,
            baseline_run=given.folder / "maps",
            run=given.folder / f"maps-{technique}",
        )
        _overlaps(
            technique, bias_map.findings.biasmap.overall[0], bias_map.findings.biasmap.changes[0]
        )


def _overlaps(name: str, overall: Any, change: Any) -> None:
    """A row of one model's overlaps."""
    lines = []
    for score in ("risk_difference", "miou", "mbiou", "mid"):
        mean, less = (
            value and (value.blocks["mid"] if score == "mid" else getattr(value, score))
            for value in (overall, change)
        )
        lines += [
            f"{_mark(mean):.3f}",
            f"{less.value:+.3f} [{less.low:+.3f}, {less.high:+.3f}]" if less else "",
        ]
    print(f"| {name} | {' | '.join(lines)} |", flush=True)


def strategies(given: argparse.Namespace) -> None:
    """A row for each strategy over all occupations: how many axes are stated at once, and what is
    left of the bias.
    """
    rng = np.random.default_rng(given.seed)
    pictures = given.pictures or 48
    result: dict[str, list[tuple[float, ...]]] = {}
    for occupation in list(OCCUPATIONS_OF_THE_WORLD)[:: given.every or 1]:
        table = conditional(CaptionContent({}, occupation, True, ()), 1.0).sum(
            axis=tuple(range(len(BIASCONNECT), len(NAMES)))
        )
        statements = [((axis, value),) for axis, size in enumerate(SIZES) for value in range(size)]
        counts: dict[Cell, list[Floats]] = {
            cell: [
                rng.multinomial(pictures, margin).astype(float) for margin in margins(table, cell)
            ]
            for cell in [(), *statements]
        }
        for label, guess in (
            ("known", partial(evenly, table)),
            ("estimated", partial(predicted, counts)),
        ):
            for name in ("worst first", "considering interactions"):
                stated = greedy(guess, name == "considering interactions")
                left = [
                    float(distances(evenly(table, stated[:most])).mean())
                    for most in (len(stated), 2)
                ]
                result.setdefault(f"{name}, {label}", []).append((len(stated), *left))
        for most in (1, 2, 3):
            result.setdefault(f"linear program, {most} at once, estimated", []).append(
                program(table, counts, most)
            )
    print(
        "| strategy | axes stated | remaining | remaining after two | axes minus worst first | "
        "remaining, minus worst first | remaining after two, minus worst first |"
    )
    print("| --- | ---: | ---: | ---: | --- | --- | --- |")
    for name, rows in result.items():
        base = result[f"worst first, {name.rpartition(', ')[2]}"]
        errors = np.array(rows)
        first = np.array(base)
        less = " | ".join(
            "" if rows is base else _mean(differences) for differences in (errors - first).T
        )
        print(
            f"| {name} | {errors[:, 0].mean():.2f} | {errors[:, 1].mean():.3f} | {errors[:, 2].mean():.3f} | {less} |"
        )


def side_effects(given: argparse.Namespace) -> None:
    """Whether sensitivities foretell what evening out one axis does to the others, and what doing
    nothing gives.
    """
    rng = np.random.default_rng(given.seed)
    n = given.pictures or 48
    rows: dict[str, list[tuple[float, float]]] = {}
    for occupation in OCCUPATIONS_OF_THE_WORLD:
        planted = world(occupation, 1.0)
        pairs = [(a, b) for a in range(len(SIZES)) for b in range(len(SIZES)) if a != b]
        first, fresh = (
            [rng.multinomial(n, shares) for shares in planted.initial] for _ in range(2)
        )
        seen = {pair: rng.multinomial(n, planted.after[pair[0]][pair[1]]) for pair in pairs}
        few = {
            pair: rng.multivariate_hypergeometric(table.sum(axis=0), n, 50)
            for pair, table in seen.items()
        }
        guessed = [_far(first[b], b) - _far(few[a, b], b).mean() for a, b in pairs]
        for done in ("uniform", "no mitigation"):
            after = {
                (a, b): rng.multinomial(
                    n,
                    planted.after[a][b].mean(axis=0) if done == "uniform" else planted.initial[b],
                )
                for a, b in pairs
            }
            for label, before in (
                ("separate baseline images", fresh),
                ("baseline images of the prediction", first),
            ):
                fell = [_far(before[b], b) - float(_far(after[a, b], b)) for a, b in pairs]
                r = float(np.corrcoef(guessed, fell)[0, 1])
                rows.setdefault(f"{done}, {label}", []).append(
                    (r, float(np.mean(np.array(fell) < 0)))
                )
        exact = [planted.truth(a, b) for a, b in pairs]
        worse = float(np.mean(np.array(exact) < -1e-9))
        rows.setdefault("the exact change", []).append(
            (float(np.corrcoef(guessed, exact)[0, 1]), worse)
        )
    print("| measured | correlation with the prediction | share made worse |\n| --- | --- | --- |")
    for name, row in rows.items():
        print(f"| {name} | {' | '.join(map(_mean, np.array(row).T))} |")


def _far(counts: ArrayLike, axis: int) -> Floats:
    """Distance of counts (..., K) from equal shares."""
    return np.asarray(
        distance_named(DISTANCES[axis])(np.asarray(counts, dtype=float), np.ones(SIZES[axis]))
    )


def margins(table: Floats, cell: Cell) -> list[Floats]:
    """The shares of each axis in what a cell shows, by the exact joint table (values of all axes)."""
    at: list[Any] = [slice(None)] * table.ndim
    for axis, value in cell:
        at[axis] = slice(value, value + 1)
    shown = np.zeros_like(table)
    shown[tuple(at)] = table[tuple(at)]
    return [_margin(shown, axis) for axis in range(table.ndim)]


def evenly(table: Floats, stated: Sequence[int]) -> list[Floats]:
    """The shares of each axis where the values of the stated ones are drawn evenly, each by itself."""
    others = tuple(axis for axis in range(table.ndim) if axis not in stated)
    even = table / table.sum(axis=others, keepdims=True)
    return [_margin(even, axis) for axis in range(table.ndim)]


def _margin(table: Floats, axis: int) -> Floats:
    shares = table.sum(axis=tuple(k for k in range(table.ndim) if k != axis))
    return np.asarray(shares / shares.sum())


def predicted(counts: Mapping[Cell, list[Floats]], stated: Sequence[int]) -> list[Floats]:
    """`evenly`, from pictures of one statement each."""
    combos = [
        tuple(zip(stated, values, strict=True))
        for values in product(*(range(SIZES[axis]) for axis in stated))
    ]
    results = []
    for axis, size in enumerate(SIZES):
        single = {cell[0]: shares[axis] for cell, shares in counts.items() if cell}
        shown = [composed(cell, counts[()][axis], single) for cell in combos]
        results.append(np.full(size, 1 / size) if axis in stated else np.mean(shown, axis=0))
    return results


def distances(shares: Sequence[Floats]) -> Floats:
    """Of each axis from equal shares."""
    return np.array([float(_far(marginal, axis)) for axis, marginal in enumerate(shares)])


def greedy(guess: Callable[[Sequence[int]], list[Floats]], heeding: bool) -> tuple[int, ...]:
    """The axes to state, one a step, until the mean distance is `ENOUGH` or no step is thought to
    help.

    The next is the axis that is furthest off, or, `heeding` interactions, that after which all are
    least far off.
    """
    stated: tuple[int, ...] = ()
    while (now := distances(guess(stated))).mean() > ENOUGH and len(stated) < len(SIZES):
        left = [axis for axis in range(len(SIZES)) if axis not in stated]
        after = {axis: distances(guess((*stated, axis))).mean() for axis in left} if heeding else {}
        best = min(left, key=lambda axis: after[axis] if heeding else -now[axis])
        if heeding and after[best] >= now.mean():
            break
        stated = (*stated, best)
    return stated


def program(table: Floats, counts: Mapping[Cell, list[Floats]], most: int) -> tuple[float, ...]:
    """Of the policy over prompts of at most `most` statements their mean number, and twice the
    exact distance left.
    """
    candidates = cells(SIZES, most)
    goals = []
    for axis, size in enumerate(SIZES):
        single = {cell[0]: shares[axis] for cell, shares in counts.items() if cell}
        shares = [
            np.eye(size)[dict(cell)[axis]]
            if axis in dict(cell)
            else composed(cell, counts[()][axis], single)
            for cell in candidates
        ]
        goals.append(Goal(np.array(shares), np.full(size, 1 / size), DISTANCES[axis]))
    weights = plan_policy(goals)
    exact = [margins(table, candidates[k]) for k in np.flatnonzero(weights)]
    mixed = [weights[weights > 0] @ np.array(column) for column in zip(*exact, strict=True)]
    left = float(distances(mixed).mean())
    return float(weights @ [len(cell) for cell in candidates]), left, left


def variety(given: argparse.Namespace) -> None:
    """Eq. 1 and the lean of perceived gender of random prompts, plain less with CADS and at other
    guidance.
    """
    plan = MinePlan(
        model="studio",
        objective="eq1",
        topic="people",
        images=given.pictures or 15,
        seed=given.seed,
    )
    with opened_run(plan, given.folder / "variety", given.folder / ".askew") as live:
        miner = Miner.prepare(plan, live)
        texts = miner.writer.write(
            "random prompts", "", given.prompts, seed=plan.seed, topic="people"
        )
        models: dict[str, Any] = {
            "plain": miner.model,
            "CADS": mitigation.parse_mitigation({"method": "cads"}, "CADS").wrap(miner.model),
        }
        models |= {
            f"guidance {scale:g}": registry.model("studio", guidance_scale=scale)
            for scale in SCALES
        }
        scores: dict[str, list[tuple[float, float]]] = {}
        for name, model in models.items():
            own_miner = replace(miner, model=model)
            live.pictures(model, texts, plan.images, plan.seed)
            lean = SkewObjective(
                live,
                registry.vqa("studio"),
                own_miner.pictures,
                (find_axis("gender"),),
                plan.images,
                0,
            )
            scores[name] = [
                (_loss(own_miner.objective, text, plan.seed), -_loss(lean, text, plan.seed))
                for text in texts
            ]
    print("| model | Eq. 1 | minus the plain model's | skew of gender | minus the plain model's |")
    print("| --- | ---: | --- | ---: | --- |")
    plain = np.array(scores["plain"])
    for name, rows in scores.items():
        lines = [
            (f"{np.nanmean(column):.4f}", _mean(column - first))
            for column, first in zip(np.array(rows).T, plain.T, strict=True)
        ]
        print(f"| {name} | {' | '.join(f'{mean} | {less}' for mean, less in lines)} |")


def _loss(objective: Objective, text: str, seed: int) -> float:
    """What a prompt scores; not a number where it has no score."""
    reading = objective.read(text, seed)
    loss = reading if isinstance(reading, Missing) else reading.loss()
    return np.nan if isinstance(loss, Missing) else loss


def _mark(score: object) -> float:
    return score.mark if isinstance(score, Estimate) else np.nan


def _mean(numbers: ArrayLike) -> str:
    """The mean with Student's interval over those that are numbers."""
    known = np.asarray(numbers, dtype=float)
    if not np.isfinite(known).any():
        return ""
    e = student_mean(known[np.isfinite(known)])
    return f"{e.value:+.4f} [{e.low:+.4f}, {e.high:+.4f}]"


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
    given = parser.parse_args()
    STUDIES[given.study](given)


if __name__ == "__main__":
    main()
