"""What the pictures of a prompt leave out, and what many prompts leave out alike."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from askew.methods.mine.findings import BestPrompt, MissedTerms, PictureMap
from askew.methods.mine.gather import Shown
from askew.methods.mine.objectives import Alignment
from askew.parts.scoring import Scoring, Vectors
from askew.prompts.wording import content_words
from askew.run.base import Outcome
from askew.stats.gap import least_aligned, missed_concepts, null_scores
from askew.stats.intervals import percentile_interval
from askew.types import Picture

TERMS = 20
"""Words that are listed."""


def explained(one: BestPrompt, fresh: Alignment, shown: Shown, scoring: Scoring) -> BestPrompt:
    """With the variations that are missed, the pictures that fit none, and a map of both."""
    missed = [fresh.variations[k] for k in missed_concepts(fresh.similarity, fresh.quantile)]
    unaligned = least_aligned(fresh.similarity, fresh.quantile)
    return replace(
        one,
        missed_visual_concepts=tuple(missed),
        missed_pictures=tuple(_id(shown.variations[text]) for text in missed),
        least_aligned_pictures=tuple(fresh.pictures[k].id for k in unaligned),
        variations=fresh.variations,
        variation_pictures=tuple(_id(shown.variations[text]) for text in fresh.variations),
        null_range=_null_range(fresh, shown.chance, scoring),
        map=picture_map(fresh, shown.chance),
    )


def picture_map(fresh: Alignment, chance: Alignment | None) -> PictureMap:
    """The pictures of a prompt, and those of its variations, by the two directions of greatest variance."""
    others = chance.pictures if chance else ()
    vectors = np.concatenate([fresh.vectors, chance.vectors]) if chance else fresh.vectors
    places, shares = principal_components(vectors)
    found = [(one.id, float(x), float(y)) for one, (x, y) in zip((*fresh.pictures, *others), places, strict=True)]
    count = len(fresh.pictures)
    return PictureMap(tuple(found[:count]), tuple(found[count:]), (float(shares[0]), float(shares[1])))


def principal_components(vectors: Vectors) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(n, dimensions) to places on the two directions of greatest variance, (n, 2), and their shares of it, (2,).

    Each direction is turned so that its largest component is positive. Missing directions are 0.
    """
    centred = np.asarray(vectors, float) - np.mean(vectors, axis=0, dtype=float)
    _, sizes, directions = np.linalg.svd(centred, full_matrices=False)
    turned = directions * np.sign(np.take_along_axis(directions, np.abs(directions).argmax(axis=1)[:, None], axis=1))
    total = float((sizes**2).sum())
    places, shares = np.zeros((len(centred), 2)), np.zeros(2)
    count = min(2, len(sizes))
    places[:, :count] = centred @ turned[:count].T
    shares[:count] = sizes[:count] ** 2 / total if total > 0 else 0.0
    return places, shares


def missed_terms(best: Sequence[BestPrompt]) -> MissedTerms | None:
    """What the missed concepts of all prompts have in common (appendix C.4); None where nothing is missed.

    A prompt counts once for a word that any of its missed concepts holds and the prompt itself does not.
    """
    found = {one.prompt: _own_words(one) for one in best if one.missed_visual_concepts}
    if not found:
        return None
    terms = Counter(word for words in found.values() for word in words)
    kinds = Counter(name for words in found.values() for name in _kinds(words))
    return MissedTerms(len(found), _ranked(terms)[:TERMS], _ranked(kinds))


@lru_cache
def categories() -> Mapping[str, frozenset[str]]:
    """Kinds of things by name, with the words that tell them."""
    text = (files("askew") / "data" / "bias_categories.toml").read_text(encoding="utf-8")
    return {name: frozenset(words) for name, words in tomllib.loads(text).items()}


def _null_range(fresh: Alignment, chance: Alignment | None, scoring: Scoring) -> tuple[float, float] | None:
    """Between which scores the central part of chance lies."""
    if chance is None:
        return None
    rng = scoring.rng("minethegap null", fresh.variations[0])
    scores = null_scores(chance.similarity, len(fresh.pictures), fresh.quantile, scoring.draws, rng)
    low, high = percentile_interval(scores, scoring.level)
    return low, high


def _own_words(one: BestPrompt) -> set[str]:
    missed = {word for text in one.missed_visual_concepts for word in content_words(text)}
    return missed - set(content_words(one.prompt))


def _kinds(words: Iterable[str]) -> list[str]:
    present = set(words)
    return [name for name, terms in categories().items() if present & terms]


def _ranked(counts: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _id(picture: Outcome) -> str | None:
    return picture.id if isinstance(picture, Picture) else None
