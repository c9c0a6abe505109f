"""Invented findings of audits, and a store that has images for them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from askew.methods.audit.findings import AuditFindings
from methods.audit.invented_findings import (
    CASES,
    HOSTILE,
    Drawn,
    Results,
    audit_findings,
    estimate,
    mad_estimate,
)

SLOW = {"sixty prompts": pytest.mark.slow}
"""Cases whose page takes a long time to parse."""


@pytest.fixture(params=[pytest.param(case, marks=SLOW.get(case, ())) for case in CASES])
def any_findings(request: pytest.FixtureRequest) -> AuditFindings:
    """Each case in turn."""
    return audit_findings(CASES[request.param]())


@pytest.fixture
def results_of() -> Callable[[str], Results]:
    """The results of a case by its name, to be changed."""
    return lambda name: CASES[name]()


@pytest.fixture
def read_findings() -> Callable[[Results], AuditFindings]:
    return audit_findings


@pytest.fixture
def make_mad() -> Callable[..., Results]:
    return mad_estimate


@pytest.fixture
def make_estimate() -> Callable[..., Results]:
    return estimate


@pytest.fixture
def hostile_text() -> str:
    return HOSTILE


@pytest.fixture
def media() -> Drawn:
    return Drawn()
