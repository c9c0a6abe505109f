"""The page of `askew edit`: what editing changes in pictures of each group."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from askew.methods.edit import words
from askew.methods.edit.findings import EditFindings, Editing, FaceTone
from askew.methods.edit.plan import GENDER
from askew.methods.edit.reading import PIECEWISE
from askew.pages import common
from askew.pages.blocks import (
    DIFFERENCE,
    PLAIN,
    SCORE,
    Bar,
    Cell,
    Content,
    E,
    Fold,
    Lane,
    Lanes,
    Page,
    Part,
    PictureRow,
    Pictures,
    Scale,
    Section,
    Shares,
    Table,
    Text,
)
from askew.pages.media import TOTAL, Media, picture_row, shot
from askew.pages.words import (
    axis_label,
    beyond_chance,
    capital,
    interval,
    measured,
    number,
    percent,
    plural,
    shorten,
    thousands,
)
from askew.parts.sources import neutrality_section
from askew.parts.survey.words import missing_sentence
from askew.types import Estimate, Missing

Change = Literal["gender_change", "ita_change"]

HOW = {"rule": "by its colour", "geometry": "on the cheeks"}
FLOOR = ("floor", "what reading alone changes: encoded and decoded, not edited")
OTHERS = ("others", "edit and the other pictures of the group")
TITLES = {"group": "groups", "targets": "sets of targets", "strength": "strengths"}
CHANGED: Mapping[Change, tuple[str, str, Scale]] = {
    "gender_change": ("perceived gender", "perceived gender, in percentage points", "points"),
    "ita_change": ("skin tone", "ITA, in degrees", "degrees"),
}

FacePlace = tuple[str, str | None, float | None]
"""A group, a set of targets and a strength; of its sources the group alone."""


def page(found: EditFindings, media: Media) -> Page:
    """What to show of a run of edits."""
    view, plan = View(found, media), found.plan
    uneven = [missing_sentence(one, words.hidden(one.targets)) for one in found.missing_pictures]
    said = tuple(sentence for sentence in uneven if sentence)
    facts = (
        ("Pictures from", shorten(found.sources.name, 120)),
        ("Groups", f"{len(plan.groups)}, {plural(plan.images, 'picture')} each"),
        ("Edits", thousands(sum(one.n for one in found.editing))),
        ("Strengths", ", ".join(f"{one:g}" for one in plan.strengths)),
    )
    return Page(
        kicker=f"askew edit: what editing by {shorten(found.model.name, 80)} does to people",
        title=f"{capital(', '.join(shorten(name, 40) for name in plan.targets))}: {plural(len(plan.groups), 'group')}",
        answer=words.answer(found),
        facts=(*common.facts(found), *facts),
        sections=(
            view.gender(), *view.faces(), view.pictures(), view.skin(), view.axes(), view.likeness(),
            *view.differences(),
            neutrality_section(found.neutrality),
            common.missing_data(found, sentences=said),
            Section("How to read this", words.reading(found.editing[0].tone_scheme), screen=False),
            Section("Method", words.method(plan), screen=False),
            *common.provenance(found),
        ),
        warnings=found.warnings,
        notes=(*common.notes(found), *said),
        version=found.askew,
    )  # fmt: skip


@dataclass(frozen=True)
class View:
    """Findings, looked up by group, set of targets and strength."""

    found: EditFindings
    media: Media

    @property
    def strengths(self) -> list[float]:
        """The least first."""
        return sorted(self.found.plan.strengths)

    def gender(self) -> Section:
        """How often perceived gender changes."""
        plot = Lanes("Edits towards {} whose perceived gender is not that of their source", "Group", (), "change",
                     "share", SCORE, (), FLOOR)  # fmt: skip
        return Section("Perceived gender", (
            *self._seen(), *self._plots(plot, lambda one: one.gender_change), *self._pooled(GENDER, "gender_change"),
            Fold("By single target", (self._words(),)),
        ))  # fmt: skip

    def _seen(self) -> Iterator[Shares]:
        """Perceived gender before and after, at the greatest strength."""
        values = next(axis.values for axis in self.found.plan.axes if axis.name == GENDER)
        bars = []
        for one in self.found.editing:
            if one.strength == self.strengths[-1]:
                table, title, sure = one.gender_table, shorten(one.group, 60), beyond_chance(one.gender_change)
                if one.targets == next(iter(self.found.plan.targets)):
                    bars.append(_bar("sources", {v: sum(table.get(v, {}).values()) for v in values}, group=title))
                after = {value: sum(row.get(value, 0) for row in table.values()) for value in values}
                verdict = "changed beyond chance" if sure else "no change shown"
                bars.append(_bar(f"towards {shorten(one.targets, 40)}", after, verdict, sure, title))
        if known := tuple(bar for bar in bars if bar.n):
            at = f"{self.strengths[-1]:g}"
            caption = f"Perceived gender of edits at strength {at}, and of their sources, each once for every edit"
            yield Shares(caption, known, "Group")

    def faces(self) -> Iterator[Section]:
        """The paper's figures 1, 14 and 15: the sources first, then each set of targets by strength."""
        found = {(one.group, one.targets, one.strength): one.picture for one in self.found.average_faces}
        if not found:
            return
        known = [(one, one.average_face) for one in self.found.editing if one.average_face]
        tones: dict[FacePlace, E] = {(one.group, None, None): face.ita_before for one, face in known}
        tones |= {(one.group, one.targets, one.strength): face.ita_after for one, face in known}
        heads = {at[1:]: "sources" if at[1] is None else f"{shorten(at[1], 30)} {at[2]:g}" for at in found}
        rows = []
        for group in self.found.plan.groups:
            shots = [shot(self.media, found[group, *at], f"Average face: {group}, {head}",
                          f"{number(tone.value, 1)}°" if isinstance(tone, Estimate) else "no skin found")
                     for at, head in heads.items() for tone in [tones[group, *at]]]  # fmt: skip
            rows.append(PictureRow(tuple(shots), shorten(group, 40)))
        warped = ", warped until these coincide" if self.found.plan.alignment == PIECEWISE else ""
        text = (f"The mean of all pictures in which one face was found, laid on each other by eyes and nose{warped}. "
                "Below each its ITA: larger is lighter skin.")  # fmt: skip
        pictures = Pictures("", tuple(rows), aligned=True, heads=tuple(heads.values()), size="medium")
        lanes = [Lane(_place(one), face.ita_change, (_tone(face, "before"), _tone(face, "after")),
                      group=shorten(one.group, 60)) for one, face in known]  # fmt: skip
        caption = ("ITA of the average face of edits less that of their sources; of both the ITA, its class by the "
                   f"scheme {known[0][1].tone_scheme}, and the share of the face that is skin "
                   f"({HOW[known[0][1].coverage.mask]}); as the paper's tables 1 to 3")  # fmt: skip
        numbers = Lanes(caption, "Group", tuple(lanes), "change", "degrees", DIFFERENCE, ("before", "after"))
        blocks = (Text(text, muted=True), pictures, Fold("Their skin tone in numbers", (numbers,)))
        yield Section("Average faces", blocks, screen=False)

    def skin(self) -> Section:
        """How much skin changes."""
        plot = Lanes("Skin tone of edits towards {} less that of their sources (ITA in degrees; right = lighter)",
                     "Group", (), "change", "degrees", DIFFERENCE, ("before", "after"))  # fmt: skip
        plots = self._plots(plot, lambda one: one.ita_change, lambda one: tuple(
            number(e.value if isinstance(e, Estimate) else None, 1) for e in (one.ita_before, one.ita_after)
        ))  # fmt: skip
        light = Fold("Is it the light? Skin against background", (self._exposure(),))
        return Section("Skin tone", (*plots, *self._pooled("ethnicity", "ita_change"), light))

    def axes(self) -> Section:
        """What else moved: how often the value of every other axis changes, beside its floor."""
        axes = [axis.name for axis in self.found.plan.axes if axis.name != GENDER]
        rows: list[tuple[Content, ...]] = [
            (one.group, one.targets, f"{one.strength:g}", measured(one.target_seen, "share"),
             *(_moved(one.other_axes.get(axis), one.other_floors.get(axis)) for axis in axes))
            for one in sorted(self.found.editing, key=lambda one: -one.strength)
        ]  # fmt: skip
        caption = ("Edits in which the value read on an axis is not that of their source. Bold: more often than "
                   "reading alone does (q < 0.05). Target seen: edits that show what they were to become")  # fmt: skip
        columns = ("Group", "Targets", "Strength", "Target seen", *(capital(axis_label(axis)) for axis in axes))
        return Section("What else moved", (Table(caption, columns, tuple(rows), labels=3),), screen=False)

    def likeness(self) -> Section:
        """How alike source and edit are."""
        plot = Lanes("Likeness of edits towards {} to their own source (cosine of embeddings)", "Group", (),
                     "likeness", "unit", ("value", "interval", "null", "corrected"), (), OTHERS)  # fmt: skip
        plots = self._plots(plot, lambda one: one.identity)
        return Section("Likeness of source and edit", tuple(plots), screen=False)

    def differences(self) -> Iterator[Section]:
        """Between groups, sets of targets and strengths: what is beyond chance first."""
        folds = []
        for score, (what, of, scale) in CHANGED.items():
            for kind, title in TITLES.items():
                rows = [(words.contrast(one), getattr(one, score))
                        for one in self.found.editing_contrasts if one.contrast == kind]  # fmt: skip
                rows.sort(key=lambda row: (not beyond_chance(row[1]),
                                           -abs(row[1].value) if isinstance(row[1], Estimate) else 0.0))  # fmt: skip
                lanes = tuple(Lane(where, e, group=label) for (label, where), e in rows)
                if lanes:
                    sure = sum(beyond_chance(e) for _, e in rows)
                    summary = f"Between {title}: {what}, {sure} of {len(rows)} beyond chance"
                    caption = f"Differences in the change of {of}"
                    folds.append(Fold(summary, (Lanes(caption, "Difference", lanes, scale, scale, DIFFERENCE),)))
        if folds:
            yield Section("Differences", tuple(folds), screen=False)

    def pictures(self) -> Section:
        """For every group and target its first pictures, above their edits at every strength."""
        plan = self.found.plan
        sets = {(one.prompt, one.target, one.strength): one for one in self.found.sets if one.axis != "encode-decode"}
        most = max(4, min(12, TOTAL // (len(plan.groups) * len(plan.words) * (len(self.strengths) + 1))))
        folds: list[Fold] = []
        for group in plan.groups:
            for word in plan.words:
                rows = [picture_row(self.media, sets[group, None, None].pictures, "source", most)]
                rows += [picture_row(self.media, sets[group, word, s].pictures, f"{s:g}", most) for s in self.strengths]
                caption = f"Run seed {plan.seed}; below each picture its edits by strength"
                title = f"{shorten(group, 60)} → {shorten(word, 60)}"
                folds.append(Fold(title, (Pictures(caption, tuple(rows), aligned=True),), open=not folds))
        return Section("Pictures", tuple(folds), screen=False)

    def _plots(
        self, plot: Lanes, score: Callable[[Editing], E], more: Callable[[Editing], tuple[str, ...]] = lambda one: ()
    ) -> Iterator[Lanes]:
        """A plot for every set of targets, which stands at {} in its caption: a row a group and strength."""
        for name, targets in self.found.plan.targets.items():
            rows = tuple(
                Lane(f"strength {one.strength:g}", score(one), more(one), group=shorten(one.group, 60))
                for one in self.found.editing if one.targets == name
            )  # fmt: skip
            told = f"{shorten(name, 40)} ({shorten(', '.join(targets), 60)})"
            yield replace(plot, caption=plot.caption.format(told), rows=rows)

    def _pooled(self, axis: str, score: Change) -> Iterator[Fold]:
        """The paper's figure 3, left and middle: all groups whose names say the same value of an axis."""
        own = [one for one in self.found.editing_pooled if one.axis == axis]
        rows = [Lane(f"{one.targets}, strength {one.strength:g}", getattr(one, score), group=capital(one.value))
                for one in own]  # fmt: skip
        gender = score == "gender_change"
        what = "Edits whose perceived gender changes" if gender else "Change of ITA in degrees (right = lighter)"
        side = "left" if gender else "middle"
        caption = f"{what}, all groups of one {axis} together; as the paper's figure 3, {side}"
        if rows:
            lanes = Lanes(caption, capital(axis), tuple(rows), "change", "share" if gender else "degrees", PLAIN)
            yield Fold(f"All groups of one {axis} together", (lanes,))

    def _words(self) -> Lanes:
        """The main changes by single target: what those of the sets are made of."""
        rows = tuple(
            Lane(f"{word}, strength {one.strength:g}", own.gender_change,
                 (measured(own.ita_change, "degrees"), measured(own.target_seen, "share")), group=one.group)
            for one in self.found.editing for word, own in one.by_word.items()
        )  # fmt: skip
        caption = ("Share of edits whose perceived gender changes, by target and strength; mean change of ITA in "
                   "degrees, and share of edits in which the target is seen")  # fmt: skip
        return Lanes(caption, "Group", rows, "change", "share", PLAIN, ("Δ ITA", "target seen"))

    def _exposure(self) -> Lanes:
        """How much of the change of skin goes along with the rest of the picture."""
        rows = tuple(
            Lane(_place(one), one.beyond_exposure, (one.lightness_change, one.background_change,
                 f"{percent(one.coverage.before)}, {percent(one.coverage.after)}"), group=shorten(one.group, 60))
            for one in self.found.editing
        )  # fmt: skip
        caption = (f"Change of L* on pixels that are skin before and after ({HOW[self.found.editing[0].coverage.mask]})"
                   " less that on pixels that are skin in neither: what exposure does not explain. Coverage: share of "
                   "the picture that is taken as skin, before and after")  # fmt: skip
        more = ("skin", "background", "coverage")
        return Lanes(caption, "Group", rows, "beyond exposure", "signed", DIFFERENCE, more, digits=1)


def _place(one: Editing) -> str:
    return f"{shorten(one.targets, 40)}, strength {one.strength:g}"


def _bar(label: str, counts: Mapping[str, int], verdict: str = "", strong: bool = False, group: str = "") -> Bar:
    n = sum(counts.values())
    parts = tuple(Part(value, Estimate(count / (n or 1), n=n), count) for value, count in counts.items())
    return Bar(label, parts, n, verdict=verdict, strong=strong, group=group)


def _moved(e: E | None, floor: E | None) -> Cell:
    if not isinstance(e, Estimate):
        return Cell(None)
    base = percent(floor.value if isinstance(floor, Estimate) else None)
    return Cell(percent(e.value), f"floor {base}", strong=beyond_chance(e))


def _tone(face: FaceTone, when: Literal["before", "after"]) -> E | str:
    e, name = (face.ita_before, face.tone_before) if when == "before" else (face.ita_after, face.tone_after)
    if isinstance(e, Missing):
        return e
    covered = percent(face.coverage.before if when == "before" else face.coverage.after)
    return f"{number(e.value, 2)} {interval(e, 'degrees')}, {name}, {covered}"
