"""Checkpoints, the learning rate and running averages of training that can be resumed."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

WARM_UP = 100


def warm_stable_decay(step: int, steps: int, decay: int) -> float:
    """Return the factor of the learning rate.

    It rises over 100 steps, stays at 1, and falls to 0 over the last `decay` steps.
    """
    return min(1.0, (step + 1) / WARM_UP, (steps - step) / decay)


def save(path: Path, state: Mapping[str, Any]) -> None:
    """Write a checkpoint whole or not at all."""
    unfinished = path.with_suffix(".tmp")
    torch.save(dict(state), unfinished)
    unfinished.replace(path)


def load(path: Path) -> dict[str, Any] | None:
    """Return the last checkpoint, or None."""
    if not path.exists():
        return None
    state: dict[str, Any] = torch.load(path, weights_only=True)
    return state


class Average:
    """Exponential moving average of a module's parameters, from which images are sampled."""

    def __init__(self, module: nn.Module, keep: float) -> None:
        self.module = module
        self.keep = keep
        self.state = {name: value.detach().clone() for name, value in module.state_dict().items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Move toward the module, by larger steps at first."""
        keep = min(self.keep, (step + 1) / (step + 10))
        current: dict[str, Tensor] = self.module.state_dict()
        for name, value in self.state.items():
            if value.is_floating_point():
                value.lerp_(current[name], 1 - keep)
            else:
                value.copy_(current[name])


class Log:
    """Log with a JSON line for each logged step, on standard output and in a file."""

    def __init__(self, path: Path, interval: int = 50) -> None:
        self.path = path
        self.every = interval
        self._began = time.perf_counter()

    def __call__(self, step: int, **figures: float) -> None:
        """Write the figures of a step if the step is logged."""
        if step % self.every == 0:
            seconds = round(time.perf_counter() - self._began, 1)
            line = json.dumps({"step": step, **figures, "seconds": seconds})
            print(line, flush=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
