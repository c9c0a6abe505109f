"""Page of `askew rank`: the prompts' scores on each model, and their agreement with a table."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from askew.findings import PictureSet
from askew.methods.mine.page import least_fitting, missed_details
from askew.methods.mine.plan import SKEW
from askew.methods.mine.sentences import held_out_images, terms
from askew.pages import blocks as b
from askew.pages import skeleton, words
from askew.pages.media import Media, picture_row, plane
from askew.pages.phrases import format_phrase
from askew.parts.survey.blocks import folded, value_group
from askew.parts.survey.sentences import bias_of_all_prompts, most_seen, stop_sentences
from askew.stats.looks import looks
from askew.studies.rank.finding import RankRound
from askew.studies.rank.model_sentences import most_biased_model
from askew.studies.rank.plan import RankPlan
from askew.studies.rank.steps import Agreement, RankedPrompt, RankFindings
from askew.types import Estimate, Missing

MOST_PROMPTS = 12
"""Maximum number of prompts whose images the page shows."""

MOST_IMAGES = 15
"""Maximum number of images that the page shows for each prompt and model."""

TABLE_TERM = (
    "Table",
    "The table contains real-world shares. The correlation shows how closely bias in the "
    "images follows these shares. Agreement is not an advantage of a model, and disagreement is "
    "not a fault.",
)

FINDING_TERM = (
    "Finding",
    "Each round drops the less biased half of the prompts, measured by the skew in all of their "
    "images so far. The remaining prompts are among the most biased, but a dropped prompt may be "
    "just as biased. On average, a round overestimates the skew of the prompts that it keeps, "
    "because it selects prompts whose measured skew is large. Rely on the held-out images "
    "instead.",
)


def page(findings: RankFindings, media: Media) -> b.Page:
    """Return the page that shows ranked prompts.

    Parameters
    ----------
    findings
        Findings of the run.
    media
        Run that contains the images.
    """
    plan = findings.plan
    prompts = words.plural(len(plan.prompts), "prompt")
    models = words.plural(len(findings.models), "model")
    images = f"{words.plural(plan.images, 'image')} of each prompt per model"
    if plan.find:
        most = "up to " if plan.until else ""
        images = f"{most}{plan.eval_images} held-out images of each prompt that was found"
    if have_seeds(findings.sets) and not plan.find:
        images += ", with the same seeds"
    meta = skeleton.meta(findings, findings.models, images=images)
    charts = list(_scores(findings))
    headline, *others = answer(findings)
    guide = terms(plan)
    if findings.agreement:
        guide.append(TABLE_TERM)
    if plan.find:
        guide.append(FINDING_TERM)
    if plan.until:
        guide.append(_stopping_term(plan))
    return skeleton.page(
        findings,
        skeleton.Heading(
            kicker=f"askew rank: {prompts} on {models}",
            title="Prompts by bias",
            answer=headline,
            detail=" ".join(others),
            first=_first_screen(findings, media, charts[:1]),
            meta=meta,
        ),
        sections=(
            b.Section("Scores", charts[1:]),
            b.Section("Rounds of the search", _rounds(findings), anchor="rounds"),
            b.Section("Differences between models", _models(findings)),
            b.Section("Agreement with the table", _agreement(findings)),
            b.Section("Images", _pictures(findings, media), screen=False),
        ),
        reading=skeleton.reading(guide),
        notes=(
            "Bold: significant after correction for all prompts and axes of a model (q < 0.05).",
        ),
    )


def answer(findings: RankFindings) -> list[str]:
    """Return sentences about the most biased prompt, all biased prompts, and the table.

    The headline is the first sentence.
    """
    scored = [prompt for prompt in findings.ranked if isinstance(prompt.score, Estimate)]
    if not scored:
        return ["No prompt could be scored."]
    counts = [_biased_count(scored, model.name) for model in findings.models]
    sentences = [format_phrase("ranked_bias", counts=words.listing(counts))]
    biased = any(words.has_significant_q(prompt.score) for prompt in scored)
    sentences.insert(0 if biased else 1, _largest(findings, scored))
    sentences += most_biased_model(findings)
    sentences += _finding_sentences(findings)
    sentences += _stop_sentences(findings, scored)
    sentences += _bias_over_prompts(findings)
    sentences += _unscored_sentences(findings)
    sentences += [_agreement_sentence(findings, entry) for entry in findings.agreement]
    return sentences


def _finding_sentences(findings: RankFindings) -> list[str]:
    """Return a sentence that states how the ranked prompts were found; empty without `--find`."""
    if not findings.rounds:
        return []
    plan = findings.plan
    return [
        f"Successive halving found these {words.plural(plan.find, 'prompt')} among "
        f"{len(plan.prompts)}. A dropped prompt may be just as biased."
    ]


def _stop_sentences(findings: RankFindings, scored: Sequence[RankedPrompt]) -> list[str]:
    """Return sentences about the number of held-out images; empty without `--until`."""
    plan = findings.plan
    if not plan.until:
        return []
    decided = {
        prompt.prompt: held_out_images(prompt)
        for prompt in scored
        if words.has_significant_q(prompt.score)
    }
    prompts = {prompt.prompt for prompt in scored}
    return stop_sentences(
        sizes=decided.values(),
        undecided=len(prompts) - len(decided),
        noun="prompt",
        most=f"{plan.eval_images} held-out images",
        caution="This does not mean that there is no bias.",
    )


def _stopping_term(plan: RankPlan) -> tuple[str, str]:
    """Return a text that explains how `--until decided` chooses the number of held-out images."""
    number = len(looks(plan.eval_images))
    return (
        "Held-out images",
        "Images with new seeds. askew adds them until the bias of a prompt is significant on an "
        f"axis, up to {plan.eval_images} per prompt. q and the intervals allow for {number} looks. "
        "With few images, the bias of significant prompts is overestimated on average. Do not "
        "rely on the order of prompts that have different numbers of images.",
    )


def _rounds(findings: RankFindings) -> Iterator[b.Block]:
    """Yield a table of the rounds, and tables of the prompts that each round dropped."""
    if not findings.rounds:
        return
    rows = []
    for number, entry in enumerate(findings.rounds, start=1):
        rows.append((number, len(entry.prompts), entry.images, len(entry.survivors)))
    columns = ("Round", "prompts", "images of each", "kept")
    yield b.Table("Rounds", columns, tuple(rows))
    for number, entry in enumerate(findings.rounds, start=1):
        yield _dropped(number, entry)


def _dropped(number: int, entry: RankRound) -> b.Details:
    """Return a collapsed table that lists the prompts that a round dropped, with their skews."""
    rows = []
    for prompt in entry.prompts:
        if not prompt.is_kept:
            skew = "no labels" if prompt.skew is None else words.number(prompt.skew, 2)
            rows.append((words.shorten(prompt.prompt, 70), skew))
    title = f"{words.plural(len(rows), 'prompt')} dropped by round {number}"
    caption = f"Skew of {words.plural(entry.images, 'image')}"
    return b.Details(title, (b.Table(caption, ("Prompt", "skew"), tuple(rows)),))


def _largest(findings: RankFindings, scored: Sequence[RankedPrompt]) -> str:
    """Return a sentence about the highest-ranked prompt.

    The sentence names the model if there are several models.
    """
    first = scored[0]
    prompts = {prompt.prompt for prompt in scored}
    by = f" by {words.shorten(first.model, 40)}" if len(findings.models) > 1 else ""
    observed = f": {most_seen(first.shares)}" if first.shares else ""
    held_out = " in held-out images" if findings.rounds else ""
    return (
        f"Of {words.plural(len(prompts), 'prompt')}, {words.quote(first.prompt)}{by} deviates "
        f"most{held_out}{observed}."
    )


def _biased_count(scored: Sequence[RankedPrompt], model: str) -> str:
    prompts = {prompt.prompt for prompt in scored if prompt.model == model}
    biased = {
        prompt.prompt
        for prompt in scored
        if prompt.model == model and words.has_significant_q(prompt.score)
    }
    return f"{len(biased)} of {words.plural(len(prompts), 'prompt')} on {model}"


def _bias_over_prompts(findings: RankFindings) -> list[str]:
    """Return a sentence about significant shares over all prompts, if there are any."""
    several_models = len(findings.models) > 1
    named = [
        (entry.model if several_models else "", entry.shares)
        for entry in findings.shares_over_prompts
    ]
    if findings.rounds:
        return bias_of_all_prompts(named, "All remaining prompts together")
    return bias_of_all_prompts(named)


def _unscored_sentences(findings: RankFindings) -> list[str]:
    """Return a sentence about prompts without a score, if there are any."""
    reasons = {
        prompt.prompt: words.reason(prompt.score)
        for prompt in findings.ranked
        if isinstance(prompt.score, Missing)
    }
    if not reasons:
        return []
    prompt, reason = next(iter(reasons.items()))
    count = words.plural(len(reasons), "prompt")
    return [f"{count} could not be scored. The reason for {words.quote(prompt)}: {reason}."]


def _agreement_sentence(findings: RankFindings, agreement: Agreement) -> str:
    """Return a sentence about the correlation between the shares in the images and in the table.

    If this correlation is not known, the sentence is about the scores.
    """
    correlation = agreement.skew
    quantity = "scores"
    if isinstance(agreement.share, Estimate):
        correlation = agreement.share
        quantity = f"shares of {findings.plan.value}"
    return (
        f"On {agreement.model}, the rank correlation between the {quantity} and the table is "
        f"{words.measured(correlation)}."
    )


def _series(findings: RankFindings) -> dict[str, int]:
    """Return the index of each model's color, keyed by the model's name."""
    return {model.name: number for number, model in enumerate(findings.models)}


def _grouped(findings: RankFindings) -> list[RankedPrompt]:
    """Return the scores of all models, grouped by prompt. The most biased prompt comes first."""
    order = list(dict.fromkeys(prompt.prompt for prompt in findings.ranked))
    return sorted(findings.ranked, key=lambda prompt: order.index(prompt.prompt))


def _first_screen(findings: RankFindings, media: Media, charts: Sequence[b.Block]) -> b.FirstScreen:
    """Return the first chart, together with images of the most biased prompt."""
    images = []
    for prompt in findings.ranked[:1]:
        entries = [entry for entry in findings.ranked if entry.prompt == prompt.prompt]
        rows = [
            _model_row(media, findings, entries, model, number)
            for model, number in _series(findings).items()
        ]
        kind = "Held-out images" if findings.rounds else "Images"
        caption = f"{kind} of {words.quote(prompt.prompt, 80)}, the most biased prompt"
        images.append(b.PictureGrid(caption, tuple(rows), size="medium"))
    return b.FirstScreen(tuple(charts), tuple(images))


def _scores(findings: RankFindings) -> Iterator[b.Block]:
    """Yield the shares if the images are labeled, and then the scores with their intervals."""
    for axis in dict.fromkeys(prompt.axis for prompt in findings.ranked if prompt.shares):
        yield from _shares(findings, axis)
    yield from _shares_over_prompts(findings)
    rows = tuple(_score_row(findings, prompt) for prompt in _grouped(findings))
    is_skew = findings.plan.objective == SKEW
    direction = "right: more biased" if is_skew else "left: more biased"
    chart = b.IntervalChart(
        caption=f"Scores of the prompts ({direction}). Intervals are not corrected for multiple "
        "testing. q is corrected for all tests of a model.",
        heading="Prompt",
        rows=rows,
        name="distance" if is_skew else "score",
        scale="range",
        columns=b.TESTED,
        more=("images",) if findings.plan.until else (),
    )
    if is_skew:
        yield b.Details("Distances with intervals, values expected by chance, and q", (chart,))
    else:
        yield chart


def _shares_over_prompts(findings: RankFindings) -> Iterator[b.Block]:
    """Yield the shares over all prompts, for each axis and model."""
    several_models = len(findings.models) > 1
    groups = []
    for entry in sorted(findings.shares_over_prompts, key=lambda entry: entry.shares.axis):
        axis = words.capital(words.perceived(entry.shares.axis))
        label = entry.model if several_models else axis
        groups.append(value_group(entry.shares, label, group=axis if several_models else ""))
    heading = "Model" if several_models else "Axis"
    title = "All remaining prompts together" if findings.rounds else "All prompts together"
    return folded(title, groups, heading, MOST_PROMPTS)


def _shares(findings: RankFindings, axis: str) -> Iterator[b.Block]:
    several_models = len(findings.models) > 1
    groups = []
    for prompt in _grouped(findings):
        if prompt.axis == axis and prompt.shares:
            text = words.shorten(prompt.prompt, 60)
            label = prompt.model if several_models else text
            groups.append(value_group(prompt.shares, label, group=text if several_models else ""))
    caption = f"{words.capital(words.perceived(axis))} by prompt"
    return folded(caption, groups, "Prompt", 2 * MOST_PROMPTS)


def _score_row(findings: RankFindings, prompt: RankedPrompt) -> b.IntervalRow:
    text = words.shorten(prompt.prompt, 60)
    if len(findings.models) == 1:
        more = (held_out_images(prompt),) if findings.plan.until else ()
        return b.IntervalRow(text, prompt.score, chance=prompt.null_range, more=more)
    return b.IntervalRow(
        prompt.model,
        prompt.score,
        group=text,
        series=_series(findings)[prompt.model],
        chance=prompt.null_range,
    )


def have_seeds(sets: Sequence[PictureSet]) -> bool:
    """Check whether all images have seeds, which implies that all models used the same seeds."""
    return all(seed is not None for image_set in sets for seed in image_set.seeds)


def _models(findings: RankFindings) -> Iterator[b.IntervalChart]:
    """Yield a chart of each model's mean score, and a chart of differences between models.

    The two charts have rows for all prompts and for the prompts of each search.
    """
    if not findings.differences:
        return
    several_axes = len({mean.axis for mean in findings.means}) > 1
    means = tuple(
        b.IntervalRow(
            mean.model, mean.mean, group=_prompt_group(mean.axis, mean.mined_for, several_axes)
        )
        for mean in findings.means
    )
    rows = []
    for entry in findings.differences:
        first, second = entry.models
        group = _prompt_group(entry.axis, entry.mined_for, several_axes)
        rows.append(b.IntervalRow(f"{second} minus {first}", entry.difference, group=group))
    caption = "Mean over the prompts (right: more biased)"
    yield b.IntervalChart(caption, "Model", means, "mean", "range", b.PLAIN)
    seeds = ", with the same seeds" if have_seeds(findings.sets) else ""
    caption = (
        f"Mean difference between models{seeds} (right of 0: the model named first is more biased)"
    )
    yield b.IntervalChart(caption, "Models", tuple(rows), "difference", "signed", b.DIFFERENCE)


def _prompt_group(axis: str, search: str | None, with_axis: bool) -> str:
    """Return the heading for the prompts of a search, or for all prompts if there is no search."""
    prompts = f"prompts of {words.shorten(search, 60)}" if search else "all prompts"
    if with_axis:
        return f"{words.capital(words.perceived(axis))}, {prompts}"
    return words.capital(prompts)


def _agreement(findings: RankFindings) -> Iterator[b.Block]:
    """Yield a chart of correlations with the table, and a plot of shares.

    The plot compares the shares in the images with the shares in the table.
    """
    if not findings.agreement:
        return
    value = findings.plan.value
    rows: list[b.IntervalRow] = []
    for agreement in findings.agreement:
        label = f"{agreement.model}: score, and deviation of the table's share from one half"
        rows.append(b.IntervalRow(label, agreement.skew))
        if agreement.share is not None:
            label = f"{agreement.model}: share of {value} in images and in the table"
            rows.append(b.IntervalRow(label, agreement.share))
    yield b.IntervalChart(
        caption="Spearman's correlation over the prompts that are in the table",
        heading="Model",
        rows=tuple(rows),
        name="rho",
        scale="signed",
        columns=("value", "interval", "p"),
    )
    points = _share_points(findings)
    if points:
        yield b.Scatter(
            f"Share of {value} in images and in the table",
            points,
            ("table", "share"),
            ("images", "share"),
            f"{len(points)} pairs of a share in the images and a share in the table",
            tuple(_series(findings)),
            square=True,
            diagonal="as in the table",
        )


def _share_points(findings: RankFindings) -> tuple[b.ScatterPoint, ...]:
    """Return a point (share in the table, share in the images) for each prompt and model."""
    series = _series(findings)
    points = []
    for prompt in findings.ranked:
        if prompt.share is None or prompt.shares is None:
            continue
        share = prompt.shares.shares.get(findings.plan.value)
        if isinstance(share, Estimate):
            name = f"{prompt.prompt}, {prompt.model}"
            points.append(b.ScatterPoint(prompt.share, share.value, name, series[prompt.model]))
    return tuple(points)


def _pictures(findings: RankFindings, media: Media) -> Iterator[b.Section]:
    """Yield a section with images for each of the first prompts."""
    prompts = list(dict.fromkeys(prompt.prompt for prompt in findings.ranked))
    for prompt in prompts[:MOST_PROMPTS]:
        yield b.Section(words.quote(prompt, 160), _prompt_blocks(findings, media, prompt))


def _prompt_blocks(findings: RankFindings, media: Media, prompt: str) -> list[b.Block]:
    """Return each model's images, the prompt details that they lack, and a map of all images."""
    entries = [entry for entry in findings.ranked if entry.prompt == prompt]
    rows = [
        _model_row(media, findings, entries, model, number)
        for model, number in _series(findings).items()
    ]
    blocks: list[b.Block] = [b.PictureGrid("", tuple(rows), aligned=True)]
    for entry in entries:
        if entry.missed_visual_concepts:
            blocks.append(missed_details(media, entry, f"images by {entry.model}"))
    maps = {entry.prompt: entry for entry in findings.maps}
    if len(findings.models) > 1 and prompt in maps:
        scatter = plane(media, maps[prompt].places, maps[prompt].explained)
        blocks.append(b.Details("All images in one plane", (scatter,)))
    return blocks


def _model_row(
    media: Media,
    findings: RankFindings,
    entries: Sequence[RankedPrompt],
    model: str,
    number: int,
) -> b.PictureRow:
    """Return a row with the images that a model generated for a prompt."""
    prompt = entries[0].prompt
    image_set = next(
        image_set
        for image_set in findings.sets
        if (image_set.model, image_set.prompt) == (model, prompt)
    )
    least_aligned = dict.fromkeys(
        name for entry in entries if entry.model == model for name in entry.least_aligned_pictures
    )
    note = least_fitting(image_set, list(least_aligned))
    row = picture_row(media, image_set.pictures, f"{prompt} by {model}", MOST_IMAGES, note)
    return replace(row, label=model, series=number)
