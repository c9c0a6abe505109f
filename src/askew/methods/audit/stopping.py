"""Add images to a prompt until its verdicts are reached (`--until decided`).

askew tests a prompt after 8, 12, 16, 24, 32, … images; each test is a look. askew stops adding
images to a prompt once the verdicts on all axes given with --decide are significant. Without
--decide, a significant verdict on any axis is enough. The reported p is the sequential p
(`stats.looks`). Both p and the intervals allow for all looks. From the first look on, q is
corrected over all axes of all prompts, so a later look never revokes a verdict.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from askew.methods.audit.compared import PairedTrial
from askew.methods.audit.plan import AuditPlan
from askew.models.base import Model
from askew.parts.scoring import Scoring
from askew.parts.survey.confusion import Errors, calibrations
from askew.parts.survey.observed import ObservedSet
from askew.parts.survey.reader import Observed, PromptImages, SurveyReader
from askew.parts.survey.sequential import Trial, sequential_entry, significant_places
from askew.parts.survey.shares import usable_errors
from askew.parts.survey.verdicts import JudgedShares, with_verdicts
from askew.plan import PromptPlan
from askew.run.base import ModelMaker, Outcome
from askew.run.work import Work, once_each, wanted_pictures
from askew.stats.looks import looks
from askew.types import Prompt


def observed_until_decided(
    plan: AuditPlan, model: Model, reader: SurveyReader, compared: Mapping[str, ObservedSet]
) -> dict[str, list[ObservedSet]]:
    """Generate and label baseline images for each prompt until its verdicts are reached.

    Parameters
    ----------
    plan, model, reader
        Plan of the run, its model, and the reader whose instruments label the images.
    compared
        Labeled images of the compared run, keyed by prompt. Empty if there is no compared run.
    """
    sizes = looks(plan.images)
    errors = calibrations(plan.prompts, reader.instruments)
    outcomes: dict[str, list[Outcome]] = {prompt.text: [] for prompt in plan.prompts}
    observed: dict[str, list[ObservedSet]] = {}
    undecided = list(plan.prompts)
    for size in sizes:
        _add_images(plan, model, reader, {p.text: outcomes[p.text] for p in undecided}, size)
        images = []
        for prompt in undecided:
            pictures = once_each(outcomes[prompt.text])
            images.append(PromptImages(prompt, [(Prompt(prompt.text), pictures)]))
        for prompt, sets in zip(undecided, reader.read_all(images), strict=True):
            observed[prompt.text] = sets
        if not reader.run.has_all:
            further = [reader.unmade(model, prompt, sizes[-1] - size) for prompt in undecided]
            left = len(sizes) - 1 - sizes.index(size)
            reader.run.decide("further images", dict, sum(further, Work()), {}, rounds=left)
            break
        decided = decided_prompts(plan, observed, errors, compared)
        undecided = [prompt for prompt in undecided if prompt.text not in decided]
        if not undecided:
            break
    return {prompt.text: observed[prompt.text] for prompt in plan.prompts}


def _add_images(
    plan: AuditPlan,
    model: Model,
    reader: SurveyReader,
    outcomes: Mapping[str, list[Outcome]],
    size: int,
) -> None:
    """Add images to each prompt's outcomes until there are enough for the next look."""
    wanted = []
    for text, present in outcomes.items():
        wanted += wanted_pictures(model, [text], size, plan.seed)[len(present) :]
    by_key = reader.run.make(ModelMaker(model), wanted)
    for request in wanted:
        outcomes[request.prompt].append(by_key[request.key])


def decided_prompts(
    plan: AuditPlan, observed: Observed, errors: Errors, compared: Mapping[str, ObservedSet]
) -> set[str]:
    """Return the prompts that have all required verdicts, according to the first instrument."""
    instrument = plan.vqa[0]
    p_values: dict[tuple[str, str], float] = {}
    for prompt in plan.prompts:
        baseline = observed[prompt.text][0]
        for axis in prompt.closed:
            trial: Trial | PairedTrial
            if compared:
                sets = (baseline, compared[prompt.text])
                trial = PairedTrial(sets, axis, instrument, plan.images)
            else:
                known = usable_errors(errors.get((instrument, axis.name)))
                trial = Trial(baseline, axis, instrument, known, plan.images)
            p_values[prompt.text, axis.name] = trial.p(trial.look_p_values())
    significant = significant_places(p_values)
    return {prompt.text for prompt in plan.prompts if is_decided(plan, prompt, significant)}


def is_decided(
    plan: AuditPlan, prompt: PromptPlan, significant: AbstractSet[tuple[str, str]]
) -> bool:
    """Check whether a prompt has all verdicts that `plan.decide` requires.

    The verdicts on all axes in `plan.decide` must be significant. If the list is empty, a
    significant verdict on any axis is enough.

    Parameters
    ----------
    plan
        Plan of the run. Its field `decide` can list axes.
    prompt
        The prompt.
    significant
        Pairs of a prompt and an axis on which the verdict is significant.
    """
    results = {axis.name: (prompt.text, axis.name) in significant for axis in prompt.closed}
    named = [results[name] for name in plan.decide if name in results]
    return all(named) if named else any(results.values())


def sequential_shares(plan: AuditPlan, observed: Observed, errors: Errors) -> JudgedShares:
    """Return the shares in the baseline images, with sequential verdicts and intervals.

    The result has no entries pooled over all prompts, because each prompt's number of images
    depends on its labels.
    """
    entries = []
    for prompt in plan.prompts:
        for axis in prompt.closed:
            for instrument in dict.fromkeys(plan.vqa):
                known = errors.get((instrument, axis.name))
                baseline = observed[prompt.text][0]
                scoring = Scoring.of(plan, instrument)
                entry = sequential_entry(baseline, axis, prompt.text, scoring, known, plan.images)
                entries.append(entry)
    return JudgedShares(of_sets=with_verdicts(entries, errors), over_prompts=())
