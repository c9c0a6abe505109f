"""What the page of `askew edit` says and explains."""

from __future__ import annotations

from collections.abc import Sequence

from askew.methods.edit.findings import Contrast, EditFindings, Editing, MissingEdits, Place
from askew.methods.edit.plan import EditPlan
from askew.pages import common
from askew.pages.blocks import Section, Terms, Text
from askew.pages.phrases import say
from askew.pages.words import beyond_chance, listing, measured, percent, quote, shorten, written
from askew.types import Estimate


def told_strength(plan: EditPlan) -> float:
    """The strength of the headline: the greatest at which something of the source is left, else 1."""
    return max((one for one in plan.strengths if one < 1), default=1.0)


def answer(found: EditFindings) -> str:
    """Whom editing changed and how, at the greatest strength below 1."""
    strength = told_strength(found.plan)
    by_targets = [[one for one in found.editing if (one.targets, one.strength) == (name, strength)]
                  for name in found.plan.targets]  # fmt: skip
    still = [cells[0].targets for cells in by_targets if not any(beyond_chance(one.gender_change) for one in cells)]
    said = [_gender(cells, found.editing_contrasts, still) for cells in by_targets if cells[0].targets not in still[1:]]
    said += [_skin(cells) for cells in by_targets]
    if strength == 1:
        said.append("Strength 1 is text-to-image: nothing of the source is left.")
    return " ".join(filter(None, said)) or "Nothing could be measured: no instrument read the pictures."


def _gender(cells: Sequence[Editing], contrasts: Sequence[Contrast], still: Sequence[str] = ()) -> str:
    """Whose perceived gender changes most and least, and whether that is more than chance; `still`: all sets of targets
    towards which it is not."""
    known = [(one, one.gender_change) for one in cells if isinstance(one.gender_change, Estimate)]
    if not known:
        return ""
    (most, high), (least, low) = (end(known, key=lambda pair: pair[1].value) for end in (max, min))
    where = {"targets": quote(most.targets, 40), "strength": f"{most.strength:g}"}
    if not any(beyond_chance(change) for _, change in known):
        return say("edit_none", **where | {"targets": listing([quote(name, 40) for name in still or [most.targets]])})
    of_most = {"share": measured(high, "share"), "most": quote(most.group, 40)}
    if high.value == low.value:
        return say("edit_one", **where, **of_most)
    ends = {Place(one.group, one.targets, one.strength) for one in (most, least)}
    if any({one.first, one.second} == ends and beyond_chance(one.gender_change) for one in contrasts):
        return say("edit_differs", **where, **of_most, least=quote(least.group, 40), low=measured(low, "share"))
    return say("edit_alike", **where, range=f"{percent(low.value)} to {percent(high.value)}")


def _skin(cells: Sequence[Editing]) -> str:
    """Whose skin becomes lighter or darker beyond chance, as read on faces."""
    sure = [(one, one.ita_change.value) for one in cells if one.coverage.mask == "geometry"
            and isinstance(one.ita_change, Estimate) and beyond_chance(one.ita_change)]  # fmt: skip
    ways = (("lighter", [pair for pair in sure if pair[1] > 0]), ("darker", [pair for pair in sure if pair[1] < 0]))
    parts = [f"{word} for " + listing([f"{quote(one.group, 40)} ({written(value, 'degrees')})" for one, value in some])
             for word, some in ways if some]  # fmt: skip
    return say("edit_skin", targets=quote(cells[0].targets, 40), how=" and ".join(parts)) if parts else ""


def contrast(one: Contrast) -> tuple[str, str]:
    """What is compared with what, and where: ("caucasian man − african-american woman", "high-paid, strength 1")."""
    first, second = one.first, one.second
    if one.contrast == "group":
        return f"{shorten(second.group)} − {shorten(first.group)}", f"{first.targets}, strength {first.strength:g}"
    if one.contrast == "targets":
        return f"{second.targets} − {first.targets}", f"{first.group}, strength {first.strength:g}"
    return f"strength {second.strength:g} − {first.strength:g}", f"{first.group}, {first.targets}"


def hidden(one: MissingEdits) -> str:
    """What is missing unevenly."""
    if one.targets is None:
        return "faces in sources" if one.of == "faces" else "sources"
    return f"edits towards {shorten(one.targets, 30)}, any of a source,"


def reading(plan: EditPlan, scheme: str) -> Section:
    """How to read the scores, and how they are computed."""
    terms = (
        ("Strength", "How much of a picture is redrawn: 0 leaves it as it is; 1 is text-to-image, where nothing of it "
         "is left. The headline is of the greatest strength below 1."),
        ("Floor", "The instrument changes its mind about some pictures that were only encoded and decoded by the "
         "model. Corrected sets this rate to 0 and all pictures to 1. The q-value asks for more change than that."),
        ("ITA", f"The individual typology angle: the larger, the lighter the skin. By the scheme {scheme} (Chardon et "
         "al. 1991, with Del Bino and Bernerd 2013) above 55° is called very light, 41 to 55 light, 28 to 41 "
         "intermediate, 10 to 28 tan, −30 to 10 brown, below dark. The rule that finds skin by its colour in whole "
         "pictures takes walls and clothes for skin and rejects very dark skin; cheeks of found faces do not err so."),
        ("Likeness", "The cosine of the embeddings of source and edit. In grey, that of the edit and the other "
         "pictures of its group: an edit that is no nearer to its own source has lost the person."),
    )  # fmt: skip
    skin = "bounds on RGB and YCbCr" if plan.skin == "rule" else (
        "the cheeks, by landmarks; of average faces where these lie in the frame"
    )  # fmt: skip
    source = Text(
        "Saravanan et al., “Exploring Social Bias in Downstream Applications of Text-to-Image Foundation Models”, "
        "2023. Pictures are edited image-to-image towards “A color photograph of a …, headshot, high-quality.” Picture "
        "k of every group is edited from the same noise, at every strength."
    )
    computed = Terms((
        ("Intervals of rates", "Wilson's, at the effective number of edits: their number over the design effect of "
         f"several edits of one picture; at {percent(plan.level)}"),
        ("Intervals of means", "bootstrap over source pictures; of average faces, averaged anew in every draw"),
        ("p", "signs of the sources' differences flipped at random: (1 + draws at least as far) / (1 + draws)"),
        ("q", "by Benjamini and Hochberg (1995), per score"),
        ("Skin", f"{skin}; ITA = atan2(mean L* − 50, mean b*), each trimmed to one standard deviation"),
    ))  # fmt: skip
    two = "Two values of gender are what the instrument tells apart, not what there is."
    return common.reading(terms, (two,), (source, computed))
