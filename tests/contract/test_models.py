"""Requirements for all registered models and collections. A new provider needs a line in CASES."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from askew import registry
from askew.errors import UnknownName, UsageError
from askew.models.base import Collection, Model, Request
from askew.types import Missing
from local_comfy import WORKFLOW, comfy
from local_llm import serving
from served_models import planted_reply, served
from slow_cases import quick_only

Case = Callable[[Path], tuple[str, dict[str, object]]]

CASES: dict[str, Case] = {
    "studio": lambda folder: ("studio", {"num_inference_steps": 2}),
    "studio/planted": lambda folder: ("studio/planted", {"bias": 0.5}),
    "folder": lambda folder: (f"folder/{folder}", {}),
    "openai": lambda folder: (
        "openai/studio/planted",
        {"url": planted_server(), "seeded": True, "revision": "1"},
    ),
    "hf": lambda folder: (
        "hf/endpoint/planted",
        {"url": planted_endpoint(), "seeded": True, "revision": "1"},
    ),
    "comfyui": lambda folder: (
        f"comfyui/{planted_workflow()}",
        {"workflow": str(WORKFLOW), "prompt_node": 6, "seed_node": 3},
    ),
    "diffusers": lambda folder: (f"diffusers/{tiny_pipeline(folder)}", {"num_inference_steps": 2}),
}
COLLECTIONS = {"folder"}
SERVERS = ExitStack()
GENERATORS = [name for name in CASES if name not in COLLECTIONS]
QUICK = ["studio/planted", "openai"]
"""Models whose images are made in batches of several sizes in the quick suite."""


@pytest.fixture(scope="module", autouse=True)
def _servers_stop() -> Iterator[None]:
    """Stop all servers after the tests. To wait for their threads at exit would take forever."""
    yield
    SERVERS.close()


@cache
def planted_server() -> str:
    """Return the address of a server that runs until the tests end."""
    return SERVERS.enter_context(served("studio/planted")).url


@cache
def planted_endpoint() -> str:
    """Return the address of an endpoint of Hugging Face that runs until the tests end."""
    return SERVERS.enter_context(serving(lambda number, content: planted_reply(content))).url


@cache
def planted_workflow() -> str:
    """Return the address of a server of ComfyUI that runs until the tests end."""
    return SERVERS.enter_context(comfy()).url


def tiny_pipeline(folder: Path) -> Path:
    import tiny_pipelines  # imported here because it imports torch and diffusers

    return tiny_pipelines.save("stable-diffusion", folder / "pipeline")


def load(name: str, folder: Path) -> Model | Collection:
    string, settings = CASES[name](folder)
    return registry.model(string, **settings)


def generator(name: str, folder: Path) -> Model:
    provided = load(name, folder)
    assert isinstance(provided, Model)
    return provided


def test_every_registered_provider_has_a_case() -> None:
    assert set(registry.providers("model")) == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_it_is_a_model_or_a_collection(name: str, drawn_folder: Path) -> None:
    provided = load(name, drawn_folder)
    assert (isinstance(provided, Model), isinstance(provided, Collection)) == (
        name in GENERATORS,
        name in COLLECTIONS,
    )
    assert provided.name.split("/")[0] == name.split("/")[0]
    assert provided.revision
    assert provided.revision == load(name, drawn_folder).revision


@pytest.mark.parametrize("name", CASES)
def test_an_unknown_setting_is_a_usage_error(name: str, drawn_folder: Path) -> None:
    string, settings = CASES[name](drawn_folder)
    with pytest.raises(UsageError, match="nonsense"):
        registry.model(string, **settings, nonsense=1)


@pytest.mark.parametrize("name", quick_only(QUICK, GENERATORS))
def test_images_depend_on_the_request_only(name: str, drawn_folder: Path) -> None:
    """Images are equal in a batch of any size and order, and after loading the model again."""
    texts = ("a photo of a nurse", "a photo of a chef")
    seeds = (5, 2**62, 3)
    requests = [Request(text, seed) for seed in seeds for text in texts]
    ordered = sorted(requests, key=lambda request: (request.prompt, request.seed))
    whole = dict(zip(ordered, generator(name, drawn_folder).generate(ordered), strict=True))
    for size in (1, 4):
        again = generator(name, drawn_folder)
        for start in range(0, len(requests), size):
            part = requests[start : start + size]
            for request, image in zip(part, again.generate(part), strict=True):
                there = whole[request]
                assert not isinstance(image, Missing)
                assert not isinstance(there, Missing)
                assert image.mode == "RGB"
                assert np.abs(np.asarray(image, int) - np.asarray(there, int)).max() <= 1, request


@pytest.mark.parametrize("name", GENERATORS)
def test_settings_are_scalars_that_change_the_image(name: str, drawn_folder: Path) -> None:
    model = generator(name, drawn_folder)
    assert all(isinstance(value, str | int | float | bool) for value in model.settings.values())
    assert isinstance(model.unknown_words("a photo of a nurse"), list)
    assert model.batch_size >= 1


def test_a_collection_names_its_files(drawn_folder: Path) -> None:
    for name in COLLECTIONS:
        provided = load(name, drawn_folder)
        assert isinstance(provided, Collection)
        assert [filed.path.exists() for filed in provided.pictures()] == [True] * 8
        assert {filed.prompt for filed in provided.pictures()} == {"a nurse"}


def test_an_unknown_model_names_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="studio/planted"):
        registry.model("studio/plantd")
