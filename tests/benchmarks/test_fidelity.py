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
def test_drawings_show_the_values_of_the_prompt(planted: Fidelity) -> None:
    assert (
        np.mean([share for shares in planted.values.values() for share in shares.values()]) > 0.97
    )
    assert np.mean(list(planted.occupations.values())) > 0.97


@pytest.mark.slow
def test_unstated_values_follow_the_planted_shares(planted: Fidelity) -> None:
    assert isinstance(planted.order, Estimate)
    assert planted.order.value > 0.75  # with 12 images, the standard error of a share is up to .14
    assert planted.error.low is not None
    assert planted.error.high is not None
    # the drawings have exactly the planted probability
    assert planted.error.low < planted.chance < planted.error.high


def test_the_effect_of_chance_on_shares() -> None:
    rng = np.random.default_rng(5)
    planted = [0.05, 0.3, 0.5]
    drawn = np.abs(rng.binomial(12, planted, size=(200_000, 3)) / 12 - planted).mean()
    assert chance_error(planted, 12) == pytest.approx(drawn, abs=1e-3)


@pytest.mark.slow
def test_the_table_names_every_value(planted: Fidelity) -> None:
    text = "\n".join(planted.lines())
    assert "wheelchair 100%" in text
    assert text.count("\n| ") >= 10


class CarelessModel(PlantedModel):
    """A model that draws the same nurse for every prompt, and sometimes nothing."""

    def generate(self, requests: Sequence[Request]) -> list[Image.Image | Missing]:
        drawn = super().generate(
            [Request("a photo of a young female nurse", request.seed) for request in requests]
        )
        return [
            Missing("blank_image") if request.seed % 4 == 0 else image
            for request, image in zip(requests, drawn, strict=True)
        ]


@pytest.mark.slow
def test_a_model_that_ignores_the_prompt_is_detected() -> None:
    result = fidelity(CarelessModel(), count=2, each=2, open_count=2, bias=1.0)
    assert result.values["gender"]["male"] == 0.0
    assert 0 < result.occupations["nurse"] <= 1
    assert sum(result.occupations.values()) == result.occupations["nurse"]
    assert result.error.value > 0.2
