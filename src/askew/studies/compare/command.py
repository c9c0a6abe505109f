"""askew compare: what finished audits saw, and whether it can be compared. No model and no
instrument is loaded.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from askew import conditions, findings
from askew.errors import UsageError
from askew.findings import Head
from askew.measure.base import CAPTION
from askew.method import method_of
from askew.methods.audit import METHOD
from askew.methods.audit.findings import AuditResult
from askew.methods.audit.plan import AuditPlan
from askew.options import Flag, NamesOption, PathOption, TextsOption, names
from askew.parts.scoring import Scoring
from askew.parts.survey.instruments import LABELS, captioner_of, studio_warnings
from askew.parts.survey.missing_pictures import MissingCount, MissingPictures, uneven
from askew.parts.survey.observed import Answer, ObservedSet, observe
from askew.parts.survey.sentences import missing_sentences
from askew.plan import PromptPlan
from askew.store.files import digest_of, sha256
from askew.store.keys import question_hash
from askew.store.store import Store
from askew.studies.compare import COMPARISON_FILE
from askew.studies.compare.comparison import RUNS_FILE, Comparison, ComparisonPlan
from askew.studies.compare.findings import SCORES, ScoreDifference
from askew.studies.compare.score import ComparedRun, score
from askew.types import Missing, Picture, Prompt

MOST = 6
SHOWN = 3
"""Runs at once: as many as there are colours that everybody can tell apart; what a warning names,
the rest counted.
"""

NOT_STORED = Missing("error", "the store holds no answer")

COMPARED_BY = {"mine": "askew rank --mined", "interact": "askew graphs"}
"""Which command compares finished runs of another method."""

OF_PLAN = ("variant", "concepts", "vqa")
OF_MADE = ("images", "seed")
OF_LABELS = ("aliases", "values")
"""Fields of a plan that must be the same: of any, of one that made pictures, of one that read a
person's labels.
"""

OF_AXIS = ("values", "scale", "reference", "questions", "counterfactuals")
"""Fields of an axis that decide its scores."""

UNPAIRED = "these pictures have no seeds in common: sets are compared as independent ones, not picture by picture"
OTHER_QUESTIONS = (
    "these runs ask different questions: differences of MAD and CAS rest on what all of them ask, the MAD and CAS of "
    "each run on all that it asks, so that these columns need not subtract"
)
SAME = "{} and {} are runs of one plan on one model with the same pictures: nothing can differ"


def compare(
    *runs: str | Path,
    names: NamesOption = None,
    store: PathOption = None,
    output: PathOption = None,
    fail_if: TextsOption = None,
    json: Flag = False,
) -> Comparison:
    """Compare finished runs of the same plan on several models, every two of them.

    Differences are those of the later run less the earlier one. Pictures of the same prompt and
    seed are pairs.

    Examples:

    - `askew compare runs/base runs/new`

    - `askew compare runs/flux runs/sdxl runs/dalle --names flux,sdxl,dalle`

    Parameters
    ----------
    runs
        Folders of two to six runs of `askew audit`.
    names
        A short name for each run, separated by commas; by default its model.
    store
        Where the pictures and answers of all runs are; by default .askew beside each run.
    output
        Folder for comparison.json and comparison.html; by default beside the first run.
    fail_if
        Exit with 3 if it holds of a difference: "share.q < 0.05", "gender: mad.low > 0". May be
        repeated.
    json
        Print comparison.json instead of the table.

    Raises
    ------
    UsageError
        For runs that are not finished, or that were planned or read otherwise.
    CheckFailed
        Where a condition of `fail_if` holds.
    """
    wanted = conditions.parse(fail_if, SCORES)
    folders = [Path(run) for run in runs]
    seen = dict[Path, Path]()
    if len(folders) < 2:
        raise UsageError("a comparison needs two runs or more: askew compare RUN RUN")
    if len(folders) > MOST:
        raise UsageError(
            f"{len(folders)} runs are too many to read side by side; compare up to {MOST} at once"
        )
    for folder in folders:
        twin = seen.setdefault(folder.resolve(), folder)
        if twin is not folder:
            raise UsageError(
                f"{twin} and {folder} are one and the same run; name two different ones"
            )
    audits = [finished_run(folder, Path(store) if store else None) for folder in folders]
    found = dict(
        zip(names_of([(run.folder, run.findings) for run in audits], names), audits, strict=True)
    )
    prompts, warnings = _matched(found)
    compared = [
        ComparedRun(name, identity(run), observed_sets(run, prompts)) for name, run in found.items()
    ]
    digest = sha256(" ".join(run.plan.hash for run in audits).encode())[:8]
    place = Path(output) if output else folders[0].absolute().parent / f"comparison-{digest}"
    plan = audits[0].plan
    entries = score(compared, prompts, plan.vqa, _scoring(audits), plan.concepts == "axis")
    result = Comparison(place, found, entries, warnings).write()
    conditions.check(wanted, result.entries, result)
    return result


def load_comparison(folder: Path, store: Path | None = None) -> Comparison:
    """A comparison that was made before; `store` is that of all runs, if they moved. Raises
    UsageError.
    """
    plan = ComparisonPlan.read(folder / RUNS_FILE)
    runs = {}
    for one in plan.runs:
        own, kept = (Path(os.path.normpath(folder / place)) for place in (one.folder, one.store))
        runs[one.name] = finished_run(own, store or kept)
    path = folder / COMPARISON_FILE
    entries = findings.valid(tuple[ScoreDifference, ...], findings.results_text(path), path)
    return Comparison(folder, runs, entries, _matched(runs)[1])


def _matched(runs: Mapping[str, AuditResult]) -> tuple[list[PromptPlan], list[str]]:
    """The prompts that can be compared, and what a reader must know. Raises UsageError where
    nothing can.
    """
    generated = all(is_generated(run.findings) for run in runs.values())
    by_folder = {str(run.folder): run for run in runs.values()}
    prompts, warnings = comparable_prompts(
        {name: run.plan for name, run in by_folder.items()}, generated
    )
    versions = {
        name: {
            one: version
            for one, version in (run.findings.instruments.vqa or {}).items()
            if one != LABELS
        }
        for name, run in by_folder.items()
    }
    (first, first_version), *others = versions.items()
    for name, own in others:
        if own != first_version:
            other = _some(one for one in own if own[one] != first_version.get(one))
            raise UsageError(
                f"{name} and {first} cannot be compared, since {name} was read by another version of "
                f"{other}. Audit both with the same instruments"
            )
    seen: dict[str, str] = {}
    warnings += [
        SAME.format(twin, name)
        for name, run in runs.items()
        if (twin := seen.setdefault(identity(run), name)) != name
    ]
    compared = {prompt.text for prompt in prompts}
    counted = dict[tuple[str, str], dict[str, MissingCount]]()
    for name, run in runs.items():
        for one in run.findings.shares:
            if (
                one.set == "initial"
                and one.instrument == run.plan.vqa[0]
                and one.prompt in compared
            ):
                lost = sum(one.missing.values())
                counted.setdefault((one.prompt, one.axis), {})[name] = MissingCount(
                    lost, lost + sum(one.counts.values())
                )
    tables = [
        ({"prompt": prompt, "axis": axis}, counts) for (prompt, axis), counts in counted.items()
    ]
    # where a run lacks more answers than another, what is missing may be what differs
    apart = uneven(MissingPictures, tables, _scoring(list(runs.values())))
    warnings += missing_sentences(apart, "answers about")
    sets = {
        name: {
            (one.prompt, one.axis, one.value) for one in run.findings.sets if one.prompt in compared
        }
        for name, run in runs.items()
    }
    shared = set.intersection(
        *sets.values()
    )  # conditions of a folder may be those of some runs alone
    warnings += [
        f"{len(own - shared)} picture sets of {name} are left out, which not every run has"
        for name, own in sets.items()
        if own - shared
    ]
    warnings += [] if generated else [UNPAIRED]
    for run in runs.values():
        warnings += studio_warnings([run.findings.model.name], run.findings.instruments.vqa)
    return prompts, list(dict.fromkeys(warnings))


def names_of(runs: Sequence[tuple[Path, Head]], given: NamesOption) -> list[str]:
    """A name for each run: as given, else its model, with settings where models are the same, else
    its folder.
    """
    if given is not None:
        own = names(given)
        if (
            len(own) != len(runs)
            or len(set(own)) != len(runs)
            or not all(name.strip() for name in own)
        ):
            raise UsageError(
                f"{len(runs)} runs need {len(runs)} different names, not: {', '.join(own) or 'none'}"
            )
        return own
    plain = [found.model.name for _, found in runs]
    settings = [found.model.settings if is_generated(found) else {} for _, found in runs]
    apart = [
        {key for key, value in own.items() if any(s.get(key) != value for s in settings)}
        for own in settings
    ]
    full = [
        name + "".join(f" {key}={own[key]}" for key in own if key in told)
        for name, own, told in zip(plain, settings, apart, strict=True)
    ]
    candidates = (plain, full, [folder.resolve().name for folder, _ in runs])
    return next(
        (some for some in candidates if len(set(some)) == len(some)),
        [str(folder) for folder, _ in runs],
    )


def _scoring(runs: Sequence[AuditResult]) -> Scoring:
    """Choices for the comparison: the same whatever the order of the runs."""
    plans = [run.plan for run in runs]
    return Scoring(
        "",
        min(plan.seed for plan in plans),
        max(plan.bootstrap_samples for plan in plans),
        max(plan.confidence for plan in plans),
        plans[0].variant,
    )


def finished_run(folder: Path, store: Path | None = None) -> AuditResult:
    """The run in a folder. Raises UsageError that says why there is none, or that it is not
    finished.
    """
    method = method_of(folder).name
    if method != METHOD.name:
        other = f"; `{COMPARED_BY[method]}` compares such runs" if method in COMPARED_BY else ""
        raise UsageError(
            f"{folder} is a run of the method {method!r}; this needs a run of `askew audit`{other}"
        )
    return METHOD.load(folder, store)


def identity(run: AuditResult) -> str:
    """A name for what the run was and saw: the same for the same plan, weights and pictures."""
    sets = [
        {name: value for name, value in asdict(one).items() if name != "model"}
        for one in run.findings.sets
    ]
    content = [run.plan.hash, asdict(run.findings.model), sets]
    return digest_of(content)


def is_generated(found: Head) -> bool:
    """Whether the pictures of a run were made on request, each from its seed."""
    return any(seed is not None for one in found.sets for seed in one.seeds)


def observed_sets(run: AuditResult, prompts: Sequence[PromptPlan]) -> dict[str, list[ObservedSet]]:
    """By prompt the run's sets, with the answers that its store holds; without those of axes that
    are not in `prompts`.

    Raises UsageError for a store that does not hold the answers that the run was scored by.
    """
    planned = {prompt.text: prompt for prompt in run.plan.prompts}
    with Store(run.store, create=False) as store:
        found = {prompt.text: _sets(run, prompt, planned[prompt.text], store) for prompt in prompts}
    axes = {(prompt.text, axis.name): axis.axis() for prompt in prompts for axis in prompt.axes}
    sets = {
        (prompt, observed.name): observed for prompt, some in found.items() for observed in some
    }
    for entry in run.findings.shares:
        axis = axes.get((entry.prompt, entry.axis))
        observed = sets.get((entry.prompt, entry.set))
        if (
            axis
            and observed
            and observed.counts(entry.instrument, axis) != [*entry.counts.values()]
        ):
            raise UsageError(
                f"the store {run.store} does not hold the answers that {run.folder} was scored by: "
                "name its store (--store), or give the run's own command again"
            )
    return found


def _sets(
    run: AuditResult, prompt: PromptPlan, planned: PromptPlan, store: Store
) -> list[ObservedSet]:
    axes = [axis.axis() for axis in prompt.axes]
    captioner = captioner_of(run.plan.vqa)
    sets: list[tuple[Prompt, list[Picture | Missing]]] = []
    for one in run.findings.sets:
        if one.prompt == prompt.text and (prompt.has(one.axis) or not planned.has(one.axis)):
            # findings say of a set, not of a picture, why some are missing
            reason = (
                max(one.missing, key=lambda why: (one.missing[why], why))
                if one.missing
                else "error"
            )
            pictures = [
                Missing(reason) if name is None else Picture(name, "", one.text, seed)  # type: ignore[arg-type]
                for name, seed in zip(one.pictures, one.seeds, strict=True)
            ]
            sets.append((Prompt(one.text, one.axis, one.value), pictures))
    ids = list({one.id: None for _, some in sets for one in some if isinstance(one, Picture)})
    answers: dict[str, dict[str, list[Answer]]] = {}
    for name, fingerprint in (run.findings.instruments.vqa or {}).items():
        questions = [question for axis in axes for question in axis.questions]
        questions += [CAPTION] if name == captioner else []
        known = store.answers(fingerprint, ids, questions)
        hashes = [question_hash(one) for one in questions]
        answers[name] = {
            one: [known.get((one, asked), NOT_STORED) for asked in hashes] for one in ids
        }
    return [observe(text, some, axes, answers, captioner) for text, some in sets]


def comparable_prompts(
    runs: Mapping[str, AuditPlan], generated: bool
) -> tuple[list[PromptPlan], list[str]]:
    """Return the prompts that all plans share, with the axes that all plans ask alike.

    Parameters
    ----------
    runs
        Plans by the name of their run.
    generated
        True if the images were generated. Their number and seed must then be equal.

    Returns
    -------
    list of PromptPlan
        The prompts, in the order of the first plan.
    list of str
        Warnings about prompts and axes that are left out.

    Raises
    ------
    UsageError
        If a field of the plans differs, or if nothing can be compared.
    """
    first, first_plan = next(iter(runs.items()))
    _check_fields(runs, generated)
    asked = {name: {prompt.text: prompt for prompt in plan.prompts} for name, plan in runs.items()}
    shared = [text for text in asked[first] if all(text in prompts for prompts in asked.values())]
    common: list[PromptPlan] = []
    other_axes: list[str] = []
    for text in shared:
        prompt = asked[first][text]
        differences = _axis_differences([prompts[text] for prompts in asked.values()])
        other_axes += [f"{name} of {text!r} ({why})" for name, why in differences.items()]
        alike = tuple(axis for axis in prompt.axes if axis.name not in differences)
        if alike:
            common.append(prompt.model_copy(update={"axes": alike}))
    if not common:
        listed = "; ".join(f"{name} has {_some(map(repr, asked[name]))}" for name in asked)
        why = f"no prompt is shared: {listed}"
        if shared:
            why = f"no axis is asked alike: {_some(other_axes)}"
        raise UsageError(f"there is nothing to compare in {' and '.join(runs)}: {why}")
    warnings = _left_out_prompts(asked, shared)
    if other_axes:
        warnings.append(f"axes that are not asked alike are left out: {_some(other_axes)}")
        if first_plan.concepts == "all":
            warnings.append(OTHER_QUESTIONS)
    return common, warnings


def _check_fields(runs: Mapping[str, AuditPlan], generated: bool) -> None:
    """Raise UsageError if a field that decides the scores differs from that of the first plan."""
    (first, first_plan), *others = runs.items()
    fields = [*OF_PLAN]
    if generated:
        fields += OF_MADE
    if LABELS in first_plan.vqa:
        fields += OF_LABELS
    for name, plan in others:
        differences = []
        for field in fields:
            value = getattr(plan, field)
            first_value = getattr(first_plan, field)
            if value != first_value:
                differences.append(f"{field} {_shown(value)}, not {_shown(first_value)}")
        if differences:
            raise UsageError(
                f"{name} and {first} cannot be compared, since {name} has {'; '.join(differences)}"
            )


def _axis_differences(prompts: Sequence[PromptPlan]) -> dict[str, str]:
    """Return the axes that plans of one prompt do not ask alike, each with the reason."""
    by_plan = [{axis.name: axis for axis in prompt.axes} for prompt in prompts]
    names = dict.fromkeys(axis.name for prompt in prompts for axis in prompt.axes)
    differences: dict[str, str] = {}
    for name in names:
        versions = [axes[name] for axes in by_plan if name in axes]
        parts = [
            part
            for part in OF_AXIS
            if any(getattr(axis, part) != getattr(versions[0], part) for axis in versions)
        ]
        if len(versions) < len(prompts):
            differences[name] = "not asked by all"
        elif parts:
            differences[name] = f"other {' and other '.join(parts)}"
    return differences


def _left_out_prompts(
    asked: Mapping[str, Mapping[str, PromptPlan]], shared: Sequence[str]
) -> list[str]:
    """Return a warning for each run with prompts that not all runs have."""
    warnings = []
    for name, prompts in asked.items():
        left_out = [text for text in prompts if text not in shared]
        if left_out:
            warnings.append(f"prompts of {name} alone are left out: {_some(map(repr, left_out))}")
    return warnings


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        value = tuple(f"{name}={_shown(one)}" for name, one in value.items())
    return ", ".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)


def _some(texts: Iterable[str]) -> str:
    named = [*texts]
    return ", ".join(named[:SHOWN]) + (
        f" and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
    )
