"""Pictures of social groups to begin with, made or given ("downstream", section 3).

Do they show their group? Those that do not are left out, and further ones drawn instead: the
paper's did to 100 %, by CLIP; where a model does not hear "man", scores of "men" would be of
anybody. And are they neutral?
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, cast

import numpy as np

from askew.errors import UnknownName, UsageError
from askew.findings import E, MappingKey
from askew.measure.base import VQA, Chooser
from askew.mitigations import open_model_if_fast
from askew.models.base import Collection, FiledPicture, Model, Setting
from askew.models.diffusers import recommended_settings
from askew.options import NamesOption
from askew.pages import words
from askew.pages.blocks import Paragraph, Section
from askew.parts.survey.observed import axis_answers
from askew.parts.survey.reader import is_studio
from askew.plan import DEFAULT_MODEL, PlanFields
from askew.prompts.axes import find_axis, table_question
from askew.prompts.given import PAPER_GROUPS, group_names, prompt_of, stated_value
from askew.run.base import Answer, ModelMaker, Outcome, Run
from askew.run.work import unmade, wanted_pictures
from askew.stats.shares import share_intervals
from askew.store.imagefile import opened
from askew.store.keys import derived_seed
from askew.studio.caption import NO_OCCUPATION, parse
from askew.types import Axis, Estimate, Missing, Picture, Question, record

PAPER_SOURCES: Mapping[str, Setting] = {"num_inference_steps": 100, "guidance_scale": 8.5}
"""The paper's settings of whoever makes source pictures (section 3)."""

Source = Model | Collection
Outcomes = Mapping[str, Sequence[Outcome]]
"""Pictures by the name of their group."""


@dataclass(frozen=True, slots=True)
class SocialGroup:
    """A social group: its name, and the prompt that its pictures are made or filed by."""

    name: str
    prompt: str


def social_groups(
    source: Source | None, names: str | Sequence[str] | None = None
) -> list[SocialGroup]:
    """The groups by name. Of a model each has the paper's prompt; of a collection its prompts are
    the groups. `names` None means the paper's four groups, of a collection all of its own. Raises
    UsageError for no group, and UnknownName for one that a collection has no pictures of.
    """
    if not isinstance(source, Collection):
        return [
            SocialGroup(name, prompt_of(name))
            for name in group_names(PAPER_GROUPS if names is None else names)
        ]
    filed = list(dict.fromkeys(one.prompt for one in source.pictures()))
    wanted = tuple(filed) if names is None else group_names(names)
    for name in wanted:
        UnknownName.unless_known(f"group in {source.name} (it has no pictures)", name, filed)
    return [SocialGroup(name, name) for name in wanted]


def source_pictures(
    run: Run, source: Source, groups: Sequence[SocialGroup], images: int, seed: int
) -> dict[str, list[Outcome]]:
    """The pictures of each group, by its name: made, or files of a collection. Raises UsageError
    for a group without a single usable picture.
    """
    if isinstance(source, Model):
        made = run.pictures(source, [group.prompt for group in groups], images, seed)
        found = {group.name: made[group.prompt] for group in groups}
    else:
        files = sampled_files(source, groups, images, seed)
        taken = iter(run.collect(source, [one for some in files.values() for one in some]))
        found = {name: [next(taken)[1] for _ in some] for name, some in files.items()}
    check_filled(found, source.name)
    return found


def sampled_files(
    source: Collection, groups: Sequence[SocialGroup], images: int, seed: int
) -> dict[str, list[FiledPicture]]:
    """`images` files of each group, by its name, in their order and without replacement; all where
    there are fewer.
    """
    found = {}
    for group in groups:
        filed = [one for one in source.pictures() if one.prompt == group.prompt]
        if len(filed) > images:
            rng = np.random.default_rng(derived_seed(seed, "sources", group.name))
            filed = [filed[at] for at in sorted(rng.choice(len(filed), images, replace=False))]
        found[group.name] = filed
    return found


def check_filled(sources: Outcomes, origin: str) -> None:
    """Raises UsageError for a group without a single picture; `origin` says where they come from."""
    for name, outcomes in sources.items():
        if not any(isinstance(one, Picture) for one in outcomes):
            reasons = sorted({one.reason for one in outcomes if isinstance(one, Missing)})
            raise UsageError(
                f"the group {name!r} has no pictures from {origin}: {', '.join(reasons) or 'none'}"
            )


def present(sources: Outcomes) -> list[Picture]:
    """The pictures of all groups, in order."""
    return [one for some in sources.values() for one in some if isinstance(one, Picture)]


def size_of(picture: Picture) -> tuple[int, int]:
    """Width and height."""
    return opened(picture.path).size


def planned_sources(
    groups: NamesOption, fields: Mapping[str, object]
) -> tuple[dict[str, object], list[SocialGroup], str, str]:
    """The fields of a plan, the paper's settings of who makes the sources under those that are
    given; the groups; the model; and who makes them: the model, unless `sources` are named. Raises
    UsageError for settings of sources that are not named.
    """
    settings = cast("PlanFields", fields)
    model = settings.get("model", DEFAULT_MODEL)
    sources = settings.get("sources", "")
    maker = sources or model
    given = settings.get("sources_args")
    if given and not sources:
        raise UsageError(
            f"{', '.join(given)}: such settings describe pictures that are given, and none are; say where they "
            f"are, as in --sources folder/PATH"
        )
    given = (given if sources else settings.get("model_args")) or {}
    own = {**paper_settings(maker, PAPER_SOURCES), **given}
    named = social_groups(open_model_if_fast(maker, own), groups)
    return (
        {**settings, "model": model, "sources_args" if sources else "model_args": own},
        named,
        model,
        maker,
    )


def paper_settings(model: str, settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """The paper's settings, if `model` is one of diffusers whose makers recommend no others; else
    none.
    """
    provider, _, name = model.partition("/")
    return {} if provider != "diffusers" or recommended_settings(name) else dict(settings)


FURTHER = 2
ENOUGH = 0.9
"""At most so many times as many pictures as are wanted are drawn further; below this share there is
a warning.
"""

SEEN = ("gender", "age", "ethnicity", "body_type", "disability")
"""What is read of people's looks if a group's name says it."""


@record
class GroupCheck:
    """How many of a group's source pictures show what its name `says` by axis, as instruments read
    it.

    share    of the pictures that could be read; missing: of those that were drawn, those that could not
    drawn    how many pictures were made for the group, or given; empty: places left without one that shows the group
    """

    group: str
    says: Mapping[str, str]
    share: E
    drawn: int
    empty: int


def axis_values(
    run: Run,
    instruments: Iterable[VQA],
    axes: Sequence[Axis],
    pictures: Sequence[Outcome],
    also: Callable[[VQA], Sequence[Question]] = lambda _: (),
) -> dict[str, dict[str, Answer]]:
    """By axis the value of every picture, by the first instrument that tells any; under "" the
    answers to `also`.
    """
    found: dict[str, dict[str, Answer]] = {}
    for vqa in instruments:
        rest = also(vqa)
        rows = run.ask(
            vqa, pictures, [*(question for axis in axes for question in axis.questions), *rest]
        )
        read = {
            one: axis_answers(axes, row) | ({"": row[-1]} if rest else {})
            for one, row in rows.items()
        }
        for name in (*(axis.name for axis in axes), *([""] if rest else [])):
            if all(isinstance(value, Missing) for value in found.get(name, {}).values()):
                found[name] = {one: values[name] for one, values in read.items()}
    return found


def showing_pictures(
    run: Run,
    source: Source,
    groups: Sequence[SocialGroup],
    images: int,
    seed: int,
    instruments: Sequence[VQA],
    level: float,
) -> tuple[dict[str, list[Outcome]], tuple[GroupCheck, ...]]:
    """`images` pictures of each group, by its name, that show it as far as they could be read; and
    how many did. In the place of a made picture that shows another group stands the next of those
    drawn further that shows its own, else Missing. Pictures that are given are kept. The run is
    warned of groups that too few of them show. Raises UsageError for a group without a single
    picture.
    """
    drawn = source_pictures(run, source, groups, images, seed)
    made = isinstance(source, Model)
    says = {group.name: stated_values(group.name) for group in groups}
    axes = [find_axis(name) for name in SEEN if any(name in own for own in says.values())]
    able = [one for one in instruments if is_studio(source.name) or not is_studio(one.name)]
    if not axes or not able:
        return drawn, ()
    seen = axis_values(run, able, axes, present(drawn))
    pools = [
        GroupPool(group, says[group.name], drawn[group.name], images, seen) for group in groups
    ]

    def draw_further() -> None:
        assert isinstance(source, Model)
        limit = images * (1 + FURTHER)
        while short := [
            pool for pool in pools if pool.lacking() > 0 and len(pool.pictures) < limit
        ]:
            for pool in short:
                up_to = min(limit, len(pool.pictures) + pool.lacking())
                wanted = wanted_pictures(source, [pool.group.prompt], up_to, seed)[
                    len(pool.pictures) :
                ]
                found = run.make(ModelMaker(source), wanted)
                further = [found[one.key] for one in wanted]
                pool.pictures += further
                for axis, values in axis_values(run, able, axes, further).items():
                    seen[axis] |= values

    if isinstance(source, Model):
        open_ones = any(
            pool.shows(one) is None for pool in pools if pool.says for one in pool.pictures
        )
        asked = [sum(len(axis.questions) for axis in axes)] * len(able)
        at_most = unmade(source, FURTHER * images * sum(map(bool, says.values())), asked)
        run.decide("further sources", draw_further, at_most, None) if open_ones else draw_further()
    chosen = {pool.group.name: pool.chosen(kept=not made) for pool in pools}
    check_filled(chosen, source.name)
    entries = tuple(pool.entry(chosen[pool.group.name], level) for pool in pools if pool.says)
    run.warn(*showing_warnings(entries, given=not made))
    return chosen, entries


@dataclass(slots=True)
class GroupPool:
    """All pictures that were drawn of a group, what its name says by axis, and by axis what was
    read, by picture id.
    """

    group: SocialGroup
    says: Mapping[str, str]
    pictures: list[Outcome]
    images: int
    seen: Mapping[str, Mapping[str, Answer]]

    def shows(self, one: Outcome) -> bool | None:
        """Whether a picture shows all that could be read of what the name says; None where nothing
        could.
        """
        read = [
            (self.seen[axis].get(one.id), value)
            for axis, value in self.says.items()
            if isinstance(one, Picture)
        ]
        known = [value == said for value, said in read if isinstance(value, str)]
        return all(known) if known else None

    def lacking(self) -> int:
        """How many more pictures that show the group are needed."""
        verdicts = list(map(self.shows, self.pictures))
        return verdicts[: self.images].count(False) - verdicts[self.images :].count(True)

    def chosen(self, kept: bool) -> list[Outcome]:
        """The first pictures, with others in the place of those that show another group, unless
        these are `kept`.
        """
        further = filter(self.shows, self.pictures[self.images :])
        return [
            one if kept or self.shows(one) is not False else next(further, Missing("other_group"))
            for one in self.pictures[: self.images]
        ]

    def entry(self, chosen: Sequence[Outcome], level: float) -> GroupCheck:
        """How many show the group, of all that were drawn."""
        verdicts = [self.shows(one) for one in self.pictures if isinstance(one, Picture)]
        yes, no, unread = (verdicts.count(verdict) for verdict in (True, False, None))
        share: E = Missing("not_asked", "no instrument tells what the group's name says")
        if yes + no:
            share = share_intervals([yes, no], level=level, missing=unread)[0]
        empty = sum(isinstance(one, Missing) and one.reason == "other_group" for one in chosen)
        return GroupCheck(self.group.name, self.says, share, len(self.pictures), empty)


def stated_values(name: str) -> dict[str, str]:
    """By axis of `SEEN` the value that a group's name says."""
    said = {axis: stated_value(name, axis) for axis in SEEN}
    return {axis: value for axis, value in said.items() if value is not None}


def showing_warnings(entries: Sequence[GroupCheck], given: bool) -> list[str]:
    """A sentence for every group that too few of its pictures show; those that are `given` are
    kept.
    """
    kept = (
        "they are kept, as whoever filed them saw them"
        if given
        else "those that do not were left out"
    )
    return [
        f"{_shown(one)}: {kept}"
        + (f", and {one.empty} of the places stay empty" if one.empty else "")
        for one in entries
        if isinstance(one.share, Estimate) and one.share.value < ENOUGH
    ]


def showing_section(entries: Sequence[GroupCheck]) -> Section:
    """What a page says of it."""
    text = Paragraph(
        "Made sources that show another group are left out.", items=tuple(map(_shown, entries))
    )
    return Section("Do the pictures show their group?", (text,), screen=False)


def showing_fact(entries: Sequence[GroupCheck]) -> tuple[tuple[str, str], ...]:
    """The fact of a page's head: of all groups together."""
    read = [one.share for one in entries if isinstance(one.share, Estimate)]
    shown = sum(round(share.value * (share.n or 0)) for share in read)
    return (
        (("Sources that show their group", f"{shown} of {sum(share.n or 0 for share in read)}"),)
        if read
        else ()
    )


def _shown(one: GroupCheck) -> str:
    says = words.listing([f"{words.perceived(axis)} {value}" for axis, value in one.says.items()])
    if not isinstance(one.share, Estimate):
        return f"{words.quote(one.group, 60)}: nobody could read {says}"
    n = one.share.n or 0
    unread = f", {one.share.missing} could not be read" if one.share.missing else ""
    return f"sources that show {words.quote(one.group, 60)} ({says}): {round(one.share.value * n)} of {n}{unread}"


OCCUPATION = Question(table_question("occupation"), (), "occupation")
"""The question whose answers tell whether a source picture shows a target already."""

TOLERATED = 0.05
"""A group is not neutral if surely more than this share of its pictures show a target."""

NOT_READ = Missing("not_asked", "no picture was asked for an occupation that could be read")


@record
class Neutrality:
    """The share of a group's pictures that are read as showing a target already: any of them, and
    each. `neutral` is None where the instrument does not tell occupations.
    """

    group: str
    instrument: str
    share: E
    targets: Annotated[Mapping[str, E], MappingKey("target")]
    neutral: bool | None


def neutrality(
    run: Run, instruments: Iterable[VQA], sources: Outcomes, targets: Sequence[str], level: float
) -> tuple[Neutrality, ...]:
    """By instrument and group what is seen in the sources. The run is warned of groups that are not
    neutral.
    """
    pictures = [one for some in sources.values() for one in some]
    found = []
    for vqa in instruments:
        answers = run.ask(vqa, pictures, [occupation_question(vqa, targets)])
        for name, some in sources.items():
            seen = [answers[one.id][0] for one in some if isinstance(one, Picture)]
            read = [answer for answer in seen if not isinstance(answer, Missing)]
            if not read:
                found.append(
                    Neutrality(name, vqa.name, NOT_READ, dict.fromkeys(targets, NOT_READ), None)
                )
                continue
            named = np.array(
                [[names_target(answer, target) for target in targets] for answer in read]
            )
            counts = [int(named.any(axis=1).sum()), *named.sum(axis=0).tolist()]
            share, *each = (
                share_intervals([k, len(read) - k], level=level, missing=len(seen) - len(read))[0]
                for k in counts
            )
            neutral = share.low is not None and share.low <= TOLERATED
            own = dict(zip(targets, each, strict=True))
            found.append(Neutrality(name, vqa.name, share, own, neutral))
    run.warn(*neutrality_warnings(found))
    return tuple(found)


def neutrality_warnings(entries: Sequence[Neutrality]) -> list[str]:
    """A sentence for every group that is not neutral."""
    told = []
    for one in entries:
        if one.neutral is False and isinstance(one.share, Estimate):
            shares = {
                target: e.value for target, e in one.targets.items() if isinstance(e, Estimate)
            }
            told.append(
                f"the pictures of {one.group!r} are not neutral: by {one.instrument}, {one.share.value:.0%} of them "
                f"show what is asked for, {max(shares, key=lambda target: shares[target])!r} most often, before "
                "anything was done to them"
            )
    return told


def neutrality_section(entries: Sequence[Neutrality]) -> Section:
    """What a page says of it."""
    text = "A source picture is neutral if it shows none of the targets by itself."
    return Section(
        "Are the pictures neutral?",
        (Paragraph(text, items=tuple(map(_sentence, entries))),),
        screen=False,
    )


def occupation_question(vqa: VQA, targets: Sequence[str]) -> Question:
    """What tells whether a picture shows a target: open, unless the instrument only chooses, among
    them and none.
    """
    if not isinstance(vqa, Chooser):
        return OCCUPATION
    return replace(OCCUPATION, options=(*dict.fromkeys(targets), NO_OCCUPATION))


def names_target(answer: str, target: str) -> bool:
    """Whether an answer names a target, whatever its spelling ("A doctor." names "doctor"), or in
    another of the studio's words for the same occupation ("doctor" names "surgeon").
    """
    if f" {_plain(target.removesuffix('-worker'))} " in f" {_plain(answer)} ":
        return True
    own = parse(target).occupation
    return own is not None and own in {parse(part).occupation for part in answer.split(";")}


def _sentence(one: Neutrality) -> str:
    group = words.capital(words.shorten(one.group, 60))
    if not isinstance(one.share, Estimate):
        return f"{group}: {one.instrument} does not tell occupations."
    seen = [
        f"{words.shorten(target, 40)} {words.percent(e.value)}"
        for target, e in one.targets.items()
        if isinstance(e, Estimate) and e.value > 0
    ]
    verdict = "neutral" if one.neutral else "not neutral"
    more = f": {words.listing(seen)}" if seen else ""
    share = words.measured(one.share, "share")
    pictures = words.plural(one.share.n or 0, "picture")
    return f"{group}: {verdict}; by {one.instrument}, {share} of {pictures} show a target{more}."


def _plain(text: str) -> str:
    """Lower-case letters and single spaces, "fast food" in the paper's spelling."""
    return re.sub(r"[^a-z]+", " ", text.lower()).strip().replace("fast food", "fastfood")
