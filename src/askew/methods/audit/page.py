"""Build the page of `askew audit`: shares, images, scores, and details."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from askew.findings import PictureSet
from askew.methods.audit import words as texts
from askew.methods.audit.compared_page import (
    compared_blocks,
    compared_notes,
    compared_sentences,
)
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
from askew.parts.survey import first_screen
from askew.parts.survey.agreement import agreement_table
from askew.parts.survey.following import request_blocks
from askew.parts.survey.image_links import share_link
from askew.parts.survey.rewriting import rewriting_blocks
from askew.parts.survey.sentences import (
    difference_sentence,
    missing_label_sentences,
    missing_sentences,
    sentence,
    verdict,
)
from askew.parts.survey.shares import SetShares
from askew.parts.survey.verdicts import family_size
from askew.stats.significance import SIGNIFICANCE_LEVEL, is_significant
from askew.types import Estimate, grouped

IMAGES_AT_HEAD = 24
"""Maximum number of images shown at the top of the page."""

ROWS = 24
"""Maximum number of MAD scores shown in a chart with one row each.

If there are more scores, they are shown in a table.
"""

TOGETHER = "all prompts together"
"""Anchor of the section with details on all prompts together."""

MANY_SETS = (
    "The run has too many image sets to show images from each of them. All images are in the store."
)

CONCEPTS = 14
"""Maximum number of concepts listed in the table of an axis."""


def page(findings: AuditFindings, media: Media) -> b.Page:
    """Return the page of an audit."""
    view = AuditView(findings, media)
    prompts = findings.plan.prompts
    title = f"“{prompts[0].text}”"
    if len(prompts) > 1:
        title = plural(len(prompts), "prompt")
    sentences = [*texts.answer(findings, view.leads), texts.detail(findings, view.leads)]
    if findings.plan.compared_run:
        sentences = [*compared_sentences(findings), *sentences]
    else:
        sentences.append(texts.stop_sentence(findings))
    headline, *details = sentences
    return skeleton.page(
        findings,
        skeleton.Heading(
            kicker="askew audit",
            title=title,
            answer=headline,
            detail=" ".join(filter(None, details)),
            meta=skeleton.meta(findings),
            first=view.first_screen(),
            links=tuple(texts.answer_links(findings, view.leads)),
        ),
        sections=_sections(view),
        reading=texts.reading(findings),
        notes=(
            *skeleton.notes(findings),
            *_note_on_intervals(view.tests),
            *texts.depth_notes(findings),
            *(compared_notes(findings) or texts.look_notes(findings)),
        ),
        gaps=survey.gaps(findings.shares),
        uneven=[
            *missing_sentences(findings.missing_pictures),
            *missing_label_sentences(findings.missing_labels),
        ],
    )


def _sections(view: "AuditView") -> tuple[b.Section, ...]:
    several = len(view.details) > 1
    confusions = [survey.confusion(entry) for entry in view.findings.confusion]
    return (
        b.Section("Differences from the compared run", compared_blocks(view.findings)),
        b.Section("All values", view.all_values(), screen=False),
        *_scores_sections(view),
        b.Section("Requested values", request_blocks(view.findings.following)),
        b.Section("Rewritten prompts", rewriting_blocks(view.findings.rewriting)),
        b.Section("Differences between image sets", view.differences()),
        b.Section("Images", view.pictures(), screen=False),
        b.Section("Each prompt" if several else "Each axis", view.prompts_and_axes(), screen=False),
        b.Section("Comparison of prompts", view.domain(), screen=False),
        *_labelers(view.findings),
        b.Section("Labeling errors", confusions, screen=False),
    )


def _labelers(findings: AuditFindings) -> Iterator[b.Section]:
    """Yield the sections on agreement between raters, and between instruments and human labels."""
    if findings.agreement:
        yield b.Section("Raters", [agreement_table(findings.agreement)])
    if findings.confusion:
        level = findings.plan.confidence
        yield b.Section("Labelers", [survey.labelers(findings.confusion, level)])


def _scores_sections(view: "AuditView") -> Iterator[b.Section]:
    """Yield the section of MAD scores or, if there are none, of deviations from the reference."""
    if view.tibet:
        yield b.Section("Association (MAD)", view.scores())
    else:
        yield b.Section("Deviations from the reference", view.deviations(), screen=False)


def _note_on_intervals(tested: int) -> tuple[str, ...]:
    if tested < 2:
        return ()
    return (
        f"Intervals are not corrected for multiple testing, but verdicts are ({tested} tests).",
    )


class AuditView:
    """Findings of an audit, in the order in which its page shows them.

    Attributes
    ----------
    seen : list of SetShares
        Shares in the baseline sets and conditions or, if there are neither, shares in all sets.
    leads : list of SetShares
        Shares from the first instrument's labels, biased sets first.
    tibet : list of Tibet
        TIBET scores of each prompt, most biased prompt first.
    details : list of str
        Prompts that get a section of details, in the order in which the page shows them.
    others : list of SetShares
        Shares without TIBET scores: shares in folders of images, and shares on axes without
        counterfactuals.
    tests : int
        Number of tests in the family of the first instrument's verdicts.
    """

    def __init__(self, findings: AuditFindings, media: Media) -> None:
        self.findings = findings
        self.media = media
        self.seen = [shares for shares in findings.shares if shares.of_prompt]
        if not self.seen:
            self.seen = list(findings.shares)
        self.leads = survey.leads(self.seen)

        order = list(dict.fromkeys(shares.prompt for shares in self.leads))
        self.tibet = sorted(findings.tibet, key=lambda entry: _place(entry.prompt, order))
        self.details = list(dict.fromkeys([*(entry.prompt for entry in self.tibet), *order]))
        self.tests = family_size([*self.leads, *survey.leads(findings.shares_over_prompts)])
        self.others = [shares for shares in findings.shares if not self._has_scores(shares)]
        self._most_initial, self._most_other = _allowances(findings.sets)

    def _has_scores(self, shares: SetShares) -> bool:
        """Check whether the prompt and axis of these shares have TIBET scores."""
        for entry in self.findings.tibet:
            if entry.prompt == shares.prompt:
                return not shares.of_prompt or shares.axis in entry.axes
        return False

    def anchor(self, shares: SetShares) -> str:
        """Return the anchor of the section with the details of a set."""
        for entry in self.findings.tibet:
            if entry.prompt == shares.prompt and shares.axis in entry.axes:
                return f"{shares.prompt} {shares.axis}"
        return shares.prompt

    @property
    def single(self) -> bool:
        """True if all labels belong to a single image set."""
        return len({(shares.prompt, shares.set) for shares in self.leads}) == 1

    def first_screen(self) -> b.FirstScreen | None:
        """Return the first screen: the shares of a single set, or a matrix of prompts and axes."""
        if not self.leads:
            charts = tuple(self.scores())[:1]
            return b.FirstScreen(charts) if charts else None
        if not self.single:
            together = survey.leads(self.findings.shares_over_prompts)
            matrix = first_screen.prompt_matrix(
                self.media, self.leads, self.findings.sets, self.anchor, together, TOGETHER
            )
            return b.FirstScreen((matrix,))
        first = self.leads[0]
        chart = first_screen.shares_chart(self.leads, self.anchor)
        images = [
            first_screen.images_by_label(self.media, image_set, first)
            for image_set in self.findings.sets
            if image_set.name == first.set and image_set.prompt == first.prompt
        ]
        return b.FirstScreen((chart,), tuple(images))

    def all_values(self) -> Iterator[b.Block]:
        """Yield charts of the shares of all values, for all instruments."""
        yield from survey.together(self.findings.shares_over_prompts, TOGETHER)
        yield from survey.seen(self.seen, self.anchor)
        if not self.seen:
            yield b.Paragraph("No image has a label on any axis with known values.")

    def pictures(self) -> Iterator[b.Block]:
        """Yield the first images of the most biased prompt, and a collapsed block with the rest."""
        prompts = [prompt.text for prompt in self.findings.plan.prompts]
        first = self.leads[0].prompt if self.leads else prompts[0]
        sets = [picture_set for picture_set in self._own_sets(first) if picture_set.pictures]
        most = IMAGES_AT_HEAD if len(sets) == 1 else IMAGES_AT_HEAD // 2
        caption = "" if len(prompts) == 1 else quote(first, 160)
        yield b.PictureGrid(caption, tuple(self._row(picture_set, most) for picture_set in sets))

        for entry in self.findings.tibet:
            if entry.prompt == first and entry.top_concepts:
                yield b.Paragraph(
                    _frequencies(entry.top_concepts[:15]),
                    lead="Most frequent concepts:",
                    muted=True,
                )
                break
        yield self._more_pictures(sets, most)

    def _more_pictures(self, sets: Sequence[PictureSet], most: int) -> b.Details:
        """Return a collapsed block with the images that are not shown at the top of the page."""
        rows = []
        for picture_set in sets:
            row = self._row(picture_set)
            if row.shots[most:]:
                rows.append(replace(row, shots=row.shots[most:], note=""))
        count = sum(len(row.shots) for row in rows)
        return b.Details(plural(count, "more image"), (b.PictureGrid("", tuple(rows)),))

    def _own_sets(self, prompt: str) -> list[PictureSet]:
        """Return a prompt's baseline set and conditions or, if it has neither, all of its sets."""
        plan = next(plan for plan in self.findings.plan.prompts if plan.text == prompt)
        sets = [picture_set for picture_set in self.findings.sets if picture_set.prompt == prompt]
        own_sets = [picture_set for picture_set in sets if not plan.has(picture_set.axis)]
        return own_sets or sets

    def _row(self, picture_set: PictureSet, most: int | None = None) -> b.PictureRow:
        """Return the first `most` images of a set; the default depends on the kind of set."""
        if most is None:
            initial = picture_set.axis is None or not self.findings.tibet
            most = self._most_initial if initial else self._most_other
        given = self.findings.plan.model.startswith("folder/")
        return set_row(self.media, picture_set, most, None if given else self.findings.plan.seed)

    def scores(self) -> Iterator[b.Block]:
        """Yield the MAD of all axes, and a collapsed block with the deviations on other axes."""
        if sum(len(entry.axes) for entry in self.tibet) > ROWS:
            yield self._mad_table()
        else:
            yield self._mad_chart()
        yield b.Details("Deviations from the reference", self.deviations())

    def deviations(self) -> list[b.Block]:
        """Return a block per axis, with the deviations of shares on axes that have no MAD."""
        by_axis = grouped(self.others, lambda shares: shares.axis)
        return [survey.distances(of_axis) for of_axis in by_axis.values()]

    def _mad_table(self) -> b.Table:
        names = list(dict.fromkeys(name for entry in self.tibet for name in entry.axes))
        rows = []
        for entry in self.tibet:
            scores = [entry.axes[name].mad if name in entry.axes else None for name in names]
            rows.append((entry.prompt, *scores))
        return b.Table(
            "MAD of all prompts and axes, most biased prompt first",
            columns=("Prompt", *(capital(axis_label(name)) for name in names)),
            rows=tuple(rows),
            shaded=True,
            note="Below each score: its interval. Bold: significant (q < 0.05).",
        )

    def _mad_chart(self) -> b.IntervalChart:
        rows = []
        for entry in self.tibet:
            group = shorten(entry.prompt, 60) if len(self.tibet) > 1 else ""
            for name, axis in texts.ranked(entry.axes.items()):
                rows.append(
                    b.IntervalRow(
                        capital(axis_label(name)),
                        axis.mad,
                        more=(texts.nearest(axis),),
                        group=group,
                        link=f"{entry.prompt} {name}",
                    )
                )
        is_determined = any(row.more != (None,) for row in rows)
        return b.IntervalChart(
            "Concept association by axis (MAD): difference in similarity to the counterfactuals",
            heading="Axis",
            rows=tuple(rows if is_determined else (replace(row, more=()) for row in rows)),
            name="MAD",
            more=("most similar to",) if is_determined else (),
        )

    def differences(self) -> Iterator[b.Block]:
        """Yield differences between baseline images and conditions."""
        together = self.findings.differences_over_prompts
        differences = (*together, *self.findings.differences)
        if not differences:
            return
        several_instruments = len({difference.instrument for difference in differences}) > 1
        sentences = []
        for difference in differences:
            text = difference_sentence(difference)
            if text is not None:
                prompt = shorten(difference.prompt, 60)
                place = capital(prompt) if difference in together else f"“{prompt}”"
                if several_instruments:
                    place += f", labeled by {shorten(difference.instrument, 40)}"
                sentences.append(f"{place}. {text}")
        yield b.Paragraph(
            "" if sentences else format_phrase("no_condition_difference"), items=tuple(sentences)
        )

        by_axis = grouped(differences, lambda difference: (difference.axis, difference.instrument))
        lanes = [survey.differences(of_axis) for of_axis in by_axis.values()]
        yield b.Details("All differences, by axis and value", lanes)

    def prompts_and_axes(self) -> Iterator[b.Block]:
        """Yield the details of all axes.

        If there are several prompts, each prompt has a collapsed block.
        """
        if self.findings.shares_over_prompts:
            yield b.Details("All prompts together", self._together(), anchor=TOGETHER)
        if len(self.details) == 1:
            yield from self._axes(self.details[0])
            return
        for prompt in self.details:
            rows = tuple(self._row(picture_set) for picture_set in self._own_sets(prompt))
            blocks = (b.PictureGrid("", rows), *self._axes(prompt))
            yield b.Details(quote(prompt, 160), blocks, anchor=prompt)

    def _together(self) -> Iterator[b.Block]:
        """Yield the shares pooled over the images of all prompts."""
        for shares in self.findings.shares_over_prompts:
            axis_name = capital(perceived(shares.axis))
            set_name = words.set_label(shares.set)
            text = f"{axis_name} in {set_name} of {plural(shares.prompts, 'prompt')}"
            yield b.Paragraph(f"{text}: {sentence(shares)}.", links=share_link(shares))
            yield survey.numbers(shares)

    def _axes(self, prompt: str) -> Iterator[b.Block]:
        """Yield the details of a prompt's axes, starting with axes that have TIBET scores."""
        for entry in self.tibet:
            if entry.prompt == prompt:
                for name, axis in texts.ranked(entry.axes.items()):
                    yield self._axis_fold(prompt, name, axis)
        for shares in self.others:
            if shares.prompt == prompt:
                axis_name = capital(perceived(shares.axis))
                set_name = words.set_label(shares.set)
                text = f"{axis_name} in {set_name}: {sentence(shares)}."
                yield b.Paragraph(text, links=share_link(shares))
                yield survey.numbers(shares)

    def _axis_fold(self, prompt: str, name: str, axis: AxisScores) -> b.Details:
        """Return a collapsed block with the details of one axis of a prompt."""
        place = (prompt, "initial", name)
        own_shares = [
            shares
            for shares in self.findings.shares
            if (shares.prompt, shares.set, shares.axis) == place
        ]
        if own_shares:
            summary = verdict(own_shares[0])
        elif is_significant(axis.mad):
            summary = "significant"
        else:
            summary = format_phrase("no_bias")
        blocks = self._axis(prompt, name, axis, own_shares)
        return b.Details(
            f"{capital(axis_label(name))}: {summary}", blocks, anchor=f"{prompt} {name}"
        )

    def _axis(
        self, prompt: str, name: str, axis: AxisScores, own_shares: Sequence[SetShares]
    ) -> Iterator[b.Block]:
        """Yield the details of an axis.

        `own_shares` contains the shares on this axis, one entry per instrument.
        """
        seen = f"{capital(sentence(own_shares[0]))}. " if own_shares else ""
        even = not own_shares or own_shares[0].even
        links = share_link(own_shares[0]) if own_shares else ()
        yield b.Paragraph(seen + texts.by_mad(axis, even), links=links)
        questions = " ".join(f"“{shorten(text, 160)}”" for text in axis.question)
        yield b.Paragraph(f"{capital(axis.kind)} axis. Questions: {questions}", muted=True)
        yield self._associations(prompt, name, axis)
        for number, shares in enumerate(own_shares):
            if number:
                instrument = shorten(shares.instrument, 60)
                text = f"Labeled by {instrument}: {sentence(shares)}."
                yield b.Paragraph(text, links=share_link(shares))
            yield survey.numbers(shares)
        yield self._pictures_of_axis(prompt, name)
        yield from _concepts(axis)
        if axis.second_tests:
            yield b.Details(f"Other axes that change with {axis_label(name)}", _second_axes(axis))

    def _pictures_of_axis(self, prompt: str, name: str) -> b.Block:
        """Return a grid with the first images of an axis's baseline and counterfactual sets."""
        sets = [
            picture_set
            for picture_set in self.findings.sets
            if picture_set.prompt == prompt
            and picture_set.axis in (None, name)
            and picture_set.pictures
        ]
        most = self._most_initial
        if any(picture_set.axis is not None for picture_set in sets):
            most = min(self._most_initial, self._most_other)
        if not most:
            return b.Paragraph(MANY_SETS, muted=True)
        return b.PictureGrid("", tuple(self._row(picture_set, most) for picture_set in sets))

    def _associations(self, prompt: str, name: str, axis: AxisScores) -> b.IntervalChart:
        """Return a chart of the CAS of all counterfactuals, with columns for alternative scores."""
        known = [score.value for score in axis.cas.values() if isinstance(score, Estimate)]
        marks: tuple[b.ReferenceMark, ...] = ()
        if len(known) > 1:
            marks = (b.ReferenceMark(sum(known) / len(known), "mean of the axis", "dash"),)

        columns: dict[str, Mapping[str, b.Content]] = {
            "by embedding": axis.cas_clip or {},
            "concept matching": {
                value: words.number(score) for value, score in (axis.bipartite or {}).items()
            },
            "labeled as requested": self._labeled_as_requested(prompt, name, axis),
        }
        shown = {heading: cells for heading, cells in columns.items() if cells}
        rows = []
        for value, score in axis.cas.items():
            more = tuple(cells.get(value) for cells in shown.values())
            rows.append(b.IntervalRow(shorten(value, 60), score, more, marks=marks))
        return b.IntervalChart(
            "Similarity of the baseline images to each counterfactual (CAS)",
            heading=capital(axis_label(name)),
            rows=tuple(rows),
            name="CAS",
            columns=b.PLAIN,
            more=tuple(shown),
        )

    def _labeled_as_requested(
        self, prompt: str, name: str, axis: AxisScores
    ) -> dict[str, b.Content]:
        """Return, for each counterfactual set, the share of images that show its value."""
        by_set: dict[str, SetShares] = {}
        for shares in self.findings.shares:
            if (shares.prompt, shares.axis) == (prompt, name):
                by_set.setdefault(shares.set, shares)  # the first instrument's
        return {
            value: words.part(by_set[f"{name}: {value}"].shares.get(value), "value", "share")
            for value in axis.cas
            if f"{name}: {value}" in by_set
        }

    def domain(self) -> Iterator[b.Details]:
        """Yield a collapsed block per axis that compares the CAS of all prompts."""
        for entry in self.findings.domain:
            first, *others = entry.cas
            rest = shorten(others[0], 40) if len(others) == 1 else "the others"
            contrast = measured(entry.against_rest[first], "signed")
            summary = (
                f"{capital(axis_label(entry.axis))}: CAS of {shorten(first, 40)} minus CAS of "
                f"{rest}, mean over all prompts {contrast}"
            )
            yield b.Details(summary, _domain(entry))


def _place(prompt: str, order: Sequence[str]) -> int:
    """Return the position of a prompt in a list, or 0 if the list does not contain it."""
    return order.index(prompt) if prompt in order else 0


def _allowances(sets: Sequence[PictureSet]) -> tuple[int, int]:
    """Return how many images to show from each baseline set, and how many from each other set."""
    initial = sum(picture_set.axis is None for picture_set in sets)
    if initial == 0:
        return allowance(len(sets), 0)
    return allowance(initial, len(sets) - initial)


def _concepts(axis: AxisScores) -> Iterator[b.Table]:
    """Yield a table of the concepts with the largest frequencies or differences between sets."""
    tops = {name: dict(frequencies) for name, frequencies in axis.top_concepts.items()}
    initial = tops.get("initial", {})
    if not initial or len(tops) < 2:
        return
    concepts = dict.fromkeys(concept for top in tops.values() for concept in top)

    def largest_difference(concept: str) -> float:
        """Return the largest difference in a concept's frequency between the baseline and a set."""
        here = initial.get(concept, 0.0)
        return max(here, *(abs(top.get(concept, 0.0) - here) for top in tops.values()))

    chosen = sorted(concepts, key=largest_difference, reverse=True)[:CONCEPTS]
    chosen.sort(key=lambda concept: initial.get(concept, -1.0), reverse=True)
    rows = []
    for concept in chosen:
        cells = [Estimate(top[concept]) if concept in top else None for top in tops.values()]
        rows.append((shorten(concept, 40), *cells))
    yield b.Table(
        "Concepts, in % of the images of each set",
        columns=("Concept", *(shorten(name, 40) for name in tops)),
        rows=tuple(rows),
        scale="share",
        note="– = not among the most frequent concepts of that set.",
        shaded=True,
    )


def _second_axes(axis: AxisScores) -> Iterator[b.Block]:
    """Yield a sentence and a table about other axes that change with the counterfactuals."""
    significant = {
        other: test.q for other, test in axis.second_tests.items() if test.q < SIGNIFICANCE_LEVEL
    }
    if not significant:
        yield b.Paragraph(
            format_phrase("no_associated_axes", axes=_other_axes(len(axis.second_tests)))
        )
        return
    named = [
        f"{perceived(other)} ({words.probability(q, 'q')})" for other, q in significant.items()
    ]
    yield b.Paragraph(format_phrase("associated_axes", axes=words.listing(named)))

    rows = []
    for other in significant:
        cells = [_frequencies(by_axis.get(other, ())[:5]) for by_axis in axis.second_axis.values()]
        rows.append((capital(axis_label(other)), *(cell or None for cell in cells)))
    yield b.Table(
        "Most frequent concepts on these axes in each counterfactual set, in % of its images",
        columns=("Axis", *(shorten(value, 40) for value in axis.second_axis)),
        rows=tuple(rows),
    )


def _other_axes(count: int) -> str:
    return plural(count, "other axis", "other axes")


def _domain(entry: Domain) -> Iterator[b.IntervalChart]:
    """Yield a chart of the mean CAS of all values.

    For an axis with two values, also yield a chart of the difference in each prompt.
    """
    rows = [
        b.IntervalRow(
            shorten(value, 40),
            score,
            more=(entry.against_rest.get(value), entry.scaled.get(value)),
        )
        for value, score in entry.cas.items()
    ]
    yield b.IntervalChart(
        "Bias-corrected CAS, averaged over the prompts",
        heading=capital(axis_label(entry.axis)),
        rows=tuple(rows),
        name="CAS",
        columns=b.PLAIN,
        more=("minus the others", "share of the CAS sum (the paper's scaling)"),
    )
    if entry.differences:
        yield _differences_of_prompts(entry)


def _differences_of_prompts(entry: Domain) -> b.IntervalChart:
    """Return a chart of each prompt's difference in CAS between two values, largest first."""
    first, second = entry.differences[0].values
    ordered = sorted(
        entry.differences, key=lambda difference: words.largest_first(difference.estimate)
    )
    rows = [
        b.IntervalRow(
            shorten(difference.prompt, 60),
            difference.estimate,
            strong=is_significant(difference.estimate),
        )
        for difference in ordered
    ]
    first = shorten(first, 30)
    second = shorten(second, 30)
    return b.IntervalChart(
        f"CAS of {first} minus CAS of {second} (negative: more similar to {second}, positive: "
        f"more similar to {first})",
        heading="Prompt",
        rows=tuple(rows),
        name="difference",
        scale="signed",
        columns=b.DIFFERENCE,
    )


def _frequencies(frequencies: Frequencies) -> str:
    return ", ".join(f"{shorten(concept, 30)} {percent(share)}" for concept, share in frequencies)
