"""Load finished runs for a comparison, including their names, images and stored answers."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from askew.errors import UsageError
from askew.findings import Head
from askew.method import method_of
from askew.methods.audit import METHOD
from askew.methods.audit.findings import AuditResult
from askew.methods.audit.stored import digest_of_content, is_generated
from askew.methods.audit.tibet import PictureVectors
from askew.methods.classify.findings import ClassificationResult
from askew.methods.edit.findings import EditingResult
from askew.options import NamesOption, names
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet
from askew.store.store import Store
from askew.types import Picture

TaskRun = ClassificationResult | EditingResult
"""A finished run of a downstream task."""

ComparedResult = AuditResult | TaskRun
"""A finished run that `askew compare` accepts."""

COMPARED_BY = {"mine": "askew rank --mined", "interact": "askew graphs"}
"""Command that compares the runs of each method that `askew compare` does not accept."""

COMPARABLE = ("audit", "classify", "edit")
"""Methods whose runs `askew compare` accepts."""


def compared_method(folders: Sequence[Path]) -> str:
    """Return the method of the runs in these folders. All runs must have the same method.

    Parameters
    ----------
    folders
        The run folders.

    Raises
    ------
    UsageError
        If `askew compare` does not support the method of a run, or if the methods differ.
    """
    methods = [method_of(folder).name for folder in folders]
    for folder, method in zip(folders, methods, strict=True):
        if method not in COMPARABLE:
            other = ""
            if method in COMPARED_BY:
                other = f". `{COMPARED_BY[method]}` compares runs of `askew {method}`"
            raise UsageError(
                f"{folder} is a run of `askew {method}`; `askew compare` needs runs of "
                f"`askew audit`, `askew classify` or `askew edit`{other}"
            )
        if method != methods[0]:
            raise UsageError(
                f"{folders[0]} is a run of `askew {methods[0]}`, and {folder} is a run of "
                f"`askew {method}`. Give runs of the same method"
            )
    return methods[0]


def finished_run(folder: Path, store: Path | None = None) -> AuditResult:
    """Load the finished audit in a folder.

    Parameters
    ----------
    folder
        The run folder.
    store
        Store of the run. By default, askew uses the store next to the run.

    Raises
    ------
    UsageError
        If the folder contains no audit, or the audit is not finished.
    """
    compared_method([folder])
    return METHOD.load(folder, store)


def run_names(runs: Sequence[tuple[Path, Head]], given: NamesOption) -> list[str]:
    """Return a different name for each run.

    Parameters
    ----------
    runs
        Folder and findings of each run.
    given
        Names given on the command line. By default, a run is named after its model. If two runs
        used the same model, the settings in which they differ are added to the names. If the names
        are still not unique, runs are named after their folders.

    Raises
    ------
    UsageError
        If a name in `given` is empty or missing, or if two names are equal.
    """
    if given is not None:
        return _checked_names(names(given), len(runs))
    models = [head.model.name for _, head in runs]
    folders = [folder.resolve().name for folder, _ in runs]
    for candidates in (models, _names_with_settings([head for _, head in runs]), folders):
        if len(set(candidates)) == len(candidates):
            return candidates
    return [str(folder) for folder, _ in runs]


def _checked_names(given: list[str], count: int) -> list[str]:
    """Return the given names. Raise UsageError unless each run has a different name."""
    if len(given) != count or len(set(given)) != count:
        listed = ", ".join(given) if given else "none"
        raise UsageError(f"{count} runs need {count} different names. --names contains: {listed}")
    return given


def _names_with_settings(heads: Sequence[Head]) -> list[str]:
    """Return a name for each run: its model and the settings that differ between the runs."""
    settings = [head.model.settings if is_generated(head) else {} for head in heads]
    texts = []
    for head, of_run in zip(heads, settings, strict=True):
        text = head.model.name
        for setting, value in of_run.items():
            if any(other.get(setting) != value for other in settings):
                text += f" {setting}={value}"
        texts.append(text)
    return texts


def scoring_of(runs: Sequence[AuditResult]) -> Scoring:
    """Return settings for the comparison. The names do not depend on the order of the runs."""
    plans = [run.plan for run in runs]
    return Scoring(
        instrument="",
        seed=min(plan.seed for plan in plans),
        draws=max(plan.bootstrap_samples for plan in plans),
        level=max(plan.confidence for plan in plans),
        variant=plans[0].variant,
    )


def content_digest(run: ComparedResult) -> str:
    """Return a digest that is the same for runs with the same plan, weights and images."""
    return digest_of_content(run.plan.hash, run.findings)


def stored_vectors(run: AuditResult, sets: Mapping[str, Sequence[ObservedSet]]) -> PictureVectors:
    """Return the embedding vector of each image of a run, keyed by image id.

    If the run used no embedder, no vectors are returned.

    Parameters
    ----------
    run
        A finished audit.
    sets
        Image sets of the run, keyed by prompt.
    """
    fingerprints = list((run.findings.instruments.embedder or {}).values())
    if not fingerprints:
        return {}
    observed = [each for of_prompt in sets.values() for each in of_prompt]
    pictures = [picture for each in observed for picture in each.pictures]
    ids = dict.fromkeys(picture.id for picture in pictures if isinstance(picture, Picture))
    with Store(run.store, create=False) as store:
        return store.vectors(fingerprints[0], ids)
