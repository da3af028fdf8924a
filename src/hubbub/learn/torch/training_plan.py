"""All decisions of a fit, from settings, shapes and made-up data: nothing private is read here."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from hubbub.learn.base.parameters import positive_double, price_of
from hubbub.learn.torch.clipping import FixedClip
from hubbub.learn.torch.example_independence import best_way, evaluation_mode, made_up, refuse_mixing, set_modes
from hubbub.learn.torch.examples import ExampleData, ExampleSource, TensorLike, source_of
from hubbub.learn.torch.gradients import GradientMethod
from hubbub.learn.torch.identity import identity_of_value, model_parts
from hubbub.learn.torch.losses import Loss, per_example
from hubbub.learn.torch.process_group import Alone
from hubbub.learn.torch.settings import Settings
from hubbub.learn.torch.training import Course
from hubbub.learn.training.calibration import plan
from hubbub.learn.training.sampling import FixedBatch, sampling_of
from hubbub.terms import (
    ApproximateDP,
    EmptyInput,
    Neighbours,
    OutOfRange,
    Unit,
    WrongShape,
    identity_of,
    to_json,
    whole,
)

_ANY = 1 << 24  # rows that a declared number may stand for: whether it was right is not told


@dataclass(frozen=True, slots=True)
class TorchPlan:
    """Everything about a fit that is decided before a value is read."""

    source: ExampleSource
    way: GradientMethod
    course: Course
    holds: ApproximateDP
    neighbours: Neighbours
    parts: dict[str, object]  # what makes two fits the same


def plan_training(settings: Settings, X: ExampleData, y: TensorLike | None, team: Alone) -> TorchPlan:
    """Check the settings, try the model on made-up data, and plan the run."""
    epsilon, delta = price_of(settings)
    relation = Neighbours.parse(settings.neighbours)
    shadow, names = shadow_of(settings.model)
    classes = None if settings.classes is None else whole(settings.classes, name="classes", least=2)
    source = source_of(
        X,
        y,
        example=settings.example,
        dtype=shadow.get_parameter(names[0]).dtype,
        classes=classes,
        total=classes is not None and settings.rows is not None,
    )
    rows = _total_rows(settings, len(source), team)
    settings.make_optimizer()
    physical = min(whole(settings.physical, name="physical"), rows)
    way = try_model(shadow, settings.loss, names, source, physical=physical)
    course = _plan_course(settings, way, rows, relation, epsilon=epsilon, delta=delta)
    holds = ApproximateDP(epsilon, delta)
    return TorchPlan(source, way, course, holds, relation, _plan_identity(settings, way, course, rows))


def shadow_of(model: nn.Module) -> tuple[nn.Module, tuple[str, ...]]:
    """A copy of the model to train, in its modes and without gradients of its own, and the names of what trains."""
    if not isinstance(model, nn.Module):
        raise WrongShape(
            f"the model is a {type(model).__name__} and must be a torch module.",
            why="Gradients are taken through it.",
            fix="Give a torch.nn.Module.",
        )
    if any(parameter.device.type != "cpu" for parameter in model.parameters()):
        raise OutOfRange(
            "the model is not on the processor.",
            why="Sums, noise and checks are made and tested there.",
            fix="Write model.cpu() first.",
        )
    shadow = copy.deepcopy(model)
    names = tuple(name for name, parameter in shadow.named_parameters() if parameter.requires_grad)
    if not names:
        raise EmptyInput(
            "no parameter of the model needs a gradient.",
            why="There is nothing to train.",
            fix="Set requires_grad on some, or add some with lora(model, rank=4).",
        )
    set_modes(shadow)
    return shadow.requires_grad_(False), names


def try_model(
    shadow: nn.Module, loss: object, names: tuple[str, ...], source: ExampleSource, *, physical: int
) -> GradientMethod:
    """The fastest way to clipped sums; the model is refused if it mixes examples in batches of up to ``physical``."""
    probes = made_up(source.inputs, source.target, physical=physical)
    inputs, targets = probes[0]
    try:
        with torch.no_grad(), evaluation_mode(shadow):
            single: Loss = per_example(loss, shadow(*inputs), targets)
            single(shadow(*inputs), targets)
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        if isinstance(error, WrongShape):
            raise
        shapes = ", ".join(str(tuple(x.shape)) for x in (*inputs, targets))
        raise WrongShape(
            f"model and loss cannot take a made-up batch of shapes {shapes}: {error}",
            why="They are tried out before anything is charged.",
            fix="Give X and y as the model and the loss expect them; example= says how values look.",
        ) from None
    refuse_mixing(shadow, single, probes)
    return best_way(shadow, single, names, probes, physical=physical)


def _total_rows(settings: Settings, here: int, team: Alone) -> int:
    """How many rows there are over all processes, as declared or as they came."""
    if settings.rows is not None:
        return whole(settings.rows, name="rows")
    if here < 1:
        raise EmptyInput("there are no examples.", why="There is nothing to learn from.", fix="Give at least one.")
    return int(team.broadcast(team.total(np.array([float(here)])))[0])


def _plan_course(settings: Settings, way: GradientMethod, rows: int, relation: Neighbours, **price: Any) -> Course:
    clip, (batch, steps) = settings.chosen_clip(), settings.length(rows)
    sampling = sampling_of(settings.sampling, batch=batch, rows=rows, neighbours=relation)
    if settings.parallel and isinstance(sampling, FixedBatch):
        raise OutOfRange(
            'sampling="fixed" does not go with parallel=True.',
            why="Each process draws from its own examples, and a sample of fixed size is one of all together.",
            fix='Write sampling="poisson".',
        )
    size = sum(way.model.get_parameter(name).numel() for name in way.names)
    run = plan(
        sampling=sampling,
        steps=steps,
        clip=1.0,  # sums are in units of the clipping norm
        error=_rounding_allowance,
        size=size if isinstance(clip, FixedClip) else size + 1,
        rows=2 * rows if settings.rows is None else max(2 * rows, _ANY),
        neighbours=relation,
        unit=Unit(settings.unit),
        **price,
    )
    return Course(
        run=run,
        clip=clip,
        expected=sampling.expected(rows),
        physical=min(whole(settings.physical, name="physical"), rows),
        tail=settings.averaged(),
        classes=settings.classes,
        every=0 if settings.checkpoint is None else whole(settings.every, name="every"),
    )


def _rounding_allowance(rows: int) -> float:
    """For the rounding of a sum in float32: four times what it usually is. No bound."""
    return math.sqrt(rows) * 2.0**-22


def _plan_identity(settings: Settings, way: GradientMethod, course: Course, rows: int) -> dict[str, object]:
    return {
        "kind": "network",
        "event": to_json(course.run),
        **model_parts(way.model, way.names),
        "loss": identity_of_value(settings.loss),
        "optimizer": _optimizer_identity(settings),
        "clip": course.clip.identity(),
        "tail": str(course.tail),
        "classes": course.classes,
        "rows": rows,
    }


def _optimizer_identity(settings: Settings) -> object:
    """The optimizer as it was given, or our own by what it is told."""
    if settings.optimizer is not None:
        return identity_of_value(settings.optimizer)
    rate, momentum = positive_double(settings.learning_rate, name="learning_rate"), float(settings.momentum)
    return {"optimizer": "momentum", "rate": identity_of(rate), "momentum": identity_of(momentum)}
