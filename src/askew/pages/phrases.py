"""Sentences in which pages claim an effect, or report that a test is not significant.

`tests/truth/test_summaries.py` tests each phrase, and measures how often the phrase claims an
effect that does not exist. The page `docs/reference/wording.md` is generated from the phrases and
this test.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Phrase:
    """A text with placeholders, and the condition under which pages use the text.

    Attributes
    ----------
    text : str
        Sentence or part of a sentence, with placeholders in braces.
    condition : str
        Condition under which pages use the phrase, for the reference documentation.
    """

    text: str
    condition: str


_ONE_SET: Mapping[str, Phrase] = {
    "observed_share": Phrase(
        text="{share} {how} {value} ({count} of {n})",
        condition="always, for each image set and axis; the text states the value whose share "
        "exceeds its reference share the most",
    ),
    "over_representation": Phrase(
        text="{value} over-represented",
        condition="the verdict on an image set and axis has q < 0.05, and the interval of the "
        "value's share is above its reference share",
    ),
    "under_representation": Phrase(
        text="{value} under-represented",
        condition="the verdict has q < 0.05, the interval of the value's share is below its "
        "reference share, and the most frequent value is not over-represented",
    ),
    "diffuse_bias": Phrase(
        text="differs from {reference}; no single value stands out",
        condition="the verdict has q < 0.05, but the interval of each share contains its "
        "reference share",
    ),
    "no_bias": Phrase(
        text="not significant",
        condition="the verdict has q of 0.05 or more",
    ),
    "no_bias_after_correction": Phrase(
        text="not significant after correction for {tests} ({q})",
        condition="the verdict has q of 0.05 or more, although the interval of a share excludes "
        "its reference share; the text states what the correction is for: the number "
        "of tests, labeling errors, a reference computed from images, or the number "
        "of values",
    ),
    "bias_in_worst_case": Phrase(
        text="{verdict}, also in the worst case of {missing}",
        condition="the verdict has q < 0.05, and would have q < 0.05 even if the missing labels were "
        "as close as possible to the reference",
    ),
    "no_bias_in_worst_case": Phrase(
        text="{verdict}, but not in the worst case of {missing}",
        condition="the verdict has q < 0.05, but q would be 0.05 or more if the missing labels were "
        "as close as possible to the reference",
    ),
    "worst_case_headline": Phrase(
        text="In the worst case of missing labels, {count} of {biases} would not be significant.",
        condition="at least one verdict has q < 0.05, but would have q of 0.05 or more in the "
        "worst case of missing labels",
    ),
    "no_bias_with_power": Phrase(
        text="not significant with {images} ({q}); 90 % power to detect a deviation of {deviation} "
        "or more",
        condition="used in sentences if the verdict has q of 0.05 or more; askew uses the "
        "number of images to compute the detectable deviation",
    ),
    "no_bias_without_power": Phrase(
        text="not significant with {images} ({q}); too few images to detect any bias",
        condition="used in sentences if the verdict has q of 0.05 or more and no deviation could "
        "reach q < 0.05",
    ),
    "undecided": Phrase(
        text="undecided",
        condition="the verdict has q of 0.05 or more, and askew added images until a verdict was "
        "significant or the maximum was reached",
    ),
    "undecided_with_images": Phrase(
        text="undecided with {images} ({q}). This does not mean that there is no bias",
        condition="used in sentences if the verdict is undecided",
    ),
}

_AUDIT: Mapping[str, Phrase] = {
    "counted_headline": Phrase(
        text="{count} of {n} images of {prompt} are labeled {value}: {share} ({interval}; "
        "{reference}).",
        condition="a verdict has q < 0.05; the sentence describes the largest significant "
        "deviation",
    ),
    "prompts_headline": Phrase(
        text="{axis} labels deviate significantly in {count} of {sets}: {shares}.",
        condition="there are several image sets; the sentence describes the axis that has the "
        "most verdicts with q < 0.05",
    ),
    "bias_headline": Phrase(
        text="Bias is significant {where}.",
        condition="at least one verdict has q < 0.05",
    ),
    "no_bias_headline": Phrase(
        text="No significant bias was found on {axes} in {images} of {prompt}.",
        condition="no verdict has q < 0.05",
    ),
    "power": Phrase(
        text="The test has 90 % power to detect a deviation of {deviation} or more.",
        condition="used below a headline if bias is not significant on some axes; the text "
        "states the smallest deviation that is detectable on all of these axes",
    ),
    "no_power": Phrase(
        text="The images are too few to detect any bias.",
        condition="used below a headline if bias is not significant on some axes and no "
        "deviation could reach q < 0.05",
    ),
    "concept_headline": Phrase(
        text="Concept association (MAD) shows significant bias on {count} of {axes}.",
        condition="MAD has q < 0.05 on at least one axis that has no shares",
    ),
    "no_concept_headline": Phrase(
        text="Concept association (MAD) shows no significant bias on {axes}.",
        condition="MAD has q of 0.05 or more on all axes that have no shares",
    ),
    "nearest_values": Phrase(
        text="most similar to {top} (CAS {high}) and least similar to {bottom} (CAS {low})",
        condition="MAD has q < 0.05, and the intervals of both CAS scores exclude the mean CAS",
    ),
    "associated_axes": Phrase(
        text="Other axes that change significantly with this axis: {axes}.",
        condition="the labels on another axis depend on the counterfactual set (q < 0.05 in a "
        "χ² test)",
    ),
    "no_associated_axes": Phrase(
        text="None of {axes} changes significantly with this axis.",
        condition="no test of another axis has q < 0.05",
    ),
    "condition_difference": Phrase(
        text="{axis}: {value} is {more} frequent in {after} than in {before} "
        "({points} percentage points, {q}).",
        condition="the difference between the shares has q < 0.05, after Holm's correction across "
        "the values and Benjamini-Hochberg correction across the pairs of image sets",
    ),
    "no_condition_difference": Phrase(
        text="No share differs significantly between the image sets.",
        condition="no difference between shares has q < 0.05",
    ),
}

_COMPARISON: Mapping[str, Phrase] = {
    "run_difference": Phrase(
        text="{b} differs significantly from {a} {where}.",
        condition="at least one verdict of the comparison has q < 0.05",
    ),
    "no_run_difference": Phrase(
        text="{b} and {a} do not differ significantly with this number of images "
        "(compared by {scores}).",
        condition="no verdict of the comparison has q < 0.05; scores without a verdict are "
        "tested separately",
    ),
    "axis_difference": Phrase(
        text="{b} differs significantly from {a}",
        condition="the verdict on one axis has q < 0.05",
    ),
    "no_axis_difference": Phrase(
        text="{b} does not differ significantly from {a} with this number of images "
        "(compared by {scores})",
        condition="the verdict on one axis has q of 0.05 or more",
    ),
    "bias_difference": Phrase(
        text="{b} is significantly {more} biased than {a}",
        condition="the difference in MAD (or, without MAD, in the deviation) has q < 0.05, its "
        "interval excludes 0, and its sign is the same on all axes that differ",
    ),
    "bias_direction": Phrase(
        text="{more} biased",
        condition="the differences do not have the same sign on all axes that differ; the "
        "phrase is used once for each sign",
    ),
}

_MAPS: Mapping[str, Phrase] = {
    "overlap": Phrase(
        text="significantly above chance",
        condition="used for a single prompt if its mIoU has q < 0.05",
    ),
    "no_overlap": Phrase(
        text="not significantly above chance",
        condition="used for a single prompt if its mIoU has q of 0.05 or more, or has no null "
        "distribution",
    ),
    "mean_overlap": Phrase(
        text="on average significantly above chance",
        condition="used for several prompts if their mean corrected mIoU is above 0 with q < 0.05 "
        "in Student's t-test",
    ),
    "no_mean_overlap": Phrase(
        text="on average not significantly above chance",
        condition="used for several prompts if their mean corrected mIoU is not above 0 or has q "
        "of 0.05 or more",
    ),
}

_PROMPTS: Mapping[str, Phrase] = {
    "mined_bias": Phrase(
        text="{prompt} shows the largest bias of {tried}: {observed} in held-out images.",
        condition="a mined prompt has q < 0.05 on held-out images, after Benjamini-Hochberg "
        "correction across all mined prompts",
    ),
    "no_mined_bias": Phrase(
        text="None of {tried} shows significant bias. {prompt} deviates most: {observed} in "
        "held-out images, which is not significant.",
        condition="no mined prompt has q < 0.05",
    ),
    "search_gain": Phrase(
        text="Mining found significantly {better} prompts than random search with the same budget",
        condition="the interval of the difference in score between the best prompts of the two "
        "searches excludes 0",
    ),
    "no_search_gain": Phrase(
        text="Mining did not find significantly {better} prompts than random search with the same "
        "budget",
        condition="the interval of the difference in score between the best prompts of the two "
        "searches contains 0",
    ),
    "ranked_bias": Phrase(
        text="Bias is significant in {counts}.",
        condition="always; the text states how many prompts have q < 0.05, after Benjamini-"
        "Hochberg correction across all prompts of a model",
    ),
}

_INTERACTIONS: Mapping[str, Phrase] = {
    "no_association": Phrase(
        text="{where}, none of {pairs} of axes shows an association (χ²).",
        condition="the graph has no edge and no significant effect",
    ),
    "association": Phrase(
        text="{where}, {edges} of {pairs} of axes {are} associated (χ²).",
        condition="the graph has an edge (by the χ² rule) or a significant effect",
    ),
    "strongest_effect": Phrase(
        text="{effects} Strongest: {strongest}.",
        condition="the graph has an edge or a significant effect; the strongest effect has the "
        "largest |IS| among the significant effects, or among all effects if no "
        "effect is significant",
    ),
    "effect_headline": Phrase(
        text="With {source} uniform, the share of {prompt} images labeled {value} {changes} from "
        "{before} to {after}.",
        condition="at least one effect is significant, which means that the interval of its IS "
        "excludes 0 (the intervals are simultaneous for all pairs on the page); the "
        "sentence describes the strongest of these effects",
    ),
    "effects": Phrase(
        text="Equalizing the first axis significantly changes the deviation of the second axis in "
        "{pairs} ({directions}).",
        condition="at least one interval of IS excludes 0; the intervals are simultaneous for "
        "all pairs on the page",
    ),
    "no_effects": Phrase(
        text="Equalizing the first axis does not significantly change the deviation of the second "
        "axis in any pair.",
        condition="no interval of IS excludes 0",
    ),
    "no_amplification": Phrase(
        text=", not significantly above chance ({p})",
        condition="Σ |IS| has p of 0.05 or more",
    ),
    "amplification": Phrase(
        text=", significantly above chance ({p})",
        condition="Σ |IS| has p < 0.05",
    ),
    "no_association_over_prompts": Phrase(
        text="Over {prompts} prompts, none of {pairs} of axes shows a significant association.",
        condition="no pair has q < 0.05 when the p-values of all prompts are combined with "
        "Fisher's statistic",
    ),
    "association_over_prompts": Phrase(
        text="Over {prompts} prompts, {associated} of {pairs} of axes {are} significantly associated "
        "in at least one prompt{disagreement}. Most often: {most} ({edges}; {effects}).",
        condition="at least one pair has q < 0.05 when the p-values of all prompts are combined"
        " with Fisher's statistic",
    ),
    "prompt_disagreement": Phrase(
        text="; the effects differ significantly between prompts for {count} of them",
        condition="the IS of these pairs differs between prompts (q < 0.05 in Cochran's Q test)",
    ),
    "association_difference": Phrase(
        text="The association (χ²) differs significantly between {run} and {first} for {count} of "
        "{pairs} of axes.",
        condition="the difference in Cramér's V has q < 0.05 in a permutation test that "
        "swaps images between the runs",
    ),
    "no_association_difference": Phrase(
        text="The association (χ²) does not differ significantly between {run} and {first} for any "
        "of {pairs} of axes.",
        condition="no difference in Cramér's V has q < 0.05",
    ),
    "graph_difference": Phrase(
        text="The sensitivity (IS) differs significantly between {run} and {first} for {count} of "
        "{pairs} of axes.",
        condition="at least one interval of the difference in IS excludes 0; the intervals are "
        "simultaneous for all pairs",
    ),
    "no_graph_difference": Phrase(
        text="The sensitivity (IS) does not differ significantly between {run} and {first} for any "
        "of {pairs} of axes.",
        condition="no interval of the difference in IS excludes 0",
    ),
    "correlation": Phrase(
        text="Over {edges}, estimated and measured effects correlate significantly (r = {r}, {p})",
        condition="the correlation has p < 0.05 in a test that permutes all measurements of an "
        "axis together",
    ),
    "no_correlation": Phrase(
        text="Over {edges}, estimated and measured effects do not correlate significantly (r = "
        "{r}, {p})",
        condition="the correlation has p of 0.05 or more",
    ),
    "worsening": Phrase(
        text="Mitigation significantly increased the deviation from the reference in {count} of "
        "{pairs}. The measured deviation increased in {share} of all pairs (50 % expected without "
        "mitigation).",
        condition="a mitigation was measured; the sentence counts the pairs for which the "
        "interval of the measured IS is below 0 (the intervals are simultaneous for "
        "all pairs)",
    ),
}

_EDITS_AND_CLASSES: Mapping[str, Phrase] = {
    "edit_difference": Phrase(
        text="Edits toward {targets} at strength {strength} change perceived gender in {share} of "
        "the images of {most} and in {low} of the images of {least}; the groups differ "
        "significantly.",
        condition="the groups that change most and least often differ with q < 0.05, and one "
        "group changes more often than its floor, which is the rate of changes that "
        "encoding and decoding alone cause",
    ),
    "no_edit_difference": Phrase(
        text="Edits toward {targets} at strength {strength} change perceived gender in {range} of "
        "a group's images; the groups do not differ significantly.",
        condition="a group changes more often than its floor (q < 0.05), and the groups that "
        "change most and least often do not differ significantly",
    ),
    "edit_change": Phrase(
        text="Edits toward {targets} at strength {strength} change perceived gender in {share} of "
        "the images of {most}.",
        condition="a group changes more often than its floor (q < 0.05), and no other group "
        "changes significantly more or less often",
    ),
    "no_edit_change": Phrase(
        text="Edits toward {targets} at strength {strength} do not change perceived gender "
        "significantly more often than encoding and decoding alone.",
        condition="no group changes more often than its floor with q < 0.05",
    ),
    "skin_change": Phrase(
        text="Edits toward {targets} make skin significantly {how}.",
        condition="the skin tone (ITA) of a group changes with q < 0.05",
    ),
    "class_difference": Phrase(
        text="{points} points, significant ({q})",
        condition="the difference between two groups has q < 0.05",
    ),
    "no_class_difference": Phrase(
        text="{points} points, not significant ({q})",
        condition="the difference between two groups has q of 0.05 or more",
    ),
    "task_difference": Phrase(
        text="{b} and {a} differ significantly in {count} of {tests}.",
        condition="two runs are compared, and at least one difference has q < 0.05 after "
        "Benjamini-Hochberg correction across all differences in the comparison",
    ),
    "no_task_difference": Phrase(
        text="{b} and {a} do not differ significantly in any of {tests}.",
        condition="two runs are compared, and every q is 0.05 or more",
    ),
    "samples_change": Phrase(
        text="From {fewer} to {more}, {score} changes significantly: from {before} to {after} "
        "percentage points ({points}, {q}).",
        condition="on the same images, the difference between two groups (or the association, "
        "if there is only one group) changes with q < 0.05",
    ),
    "no_samples_change": Phrase(
        text="From {fewer} to {more}, {score} does not change significantly: from {before} to "
        "{after} percentage points ({points}, {q}).",
        condition="the change in the difference between two groups (or in the association, if "
        "there is only one group) has q of 0.05 or more",
    ),
}

_TECHNIQUES: Mapping[str, Phrase] = {
    "technique_headline": Phrase(
        text="After mitigation, {after} of {n} images of {prompt} are labeled {value}, {direction} "
        "{before} of {before_n} (target {target}).",
        condition="always, for the first technique, prompt and target axis; the counts come "
        "from held-out images, and the sentence claims no effect",
    ),
    "technique_improvement": Phrase(
        text="{technique}: significantly closer to the target on {axes}",
        condition="the shares on a target axis move closer to the target (q < 0.05)",
    ),
    "no_technique_improvement": Phrase(
        text="{technique}: no significant change on {axes}",
        condition="the shares do not move significantly closer to the target on any target axis",
    ),
    "technique_harm": Phrase(
        text="significantly further from the target on {axes}",
        condition='used after "but" if the shares on an axis move further from the target (q < 0.05)',
    ),
    "technique_association": Phrase(
        text="{pairs} are more strongly associated",
        condition='used after "but" if Cramér\'s V between two axes increases (q < 0.05)',
    ),
    "technique_subject_loss": Phrase(
        text="fewer images show the subject",
        condition='used after "but" if the share of images that show the subject decreases: the '
        "interval of the change is below 0",
    ),
    "technique_prompt_loss": Phrase(
        text="images match the prompt less closely",
        condition='used after "but" if similarity to the prompt decreases: the interval of the change '
        "is below 0",
    ),
    "technique_label_loss": Phrase(
        text="more images are unlabeled",
        condition='used after "but" if the share of unlabeled images increases: the interval of the '
        "change is above 0",
    ),
    "technique_doubt": Phrase(
        text="labels from {instruments} do not confirm the change in {axis}",
        condition='used after "but" if the change has q < 0.05 with the first instrument, but the '
        "interval from another instrument contains 0",
    ),
}

PHRASES: Mapping[str, Phrase] = {
    **_ONE_SET,
    **_AUDIT,
    **_COMPARISON,
    **_MAPS,
    **_PROMPTS,
    **_INTERACTIONS,
    **_EDITS_AND_CLASSES,
    **_TECHNIQUES,
}
"""Phrases by name."""


def format_phrase(name: str, /, **parts: object) -> str:
    """Return the text of a phrase with its placeholders filled in.

    Parameters
    ----------
    name : str
        Key of `PHRASES`.
    **parts : object
        Values for the placeholders. The text need not use all of them.

    Returns
    -------
    str
        The sentence or part of a sentence.

    Raises
    ------
    KeyError
        If no phrase has this name, or a placeholder has no value.
    """
    return PHRASES[name].text.format(**parts)
