"""Per-example gradients of convolutions: errors times patches, with few copies.

A patch is what one output place looked at. Unfolding patches along every axis copies each input as often as the kernel
has places. Here they are unfolded along all axes but the first, along which a patch is a shift of rows, hence a view;
for a stride s the rows are laid out by their remainder modulo s, so that shifts stay views. The copies grow with the
kernel's width, not with its area.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional

from hubbub.learn.torch.layer_gradients import Call, LayerGradient, squares_of, sum_tensors

Convolution: TypeAlias = nn.Conv1d | nn.Conv2d | nn.Conv3d

_PATCHES = 1 << 20  # unfolded numbers at a time


@dataclass(frozen=True, slots=True)
class _Window:
    """How a kernel moves, axis by axis."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    gap: tuple[int, ...]


def conv_part(layer: Convolution, calls: list[Call], wanted: frozenset[str]) -> LayerGradient:
    """The share of a convolution without groups that pads with zeros."""
    padding = tuple(map(int, layer.padding))
    window = _Window(tuple(layer.kernel_size), tuple(layer.stride), padding, tuple(layer.dilation))
    if isinstance(layer, nn.Conv1d):  # as one along two axes, whose first has length 1
        window = _Window((1, *window.kernel), (1, *window.stride), (0, *window.padding), (1, *window.gap))
        calls = [(entering.unsqueeze(2), errors.unsqueeze(2)) for entering, errors in calls]
    blocks = sum_tensors([_gradient_blocks(window, entering, errors) for entering, errors in calls])
    return _Formed(layer.weight.shape, blocks, sum_tensors([errors.flatten(2).sum(2) for _, errors in calls]), wanted)


@dataclass(frozen=True, slots=True)
class _Formed:
    """Gradients per example: a block (examples, outputs, rest) for each place along the kernel's first axis."""

    shape: torch.Size
    blocks: Tensor
    offsets: Tensor
    wanted: frozenset[str]

    def squares(self) -> Tensor:
        squares = torch.zeros(len(self.offsets), dtype=torch.float64)
        if "weight" in self.wanted:
            for block in self.blocks:
                squares += squares_of(block)
        if "bias" in self.wanted:
            squares += squares_of(self.offsets)
        return squares

    def total(self, factors: Tensor) -> dict[str, Tensor]:
        totals = {}
        if "weight" in self.wanted:
            rows = torch.stack([factors @ block.flatten(1) for block in self.blocks])
            kernel = rows.view(len(rows), *self.shape[:2], -1).movedim(0, 2)
            totals["weight"] = kernel.reshape(self.shape)
        if "bias" in self.wanted:
            totals["bias"] = factors @ self.offsets
        return totals


def _gradient_blocks(window: _Window, entering: Tensor, errors: Tensor) -> Tensor:
    """(kernel's first axis, examples, outputs, channels and the kernel's other axes)."""
    stride, high = window.stride[0], errors.shape[2]
    rows = _unfold_windows(window, entering)
    width, places = entering.shape[1] * math.prod(window.kernel[1:]), math.prod(errors.shape[3:])
    around = errors.flatten(2)
    blocks = errors.new_empty(window.kernel[0], len(errors), errors.shape[1], width)
    step = max(1, _PATCHES // (stride * rows.shape[2] * places * width))
    for i in range(0, len(errors), step):
        flat = rows[i : i + step].reshape(-1, stride, rows.shape[2] * places, width)
        for j, block in enumerate(blocks):
            shift, phase = divmod(j * window.gap[0], stride)
            seen = flat[:, phase, shift * places : (shift + high) * places]
            torch.bmm(around[i : i + step], seen, out=block[i : i + step])
    return blocks


def _unfold_windows(window: _Window, entering: Tensor) -> Tensor:
    """A view (examples, remainder of the row, row, places..., channels, kernel's other axes...)."""
    stride = window.stride[0]
    padding = [side for width in reversed(window.padding) for side in (width, width)]
    padding[-1] += -(entering.shape[2] + 2 * window.padding[0]) % stride
    view = functional.pad(entering, padding) if any(padding) else entering
    axes = zip(window.kernel[1:], window.stride[1:], window.gap[1:], strict=True)
    for axis, (size, step, gap) in enumerate(axes, 3):
        view = view.unfold(axis, gap * (size - 1) + 1, step)[..., ::gap]
    view = view.reshape(*view.shape[:2], -1, stride, *view.shape[3:])
    more = len(window.kernel) - 1
    return view.permute(0, 3, 2, *range(4, 4 + more), 1, *range(4 + more, 4 + 2 * more))
