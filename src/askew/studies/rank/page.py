"""The page of `askew rank`: what every model shows for every prompt, and how its ranks agree with a
table's.
"""

from collections.abc import Iterator
from dataclasses import replace

from askew.methods.mine.page import least_fitting, left_out, terms
from askew.pages import blocks as b
from askew.pages import skeleton, words
from askew.pages.media import Media, picture_row, plane
from askew.pages.phrases import format_phrase
from askew.parts.survey.blocks import bar, folded
from askew.parts.survey.sentences import most_seen
from askew.studies.rank.steps import RankFindings
from askew.types import Estimate, Missing

SHOWN = 12
PICTURES = 15
"""Prompts whose pictures are shown, and of each model how many."""

TABLE = [
    (
        "Table",
        "A table of the world is one yardstick. That a model agrees with it is no praise, and that it does "
        "not no fault: it says whether the lean follows that of the world.",
    )
]


def page(found: RankFindings, media: Media) -> b.Page:
    """What to show of given prompts."""
    plan = found.plan
    prompts = words.plural(len(plan.prompts), "prompt")
    models = words.plural(len(found.models), "model")
    return skeleton.page(
        found,
        skeleton.Heading(
            kicker=f"askew rank: {prompts} on {models}",
            title="Which prompts are one-sided",
            answer=answer(found),
        ),
        sections=(
            b.Section("The prompts, most one-sided first", _scores(found)),
            b.Section("Models against each other", _models(found)),
            b.Section("Against the table", _agreement(found)),
            b.Section("Pictures", _pictures(found, media), screen=False),
        ),
        facts=(
            ("Models", words.listing([one.name for one in found.models])),
            ("Each prompt", f"{words.plural(plan.images, 'picture')} per model, of the same seeds"),
            *(fact for fact in skeleton.facts(found) if fact[0] not in ("Model", "Images")),
        ),
        reading=skeleton.reading([*terms(plan), *(TABLE if found.agreement else ())]),
        notes=("Bold: beyond chance (q < 0.05) over all prompts and models.",),
    )


def answer(found: RankFindings) -> str:
    """How many prompts are beyond chance on which model, the furthest, and the agreement with the
    table.
    """
    known = [one for one in found.ranked if isinstance(one.score, Estimate)]
    if not known:
        return "No prompt could be scored."
    counts = []
    for model in found.models:
        own = [one for one in known if one.model == model.name]
        beyond = len({one.prompt for one in own if words.has_significant_q(one.score)})
        counts.append(
            f"{beyond} of {words.plural(len({one.prompt for one in own}), 'prompt')} on {model.name}"
        )
    first = known[0]
    shown = f": {most_seen(first.shares)}" if first.shares else ""
    text = format_phrase("ranked_bias", counts=words.listing(counts))
    text += f" Furthest is {words.quote(first.prompt)} on {first.model}{shown}."
    lost = {one.prompt: one.score.detail for one in found.ranked if isinstance(one.score, Missing)}
    if lost:
        prompt, why = next(iter(lost.items()))
        text += f" {words.plural(len(lost), 'prompt')} could not be scored: {words.quote(prompt)}, since {why}."
    for one in found.agreement:
        size = one.share if isinstance(one.share, Estimate) else one.skew
        of = f"shares of {found.plan.value}" if size is one.share else "scores"
        text += f" The {of} on {one.model} rank as the table's with a correlation of {words.measured(size)}."
    return text


def _scores(found: RankFindings) -> Iterator[b.Block]:
    """Shares as bars where they were read, then the scores with what is chance."""
    several = len(found.models) > 1
    series = {one.name: k for k, one in enumerate(found.models)}
    prompts = list(dict.fromkeys(one.prompt for one in found.ranked))
    for axis in dict.fromkeys(one.axis for one in found.ranked if one.shares):
        own = sorted(
            (one for one in found.ranked if one.axis == axis),
            key=lambda one: prompts.index(one.prompt),
        )
        bars = [
            bar(
                one.shares,
                one.model if several else words.shorten(one.prompt, 60),
                words.shorten(one.prompt, 60) if several else "",
            )
            for one in own
            if one.shares
        ]
        yield from folded(
            f"{words.capital(words.perceived(axis))}, shares in percent", bars, "Prompt", 2 * SHOWN
        )
    rows = tuple(
        b.IntervalRow(
            one.model if several else words.shorten(one.prompt, 60),
            one.score,
            group=words.shorten(one.prompt, 60) if several else "",
            series=series[one.model] if several else None,
            chance=one.null_range,
        )
        for one in sorted(found.ranked, key=lambda one: prompts.index(one.prompt))
    )
    lean = found.plan.objective == "skew"
    caption = f"Scores of the prompts. Further {'right leans further' if lean else 'left is more one-sided'}"
    lanes = b.IntervalChart(
        caption, "Prompt", rows, "distance" if lean else "score", "range", b.TESTED
    )
    yield lanes if not lean else b.Details("Distances with interval, chance and q", (lanes,))


def _models(found: RankFindings) -> Iterator[b.IntervalChart]:
    """Models against each other, over all prompts and over those of each search."""
    several = len({one.axis for one in found.means}) > 1

    def group(axis: str, search: str | None) -> str:
        of = f"prompts of {words.shorten(search, 60)}" if search else "all prompts"
        return f"{words.capital(words.perceived(axis))}, {of}" if several else words.capital(of)

    means = tuple(
        b.IntervalRow(one.model, one.mean, group=group(one.axis, one.mined_for))
        for one in found.means
    )
    apart = tuple(
        b.IntervalRow(f"{y} less {x}", one.difference, group=group(one.axis, one.mined_for))
        for one in found.differences
        for x, y in [one.models]
    )
    if apart:
        caption = "Mean over the prompts. Further right is more one-sided"
        yield b.IntervalChart(caption, "Model", means, "mean", "range", b.PLAIN)
        caption = "Differences, prompt by prompt on the same seeds. Right of 0 the first named is more one-sided"
        yield b.IntervalChart(caption, "Models", apart, "difference", "signed", b.DIFFERENCE)


def _agreement(found: RankFindings) -> Iterator[b.Block]:
    """Spearman's correlations with the table, and each prompt's share in the pictures against the
    table's.
    """
    if not found.agreement:
        return
    rows = list[b.IntervalRow]()
    value = found.plan.value
    for one in found.agreement:
        rows.append(
            b.IntervalRow(f"{one.model}: score and how far the table is from one half", one.skew)
        )
        rows += (
            [b.IntervalRow(f"{one.model}: share of {value} and the table's", one.share)]
            if one.share is not None
            else []
        )
    yield b.IntervalChart(
        "Spearman's correlation over the prompts that the table has",
        "Model",
        tuple(rows),
        "rho",
        "signed",
        ("value", "interval", "p"),
    )
    series = {one.name: k for k, one in enumerate(found.models)}
    points = tuple(
        b.ScatterPoint(one.share, e.value, f"{one.prompt}, {one.model}", series[one.model])
        for one in found.ranked
        if one.share is not None
        and one.shares
        and isinstance(e := one.shares.shares.get(value), Estimate)
    )
    if points:
        yield b.Scatter(
            f"Share of {value} in the pictures against the table's",
            points,
            ("table", "share"),
            ("pictures", "share"),
            f"{len(points)} shares against the table's",
            tuple(series),
            square=True,
            diagonal="as in the table",
        )


def _pictures(found: RankFindings, media: Media) -> Iterator[b.Block]:
    """The first prompts with the pictures of every model, what none of them shows, and all in one
    plane.
    """
    maps = {one.prompt: one for one in found.maps}
    for prompt in list(dict.fromkeys(one.prompt for one in found.ranked))[:SHOWN]:
        own = [one for one in found.ranked if one.prompt == prompt]
        rows = []
        for k, model in enumerate(found.models):
            made = next(
                one for one in found.sets if (one.model, one.prompt) == (model.name, prompt)
            )
            worst = [
                name
                for one in own
                if one.model == model.name
                for name in one.least_aligned_pictures
            ]
            note = least_fitting(made, list(dict.fromkeys(worst)))
            row = picture_row(media, made.pictures, f"{prompt} by {model.name}", PICTURES, note)
            rows.append(replace(row, label=model.name, series=k))
        inner: list[b.Block] = [b.PictureGrid("", tuple(rows), aligned=True)]
        inner += [
            left_out(media, one, f"pictures by {one.model}")
            for one in own
            if one.missed_visual_concepts
        ]
        if len(found.models) > 1 and prompt in maps:
            lying = plane(media, maps[prompt].places, maps[prompt].explained)
            inner.append(b.Details("All its pictures in one plane", (lying,)))
        yield b.Section(words.quote(prompt, 160), inner)
