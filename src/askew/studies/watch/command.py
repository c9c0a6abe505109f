"""The command `askew watch`, which audits checkpoints and raises an alarm if bias changes.

The probability of any false alarm has an upper bound, no matter how many checkpoints follow.
"""

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
from askew.methods.audit.stored import is_generated
from askew.pages.blocks import Table
from askew.pages.terminal import FittedTable, UnbrokenText
from askew.pages.words import percent, plural, shorten
from askew.stats.watching import spent_level
from askew.studies.compare.runs import finished_run
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
    "the images have no seeds, so they cannot be paired with images of the first checkpoint. "
    "Name a model that generates images from seeds"
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
    """A checkpoint and its changes since the first checkpoint.

    Attributes
    ----------
    name
        Name of the checkpoint.
    level
        Significance level of the tests on each axis; 0 for the first checkpoint.
    changes
        The change with the smallest p-value on each axis; empty for the first checkpoint.
    """

    name: str
    level: float
    changes: tuple[CheckpointChange, ...]

    @property
    def alarms(self) -> tuple[CheckpointChange, ...]:
        """Changes whose p-value is at most the significance level."""
        return tuple(change for change in self.changes if change.p <= self.level)


@dataclass(frozen=True)
class Watch:
    """All checkpoints that were watched, in the order in which they were watched.

    Attributes
    ----------
    folder
        Folder of the audits.
    checkpoints
        The checkpoints. Each later checkpoint is compared with the first checkpoint.
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
        """Return a table of the changes at each checkpoint, and the number of alarms."""
        first, *others = self.checkpoints
        if not others:
            text = (
                f"{first.name} is the first checkpoint. "
                "askew will compare later checkpoints with this checkpoint"
            )
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
            note="The table shows the clearest change on each axis. askew raises an alarm if p is at "
            "most the level.",
        )
        answer = plural(len(self.alarms), "alarm")
        if not self.alarms:
            answer = (
                f"No checkpoint differs significantly from {first.name}. To detect smaller "
                "changes, increase --images"
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
    """Audit each new checkpoint in a folder, and raise an alarm if its biases have changed.

    askew compares each checkpoint with the first checkpoint, using pairs of images that have the
    same seed. The probability of any false alarm is at most --alpha, no matter how many checkpoints
    follow. If you repeat the command, it audits only new checkpoints. The exit code is 3 after an
    alarm.

    Examples
    --------
    `askew watch checkpoints "a photo of a nurse" --axes gender,age`

    `askew watch loras "a photo of a nurse" --model diffusers/ID -M lora={checkpoint} --interval 60`

    Parameters
    ----------
    checkpoints
        Folder to which the training run writes checkpoints (diffusers pipelines or safetensors
        files).
    prompts
        Prompts to audit on each checkpoint.
    model
        Name of the model into which a checkpoint is loaded. In --model and -M, {checkpoint} stands
        for the checkpoint's path, and {name} stands for its name. [default: diffusers/{checkpoint}]
    axes
        Bias axes, separated by commas. [default: as for `askew audit`]
    images
        Images per prompt and checkpoint. [default: 24]
    pattern
        Pattern of the checkpoints' names, such as "checkpoint-*".
    alpha
        Maximum probability of a false alarm on any axis of any checkpoint. [default: 0.05]
    interval
        Number of seconds between two searches for new checkpoints. askew continues until you press
        Ctrl-C, or until there is an alarm. By default, askew searches only once.
    run
        Folder of the audits. [default: runs/watch-FOLDER]
    store
        Store of images and answers. [default: .askew in the folder of the audits]

    Returns
    -------
    Watch
        The checkpoints, with their changes since the first checkpoint.

    Raises
    ------
    UsageError
        If a checkpoint cannot be audited, or has changed since it was watched.
    CheckFailed
        If there is an alarm.
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
    """A series of checkpoints and the settings for their audits.

    Attributes
    ----------
    checkpoints, pattern
        Folder of the checkpoints, and pattern of their names.
    folder
        Folder of the audits.
    alpha
        Maximum probability of a false alarm in the series of checkpoints.
    model
        Name of the model, with the placeholders {checkpoint} and {name}.
    prompts, settings
        Arguments of `audit`. The placeholders {checkpoint} and {name} are also replaced in the
        settings.
    """

    checkpoints: Path
    pattern: str | None
    folder: Path
    alpha: float
    model: str
    prompts: str | Sequence[str]
    settings: dict[str, object]

    def look_until_an_alarm(self, interval: float | None) -> Watch:
        """Audit new checkpoints once, or repeatedly at an interval.

        Raise CheckFailed after an alarm.

        If an interval is given, askew audits a checkpoint once its files have remained unchanged
        between two searches of the folder.
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
                f"the folder {str(self.checkpoints)!r} contains no checkpoint: neither a diffusers "
                "pipeline nor a safetensors file. If the checkpoints have other names, use "
                '--pattern, such as --pattern "step-*"'
            )
        return watched

    def _finished(self, name: str) -> AuditResult:
        """Load the audit of a checkpoint, even if the checkpoint's files have been deleted."""
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
        """Compare each later checkpoint with the first checkpoint."""
        watched = []
        for number, (name, result) in enumerate(audits.items()):
            level = 0.0
            changes: list[CheckpointChange] = []
            if number:
                changes = axis_changes(next(iter(audits.values())), result)
                level = spent_level(self.alpha, number) / max(len(changes), 1)
            watched.append(WatchedCheckpoint(name=name, level=level, changes=tuple(changes)))
        return Watch(folder=self.folder, checkpoints=tuple(watched))
