"""One layer's share of the clipped sums of a batch."""

from __future__ import annotations

from typing import Protocol, TypeAlias

import torch
from torch import Tensor

_SMALL, _LARGE = 1e-12, 1e18  # norms between them lose nothing to squares in single precision

Call: TypeAlias = tuple[Tensor, Tensor]  # what entered a layer, and the errors that came back to what left


class LayerGradient(Protocol):
    """One layer's share of the gradients of a batch."""

    def squares(self) -> Tensor:
        """The squared norm of each example's gradient, in doubles."""

    def total(self, factors: Tensor) -> dict[str, Tensor]:
        """The sum of the gradients, each times its factor, by the parameter's name within the layer."""


def squares_of(values: Tensor) -> Tensor:
    """The squared norm of each example's block, in doubles.

    Norms are taken in the values' own precision, which is many times as fast, but where squares in single precision
    could vanish or overflow: those are taken in doubles.
    """
    flat = values.flatten(1)
    norms: Tensor = torch.linalg.vector_norm(flat, dim=1).double()
    doubtful = ~((norms > _SMALL) & (norms < _LARGE))
    if bool(doubtful.any()):
        norms[doubtful] = torch.linalg.vector_norm(flat[doubtful], dim=1, dtype=torch.float64)
    return norms.square()


def sum_tensors(values: list[Tensor]) -> Tensor:
    """The sum of tensors of one shape."""
    total = values[0]
    for other in values[1:]:
        total = total + other
    return total
