from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from PIL import Image

from askew.models.base import Request
from askew.models.planted import PlantedModel
from askew.types import Estimate, Missing
from benchmarks.fidelity import Fidelity, chance_error, fidelity


@pytest.fixture(scope="module")
def planted() -> Fidelity:
    return fidelity(PlantedModel(), count=5, each=1, open_count=12, bias=1.0)


@pytest.mark.slow
def test_drawings_show_what_is_asked_for(planted: Fidelity) -> None:
    assert (
        np.mean([share for shares in planted.values.values() for share in shares.values()]) > 0.97
    )
    assert np.mean(list(planted.occupations.values())) > 0.97


@pytest.mark.slow
def test_what_is_left_open_follows_the_planted_shares(planted: Fidelity) -> None:
    assert isinstance(planted.order, Estimate)
    assert planted.order.value > 0.75  # 12 pictures: the standard error of a share is up to .14
    assert planted.error.low is not None
    assert planted.error.high is not None
    assert (
        planted.error.low < planted.chance < planted.error.high
    )  # the drawings have exactly the planted chance


def test_what_chance_does_to_shares() -> None:
    rng = np.random.default_rng(5)
    planted = [0.05, 0.3, 0.5]
    drawn = np.abs(rng.binomial(12, planted, size=(200_000, 3)) / 12 - planted).mean()
    assert chance_error(planted, 12) == pytest.approx(drawn, abs=1e-3)


@pytest.mark.slow
def test_the_table_names_every_value(planted: Fidelity) -> None:
    text = "\n".join(planted.lines())
    assert "wheelchair 100%" in text
    assert text.count("\n| ") >= 10


class Careless(PlantedModel):
    """Draws the same nurse whatever is asked for, and now and then nothing."""

    def generate(self, requests: Sequence[Request]) -> list[Image.Image | Missing]:
        drawn = super().generate(
            [Request("a photo of a young female nurse", request.seed) for request in requests]
        )
        return [
            Missing("blank_image") if request.seed % 4 == 0 else image
            for request, image in zip(requests, drawn, strict=True)
        ]


@pytest.mark.slow
def test_a_model_that_does_not_listen_is_found_out() -> None:
    result = fidelity(Careless(), count=2, each=2, open_count=2, bias=1.0)
    assert result.values["gender"]["male"] == 0.0
    assert 0 < result.occupations["nurse"] <= 1
    assert sum(result.occupations.values()) == result.occupations["nurse"]
    assert result.error.value > 0.2
