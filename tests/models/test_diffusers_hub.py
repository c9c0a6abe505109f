"""Pipelines from the Hugging Face Hub: the real client with a local hub, and offline."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import huggingface_hub
import pytest
import torch

import local_hub
from askew.cli import run
from askew.errors import ModelError, UsageError
from askew.models.base import Request
from askew.models.diffusers import create, loading
from askew.models.diffusers.loading import weights_bytes
from askew.models.diffusers.model import DiffusersModel
from askew.types import Missing
from local_hub import LocalHub, use

Saved = Callable[[str], Path]
UNREACHABLE = "http://127.0.0.1:9"
PRIOR = "kandinsky-community/kandinsky-2-2-prior"
ABSENT = "^'some/model' is not on this machine, and the Hugging Face Hub cannot be reached"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LocalHub]:
    with local_hub.serve() as served:
        use(monkeypatch, served.url, tmp_path / "cache")
        yield served


def test_a_repository_is_loaded_at_its_commit_and_reused_offline(
    tiny: Saved,
    hub: LocalHub,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    hub.repositories["some/model"] = tiny("stable-diffusion")
    capfd.readouterr()
    hub_model = create("some/model", num_inference_steps=2)
    assert hub_model.name == "diffusers/some/model"
    assert hub_model.revision == hub.commit("some/model")
    assert not any(path.endswith(".safetensors") for path in hub.paths), (
        "weights wait until they are needed"
    )
    (image,) = hub_model.generate([Request("a nurse", 1)])
    (local,) = DiffusersModel(tiny("stable-diffusion"), num_inference_steps=2).generate(
        [Request("a nurse", 1)]
    )
    assert not isinstance(image, Missing)
    assert not isinstance(local, Missing)
    assert image.tobytes() == local.tobytes()
    assert capfd.readouterr() == ("", "")
    use(monkeypatch, UNREACHABLE, tmp_path / "cache")
    again = create("some/model", num_inference_steps=2)
    assert again.revision == hub_model.revision
    assert again.generate([Request("a nurse", 1)]) == [image]
    assert "Retrying" not in capfd.readouterr().err, (
        "the client would wait half a minute between its attempts"
    )


def test_settings_come_from_the_repository_that_was_found(
    tiny: Saved, hub: LocalHub, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(tiny("flux"), tmp_path / "copy"))
    config = folder / "transformer" / "config.json"
    without_guidance = json.loads(config.read_text()) | {"guidance_embeds": False}
    config.write_text(json.dumps(without_guidance))
    hub.repositories["some/copy"] = folder
    of_schnell = {"num_inference_steps": 4, "guidance_scale": 0.0, "max_sequence_length": 256}
    assert create("some/copy").settings == create(str(folder)).settings
    assert create("some/copy").settings.items() >= of_schnell.items()


def test_the_revision_is_passed_on(tiny: Saved, hub: LocalHub) -> None:
    hub.repositories["some/model"] = tiny("stable-diffusion")
    commit = hub.commit("some/model")
    assert create("some/model", revision=commit).revision == commit
    with pytest.raises(UsageError, match="no such revision"):
        create("some/model", revision="v9")


def test_a_decoder_is_loaded_with_the_prior_that_its_card_names(
    tiny: Saved, hub: LocalHub, tmp_path: Path
) -> None:
    """The settings recommended for Kandinsky 2.2 apply to the decoder's ID."""
    whole = tiny("kandinsky")
    decoder = tmp_path / "decoder"
    prior = tmp_path / "prior"
    split_kandinsky(whole, decoder, prior)
    name = "kandinsky-community/kandinsky-2-2-decoder"
    hub.repositories |= {name: decoder, PRIOR: prior}
    small = {"height": 32, "width": 32, "num_inference_steps": 2, "prior_num_inference_steps": 2}
    hub_model = create(name, **small)
    assert hub_model.revision == "+".join(hub.commit(part) for part in hub.repositories)
    assert hub_model.settings["negative_prompt"] == "low quality, bad quality"
    assert hub_model.settings["prior_guidance_scale"] == 1.0
    local = DiffusersModel(whole, **{**hub_model.settings, **small})
    (image,) = hub_model.generate([Request("a nurse", 1)])
    (expected,) = local.generate([Request("a nurse", 1)])
    assert not isinstance(image, Missing)
    assert not isinstance(expected, Missing)
    assert image.tobytes() == expected.tobytes()


@pytest.fixture
def decoder(tiny: Saved, hub: LocalHub, tmp_path: Path) -> str:
    """Return the ID of a decoder whose prior is in another repository; both are folders."""
    split_kandinsky(tiny("kandinsky"), tmp_path / "decoder", tmp_path / "prior")
    hub.repositories |= {"some/decoder": tmp_path / "decoder", PRIOR: tmp_path / "prior"}
    return "some/decoder"


def test_the_memory_of_a_prior_counts(
    decoder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [
        file for part in ("decoder", "prior") for file in (tmp_path / part).rglob("*.safetensors")
    ]
    needed = sum(weights_bytes(file, torch.float32) for file in files)
    monkeypatch.setattr(loading, "free_bytes", lambda device: needed - 1)
    with pytest.raises(ModelError, match="not enough memory"):
        create(decoder).pipeline  # noqa: B018


def test_a_prior_that_cannot_be_loaded_safely_is_named(
    decoder: str, hub: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = tmp_path / "prior" / "text_encoder" / "model.safetensors"
    weights.rename(weights.with_suffix(".bin"))
    with pytest.raises(
        UsageError, match=f"^the text_encoder of {PRIOR!r} has no weights in the safetensors format"
    ):
        create(decoder)
    index = tmp_path / "prior" / "model_index.json"
    index.write_text(json.dumps(json.loads(index.read_text()) | {"prior": ["mine", "MyPrior"]}))
    use(monkeypatch, hub.url, tmp_path / "another cache")
    with pytest.raises(
        UsageError, match=f"^{PRIOR!r} needs code from its own repository for prior"
    ):
        create(decoder)


def split_kandinsky(whole: Path, decoder: Path, prior: Path) -> None:
    """Write the combined pipeline as the two repositories in which it is published."""
    index = json.loads((whole / "model_index.json").read_text())
    parts = {name: value for name, value in index.items() if not name.startswith("_")}
    for folder, kind, targets in (
        (decoder, "KandinskyV22Pipeline", {n: n for n in parts if not n.startswith("prior_")}),
        (
            prior,
            "KandinskyV22PriorPipeline",
            {n: n.removeprefix("prior_") for n in parts if n.startswith("prior_")},
        ),
    ):
        for name, target in targets.items():
            shutil.copytree(whole / name, folder / target)
        listed = {target: parts[name] for name, target in targets.items()}
        (folder / "model_index.json").write_text(json.dumps({"_class_name": kind, **listed}))
    (decoder / "README.md").write_text(f"---\nprior:\n- {PRIOR}\n---\n")


def test_errors_of_loading_state_the_reason_and_the_remedy(
    tiny: Saved, hub: LocalHub, tmp_path: Path
) -> None:
    hub.gated.add("some/gated")
    with pytest.raises(UsageError, match=r"is gated; accept its terms at .* `hf auth login`"):
        create("some/gated")
    with pytest.raises(UsageError, match=r"there is no 'some/typo'.*check the spelling"):
        create("some/typo")
    with pytest.raises(UsageError, match="there is no 'a b/c'"):
        create("a b/c")
    hub.repositories["some/text-model"] = tiny("stable-diffusion") / "text_encoder"
    with pytest.raises(UsageError, match=r"contains no model_index.json"):
        create("some/text-model")
    pickled = shutil.copytree(tiny("stable-diffusion"), tmp_path / "pickled")
    weights = pickled / "unet" / "diffusion_pytorch_model.safetensors"
    weights.rename(weights.with_suffix(".bin"))
    hub.repositories["some/pickled"] = pickled
    with pytest.raises(
        UsageError, match="the unet of 'some/pickled' has no weights in the safetensors format"
    ):
        create("some/pickled")
    assert not any(path.endswith((".bin", ".safetensors")) for path in hub.paths)


def test_a_missing_network_is_reported_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, UNREACHABLE, tmp_path)
    with pytest.raises(ModelError, match=ABSENT):
        create("some/model")
    assert "Retrying" not in capfd.readouterr().err


@pytest.fixture
def dropped(
    tiny: Saved, hub: LocalHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> DiffusersModel:
    """Return a model whose small files a dry run loaded before the network failed."""
    hub.repositories["some/model"] = tiny("stable-diffusion")
    hub_model = create("some/model")
    use(monkeypatch, UNREACHABLE, tmp_path / "cache")
    return hub_model


def test_a_model_of_a_dry_run_does_not_count_as_downloaded(dropped: DiffusersModel) -> None:
    again = create("some/model")
    assert again.revision == dropped.revision
    with pytest.raises(ModelError, match=ABSENT):
        again.pipeline  # noqa: B018


def test_a_network_failure_before_the_weights_is_reported(dropped: DiffusersModel) -> None:
    with pytest.raises(ModelError, match=ABSENT):
        dropped.pipeline  # noqa: B018


def test_an_interrupted_download_is_reported_offline(
    dropped: DiffusersModel, tiny: Saved, tmp_path: Path
) -> None:
    (snapshot,) = (tmp_path / "cache").glob("models--some--model/snapshots/*")
    for part in ("vae", "scheduler"):
        shutil.copytree(tiny("stable-diffusion") / part, snapshot / part, dirs_exist_ok=True)
    with pytest.raises(ModelError, match=ABSENT):
        create("some/model").pipeline  # noqa: B018


def test_files_that_were_downloaded_singly_are_used_offline(
    tiny: Saved, hub: LocalHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Other programs and older clients of the Hub leave files without a list of all files."""
    hub.repositories["some/model"] = folder = tiny("stable-diffusion")
    for path in filter(Path.is_file, folder.rglob("*")):
        huggingface_hub.hf_hub_download("some/model", path.relative_to(folder).as_posix())
    use(monkeypatch, UNREACHABLE, tmp_path / "cache")
    assert create("some/model", num_inference_steps=1).pipeline


def test_the_command_line_ends_with_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, UNREACHABLE, tmp_path)
    assert run(["audit", "a nurse", "--model", "diffusers/stabilityai/sdxl-turbo"]) == 1
    output, errors = capfd.readouterr()
    assert errors.startswith("askew: 'stabilityai/sdxl-turbo' is not on this machine")
    assert errors.count("\n") == 1
    assert not output
