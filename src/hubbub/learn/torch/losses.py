"""One loss per example: whatever a loss makes of a batch, training needs the loss of each example by itself."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

from hubbub.terms import WrongShape

Loss: TypeAlias = Callable[[Tensor, Tensor], Tensor]


def per_example(loss: object, outputs: Tensor, targets: Tensor) -> Loss:
    """``loss`` as a function that gives one number for each example; ``outputs`` and ``targets`` are a made-up batch.

    A torch loss with ``reduction`` is used with "none": the losses of one example are averaged, or added up where the
    loss was to be a sum. A function that gives a value (or a block of values) per example is used as it is; one that
    gives a single number for a batch is asked about each example alone.
    """
    if not callable(loss):
        raise _unusable_loss(f"loss= is a {type(loss).__name__}, which cannot be called.")
    if isinstance(loss, torch.nn.Module) and isinstance(getattr(loss, "reduction", None), str):
        return _without_reduction(loss)
    losses = loss(outputs, targets)
    if not isinstance(losses, Tensor):
        raise _unusable_loss(f"loss= gave a {type(losses).__name__}.")
    if losses.dim() == 0:
        return _one_by_one(loss)
    if len(losses) != len(targets):
        raise _unusable_loss(f"loss= gave {len(losses)} values for {len(targets)} examples.")
    return lambda outputs, targets: _reduce_blocks(loss(outputs, targets), mean=True)


def _without_reduction(loss: torch.nn.Module) -> Loss:
    mean = loss.reduction in ("mean", "none")
    inner = copy.deepcopy(loss)
    setattr(inner, "reduction", "none")  # noqa: B010  (a module's attributes are tensors to a type checker)
    return lambda outputs, targets: _reduce_blocks(inner(outputs, targets), mean=mean)


def _one_by_one(loss: Loss) -> Loss:
    """A loss of batches, asked about batches of one."""

    def alone(output: Tensor, target: Tensor) -> Tensor:
        return loss(output.unsqueeze(0), target.unsqueeze(0))

    def each(outputs: Tensor, targets: Tensor) -> Tensor:
        if len(targets) == 1:
            return loss(outputs, targets).reshape(1)
        losses: Tensor = torch.func.vmap(alone, randomness="different")(outputs, targets)
        return losses

    return each


def _reduce_blocks(values: Tensor, *, mean: bool) -> Tensor:
    """One number per example from a block of them."""
    if values.dim() == 1:
        return values
    flat = values.flatten(1)
    return flat.mean(1) if mean else flat.sum(1)


def _unusable_loss(what: str) -> WrongShape:
    return WrongShape(
        what,
        why="Each example's gradient is clipped by itself, so each example needs a loss of its own.",
        fix='Give a torch loss such as torch.nn.CrossEntropyLoss(), or one with reduction="none".',
    )
