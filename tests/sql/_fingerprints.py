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

from hubbub.ledger import Request
from hubbub.sql.bounds import suggest
from hubbub.sql.noise_allocation import Price, spend
from hubbub.sql.quote import plan_text, priced
from hubbub.sql.remeasure import refined_fingerprint
from hubbub.sql.workload.plan import plan_workload
from hubbub.terms import Unit
from tests.sql.passes.datasets import DATASETS

FILE = Path(__file__).parents[1] / "fixtures" / "sql" / "fingerprints.json"
Entry = dict[str, Any]
_CONNECTION: Any = SimpleNamespace(project="default", analyst="owner", seconds=60.0)


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
    request = _REQUESTS[entry["kind"]](entry)
    mark = refined_fingerprint(request.fingerprint, entry["of"]) if "of" in entry else request.fingerprint
    return {"question": request.question, "fingerprint": mark}


def _price(entry: Entry) -> Price:
    return Price(**{name: Fraction(value) for name, value in entry["price"].items()})


def _question(entry: Entry) -> Request:
    totals = {name: Fraction(value) for name, value in entry.get("totals", {}).items()}
    planned = plan_text(
        entry["text"],
        DATASETS[entry["dataset"]],
        gaussian=entry["price"].keys() != {"epsilon"},
        totals=totals,
        clipping=entry.get("clipping", False),
    )
    return priced(planned, _price(entry)).request(project="default", analyst="owner", fresh=False, seconds=60)


def _suggestion(entry: Entry) -> Request:
    dataset = DATASETS[entry["dataset"]]
    planned = suggest.plan_suggestion(dataset, entry["table"], entry["columns"])
    unit = Unit(dataset.unit)
    [spent] = spend((planned.plan(),), _price(entry), neighbours=dataset.neighbours, unit=unit)
    return suggest._request(_CONNECTION, planned, spent, fresh=False)


def _workload(entry: Entry) -> Request:
    planned = plan_workload(entry["queries"], DATASETS[entry["dataset"]], gaussian=True)
    return planned.paid(_price(entry)).request(_CONNECTION, fresh=False)


_REQUESTS: dict[str, Callable[[Entry], Request]] = {
    "question": _question,
    "remeasurement": _question,
    "suggestion": _suggestion,
    "workload": _workload,
}
