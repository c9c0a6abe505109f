"""Records that make up results.json, which contains the results of a study with human raters."""

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated

from askew.findings import E, MappingKey
from askew.people.records import StudyPlan
from askew.types import record

Rates = Annotated[
    Mapping[str, Annotated[Mapping[str, E], MappingKey("label")]], MappingKey("true_value")
]


@record
class RaterSummary:
    """Summary of a rater's work.

    Attributes
    ----------
    id : str
        Id of the rater.
    assigned, answered : int
        Number of questions that were assigned to the rater, and number that the rater answered.
    checks, checks_passed : int
        Number of attention checks that the rater answered, and number answered correctly.
    repeats, repeats_equal : int
        Number of questions that the rater answered twice, and number of these questions that
        received the same answer both times.
    seconds : float, optional
        Median time per answer in seconds.
    excluded : str
        Reason why the rater is excluded; empty if the rater is included.
    """

    id: str
    assigned: int
    answered: int
    checks: int
    checks_passed: int
    repeats: int
    repeats_equal: int
    seconds: float | None
    excluded: str


@record
class GroupAgreement:
    """Agreement between raters on one axis, for all images or for the images of one prompt.

    Attributes
    ----------
    axis, group : str
        Name of the axis, and the prompt whose images form the group. The group "all" contains all
        images.
    coefficient : str
        "kappa" for Cohen's kappa of two raters, "alpha" for Krippendorff's alpha of more raters.
    agreement : Estimate or Missing
        Value of the coefficient.
    images, unanimous, no_majority : int
        Number of labeled images, number of these images that received the same label from all
        raters, and number without a majority label.
    """

    axis: str
    group: str
    coefficient: str
    agreement: E
    images: int
    unanimous: int
    no_majority: int


@record
class LabelingErrors:
    """Comparison of an instrument's labels with the raters' labels on one axis.

    Attributes
    ----------
    axis, instrument : str
        Name of the axis, and name of the instrument.
    values : tuple of str
        Values of the axis.
    counts : mapping of value to mapping of label to int
        Number of images for each combination of the raters' majority value and the instrument's
        label. Images that the instrument did not label have the label "unlabeled".
    equal : Estimate or Missing
        Estimated share of all images, across all runs, for which the instrument's label is the
        raters' majority value.
    rates : mapping of true value to mapping of label to Estimate or Missing
        The instrument's P(label | true value), corrected for the raters' errors.
    rater_rates : mapping of value to mapping of value to float
        The raters' P(label | true value).
    """

    axis: str
    instrument: str
    values: tuple[str, ...]
    counts: Mapping[str, Mapping[str, int]]
    equal: E
    rates: Rates
    rater_rates: Mapping[str, Mapping[str, float]]


@record
class PeopleShares:
    """Share of each value of an axis in a run's images, according to the raters.

    Attributes
    ----------
    axis, run : str
        Name of the axis, and name of the run.
    images, labeled : int
        Number of images in the run, and number of images with a majority label from raters.
    shares : mapping of value to Estimate or Missing
        Estimated share of each value in the run's images, computed from majority labels that are
        weighted by stratum.
    model_shares : mapping of value to Estimate or Missing
        Estimated share of each value in all images that the model could generate. The intervals
        also account for the random sampling of images.
    votes : mapping of value to float
        Share of raters who chose the value, averaged over the images. Images are weighted by
        stratum.
    by_instrument : mapping of instrument to mapping of value to float
        Share of each value in an instrument's uncorrected labels for all images in the run.
    reached : bool, optional
        Whether all intervals are at most as wide as planned; None if no precision was planned.
    pilot : int, optional
        Number of labeled images that belong to the pilot. None for a study with a single stage.
    """

    axis: str
    run: str
    images: int
    labeled: int
    shares: Annotated[Mapping[str, E], MappingKey("value")]
    model_shares: Annotated[Mapping[str, E], MappingKey("value")]
    votes: Mapping[str, float]
    by_instrument: Mapping[str, Mapping[str, float]]
    reached: bool | None = None
    pilot: int | None = None


@record
class PairChoices:
    """Raters' choices about which of two image sets shows less bias.

    Attributes
    ----------
    item, first, second : str
        Id of the item, and names of its first and second image sets.
    score_difference : float
        Score of the second set minus score of the first set. A positive difference means that the
        first set is less biased according to the score.
    chose_first, chose_second, equal : int
        Number of raters who see less bias in the first set, number who see less bias in the second
        set, and number who see equal bias in both.
    """

    item: str
    first: str
    second: str
    score_difference: float
    chose_first: int
    chose_second: int
    equal: int


@record
class ChoiceFindings:
    """Results of a choice study.

    Attributes
    ----------
    agreement_with_score : Estimate or Missing
        Share of choices that agree with the score. A choice agrees if the set chosen as less biased
        has the smaller score. The interval is a Wilson interval clustered by rater. The answer
        "equal" does not count as a choice.
    correlation : Estimate or Missing
        Pearson's correlation, across pairs, between the score difference and the share of choices
        for the first set.
    pairs : tuple of PairChoices
        Choices for each pair.
    strengths : mapping of set to Estimate or Missing
        Bradley-Terry strength of each image set. The larger the strength, the less bias raters see.
    mined : mapping of run to Estimate or Missing
        Share of choices in which the rater sees more bias for the mined prompt than for the random
        prompt (MineTheGap, figure 10). Empty for audits.
    random_majorities : int, optional
        Number of pairs for which most raters see more bias in the images of the random prompt. None
        for audits.
    """

    agreement_with_score: E
    correlation: E
    pairs: tuple[PairChoices, ...]
    strengths: Annotated[Mapping[str, E], MappingKey("set")]
    mined: Annotated[Mapping[str, E], MappingKey("run")] = field(default_factory=dict)
    random_majorities: int | None = None


@record
class RatedGrid:
    """Raters' ratings of how biased a grid of images is on an axis.

    Attributes
    ----------
    item, run, prompt, axis : str
        Id of the item, name of the run, prompt, and axis on which raters rate the bias.
    is_societal : bool
        Whether the axis is societal (according to its name) and the prompt has at least two
        societal axes.
    ratings, without_rating : int
        Number of raters who gave a rating, and number who gave another answer, such as "I cannot
        tell".
    mean, median : float, optional
        Mean and median of the ratings. Ratings range from 1 to 5.
    scores : mapping of score to float
        The run's bias scores for the prompt on this axis, keyed by score name.
    """

    item: str
    run: str
    prompt: str
    axis: str
    is_societal: bool
    ratings: int
    without_rating: int
    mean: float | None
    median: float | None
    scores: Mapping[str, float]


@record
class ScoreAgreement:
    """Agreement between raters' ratings and a bias score (TIBET, table 3).

    Attributes
    ----------
    score, group : str
        Name of the score, and group of axes ("all" or "societal").
    grids, prompts : int
        Number of rated grids that have this score, and number of different prompts among these
        grids.
    spearman, kendall : Estimate or Missing
        Rank correlations between mean ratings and scores.
    spearman_of_medians : Estimate or Missing
        Spearman's correlation between median ratings and scores, as in the paper.
    corrected : Estimate or Missing
        Spearman's correlation, divided by the square root of the reliability to correct for rater
        noise.
    within_prompts : Estimate or Missing
        Spearman's correlation across the axes of a prompt, averaged over all prompts that have at
        least three axes.
    top_1, top_2 : Estimate or Missing
        Share of prompts whose axis with the largest score is also the axis with the highest rating
        (top_1), or one of the two axes with the highest ratings (top_2). Only prompts with at least
        three axes are included.
    detectable : float, optional
        Minimum rank correlation that can be detected with 90 % power from this number of grids.
    """

    score: str
    group: str
    grids: int
    prompts: int
    spearman: E
    spearman_of_medians: E
    kendall: E
    corrected: E
    within_prompts: E
    top_1: E
    top_2: E
    detectable: float | None


@record
class RatingFindings:
    """Results of a rating study.

    Attributes
    ----------
    reliability : Estimate or Missing
        Share of the variance in mean ratings that is not due to the choice of raters.
    scores : tuple of ScoreAgreement
        Agreement between the mean ratings and each score.
    grids : tuple of RatedGrid
        Ratings of each grid.
    """

    reliability: E
    scores: tuple[ScoreAgreement, ...]
    grids: tuple[RatedGrid, ...]


@record
class SelectionScores:
    """Comparison of the options that a run proposes with the options that raters choose.

    Attributes
    ----------
    run, group : str
        Name of the run, and name of the group of options, which is "all", "societal" (axes), or the
        name of an image set.
    precision : Estimate or Missing
        How often raters choose an option that the run proposes.
    recall : Estimate or Missing
        How often the run proposes an option that raters choose.
    others : Estimate or Missing
        How often raters choose an option that the run does not propose, for comparison.
    precision_by_majority, recall_by_majority : Estimate or Missing
        Precision and recall if an option counts as chosen only when most raters who saw its list
        chose it.
    """

    run: str
    group: str
    precision: E
    recall: E
    others: E
    precision_by_majority: E
    recall_by_majority: E


@record
class OptionCount:
    """Number of times that an option was shown, and number of times that it was chosen.

    Attributes
    ----------
    option : str
        The option.
    proposed : bool
        True if the entry counts answers to lists for which a run proposes the option; False if it
        counts answers to other lists.
    answers, chosen : int
        Number of answers to lists that contain the option, and number of these answers in which it
        is chosen.
    """

    option: str
    proposed: bool
    answers: int
    chosen: int


@record
class SelectionFindings:
    """Results of a concept or axis study.

    Attributes
    ----------
    scores : tuple of SelectionScores
        Precision and recall of the options that runs propose.
    options : tuple of OptionCount
        Counts for each option. Proposed options come first, in ascending order of how often raters
        chose them.
    free_text : tuple of (str, int)
        Texts that raters wrote, each with the number of answers that contain it.
    """

    scores: tuple[SelectionScores, ...]
    options: tuple[OptionCount, ...]
    free_text: tuple[tuple[str, int], ...]


@record
class StudyAnalysis:
    """Results computed from the answers of all raters, or of only the included raters.

    Only the fields that apply to this kind of study have values.

    Attributes
    ----------
    raters : int
        Number of raters whose answers are used.
    agreement : tuple of GroupAgreement
        Agreement between the raters.
    errors : tuple of LabelingErrors
        Labeling errors of the instruments, estimated from the raters' labels.
    shares : tuple of PeopleShares
        Shares of values according to the raters.
    split : tuple of str
        Ids of the items that have no majority label.
    choices : ChoiceFindings, optional
        Results of a choice study.
    ratings : RatingFindings, optional
        Results of a rating study.
    selections : SelectionFindings, optional
        Results of a concept or axis study.
    """

    raters: int
    agreement: tuple[GroupAgreement, ...] = ()
    errors: tuple[LabelingErrors, ...] = ()
    shares: tuple[PeopleShares, ...] = ()
    split: tuple[str, ...] = ()
    choices: ChoiceFindings | None = None
    ratings: RatingFindings | None = None
    selections: SelectionFindings | None = None


@record
class StudyFindings:
    """Content of a study's results.json.

    Attributes
    ----------
    format : int
        Version number of the file format.
    askew : str
        Version of askew that computed the results.
    plan : StudyPlan
        Plan of the study.
    raters : tuple of RaterSummary
        Summary for each rater who answered.
    withdrawn : int
        Number of raters who withdrew.
    included : StudyAnalysis
        Results without the excluded raters.
    everyone : StudyAnalysis
        Results with all raters.
    warnings : tuple of str
        Warnings about the results, as sentences.
    """

    format: int
    askew: str
    plan: StudyPlan
    raters: tuple[RaterSummary, ...]
    withdrawn: int
    included: StudyAnalysis
    everyone: StudyAnalysis
    warnings: tuple[str, ...] = ()
