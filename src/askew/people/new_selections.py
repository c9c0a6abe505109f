"""Studies in which people select from a list: concepts for images, or axes for a prompt (TIBET).

A list contains the options that a run proposes. These options are five concepts that an instrument
named in the images, or the axes in the run's plan. askew adds random options that the run does not
propose.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from askew.errors import UsageError
from askew.methods.audit.findings import Frequencies, Tibet
from askew.pages.words import axis_label, capital, plural
from askew.people.folder import StudyFolder
from askew.people.new import (
    StudyContent,
    StudyDesign,
    drawn_places,
    raters_line,
    study_lines,
    write_study,
)
from askew.people.records import (
    CANNOT_TELL,
    NONE_OF_THESE,
    PREFER_NOT,
    FrameEntry,
    Item,
)
from askew.people.sources import SourceRun, audits_only, images_of_set
from askew.prompts.axes import AXES
from askew.stats.crossed import rate_half_width
from askew.store.keys import derived_seed

PROPOSED = "proposed"
KIND = "kind"
"""Keys under which the sampling frame stores facts about an option."""

OPTIONS = 10
"""Number of options in a list, as in the paper."""

PROPOSED_CONCEPTS = 5
IMAGES_PER_GRID = 10

OTHER_CONCEPTS = (
    "temple futuristic computer gray funny ancient cat bicycle snow guitar bridge umbrella horse "
    "candle desert neon train statue painting boat"
).split()
"""Concepts that askew adds to lists if a run has too few concepts."""

OTHER_AXES = (
    "lighting",
    "weather",
    "perspective",
    "clothing",
    "economic status",
    "religion",
    "disability",
    "architecture",
    "season",
    "time of day",
    "facial expression",
    "background",
    "cuisine",
    "body type",
)
"""Axes that askew adds to lists if a run has too few axes."""

CONCEPTS_QUESTION = "Which of these words describe something that the images show?"
AXES_QUESTION = "In which of these attributes could images made from this text be biased?"

PURPOSES = {
    "concepts": "We study whether automatic descriptions of images are correct.",
    "axes": "We study which biases people expect in images that a computer makes from a text.",
}
INSTRUCTIONS = {
    "concepts": (
        "You will see a few computer-generated images and a list of words. Choose all words that "
        "describe something in the images."
    ),
    "axes": (
        "You will see a text from which a computer could make images. Choose all attributes in which "
        "the images could be biased. This can be a societal bias, such as a stereotype about a group of "
        "people, or an incidental bias, such as always the same weather. You can add attributes."
    ),
}
TITLES = {"concepts": "What do the images show?", "axes": "Which biases do you expect?"}

SelectionKind = Literal["concepts", "axes"]


@dataclass(frozen=True)
class SelectionStudy:
    """A new study in which people select options from lists."""

    folder: StudyFolder
    lists: int

    def lines(self) -> list[str]:
        """Return lines that state the study's size and expected precision."""
        plan = self.folder.plan
        raters = len(self.folder.raters())
        width = expected_half_width(self.lists, plan.raters_per_item, raters, plan.confidence)
        return study_lines(
            self.folder,
            f"{plural(self.lists, 'list')} of {OPTIONS} {plan.kind}, {plan.raters_per_item} raters "
            "per list",
            raters_line(self.folder),
            f"expected half-width of the interval if the precision is 80 %: {width:.2f}",
        )


def expected_half_width(lists: int, per_list: int, raters: int, level: float) -> float:
    """Return the expected half-width of the interval for the precision of a run's proposals."""
    return rate_half_width(lists, PROPOSED_CONCEPTS, per_list, raters, level)


def new_selection_study(
    path: Path,
    sources: Sequence[SourceRun],
    design: StudyDesign,
    kind: SelectionKind,
    lists: int | None = None,
) -> SelectionStudy:
    """Make a study in which people select concepts for images, or axes for prompts.

    Parameters
    ----------
    path
        Folder to create.
    sources
        Finished audits.
    design
        Settings of the study.
    kind
        Kind of the study: "concepts" or "axes".
    lists
        Number of lists to draw at random. [default: enough for the precision in `design`; all lists
        if `design` has no precision]
    """
    audits_only(sources, kind)
    rng = np.random.default_rng(derived_seed(design.seed, kind))
    entries = concept_lists(sources, rng) if kind == "concepts" else axis_lists(sources, rng)
    if not entries:
        raise UsageError(
            "the runs contain no concepts for their images. A concepts study needs an audit with "
            "counterfactual images and with --embedder"
        )
    count = min(lists or _lists_for(design, len(entries)), len(entries))
    items: list[Item] = []
    frame: list[FrameEntry] = []
    for place in drawn_places(rng, len(entries), count):
        entry, images = entries[place]
        name = f"i{len(items) + 1:05d}"
        items.append(_item(name, entry, images, kind, rng))
        frame.append(replace(entry, id=name))
    content = StudyContent(
        kind=kind,
        title=TITLES[kind],
        purpose=PURPOSES[kind],
        instruction=INSTRUCTIONS[kind],
        axes=(),
        items=items,
        frame=frame,
    )
    return SelectionStudy(folder=write_study(path, content, design, sources), lists=count)


def _lists_for(design: StudyDesign, most: int) -> int:
    """Return the number of lists, at most `most`, that are needed for the planned precision."""
    if design.precision is None:
        return most
    per_list = design.raters_per_item
    for count in range(1, most):
        raters = design.raters or max(per_list, -(-count * per_list // 100))
        if expected_half_width(count, per_list, raters, design.confidence) <= design.precision:
            return count
    return most


def _item(
    name: str,
    entry: FrameEntry,
    images: Sequence[str],
    kind: SelectionKind,
    rng: np.random.Generator,
) -> Item:
    options = list(entry.labels)
    shuffled = tuple(options[place] for place in rng.permutation(len(options)).tolist())
    places = sorted(rng.permutation(len(images))[:IMAGES_PER_GRID].tolist())
    is_axes = kind == "axes"
    return Item(
        id=name,
        role="item",
        question=AXES_QUESTION if is_axes else CONCEPTS_QUESTION,
        options=shuffled,
        special=(NONE_OF_THESE, CANNOT_TELL, PREFER_NOT),
        groups=(tuple(images[place] for place in places),) if places else (),
        prompt=entry.prompt if is_axes else "",
        multiple=True,
        free_text=is_axes,
        texts={name: capital(axis_label(name)) for name in options if "_" in name}
        if is_axes
        else {},
    )


def concept_lists(
    sources: Sequence[SourceRun], rng: np.random.Generator
) -> list[tuple[FrameEntry, tuple[str, ...]]]:
    """Return a list of concepts, and the ids of the images, for each image set of the runs.

    The first five concepts are those that the instrument named most often for the image set. The
    other concepts were not named for this set (TIBET, appendix 13.3).
    """
    described_sets: list[tuple[FrameEntry, tuple[str, ...], list[str]]] = []
    for number, source in enumerate(sources):
        for entry in source.result.findings.tibet:
            for set_name, concepts in concepts_of_sets(entry).items():
                images = images_of_set(source, entry.prompt, set_name)
                if concepts and images:
                    place = FrameEntry(id="", source=number, prompt=entry.prompt, set=set_name)
                    described_sets.append((place, images, concepts))
    vocabulary = list(dict.fromkeys(name for _, _, names in described_sets for name in names))
    lists = []
    for place, images, concepts in described_sets:
        proposed = concepts[:PROPOSED_CONCEPTS]
        others = _others(vocabulary, OTHER_CONCEPTS, concepts, OPTIONS - len(proposed), rng)
        labels = {name: {PROPOSED: "yes"} for name in proposed} | {name: {} for name in others}
        lists.append((replace(place, labels=labels), images))
    return lists


def concepts_of_sets(entry: Tibet) -> dict[str, list[str]]:
    """Return the concepts in each of a prompt's image sets, most frequent concepts first."""
    sets = {"initial": [name for name, _ in entry.top_concepts]}
    for axis, scores in entry.axes.items():
        for value in scores.cas:
            shares: dict[str, float] = {}
            tables = [scores.top_concepts.get(value, ())]
            tables += scores.second_axis.get(value, {}).values()
            for concept, share in _pairs(tables):
                shares[concept] = max(share, shares.get(concept, 0.0))
            sets[f"{axis}: {value}"] = sorted(shares, key=lambda name: -shares[name])
    return sets


def _pairs(tables: Sequence[Frequencies]) -> Iterator[tuple[str, float]]:
    for table in tables:
        yield from table


def axis_lists(
    sources: Sequence[SourceRun], rng: np.random.Generator
) -> list[tuple[FrameEntry, tuple[str, ...]]]:
    """Return a list of axes for each prompt of the runs.

    The list contains all axes that any run proposes for the prompt, and other axes that are drawn
    at random (TIBET, section 5.4). Runs with the same prompt share the list for this prompt, so
    that the runs' proposals can be compared.
    """
    proposals: dict[str, dict[str, dict[str, str]]] = {}
    kinds: dict[str, str] = {name: axis.kind for name, axis in AXES.items()}
    for source in sources:
        for prompt in source.result.plan.prompts:
            of_prompt = proposals.setdefault(prompt.text, {})
            for axis in prompt.axes:
                kinds[axis.name] = axis.kind
                runs = of_prompt.setdefault(axis.name, {KIND: axis.kind})
                runs[source.result.folder.name] = PROPOSED
    names = list(dict.fromkeys(name for axes in proposals.values() for name in axes))
    lists: list[tuple[FrameEntry, tuple[str, ...]]] = []
    for prompt_text, proposed in proposals.items():
        missing = max(OPTIONS - len(proposed), 0)
        others = _others([*names, *AXES], OTHER_AXES, list(proposed), missing, rng)
        labels = dict(proposed)
        for name in others:
            labels[name] = {KIND: kinds.get(name, "incidental")}
        lists.append((FrameEntry(id="", prompt=prompt_text, set="prompt", labels=labels), ()))
    return lists


def _others(
    names: Sequence[str],
    spare: Sequence[str],
    taken: Sequence[str],
    count: int,
    rng: np.random.Generator,
) -> list[str]:
    """Draw random names that share no word with `taken`; use `spare` if there are too few."""
    words = {word for name in taken for word in name.lower().split()}

    def free(candidates: Sequence[str]) -> list[str]:
        distinct = dict.fromkeys(candidates)
        return [name for name in distinct if words.isdisjoint(name.lower().split())]

    pool = free(names)
    chosen = [pool[place] for place in rng.permutation(len(pool))[:count].tolist()]
    rest = [name for name in free(spare) if name not in chosen]
    places = rng.permutation(len(rest))[: count - len(chosen)].tolist()
    return chosen + [rest[place] for place in places]
