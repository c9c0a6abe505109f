"""Do source pictures show their group? They are read; those that do not are left out, and further ones drawn instead.

The paper's sources did to 100 %, by CLIP. Where a model does not hear "man", scores of "men" would be of anybody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from askew.findings import E
from askew.measure.base import VQA
from askew.models.base import Model
from askew.pages import words
from askew.pages.blocks import Section, Text
from askew.parts.sources import Group, Source, check_filled, present, source_pictures
from askew.parts.survey.observed import axis_answers
from askew.parts.survey.reader import is_studio
from askew.prompts.axes import find_axis
from askew.prompts.given import stated_value
from askew.run.base import Answer, Generator, Outcome, Run
from askew.run.work import unmade, wanted_pictures
from askew.stats.shares import share_intervals
from askew.types import Axis, Estimate, Missing, Picture, Question, record

FURTHER = 2
"""So many times as many pictures as are wanted are drawn further, at most."""

ENOUGH = 0.9
"""Below this share there is a warning."""

SEEN = ("gender", "age", "ethnicity", "body_type", "disability")
"""What is read of people's looks if a group's name says it."""

NOT_READ = Missing("not_asked", "no instrument tells what the group's name says")


@record
class Showing:
    """How many of a group's source pictures show what its name says, as instruments read it.

    says     by axis the value that the name says
    share    of the pictures that could be read; missing: of those that were drawn, those that could not
    drawn    how many pictures were made for the group, or given
    empty    places for which no picture was found that shows the group
    """

    group: str
    says: Mapping[str, str]
    share: E
    drawn: int
    empty: int


Values = Mapping[str, Mapping[str, Answer]]
"""By axis what was read, by picture id."""


def axis_values(
    run: Run, instruments: Iterable[VQA], axes: Sequence[Axis], pictures: Sequence[Outcome],
    also: Callable[[VQA], Sequence[Question]] = lambda _: (),
) -> dict[str, dict[str, Answer]]:  # fmt: skip
    """By axis the value of every picture, by the first instrument that tells any; under "" the answers to `also`."""
    found: dict[str, dict[str, Answer]] = {}
    for vqa in instruments:
        rest = also(vqa)
        rows = run.ask(vqa, pictures, [*(question for axis in axes for question in axis.questions), *rest])
        read = {one: axis_answers(axes, row) | ({"": row[-1]} if rest else {}) for one, row in rows.items()}
        for name in (*(axis.name for axis in axes), *([""] if rest else [])):
            if all(isinstance(value, Missing) for value in found.get(name, {}).values()):
                found[name] = {one: values[name] for one, values in read.items()}
    return found


def showing_pictures(
    run: Run, source: Source, groups: Sequence[Group], images: int, seed: int, instruments: Sequence[VQA], level: float
) -> tuple[dict[str, list[Outcome]], tuple[Showing, ...]]:
    """`images` pictures of each group, by its name, that show it as far as they could be read; and how many did.

    In the place of a made picture that shows another group stands the next of those drawn further that shows its own,
    else Missing. Pictures that are given are kept. The run is warned of groups that too few of them show. Raises
    UsageError for a group without a single picture.
    """
    drawn = source_pictures(run, source, groups, images, seed)
    pools = [Pool(group, stated_values(group.name), drawn[group.name], images) for group in groups]
    axes = [find_axis(name) for name in SEEN if any(name in pool.says for pool in pools)]
    able = [one for one in instruments if is_studio(source.name) or not is_studio(one.name)]
    if not axes or not able:
        return drawn, ()
    seen = axis_values(run, able, axes, present(drawn))

    def draw_further() -> None:
        assert isinstance(source, Model)
        while short := [pool for pool in pools if pool.lacking(seen) > 0 and len(pool.pictures) < pool.limit]:
            for pool in short:
                had = len(pool.pictures)
                up_to = min(pool.limit, had + pool.lacking(seen))
                wanted = wanted_pictures(source, [pool.group.prompt], up_to, seed)[had:]
                made = run.make(Generator(source), wanted)
                further = [made[one.key] for one in wanted]
                pool.pictures += further
                for axis, values in axis_values(run, able, axes, further).items():
                    seen[axis] |= values

    if isinstance(source, Model):
        open_ones = any(pool.shows(one, seen) is None for pool in pools if pool.says for one in pool.pictures)
        asked = [sum(len(axis.questions) for axis in axes)] * len(able)
        at_most = unmade(source, FURTHER * images * sum(bool(pool.says) for pool in pools), asked)
        run.decide("further sources", draw_further, at_most, None) if open_ones else draw_further()
    given = not isinstance(source, Model)
    chosen = {pool.group.name: pool.chosen(seen, kept=given) for pool in pools}
    check_filled(chosen, source.name)
    entries = tuple(pool.entry(seen, chosen[pool.group.name], level) for pool in pools if pool.says)
    run.warn(*showing_warnings(entries, given))
    return chosen, entries


@dataclass(slots=True)
class Pool:
    """All pictures that were drawn of a group, and what its name says by axis."""

    group: Group
    says: Mapping[str, str]
    pictures: list[Outcome]
    images: int

    @property
    def limit(self) -> int:
        """How many are drawn at most."""
        return self.images * (1 + FURTHER)

    def shows(self, one: Outcome, seen: Values) -> bool | None:
        """Whether a picture shows all that could be read of what the name says; None where nothing could."""
        read = [(seen[axis].get(one.id), value) for axis, value in self.says.items() if isinstance(one, Picture)]
        known = [value == said for value, said in read if isinstance(value, str)]
        return all(known) if known else None

    def lacking(self, seen: Values) -> int:
        """How many more pictures that show the group are needed."""
        verdicts = [self.shows(one, seen) for one in self.pictures]
        return verdicts[: self.images].count(False) - verdicts[self.images :].count(True)

    def chosen(self, seen: Values, kept: bool) -> list[Outcome]:
        """The first pictures, with others in the place of those that show another group, unless these are `kept`."""
        further = (one for one in self.pictures[self.images :] if self.shows(one, seen))
        return [
            one if kept or self.shows(one, seen) is not False else next(further, Missing("other_group"))
            for one in self.pictures[: self.images]
        ]

    def entry(self, seen: Values, chosen: Sequence[Outcome], level: float) -> Showing:
        """How many show the group, of all that were drawn."""
        verdicts = [self.shows(one, seen) for one in self.pictures if isinstance(one, Picture)]
        yes, no, unread = (verdicts.count(verdict) for verdict in (True, False, None))
        share = share_intervals([yes, no], level=level, missing=unread)[0] if yes + no else NOT_READ
        empty = sum(isinstance(one, Missing) and one.reason == "other_group" for one in chosen)
        return Showing(self.group.name, self.says, share, len(self.pictures), empty)


def stated_values(name: str) -> dict[str, str]:
    """By axis of `SEEN` the value that a group's name says."""
    said = {axis: stated_value(name, axis) for axis in SEEN}
    return {axis: value for axis, value in said.items() if value is not None}


def showing_warnings(entries: Sequence[Showing], given: bool) -> list[str]:
    """A sentence for every group that too few of its pictures show; those that are `given` are kept."""
    kept = "they are kept, as whoever filed them saw them" if given else "those that do not were left out"
    return [
        f"{_sentence(one)}: {kept}" + (f", and {one.empty} of the places stay empty" if one.empty else "")
        for one in entries
        if isinstance(one.share, Estimate) and one.share.value < ENOUGH
    ]


def showing_section(entries: Sequence[Showing]) -> Section:
    """What a page says of it."""
    text = Text("Made sources that show another group are left out.", items=tuple(map(_sentence, entries)))
    return Section("Do the pictures show their group?", (text,), screen=False)


def showing_fact(entries: Sequence[Showing]) -> tuple[tuple[str, str], ...]:
    """The fact of a page's head: of all groups together."""
    read = [one.share for one in entries if isinstance(one.share, Estimate)]
    shown = sum(round(share.value * (share.n or 0)) for share in read)
    return (("Sources that show their group", f"{shown} of {sum(share.n or 0 for share in read)}"),) if read else ()


def _sentence(one: Showing) -> str:
    says = words.listing([f"{words.perceived(axis)} {value}" for axis, value in one.says.items()])
    if not isinstance(one.share, Estimate):
        return f"{words.quote(one.group, 60)}: nobody could read {says}"
    n = one.share.n or 0
    unread = f", {one.share.missing} could not be read" if one.share.missing else ""
    return f"sources that show {words.quote(one.group, 60)} ({says}): {round(one.share.value * n)} of {n}{unread}"
