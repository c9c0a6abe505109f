"""Invented attention, and the studio model's in a small study, is compared with drawings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from askew.parts.scoring import Scoring
from benchmarks.attention_truth import ALL, Localization, faithfulness, study, with_sum
from benchmarks.drawn_attention import SAID, Drawings, said_words
from benchmarks.marked_page import update

SCORING = Scoring("studio", draws=100)
CHOSEN = ("gender", "environment")


@pytest.fixture(scope="module")
def drawings() -> Drawings:
    return Drawings.make(6)


def test_the_words_of_a_caption_that_state_a_value() -> None:
    words = {
        "gender": "female",
        "ethnicity": "black",
        "environment": "outdoors",
        "glasses": "no glasses",
    }
    results = [said_words(attribute, value) for attribute, value in words.items()]
    assert results == ["female", "african american", "outdoors", "without glasses"]
    assert said_words("occupation", "nurse") == "nurse"


def test_attention_to_the_true_region_counts_and_to_another_does_not(drawings: Drawings) -> None:
    regions = {name: drawings.regions(name) for name in CHOSEN}
    true = {
        name: {ALL: np.stack([region.astype(float)] * 2, axis=1)}
        for name, region in regions.items()
    }
    localization = Localization(true, regions, SCORING)
    for entry in localization.by_attribute().values():
        assert entry.overlap.value == 1
        assert entry.pointing.value == 1
        assert entry.beyond is not None
        assert entry.beyond.value > 0.3
    assert localization.by_timestep((1, 2))["2"].pointing.n == 2 * len(drawings.scenes)
    swapped = {a: true[b] for a, b in zip(CHOSEN, reversed(CHOSEN), strict=True)}
    for entry in Localization(swapped, regions, SCORING).by_attribute().values():
        assert entry.overlap.value < 0.6
        assert entry.beyond is not None
        assert entry.beyond.value < 0


def test_a_value_is_labeled_from_its_region(drawings: Drawings) -> None:
    from askew.measure.studio import StudioVQA

    regions = drawings.regions("environment")
    result = faithfulness(StudioVQA(), drawings, "environment", regions.astype(float), regions)
    assert result.whole.value == 1
    assert result.region.value == 1
    assert result.mask[10].value >= result.rest[10].value


def test_blocks_and_their_sum() -> None:
    layers = {
        "down-1": np.ones((2, 3, 4, 4)),
        "mid-1": np.ones((2, 3, 2, 2)),
        "up-1": np.ones((2, 3, 4, 4)),
    }
    result = with_sum(layers)
    assert list(result) == ["down-4", "mid", "up-4", ALL]
    assert (result[ALL] == 2).all()


@pytest.mark.slow
def test_the_study_of_the_studio_model_runs(tmp_path: Path) -> None:
    lines = study("studio", 4, SCORING)
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n<!-- studio -->\nold\n<!-- end -->\nafter\n")
    update(page, "studio", lines)
    text = page.read_text()
    assert text.endswith("<!-- end -->\nafter\n")
    assert "old" not in text
    assert "nan" not in text
    assert all(f"| {name.replace('_', ' ')} |" in text for name in SAID)
    update(page, "studio", lines)
    assert page.read_text() == text
    with pytest.raises(ValueError, match="no place for studio/balanced"):
        update(page, "studio/balanced", lines)
