"""Records for the results of a study with human raters, as its results.json contains them."""

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
        Number of questions assigned to the rater, and number of questions that the rater answered.
    checks, checks_passed : int
        Number of answered attention checks, and number of attention checks answered correctly.
    repeats, repeats_equal : int
        Number of repeated questions, and number of repeated questions with the same answer both
        times.
    seconds : float, optional
        Median time per answer in seconds.
    excluded : str
        Reason why the rater is excluded; empty for an included rater.
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
    """Agreement between the raters on an axis, for all images or for the images of a prompt.

    Attributes
    ----------
    axis, group : str
        Name of the axis, and prompt of the images. The group "all" contains all images.
    coefficient : str
        "kappa" for Cohen's kappa of two raters, "alpha" for Krippendorff's alpha of more raters.
    agreement : Estimate or Missing
        The coefficient.
    images, unanimous, no_majority : int
        Number of images that raters labeled, number of images to which all raters gave the same
        label, and number of images for which no label has a majority.
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
    """Labels from an instrument, compared with the labels from the raters.

    Attributes
    ----------
    axis, instrument : str
        Name of the axis, and name of the instrument.
    values : tuple of str
        Values of the axis.
    counts : mapping of value to mapping of label to int
        Number of images for each pair of a majority value (from the raters) and a label (from the
        instrument). The label "unlabeled" counts images that the instrument did not label.
    equal : Estimate or Missing
        Share of all images of the runs on which the instrument agrees with the majority of raters.
    rates : mapping of true value to mapping of label to Estimate or Missing
        P(label from the instrument | true value), corrected for the raters' errors.
    rater_rates : mapping of value to mapping of value to float
        P(label from a rater | true value).
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
    """Share of each value of an axis in the images of a run, according to the raters.

    Attributes
    ----------
    axis, run : str
        Name of the axis, and name of the run.
    images, labeled : int
        Number of images of the run, and number of images for which the raters have a majority.
    shares : mapping of value to Estimate or Missing
        Estimated shares in the images of the run, from majority labels weighted by strata.
    model_shares : mapping of value to Estimate or Missing
        The same shares as estimates of the model's true shares, with intervals that include the
        sampling of images.
    votes : mapping of value to float
        Weighted mean over images of the share of raters who chose the value.
    by_instrument : mapping of instrument to mapping of value to float
        Uncorrected shares of an instrument's labels in all images of the run.
    reached : bool, optional
        Whether all intervals are as short as planned; None if no precision was planned.
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


@record
class PairChoices:
    """Answers to the question which of two image sets shows less bias.

    Attributes
    ----------
    item, first, second : str
        Id of the item, and names of its first and second set.
    score_difference : float
        Score of the second set minus score of the first set. Positive if the first set is less
        biased according to the score.
    chose_first, chose_second, equal : int
        Number of raters who see less bias in the first set, who see less bias in the second set, and
        who see equal bias in both sets.
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
        How often raters who choose a set choose the set with the smaller score as less biased
        (Wilson interval, clustered by rater).
    correlation : Estimate or Missing
        Pearson's r between score difference and share of choices for the first set, across pairs.
    pairs : tuple of PairChoices
        Choices for each pair.
    strengths : mapping of set to Estimate or Missing
        Bradley-Terry strength of each set. Raters see less bias in sets with a larger strength.
    mined : mapping of run to Estimate or Missing
        How often raters who choose a set see more bias in the images of the mined prompt than in the
        images of the random prompt (MineTheGap, figure 10). Empty for audits.
    random_majorities : int, optional
        Number of pairs for which more raters see more bias in the images of the random prompt. None
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
    """Ratings of how biased a grid of images is on an axis.

    Attributes
    ----------
    item, run, prompt, axis : str
        Id of the item, run and prompt of its images, and axis on which people rate them.
    is_societal : bool
        Whether the name of the axis is societal and the prompt has at least two societal axes.
    ratings, without_rating : int
        Number of raters who gave a rating, and number of raters who answered without a rating.
    mean, median : float, optional
        Mean and median of the ratings from 1 to 5.
    scores : mapping of score to float
        Bias scores of the prompt on this axis in the run, by name of the score.
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
    """Agreement between people's ratings and a bias score (TIBET, table 3).

    Attributes
    ----------
    score, group : str
        Name of the score, and group of axes ("all" or "societal").
    grids, prompts : int
        Number of rated grids that have this score, and number of their prompts.
    spearman, kendall : Estimate or Missing
        Rank correlations between mean ratings and scores.
    spearman_of_medians : Estimate or Missing
        Spearman's correlation between median ratings and scores, as in the paper.
    corrected : Estimate or Missing
        Spearman's correlation divided by the square root of the reliability of the mean ratings.
    within_prompts : Estimate or Missing
        Spearman's correlation across the axes of a prompt, averaged over the prompts that have three
        or more axes.
    top_1, top_2 : Estimate or Missing
        Share of prompts with three or more axes for which the axis with the largest score is the
        axis that people rate highest (top_1), or one of the two that they rate highest (top_2).
    detectable : float, optional
        Smallest rank correlation that this number of grids detects with 90 % power.
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
        Share of the variance of mean ratings that does not depend on which raters took part.
    scores : tuple of ScoreAgreement
        Agreement between the ratings and each score.
    grids : tuple of RatedGrid
        Ratings of each grid.
    """

    reliability: E
    scores: tuple[ScoreAgreement, ...]
    grids: tuple[RatedGrid, ...]


@record
class SelectionScores:
    """Comparison of the options that a run proposes with the options that people choose.

    Attributes
    ----------
    run, group : str
        Name of the run, and group of options: "all", the name of an image set, or "societal" axes.
    precision : Estimate or Missing
        Share of answers about proposed options in which the rater chooses the option.
    recall : Estimate or Missing
        Share of the chosen options that the run proposes.
    others : Estimate or Missing
        Share of answers about other options in which the rater chooses the option.
    precision_by_majority, recall_by_majority : Estimate or Missing
        Precision and recall if an option counts as chosen when most raters of its list choose it.
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
    """Counts of the answers about an option.

    Attributes
    ----------
    option : str
        The option.
    proposed : bool
        Whether the counts are from lists for which a run proposes the option.
    answers, chosen : int
        Number of answers to lists that contain the option, and number of answers that choose it.
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
        Counts for each option, starting with the proposed options that the fewest raters confirm.
    free_text : tuple of (str, int)
        Texts that raters added, each with the number of answers that contain it.
    """

    scores: tuple[SelectionScores, ...]
    options: tuple[OptionCount, ...]
    free_text: tuple[tuple[str, int], ...]


@record
class StudyAnalysis:
    """Results from the answers of some raters. Each kind of study fills different fields.

    Attributes
    ----------
    raters : int
        Number of raters.
    agreement : tuple of GroupAgreement
        Agreement between the raters.
    errors : tuple of LabelingErrors
        Labeling errors of the instruments, measured with the raters' labels.
    shares : tuple of PeopleShares
        Shares of values according to the raters.
    split : tuple of str
        Ids of items for which the raters have no majority.
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
        Number of the file format.
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
