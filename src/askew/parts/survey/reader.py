"""The instruments of a plan, the pictures of its prompts, what the instruments see in them, and
where they err.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from askew import registry
from askew.errors import UsageError
from askew.findings import GatheredData, Identity, Instruments, PictureSet
from askew.measure.base import CAPTION, PERSON, VQA, CalibratedInstrument, Embedder
from askew.measure.labels import LabelVQA
from askew.models.base import Collection, Model, Setting
from askew.models.folder import FolderCollection
from askew.pages.words import shorten
from askew.parts.survey.observed import ObservedSet, observe
from askew.plan import Plan, PromptPlan
from askew.prompts.axes import BIASCONNECT
from askew.run.base import Outcome, Run
from askew.run.count import counted_run
from askew.types import MISSING_REASONS, Axis, Missing, Prompt, Question, record

LABELS = "labels"
STUDIO = "studio"
MOST_TOLD = 12
"""Words that a warning names."""


def load_instruments(
    names: Sequence[str],
    source: Model | Collection,
    aliases: Mapping[str, str],
    values: Mapping[str, Sequence[str]],
    settings: Mapping[str, Setting] | None = None,
) -> dict[str, VQA]:
    """The instruments by name. A person's labels come with the collection. `settings` are those of
    the only instrument or, named PROVIDER:SETTING, of the one from that provider. Raises UsageError
    for a setting of no instrument, or of which of several is not said.
    """
    own: dict[str, dict[str, Setting]] = {name: {} for name in names if name != LABELS}
    for key, value in (settings or {}).items():
        provider, colon, setting = key.rpartition(":")
        owners = [name for name in own if not colon or name.partition("/")[0] == provider]
        if not owners or (len(owners) > 1 and not colon):
            known = (
                ", ".join(f"{name.partition('/')[0]}:{setting}" for name in own)
                or "none: labels take no settings"
            )
            which = "does not say which instrument's setting it is; write one of"
            raise UsageError(f"--vqa-arg {key}={value} {which}: {known}")
        for name in owners:
            own[name][setting] = value
    if LABELS in names and not isinstance(source, Collection):
        raise UsageError(
            "--vqa labels reads a person's labels from a manifest; it needs --model folder/PATH"
        )
    of_labels = {"collection": source, "aliases": aliases, "values": values or None}
    return {name: registry.vqa(name, **own.get(name, of_labels)) for name in names}


NOBODY = Missing("no_person", "the instrument sees nobody")

Source = Model | Collection
Observed = Mapping[str, Sequence[ObservedSet]]
"""By prompt its sets, the initial one first."""

Errors = Mapping[tuple[str, str], NDArray[np.int64]]
"""By instrument and axis: counts of its answers (columns) against a reference (rows)."""


@dataclass(frozen=True)
class SurveyReader:
    """The instruments of a plan, and what they are asked about every picture of a prompt.

    captioner  the instrument that describes pictures, too; None asks nobody
    person     ask whether there is a person where axes are about people, and take no answers from where there is none
               (BiasConnect, appendix A.3)
    """

    run: Run
    instruments: Mapping[str, VQA]
    captioner: str | None = None
    person: bool = False

    def questions(self, prompt: PromptPlan, instrument: str) -> list[Question]:
        """The questions of the prompt's axes, then the others."""
        asked = [question for axis in prompt.axes for question in axis.axis().questions]
        asked += [CAPTION] if instrument == self.captioner else []
        return [*asked, PERSON] if self._of_people(prompt) else asked

    def read(
        self, prompt: PromptPlan, sets: Sequence[tuple[Prompt, Sequence[Outcome]]]
    ) -> list[ObservedSet]:
        """The pictures of some sets of a prompt, with what the instruments see in them."""
        pictures = [picture for _, some in sets for picture in some]
        answers = {}
        for name, vqa in self.instruments.items():
            found = self.run.ask(vqa, pictures, self.questions(prompt, name))
            nobody = (
                {one for one, row in found.items() if row[-1] == "no"}
                if self._of_people(prompt)
                else set()
            )
            answers[name] = {
                one: [NOBODY] * len(row) if one in nobody else row for one, row in found.items()
            }
        axes = [axis.axis() for axis in prompt.axes]
        return [observe(own, some, axes, answers, self.captioner) for own, some in sets]

    def _of_people(self, prompt: PromptPlan) -> bool:
        return self.person and any(axis.name in BIASCONNECT for axis in prompt.axes)


def instruments_of(plan: Plan, source: Source) -> dict[str, VQA]:
    """The plan's instruments by name. Raises UsageError for names that do not exist."""
    return load_instruments(plan.vqa, source, plan.aliases, plan.values, plan.vqa_args)


def captioner_of(instruments: Iterable[str]) -> str | None:
    """The first instrument that can describe a picture; a person's labels cannot."""
    return next((name for name in instruments if name != LABELS), None)


def observed_sets(plan: Plan, source: Source, reader: SurveyReader) -> dict[str, list[ObservedSet]]:
    """By prompt its sets, the initial one first: made, or those of a collection."""
    if isinstance(source, Collection):
        sets: dict[str, dict[Prompt, list[Outcome]]] = {prompt.text: {} for prompt in plan.prompts}
        for filed, picture in reader.run.collect(source):
            if filed.prompt in sets:
                sets[filed.prompt].setdefault(
                    Prompt(filed.prompt, filed.axis, filed.value), []
                ).append(picture)
        grouped = {
            text: sorted(own.items(), key=lambda item: item[0].axis is not None)
            for text, own in sets.items()
        }
    else:
        made = reader.run.pictures(source, plan.texts(), plan.images, plan.seed)
        grouped = {
            p.text: [(prompt, made[prompt.text]) for prompt in p.prompts()] for p in plan.prompts
        }
    return {prompt.text: reader.read(prompt, grouped[prompt.text]) for prompt in plan.prompts}


@dataclass(frozen=True)
class SurveyData(GatheredData):
    """What the gather of a survey brings: by prompt its sets; how instruments read what people say
    of pictures, if they do; and where instruments err, by that or else by what they know
    themselves.
    """

    observed: Observed
    confusion: tuple["Confusion", ...]
    errors: Errors


def surveyed(
    plan: Plan,
    source: Source,
    reader: SurveyReader,
    observed: Observed,
    embedder: Embedder | None = None,
    also: Iterable[str] = (),
) -> SurveyData:
    """What was `observed`. The run is warned of words that are not known, oddities of files, and of
    the studio's instruments where `source`, or `also` another model, is no studio.
    """
    reader.run.warn(*oddities(plan.texts(), source, reader.instruments))
    reader.run.warn(
        *studio_warnings(
            [source.name, *also], reader.instruments, [embedder.name] if embedder else []
        )
    )
    confused = confusions(plan.prompts, observed, plan.vqa)
    seen = {(one.instrument, one.axis): one.table for one in confused}
    return SurveyData(
        identity_of(source, plan.model_args),
        getattr(source, "device", None),
        fingerprints(reader.instruments, embedder),
        tuple(
            PictureSet.of(text, one.pictures, one.prompt.axis, one.prompt.value, one.prompt.text)
            for text, some in observed.items()
            for one in some
        ),
        observed,
        confused,
        {**calibrations(plan.prompts, reader.instruments), **seen},
    )


def seen_again(
    plan: Plan, folder: Path, store: Path, gather: Callable[[Run], SurveyData]
) -> Observed:
    """What a run of this plan saw, as its store holds it. Raises UsageError for a store that lacks
    any of it: nothing is made or asked anew.
    """
    with counted_run(plan, folder, store) as counted:
        found = gather(counted).observed
    if counted.work.left:
        raise UsageError(
            f"the store {store} does not hold all that {folder} saw: name its store (--store), or give the run's own "
            "command again"
        )
    return found


def identity_of(source: Source, settings: Mapping[str, Setting]) -> Identity:
    """Name, revision and settings of a model; of a collection those `settings` that a plan gives."""
    own = source.settings if isinstance(source, Model) else settings
    return Identity(source.name, source.revision, dict(own))


def fingerprints(instruments: Mapping[str, VQA], embedder: Embedder | None = None) -> Instruments:
    """The instruments of a run by their fingerprints."""
    named = None if embedder is None else {embedder.name: embedder.fingerprint}
    return Instruments({name: vqa.fingerprint for name, vqa in instruments.items()}, named)


def oddities(texts: Sequence[str], source: Source, instruments: Mapping[str, VQA]) -> list[str]:
    """What a reader should know: words of the texts that the model ignores; oddities of a
    collection and its labels.
    """
    if isinstance(source, Model):
        return unknown_words(source, texts)
    speakers = (source, *instruments.values())
    return [
        text
        for one in speakers
        if isinstance(one, FolderCollection | LabelVQA)
        for text in one.warnings
    ]


def unknown_words(model: Model, texts: Sequence[str]) -> list[str]:
    """Sentences on the words that a model does not know, and on those that its pictures seldom
    show.
    """
    said = {"does not know these words and ignores them": model.unknown_words}
    if hasattr(model, "unheard_words"):
        said["shows these words in less than nine of ten pictures"] = model.unheard_words
    told = []
    for what, of in said.items():
        found = {text: some for text in texts if (some := of(text))}
        unknown = sorted({word for some in found.values() for word in some})
        listed = ", ".join(repr(shorten(word, 40)) for word in unknown[:MOST_TOLD])
        if found:
            more = f" and {len(unknown) - MOST_TOLD} more" if len(unknown) > MOST_TOLD else ""
            told.append(
                f"{model.name} {what}: {listed}{more} (first in {shorten(next(iter(found)), 100)!r})"
            )
    return told


DRAWINGS_ALONE = {
    "vqa": "the studio's VQA reads the studio's drawings alone: what it says about {} means nothing",
    "embedder": "the studio's embedder knows the studio's drawings alone: a score by its vectors of {} means nothing",
}
"""What is said of each kind of instrument."""


def studio_warnings(
    makers: Iterable[str], vqa: Iterable[str] | None = None, embedder: Iterable[str] | None = None
) -> list[str]:
    """A warning per kind of instrument of the studio that read pictures by anybody else; all are
    told by their names. `makers` are models and collections.
    """
    others = list(dict.fromkeys(name for name in makers if not is_studio(name)))
    pictures = f"pictures by {', '.join(others)}"
    return [
        f"{DRAWINGS_ALONE[kind].format(pictures)}, unless they are such drawings; choose another (--{kind})"
        for kind, names in {"vqa": vqa, "embedder": embedder}.items()
        if others and any(map(is_studio, names or ()))
    ]


def is_studio(name: str) -> bool:
    """Whether a model or an instrument is the studio's own: studio, studio/balanced,
    studio/planted.
    """
    return re.split("[/ ]", name, maxsplit=1)[0] == STUDIO


@record
class Confusion:
    """How often an instrument answered one value where the truth is another.

    counts   a row per true value, a column per value of the instrument
    missing  by true value and reason: pictures that the instrument gave no answer for
    """

    axis: str
    instrument: str
    truth: str
    values: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    missing: Mapping[str, Mapping[str, int]]

    @property
    def table(self) -> NDArray[np.int64]:
        """The counts as an array (reference, instrument)."""
        return np.array(self.counts, dtype=np.int64)


def confusion(
    sets: Iterable[ObservedSet], axis: Axis, instrument: str, reference: str
) -> Confusion:
    """Counts of reference against instrument, over the pictures for which the reference has a
    value. Raises ValueError for an answer that is none of the axis's values.
    """
    both = (
        (true, seen.reason if isinstance(seen, Missing) else seen)
        for one in sets
        for true, seen in zip(
            one.values[reference][axis.name], one.values[instrument][axis.name], strict=True
        )
        if not isinstance(true, Missing)
    )
    values = axis.values
    pairs = dict(sorted(Counter(both).items()))
    odd = [
        pair
        for pair in pairs
        if pair[0] not in values or pair[1] not in (*values, *MISSING_REASONS)
    ]
    if odd:
        raise ValueError(
            f"{odd[0][0]!r} against {odd[0][1]!r}: both must be among {', '.join(values)}"
        )
    lost = {
        v: {seen: n for (true, seen), n in pairs.items() if true == v and seen not in values}
        for v in values
    }
    counts = tuple(tuple(pairs.get((true, seen), 0) for seen in values) for true in values)
    return Confusion(axis.name, instrument, reference, axis.values, counts, lost)


def confusions(
    prompts: Sequence[PromptPlan], sets: Observed, instruments: Sequence[str]
) -> tuple[Confusion, ...]:
    """Every instrument against a person's labels, if these were read, on every axis where both said
    something.
    """
    everything = [one for some in sets.values() for one in some]
    others = [name for name in instruments if name != LABELS] if LABELS in instruments else []
    found = [
        confusion((one for one in everything if axis.name in one.values[name]), axis, name, LABELS)
        for name in others
        for axis in _axes(prompts).values()
    ]
    return tuple(one for one in found if one.table.any())


def calibrations(prompts: Sequence[PromptPlan], instruments: Mapping[str, VQA]) -> Errors:
    """What instruments know of their own errors."""
    return {
        (name, axis.name): counts
        for name, vqa in instruments.items()
        if isinstance(vqa, CalibratedInstrument)
        for axis in _axes(prompts).values()
        if (counts := vqa.known_errors(axis)) is not None
    }


def _axes(prompts: Sequence[PromptPlan]) -> dict[str, Axis]:
    return {axis.name: axis.axis() for prompt in prompts for axis in prompt.closed}
