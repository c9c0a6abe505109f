"""Write the sentences on the page of `askew map`."""

from collections.abc import Sequence

from askew.methods.map.findings import ConceptPair, MaskAccuracy, Overall
from askew.pages import words as w
from askew.pages.phrases import format_phrase
from askew.pages.words import shorten
from askew.types import Estimate, Missing


def finding(pairs: Sequence[ConceptPair], overall: Overall) -> str:
    """Return a clause about a concept's overlap in the images of one model.

    Parameters
    ----------
    pairs
        Scores of the concept in each prompt.
    overall
        Scores of the concept, averaged over the prompts.
    """
    gaps = [pair.miou for pair in pairs if isinstance(pair.miou, Missing)]
    if len(gaps) == len(pairs):
        return f"the overlap of “{overall.a}” is not measured: {w.reason(gaps[0])}"
    if len(pairs) == 1:
        return _of_prompt(pairs[0])
    mean = overall.corrected
    above = isinstance(mean, Estimate) and mean.value > 0 and w.has_significant_q(mean)
    significant = sum(w.has_significant_q(pair.miou) for pair in pairs)
    verdict = format_phrase("mean_overlap" if above else "no_mean_overlap")
    prompts = f"{significant:,} of {w.plural(len(pairs) - len(gaps), 'prompt')}"
    chance = w.part(overall.miou, "null")
    missing = f", {len(gaps)} missing" if gaps else ""
    return (
        f"the attention masks of “{overall.a}” overlap with those of the prompts' words with a "
        f"mean mIoU of {w.part(overall.miou, 'value')}, {verdict} ({chance}; {prompts}{missing})"
    )


def _of_prompt(pair: ConceptPair) -> str:
    text = (
        f"the attention masks of “{pair.a}” and “{pair.b}” overlap with an mIoU of "
        f"{w.part(pair.miou, 'value')}"
    )
    chance = w.part(pair.miou, "null")
    if chance == w.ABSENT:
        return text
    phrase = "overlap" if w.has_significant_q(pair.miou) else "no_overlap"
    return f"{text}, {format_phrase(phrase)} ({chance})"


def accuracy_name(entry: MaskAccuracy) -> str:
    """Return a phrase that names the word, the prompt and the model of an accuracy."""
    word = w.quote(entry.word, 40)
    return f"{word} in images of {w.quote(entry.prompt, 60)}, {model_label(entry.model, 40)}"


def accuracy_sentence(entries: Sequence[MaskAccuracy]) -> str:
    """Return a sentence about a word's two accuracies, at the threshold where they differ least."""
    by_difference: dict[float, str] = {}
    for entry in entries:
        covered = entry.mask_accuracy
        omitted = entry.complement_accuracy
        if isinstance(covered, Estimate) and isinstance(omitted, Estimate):
            text = (
                f"the two accuracies are closest at threshold {entry.tau:g}. The mask covers "
                f"{w.measured(covered)} of the ground-truth mask ({w.number(covered.null)} expected by "
                f"chance) and leaves out {w.measured(omitted)} of the remaining area "
                f"({w.number(omitted.null)} expected by chance)."
            )
            by_difference.setdefault(abs(covered.value - omitted.value), text)
    closest = min(by_difference, default=None)
    text = "no image has a usable ground-truth mask." if closest is None else by_difference[closest]
    return f"{accuracy_name(entries[0])}: {text}"


def model_label(name: str, width: int) -> str:
    """Return the name of a model on one line.

    If the name is too long, only its end is returned, if possible starting at a slash.

    Parameters
    ----------
    name
        Name of the model.
    width
        Maximum number of characters.
    """
    line = shorten(name, len(name) + 1)
    if len(line) <= width:
        return line
    slashes = [k for k, letter in enumerate(line) if letter == "/" and len(line) - k < width]
    start = slashes[0] if slashes else 1 - width
    return f"…{line[start:]}"
