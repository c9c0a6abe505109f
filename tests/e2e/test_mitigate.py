"""askew mitigate, end to end on the planted model: chosen, applied, measured again, and taken by another command."""

from __future__ import annotations

from pathlib import Path

import pytest

import askew
from askew.cli import run as command
from askew.methods.mitigate.findings import MitigationResult
from askew.types import Estimate

NURSE = "a photo of a nurse"


@pytest.fixture(scope="module")
def mitigated(tmp_path_factory: pytest.TempPathFactory) -> MitigationResult:
    run = tmp_path_factory.mktemp("mitigate") / "run"
    return askew.mitigate(
        NURSE, model="studio/planted", axes="gender,clothing", also=["age"], images=24, confirm=64, draws=200, run=run
    )


def test_it_helps_and_says_so(mitigated: MitigationResult) -> None:
    (way,) = mitigated.found.ways
    assert {one.axis for one in way.helped} >= {"gender"}
    assert all(one.aimed == (one.axis in ("gender", "clothing")) for one in way.axes)
    assert way.harmed == []
    assert "nearer to the target on perceived gender" in mitigated.page.answer
    gender = next(one for one in way.axes if one.axis == "gender")
    assert isinstance(gender.obeyed, Estimate)
    assert gender.obeyed.value > 0.9


def test_a_change_is_what_stands_after_less_what_stood_before(mitigated: MitigationResult) -> None:
    (way,) = mitigated.found.ways
    for one in way.axes:
        assert isinstance(one.before, Estimate)
        assert isinstance(one.after, Estimate)
        assert isinstance(one.change, Estimate)
        assert one.change.value == pytest.approx(one.after.mark - one.before.mark)
        assert one.change.low is not None
        assert one.change.high is not None
        assert one.change.low <= one.change.value <= one.change.high


def test_nothing_that_chose_judges(mitigated: MitigationResult) -> None:
    from askew.store.keys import picture_seed

    planned = {picture_seed(0, NURSE, k) for k in range(64)}
    assert planned.isdisjoint(seed for one in mitigated.found.sets for seed in one.seeds)
    before, after = mitigated.found.sets
    assert before.seeds == after.seeds


def test_its_file_is_taken_by_every_command(mitigated: MitigationResult, tmp_path: Path) -> None:
    file = mitigated.file()
    again = askew.audit(
        NURSE, model="studio/planted", axes="gender", images=48, mitigation=file, store=mitigated.store,
        run=tmp_path / "audit",
    )  # fmt: skip
    assert again.found.model.settings["mitigation"] == mitigated.mitigation.fingerprint
    shares = again.found.shares[0].shares
    assert isinstance(shares["female"], Estimate)
    assert 0.3 < shares["female"].value < 0.7
    texts = {mitigated.mitigation.draw(NURSE, 0, k) for k in range(32)}
    assert any("male" in text for text in texts)


def test_a_dry_run_and_the_same_command_again(mitigated: MitigationResult, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["mitigate", NURSE, "--model", "studio/planted", "--axes", "gender,clothing", "--also", "age"]
    options += ["--images", "24", "--confirm", "64", "--draws", "200", "--run", str(mitigated.folder)]
    before = mitigated.numbers.read_bytes()
    assert command([*options, "--dry-run"]) == 0
    assert "at most" in capsys.readouterr().out
    assert command(options) == 0
    assert mitigated.numbers.read_bytes() == before


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ([], "--axes names what is to be mitigated"),
        (["--axes", "gender", "--target", "gender=male:.5,female:.6"], "must be at least 0 and sum to 1"),
        (["--axes", "gender", "--target", "age=young:1"], "targets are of mitigated axes (gender), not age"),
        (["--axes", "gender", "--target", "gender=male"], "is not of the form AXIS=VALUE:SHARE"),
        (["--axes", "gender", "--priority", "gender=high"], "weights are numbers"),
        (["--axes", "gender", "--with", "fair"], "fair"),
        (["--axes", "gender", "--with", "cads"], "studio/planted shows none: use prompts"),
    ],
)
def test_a_wrong_request_is_one_sentence(
    options: list[str], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(["mitigate", NURSE, "--model", "studio/planted", "--run", str(tmp_path / "run"), *options]) == 2
    assert why in capsys.readouterr().err


def test_a_prompt_that_says_it_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["mitigate", "a photo of a male nurse", "--axes", "gender", "--run", str(tmp_path)]) == 2
    assert "states its gender itself" in capsys.readouterr().err


def test_a_plan_gives_the_files_too(mitigated: MitigationResult, tmp_path: Path) -> None:
    again = askew.mitigate(plan=mitigated.folder / "plan.toml", run=tmp_path / "run", store=mitigated.store)
    assert again.file().read_text(encoding="utf-8") == mitigated.file().read_text(encoding="utf-8")


def test_a_setting_of_a_way_that_is_not_tried_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["mitigate", NURSE, "--model", "studio/planted", "--axes", "gender", "--way-arg", "fair-difusion:scale=9"]
    assert command(asked) == 2
    assert "settings are of ways that are tried (prompts), not fair-difusion" in capsys.readouterr().err
