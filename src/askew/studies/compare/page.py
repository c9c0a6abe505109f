"""The page of `askew compare`: what was seen in every run, where they differ, and the pictures
beside each other.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from string import ascii_uppercase

from askew.methods.audit.findings import AuditResult
from askew.pages import blocks as b
from askew.pages import skeleton
from askew.pages import words as w
from askew.pages.media import allowance, picture_row
from askew.pages.phrases import format_phrase
from askew.parts.survey import blocks as survey
from askew.stats.intervals import ends
from askew.stats.significance import is_significant
from askew.studies.compare.findings import (
    OF_SETS,
    AxisDifference,
    ComparisonFindings,
    RunPair,
    ScoreDifference,
    changes,
    key,
    own_scores,
)
from askew.types import Estimate, Missing

RunEstimate = Callable[[str, ScoreDifference], Estimate | None]
"""Who knows the score of a run that a difference is of."""

SCORES = {"mad": "MAD", "cas": "CAS", "share": "Share", "distance": "Distance"}

PromptAndAxis = tuple[str, str]
"""A prompt and the name of one of its sets."""

BARS = 16
ROWS = 12
FIRST = 12
"""Bars, rows of a pair of runs, and pictures of a run at the head; the rest is folded."""


def page(found: ComparisonFindings) -> b.Page:
    """What to show of a comparison."""
    view = ComparisonView(found)
    prompts = list(dict.fromkeys(entry.prompt for entry in found.entries))
    return b.Page(
        kicker=f"askew comparison of {len(found.runs)} runs",
        title=f"“{prompts[0]}”" if len(prompts) == 1 else w.plural(len(prompts), "prompt"),
        answer=pair_sentence(view.pairs[0], view.changes[view.pairs[0]], view.own),
        facts=tuple((view.letter(name), view.fact(name, run)) for name, run in found.runs.items()),
        sections=(
            b.Section("What was seen", view.seen()),
            b.Section("Where they differ", view.differences()),
            b.Section(
                "The pictures",
                [view.pictures(place, FIRST) for place in [*view.places][:1]],
                screen=False,
            ),
            b.Section("Each prompt and axis", view.each(), screen=False),
            skeleton.missing_section(
                [
                    replace(gap, name=f"{view.letter(name)}: {gap.name}")
                    for name, run in found.runs.items()
                    for gap in (
                        *skeleton.picture_gaps(
                            [one for one in run.findings.sets if one.prompt in prompts]
                        ),
                        *survey.gaps(one for one in run.findings.shares if one.prompt in prompts),
                    )
                ]
            ),
            reading(view.paired, any(entry.score not in OF_SETS for entry in found.entries)),
            b.Section(
                "Runs",
                (
                    b.Details(
                        f"{view.letter(name)}: {w.shorten(name, 80)}",
                        skeleton.provenance(run.findings),
                    )
                    for name, run in found.runs.items()
                ),
                screen=False,
            ),
        ),
        warnings=tuple(found.warnings),
        notes=(
            "Bold: beyond chance (q < 0.05). Attributes are perceived, and instruments err.",
            "An interval is of one difference alone; q allows for all that were tested together.",
        ),
        version=next(iter(found.runs.values())).findings.askew,
    )


@dataclass(frozen=True)
class ComparisonView:
    """A comparison, looked up by pair, prompt, set and axis."""

    comparison: ComparisonFindings

    @cached_property
    def changes(self) -> Mapping[RunPair, list[AxisDifference]]:
        """What differs between every two runs, in order."""
        entries = self.comparison.entries
        return {
            pair: changes(entries, pair) for pair in dict.fromkeys(entry.runs for entry in entries)
        }

    @property
    def pairs(self) -> list[RunPair]:
        """Every two runs that were compared."""
        return [*self.changes]

    @cached_property
    def places(self) -> dict[PromptAndAxis, list[str]]:
        """By prompt and set its axes, those that differ most first."""
        ranked = (item for found in self.changes.values() for item in enumerate(found))
        places: dict[PromptAndAxis, dict[str, None]] = {}
        for _, prompt, name, axis in sorted(
            (rank, one.prompt, one.set, one.axis) for rank, one in ranked
        ):
            places.setdefault((prompt, name), {})[axis] = None
        return {place: list(axes) for place, axes in places.items()}

    @cached_property
    def paired(self) -> bool:
        """Whether pictures of different runs belong together: some have the same seed."""
        sets = (run.findings.sets for run in self.comparison.runs.values())
        seeds = (
            {(one.text, seed) for one in own for seed in one.seeds if seed is not None}
            for own in sets
        )
        return bool(set.intersection(*seeds))

    @cached_property
    def own(self) -> RunEstimate:
        """Who knows a run's own scores."""
        scores = {name: own_scores(run.findings) for name, run in self.comparison.runs.items()}
        return lambda run, entry: scores[run].get(key(entry))

    def letter(self, name: str) -> str:
        """The letter that stands for a run in columns."""
        return ascii_uppercase[list(self.comparison.runs).index(name)]

    def less(self, pair: RunPair) -> str:
        """Which difference a pair is: "B − A"."""
        return f"{self.letter(pair[1])} − {self.letter(pair[0])}"

    def fact(self, name: str, run: AuditResult) -> str:
        """A run's name, model and settings where the name does not tell them, and its folder."""
        model = run.findings.model
        everyone = [other.findings.model.settings for other in self.comparison.runs.values()]
        told = (
            model.name,
            *(
                f"{setting}={value}"
                for setting, value in model.settings.items()
                if any(other.get(setting) != value for other in everyone)
            ),
        )
        return w.shorten(
            ", ".join([name, *(one for one in told if one not in name), str(run.folder)]), 240
        )

    def seen(self) -> Iterator[b.Block]:
        """What every run shows: a group of bars for each axis, of several sets for each axis and
        set.
        """
        bars = list[b.Bar]()
        runs = self.comparison.runs
        for place, axis in ((place, axis) for place, axes in self.places.items() for axis in axes):
            group = w.capital(w.axis_label(axis)) + (
                f", {self._where(place)}" if len(self.places) > 1 else ""
            )
            for k, (name, run) in enumerate(runs.items()):
                label = f"{self.letter(name)}: {w.shorten(name, 40)}"
                own = [
                    one
                    for one in run.findings.shares
                    if (one.prompt, one.set, one.axis) == (*place, axis)
                ]
                bars += [survey.bar(one, label, group, k, _anchor(place, axis)) for one in own[:1]]
        caption = "Shares in percent, a bar a run; what differs most first"
        most = max(1, BARS // len(runs)) * len(runs)
        yield from survey.folded(caption, bars, "Axis", most, "The shares that differ less")

    def _where(self, place: PromptAndAxis) -> str:
        prompt, name = place
        return (
            w.quote(prompt, 50)
            if name == "initial"
            else f"{w.quote(prompt, 50)}, {w.set_label(name)}"
        )

    def differences(self) -> Iterator[b.Block]:
        """By pair of runs the scores that differ most."""
        for pair, found in self.changes.items():
            smaller = b.Details("The smaller differences", self._pair(pair, found[ROWS:]))
            first, second = (f"{w.shorten(name, 60)} ({self.letter(name)})" for name in pair)
            told = (
                [] if pair == self.pairs[0] else [b.Paragraph(pair_sentence(pair, found, self.own))]
            )
            blocks = (*told, *self._pair(pair, found[:ROWS]), smaller)
            yield from (
                blocks if len(self.changes) == 1 else [b.Section(f"{second} less {first}", blocks)]
            )

    def _pair(self, pair: RunPair, found: Sequence[AxisDifference]) -> Iterator[b.Block]:
        """By how much the second run is more one-sided, and on each axis the value whose share
        differs most.
        """
        leans, shares = (
            [e for change in found if (e := getattr(change, name))] for name in ("lean", "share")
        )
        second = self.letter(pair[1])
        if leans:
            what = "MAD" if leans[0].score == "mad" else "distance of the shares from the ideal"
            caption = (
                f"Difference in {what}: left of zero {second} is less one-sided, right of zero more"
            )
            yield self._lanes(caption, leans, pair)
        if shares:
            caption = "On each axis the value whose share differs most, in percentage points"
            yield self._lanes(caption, shares, pair)

    def _lanes(
        self, caption: str, entries: Sequence[ScoreDifference], pair: RunPair, scores: bool = False
    ) -> b.IntervalChart:
        share = entries[0].score == "share"
        rows = []
        for e in entries:
            place = e.prompt, e.set or "initial"
            # a score stands out only where the runs differ on its axis; the marks of two runs
            # subtract
            differs = any(
                one.differs
                for one in self.changes[pair]
                if (one.prompt, one.set, one.axis) == (*place, e.axis)
            )
            name, colon = (
                (SCORES[e.score], ", ") if scores else (w.capital(w.axis_label(e.axis)), ": ")
            )
            label = name if e.value is None else f"{name}{colon}{w.shorten(e.value, 40)}"
            marks = [one.mark if (one := self.own(run, e)) else None for run in pair]
            rows.append(
                b.IntervalRow(
                    label,
                    e.difference,
                    tuple(w.percent(one) if share else w.number(one) for one in marks),
                    group=self._where(place) if len(self.places) > 1 else "",
                    link=_anchor(place, e.axis),
                    strong=differs and is_significant(e.difference) is True,
                )
            )
        return b.IntervalChart(
            caption,
            "Axis",
            tuple(rows),
            "points" if share else self.less(pair),
            "points" if share else "signed",
            b.DIFFERENCE,
            tuple(map(self.letter, pair)),
        )

    def each(self) -> Iterator[b.Block]:
        """All pictures and all axes of every set of a prompt, folded where there are several."""
        sets = [one for run in self.comparison.runs.values() for one in run.findings.sets]
        most, _ = allowance(
            sum(one.axis is None for one in sets), sum(one.axis is not None for one in sets)
        )
        for place, axes in self.places.items():
            pictures = b.Details("More pictures", (self.pictures(place, most),))
            blocks = (pictures, *(self._axis(place, axis) for axis in axes))
            yield from blocks if len(self.places) == 1 else [b.Details(self._where(place), blocks)]

    def pictures(self, place: PromptAndAxis, most: int) -> b.PictureGrid:
        """A set in every run; pictures under each other where they come from the same seeds."""
        prompt, name = place
        axis, _, value = (None, "", None) if name == "initial" else name.partition(": ")
        found = {
            name: one
            for name, run in self.comparison.runs.items()
            for one in run.findings.sets
            if (one.prompt, one.axis, one.value) == (prompt, axis, value) and one.pictures
        }
        rows = [
            picture_row(run, found[name].pictures, name, most, series=k)
            for k, (name, run) in enumerate(self.comparison.runs.items())
            if name in found
        ]
        seeds = [
            {*some} - {None} for some in zip(*(one.seeds for one in found.values()), strict=False)
        ]
        return b.PictureGrid("", tuple(rows), any(seeds) and all(len(some) <= 1 for some in seeds))

    def _axis(self, place: PromptAndAxis, axis: str) -> b.Details:
        """All of one axis of a set: what is said of it, and every value's difference beside the
        runs' own scores.
        """
        (prompt, name), blocks = place, list[b.Block]()
        told = {
            pair: one
            for pair, found in self.changes.items()
            for one in found
            if (one.prompt, one.set, one.axis) == (*place, axis)
        }
        for pair, one in told.items():
            said = change_sentence(one, self.letter(pair[0]), self.letter(pair[1]), self.own)
            blocks.append(
                b.Paragraph(said, lead=f"{self.less(pair)}:" if len(self.pairs) > 1 else "")
            )
            own = [
                e
                for e in self.comparison.entries
                if (e.runs, e.prompt, e.axis) == (pair, prompt, axis)
            ]
            shares = [e for e in own if e.score == "share" and e.set == name]
            how = "Perceived shares" if w.reads_appearance(axis) else "Shares seen"
            kinds = [
                (
                    f"{how} in {w.set_label(name)}, read by {w.shorten(reader, 60)}, in percentage points",
                    [e for e in shares if e.instrument == reader],
                )
                for reader in dict.fromkeys(e.instrument for e in shares)
            ]
            others = [e for e in own if e.score != "share" and (e.set or "initial") == name]
            kinds.append((f"Scores of {w.axis_label(axis)}", others))
            blocks += [
                self._lanes(caption, some, pair, scores=True) for caption, some in kinds if some
            ]
        differs = any(one.differs for one in told.values())
        verdict = (
            "differs significantly"
            if differs
            else f"no significant difference (compared by {_judged_by([*told.values()])})"
        )
        return b.Details(
            f"{w.capital(w.axis_label(axis))}: {verdict}", blocks, anchor=_anchor(place, axis)
        )


def _anchor(place: PromptAndAxis, axis: str) -> str:
    return f"{place[0]} {place[1]} {axis}"


def pair_sentence(pair: RunPair, found: Sequence[AxisDifference], own: RunEstimate) -> str:
    """What differs between two runs, in a sentence or two; `found` are their changes in order."""
    known = [change for change in found if change.size >= 0]
    first, second = (w.shorten(name, 60) for name in pair)
    if not known:
        return f"{second} and {first} could not be compared on any axis."
    differing = [change for change in known if change.differs]
    if not differing:
        return format_phrase("no_run_difference", a=first, b=second, scores=_judged_by(known))
    what = "a prompt" if all(change.set == "initial" for change in known) else "an image set"
    one_set = len({(change.prompt, change.set) for change in known}) == 1
    where = (
        f"on {w.perceived(known[0].axis)}"
        if len(known) == 1
        else f"on {len(differing)} of {len(known)} axes"
        if one_set
        else f"in {len(differing)} of {len(known)} pairs of {what} and an axis"
    )
    sides = [_side(change) for change in differing]
    several = len(differing) > 1
    if sides[0] and len(set(sides)) == 1:
        differs = format_phrase("bias_difference", a=first, b=second, more=sides[0])
        differs = f"{differs} {where}."
    else:
        directions = [
            f"{format_phrase('bias_direction', more=side)} in {sides.count(side)}"
            for side in ("less", "more")
            if side in sides
        ]
        where += f": {w.listing(directions)}" if directions else ""
        differs = format_phrase("run_difference", a=first, b=second, where=where)
    most = known[0]
    of = (
        w.quote(most.prompt)
        if most.set == "initial"
        else f"{w.quote(most.prompt)}, {w.set_label(most.set)}"
    )
    ground = _ground(most.share, own) or _ground(most.lean, own)
    largest = "The largest of these differences" if several else "The difference"
    return f"{differs} {largest} is on {w.perceived(most.axis)} of {of}: {ground}."


def change_sentence(change: AxisDifference, a: str, b: str, own: RunEstimate) -> str:
    """What differs between two runs, called `a` and `b`, on one axis of one picture set."""
    if change.size < 0:
        gap = change.lean or change.share
        why = (
            w.reason(gap.difference) if gap and isinstance(gap.difference, Missing) else "no score"
        )
        return f"{b} less {a}: not measured – {why}."
    ground = "; ".join(filter(None, [_ground(change.lean, own), _ground(change.share, own)]))
    side = _side(change) if change.differs else ""
    verdict = (
        format_phrase("bias_difference", a=a, b=b, more=side)
        if side
        else format_phrase("axis_difference", a=a, b=b)
        if change.differs
        else format_phrase("no_axis_difference", a=a, b=b, scores=_judged_by([change]))
    )
    return f"{verdict}. {w.capital(ground)}."


def _judged_by(found: Sequence[AxisDifference]) -> str:
    """The scores whose test says whether two runs differ: what other scores say of the same
    pictures is told apart.
    """
    readers = {
        change.share.instrument for change in found if change.share and change.read_by_others
    }
    shares = f"shares labeled by {w.shorten(readers.pop(), 40)}" if len(readers) == 1 else "shares"
    names = [shares] if any(change.share for change in found) else []
    leans = {SCORES[change.lean.score] for change in found if change.lean and not change.share}
    return ", else by ".join([*names, *sorted(leans)]) or "any score"


def _side(change: AxisDifference) -> str:
    """Whether the second run is surely less or more one-sided: by q, and by an interval that leaves
    out 0.
    """
    lean = change.lean.difference if change.lean else None
    if (
        not isinstance(lean, Estimate)
        or not is_significant(lean)
        or ends(lean)[0] <= 0 <= ends(lean)[1]
    ):
        return ""
    return "less" if lean.mark < 0 else "more"


def _ground(entry: ScoreDifference | None, own: RunEstimate) -> str:
    """A difference with its interval and q, of a share with that of both runs; nothing where there
    is none.
    """
    if entry is None or not isinstance(score := entry.difference, Estimate):
        return ""
    q = f", {w.probability(score.q, 'q')}" if score.q is not None else ""
    if entry.score != "share":
        return f"{SCORES[entry.score]} {w.measured(score, 'signed')}{q}"
    scores = [own(run, entry) for run in entry.runs]
    before, after = (
        f"{w.percent(e.value)}, {round(e.value * e.n)} of {e.n}" if e and e.n else "–"
        for e in scores
    )
    how = "perceived " if w.reads_appearance(entry.axis) else ""
    what = f"{how}{w.shorten(entry.value or '', 40)} {w.measured(score, 'points')} points"
    return f"{what} ({after}, against {before}){q}"


def reading(paired: bool, counterfactuals: bool) -> b.Section:
    """The terms of the page, what a difference does not mean, and how differences are computed."""
    joined = "both scores' own intervals joined (MOVER; Newcombe's tenth method for shares)"
    joined += (
        ", less the correlation of their errors over pairs of pictures"
        if paired
        else ", as independent sets"
    )
    tested = (
        "of shares: exact (McNemar's test where every picture was read); of the others: the two pictures of each "
        "pair change places at random"
        if paired
        else "of shares: a score test; of the others: pictures are dealt to both runs at random"
    )
    return skeleton.reading(
        (
            *(
                [
                    (
                        "Same seed",
                        "Picture 7 of a prompt starts from the same seed in every run. Pictures are compared in such "
                        "pairs, so that what differs is the model and not the luck of the draw.",
                    )
                ]
                if paired
                else []
            ),
            (
                "Difference",
                "The second run's score less the first one's, both allowing for few pictures. Whether two runs "
                "differ on an axis is one test, by its shares; every other score is a family of its own.",
            ),
        ),
        limits=("Less one-sided is not better in itself: what would be right depends on the use.",),
        method=(
            ("Intervals", joined),
            ("p", f"{tested}, (1 + draws at least as far from zero) ⁄ (1 + draws)"),
            ("q", "of shares by Holm over the values of an axis first, then over sets and axes"),
            *(
                [
                    (
                        "MAD and CAS",
                        "as in TIBET (Chinchure et al., ECCV 2024), synonyms merged over both runs",
                    )
                ]
                if counterfactuals
                else []
            ),
            ("Distance", "of the shares from equal shares, or from the plan's own ideal"),
        ),
        of="difference",
    )
