"""Write the sentences and sections about the group check and the neutrality of input images."""

from collections.abc import Sequence

from askew.pages import words
from askew.pages.blocks import Paragraph, Section
from askew.parts.sources.findings import GroupCheck, Neutrality
from askew.types import Estimate

LEAST_SHARE = 0.9
"""Minimum share of a group's images that must show the group.

If the share is lower, askew warns.
"""


def group_check_warnings(entries: Sequence[GroupCheck], given: bool) -> list[str]:
    """Return a warning for each group that its images show too rarely.

    Parameters
    ----------
    entries
        Checks of all groups.
    given
        True if the user supplied the images. In this case, askew keeps all of them.
    """
    consequence = "askew leaves out the other images"
    if given:
        consequence = "askew keeps all of them, because they were given as images of this group"
    warnings = []
    for entry in entries:
        if isinstance(entry.share, Estimate) and entry.share.value < LEAST_SHARE:
            warning = f"{_group_check_sentence(entry)}; {consequence}"
            if entry.empty:
                warning += f", and {words.plural(entry.empty, 'place')} could not be filled"
            warnings.append(warning)
    return warnings


def group_check_section(entries: Sequence[GroupCheck]) -> Section:
    """Return the page section about the group check."""
    text = Paragraph(
        "askew leaves out generated input images that do not show their group.",
        items=tuple(_group_check_sentence(entry) for entry in entries),
    )
    return Section("Group check of the input images", (text,), screen=False)


def group_check_fact(entries: Sequence[GroupCheck]) -> tuple[str, ...]:
    """Return a phrase about the group check for the top of a page; empty if no image is labeled."""
    shares = [entry.share for entry in entries if isinstance(entry.share, Estimate)]
    if not shares:
        return ()
    labeled = sum(share.n or 0 for share in shares)
    passed = sum(_passed(share) for share in shares)
    return (f"{passed} of {labeled} input images pass the group check",)


def _passed(share: Estimate) -> int:
    """Return the number of labeled images that show the group."""
    return round(share.value * (share.n or 0))


def _group_check_sentence(entry: GroupCheck) -> str:
    group = words.quote(entry.group, 60)
    stated = [f"{words.perceived(axis)} {value}" for axis, value in entry.says.items()]
    values = words.listing(stated)
    if not isinstance(entry.share, Estimate):
        return f"group check of {group}: no instrument could label {values}"
    counted = f"{_passed(entry.share)} of {words.plural(entry.share.n or 0, 'image')} pass"
    unlabeled = f", {entry.share.missing} unlabeled" if entry.share.missing else ""
    return f"group check of {group} ({values}): {counted}{unlabeled}"


def neutrality_warnings(entries: Sequence[Neutrality]) -> list[str]:
    """Return a warning for each group that is not neutral."""
    warnings = []
    for entry in entries:
        if entry.neutral is False and isinstance(entry.share, Estimate):
            warnings.append(
                f"the input images of {entry.group!r} are not neutral: {entry.instrument} labels "
                f"{entry.share.value:.0%} of them as a target before any edit, most often "
                f"{_most_frequent_target(entry)!r}"
            )
    return warnings


def _most_frequent_target(entry: Neutrality) -> str:
    """Return the target shown by the largest share of images."""
    shares = {
        target: estimate.value
        for target, estimate in entry.targets.items()
        if isinstance(estimate, Estimate)
    }
    return max(shares, key=lambda target: shares[target])


def neutrality_section(entries: Sequence[Neutrality]) -> Section:
    """Return the page section about the neutrality of input images."""
    text = Paragraph(
        "An input image is neutral if it shows no target before it is edited.",
        items=tuple(_neutrality_sentence(entry) for entry in entries),
    )
    return Section("Neutrality of the input images", (text,), screen=False)


def _neutrality_sentence(entry: Neutrality) -> str:
    group = words.capital(words.shorten(entry.group, 60))
    if not isinstance(entry.share, Estimate):
        return f"{group}: {entry.instrument} cannot label occupations."
    shown = [
        f"{words.shorten(target, 40)} {words.percent(estimate.value)}"
        for target, estimate in entry.targets.items()
        if isinstance(estimate, Estimate) and estimate.value > 0
    ]
    verdict = "neutral" if entry.neutral else "not neutral"
    share = words.measured(entry.share, "share")
    images = words.plural(entry.share.n or 0, "image")
    targets = f": {words.listing(shown)}" if shown else ""
    return (
        f"{group}: {verdict}; {entry.instrument} labels {share} of {images} as a target{targets}."
    )
