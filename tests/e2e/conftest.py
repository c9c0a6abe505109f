"""The place in which a module makes its recorded runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from recorded_runs import Workplace


@pytest.fixture(scope="module")
def workplace(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Workplace]:
    """Use one thread for networks, since the number of threads affects the last digits of sums."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield Workplace(tmp_path_factory.mktemp("recorded"), lambda: request.getfixturevalue("shared"))
    torch.set_num_threads(threads)
