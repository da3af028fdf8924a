"""One layer's share of the clipped sums of a batch."""

from __future__ import annotations

from typing import Protocol, TypeAlias

import torch
from torch import Tensor

Call: TypeAlias = tuple[Tensor, Tensor]  # what entered a layer, and the errors that came back to what left


class Part(Protocol):
    """One layer's share of the gradients of a batch."""

    def squares(self) -> Tensor:
        """The squared norm of each example's gradient."""

    def total(self, factors: Tensor) -> dict[str, Tensor]:
        """The sum of the gradients, each times its factor, by the parameter's name within the layer."""


def squares_of(values: Tensor) -> Tensor:
    """The squared norm of each example's block."""
    norms: Tensor = torch.linalg.vector_norm(values.flatten(1), dim=1)
    return norms.square()


def added(values: list[Tensor]) -> Tensor:
    """The sum of tensors of one shape."""
    total = values[0]
    for other in values[1:]:
        total = total + other
    return total
