"""Reads an answer from a language model's next-token probabilities while it generates, whatever its
make.

Readers are logits processors, which `generate` of every transformers model calls before each token.
A row of which they read numbers that are not finite, as when a 16-bit format overflows, has no
answer.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import LogitsProcessor

Rows = NDArray[np.intp]
Scores = NDArray[np.float64]
Paths = Sequence[Sequence[int]]
"""The options of one row, as tokens."""

NOT_FINITE = -1
"""In place of a token where the logits have no largest number."""


class OptionReader(LogitsProcessor):  # type: ignore[misc]
    """Reads along while one batch is generated."""

    steps: int
    """How many tokens are to be generated."""


AnyReader = TypeVar("AnyReader", bound=OptionReader)


class Generate(Protocol):
    """Generates for these rows in batches, and gives the rows of each with the reader that was made
    for them.
    """

    def __call__(
        self, rows: Rows, reader: Callable[[Rows], AnyReader], /
    ) -> Iterator[tuple[Rows, AnyReader]]: ...


class OptionWalk(OptionReader):
    """Leads a generation of some `rows` along one option and sums the log-probabilities of its
    options on the way.

    An option is a path of tokens followed by the end of the answer, which is any of the tokens
    `ends`. A row follows the option `targets[row]`, or, where that is negative, at each fork the
    most probable way that leads to an option.

    `scores[row, option]` is the log-probability of the option's tokens as far as its path was
    followed, the token that left it included: exact for the option in `reached[row]`, an upper
    bound for the others, -inf past the row's last.
    """

    def __init__(
        self, paths: Sequence[Paths], ends: Sequence[int], targets: Rows, rows: Rows
    ) -> None:
        self._paths = [[[*path, ends[0]] for path in paths[row]] for row in rows]
        self._ends = list(ends)
        self._targets = targets[rows]
        self._step = 0
        lengths = _lengths([paths[row] for row in rows])
        self.steps = int(lengths.max())
        self._alive = lengths > 0
        self.scores: Scores = np.where(self._alive, 0.0, -np.inf)

    @property
    def reached(self) -> NDArray[np.intp]:
        """The option at whose end each row arrived."""
        return np.asarray(self._alive.argmax(axis=1))

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Logits (rows, vocabulary) that leave one token possible per row."""
        tokens = sorted(
            {
                path[self._step]
                for options in self._paths
                for path in options
                if self._step < len(path)
            }
        )
        chosen = [self._ends[0]] * len(scores)
        if tokens:
            logp = torch.log_softmax(scores.float(), dim=-1)
            columns = {token: logp[:, token] for token in tokens}
            if self._ends[0] in columns:
                columns[self._ends[0]] = torch.logsumexp(logp[:, self._ends], dim=-1)
            table = torch.stack([columns[token] for token in tokens], dim=-1).cpu().numpy()
            chosen = [
                self._advance(row, dict(zip(tokens, table[row], strict=True)))
                for row in range(len(table))
            ]
        self._step += 1
        forced = torch.full_like(scores, -torch.inf)
        forced[torch.arange(len(scores)), torch.tensor(chosen)] = 0.0
        return forced

    def _advance(self, row: int, logp: dict[int, float]) -> int:
        """Adds this step's log-probabilities in one row, and takes a step. Returns the token taken."""
        ways: dict[int, list[int]] = {}
        for option, path in enumerate(self._paths[row]):
            if self._alive[row, option] and self._step < len(path):
                self.scores[row, option] += logp[path[self._step]]
                ways.setdefault(path[self._step], []).append(option)
        if not ways:
            return self._ends[0]
        target = self._targets[row]
        way = (
            self._paths[row][target][self._step]
            if target >= 0
            else max(ways, key=lambda token: logp[token])
        )
        self._alive[row] = False
        self._alive[row, ways[way]] = True
        return way


class Transcript(OptionReader):
    """Writes down the most probable token of each step, which greedy generation takes."""

    def __init__(self, limit: int) -> None:
        self.steps = limit
        self._tokens: list[torch.Tensor] = []

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The logits as they are."""
        largest, tokens = scores.max(dim=-1)
        self._tokens.append(tokens.where(largest.isfinite(), NOT_FINITE).cpu())
        return scores

    def rows(self, ends: Sequence[int]) -> list[list[int] | None]:
        """The tokens of each row up to the first of `ends`; None where numbers before it are not
        finite.
        """
        tokens = torch.stack(self._tokens, dim=-1).tolist()
        stops = [
            next((i for i, token in enumerate(row) if token in ends), len(row)) for row in tokens
        ]
        written = [row[:stop] for row, stop in zip(tokens, stops, strict=True)]
        return [None if NOT_FINITE in row else row for row in written]


def written_tokens(
    generate: Generate, rows: int, ends: Sequence[int], limit: int
) -> list[list[int] | None]:
    """What greedy generation writes, per row, of `limit` tokens at most; None where its numbers are
    not finite.
    """
    found: dict[int, list[int] | None] = {}
    for part, transcript in generate(np.arange(rows), lambda _: Transcript(limit)):
        found.update(zip(part.tolist(), transcript.rows(ends), strict=True))
    return [found[row] for row in range(rows)]


def likeliest_options(
    generate: Generate, paths: Sequence[Paths], ends: Sequence[int]
) -> list[int | None]:
    """The option with the largest likelihood, per row; None where it is not finite.

    The likelihood of an option is the probability of its tokens and of the end after them. Found
    without trying every option: a walk gives the score of the option at whose end it arrives, and
    upper bounds for all others, since no further token has a probability above 1. Only options
    whose bound lies above the best score are walked too. The result is that of trying all.
    """
    bounds: Scores = np.where(_lengths(paths) > 0, 0.0, -np.inf)
    exact = np.zeros(bounds.shape, dtype=bool)
    left = np.arange(len(paths))
    targets = np.full(len(paths), -1)
    while len(left):
        for part, walk in generate(left, partial(OptionWalk, paths, ends, targets)):
            most = walk.scores.shape[1]
            bounds[part, :most] = np.minimum(bounds[part, :most], walk.scores)
            exact[part, walk.reached] = True
        best = np.where(exact, bounds, -np.inf).max(axis=1, keepdims=True)
        open_ones = np.where(~exact & (bounds > best), bounds, -np.inf)
        left = np.flatnonzero((open_ones > -np.inf).any(axis=1))
        targets = open_ones.argmax(axis=1)
    scores = np.where(exact, bounds, -np.inf)
    return [
        int(k) if np.isfinite(row[k]) else None
        for row, k in zip(scores, scores.argmax(axis=1), strict=True)
    ]


def _lengths(paths: Sequence[Paths]) -> Rows:
    """(rows, options): the tokens of each option with its end, 0 past the last option of a row."""
    lengths = np.zeros((len(paths), max(map(len, paths))), dtype=np.intp)
    for row, options in zip(lengths, paths, strict=True):
        row[: len(options)] = [len(path) + 1 for path in options]
    return lengths
