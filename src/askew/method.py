"""A method: one folder, one entry point in `askew.methods`. What the command line, Python and the
web need of it.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from askew.errors import UsageError
from askew.findings import FORMAT, RESULTS_FILE, GatheredData, Head, LocatedEstimate, PictureSet
from askew.models.facts import remember_facts
from askew.options import RunOptions
from askew.pages.blocks import Page
from askew.plan import PLAN_FILE, RunPlan, read_toml
from askew.run.base import Run
from askew.run.count import counted_run
from askew.run.live import opened_run
from askew.store.files import SUMS_FILE, changed_files, read_json, write_file, write_sums
from askew.store.imagefile import opened
from askew.store.store import Store, default_store

if TYPE_CHECKING:
    from askew.pages.media import Media

REPORT_FILE = "report.html"
OPENED_FILE = "opened.json"
TOLERATED = 0.03
DIFFERENT = 0.01
MOST_TOLD = 5
"""The share of missing pictures from which a reader is warned, and the p at which a set is said to
lack more.
"""

P = TypeVar("P", bound=RunPlan)
G = TypeVar("G", bound=GatheredData)
F = TypeVar("F", bound=Head)
R_co = TypeVar("R_co", bound="Result[Any, Any]", covariant=True)


@dataclass(frozen=True)
class Method(Generic[P, G, F, R_co]):
    """How a kind of question is answered: `gather` all that costs, `score` it, show it as a `page`.

    name     as in `askew NAME` and in the plan's field `method`
    plan     the kind of its plan; `findings` that of its findings
    gather   everything that costs, by the verbs of a run
    score    from the plan and what was gathered to findings, which begin with the head it is given; pure
    page     what to show of findings
    result   what Python gets; a subclass of `Result` may add short ways to its scores
    version  greater when the same plan and pictures would give other numbers: finished runs are scored again
    label    a few words of the plan that name a run's folder
    scores   by the name of a score in --fail-if, where it stands; every estimate by its field's name unless given
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

    def run(self, plan: P, **options: Unpack[RunOptions]) -> R_co:
        """Carry a plan out, or what is left of it. With `dry_run`, a `Count` of what is to be done
        comes instead.

        Raises UsageError for a folder with another plan, CheckFailed by `fail_if`, other
        AskewErrors where a run fails.
        """
        wanted = self.conditions(options.get("fail_if"))
        folder = Path(options.get("run") or self.folder(plan))
        store = Path(options.get("store") or default_store(folder))
        if options.get("dry_run"):
            with counted_run(plan, folder, store) as counted:
                self.gather(plan, counted)
            return cast("R_co", counted)
        found = self._finished(plan, folder, store)
        if found is None:
            started = datetime.now(UTC)
            with opened_run(plan, folder, store, **options) as live, remember_facts({}) as known:
                gathered = self.gather(plan, live)
                live.settle()
                live.warn(*lost(gathered.sets))
                head = Head(
                    FORMAT,
                    version("askew"),
                    self.version,
                    plan,
                    plan.hash,
                    environment(gathered.device, started),
                    tuple(live.warnings),
                    gathered.model,
                    gathered.instruments,
                    gathered.sets,
                )
                found = self.score(plan, gathered, head)
                live.claim()
                findings.write(found, folder / RESULTS_FILE)
                write_sums(folder, PLAN_FILE, RESULTS_FILE)
                self.result(self, plan, folder, store, found).write_report()
                if known:
                    write_file(folder / OPENED_FILE, json.dumps(known).encode())
        result = self.result(self, plan, folder, store, found)
        conditions.check(wanted, found, result)
        return result

    def folder(self, plan: P) -> Path:
        """Where a plan runs unless told otherwise: its label with plain letters, or the method, and
        the plan's hash.
        """
        name = sub(r"[^a-z0-9]+", "-", self.label(plan).lower()).strip("-")[:40].strip("-")
        return Path("runs") / f"{name or self.name}-{plan.hash[:8]}"

    def load(self, folder: Path, store: Path | None = None) -> R_co:
        """A finished run. Raises UsageError for a folder that holds none."""
        plan = self.plan.read(folder / PLAN_FILE)
        found = findings.read(self.findings, folder / RESULTS_FILE)
        for name, why in changed_files(folder).items():
            raise UsageError(
                f"{folder / name} {why}. `askew check {folder}` says more; the same command mends it"
            )
        return self.result(self, plan, folder, store or default_store(folder), found)

    def conditions(self, texts: str | Sequence[str] | None) -> list[Condition]:
        """The conditions of --fail-if. Raises UsageError for one that cannot be read."""
        return conditions.parse(texts, self.scores or conditions.every(self.findings))

    def _finished(self, plan: P, folder: Path, store: Path) -> F | None:
        """What a finished run found, if the same plan, instruments and code would find it again;
        else None.

        All that it needs must lie in the store. What follows from answers was done, as its results
        tell.
        """
        files = (RESULTS_FILE, REPORT_FILE, SUMS_FILE)
        if not all((folder / name).exists() for name in files) or changed_files(folder):
            return None
        try:
            found = findings.read(self.findings, folder / RESULTS_FILE)
        except UsageError:
            return None
        if (found.plan_hash, found.askew, found.version) != (
            plan.hash,
            version("askew"),
            self.version,
        ):
            return None
        with (
            remember_facts(read_json(folder / OPENED_FILE)),
            counted_run(plan, folder, store) as counted,
        ):
            gathered = self.gather(plan, counted)
            same = (gathered.model, gathered.instruments) == (found.model, found.instruments)
            whole = all(
                one.reason or (one.path and one.path.exists())
                for one in counted.store.planned(plan.hash)
            )
        return found if same and whole and not counted.work.left else None


@dataclass(frozen=True)
class Result(Document, Generic[P, F]):
    """A finished run: its plan, its folder, the store that holds its pictures, and what was found."""

    method: Method[P, Any, F, Any]
    plan: P
    folder: Path
    store: Path
    findings: F

    @cached_property
    def page(self) -> Page:
        """What the report shows."""
        return self.method.page(self.findings, self)

    @property
    def report(self) -> Path:
        """Where the page lies."""
        return self.folder / REPORT_FILE

    @property
    def numbers(self) -> Path:
        """Where the findings lie as JSON."""
        return self.folder / RESULTS_FILE

    @property
    def warnings(self) -> Sequence[str]:
        """What a reader must know."""
        return self.findings.warnings

    def estimates(self) -> list[EstimateRow]:
        """A row for every estimate, in the order of results.json."""
        return rows(findings.scored(self.findings), self.method.name, self.findings.model.name)

    def picture(self, name: str) -> Image.Image | None:
        """A picture of this run by its id; None if its file is gone."""
        if name not in self._files:
            with Store(self.store, create=False) as store:
                self._files.update(store.known_files([name]))
        return opened(path) if (path := self._files.get(name)) and path.exists() else None

    def rows(self, fingerprint: str, names: Sequence[str]) -> Mapping[str, NDArray[np.float32]]:
        """Stored rows of pictures by their ids: vectors, maps."""
        with Store(self.store, create=False) as store:
            return store.vectors(fingerprint, names)

    @cached_property
    def _files(self) -> dict[str, Path]:
        """Where pictures lie: at first those of the sets, looked up at once."""
        with Store(self.store, create=False) as store:
            return store.known_files(
                [name for one in self.findings.sets for name in one.pictures if name]
            )


def lost(sets: Sequence[PictureSet]) -> list[str]:
    """Warnings of many missing pictures, and of sets that lack more than the others by more than
    chance.

    The second is Fisher's exact test of each set against the rest, times the number of sets.
    """
    reasons = sum((Counter(one.missing) for one in sets), Counter())
    said = []
    missing = reasons.total()
    planned = sum(one.n for one in sets)
    if missing > TOLERATED * planned:
        told = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
        said.append(
            f"{missing} of {planned} pictures are missing ({told}): every score is of the others alone"
        )
    uneven = []
    for one in sets:
        own = sum(one.missing.values())
        table = [[own, one.n - own], [missing - own, planned - one.n - missing + own]]
        if (
            own
            and scipy.stats.fisher_exact(table, alternative="greater").pvalue * len(sets)
            < DIFFERENT
        ):
            name = one.text + (f", {one.value}" if one.value and one.text == one.prompt else "")
            uneven.append(f"{name!r} ({own} of {one.n})")
    if uneven:
        more = f" and {len(uneven) - MOST_TOLD} more sets" if len(uneven) > MOST_TOLD else ""
        said.append(
            f"more pictures are missing than of the other sets: {', '.join(uneven[:MOST_TOLD])}{more}; what is "
            "seen of these may differ for that reason alone"
        )
    return said


def load(run: str | Path, store: str | Path | None = None) -> Result[Any, Any]:
    """A finished run of any method. Its pictures are looked up in the store, by default .askew
    beside the run.

    Raises UsageError for a folder that holds no finished run.
    """
    folder = Path(run)
    return cast("Result[Any, Any]", method_of(folder).load(folder, Path(store) if store else None))


def method_of(folder: Path) -> Method[Any, Any, Any, Any]:
    """The method of the plan in a run folder. Raises UsageError."""
    if not folder.is_dir():
        raise UsageError(f"there is no run folder {folder}")
    if not (folder / PLAN_FILE).exists():
        raise UsageError(f"{folder} is no run folder: it holds no {PLAN_FILE}")
    plan = read_toml(folder / PLAN_FILE)
    return cast(
        "Method[Any, Any, Any, Any]", registry.named("method", str(plan.get("method", "audit")))
    )
