"""Engines by name, with their options."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from askew.engine.local import LocalEngine
from askew.engine.opened import opened_engine
from askew.engine.threads import ThreadEngine
from askew.errors import AskewError


def test_names_choose_engines() -> None:
    with opened_engine() as default, opened_engine("local", 1) as local:
        assert {type(default), type(local)} == {LocalEngine}
    with opened_engine("threads", 3) as threads:
        assert isinstance(threads, ThreadEngine)
        assert threads.workers == 3
    with opened_engine(threads) as given:
        assert given is threads


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("thread",), "Did you mean 'threads'"),
        (("local", 2), "--engine threads or --engine ray"),
        (("ray", 0), "--workers is 0"),
        (("ray", 1, -1.0), "--gpus-per-worker is -1"),
        (("threads", 1, 0.5), "--gpus-per-worker needs --engine ray"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: Any, message: str) -> None:
    with pytest.raises(AskewError, match=message) as caught:
        opened_engine(*options)
    assert caught.value.code == 2


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr("askew.errors.find_spec", lambda name: None)
    with pytest.raises(AskewError, match=r"--engine ray needs the package 'ray'.*\[ray\]"):
        opened_engine("ray")
