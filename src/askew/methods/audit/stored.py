"""Load the images of a finished audit, with the answers about them from its store."""

from collections.abc import Sequence
from dataclasses import asdict

from askew.errors import UsageError
from askew.findings import Head, PictureSet
from askew.measure.base import CAPTION
from askew.methods.audit.findings import AuditResult
from askew.parts.survey.instruments import captioner_of
from askew.parts.survey.observed import AnswersByPicture, ObservedSet, observe
from askew.plan import PromptPlan
from askew.store.files import digest_of
from askew.store.keys import question_hash
from askew.store.store import Store
from askew.types import Axis, Missing, Picture, Prompt

NOT_STORED = Missing("error", "the store holds no answer")


def digest_of_content(plan_hash: str, findings: Head) -> str:
    """Return a digest that is the same for all runs with the same plan, weights and images.

    Parameters
    ----------
    plan_hash
        Hash of the plan.
    findings
        Findings of the run.
    """
    sets = []
    for image_set in findings.sets:
        fields = asdict(image_set)
        del fields["model"]
        sets.append(fields)
    return digest_of([plan_hash, asdict(findings.model), sets])


def is_generated(head: Head) -> bool:
    """Check whether the images of a run were generated from seeds."""
    return any(seed is not None for image_set in head.sets for seed in image_set.seeds)


def observed_sets(run: AuditResult, prompts: Sequence[PromptPlan]) -> dict[str, list[ObservedSet]]:
    """Return the image sets of a run, keyed by prompt, with the answers from its store.

    Parameters
    ----------
    run
        A finished audit.
    prompts
        Prompts and axes to compare. Counterfactual sets for other axes are omitted.

    Raises
    ------
    UsageError
        If the store does not contain the answers from which the run's scores were computed.
    """
    planned = {prompt.text: prompt for prompt in run.plan.prompts}
    with Store(run.store, create=False) as store:
        sets = {
            prompt.text: _sets_of_prompt(run, prompt, planned[prompt.text], store)
            for prompt in prompts
        }
    for prompt in prompts:
        _check_answers(run, prompt, sets[prompt.text])
    return sets


def _check_answers(run: AuditResult, prompt: PromptPlan, sets: Sequence[ObservedSet]) -> None:
    """Raise UsageError if the answers in the store do not yield the counts in the findings."""
    axes = {axis.name: axis.axis() for axis in prompt.axes}
    by_name = {observed.name: observed for observed in sets}
    for entry in run.findings.shares:
        if entry.prompt != prompt.text or entry.axis not in axes or entry.set not in by_name:
            continue
        stored = by_name[entry.set].counts(entry.instrument, axes[entry.axis])
        if stored != list(entry.counts.values()):
            raise UsageError(
                f"the store {run.store} does not contain the answers from which the scores of "
                f"{run.folder} were computed. Give the store of that run with --store, or repeat "
                "the run's command"
            )


def _sets_of_prompt(
    run: AuditResult, prompt: PromptPlan, planned: PromptPlan, store: Store
) -> list[ObservedSet]:
    """Return a prompt's image sets, excluding counterfactual sets of axes that are not compared."""
    sets: list[tuple[Prompt, list[Picture | Missing]]] = []
    ids: dict[str, None] = {}
    for image_set in run.findings.sets:
        compared = prompt.has(image_set.axis) or not planned.has(image_set.axis)
        if image_set.prompt == prompt.text and compared:
            text = Prompt(image_set.text, image_set.axis, image_set.value)
            sets.append((text, _pictures(image_set)))
            ids |= dict.fromkeys(name for name in image_set.pictures if name is not None)
    axes = [axis.axis() for axis in prompt.axes]
    captioner = captioner_of(run.plan.vqa)
    answers = {
        name: _stored_answers(store, fingerprint, list(ids), axes, with_caption=name == captioner)
        for name, fingerprint in (run.findings.instruments.vqa or {}).items()
    }
    return [observe(text, of_set, axes, answers, captioner) for text, of_set in sets]


def _pictures(image_set: PictureSet) -> list[Picture | Missing]:
    """Return the images of a set.

    For each missing image, the reason is assumed to be the most frequent reason in the set.

    The findings contain only the count of each reason per set, not the reason for each missing
    image.
    """
    counts = image_set.missing
    reason = max(counts, key=lambda name: (counts[name], name), default="error")
    pictures: list[Picture | Missing] = []
    for name, seed in zip(image_set.pictures, image_set.seeds, strict=True):
        if name is None:
            pictures.append(Missing(reason))  # type: ignore[arg-type]
        else:
            pictures.append(Picture(name, "", image_set.text, seed))
    return pictures


def _stored_answers(
    store: Store, fingerprint: str, ids: Sequence[str], axes: Sequence[Axis], with_caption: bool
) -> AnswersByPicture:
    """Return an instrument's answers, keyed by image id, in the order of the axes' questions."""
    questions = [question for axis in axes for question in axis.questions]
    if with_caption:
        questions.append(CAPTION)
    known = store.answers(fingerprint, ids, questions)
    hashes = [question_hash(question) for question in questions]
    answers = {}
    for name in ids:
        answers[name] = [known.get((name, asked), NOT_STORED) for asked in hashes]
    return answers
