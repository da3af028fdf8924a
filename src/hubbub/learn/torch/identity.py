"""What makes two runs the same: the model, the loss and the optimizer, each by what it holds and does.

Two runs with one fingerprint are one request to a ledger, so whatever changes the result must change it: the layers
and their settings, frozen weights, the weights that training begins with, the settings of losses and optimizers.
"""

from __future__ import annotations

import functools
import hashlib
import json
import types
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hubbub.learn.torch.adapters import Bottleneck, Compacted, Kronecker, LowRank
from hubbub.learn.torch.training import Momentum
from hubbub.learn.training.network import Floats
from hubbub.terms import identity_of, stored_keys

_TAGS: dict[Any, str] = {
    LowRank: "low-rank",
    Bottleneck: "bottleneck",
    Kronecker: "kronecker",
    Compacted: "compacted",
    Momentum: "momentum",
}
_SETTINGS: dict[Any, dict[str, str]] = {LowRank: stored_keys("scale")}  # what else a layer of ours was told


def model_parts(model: nn.Module, trained: Iterable[str]) -> dict[str, object]:
    """A model by its layers and what is frozen in it; the weights that are trained are another matter.

    Weights are told by their names in ``state_dict``: files of users hold these, so parts of adapters keep theirs.
    """
    wanted, state = set(trained), model.state_dict()
    return {
        "layers": _layer_identities(model),
        "trained": {name: list(state[name].shape) for name in sorted(wanted)},
        "frozen": _state_digest({name: state[name] for name in sorted(set(state) - wanted)}),
    }


def weights_digest(weights: Floats) -> str:
    """Weights as a short text that others have not."""
    return hashlib.sha256(np.ascontiguousarray(weights, dtype="<f8").tobytes()).hexdigest()


def identity_of_value(thing: object) -> object:
    """A loss, an optimizer's maker or a value in them, as far as it can be told apart from others."""
    if isinstance(thing, nn.Module):
        return ["module", _layer_identities(thing), _state_digest(thing.state_dict())]
    if isinstance(thing, functools.partial):
        more = {name: identity_of_value(value) for name, value in sorted(thing.keywords.items())}
        return ["partial", identity_of_value(thing.func), [identity_of_value(value) for value in thing.args], more]
    if isinstance(thing, types.FunctionType):
        return ["function", *_function_identity(thing)]
    return ["class", _name(thing)] if isinstance(thing, type) else ["value", identity_of(thing)]


def _function_identity(thing: types.FunctionType) -> list[object]:
    """By its name, its code, and what it holds."""
    inside = [identity_of_value(cell.cell_contents) for cell in thing.__closure__ or ()]
    given = [identity_of_value(value) for value in thing.__defaults__ or ()]
    named = {name: identity_of_value(value) for name, value in sorted((thing.__kwdefaults__ or {}).items())}
    return [_name(thing), _code_identity(thing.__code__), given, named, inside]


def _code_identity(code: types.CodeType) -> str:
    """What code does; a function inside it by its own code, for its ``repr`` tells where it lies in memory."""
    constants = [
        _code_identity(each) if isinstance(each, types.CodeType) else identity_of(each) for each in code.co_consts
    ]
    return hashlib.sha256(code.co_code + json.dumps([list(code.co_names), constants]).encode()).hexdigest()


def _name(thing: Any) -> str:
    """Ours by its tag, and what others wrote by where it lies."""
    return _TAGS.get(thing) or f"{thing.__module__}.{thing.__qualname__}"


def _layer_identities(model: nn.Module) -> list[list[object]]:
    """Every layer: its place in the model, what it is, and what it was told when it was made."""
    places = model.named_modules(remove_duplicate=False)
    return [[place, _name(type(layer)), *_layer_settings(layer)] for place, layer in places]


def _layer_settings(layer: nn.Module) -> list[object]:
    """What a layer was told when it was made: plain values that it holds, and what it shows of itself."""
    if type(layer) in _TAGS:
        keys = _SETTINGS.get(type(layer), {})
        return [{key: identity_of(getattr(layer, attribute)) for key, attribute in keys.items()}]
    plain = (bool, int, float, str, tuple, type(None))
    held = {name: value for name, value in vars(layer).items() if name[:1] != "_" and isinstance(value, plain)}
    shown = layer.extra_repr() if any(True for _ in layer.children()) else repr(layer)
    return [{name: identity_of(value) for name, value in sorted(held.items()) if name != "training"}, shown]


def _state_digest(state: dict[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name, tensor in state.items():
        values = tensor.detach().cpu().contiguous().flatten()
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)};".encode())
        digest.update(values.view(torch.uint8).numpy().tobytes() if values.numel() else b"")
    return digest.hexdigest()
