from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import pytest

from hubbub import mechanisms

from .contract import Contract

HERE = Path(__file__).parent


def contracts() -> list[type[Contract]]:
    modules = [importlib.import_module(f".{path.stem}", __package__) for path in HERE.glob("test_*.py")]
    classes = {c for module in modules for c in vars(module).values() if inspect.isclass(c)}
    return [c for c in classes if issubclass(c, Contract) and hasattr(c, "kind")]


def test_every_mechanism_keeps_the_contract() -> None:
    assert {c.kind.__name__ for c in contracts()} == set(mechanisms.__all__)


@pytest.mark.parametrize("name", mechanisms.__all__)
def test_parameters_are_named_and_the_docstring_promises(name: str) -> None:
    kind = getattr(mechanisms, name)
    parameters = inspect.signature(kind).parameters.values()
    assert all(p.kind is p.KEYWORD_ONLY for p in parameters)
    assert {"neighbours", "unit"} <= {p.name for p in parameters}
    assert all(p.default is None or p.default is p.empty for p in parameters if p.name in ("epsilon", "delta", "rho"))
    for word in ("Guarantee:", "Because:", "Error:", "Not covered:"):
        assert word in inspect.getdoc(kind)  # type: ignore[operator]
