"""Made-up findings of audits, and a run that has pictures for them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from askew.methods.audit.findings import AuditFindings
from methods.audit.invented_findings import (
    CASES,
    HOSTILE,
    Drawn,
    Results,
    estimate,
    found,
    mad_estimate,
)

SLOW = {"sixty prompts": pytest.mark.slow}
"""Cases whose page takes long to parse."""


@pytest.fixture(params=[pytest.param(case, marks=SLOW.get(case, ())) for case in CASES])
def any_found(request: pytest.FixtureRequest) -> AuditFindings:
    """Each case in turn."""
    return found(CASES[request.param]())


@pytest.fixture
def results_of() -> Callable[[str], Results]:
    """The results of a case by its name, to be changed."""
    return lambda name: CASES[name]()


@pytest.fixture
def found_in() -> Callable[[Results], AuditFindings]:
    return found


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
