"""Instruments from the Hugging Face Hub: the real client with a local hub, and offline."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

import local_hub
import tiny_networks
from askew import registry
from askew.errors import ModelError, UsageError
from askew.measure import loading
from askew.types import Picture, Question
from local_hub import LocalHub, use

UNREACHABLE = "http://127.0.0.1:9"
WHERE = Question("Where?", ("north", "south"), "where")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LocalHub]:
    with local_hub.serve() as served:
        use(monkeypatch, served.url, tmp_path / "cache")
        forget()
        yield served
    forget()


def forget() -> None:
    """Clear the state of the client, as in a new process."""
    loading.shared.cache_clear()


@pytest.fixture
def picture(tmp_path: Path) -> Picture:
    Image.radial_gradient("L").convert("RGB").save(tmp_path / "0.png")
    return Picture("0", str(tmp_path / "0.png"), "a disk")


def test_token_embeddings_are_read_only_from_files_that_are_here(
    hub: LocalHub, tmp_path: Path
) -> None:
    hub.repositories["some/network"] = tiny_networks.clip(tmp_path / "network")
    embedder: Any = registry.embedder("clip/some/network")
    assert embedder.token_embeddings() is None
    assert not any(path.endswith(".safetensors") for path in hub.paths)
    expected = embedder.text_tower()[0].text_model.get_input_embeddings().weight
    assert torch.equal(embedder.token_embeddings(), expected)


@pytest.mark.parametrize("provider", ["clip", "transformers"])
def test_a_repository_is_loaded_at_its_commit_and_reused_offline(
    provider: str, hub: LocalHub, picture: Picture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = {"clip": tiny_networks.clip, "transformers": tiny_networks.qwen}[provider](
        tmp_path / "network"
    )
    hub.repositories["some/network"] = folder
    vqa = registry.vqa(f"{provider}/some/network")
    assert hub.commit("some/network") in vqa.fingerprint
    assert not any(path.endswith(".safetensors") for path in hub.paths), (
        "weights wait until they are needed"
    )
    answers = vqa.answer([picture], [WHERE])
    assert answers == registry.vqa(f"{provider}/{folder}").answer([picture], [WHERE])
    use(monkeypatch, UNREACHABLE, tmp_path / "cache")
    forget()
    again = registry.vqa(f"{provider}/some/network")
    assert again.fingerprint == vqa.fingerprint
    assert again.answer([picture], [WHERE]) == answers


def test_errors_of_loading_state_the_reason_and_the_remedy(hub: LocalHub, tmp_path: Path) -> None:
    hub.gated.add("some/gated")
    with pytest.raises(UsageError, match=r"is gated; accept its terms at .* `hf auth login`"):
        registry.embedder("clip/some/gated")
    with pytest.raises(UsageError, match=r"there is no 'some/typo'.*check the spelling"):
        registry.vqa("transformers/some/typo")
    with pytest.raises(UsageError, match="there is no folder '/no/such/folder'"):
        registry.embedder("clip//no/such/folder")
    hub.repositories["some/network"] = tiny_networks.clip(tmp_path / "network")
    with pytest.raises(UsageError, match="no such revision"):
        registry.embedder("clip/some/network", revision="v9")


def test_only_safetensors_and_no_code_are_loaded(hub: LocalHub, tmp_path: Path) -> None:
    pickled = tiny_networks.clip(tmp_path / "pickled")
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    hub.repositories["some/pickled"] = pickled
    for name in ("some/pickled", str(pickled)):
        with pytest.raises(
            UsageError, match=r"no weights in the safetensors format.*save_pretrained"
        ):
            registry.embedder(f"clip/{name}")
    assert not any(path.endswith(".bin") for path in hub.paths)
    coded = tiny_networks.clip(tmp_path / "coded")
    config = json.loads((coded / "config.json").read_text())
    config |= {
        "model_type": "own",
        "auto_map": {"AutoConfig": "own.Config", "AutoModel": "own.Model"},
    }
    (coded / "config.json").write_text(json.dumps(config))
    (coded / "own.py").write_text("raise SystemExit('code of a repository ran')")
    with pytest.raises(UsageError, match="askew does not run such code"):
        registry.embedder(f"clip/{coded}")


@pytest.mark.parametrize(
    ("lacking", "message"),
    [
        ("config.json", "cannot be loaded by transformers .*model_type"),
        ("tokenizer.json", "has no tokenizer"),
        ("preprocessor_config.json", "cannot be loaded by transformers .*image processor"),
    ],
)
def test_an_incomplete_network_is_refused(lacking: str, message: str, tmp_path: Path) -> None:
    for name, write in {"clip": tiny_networks.clip, "transformers": tiny_networks.qwen}.items():
        folder = write(tmp_path / name)
        (folder / lacking).unlink()
        with pytest.raises(UsageError, match=message):
            registry.vqa(f"{name}/{folder}")


@pytest.mark.parametrize("damaged", ["config.json", "tokenizer.json", "preprocessor_config.json"])
def test_a_damaged_file_is_named(damaged: str, tmp_path: Path) -> None:
    for name, write in {"clip": tiny_networks.clip, "transformers": tiny_networks.qwen}.items():
        folder = write(tmp_path / name)
        (folder / damaged).write_text(
            '{"version": "1.0", "model": 3}' if damaged == "tokenizer.json" else "{"
        )
        with pytest.raises(UsageError, match="cannot be loaded by transformers"):
            registry.vqa(f"{name}/{folder}")


@pytest.mark.skipif(find_spec("sentencepiece") is not None, reason="the package is installed")
def test_a_package_that_a_network_needs_is_named(tmp_path: Path) -> None:
    folder = tiny_networks.siglip(tmp_path)
    (folder / "tokenizer.json").rename(folder / "spiece.model")
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "SiglipTokenizer"}')
    with pytest.raises(
        UsageError, match="needs a package that is not installed: pip install sentencepiece"
    ):
        registry.embedder(f"clip/{folder}")


def test_a_missing_network_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use(monkeypatch, UNREACHABLE, tmp_path)
    with pytest.raises(
        ModelError, match=r"'some/network' is not on this machine, and the .* Hub cannot be reached"
    ):
        registry.vqa("transformers/some/network")


def test_damaged_weights_are_reported(tmp_path: Path, picture: Picture) -> None:
    damaged = shutil.copytree(tiny_networks.clip(tmp_path / "network"), tmp_path / "damaged")
    weights = damaged / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(
        ModelError, match=r"weights of .* are damaged; delete them and download them again"
    ):
        registry.embedder(f"clip/{damaged}").embed_pictures([picture])
