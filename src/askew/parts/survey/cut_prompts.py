"""Find prompts that a model truncates before the stated value, so that no image can show it."""

import re
from collections.abc import Iterable

from askew.errors import UsageError
from askew.models.base import Model
from askew.parts.survey.instruments import cuts_prompts
from askew.plan import PromptPlan


def check_values_received(model: Model, prompts: Iterable[PromptPlan]) -> None:
    """Check that a model receives the value stated in each counterfactual prompt.

    Parameters
    ----------
    model
        The model.
    prompts
        Prompts of a plan, with their axes.

    Raises
    ------
    UsageError
        If the model truncates the prompts for two values of an axis to the same text.
    """
    for planned in prompts:
        for axis in planned.axes:
            _check_axis(model, axis.name, [prompt.text for prompt in axis.prompts()])


def _check_axis(model: Model, axis: str, texts: Iterable[str]) -> None:
    """Raise UsageError if a model truncates two prompts of an axis to the same text."""
    received: dict[str, str] = {}
    for text in dict.fromkeys(texts):
        first = received.setdefault(_received(model, text), text)
        if first != text:
            raise UsageError(
                f"{model.name} cannot show the values of {axis} because it cuts off two prompts "
                "before the value and so receives the same text from both. The prompts are "
                f"{first!r} and {text!r}. Shorten the prompt, or leave out the axis with --axes"
            )


def _received(model: Model, text: str) -> str:
    """Return the letters and digits of a prompt up to the first word that a model ignores."""
    if not cuts_prompts(model):
        return text
    cut = _letters(" ".join(model.unknown_words(text)))
    return _letters(text).removesuffix(cut) if cut else text


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.lower())
