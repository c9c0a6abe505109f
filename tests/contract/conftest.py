"""A small folder of drawings with a manifest and labels, and their records."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from askew.store.files import sha256
from askew.studio.drawing import draw
from askew.studio.scene import ATTRIBUTES, Scene
from askew.types import Picture

COUNT = 8


@pytest.fixture(scope="session")
def scenes() -> list[Scene]:
    """Return eight nurses that differ in gender and age, all in color."""
    genders = ATTRIBUTES["gender"]
    ages = ATTRIBUTES["age"]
    return [Scene(gender=genders[i % 2], age=ages[i % 3], occupation="nurse") for i in range(COUNT)]


@pytest.fixture(scope="session")
def drawn_folder(tmp_path_factory: pytest.TempPathFactory, scenes: list[Scene]) -> Path:
    folder = tmp_path_factory.mktemp("drawn")
    with (folder / "manifest.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["file", "prompt", "gender"])
        for i, scene in enumerate(scenes):
            draw(scene, i).save(folder / f"{i}.png")
            rows.writerow([f"{i}.png", "a nurse", scene.gender])
    return folder


@pytest.fixture(scope="session")
def pictures(drawn_folder: Path) -> list[Picture]:
    paths = sorted(drawn_folder.glob("*.png"))
    return [
        Picture(sha256(path.read_bytes()), str(path), "a nurse", source=str(path)) for path in paths
    ]
