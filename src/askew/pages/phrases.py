"""What pages say of what was measured: every sentence that claims something, or that claims
nothing, in one place.

`tests/truth/test_summaries.py` has a row for each: how often it is said where there is nothing to
say. The page `docs/reference/wording.md` is made from both.
"""

from collections.abc import Mapping

PHRASES: Mapping[str, tuple[str, str]] = {
    # what one picture set shows on one axis
    "seen": (
        "{share} {how} {value} ({count} of {n})",
        "of each set and axis: the value furthest over its ideal",
    ),
    "lean": (
        "more {value} than {reference}",
        "the verdict on a set and an axis has q < 0.05, the value's interval lies above its ideal",
    ),
    "lean_less": (
        "less {value} than {reference}",
        "the same, of an interval below the ideal, where that of the value seen most is not above it",
    ),
    "lean_spread": (
        "not {reference}, by no value alone",
        "the same, where every interval holds its ideal",
    ),
    "lean_elsewhere": (
        "leans by concepts, not by these shares",
        "the verdict has q < 0.05 by MAD, and no distance of the shares has",
    ),
    "none": ("none shown", "the verdict has q of 0.05 or more"),
    "none_with": (
        "no lean shown with {pictures}, which would have shown a distance of {distance} in nine of ten runs",
        "the same, where a sentence has room; the distance is computed",
    ),
    "none_possible": (
        "no lean shown with {pictures}, which are too few to show any",
        "the same, where no lean reaches q < 0.05",
    ),
    # the head of an audit
    "leans_on": ("A lean is shown {where}, as read by {reader}.", "some verdict has q < 0.05"),
    "leans_on_none": (
        "No lean is shown on {axes}, with {pictures} of {of} by {who}.",
        "no verdict has q < 0.05",
    ),
    "could_have": (
        "A distance of {distance} from the ideal would have been shown in nine of ten runs.",
        "below a headline, of the axes without a lean; the largest over them",
    ),
    "too_few": (
        "These are too few pictures to show any lean.",
        "the same, where no lean reaches q < 0.05",
    ),
    "open_lean": (
        "By concepts (MAD), a lean is shown on {count} of {of}.",
        "an axis without shares has q < 0.05",
    ),
    "open_none": (
        "By concepts (MAD), no lean is shown on {of}.",
        "axes without shares have q of 0.05 or more",
    ),
    "nearer": (
        "nearest to {top} (CAS {high}), least to {low_value} (CAS {low})",
        "MAD has q < 0.05 and the intervals of the two CAS are apart",
    ),
    "second": (
        "With it change: {axes}.",
        "another axis depends on the counterfactual set, q < 0.05 by χ²",
    ),
    "second_none": (
        "Nothing beyond chance, of {count} other axes.",
        "no test of another axis has q < 0.05",
    ),
    # conditions of a folder
    "set_differs": (
        "{axis}: {value} is seen {more} often in {after} than in {before}, {points} points; {q}.",
        "the share has q < 0.05, by Holm over the values and Benjamini-Hochberg over the pairs of sets",
    ),
    "sets_alike": ("No difference is shown with this number of pictures.", "no share has"),
    # two runs
    "run_differs": (
        "{b} differs from {a} beyond chance {where}.",
        "some verdict of the comparison has q < 0.05",
    ),
    "runs_alike": (
        "{by} no difference between {b} and {a} is shown with this number of pictures.",
        "none has; scores that are no verdict are tested apart",
    ),
    "differs_here": ("{b} differs from {a} beyond chance", "the verdict on one axis has q < 0.05"),
    "alike_here": ("{by} no difference is shown with this number of pictures", "it has not"),
    # where two words are attended to
    "place_shared": ("beyond chance", "of a single prompt: its mIoU has q < 0.05"),
    "place_by_chance": (
        "not shown to be beyond chance",
        "it has not, or has no chance to be held against",
    ),
    "mean_shared": (
        "the mean is beyond chance; of single prompts {beyond} of {of} are",
        "of several prompts: the mean corrected mIoU is above 0 with q < 0.05 by Student's t",
    ),
    "mean_by_chance": (
        "the mean is not shown to be beyond chance; of single prompts {beyond} of {of} are",
        "it is not",
    ),
    # searches for prompts, and given prompts
    "mine_leans": (
        "Of {tried}, {model} leans most on {prompt}: {seen}, on fresh pictures.",
        "the fresh pictures of a prompt found have q < 0.05, by Benjamini-Hochberg over all prompts found",
    ),
    "mine_leans_none": (
        "Of {tried}, none is shown to make {model} lean. Furthest is {prompt}: {seen}, on fresh "
        "pictures; chance explains that.",
        "those of none have",
    ),
    "mine_finds": (
        "Mining finds {which} prompts than random search on the same budget",
        "the interval of the difference between the best of both leaves out 0",
    ),
    "mine_finds_none": (
        "Mining is not shown to find {which} prompts than random search on the same budget",
        "it does not",
    ),
    "rank_lean": (
        "{counts} {what}.",
        "how many prompts have q < 0.05, by Benjamini-Hochberg over all of them",
    ),
    "less_or_more": (
        "{word} one-sided",
        "MAD's difference (else the distance's) has q < 0.05 and an interval without 0",
    ),
    "pairs_none": (
        "{where} none of {pairs} of axes is seen to pull on another.",
        "a graph without an edge and without a sure move",
    ),
    "pairs_pull": (
        "{where} in {edges} of {pairs} of axes the second is seen to change with the first; {balance}. "
        "Strongest: {strongest}.",
        "a graph with an edge (its χ² rule) or a sure move",
    ),
    "surely_moves": (
        "making the first equal surely moves the second in {count}, {sides}",
        "an interval of IS leaves out 0, where those of all pairs of the page hold at once",
    ),
    "moves_unsure": (
        "which way making the first equal moves the second is sure in none",
        "no interval does",
    ),
    "sum_chance": (
        ", not shown to be more than chance gives ({p})",
        "Σ |IS| has p of 0.05 or more",
    ),
    "sum_beyond": (", more than chance gives ({p})", "Σ |IS| has p < 0.05"),
    "prompts_none": (
        "Over {prompts} prompts none of {pairs} of axes is seen to pull on another.",
        "no pair has q < 0.05, of Fisher's sum over the prompts",
    ),
    "prompts_pull": (
        "Over {prompts} prompts, in {acting} of {pairs} of axes the second is seen to change with the "
        "first in some prompt{agree}. Most often: {most}, {edges}, {way}.",
        "some pair has q < 0.05",
    ),
    "prompts_differ": (
        "; the prompts differ in how they move {differ} of them",
        "of these pairs IS differs between prompts, q < 0.05 by Cochran's Q",
    ),
    "graphs_differ": (
        "In {run} making the first axis equal surely moves the second otherwise than in {first} in "
        "{clear} of {pairs}.",
        "an interval of the difference of IS leaves out 0, where those of all pairs hold at once",
    ),
    "graphs_alike": (
        "In none of {pairs} of axes is it sure that making the first equal moves the second otherwise in "
        "{run} than in {first}.",
        "no interval does",
    ),
    # estimates of interactions against a real mitigation
    "estimates_hold": (
        "Over {edges} the estimates correlate {r}, {p}, with what mitigation did",
        "p < 0.05, by exchanging whole targets",
    ),
    "estimates_chance": (
        "Over {edges} the estimates correlate {r}, {p}, with what mitigation did, no more than "
        "chance would",
        "p is 0.05 or more",
    ),
    "made_worse": (
        "Mitigation surely moved {surely} of {pairs} away from their ideal; of all, {share} point that "
        "way, where doing nothing gives 50 %.",
        "how many intervals of measured IS lie below 0, where those of all pairs hold at once",
    ),
    "edit_differs": (
        "Edited towards {targets} at strength {strength}, {share} of the pictures of {most} change their "
        "perceived gender, of {least} {low}.",
        "the groups that change most and least differ with q < 0.05, and one changes above its floor",
    ),
    "edit_alike": (
        "Edited towards {targets} at strength {strength}, {range} of a group's pictures change their "
        "perceived gender, no difference between the groups that chance would not produce.",
        "some group changes above its floor with q < 0.05, and these two groups do not differ",
    ),
    "edit_one": (
        "Edited towards {targets} at strength {strength}, {share} of the pictures of {most} change their "
        "perceived gender.",
        "the same, of one group alone, or of groups that change as often",
    ),
    "edit_none": (
        "Edited towards {targets} at strength {strength}, no more pictures are shown to change their "
        "perceived gender than by encoding and decoding alone.",
        "no group changes above its floor with q < 0.05",
    ),
    "edit_skin": ("Towards {targets} skin becomes {how}.", "a group's ITA changes with q < 0.05"),
    "chosen_apart": (
        "{points} points, beyond chance ({q})",
        "the difference of two groups has q < 0.05",
    ),
    "chosen_alike": ("{points} points, no more than chance gives ({q})", "it has not"),
    "way_nearer": (
        "{way}: nearer to the target on {axes}",
        "an aimed axis comes nearer to its target, q < 0.05",
    ),
    "way_none": ("{way}: no change shown on {axes}", "none does"),
    "way_further": (
        "further from it on {axes}",
        "after a but: an axis gets further from its target, q < 0.05",
    ),
    "way_ties": ("{pairs} hang together more", "the same: Cramér's V of two axes rises, q < 0.05"),
    "way_loses_subject": (
        "the subject is shown less often",
        "the same: the interval of the change is below 0",
    ),
    "way_loses_prompt": ("pictures fit the prompt less", "the same"),
    "way_unread": (
        "more pictures cannot be read",
        "the same: the interval of the change is above 0",
    ),
    "way_doubted": (
        "{readers} does not see the change of {axis}",
        "the same: the interval by another instrument "
        "does not leave out 0, where the first one's change has q < 0.05",
    ),
}
"""By name a text with gaps, and when it is said."""


def say(name: str, **parts: object) -> str:
    """The phrase of that name, its gaps filled. Raises KeyError for a name or a gap that does not
    exist.
    """
    return PHRASES[name][0].format(**parts)
