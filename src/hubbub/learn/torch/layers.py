"""Layers whose per-example gradients have closed forms: squared norms first, then one weighted sum.

A layer was called with ``entering`` and its output received ``errors`` from the loss. For example i, the gradient of a
weight is a sum of products of the two, and all that clipping needs of it is its norm and, later, the sum over examples
with each one's clipping factor:

    Linear       outer products: norms by products of norms, or of Gram matrices for sequences; nothing is formed
    Embedding    rows of errors: norms by Gram matrices over equal tokens
    Conv1d-3d    patches times errors, formed per example
    LayerNorm, GroupNorm   normalized inputs times errors

The norm of an outer product is the product of the norms [Goo15]; for sequences see [LTLH22, Sec. 4]; norms and sums in
one pass are the book-keeping of [BWZK23]. ``docs/proofs/networks.md`` has the formulas. A layer that is called several
times has its calls laid side by side, as a longer sequence.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from hubbub.learn.torch.convolutions import conv_part
from hubbub.learn.torch.layer_gradients import Call, LayerGradient, squares_of, sum_tensors

_CANCELLED = 2.0**-20  # of the size of all terms: sixteen roundings in float32
_KNOWN = (nn.Linear, nn.Embedding, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.LayerNorm, nn.GroupNorm)


def has_closed_form(layer: nn.Module) -> bool:
    """Whether the layer is of exactly a type, and in a form, whose gradients have a closed form here."""
    if type(layer) not in _KNOWN:
        return False
    if isinstance(layer, nn.Embedding):
        return layer.max_norm is None and not (layer.scale_grad_by_freq or layer.sparse)
    if isinstance(layer, nn.Conv1d | nn.Conv2d | nn.Conv3d):
        return layer.groups == 1 and layer.padding_mode == "zeros" and not isinstance(layer.padding, str)
    return True


def part_of(layer: nn.Module, calls: list[Call], wanted: frozenset[str]) -> LayerGradient:
    """The layer's share, from all its calls in one pass; ``wanted`` are its trainable parameters."""
    if isinstance(layer, nn.Linear):
        return _Linear(*_sequences(calls), wanted)
    if isinstance(layer, nn.Embedding):
        return _Embedding(layer, *_tokens(calls), wanted)
    if isinstance(layer, nn.Conv1d | nn.Conv2d | nn.Conv3d):
        return conv_part(layer, calls, wanted)
    formed = [_norm_gradients(layer, entering, errors) for entering, errors in calls]
    return _Formed({name: sum_tensors([each[name] for each in formed]) for name in wanted})


def _safe_squares(squares: Tensor, sizes: Tensor) -> Tensor:
    """Squared norms from Gram matrices, with what cancellation may have hidden added on top.

    The terms have total size at most (sum of ``sizes``)^2. Where they cancel, rounding could leave too small a norm,
    and then an example would be clipped too little.
    """
    return squares.clamp_min(0).double() + _CANCELLED * sizes.double().sum(1).square()


# ------------------------------------------------------------ Linear


def _sequences(calls: list[Call]) -> Call:
    """Inputs and errors of all calls as (examples, places, features)."""
    blocks = [(a.reshape(len(a), -1, a.shape[-1]), g.reshape(len(g), -1, g.shape[-1])) for a, g in calls]
    if len(blocks) == 1:
        return blocks[0]
    return torch.cat([a for a, _ in blocks], 1), torch.cat([g for _, g in blocks], 1)


@dataclass(slots=True)
class _Linear:
    entering: Tensor
    errors: Tensor
    wanted: frozenset[str]
    formed: Tensor | None = None

    def squares(self) -> Tensor:
        squares = torch.zeros(len(self.errors), dtype=torch.float64)
        if "weight" in self.wanted:
            squares += self._weight_squares()
        if "bias" in self.wanted:
            squares += squares_of(self.errors.sum(1))
        return squares

    def _weight_squares(self) -> Tensor:
        a, g = self.entering, self.errors
        if a.shape[1] == 1:
            return squares_of(a) * squares_of(g)
        if a.shape[1] * (a.shape[2] + g.shape[2]) <= 2 * a.shape[2] * g.shape[2]:
            sizes = torch.linalg.vector_norm(a, dim=2) * torch.linalg.vector_norm(g, dim=2)
            return _safe_squares(((a @ a.mT) * (g @ g.mT)).sum((1, 2)), sizes)
        self.formed = g.mT @ a
        return squares_of(self.formed)

    def total(self, factors: Tensor) -> dict[str, Tensor]:
        totals = {}
        if "weight" in self.wanted and self.formed is not None:
            totals["weight"] = torch.tensordot(factors, self.formed, 1)
        errors = self.errors * factors[:, None, None]
        if "weight" in self.wanted and self.formed is None:
            totals["weight"] = errors.flatten(0, 1).T @ self.entering.flatten(0, 1)
        if "bias" in self.wanted:
            totals["bias"] = factors @ self.errors.sum(1)  # the very sums whose norms were taken
        return totals


# ------------------------------------------------------------ Embedding


def _tokens(calls: list[Call]) -> Call:
    """Tokens as (examples, places) and errors as (examples, places, features)."""
    tokens = torch.cat([a.reshape(len(a), -1) for a, _ in calls], 1)
    return tokens, torch.cat([g.reshape(len(g), -1, g.shape[-1]) for _, g in calls], 1)


@dataclass(slots=True)
class _Embedding:
    layer: nn.Embedding
    tokens: Tensor
    errors: Tensor
    wanted: frozenset[str]

    def __post_init__(self) -> None:
        if self.layer.padding_idx is not None:
            self.errors = self.errors * (self.tokens != self.layer.padding_idx)[:, :, None]

    def squares(self) -> Tensor:
        """Errors at places with the same token add up: the Gram matrix, where tokens are equal."""
        equal = self.tokens[:, :, None] == self.tokens[:, None, :]
        sizes = torch.linalg.vector_norm(self.errors, dim=2)
        return _safe_squares(((self.errors @ self.errors.mT) * equal).sum((1, 2)), sizes)

    def total(self, factors: Tensor) -> dict[str, Tensor]:
        table = torch.zeros_like(self.layer.weight)
        errors = self.errors * factors[:, None, None]
        return {"weight": table.index_add_(0, self.tokens.flatten(), errors.flatten(0, 1))}


# ------------------------------------------------------------ normalization


@dataclass(slots=True)
class _Formed:
    """Gradients of each example, by parameter."""

    gradients: dict[str, Tensor]

    def squares(self) -> Tensor:
        return sum_tensors([squares_of(each) for each in self.gradients.values()])

    def total(self, factors: Tensor) -> dict[str, Tensor]:
        return {name: torch.tensordot(factors, each, 1) for name, each in self.gradients.items()}


def _norm_gradients(layer: nn.Module, entering: Tensor, errors: Tensor) -> dict[str, Tensor]:
    """Gradients of gain and offset: errors times normalized inputs, summed over places."""
    if isinstance(layer, nn.LayerNorm):
        axes = tuple(range(1, entering.dim() - len(layer.normalized_shape)))
        plain = functional.layer_norm(entering, layer.normalized_shape, eps=layer.eps)
    else:
        assert isinstance(layer, nn.GroupNorm)
        axes = tuple(range(2, entering.dim()))
        plain = functional.group_norm(entering, layer.num_groups, eps=layer.eps)
    return {"weight": _sum_over(errors * plain, axes), "bias": _sum_over(errors, axes)}


def _sum_over(values: Tensor, axes: tuple[int, ...]) -> Tensor:
    return values.sum(axes) if axes else values
