"""What a user says about a private run, and what follows from it before data is looked at."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from hubbub.learn.base.parameters import positive_double
from hubbub.learn.torch.clipping import AdaptiveClip, Clip, clip_of
from hubbub.learn.torch.examples import TensorLike
from hubbub.learn.torch.training import Momentum, Optimizer
from hubbub.ledger import AccountLike
from hubbub.terms import AS_GIVEN, MissingParameter, Neighbours, OutOfRange, Real, whole

NOT_PROVED = (
    "Gradients are computed in floating point: that an example moves a sum by at most the clipping norm holds but for "
    "rounding, which is allowed for and not proved."
)
_BATCHES = 30  # in an epoch, if nothing is said
_LARGEST = 2048  # examples in a batch, if nothing is said
_EPOCHS = 30.0


@dataclass(eq=False)
class Settings:
    """The parameters of a ``PrivateTrainer``, which describes them."""

    model: nn.Module
    loss: Any
    _: KW_ONLY
    epsilon: Real | None = None
    delta: Real | None = None
    clip: Real | str | AdaptiveClip = 1.0
    epochs: float | None = None
    max_iter: int | None = None
    batch_size: int | None = None
    learning_rate: float = 0.5
    momentum: float = 0.9
    optimizer: Callable[[Iterable[Tensor]], Optimizer] | None = None
    tail: float = 0.25
    physical: int = 256
    rows: int | None = None
    classes: int | None = None
    neighbours: Neighbours | str = "add-remove"
    unit: str = ""
    sampling: str = "poisson"
    account: AccountLike | None = None
    population: str | None = None
    dataset: str | None = None
    checkpoint: str | Path | None = None
    every: int = 50
    parallel: bool = False
    example: tuple[TensorLike, ...] | None = None

    def chosen_clip(self) -> Clip:
        """The clipping norm, or how it is found."""
        return clip_of(self.clip)

    def length(self, rows: int) -> tuple[int, int]:
        """The expected batch and the number of steps."""
        if self.max_iter is not None and self.epochs is not None:
            raise MissingParameter(
                "epochs= and max_iter= both say how long to train.",
                why="One follows from the other and the batch.",
                fix="Give one of them.",
            )
        default = min(_LARGEST, max(1, rows // _BATCHES))
        batch = min(rows, default if self.batch_size is None else whole(self.batch_size, name="batch_size"))
        if self.max_iter is not None:
            return batch, whole(self.max_iter, name="max_iter")
        epochs = _EPOCHS if self.epochs is None else positive_double(self.epochs, name="epochs")
        return batch, max(1, math.ceil(epochs * rows / batch))

    def averaged(self) -> float:
        """The share of the last steps whose weights are averaged; 0 means the last one alone."""
        if not 0 <= self.tail <= 1:
            raise OutOfRange(
                "tail must lie between 0 and 1.",
                why="It is the share of the steps whose weights are averaged.",
                fix="Write tail=0.25, or tail=0 for the last weights alone.",
            )
        return float(self.tail)

    def make_optimizer(self) -> Callable[[Iterable[Tensor]], Optimizer]:
        """What makes the optimizer from the parameters."""
        if self.optimizer is not None:
            return self.optimizer
        rate = positive_double(self.learning_rate, name="learning_rate")
        if not 0 <= self.momentum < 1:
            raise OutOfRange(
                "momentum must be at least 0 and below 1.",
                why="It is the share of the last step that is kept.",
                fix="Write momentum=0.9.",
            )
        return functools.partial(Momentum, rate=rate, momentum=float(self.momentum))

    def caveats(self, *, charged: bool) -> tuple[str, ...]:
        """What the guarantee leaves out."""
        caveats = [NOT_PROVED, "Running time is not covered.", AS_GIVEN]
        if self.rows is None:
            caveats.append("The number of rows counts as public.")
        if self.unit:
            caveats.append("Each has one example.")
        if not charged:
            caveats.append("Charged to no ledger.")
        return tuple(caveats)
