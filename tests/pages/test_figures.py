"""The main findings as a matplotlib figure."""

from __future__ import annotations

import builtins
from typing import Any

import pytest

from askew.errors import MissingPackage
from askew.pages import figures
from askew.pages.blocks import Page, Section
from pages.gallery import (
    by_model,
    changed,
    course,
    effect_matrix,
    gallery,
    network,
    one_prompt,
    profile,
    prompt_matrix,
    ranking,
)


def page(*blocks: Any) -> Page:
    return Page("k", "t", "The answer.", "", (Section("Only", blocks),))


def test_the_error_names_the_package_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def without(name: str, *more: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return original(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingPackage, match=r"pip install '\.\[plot\]'"):
        figures.figure(gallery())


def test_draws_the_first_plots_of_the_page() -> None:
    pytest.importorskip("matplotlib")
    drawn = figures.figure(gallery())
    assert [on.get_title(loc="left").split(",")[0] for on in drawn.axes] == [
        "Share of the 48 images with each label",
        "Share of the 48 images with each label",
        "Deviation before and after",
        "Perceived gender",
    ]
    drawn.canvas.draw()


def test_dots_are_at_the_shares() -> None:
    pytest.importorskip("matplotlib")
    on = figures.figure(page(one_prompt())).axes[0]
    assert [round(float(line.get_xdata()[0]), 1) for line in on.lines[:2]] == [87.5, 12.5]
    labels = [label.get_text() for label in on.get_yticklabels()]
    assert labels[:3] == ["Gender: female", "Gender: male", "Disability: fit"]


def test_scores_have_interval_and_chance() -> None:
    pytest.importorskip("matplotlib")
    on = figures.figure(page(ranking())).axes[0]
    assert round(on.patches[0].get_width(), 2) == 0.14  # type: ignore[attr-defined]
    interval = on.lines[0]
    mark = on.lines[1]
    assert [round(float(x), 2) for x in interval.get_xdata()] == [0.09, 0.21]
    assert [round(float(x), 2) for x in mark.get_xdata()] == [0.15]


@pytest.mark.parametrize(
    "block",
    [by_model(), profile(), course(), network(), changed(), prompt_matrix(), effect_matrix()],
)
def test_draws_every_kind_of_plot(block: Any) -> None:
    pytest.importorskip("matplotlib")
    drawn = figures.figure(page(block))
    drawn.canvas.draw()
    assert len(drawn.axes) == 1


def test_a_page_without_plots_is_its_answer() -> None:
    pytest.importorskip("matplotlib")
    assert "The answer." in figures.figure(page()).get_suptitle()
