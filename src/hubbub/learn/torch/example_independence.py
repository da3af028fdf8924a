"""Does a model keep examples apart? It is run on made-up data, before a charge and before data is read.

Layers that are known to mix are refused by name. Everything else is tried, at every batch size that training will run
(``gradients.sizes``; batches of other sizes are filled up to one of these). Half of a batch is changed, in as many
ways as it takes to have every example once in the changed half and every other once in the kept one: if the loss of a
kept example moves, they mix (batch normalization, a loss over pairs, attention over the batch, ...). If a buffer or an
attribute changes, the model remembers what it saw. If an example has another loss alone than in a batch, the batch's
size leaks in.

A model that mixes unseen (at random, in its gradients only, for some inputs) is not refused. It trains as if its
examples came alone: what keeps them apart is the way that ``best_way`` chooses, and no trial.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterator
from typing import TypeAlias

import torch
from torch import Tensor, nn

from hubbub.learn.torch.examples import ExampleKind
from hubbub.learn.torch.gradients import GradientMethod, Inputs, Looped, Mapped, Recorded, batch_sizes
from hubbub.learn.torch.graphs import graph_of
from hubbub.learn.torch.losses import Loss
from hubbub.terms import MixesPeople

Probe: TypeAlias = tuple[Inputs, Tensor]

_SEEDS = 3  # with which a graph and its model are compared
_EXAMPLES = 5  # in a small made-up batch
_ALONE = 8  # examples of a larger one that are also tried alone
_PER_EXAMPLE = (nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d)
_TORCHS_OWN = frozenset(vars(nn.Module()))  # what every layer has: hooks, parameters, buffers
_BOUND = "One person could then move the gradients of all others, which clipping does not bound."
_CLOSE = 1e-3  # relative difference of two computations of the same gradient in float32


def set_modes(model: nn.Module) -> None:
    """Training mode, but for layers that have parameters and train none of them: those stay as they were trained."""
    for layer in model.modules():
        own = list(layer.parameters(recurse=False))
        layer.training = not own or any(p.requires_grad for p in own)


def refuse_mixing(model: nn.Module, loss: Loss, probes: list[Probe]) -> None:
    """Raise if an example's loss is seen to depend on others in made-up batches.

    Not covered: a model that keeps what it saw where no attribute of its layers shows it (in a global variable, say),
    and an autograd function that says itself how it is mapped over examples (``vmap``): such code could carry something
    from one example to another although each runs alone. A model with a graph (``graphs``) has neither.
    """
    _refuse_known(model)
    for probe in probes:
        _refuse_memory(model, loss, probe)
        _refuse_mixing_in(model, loss, probe)
        _refuse_size(model, loss, probe)


def _refuse_known(model: nn.Module) -> None:
    """Normalization over the batch, by whatever name: it mixes whenever it looks at the batch and not at its memory."""
    for name, layer in model.named_modules():
        kind = isinstance(layer, nn.modules.batchnorm._BatchNorm) and not isinstance(layer, _PER_EXAMPLE)
        if kind and (layer.training or not layer.track_running_stats):
            raise _mixes_examples(f"{name!r} ({type(layer).__name__}) mixes the examples of a batch.", _BOUND)


def _refuse_memory(model: nn.Module, loss: Loss, probe: Probe) -> None:
    before = _layer_memory(model)
    _example_losses(model, loss, *probe)
    after = _layer_memory(model)
    changed = [name for name in after if name not in before or before[name] != after[name]]
    if changed:
        raise _mixes_examples(
            f"the model writes to {changed[0]!r} while it trains.",
            "What it remembers of its examples would leave without noise, or reach the next batch.",
        )


def _layer_memory(model: nn.Module) -> dict[str, bytes]:
    """Everything that layers hold beside their parameters: buffers, and attributes of their own."""
    held = {f"buffer {name}": _as_bytes(buffer) for name, buffer in model.named_buffers()}
    for name, layer in model.named_modules():
        own = {key: value for key, value in vars(layer).items() if key not in _TORCHS_OWN and key != "training"}
        held.update({f"{name}.{key}".lstrip("."): _as_bytes(value) for key, value in own.items()})
    return held


def _as_bytes(value: object) -> bytes:
    if isinstance(value, Tensor):
        return repr((value.dtype, value.shape, value.detach().cpu().flatten().tolist())).encode()
    if isinstance(value, nn.Module):
        return b""
    if isinstance(value, dict):
        return b"".join(repr(key).encode() + _as_bytes(each) for key, each in value.items())
    if isinstance(value, list | tuple | set | frozenset | deque):
        return b"(" + b",".join(map(_as_bytes, value)) + b")"
    return repr(value).encode()


def _refuse_mixing_in(model: nn.Module, loss: Loss, probe: Probe) -> None:
    """Change halves of the batch: of any two examples one is in a changed half while the other is not."""
    before = _example_losses(model, loss, *probe)
    for changed in _binary_halves(len(probe[1])):
        after = _example_losses(model, loss, *_with_others(*probe, changed))
        if not _same_values(before[~changed], after[~changed]):
            raise _mixes_examples(f"{_mixing_layer(model, probe, changed)} mixes the examples of a batch.", _BOUND)


def _binary_halves(count: int) -> list[Tensor]:
    """By each binary digit of an example's place, those that have it and those that have not."""
    places = torch.arange(count)
    halves = [(places >> digit) & 1 == side for digit in range((count - 1).bit_length()) for side in (0, 1)]
    return [half for half in halves if bool(half.any()) and not bool(half.all())]


def _refuse_size(model: nn.Module, loss: Loss, probe: Probe) -> None:
    inputs, targets = probe
    with evaluation_mode(model):
        together = _example_losses(model, loss, inputs, targets)
        for i in _some_places(len(targets)):
            alone = _example_losses(model, loss, tuple(x[i : i + 1] for x in inputs), targets[i : i + 1])
            if not torch.allclose(together[i : i + 1], alone, rtol=_CLOSE, atol=_CLOSE, equal_nan=True):
                raise _mixes_examples(
                    "an example has another loss in a batch than alone.",
                    "Then its gradient depends on who else is in the batch.",
                )


def _some_places(count: int) -> list[int]:
    """A few places: the first, the last, and some between."""
    return sorted({round(i * (count - 1) / (_ALONE - 1)) for i in range(_ALONE)})


def best_way(
    model: nn.Module, loss: Loss, names: tuple[str, ...], probes: list[Probe], *, physical: int
) -> GradientMethod:
    """The fastest way to clipped sums that agrees with going through the examples one by one, at every size.

    Whether examples are kept apart is not decided here by running: ``Recorded`` runs a graph of known operations, and
    in the other ways each example is a batch of its own.
    """
    truth = Looped(model, loss, names)
    for attempt in (_try_recorded, _try_mapped):
        with contextlib.suppress(Exception):  # whatever it is: this way does not work for this model
            way = attempt(truth, probes, physical)
            if way is not None and _runs(way, *probes[0]) and _runs(way, *probes[-1]):
                return way
    return truth


def _try_recorded(truth: GradientMethod, probes: list[Probe], physical: int) -> GradientMethod | None:
    """Batches through the model's graph, if it has one, and if that does what the model does in either mode."""
    model, loss, names = truth.model, truth.loss, truth.names
    if not Recorded.fits(model, names) or (graph := graph_of(model, probes[0][0])) is None:
        return None
    way = Recorded(model, loss, names, physical=physical, graph=graph)
    own = Recorded(model, loss, names, physical=physical)
    if not all(_alike(way, own, *probe) for probe in probes[:2]):
        return None
    with evaluation_mode(model):  # dropout may be an operation of the graph, which is then another one
        graph = graph_of(model, probes[0][0])
        other = Recorded(model, loss, names, physical=physical, graph=graph)
        return way if graph is not None and all(_agree(other, truth, *probe) for probe in probes) else None


def _try_mapped(truth: GradientMethod, probes: list[Probe], physical: int) -> GradientMethod | None:
    way = Mapped(truth.model, truth.loss, truth.names)
    with evaluation_mode(truth.model):
        return way if all(_agree(way, truth, *probe) for probe in probes) else None


def _runs(way: GradientMethod, inputs: Inputs, targets: Tensor) -> bool:
    """In the modes in which it trains; it raises where it does not."""
    with torch.random.fork_rng(devices=[]):
        return len(way.clipped_sum(inputs, targets, clip=1.0).norms) == len(targets)


def _alike(way: GradientMethod, other: GradientMethod, inputs: Inputs, targets: Tensor) -> bool:
    """Whether two ways do the same with the same dropped units."""
    for seed in range(_SEEDS):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            mine = way.clipped_sum(inputs, targets, clip=1.0)
            torch.manual_seed(seed)
            theirs = other.clipped_sum(inputs, targets, clip=1.0)
        size = max(float(theirs.norms.max()), 1e-6)
        if not torch.allclose(mine.norms, theirs.norms, rtol=_CLOSE, atol=_CLOSE * size):
            return False
    return True


def _agree(way: GradientMethod, truth: GradientMethod, inputs: Inputs, targets: Tensor) -> bool:
    """Whether norms and sums are the same; half of the examples are clipped. Of many examples some are looked at."""
    if len(targets) > _EXAMPLES:
        some = _some_places(len(targets))
        norms = truth.clipped_sum(tuple(x[some] for x in inputs), targets[some], clip=1.0).norms
        mine = way.clipped_sum(inputs, targets, clip=1.0).norms[some]
        return torch.allclose(mine, norms, rtol=_CLOSE, atol=_CLOSE * max(float(norms.max()), 1e-6))
    norms = truth.clipped_sum(inputs, targets, clip=1.0).norms
    clip = max(float(norms.median()), 1e-6)
    own, other = (w.clipped_sum(inputs, targets, clip=clip) for w in (way, truth))
    far = max(float(norms.max()), 1e-6)
    if not torch.allclose(own.norms, other.norms, rtol=_CLOSE, atol=_CLOSE * far):
        return False
    size = max(float(sum(t.square().sum() for t in other.totals.values())) ** 0.5, 1e-3)
    return all(float((own.totals[n] - other.totals[n]).norm()) <= _CLOSE * size for n in truth.names)


# ------------------------------------------------------------ made-up data


def made_up(inputs: tuple[ExampleKind, ...], target: ExampleKind, *, physical: int) -> list[Probe]:
    """Batches of random values of these kinds: two small ones, and one of each size that training will run."""
    generator = torch.Generator().manual_seed(0)  # no secret: nothing here is about anybody
    wanted = [(_EXAMPLES, 1.0), (_EXAMPLES, 4.0), *((size, 1.0) for size in batch_sizes(physical))]
    return [
        (tuple(kind.made_up(size, scale, generator) for kind in inputs), target.made_up(size, 1.0, generator))
        for size, scale in wanted
    ]


def _with_others(inputs: Inputs, targets: Tensor, changed: Tensor) -> Probe:
    """The same batch with some examples changed: numbers moved, whole numbers those of the next example."""
    return tuple(_move_others(x, changed) for x in inputs), _move_others(targets, changed)


def _move_others(values: Tensor, changed: Tensor) -> Tensor:
    moved = values.clone()
    moved[changed] = (-2 * values + 1 if values.is_floating_point() else values.roll(1, 0))[changed]
    return moved


# ------------------------------------------------------------ running the model


def _example_losses(model: nn.Module, loss: Loss, inputs: Inputs, targets: Tensor) -> Tensor:
    """The loss of each example, with the same dropped units every time."""
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return loss(model(*inputs), targets)


def _same_values(a: Tensor, b: Tensor) -> bool:
    return torch.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True)


@contextlib.contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Evaluation mode for a while."""
    were = {layer: layer.training for layer in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for layer, training in were.items():
            layer.training = training


def _mixing_layer(model: nn.Module, probe: Probe, changed: Tensor) -> str:
    """The first innermost layer whose output for a kept example moves with the changed ones; or model and loss."""
    before, after = (_leaf_outputs(model, given) for given in (probe[0], _with_others(*probe, changed)[0]))
    for (name, a), (_, b) in zip(before, after, strict=False):
        if (
            a.shape == b.shape
            and len(a) == len(changed)
            and not _same_values(a[~changed].double(), b[~changed].double())
        ):
            return f"{name!r} ({type(model.get_submodule(name)).__name__})"
    return "the model or the loss"


def _leaf_outputs(model: nn.Module, inputs: Inputs) -> list[tuple[str, Tensor]]:
    outputs: list[tuple[str, Tensor]] = []

    def keep(name: str) -> Callable[..., None]:
        return lambda layer, entered, left: outputs.append((name, left.detach())) if isinstance(left, Tensor) else None

    leaves = [(name, layer) for name, layer in model.named_modules() if name and not list(layer.children())]
    handles = [layer.register_forward_hook(keep(name)) for name, layer in leaves]
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            model(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    return outputs


def _mixes_examples(what: str, why: str) -> MixesPeople:
    return MixesPeople(
        what,
        why=why,
        fix="Use layers that treat each example by itself: GroupNorm or LayerNorm instead of batch normalization. "
        "Layers whose parameters are all frozen are run in evaluation mode.",
    )
