"""The page of `askew edit`: what editing changes in pictures of each group."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from askew.methods.edit import words as texts
from askew.methods.edit.findings import EditFindings, Editing
from askew.methods.edit.plan import GENDER
from askew.pages import blocks as b
from askew.pages import common, words
from askew.pages.media import TOTAL, Media, picture_row, shot
from askew.pages.words import shorten
from askew.parts.showing import showing_fact, showing_section
from askew.parts.sources import neutrality_section
from askew.parts.survey.words import missing_sentence
from askew.types import Estimate

Change = Literal["gender_change", "ita_change"]

HOW = {"rule": "by its colour", "geometry": "on the cheeks"}
FLOOR = ("floor", "what reading alone changes: encoded and decoded, not edited")
OTHERS = ("others", "edit and the other pictures of the group")
CHANGED: Mapping[Change, tuple[str, str, b.Scale]] = {
    "gender_change": ("perceived gender", "perceived gender, in percentage points", "points"),
    "ita_change": ("skin tone", "ITA, in degrees", "degrees"),
}


def page(found: EditFindings, media: Media) -> b.Page:
    """What to show of a run of edits."""
    view, plan = View(found, media), found.plan
    uneven = [missing_sentence(one, texts.hidden(one)) for one in found.missing_pictures]
    facts = (
        ("Pictures from", shorten(found.sources.name, 120)),
        ("Groups", f"{len(plan.groups)}, {words.plural(plan.images, 'picture')} each"),
        *showing_fact(found.showing),
        ("Edits", words.thousands(sum(one.n for one in found.editing))),
        ("Strengths", ", ".join(f"{one:g}" for one in plan.strengths)),
    )
    targets = words.capital(", ".join(shorten(name, 40) for name in plan.targets))
    return common.page(
        found, f"askew edit: what editing by {shorten(found.model.name, 80)} does to people",
        f"{targets}: {words.plural(len(plan.groups), 'group')}", texts.answer(found),
        (view.gender(), *view.faces(), view.pictures(), view.skin(), view.axes(), view.likeness(), *view.differences(),
         showing_section(found.showing), neutrality_section(found.neutrality)),
        facts=(*common.facts(found), *facts), reading=texts.reading(plan, found.editing[0].tone_scheme),
        notes=common.notes(found), uneven=[sentence for sentence in uneven if sentence],
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

    def gender(self) -> b.Section:
        """How often perceived gender changes."""
        plot = b.Lanes("Edits towards {} whose perceived gender is not that of their source", "Group", (), "change",
                       "share", chance=FLOOR)  # fmt: skip
        plots = self._plots(plot, lambda one: one.gender_change)
        pooled = self._pooled(GENDER, "gender_change", "Edits whose perceived gender changes", "left")
        return b.Section("Perceived gender", (*self._seen(), *plots, *pooled))

    def _seen(self) -> Iterator[b.Shares]:
        """Perceived gender before and after, at the strength of the headline."""
        values = next(axis.values for axis in self.found.plan.axes if axis.name == GENDER)
        bars, strength = [], texts.told_strength(self.found.plan)
        for one in self.found.editing:
            if one.strength == strength:
                table, title, sure = one.gender_table, shorten(one.group, 60), words.beyond_chance(one.gender_change)
                if one.targets == next(iter(self.found.plan.targets)):
                    bars.append(_bar("sources", {v: sum(table.get(v, {}).values()) for v in values}, group=title))
                after = {value: sum(row.get(value, 0) for row in table.values()) for value in values}
                verdict = "changed beyond chance" if sure else "no change shown"
                bars.append(_bar(f"towards {shorten(one.targets, 40)}", after, verdict, sure, title))
        if known := tuple(bar for bar in bars if bar.n):
            caption = (f"Perceived gender of edits at strength {strength:g}, and of their sources, each once for every "
                       "edit")  # fmt: skip
            yield b.Shares(caption, known, "Group")

    def faces(self) -> Iterator[b.Section]:
        """The paper's figures 1, 14 and 15: the sources first, then each set of targets by strength."""
        found = {(one.group, one.targets, one.strength): one for one in self.found.average_faces}
        if not found:
            return
        known = [(one, one.average_face) for one in self.found.editing if one.average_face]
        tones: dict[tuple[str, str | None, float | None], b.E]
        tones = {(one.group, None, None): face.ita_before for one, face in known}
        tones |= {(one.group, one.targets, one.strength): face.ita_after for one, face in known}
        heads = {at[1:]: "sources" if at[1] is None else f"{shorten(at[1], 30)} {at[2]:g}" for at in found}
        rows = []
        for group in self.found.plan.groups:
            shots = []
            for at, head in heads.items():
                one, tone = found[group, *at], tones[group, *at]
                told = f"{words.number(tone.value, 1)}°" if isinstance(tone, Estimate) else "no skin found"
                alt = f"Average face: {group}, {head}"
                shots.append(shot(self.media, one.picture, alt, f"{told}, {one.faces} of {one.n}"))
            rows.append(b.PictureRow(tuple(shots), shorten(group, 40)))
        text = ("The mean of all pictures in which one face was found, laid on each other by eyes and nose. "
                "Below each its ITA (larger is lighter skin), and how many of the pictures these are.")  # fmt: skip
        pictures = b.Pictures("", tuple(rows), aligned=True, heads=tuple(heads.values()), size="medium")
        lanes = tuple(_lane(one, face.ita_change, _tone(face.ita_before, face.tone_before),
                            _tone(face.ita_after, face.tone_after)) for one, face in known)  # fmt: skip
        caption = ("ITA of the average face of edits less that of their sources; of both the ITA and its class by the "
                   f"scheme {known[0][1].tone_scheme}, of skin found {HOW[known[0][1].coverage.mask]}; as the paper's "
                   "tables 1 to 3")  # fmt: skip
        numbers = b.Lanes(caption, "Group", lanes, "change", "degrees", b.DIFFERENCE, ("before", "after"))
        parts = (b.Text(text, muted=True), pictures, b.Fold("Their skin tone in numbers", (numbers,)))
        yield b.Section("Average faces", parts, screen=False)

    def skin(self) -> b.Section:
        """How much skin changes."""
        plot = b.Lanes("Skin tone of edits towards {} less that of their sources (ITA in degrees; right = lighter)",
                       "Group", (), "change", "degrees", b.DIFFERENCE, ("before", "after"))  # fmt: skip
        plots = self._plots(plot, lambda one: one.ita_change, lambda one: tuple(
            words.part(e, "value", "range", 1) for e in (one.ita_before, one.ita_after)))  # fmt: skip
        pooled = self._pooled("ethnicity", "ita_change", "Change of ITA in degrees (right = lighter)", "middle")
        return b.Section("Skin tone", (*plots, *pooled))

    def axes(self) -> b.Section:
        """What else moved: how often the value of every other axis changes, beside its floor."""
        axes = [axis.name for axis in self.found.plan.axes if axis.name != GENDER]
        rows: list[tuple[b.Content, ...]] = [
            (one.group, one.targets, f"{one.strength:g}", words.measured(one.target_seen, "share"),
             *(_moved(one.other_axes.get(axis), one.other_floors.get(axis)) for axis in axes))
            for one in sorted(self.found.editing, key=lambda one: -one.strength)
        ]  # fmt: skip
        caption = ("Edits in which the value read on an axis is not that of their source. Bold: more often than "
                   "reading alone does (q < 0.05). Target seen: edits that show what they were to become")  # fmt: skip
        heads = (words.capital(words.axis_label(axis)) for axis in axes)
        columns = ("Group", "Targets", "Strength", "Target seen", *heads)
        return b.Section("What else moved", (b.Table(caption, columns, tuple(rows), labels=3),), screen=False)

    def likeness(self) -> b.Section:
        """How alike source and edit are."""
        plot = b.Lanes("Likeness of edits towards {} to their own source (cosine of embeddings)", "Group", (),
                       "likeness", "unit", ("value", "interval", "null", "corrected"), (), OTHERS)  # fmt: skip
        plots = self._plots(plot, lambda one: one.identity)
        return b.Section("Likeness of source and edit", tuple(plots), screen=False)

    def differences(self) -> Iterator[b.Section]:
        """Between groups, sets of targets and strengths: what is beyond chance first."""
        folds = []
        for score, (what, of, scale) in CHANGED.items():
            found = [(texts.contrast(one), getattr(one, score)) for one in self.found.editing_contrasts]
            found.sort(key=lambda row: (not words.beyond_chance(row[1]),
                                        -abs(row[1].value) if isinstance(row[1], Estimate) else 0.0))  # fmt: skip
            rows = tuple(b.Lane(where, e, group=label) for (label, where), e in found)
            plot = b.Lanes(f"Differences in the change of {of}", "Difference", rows, scale, scale, b.DIFFERENCE)
            sure = sum(words.beyond_chance(e) for _, e in found)
            folds.append(b.Fold(f"{words.capital(what)}: {sure} of {len(rows)} beyond chance", (plot,)))
        if self.found.editing_contrasts:
            yield b.Section("Differences", tuple(folds), screen=False)

    def pictures(self) -> b.Section:
        """For every group and target its first pictures, above their edits at every strength."""
        plan = self.found.plan
        sets = {(one.prompt, one.target, one.strength): one for one in self.found.sets if one.axis != "encode-decode"}
        most = max(4, min(12, TOTAL // (len(plan.groups) * len(plan.words) * (len(self.strengths) + 1))))
        caption = f"Run seed {plan.seed}; below each picture its edits by strength"
        folds: list[b.Fold] = []
        for group in plan.groups:
            for word in plan.words:
                rows = [picture_row(self.media, sets[group, None, None].pictures, "source", most)]
                rows += [picture_row(self.media, sets[group, word, s].pictures, f"{s:g}", most) for s in self.strengths]
                title = f"{shorten(group, 60)} → {shorten(word, 60)}"
                folds.append(b.Fold(title, (b.Pictures(caption, tuple(rows), aligned=True),), open=not folds))
        return b.Section("Pictures", tuple(folds), screen=False)

    def _plots(
        self, plot: b.Lanes, score: Callable[[Editing], b.E],
        more: Callable[[Editing], tuple[str, ...]] = lambda one: (),
    ) -> Iterator[b.Lanes]:  # fmt: skip
        """A plot for every set of targets, which stands at {} in its caption: a row a group and strength."""
        for name, targets in self.found.plan.targets.items():
            rows = tuple(
                b.Lane(f"strength {one.strength:g}", score(one), more(one), group=shorten(one.group, 60))
                for one in self.found.editing if one.targets == name
            )  # fmt: skip
            told = f"{shorten(name, 40)} ({shorten(', '.join(targets), 60)})"
            yield replace(plot, caption=plot.caption.format(told), rows=rows)

    def _pooled(self, axis: str, score: Change, what: str, side: str) -> Iterator[b.Fold]:
        """The paper's figure 3: all groups whose names say the same value of an axis."""
        rows = tuple(
            b.Lane(f"{one.targets}, strength {one.strength:g}", getattr(one, score), group=words.capital(one.value))
            for one in self.found.editing_pooled if one.axis == axis
        )  # fmt: skip
        caption = f"{what}, all groups of one {axis} together; as the paper's figure 3, {side}"
        if rows:
            scale: b.Scale = "share" if score == "gender_change" else "degrees"
            lanes = b.Lanes(caption, words.capital(axis), rows, "change", scale, b.PLAIN)
            yield b.Fold(f"All groups of one {axis} together", (lanes,))


def _lane(one: Editing, score: b.E, *more: b.E | str) -> b.Lane:
    return b.Lane(f"{shorten(one.targets, 40)}, strength {one.strength:g}", score, more, group=shorten(one.group, 60))


def _bar(label: str, counts: Mapping[str, int], verdict: str = "", strong: bool = False, group: str = "") -> b.Bar:
    n = sum(counts.values())
    parts = tuple(b.Part(value, Estimate(count / (n or 1), n=n), count) for value, count in counts.items())
    return b.Bar(label, parts, n, verdict=verdict, strong=strong, group=group)


def _moved(e: b.E | None, floor: b.E | None) -> b.Cell:
    if not isinstance(e, Estimate):
        return b.Cell(None)
    base = words.part(floor, "value", "share")
    return b.Cell(words.percent(e.value), f"floor {base}", strong=words.beyond_chance(e))


def _tone(e: b.E, name: str | None) -> b.E | str:
    return f"{words.number(e.value, 2)}, {name}" if isinstance(e, Estimate) else e
