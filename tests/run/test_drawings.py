"""Who reads pictures that are no drawings with the studio's instruments is warned, whatever the
command.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from askew.parts.survey.instruments import studio_warnings

STUDIO = {"vqa": ["studio"], "embedder": ["studio"]}


def test_both_instruments_are_named_with_the_pictures_and_the_way_out() -> None:
    vqa, embedder = studio_warnings(["diffusers/sdxl"], **STUDIO)
    assert "VQA" in vqa
    assert "--vqa" in vqa
    assert "embedder" in embedder
    assert "--embedder" in embedder
    assert all("images by diffusers/sdxl mean" in text for text in (vqa, embedder))


@pytest.mark.parametrize("name", ["studio", "studio/balanced", "studio/planted", "studio (run)"])
def test_drawings_need_no_warning(name: str) -> None:
    assert studio_warnings([name], **STUDIO) == []


@pytest.mark.parametrize("name", ["folder/pictures", "diffusers/studio", "studio-xl/large"])
def test_a_name_like_it_is_not_the_studio(name: str) -> None:
    assert len(studio_warnings([name], **STUDIO)) == 2


@pytest.mark.parametrize(
    ("instruments", "count"),
    [
        ({"vqa": ["labels", "studio"], "embedder": None}, 1),
        ({"vqa": ["clip/studio"], "embedder": ["studio"]}, 1),
        ({"vqa": ["clip/a"], "embedder": ["clip/a"]}, 0),
        ({"vqa": None, "embedder": None}, 0),
        ({}, 0),
    ],
)
def test_only_what_was_used_is_warned_about(
    instruments: Mapping[str, list[str] | None], count: int
) -> None:
    assert len(studio_warnings(["diffusers/sdxl"], **instruments)) == count


def test_all_makers_are_looked_at_and_each_is_named_once() -> None:
    (text, _) = studio_warnings(["studio", "folder/a", "diffusers/b", "folder/a"], **STUDIO)
    assert "images by folder/a, diffusers/b mean" in text
