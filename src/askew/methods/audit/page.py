"""The page of `askew audit`: what was seen in the pictures, then scores, then what they rest on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from askew.findings import PictureSet
from askew.methods.audit import words as texts
from askew.methods.audit.findings import AuditFindings, AxisScores, Domain, Frequencies
from askew.pages import blocks as b
from askew.pages import skeleton, words
from askew.pages.media import Media, allowance, set_row
from askew.pages.phrases import format_phrase
from askew.pages.words import (
    axis_label,
    capital,
    measured,
    perceived,
    percent,
    plural,
    quote,
    shorten,
)
from askew.parts.survey import blocks as survey
from askew.parts.survey.sentences import difference_sentence, missing_sentences, sentence, verdict
from askew.parts.survey.shares import SetShares
from askew.stats.significance import SIGNIFICANCE_LEVEL, is_significant
from askew.types import Estimate

FIRST = 24
"""Pictures at the head."""

ROWS = 24
"""Scores of MAD that stand as rows; of more, a cell each."""

CONCEPTS = 14


def page(found: AuditFindings, media: Media) -> b.Page:
    """What to show of an audit."""
    view = AuditView(found, media)
    many = len(found.plan.prompts) > 1
    started = found.environment.started
    tested = len(view.leads)
    alone = (
        f"An interval is of one value alone; a verdict allows for all {tested} that were tested.",
    ) * (tested > 1)
    return skeleton.page(
        found,
        f"askew audit of {shorten(found.model.name, 80)}",
        plural(len(found.plan.prompts), "prompt") if many else f"“{found.plan.prompts[0].text}”",
        texts.answer(found, view.leads),
        (
            b.Section(
                "What was seen",
                survey.seen(view.seen, view.anchor) or [b.Paragraph("No share was counted.")],
            ),
            b.Section("The pictures", view.pictures(), screen=False),
            b.Section("Scores", view.scores()),
            b.Section("Differences between picture sets", view.differences()),
            b.Section(
                "Each prompt" if len(view.details) > 1 else "Each axis", view.each(), screen=False
            ),
            b.Section("Prompts compared", view.domain(), screen=False),
            b.Section("Reading errors", map(survey.confusion, found.confusion), screen=False),
        ),
        detail=texts.detail(found, view.leads),
        facts=(
            *skeleton.facts(found),
            *((("Date", started.replace("T", " ")[:16]),) if started else ()),
        ),
        reading=texts.reading(found),
        notes=(*skeleton.notes(found), *alone),
        gaps=survey.gaps(found.shares),
        uneven=missing_sentences(found.missing_pictures),
    )


class AuditView:
    """Findings, looked up by prompt, axis and set: shares `seen` in the prompts' own pictures and
    in conditions (where there are none, in all sets); of these by the first instrument the `leads`,
    what leans first; prompts of `tibet`, those that lean most first; `others`, shares of folders
    and of axes without counterfactuals.
    """

    def __init__(self, found: AuditFindings, media: Media) -> None:
        self.findings = found
        self.media = media
        self.seen = [one for one in found.shares if one.of_prompt] or list(found.shares)
        self.leads = survey.leads(self.seen)
        order = list(dict.fromkeys(one.prompt for one in self.leads))
        self.tibet = sorted(
            found.tibet, key=lambda one: order.index(one.prompt) if one.prompt in order else 0
        )
        self.details = list(dict.fromkeys([*(one.prompt for one in self.tibet), *order]))
        axes = {one.prompt: {*one.axes} for one in found.tibet}
        self.others = [
            s
            for s in found.shares
            if (own := axes.get(s.prompt)) is None or (s.of_prompt and s.axis not in own)
        ]
        initial = sum(one.axis is None for one in found.sets)
        self._most = allowance(
            initial or len(found.sets), len(found.sets) - initial if initial else 0
        )

    def anchor(self, entry: SetShares) -> str:
        """Where else a set's axis is told of: in its own fold, or its prompt's."""
        with_tibet = any(
            e.prompt == entry.prompt and entry.axis in e.axes for e in self.findings.tibet
        )
        return f"{entry.prompt} {entry.axis}" if with_tibet else entry.prompt

    def _own_sets(self, prompt: str) -> list[PictureSet]:
        """A prompt's pictures and its conditions; if there are none, all of its sets."""
        plan = next(p for p in self.findings.plan.prompts if p.text == prompt)
        every = [one for one in self.findings.sets if one.prompt == prompt]
        return [one for one in every if not plan.has(one.axis)] or every

    def _row(self, one: PictureSet, most: int | None = None) -> b.PictureRow:
        """The first pictures of a set, by default so many that the page stays small."""
        own, strip = self._most
        usual = own if one.axis is None or not self.findings.tibet else strip
        seed = None if self.findings.plan.model.startswith("folder/") else self.findings.plan.seed
        return set_row(self.media, one, usual if most is None else most, seed)

    def pictures(self) -> Iterator[b.Block]:
        """The first pictures of the prompt that leans most, in every condition; of a single set the
        others, folded.
        """
        prompts = [prompt.text for prompt in self.findings.plan.prompts]
        first = self.leads[0].prompt if self.leads else prompts[0]
        sets = [one for one in self._own_sets(first) if one.pictures]
        most = FIRST if len(sets) == 1 else FIRST // 2
        yield b.PictureGrid(
            "" if len(prompts) == 1 else quote(first, 160),
            tuple(self._row(one, most) for one in sets),
        )
        top = next((e.top_concepts for e in self.findings.tibet if e.prompt == first), ())
        if top:
            yield b.Paragraph(_frequencies(top[:15]), lead="Most seen:", muted=True)
        every = [self._row(one) for one in sets if len(one.pictures) > most]
        rest = tuple(
            replace(row, shots=row.shots[most:], note="") for row in every if row.shots[most:]
        )
        more = plural(sum(len(row.shots) for row in rest), "more picture")
        yield b.Details(more, (b.PictureGrid("", rest),))

    def scores(self) -> Iterator[b.Block]:
        """MAD of every axis, of many prompts as a table; distances of shares that stand for
        themselves.
        """
        names = list(dict.fromkeys(name for entry in self.tibet for name in entry.axes))
        if sum(len(entry.axes) for entry in self.tibet) > ROWS:
            rows = tuple(
                (entry.prompt, *(entry.axes[n].mad if n in entry.axes else None for n in names))
                for entry in self.tibet
            )
            yield b.Table(
                "MAD of every prompt and axis, the prompt that leans most first",
                ("Prompt", *(capital(axis_label(n)) for n in names)),
                rows,
                shaded=True,
                note="Below: the interval. Bold: beyond chance (q < 0.05).",
            )
        else:
            lanes = tuple(
                b.IntervalRow(
                    capital(axis_label(name)),
                    axis.mad,
                    (texts.nearest(axis),),
                    group=shorten(entry.prompt, 60) if len(self.tibet) > 1 else "",
                    link=f"{entry.prompt} {name}",
                )
                for entry in self.tibet
                for name, axis in texts.ranked(entry.axes.items())
            )
            caption = (
                "How unequally near the pictures are to the counterfactuals of each axis (MAD)"
            )
            yield b.IntervalChart(caption, "Axis", lanes, "MAD", more=("nearest to",))
        axes = dict.fromkeys(s.axis for s in self.others)
        distances = (survey.distances([s for s in self.others if s.axis == axis]) for axis in axes)
        yield b.Details("Distances from the ideal, with interval, chance and q", distances)

    def differences(self) -> Iterator[b.Block]:
        """Between the prompt's pictures and conditions."""
        found = self.findings.differences
        if found:
            told = tuple(
                f"{quote(d.prompt, 60)}. {text}" for d in found if (text := difference_sentence(d))
            )
            yield b.Paragraph("" if told else format_phrase("no_condition_difference"), items=told)
            places = dict.fromkeys((d.axis, d.instrument) for d in found)
            lanes = (
                survey.differences([d for d in found if (d.axis, d.instrument) == place])
                for place in places
            )
            yield b.Details("All differences, by axis and value", lanes)

    def domain(self) -> Iterator[b.Details]:
        """Prompts compared: how much nearer each is to one counterfactual than to another."""
        for one in self.findings.domain:
            first, *others = one.cas
            rest = shorten(others[0], 40) if len(others) == 1 else "the others"
            summary = (
                f"{capital(axis_label(one.axis))}: CAS of {shorten(first, 40)} less that of {rest}, mean "
                f"over all prompts {measured(one.against_rest[first], 'signed')}"
            )
            yield b.Details(summary, _domain(one))

    def each(self) -> Iterator[b.Block]:
        """All of every axis, of several prompts folded."""
        for prompt in self.details:
            if len(self.details) == 1:
                yield from self._axes(prompt)
            else:
                rows = b.PictureGrid("", tuple(map(self._row, self._own_sets(prompt))))
                yield b.Details(quote(prompt, 160), (rows, *self._axes(prompt)), anchor=prompt)

    def _axes(self, prompt: str) -> Iterator[b.Block]:
        for name, axis in (
            one for e in self.tibet if e.prompt == prompt for one in texts.ranked(e.axes.items())
        ):
            own = [
                s
                for s in self.findings.shares
                if (s.prompt, s.set, s.axis) == (prompt, "initial", name)
            ]
            told = (
                verdict(own[0])
                if own
                else "leans"
                if is_significant(axis.mad)
                else format_phrase("no_bias")
            )
            inner = self._axis(prompt, name, axis, own)
            yield b.Details(
                f"{capital(axis_label(name))}: {told}", inner, anchor=f"{prompt} {name}"
            )
        for entry in (s for s in self.others if s.prompt == prompt):
            yield b.Paragraph(
                f"{capital(perceived(entry.axis))} in {words.set_label(entry.set)}: {sentence(entry)}."
            )
            yield survey.numbers(entry)

    def _axis(
        self, prompt: str, name: str, axis: AxisScores, shares: Sequence[SetShares]
    ) -> Iterator[b.Block]:
        """Everything of one axis of one prompt; `shares` of its own pictures, those of the first
        instrument first.
        """
        seen = f"{capital(sentence(shares[0]))}. " if shares else ""
        yield b.Paragraph(seen + texts.by_mad(axis, not shares or shares[0].even))
        asked = " ".join(f"“{shorten(text, 160)}”" for text in axis.question)
        yield b.Paragraph(f"{capital(axis.kind)} axis. Asked: {asked}", muted=True)
        yield self._associations(prompt, name, axis)
        yield from map(survey.numbers, shares)
        sets = [
            s
            for s in self.findings.sets
            if s.prompt == prompt and s.axis in (None, name) and s.pictures
        ]
        strip = min(self._most) if any(one.axis for one in sets) else self._most[0]
        yield b.PictureGrid("", tuple(self._row(one, strip) for one in sets))
        yield from _concepts(axis)
        if axis.second_tests:
            yield b.Details(f"What else changes with {axis_label(name)}", _second(axis))

    def _associations(self, prompt: str, name: str, axis: AxisScores) -> b.IntervalChart:
        """CAS of every counterfactual with their mean, other scores, and how often each shows what
        it asks for.
        """
        known = [e.value for e in axis.cas.values() if isinstance(e, Estimate)]
        marks = (
            (b.ReferenceMark(sum(known) / len(known), "mean of the axis", "dash"),)
            if len(known) > 1
            else ()
        )
        own = {
            s.set: s for s in reversed(self.findings.shares) if (s.prompt, s.axis) == (prompt, name)
        }
        columns: dict[str, Mapping[str, b.Content]] = {
            "by embedding": axis.cas_clip or {},
            "concept matching": {v: words.number(e) for v, e in (axis.bipartite or {}).items()},
            "read as asked": {
                v: words.part(own[at].shares.get(v), "value", "share")
                for v in axis.cas
                if (at := f"{name}: {v}") in own
            },
        }
        more = {head: cells for head, cells in columns.items() if cells}
        rows = tuple(
            b.IntervalRow(
                shorten(v, 60), e, tuple(cells.get(v) for cells in more.values()), marks=marks
            )
            for v, e in axis.cas.items()
        )
        caption = "How near the initial pictures are to each counterfactual (CAS)"
        return b.IntervalChart(
            caption, capital(axis_label(name)), rows, "CAS", columns=b.PLAIN, more=tuple(more)
        )


def _concepts(axis: AxisScores) -> Iterator[b.Table]:
    """The concepts that are frequent in the initial set or set a counterfactual apart, and how
    often each has them.
    """
    tops = {name: dict(pairs) for name, pairs in axis.top_concepts.items()}
    initial = tops.get("initial", {})
    if not initial or len(tops) < 2:
        return
    apart = {
        c: max(abs(top.get(c, 0.0) - initial.get(c, 0.0)) for top in ({}, *tops.values()))
        for top in tops.values()
        for c in top
    }
    chosen = sorted(
        sorted(apart, key=lambda c: -apart[c])[:CONCEPTS], key=lambda c: -initial.get(c, -1.0)
    )
    rows = tuple(
        (shorten(c, 40), *(Estimate(top[c]) if c in top else None for top in tops.values()))
        for c in chosen
    )
    yield b.Table(
        "Concepts seen, in % of the pictures of each set",
        ("Concept", *(shorten(v, 40) for v in tops)),
        rows,
        scale="share",
        note="– = not among the concepts listed for that set.",
        shaded=True,
    )


def _second(axis: AxisScores) -> Iterator[b.Block]:
    """Which other axes change with the counterfactuals beyond chance, and their most frequent
    concepts.
    """
    beyond = {
        other: one.q for other, one in axis.second_tests.items() if one.q < SIGNIFICANCE_LEVEL
    }
    if not beyond:
        yield b.Paragraph(
            format_phrase(
                "no_associated_axes",
                axes=words.plural(len(axis.second_tests), "other axis", "other axes"),
            )
        )
        return
    told = words.listing(
        [f"{perceived(other)} ({words.probability(q, 'q')})" for other, q in beyond.items()]
    )
    yield b.Paragraph(format_phrase("associated_axes", axes=told))
    values = list(axis.second_axis)
    rows = tuple(
        (
            capital(axis_label(other)),
            *(_frequencies(axis.second_axis[v].get(other, ())[:5]) or None for v in values),
        )
        for other in beyond
    )
    caption = "Their most frequent concepts in each counterfactual set, in % of its pictures"
    yield b.Table(caption, ("Axis", *(shorten(value, 40) for value in values)), rows)


def _domain(entry: Domain) -> Iterator[b.IntervalChart]:
    """Mean CAS of every value, and how much nearer it is than the others; of two values that of
    every prompt.
    """
    rows = tuple(
        b.IntervalRow(
            shorten(value, 40), score, (entry.against_rest.get(value), entry.scaled.get(value))
        )
        for value, score in entry.cas.items()
    )
    caption = "Mean CAS over the prompts, without the bias of few pictures"
    more = ("less the others", "of the sum of CAS (the paper's scaling)")
    yield b.IntervalChart(
        caption, capital(axis_label(entry.axis)), rows, "CAS", columns=b.PLAIN, more=more
    )
    if entry.differences:
        own = sorted(entry.differences, key=lambda one: words.largest_first(one.estimate))
        first, second = (shorten(value, 30) for value in entry.differences[0].values)
        caption = f"CAS {first} minus CAS {second}: left of zero nearer to {second}, right of zero nearer to {first}"
        lanes = tuple(
            b.IntervalRow(
                shorten(one.prompt, 60), one.estimate, strong=is_significant(one.estimate)
            )
            for one in own
        )
        yield b.IntervalChart(caption, "Prompt", lanes, "difference", "signed", b.DIFFERENCE)


def _frequencies(found: Frequencies) -> str:
    return ", ".join(f"{shorten(concept, 30)} {percent(share)}" for concept, share in found)
