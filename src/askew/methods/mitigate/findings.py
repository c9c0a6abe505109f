"""What a mitigation changed: on every axis, between axes, of the subject and the pictures, and at
what cost.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from askew.errors import UsageError
from askew.findings import E, Head, MappingKey
from askew.method import Result
from askew.methods.mitigate.plan import MitigationPlan
from askew.mitigations import base as mitigation
from askew.mitigations.base import Mitigation
from askew.parts.survey.confusion import Confusion
from askew.parts.survey.shares import SetShares
from askew.stats.intervals import ends
from askew.store.files import write_file
from askew.types import Estimate, record


@record
class AxisChange:
    """One axis before and after.

    aimed      whether the way to mitigate was for this axis
    change     distance from the target after less that before, debiased; below 0 is nearer
    by_others  the same change by every other instrument
    predicted  the true distance of the policy, as its planning pictures foretell it; None where nothing was planned
    obeyed     share of pictures in which that was read which was asked of them; None where nothing was asked
    """

    axis: str
    is_target: bool
    before: E
    after: E
    change: E
    by_others: Annotated[Mapping[str, E], MappingKey("instrument")]
    predicted: E | None
    followed: E | None

    @property
    def fell(self) -> bool:
        """Whether the axis is nearer to its target, beyond chance."""
        return settled(self.change, -1)

    @property
    def doubted(self) -> list[str]:
        """Instruments that do not see the change that the first one sees: it may have fooled that
        one.
        """
        return [name for name, one in self.by_others.items() if self.fell and not _beyond(one, -1)]

    @property
    def as_predicted(self) -> bool:
        """Whether the distance after lies within what was predicted."""
        if not (isinstance(self.predicted, Estimate) and isinstance(self.after, Estimate)):
            return False
        low, high = ends(self.predicted)
        return low <= self.after.mark <= high

    @property
    def rose(self) -> bool:
        """Whether the axis is further from its target, beyond chance."""
        return settled(self.change)


@record
class PairChange:
    """How much more two axes hang together after than before (Cramér's V).

    V also rises where rare values get frequent. `carried` is the V that the axes would have at
    their shares after, did they hang together as before (by odds ratios); None where a value after
    was seen in fewer than five pictures before.
    """

    axes: tuple[str, str]
    before: float
    carried: float | None
    after: float
    rise: E


@record
class TechniqueFindings:
    """What one way to mitigate did to one prompt.

    cost            evaluations of the network for a picture, as a multiple of those before
    subject         share of pictures whose occupation reads as the prompt's, after less before; None for no such prompt
    subject_before  that share before
    unread          share of pictures in which an aimed axis could not be read, after less before
    nearness        mean cosine of pictures and the prompt, after less before; None without an embedder
    quality         kernel distance of the pictures after from those before; None without an embedder
    """

    prompt: str
    technique: str
    cost: float
    axes: tuple[AxisChange, ...]
    pairs: tuple[PairChange, ...]
    subject: E | None
    subject_before: E | None
    unlabeled: E
    nearness: E | None
    quality: E | None

    @property
    def helped(self) -> list[AxisChange]:
        """Aimed axes that are nearer to their target, beyond chance."""
        return [one for one in self.axes if one.is_target and one.fell]

    @property
    def harmed(self) -> list[AxisChange]:
        """Axes that are further from their target, beyond chance."""
        return [one for one in self.axes if one.rose]

    @property
    def built(self) -> list[PairChange]:
        """Pairs of axes that hang together more, beyond chance."""
        return [one for one in self.pairs if settled(one.rise)]

    @property
    def broken(self) -> list[str]:
        """What the pictures lost, beyond chance, as phrases."""
        lost = {
            "technique_subject_loss": _beyond(self.subject, -1),
            "technique_prompt_loss": _beyond(self.nearness, -1),
            "technique_label_loss": _beyond(self.unlabeled, 1),
        }
        return [phrase for phrase, so in lost.items() if so]


@record
class MitigationFindings(Head):
    """The content of results.json. `mitigations` holds the file of every way."""

    plan: MitigationPlan
    shares: tuple[SetShares, ...]
    confusion: tuple[Confusion, ...]
    techniques: tuple[TechniqueFindings, ...]
    mitigations: Annotated[Mapping[str, str], MappingKey("technique")]


@dataclass(frozen=True)
class MitigationResult(Result[MitigationPlan, MitigationFindings]):
    """A finished run of `askew mitigate`."""

    def file(self, technique: str | None = None) -> Path:
        """Where the file of a way lies, by default that of the first. Raises UsageError."""
        name = technique or self.plan.techniques[0]
        if name not in self.findings.mitigations:
            raise UsageError(
                f"this run has no way {name!r}; it has: {', '.join(self.findings.mitigations)}"
            )
        return self.folder / f"mitigation-{name}.toml"

    @property
    def mitigation(self) -> Mitigation:
        """The first way's mitigation, to wrap a model or to draw prompts from."""
        return mitigation.load_mitigation(self.file())

    def write_files(self) -> None:
        """Write the file of every way into the run's folder, and beside it what else others may use
        of it.
        """
        for technique, text in self.findings.mitigations.items():
            path = write_file(self.file(technique), text.encode())
            for suffix, content in mitigation.load_mitigation(path).extra_files().items():
                write_file(path.with_suffix(suffix), content)


def settled(score: E, sign: int = 1) -> bool:
    """Whether a change upwards, or of the other sign, is beyond chance in its family."""
    return (
        isinstance(score, Estimate)
        and score.q is not None
        and score.q < 0.05
        and sign * score.value > 0
    )


def _beyond(score: E | None, sign: int) -> bool:
    """Whether an interval lies on one side of 0."""
    return isinstance(score, Estimate) and min(sign * end for end in ends(score)) > 0
