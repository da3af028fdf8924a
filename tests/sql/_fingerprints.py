"""Requests as ``tests/fixtures/sql/fingerprints.json`` writes them, and the fingerprints that they have now.

After a change that is meant, with a line in CHANGELOG.md that asking again pays once more:

    ACCEPT=1 .venv/bin/python -m pytest tests/sql/test_plan_identity.py
"""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hubbub.ledger import fingerprint
from hubbub.releases import JobFacts
from hubbub.sql.bounds.suggest import SuggestJob, plan_suggestion
from hubbub.sql.compiler.query_plan import NoiseKind
from hubbub.sql.pricing.noise_allocation import allocate_noise
from hubbub.sql.pricing.price import Price
from hubbub.sql.quote import plan_text, quote_plan
from hubbub.sql.remeasure import refined_identity
from hubbub.sql.workload.plan import plan_workload
from hubbub.terms import Unit
from tests.sql.passes.datasets import DATASETS

FILE = Path(__file__).parents[1] / "fixtures" / "sql" / "fingerprints.json"
Entry = dict[str, Any]
_CONNECTION: Any = SimpleNamespace(seconds=60.0)


def entries() -> list[Entry]:
    """What is pinned."""
    return list(json.loads(FILE.read_text(encoding="utf-8"))["requests"])


def accept() -> None:
    """Pin the fingerprints as they are now."""
    pinned = json.loads(FILE.read_text(encoding="utf-8"))
    pinned["requests"] = [{**entry, **fingerprints(entry)} for entry in pinned["requests"]]
    FILE.write_text(json.dumps(pinned, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def fingerprints(entry: Entry) -> dict[str, str]:
    """The fingerprint of the request, and that of its question without the accuracy."""
    facts = _FACTS[entry["kind"]](entry)
    identity = refined_identity(facts, entry["of"]) if "of" in entry else facts.identity
    assert facts.question is not None
    assert identity is not None
    return {"question": fingerprint(**facts.question), "fingerprint": fingerprint(**identity)}


def _price(entry: Entry, *, choosing: bool = False) -> Price:
    """What a price of 0.1 buys today: its one delta was for the choice of keys, or for the tails, or half for each."""
    stated = {name: Fraction(value) for name, value in entry["price"].items()}
    delta = stated.pop("delta", Fraction(0))
    if "rho" in stated:
        return Price(**stated, own=delta)
    return Price(**stated, tail=delta / 2, own=delta / 2) if choosing else Price(**stated, tail=delta)


def _kind(entry: Entry) -> NoiseKind:
    return NoiseKind.LAPLACE if entry["price"].keys() == {"epsilon"} else NoiseKind.GAUSSIAN


def _question(entry: Entry) -> JobFacts:
    totals = {name: Fraction(value) for name, value in entry.get("totals", {}).items()}
    planned = plan_text(
        entry["text"],
        DATASETS[entry["dataset"]],
        gaussian=_kind(entry) is NoiseKind.GAUSSIAN,
        totals=totals,
        clipping=entry.get("clipping", False),
    )
    return quote_plan(planned, _price(entry, choosing=planned.chooses_keys)).facts(seconds=60)


def _suggestion(entry: Entry) -> JobFacts:
    dataset = DATASETS[entry["dataset"]]
    planned = plan_suggestion(dataset, entry["table"], entry["columns"])
    unit = Unit(dataset.unit)
    [spent] = allocate_noise((planned.plan(),), _kind(entry), _price(entry), neighbours=dataset.neighbours, unit=unit)
    return SuggestJob(_CONNECTION, planned, _price(entry), spent).facts


def _workload(entry: Entry) -> JobFacts:
    planned = plan_workload(entry["queries"], DATASETS[entry["dataset"]], gaussian=True)
    return planned.paid(_price(entry)).facts(seconds=60)


_FACTS: dict[str, Callable[[Entry], JobFacts]] = {
    "question": _question,
    "remeasurement": _question,
    "suggestion": _suggestion,
    "workload": _workload,
}
