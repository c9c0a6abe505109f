"""Requirements for all registered writers of axes and counterfactuals."""

from __future__ import annotations

import pytest

from askew import registry
from askew.errors import UnknownName, UsageError
from askew.prompts.base import Kind, Writer, simplify

WRITERS = ("lexicon", "lexicon/studio")
SERVER_WRITERS = ("openai",)
"""Writers that need a server; tests/prompts/test_llm_writer.py tests them."""

PROMPTS = (
    "a photo of a nurse",
    "two writers at a lab",
    "a photo of a cat on a table",
    "a beautiful day in the park",
)


def test_every_registered_writer_has_a_case() -> None:
    assert set(registry.providers("llm")) == {*WRITERS, *SERVER_WRITERS}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("prompt", PROMPTS)
def test_proposals_are_complete_and_reproducible(name: str, prompt: str) -> None:
    writer = registry.writer(name)
    assert isinstance(writer, Writer)
    proposals = writer.propose(prompt, None, 7)
    assert proposals
    assert proposals == registry.writer(name).propose(prompt, None, 7)
    assert len({p.axis.name for p in proposals}) == len(proposals)
    for proposal in proposals:
        assert proposal.axis.questions
        assert list(proposal.counterfactuals) == list(proposal.axis.values)
        assert len(set(proposal.counterfactuals.values())) == len(proposal.counterfactuals) >= 2


@pytest.mark.parametrize("name", WRITERS)
def test_requested_axes_keep_their_order(name: str) -> None:
    proposals = registry.writer(name).propose("a photo of a nurse", ["age", "gender"], 0)
    assert [p.axis.name for p in proposals] == ["age", "gender"]


@pytest.mark.parametrize("name", WRITERS)
def test_bad_requests_are_usage_errors(name: str) -> None:
    with pytest.raises(UnknownName, match="gender"):
        registry.writer(name).propose("a photo of a nurse", ["gendr"], 0)
    with pytest.raises(UsageError):
        registry.writer(name).propose("   ", None, 0)


@pytest.mark.parametrize("name", WRITERS)
def test_new_prompts_are_different_and_reproducible(name: str) -> None:
    writer = registry.writer(name, cache=None)
    assert isinstance(writer, Writer)
    prompt = "a photo of a nurse"
    asked: tuple[tuple[Kind, str], ...] = (
        ("random prompts", ""),
        ("mutations", prompt),
        ("variations", prompt),
    )
    written = [writer.write(kind, about, 4, seed=1) for kind, about in asked]
    for texts in written:
        assert len({simplify(text) for text in texts}) == 4
    again = registry.writer(name)
    assert again.fingerprint == writer.fingerprint
    assert [again.write(kind, about, 4, seed=1) for kind, about in asked] == written
    assert again.write("random prompts", "", 4, seed=2) != written[0]


@pytest.mark.parametrize("name", WRITERS)
def test_an_unknown_setting_is_a_usage_error(name: str) -> None:
    with pytest.raises(UsageError, match="url"):
        registry.writer(name, url="http://localhost:1/v1")
