"""Muon (Jordan et al., 2024): steps along the orthogonalized momentum of weight matrices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, cast

import torch
from torch import Tensor, nn

QUINTIC = (3.4445, -4.7750, 2.0315)
"""Coefficients of the iteration (Jordan), steep near 0: after five rounds singular values are near 1."""


def orthogonalized(matrix: Tensor, rounds: int = 5) -> Tensor:
    """Return matrices (..., rows, columns) with singular values moved near 1.

    The quintic Newton-Schulz iteration runs in bfloat16.
    """
    tall = matrix.shape[-2] > matrix.shape[-1]
    wide = matrix.mT if tall else matrix
    x: Tensor = (wide / (wide.norm(dim=(-2, -1), keepdim=True) + 1e-7)).bfloat16()
    a, b, c = QUINTIC
    for _ in range(rounds):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    return (x.mT if tall else x).to(matrix.dtype)


class Muon(torch.optim.Optimizer):
    """Muon optimizer for weights of two or more dimensions.

    Weights of a convolution are reshaped to (outputs, inputs x height x width).

    torch.optim.Muon accepts only matrices, so it cannot be used.
    """

    def __init__(self, parameters: Iterable[Tensor], rate: float, momentum: float = 0.95) -> None:
        super().__init__(parameters, {"lr": rate, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Take a step with Nesterov momentum; matrices of equal shape are processed together."""
        for group in self.param_groups:
            alike: dict[tuple[int, int], list[Tensor]] = defaultdict(list)
            for weight in group["params"]:
                if weight.grad is not None:
                    alike[weight.shape[0], weight[0].numel()].append(weight)
            for (rows, columns), weights in alike.items():
                ahead = torch.stack([self._ahead(weight, group["momentum"]) for weight in weights])
                size = max(1.0, rows / columns) ** 0.5
                for weight, step in zip(weights, orthogonalized(ahead), strict=True):
                    weight.sub_(step.view_as(weight), alpha=group["lr"] * size)

    def _ahead(self, weight: Tensor, momentum: float) -> Tensor:
        """Update the velocity, and return the gradient moved toward it: (rows, columns)."""
        gradient = cast(Tensor, weight.grad)
        velocity = self.state[weight].setdefault("velocity", torch.zeros_like(weight))
        velocity.lerp_(gradient, 1 - momentum)
        return gradient.lerp(velocity, momentum).flatten(1)


class Optimizers:
    """Muon for the weights of inner layers and AdamW for other weights, with one schedule."""

    def __init__(self, networks: Iterable[nn.Module], muon_rate: float, adam_rate: float) -> None:
        weights: list[Tensor] = []
        others: list[Tensor] = []
        for network in networks:
            for module in network.modules():
                for name, parameter in module.named_parameters(recurse=False):
                    inner = name == "weight" and isinstance(module, nn.Conv2d | nn.Linear)
                    (weights if inner else others).append(parameter)
        self.rates = (muon_rate, adam_rate)
        self.optimizers = (
            Muon(weights, muon_rate),
            torch.optim.AdamW(others, lr=adam_rate, betas=(0.9, 0.99), weight_decay=0.0),
        )

    def step(self, factor: float) -> None:
        """Take a step at `factor` times the learning rates, and clear gradients."""
        for optimizer, rate in zip(self.optimizers, self.rates, strict=True):
            for group in optimizer.param_groups:
                group["lr"] = rate * factor
            optimizer.step()
            optimizer.zero_grad()

    def state(self) -> list[dict[str, Any]]:
        """Return the state for a checkpoint."""
        return [optimizer.state_dict() for optimizer in self.optimizers]

    def restore(self, state: list[dict[str, Any]]) -> None:
        """Restore the state of a checkpoint."""
        for optimizer, part_state in zip(self.optimizers, state, strict=True):
            optimizer.load_state_dict(part_state)
