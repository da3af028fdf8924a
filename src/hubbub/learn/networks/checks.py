"""Does a model keep examples apart? Found out by running it on made-up data, before a charge and before data is read.

No list of modules is kept. One example of a batch is changed: if the loss of another one moves, they mix (batch
normalisation, a loss over pairs, attention over the batch, ...). If a buffer changes, the model remembers what it saw.
If an example has another loss alone than in a batch, the batch's size leaks in.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from hubbub.learn.networks.gradients import Inputs, Looped, Mapped, Recorded, Way
from hubbub.learn.networks.losses import Loss
from hubbub.learn.networks.rows import Kind
from hubbub.terms import MixesPeople

_EXAMPLES = 5  # in a made-up batch
_CLOSE = 1e-3  # relative difference of two computations of the same gradient in float32


def modes(model: nn.Module) -> None:
    """Training mode, but for layers that have parameters and train none of them: those stay as they were trained."""
    for layer in model.modules():
        own = list(layer.parameters(recurse=False))
        layer.training = not own or any(p.requires_grad for p in own)


def refuse_mixing(model: nn.Module, loss: Loss, probes: list[tuple[Inputs, Tensor]]) -> None:
    """Raise unless each example's loss depends on that example alone, as far as made-up batches can tell.

    Not covered: a model that mixes examples only for inputs unlike those that were tried.
    """
    for inputs, targets in probes:
        with _frozen_buffers(model) as changed:
            before = _losses(model, loss, inputs, targets)
        if changed:
            raise _mixes(
                f"the model writes to its buffer {changed[0]!r} while it trains.",
                "What it remembers of its examples would leave without noise.",
            )
        for i in range(len(targets)):
            others = torch.arange(len(targets)) != i
            after = _losses(model, loss, *_with_another(inputs, targets, i))
            if not _same(before[others], after[others]):
                raise _mixes(
                    f"{_culprit(model, inputs, targets, i)} mixes the examples of a batch.",
                    "One person could then move the gradients of all others, which clipping does not bound.",
                )
    _refuse_size(model, loss, *probes[0])


def _refuse_size(model: nn.Module, loss: Loss, inputs: Inputs, targets: Tensor) -> None:
    with evaluating(model):
        together = _losses(model, loss, inputs, targets)
        for i in range(len(targets)):
            alone = _losses(model, loss, tuple(x[i : i + 1] for x in inputs), targets[i : i + 1])
            if not torch.allclose(together[i : i + 1], alone, rtol=_CLOSE, atol=_CLOSE, equal_nan=True):
                raise _mixes(
                    "an example has another loss in a batch than alone.",
                    "Then its gradient depends on who else is in the batch.",
                )


def best_way(model: nn.Module, loss: Loss, names: tuple[str, ...], inputs: Inputs, targets: Tensor) -> Way:
    """The fastest way to clipped sums that agrees with going through the examples one by one."""
    truth = Looped(model, loss, names)
    ways: list[Callable[..., Way]] = [Mapped]
    if Recorded.fits(model, names):
        ways.insert(0, Recorded)
    with evaluating(model):
        for kind in ways:
            way = kind(model, loss, names)
            with contextlib.suppress(Exception):  # whatever it is: this way does not work for this model
                if _agree(way, truth, inputs, targets):
                    return way
    return truth


def _agree(way: Way, truth: Way, inputs: Inputs, targets: Tensor) -> bool:
    """Whether norms and sums are the same; half of the examples are clipped."""
    norms = truth.clipped_sum(inputs, targets, clip=1.0).norms
    clip = max(float(norms.median()), 1e-6)
    mine, other = (w.clipped_sum(inputs, targets, clip=clip) for w in (way, truth))
    far = max(float(norms.max()), 1e-6)
    if not torch.allclose(mine.norms, other.norms, rtol=_CLOSE, atol=_CLOSE * far):
        return False
    size = max(float(sum(t.square().sum() for t in other.totals.values())) ** 0.5, 1e-3)
    return all(float((mine.totals[n] - other.totals[n]).norm()) <= _CLOSE * size for n in truth.names)


# ------------------------------------------------------------ made-up data


def made_up(inputs: tuple[Kind, ...], target: Kind) -> list[tuple[Inputs, Tensor]]:
    """Batches of random values of these kinds."""
    generator = torch.Generator().manual_seed(0)  # no secret: nothing here is about anybody
    return [
        (tuple(kind.made_up(_EXAMPLES, scale, generator) for kind in inputs), target.made_up(_EXAMPLES, 1.0, generator))
        for scale in (1.0, 4.0)
    ]


def _with_another(inputs: Inputs, targets: Tensor, i: int) -> tuple[Inputs, Tensor]:
    """The same batch with example i taken from the next one's place, changed."""
    changed = tuple(x.clone() for x in inputs)
    for x in changed:
        x[i] = -2 * x[i] + 1 if x.is_floating_point() else x[(i + 1) % len(x)]
    others = targets.clone()
    others[i] = -2 * targets[i] + 1 if targets.is_floating_point() else targets[(i + 1) % len(targets)]
    return changed, others


# ------------------------------------------------------------ running the model


def _losses(model: nn.Module, loss: Loss, inputs: Inputs, targets: Tensor) -> Tensor:
    """The loss of each example, with the same dropped units every time."""
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return loss(model(*inputs), targets)


def _same(a: Tensor, b: Tensor) -> bool:
    return torch.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True)


@contextlib.contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Evaluation mode for a while."""
    were = {layer: layer.training for layer in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for layer, training in were.items():
            layer.training = training


@contextlib.contextmanager
def _frozen_buffers(model: nn.Module) -> Iterator[list[str]]:
    """The names of buffers that were written to; they are put back."""
    before = {name: buffer.clone() for name, buffer in model.named_buffers()}
    changed: list[str] = []
    yield changed
    for name, buffer in model.named_buffers():
        if name not in before or not torch.equal(buffer, before[name]):
            changed.append(name)


def _culprit(model: nn.Module, inputs: Inputs, targets: Tensor, i: int) -> str:
    """The first innermost layer whose output for another example moves with example i; or model and loss."""
    before, after = (_leaf_outputs(model, given) for given in (inputs, _with_another(inputs, targets, i)[0]))
    others = torch.arange(len(targets)) != i
    for (name, a), (_, b) in zip(before, after, strict=False):
        if a.shape == b.shape and len(a) == len(others) and not _same(a[others].double(), b[others].double()):
            return f"{name!r} ({type(model.get_submodule(name)).__name__})"
    return "the model or the loss"


def _leaf_outputs(model: nn.Module, inputs: Inputs) -> list[tuple[str, Tensor]]:
    found: list[tuple[str, Tensor]] = []

    def keep(name: str) -> Callable[..., None]:
        return lambda layer, entered, left: found.append((name, left.detach())) if isinstance(left, Tensor) else None

    leaves = [(name, layer) for name, layer in model.named_modules() if name and not list(layer.children())]
    handles = [layer.register_forward_hook(keep(name)) for name, layer in leaves]
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            model(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    return found


def _mixes(what: str, why: str) -> MixesPeople:
    return MixesPeople(
        what,
        why=why,
        fix="Use layers that treat each example by itself: GroupNorm or LayerNorm instead of batch normalisation. "
        "Layers whose parameters are all frozen are run in evaluation mode.",
    )
