"""Clipped gradient sums of a torch model: three ways, the first that works for the model is used.

    Recorded   one pass forward and one back; norms and sums by the closed forms of ``layers``
    Mapped     torch.func.vmap(grad): the gradient of each example is formed, examples together
    Looped     one example after the other

In ``Mapped`` and ``Looped`` an example is a batch of one, so nothing can mix examples. ``Recorded`` runs real batches,
through a graph of operations that are known to keep examples apart (``graphs``); the loss is asked about each example
alone in every way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from hubbub.learn.torch.layer_gradients import Call, squares_of
from hubbub.learn.torch.layers import has_closed_form, part_of
from hubbub.learn.torch.losses import Loss

Inputs: TypeAlias = tuple[Tensor, ...]

_MARGIN = 1 - 2.0**-16  # of the clipping norm: more than the rounding of a norm in float32


@dataclass(frozen=True, slots=True)
class Clipped:
    """Sums of clipped gradients by parameter, in units of the clipping norm, and the norm of each example."""

    totals: Mapping[str, Tensor]
    norms: Tensor


class GradientMethod:
    """A way to clipped sums for one model; its parameters need no gradient of their own."""

    def __init__(self, model: nn.Module, loss: Loss, names: tuple[str, ...]) -> None:
        self.model, self.loss, self.names = model, loss, names

    def clipped_sum(self, inputs: Inputs, targets: Tensor, *, clip: float) -> Clipped:
        """The sum over examples of gradient / max(norm, clip): no example adds more than norm 1.

        An example whose gradient is not finite adds nothing.
        """
        if not len(targets):
            return Clipped(
                {name: torch.zeros_like(self.model.get_parameter(name)) for name in self.names}, _no_squares()
            )
        squares, total = self._gradients(inputs, targets)
        norms = squares.sqrt()
        fine = torch.isfinite(norms)
        if not bool(fine.all()):
            kept = self.clipped_sum(tuple(x[fine] for x in inputs), targets[fine], clip=clip)
            return Clipped(kept.totals, norms)
        factors = (_MARGIN / norms.clamp_min(clip)).to(self.model.get_parameter(self.names[0]).dtype)
        return Clipped(total(factors), norms)

    def _gradients(self, inputs: Inputs, targets: Tensor) -> tuple[Tensor, Callable[[Tensor], dict[str, Tensor]]]:
        """Squared norms of the examples' gradients, in doubles, and the function from factors to weighted sums."""
        raise AssertionError("every way has gradients")  # pragma: no cover


def _no_squares() -> Tensor:
    return torch.zeros(0, dtype=torch.float64)


# ------------------------------------------------------------ Recorded


class _Tap(torch.autograd.Function):
    """Lets values pass, and keeps the errors that come back. ``anchor`` is there so that something needs a gradient."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, anchor: Tensor, kept: list[Tensor]) -> Tensor:
        ctx.mark_dirty(values)  # so that a later layer may still work in place
        ctx.kept = kept
        return values

    @staticmethod
    def backward(ctx: Any, *errors: Tensor) -> tuple[Tensor | None, Tensor, None]:
        ctx.kept.append(errors[0])
        return (errors[0] if ctx.needs_input_grad[0] else None), errors[0].new_zeros(()), None


def batch_sizes(physical: int) -> list[int]:
    """The sizes of batches that are run: powers of two, and the largest."""
    return [*(1 << power for power in range((physical - 1).bit_length())), physical]


class Recorded(GradientMethod):
    """One pass forward and one back for a batch, with taps at the outputs of layers that train.

    A batch is filled up with copies of its last example, which weigh nothing, to one of ``batch_sizes``: those are the
    sizes at which ``checks`` has compared it with examples alone. What is run is ``graph``, with the layers of
    ``model``.
    """

    def __init__(
        self,
        model: nn.Module,
        loss: Loss,
        names: tuple[str, ...],
        *,
        physical: int = 1,
        graph: nn.Module | None = None,
    ) -> None:
        super().__init__(model, loss, names)
        self.physical, self.graph = physical, model if graph is None else graph

    @staticmethod
    def fits(model: nn.Module, names: tuple[str, ...]) -> bool:
        """Whether every trainable parameter belongs to one layer, of a kind with a closed form."""
        owners = _owning_layers(model, names)
        homes = Counter(id(p) for layer in model.modules() for p in layer.parameters(recurse=False))
        shared = any(homes[id(model.get_parameter(name))] > 1 for name in names)
        return not shared and all(has_closed_form(model.get_submodule(owner)) for owner in owners)

    def _gradients(self, inputs: Inputs, targets: Tensor) -> tuple[Tensor, Callable[[Tensor], dict[str, Tensor]]]:
        count = len(targets)
        more = next((size for size in batch_sizes(self.physical) if size >= count), count) - count
        inputs, targets = tuple(_pad_batch(x, more) for x in inputs), _pad_batch(targets, more)
        records = self._record(inputs, targets)
        owners = _owning_layers(self.model, self.names)
        parts = {
            owner: part_of(self.model.get_submodule(owner), calls, owners[owner]) for owner, calls in records.items()
        }
        squares = torch.zeros(len(targets), dtype=torch.float64)
        for part in parts.values():
            squares += part.squares()

        def total(factors: Tensor) -> dict[str, Tensor]:
            factors = torch.cat([factors, factors.new_zeros(more)])
            unused = [name for name in self.names if name.rpartition(".")[0] not in parts]
            totals = {name: torch.zeros_like(self.model.get_parameter(name)) for name in unused}
            for owner, part in parts.items():
                totals.update({_full_name(owner, name): value for name, value in part.total(factors).items()})
            return totals

        return squares[:count], total

    def _record(self, inputs: Inputs, targets: Tensor) -> dict[str, list[Call]]:
        """What entered each layer and what came back, for every call in one pass."""
        calls: list[tuple[str, Tensor, list[Tensor]]] = []
        anchor = self.model.get_parameter(self.names[0]).new_zeros(()).requires_grad_()

        def tap(owner: str) -> Callable[..., Tensor]:
            def hook(layer: nn.Module, entered: Inputs, left: Tensor) -> Tensor:
                kept: list[Tensor] = []
                calls.append((owner, entered[0].detach(), kept))
                passed: Tensor = _Tap.apply(left, anchor, kept)  # type: ignore[no-untyped-call]
                return passed

            return hook

        handles = [
            self.model.get_submodule(owner).register_forward_hook(tap(owner))
            for owner in _owning_layers(self.model, self.names)
        ]
        try:
            with torch.enable_grad():
                outputs = self.graph(*inputs)
                if outputs.requires_grad:
                    torch.autograd.grad(outputs, anchor, self._errors(outputs.detach().clone(), targets))
        finally:
            for handle in handles:
                handle.remove()
        records: dict[str, list[Call]] = {}
        for owner, entered, kept in calls:
            if kept:  # else the loss does not depend on this call
                records.setdefault(owner, []).append((entered, kept[0]))
        return records

    def _errors(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The gradient of each example's loss at its own output: a loss over pairs finds no pair."""

        def loss_of_one(output: Tensor, target: Tensor) -> Tensor:
            return self.loss(output.unsqueeze(0), target.unsqueeze(0))[0]

        errors: Tensor = torch.func.vmap(torch.func.grad(loss_of_one), randomness="different")(outputs, targets)
        return errors


def _pad_batch(values: Tensor, more: int) -> Tensor:
    return torch.cat([values, values[-1:].expand(more, *values.shape[1:])]) if more else values


def _owning_layers(model: nn.Module, names: tuple[str, ...]) -> dict[str, frozenset[str]]:
    """The layers that hold the parameters of these names, and which of their parameters these are."""
    owners: dict[str, frozenset[str]] = {}
    for name in names:
        owner, _, own = name.rpartition(".")
        owners[owner] = owners.get(owner, frozenset()) | {own}
    return owners


def _full_name(owner: str, name: str) -> str:
    return f"{owner}.{name}" if owner else name


# ------------------------------------------------------------ Mapped and Looped


class Mapped(GradientMethod):
    """The gradient of each example by vmap(grad)."""

    def _gradients(self, inputs: Inputs, targets: Tensor) -> tuple[Tensor, Callable[[Tensor], dict[str, Tensor]]]:
        weights = {name: self.model.get_parameter(name).detach() for name in self.names}
        each = torch.func.vmap(torch.func.grad(self._loss_of_one), in_dims=(None, 0, 0), randomness="different")
        return _formed_gradients(each(weights, inputs, targets))

    def _loss_of_one(self, weights: dict[str, Tensor], inputs: Inputs, target: Tensor) -> Tensor:
        outputs = torch.func.functional_call(self.model, weights, tuple(x.unsqueeze(0) for x in inputs))
        return self.loss(outputs, target.unsqueeze(0))[0]


class Looped(GradientMethod):
    """The gradient of one example after the other: slow, and right for every model."""

    def _gradients(self, inputs: Inputs, targets: Tensor) -> tuple[Tensor, Callable[[Tensor], dict[str, Tensor]]]:
        rows = [self._alone(tuple(x[i : i + 1] for x in inputs), targets[i : i + 1]) for i in range(len(targets))]
        return _formed_gradients({name: torch.stack([row[name] for row in rows]) for name in self.names})

    def _alone(self, inputs: Inputs, target: Tensor) -> dict[str, Tensor]:
        weights = {name: self.model.get_parameter(name).detach().requires_grad_() for name in self.names}
        with torch.enable_grad():
            outputs = torch.func.functional_call(self.model, weights, inputs)
            loss = self.loss(outputs, target)[0]
            gradients = torch.autograd.grad(loss, list(weights.values()), materialize_grads=True, allow_unused=True)
        return dict(zip(weights, gradients, strict=True))


def _formed_gradients(gradients: Mapping[str, Tensor]) -> tuple[Tensor, Callable[[Tensor], dict[str, Tensor]]]:
    squares = torch.stack([squares_of(g) for g in gradients.values()]).sum(0)
    return squares, lambda factors: {name: torch.tensordot(factors, g, 1) for name, g in gradients.items()}
