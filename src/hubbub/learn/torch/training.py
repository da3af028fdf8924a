"""The training loop for torch models: sample -> clip -> sum -> noise -> step, as the run's event says.

Sampling, rounding to the grid and noise are those of ``hubbub.learn.training.noisy_descent``. The sum is in units
of the clipping norm, so that the run's sensitivity is 1 (and the allowance for rounding) whatever the norm is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from hubbub import noise
from hubbub.learn.torch.checkpoints import TrainingState
from hubbub.learn.torch.clipping import Clip
from hubbub.learn.torch.examples import Opened, within_classes
from hubbub.learn.torch.gradients import Clipped, GradientMethod
from hubbub.learn.torch.process_group import Alone
from hubbub.learn.training.network import Floats
from hubbub.learn.training.noisy_descent import add_noise, draw_noise
from hubbub.learn.training.sampling import Rows, batches, step_of
from hubbub.terms import Repeat


@dataclass(frozen=True, slots=True)
class Course:
    """All that a run needs to know beside its data: the event, and how noisy sums become steps.

    ``expected`` is the expected batch over all processes, ``physical`` how many examples are worked on at once,
    ``tail`` the share of the steps whose weights are averaged, ``every`` how many steps lie between two saves.
    """

    run: Repeat
    clip: Clip
    expected: float
    physical: int
    tail: float
    classes: int | None = None
    every: int = 0

    @property
    def share(self) -> float:
        """How much of an example's length the count of norms has; 0 for a fixed clipping norm."""
        step = step_of(self.run)
        return self.clip.share(float(step.sigma / step.sensitivity), self.expected)

    @property
    def first(self) -> int:
        """The step after which weights are averaged; the last one always counts."""
        return min(math.floor(self.run.times * (1 - self.tail)), self.run.times - 1)


class Optimizer(Protocol):
    """What a torch optimizer can do, as far as training needs it."""

    def step(self) -> Any:
        """Move the parameters along their gradients."""

    def state_dict(self) -> dict[str, Any]:
        """Its memory."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take its memory back."""


class Momentum:
    """Gradient descent with momentum, as torch.optim.SGD does it; loading torch.optim takes seconds."""

    def __init__(self, parameters: Iterable[Tensor], *, rate: float, momentum: float) -> None:
        self.parameters, self.rate, self.momentum = list(parameters), rate, momentum
        self.velocities = [torch.zeros_like(p) for p in self.parameters]

    def step(self) -> None:
        for parameter, velocity in zip(self.parameters, self.velocities, strict=True):
            assert parameter.grad is not None
            velocity.mul_(self.momentum).add_(parameter.grad)
            parameter.data.sub_(velocity, alpha=self.rate)

    def state_dict(self) -> dict[str, Any]:
        return {"velocities": [velocity.clone() for velocity in self.velocities]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        for velocity, kept in zip(self.velocities, state_dict["velocities"], strict=True):
            velocity.copy_(kept)


class TrainableWeights:
    """The trainable weights of a model as one vector, and the optimizer that moves them."""

    def __init__(self, way: GradientMethod, optimizer: Callable[[Iterable[Tensor]], Optimizer]) -> None:
        self.way = way
        self.parameters = [way.model.get_parameter(name) for name in way.names]
        self.optimizer = optimizer(self.parameters)

    @property
    def weights(self) -> Floats:
        """The weights as one vector."""
        return vector_of(self.parameters)

    def load(self, state: TrainingState) -> None:
        """Take weights and the optimizer's memory from a state."""
        write_weights(self.parameters, state.weights)
        if state.optimizer:
            self.optimizer.load_state_dict(state.optimizer)

    def step(self, gradient: Floats) -> None:
        """One step of the optimizer along a noisy mean gradient."""
        at = 0
        for parameter in self.parameters:
            part = torch.from_numpy(gradient[at : at + parameter.numel()])
            parameter.grad = part.to(parameter).view_as(parameter)
            at += parameter.numel()
        self.optimizer.step()


def vector_of(parameters: Iterable[Tensor]) -> Floats:
    """Tensors as one vector of doubles."""
    flat = [p.detach().to("cpu", torch.float64).flatten() for p in parameters]
    return np.asarray(torch.cat(flat).numpy(), dtype=np.float64)


def write_weights(parameters: Iterable[Tensor], weights: Floats) -> None:
    """Write a vector into tensors."""
    at = 0
    for parameter in parameters:
        parameter.data.copy_(torch.from_numpy(weights[at : at + parameter.numel()]).view_as(parameter))
        at += parameter.numel()


def train(
    course: Course,
    model: TrainableWeights,
    rows: Opened,
    count: int,
    *,
    state: TrainingState,
    team: Alone | None = None,
    save: Callable[[TrainingState], None] = lambda state: None,
    watch: Callable[[int], None] = lambda step: None,
    rng: noise.RandomSource | None = None,
) -> Floats:
    """The weights after the steps that are left, averaged over the tail; ``count`` examples are this process's.

    Guarantee: all weights along the way together cost what ``accounting.epsilon(course.run)`` says, if a clipped sum
    moves by at most the run's sensitivity, less sqrt(dimension) grid steps, when an example comes or goes.
    Because: [ACGMMTZ16, Alg. 1] with the run's own sampling; ``docs/proofs/networks.md``.
    Not covered: the rounding of gradients in float32, running time, and a ``rng`` given by a test.
    """
    team = team or Alone()
    model.load(state)
    left = course.run.times - state.step
    if not left:
        return state.mean
    rest = Repeat(course.run.event, left)
    drawn: Iterable[Any] = draw_noise(rest, rng) if team.leads else itertools.repeat(None, left)
    for chosen, noise_of_step in zip(batches(rest, count, rng=rng), drawn, strict=True):
        sums = clipped_vector(course, model.way, rows, np.arange(count) if chosen is None else chosen, state.clip)
        total = team.total(sums)
        released = team.broadcast(add_noise(total, noise_of_step, step_of(course.run)) if team.leads else total)
        state = _next_state(course, model, state, released)
        if course.every and (state.step % course.every == 0 or state.step == course.run.times):
            save(replace(state, weights=model.weights, optimizer=model.optimizer.state_dict(), attempts=0))
        watch(state.step)
    return state.mean


def clipped_vector(course: Course, way: GradientMethod, rows: Opened, chosen: Rows, clip: float) -> Floats:
    """The sum over the chosen examples of their vectors of length at most 1, added up in doubles.

    Only ``physical`` examples are in memory at a time. With an adaptive norm the last coordinate is the count.
    """
    total = torch.zeros(step_of(course.run).dimension, dtype=torch.float64)
    share = course.share
    for start in range(0, len(chosen), course.physical):
        inputs, targets = _valid_examples(*rows.take(chosen[start : start + course.physical]), course.classes)
        clipped = _clipped_batch(way, inputs, targets, clip)
        _add(total, [clipped.totals[name] for name in way.names])
        if share:
            total[-1] += 2 * share * float(((clipped.norms <= clip).double() - 0.5).sum())
    if share:
        total[:-1] *= math.sqrt(1 - share**2)
    return total.numpy()


def _clipped_batch(way: GradientMethod, inputs: tuple[Tensor, ...], targets: Tensor, clip: float) -> Clipped:
    """Clipped sums. If an example makes the model or the loss raise, they run one by one, and it adds nothing."""
    try:
        return way.clipped_sum(inputs, targets, clip=clip)
    except Exception:  # whatever it is, it is about examples, and must not be told
        each = [
            _clipped_alone(way, tuple(x[i : i + 1] for x in inputs), targets[i : i + 1], clip)
            for i in range(len(targets))
        ]
    none = way.clipped_sum(tuple(x[:0] for x in inputs), targets[:0], clip=clip)
    parts = [none, *(one for one in each if one is not None)]
    totals = {name: torch.stack([one.totals[name] for one in parts]).sum(0) for name in way.names}
    return Clipped(totals, torch.cat([one.norms for one in parts]))


def _clipped_alone(way: GradientMethod, inputs: tuple[Tensor, ...], target: Tensor, clip: float) -> Clipped | None:
    try:
        return way.clipped_sum(inputs, target, clip=clip)
    except Exception:
        return None


def _add(total: Tensor, parts: list[Tensor]) -> None:
    at = 0
    for part in parts:
        total[at : at + part.numel()] += part.detach().flatten().to("cpu", torch.float64)
        at += part.numel()


def _valid_examples(
    inputs: tuple[Tensor, ...], targets: Tensor, classes: int | None
) -> tuple[tuple[Tensor, ...], Tensor]:
    """Without examples of an unknown class, where classes were declared."""
    if classes is None:
        return inputs, targets
    inside = within_classes(targets, classes)
    return (inputs, targets) if bool(inside.all()) else (tuple(x[inside] for x in inputs), targets[inside])


def _next_state(course: Course, model: TrainableWeights, state: TrainingState, released: Floats) -> TrainingState:
    """The state after one more noisy sum: all of it is post-processing."""
    share, clip = course.share, state.clip
    size = len(released) - bool(share)
    model.step(released[:size] * (clip / (math.sqrt(1 - share**2) * course.expected)))
    if share:
        clip = course.clip.moved(clip, float(released[-1]) / (2 * share * course.expected) + 0.5)
    averaged = state.step + 1 - course.first
    mean = state.mean + (model.weights - state.mean) / averaged if averaged > 0 else state.mean
    return replace(state, mean=mean, clip=clip, step=state.step + 1)
