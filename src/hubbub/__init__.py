"""Hubbub: answers about people that tell nothing about a person.

The rooms of the house, each loaded when it is first used (``import hubbub`` itself stays light):

- ``hubbub.terms``       the words everyone shares: unit, event, guarantee, budget, receipt, errors
- ``hubbub.noise``       exact random integers from the operating system (raw tier: no privacy by itself)
- ``hubbub.accounting``  what events cost together
- ``hubbub.mechanisms``  calibrate, release, and the event it leaves behind
- ``hubbub.explain``     odds, pictures and words for an epsilon
- ``hubbub.ledger``      the durable book of what was spent on whom
- ``hubbub.releases``    an answer as it leaves us: numbers, intervals, receipt, guarantee
- ``hubbub.engines``     DuckDB, embedded and locked: runs a plan, returns integers
- ``hubbub.sql``         private SQL: ``hubbub.connect("visits.parquet", ...)``
- ``hubbub.learn``       private models with the scikit-learn conventions
- ``hubbub.publish``     tables to hand out: anonymized, noisy, synthetic
- ``hubbub.local``       statistics about people who trust nobody: randomizers, estimates, collection
- ``hubbub.gopa``        averages without a curator: masks that cancel, noise that is proved
- ``hubbub.attacks``     what exact, "anonymized" and noisy answers give away
- ``hubbub.audit``       black-box lower bounds on epsilon, for anybody's mechanism
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hubbub import (
        accounting,
        attacks,
        audit,
        engines,
        explain,
        gopa,
        learn,
        ledger,
        local,
        mechanisms,
        noise,
        publish,
        releases,
        sql,
        terms,
    )
    from hubbub.sql import connect
    from hubbub.terms import Budget

__version__ = "0.2.0.dev0"
_ROOMS = (
    "accounting",
    "attacks",
    "audit",
    "engines",
    "explain",
    "gopa",
    "learn",
    "ledger",
    "local",
    "mechanisms",
    "noise",
    "publish",
    "releases",
    "sql",
    "terms",
)

__all__ = [
    "Budget",
    "__version__",
    "accounting",
    "attacks",
    "audit",
    "connect",
    "engines",
    "explain",
    "gopa",
    "learn",
    "ledger",
    "local",
    "mechanisms",
    "noise",
    "publish",
    "releases",
    "sql",
    "terms",
]


def __getattr__(name: str) -> object:
    if name in _ROOMS:
        return importlib.import_module(f"hubbub.{name}")
    if name == "Budget":
        from hubbub.terms import Budget

        return Budget
    if name == "connect":
        from hubbub.sql import connect

        return connect
    raise AttributeError(f"module 'hubbub' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
