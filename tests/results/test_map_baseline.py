"""Scores of a finished run, read back as what they were."""

from __future__ import annotations

import json
from pathlib import Path

from askew.results.file import write_json
from askew.results.map_baseline import restored
from askew.types import Estimate, Missing


def test_what_was_written_comes_back(tmp_path: Path) -> None:
    entry = {
        "miou": Estimate(0.3, 0.2, 0.4, 0.95, "Student's t", 12, p=0.01),
        "blocks": {"mid": Missing("error", "flat"), "up-16": Estimate(0.1, n=1)},
        "pictures": [0.1, 0.5],
        "prompts": [{"prompt": "a nurse", "mbiou": Estimate(0.2)}],
        "nothing": None,
    }
    path = write_json(tmp_path / "one.json", entry)
    assert restored(json.loads(path.read_text())) == entry
