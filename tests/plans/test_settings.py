"""Settings from options."""

from __future__ import annotations

import pytest

from askew.errors import UsageError
from askew.plans.settings import key_values, pairs


def test_numbers_and_yes_or_no_are_recognised() -> None:
    options = ["steps=12", "bias=0.5", "offload=true", "scheduler=DDIM", "url=a=b"]
    expected = {"steps": 12, "bias": 0.5, "offload": True, "scheduler": "DDIM", "url": "a=b"}
    assert key_values(options, "-M") == expected


def test_a_setting_may_be_empty_and_a_label_may_not() -> None:
    assert key_values(["negative_prompt="], "-M") == {"negative_prompt": ""}
    with pytest.raises(UsageError, match="--alias 'both=' is not of the form NAME=VALUE"):
        pairs(["both="], "--alias")


@pytest.mark.parametrize("text", ["bias", "=1", " =1", ""])
def test_what_has_no_name_or_no_sign_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not of the form NAME=VALUE"):
        key_values([text], "-M")
