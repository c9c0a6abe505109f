"""All commands warn if the studio's instruments label images that are not drawings."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from askew.parts.survey.instruments import studio_warnings

STUDIO = {"vqa": ["studio"], "embedder": ["studio"]}


def test_the_warning_names_instruments_images_and_remedy() -> None:
    vqa, embedder = studio_warnings(["diffusers/sdxl"], **STUDIO)
    assert "VQA" in vqa
    assert "--vqa" in vqa
    assert "embedder" in embedder
    assert "--embedder" in embedder
    assert all("images by diffusers/sdxl are meaningless" in text for text in (vqa, embedder))


@pytest.mark.parametrize(
    "name", ["studio", "studio/balanced", "studio/planted", "studio (run)", "openai/studio/planted"]
)
def test_drawings_need_no_warning(name: str) -> None:
    assert studio_warnings([name], **STUDIO) == []


@pytest.mark.parametrize(
    "name", ["folder/pictures", "diffusers/studio", "studio-xl/large", "openai/studio-xl"]
)
def test_a_similar_name_is_not_the_studio(name: str) -> None:
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
def test_only_used_instruments_are_warned_about(
    instruments: Mapping[str, list[str] | None], count: int
) -> None:
    assert len(studio_warnings(["diffusers/sdxl"], **instruments)) == count


def test_each_model_is_named_once() -> None:
    (text, _) = studio_warnings(["studio", "folder/a", "diffusers/b", "folder/a"], **STUDIO)
    assert "images by folder/a, diffusers/b are meaningless" in text
