"""Find the prompts and axes on which finished audits can be compared, and warn about all others."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from askew.errors import UsageError
from askew.methods.audit.findings import AuditResult
from askew.methods.audit.plan import AuditPlan
from askew.methods.audit.stored import is_generated
from askew.models.manifest import INITIAL
from askew.pages.words import plural
from askew.parts.survey.following import following_warnings
from askew.parts.survey.instruments import LABELS, studio_warnings
from askew.parts.survey.missing_pictures import MissingCount, MissingPictures, uneven
from askew.parts.survey.sentences import missing_sentences
from askew.plan import AxisPlan, PromptPlan
from askew.studies.compare.runs import content_digest, scoring_of

SHOWN = 3
"""Maximum number of names that a message lists. Further names are only counted."""

PLAN_FIELDS = ("variant", "concepts", "vqa")
GENERATION_FIELDS = ("images", "seed")
LABEL_FIELDS = ("aliases", "values")
"""Fields that must be equal in all plans."""

AXIS_FIELDS = ("values", "scale", "reference", "reference_images", "questions", "counterfactuals")
"""Fields of an axis that determine its scores."""

UNPAIRED = (
    "the images of these runs have no seeds in common. askew compares the image sets as independent "
    "samples"
)
DIFFERENT_QUESTIONS = (
    "the runs use different questions. Differences in MAD and CAS are based only on the "
    "questions that all runs share. The MAD and CAS of a single run are based on all questions "
    "of this run, so a difference need not equal the second run's score minus the first run's "
    "score"
)


def match_runs(runs: Mapping[str, AuditResult]) -> tuple[list[PromptPlan], list[str]]:
    """Return the prompts on which runs can be compared, and warnings about the comparison.

    Parameters
    ----------
    runs
        Finished audits, keyed by name.

    Returns
    -------
    list of PromptPlan
        The prompts that `comparable_prompts` returns.
    list of str
        Warnings, without duplicates.

    Raises
    ------
    UsageError
        If the runs cannot be compared.
    """
    generated = all(is_generated(run.findings) for run in runs.values())
    plans = {str(run.folder): run.plan for run in runs.values()}
    prompts, warnings = comparable_prompts(plans, generated)
    _check_instruments(list(runs.values()))
    texts = {prompt.text for prompt in prompts}
    warnings += _embedder_warnings(runs)
    warnings += _equal_run_warnings(runs)
    warnings += _uneven_label_warnings(runs, texts)
    warnings += _left_out_sets(runs, texts)
    for name, run in runs.items():
        warnings += following_warnings(run.findings.following, name)
    if not generated:
        warnings.append(UNPAIRED)
    for run in runs.values():
        warnings += studio_warnings([run.findings.model.name], run.findings.instruments.vqa)
    return prompts, list(dict.fromkeys(warnings))


def _check_instruments(runs: Sequence[AuditResult]) -> None:
    """Raise UsageError if the runs were labeled by different versions of an instrument."""
    first, *others = runs
    first_versions = _versions(first)
    for run in others:
        versions = _versions(run)
        if versions != first_versions:
            differing = [name for name in versions if versions[name] != first_versions.get(name)]
            raise UsageError(
                f"{run.folder} and {first.folder} cannot be compared: {run.folder} was labeled by "
                f"a different version of {_first_names(differing)}. Repeat the audits with the "
                "same instruments"
            )


def _versions(run: AuditResult) -> dict[str, str]:
    """Return the fingerprints of a run's VQA models. Human labels have no fingerprint."""
    fingerprints = run.findings.instruments.vqa or {}
    return {name: version for name, version in fingerprints.items() if name != LABELS}


def have_the_same_embedder(runs: Iterable[AuditResult]) -> bool:
    """Check whether all runs embedded their images with the same version of an embedder."""
    versions = [run.findings.instruments.embedder or {} for run in runs]
    return bool(versions[0]) and all(version == versions[0] for version in versions)


def _embedder_warnings(runs: Mapping[str, AuditResult]) -> list[str]:
    """Return a warning if embedding scores are left out because the embedders differ."""
    with_embedder = [run for run in runs.values() if run.findings.instruments.embedder]
    if len(with_embedder) < 2 or have_the_same_embedder(with_embedder):
        return []
    return ["the runs use different embedders, so CAS and MAD from embeddings are not compared"]


def _equal_run_warnings(runs: Mapping[str, AuditResult]) -> list[str]:
    """Return a warning for each run that has the same plan, model and images as an earlier run."""
    first_names: dict[str, str] = {}
    warnings = []
    for name, run in runs.items():
        first = first_names.setdefault(content_digest(run), name)
        if first != name:
            warnings.append(
                f"{first} and {name} are runs of the same plan on the same model with the same "
                "images, so there are no differences"
            )
    return warnings


def _uneven_label_warnings(runs: Mapping[str, AuditResult], prompts: Collection[str]) -> list[str]:
    """Return warnings about axes on which one run is missing more labels than the other runs."""
    counts: dict[tuple[str, str], dict[str, MissingCount]] = {}
    for name, run in runs.items():
        for entry in run.findings.shares:
            is_first = entry.set == INITIAL and entry.instrument == run.plan.vqa[0]
            if is_first and entry.prompt in prompts:
                missing = sum(entry.missing.values())
                planned = missing + sum(entry.counts.values())
                of_axis = counts.setdefault((entry.prompt, entry.axis), {})
                of_axis[name] = MissingCount(missing=missing, planned=planned)
    tables = [
        ({"prompt": prompt, "axis": axis}, of_runs) for (prompt, axis), of_runs in counts.items()
    ]
    tests = uneven(MissingPictures, tables, scoring_of(list(runs.values())))
    return missing_sentences(tests, "answers about")


def _left_out_sets(runs: Mapping[str, AuditResult], prompts: Collection[str]) -> list[str]:
    """Return warnings about image sets, such as conditions, that are missing from some runs."""
    sets = {}
    for name, run in runs.items():
        sets[name] = {
            (image_set.prompt, image_set.axis, image_set.value)
            for image_set in run.findings.sets
            if image_set.prompt in prompts
        }
    shared = set.intersection(*sets.values())
    warnings = []
    for name, of_run in sets.items():
        left_out = of_run - shared
        if left_out:
            count = plural(len(left_out), "image set")
            warnings.append(
                f"askew leaves out {count} of {name}, because not all runs have the same image sets"
            )
    return warnings


def comparable_prompts(
    runs: Mapping[str, AuditPlan], generated: bool
) -> tuple[list[PromptPlan], list[str]]:
    """Return the prompts that all plans contain, with the axes that they measure in the same way.

    Parameters
    ----------
    runs
        Plan of each run, keyed by the name of the run.
    generated
        True if a model generated the images. The plans of generated images must have the same
        number of images and the same seed.

    Returns
    -------
    list of PromptPlan
        The prompts, in the order of the first plan.
    list of str
        Warnings about prompts and axes that are left out.

    Raises
    ------
    UsageError
        If the plans differ in a field, or if nothing can be compared.
    """
    _check_fields(runs, generated)
    by_text = {name: _prompts_by_text(plan) for name, plan in runs.items()}
    shared = _shared_texts(list(by_text.values()))
    common: list[PromptPlan] = []
    left_out_axes: list[str] = []
    for text in shared:
        versions = [prompts[text] for prompts in by_text.values()]
        differences = _axis_differences(versions)
        left_out_axes += [f"{name} of {text!r} ({why})" for name, why in differences.items()]
        axes = tuple(axis for axis in versions[0].axes if axis.name not in differences)
        if axes:
            common.append(versions[0].model_copy(update={"axes": axes}))
    if not common:
        reason = _why_nothing_is_shared(by_text, left_out_axes)
        raise UsageError(f"nothing can be compared in {' and '.join(runs)}: {reason}")
    warnings = _left_out_prompts(by_text, shared)
    if left_out_axes:
        warnings.append(
            f"askew leaves out axes that the runs measure differently: {_first_names(left_out_axes)}"
        )
        if next(iter(runs.values())).concepts == "all":
            warnings.append(DIFFERENT_QUESTIONS)
    return common, warnings


def _prompts_by_text(plan: AuditPlan) -> dict[str, PromptPlan]:
    return {prompt.text: prompt for prompt in plan.prompts}


def _shared_texts(plans: Sequence[Mapping[str, PromptPlan]]) -> list[str]:
    """Return the prompts that all plans have, in the order of the first plan."""
    shared = list(plans[0])
    for prompts in plans[1:]:
        shared = [text for text in shared if text in prompts]
    return shared


def _why_nothing_is_shared(
    prompts: Mapping[str, Iterable[str]], left_out_axes: Sequence[str]
) -> str:
    if left_out_axes:
        return f"the runs measure no axis in the same way: {_first_names(left_out_axes)}"
    listed = [f"{name} has {_quoted(texts)}" for name, texts in prompts.items()]
    return f"the runs share no prompt. {'; '.join(listed)}"


def _check_fields(runs: Mapping[str, AuditPlan], generated: bool) -> None:
    """Raise UsageError if the plans differ in a field that determines the scores."""
    (first, first_plan), *others = runs.items()
    fields = [*PLAN_FIELDS]
    if generated:
        fields += GENERATION_FIELDS
    if LABELS in first_plan.vqa:
        fields += LABEL_FIELDS
    for name, plan in others:
        differences = []
        for field in fields:
            value = getattr(plan, field)
            first_value = getattr(first_plan, field)
            if value != first_value:
                differences.append(f"{field} is {_format(value)} instead of {_format(first_value)}")
        if differences:
            raise UsageError(
                f"{name} and {first} cannot be compared: in {name}, {'; '.join(differences)}. "
                "Repeat one of the runs with the settings of the other run"
            )


def _axis_differences(prompts: Sequence[PromptPlan]) -> dict[str, str]:
    """Return the axes of a prompt that the plans measure differently, each with the reason."""
    versions: dict[str, list[AxisPlan]] = {}
    for prompt in prompts:
        for axis in prompt.axes:
            versions.setdefault(axis.name, []).append(axis)
    differences = {}
    for name, axes in versions.items():
        fields = [field for field in AXIS_FIELDS if _differs(axes, field)]
        if len(axes) < len(prompts):
            differences[name] = "not in all runs"
        elif fields:
            differences[name] = f"different {' and '.join(fields)}"
    return differences


def _differs(axes: Sequence[AxisPlan], field: str) -> bool:
    first = getattr(axes[0], field)
    return any(getattr(axis, field) != first for axis in axes)


def _left_out_prompts(by_text: Mapping[str, Iterable[str]], shared: Collection[str]) -> list[str]:
    """Return a warning for each run with prompts that are missing from another run."""
    warnings = []
    for name, texts in by_text.items():
        left_out = [text for text in texts if text not in shared]
        if left_out:
            warnings.append(
                f"askew leaves out prompts of {name}, because not all runs have them: "
                f"{_quoted(left_out)}"
            )
    return warnings


def _format(value: object) -> str:
    if isinstance(value, Mapping):
        value = tuple(f"{name}={_format(item)}" for name, item in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) if value else "none"
    return str(value)


def _quoted(texts: Iterable[str]) -> str:
    return _first_names(list(map(repr, texts)))


def _first_names(names: Sequence[str]) -> str:
    listed = ", ".join(names[:SHOWN])
    if len(names) > SHOWN:
        return f"{listed} and {len(names) - SHOWN} more"
    return listed
