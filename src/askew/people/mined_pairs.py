"""Pairs of a mined and a random prompt from the same search, as in MineTheGap's user study."""

from collections.abc import Iterator, Sequence

import numpy as np

from askew import mitigations
from askew.errors import UsageError
from askew.methods.mine.findings import MineFindings, loss_of, ranked
from askew.methods.mine.plan import SKEW, MinePlan
from askew.models.base import Model
from askew.people.image_sets import IMAGES_PER_SET, ImageSet, Pair
from askew.people.sources import SourceRun
from askew.run.count import counted_run
from askew.types import Picture

PAIRS_PER_RUN = 10
"""Default number of pairs per run, as in the paper."""

LEAST_IMAGES = 2


def mined_pairs(
    source: SourceRun, number: int, rng: np.random.Generator, count: int = PAIRS_PER_RUN
) -> list[Pair]:
    """Return pairs of image sets. Each pair compares one of the best prompts with a random prompt.

    The images for the best prompts are generated with held-out seeds. A random prompt is a prompt
    that the prompt generator wrote from scratch, not by changing an earlier prompt. Random prompts
    were not selected by their scores.

    Parameters
    ----------
    source
        A finished run of `askew mine`.
    number
        Position of the run in the study.
    rng
        Random generator used to choose the random prompts.
    count
        Maximum number of pairs.

    Raises
    ------
    UsageError
        If the run has no prompts that can be compared.
    """
    mined = list(_mined_sets(source, number))[:count]
    scores = _random_scores(source.result.findings)
    mined_texts = {each.prompt for each in mined}
    texts = [text for text in scores if text not in mined_texts]
    chosen = [texts[place] for place in sorted(rng.permutation(len(texts))[:count].tolist())]
    random = _random_sets(source, number, {text: scores[text] for text in chosen})
    if not mined or not random:
        raise UsageError(
            f"{source.result.folder} needs stored images of both mined and random prompts. "
            "Name a finished run of askew mine whose store still contains its images"
        )
    return list(zip(mined, random, strict=False))


def _mined_sets(source: SourceRun, number: int) -> Iterator[ImageSet]:
    """Yield a set of held-out images for each of the best prompts from a search."""
    findings: MineFindings = source.result.findings
    is_skew = source.result.plan.objective == SKEW
    images = {each.prompt: each.pictures for each in findings.sets if each.axis is None}
    for best in ranked(findings.minethegap.best, is_skew):
        loss = loss_of(best.held_out_score, is_skew)
        names = [name for name in images.get(best.prompt, ()) if name is not None]
        if len(names) >= LEAST_IMAGES and np.isfinite(loss):
            yield _image_set(source, number, best.prompt, names, loss, is_mined=True)


def _random_scores(findings: MineFindings) -> dict[str, float]:
    """Return the loss of each random prompt in a search, across all iterations."""
    scores = {}
    for iteration in findings.minethegap.history:
        for prompt in iteration.prompts:
            if prompt.origin == "random" and prompt.score is not None:
                scores[prompt.prompt] = prompt.score
    return scores


def _random_sets(source: SourceRun, number: int, scores: dict[str, float]) -> list[ImageSet]:
    """Return an image set for each random prompt that has stored images."""
    result = source.result
    plan: MinePlan = result.plan
    model = mitigations.open_model(plan.model, plan.model_args)
    assert isinstance(model, Model)  # checked by the search
    with counted_run(plan, result.folder, result.store) as run:
        pictures = run.pictures(model, list(scores), plan.images, plan.seed)
    sets = []
    for prompt, images in pictures.items():
        stored = [each.id for each in images if isinstance(each, Picture) and each.path]
        if len(stored) >= LEAST_IMAGES:
            loss = scores[prompt]
            sets.append(_image_set(source, number, prompt, stored, loss, is_mined=False))
    return sets


def _image_set(
    source: SourceRun,
    number: int,
    prompt: str,
    images: Sequence[str],
    loss: float,
    *,
    is_mined: bool,
) -> ImageSet:
    """Return an image set with the negated loss as its score. A larger score means more bias."""
    return ImageSet(
        name=f"{prompt} ({source.result.folder.name})",
        prompt=prompt,
        source=number,
        images=tuple(dict.fromkeys(images))[:IMAGES_PER_SET],
        score=-loss,
        is_mined=is_mined,
    )
