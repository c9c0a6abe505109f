"""Checkpoints are watched as they appear, and the biased one is named."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import askew
from askew.cli import run
from askew.errors import CheckFailed, UsageError
from askew.studies.watch.checkpoints import checkpoints_in

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "watch-checkpoints.md"
PROMPT = "a photo of a mechanic"
SETTINGS = {
    "model": "studio/planted",
    "model_args": {"bias": "{name}"},
    "axes": "gender",
    "pattern": "[0-9]*",
    "bootstrap_samples": 100,
}
"""A file's name is the bias of the planted model."""


def add(folder: Path, *names: str) -> None:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).touch()


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("watch")


def watch(series: Path, **settings: object) -> askew.Watch:
    return askew.watch(
        series / "checkpoints", PROMPT, **{**SETTINGS, "run": series / "run", **settings}
    )


def test_only_the_biased_checkpoint_raises_an_alarm(
    series: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add(series / "checkpoints", "0.0", "0.00")
    watched = watch(series)
    assert [checkpoint.name for checkpoint in watched.checkpoints] == ["0.0", "0.00"]
    assert watched.alarms == ()
    add(series / "checkpoints", "1.0")
    written = (series / "run" / "0.0" / "results.json").stat().st_mtime_ns
    with pytest.raises(CheckFailed, match=r"^1\.0 differs from 0\.0 on gender") as failed:
        watch(series)
    assert failed.value.code == 3
    assert (series / "run" / "0.0" / "results.json").stat().st_mtime_ns == written
    (alarm,) = failed.value.result.alarms
    assert "mechanic" in alarm
    assert f"askew compare {series / 'run' / '0.0'} {series / 'run' / '1.0'}" in alarm
    command = ["watch", str(series / "checkpoints"), PROMPT, "--model", "studio/planted"]
    command += ["-M", "bias={name}", "--axes", "gender", "--pattern", "[0-9]*"]
    command += ["--bootstrap-samples", "100", "--run", str(series / "run")]
    assert run(command) == 3
    shown = capsys.readouterr()
    assert re.search(r"1\.0 +gender a photo of a.* male +50.%\s+100.%\s+12 of 24", shown.out)
    assert "askew: 1.0 differs from 0.0" in shown.err


@pytest.mark.slow
def test_checkpoints_that_a_training_deletes_stay_in_the_series(tmp_path: Path) -> None:
    """Audits that are finished are loaded, not repeated."""
    add(tmp_path / "checkpoints", "0.0")
    watch(tmp_path)
    (tmp_path / "checkpoints" / "0.0").unlink()
    add(tmp_path / "checkpoints", "1.0")
    with pytest.raises(CheckFailed, match=r"^1\.0 differs from 0\.0"):
        watch(tmp_path, model_args={"bias": 1.0})
    (tmp_path / "checkpoints" / "1.0").unlink()
    with pytest.raises(CheckFailed, match=r"^1\.0 differs from 0\.0"):
        watch(tmp_path, model="diffusers/{checkpoint}", model_args={})


def test_levels_get_smaller_so_that_watching_may_go_on(series: Path) -> None:
    with pytest.raises(CheckFailed) as failed:
        watch(series)
    levels = [checkpoint.level for checkpoint in failed.value.result.checkpoints]
    assert levels == pytest.approx([0, 0.05 / 2, 0.05 / 6])  # one axis


def test_a_changed_checkpoint_is_refused(series: Path) -> None:
    (series / "checkpoints" / "1.0").write_text("other weights")
    with pytest.raises(UsageError, match=r"'1\.0' has changed since it was watched"):
        watch(series)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": 1.5}, "--alpha 1.5 is out of range"),
        ({"interval": 0}, "--interval 0 is out of range"),
        ({"pattern": None}, "contains no checkpoint.*--pattern"),
    ],
)
def test_wrong_requests_are_errors_of_one_sentence(
    settings: dict[str, object], message: str, tmp_path: Path
) -> None:
    add(tmp_path / "checkpoints", "0.0")
    with pytest.raises(UsageError, match=message):
        watch(tmp_path, **settings)
    with pytest.raises(UsageError, match="there is no folder"):
        watch(tmp_path / "nowhere")


def test_images_without_seeds_are_refused(tmp_path: Path) -> None:
    add(tmp_path / "checkpoints", "epoch-1")
    with pytest.raises(UsageError, match="have no seeds"):
        askew.watch(tmp_path / "checkpoints", model="folder/{checkpoint}", pattern="epoch-*")


def test_checkpoints_are_in_natural_order_and_complete(tmp_path: Path) -> None:
    for number in (1000, 500, 20):
        (tmp_path / f"checkpoint-{number}").mkdir()
        (tmp_path / f"checkpoint-{number}" / "model_index.json").touch()
    (tmp_path / "unfinished").mkdir()
    (tmp_path / "lora-3.safetensors").touch()
    (tmp_path / "notes.txt").touch()
    names = [entry.name for entry in checkpoints_in(tmp_path, None)]
    assert names == ["checkpoint-20", "checkpoint-500", "checkpoint-1000", "lora-3.safetensors"]


@pytest.mark.slow
def test_a_checkpoint_that_appears_later_ends_the_watching(tmp_path: Path) -> None:
    """It is audited once its files no longer change."""
    add(tmp_path / "checkpoints", "0.0")

    def appear() -> None:
        deadline = time.monotonic() + 60
        while not (tmp_path / "run" / "0.0" / "results.json").exists():
            if time.monotonic() > deadline:
                return
            time.sleep(0.05)
        add(tmp_path / "checkpoints", "1.0")

    thread = threading.Thread(target=appear, daemon=True)
    thread.start()
    with pytest.raises(CheckFailed, match=r"^1\.0 differs"):
        watch(tmp_path, interval=0.2)
    thread.join()


@pytest.mark.slow
def test_the_callback_of_the_page_works(
    tiny: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from diffusers import StableDiffusionPipeline

    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    code = re.sub(r'vqa="[^"]+"', 'vqa="studio"', code).replace("images=24", "images=3")
    names: dict[str, Callable[..., None]] = {}
    exec(code, names)  # noqa: S102
    pipeline = StableDiffusionPipeline.from_pretrained(
        tiny("stable-diffusion"), use_safetensors=True
    )
    for step in (500, 1000):
        names["save_and_watch"](pipeline, step)
    assert sorted(path.name for path in Path("runs/watch-checkpoints").glob("checkpoint-*")) == [
        "checkpoint-1000",
        "checkpoint-500",
    ]
