"""Find the most biased of many prompts by successive halving (`askew rank --find`).

Each round compares the skew of the remaining prompts, measured on all of their images so far, and
keeps the more biased half of the prompts. The prompts that remain after the last round are measured
a second time on held-out images, because the skew of a selected prompt is large partly by chance.
With `--until decided`, each of these prompts gets more held-out images at each look (`stats.looks`)
until its bias is significant on an axis. The tests on all axes of all these prompts form one
family.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from askew.methods.mine.gather import Miner
from askew.methods.mine.plan import NO_VQA
from askew.methods.mine.size import questions_on_axes
from askew.methods.mine.skew import SkewReading
from askew.methods.mine.stopping import reading_p
from askew.models.base import Model
from askew.parts.survey.sequential import significant_places
from askew.prompts.axes import find_axis
from askew.run.base import ModelMaker
from askew.run.work import SLICE, Work, wanted_pictures
from askew.stats.halving import HalvingRound, halving_images, halving_rounds
from askew.stats.looks import looks
from askew.store.keys import held_out_seed
from askew.studies.rank.plan import RankPlan
from askew.types import Missing, record


@record
class RoundPrompt:
    """A prompt in a round, with its skew on the axis where the skew is largest.

    `skew` is None if the images cannot be labeled. `is_kept` is True if the prompt remains after
    the round.
    """

    prompt: str
    skew: float | None
    is_kept: bool


@record
class RankRound:
    """A round of successive halving.

    Attributes
    ----------
    images
        Number of images that each prompt has at the end of the round, including images from earlier
        rounds.
    prompts
        Prompts that the round compares. The prompt with the largest skew comes first.
    """

    images: int
    prompts: tuple[RoundPrompt, ...]

    @property
    def survivors(self) -> tuple[str, ...]:
        """Prompts that the round keeps."""
        return tuple(entry.prompt for entry in self.prompts if entry.is_kept)


@dataclass(frozen=True)
class FoundPrompts:
    """Prompts that successive halving found.

    Attributes
    ----------
    rounds
        All rounds.
    held_out
        Number of held-out images of each prompt that remains after the last round.
    """

    rounds: tuple[RankRound, ...] = ()
    held_out: Mapping[str, int] = field(default_factory=dict)


def plan_rounds(plan: RankPlan) -> tuple[HalvingRound, ...]:
    """Return the number of prompts and of images per prompt in each round of halving."""
    return halving_rounds(len(plan.prompts), plan.find, plan.images)


def find_prompts(plan: RankPlan, miner: Miner) -> FoundPrompts:
    """Run all rounds, and add held-out images to the remaining prompts.

    If a run is repeated, its images are already in the store.
    """
    rounds = _carry_out_rounds(plan, miner)
    remaining = rounds[-1].survivors
    held_out = dict.fromkeys(remaining, plan.eval_images)
    if plan.until:
        held_out |= _images_until_decided(plan, miner, remaining)
    return FoundPrompts(rounds=rounds, held_out=held_out)


def _carry_out_rounds(plan: RankPlan, miner: Miner) -> tuple[RankRound, ...]:
    rounds: list[RankRound] = []
    remaining: Sequence[str] = plan.prompts
    before = 0
    for entry in plan_rounds(plan):
        _add_images(miner, remaining, before, entry.images, plan.seed)
        finished = _compare(miner, remaining, entry, plan.seed)
        rounds.append(finished)
        remaining = finished.survivors
        before = entry.images
    return tuple(rounds)


def _add_images(miner: Miner, prompts: Sequence[str], before: int, images: int, seed: int) -> None:
    """Generate the images that a round adds to the images of earlier rounds."""
    needing = [prompt for prompt in prompts if miner.objective.needs_images(prompt)]
    wanted = [wanted_pictures(miner.model, [prompt], images, seed)[before:] for prompt in needing]
    miner.run.make_all(ModelMaker(miner.model), wanted)


def _compare(miner: Miner, prompts: Sequence[str], entry: HalvingRound, seed: int) -> RankRound:
    """Measure the prompts of a round, and return the round with its prompts ordered by skew."""
    of_round = with_images(miner, entry.images)
    of_round.prefetch(prompts, seed)
    losses = {prompt: _loss(of_round, prompt, seed) for prompt in prompts}
    ordered = sorted(prompts, key=lambda prompt: _last_if_missing(losses[prompt]))
    return RankRound(
        images=entry.images,
        prompts=tuple(
            RoundPrompt(prompt=prompt, skew=_skew(losses[prompt]), is_kept=place < entry.survivors)
            for place, prompt in enumerate(ordered)
        ),
    )


def with_images(miner: Miner, images: int) -> Miner:
    """Return a copy of the miner that measures this number of images per prompt."""
    return replace(miner, plan=miner.plan.model_copy(update={"images": images}))


def _loss(miner: Miner, prompt: str, seed: int) -> float | Missing:
    reading = miner.objective.read(prompt, seed)
    return reading if isinstance(reading, Missing) else reading.loss()


def _last_if_missing(loss: float | Missing) -> float:
    return float("inf") if isinstance(loss, Missing) else loss


def _skew(loss: float | Missing) -> float | None:
    return None if isinstance(loss, Missing) else -loss


def _images_until_decided(
    plan: RankPlan, miner: Miner, prompts: Sequence[str]
) -> Mapping[str, int]:
    """Add held-out images until verdicts are reached, and return their number for each prompt."""
    seed = held_out_seed(plan.seed)
    images: dict[str, int] = {}
    readings: dict[str, SkewReading] = {}
    undecided = [prompt for prompt in prompts if miner.objective.needs_images(prompt)]
    for size in looks(plan.eval_images):
        at_look = with_images(miner, size)
        at_look.prefetch(undecided, seed)
        images |= dict.fromkeys(undecided, size)
        for prompt in undecided:
            reading = at_look.objective.read(prompt, seed)
            if isinstance(reading, SkewReading):
                readings[prompt] = reading
        decided = decided_prompts(readings, plan.eval_images)
        undecided = [prompt for prompt in undecided if prompt not in decided]
        if not undecided:
            break
    return images


def decided_prompts(readings: Mapping[str, SkewReading], most: int) -> set[str]:
    """Return the prompts with significant bias on an axis, after correction for all tests.

    Parameters
    ----------
    readings
        Measurement of the held-out images so far, keyed by prompt.
    most
        Maximum number of held-out images per prompt.
    """
    p_values = {}
    for prompt, reading in readings.items():
        for axis in reading.axes:
            p_values[prompt, axis.name] = reading_p(replace(reading, axes=(axis,)), most)
    return {prompt for prompt, _ in significant_places(p_values)}


def finding_work(plan: RankPlan, model: Model) -> Work:
    """Return an upper bound for the work of all rounds and of the held-out images.

    Less work is needed if a prompt already states a value of an axis, or if its images cannot be
    generated.
    """
    rounds = plan_rounds(plan)
    values = max(len(find_axis(name).values) for name in plan.axes)
    labeled = halving_images(rounds) + plan.find * plan.eval_images
    pictures = labeled + plan.find * values
    held_out = looks(plan.eval_images) if plan.until else (plan.eval_images,)
    calls = plan.find * values
    calls += _calls([(plan.find, size) for size in held_out], model.batch_size)
    calls += _calls([(entry.prompts, entry.images) for entry in rounds], model.batch_size)
    is_embedded = plan.vqa == NO_VQA
    embedded = labeled if is_embedded else 0
    questions = 0 if is_embedded else questions_on_axes(plan.axes, labeled)
    slices = -(-labeled // SLICE)
    return Work(
        prompts=len(plan.prompts),
        pictures=pictures,
        model_calls=calls,
        embeddings=embedded,
        embeddings_left=embedded,
        embedder_calls=slices if is_embedded else 0,
        questions=questions,
        questions_left=questions,
        vqa_calls=0 if is_embedded else slices,
    )


def _calls(stages: Sequence[tuple[int, int]], batch_size: int) -> int:
    """Return the number of model calls if each stage adds images to those of earlier stages.

    Parameters
    ----------
    stages
        For each stage, the number of prompts, and the number of images per prompt after the stage.
    batch_size
        Maximum number of images per call.
    """
    calls = 0
    before = 0
    for prompts, images in stages:
        calls += prompts * math.ceil((images - before) / batch_size)
        before = images
    return calls
