"""Collect the data of `askew mitigate`: images for planning, refinement and evaluation.

The three kinds of images have different seeds, so no image is used for both planning and
evaluation. Images generated without and with a technique have the same seeds.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askew import mitigations, registry
from askew.errors import UnknownName, UsageError
from askew.measure.base import VQA, Embedder
from askew.methods.mitigate.axis_choice import AxisSelection, DeviationModel, Prediction
from askew.methods.mitigate.plan import FROM_IMAGES, INTERMIT, PROMPTS, TOKENS, MitigationPlan
from askew.methods.mitigate.policy import (
    MOST_ROUNDS,
    PolicyTables,
    SolvedPolicy,
    choose,
    most_drawn,
)
from askew.methods.mitigate.selection import (
    intermit_mitigation,
    intermit_predictions,
    policy_predictions,
    widest_axes,
)
from askew.mitigations.base import Mitigation, parse_mitigation
from askew.mitigations.prompts import Policy, PolicyPart, PromptPolicy
from askew.models.base import Model
from askew.parts.survey import reader as survey
from askew.parts.survey.confusion import calibrations
from askew.parts.survey.following import (
    ImageRequests,
    following,
    following_warnings,
    requests_of,
    targets_of,
)
from askew.parts.survey.instruments import instruments_of
from askew.parts.survey.observed import ObservedSet
from askew.parts.survey.reader import Observed, PromptImages, SurveyReader
from askew.plan import PromptPlan
from askew.prompts.axes import table_question
from askew.run.base import Answer, Outcome, Run
from askew.run.inquiries import Inquiry, Reading
from askew.run.work import Work
from askew.store.files import sha256
from askew.store.keys import derived_seed
from askew.store.states import StateFile
from askew.types import Missing, Picture, Prompt, Question

SUBJECT = Question(table_question("occupation"), (), "occupation")
"""Question about the occupation in an image. The answer shows whether the image still shows the
prompt's subject."""

TECHNIQUE_AXIS = "mitigation"
"""Name of the axis of image sets that are generated with a technique.

The value of such a set is the name of the technique.
"""

CHOSEN_BY_ASKEW = {"method", "targets", "policies", "prompts", "steps"}
"""Fields of a mitigation that users cannot set."""

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """Held-out images of a prompt, generated without or with a technique.

    Attributes
    ----------
    technique : str or None
        Name of the technique; None for images generated without a technique.
    observed : ObservedSet
        The images and their labels.
    asked : mapping of axis to sequence of str or None
        Value that was requested for each image. None if no value was requested.
    subjects : sequence of Answer
        Occupation shown in each image.
    vectors : mapping of int to array
        Embeddings of the images that are not missing, keyed by position. Empty if there is no
        embedder.
    text : array or None
        Embedding of the prompt.
    """

    technique: str | None
    observed: ObservedSet
    asked: Mapping[str, Sequence[str | None]]
    subjects: Sequence[Answer]
    vectors: Mapping[int, Vectors]
    text: Vectors | None


@dataclass(frozen=True)
class MitigationGathered(survey.SurveyData):
    """All data that a run of `askew mitigate` obtained.

    Attributes
    ----------
    predictions : mapping of technique to mapping of prompt to Prediction
        Predicted deviations, for techniques whose planning uses images.
    selection : AxisSelection or None
        Selection of the axes to mitigate. None if all target axes are mitigated.
    deviations : DeviationModel or None
        Model whose predictions determined the selection. None if no axes were selected.
    techniques : mapping of name to Mitigation
        The mitigations.
    judged : mapping of prompt to EvaluationSet
        Held-out images of each prompt: first those without a technique, then those with each
        technique.
    """

    predictions: Mapping[str, Mapping[str, Prediction]]
    selection: AxisSelection | None
    deviations: DeviationModel | None
    techniques: Mapping[str, Mitigation]
    judged: Mapping[str, Sequence[EvaluationSet]]


@dataclass(frozen=True)
class _Workshop:
    """Plan, run, model and instruments of a mitigation."""

    plan: MitigationPlan
    run: Run
    model: Model
    reader: SurveyReader
    embedder: Embedder | None

    @property
    def texts(self) -> list[str]:
        return [prompt.text for prompt in self.plan.prompts]


def gather(plan: MitigationPlan, run: Run) -> MitigationGathered:
    """Plan and refine mitigations, and evaluate them on held-out images.

    Raises
    ------
    UsageError
        If the model is a collection of images, or if it does not support a technique.
    """
    workshop = _opened_workshop(plan, run)
    planning: Observed = {}
    if plan.needs_planning_images:
        planning = survey.observed_sets(plan, workshop.model, workshop.reader)
    deviations = _deviation_model(workshop, planning)
    selection = _selection(workshop, deviations)
    steps = _intermit_steps(workshop, deviations)
    chosen = _with_chosen_axes(workshop, selection)
    policies = _policies(chosen, planning) if PROMPTS in plan.techniques else {}
    techniques = _techniques(chosen, planning, policies)
    predictions = {PROMPTS: policy_predictions(policies)}
    if steps is not None:
        techniques[INTERMIT] = intermit_mitigation(plan, steps)
        predictions[INTERMIT] = intermit_predictions(deviations, steps)
    judged = _evaluate(chosen, techniques)
    observed = {}
    for text, sets in judged.items():
        observed[text] = [images.observed for images in sets]
    data = survey.surveyed(plan, workshop.model, workshop.reader, observed, workshop.embedder)
    return data.into(
        MitigationGathered,
        predictions=predictions,
        selection=selection,
        deviations=None if selection is None else deviations,
        techniques={name: techniques[name] for name in plan.techniques if name in techniques},
        judged=judged,
    )


def _opened_workshop(plan: MitigationPlan, run: Run) -> _Workshop:
    """Open the model and the instruments of a plan, and check the settings of the techniques."""
    model = mitigations.open_model(plan.model, plan.model_args)
    if not isinstance(model, Model):
        raise UsageError(
            f"{model.name} contains existing images. Only a model can be mitigated; choose one "
            "with --model"
        )
    for technique in plan.techniques:
        _check_settings(plan, technique)
        _check_technique(plan, technique, model)
    embedder = None
    if plan.embedder != "none":
        embedder = registry.embedder(plan.embedder, **plan.embedder_args)
    if TOKENS in plan.techniques:
        _check_text_encoder(plan, run, model, embedder)
    reader = SurveyReader(run, instruments_of(plan, model), person=True)
    return _Workshop(plan=plan, run=run, model=model, reader=reader, embedder=embedder)


def _check_text_encoder(
    plan: MitigationPlan, run: Run, model: Model, embedder: Embedder | None
) -> None:
    """Raise UsageError if tokens from the embedder do not work in the model's text encoder.

    askew compares the token embeddings of the embedder and of the text encoder, which it reads from
    weight files. In a `CountingRun`, if the files are not on this machine, askew checks only the
    kind of embedder.
    """
    tower = _text_tower(embedder)
    if tower is None:
        raise UsageError(
            f"--technique {TOKENS} needs an embedder with a CLIP text tower, but the embedder is "
            f"{plan.embedder!r}. Use --embedder studio or --embedder clip/ID"
        )

    from askew.mitigations import iti_gen

    if getattr(model, "encoder_is_here", False):
        read_embeddings = getattr(embedder, "token_embeddings", None)
        embeddings = read_embeddings() if read_embeddings else None
        if embeddings is not None:
            iti_gen.check_encoder(model, embeddings, plan.embedder)
            return

    def check() -> None:
        learner, _ = tower()
        embeddings = learner.text_model.get_input_embeddings().weight
        iti_gen.check_encoder(model, embeddings, plan.embedder)

    run.decide("the text encoder", check, Work(), None)


def _text_tower(embedder: Embedder | None) -> Callable[[], Any] | None:
    """Return a function that loads the embedder's CLIP text tower.

    The result is None if the embedder has no text tower.
    """
    return getattr(embedder, "text_tower", None)


def _with_chosen_axes(workshop: _Workshop, selection: AxisSelection | None) -> _Workshop:
    """Return the workshop with the selected axes as its target axes.

    A `CountingRun` uses the axes that have the most values.
    """
    plan = workshop.plan
    if plan.choose_axes is None:
        return workshop
    axes = widest_axes(plan) if selection is None else selection.axes
    return replace(workshop, plan=plan.model_copy(update={"target_axes": axes}))


def _deviation_model(workshop: _Workshop, planning: Observed) -> DeviationModel | None:
    """Return the model that predicts deviations; None if it is not needed or not available yet."""
    plan = workshop.plan
    if not plan.measures_overall:
        return None

    def model() -> DeviationModel | None:
        return DeviationModel.of(plan, _tables(workshop, planning))

    return workshop.run.decide("the predictions", model, Work(), None)


def _tables(workshop: _Workshop, observed: Observed) -> list[PolicyTables]:
    """Return all prompts' tables of shares for the plan's target axes."""
    plan = workshop.plan
    errors = calibrations(plan.prompts, workshop.reader.instruments)
    return [
        PolicyTables.of(prompt, plan.target_axes, observed[prompt.text], plan.vqa[0], errors)
        for prompt in plan.prompts
    ]


def _selection(workshop: _Workshop, deviations: DeviationModel | None) -> AxisSelection | None:
    """Return the selection of axes; None if all axes are mitigated or no prediction exists yet."""
    number = workshop.plan.choose_axes
    if number is None or deviations is None:
        return None
    return deviations.select(number)


def _intermit_steps(
    workshop: _Workshop, deviations: DeviationModel | None
) -> tuple[str, ...] | None:
    """Return the axes that InterMit mitigates.

    The result is None if InterMit is not used, or if there are no predictions yet.
    """
    if INTERMIT not in workshop.plan.techniques or deviations is None:
        return None
    return deviations.intermit_steps(intermit_mitigation(workshop.plan, ()).bound)


def _check_settings(plan: MitigationPlan, technique: str) -> None:
    """Raise UnknownName if the plan contains a setting that the technique does not have."""
    known = registry.named("mitigation", technique).model_fields.keys() - CHOSEN_BY_ASKEW
    unknown = plan.settings_of(technique).keys() - known
    if unknown:
        raise UnknownName(f"setting of {technique}", min(unknown), known)


def _check_technique(plan: MitigationPlan, technique: str, model: Model) -> None:
    """Raise UsageError before images are generated if a technique cannot change the model.

    Policies and tokens do not exist at this point, so the check uses a draft of the technique.
    """
    draft: type[Mitigation] = registry.named("mitigation", technique)
    if technique == PROMPTS:
        policies = [_draft_policy(prompt, plan) for prompt in plan.prompts]
        PromptPolicy(policies=tuple(policies)).wrap(model)
    elif technique == INTERMIT:
        intermit_mitigation(plan, plan.target_axes).wrap(model)
    elif technique == TOKENS:
        draft.model_construct(method=technique, targets=plan.targets(plan.prompts[0])).wrap(model)
    else:
        _technique(plan, technique, {}).wrap(model)


def _draft_policy(prompt: PromptPlan, plan: MitigationPlan) -> Policy:
    """Return a policy whose only prompt states the first value of each target axis."""
    says = {axis: next(iter(shares)) for axis, shares in plan.targets(prompt).items()}
    return Policy(prompt=prompt.text, parts=(PolicyPart(text=prompt.text, weight=1, says=says),))


def _techniques(
    workshop: _Workshop, planning: Observed, policies: Mapping[str, SolvedPolicy]
) -> dict[str, Mitigation]:
    """Return the mitigations, excluding those that depend on images that do not exist yet."""
    plan = workshop.plan
    learned: dict[str, Mapping[str, object]] = {technique: {} for technique in plan.techniques}
    if policies:
        dumped = [solved.policy.model_dump() for solved in policies.values()]
        learned[PROMPTS] = {"policies": dumped}
    if TOKENS in plan.techniques:
        learned[TOKENS] = _tokens(workshop, planning)
    return {
        technique: _technique(plan, technique, fields)
        for technique, fields in learned.items()
        if fields or technique not in FROM_IMAGES
    }


def _evaluate(
    workshop: _Workshop, techniques: Mapping[str, Mitigation]
) -> dict[str, list[EvaluationSet]]:
    """Generate and label held-out images of all prompts, without and with each technique."""
    plan = workshop.plan
    seed = derived_seed(plan.seed, "confirm")
    models: dict[str | None, Model] = {None: workshop.model}
    for name, value in techniques.items():
        models[name] = value.wrap(workshop.model)
    pictures = {
        name: workshop.run.pictures(model, workshop.texts, plan.eval_images, seed)
        for name, model in models.items()
    }
    for technique in plan.techniques:
        if technique not in techniques:  # a counting run does not know this mitigation
            work = _unknown(workshop, lambda prompt: plan.eval_images)
            workshop.run.decide(f"images under {technique}", dict, work, {})
    held_out = [
        _HeldOut(prompt, technique=name, model=model, pictures=pictures[name][prompt.text])
        for prompt in plan.prompts
        for name, model in models.items()
    ]
    evaluated: dict[str, list[EvaluationSet]] = {prompt.text: [] for prompt in plan.prompts}
    for images, evaluation in zip(
        held_out, _evaluation_sets(workshop, held_out, seed), strict=True
    ):
        evaluated[images.prompt.text].append(evaluation)
    return evaluated


def _policies(workshop: _Workshop, observed: Observed) -> dict[str, SolvedPolicy]:
    """Return the policy of each prompt; empty in a `CountingRun`."""
    plan = workshop.plan
    seed = derived_seed(plan.seed, "refine")

    def draw(prompt: PromptPlan, texts: Sequence[str]) -> list[ObservedSet]:
        pictures = workshop.run.pictures(
            workshop.model, texts, plan.refine, seed, separate_batches=True
        )
        images = [PromptImages(prompt, [(Prompt(text), pictures[text])]) for text in texts]
        return [observed for (observed,) in workshop.reader.read_all(images)]

    def solve() -> dict[str, SolvedPolicy]:
        policies = {}
        for tables in _tables(workshop, observed):
            policies[tables.prompt.text] = choose(plan, tables, partial(draw, tables.prompt))
        return policies

    work = _unknown(workshop, partial(most_drawn, plan))
    rounds = MOST_ROUNDS * len(plan.prompts)
    return workshop.run.decide("the policy", solve, work, {}, rounds=rounds)


def _tokens(workshop: _Workshop, observed: Observed) -> Mapping[str, object]:
    """Learn ITI-GEN's tokens from the counterfactual images of all prompts.

    The result is empty in a `CountingRun`.
    """
    embedder = workshop.embedder
    tower = _text_tower(embedder)
    # `_opened_workshop` has checked both.
    assert embedder is not None
    assert tower is not None
    vectors = _vectors_by_axis(workshop, embedder, observed)

    def learn() -> Mapping[str, object]:
        return _learned_tokens(workshop, tower, vectors)

    return workshop.run.decide("the tokens", learn, Work(), {})


def _vectors_by_axis(
    workshop: _Workshop, embedder: Embedder, observed: Observed
) -> dict[str, list[Vectors]]:
    """Return the embeddings of counterfactual images: for each target axis, an array per value."""
    pictures: dict[tuple[str | None, str | None], list[Picture]] = {}
    for of_prompt in observed.values():
        for image_set in of_prompt:
            key = (image_set.prompt.axis, image_set.prompt.value)
            present = [item for item in image_set.pictures if isinstance(item, Picture)]
            pictures.setdefault(key, []).extend(present)
    vectors: dict[str, list[Vectors]] = {}
    for axis in workshop.plan.prompts[0].closed:
        if axis.name in workshop.plan.target_axes:
            vectors[axis.name] = workshop.run.read_all(
                [Reading(embedder, pictures.get((axis.name, value), [])) for value in axis.values]
            )
    return vectors


def _learned_tokens(
    workshop: _Workshop, tower: Callable[[], Any], vectors: Mapping[str, list[Vectors]]
) -> Mapping[str, object]:
    """Learn tokens, or load them from the store, and return them as fields of a mitigation."""
    from askew.mitigations import iti_gen

    plan = workshop.plan
    model, tokenizer = tower()
    encoder = iti_gen.encoder_digest(model.text_model)
    texts = list(dict.fromkeys([*workshop.texts, iti_gen.ANYBODY]))
    seed = derived_seed(plan.seed, TOKENS)
    recipe = json.dumps([encoder, texts, iti_gen.EPOCHS, seed, *vectors]).encode()
    image_bytes = [rows.tobytes() for of_axis in vectors.values() for rows in of_axis]
    digest = sha256(b"".join([recipe, *image_bytes]))
    with workshop.run.steps("tokens", TOKENS, iti_gen.EPOCHS) as steps:
        tables = iti_gen.learn_tokens(
            model,
            tokenizer,
            texts,
            vectors,
            seed,
            StateFile(workshop.run.store.path / TOKENS / digest),
            steps.advance,
        )
    return {
        "tokens": {axis: iti_gen.encode_tokens(table) for axis, table in tables.items()},
        "width": next(iter(tables.values())).shape[-1],
        "encoder": encoder,
    }


def _unknown(workshop: _Workshop, images: Callable[[PromptPlan], int]) -> Work:
    """Return the work for `images(prompt)` images per prompt, from texts that are not known yet."""
    work = Work()
    for prompt in workshop.plan.prompts:
        work += workshop.reader.unmade(workshop.model, prompt, images(prompt))
    return work


def _technique(plan: MitigationPlan, technique: str, learned: Mapping[str, object]) -> Mitigation:
    """Build a technique's mitigation, with the target shares that all prompts have in common."""
    common = plan.targets(plan.prompts[0])
    for prompt in plan.prompts[1:]:
        targets = plan.targets(prompt)
        common = {axis: shares for axis, shares in common.items() if targets[axis] == shares}
    fields: dict[str, object] = {
        "method": technique,
        "targets": common,
        **plan.settings_of(technique),
        **learned,
    }
    return parse_mitigation(fields, f"the mitigation {technique}").with_digest()


@dataclass(frozen=True, slots=True)
class _HeldOut:
    """Held-out images of a prompt that are not labeled yet.

    Attributes
    ----------
    prompt : PromptPlan
        The prompt.
    technique : str or None
        Technique with which the images were generated; None if they were generated without one.
    model : Model
        Model to which the technique was applied.
    pictures : sequence of Outcome
        The images.
    """

    prompt: PromptPlan
    technique: str | None
    model: Model
    pictures: Sequence[Outcome]

    @property
    def text(self) -> str:
        """Text of the prompt."""
        return self.prompt.text

    @property
    def present(self) -> dict[int, Picture]:
        """Images that are not missing, keyed by position."""
        return {
            place: picture
            for place, picture in enumerate(self.pictures)
            if isinstance(picture, Picture)
        }

    @property
    def image_sets(self) -> PromptImages:
        """The images, as an image set of the prompt."""
        prompt = Prompt(self.text)
        if self.technique is not None:
            prompt = Prompt(self.text, TECHNIQUE_AXIS, self.technique)
        return PromptImages(self.prompt, [(prompt, self.pictures)])


def _evaluation_sets(
    workshop: _Workshop, held_out: Sequence[_HeldOut], seed: int
) -> list[EvaluationSet]:
    """Label held-out images, and record which values the mitigations requested for each image."""
    plan = workshop.plan
    observed = workshop.reader.read_all([images.image_sets for images in held_out])
    subjects = _subjects(workshop.reader, [images.pictures for images in held_out])
    vectors = _vectors_of_images(workshop, held_out)
    texts = _vectors_of_prompts(workshop)
    evaluations = []
    parts = zip(held_out, observed, subjects, vectors, strict=True)
    for images, (of_images,), of_subjects, rows in parts:
        requests = requests_of(images.text, images.model, len(images.pictures), seed)
        asked = ImageRequests(requests=requests, targets=targets_of(images.model))
        entries = following(images.prompt, of_images, asked, plan.vqa[0], plan.confidence)
        workshop.run.warn(*following_warnings(entries, images.technique or ""))
        evaluation = EvaluationSet(
            technique=images.technique,
            observed=of_images,
            asked=requests,
            subjects=of_subjects,
            vectors=rows,
            text=texts.get(images.text),
        )
        evaluations.append(evaluation)
    return evaluations


def _subjects(reader: SurveyReader, image_lists: Sequence[Sequence[Outcome]]) -> list[list[Answer]]:
    """Ask the first instrument which occupation each image shows."""
    first: VQA = next(iter(reader.instruments.values()))
    answers = reader.run.ask_all([Inquiry(first, images, [SUBJECT]) for images in image_lists])
    return [
        _answers_of(images, of_list) for images, of_list in zip(image_lists, answers, strict=True)
    ]


def _answers_of(images: Sequence[Outcome], answers: Mapping[str, Sequence[Answer]]) -> list[Answer]:
    """Return the first answer about each image, or the reason why it is missing."""
    subjects: list[Answer] = []
    for picture in images:
        if isinstance(picture, Missing):
            subjects.append(picture)
        elif picture.id in answers:
            subjects.append(answers[picture.id][0])
        else:
            subjects.append(Missing("not_asked"))
    return subjects


def _vectors_of_images(
    workshop: _Workshop, held_out: Sequence[_HeldOut]
) -> list[dict[int, Vectors]]:
    """Return the embeddings of images, keyed by position; empty if there is no embedder."""
    if workshop.embedder is None:
        return [{} for _ in held_out]
    readings = [Reading(workshop.embedder, list(images.present.values())) for images in held_out]
    vectors: list[dict[int, Vectors]] = []
    for images, rows in zip(held_out, workshop.run.read_all(readings), strict=True):
        vectors.append(dict(zip(images.present, rows, strict=True)))
    return vectors


def _vectors_of_prompts(workshop: _Workshop) -> dict[str, Vectors]:
    """Return the embeddings of the prompts, keyed by text.

    The result is empty if there is no embedder.
    """
    embedder = workshop.embedder
    if embedder is None:
        return {}
    texts = workshop.texts
    rows = workshop.run.look(embedder.embed_texts, [[text] for text in texts])
    return {
        text: row[0] for text, row in zip(texts, rows, strict=True) if not isinstance(row, Missing)
    }
