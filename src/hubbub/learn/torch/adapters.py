"""Fine-tuning in few numbers: freeze a model and train small parts beside its layers.

The noise of private training grows with the number of trained parameters, so a pre-trained model is best tuned through
few of them. All helpers return a changed copy whose outputs are at first those of the model.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from hubbub.terms import EmptyInput, OutOfRange, whole


class LowRank(nn.Module):
    """A frozen linear layer plus a trained product of two thin matrices [HSWALWWC22]."""

    def __init__(self, layer: nn.Linear, *, rank: int, scale: float = 1.0) -> None:
        super().__init__()
        self.layer, self.scale = layer, scale
        self.down = nn.Linear(layer.in_features, rank, bias=False).to(layer.weight)
        self.up = nn.Linear(rank, layer.out_features, bias=False).to(layer.weight)
        nn.init.normal_(self.down.weight, std=1 / math.sqrt(layer.in_features))
        nn.init.zeros_(self.up.weight)

    def forward(self, values: Tensor) -> Tensor:
        """The layer's output and the product's."""
        out: Tensor = self.layer(values) + self.scale * self.up(self.down(values))
        return out

    def merged(self) -> nn.Linear:
        """One linear layer that does the same."""
        layer = copy.deepcopy(self.layer)
        with torch.no_grad():
            layer.weight += self.scale * self.up.weight @ self.down.weight
        return layer


class Bottleneck(nn.Module):
    """A frozen layer followed by a trained narrow detour [HGJMDGAG19]."""

    def __init__(self, layer: nn.Linear, *, width: int) -> None:
        super().__init__()
        self.layer = layer
        self.down = nn.Linear(layer.out_features, width).to(layer.weight)
        self.up = nn.Linear(width, layer.out_features).to(layer.weight)
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, values: Tensor) -> Tensor:
        """The layer's output and the detour's."""
        out = self.layer(values)
        changed: Tensor = out + self.up(torch.nn.functional.gelu(self.down(out)))
        return changed


class Kronecker(nn.Module):
    """A linear layer whose weight is a sum of Kronecker products: small matrices times thin products [MHR21]."""

    def __init__(self, rules: nn.Parameter, inputs: int, outputs: int) -> None:
        super().__init__()
        parts = len(rules)
        self.rules = rules  # (parts, parts, parts), shared by all such layers of a model
        self.left = nn.Parameter(torch.zeros(parts, outputs // parts, 1))
        self.right = nn.Parameter(torch.zeros(parts, 1, inputs // parts))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, values: Tensor) -> Tensor:
        """The values times the weight."""
        blocks = torch.einsum("nij,nkl->ikjl", self.rules, self.left @ self.right)
        weight = blocks.reshape(len(self.bias), -1)
        return torch.nn.functional.linear(values, weight, self.bias)


class Compacted(nn.Module):
    """A frozen layer followed by a trained narrow detour of Kronecker layers."""

    def __init__(self, layer: nn.Linear, rules: nn.Parameter, *, width: int) -> None:
        super().__init__()
        self.layer = layer
        self.down = Kronecker(rules, layer.out_features, width)
        self.up = Kronecker(rules, width, layer.out_features)
        nn.init.normal_(self.down.left)
        nn.init.normal_(self.down.right, std=1 / math.sqrt(layer.out_features))
        nn.init.normal_(self.up.right)  # the left one is zero, and so is the detour

    def forward(self, values: Tensor) -> Tensor:
        """The layer's output and the detour's."""
        out = self.layer(values)
        changed: Tensor = out + self.up(torch.nn.functional.gelu(self.down(out)))
        return changed


def lora(model: nn.Module, *, rank: int = 4, scale: float = 1.0, train: tuple[str, ...] = ()) -> nn.Module:
    """A frozen copy of the model whose linear layers have trained products of rank ``rank`` beside them.

    Layers and parameters whose name begins with one of ``train`` stay trainable as they are: a new head, say.
    """
    rank = whole(rank, name="rank")
    return _with_adapters(model, train, lambda layer: LowRank(layer, rank=rank, scale=scale))


def adapter(model: nn.Module, *, width: int = 16, train: tuple[str, ...] = ()) -> nn.Module:
    """A frozen copy of the model whose linear layers are followed by trained detours of ``width`` units."""
    width = whole(width, name="width")
    return _with_adapters(model, train, lambda layer: Bottleneck(layer, width=width))


def compacter(model: nn.Module, *, width: int = 16, parts: int = 4, train: tuple[str, ...] = ()) -> nn.Module:
    """As ``adapter``, with detours whose weights are sums of ``parts`` Kronecker products: fewer numbers still.

    ``parts`` divides ``width`` and the widths of the layers; layers that it does not divide get no detour.
    """
    parts, width = whole(parts, name="parts"), whole(width, name="width")
    if width % parts:
        raise OutOfRange(
            f"width={width} is no multiple of parts={parts}.",
            why="Weights are made of blocks of equal size.",
            fix=f"Write width={parts * (width // parts + 1)}.",
        )
    rules = nn.Parameter(torch.randn(parts, parts, parts) / parts)
    return _with_adapters(model, train, lambda layer: Compacted(layer, rules, width=width), parts=parts)


def merge(model: nn.Module) -> nn.Module:
    """A copy of a model that was tuned with ``lora``, with every product added to its layer: as fast as before."""
    return _replace_layers(
        copy.deepcopy(model), "", lambda name, layer: isinstance(layer, LowRank), lambda layer: layer.merged()
    )


def _with_adapters(
    model: nn.Module, train: tuple[str, ...], make: Callable[[nn.Linear], nn.Module], *, parts: int = 1
) -> nn.Module:
    changed = copy.deepcopy(model).requires_grad_(False)
    for name, parameter in changed.named_parameters():
        parameter.requires_grad_(bool(train) and name.startswith(train))
    if not any(_is_tunable(name, layer, train, parts) for name, layer in changed.named_modules()):
        raise EmptyInput(
            "the model has no linear layer to tune beside.",
            why="Low-rank products and detours are added to torch.nn.Linear layers.",
            fix="Train some of the model's own parameters instead.",
        )
    return _replace_layers(changed, "", lambda name, layer: _is_tunable(name, layer, train, parts), make)


def _is_tunable(name: str, layer: nn.Module, train: tuple[str, ...], parts: int) -> bool:
    """Whether this is a linear layer to tune beside."""
    plain = isinstance(layer, nn.Linear) and type(layer) is nn.Linear and layer.out_features % parts == 0
    return plain and not (train and name.startswith(train))


def _replace_layers(
    model: nn.Module, name: str, wanted: Callable[[str, nn.Module], bool], make: Callable[..., nn.Module]
) -> nn.Module:
    """The model with each wanted layer replaced, in place but for the model itself."""
    if wanted(name, model):
        return make(model)
    for own, child in list(model.named_children()):
        setattr(model, own, _replace_layers(child, f"{name}.{own}" if name else own, wanted, make))
    return model
