"""Command `watch`: audit the checkpoints of a folder, with an alarm that stays valid."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from rich.console import Group

from askew import options as shared
from askew.errors import CheckFailed, UsageError
from askew.methods.audit.command import audit
from askew.methods.audit.findings import AuditResult
from askew.pages.blocks import Table
from askew.pages.terminal import FittedTable, UnbrokenText
from askew.pages.words import percent, plural, shorten
from askew.stats.watching import spent_level
from askew.studies.compare.runs import finished_run, is_generated
from askew.studies.watch.changes import CheckpointChange, axis_changes
from askew.studies.watch.checkpoints import (
    Checkpoint,
    checkpoints_in,
    filled,
    new_checkpoints,
    read_history,
    write_history,
)

MODEL = "diffusers/{checkpoint}"
IMAGES = 24
NO_SEEDS = (
    "its images have no seeds, so they cannot be paired with those of the first checkpoint; name a "
    "model that makes images from seeds"
)


class WatchOptions(
    shared.PromptOptions,
    shared.VQAOptions,
    shared.SettingOptions,
    shared.StatisticsOptions,
    total=False,
):
    """Options that the audits of all checkpoints share."""


@dataclass(frozen=True)
class WatchedCheckpoint:
    """A checkpoint, and what changed since the first one.

    Attributes
    ----------
    name
        Its name.
    level
        Level of the tests of each axis, 0 for the first checkpoint.
    changes
        The clearest change of each axis, empty for the first checkpoint.
    """

    name: str
    level: float
    changes: tuple[CheckpointChange, ...]

    @property
    def alarms(self) -> tuple[CheckpointChange, ...]:
        """Changes that are significant at the level."""
        return tuple(change for change in self.changes if change.p <= self.level)


@dataclass(frozen=True)
class Watch:
    """All checkpoints that were watched, in their order.

    Attributes
    ----------
    folder
        Folder of the audits.
    checkpoints
        The checkpoints. All are compared with the first.
    """

    folder: Path
    checkpoints: tuple[WatchedCheckpoint, ...]

    @property
    def alarms(self) -> tuple[str, ...]:
        """Sentences about significant changes."""
        return tuple(
            self._alarm(checkpoint, change)
            for checkpoint in self.checkpoints
            for change in checkpoint.alarms
        )

    def _alarm(self, checkpoint: WatchedCheckpoint, change: CheckpointChange) -> str:
        first = self.checkpoints[0].name
        return (
            f"{checkpoint.name} differs from {first} on {change.axis}, most clearly for "
            f"{change.prompt!r}: {change.value} {percent(change.first)} in {first}, "
            f"{percent(change.now)} in {checkpoint.name}. Next: askew compare {self.folder / first} "
            f"{self.folder / checkpoint.name}"
        )

    def __rich__(self) -> Group:
        """Show the checkpoints as a table, and the number of alarms."""
        first, *others = self.checkpoints
        if not others:
            text = f"{first.name} is the first checkpoint. Later checkpoints are compared with it"
            return Group(UnbrokenText(text))
        rows = [
            (
                checkpoint.name,
                change.axis,
                shorten(change.prompt, 40),
                change.value,
                percent(change.first),
                percent(change.now),
                f"{change.changed} of {change.pairs}",
                f"{change.p:.2g}",
                f"{checkpoint.level:.2g}",
            )
            for checkpoint in others
            for change in checkpoint.changes
        ]
        table = Table(
            caption=f"Checkpoints compared with {first.name}, on images that have the same seed",
            columns=(
                "checkpoint",
                "axis",
                "prompt",
                "value",
                "first",
                "now",
                "changed",
                "p",
                "level",
            ),
            rows=tuple(rows),
            labels=2,
            note="The clearest change of each axis. An alarm needs a p of at most the level.",
        )
        answer = plural(len(self.alarms), "alarm")
        if not self.alarms:
            answer = (
                f"No checkpoint differs significantly from {first.name}. More --images per prompt "
                "detect smaller changes"
            )
        return Group(FittedTable(table), UnbrokenText(answer))


def watch(
    checkpoints: str | Path,
    /,
    prompts: shared.PromptsArgument = (),
    *,
    model: str = MODEL,
    axes: shared.NamesOption = None,
    images: int = IMAGES,
    pattern: str | None = None,
    alpha: float = 0.05,
    interval: float | None = None,
    run: shared.PathOption = None,
    store: shared.PathOption = None,
    **options: Unpack[WatchOptions],
) -> Watch:
    """Audit each new checkpoint of a folder, and raise an alarm if its biases have changed.

    The first checkpoint is the baseline. askew compares images that have the same seed. However
    many checkpoints follow, the probability of any false alarm is at most --alpha. If you repeat
    the command, it audits only new checkpoints. The exit code is 3 after an alarm.

    Examples
    --------
    `askew watch checkpoints "a photo of a nurse" --axes gender,age`

    `askew watch loras "a photo of a nurse" --model diffusers/ID -M lora={checkpoint} --interval 60`

    Parameters
    ----------
    checkpoints
        Folder in which checkpoints appear: diffusers pipelines and safetensors files.
    prompts
        Prompts to audit on each checkpoint.
    model
        Model of a checkpoint. {checkpoint} stands for its path and {name} for its name, here and in
        -M. [default: diffusers/{checkpoint}]
    axes
        Bias axes, separated by commas. [default: as for `askew audit`]
    images
        Images per prompt and checkpoint. [default: 24]
    pattern
        Names of checkpoints, such as "checkpoint-*".
    alpha
        Probability of a false alarm about any axis of any checkpoint. [default: 0.05]
    interval
        Look again after this number of seconds, until Ctrl-C or an alarm. By default look once.
    run
        Folder of the audits. [default: runs/watch-FOLDER]
    store
        Store of images and answers. [default: .askew in the folder of the audits]

    Returns
    -------
    Watch
        The checkpoints, and what changed since the first one.

    Raises
    ------
    UsageError
        If a checkpoint cannot be audited, or has changed since it was watched.
    CheckFailed
        After an alarm.
    """
    if not 0 < alpha < 1:
        raise UsageError(f"--alpha {alpha:g} is out of range. Give a number between 0 and 1")
    if interval is not None and interval <= 0:
        raise UsageError(
            f"--interval {interval:g} is out of range. Give a number of seconds above 0"
        )
    if model.startswith("folder/"):
        raise UsageError(f"--model {model}: {NO_SEEDS}")
    folder = Path(run) if run else Path("runs") / f"watch-{Path(checkpoints).resolve().name}"
    settings = {**options, "axes": axes, "images": images, "store": store}
    given = {name: value for name, value in settings.items() if value is not None}
    series = _Series(
        checkpoints=Path(checkpoints),
        pattern=pattern,
        folder=folder,
        alpha=alpha,
        model=model,
        prompts=prompts,
        settings=given,
    )
    return series.look_until_an_alarm(interval)


@dataclass(frozen=True)
class _Series:
    """The audits of a series of checkpoints.

    Attributes
    ----------
    checkpoints, pattern
        Folder of the checkpoints, and their names.
    folder
        Folder of the audits.
    alpha
        Level of the whole series.
    model
        Template of the model.
    prompts, settings
        Arguments of `audit`, in which settings are templates, too.
    """

    checkpoints: Path
    pattern: str | None
    folder: Path
    alpha: float
    model: str
    prompts: str | Sequence[str]
    settings: dict[str, object]

    def look_until_an_alarm(self, interval: float | None) -> Watch:
        """Look once, or again and again. Raises CheckFailed after an alarm.

        With an interval, a checkpoint is audited once its files are the same at two looks.
        """
        history = read_history(self.folder)
        audits = {entry.name: self._finished(entry.name) for entry in history}
        watched = self._watch(audits)
        before: list[Checkpoint] = []
        while True:
            present = new_checkpoints(history, checkpoints_in(self.checkpoints, self.pattern))
            ready = [entry for entry in present if interval is None or entry in before]
            for entry in ready:
                audits[entry.name] = self._audit(entry.name)
                history.append(entry)
                write_history(self.folder, history)
            if ready:
                watched = self._watch(audits)
            if watched.alarms:
                raise CheckFailed("; ".join(watched.alarms), watched)
            if interval is None:
                break
            before = present
            time.sleep(interval)
        if not watched.checkpoints:
            raise UsageError(
                f"the folder {str(self.checkpoints)!r} contains no checkpoint: no pipeline of "
                'diffusers and no safetensors file. Name others with --pattern, as in "step-*"'
            )
        return watched

    def _finished(self, name: str) -> AuditResult:
        """Load the audit of a checkpoint, whose files may be gone."""
        store = self.settings.get("store")
        return finished_run(self.folder / name, None if store is None else Path(str(store)))

    def _audit(self, name: str) -> AuditResult:
        """Audit a checkpoint."""
        path = self.checkpoints / name
        arguments = {key: filled(value, path) for key, value in self.settings.items()}
        result = audit(
            self.prompts,
            str(filled(self.model, path)),
            counterfactuals="none",
            embedder="none",
            run=self.folder / name,
            **arguments,  # type: ignore[arg-type]
        )
        if not is_generated(result.findings):
            raise UsageError(f"--model {filled(self.model, path)}: {NO_SEEDS}")
        return result

    def _watch(self, audits: dict[str, AuditResult]) -> Watch:
        """Compare all checkpoints with the first."""
        watched = []
        for number, (name, result) in enumerate(audits.items()):
            level = 0.0
            changes: list[CheckpointChange] = []
            if number:
                changes = axis_changes(next(iter(audits.values())), result)
                level = spent_level(self.alpha, number) / max(len(changes), 1)
            watched.append(WatchedCheckpoint(name=name, level=level, changes=tuple(changes)))
        return Watch(folder=self.folder, checkpoints=tuple(watched))
