"""A mitigation file is held against what it asks, in audits, mitigations and comparisons."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import askew
from askew.cli import run
from askew.mitigations.prompts import Policy, PolicyPart, PromptPolicy
from askew.types import Estimate

PROMPT = "a photo of a nurse"
MALE = "a photo of a male nurse"
FEMALE = "a photo of a female nurse"


def policy(male: str, female: str) -> PromptPolicy:
    """Return a policy that asks for nine men of ten by these texts."""
    parts = (
        PolicyPart(text=male, weight=0.9, says={"gender": "male"}),
        PolicyPart(text=female, weight=0.1, says={"gender": "female"}),
    )
    return PromptPolicy(policies=(Policy(prompt=PROMPT, parts=parts),))


def audit(folder: Path, name: str, mitigation: PromptPolicy | None) -> Path:
    run_folder = folder / name
    command = ["audit", PROMPT, "--model", "studio/planted", "--axes", "gender", "--images", "16"]
    command += ["--run", str(run_folder), "--bootstrap-samples", "100", "--embedder", "none"]
    if mitigation is not None:
        file = folder / f"{name}.toml"
        file.write_text(mitigation.to_toml())
        command += ["--mitigation", str(file)]
    assert run(command) == 0
    return run_folder


MITIGATIONS = {
    "followed": policy(MALE, FEMALE),
    "swapped": policy(FEMALE, MALE),
    "ignored": policy(PROMPT, f"{PROMPT} "),
    "plain": None,
}
Runs = Callable[[str], Path]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Return a function that audits a mitigation at its first call, and returns the run's folder."""
    folder = tmp_path_factory.mktemp("following")
    return cache(lambda name: audit(folder, name, MITIGATIONS[name]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "verdict", "warning"),
    [
        ("followed", "followed", None),
        (
            "swapped",
            "less_than_by_chance",
            "follow the mitigation less often than expected by chance",
        ),
        (
            "ignored",
            "fewer_than_asked",
            "male significantly less often than the mitigation requests",
        ),
    ],
)
def test_an_audit_compares_labels_with_requests(
    runs: Runs, name: str, verdict: str, warning: str | None
) -> None:
    results = json.loads((runs(name) / "results.json").read_text())
    (entry,) = results["following"]
    assert entry["verdict"] == verdict
    assert sum(entry["requested"].values()) == entry["followed"]["n"] == 16
    about_requests = [text for text in results["warnings"] if "mitigation" in text]
    assert bool(about_requests) == (warning is not None)
    if warning:
        assert warning in about_requests[0]
    page = (runs(name) / "report.html").read_text()
    assert "asked male 88\N{NO-BREAK SPACE}%, female 12\N{NO-BREAK SPACE}%; followed" in page


def test_a_model_without_mitigation_has_no_requests(runs: Runs) -> None:
    results = json.loads((runs("plain") / "results.json").read_text())
    assert results["following"] == []
    assert "Requested values" not in (runs("plain") / "report.html").read_text()


@pytest.mark.slow
def test_a_comparison_repeats_the_requests_of_its_runs(runs: Runs, tmp_path: Path) -> None:
    comparison = askew.compare(
        runs("followed"), runs("swapped"), names="followed,swapped", output=tmp_path
    )
    warnings = [text for text in comparison.warnings if "mitigation" in text]
    assert len(warnings) == 1
    assert warnings[0].startswith("swapped: images of")
    page = comparison.report.read_text()
    assert "A, Gender: asked male" in page
    assert "B, Gender: asked male" in page


def test_followed_images_are_counted_among_requested_images(runs: Runs) -> None:
    result = askew.load(runs("swapped"))
    (entry,) = result.findings.following
    assert isinstance(entry.followed, Estimate)
    assert entry.followed.value == 0
    assert entry.requested["male"] == entry.labeled["female"]
