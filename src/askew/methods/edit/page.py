"""The page of `askew edit`: what editing changes in pictures of each group."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from askew.measure.skin import SCHEME, tone
from askew.methods.edit.findings import Contrast, EditCondition, EditFindings, Editing
from askew.methods.edit.plan import GENDER, EditPlan
from askew.pages import blocks as b
from askew.pages import skeleton
from askew.pages import words as w
from askew.pages.media import TOTAL, Media, picture_row, shot
from askew.pages.phrases import format_phrase
from askew.pages.words import shorten
from askew.parts.sources.words import group_check_fact, group_check_section, neutrality_section
from askew.parts.survey.sentences import missing_sentence
from askew.types import Estimate

FLOOR = ("floor", "what reading alone changes: encoded and decoded, not edited")
OTHERS = ("others", "edit and the other pictures of the group")


def page(found: EditFindings, media: Media) -> b.Page:
    """What to show of a run of edits."""
    view = EditView(found, media)
    plan = found.plan
    uneven = [
        missing_sentence(
            one,
            f"edits towards {shorten(one.targets, 30)}, any of a source,"
            if one.targets
            else "faces in sources"
            if one.of == "faces"
            else "sources",
        )
        for one in found.missing_pictures
    ]
    facts = (
        ("Pictures from", shorten(found.sources.name, 120)),
        ("Groups", f"{len(plan.groups)}, {w.plural(plan.images, 'picture')} each"),
        *group_check_fact(found.showing),
        ("Edits", f"{sum(one.n for one in found.editing):,}"),
        ("Strengths", ", ".join(f"{one:g}" for one in plan.strengths)),
    )
    targets = w.capital(", ".join(shorten(name, 40) for name in plan.edit_prompts))
    return skeleton.page(
        found,
        skeleton.Heading(
            kicker=f"askew edit: what editing by {shorten(found.model.name, 80)} does to people",
            title=f"{targets}: {w.plural(len(plan.groups), 'group')}",
            answer=answer(found),
        ),
        sections=(
            b.Section("Perceived gender", view.gender()),
            b.Section("Average faces", view.faces(), screen=False),
            b.Section("Pictures", view.pictures(), screen=False),
            b.Section("Skin tone", view.skin()),
            b.Section("What else moved", (view.axes(),), screen=False),
            b.Section("Likeness of source and edit", view.likeness(), screen=False),
            b.Section(
                "Differences",
                (
                    view.differences(
                        "gender_change",
                        "perceived gender",
                        "perceived gender, in percentage points",
                        "points",
                    ),
                    view.differences("ita_change", "skin tone", "ITA, in degrees", "degrees"),
                ),
                screen=False,
            ),
            group_check_section(found.showing),
            neutrality_section(found.neutrality),
        ),
        facts=(*skeleton.facts(found), *facts),
        reading=reading(plan),
        notes=skeleton.notes(found),
        uneven=[sentence for sentence in uneven if sentence],
    )


@dataclass(frozen=True)
class EditView:
    """Findings, looked up by group, set of targets and strength."""

    findings: EditFindings
    media: Media

    def gender(self) -> Iterator[b.Block]:
        """How often perceived gender changes; before and after at the strength of the headline."""
        values = next(axis.values for axis in self.findings.plan.axes if axis.name == GENDER)
        bars = []
        strength = told_strength(self.findings.plan)
        for one in self.findings.editing:
            if one.strength == strength:
                table = one.gender_table
                title = shorten(one.group, 60)
                sure = w.has_significant_q(one.gender_change)
                if one.targets == next(iter(self.findings.plan.edit_prompts)):
                    bars.append(
                        _bar(
                            "sources",
                            {v: sum(table.get(v, {}).values()) for v in values},
                            group=title,
                        )
                    )
                after = {
                    value: sum(row.get(value, 0) for row in table.values()) for value in values
                }
                verdict = "changed beyond chance" if sure else "no change shown"
                bars.append(
                    _bar(f"towards {shorten(one.targets, 40)}", after, verdict, sure, title)
                )
        caption = f"Perceived gender of edits at strength {strength:g}, and of their sources, each once for every edit"
        yield b.ShareBars(caption, tuple(bar for bar in bars if bar.n), "Group")
        yield from self._plots(
            "gender_change",
            b.IntervalChart(
                "Edits towards {} whose perceived gender is not that of their source",
                "Group",
                (),
                "change",
                "share",
                chance=FLOOR,
            ),
        )
        yield self._pooled(
            GENDER, "gender_change", "share", "Edits whose perceived gender changes", "left"
        )

    def faces(self) -> Iterator[b.Block]:
        """The paper's figures 1, 14 and 15: the sources first, then each set of targets by
        strength.
        """
        found = {(one.group, one.targets, one.strength): one for one in self.findings.average_faces}
        if not found:
            return
        known = [(one, one.average_face) for one in self.findings.editing if one.average_face]
        tones: dict[tuple[str, str | None, float | None], b.E]
        tones = {(one.group, None, None): face.ita_before for one, face in known}
        tones |= {(one.group, one.targets, one.strength): face.ita_after for one, face in known}
        heads = {
            at[1:]: "sources" if at[1] is None else f"{shorten(at[1], 30)} {at[2]:g}"
            for at in found
        }
        rows = []
        for group in self.findings.plan.groups:
            shots = []
            for at, head in heads.items():
                one = found[group, *at]
                e = tones[group, *at]
                told = f"{w.number(e.value, 1)}°" if isinstance(e, Estimate) else "no skin found"
                alt = f"Average face: {group}, {head}"
                shots.append(shot(self.media, one.picture, alt, f"{told}, {one.faces} of {one.n}"))
            rows.append(b.PictureRow(tuple(shots), shorten(group, 40)))
        text = (
            "The mean of all pictures in which one face was found, laid on each other by eyes and nose. "
            "Below each its ITA (larger is lighter skin), and how many of the pictures these are."
        )
        yield b.Paragraph(text, muted=True)
        yield b.PictureGrid(
            "", tuple(rows), aligned=True, heads=tuple(heads.values()), size="medium"
        )
        lanes = tuple(
            b.IntervalRow(
                f"{shorten(one.targets, 40)}, strength {one.strength:g}",
                face.ita_change,
                tuple(
                    f"{w.number(e.value, 2)}, {tone(e.value)}" if isinstance(e, Estimate) else e
                    for e in (face.ita_before, face.ita_after)
                ),
                group=shorten(one.group, 60),
            )
            for one, face in known
        )
        how = "by its colour" if self.findings.plan.skin == "rule" else "on the cheeks"
        caption = (
            "ITA of the average face of edits less that of their sources; of both the ITA and its class by the "
            f"scheme {SCHEME}, of skin found {how}; as the paper's tables 1 to 3"
        )
        numbers = b.IntervalChart(
            caption, "Group", lanes, "change", "degrees", b.DIFFERENCE, ("before", "after")
        )
        yield b.Details("Their skin tone in numbers", (numbers,))

    def skin(self) -> Iterator[b.Block]:
        """How much skin changes."""
        yield from self._plots(
            "ita_change",
            b.IntervalChart(
                "Skin tone of edits towards {} less that of their sources (ITA in degrees; right = lighter)",
                "Group",
                (),
                "change",
                "degrees",
                b.DIFFERENCE,
                ("before", "after"),
            ),
            ("ita_before", "ita_after"),
        )
        what = "Change of ITA in degrees (right = lighter)"
        yield self._pooled("ethnicity", "ita_change", "degrees", what, "middle")

    def axes(self) -> b.Table:
        """What else moved: how often the value of every other axis changes, beside its floor."""
        axes = [axis.name for axis in self.findings.plan.axes if axis.name != GENDER]
        rows: list[tuple[b.Content, ...]] = []
        for one in sorted(self.findings.editing, key=lambda one: -one.strength):
            told = [
                (one.other_axes.get(axis), w.part(one.other_floors.get(axis), "value", "share"))
                for axis in axes
            ]
            cells = (
                b.TableCell(w.percent(e.value), f"floor {floor}", strong=w.has_significant_q(e))
                if isinstance(e, Estimate)
                else b.TableCell(None)
                for e, floor in told
            )
            rows.append(
                (
                    one.group,
                    one.targets,
                    f"{one.strength:g}",
                    w.measured(one.target_seen, "share"),
                    *cells,
                )
            )
        caption = (
            "Edits in which the value read on an axis is not that of their source. Bold: more often than "
            "reading alone does (q < 0.05). Target seen: edits that show what they were to become"
        )
        heads = (
            "Group",
            "Targets",
            "Strength",
            "Target seen",
            *(w.capital(w.axis_label(axis)) for axis in axes),
        )
        return b.Table(caption, heads, tuple(rows), labels=3)

    def likeness(self) -> Iterator[b.IntervalChart]:
        """How alike source and edit are."""
        return self._plots(
            "identity",
            b.IntervalChart(
                "Likeness of edits towards {} to their own source (cosine of embeddings)",
                "Group",
                (),
                "likeness",
                columns=("value", "interval", "null", "corrected"),
                chance=OTHERS,
            ),
        )

    def differences(self, score: str, what: str, of: str, scale: b.Scale) -> b.Details:
        """Between groups, sets of targets and strengths: what is beyond chance first."""
        lanes = (_difference(one, getattr(one, score)) for one in self.findings.editing_contrasts)
        rows = sorted(
            lanes,
            key=lambda one: (
                not w.has_significant_q(one.score),
                -abs(getattr(one.score, "value", 0.0)),
            ),
        )
        plot = b.IntervalChart(
            f"Differences in the change of {of}",
            "Difference",
            tuple(rows),
            scale,
            scale,
            b.DIFFERENCE,
        )
        sure = sum(w.has_significant_q(row.score) for row in rows)
        return b.Details(f"{w.capital(what)}: {sure} of {len(rows)} beyond chance", (plot,))

    def pictures(self) -> Iterator[b.Details]:
        """For every group and target its first pictures, above their edits at every strength."""
        plan = self.findings.plan
        strengths = sorted(self.findings.plan.strengths)
        sets = {
            (one.prompt, one.target, one.strength): one
            for one in self.findings.sets
            if one.axis != "encode-decode"
        }
        most = max(4, min(12, TOTAL // (len(plan.groups) * len(plan.words) * (len(strengths) + 1))))
        caption = f"Run seed {plan.seed}; below each picture its edits by strength"
        for k, (group, word) in enumerate(product(plan.groups, plan.words)):
            rows = [picture_row(self.media, sets[group, None, None].pictures, "source", most)]
            rows += [
                picture_row(self.media, sets[group, word, s].pictures, f"{s:g}", most)
                for s in strengths
            ]
            pictures = b.PictureGrid(caption, tuple(rows), aligned=True)
            yield b.Details(f"{shorten(group, 60)} → {shorten(word, 60)}", (pictures,), open=k == 0)

    def _plots(
        self, score: str, plot: b.IntervalChart, more: Sequence[str] = ()
    ) -> Iterator[b.IntervalChart]:
        """A plot for every set of targets, which stands at {} in its caption: a row a group and
        strength.
        """
        for name, targets in self.findings.plan.edit_prompts.items():
            rows = tuple(
                b.IntervalRow(
                    f"strength {one.strength:g}",
                    getattr(one, score),
                    tuple(w.part(getattr(one, cell), "value", plot.scale) for cell in more),
                    shorten(one.group, 60),
                )
                for one in self.findings.editing
                if one.targets == name
            )
            told = f"{shorten(name, 40)} ({shorten(', '.join(targets), 60)})"
            yield replace(plot, caption=plot.caption.format(told), rows=rows)

    def _pooled(self, axis: str, score: str, scale: b.Scale, what: str, side: str) -> b.Details:
        """The paper's figure 3: all groups whose names say the same value of an axis."""
        rows = tuple(
            b.IntervalRow(
                f"{one.targets}, strength {one.strength:g}",
                getattr(one, score),
                group=w.capital(one.value),
            )
            for one in self.findings.editing_pooled
            if one.axis == axis
        )
        caption = f"{what}, all groups of one {axis} together; as the paper's figure 3, {side}"
        lanes = b.IntervalChart(caption, w.capital(axis), rows, "change", scale, b.PLAIN)
        return b.Details(f"All groups of one {axis} together", (lanes,))


def _bar(
    label: str, counts: Mapping[str, int], verdict: str = "", strong: bool = False, group: str = ""
) -> b.Bar:
    n = sum(counts.values())
    parts = tuple(
        b.ShareSegment(value, Estimate(count / (n or 1), n=n), count)
        for value, count in counts.items()
    )
    return b.Bar(label, parts, n, verdict=verdict, strong=strong, group=group)


def _difference(one: Contrast, e: b.E) -> b.IntervalRow:
    """What is compared with what, such as "caucasian man − african-american woman", and where."""
    first, second = (
        {"group": shorten(at.group), "targets": at.targets, "strength": f"strength {at.strength:g}"}
        for at in (one.first, one.second)
    )
    where = ", ".join(text for name, text in first.items() if name != one.contrast)
    return b.IntervalRow(
        where, e, group=f"{second[one.contrast]} − {first[one.contrast].removeprefix('strength ')}"
    )


def told_strength(plan: EditPlan) -> float:
    """The strength of the headline: the greatest at which something of the source is left, else 1."""
    return max((one for one in plan.strengths if one < 1), default=1.0)


def answer(found: EditFindings) -> str:
    """Whom editing changed and how, at the greatest strength below 1."""
    strength = told_strength(found.plan)
    by_targets = [
        [one for one in found.editing if (one.targets, one.strength) == (name, strength)]
        for name in found.plan.edit_prompts
    ]
    still = [
        cells[0].targets
        for cells in by_targets
        if not any(w.has_significant_q(one.gender_change) for one in cells)
    ]
    said = [
        _gender(cells, found.editing_contrasts, still)
        for cells in by_targets
        if cells[0].targets not in still[1:]
    ]
    said += [_skin(cells) for cells in by_targets]
    if strength == 1:
        said.append("Strength 1 is text-to-image: nothing of the source is left.")
    return (
        " ".join(filter(None, said))
        or "Nothing could be measured: no instrument read the pictures."
    )


def _gender(
    cells: Sequence[Editing], contrasts: Sequence[Contrast], still: Sequence[str] = ()
) -> str:
    """Whose perceived gender changes most and least, and whether that is more than chance; `still`:
    all sets of targets towards which it is not.
    """
    known = [(one, one.gender_change) for one in cells if isinstance(one.gender_change, Estimate)]
    if not known:
        return ""
    (most, high), (least, low) = (end(known, key=lambda pair: pair[1].value) for end in (max, min))
    where = {"targets": w.quote(most.targets, 40), "strength": f"{most.strength:g}"}
    if not any(w.has_significant_q(change) for _, change in known):
        where["targets"] = w.listing([w.quote(name, 40) for name in still or [most.targets]])
        return format_phrase("no_edit_change", **where)
    where |= {"share": w.measured(high, "share"), "most": w.quote(most.group, 40)}
    if high.value == low.value:
        return format_phrase("edit_change", **where)
    ends = {EditCondition(one.group, one.targets, one.strength) for one in (most, least)}
    if any(
        {one.first, one.second} == ends and w.has_significant_q(one.gender_change)
        for one in contrasts
    ):
        return format_phrase(
            "edit_difference", **where, least=w.quote(least.group, 40), low=w.measured(low, "share")
        )
    return format_phrase(
        "no_edit_difference", **where, range=f"{w.percent(low.value)} to {w.percent(high.value)}"
    )


def _skin(cells: Sequence[Editing]) -> str:
    """Whose skin becomes lighter or darker beyond chance, as read on faces."""
    sure = [
        (one.ita_change.value, w.quote(one.group, 40))
        for one in cells
        if one.coverage.mask == "geometry"
        and isinstance(one.ita_change, Estimate)
        and w.has_significant_q(one.ita_change)
    ]
    parts = []
    for way, sign in (("lighter", 1), ("darker", -1)):
        some = [
            f"{group} ({w.format_value(value, 'degrees')})"
            for value, group in sure
            if value * sign > 0
        ]
        if some:
            parts.append(f"{way} for {w.listing(some)}")
    return (
        format_phrase("skin_change", targets=w.quote(cells[0].targets, 40), how=" and ".join(parts))
        if parts
        else ""
    )


def reading(plan: EditPlan) -> b.Section:
    """How to read the scores, and how they are computed."""
    skin = (
        "bounds on RGB and YCbCr"
        if plan.skin == "rule"
        else "the cheeks, by landmarks; of average faces where these lie in the frame"
    )
    return skeleton.reading(
        (
            (
                "Strength",
                "How much of a picture is redrawn: 0 leaves it as it is; 1 is text-to-image, where nothing of it "
                "is left. The headline is of the greatest strength below 1.",
            ),
            (
                "Floor",
                "The instrument changes its mind about some pictures that were only encoded and decoded by the "
                "model. Corrected sets this rate to 0 and all pictures to 1. The q-value asks for more change than that.",
            ),
            (
                "ITA",
                f"The individual typology angle: the larger, the lighter the skin. By the scheme {SCHEME} (Chardon et "
                "al. 1991, with Del Bino and Bernerd 2013) above 55° is called very light, 41 to 55 light, 28 to 41 "
                "intermediate, 10 to 28 tan, −30 to 10 brown, below dark. The rule that finds skin by its colour in whole "
                "pictures takes walls and clothes for skin and rejects very dark skin; cheeks of found faces do not err so.",
            ),
            (
                "Likeness",
                "The cosine of the embeddings of source and edit. In grey, that of the edit and the other "
                "pictures of its group: an edit that is no nearer to its own source has lost the person.",
            ),
        ),
        limits=("Two values of gender are what the instrument tells apart, not what there is.",),
        source=(
            "Saravanan et al., “Exploring Social Bias in Downstream Applications of Text-to-Image Foundation Models”, "
            "2023. Pictures are edited image-to-image towards “A color photograph of a …, headshot, high-quality.” Picture "
            "k of every group is edited from the same noise, at every strength."
        ),
        method=(
            (
                "Intervals of rates",
                "Wilson's, at the effective number of edits: their number over the design effect of "
                "several edits of one picture",
            ),
            (
                "Intervals of means",
                "bootstrap over source pictures; of average faces, averaged anew in every draw",
            ),
            (
                "p",
                "signs of the sources' differences flipped at random: (1 + draws at least as far) / (1 + draws); q per "
                "score",
            ),
            (
                "Skin",
                f"{skin}; ITA = atan2(mean L* − 50, mean b*), each trimmed to one standard deviation",
            ),
        ),
    )
