"""Sentences that state which of several models is most biased."""

from collections.abc import Sequence

from askew.pages import words
from askew.studies.rank.steps import ModelMean, RankFindings
from askew.types import Estimate


def most_biased_model(findings: RankFindings) -> list[str]:
    """Return sentences that state which model has the largest mean bias on each axis.

    Parameters
    ----------
    findings
        The findings. Only means over all prompts are used, not the means of single searches.

    Returns
    -------
    list of str
        At most two sentences for each axis. Empty if there is only one model, or if the scores have
        no axis and are therefore not deviations.
    """
    if len(findings.models) < 2:
        return []
    sentences: list[str] = []
    for axis in dict.fromkeys(mean.axis for mean in findings.means if mean.axis):
        means = [mean for mean in findings.means if (mean.axis, mean.mined_for) == (axis, None)]
        sentences += _of_axis(findings, means)
    return sentences


def _of_axis(findings: RankFindings, means: Sequence[ModelMean]) -> list[str]:
    known = [mean for mean in means if isinstance(mean.mean, Estimate)]
    if not known:
        return []
    largest = min(known, key=lambda mean: words.largest_first(mean.mean))
    less_biased, uncertain = _other_models(findings, largest)
    model = words.shorten(largest.model, 60)
    value = words.part(largest.mean, "mark", "range")
    sentences = [
        f"{model} has the largest mean bias on {words.perceived(largest.axis)}: {value} "
        f"({words.interval_in_words(largest.mean, 'range')})."
    ]
    claims = []
    if less_biased:
        claims.append(f"significantly more biased than {words.listing(less_biased)}")
    if uncertain:
        claims.append(f"not significantly more biased than {words.listing(uncertain)}")
    if claims:
        sentences.append(f"It is {', but '.join(claims)}.")
    return sentences


def _other_models(findings: RankFindings, largest: ModelMean) -> tuple[list[str], list[str]]:
    """Return the models that are significantly less biased than `largest`, and the other models."""
    less_biased: list[str] = []
    uncertain: list[str] = []
    for entry in findings.differences:
        is_of_model = largest.model in entry.models
        if not is_of_model or (entry.axis, entry.mined_for) != (largest.axis, None):
            continue
        (other,) = (name for name in entry.models if name != largest.model)
        is_less = words.has_significant_q(entry.difference)
        (less_biased if is_less else uncertain).append(words.shorten(other, 60))
    return less_biased, uncertain
