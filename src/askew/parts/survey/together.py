"""Check whether questions asked in one call get the same answers as questions asked one by one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from askew.measure.base import VQA, CalledVQA
from askew.parts.survey.observed import ObservedSet
from askew.plan import PromptPlan
from askew.run.base import Run
from askew.run.inquiries import Inquiry
from askew.types import Picture, Question

SAMPLE = 24
"""Maximum number of images for which answers are checked."""


def check_together(
    run: Run,
    instruments: Mapping[str, VQA],
    prompts: Sequence[PromptPlan],
    observed: Mapping[str, Sequence[ObservedSet]],
) -> None:
    """Ask questions about some images again, one by one, and report how many answers changed.

    askew checks only instruments that put several questions into one call.

    Parameters
    ----------
    run
        The run.
    instruments
        Instruments by name.
    prompts
        Prompts of the plan.
    observed
        Sets by prompt.
    """
    for name, vqa in instruments.items():
        separate = vqa.separate if isinstance(vqa, CalledVQA) else None
        if separate is None:
            continue
        changed = 0
        total = 0
        images = -(-SAMPLE // len(prompts))
        inquiries = []
        for prompt in prompts[:SAMPLE]:
            sample = _first_images(observed[prompt.text], images)
            inquiries.append(Inquiry(vqa, sample, _closed_questions(prompt)))
        all_together = run.ask_all(inquiries)
        all_separate = run.ask_all([replace(inquiry, vqa=separate) for inquiry in inquiries])
        for together, one_by_one in zip(all_together, all_separate, strict=True):
            for picture, answers in together.items():
                pairs = zip(answers, one_by_one[picture], strict=True)
                changed += sum(first != second for first, second in pairs)
                total += len(answers)
        if total:
            run.warn(_sentence(name, changed, total))


def _first_images(sets: Iterable[ObservedSet], count: int) -> list[Picture]:
    pictures = [picture for entry in sets for picture in entry.pictures]
    return [picture for picture in pictures if isinstance(picture, Picture)][:count]


def _closed_questions(prompt: PromptPlan) -> list[Question]:
    questions = [question for axis in prompt.axes for question in axis.axis().questions]
    return [question for question in questions if question.options]


def _sentence(name: str, changed: int, total: int) -> str:
    sentence = (
        f"{name} received several questions per call. askew asked {total} of these questions "
        f"again, one by one, and {changed} answers changed"
    )
    if not changed:
        return sentence
    return (
        f"{sentence} ({changed / total:.0%}). If too many answers changed, give each question its "
        "own call with --vqa-arg together=1"
    )
