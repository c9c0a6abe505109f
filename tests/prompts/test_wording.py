"""The words of prompts, and what is learnt of them."""

from __future__ import annotations

import pytest

from askew.prompts.wording import WordEffects, content_words, essence

LOSSES = {"an old nurse": 1.0, "a young nurse": 1.1, "an old chef": 1.2, "a young chef": 1.3, "an old pilot": 1.0,
          "a young pilot": 1.1}  # fmt: skip


def test_near_duplicates_have_the_same_essence() -> None:
    assert essence("A nurse, in the park") == essence("park with a nurse")
    assert content_words("A nurse in the Park") == ["nurse", "park"]


def test_every_word_has_its_part_in_what_is_expected() -> None:
    found = WordEffects.learned(LOSSES)
    assert found.expected("an old nurse in a park") == found.expected("the old nurse")
    assert found.effects["old"] == pytest.approx(-found.effects["young"])
    assert found.expected("an old nurse") < found.expected("a young nurse") < found.expected("a young chef")
    assert found.expected("a red house") == found.base


def test_losses_in_another_order_say_the_same() -> None:
    found, again = WordEffects.learned(LOSSES), WordEffects.learned(dict(reversed(LOSSES.items())))
    assert {text: again.expected(text) for text in LOSSES} == pytest.approx(
        {text: found.expected(text) for text in LOSSES}
    )
