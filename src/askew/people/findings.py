"""Results of a study with human raters: the content of its results.json."""

from collections.abc import Mapping
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
    """Results of a study of the kind choose.

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
    """

    agreement_with_score: E
    correlation: E
    pairs: tuple[PairChoices, ...]
    strengths: Annotated[Mapping[str, E], MappingKey("set")]


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
        Results of a study of the kind choose.
    """

    raters: int
    agreement: tuple[GroupAgreement, ...] = ()
    errors: tuple[LabelingErrors, ...] = ()
    shares: tuple[PeopleShares, ...] = ()
    split: tuple[str, ...] = ()
    choices: ChoiceFindings | None = None


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
