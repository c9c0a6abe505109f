"""Devices and number formats that this machine supports, and errors for those it does not."""

from __future__ import annotations

import json

import pytest
import torch

from askew.errors import UsageError
from askew.models.device import choose_device, choose_dtype, dtype_name
from askew.models.facts import remember_facts
from askew.models.hardware import Hardware, hardware_of_workers, local_hardware


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


WORKERS = Hardware(kinds=("cuda", "cpu"), gpus=2, has_bfloat16=True)


def test_automatic_settings_are_those_of_the_workers() -> None:
    with remember_facts({}) as facts, hardware_of_workers(lambda: WORKERS):
        assert choose_device().type == "cuda"
        assert choose_device("cuda:1") == torch.device("cuda:1")
        assert dtype_name(choose_dtype()) == "bfloat16"
    with remember_facts(json.loads(json.dumps(facts))):  # a finished run that is shown again
        assert choose_device().type == "cuda"
    assert choose_device().type == local_hardware().kinds[0]
