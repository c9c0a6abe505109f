"""Results of a study with human raters: the content of its results.json."""

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
    """Work of a rater.

    Attributes
    ----------
    id : str
        The rater.
    assigned, answered : int
        Questions of the rater, and questions with an answer.
    checks, checks_passed : int
        Answered attention checks, and those with the correct answer.
    repeats, repeats_equal : int
        Questions that were asked a second time, and those with the same answer.
    seconds : float, optional
        Median seconds per answer.
    excluded : str
        Reason of the exclusion, or empty.
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
    """Agreement of the raters on an axis, over all images or the images of a group.

    Attributes
    ----------
    axis, group : str
        The axis, and the prompt of the images; "all" for all images.
    coefficient : str
        "kappa" for two raters, "alpha" for more.
    agreement : Estimate or Missing
        The coefficient.
    images, unanimous, no_majority : int
        Images with labels, with equal labels, and without a majority.
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
    """Labels of an instrument against the raters.

    Attributes
    ----------
    axis, instrument : str
        Axis and instrument.
    values : tuple of str
        Values of the axis.
    counts : mapping of value to mapping of label to int
        Labeled images by the majority of raters and the instrument's label. "unlabeled" counts
        images without one.
    equal : Estimate or Missing
        Share of all images of the run on which the majority of raters and the instrument agree.
    rates : mapping of true value to mapping of label to Estimate or Missing
        P(label | true value), corrected for errors of the raters.
    rater_rates : mapping of value to mapping of value to float
        P(label by a rater | true value).
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
    """Shares of the values of an axis in the images of a run, by labels of people.

    Attributes
    ----------
    axis, run : str
        Axis and run.
    images, labeled : int
        Images of the run, and images with a majority.
    shares : mapping of value to Estimate or Missing
        Shares in these images, by the majority of raters, weighted by strata.
    model_shares : mapping of value to Estimate or Missing
        The same as estimates of the model's true shares.
    votes : mapping of value to float
        Shares of the labels of all raters.
    by_instrument : mapping of instrument to mapping of value to float
        Shares of labels of an instrument in all images, without correction.
    reached : bool, optional
        Whether all intervals are as short as planned. None without a planned precision.
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
    """Answers to a pair of image sets.

    Attributes
    ----------
    item, first, second : str
        The item, and the names of its sets.
    score_difference : float
        Score of the second set minus score of the first: positive if the first is less biased.
    chose_first, chose_second, equal : int
        Raters who see less bias in the first or the second set, or see no difference.
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
        Share of choices for the set with the smaller score (Wilson, clustered by rater).
    correlation : Estimate or Missing
        Pearson's r of score difference and share of choices for the first set, over pairs.
    pairs : tuple of PairChoices
        All pairs.
    strengths : mapping of set to Estimate or Missing
        Bradley-Terry strengths: the larger, the less bias raters see.
    mined : mapping of run to Estimate or Missing
        Share of choices by which the images of a mined prompt are more biased than those of a random
        prompt (MineTheGap, figure 10). Empty for audits.
    random_majorities : int, optional
        Number of pairs in which most choices are against the random prompt. None for audits.
    """

    agreement_with_score: E
    correlation: E
    pairs: tuple[PairChoices, ...]
    strengths: Annotated[Mapping[str, E], MappingKey("set")]
    mined: Annotated[Mapping[str, E], MappingKey("run")] = field(default_factory=dict)
    random_majorities: int | None = None


@record
class RatedGrid:
    """Ratings of a grid of images.

    Attributes
    ----------
    item, run, prompt, axis : str
        The item, and the run, prompt and axis of its images.
    is_societal : bool
        Whether the axis is a societal axis by its name, of a prompt with two or more of them.
    ratings, without_rating : int
        Raters who gave a rating, and raters who gave none.
    mean, median : float, optional
        Mean and median of the ratings from 1 to 5.
    scores : mapping of score to float
        Scores of the axis in the run.
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
    """Agreement of people's ratings with a score (TIBET, table 3).

    Attributes
    ----------
    score, group : str
        Name of the score, and "all" axes or "societal" axes.
    grids, prompts : int
        Rated grids with this score, and their prompts.
    spearman, kendall : Estimate or Missing
        Rank correlation of mean ratings and scores.
    spearman_of_medians : Estimate or Missing
        The same with median ratings, as in the paper.
    corrected : Estimate or Missing
        Spearman's correlation, divided by the root of the reliability of the mean ratings.
    within_prompts : Estimate or Missing
        Mean of Spearman's correlations over the axes of a prompt with three or more axes.
    top_1, top_2 : Estimate or Missing
        Share of such prompts whose axis with the largest score is among the one or two axes that
        people rate highest.
    detectable : float, optional
        Rank correlation that is detected with 90 % power.
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
        Share of the variance of mean ratings that other raters would reproduce.
    scores : tuple of ScoreAgreement
        Agreement with each score.
    grids : tuple of RatedGrid
        All grids.
    """

    reliability: E
    scores: tuple[ScoreAgreement, ...]
    grids: tuple[RatedGrid, ...]


@record
class SelectionScores:
    """Options that a run proposes, against options that people choose.

    Attributes
    ----------
    run, group : str
        The run, and the lists: "all", an image set, or "societal" axes.
    precision : Estimate or Missing
        Share of answers that confirm a proposed option.
    recall : Estimate or Missing
        Share of the chosen options that the run proposes.
    others : Estimate or Missing
        Share of answers that choose an option that the run does not propose.
    precision_by_majority, recall_by_majority : Estimate or Missing
        The same for the options that most raters of a list choose.
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
    """Answers about an option.

    Attributes
    ----------
    option : str
        The option.
    proposed : bool
        Whether a run proposes it for these lists.
    answers, chosen : int
        Raters who answered a list with the option, and raters who chose it.
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
        Precision and recall.
    options : tuple of OptionCount
        Options with the fewest confirmations first.
    free_text : tuple of (str, int)
        Texts that raters added, with the number of answers.
    """

    scores: tuple[SelectionScores, ...]
    options: tuple[OptionCount, ...]
    free_text: tuple[tuple[str, int], ...]


@record
class StudyAnalysis:
    """Results by some raters. Each kind of study fills its fields.

    Attributes
    ----------
    raters : int
        Number of raters.
    agreement : tuple of GroupAgreement
        Agreement of the raters.
    errors : tuple of LabelingErrors
        Labels of instruments against raters.
    shares : tuple of PeopleShares
        Shares by labels of people.
    split : tuple of str
        Items on which raters have no majority.
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
    """Content of results.json of a study.

    Attributes
    ----------
    format : int
        Format of the file.
    askew : str
        Version of the package.
    plan : StudyPlan
        The plan of the study.
    raters : tuple of RaterSummary
        Raters with answers.
    withdrawn : int
        Number of raters who withdrew.
    included : StudyAnalysis
        Results without the excluded raters.
    everyone : StudyAnalysis
        Results with all raters.
    warnings : tuple of str
        Warnings.
    """

    format: int
    askew: str
    plan: StudyPlan
    raters: tuple[RaterSummary, ...]
    withdrawn: int
    included: StudyAnalysis
    everyone: StudyAnalysis
    warnings: tuple[str, ...] = ()
