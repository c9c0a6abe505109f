"""What `askew mitigate` costs: pictures that plan, pictures that refine, and fresh ones before and
after.

Nothing that chose a mitigation judges it: the three kinds have seeds of their own. Those before and
after share theirs.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from askew import mitigations, registry
from askew.errors import UnknownName, UsageError
from askew.measure.base import VQA, Embedder
from askew.methods.mitigate.plan import PROMPTS, TOKENS, MitigationPlan
from askew.methods.mitigate.policy import PolicyTables, SolvedPolicy, choose, most_drawn
from askew.mitigations import base as mitigation
from askew.mitigations.base import Mitigation
from askew.models.base import Model, Request
from askew.parts.survey import reader as survey
from askew.parts.survey.confusion import calibrations
from askew.parts.survey.instruments import instruments_of
from askew.parts.survey.observed import ObservedSet
from askew.parts.survey.reader import Observed, SurveyReader
from askew.plan import PromptPlan
from askew.prompts.axes import table_question
from askew.run.base import Answer, Outcome, Run
from askew.run.work import Work, unmade
from askew.store.files import sha256
from askew.store.keys import derived_seed, picture_seed
from askew.types import Missing, Picture, Prompt, Question

SUBJECT = Question(table_question("occupation"), (), "occupation")
"""What tells whether the subject of a prompt about people is still there."""


TECHNIQUE_AXIS = "mitigation"
"""The axis of the sets of pictures after a way to mitigate, whose value is the way's name."""
Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """Fresh pictures of one prompt, before (`way` None) or after.

    asked     by axis what was asked of each picture; None of those of which nothing was
    subjects  what each picture's occupation is read as
    vectors   by their places those of pictures that are there, and `text` of the prompt; none without an embedder
    """

    technique: str | None
    observed: ObservedSet
    asked: Mapping[str, Sequence[str | None]]
    subjects: Sequence[Answer]
    vectors: Mapping[int, Vectors]
    text: Vectors | None


@dataclass(frozen=True)
class MitigationGathered(survey.SurveyData):
    """All of a run: `chosen` policies by prompt, the `ways` by name, what is `judged` by prompt,
    before it first.
    """

    chosen: Mapping[str, SolvedPolicy]
    techniques: Mapping[str, Mitigation]
    judged: Mapping[str, Sequence[EvaluationSet]]


def gather(plan: MitigationPlan, run: Run) -> MitigationGathered:
    """Plan, refine, and measure again. Raises UsageError for pictures that exist already and ways
    that do not fit.
    """
    model = mitigations.open_model(plan.model, plan.model_args)
    if not isinstance(model, Model):
        raise UsageError(
            f"{model.name} holds pictures that exist already; a mitigation needs a model to work on"
        )
    for technique in plan.techniques:
        known = registry.named("mitigation", technique).model_fields.keys() - {
            "method",
            "targets",
            "policies",
        }
        unknown = plan.settings_of(technique).keys() - known
        if unknown:
            raise UnknownName(f"setting of {technique}", min(unknown), known)
    reader = SurveyReader(run, instruments_of(plan, model), person=True)
    embedder = (
        None if plan.embedder == "none" else registry.embedder(plan.embedder, **plan.embedder_args)
    )
    planning = (
        survey.observed_sets(plan, model, reader) if {*plan.techniques} & {PROMPTS, TOKENS} else {}
    )
    chosen = _policies(plan, run, model, reader, planning) if PROMPTS in plan.techniques else {}
    learned: dict[str, Mapping[str, object]] = {technique: {} for technique in plan.techniques}
    if chosen:
        learned[PROMPTS] = {"policies": [one.policy.model_dump() for one in chosen.values()]}
    if TOKENS in plan.techniques:
        learned[TOKENS] = _tokens(plan, run, planning, embedder)
    techniques = {
        technique: _technique(plan, technique, own)
        for technique, own in learned.items()
        if own or technique not in (PROMPTS, TOKENS)
    }
    models: dict[str | None, Model] = {
        None: model,
        **{technique: one.wrap(model) for technique, one in techniques.items()},
    }
    seed = derived_seed(plan.seed, "confirm")
    texts = [prompt.text for prompt in plan.prompts]
    made = {
        technique: run.pictures(one, texts, plan.eval_images, seed)
        for technique, one in models.items()
    }
    for technique in (
        learned.keys() - techniques.keys()
    ):  # only counted: pictures under a mitigation that nobody knows yet
        run.decide(
            f"pictures under {technique}",
            dict,
            _unknown(plan, model, reader, lambda _: plan.eval_images),
            {},
        )
    judged = {
        prompt.text: [
            _judged(
                reader, prompt, technique, made[technique][prompt.text], techniques, embedder, seed
            )
            for technique in models
        ]
        for prompt in plan.prompts
    }
    observed = {text: [one.observed for one in some] for text, some in judged.items()}
    found = survey.surveyed(plan, model, reader, observed, embedder)
    return found.into(MitigationGathered, chosen=chosen, techniques=techniques, judged=judged)


def _policies(
    plan: MitigationPlan, run: Run, model: Model, reader: SurveyReader, observed: Observed
) -> dict[str, SolvedPolicy]:
    """The policy of every prompt; none where the run only counts."""
    seed = derived_seed(plan.seed, "refine")
    known = calibrations(plan.prompts, reader.instruments)

    def draw(prompt: PromptPlan, text: str) -> ObservedSet:
        pictures = run.pictures(model, [text], plan.refine, seed)[text]
        return reader.read(prompt, [(Prompt(text), pictures)])[0]

    def flow() -> dict[str, SolvedPolicy]:
        tables = [
            PolicyTables.of(one, plan.target_axes, observed[one.text], plan.vqa[0], known)
            for one in plan.prompts
        ]
        return {one.prompt.text: choose(plan, one, partial(draw, one.prompt)) for one in tables}

    return run.decide(
        "the policy", flow, _unknown(plan, model, reader, partial(most_drawn, plan)), {}
    )


def _tokens(
    plan: MitigationPlan, run: Run, observed: Observed, embedder: Embedder | None
) -> Mapping[str, object]:
    """What ITI-GEN learns from the counterfactual pictures of all prompts; nothing where the run
    only counts.
    """
    tower = getattr(embedder, "text_tower", None)
    if embedder is None or tower is None:
        raise UsageError(
            f"{TOKENS} learns by an embedder of pictures and texts with a CLIP text tower, not by "
            f"{plan.embedder!r}: studio or clip/ID"
        )
    from askew.mitigations import iti_gen

    first = plan.prompts[0]
    sets: dict[tuple[str | None, str | None], list[Picture]] = {}
    for one in (one for some in observed.values() for one in some):
        shown = sets.setdefault((one.prompt.axis, one.prompt.value), [])
        shown += [picture for picture in one.pictures if isinstance(picture, Picture)]
    vectors = {
        axis.name: [run.read(embedder, sets.get((axis.name, value), [])) for value in axis.values]
        for axis in first.closed
        if axis.name in plan.target_axes
    }

    def flow() -> Mapping[str, object]:
        model, tokenizer = tower()
        encoder = iti_gen.encoder_digest(model.text_model)
        texts = [*dict.fromkeys([*(one.text for one in plan.prompts), iti_gen.ANYBODY])]
        seed = derived_seed(plan.seed, TOKENS)
        pictures = [one.tobytes() for some in vectors.values() for one in some]
        recipe = json.dumps([encoder, texts, iti_gen.EPOCHS, seed, *vectors]).encode()
        kept = sha256(b"".join([recipe, *pictures]))
        with run.steps("tokens", TOKENS, iti_gen.EPOCHS) as steps:
            found = iti_gen.learn_tokens(
                model,
                tokenizer,
                texts,
                vectors,
                seed,
                run.store.path / TOKENS / kept,
                steps.advance,
            )
        tokens = {axis: iti_gen.encode_tokens(table) for axis, table in found.items()}
        return {"tokens": tokens, "width": next(iter(found.values())).shape[-1], "encoder": encoder}

    return run.decide("the tokens", flow, Work(), {})


def _unknown(
    plan: MitigationPlan, model: Model, reader: SurveyReader, images: Callable[[PromptPlan], int]
) -> Work:
    """So many pictures for every prompt of the plan, whose texts nobody can say yet."""
    return sum(
        (
            unmade(
                model, images(prompt), [len(reader.questions(prompt, name)) for name in plan.vqa]
            )
            for prompt in plan.prompts
        ),
        Work(),
    )


def _technique(plan: MitigationPlan, technique: str, learned: Mapping[str, object]) -> Mitigation:
    """A way to mitigate with the targets that hold for every prompt."""
    first, *others = (plan.targets(prompt) for prompt in plan.prompts)
    common = {
        axis: shares for axis, shares in first.items() if all(one[axis] == shares for one in others)
    }
    own: dict[str, object] = {
        "method": technique,
        "targets": common,
        **plan.settings_of(technique),
        **learned,
    }
    return mitigation.parse_mitigation(own, f"the mitigation {technique}")


def _judged(
    reader: SurveyReader,
    prompt: PromptPlan,
    technique: str | None,
    pictures: Sequence[Outcome],
    techniques: Mapping[str, Mitigation],
    embedder: Embedder | None,
    seed: int,
) -> EvaluationSet:
    own = (
        Prompt(prompt.text) if technique is None else Prompt(prompt.text, TECHNIQUE_AXIS, technique)
    )
    observed = reader.read(prompt, [(own, pictures)])[0]
    requests = [
        Request(prompt.text, picture_seed(seed, prompt.text, k), k) for k in range(len(pictures))
    ]
    said = [
        techniques[technique].requested_values(one) if technique is not None else {}
        for one in requests
    ]
    asked = {
        axis: [one.get(axis) for one in said]
        for axis in dict.fromkeys(a for one in said for a in one)
    }
    first: VQA = next(iter(reader.instruments.values()))
    subjects = reader.run.ask(first, pictures, [SUBJECT])
    read = [
        one
        if isinstance(one, Missing)
        else subjects[one.id][0]
        if one.id in subjects
        else Missing("not_asked")
        for one in pictures
    ]
    if embedder is None:
        return EvaluationSet(technique, observed, asked, read, {}, None)
    present = {k: one for k, one in enumerate(pictures) if isinstance(one, Picture)}
    vectors = (
        dict(zip(present, reader.run.read(embedder, [*present.values()]), strict=True))
        if present
        else {}
    )
    text = reader.run.decide(
        "the prompt's vector", lambda: embedder.embed_texts([prompt.text])[0], Work(), None
    )
    return EvaluationSet(technique, observed, asked, read, vectors, text)
