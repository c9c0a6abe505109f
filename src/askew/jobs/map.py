"""Where a model attends to concepts while it makes pictures: BiasMap on a model whose insides can be watched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any, Self, cast

from askew import registry
from askew.errors import NotEnoughData, UsageError
from askew.measure.attention_reader import AttentionReader, MappedModel, WhiteBox, decode_maps
from askew.methods.biasmap import Masking, PairMaps, gradient_scores, joint_scores, no_scores, pair_scores
from askew.methods.biasmap_summary import add_q, changes, overall
from askew.parts.scoring import Scoring
from askew.parts.survey.observed import ObservedSet, picture_set
from askew.plan import Plan, PromptPlan
from askew.planning.map import axes_of
from askew.plans.maps import MapPlan
from askew.results.map import MapResult
from askew.results.map_baseline import read_baseline
from askew.run.run import Run
from askew.run.session import Session
from askew.run.work import Work
from askew.stats.risk import risk_difference
from askew.types import Axis, Estimate, Missing, Picture, Prompt

GROUPS: Mapping[str, tuple[str, str]] = {"gender": ("male", "female"), "ethnicity": ("white", "black")}
"""The groups of the paper's risk difference, by axis; of other axes the first two values."""

GRADIENT = 4
"""Concepts from which a correlation with their nearness in meaning is told."""


@dataclass(frozen=True)
class ConceptMaps(Session):
    """A plan with the model and the instruments that it names, ready to run."""

    @classmethod
    def prepare(cls, plan: Plan, run: Run) -> Self:
        """Load what the plan names. Raises UsageError, also for a model that cannot be watched."""
        prepared = super().prepare(plan, run)
        for session in prepared.models():
            if not hasattr(session.source, "watch"):
                raise UsageError(
                    f"{session.source.name} is a black box, and attention maps need a model whose insides can be seen: "
                    f"use studio or diffusers/ID-OR-PATH"
                )
        return prepared

    @property
    def captioner(self) -> str | None:
        """Nobody is asked for captions."""
        return None

    def models(self) -> Iterator[Self]:
        """This session, and one for every further model of the plan."""
        yield self
        for name in self._plan.compared:
            yield replace(self, source=registry.model(name, **self.plan.model_args))

    def work(self) -> Work:
        """What a run would do, for all models; its embeddings are the maps."""
        return _sum([session._work() for session in self.models()])

    def __call__(self) -> MapResult:
        """Make what is left of pictures, maps and observations, compute the scores, and write results.json."""
        started, plan = datetime.now(UTC), self._plan
        sessions = list(self.models())
        models = [session.source.name for session in sessions]
        baseline = read_baseline(plan, models) if plan.baseline else None
        found = [session._scores() for session in sessions]
        parts = {name: [entry for scores in found for entry in scores[name]] for name in found[0]}
        if baseline is not None:
            parts["pairs"] += baseline.pairs
            parts["risk_difference"] += baseline.risk_difference
        held = models if baseline is None else [baseline.name, *models]
        headers = [session.header(started) for session in sessions]
        unknown = [warning for session in sessions for warning in session._unknown_concepts()]
        self.run.write({
            **headers[0],
            "warnings": [*headers[0]["warnings"], *unknown],
            "models": [*(header["model"] for header in headers), *([] if baseline is None else [baseline.model])],
            "sets": parts["sets"], "maps": parts["maps"], "biasmap": self._biasmap(parts, held),
        })  # fmt: skip
        return MapResult(plan, self.run.folder, self.run.store.path)

    def _biasmap(self, parts: Mapping[str, list[dict[str, Any]]], models: Sequence[str]) -> dict[str, Any]:
        """The section of results.json; all models are held against the first."""
        pairs, risks, level = parts["pairs"], parts["risk_difference"], self.plan.level
        axis_of = axes_of(self._plan.concepts)
        section = {
            "pairs": pairs,
            "risk_difference": risks,
            "overall": overall(pairs, risks, axis_of, level),
            "changes": changes(pairs, risks, axis_of, models, level),
            "intersections": parts["intersections"],
            "gradient": parts["gradient"],
        }
        add_q(section)
        return section

    @property
    def _plan(self) -> MapPlan:
        return cast("MapPlan", self.plan)

    def _unknown_concepts(self) -> list[str]:
        """Concepts that the model has no meaning for."""
        source = cast("WhiteBox", self.source)
        prompt = self.plan.prompts[0].text
        own = set(source.unknown_words(prompt))
        words = [c for c in self._plan.concepts if set(source.unknown_words(f"{prompt} and {c}")) - own]
        listed = ", ".join(repr(word) for word in words)
        return [f"{source.name} does not know {listed}: maps of a word without a meaning say nothing"] if words else []

    def _readers(self) -> dict[str, AttentionReader]:
        plan, model = self._plan, cast("WhiteBox", self.source)
        return {
            prompt.text: AttentionReader(model, prompt.text, plan.concepts, against, plan.definition, plan.branch)
            for prompt, against in zip(plan.prompts, plan.against, strict=True)
        }

    def _work(self) -> Work:
        source, plan = cast("WhiteBox", self.source), self.plan
        whole = super().work()
        maps = [
            self.run.work(source, [text], plan.images, plan.seed, (), reader)
            for text, reader in self._readers().items()
        ]
        return replace(
            whole,
            embeddings=sum(one.embeddings for one in maps),
            embeddings_left=sum(one.embeddings_left for one in maps),
            embedder_calls=sum(one.embedder_calls for one in maps if not one.pictures_left),
        )

    def _scores(self) -> dict[str, list[dict[str, Any]]]:
        """Everything about one model."""
        readers = self._readers()
        for reader in readers.values():
            reader.check()
        mapped = MappedModel(cast("WhiteBox", self.source), readers, self.run.store.put_vectors)
        made = self.run.pictures(mapped, list(readers), self.plan.images, self.plan.seed)
        parts: dict[str, list[dict[str, Any]]] = {
            name: [] for name in ("sets", "maps", "pairs", "risk_difference", "intersections", "gradient")
        }
        for prompt, against in zip(self.plan.prompts, self._plan.against, strict=True):
            pictures = made[prompt.text]
            for name, entries in self._prompt_scores(prompt, against, pictures, readers[prompt.text]).items():
                parts[name] += entries
        self._check_any(parts["pairs"])
        return parts

    def _check_any(self, pairs: Sequence[Mapping[str, Any]]) -> None:
        """Raise NotEnoughData if there is not one overlap: a prompt alone may be missing."""
        if not any(isinstance(entry["miou"], Estimate) for entry in pairs):
            reasons = dict.fromkeys(entry["miou"].detail for entry in pairs)
            raise NotEnoughData(f"{self.source.name} has no map to measure in any prompt: {'; '.join(reasons)}")

    def _prompt_scores(
        self, prompt: PromptPlan, against: str, pictures: Sequence[Picture | Missing], reader: AttentionReader
    ) -> dict[str, list[dict[str, Any]]]:
        """What one prompt adds to each part; of one without a picture, why its scores are missing."""
        observed = self.read(prompt, [(Prompt(prompt.text), pictures)])[0]
        name = self.source.name
        present = [picture for picture in pictures if isinstance(picture, Picture)]
        return {
            "sets": [{**picture_set(prompt.text, None, None, prompt.text, pictures), "model": name}],
            "maps": [{"model": name, "prompt": prompt.text, "fingerprint": reader.fingerprint}],
            "risk_difference": [self._risk(axis.axis(), prompt.text, observed) for axis in prompt.axes],
            **(self._overlaps(against, present, len(pictures) - len(present), reader) if present
               else self._nothing(reader, pictures)),
        }  # fmt: skip

    def _overlaps(
        self, against: str, present: Sequence[Picture], missing: int, reader: AttentionReader
    ) -> dict[str, list[dict[str, Any]]]:
        """All scores of the maps of a prompt's pictures."""
        layers = decode_maps(self.run.vectors(reader, present))
        seeds = tuple(picture.seed for picture in present)
        maps = [
            PairMaps(self.source.name, reader.prompt, a, b, {name: m[:, 2 * k : 2 * k + 2].swapaxes(0, 1)
                     for name, m in layers.items()}, seeds, missing)
            for k, (a, b) in enumerate(reader.words)
        ]  # fmt: skip
        masking, scoring = Masking(self._plan.threshold, self._plan.tau), self._scoring
        entries = [pair_scores(one, masking, scoring) for one in maps]
        return {
            "pairs": entries,
            "intersections": joint_scores(maps, masking, scoring),
            "gradient": self._gradient(against, entries),
        }

    def _nothing(
        self, reader: AttentionReader, pictures: Sequence[Picture | Missing]
    ) -> dict[str, list[dict[str, Any]]]:
        """The scores of a prompt without a usable picture."""
        first = next(picture for picture in pictures if isinstance(picture, Missing))
        gap = Missing(first.reason, f"{self.source.name} made no usable picture of this prompt")
        pairs = [no_scores(self.source.name, reader.prompt, a, b, gap) for a, b in reader.words]
        return {"pairs": pairs, "intersections": [], "gradient": []}

    @property
    def _scoring(self) -> Scoring:
        return Scoring(self.plan.vqa[0], self.plan.seed, self.plan.draws, self.plan.level)

    def _risk(self, axis: Axis, prompt: str, observed: ObservedSet) -> dict[str, Any]:
        """How much more often one group is seen than another, by the first instrument."""
        instrument = self.plan.vqa[0]
        groups = GROUPS.get(axis.name, axis.values[:2])
        counts = dict(zip(axis.values, observed.counts(instrument, axis), strict=True))
        answers, lost = sum(counts.values()), sum(observed.missing(instrument, axis).values())
        first, second = (counts.get(group, 0) for group in groups)
        estimate = (
            risk_difference(first, second, answers, level=self.plan.level, missing=lost)
            if answers
            else Missing("no_person", f"{instrument} could not read {axis.label} in any picture")
        )
        return {"prompt": prompt, "model": self.source.name, "axis": axis.name, "instrument": instrument,
                "groups": list(groups), "counts": counts, "estimate": estimate}  # fmt: skip

    def _gradient(self, against: str, entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Whether words that are nearer in meaning overlap more (BiasMap, supplement E)."""
        from askew.measure.attribution import word_vector

        pipeline = cast("WhiteBox", self.source).pipeline
        if len(entries) < GRADIENT:
            return []
        anchor = word_vector(pipeline, against)
        cosines = {entry["a"]: float(anchor @ word_vector(pipeline, entry["a"])) for entry in entries}
        return [gradient_scores(entries, cosines, self._scoring)]


def _sum(works: Sequence[Work]) -> Work:
    """The work for several models together."""
    return Work(**{f.name: sum(getattr(one, f.name) for one in works) for f in fields(Work)})
