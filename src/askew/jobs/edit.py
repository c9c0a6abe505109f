"""Editing pictures of social groups: sources, edits, what is read from them, and the scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Self, cast

from askew import registry
from askew.errors import UsageError
from askew.jobs.edit_reader import EditReader
from askew.measure.landmarks import LandmarkFinder, landmark_finder
from askew.methods.editing import EditedGroup, Readings, editing
from askew.methods.editing_contrasts import contrasts, pooled
from askew.methods.missing_pictures import missing_edits
from askew.methods.sources import (
    Group,
    Outcomes,
    check_filled,
    neutrality,
    neutrality_by_labels,
    neutrality_warnings,
    source_pictures,
    wanted_sources,
)
from askew.models.base import Model
from askew.models.editing import Editor, editor_of
from askew.models.folder import FolderCollection
from askew.parts.scoring import Scoring
from askew.parts.survey.instruments import load_instruments
from askew.parts.survey.observed import picture_set
from askew.plan import Plan
from askew.plans.editing import EditPlan
from askew.prompts.groups import prompt_of
from askew.results.editing import EditingResult
from askew.run.edit_work import (
    Fitter,
    WantedEdit,
    make_edits,
    make_restored,
    wanted_edit,
    wanted_restored,
)
from askew.run.header import identity
from askew.run.run import Asking, Run
from askew.run.session import NO_EMBEDDER, Session
from askew.run.work import Work, count, slices, unfinished
from askew.store.imagefile import opened
from askew.store.store import Wanted
from askew.types import Missing, Picture


@dataclass(frozen=True)
class Editing(Session):
    """A plan of edits with its sources, editor and instruments, ready to run."""

    model: Model
    editor: Editor
    finder: LandmarkFinder | None

    @classmethod
    def prepare(cls, plan: Plan, run: Run) -> Self:
        """Load what the plan names. Raises UsageError for names that do not exist, and models that cannot edit."""
        plan = cast("EditPlan", plan)
        model = registry.model(plan.model, **plan.model_args)
        editor = editor_of(model, plan.edit_args)
        source = registry.model(plan.sources, **plan.sources_args) if plan.sources else model
        instruments = load_instruments(plan.vqa, source, plan.aliases, plan.values, plan.vqa_args)
        embedder = registry.embedder(plan.embedder, **plan.embedder_args) if plan.embedder != NO_EMBEDDER else None
        finder = None if plan.landmarks == "none" else landmark_finder(plan.landmarks)
        return cls(plan, run, source, instruments, embedder, cast("Model", model), editor, finder)

    @property
    def editing_plan(self) -> EditPlan:
        """The plan, which is one of edits."""
        return cast("EditPlan", self.plan)

    @property
    def _reader(self) -> EditReader:
        return EditReader(self.editing_plan, self.run, self.instruments, self.embedder, self.finder)

    @property
    def captioner(self) -> str | None:
        """Nobody is asked for captions."""
        return None

    def work(self) -> Work:
        """What a run would do: exact numbers of pictures, questions and calls, wanted and left."""
        sources = self._expected_sources()
        first = [one for some in sources.values() for one in some]
        stored = self.run.store.pictures(one.key for one in first)
        stand_ins = {name: [self._stand_in(one, stored) for one in some] for name, some in sources.items()}
        fitted = self._fitted_wanted(stand_ins)
        known = self.run.store.pictures(one.key for one in fitted)
        begun = stand_ins if not fitted else _again(stand_ins, [self._stand_in(one, known) for one in fitted])
        restored = [wanted_restored(self.editor, one) for one in _pictures(begun)]
        edits = [edit.wanted for edit in self._wanted_edits(begun)]
        asking = [Asking(vqa, self._reader.questions(vqa)) for vqa in self.instruments.values()]
        total = count(self.run.store, self.source, [*(fitted or first), *restored, *edits], asking, self.embedder)
        calls = self._calls(restored, self.editor.batch_size) + self._calls(edits, self.editor.batch_size)
        if isinstance(self.source, Model):
            calls += self._calls(first, self.source.batch_size)
        return replace(
            total,
            prompts=len(sources) + len(self.editing_plan.words),
            pictures=total.pictures + (len(first) if fitted else 0),
            pictures_stored=total.pictures_stored + (len(stored) if fitted else 0),
            model_calls=calls,
        )

    def __call__(self) -> EditingResult:
        """Make what is left of pictures, edits and observations, compute the scores, and write results.json."""
        started, plan = datetime.now(UTC), self.editing_plan
        given = source_pictures(self.run, self.source, self._groups(), plan.images, plan.seed)
        sources = self._fitted(given)
        check_filled(sources, f"{self.source.name}, cropped and resized")
        self._check(sources)
        groups = self._edited(sources)
        readings = self._reader(groups)
        neutral = [
            entry
            for vqa in self.instruments.values()
            for entry in neutrality(self.run, vqa, sources, plan.words, plan.level)
        ]
        neutral += neutrality_by_labels(self.source, given, plan.words, plan.level)
        scoring = Scoring(plan.vqa[0], plan.seed, plan.draws, plan.level)
        what = (groups, plan.targets, plan.strengths, readings, scoring)
        header = self.header(started)
        self.run.write({
            **header,
            "warnings": list(dict.fromkeys([*header["warnings"], *self._oddities(), *neutrality_warnings(neutral)])),
            "model": identity(self.editor),
            "sources": header["model"],
            "landmarks": None if self.finder is None else self.finder.fingerprint,
            "sets": _sets(groups, readings),
            "missing_pictures": missing_edits(groups, plan.targets, scoring),
            "neutrality": neutral,
            "average_faces": self._reader.average_faces(groups, readings.faces),
            "editing": editing(*what),
            "editing_contrasts": contrasts(*what),
            "editing_pooled": pooled(*what),
        })  # fmt: skip
        return EditingResult(plan, self.run.folder, self.run.store.path)

    def _calls(self, wanted: Sequence[Wanted], size: int) -> int:
        """How often the model is still to be called for these pictures."""
        return len(unfinished(slices(wanted, size), self.run.store.pictures(one.key for one in wanted)))

    def _groups(self) -> list[Group]:
        plan = self.editing_plan
        return [Group(name, prompt.text) for name, prompt in zip(plan.groups, plan.prompts, strict=True)]

    def _stand_in(self, one: Wanted, stored: Mapping[str, Picture | Missing]) -> Picture | Missing:
        """What is stored, or a picture that stands in for one that is still to be made, of which nothing is known."""
        digests = self.source.digests if isinstance(self.source, FolderCollection) else {}
        own = digests.get(one.source, one.key) if one.source else one.key
        return stored.get(one.key, Picture(own, "", one.prompt, one.seed))

    def _expected_sources(self) -> dict[str, list[Wanted]]:
        plan = self.editing_plan
        return wanted_sources(self.source, self._groups(), plan.images, plan.seed)

    def _fitted_wanted(self, sources: Outcomes) -> list[Wanted]:
        fitter = Fitter(self.editing_plan.side)
        return [fitter.wanted(one) for one in _pictures(sources)] if fitter.side else []

    def _fitted(self, sources: Outcomes) -> Outcomes:
        """The sources as they are edited: cropped and resized if the plan says so."""
        fitter = Fitter(self.editing_plan.side)
        if not fitter.side:
            return sources
        wanted = self._fitted_wanted(sources)
        by_key = dict(zip((one.key for one in wanted), _pictures(sources), strict=True))
        made = self.run.made(fitter, wanted, partial(fitter.make, by_key))
        return _again(sources, [made[one.key] for one in wanted])

    def _check(self, sources: Outcomes) -> None:
        """Raises UsageError unless the editor can edit every source at every strength."""
        sizes: dict[tuple[int, int], Picture] = {}
        for one in _pictures(sources):
            sizes.setdefault(opened(one.path).size, one)
        if len(sizes) > 1:
            listed = ", ".join(f"{w} x {h} ({one.source or one.path})" for (w, h), one in list(sizes.items())[:3])
            raise UsageError(
                f"the pictures to edit have {len(sizes)} different sizes, such as {listed}; a model edits pictures of "
                f"one size: let them be cropped and resized to that of the model, as in --side 512"
            )
        self.editor.check(next(iter(sizes)), self.editing_plan.strengths)

    def _wanted_edits(self, sources: Outcomes) -> list[WantedEdit]:
        """Every edit, in a fixed order. Pictures that were given twice are edited twice, from different noise."""
        plan = self.editing_plan
        return [
            wanted_edit(self.editor, one, k, word, strength, plan.seed)
            for strength in plan.strengths
            for word in self.editing_plan.words
            for some in sources.values()
            for k, one in enumerate(some)
            if isinstance(one, Picture)
        ]

    def _edited(self, sources: Outcomes) -> list[EditedGroup]:
        """Encode and decode all sources, and make all edits."""
        back = {wanted_restored(self.editor, one).key: one for one in _pictures(sources)}
        wanted = [wanted_restored(self.editor, one) for one in back.values()]
        restored = self.run.made(self.editor, wanted, partial(make_restored, self.editor, back))
        edits = {edit.wanted.key: edit for edit in self._wanted_edits(sources)}
        made = self.run.made(
            self.editor, [edit.wanted for edit in edits.values()], partial(make_edits, self.editor, edits)
        )
        return [self._group(name, some, restored, made) for name, some in sources.items()]

    def _group(
        self,
        name: str,
        sources: Sequence[Picture | Missing],
        restored: Mapping[str, Picture | Missing],
        made: Mapping[str, Picture | Missing],
    ) -> EditedGroup:
        plan, editor = self.editing_plan, self.editor

        def edits(word: str, strength: float) -> tuple[Picture | Missing, ...]:
            return tuple(
                one
                if isinstance(one, Missing)
                else made[wanted_edit(editor, one, k, word, strength, plan.seed).wanted.key]
                for k, one in enumerate(sources)
            )

        back = tuple(one if isinstance(one, Missing) else restored[wanted_restored(editor, one).key] for one in sources)
        cells = {(word, strength): edits(word, strength) for word in plan.words for strength in plan.strengths}
        return EditedGroup(name, tuple(sources), back, cells)

    def _oddities(self) -> list[str]:
        """What a reader should know of the targets."""
        words = [word for word in self.editing_plan.words if self.model.unknown_words(prompt_of(word))]
        return [f"{self.editor.name} does not know all words of these targets: {', '.join(words)}"] if words else []


def _pictures(sources: Outcomes) -> list[Picture]:
    """The pictures of all groups, in order."""
    return [one for some in sources.values() for one in some if isinstance(one, Picture)]


def _again(sources: Outcomes, instead: Sequence[Picture | Missing]) -> dict[str, list[Picture | Missing]]:
    """The same groups, with others in the place of their pictures, which stand in order."""
    others = iter(instead)
    return {name: [one if isinstance(one, Missing) else next(others) for one in some] for name, some in sources.items()}


def _sets(groups: Sequence[EditedGroup], readings: Readings) -> list[dict[str, Any]]:
    """The pictures of every group: sources, the same encoded and decoded, and edits by target and strength.

    Sources and edits have the skin of every picture beside it.
    """
    entries, skin = [], readings.skin_by_picture()
    for group in groups:
        entries.append(_set(group.name, None, None, group.sources) | _skin_of(group.sources, skin))
        entries.append(_set(group.name, "encode-decode", "nothing", group.restored))
        for (word, strength), row in group.edits.items():
            cell = {"target": word, "strength": strength, **_skin_of(row, skin)}
            entries.append(_set(group.name, "edit", f"{word} {strength:g}", row) | cell)
    return entries


def _set(group: str, axis: str | None, value: str | None, pictures: Sequence[Picture | Missing]) -> dict[str, Any]:
    text = next((one.prompt for one in pictures if isinstance(one, Picture)), group)
    return picture_set(group, axis, value, text, pictures)


def _skin_of(
    pictures: Sequence[Picture | Missing], skin: Mapping[str, tuple[float | None, float]]
) -> dict[str, list[float | None]]:
    """ITA and coverage, parallel to `pictures`; None where there is no picture or no skin."""
    found = [skin.get(one.id, (None, None)) if isinstance(one, Picture) else (None, None) for one in pictures]
    return {"ita": [tone for tone, _ in found], "coverage": [covered for _, covered in found]}
