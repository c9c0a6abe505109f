"""Objectives other than bias: a colour, and a function of the user's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from PIL import Image

from askew.errors import AskewError, UsageError
from askew.methods.objectives import ColorObjective, OwnObjective, named_color, own_function
from askew.types import Estimate, Missing, Picture


@pytest.fixture
def pictures(tmp_path: Path) -> list[Picture | Missing]:
    found: list[Picture | Missing] = [Missing("refused")]
    for k, color in enumerate([(255, 0, 0), (0, 0, 0), (255, 0, 0)]):
        Image.new("RGB", (4, 4), color).save(tmp_path / f"{k}.png")
        found.append(Picture(str(k), str(tmp_path / f"{k}.png"), "x"))
    return found


def test_a_colour_is_a_mean_squared_error(pictures: list[Picture | Missing]) -> None:
    red = ColorObjective("color:red", named_color("red"), lambda prompt, seed: pictures, draws=200)
    assert red.loss("x", 0) == pytest.approx((0 + 1 / 3 + 0) / 3)
    found = red.estimate("x", 0)
    assert isinstance(found, Estimate)
    assert (found.n, found.missing) == (3, 1)
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_without_pictures_there_is_no_loss() -> None:
    red = ColorObjective("color:red", (255, 0, 0), lambda prompt, seed: [Missing("refused")])
    assert isinstance(red.loss("x", 0), Missing)
    assert isinstance(red.estimate("x", 0), Missing)


def brightness(prompt: str, images: Sequence[Image.Image]) -> float:
    return float(images[0].getpixel((0, 0))[0]) + len(prompt)  # type: ignore[index]


def test_a_function_of_ones_own(pictures: list[Picture | Missing]) -> None:
    assert own_function(f"{__name__}:brightness") is brightness
    own = OwnObjective("m:f", brightness, lambda prompt, seed: pictures)
    assert own.loss("xy", 0) == 257.0
    found = own.estimate("xy", 0)
    assert isinstance(found, Estimate)
    assert (found.value, found.low, found.n) == (257.0, None, 3)


def test_a_function_that_fails_is_named(pictures: list[Picture | Missing]) -> None:
    with pytest.raises(AskewError, match=r"m:f failed for 'x': ZeroDivisionError"):
        OwnObjective("m:f", lambda p, i: 1 / 0, lambda prompt, seed: pictures).loss("x", 0)
    with pytest.raises(AskewError, match="finite"):
        OwnObjective("m:f", lambda p, i: float("nan"), lambda prompt, seed: pictures).loss("x", 0)


@pytest.mark.parametrize("name", ["nothing", "askew.no_such:f", "askew.types:nothing", "askew.types:MISSING_REASONS"])
def test_names_that_lead_nowhere(name: str) -> None:
    with pytest.raises(UsageError):
        own_function(name)


def test_no_colour() -> None:
    assert named_color("#1e90ff") == (30, 144, 255)
    with pytest.raises(UsageError, match="no colour"):
        named_color("nurse")


@pytest.mark.parametrize(
    ("content", "said"),
    [("def f(:", "SyntaxError"), ("1 / 0", "ZeroDivisionError"), ("g = 1", "has no attribute 'f'")],
)
def test_a_module_that_cannot_be_imported_is_named(
    content: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"broken_{abs(hash(content))}"
    (tmp_path / f"{name}.py").write_text(content)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match=said):
        own_function(f"{name}:f")
    with pytest.raises(UsageError, match="cannot be imported"):
        own_function(".relative:f")


def test_any_seed_will_do(pictures: list[Picture | Missing]) -> None:
    red = ColorObjective("color:red", (255, 0, 0), lambda prompt, seed: pictures, draws=100)
    assert isinstance(red.estimate("x", -1), Estimate)
