"""The black-box model with a known bias, and its exact mitigation of one attribute."""

from __future__ import annotations

import pytest

from askew import registry
from askew.errors import UnknownName, UsageError
from askew.models.base import Request
from askew.models.planted import PlantedModel


def drawn(model: PlantedModel, prompt: str) -> list[bytes]:
    pictures = model.generate([Request(prompt, seed) for seed in range(1, 13)])
    return [picture.tobytes() for picture in pictures]  # type: ignore[union-attr]


def test_an_equal_attribute_takes_each_of_its_values() -> None:
    plain = PlantedModel()
    equal = PlantedModel(equal="gender")
    male, female = (drawn(plain, f"a photo of a {value} nurse") for value in ("male", "female"))
    mixed = drawn(equal, "a photo of a nurse")
    shown = [drawing == man for drawing, man in zip(mixed, male, strict=True)]
    assert all(
        drawing in (man, woman) for drawing, man, woman in zip(mixed, male, female, strict=True)
    )
    assert 3 <= sum(shown) <= 9


def test_the_prompt_takes_precedence() -> None:
    prompt = "a photo of a female nurse"
    assert drawn(PlantedModel(equal="gender"), prompt) == drawn(PlantedModel(), prompt)


def test_the_setting_is_part_of_the_key_only_if_given() -> None:
    assert PlantedModel().settings == {"bias": 1.0}
    assert PlantedModel(equal="age").settings == {"bias": 1.0, "equal": "age"}
    with pytest.raises(UnknownName, match="height"):
        PlantedModel(equal="height")


@pytest.mark.parametrize("name", ["offload", "name"])
def test_the_error_of_an_unknown_setting_lists_the_known_ones(name: str) -> None:
    with pytest.raises(UsageError, match=f"unknown setting {name!r}.* Known: bias, equal"):
        registry.model("studio/planted", **{name: "model"})
