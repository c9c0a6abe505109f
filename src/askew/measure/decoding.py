"""Reads an answer from a language model's next-token probabilities while it generates.

Both readers are logits processors, which `generate` of every transformers model calls before each token; so they
work for models of any make, and need nothing of how a model handles pictures or caches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import LogitsProcessor

Rows = NDArray[np.intp]
Scores = NDArray[np.float64]
Generate = Callable[[Rows, LogitsProcessor, int], object]
"""Generates for these rows, with this processor, this many tokens."""


class OptionWalk(LogitsProcessor):  # type: ignore[misc]
    """Leads a generation along one option and sums the log-probabilities of all options on the way.

    An option is a path of tokens followed by the end of the answer, which is any of the tokens `ends`. A row follows
    the option `targets[row]`, or, where that is negative, at each fork the most probable way that leads to an option.

    `scores[row, option]` is the log-probability of the option's tokens as far as its path was followed, the token that
    left it included: exact for the option in `reached[row]`, an upper bound for the others.
    """

    def __init__(self, paths: Sequence[Sequence[int]], ends: Sequence[int], targets: NDArray[np.intp]) -> None:
        self._paths = [[*path, ends[0]] for path in paths]
        self._ends = list(ends)
        self._step = 0
        self._alive = np.ones((len(targets), len(paths)), dtype=bool)
        self._targets = targets
        self.scores: Scores = np.zeros((len(targets), len(paths)))

    @property
    def steps(self) -> int:
        """How many tokens the longest option has, with its end."""
        return max(len(path) for path in self._paths)

    @property
    def reached(self) -> NDArray[np.intp]:
        """The option at whose end each row arrived."""
        arrived: NDArray[np.intp] = self._alive.argmax(axis=1)
        return arrived

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Logits (rows, vocabulary) that leave one token possible per row."""
        tokens = self._tokens()
        if tokens:
            logp = torch.log_softmax(scores.float(), dim=-1)
            columns = {token: logp[:, token] for token in tokens}
            if self._ends[0] in columns:
                columns[self._ends[0]] = torch.logsumexp(logp[:, self._ends], dim=-1)
            table = torch.stack([columns[token] for token in tokens], dim=-1).cpu().numpy()
            chosen = [self._advance(row, dict(zip(tokens, table[row], strict=True))) for row in range(len(table))]
        else:
            chosen = [self._ends[0]] * len(scores)
        self._step += 1
        forced = torch.full_like(scores, -torch.inf)
        forced[torch.arange(len(scores)), torch.tensor(chosen)] = 0.0
        return forced

    def _tokens(self) -> list[int]:
        return sorted({path[self._step] for path in self._paths if self._step < len(path)})

    def _advance(self, row: int, logp: dict[int, float]) -> int:
        """Adds this step's log-probabilities in one row, and takes a step. Returns the token taken."""
        ways: dict[int, list[int]] = {}
        for option, path in enumerate(self._paths):
            if self._alive[row, option] and self._step < len(path):
                self.scores[row, option] += logp[path[self._step]]
                ways.setdefault(path[self._step], []).append(option)
        if not ways:
            return self._ends[0]
        target = self._targets[row]
        way = self._paths[target][self._step] if target >= 0 else max(ways, key=lambda token: logp[token])
        self._alive[row] = False
        self._alive[row, ways[way]] = True
        return way


class Transcript(LogitsProcessor):  # type: ignore[misc]
    """Writes down the most probable token of each step, which greedy generation takes."""

    def __init__(self) -> None:
        self._steps: list[torch.Tensor] = []

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The logits as they are."""
        self._steps.append(scores.argmax(dim=-1).cpu())
        return scores

    def rows(self, ends: Sequence[int]) -> list[list[int]]:
        """The tokens of each row up to the first of `ends`."""
        tokens = torch.stack(self._steps, dim=-1).tolist()
        stops = [next((i for i, token in enumerate(row) if token in ends), len(row)) for row in tokens]
        return [row[:stop] for row, stop in zip(tokens, stops, strict=True)]


def greedy_options(generate: Generate, rows: int, paths: Sequence[Sequence[int]], ends: Sequence[int]) -> list[int]:
    """The option that constrained greedy generation writes, per row: the best token at each fork decides."""
    walk = _walk(generate, np.arange(rows), paths, ends, np.full(rows, -1))
    return [int(option) for option in walk.reached]


def likeliest_options(
    generate: Generate, rows: int, paths: Sequence[Sequence[int]], ends: Sequence[int], per_token: bool = False
) -> list[int | None]:
    """The option with the largest likelihood, per row; None where it is not finite.

    The likelihood of an option is the probability of its tokens and of the end after them; with `per_token` its
    geometric mean over these tokens. Found without trying every option: a walk gives the score of the option at
    whose end it arrives, and upper bounds for all others, since no further token has a probability above 1. Only
    options whose bound lies above the best score are walked too. The result is that of trying all.
    """
    lengths = np.array([len(path) + 1 for path in paths]) if per_token else np.ones(len(paths))
    bounds: Scores = np.zeros((rows, len(paths)))
    exact = np.zeros((rows, len(paths)), dtype=bool)
    left, targets = np.arange(rows), np.full(rows, -1)
    while len(left):
        walk = _walk(generate, left, paths, ends, targets)
        bounds[left] = np.minimum(bounds[left], walk.scores)
        exact[left, walk.reached] = True
        best = np.where(exact, bounds / lengths, -np.inf).max(axis=1, keepdims=True)
        open_ones = np.where(~exact & (bounds / lengths > best), bounds / lengths, -np.inf)
        left = np.flatnonzero((open_ones > -np.inf).any(axis=1))
        targets = open_ones[left].argmax(axis=1)
    return [_first_best(row) for row in np.where(exact, bounds / lengths, -np.inf)]


def _first_best(scores: Scores) -> int | None:
    best = int(scores.argmax())
    return best if np.isfinite(scores[best]) else None


def _walk(
    generate: Generate, rows: Rows, paths: Sequence[Sequence[int]], ends: Sequence[int], targets: NDArray[np.intp]
) -> OptionWalk:
    walk = OptionWalk(paths, ends, targets)
    generate(rows, walk, walk.steps)
    return walk
