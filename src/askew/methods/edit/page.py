"""The page of `askew edit`: what editing changes in pictures of each group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
    degrees,
    interval,
    number,
    percent,
    plural,
    shorten,
    signed,
    thousands,
)
from askew.parts.sources import neutrality_section
from askew.parts.survey.words import missing_sentence
from askew.types import Estimate, Missing

HOW = {"rule": "by its colour", "geometry": "on the cheeks"}
FLOOR = ("floor", "what reading alone changes: encoded and decoded, not edited")
OTHERS = ("others", "edit and the other pictures of the group")
TITLES = {"group": "groups", "targets": "sets of targets", "strength": "strengths"}

Change = Literal["gender_change", "ita_change"]


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

    @property
    def rows(self) -> dict[tuple[str, str], list[Editing]]:
        """By group and set of targets an entry for every strength."""
        found: dict[tuple[str, str], list[Editing]] = {}
        for one in self.found.editing:
            found.setdefault((one.group, one.targets), []).append(one)
            found[one.group, one.targets].sort(key=lambda one: one.strength)
        return found

    def of(self, name: str) -> list[Editing]:
        """The entries of a set of targets."""
        return [one for one in self.found.editing if one.targets == name]

    def gender(self) -> Section:
        """How often perceived gender changes."""
        plots = [
            Lanes(f"Edits towards {self._set(name)} whose perceived gender is not that of their source", "Group",
                  tuple(_lane(one, one.gender_change) for one in self.of(name)), "change", "share", SCORE, (), FLOOR)
            for name in self.found.plan.targets
        ]  # fmt: skip
        return Section("Perceived gender", (
            *self._seen(), *plots, *self._pooled(GENDER, "gender_change"),
            Fold("In the form of the paper's table 1", (self._paper(),)), Fold("By single target", (self._words(),)),
        ))  # fmt: skip

    def _seen(self) -> Iterator[Shares]:
        """Perceived gender before and after, at the greatest strength."""
        values = next(axis.values for axis in self.found.plan.axes if axis.name == GENDER)
        bars = []
        for (group, name), entries in self.rows.items():
            table = entries[-1].gender_table
            before = {value: sum(table.get(value, {}).values()) for value in values}
            after = {value: sum(row.get(value, 0) for row in table.values()) for value in values}
            sure = beyond_chance(entries[-1].gender_change)
            verdict = "changed beyond chance" if sure else "no change shown"
            kinds = [("edited", after, verdict)]
            if name == next(iter(self.found.plan.targets)):
                kinds.insert(0, ("sources", before, ""))
            for kind, counts, said in kinds:
                n = sum(counts.values())
                if n:
                    parts = tuple(Part(value, Estimate(count / n, n=n), count) for value, count in counts.items())
                    label = "sources" if kind == "sources" else f"towards {shorten(name, 40)}"
                    strong, title = bool(said) and sure, shorten(group, 60)
                    bars.append(Bar(label, parts, n, verdict=said, strong=strong, group=title))
        if bars:
            at = f"{self.strengths[-1]:g}"
            caption = f"Perceived gender of edits at strength {at}, and of their sources, each once for every edit"
            yield Shares(caption, tuple(bars), "Group")

    def faces(self) -> Iterator[Section]:
        """The paper's figures 1, 14 and 15: the sources first, then each set of targets by strength."""
        found = self.found.average_faces
        if not found:
            return
        columns = list(dict.fromkeys((one.targets, one.strength) for one in found))
        tones = {(one.group, one.targets, one.strength): one.average_face for one in self.found.editing}
        rows = []
        for group in self.found.plan.groups:
            own = {(one.targets, one.strength): one for one in found if one.group == group}
            shots = []
            for name, strength in columns:
                face = next(tone for place, tone in tones.items() if place[0] == group and name in (None, place[1])
                            and strength in (None, place[2]))  # fmt: skip
                tone = None if face is None else face.ita_before if name is None else face.ita_after
                alt = f"Average face: {group}, {_column(name, strength)}"
                told = f"{number(tone.value, 1)}°" if isinstance(tone, Estimate) else "no skin found"
                shots.append(shot(self.media, own[name, strength].picture, alt, told))
            rows.append(PictureRow(tuple(shots), shorten(group, 40)))
        warped = ", warped until these coincide" if self.found.plan.alignment == PIECEWISE else ""
        text = (f"The mean of all pictures in which one face was found, laid on each other by eyes and nose{warped}. "
                "Below each its ITA: larger is lighter skin.")  # fmt: skip
        heads = tuple(_column(name, strength) for name, strength in columns)
        pictures = Pictures("", tuple(rows), aligned=True, heads=heads, size="medium")
        yield Section("Average faces", (Text(text, muted=True), pictures), screen=False)

    def skin(self) -> Section:
        """How much skin changes."""
        plots = [
            Lanes(f"Skin tone of edits towards {self._set(name)} less that of their sources (ITA in degrees; right = "
                  "lighter)", "Group",
                  tuple(_lane(one, one.ita_change, *map(_digit, (one.ita_before, one.ita_after)))
                        for one in self.of(name)), "change", "degrees", DIFFERENCE, ("before", "after"))
            for name in self.found.plan.targets
        ]  # fmt: skip
        return Section("Skin tone", (
            *plots, *self._pooled("ethnicity", "ita_change"), *self._tones(),
            Fold("Is it the light? Skin against background", (self._exposure(),)),
        ))  # fmt: skip

    def axes(self) -> Section:
        """What else moved: how often the value of every other axis changes, beside its floor."""
        tables = [self._axes(strength) for strength in reversed(self.strengths)]
        others = [Fold(f"Edits at strength {strength:g}", (table,))
                  for strength, table in zip(reversed(self.strengths[:-1]), tables[1:], strict=True)]  # fmt: skip
        return Section("What else moved", (tables[0], *others), screen=False)

    def likeness(self) -> Section:
        """How alike source and edit are."""
        plots = [
            Lanes(f"Likeness of edits towards {self._set(name)} to their own source (cosine of embeddings)", "Group",
                  tuple(_lane(one, one.identity) for one in self.of(name)), "likeness", "unit",
                  ("value", "interval", "null", "corrected"), (), OTHERS)
            for name in self.found.plan.targets
        ]  # fmt: skip
        return Section("Likeness of source and edit", tuple(plots), screen=False)

    def differences(self) -> Iterator[Section]:
        """Between groups, sets of targets and strengths: what is beyond chance first."""
        folds = []
        for score, what in (("gender_change", "perceived gender"), ("ita_change", "skin tone")):
            for kind, title in TITLES.items():
                rows = [(words.contrast(one), getattr(one, score))
                        for one in self.found.editing_contrasts if one.contrast == kind]  # fmt: skip
                rows.sort(key=lambda row: (not beyond_chance(row[1]), -abs(_value(row[1]))))
                sure = sum(beyond_chance(e) for _, e in rows)
                lanes = tuple(Lane(where, e, group=label) for (label, where), e in rows)
                if lanes:
                    summary = f"Between {title}: {what}, {sure} of {len(rows)} beyond chance"
                    folds.append(Fold(summary, (_contrasts(score, lanes),)))
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

    def _set(self, name: str) -> str:
        return f"{shorten(name, 40)} ({shorten(', '.join(self.found.plan.targets[name]), 60)})"

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

    def _paper(self) -> Table:
        """The paper's table 1: change of gender, and of the average face's ITA, by group, targets and strength."""
        rows: list[tuple[Content, ...]] = []
        for place, entries in self.rows.items():
            genders = [_over(one.gender_change, 0.5) for one in entries]
            tones = [_over(one.average_face.ita_change if one.average_face else one.ita_change, 15) for one in entries]
            rows.append((*place, *genders, *tones))
        faces = any(one.average_face for one in self.found.editing)
        of = "the average face" if faces else "single pictures, on average"
        caption = (f"Share of edits whose perceived gender changes (bold: more than half) and change of ITA of {of} "
                   "(↑ lighter, ↓ darker; bold: over 15°), by strength; as the paper's table 1")  # fmt: skip
        return self._by_strength(caption, ("Group", "Targets"), ("Δ gender", "Δ ITA"), rows)

    def _words(self) -> Table:
        """The main changes by single target: what those of the sets are made of."""
        rows: list[tuple[Content, ...]] = []
        for (group, _), entries in self.rows.items():
            for word in entries[0].words:
                own = [one.by_word[word] for one in entries]
                cells = [*(_share(one.gender_change) for one in own), *(_angle(one.ita_change) for one in own),
                         *(_share(one.target_seen) for one in own)]  # fmt: skip
                rows.append((group, word, *cells))
        caption = ("Share of edits whose perceived gender changes, mean change of ITA in degrees, and share of edits "
                   "in which the target is seen, by target and strength")  # fmt: skip
        return self._by_strength(caption, ("Group", "Target"), ("Δ gender", "Δ ITA", "target seen"), rows)

    def _tones(self) -> Iterator[Fold]:
        """The paper's tables 2 and 3: ITA of the average faces, of the sources and of the edits."""
        known = {
            place: [one.average_face for one in entries if one.average_face] for place, entries in self.rows.items()
        }
        faces = [face for own in known.values() for face in own]
        if not faces:
            return
        below = (f", below it its class by the scheme {faces[0].tone_scheme} and the share of the face that is skin "
                 f"({HOW[faces[0].coverage.mask]})")  # fmt: skip
        sources = {group: _tone(own[0], "before") for (group, _), own in known.items() if own}
        first = Table(f"ITA of the average face of the sources{below}; as the paper's table 2", ("Group", "ITA"),
                      tuple(sources.items()))  # fmt: skip
        edits: list[tuple[Content, ...]] = [
            (*place, *(_tone(face, "after") for face in own)) for place, own in known.items() if own
        ]
        caption = f"ITA of the average face of the edits{below}; as the paper's table 3"
        second = self._by_strength(caption, ("Group", "Targets"), ("ITA",), edits)
        yield Fold("Average faces, in the form of the paper's tables 2 and 3", (first, second))

    def _by_strength(
        self, caption: str, labels: tuple[str, str], scores: Sequence[str], rows: Sequence[tuple[Content, ...]]
    ) -> Table:
        columns = tuple(f"{one:g}" for _ in scores for one in self.strengths)
        groups = tuple((score, len(self.strengths)) for score in scores)
        return Table(caption, (*labels, *columns), tuple(rows), labels=2, groups=groups)

    def _exposure(self) -> Table:
        """How much of the change of skin goes along with the rest of the picture."""
        how = HOW[self.found.editing[0].coverage.mask]
        rows = [
            (one.group, one.targets, f"{one.strength:g}", _light(one.lightness_change), _light(one.background_change),
             _light(one.beyond_exposure), percent(one.coverage.before), percent(one.coverage.after))
            for one in self.found.editing
        ]  # fmt: skip
        caption = (f"Change of L* on pixels that are skin before and after ({how}), on pixels that are skin in "
                   "neither, and the difference: what exposure does not explain. Coverage: share of the picture that "
                   "is taken as skin")  # fmt: skip
        columns = ("Group", "Targets", "Strength", "skin", "background", "beyond exposure", "coverage before", "after")
        return Table(caption, columns, tuple(rows), labels=3)

    def _axes(self, strength: float) -> Table:
        axes = [axis.name for axis in self.found.plan.axes if axis.name != GENDER]
        rows: list[tuple[Content, ...]] = []
        for one in self.found.editing:
            if one.strength == strength:
                moved = [_moved(one.other_axes.get(axis), one.other_floors.get(axis)) for axis in axes]
                rows.append((one.group, one.targets, _share(one.target_seen), *moved))
        caption = (
            f"Edits at strength {strength:g} in which the value read on an axis is not that of their source. Bold: "
            "more often than reading alone does (q < 0.05). Target seen: edits that show what they were to become"
        )
        columns = ("Group", "Targets", "Target seen", *(capital(axis_label(axis)) for axis in axes))
        return Table(caption, columns, tuple(rows), labels=2)


def _lane(one: Editing, score: E, *more: Content) -> Lane:
    return Lane(f"strength {one.strength:g}", score, more, group=shorten(one.group, 60))


def _contrasts(score: str, lanes: Sequence[Lane]) -> Lanes:
    if score == "gender_change":
        caption = "Differences in the change of perceived gender, in percentage points"
        return Lanes(caption, "Difference", tuple(lanes), "points", "points", DIFFERENCE)
    return Lanes("Differences in the change of ITA, in degrees", "Difference", tuple(lanes), "degrees", "degrees",
                 DIFFERENCE)  # fmt: skip


def _column(name: str | None, strength: float | None) -> str:
    return "sources" if name is None or strength is None else f"{shorten(name, 30)} {strength:g}"


def _value(e: E) -> float:
    return e.value if isinstance(e, Estimate) else 0.0


def _digit(e: E) -> str:
    return number(e.value if isinstance(e, Estimate) else None, 1)


def _over(e: E, bound: float) -> Cell:
    """A change, in bold above a bound: as a share, or as an angle with an arrow."""
    if isinstance(e, Missing):
        return Cell(None)
    arrow = f"{'↑' if e.value >= 0 else '↓'} " if bound > 1 else ""
    text = f"{arrow}{number(abs(e.value) if arrow else e.value, 2)}"
    return Cell(text, interval(e, "degrees" if arrow else "unit"), strong=abs(e.value) > bound)


def _share(e: E) -> Cell:
    return Cell(percent(e.value), interval(e, "share")) if isinstance(e, Estimate) else Cell(None)


def _angle(e: E) -> Cell:
    return Cell(degrees(e.value), interval(e, "degrees")) if isinstance(e, Estimate) else Cell(None)


def _light(e: E) -> Cell:
    if isinstance(e, Missing):
        return Cell(None)
    return Cell(signed(e.value, 1), interval(e, "degrees"), strong=beyond_chance(e))


def _moved(e: E | None, floor: E | None) -> Cell:
    if not isinstance(e, Estimate):
        return Cell(None)
    base = percent(floor.value if isinstance(floor, Estimate) else None)
    return Cell(percent(e.value), f"floor {base}", strong=beyond_chance(e))


def _tone(face: FaceTone, when: Literal["before", "after"]) -> Cell:
    e, name = (face.ita_before, face.tone_before) if when == "before" else (face.ita_after, face.tone_after)
    if isinstance(e, Missing):
        return Cell(e)
    covered = percent(face.coverage.before if when == "before" else face.coverage.after)
    return Cell(f"{number(e.value, 2)} {interval(e, 'degrees')}", f"{name}, {covered}")
