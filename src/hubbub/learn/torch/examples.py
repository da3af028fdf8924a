"""Where examples come from: arrays, tensors or a map-style dataset. The sampler is ours; a loader's would be another.

Shapes and types are public and known before a value is read; ``open`` reads values.
"""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from hubbub.learn.base.shapes import refuse_masked
from hubbub.learn.torch.gradients import Inputs
from hubbub.learn.training.sampling import Rows
from hubbub.terms import MissingParameter, WrongShape

TensorLike: TypeAlias = ArrayLike | Tensor  # a row per example
ExampleData: TypeAlias = TensorLike | tuple[TensorLike, ...] | Dataset[Any]  # inputs, or a map-style dataset


@dataclass(frozen=True, slots=True)
class ExampleKind:
    """What one value of an example looks like: shape, type and, for whole numbers, how many there may be."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    count: int = 2

    def made_up(self, examples: int, scale: float, generator: torch.Generator) -> Tensor:
        """Random values of this kind."""
        shape = (examples, *self.shape)
        if self.dtype.is_floating_point:
            return (scale * torch.randn(shape, generator=generator)).to(self.dtype)
        return torch.randint(0, max(2, self.count), shape, generator=generator).to(self.dtype)


class Opened(Protocol):
    """Examples that may be read."""

    def take(self, rows: Rows) -> tuple[Inputs, Tensor]:
        """The examples of these numbers."""


class ExampleSource(Protocol):
    """Examples of which shapes and types are known, and nothing was read yet."""

    inputs: tuple[ExampleKind, ...]
    target: ExampleKind

    def __len__(self) -> int: ...

    def open(self) -> Opened:
        """Read them, or get ready to."""


def source_of(
    X: ExampleData,
    y: TensorLike | None,
    *,
    example: tuple[TensorLike, ...] | None,
    dtype: torch.dtype,
    classes: int | None,
    total: bool = False,
) -> ExampleSource:
    """The source that ``fit(X, y)`` or ``fit(dataset)`` names; if ``total``, no item may make it fail."""
    if isinstance(X, DataLoader):
        raise WrongShape(
            "fit takes data, and a DataLoader came.",
            why="A loader shuffles and batches by itself, and the cost of training follows from our own sample alone.",
            fix="Give loader.dataset; batch_size= sets the expected size of a batch, physical= the size in memory.",
        )
    if isinstance(X, TensorDataset) and y is None:
        *inputs, target = X.tensors
        return _Arrays(tuple(inputs), target, example, dtype, classes)
    if isinstance(X, Dataset):
        return _Items(X, example, dtype, classes, total)
    if y is None:
        raise MissingParameter("fit needs y.", why="A loss compares outputs with targets.", fix="Write fit(X, y).")
    return _Arrays(X if isinstance(X, tuple) else (X,), y, example, dtype, classes)


def inputs_of(X: TensorLike | tuple[TensorLike, ...], dtype: torch.dtype) -> Inputs:
    """X as tensors, for predictions."""
    return tuple(_as_tensor(x, _model_dtype(x, dtype)) for x in (X if isinstance(X, tuple) else (X,)))


def target_of(y: TensorLike, dtype: torch.dtype) -> Tensor:
    """y as a tensor, for evaluation."""
    return _as_tensor(y, _model_dtype(y, dtype))


class _Arrays:
    """Examples in memory: one or several inputs and a target, each an array or a tensor with a row per example."""

    def __init__(
        self,
        inputs: tuple[Any, ...],
        target: TensorLike,
        example: tuple[TensorLike, ...] | None,
        dtype: torch.dtype,
        classes: int | None,
    ):
        self._raw = tuple(map(_as_array, (*inputs, target)))
        lengths = {len(x.shape) and int(x.shape[0]) for x in self._raw}
        if len(lengths) != 1 or not all(len(x.shape) for x in self._raw):
            raise WrongShape(
                "X and y have different numbers of rows.",
                why="Each example has one target.",
                fix="Give one target per example.",
            )
        (self._length,) = lengths
        shown = _value_counts(example, classes, len(self._raw))
        kinds = [
            ExampleKind(tuple(map(int, x.shape[1:])), _model_dtype(x, dtype), n)
            for x, n in zip(self._raw, shown, strict=True)
        ]
        self.inputs, self.target = tuple(kinds[:-1]), kinds[-1]

    def __len__(self) -> int:
        return self._length

    def open(self) -> Opened:
        kinds = (*self.inputs, self.target)
        return _Tensors([_as_tensor(x, kind.dtype) for x, kind in zip(self._raw, kinds, strict=True)])


@dataclass(frozen=True, slots=True)
class _Tensors:
    tensors: list[Tensor]

    def take(self, rows: Rows) -> tuple[Inputs, Tensor]:
        *inputs, target = (tensor[torch.from_numpy(rows)] for tensor in self.tensors)
        return tuple(inputs), target


class _Items:
    """A map-style dataset whose items are (input, target) or (input, ..., target)."""

    def __init__(
        self,
        items: Dataset[Any],
        example: tuple[TensorLike, ...] | None,
        dtype: torch.dtype,
        classes: int | None,
        total: bool,
    ) -> None:
        if isinstance(items, IterableDataset) or not hasattr(items, "__len__"):
            raise WrongShape(
                "fit takes a dataset that knows its length and gives any item, and a stream came.",
                why="Each example is drawn by itself, with a known probability.",
                fix="Give a dataset with __len__ and __getitem__, or arrays.",
            )
        if example is None:
            raise MissingParameter(
                "fit(dataset) needs example=, a public or made-up (input, target) like the dataset's.",
                why="The model is tried out before anything is charged, and an item would be private data.",
                fix="Write PrivateTrainer(..., example=(torch.zeros(1, 28, 28), torch.tensor(0))).",
            )
        self._items, self._total = items, total
        shown = [torch.as_tensor(value) for value in example]
        counts = _value_counts(tuple(value[None] for value in shown), classes, len(shown))
        kinds = [ExampleKind(tuple(v.shape), _model_dtype(v, dtype), n) for v, n in zip(shown, counts, strict=True)]
        self.inputs, self.target = tuple(kinds[:-1]), kinds[-1]

    def __len__(self) -> int:
        return len(self._items)

    def open(self) -> Opened:
        return self

    def take(self, rows: Rows) -> tuple[Inputs, Tensor]:
        kinds = (*self.inputs, self.target)
        items = [item for row in rows if (item := self._item(int(row), kinds)) is not None]
        if not items:
            *inputs, target = (torch.empty((0, *kind.shape), dtype=kind.dtype) for kind in kinds)
        else:
            *inputs, target = map(torch.stack, zip(*items, strict=True))
        return tuple(inputs), target

    def _item(self, row: int, kinds: tuple[ExampleKind, ...]) -> list[Tensor] | None:
        """An item as tensors like the example's; one that is not is refused, or left out if nothing may fail."""
        try:
            item = [_as_tensor(value, kind.dtype) for value, kind in zip(self._items[row], kinds, strict=True)]
        except Exception:  # whatever it is, it is one item
            item = []
        if item and all(tensor.shape == kind.shape for tensor, kind in zip(item, kinds, strict=True)):
            return item
        if self._total:
            return None
        raise WrongShape(
            "an item of the dataset is not like example=.",
            why="All examples have the shapes that the model was tried with. Which item it is is not told here.",
            fix="Give items of one shape, or declare rows= and classes=: then such items contribute nothing.",
        )


def _value_counts(example: Any, classes: int | None, columns: int) -> list[int]:
    """How many different whole numbers each column may hold, as far as it was said."""
    counts = [2] * columns if example is None else [_largest_value(torch.as_tensor(value)) for value in example]
    if len(counts) != columns:
        raise WrongShape(
            f"example= has {len(counts)} parts and the data {columns}.",
            why="It stands for the data when the model is tried out.",
            fix="Give one public or made-up example: (input, target).",
        )
    return counts if classes is None else [*counts[:-1], classes]


def _largest_value(values: Tensor) -> int:
    return 2 if values.is_floating_point() or not values.numel() else int(values.max()) + 1


def _as_array(values: Any) -> Any:
    """An array or tensor of numbers; its values are not looked at, and a list has no type but that of its values."""
    refuse_masked(values, name="X or y")
    kind = getattr(values, "dtype", None)
    numbers = isinstance(kind, torch.dtype) or (isinstance(kind, np.dtype) and kind.kind in "biufc")
    if not numbers or not hasattr(values, "shape"):
        raise WrongShape(
            "X and y must be arrays of numbers with one shape for all examples.",
            why="The model was made for examples of one shape and type. A list has those that its values have.",
            fix="Give numpy.asarray(X) of a list; fill or cut examples to one shape, and encode words as numbers.",
        )
    return values


def _model_dtype(values: Any, dtype: torch.dtype) -> torch.dtype:
    """Numbers with a fraction become the model's type, whole numbers int64."""
    kind = values.dtype
    if not isinstance(kind, torch.dtype):
        kind = torch.from_numpy(np.empty(0, dtype=np.dtype(kind))).dtype
    if kind.is_complex or kind is torch.bool:
        return kind
    return dtype if kind.is_floating_point else torch.int64


def _as_tensor(values: Any, dtype: torch.dtype) -> Tensor:
    tensor = values if isinstance(values, Tensor) else torch.from_numpy(np.asarray(values, order="C"))
    return tensor.detach().to(dtype)


def within_classes(targets: Tensor, classes: int) -> Tensor:
    """Which targets are one of the declared classes."""
    inside = (targets >= 0) & (targets < classes)
    return inside.flatten(1).all(1) if math.prod(targets.shape[1:]) != 1 or targets.dim() > 1 else inside
