"""Compute answers from a language model's next-token probabilities during generation.

Readers are logits processors, which the method `generate` of a transformers model calls before each
token. A row of a batch has no answer if its logits are not finite, for example after an overflow in
a 16-bit format.
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
"""Options of a row. Each option is a sequence of tokens."""

NOT_FINITE = -1
"""Value that replaces a token if the logits have no finite maximum."""


class OptionReader(LogitsProcessor):  # type: ignore[misc]
    """Logits processor that reads a batch's next-token probabilities during generation.

    Attributes
    ----------
    steps
        Number of tokens to generate.
    """

    steps: int


AnyReader = TypeVar("AnyReader", bound=OptionReader)


class Generate(Protocol):
    """Function that generates text for the given rows, in batches."""

    def __call__(
        self, rows: Rows, reader: Callable[[Rows], AnyReader], /
    ) -> Iterator[tuple[Rows, AnyReader]]:
        """Yield the rows of each batch, and the reader that `reader` created for these rows."""


class OptionWalk(OptionReader):
    """Reader that forces each row to follow one option, and scores all options.

    An option is a path of tokens followed by the end of the answer.

    Parameters
    ----------
    paths
        Options of each row. Each option is a sequence of tokens.
    ends
        Tokens that end an answer.
    targets
        Index of the option that each row follows. If the index is negative, the row follows the
        most probable path at each fork.
    rows
        Rows of the batch.

    Attributes
    ----------
    scores
        Array of shape (rows, options). A score is the log-probability of an option's tokens, up to
        and including the first token that differs from the path of the row. The score is exact for
        the option in `reached`, and an upper bound for the other options. Columns after the row's
        last option are -inf.
    """

    def __init__(
        self, paths: Sequence[Paths], ends: Sequence[int], targets: Rows, rows: Rows
    ) -> None:
        self._paths = [_with_end(paths[row], ends[0]) for row in rows]
        self._ends = list(ends)
        self._targets = targets[rows]
        self._step = 0
        lengths = _lengths([paths[row] for row in rows])
        self.steps = int(lengths.max())
        self._alive = lengths > 0
        self.scores: Scores = np.where(self._alive, 0.0, -np.inf)

    @property
    def reached(self) -> NDArray[np.intp]:
        """Return the option that each row generated."""
        return np.asarray(self._alive.argmax(axis=1))

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return logits that allow only one token in each row."""
        tokens = self._next_tokens()
        chosen = [self._ends[0]] * len(scores)
        if tokens:
            table = self._log_probabilities(scores, tokens)
            for row, values in enumerate(table):
                chosen[row] = self._advance(row, dict(zip(tokens, values, strict=True)))
        self._step += 1
        forced = torch.full_like(scores, -torch.inf)
        forced[torch.arange(len(scores)), torch.tensor(chosen)] = 0.0
        return forced

    def _next_tokens(self) -> list[int]:
        """Return all tokens that occur at this step in any of the options."""
        tokens = set[int]()
        for options in self._paths:
            tokens.update(path[self._step] for path in options if self._step < len(path))
        return sorted(tokens)

    def _log_probabilities(self, logits: torch.Tensor, tokens: Sequence[int]) -> Scores:
        """Return log-probabilities of shape (rows, tokens).

        The probability of the end of an answer is the sum of the probabilities of all tokens that
        end it.
        """
        logp = torch.log_softmax(logits.float(), dim=-1)
        columns = {token: logp[:, token] for token in tokens}
        if self._ends[0] in columns:
            columns[self._ends[0]] = torch.logsumexp(logp[:, self._ends], dim=-1)
        return np.asarray(torch.stack([columns[token] for token in tokens], dim=-1).cpu().numpy())

    def _advance(self, row: int, logp: dict[int, float]) -> int:
        """Add this step's log-probabilities to a row's scores, and return the row's next token."""
        ways: dict[int, list[int]] = {}
        for option, path in enumerate(self._paths[row]):
            if self._alive[row, option] and self._step < len(path):
                self.scores[row, option] += logp[path[self._step]]
                ways.setdefault(path[self._step], []).append(option)
        if not ways:
            return self._ends[0]
        target = self._targets[row]
        if target >= 0:
            way: int = self._paths[row][target][self._step]
        else:
            way = max(ways, key=lambda token: logp[token])
        self._alive[row] = False
        self._alive[row, ways[way]] = True
        return way


class Transcript(OptionReader):
    """Reader that records the most probable token of each step (greedy generation)."""

    def __init__(self, limit: int) -> None:
        self.steps = limit
        self._tokens: list[torch.Tensor] = []

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Record the most probable tokens, and return the logits unchanged."""
        largest, tokens = scores.max(dim=-1)
        self._tokens.append(tokens.where(largest.isfinite(), NOT_FINITE).cpu())
        return scores

    def rows(self, ends: Sequence[int]) -> list[list[int] | None]:
        """Return the tokens of each row before its first end token.

        The entry is None for a row whose logits are not finite before its end.
        """
        tokens = torch.stack(self._tokens, dim=-1).tolist()
        written = [_before_end(row, ends) for row in tokens]
        return [None if NOT_FINITE in row else row for row in written]


def _with_end(options: Paths, end: int) -> list[list[int]]:
    return [[*path, end] for path in options]


def _before_end(tokens: list[int], ends: Sequence[int]) -> list[int]:
    for i, token in enumerate(tokens):
        if token in ends:
            return tokens[:i]
    return tokens


def written_tokens(
    generate: Generate, rows: int, ends: Sequence[int], limit: int
) -> list[list[int] | None]:
    """Return the tokens that greedy generation produces for each row.

    Parameters
    ----------
    generate
        Function that runs generation.
    rows
        Number of rows.
    ends
        Tokens that end an answer.
    limit
        Maximum number of tokens per row.

    Returns
    -------
    list
        Tokens of each row. None for a row whose logits are not finite.
    """
    written: dict[int, list[int] | None] = {}
    for batch, transcript in generate(np.arange(rows), lambda _: Transcript(limit)):
        written.update(zip(batch.tolist(), transcript.rows(ends), strict=True))
    return [written[row] for row in range(rows)]


def likeliest_options(
    generate: Generate, paths: Sequence[Paths], ends: Sequence[int]
) -> list[int | None]:
    """Return the index of each row's most likely option, or None if its likelihood is not finite.

    The likelihood of an option is the probability that the model writes its tokens and then ends
    the answer. A walk follows one option and computes its exact score. For all other options, the
    walk yields upper bounds, because no further token has a probability above 1. Only options whose
    bound exceeds the best score need another walk. The result is the same as if each option had a
    separate walk.

    Parameters
    ----------
    generate
        Function that runs generation.
    paths
        Options of each row. Each option is a sequence of tokens.
    ends
        Tokens that end an answer.
    """
    bounds: Scores = np.where(_lengths(paths) > 0, 0.0, -np.inf)
    exact = np.zeros(bounds.shape, dtype=bool)
    left = np.arange(len(paths))
    targets = np.full(len(paths), -1)
    while len(left):
        for batch, walk in generate(left, partial(OptionWalk, paths, ends, targets)):
            options = walk.scores.shape[1]
            bounds[batch, :options] = np.minimum(bounds[batch, :options], walk.scores)
            exact[batch, walk.reached] = True
        best = np.where(exact, bounds, -np.inf).max(axis=1, keepdims=True)
        undecided = np.where(~exact & (bounds > best), bounds, -np.inf)
        left = np.flatnonzero((undecided > -np.inf).any(axis=1))
        targets = undecided.argmax(axis=1)
    scores = np.where(exact, bounds, -np.inf)
    return [
        int(k) if np.isfinite(row[k]) else None
        for row, k in zip(scores, scores.argmax(axis=1), strict=True)
    ]


def _lengths(paths: Sequence[Paths]) -> Rows:
    """Return the number of tokens in each option, counting the end of the answer as one token.

    The shape is (rows, options).
    """
    lengths = np.zeros((len(paths), max(map(len, paths))), dtype=np.intp)
    for row, options in zip(lengths, paths, strict=True):
        row[: len(options)] = [len(path) + 1 for path in options]
    return lengths
