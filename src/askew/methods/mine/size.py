"""Compute the size of a search: upper bounds on the numbers of images, questions and calls."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from askew.methods.mine.plan import EQ1_CORRECTED, NO_VQA, SKEW, MinePlan
from askew.models.base import Model
from askew.prompts.axes import catalogue, find_axis
from askew.run.work import SLICE, Work
from askew.stats.looks import looks


@dataclass(frozen=True, slots=True)
class _PictureSets:
    """Image sets that all have the same number of images."""

    sets: int
    images: int

    @property
    def pictures(self) -> int:
        """Total number of images in all sets."""
        return self.sets * self.images

    def calls(self, batch: int) -> int:
        """Return the number of batches if no batch contains images from two sets."""
        return self.sets * _batches(self.images, batch)


def search_work(plan: MinePlan, model: Model) -> Work:
    """Return an upper bound on the work of a search.

    The actual work can be smaller, because images of a prompt that occurs in several searches are
    generated only once.

    Parameters
    ----------
    plan
        The plan.
    model
        Model, which determines the batch size.
    """
    searched = _searched(plan)
    held_out = _held_out(plan)
    kinds = [searched, *held_out, _varied(plan)]
    pictures = sum(kind.pictures for kind in kinds)
    sliced_calls = sum(kind.calls(SLICE) for kind in kinds)
    labeled = searched.pictures + sum(kind.pictures for kind in held_out)
    questions = 0
    vqa_calls = 0
    embedded = pictures if plan.is_eq1 else 0
    if plan.is_eq1:
        questions, vqa_calls = _work_on_details(plan)
    elif plan.objective == SKEW and plan.vqa == NO_VQA:
        embedded = labeled
    elif plan.objective == SKEW:
        questions = questions_on_axes(plan.axes, labeled)
        vqa_calls = sliced_calls
    return Work(
        prompts=searched.sets,
        pictures=pictures,
        model_calls=sum(kind.calls(model.batch_size) for kind in kinds),
        questions=questions,
        questions_left=questions,
        vqa_calls=vqa_calls,
        embeddings=embedded,
        embeddings_left=embedded,
        embedder_calls=sliced_calls if embedded else 0,
    )


def questions_on_axes(axes: Sequence[str], pictures: int) -> int:
    """Return the number of questions about persons (one per image) and about the axes."""
    return pictures * (1 + sum(len(find_axis(name).questions) for name in axes))


def search_rounds(plan: MinePlan) -> int:
    """Return an upper bound on the number of rounds of jobs that a search needs.

    The images in an iteration depend on the scores of earlier iterations. Held-out images depend on
    the selected prompts. Images of variations depend on the labels of held-out images.
    """
    per_population = 1
    held_out = 1
    details = 0
    if plan.objective == SKEW:
        # prompts with the same axes are labeled at once
        held_out = min(plan.top, len(plan.axes) + 1)
    elif plan.is_eq1:
        per_population = 2 if plan.objective == EQ1_CORRECTED else 1
        held_out = 2
        details = len(catalogue())
    searches = 2 if plan.random_search else 1
    rounds_per_search = plan.iterations * per_population + held_out
    rounds = plan.runs * (searches * rounds_per_search + details) + 1
    if plan.until:
        rounds += min(plan.winners, len(plan.axes) + 1) * (len(looks(plan.eval_images)) - 1)
    return rounds


def _searched(plan: MinePlan) -> _PictureSets:
    """Return the number and size of the image sets from which the searches select prompts."""
    mutated = (plan.iterations - 1) * plan.selected * plan.mutations
    prompts_per_run = plan.iterations * plan.population
    if plan.random_search:
        prompts_per_run += mutated
    return _PictureSets(plan.runs * prompts_per_run, plan.images)


def _held_out(plan: MinePlan) -> list[_PictureSets]:
    """Return the number and size of the sets of held-out images that each look adds."""
    if plan.objective != SKEW:
        return [_PictureSets(_best(plan), plan.images)]
    sizes = [_PictureSets(_best(plan), plan.first_eval_images)]
    if plan.until:
        for before, size in pairwise(looks(plan.eval_images)):
            sizes.append(_PictureSets(plan.winners, size - before))
    return sizes


def _varied(plan: MinePlan) -> _PictureSets:
    """Return the number and size of the image sets of variations."""
    if plan.objective == SKEW:
        values = max(len(find_axis(name).values) for name in plan.axes)
        return _PictureSets(plan.winners, values)
    if plan.objective == EQ1_CORRECTED:
        return _PictureSets(_searched(plan).sets, plan.variations)
    return _PictureSets(_best(plan) if plan.is_eq1 else 0, plan.variations)


def _best(plan: MinePlan) -> int:
    """Return the number of best prompts from all searches, including random searches."""
    return plan.winners * (2 if plan.random_search else 1)


def _work_on_details(plan: MinePlan) -> tuple[int, int]:
    """Return the numbers of questions and calls needed to label the details of all variations."""
    axes = [entry.axis for entry in catalogue().values()]
    questions_per_image = sum(1 + len(axis.questions) for axis in axes)
    questions = plan.winners * (plan.images + plan.variations) * questions_per_image
    batches = _batches(plan.images, SLICE) + _batches(plan.variations, SLICE)
    return questions, plan.winners * len(axes) * batches


def _batches(count: int, size: int) -> int:
    return -(-count // size)
