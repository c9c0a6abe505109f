"""Sentences and blocks for an audit that stops once a model differs from a compared run."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from askew.methods.audit.findings import AuditFindings, PairedVerdict
from askew.methods.audit.stopping import is_decided
from askew.pages import blocks as b
from askew.pages import words as w
from askew.pages.phrases import format_phrase
from askew.parts.survey.sentences import stop_sentences
from askew.stats.looks import looks
from askew.stats.significance import SIGNIFICANCE_LEVEL
from askew.types import Estimate


def compared_sentences(findings: AuditFindings) -> list[str]:
    """Return sentences about the differences, and about when askew stopped adding images.

    Parameters
    ----------
    findings
        Findings of an audit with a compared run.
    """
    verdicts = _by_first_instrument(findings)
    significant = [verdict for verdict in verdicts if _is_significant(verdict)]
    model = findings.model.name
    compared = f"the run {w.quote(_run_name(findings), 60)}"
    if not significant:
        headline = format_phrase("no_run_difference", b=model, a=compared, scores="shares")
        return [headline, *_stop_sentences(findings, significant)]
    where = f"on {w.perceived(significant[0].axis)}"
    if len(verdicts) > 1:
        where = f"in {len(significant)} of {len(verdicts)} pairs of a prompt and an axis"
    headline = format_phrase("run_difference", b=model, a=compared, where=where)
    largest = max(significant, key=lambda verdict: abs(_largest(verdict)[1].value))
    value, difference = _largest(largest)
    change = (
        f"The largest difference is {w.measured(difference, 'points')} percentage points for "
        f"{value} in {w.quote(largest.prompt, 80)}, with {largest.images} images from each model."
    )
    return [headline, change, *_stop_sentences(findings, significant)]


def _stop_sentences(findings: AuditFindings, significant: Sequence[PairedVerdict]) -> list[str]:
    """Return how many images the decided prompts needed, and how many prompts are undecided."""
    plan = findings.plan
    places = {(verdict.prompt, verdict.axis) for verdict in significant}
    decided = {prompt.text for prompt in plan.prompts if is_decided(plan, prompt, places)}
    return stop_sentences(
        sizes=[image_set.n for image_set in findings.sets if image_set.prompt in decided],
        undecided=len(plan.prompts) - len(decided),
        noun="prompt",
        most=f"{plan.images} images",
        caution="This does not mean that the models have equal shares.",
    )


def compared_blocks(findings: AuditFindings) -> Iterator[b.Block]:
    """Yield a chart per instrument, with the largest difference on each axis of each prompt.

    Parameters
    ----------
    findings
        Findings of an audit. An audit without a compared run has no chart.
    """
    for instrument in dict.fromkeys(verdict.instrument for verdict in findings.compared):
        rows = []
        for verdict in findings.compared:
            if verdict.instrument == instrument:
                rows.append(_row(verdict))
        yield b.IntervalChart(
            caption=f"Largest difference between shares on each axis, {findings.model.name} minus "
            f"{w.quote(_run_name(findings), 60)}, labeled by {w.shorten(instrument, 60)}",
            heading="Axis",
            rows=tuple(rows),
            name="points",
            scale="points",
            columns=b.PLAIN,
            more=("share of", "images", "q"),
        )


def _row(verdict: PairedVerdict) -> b.IntervalRow:
    """Return the chart row for one axis of a prompt."""
    q = w.probability(verdict.q)
    label = w.capital(w.axis_label(verdict.axis))
    group = w.shorten(verdict.prompt, 80)
    if not any(isinstance(score, Estimate) for score in verdict.differences.values()):
        missing = next(iter(verdict.differences.values()))
        return b.IntervalRow(label, missing, more=("", verdict.images, q), group=group)
    value, difference = _largest(verdict)
    cells = (value, verdict.images, q)
    return b.IntervalRow(
        label, difference, more=cells, group=group, strong=_is_significant(verdict)
    )


def compared_notes(findings: AuditFindings) -> tuple[str, ...]:
    """Return a note about when askew stops adding images; empty if no run is compared."""
    plan = findings.plan
    if not plan.compared_run:
        return ()
    axes = "any axis"
    if plan.decide:
        axes = w.listing([w.axis_label(name) for name in plan.decide])
    return (
        f"askew adds images until the shares on {axes} differ significantly from those in the run "
        f"{w.quote(_run_name(findings), 60)}, up to {plan.images} images per prompt. Images with "
        f"the same seed form pairs. q and the intervals allow for {len(looks(plan.images))} looks.",
    )


def _by_first_instrument(findings: AuditFindings) -> list[PairedVerdict]:
    first = findings.plan.vqa[0]
    return [verdict for verdict in findings.compared if verdict.instrument == first]


def _largest(verdict: PairedVerdict) -> tuple[str, Estimate]:
    """Return the value whose share differs most, and the difference in its share."""
    known = {
        value: score for value, score in verdict.differences.items() if isinstance(score, Estimate)
    }
    value = max(known, key=lambda name: abs(known[name].value))
    return value, known[value]


def _is_significant(verdict: PairedVerdict) -> bool:
    return verdict.q < SIGNIFICANCE_LEVEL


def _run_name(findings: AuditFindings) -> str:
    return Path(findings.plan.compared_run).name
