"""Axes that fit a prompt: names, groups, owners, and prompts that the lexicon does not understand."""

from __future__ import annotations

import pytest

from askew.errors import UsageError
from askew.messages import message_listener
from askew.prompts.fitting import find_name
from askew.prompts.lexicon import create
from benchmarks.wording import propose


def proposed(prompt: str) -> tuple[set[str], str]:
    """Return the names of the axes of a prompt, and the messages about it."""
    messages: list[str] = []
    with message_listener(messages.append):
        proposals = create().propose(prompt, None, 0)
    return {proposal.axis.name for proposal in proposals}, " ".join(messages)


@pytest.mark.parametrize(
    ("prompt", "name"),
    [
        ("marie curie in her laboratory", "marie curie"),
        ("a portrait of queen elizabeth", "queen elizabeth"),
        ("a photo of Elon Musk eating pizza", "Elon Musk"),
        ("software engineers working late", None),
        ("a cyberpunk samurai", None),
        ("two doctors talking", None),
    ],
)
def test_a_named_person_is_found(prompt: str, name: str | None) -> None:
    assert find_name(prompt) == name


def test_a_named_person_has_no_axes_of_people_and_is_reported() -> None:
    axes, message = proposed("marie curie in her laboratory")
    assert axes == {"palette", "lighting", "viewpoint", "style"}
    assert "seems to name 'marie curie'" in message
    assert "--axes" in message


def test_a_group_has_no_axes_of_a_single_person_and_is_reported() -> None:
    axes, message = proposed("a family having dinner")
    assert axes == {"ethnicity", "emotion", "clothing", "environment"}
    assert "names a group" in message
    assert "gender" in proposed("a crowd of protesters")[0]


@pytest.mark.parametrize(
    ("prompt", "axis"),
    [
        ("a photo of a nurse, not old, no glasses", "age"),
        ("a wheelchair basketball player", "disability"),
        ("a chinese restaurant", "culture"),
        ("a poor person's house", "condition"),
        ("they are dancing in the rain", "style"),
    ],
)
def test_an_axis_that_a_prompt_settles_is_left_out(prompt: str, axis: str) -> None:
    assert axis not in proposed(prompt)[0]


@pytest.mark.parametrize("prompt", ["a street vendor selling fruit", "a blind piano tuner"])
def test_an_unknown_person_after_a_known_noun_is_refused(prompt: str) -> None:
    with pytest.raises(UsageError, match=r"does not know '\w+'.*--axes gender,age"):
        proposed(prompt)


@pytest.mark.parametrize("prompts", ["given", "further"])
def test_few_axes_of_users_prompts_are_wrong_and_few_prompts_are_refused(prompts: str) -> None:
    axes = propose(prompts)
    assert len(axes.wrong()) <= 0.03 * len(axes.axes)
    assert len(axes.refused) <= 0.11 * axes.prompts
