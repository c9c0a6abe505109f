"""The chosen option is that of an exhaustive search, for any tokens and probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from askew.measure.decoding import AnyReader, Rows, Transcript, likeliest_options, written_tokens

VOCABULARY = 6
END = 0
OTHER_END = 5
BATCH = 2


class ChainModel:
    """A language model that depends on the last token and the row: log-probabilities (rows, before,
    after).
    """

    def __init__(self, seed: int, rows: int) -> None:
        logits = np.random.default_rng(seed).normal(0, 2, (rows, VOCABULARY + 1, VOCABULARY))
        self.logits = torch.tensor(logits, dtype=torch.float32)
        self.calls = 0

    def generate(
        self, rows: Rows, reader: Callable[[Rows], AnyReader]
    ) -> Iterator[tuple[Rows, AnyReader]]:
        """Generate greedily for the last rows first, as transformers does."""
        self.calls += len(rows)
        for part in np.array_split(rows[::-1], -(-len(rows) // BATCH)):
            reading = reader(part)
            last = torch.full((len(part),), VOCABULARY)
            for _ in range(reading.steps):
                last = reading(
                    last[:, None], self.logits[torch.tensor(part.copy()), last].clone()
                ).argmax(dim=-1)
            yield part, reading

    def likelihood(self, row: int, path: list[int]) -> float:
        """Compute the log-likelihood of a path and an end after it, term by term."""
        logp = torch.log_softmax(self.logits[row], dim=-1).double().numpy()
        total = 0.0
        last = VOCABULARY
        for token in path:
            total = total + logp[last, token]
            last = token
        return float(total + np.logaddexp(logp[last, END], logp[last, OTHER_END]))


PATHS = st.lists(
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    min_size=2,
    max_size=6,
    unique_by=lambda path: tuple(path),
)


ROWS = st.lists(PATHS, min_size=1, max_size=5)
"""Options, different for each row."""


@given(st.integers(0, 2**32 - 1), ROWS)
@settings(max_examples=40, deadline=None)
def test_the_likeliest_option_is_that_of_an_exhaustive_search(
    seed: int, rows: list[list[list[int]]]
) -> None:
    chain = ChainModel(seed, len(rows))
    chosen = likeliest_options(chain.generate, rows, [END, OTHER_END])
    for row, (paths, option) in enumerate(zip(rows, chosen, strict=True)):
        scores = [chain.likelihood(row, path) for path in paths]
        assert option is not None
        assert scores[option] == pytest.approx(max(scores), abs=1e-4)
    assert chain.calls <= sum(map(len, rows))


def test_a_confident_model_is_called_once() -> None:
    chain = ChainModel(7, rows=5)
    for before, after in ((VOCABULARY, 1), (1, 2), (2, END)):
        chain.logits[:, before, after] += 20
    assert (
        likeliest_options(chain.generate, [[[3], [1, 2], [1, 4, 1]]] * 5, [END, OTHER_END])
        == [1] * 5
    )
    assert chain.calls == 5


BROKEN = pytest.mark.parametrize("number", [torch.nan, torch.inf])


@BROKEN
def test_numbers_that_are_not_finite_choose_nothing(number: float) -> None:
    chain = ChainModel(1, rows=3)
    rows = [[[1], [2, 3]]] * 3
    sound = likeliest_options(chain.generate, rows, [END])
    chain.logits[1, :, 4] = number
    assert None not in sound
    assert likeliest_options(chain.generate, rows, [END]) == [sound[0], None, sound[2]]


@BROKEN
def test_numbers_that_are_not_finite_write_nothing(number: float) -> None:
    chain = ChainModel(1, rows=3)
    sound = written_tokens(chain.generate, 3, [END], 4)
    chain.logits[1, :, 4] = number
    assert None not in sound
    assert written_tokens(chain.generate, 3, [END], 4) == [sound[0], None, sound[2]]


def test_numbers_after_the_end_of_an_answer_do_not_matter() -> None:
    chain = ChainModel(1, rows=2)
    chain.logits[0, VOCABULARY, END] = 20
    chain.logits[0, END] = torch.nan
    short, long = written_tokens(chain.generate, 2, [END], 4)
    assert short == []
    assert long


def test_a_transcript_stops_at_the_end() -> None:
    transcript = Transcript(3)
    for tokens in ([1, 2], [3, 5], [0, 4]):
        transcript(
            torch.zeros(2, 1), torch.nn.functional.one_hot(torch.tensor(tokens), VOCABULARY).float()
        )
    assert transcript.rows([END, OTHER_END]) == [[1, 3], [2]]
