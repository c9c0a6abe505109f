"""Small collections of existing images, and audits of them by the command line."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from askew.cli import run

Row = Mapping[str, object]


def noise_image(number: int, side: int = 16) -> Image.Image:
    """Return an image of random pixels, which differ for each number."""
    pixels = np.random.default_rng(number).integers(0, 256, (side, side, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def save_collection(folder: Path, rows: Sequence[Row], name: str = "manifest.csv") -> str:
    """Save different images and their manifest, and return the model that reads them.

    Parameters
    ----------
    folder
        Existing folder.
    rows
        Cells by column. The column `file` names the image.
    name
        Name of the manifest.
    """
    for number, row in enumerate(rows):
        noise_image(number).save(folder / str(row["file"]))
    with (folder / name).open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return f"folder/{folder}"


def labeled_rows(column: str, labels: Iterable[object]) -> list[dict[str, object]]:
    """Return the rows of images of one prompt with these labels in a column."""
    return [
        {"file": f"{number}.png", "prompt": "p", column: label}
        for number, label in enumerate(labels)
    ]


@dataclass(frozen=True)
class Audited:
    """Exit code, text and files of an audit by the command line.

    Attributes
    ----------
    code
        Exit code.
    text
        Standard output and standard error.
    results
        Content of results.json; empty if the audit wrote none.
    page
        Content of report.html; empty if the audit wrote none.
    """

    code: int
    text: str
    results: dict[str, Any]
    page: str

    def counts(self, axis: str, position: int = 0) -> dict[str, int]:
        """Return the counts above 0 of an axis, in the image set at a position."""
        entries = [entry for entry in self.results["shares"] if entry["axis"] == axis]
        return {value: count for value, count in entries[position]["counts"].items() if count}


def audit_collection(
    run_folder: Path, capsys: pytest.CaptureFixture[str], model: str, *options: str
) -> Audited:
    """Audit a collection by people's labels."""
    command = ["audit", "--model", model, "--vqa", "labels", "--run", str(run_folder)]
    code = run([*command, "--bootstrap-samples", "200", *options])
    printed = capsys.readouterr()
    results = run_folder / "results.json"
    page = run_folder / "report.html"
    return Audited(
        code=code,
        text=printed.out + printed.err,
        results=json.loads(results.read_text(encoding="utf-8")) if results.exists() else {},
        page=page.read_text(encoding="utf-8") if page.exists() else "",
    )
