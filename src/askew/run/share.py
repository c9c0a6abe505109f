"""One job's share of a run that is divided among several jobs.

The hash of a slice's name determines which job computes the slice, so the jobs need not
communicate. Each job writes its slices as packs to a shared folder or bucket. A pack of images is
written as soon as its images exist. A pack of answers and vectors is written as soon as its content
exists. A job can safely be killed or started twice, since existing packs are not computed again.

Each job works with a temporary store on its own machine.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self, Unpack

from askew.errors import UsageError
from askew.options import RunOptions
from askew.pages.words import plural
from askew.plan import RunPlan
from askew.run.base import Run
from askew.run.live import opened_live
from askew.run.packing import PackingStore, SliceMaker
from askew.run.recording import ImageSlice, RecordingRun
from askew.store.merge import merge
from askew.store.network import network_mount
from askew.store.pack_address import opened_packs
from askew.store.pack_lists import write_list
from askew.store.pack_storage import PackStorage

Gather = Callable[[Run], object]


@dataclass(frozen=True, slots=True)
class Share:
    """Number of a job, and total number of jobs in its run.

    Attributes
    ----------
    number
        Number of the job, from 1 to `count`.
    count
        Number of jobs.
    """

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse text such as 3/16, which stands for the third of 16 jobs.

        Raises
        ------
        UsageError
            If the text does not have this form.
        """
        number, _, count = text.partition("/")
        is_valid = number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)
        if not is_valid:
            raise UsageError(
                f"--shard is {text!r}. State the number of this job and the total number of jobs, "
                "as in --shard 3/16"
            )
        return cls(int(number), int(count))

    def has(self, part: ImageSlice) -> bool:
        """Check whether a slice belongs to this job."""
        return int(part.name[:15], 16) % self.count == self.number - 1

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


@dataclass(frozen=True, slots=True)
class ShareReport:
    """Summary of a job.

    Attributes
    ----------
    share
        Number of this job, and total number of jobs.
    address
        Address of the folder or bucket that contains the packs.
    round
        Round number, starting at 1.
    new
        Total number of packs that the job wrote in all rounds.
    existing
        Number of the job's packs in this round that already existed.
    assigned
        Number of the job's packs in this round.
    wanted
        Number of packs in this round across all jobs.
    absent
        Number of this round's packs, across all jobs, that are still missing when this job ends.
    images, assigned_images
        Number of images in this round across all jobs, and number of images in this job's share.
    has_further_round
        True if the results of this round may require more images.
    most_rounds
        Maximum number of rounds.
    note
        Message about the folder or bucket that contains the packs; empty if there is none.
    is_planned
        True if the job only counted its work and wrote nothing.
    """

    share: Share
    address: str
    round: int
    new: int
    existing: int
    assigned: int
    wanted: int
    absent: int
    images: int
    assigned_images: int
    has_further_round: bool
    most_rounds: int
    note: str = ""
    is_planned: bool = False

    def lines(self) -> list[str]:
        """Return the lines of the report, including the command to run next."""
        name = f"shard {self.share}"
        if self.round > 1 and not self.wanted:
            return [f"{name}: all rounds are complete", self._next_step()]
        if self.round > 1 or self.has_further_round:
            name += f", round {self.round} of at most {self.most_rounds}"
        if self.is_planned:
            first = (
                f"{name}: {self.assigned} of {plural(self.wanted, 'pack')} belong to this job, with "
                f"{self.assigned_images} of {plural(self.images, 'image')}"
            )
        else:
            first = f"{name}: {plural(self.new, 'pack')} made, {self.existing} existed already"
        summary = f"{first}; {self.absent} of {self.wanted} are missing"
        return [summary, self._next_step(), *filter(None, [self.note])]

    def _next_step(self) -> str:
        if self.absent and self.has_further_round:
            return (
                "more images depend on these results. When all jobs are done, start them again "
                "for the next round"
            )
        command = f"askew merge {self.address}"
        then = "then repeat this command without --shard and --packs"
        if self.absent:
            return f"when all jobs are done: {command}, {then}"
        return f"all packs exist. Next: {command}, {then}"


def make_share(plan: RunPlan, gather: Gather, /, **options: Unpack[RunOptions]) -> ShareReport:
    """Write the packs that a job is responsible for and that do not exist yet.

    Parameters
    ----------
    plan
        The plan.
    gather
        The method's gather step for this plan.
    **options
        Options of the run, including `shard` and `packs`.

    Raises
    ------
    UsageError
        If an option is missing or cannot be read.
    AskewError
        If the work fails. Finished packs are kept.
    """
    share = Share.parse(str(options.get("shard")))
    address = options.get("packs")
    if address is None:
        raise UsageError(
            "--shard needs a pack location that all jobs can write to. Use --packs FOLDER or "
            "--packs s3://BUCKET/PREFIX"
        )
    if options.get("fail_if"):
        raise UsageError(
            "--fail-if needs the results of all jobs. Use --fail-if with the command that follows "
            "askew merge"
        )
    with TemporaryDirectory(prefix="askew-shard-") as folder:
        mount = network_mount(Path(folder))
        if mount is not None:
            raise UsageError(
                f"the folder {folder} for temporary files is on a network file system ({mount[0]}). "
                "Set the environment variable TMPDIR to a folder on a local disk"
            )
        job = _Job(plan, gather, share, opened_packs(str(address)), Path(folder), options)
        return job.run()


class _Job:
    """A job that does its share of a run in a temporary folder."""

    def __init__(
        self,
        plan: RunPlan,
        gather: Gather,
        share: Share,
        packs: PackStorage,
        folder: Path,
        options: RunOptions,
    ) -> None:
        self._plan = plan
        self._gather = gather
        self._share = share
        self._packs = packs
        self._folder = folder
        self._options = options

    def run(self) -> ShareReport:
        """Carry out this job's share of the first round that is not complete."""
        taken = set[str]()
        number = 1
        most_rounds = 1
        new = 0
        with PackingStore(self._folder / "store", self._packs) as store:
            while True:
                recording = RecordingRun(store)
                self._gather(recording)
                if number == 1:
                    most_rounds += recording.most_further_rounds
                wanted = [part for part in recording.slices() if not part.is_known]
                report = self._round(number, store, recording, wanted)
                new += report.new
                paths = {path for part in wanted for path in part.paths} - taken
                is_last = not recording.has_barrier or not paths
                if report.absent or is_last or report.is_planned:
                    return replace(report, new=new, most_rounds=max(number, most_rounds))
                damaged = merge(self._packs, paths, store).damaged
                for path in damaged:
                    self._packs.set_aside(path)
                if not damaged:
                    taken |= paths
                    number += 1

    def _round(
        self, number: int, store: "PackingStore", recording: RecordingRun, wanted: list[ImageSlice]
    ) -> ShareReport:
        """Write this job's missing packs for a round."""
        paths = {path for part in wanted for path in part.paths}
        assigned = [part for part in wanted if self._share.has(part)]
        assigned_paths = {path for part in assigned for path in part.paths}
        is_planned = bool(self._options.get("dry_run"))
        existing = self._packs.paths()
        there = assigned_paths & existing
        if not is_planned:
            write_list(self._packs, self._plan.hash, number, sorted(paths))
            left = [part for part in assigned if not existing.issuperset(part.paths)]
            if left:
                with opened_live(self._plan, self._folder / "run", store, **self._options) as live:
                    maker = SliceMaker(live, store, self._packs, recording.tasks)
                    maker.make(left, existing)
            existing |= self._packs.paths()
        return ShareReport(
            share=self._share,
            address=self._packs.address,
            round=number,
            new=len((assigned_paths & existing) - there),
            existing=len(there),
            assigned=len(assigned_paths),
            wanted=len(paths),
            absent=len(paths - existing),
            images=sum(len(part.requests) for part in wanted),
            assigned_images=sum(len(part.requests) for part in assigned),
            has_further_round=recording.has_barrier,
            most_rounds=number,
            note=self._packs.note,
            is_planned=is_planned,
        )
