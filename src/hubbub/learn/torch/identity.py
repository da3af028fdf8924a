"""What makes two runs the same: the model, the loss and the optimizer, each by what it holds and does.

Two runs with one fingerprint are one request to a ledger, so whatever changes the result must change it: the layers
and their settings, frozen weights, the weights that training begins with, the settings of losses and optimizers.
"""

from __future__ import annotations

import functools
import hashlib
import types
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hubbub.learn.training.network import Floats


def model_parts(model: nn.Module, trained: Iterable[str]) -> dict[str, object]:
    """A model by its layers and what is frozen in it; the weights that are trained are another matter."""
    wanted, state = set(trained), model.state_dict()
    return {
        "model": f"{_name(type(model))}: {model!r}",
        "settings": [f"{name}: {_settings(layer)}" for name, layer in model.named_modules()],
        "trained": {name: list(state[name].shape) for name in sorted(wanted)},
        "frozen": _digest({name: state[name] for name in sorted(set(state) - wanted)}),
    }


def weights_digest(weights: Floats) -> str:
    """Weights as a short text that others have not."""
    return hashlib.sha256(np.ascontiguousarray(weights, dtype="<f8").tobytes()).hexdigest()


def told(thing: Any) -> object:
    """A loss, an optimizer's maker or a value in them, as far as it can be told apart from others."""
    if isinstance(thing, nn.Module):
        return [_name(type(thing)), repr(thing), _settings(thing), _digest(thing.state_dict())]
    if isinstance(thing, functools.partial):
        more = {name: told(value) for name, value in sorted(thing.keywords.items())}
        return ["partial", told(thing.func), [told(value) for value in thing.args], more]
    if isinstance(thing, types.FunctionType):
        inside = [told(cell.cell_contents) for cell in thing.__closure__ or ()]
        code = thing.__code__
        what = hashlib.sha256(code.co_code + repr((code.co_names, _plain(code.co_consts))).encode()).hexdigest()
        return [_name(thing), what, repr(thing.__defaults__), repr(thing.__kwdefaults__), inside]
    return _name(thing) if isinstance(thing, type) else repr(thing)


def _plain(constants: tuple[Any, ...]) -> list[str]:
    """Constants of a function; one inside it by its own code, for its ``repr`` tells where it lies in memory."""
    return [
        hashlib.sha256(each.co_code).hexdigest() if isinstance(each, types.CodeType) else repr(each)
        for each in constants
    ]


def _name(thing: Any) -> str:
    return f"{thing.__module__}.{thing.__qualname__}"


def _settings(layer: nn.Module) -> str:
    """What a layer was told when it was made, which its ``repr`` need not show."""
    plain = (bool, int, float, str, tuple, type(None))
    shown = {name: value for name, value in vars(layer).items() if name[:1] != "_" and isinstance(value, plain)}
    return repr({name: value for name, value in sorted(shown.items()) if name != "training"})


def _digest(state: dict[str, Tensor]) -> str:
    found = hashlib.sha256()
    for name, tensor in state.items():
        values = tensor.detach().cpu().contiguous().flatten()
        found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)};".encode())
        found.update(values.view(torch.uint8).numpy().tobytes() if values.numel() else b"")
    return found.hexdigest()
