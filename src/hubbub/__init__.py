"""Hubbub: answers about people that tell nothing about a person.

The rooms of the house, each loaded when it is first used (``import hubbub`` itself stays light):

- ``hubbub.terms``       the words everyone shares: unit, event, guarantee, budget, receipt, errors
- ``hubbub.noise``       exact random integers from the operating system (raw tier: no privacy by itself)
- ``hubbub.accounting``  what events cost together
- ``hubbub.mechanisms``  calibrate, release, and the event it leaves behind
- ``hubbub.explain``     odds, pictures and words for an epsilon
- ``hubbub.ledger``      the durable book of what was spent on whom
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hubbub import accounting, explain, ledger, mechanisms, noise, terms
    from hubbub.terms import Budget

__version__ = "0.1.0"
__all__ = ["Budget", "__version__", "accounting", "explain", "ledger", "mechanisms", "noise", "terms"]

_ROOMS = ("accounting", "explain", "ledger", "mechanisms", "noise", "terms")


def __getattr__(name: str) -> object:
    if name in _ROOMS:
        return importlib.import_module(f"hubbub.{name}")
    if name == "Budget":
        from hubbub.terms import Budget

        return Budget
    raise AttributeError(f"module 'hubbub' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
