"""Devices and number formats that this machine supports, and errors for those it does not."""

from __future__ import annotations

import pytest
import torch

from askew.errors import UsageError
from askew.models.device import choose_device, choose_dtype, dtype_name


def test_the_device_is_chosen_automatically_unless_given() -> None:
    assert choose_device("cpu") == torch.device("cpu")
    chosen = choose_device()
    assert (chosen.type == "cpu") == (
        not torch.cuda.is_available() and not torch.backends.mps.is_available()
    )


def test_a_cpu_computes_in_float32() -> None:
    assert choose_dtype("auto", torch.device("cpu")) == torch.float32
    assert choose_dtype("bfloat16", torch.device("cpu")) == torch.bfloat16
    assert dtype_name(choose_dtype("float16")) == "float16"


@pytest.mark.parametrize("name", ["abacus", "cpu:first", "cuda:99", ""])
def test_a_missing_device_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="this machine has no device"):
        choose_device(name)


def test_an_unknown_format_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"unknown dtype 'half'.*auto, bfloat16, float16, float32"):
        choose_dtype("half")
