"""Silence for the bars and warnings of the libraries beneath: askew has its own progress and errors."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from diffusers.utils import logging as diffusers_logging
from transformers.utils import logging as transformers_logging

LIBRARIES = (diffusers_logging, transformers_logging)


@contextmanager
def quiet() -> Iterator[None]:
    """No bars, and nothing less than errors, from diffusers and transformers."""
    levels = [library.get_verbosity() for library in LIBRARIES]
    bars = [library.is_progress_bar_enabled() for library in LIBRARIES]
    for library in LIBRARIES:
        library.set_verbosity_error()
        library.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for library, level, bar in zip(LIBRARIES, levels, bars, strict=True):
            library.set_verbosity(level)
            if bar:
                library.enable_progress_bar()
