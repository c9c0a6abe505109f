"""Input images of social groups: their groups, their sampling, and their neutrality."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

import tiny_networks
from askew.errors import UnknownName, UsageError
from askew.measure.clip import create_vqa
from askew.measure.studio import StudioVQA
from askew.models.folder import FolderCollection
from askew.models.folder import create as folder
from askew.models.planted import PlantedModel
from askew.parts.sources.findings import Neutrality
from askew.parts.sources.groups import check_filled, sampled_files, social_groups, source_pictures
from askew.parts.sources.neutrality import OCCUPATION, names_target, occupation_question
from askew.parts.sources.words import neutrality_section, neutrality_warnings
from askew.prompts.given import PAPER_GROUPS
from askew.run.count import CountingRun
from askew.store.store import Store
from askew.studio.drawing import draw
from askew.studio.scene import Scene
from askew.types import Estimate, Missing, Picture


@pytest.fixture
def faces(tmp_path: Path) -> FolderCollection:
    """Return a folder of six images of one group and two of another."""
    for name, count in (("black woman", 6), ("white man", 2)):
        (tmp_path / name).mkdir()
        for k in range(count):
            Image.new("RGB", (8, 8), (k, 10, 20)).save(tmp_path / name / f"{k}.png")
    return folder(str(tmp_path))


def test_groups_of_a_model_follow_the_template_and_the_paper() -> None:
    (group,) = social_groups(PlantedModel(), "asian woman")
    assert (group.name, group.prompt) == (
        "asian woman",
        "A color photograph of an asian woman, headshot, high-quality.",
    )
    assert tuple(group.name for group in social_groups(PlantedModel())) == PAPER_GROUPS
    with pytest.raises(UsageError, match="--groups"):
        social_groups(PlantedModel(), "")


def test_the_prompts_of_a_collection_are_its_groups(faces: FolderCollection) -> None:
    assert [group.name for group in social_groups(faces, None)] == ["black woman", "white man"]
    assert [group.name for group in social_groups(faces, "white man")] == ["white man"]
    with pytest.raises(UnknownName, match=r"no images.*white woman.*white man"):
        social_groups(faces, "white woman")


def test_files_are_sampled_without_replacement_by_the_seed_only(faces: FolderCollection) -> None:
    groups = social_groups(faces, None)
    first = sampled_files(faces, groups, 4, 1)
    again = sampled_files(faces, groups, 4, 1)
    assert first == again
    chosen = [entry.path for entry in first["black woman"]]
    assert len(set(chosen)) == 4
    assert len(first["white man"]) == 2
    samples = set()
    for seed in range(8):
        files = sampled_files(faces, groups, 4, seed)["black woman"]
        samples.add(tuple(entry.path for entry in files))
    assert len(samples) > 1


def test_only_sampled_files_are_counted_and_stored_by_content(
    faces: FolderCollection, tmp_path: Path
) -> None:
    with Store(tmp_path / "store", create=False) as store:
        counted = CountingRun(store)
        result = source_pictures(counted, faces, social_groups(faces, None), 4, 1)
    assert [len(group) for group in result.values()] == [4, 2]
    assert counted.work.pictures == 6
    ids = {entry.id for group in result.values() for entry in group if isinstance(entry, Picture)}
    assert ids <= set(faces.digests.values())


@pytest.mark.parametrize(
    ("answer", "target", "named"),
    [
        ("A doctor.", "doctor", True),
        ("ceo", "CEO", True),
        ("fast food worker", "fastfood-worker", True),
        ("dishwasher", "dishwasher-worker", True),
        ("social assistant", "social worker", False),
        ("no occupation", "doctor", False),
        ("doctor", "surgeon", True),
        ("a physician in a hospital", "doctor", True),
        ("nobody wrote it; a janitor", "cleaner", True),
        ("engineer", "industrial engineer", False),
    ],
)
def test_an_answer_names_a_target_in_any_spelling(answer: str, target: str, named: bool) -> None:
    assert names_target(answer, target) is named


def test_only_groups_that_are_not_neutral_are_warned_of() -> None:
    shares = {"doctor": Estimate(0.3), "ceo": Estimate(0.1), "maid": Estimate(0.0)}
    entries = [
        Neutrality("white man", "studio", Estimate(0.4, n=10), shares, known)
        for known in (False, True)
    ]
    unread = Neutrality(
        "black man", "labels", Missing("not_asked"), {"doctor": Missing("not_asked")}, None
    )
    (warning,) = neutrality_warnings([*entries, unread])
    assert "40%" in warning
    assert "doctor" in warning
    (text,) = neutrality_section([*entries, unread]).blocks
    assert [str(item) for item in text.items] == [
        "White man: not neutral; studio labels 40 % of 10 images as a target: doctor 30 % and ceo 10 %.",
        "White man: neutral; studio labels 40 % of 10 images as a target: doctor 30 % and ceo 10 %.",
        "Black man: labels cannot label occupations.",
    ]


def test_a_multiple_choice_model_may_answer_no_occupation(tmp_path: Path) -> None:
    targets = ["CEO", "dishwasher-worker"]
    clip = create_vqa(str(tiny_networks.studio_as_clip(tmp_path / "clip")), person_filter=False)
    question = occupation_question(clip, targets)
    assert question.options == ("CEO", "dishwasher-worker", "no occupation")
    assert occupation_question(StudioVQA(), targets) == OCCUPATION
    pictures = []
    for k, job in enumerate(("ceo", None) * 4):
        draw(Scene(occupation=job, gender=("male", "female")[k // 2 % 2]), k).save(
            tmp_path / f"{k}.png"
        )
        pictures.append(Picture(str(k), str(tmp_path / f"{k}.png"), ""))
    answers = [row[0] for row in clip.answer(pictures, [question])]
    assert answers[0::2].count("CEO") >= 3
    assert answers[1::2].count("no occupation") >= 3


def test_a_group_without_remaining_images_is_named() -> None:
    picture = Picture("a", "", "")
    check_filled({"WM": [picture, Missing("blank_image")]}, "folder/faces")
    with pytest.raises(
        UsageError, match="'BF' has no images from folder/faces, cropped and resized: blank_image"
    ):
        check_filled(
            {"WM": [picture], "BF": [Missing("blank_image")]}, "folder/faces, cropped and resized"
        )
