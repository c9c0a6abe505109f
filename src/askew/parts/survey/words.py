"""What people show in pictures, in plain words: no further than the test and the interval allow."""

from __future__ import annotations

from askew.pages.words import SIGNIFICANT, axis_label, capital, probability, shorten
from askew.parts.survey.missing import MissingPictures


def missing_sentence(entry: MissingPictures, what: str) -> str | None:
    """On which value of an axis pictures, which `what` names, are missing most often; None if chance would do it."""
    if entry.q >= SIGNIFICANT:
        return None
    rates = {value: one.missing / one.planned for value, one in entry.counts.items()}
    often, seldom = (
        f"{shorten(value, 40)} ({entry.counts[value].missing} of {entry.counts[value].planned})"
        for value in (max(rates, key=lambda v: rates[v]), min(rates, key=lambda v: rates[v]))
    )
    return (
        f"{capital(axis_label(entry.axis))}: {what} are missing more often for {often} than for {seldom}; "
        f"{probability(entry.q, 'q')}. What is missing may differ from what is left, and no score can correct that."
    )
