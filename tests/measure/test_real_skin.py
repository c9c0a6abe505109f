"""Skin tone measured on faces of generated photographs orders groups as a person's labels do."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from askew.measure.portraits import (
    CANONICAL,
    FRAME,
    MASKS,
    Face,
    average_face,
    cheek_mask,
    find_face,
)
from askew.measure.skin import ita
from askew.store.imagefile import opened
from askew.types import Missing, Picture

pytestmark = pytest.mark.slow
GROUPS = (("white", "female"), ("black", "female"), ("white", "male"), ("black", "male"))


def number(value: float | Missing) -> float:
    return np.nan if isinstance(value, Missing) else value


def test_skin_of_faces_orders_the_labeled_groups_unlike_full_images(shared: Path) -> None:
    people = shared / "data" / "generated-people"
    with (people / "labels.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["model"] == "sdxl_turbo"]
    whole = {}
    cheeks = {}
    averages = {}
    lines = []
    for group in GROUPS:
        paths = [
            people / row["file"]
            for row in rows
            if (row["race"].strip(), row["gender"].strip()) == group
        ]
        located = [(path, find_face("faces", Picture("", str(path), ""))) for path in paths]
        faces = [(path, face) for path, face in located if isinstance(face, Face)]
        lines.append(f"{' '.join(group)}: a face found in {len(faces)} of {len(paths)}")
        whole[group] = np.nanmean([number(ita(opened(path))) for path in paths])
        images = [(opened(path), face.landmarks) for path, face in faces]
        on_faces = [ita(image, MASKS["geometry"](image, landmarks)) for image, landmarks in images]
        cheeks[group] = np.nanmean([number(tone) for tone in on_faces])
        averages[group] = number(ita(average_face([face.pixels for _, face in faces])))
        on_average = ita(
            average_face([face.pixels for _, face in faces]), cheek_mask((FRAME, FRAME), CANONICAL)
        )
        lines.append(
            f"  whole {whole[group]:.1f}°, average face {averages[group]:.1f}° "
            f"(its cheeks {number(on_average):.1f}°), cheeks {cheeks[group]:.1f}°"
        )
    print("\n".join(lines))
    for by in (cheeks, averages):
        for gender in ("female", "male"):
            assert by["white", gender] > by["black", gender]
    assert whole["white", "female"] < whole["black", "female"], (
        "the rule on whole pictures orders them wrongly"
    )
