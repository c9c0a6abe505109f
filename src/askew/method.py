"""Methods. Each method consists of one folder and one entry point in `askew.methods`.

The record `Method` contains everything that the command line, Python and the web app need to know
about a method.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from re import sub
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Unpack, cast

import numpy as np
import scipy
from numpy.typing import NDArray
from PIL import Image

from askew import conditions, findings, registry
from askew.conditions import Condition
from askew.document import Document, EstimateRow, rows
from askew.environment import environment
from askew.errors import StoreError, UsageError
from askew.findings import FORMAT, RESULTS_FILE, GatheredData, Head, LocatedEstimate, PictureSet
from askew.models.facts import remember_facts
from askew.models.file_memory import FileDigest, Lookup, remember_files
from askew.options import RunOptions, only_known, only_plan, run_options
from askew.pages.blocks import Page
from askew.pages.notes import with_notes
from askew.pages.words import plural
from askew.plan import PLAN_FILE, RunPlan, read_toml
from askew.run.annotations import read_annotations
from askew.run.base import Run
from askew.run.budget import Budget
from askew.run.count import CountingRun, counted_run
from askew.run.folder import FILES, HASH_FILE, OPENED_FILE, REPORT_FILE, changed_run_files
from askew.run.live import LiveRun, opened_run
from askew.run.refusals import refusal_warnings
from askew.store.files import SUMS_FILE, read_json, replace_sum, write_file, write_sums
from askew.store.imagefile import damage, opened
from askew.store.store import Store, default_store

if TYPE_CHECKING:
    from askew.pages.media import Media
    from askew.run.share import ShareReport

RUNS = Path("runs")
"""Default folder of runs."""

LABEL_LENGTH = 40
"""Maximum length of a plan's label in the name of a run folder."""

DECIDING = frozenset({SUMS_FILE, PLAN_FILE, HASH_FILE, RESULTS_FILE, OPENED_FILE})
"""Files in a run folder that cannot be derived from other files.

If one of these files is damaged, the run is scored again.
"""

TOLERATED_SHARE = 0.03
"""Share of missing images above which askew warns."""

DIFFERENCE_LEVEL = 0.01
"""Corrected p-value below which askew warns that a set is missing more images than others."""

LARGEST_LIST = 5
"""Maximum number of image sets that a warning lists."""

P = TypeVar("P", bound=RunPlan)
G = TypeVar("G", bound=GatheredData)
F = TypeVar("F", bound=Head)
R_co = TypeVar("R_co", bound="Result[Any, Any]", covariant=True)


@dataclass(frozen=True)
class Method(Generic[P, G, F, R_co]):
    """An analysis method: functions that `gather` the data, `score` it, and show it as a `page`.

    Attributes
    ----------
    name
        Name of the command, which is also the value of the plan's `method` field.
    plan
        Type of the plan.
    findings
        Type of the findings.
    gather
        Function that obtains images, answers and vectors through a run.
    score
        Pure function that computes the findings from the plan, the gathered data and the initial
        fields of the results.
    page
        Function that returns the content of the report.
    result
        Python class of the result. A subclass of `Result` can add shortcuts for accessing the
        method's scores.
    version
        Version of the method. The number increases whenever a change makes the same plan and images
        yield different results. Finished runs are then scored again.
    label
        Function that returns a short description of the plan, which becomes part of the run
        folder's name.
    scores
        Functions that yield the estimates of a score for --fail-if, keyed by score name. By
        default, a score has the name of its field.
    """

    name: str
    plan: type[P]
    findings: type[F]
    gather: Callable[[P, Run], G]
    score: Callable[[P, G, Head], F]
    page: "Callable[[F, Media], Page]"
    result: type[R_co]
    version: int = 1
    label: Callable[[P], str] = lambda plan: ""
    scores: Mapping[str, Callable[[F], Iterator[LocatedEstimate]]] = field(default_factory=dict)

    def run_command(
        self,
        options: Mapping[str, object],
        kind: type,
        build: Callable[[], P],
        plan: str | Path | None = None,
        read: Callable[[Path], P] | None = None,
        **request: object,
    ) -> R_co:
        """Run a plan from a file, or a plan built from a request.

        Every method's command ends by calling this function.

        Parameters
        ----------
        options
            Shared options that the user gave.
        kind
            TypedDict of the shared options that the command accepts.
        build
            Function that builds the plan from the request. askew calls this function only if there
            is no plan file.
        plan
            Path of a plan file.
        read
            Function that reads a plan file. By default, the file must contain a plan for this
            method.
        **request
            The command's own parameters, which cannot be combined with a plan file.

        Returns
        -------
        Result
            The finished run. With `dry_run`, return the amount of work instead.

        Raises
        ------
        UnknownName
            If an option does not exist.
        UsageError
            If parameters are given together with a plan file, or the request is impossible.
        """
        only_known(options, kind)
        chosen_options = run_options(options)
        with remember_files(_remembered_digests(chosen_options)):
            if plan is None:
                chosen = build()
            else:
                only_plan(options, **request)
                chosen = (read or self.plan.read)(Path(plan))
            return self.run(chosen, **chosen_options)

    def run(self, plan: P, **options: Unpack[RunOptions]) -> R_co:
        """Carry out a plan, or the remaining work of an interrupted plan.

        With `dry_run`, only count the work, and return a `CountingRun`. With `shard`, generate one
        share of the images, and return a `ShareReport`.

        Raises
        ------
        UsageError
            If the folder contains another plan.
        CheckFailed
            If a condition in `fail_if` is met.
        AskewError
            If the run fails.
        """
        wanted = self.conditions(options.get("fail_if"))
        plan_file = options.get("save_plan")
        if plan_file is not None:
            write_file(Path(plan_file), plan.to_toml().encode())
        if options.get("shard") is not None:
            return cast("R_co", self._make_share(plan, options))
        if options.get("packs") is not None:
            raise UsageError(
                "--packs works only together with --shard. Add, for example, --shard 1/4"
            )
        folder = Path(options.get("run") or self.folder(plan))
        store = _store_of(options)
        with remember_files(_remembered_digests(options)):
            if options.get("dry_run"):
                budget = Budget.parse(
                    options.get("budget"), options.get("price"), options.get("vqa_price")
                )
                prices = (budget.price, budget.call_price)
                with counted_run(plan, folder, store, *prices) as counted:
                    self.gather(plan, counted)
                return cast("R_co", counted)
            finished = self._finished(plan, folder, store)
            scored = finished
            if scored is None:
                scored = self._carry_out(plan, folder, store, options)
        result = self.result(self, plan, folder, store, scored)
        if finished is not None:
            result.restore_files()
        conditions.check(wanted, scored, result)
        return result

    def _make_share(self, plan: P, options: RunOptions) -> "ShareReport":
        """Write the packs that a job contributes to a run that is shared by several jobs."""
        from askew.run.share import make_share

        def gather(run: Run) -> None:
            self.gather(plan, run)

        with remember_files(_remembered_digests(options)):
            return make_share(plan, gather, **options)

    def _carry_out(self, plan: P, folder: Path, store: Path, options: RunOptions) -> F:
        """Gather the data, score it, and write the results and the report into the run folder."""
        started = datetime.now(UTC)
        with opened_run(plan, folder, store, **options) as live, remember_facts({}) as facts:
            gathered = self.gather(plan, live)
            live.settle()
            live.warn(*refusal_warnings(gathered.sets))
            live.warn(*missing_image_warnings(gathered.sets), *copy_warnings(gathered.sets))
            live.warn(*live.server_sentences())
            scored = self.score(plan, gathered, self._head(plan, gathered, live, started))
            live.claim()
            findings.write(scored, folder / RESULTS_FILE)
            if facts:
                write_file(folder / OPENED_FILE, json.dumps(facts).encode())
            elif (folder / OPENED_FILE).exists():
                (folder / OPENED_FILE).unlink()
            self.result(self, plan, folder, store, scored).write_files()
        return scored

    def _head(self, plan: P, gathered: G, live: LiveRun, started: datetime) -> Head:
        return Head(
            format=FORMAT,
            askew=version("askew"),
            version=self.version,
            plan=plan,
            plan_hash=plan.hash,
            environment=environment(gathered.device or live.device, started),
            warnings=tuple(live.warnings),
            model=gathered.model,
            instruments=gathered.instruments,
            sets=gathered.sets,
        )

    def folder(self, plan: P) -> Path:
        """Return the default run folder, named after the method and the plan's label and hash."""
        label = sub(r"[^a-z0-9]+", "-", self.label(plan).lower()).strip("-")
        parts = [self.name, label[:LABEL_LENGTH].strip("-"), plan.hash[:8]]
        return RUNS / "-".join(part for part in parts if part)

    def load(self, folder: Path, store: Path | None = None) -> R_co:
        """Load a finished run.

        Raises
        ------
        UsageError
            If the folder contains no finished run, or if the plan, results or checksums have
            changed.
        """
        plan = self.plan.read(folder / PLAN_FILE, follow=False)
        scored = findings.read(self.findings, folder / RESULTS_FILE)
        faults = changed_run_files(folder)
        for name in (SUMS_FILE, PLAN_FILE, RESULTS_FILE):
            if name in faults:
                raise UsageError(
                    f"{folder / name} {faults[name]}. Run `askew check {folder}` for details; "
                    "repeating the command of the run repairs it"
                )
        return self.result(self, plan, folder, store or default_store(folder), scored)

    def conditions(self, texts: str | Sequence[str] | None) -> list[Condition]:
        """Parse the conditions of --fail-if.

        Raises
        ------
        UsageError
            If a condition cannot be read.
        """
        return conditions.parse(texts, self.scores or conditions.all_scores(self.findings))

    def _finished(self, plan: P, folder: Path, store: Path) -> F | None:
        """Return the findings of a finished run; None if repeating the run could change them.

        The result is also None if data that the run needs are missing from the store.
        """
        if not (folder / RESULTS_FILE).exists() or DECIDING & changed_run_files(folder).keys():
            return None
        try:
            scored = findings.read(self.findings, folder / RESULTS_FILE)
        except UsageError:
            return None
        origin = (scored.plan_hash, scored.askew, scored.version)
        if origin != (plan.hash, version("askew"), self.version):
            return None
        facts = read_json(folder / OPENED_FILE)
        with remember_facts(facts), counted_run(plan, folder, store) as counted:
            return scored if self._would_repeat(plan, scored, counted) else None

    def _would_repeat(self, plan: P, scored: F, counted: CountingRun) -> bool:
        """Check that no work remains, and that the model and the instruments have not changed."""
        gathered = self.gather(plan, counted)
        if (gathered.model, gathered.instruments) != (scored.model, scored.instruments):
            return False
        planned = counted.store.planned(plan.hash)
        is_complete = all(
            picture.reason or (picture.path and picture.path.exists()) for picture in planned
        )
        return is_complete and not counted.work.left


def _store_of(options: RunOptions) -> Path:
    """Return the folder of the store that a run with these options uses.

    All runs in the default folder share one store.
    """
    run = Path(options.get("run") or RUNS / "any")
    return Path(options.get("store") or default_store(run))


def _remembered_digests(options: RunOptions) -> Lookup:
    """Return a function that looks up file digests in the store of a run."""

    def lookup(paths: Sequence[str]) -> Mapping[str, FileDigest]:
        # a store that cannot be read is reported when the run opens it
        with suppress(StoreError), Store(_store_of(options), create=False) as store:
            return store.digests(paths)
        return {}

    return lookup


@dataclass(frozen=True)
class Result(Document, Generic[P, F]):
    """A finished run.

    Attributes
    ----------
    method
        The method.
    plan
        The plan.
    folder
        The run folder.
    store
        Folder of the store that contains the images.
    findings
        The findings, as in results.json.
    """

    method: Method[P, Any, F, Any]
    plan: P
    folder: Path
    store: Path
    findings: F

    def __init_subclass__(cls) -> None:
        """Use the short `repr` of `Result` in all subclasses.

        Without it, a dataclass's `repr` would list all fields.
        """
        super().__init_subclass__()
        cls.__repr__ = Result.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        prompts = {image_set.prompt for image_set in self.findings.sets}
        counted = "1 prompt" if len(prompts) == 1 else f"{len(prompts)} prompts"
        title = f"{self.method.name} of {self.findings.model.name}, {counted}"
        return f"<{type(self).__name__}: {title}. {self.page.answer} Run folder: {self.folder}>"

    @cached_property
    def page(self) -> Page:
        """The content of the report."""
        return with_notes(self.method.page(self.findings, self), read_annotations(self.folder))

    @property
    def report(self) -> Path:
        """Path of the report."""
        return self.folder / REPORT_FILE

    def write_report(self) -> Path:
        """Write the report as a single HTML file and return its path."""
        path = super().write_report()
        replace_sum(path)
        return path

    def extra_files(self) -> Mapping[str, bytes]:
        """Return the files that the method adds to the run folder, keyed by file name."""
        return {}

    def write_files(self) -> None:
        """Write all files that are derived from the results, and the checksums of all files.

        Raises
        ------
        RunError
            If a file cannot be written.
        """
        extra = self.extra_files()
        for name, content in extra.items():
            write_file(self.folder / name, content)
        super().write_report()
        names = [name for name in FILES if (self.folder / name).exists()]
        write_sums(self.folder, [*names, *extra])

    def restore_files(self) -> None:
        """Rewrite the files derived from the results if any of them is missing or damaged."""
        names = (REPORT_FILE, *self.extra_files())
        is_whole = all((self.folder / name).exists() for name in names)
        if not is_whole or changed_run_files(self.folder):
            self.write_files()

    @property
    def numbers(self) -> Path:
        """Path of results.json."""
        return self.folder / RESULTS_FILE

    @property
    def warnings(self) -> Sequence[str]:
        """Warnings about the findings."""
        return self.findings.warnings

    @property
    def has_estimates(self) -> bool:
        """True if at least one score could be computed."""
        return next(findings.scored(self.findings), None) is not None

    def estimates(self) -> list[EstimateRow]:
        """Return a row for every estimate, in the order of results.json."""
        return rows(findings.scored(self.findings), self.method.name, self.findings.model.name)

    def picture(self, name: str) -> Image.Image | None:
        """Return the run's image with this id; None if the image file is missing or damaged."""
        if name not in self._files:
            with Store(self.store, create=False) as store:
                self._files.update(store.known_files([name]))
        path = self._files.get(name)
        if path is None or not path.exists():
            return None
        try:
            return opened(path)
        except Exception:  # decoders raise all kinds of exceptions on garbage
            self._damaged[name] = path
            return None

    @property
    def image_warnings(self) -> Sequence[str]:
        """Warnings about damaged images, which appear as empty cells on the page."""
        if not self._damaged:
            return ()
        is_default = self.store == default_store(self.folder)
        store = "" if is_default else f" --store {self.store}"
        faults = [damage(path) for path in list(self._damaged.values())[:LARGEST_LIST]]
        more = len(self._damaged) - len(faults)
        listed = "; ".join(faults) + (f"; and {more} more" if more else "")
        return (
            f"the page does not show {plural(len(self._damaged), 'damaged image')}: {listed}. To "
            f"replace damaged images, run askew check {self.folder}{store} --repair, and then the "
            "command of the run",
        )

    @cached_property
    def _damaged(self) -> dict[str, Path]:
        """Paths of image files that could not be opened, keyed by image id."""
        return {}

    def rows(self, fingerprint: str, names: Sequence[str]) -> Mapping[str, NDArray[np.float32]]:
        """Return stored rows, such as vectors or maps, keyed by image id."""
        with Store(self.store, create=False) as store:
            return store.vectors(fingerprint, names)

    @cached_property
    def _files(self) -> dict[str, Path]:
        """Paths of images by id.

        Initially, the dictionary contains the paths of all images in the image sets.
        """
        names = [name for image_set in self.findings.sets for name in image_set.pictures if name]
        with Store(self.store, create=False) as store:
            return store.known_files(names)


def missing_image_warnings(sets: Sequence[PictureSet]) -> list[str]:
    """Return warnings about missing images.

    The first warning concerns a large share of missing images. The second warning concerns image
    sets that are missing significantly more images than the other sets. For the second warning,
    Fisher's exact test (with Bonferroni correction) compares each set with all other sets.
    """
    reasons = sum((Counter(image_set.missing) for image_set in sets), Counter())
    missing = reasons.total()
    planned = sum(image_set.n for image_set in sets)
    warnings = []
    if missing > TOLERATED_SHARE * planned:
        listed = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
        warnings.append(
            f"{missing} of {planned} images are missing ({listed}). All scores are computed from "
            "the other images"
        )
    lacking = [
        f"{_title(image_set)!r} ({sum(image_set.missing.values())} of {image_set.n})"
        for image_set in sets
        if _lacks_more(image_set, missing, planned, len(sets))
    ]
    if lacking:
        listed = ", ".join(lacking[:LARGEST_LIST])
        more = len(lacking) - LARGEST_LIST
        if more > 0:
            listed += f" and {more} more sets"
        warnings.append(
            f"significantly more images are missing from {listed} than from the other image sets. "
            "These missing images may cause differences from the other sets"
        )
    return warnings


def copy_warnings(sets: Sequence[PictureSet]) -> list[str]:
    """Return warnings about identical images, which count as one image.

    If all images for a prompt are identical, the model probably ignores its seeds.
    """
    repeated = [image_set for image_set in sets if image_set.copies]
    ignoring = [image_set for image_set in repeated if _ignores_seeds(image_set)]
    warnings = []
    if ignoring:
        warnings.append(
            f"the pipeline generates the same image for every seed: {_distinct_counts(ignoring)}. "
            "Identical images count once. Check that the pipeline uses the seed of each request"
        )
    others = [image_set for image_set in repeated if image_set not in ignoring]
    if others:
        warnings.append(f"some images are identical and count once: {_distinct_counts(others)}")
    return warnings


def _ignores_seeds(image_set: PictureSet) -> bool:
    """Check whether all images in a set are identical although they were generated from seeds."""
    seeds = [seed for seed in image_set.seeds if seed is not None]
    return len(seeds) == 1 and len(image_set.pictures) - image_set.pictures.count(None) == 1


def _distinct_counts(sets: Sequence[PictureSet]) -> str:
    """State how many distinct images the first sets contain, and how many more sets there are."""
    counts = []
    for image_set in sets[:LARGEST_LIST]:
        distinct = sum(name is not None for name in image_set.pictures)
        total = distinct + image_set.copies
        counts.append(f"{distinct} distinct of {total} images of {_title(image_set)!r}")
    more = len(sets) - LARGEST_LIST
    if more > 0:
        counts.append(f"and {more} more sets")
    return ", ".join(counts)


def _lacks_more(image_set: PictureSet, missing: int, planned: int, tests: int) -> bool:
    """Test whether a set is missing significantly more images than the other sets combined."""
    absent = sum(image_set.missing.values())
    if not absent:
        return False
    present = image_set.n - absent
    rest_absent = missing - absent
    rest_present = planned - image_set.n - rest_absent
    table = [[absent, present], [rest_absent, rest_present]]
    p = scipy.stats.fisher_exact(table, alternative="greater").pvalue
    return bool(p * tests < DIFFERENCE_LEVEL)


def _title(image_set: PictureSet) -> str:
    is_condition = image_set.value and image_set.text == image_set.prompt
    return f"{image_set.text}, {image_set.value}" if is_condition else image_set.text


def load(run: str | Path, store: str | Path | None = None) -> Result[Any, Any]:
    """Load a finished run of any method.

    Parameters
    ----------
    run
        The run folder.
    store
        Store that contains the run's images. By default, the store is `.askew` next to the run
        folder.

    Raises
    ------
    UsageError
        If the folder contains no finished run.
    """
    folder = Path(run)
    return cast("Result[Any, Any]", method_of(folder).load(folder, Path(store) if store else None))


def method_of(folder: Path) -> Method[Any, Any, Any, Any]:
    """Return the method to which the plan in a run folder belongs.

    Raises
    ------
    UsageError
        If the folder does not exist, or contains no plan.
    """
    if not folder.is_dir():
        raise UsageError(f"there is no run folder {folder}")
    if not (folder / PLAN_FILE).exists():
        raise UsageError(f"{folder} is not a run folder: it contains no {PLAN_FILE}")
    plan = read_toml(folder / PLAN_FILE, follow=False)
    name = str(plan.get("method", "audit"))
    return cast("Method[Any, Any, Any, Any]", registry.named("method", name))
