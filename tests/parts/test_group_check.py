"""Sources that do not show their group are counted, left out, and replaced up to a limit."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))

from doubles import PatternModel, small_plan

from askew.errors import UsageError
from askew.models.base import FiledPicture, Request
from askew.parts.sources.findings import GroupCheck
from askew.parts.sources.group_check import EXTRA_FACTOR, checked_pictures, stated_values
from askew.parts.sources.groups import SocialGroup
from askew.parts.sources.words import group_check_fact, group_check_warnings
from askew.run.count import CountingRun
from askew.run.live import LiveRun
from askew.store.imagefile import opened
from askew.store.store import Store
from askew.types import Estimate, Missing, Picture, Question

IMAGES = 12
GROUPS = [SocialGroup("a man", "a photo of a man"), SocialGroup("a nurse", "a photo of a nurse")]


class SometimesBright(PatternModel):
    """A model whose images are bright, as for men, always, for some seeds, or never."""

    def __init__(self, heard: float) -> None:
        super().__init__(heard=heard)

    def generate(self, requests: Sequence[Request]) -> list[Image.Image | Missing]:
        self.requests += requests
        result: list[Image.Image | Missing] = []
        for request in requests:
            rng = np.random.default_rng(request.seed)
            level = 200 if rng.random() < self.settings["heard"] else 20
            result.append(Image.fromarray(level + rng.integers(0, 40, (8, 8, 3), dtype=np.uint8)))
        return result


class ByLight:
    """A VQA model that labels bright images as men, dark ones as women; none if `blind`."""

    name = "by light"

    def __init__(self, blind: bool = False) -> None:
        self.blind = blind
        self.fingerprint = f"light {blind}"

    def answer(
        self, pictures: Sequence[Picture], questions: Sequence[Question]
    ) -> list[list[str | Missing]]:
        rows: list[list[str | Missing]] = []
        for picture in pictures:
            rows.append([self._of(picture, question) for question in questions])
        return rows

    def _of(self, picture: Picture, question: Question) -> str | Missing:
        if self.blind or question.axis != "gender":
            return Missing("not_asked")
        return "male" if np.asarray(opened(picture.path)).mean() > 128 else "female"


@pytest.fixture
def run(tmp_path: Path) -> Iterator[LiveRun]:
    with Store(tmp_path / "store") as store:
        yield LiveRun(tmp_path / "run", store, small_plan())


def light(outcomes: Sequence[object]) -> list[bool]:
    return [
        bool(np.asarray(opened(entry.path)).mean() > 128)
        for entry in outcomes
        if isinstance(entry, Picture)
    ]


def test_names_state_values_of_axes_about_people() -> None:
    assert stated_values("caucasian man") == {"gender": "male", "ethnicity": "white"}
    assert stated_values("nurse") == {}


def test_no_further_images_are_drawn_if_all_show_their_group(run: LiveRun) -> None:
    model = SometimesBright(1.0)
    result, (entry,) = checked_pictures(run, model, GROUPS, IMAGES, 0, [ByLight()], 0.95)
    assert len(model.requests) == len(GROUPS) * IMAGES
    assert result == {
        entry.name: run.pictures(model, [entry.prompt], IMAGES, 0)[entry.prompt] for entry in GROUPS
    }
    assert (entry.group, entry.share.value, entry.drawn, entry.empty) == ("a man", 1.0, IMAGES, 0)
    assert group_check_warnings([entry], given=False) == []


def test_images_of_another_group_are_replaced(run: LiveRun) -> None:
    model = SometimesBright(0.5)
    result, (entry,) = checked_pictures(run, model, GROUPS, IMAGES, 0, [ByLight()], 0.95)
    first = run.pictures(model, [GROUPS[0].prompt], IMAGES, 0)[GROUPS[0].prompt]
    assert 2 <= sum(light(first)) <= 10
    assert all(light(result["a man"]))
    assert len(light(result["a man"])) == IMAGES
    assert [
        outcome for outcome, is_light in zip(result["a man"], light(first), strict=True) if is_light
    ] == [outcome for outcome, is_light in zip(first, light(first), strict=True) if is_light], (
        "those that show it keep their place"
    )
    drawn = run.pictures(model, [GROUPS[0].prompt], entry.drawn, 0)[GROUPS[0].prompt]
    assert (entry.share.n, entry.empty) == (entry.drawn, 0)
    assert entry.share.value == pytest.approx(sum(light(drawn)) / entry.drawn)
    (words,) = group_check_warnings([entry], given=False)
    assert (
        f"(perceived gender male): {sum(light(drawn))} of {entry.drawn} images pass; askew leaves out"
        in words
    )
    assert not all(light(result["a nurse"])), "whose name says nothing is not checked"


def test_a_model_that_never_shows_a_group_stops_at_the_limit(run: LiveRun) -> None:
    model = SometimesBright(0.0)
    with pytest.raises(UsageError, match="'a man' has no images from test/pattern: other_group"):
        checked_pictures(run, model, GROUPS, IMAGES, 0, [ByLight()], 0.95)
    assert len(model.requests) == IMAGES * (1 + EXTRA_FACTOR) + IMAGES


def test_places_that_cannot_be_filled_are_missing(run: LiveRun) -> None:
    result, (entry,) = checked_pictures(
        run, SometimesBright(0.1), GROUPS, IMAGES, 0, [ByLight()], 0.95
    )
    gone = [outcome for outcome in result["a man"] if isinstance(outcome, Missing)]
    assert entry.empty == len(gone) > 0
    assert {outcome.reason for outcome in gone} == {"other_group"}
    assert entry.drawn == IMAGES * (1 + EXTRA_FACTOR)
    assert (
        f"{entry.empty} places could not be filled" in group_check_warnings([entry], given=False)[0]
    )


@pytest.mark.parametrize("instruments", [[], [ByLight(blind=True)]])
def test_unlabeled_images_are_kept(run: LiveRun, instruments: list[ByLight]) -> None:
    model = SometimesBright(0.0)
    result, entries = checked_pictures(run, model, GROUPS, IMAGES, 0, instruments, 0.95)
    assert all(isinstance(entry, Picture) for entry in result["a man"])
    assert len(model.requests) == len(GROUPS) * IMAGES
    assert all(isinstance(entry.share, Missing) for entry in entries)
    assert group_check_fact(entries) == ()


class ExistingImages:
    """Images that exist already."""

    name = "folder/given"
    revision = "1"
    warnings = ()

    def __init__(self, folder: Path) -> None:
        self._files = []
        for k, images in enumerate(
            SometimesBright(0.5).generate([Request("", seed) for seed in range(IMAGES)])
        ):
            assert isinstance(images, Image.Image)
            images.save(folder / f"{k}.png")
            self._files.append(FiledPicture(folder / f"{k}.png", "a man", None, None, {}))

    def pictures(self) -> list[FiledPicture]:
        return self._files


def test_existing_images_are_counted_and_kept(run: LiveRun, tmp_path: Path) -> None:
    source = ExistingImages(tmp_path)
    result, (entry,) = checked_pictures(
        run, source, [SocialGroup("a man", "a man")], IMAGES, 0, [ByLight()], 0.95
    )
    assert len(result["a man"]) == IMAGES
    assert 0 < entry.share.value < 0.9
    assert "askew keeps all of them" in group_check_warnings([entry], given=True)[0]


def test_a_dry_run_counts_the_largest_number_of_images(tmp_path: Path) -> None:
    with Store(tmp_path / "store") as store:
        count = CountingRun(store)
        checked_pictures(count, SometimesBright(0.5), GROUPS, IMAGES, 0, [ByLight()], 0.95)
    assert count.work.pictures == len(GROUPS) * IMAGES
    assert count.bounds["further sources"].pictures == EXTRA_FACTOR * IMAGES


def test_the_fact_counts_all_groups() -> None:
    entries = [
        GroupCheck("a", {"gender": "male"}, Estimate(0.5, n=6), 6, 0),
        GroupCheck("b", {}, Estimate(1.0, n=4), 4, 0),
    ]
    assert group_check_fact(entries) == ("7 of 10 input images pass the group check",)
