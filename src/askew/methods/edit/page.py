"""Build the page of `askew edit`, which shows how edits change the images of each group."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

from askew.methods.edit.face_blocks import face_blocks
from askew.methods.edit.findings import Contrast, EditCondition, EditFindings, Editing, MissingEdits
from askew.methods.edit.guide import reading
from askew.methods.edit.headline import answer, headline_strength
from askew.methods.edit.plan import GENDER
from askew.pages import blocks as b
from askew.pages import skeleton
from askew.pages import words as w
from askew.pages.media import TOTAL, Media, picture_row
from askew.pages.words import shorten
from askew.parts.sources.words import group_check_fact, group_check_section, neutrality_section
from askew.parts.survey.sentences import missing_sentence
from askew.types import Estimate

FLOOR = ("floor", "share that changes when images are merely encoded and decoded")
OTHERS = ("others", "similarity between an edit and the other input images of its group")


FIRST_GROUPS = 2
FIRST_WORDS = 2
FIRST_IMAGES = 6
"""Maximum numbers of groups, words (one from each set) and input images on the first screen."""


def page(findings: EditFindings, media: Media) -> b.Page:
    """Return the page for a run of `askew edit`.

    Parameters
    ----------
    findings : EditFindings
        Findings of the run.
    media : Media
        Run that holds the images.

    Returns
    -------
    Page
        The page.
    """
    plan = findings.plan
    view = EditView(findings, media)
    prompts = w.capital(", ".join(shorten(name, 40) for name in plan.edit_prompts))
    uneven = [
        missing_sentence(entry, _missing_subject(entry)) for entry in findings.missing_pictures
    ]
    return skeleton.page(
        findings,
        skeleton.Heading(
            kicker=f"askew edit: edits of people by {shorten(findings.model.name, 80)}",
            title=f"{prompts}: {w.plural(len(plan.groups), 'group')}",
            answer=answer(findings),
            meta=(*skeleton.meta(findings), *_facts(findings)),
            first=view.first_screen(),
        ),
        sections=_sections(view),
        reading=reading(plan),
        notes=skeleton.notes(findings),
        uneven=[sentence for sentence in uneven if sentence],
    )


def _missing_subject(entry: MissingEdits) -> str:
    if entry.targets:
        return f"edits toward {shorten(entry.targets, 30)} (at least one per input image)"
    return "faces in input images" if entry.of == "faces" else "input images"


def _facts(findings: EditFindings) -> tuple[str, ...]:
    plan = findings.plan
    return (
        f"input images: {shorten(findings.sources.name, 120)}",
        f"{w.plural(len(plan.groups), 'group')} of {w.plural(plan.images, 'image')}",
        *group_check_fact(findings.showing),
        w.plural(sum(entry.n for entry in findings.editing), "edit"),
        f"strength {w.listing([f'{strength:g}' for strength in plan.strengths])}",
    )


def _sections(view: "EditView") -> tuple[b.Section, ...]:
    findings = view.findings
    differences = (
        view.differences("gender_change", "perceived gender", "percentage points", "points"),
        view.differences("ita_change", "skin tone", "ITA, in degrees", "degrees"),
    )
    return (
        b.Section("Perceived gender", view.gender[1:]),
        b.Section("Average faces", face_blocks(findings, view.media), screen=False),
        b.Section("Images", view.pictures(), screen=False),
        b.Section("Skin tone", view.skin()),
        b.Section("Other axes", (view.axes(),), screen=False),
        b.Section("Similarity between input image and edit", view.similarity(), screen=False),
        b.Section("Differences", differences, screen=False),
        group_check_section(findings.showing),
        neutrality_section(findings.neutrality),
    )


@dataclass(frozen=True)
class EditView:
    """Charts and tables of findings.

    Attributes
    ----------
    findings : EditFindings
        Findings of the run.
    media : Media
        Run that holds the images.
    """

    findings: EditFindings
    media: Media

    def first_screen(self) -> b.FirstScreen:
        """Return a chart of perceived gender, and a grid of input images above their edits."""
        groups = list(self.findings.plan.groups)[:FIRST_GROUPS]
        return b.FirstScreen(tuple(self.gender[:1]), tuple(map(self._first_edits, groups)))

    def _first_edits(self, group: str) -> b.PictureGrid:
        """Return a grid with a group's input images above their edits toward the first words."""
        plan = self.findings.plan
        strength = headline_strength(plan)
        rows: list[b.PictureRow] = []
        for word, *_ in list(plan.edit_prompts.values())[:FIRST_WORDS]:
            source, *edits = self._picture_rows(group, word, FIRST_IMAGES)
            edited = edits[sorted(plan.strengths).index(strength)]
            rows += () if rows else (replace(source, note=""),)
            rows.append(replace(edited, label=f"→ {shorten(word, 60)}", note=""))
        caption = f"Edits of {w.quote(group, 40)} at strength {strength:g}"
        return b.PictureGrid(caption, tuple(rows), size="medium")

    @cached_property
    def gender(self) -> list[b.Block]:
        """Charts of perceived gender before and after edits, and of how often it changes."""
        return list(self._gender())

    def _gender(self) -> Iterator[b.Block]:
        """Yield charts of perceived gender before and after edits, and of how often it changes."""
        strength = headline_strength(self.findings.plan)
        caption = f"Perceived gender in input images and in edits at strength {strength:g}"
        bars = [bar for bar in self._gender_bars(strength) if bar.n]
        yield b.ValueChart(caption=caption, groups=tuple(bars), heading="Group", tested="Change")
        chart = b.IntervalChart(
            caption=(
                "Share of edits toward {} whose perceived gender differs from that of their "
                "input image"
            ),
            heading="Group",
            rows=(),
            name="change",
            scale="share",
            chance=FLOOR,
        )
        yield from self._by_prompts("gender_change", chart)
        caption = "Share of edits whose perceived gender differs from that of their input image ({}, left panel)"
        yield self._pooled(GENDER, "gender_change", "share", caption)

    def _gender_bars(self, strength: float) -> Iterator[b.ValueGroup]:
        """Yield bars for each group: one for its input images, and one per set of edit prompts."""
        plan = self.findings.plan
        values = next(axis.values for axis in plan.axes if axis.name == GENDER)
        first = next(iter(plan.edit_prompts))
        for entry in self.findings.editing:
            if entry.strength != strength:
                continue
            if entry.targets == first:
                yield _source_bar(entry, values)
            yield _edit_bar(entry, values)

    def skin(self) -> Iterator[b.Block]:
        """Yield charts of how edits change skin tone."""
        chart = b.IntervalChart(
            caption="Skin tone of edits toward {} minus skin tone of their input images (ITA in "
            "degrees; positive means lighter)",
            heading="Group",
            rows=(),
            name="change",
            scale="degrees",
            columns=b.DIFFERENCE,
            more=("before", "after"),
        )
        yield from self._by_prompts("ita_change", chart, more=("ita_before", "ita_after"))
        caption = "Change in ITA in degrees; positive means lighter ({}, middle panel)"
        yield self._pooled("ethnicity", "ita_change", "degrees", caption)

    def axes(self) -> b.Table:
        """Return a table of how often labels change on the axes other than gender."""
        axes = [axis.name for axis in self.findings.plan.axes if axis.name != GENDER]
        by_strength = sorted(self.findings.editing, key=lambda entry: -entry.strength)
        return b.Table(
            caption="Share of edits whose label on an axis differs from the label of their input "
            "image. Bold: significantly larger than when images are merely encoded and "
            "decoded (q < 0.05). Prompt shown: share of edits that show their edit prompt",
            columns=(
                "Group",
                "Edit prompts",
                "Strength",
                "Prompt shown",
                *(w.capital(w.axis_label(axis)) for axis in axes),
            ),
            rows=tuple(_axes_row(entry, axes) for entry in by_strength),
            labels=3,
        )

    def similarity(self) -> Iterator[b.IntervalChart]:
        """Return charts of the similarity between input images and their edits."""
        chart = b.IntervalChart(
            caption="Similarity between edits toward {} and input images (cosine of embeddings)",
            heading="Group",
            rows=(),
            name="similarity",
            columns=("value", "interval", "null", "corrected"),
            chance=OTHERS,
        )
        return self._by_prompts("identity", chart)

    def differences(self, score: str, name: str, unit: str, scale: b.Scale) -> b.Details:
        """Return a collapsed chart of the differences between groups, edit prompts and strengths.

        Parameters
        ----------
        score : str
            Field of `Contrast`.
        name, unit : str
            Name and unit of the score.
        scale : Scale
            Scale of the differences.
        """
        rows = [
            _difference(contrast, getattr(contrast, score))
            for contrast in self.findings.editing_contrasts
        ]
        rows.sort(key=_significant_first)
        chart = b.IntervalChart(
            caption=f"Differences in the change of {name} ({unit})",
            heading="Difference",
            rows=tuple(rows),
            name=scale,
            scale=scale,
            columns=b.DIFFERENCE,
        )
        significant = sum(w.has_significant_q(row.score) for row in rows)
        return b.Details(f"{w.capital(name)}: {significant} of {len(rows)} significant", (chart,))

    def pictures(self) -> Iterator[b.Details]:
        """Yield, for each group and word, the first input images above their edits."""
        plan = self.findings.plan
        rows_per_word = len(plan.strengths) + 1
        most = max(1, min(12, TOTAL // (len(plan.groups) * len(plan.words) * rows_per_word)))
        caption = (
            f"Run seed {plan.seed}. Below each input image are its edits, in order of increasing "
            "strength"
        )
        places = product(plan.groups, plan.words)
        for group, word in places:
            grid = b.PictureGrid(
                caption=caption, rows=tuple(self._picture_rows(group, word, most)), aligned=True
            )
            summary = f"{shorten(group, 60)} → {shorten(word, 60)}"
            yield b.Details(summary, (grid,))

    def _picture_rows(self, group: str, word: str, most: int) -> Iterator[b.PictureRow]:
        sets = {
            (edit_set.target, edit_set.strength): edit_set.pictures
            for edit_set in self.findings.sets
            if edit_set.prompt == group and edit_set.axis != "encode-decode"
        }
        yield picture_row(self.media, sets[None, None], "input images", most)
        for strength in sorted(self.findings.plan.strengths):
            label = f"strength {strength:g}"
            yield picture_row(self.media, sets[word, strength], label, most)

    def _by_prompts(
        self, score: str, chart: b.IntervalChart, more: Sequence[str] = ()
    ) -> Iterator[b.IntervalChart]:
        """Yield a chart per set of edit prompts. The set's name replaces {} in the caption."""
        for name, words in self.findings.plan.edit_prompts.items():
            rows = [
                b.IntervalRow(
                    label=f"strength {entry.strength:g}",
                    score=getattr(entry, score),
                    more=_values(entry, more, chart.scale),
                    group=shorten(entry.group, 60),
                )
                for entry in self.findings.editing
                if entry.targets == name
            ]
            prompts = f"{shorten(name, 40)} ({shorten(', '.join(words), 60)})"
            yield replace(chart, caption=chart.caption.format(prompts), rows=tuple(rows))

    def _pooled(self, axis: str, score: str, scale: b.Scale, caption: str) -> b.Details:
        """Return a chart of a score, pooled over groups with the same axis value (figure 3)."""
        rows = [
            b.IntervalRow(
                label=f"{entry.targets}, strength {entry.strength:g}",
                score=getattr(entry, score),
                group=w.capital(entry.value),
            )
            for entry in self.findings.editing_pooled
            if entry.axis == axis
        ]
        chart = b.IntervalChart(
            caption=caption.format(f"groups pooled by {axis}, as in figure 3 of the paper"),
            heading=w.capital(axis),
            rows=tuple(rows),
            name="change",
            scale=scale,
            columns=b.PLAIN,
        )
        return b.Details(f"Groups pooled by {axis}", (chart,))


def _source_bar(entry: Editing, values: Sequence[str]) -> b.ValueGroup:
    counts = {value: entry.gender_before.get(value, 0) for value in values}
    return _bar("input images", counts, entry.group)


def _edit_bar(entry: Editing, values: Sequence[str]) -> b.ValueGroup:
    rows = entry.gender_table.values()
    counts = {}
    for value in values:
        counts[value] = sum(row.get(value, 0) for row in rows)
    significant = w.has_significant_q(entry.gender_change)
    return replace(
        _bar(f"toward {shorten(entry.targets, 40)}", counts, entry.group),
        verdict="significant change" if significant else "change not significant",
        significant=significant,
    )


def _bar(label: str, counts: Mapping[str, int], group: str) -> b.ValueGroup:
    n = sum(counts.values())
    parts = [
        b.ValueShare(value=value, share=Estimate(count / (n or 1), n=n), count=count)
        for value, count in counts.items()
    ]
    return b.ValueGroup(label=label, values=tuple(parts), n=n, group=shorten(group, 60))


def _values(entry: Editing, fields: Sequence[str], scale: b.Scale) -> tuple[str, ...]:
    return tuple(w.part(getattr(entry, field), "value", scale) for field in fields)


def _axes_row(entry: Editing, axes: Sequence[str]) -> tuple[b.Content, ...]:
    cells = [_axis_cell(entry.other_axes.get(axis), entry.other_floors.get(axis)) for axis in axes]
    shown = w.measured(entry.target_seen, "share")
    return (entry.group, entry.targets, f"{entry.strength:g}", shown, *cells)


def _axis_cell(rate: b.E | None, floor: b.E | None) -> b.TableCell:
    if not isinstance(rate, Estimate):
        return b.TableCell(None)
    return b.TableCell(
        w.percent(rate.value),
        note=f"floor {w.part(floor, 'value', 'share')}",
        strong=w.has_significant_q(rate),
    )


def _significant_first(row: b.IntervalRow) -> tuple[bool, float]:
    """Return a sort key that puts significant differences first, then large differences."""
    size = abs(row.score.value) if isinstance(row.score, Estimate) else 0.0
    return not w.has_significant_q(row.score), -size


def _difference(contrast: Contrast, score: b.E) -> b.IntervalRow:
    """Return the chart row of a difference such as "caucasian man − african-american woman"."""
    first = _condition_parts(contrast.first)
    second = _condition_parts(contrast.second)
    kind = contrast.contrast
    return b.IntervalRow(
        label=", ".join(text for name, text in first.items() if name != kind),
        score=score,
        group=f"{second[kind]} − {first[kind].removeprefix('strength ')}",
    )


def _condition_parts(condition: EditCondition) -> dict[str, str]:
    return {
        "group": shorten(condition.group),
        "targets": condition.targets,
        "strength": f"strength {condition.strength:g}",
    }
