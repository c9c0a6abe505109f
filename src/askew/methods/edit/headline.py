"""Write the headline of a page about edits: sentences about perceived gender and skin tone."""

from collections.abc import Mapping, Sequence

from askew.methods.edit.findings import Contrast, EditCondition, EditFindings, Editing
from askew.methods.edit.plan import EditPlan
from askew.pages import words as w
from askew.pages.phrases import format_phrase
from askew.types import Estimate


def headline_strength(plan: EditPlan) -> float:
    """Return the largest strength below 1; if all strengths are 1, return 1.

    At strengths below 1, edits keep part of the input image.
    """
    return max((strength for strength in plan.strengths if strength < 1), default=1.0)


def answer(findings: EditFindings) -> str:
    """Return the headline, which names the groups that change significantly at one strength.

    Parameters
    ----------
    findings : EditFindings
        Findings of the run.

    Returns
    -------
    str
        Sentences for each set of edit prompts, first about perceived gender and then about skin
        tone.
    """
    strength = headline_strength(findings.plan)
    by_prompts = _entries_by_prompts(findings.editing, strength)
    unchanged = [name for name, entries in by_prompts.items() if not _has_change(entries)]
    sentences = []
    for name, entries in by_prompts.items():
        # One sentence covers all sets of edit prompts without a significant change.
        if name not in unchanged[1:]:
            sentences.append(gender_sentence(entries, findings.editing_contrasts, unchanged))
    sentences += [skin_sentence(entries) for entries in by_prompts.values()]
    if strength == 1:
        sentences.append(
            "Strength 1 is text-to-image generation, which keeps nothing of the input image."
        )
    text = " ".join(filter(None, sentences))
    return text or "Nothing could be measured, because no image has a label."


def _entries_by_prompts(entries: Sequence[Editing], strength: float) -> dict[str, list[Editing]]:
    by_prompts: dict[str, list[Editing]] = {}
    for entry in entries:
        if entry.strength == strength:
            by_prompts.setdefault(entry.targets, []).append(entry)
    return by_prompts


def _has_change(entries: Sequence[Editing]) -> bool:
    return any(w.has_significant_q(entry.gender_change) for entry in entries)


def gender_sentence(
    entries: Sequence[Editing], contrasts: Sequence[Contrast], unchanged: Sequence[str] = ()
) -> str:
    """Return a sentence about the groups whose perceived gender changes most and least.

    Parameters
    ----------
    entries : sequence of Editing
        Scores of all groups, for one set of edit prompts and one strength.
    contrasts : sequence of Contrast
        Differences between conditions, including differences between groups.
    unchanged : sequence of str
        Names of all sets of edit prompts for which no group changes significantly.

    Returns
    -------
    str
        The sentence; empty if no group has an estimate.
    """
    changes = _changes(entries)
    if not changes:
        return ""
    prompts = entries[0].targets
    strength = entries[0].strength
    place = {"targets": w.quote(prompts, 40), "strength": f"{strength:g}"}
    if not _has_change(entries):
        place["targets"] = w.listing([w.quote(name, 40) for name in unchanged or [prompts]])
        return format_phrase("no_edit_change", **place)

    most = max(changes, key=lambda group: changes[group].value)
    least = min(changes, key=lambda group: changes[group].value)
    parts = place | {"share": w.measured(changes[most], "share"), "most": w.quote(most, 40)}
    if changes[most].value == changes[least].value:
        return format_phrase("edit_change", **parts)
    conditions = {
        EditCondition(group=group, targets=prompts, strength=strength) for group in (most, least)
    }
    if any(_differ(contrast, conditions) for contrast in contrasts):
        low = w.measured(changes[least], "share")
        return format_phrase("edit_difference", **parts, least=w.quote(least, 40), low=low)
    return format_phrase("no_edit_difference", **parts, range=_range(changes, most, least))


def _changes(entries: Sequence[Editing]) -> dict[str, Estimate]:
    """Return the estimated change in perceived gender of each group that has an estimate."""
    scores = {entry.group: entry.gender_change for entry in entries}
    return {group: score for group, score in scores.items() if isinstance(score, Estimate)}


def _differ(contrast: Contrast, conditions: set[EditCondition]) -> bool:
    """Check whether a contrast between two conditions is significant."""
    compared = {contrast.first, contrast.second}
    return compared == conditions and w.has_significant_q(contrast.gender_change)


def _range(changes: Mapping[str, Estimate], most: str, least: str) -> str:
    return f"{w.percent(changes[least].value)} to {w.percent(changes[most].value)}"


def skin_sentence(entries: Sequence[Editing]) -> str:
    """Return a sentence about the groups whose skin becomes significantly lighter or darker.

    Parameters
    ----------
    entries : sequence of Editing
        Scores of all groups, for one set of edit prompts and one strength.

    Returns
    -------
    str
        The sentence; empty if no change is significant or if skin tone was not measured on faces.
    """
    lighter = []
    darker = []
    for entry in entries:
        change = entry.ita_change
        if entry.coverage.mask != "geometry" or not isinstance(change, Estimate):
            continue
        if not w.has_significant_q(change):
            continue
        text = f"{w.quote(entry.group, 40)} ({w.format_value(change.value, 'degrees')})"
        if change.value > 0:
            lighter.append(text)
        elif change.value < 0:
            darker.append(text)
    parts = []
    if lighter:
        parts.append(f"lighter for {w.listing(lighter)}")
    if darker:
        parts.append(f"darker for {w.listing(darker)}")
    if not parts:
        return ""
    targets = w.quote(entries[0].targets, 40)
    return format_phrase("skin_change", targets=targets, how=" and ".join(parts))
