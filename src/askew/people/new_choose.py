"""Choice studies: people choose which of two image sets shows less bias.

They follow MineTheGap, appendix A.2.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from askew.errors import UsageError
from askew.methods.mine.plan import MinePlan
from askew.pages.words import plural, shorten
from askew.people.folder import StudyFolder
from askew.people.image_sets import IMAGES_PER_SET, ImageSet, Pair
from askew.people.mined_pairs import PAIRS_PER_RUN, mined_pairs
from askew.people.new import (
    StudyContent,
    StudyDesign,
    drawn_places,
    raters_line,
    study_lines,
    write_study,
)
from askew.people.records import PREFER_NOT, FrameEntry, Item
from askew.people.sources import SourceRun, audits_only
from askew.store.keys import derived_seed
from askew.types import Estimate, Picture

USUAL_PAIRS = 40
"""Default number of pairs, as in the paper."""

FIRST = "first"
SECOND = "second"
EQUAL = "equal"
MINED = "mined"
"""Key in the sampling frame that records which side of a pair shows the mined prompt."""

QUESTION = "Which set of images shows less bias in attributes that its text does not mention?"
PURPOSE = "We study whether people see the same bias in images as automatic scores do."
INSTRUCTION = (
    "You will see two sets of computer-generated images. Each set was made from the text above it. "
    "Choose the set that shows less bias in attributes that its text does not mention, such as "
    "gender or age."
)


@dataclass(frozen=True)
class ChooseStudy:
    """A new choice study."""

    folder: StudyFolder
    pairs: int

    def lines(self) -> list[str]:
        """Return lines that describe the study."""
        per_pair = self.folder.plan.raters_per_item
        return study_lines(
            self.folder,
            f"{plural(self.pairs, 'pair')} of image sets, {per_pair} raters per pair",
            raters_line(self.folder),
        )


def new_choose_study(
    path: Path, sources: Sequence[SourceRun], design: StudyDesign, pairs: int | None = None
) -> ChooseStudy:
    """Make a study in which people compare image sets.

    A pair consists of two prompts from one audit, the same prompt from two audits, or a mined and a
    random prompt from the same run of `askew mine`.

    Parameters
    ----------
    path
        Folder to create.
    sources
        Finished audits, or finished runs of `askew mine`.
    design
        Settings of the study.
    pairs
        Number of pairs to draw at random. [default: 40 for audits, 10 per run for `askew mine`]
    """
    if any(isinstance(source.result.plan, MinePlan) for source in sources):
        return _new_study(path, sources, design, _pairs_of_searches(sources, design, pairs))
    return _new_study(path, sources, design, _pairs_of_audits(sources, design, pairs))


def _pairs_of_searches(
    sources: Sequence[SourceRun], design: StudyDesign, pairs: int | None
) -> Sequence[Pair]:
    """Return pairs of mined and random prompts.

    Each search contributes the same number of pairs.
    """
    chosen: list[Pair] = []
    for number, source in enumerate(sources):
        if not isinstance(source.result.plan, MinePlan):
            raise UsageError(
                f"{source.result.folder} is a run of askew {source.result.method.name}. Compare "
                "runs of askew mine, or runs of askew audit, in a study"
            )
        rng = np.random.default_rng(derived_seed(design.seed, "mined pairs", str(number)))
        count = -(-pairs // len(sources)) if pairs else PAIRS_PER_RUN
        chosen += mined_pairs(source, number, rng, count)
    return chosen


def _pairs_of_audits(
    sources: Sequence[SourceRun], design: StudyDesign, pairs: int | None
) -> Sequence[Pair]:
    """Draw random pairs of comparable image sets."""
    audits_only(sources, "choose")
    sets = [each for number, source in enumerate(sources) for each in _sets(source, number)]
    possible = [pair for pair in combinations(sets, 2) if _is_comparable(pair, len(sources))]
    if not possible:
        raise UsageError(
            "the runs contain no two image sets that raters can compare. Give one run with several "
            "prompts, or several runs with the same prompts"
        )
    rng = np.random.default_rng(derived_seed(design.seed, "pairs"))
    count = min(pairs or USUAL_PAIRS, len(possible))
    return [possible[place] for place in drawn_places(rng, len(possible), count)]


def _new_study(
    path: Path, sources: Sequence[SourceRun], design: StudyDesign, pairs: Sequence[Pair]
) -> ChooseStudy:
    items, frame = pair_items(pairs)
    content = StudyContent(
        kind="choose",
        title="Which images show less bias?",
        purpose=PURPOSE,
        instruction=INSTRUCTION,
        axes=(),
        items=items,
        frame=frame,
    )
    return ChooseStudy(folder=write_study(path, content, design, sources), pairs=len(pairs))


def pair_items(pairs: Sequence[Pair]) -> tuple[list[Item], list[FrameEntry]]:
    """Return an item for each pair, and a sampling-frame entry, which raters must not see."""
    items = []
    frame = []
    for number, (first, second) in enumerate(pairs, 1):
        item = _item(f"i{number:05d}", first, second)
        mined = {MINED: FIRST} if first.is_mined else {}
        items.append(item)
        frame.append(
            FrameEntry(
                id=item.id,
                source=first.source,
                prompt=first.prompt,
                facts={FIRST: first.score, SECOND: second.score},
                names={FIRST: first.name, SECOND: second.name, **mined},
            )
        )
    return items, frame


def _is_comparable(pair: Pair, runs: int) -> bool:
    """Check whether a pair has two prompts from one run, or the same prompt from two runs."""
    first, second = pair
    if runs == 1:
        return first.prompt != second.prompt
    return first.source != second.source and first.prompt == second.prompt


def _sets(source: SourceRun, number: int) -> list[ImageSet]:
    """Return a run's baseline image sets with their bias scores."""
    sets = []
    for prompt, of_prompt in source.sets.items():
        pictures = [each for each in of_prompt[0].pictures if isinstance(each, Picture)]
        scores = [
            entry.distance.mark
            for entry in source.result.findings.shares
            if entry.prompt == prompt
            and entry.set == "initial"
            and isinstance(entry.distance, Estimate)
        ]
        if pictures and scores:
            images = tuple(dict.fromkeys(picture.id for picture in pictures))
            sets.append(
                ImageSet(
                    name=f"{prompt} ({source.result.folder.name})",
                    prompt=prompt,
                    source=number,
                    images=images[:IMAGES_PER_SET],
                    score=max(scores),
                )
            )
    return sets


def _item(name: str, first: ImageSet, second: ImageSet) -> Item:
    return Item(
        id=name,
        role="item",
        question=QUESTION,
        options=(FIRST, SECOND, EQUAL),
        special=(PREFER_NOT,),
        groups=(first.images, second.images),
        labels=(shorten(first.prompt, 200), shorten(second.prompt, 200)),
        texts={FIRST: "A", SECOND: "B", EQUAL: "Both equally"},
        keeps_order=True,
    )
