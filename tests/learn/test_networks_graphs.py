"""Batches run through graphs of known operations alone: what mixes unseen runs apart, and usual models stay fast."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, fx, nn
from torch.nn import functional

from hubbub.learn.torch import PrivateTrainer, lora
from hubbub.learn.torch.examples import source_of
from hubbub.learn.torch.graphs import graph_of
from hubbub.learn.torch.training_plan import shadow_of, try_model

torch.set_num_threads(1)

X = torch.randn(32, 4, generator=torch.Generator().manual_seed(0))
Y = (X[:, 0] > 0).long()


class _Mixing(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        return values.clone()

    @staticmethod
    def backward(ctx: Any, *errors: Tensor) -> Tensor:
        return errors[0] + 60 * errors[0].mean(0)


def _hooked(values: Tensor) -> Tensor:
    if values.requires_grad:
        values.register_hook(lambda error: error + 60 * error.mean(0))
    return values


class Unseen(nn.Module):
    """Two layers with something between them while it trains."""

    def __init__(self, between: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.a, self.b, self.between = nn.Linear(4, 8), nn.Linear(8, 2), between

    def forward(self, values: Tensor) -> Tensor:
        hidden = self.a(values)
        return self.b(torch.relu(self.between(hidden) if self.training else hidden))


def _if(chance: Callable[[], bool]) -> Callable[[Tensor], Tensor]:
    return lambda values: values + 5 * values.mean(0, keepdim=True) if chance() else values


def _rare(values: Tensor) -> Tensor:
    return values / (values.abs().max() / 60).clamp(min=1)


UNSEEN: dict[str, Callable[[Tensor], Tensor]] = {
    "at random": _if(lambda: bool(torch.rand(()) < 0.3)),
    "at Python's random": _if(lambda: random.random() < 0.3),
    "at numpy's random": _if(lambda: bool(np.random.rand() < 0.3)),
    "for large values": _rare,
    "in an autograd function": _Mixing.apply,
    "in a hook of a tensor": _hooked,
}


def moved(model: nn.Module) -> float:
    """How far the clipped sum goes if one example becomes another, at most over some seeds; above 2 is a hole."""
    shadow, names = shadow_of(model)
    source = source_of(X, Y, example=None, dtype=torch.float32, classes=2)
    way = try_model(shadow, nn.CrossEntropyLoss(), names, source, physical=32)
    other, far = X.clone(), 0.0
    other[0] = -50 * X[0]
    for seed in range(12):
        sums = []
        for rows in (X, other):
            torch.manual_seed(seed)
            random.seed(seed)
            np.random.seed(seed)
            sums.append(way.clipped_sum((rows,), Y, clip=0.05).totals)
        far = max(far, sum(float((sums[0][n] - sums[1][n]).double().square().sum()) for n in names) ** 0.5)
    return far


@pytest.mark.parametrize("kind", list(UNSEEN))
def test_what_mixes_unseen_while_it_trains_moves_no_sum_beyond_the_promise(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hubbub.learn.torch.example_independence.refuse_mixing", lambda *args: None)
    monkeypatch.setattr("hubbub.learn.torch.training_plan.refuse_mixing", lambda *args: None)
    torch.manual_seed(1)
    assert 0 < moved(Unseen(UNSEEN[kind])) <= 2.001


def test_a_model_that_draws_at_random_still_learns() -> None:
    torch.manual_seed(1)
    model = Unseen(UNSEEN["at random"])
    fitted = PrivateTrainer(model, nn.CrossEntropyLoss(), epsilon=100, delta=1e-5, batch_size=32, epochs=30, classes=2)
    fitted.fit(X, Y)
    assert fitted.way_ == "Looped"
    assert float((model.eval()(X).argmax(1) == Y).float().mean()) > 0.8


# --- what has a graph, and what has none


class Usual(nn.Module):
    """Convolutions as people write them."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two, self.drop = nn.Conv2d(1, 4, 3), nn.Conv2d(4, 6, 3), nn.Dropout2d()
        self.three, self.four = nn.Linear(24, 8), nn.Linear(8, 3)

    def forward(self, values: Tensor) -> Tensor:
        values = functional.relu(functional.max_pool2d(self.one(values), 2))
        values = functional.relu(functional.adaptive_avg_pool2d(self.drop(self.two(values)), 2))
        values = values.view(-1, 24)
        values = functional.dropout(functional.relu(self.three(values)), training=self.training)
        return functional.log_softmax(self.four(values), dim=1)


class Shaped(Usual):
    def forward(self, values: Tensor) -> Tensor:
        values = torch.flatten(functional.avg_pool2d(self.two(self.one(values).relu_()), 2), 1)
        values = self.three(values.reshape(values.size(0), -1)[:, :24])
        values += 0.5
        return self.four(torch.cat([values[:, :4], values[..., 4:] * torch.sigmoid(values[:, 4:])], dim=1))


class Attends(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.enter, self.norm, self.all, self.out = nn.Linear(9, 6), nn.LayerNorm(6), nn.Linear(6, 18), nn.Linear(6, 3)

    def forward(self, values: Tensor) -> Tensor:
        values = self.enter(values.squeeze(1)) + torch.arange(values.size(2))[:, None] / 9
        query, key, value = self.all(self.norm(values)).chunk(3, dim=-1)
        weights = torch.softmax(query @ key.transpose(1, 2) / math.sqrt(6), dim=-1)
        again = functional.scaled_dot_product_attention(query, key, value)
        return self.out((values + weights @ value + again).mean(1))


def _plain() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(81, 8), nn.ReLU(inplace=True), nn.Dropout(0.3), nn.Linear(8, 3))


IMAGES = torch.randn(24, 1, 9, 9, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("make", [_plain, Usual, Shaped, Attends, lambda: lora(_plain(), rank=2)])
@pytest.mark.parametrize("loss", [nn.CrossEntropyLoss(), functional.cross_entropy])
def test_usual_models_run_in_batches(make: Callable[[], nn.Module], loss: Any) -> None:
    shadow, names = shadow_of(make())
    source = source_of(IMAGES, torch.arange(24) % 3, example=None, dtype=torch.float32, classes=3)
    assert type(try_model(shadow, loss, names, source, physical=8)).__name__ == "Recorded"


class Between(nn.Module):
    """One operation between two layers."""

    def __init__(self, between: Callable[[Any, Tensor], Tensor]) -> None:
        super().__init__()
        self.a, self.b, self.between = nn.Linear(4, 6), nn.Linear(6, 2), between
        self.table, self.register_later = nn.Parameter(torch.ones(5, 6)), None

    def forward(self, values: Tensor) -> Tensor:
        return self.b(self.between(self, self.a(values)))


NO_GRAPH: dict[str, Callable[[Any, Tensor], Tensor]] = {
    "mean": lambda m, h: h + h.mean(0),
    "mean of all": lambda m, h: h + h.mean(),
    "sum over no dimension": lambda m, h: h + h.sum(dim=(), keepdim=True),
    "sum by axis": lambda m, h: h + h.sum(axis=0),
    "softmax": lambda m, h: functional.softmax(h, 0),
    "softmax by a negative number": lambda m, h: torch.softmax(h, -2),
    "running sum": lambda m, h: h.cumsum(0),
    "transposed": lambda m, h: h.transpose(0, 1).reshape(-1, 6),
    "turned": lambda m, h: h.permute(1, 0).reshape(h.size(0), -1),
    "T": lambda m, h: h.T.reshape(-1, 6),
    "rolled": lambda m, h: h.roll(1, 0),
    "flipped": lambda m, h: h.flip(0),
    "first": lambda m, h: h + h[0],
    "first ones": lambda m, h: h + h[:1],
    "other order": lambda m, h: h[torch.randperm(5)],
    "each with each": lambda m, h: h @ h.T @ h,
    "broadcast over pairs": lambda m, h: (h[:, None] - h[None]).mean(1),
    "one dimension against two": lambda m, h: h + (h[:, 0] + h[:, :5]).sum(1, keepdim=True),
    "a table as long as the batch": lambda m, h: h * m.table,
    "by the count": lambda m, h: h / h.size(0),
    "by the shape": lambda m, h: h * h.shape[0],
    "flat": lambda m, h: h.flatten(0).reshape(-1, 6),
    "sliced": lambda m, h: h.reshape(-1, 3).reshape(-1, 6),
    "squeezed": lambda m, h: h.squeeze(),
    "stacked": lambda m, h: torch.stack([h, h]).mean(0),
    "side by side": lambda m, h: torch.cat([h, h])[: h.size(0)],
    "chunks": lambda m, h: h.chunk(1)[0],
    "norm over the batch": lambda m, h: functional.normalize(h, dim=0),
    "batch norm": lambda m, h: functional.batch_norm(h, None, None, training=True),
    "convolution of what has no channels": lambda m, h: functional.max_pool1d(h, 1),
    "a weight written to": lambda m, h: m.table.data.add_(0)[:1] + h,
    "an out": lambda m, h: torch.add(h, 1, out=torch.empty_like(h)),
    "where": lambda m, h: torch.where(h > -99)[1].reshape(-1, 6) + h,
    "a hook": lambda m, h: (h.register_hook(lambda e: e), h)[1],
    "random values": lambda m, h: h + torch.rand(6),
}


@pytest.mark.parametrize("kind", list(NO_GRAPH))
def test_what_looks_along_the_batch_has_no_graph(kind: str) -> None:
    torch.manual_seed(0)
    assert graph_of(Between(lambda m, h: h * 2), (X[:5],)) is not None
    assert graph_of(Between(NO_GRAPH[kind]), (X[:5],)) is None


class Odd(nn.Linear):
    """No longer the layer whose name it has."""

    def forward(self, values: Tensor) -> Tensor:
        return super().forward(values - values.mean(0))


def _with_hook(register: str, hook: Callable[..., Any]) -> nn.Module:
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    getattr(model[0], register)(hook)
    return model


def _patched() -> nn.Module:
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    model[0].forward = lambda values: values - values.mean(0)  # type: ignore[method-assign]
    return model


LAYERS: dict[str, Callable[[], nn.Module]] = {
    "a subclass": lambda: nn.Sequential(Odd(4, 4), nn.Linear(4, 2)),
    "a hook": lambda: _with_hook("register_forward_hook", lambda m, i, o: o - o.mean(0)),
    "a hook before": lambda: _with_hook("register_forward_pre_hook", lambda m, i: (i[0] - i[0].mean(0),)),
    "a hook on the way back": lambda: _with_hook("register_full_backward_hook", lambda m, i, o: (i[0] + i[0].mean(0),)),
    "another forward": _patched,
    "batch norm": lambda: nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)),
    "softmax over the batch": lambda: nn.Sequential(nn.Linear(4, 4), nn.Softmax(dim=0), nn.Linear(4, 2)),
    "softmax over who knows what": lambda: nn.Sequential(nn.Linear(4, 4), nn.Softmax(), nn.Linear(4, 2)),
    "pooling of what has no channels": lambda: nn.Sequential(nn.Linear(4, 4), nn.MaxPool1d(1), nn.Linear(4, 2)),
    "everything flat": lambda: nn.Sequential(nn.Flatten(0), nn.Unflatten(0, (5, 4)), nn.Linear(4, 2)),
    "a norm of everything": lambda: nn.Sequential(nn.LayerNorm((5, 4)), nn.Linear(4, 2)),
}


@pytest.mark.parametrize("kind", list(LAYERS))
def test_a_layer_that_mixes_or_is_hooked_has_no_graph(kind: str) -> None:
    assert graph_of(LAYERS[kind](), (X[:5],)) is None


def test_a_hook_on_all_layers_is_seen() -> None:
    model = nn.Sequential(nn.Linear(4, 2))
    assert isinstance(graph_of(model, (X[:5],)), fx.GraphModule)
    handle = nn.modules.module.register_module_forward_hook(lambda m, i, o: None)
    try:
        assert graph_of(model, (X[:5],)) is None
    finally:
        handle.remove()


def test_a_graph_has_the_layers_of_its_model_and_follows_them() -> None:
    model = nn.Sequential(nn.Linear(4, 2))
    graph = graph_of(model, (X[:5],))
    assert graph is not None
    with torch.no_grad():
        model[0].weight.data.copy_(torch.ones(2, 4))
    assert torch.equal(graph(X), model(X))
