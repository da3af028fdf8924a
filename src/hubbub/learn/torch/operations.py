"""Operations that treat each example by itself, and with which arguments they do: the lists that ``graphs`` goes by.

A value is ``examples`` (a tensor whose row i depends on example i alone), ``several`` of those, ``fixed`` (it depends
on no example), the ``shape`` of examples, or their ``count``: good for reshaping, and no value may depend on it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor, fx, nn
from torch.nn import functional


class Unknown(Exception):
    """An operation of which it is not known that it keeps examples apart."""


@dataclass(frozen=True, slots=True)
class ObservedValue:
    """What a value depends on, and how it looked on made-up examples."""

    kind: str
    value: Any

    @property
    def dims(self) -> int:
        return int(self.value.dim())


All: TypeAlias = Mapping[fx.Node, ObservedValue]
Rule: TypeAlias = Callable[[fx.Node, All, Any], str]


def _need(known: bool) -> None:
    if not known:
        raise Unknown


def _kinds(node: fx.Node, seen: All) -> set[str]:
    return {seen[each].kind for each in node.all_input_nodes}


def _first(node: fx.Node, seen: All) -> ObservedValue:
    """The examples that an operation is about: its first argument, and its only one that is not fixed."""
    first = node.args[0]
    assert isinstance(first, fx.Node)
    others = [seen[each].kind for each in node.all_input_nodes if each is not first]
    _need("out" not in node.kwargs and all(kind == "fixed" for kind in others))
    return seen[first]


def _argument(node: fx.Node, seen: All, place: int, name: str, default: Any = None) -> Any:
    """An argument, with numbers in the place of what the graph computes from shapes."""
    value = node.args[place] if len(node.args) > place else node.kwargs.get(name, default)
    return seen[value].value if isinstance(value, fx.Node) else value


def _whole(value: Any) -> int:
    _need(type(value) is int)
    return int(value)


def _apart(dims: Any, count: int) -> None:
    """Dimensions, of ``count``, that are not the first."""
    _need(dims not in ((), []))  # which stands for all of them
    for dim in dims if isinstance(dims, tuple | list) else [dims]:
        _need(-count <= _whole(dim) < count and dim % count != 0)


# ------------------------------------------------------------ value by value


def _alike(node: fx.Node, seen: All, value: Any) -> str:
    """Value by value: all examples have as many dimensions, and what is fixed is spread over the first one."""
    parts = [seen[each] for each in node.all_input_nodes]
    _need(_kinds(node, seen) <= {"examples", "fixed"} and "out" not in node.kwargs)
    dims = {part.dims for part in parts if part.kind == "examples"}
    if not dims:
        return "fixed"
    _need(len(dims) == 1)
    (count,) = dims
    for part in parts:
        if part.kind == "fixed" and isinstance(part.value, Tensor):
            _need(part.dims < count or (part.dims == count and part.value.shape[0] == 1))
    _need(isinstance(value, Tensor) and value.dim() == count)
    return "examples"


def _made(node: fx.Node, seen: All, value: Any) -> str:
    """A constant from fixed numbers."""
    _need(_kinds(node, seen) <= {"fixed"} and "out" not in node.kwargs)
    return "fixed"


def _fact(node: fx.Node, seen: All, value: Any) -> str:
    """What is the same for every batch: the number of dimensions, a type, a device."""
    _first(node, seen)
    return "fixed"


# ------------------------------------------------------------ along dimensions


def _along(name: str, *, place: int = 1, more: int = 0) -> Rule:
    """Along dimensions that are named and not the first; ``more`` dimensions are in what comes out."""

    def rule(node: fx.Node, seen: All, value: object) -> str:
        entering = _first(node, seen)
        if entering.kind == "fixed":
            return "fixed"
        _need(entering.kind == "examples")
        _apart(_argument(node, seen, place, name), entering.dims + more)
        return "several" if isinstance(value, tuple | list) else "examples"

    return rule


def _turned(node: fx.Node, seen: All, value: Any) -> str:
    """Two dimensions change places."""
    entering = _first(node, seen)
    _need(entering.kind == "examples")
    _apart([_argument(node, seen, 1, "dim0"), _argument(node, seen, 2, "dim1")], entering.dims)
    return "examples"


def _permuted(node: fx.Node, seen: All, value: Any) -> str:
    entering = _first(node, seen)
    order = _sizes(node, "dims")
    _need(entering.kind == "examples" and len(order) == entering.dims and type(order[0]) is int and order[0] == 0)
    return "examples"


def _flat(node: fx.Node, seen: All, value: Any) -> str:
    entering = _first(node, seen)
    _need(entering.kind == "examples")
    _apart(_argument(node, seen, 1, "start_dim", 0), entering.dims)
    return "examples"


def _joined(more: int) -> Rule:
    """Several values side by side, along another dimension than the first."""

    def rule(node: fx.Node, seen: All, value: object) -> str:
        parts = node.args[0]
        _need(isinstance(parts, tuple | list) and "out" not in node.kwargs)
        _need(all(isinstance(part, fx.Node) and seen[part].kind == "examples" for part in _listed(parts)))
        _need(_kinds(node, seen) == {"examples"})
        _apart(_argument(node, seen, 1, "dim", 0), seen[node.all_input_nodes[0]].dims + more)
        return "examples"

    return rule


def _listed(parts: Any) -> list[Any]:
    return list(parts)


# ------------------------------------------------------------ shapes


def _sizes(node: fx.Node, name: str) -> list[Any]:
    """Sizes as they are given to view, reshape and permute: one by one, or as a list."""
    sizes = list(node.args[1:]) or [node.kwargs.get(name)]
    return list(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], tuple | list) else sizes


def _reshaped(node: fx.Node, seen: All, value: Any) -> str:
    """In rows as before: the first size is the count, or what is left after sizes that are those of one example."""
    first, *rest = _sizes(node, "shape")
    entering = seen[_node(node.args[0])]
    _need(entering.kind == "examples")
    _need(first == -1 if not isinstance(first, fx.Node) else seen[first].kind == "count")
    for size in rest:
        _need(type(size) is int or (isinstance(size, fx.Node) and seen[size].kind == "fixed"))
        _need(type(_argument_value(size, seen)) is int)
    return "examples"


def _argument_value(size: Any, seen: All) -> Any:
    return seen[size].value if isinstance(size, fx.Node) else size


def _node(value: Any) -> fx.Node:
    if not isinstance(value, fx.Node):
        raise Unknown
    return value


def _size(node: fx.Node, seen: All, value: Any) -> str:
    """x.size(), or x.size(dim)."""
    entering = _first(node, seen)
    if entering.kind == "fixed":
        return "fixed"
    _need(entering.kind == "examples")
    dim = _argument(node, seen, 1, "dim")
    if dim is None:
        return "shape"
    return "count" if _whole(dim) % entering.dims == 0 else "fixed"


def _attribute(node: fx.Node, seen: All, value: Any) -> str:
    entering, name = _first(node, seen), node.args[1]
    _need(name in ("shape", "device", "dtype", "ndim"))
    return "shape" if name == "shape" and entering.kind == "examples" else "fixed"


def _taken(node: fx.Node, seen: All, value: Any) -> str:
    """x[...]: of a shape its parts, of several values one, of examples whatever leaves the first dimension whole."""
    entering, index = _first(node, seen), node.args[1]
    if entering.kind in ("fixed", "several"):
        return "examples" if entering.kind == "several" and type(index) is int else _fixed(entering)
    if entering.kind == "shape":
        return "count" if _whole(index) % len(entering.value) == 0 else "fixed"
    _need(entering.kind == "examples")
    parts = list(index) if isinstance(index, tuple) else [index]
    _need(all(part is None or part is Ellipsis or type(part) is int or _plain_slice(part) for part in parts))
    rest = len([part for part in parts if part is not None and part is not Ellipsis])
    whole = parts[0] == slice(None) if isinstance(parts[0], slice) else parts[0] is Ellipsis and rest < entering.dims
    _need(bool(whole))
    return "examples"


def _fixed(entering: ObservedValue) -> str:
    _need(entering.kind == "fixed")
    return "fixed"


def _plain_slice(part: Any) -> bool:
    return isinstance(part, slice) and all(
        each is None or type(each) is int for each in (part.start, part.stop, part.step)
    )


# ------------------------------------------------------------ products and layers


def _product(node: fx.Node, seen: All, value: Any) -> str:
    """Products of matrices: one per example, or with a fixed matrix."""
    _need(len(node.args) == 2 and not node.kwargs)
    left, right = (seen[_node(each)] for each in node.args)
    kinds = (left.kind, right.kind)
    if kinds == ("fixed", "fixed"):
        return "fixed"
    if kinds == ("examples", "examples"):
        _need(left.dims == right.dims and left.dims >= 3)
    elif kinds == ("examples", "fixed"):
        _need(left.dims >= 2 and right.dims in (1, 2))
    else:
        _need(kinds == ("fixed", "examples") and left.dims == 2 and right.dims >= 3)
    return "examples"


def _linear(node: fx.Node, seen: All, value: Any) -> str:
    entering = _first(node, seen)
    _need(entering.kind == "examples" and entering.dims >= 2)
    return "examples"


def _attention(node: fx.Node, seen: All, value: Any) -> str:
    parts = [seen[_node(each)] for each in node.args[:3]]
    _need(len(parts) == 3 and all(part.kind == "examples" and part.dims == parts[0].dims >= 3 for part in parts))
    _need(
        set(node.all_input_nodes) == set(node.args[:3]) and not set(node.kwargs) - {"is_causal", "dropout_p", "scale"}
    )
    return "examples"


def _exactly(dims: int) -> Rule:
    """With a batch and channels before so many dimensions: with one less, the batch would be taken for channels."""

    def rule(node: fx.Node, seen: All, value: object) -> str:
        entering = _first(node, seen)
        _need(entering.kind == "examples" and entering.dims == dims)
        return "examples"

    return rule


Fits: TypeAlias = Callable[[Any, int], bool]


def _layer(fits: Fits) -> Callable[[nn.Module, fx.Node, All], str]:
    def rule(layer: nn.Module, node: fx.Node, seen: All) -> str:
        _need(len(node.args) == 1 and not node.kwargs)
        entering = seen[_node(node.args[0])]
        if entering.kind == "fixed":
            return "fixed"
        _need(entering.kind == "examples" and fits(layer, entering.dims))
        return "examples"

    return rule


def _layers(kinds: Iterable[type[nn.Module]], fits: Fits) -> dict[type[nn.Module], Any]:
    return dict.fromkeys(kinds, _layer(fits))


def _not_first(dim: Any, dims: int) -> bool:
    return type(dim) is int and -dims <= dim < dims and dim % dims != 0


_SPACES = {
    3: "Conv1d ConvTranspose1d MaxPool1d AvgPool1d AdaptiveAvgPool1d AdaptiveMaxPool1d Dropout1d "
    "ConstantPad1d ReflectionPad1d ReplicationPad1d ZeroPad1d CircularPad1d",
    4: "Conv2d ConvTranspose2d MaxPool2d AvgPool2d AdaptiveAvgPool2d AdaptiveMaxPool2d Dropout2d Softmax2d LPPool2d "
    "ConstantPad2d ReflectionPad2d ReplicationPad2d ZeroPad2d CircularPad2d PixelShuffle PixelUnshuffle ChannelShuffle",
    5: "Conv3d ConvTranspose3d MaxPool3d AvgPool3d AdaptiveAvgPool3d AdaptiveMaxPool3d Dropout3d "
    "ConstantPad3d ReflectionPad3d ReplicationPad3d ZeroPad3d CircularPad3d",
}
_VALUE_BY_VALUE = (
    "Identity ReLU ReLU6 LeakyReLU ELU SELU CELU GELU SiLU Mish Sigmoid Tanh Softplus Softsign Hardtanh Hardsigmoid "
    "Hardswish Hardshrink Softshrink Tanhshrink LogSigmoid Threshold Dropout AlphaDropout"
)


def _named(names: str) -> list[type[nn.Module]]:
    return [getattr(nn, name) for name in names.split() if hasattr(nn, name)]


LAYERS: dict[type[nn.Module], Callable[[nn.Module, fx.Node, All], str]] = {
    **_layers(_named(_VALUE_BY_VALUE), lambda layer, dims: dims >= 1),
    **_layers(_named(_SPACES[3]), lambda layer, dims: dims == 3),
    **_layers(_named(_SPACES[4]), lambda layer, dims: dims == 4),
    **_layers(_named(_SPACES[5]), lambda layer, dims: dims == 5),
    **_layers([nn.Linear, nn.GroupNorm, nn.PReLU], lambda layer, dims: dims >= 2),
    **_layers([nn.Embedding], lambda layer, dims: dims >= 1 and layer.max_norm is None),
    **_layers([nn.LayerNorm], lambda layer, dims: dims > len(layer.normalized_shape)),
    **_layers([nn.Flatten], lambda layer, dims: _not_first(layer.start_dim, dims)),
    **_layers([nn.Unflatten], lambda layer, dims: _not_first(layer.dim, dims)),
    **_layers([nn.Softmax, nn.LogSoftmax, nn.Softmin, nn.GLU], lambda layer, dims: _not_first(layer.dim, dims)),
    **_layers([nn.Upsample], lambda layer, dims: 3 <= dims <= 5),
    **_layers([nn.InstanceNorm1d], lambda layer, dims: dims == 3 and not layer.track_running_stats),
    **_layers([nn.InstanceNorm2d], lambda layer, dims: dims == 4 and not layer.track_running_stats),
    **_layers([nn.InstanceNorm3d], lambda layer, dims: dims == 5 and not layer.track_running_stats),
    **_layers(  # of a frozen model: by what it remembers
        [nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d],
        lambda layer, dims: dims >= 2 and not layer.training and layer.running_mean is not None,
    ),
}

# ------------------------------------------------------------ functions and methods

_BY_VALUE = (
    "add sub mul div true_divide neg pow square sqrt rsqrt exp expm1 log log1p abs sign sin cos tan erf sigmoid tanh "
    "relu clamp clamp_min clamp_max clip maximum minimum where reciprocal floor ceil round eq ne lt le gt ge "
    "logical_and logical_or logical_not masked_fill"
)
_ACTIVATIONS = (
    "relu relu6 relu_ leaky_relu elu selu celu gelu silu mish sigmoid tanh softplus softsign hardtanh hardsigmoid "
    "hardswish hardshrink softshrink tanhshrink logsigmoid threshold dropout alpha_dropout"
)
_METHODS_ONLY = (
    "float double half long int bool to type clone contiguous detach add_ sub_ mul_ div_ relu_ clamp_ tanh_ sigmoid_"
)
_REDUCED = "mean sum amax amin max min softmax log_softmax logsumexp prod var std argmax argmin cumsum"
_POOLS = {
    3: "max_pool1d avg_pool1d adaptive_avg_pool1d adaptive_max_pool1d conv1d dropout1d",
    4: "max_pool2d avg_pool2d adaptive_avg_pool2d adaptive_max_pool2d conv2d dropout2d",
    5: "max_pool3d avg_pool3d adaptive_avg_pool3d adaptive_max_pool3d conv3d dropout3d",
}


def _functions(home: Any, names: str, rule: Rule) -> dict[Any, Rule]:
    return {getattr(home, name): rule for name in names.split() if hasattr(home, name)}


_SHAPES: dict[str, Rule] = {
    "flatten": _flat,
    "reshape": _reshaped,
    "transpose": _turned,
    "swapaxes": _turned,
    "permute": _permuted,
    "unsqueeze": _along("dim", more=1),
    "squeeze": _along("dim"),
    "unbind": _along("dim"),
    "chunk": _along("dim", place=2),
    "split": _along("dim", place=2),
    "matmul": _product,
    "bmm": _product,
}
METHODS: dict[str, Rule] = {
    **dict.fromkeys((_BY_VALUE + " " + _METHODS_ONLY).split(), _alike),
    **dict.fromkeys(_REDUCED.split(), _along("dim")),
    **_SHAPES,
    "view": _reshaped,
    "size": _size,
    "dim": _fact,
}
_OPERATORS = "add sub mul truediv floordiv mod neg pow iadd isub imul itruediv lt le gt ge eq ne and_ or_ invert"
FUNCTIONS: dict[Any, Rule] = {
    **_functions(operator, _OPERATORS, _alike),
    operator.matmul: _product,
    operator.getitem: _taken,
    getattr: _attribute,
    **_functions(torch, _BY_VALUE, _alike),
    **_functions(functional, _ACTIVATIONS, _alike),
    **_functions(torch, _REDUCED, _along("dim")),
    **_functions(functional, "softmax log_softmax softmin", _along("dim")),
    **{getattr(torch, name): rule for name, rule in _SHAPES.items()},
    **_functions(torch, "arange ones zeros full tensor", _made),
    **_functions(functional, _POOLS[3], _exactly(3)),
    **_functions(functional, _POOLS[4], _exactly(4)),
    **_functions(functional, _POOLS[5], _exactly(5)),
    functional.linear: _linear,
    functional.scaled_dot_product_attention: _attention,
    torch.cat: _joined(0),
    torch.stack: _joined(1),
}
