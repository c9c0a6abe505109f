"""Add held-out images to the best prompts until their verdicts are reached.

In a search by skew, askew first measures 8 held-out images of each best prompt. If the bias of a
prompt is not significant yet, askew adds images until the next look (`stats.looks`), and repeats
this until the prompt has the maximum number of images. From the first look on, q is corrected over
all best prompts of all searches, so a later look never revokes a verdict. The images in the search
determine the axis that is tested for each prompt, so held-out images do not affect this choice.
"""

from collections.abc import Mapping
from dataclasses import replace

from askew.methods.mine.skew import SkewReading
from askew.parts.scoring import Scoring
from askew.parts.survey.sequential import Trial, sequential_entry, significant_places
from askew.parts.survey.shares import SetShares, usable_errors
from askew.plan import AxisPlan


def undecided_prompts(readings: Mapping[str, SkewReading], most: int) -> list[str]:
    """Return the prompts whose bias is not significant after correction for all best prompts.

    Parameters
    ----------
    readings
        Measurement of the held-out images so far, keyed by prompt.
    most
        Maximum number of held-out images per prompt.
    """
    p_values = {prompt: reading_p(reading, most) for prompt, reading in readings.items()}
    significant = significant_places(p_values)
    return [prompt for prompt in readings if prompt not in significant]


def reading_p(reading: SkewReading, most: int) -> float:
    """Return the sequential p of an axis, computed from held-out images.

    The p is 1 if too few images are labeled, or if the reading contains several axes.

    Parameters
    ----------
    reading
        Measurement of the held-out images so far.
    most
        Maximum number of held-out images per prompt.
    """
    axis = reading.axis()
    if axis is None or len(reading.axes) > 1:
        return 1.0
    errors = usable_errors(reading.errors_on(axis))
    trial = Trial(reading.seen, AxisPlan.of(axis), reading.instrument, errors, most)
    return trial.p(trial.look_p_values())


def sequential_shares(reading: SkewReading, scoring: Scoring, most: int) -> SetShares | None:
    """Return the shares in all held-out images, with the sequential p and intervals.

    Parameters
    ----------
    reading
        Measurement of all held-out images of a prompt.
    scoring
        Settings for the statistics.
    most
        Maximum number of held-out images per prompt.

    Returns
    -------
    SetShares or None
        The shares; None if no axis has enough labeled images.
    """
    axis = reading.axis()
    if axis is None:
        return None
    return sequential_entry(
        observed=reading.seen,
        axis=AxisPlan.of(axis),
        prompt=reading.seen.prompt.text,
        scoring=replace(scoring, instrument=reading.instrument),
        known_errors=reading.errors_on(axis),
        most=most,
    )
