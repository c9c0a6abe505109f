"""Checks of axes and counterfactual prompts: what passes and what does not.

This is the table of docs/reference/language-models.md:

    python -m benchmarks.wording
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from askew.errors import LanguageModelError, UsageError
from askew.prompts.acceptance import requested_content
from askew.prompts.lexicon import LexiconWriter
from askew.prompts.llm import CachingLLM, Completion, Message, Schema
from askew.prompts.llm_writer import LLMWriter

DATA = Path(__file__).parent / "data"


@dataclass
class ScriptedLLM:
    """A language model that writes given counterfactual prompts, and reads good ones back.

    Attributes
    ----------
    axis
        Name of the axis.
    pairs
        Values and counterfactual prompts; the value is "" for none.
    values
        Value that it reads, by text; "none" for other texts.
    """

    axis: str
    pairs: Sequence[tuple[str, str]]
    values: Mapping[str, str]
    name: str = "scripted"
    fingerprint: str = "scripted"
    concurrency: int = 1

    def complete(self, messages: Sequence[Message], schema: Schema | None, seed: int) -> Completion:
        """Return the next message of a conversation."""
        if schema is None:
            return Completion("One axis.")
        if "values" in schema["properties"]:
            return Completion(self._values_in(messages[-1].content))
        texts = [
            text if not value else {"value": value, "prompt": text} for value, text in self.pairs
        ]
        axis = {"name": self.axis, "kind": "societal", "counterfactuals": texts}
        return Completion(json.dumps({"axes": [axis]}))

    def _values_in(self, question: str) -> str:
        """Return the answer to the question which values some texts state."""
        lines = [line.partition(". ") for line in question.splitlines()]
        texts = [text for number, _, text in lines if number.isdigit()]
        return json.dumps({"values": [self.values.get(text, "none") for text in texts]})


@dataclass(frozen=True)
class Verdict:
    """Decision of askew about a counterfactual prompt.

    Attributes
    ----------
    prompt, axis, value, text
        The counterfactual prompt.
    is_good
        Whether a person accepts it.
    fault
        Reason of the rejection; None if askew accepts it.
    """

    prompt: str
    axis: str
    value: str
    text: str
    is_good: bool
    fault: str | None


def judge(
    prompt: str, axis: str, pairs: Sequence[tuple[str, str]], values: Mapping[str, str]
) -> list[str | None]:
    """Return the fault of each of some counterfactual prompts of an axis; None if accepted.

    Parameters
    ----------
    prompt
        Original prompt.
    axis
        Name of the axis.
    pairs
        Values and counterfactual prompts.
    values
        Values that the model reads back, by text.
    """
    llm = CachingLLM(ScriptedLLM(axis=axis, pairs=pairs, values=values))
    writer = LLMWriter(llm, on="all")
    with suppress(LanguageModelError):
        writer.propose(prompt, None, 0)
    rejected = writer.rejected_texts[prompt]
    contents = [requested_content(prompt, text) for _, text in pairs]
    return [rejected[text].reason if text in rejected else None for text in contents]


def acceptance() -> list[Verdict]:
    """Return the verdicts on the counterfactual prompts of data/counterfactuals.toml.

    Each is written with two other good values of its axis, as a model writes them.
    """
    verdicts = []
    for group in _read("counterfactuals.toml")["group"]:
        good = list(group["good"].items())
        values = {text: value for value, text in good}
        for value, text in [*good, *map(tuple, group.get("bad", ()))]:
            others = [pair for pair in good if value != pair[0] and text != pair[1]][:2]
            faults = judge(group["prompt"], group["axis"], [(value, text), *others], values)
            verdicts.append(
                Verdict(
                    prompt=group["prompt"],
                    axis=group["axis"],
                    value=value,
                    text=text,
                    is_good=(value, text) in good,
                    fault=faults[0],
                )
            )
    return verdicts


def published(figure: str) -> list[Verdict]:
    """Return the verdicts on the counterfactual prompts of a figure of TIBET, which are all good."""
    data = _read("published.toml")
    verdicts = []
    for axis, texts in data[figure].items():
        contents = {requested_content(data["prompt"], text): text for text in texts}
        values = {content: content for content in contents}
        faults = judge(data["prompt"], axis, [("", text) for text in texts], values)
        for text, fault in zip(texts, faults, strict=True):
            verdict = Verdict(
                prompt=data["prompt"], axis=axis, value="", text=text, is_good=True, fault=fault
            )
            verdicts.append(verdict)
    return verdicts


@dataclass(frozen=True)
class ProposedAxes:
    """Axes that the lexicon proposes for some prompts.

    Attributes
    ----------
    prompts
        Number of prompts.
    axes
        Pairs of a prompt and an axis.
    refused
        Prompts that the lexicon refuses.
    texts
        All counterfactual prompts.
    """

    prompts: int
    axes: list[tuple[str, str]]
    refused: list[str]
    texts: list[str]

    def wrong(self) -> list[tuple[str, str]]:
        """Return the axes that a person judged as wrong."""
        judged = [tuple(pair) for pair in _read("prompts.toml")["wrong"]]
        return [pair for pair in self.axes if pair in judged]


def propose(name: str) -> ProposedAxes:
    """Return the lexicon's axes for a list of prompts in data/prompts.toml."""
    prompts = _read("prompts.toml")[name]
    axes = []
    refused = []
    texts: list[str] = []
    for prompt in prompts:
        try:
            proposals = LexiconWriter().propose(prompt, None, 0)
        except UsageError:
            refused.append(prompt)
            continue
        for proposal in proposals:
            axes.append((prompt, proposal.axis.name))
            texts += proposal.counterfactuals.values()
    return ProposedAxes(prompts=len(prompts), axes=axes, refused=refused, texts=texts)


def digest() -> str:
    """Return the digest of all counterfactual prompts of the lexicon for data/prompts.toml."""
    texts = [*propose("given").texts, *propose("further").texts]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((DATA / name).read_text(encoding="utf-8"))


def main() -> None:
    """Print the table, and each wrong verdict."""
    listed = acceptance()
    sets = {
        "good counterfactual prompts": [verdict for verdict in listed if verdict.is_good],
        "bad counterfactual prompts": [verdict for verdict in listed if not verdict.is_good],
        "TIBET, figure 20": published("figure_20"),
        "TIBET, figure 23": published("figure_23"),
    }
    _print_axes()
    print("| texts | number | accepted | rejected |\n|---|--:|--:|--:|")
    for name, verdicts in sets.items():
        accepted = sum(verdict.fault is None for verdict in verdicts)
        print(f"| {name} | {len(verdicts)} | {accepted} | {len(verdicts) - accepted} |")
    for verdict in [verdict for verdicts in sets.values() for verdict in verdicts]:
        if verdict.is_good != (verdict.fault is None):
            print(f"- {verdict.axis} {verdict.value!r}: {verdict.text!r}: {verdict.fault}")


def _print_axes() -> None:
    """Print the table of the lexicon's axes."""
    print("| prompts | number | refused | axes | wrong axes |\n|---|--:|--:|--:|--:|")
    for name in ("given", "further"):
        proposed = propose(name)
        wrong = proposed.wrong()
        share = len(wrong) / len(proposed.axes)
        print(
            f"| {name} | {proposed.prompts} | {len(proposed.refused)} | {len(proposed.axes)} | "
            f"{len(wrong)} ({share:.1%}) |"
        )
    if digest() != _read("prompts.toml")["judged"]:
        print(f"The texts have changed: judge them, and write judged = {digest()!r}")
    print()


if __name__ == "__main__":
    main()
