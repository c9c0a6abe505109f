"""What every registered writer of axes and counterfactuals must do."""

from __future__ import annotations

import pytest

from askew import registry
from askew.errors import UnknownName, UsageError
from askew.prompts.base import Writer

WRITERS = ("lexicon",)
PROMPTS = ("a photo of a nurse", "two writers at a lab", "a photo of a cat on a table", "a beautiful day in the park")


def test_every_registered_writer_has_a_case() -> None:
    assert set(registry.providers("llm")) == set(WRITERS)


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("prompt", PROMPTS)
def test_proposals_are_whole_and_repeatable(name: str, prompt: str) -> None:
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
def test_axes_asked_for_are_given_in_order(name: str) -> None:
    proposals = registry.writer(name).propose("a photo of a nurse", ["age", "gender"], 0)
    assert [p.axis.name for p in proposals] == ["age", "gender"]


@pytest.mark.parametrize("name", WRITERS)
def test_bad_requests_are_usage_errors(name: str) -> None:
    with pytest.raises(UnknownName, match="gender"):
        registry.writer(name).propose("a photo of a nurse", ["gendr"], 0)
    with pytest.raises(UsageError):
        registry.writer(name).propose("   ", None, 0)
