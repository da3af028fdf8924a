"""A model as a graph of operations that are known to treat each example by itself, or no graph at all.

A batch is run through this graph and not through the model: so nothing happens in a batch but what was looked at here.
The model is traced once, in the modes in which it trains, and every operation must be on a list, with arguments that
leave the first dimension alone. What decides by values, at random or by the batch's size cannot be traced, and hooks,
autograd functions and unknown operations are on no list. Such models are not refused; their examples run apart.

Guarantee: row i of the output, and what comes back from it to any layer, depend on example i and the weights alone.
Because: every operation of the graph has that property, and so has their composition; ``docs/proofs/networks.md``.
Not covered: torch itself, patched functions of torch, and rounding that depends on the batch's size.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, fx, nn
from torch.nn.modules import module as hooks_of_all

from hubbub.learn.torch.operations import FUNCTIONS, LAYERS, METHODS, ObservedValue, Unknown

_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def graph_of(model: nn.Module, inputs: tuple[Tensor, ...]) -> fx.GraphModule | None:
    """The model as a graph of its own layers, in the modes in which they are; None if examples might not stay apart.

    ``inputs`` are made up. They say how many dimensions values have.
    """
    try:
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            graph = _trace_model(model)
            with torch.no_grad():
                _Walk(graph, len(inputs[0])).run(*(x.clone() for x in inputs))
    except Exception:  # whatever it is: this model has no such graph
        return None
    return graph


def _trace_model(model: nn.Module) -> fx.GraphModule:
    if any(getattr(hooks_of_all, f"_global{name}", None) for name in _HOOKS):
        raise Unknown("hooks of all layers")
    traced, before = copy.deepcopy(model), _random_states()
    graph = _Tracer().trace(traced)
    if _random_states() != before:
        raise Unknown("a decision at random")  # it would be taken once and for all
    places = [node.target for node in graph.nodes if node.op in ("call_module", "get_attr")]
    return fx.GraphModule({str(place): _part_at(model, traced, str(place)) for place in places}, graph)


class _Tracer(fx.Tracer):
    """Goes into every module but for layers on the list."""

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return type(m) in LAYERS


def _random_states() -> tuple[object, ...]:
    """The state of all generators that a model may ask."""
    return bytes(torch.get_rng_state().numpy()), random.getstate(), repr(np.random.get_state(legacy=True))


def _part_at(model: nn.Module, traced: nn.Module, place: str) -> Any:
    """A layer, parameter or buffer of the model; constants of its code are in the copy that was traced."""
    part: Any = model
    try:
        for name in place.split("."):
            part = getattr(part, name)
    except AttributeError:
        return getattr(traced, place)
    return part


class _Walk(fx.Interpreter):
    """Runs the graph on made-up examples and says of every value what it depends on; raises where that is unknown."""

    def __init__(self, graph: fx.GraphModule, count: int) -> None:
        super().__init__(graph)
        self.count, self.seen = count, dict[fx.Node, ObservedValue]()

    def run_node(self, n: fx.Node) -> Any:
        fixed = [value for node in n.all_input_nodes if self.seen[node].kind == "fixed" for value in (self.env[node],)]
        before = [_tensor_version(value) for value in fixed]
        result = super().run_node(n)
        if [_tensor_version(value) for value in fixed] != before:
            raise Unknown("a weight or a constant is written to")
        self.seen[n] = ObservedValue(self._kind(n, result), result)
        return result

    def _kind(self, node: fx.Node, result: Any) -> str:
        if node.op == "placeholder":
            return self._given(result)
        if node.op == "get_attr":
            return _held(result)
        if node.op == "output":
            return self._left(node)
        kind = self._rule(node)(node, self.seen, result)
        for value in result if isinstance(result, tuple | list) else [result]:
            if kind in ("examples", "several") and not (type(value) is Tensor and value.shape[:1] == (self.count,)):
                raise Unknown("a value that is not one per example")
        return kind

    def _rule(self, node: fx.Node) -> Callable[..., str]:
        if node.op == "call_method":
            return METHODS[str(node.target)]
        if node.op == "call_function":
            return FUNCTIONS[node.target]
        layer = self.module.get_submodule(str(node.target))
        if any(getattr(layer, name, None) for name in _HOOKS) or "forward" in vars(layer):
            raise Unknown("a layer with hooks")
        return lambda node, seen, result: LAYERS[type(layer)](layer, node, seen)

    def _given(self, value: Any) -> str:
        if isinstance(value, Tensor) and value.shape[:1] == (self.count,):
            return "examples"
        if value is None or isinstance(value, bool | int | float | str):
            return "fixed"  # an argument with a default
        raise Unknown("an input that is no batch")

    def _left(self, node: fx.Node) -> str:
        (outputs,) = node.args
        if not isinstance(outputs, fx.Node) or self.seen[outputs].kind != "examples":
            raise Unknown("an output that is no batch")
        return "examples"


def _held(value: Any) -> str:
    if type(value) not in (Tensor, nn.Parameter):
        raise Unknown("a constant of its own kind")
    return "fixed"


def _tensor_version(value: Any) -> int:
    return int(value._version) if isinstance(value, Tensor) else 0
