"""Compare a model with a finished audit of another model, using images with the same seeds.

With `--until decided --compared-run RUN`, askew runs the plan of the finished run on the new model.
askew then adds images until the shares differ significantly between the two models. At each look,
askew tests all pairs of images generated so far. The test swaps the two images of a pair
(`stats.exchange`), as in `askew compare`. The p of an axis is the sequential p (`stats.looks`), and
the intervals are widened to account for all looks. From the first look on, q is corrected over all
axes of all prompts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from askew.errors import UsageError
from askew.findings import E
from askew.method import load
from askew.methods.audit.findings import AuditResult, PairedVerdict
from askew.methods.audit.plan import AuditPlan
from askew.methods.audit.stored import digest_of_content, is_generated, observed_sets
from askew.parts.survey.instruments import LABELS
from askew.parts.survey.observed import ObservedSet
from askew.parts.survey.pairs import SetPair, paired_labels
from askew.parts.survey.reader import Observed, SurveyReader
from askew.parts.survey.sequential import over_all_looks
from askew.plan import AxisPlan, PromptPlan
from askew.stats.differences import share_difference
from askew.stats.exchange import exchange_test
from askew.stats.intervals import benjamini_hochberg
from askew.stats.looks import look_confidence, looks, paired_sequential_p
from askew.stats.paired_sets import PairedSets
from askew.types import Missing


def compared_plan(
    folder: Path,
    store: Path | None,
    model: Mapping[str, object],
    decide: Sequence[str],
    most: int | None,
) -> AuditPlan:
    """Return a finished audit's plan, modified so that it runs another model and stops early.

    Parameters
    ----------
    folder, store
        Folder of the finished audit, and its store. By default, askew uses the store next to the
        run folder.
    model
        Plan fields `model` and `model_args` of the new model. Missing fields take their values from
        the finished audit.
    decide
        Axes that must have significant verdicts before askew stops adding images to a prompt. By
        default, a significant verdict on any axis is enough.
    most
        Maximum number of images per prompt. The default is the number of images per prompt in the
        finished audit.

    Raises
    ------
    UsageError
        If the run cannot be compared, or has fewer than `most` images per prompt.
    """
    run = _finished_audit(folder, store)
    plan = run.plan
    if most is not None and most > plan.images:
        raise UsageError(
            f"--max-images {most} is too large: {folder} has {plan.images} images per prompt, and "
            "each additional image would need a partner with the same seed"
        )
    fields = {
        **plan.model_dump(),
        **_model_fields(plan, model),
        "images": most or plan.images,
        "counterfactuals": "none",
        "axes_in_depth": (),
        "until": "decided",
        "decide": tuple(decide),
        "compared_run": str(folder),
        "compared_store": str(store or ""),
        "compared_digest": digest_of_content(run.plan.hash, run.findings),
    }
    return AuditPlan.checked(fields, "this request")


def _model_fields(plan: AuditPlan, model: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of the plan that describe the new model.

    If `model` has no field "model", the model stays the same and only its settings change.
    """
    settings = model.get("model_args", {})
    assert isinstance(settings, Mapping)
    if "model" in model:
        return {"model": model["model"], "model_args": {**settings}}
    return {"model_args": {**plan.model_args, **settings}}


def _finished_audit(folder: Path, store: Path | None) -> AuditResult:
    """Load a finished audit. Raise UsageError if the audit cannot be compared."""
    run = load(folder, store)
    if not isinstance(run, AuditResult):
        raise UsageError(
            f"{folder} is a run of `askew {run.plan.method}`; --compared-run needs a finished run "
            "of `askew audit`"
        )
    reason = None
    if run.plan.until is not None:
        reason = "its number of images depended on the labels. Repeat that audit with --images"
    elif LABELS in run.plan.vqa:
        reason = "people labeled its images. Use a run whose images were labeled by a VQA model"
    elif not is_generated(run.findings):
        reason = "its images have no seeds. Use a run with generated images"
    if reason is not None:
        raise UsageError(f"--compared-run {folder} cannot be used: {reason}")
    return run


def compared_sets(plan: AuditPlan, reader: SurveyReader) -> dict[str, ObservedSet]:
    """Return the compared run's labeled baseline images, keyed by prompt; empty if there is none.

    Raises
    ------
    UsageError
        If the run has changed since the plan was written, or if other instruments labeled its
        images.
    """
    if not plan.compared_run:
        return {}
    store = Path(plan.compared_store) if plan.compared_store else None
    run = _finished_audit(Path(plan.compared_run), store)
    if digest_of_content(run.plan.hash, run.findings) != plan.compared_digest:
        raise UsageError(
            f"the images of {plan.compared_run} have changed since this run was planned. Use a "
            "new --run"
        )
    versions = {name: vqa.fingerprint for name, vqa in reader.instruments.items()}
    if versions != (run.findings.instruments.vqa or {}):
        raise UsageError(
            f"the images of {plan.compared_run} were labeled with other versions of the "
            "instruments. Repeat that run"
        )
    sets = observed_sets(run, plan.prompts)
    return {text: of_prompt[0] for text, of_prompt in sets.items()}


class PairedTrial:
    """Tests on one axis at each look, for two image sets whose images have the same seeds.

    Parameters
    ----------
    sets
        The images generated so far by the new model, and the images of the compared run.
    axis, instrument
        Axis, and the instrument that labeled both sets.
    most
        Maximum number of images in each set.
    """

    def __init__(self, sets: SetPair, axis: AxisPlan, instrument: str, most: int) -> None:
        self._sets = sets
        self._axis = axis
        self._instrument = instrument
        self._sizes = looks(most)

    def at(self, size: int) -> PairedSets | None:
        """Return the pairs among the first `size` images; None if a model lacks labeled images."""
        new, compared = self._sets
        parts = (new.picked(range(size)), compared.picked(range(size)))
        return paired_labels(parts, self._axis, self._instrument)

    def look_p_values(self) -> list[float]:
        """Return the p-value of each look so far."""
        p_values = []
        for size in self._sizes:
            if size <= len(self._sets[0].pictures):
                pairs = self.at(size)
                p_values.append(1.0 if pairs is None else exchange_test(pairs).p)
        return p_values

    def p(self, p_values: Sequence[float]) -> float:
        """Combine the p-values of the looks so far into the sequential p."""
        return paired_sequential_p(p_values, self._sizes, len(self._axis.values))


def paired_verdicts(
    plan: AuditPlan, observed: Observed, compared: Mapping[str, ObservedSet]
) -> tuple[PairedVerdict, ...]:
    """Return the differences from the compared run, with verdicts; empty if no run is compared.

    Parameters
    ----------
    plan
        Plan of the run.
    observed
        Images from the new model that have been labeled so far, keyed by prompt.
    compared
        Labeled images of the compared run, keyed by prompt.
    """
    if not compared:
        return ()
    verdicts: list[PairedVerdict] = []
    for instrument in dict.fromkeys(plan.vqa):
        of_instrument = []
        for prompt in plan.prompts:
            sets = (observed[prompt.text][0], compared[prompt.text])
            for axis in prompt.closed:
                of_instrument.append(_verdict(plan, prompt, axis, instrument, sets))
        q_values = benjamini_hochberg([verdict.p for verdict in of_instrument]).tolist()
        for verdict, q in zip(of_instrument, q_values, strict=True):
            verdicts.append(replace(verdict, q=q))
    return tuple(verdicts)


def _verdict(
    plan: AuditPlan, prompt: PromptPlan, axis: AxisPlan, instrument: str, sets: SetPair
) -> PairedVerdict:
    """Return the differences on an axis of a prompt; q equals p until it is corrected later."""
    trial = PairedTrial(sets, axis, instrument, plan.images)
    images = len(sets[0].pictures)
    p_values = trial.look_p_values()
    p = trial.p(p_values)
    pairs = trial.at(images)
    confidence = look_confidence(looks(plan.images), plan.confidence, images)
    differences: dict[str, E] = {}
    for place, value in enumerate(axis.values):
        if pairs is None:
            differences[value] = Missing("not_asked", "a model has no label")
        else:
            estimate = share_difference(pairs, place, level=confidence)
            differences[value] = over_all_looks(estimate, plan.confidence, p=None)
    return PairedVerdict(
        prompt=prompt.text,
        axis=axis.name,
        instrument=instrument,
        images=images,
        differences=differences,
        p=p,
        q=p,
        looks=tuple(p_values),
    )
