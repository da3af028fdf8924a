"""Fingerprints of publications are pinned, and no name of a class, field or module is in them."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from hubbub.ledger import Ledger
from hubbub.publish import (
    Categorical,
    DailySeries,
    Date,
    ForeignKey,
    Numeric,
    SurrogateKey,
    compare,
    marginals,
    mondrian,
    synthesize,
    synthesize_linked,
    top_down,
)
from hubbub.publish.domains import column_identity

from ..asked import catching, fingerprint_of, pinned
from ..renaming import renamed_classes

PRICE: dict[str, Any] = {"epsilon": 1, "delta": 1e-6}
PEOPLE = pyarrow.table(
    {
        "id": [f"p{i}" for i in range(200)],
        "age": [i % 90 for i in range(200)],
        "weight": [50.5 + i % 40 for i in range(200)],
        "sex": ["f", "m"] * 100,
        "born": [datetime.date(1950 + i % 60, 1, 2) for i in range(200)],
    }
)
DOMAIN = {
    "id": SurrogateKey("person"),
    "age": Numeric(lower=0, upper=99, bins=10),
    "weight": Numeric(lower=40.5, upper=120, bins=4, missing=True),
    "sex": Categorical(["f", "m"]),
    "born": Date(lower="1950-01-01", upper="2010-12-31", bins=6),
}
FEW = PEOPLE.select(["age", "sex"])
FEW_DOMAIN = {name: DOMAIN[name] for name in ("age", "sex")}
VISITS = pyarrow.table({"person": ["p1", "p2"], "ward": ["n", "s"]})
DAYS = pyarrow.table({"person": [1], "place": ["park"], "day": [datetime.date(2026, 1, 5)]})


def paid(account: Any) -> dict[str, Any]:
    return {**PRICE, "account": account, "dataset": "people, version 1"}


def series(account: Any) -> DailySeries:
    return DailySeries(places=["park", "shop"], first="2026-01-05", days=7, max_places=2, **paid(account))


def compared(account: Any, **more: Any) -> Any:
    return compare({"made": FEW}, private=FEW, domain=FEW_DOMAIN, bins=5, **paid(account), **more)


JOBS: dict[str, Callable[[Ledger], object]] = {
    "aim": lambda account: synthesize(PEOPLE, domain=DOMAIN, method="aim", **paid(account)),
    "aim with a workload": lambda account: synthesize(
        FEW, domain=FEW_DOMAIN, method="aim", workload=[("age", "sex")], seconds=20, max_cells=5000, **paid(account)
    ),
    "mst, people with rows": lambda account: synthesize(
        PEOPLE, domain=DOMAIN, method="mst", unit="id", max_rows_per_unit=3, neighbours="replace", **paid(account)
    ),
    "single columns, found privately": lambda account: synthesize(
        FEW, method="marginals", **{**paid(account), "epsilon": 9}
    ),
    "impossible combinations": lambda account: synthesize(
        FEW, domain=FEW_DOMAIN, method="mst", impossible=[{"age": (0, 9), "sex": ["m"]}], **paid(account)
    ),
    "other values": lambda account: synthesize(
        FEW, domain={**FEW_DOMAIN, "sex": Categorical(["f"], other="?")}, method="mst", **paid(account)
    ),
    "linked tables": lambda account: synthesize_linked(
        {"people": PEOPLE.select(["id", "sex"]), "visits": VISITS},
        parent="people",
        key="id",
        links=[ForeignKey("visits", "person", 2)],
        domain={"people": {"sex": DOMAIN["sex"]}, "visits": {"ward": Categorical(["n", "s"])}},
        method="mst",
        **paid(account),
    ),
    "tables": lambda account: marginals(PEOPLE, of=[["age", "sex"], ["born"]], domain=DOMAIN, **paid(account)),
    "tables, people with rows": lambda account: marginals(
        PEOPLE, of=[["sex"]], domain=DOMAIN, unit="id", max_rows_per_unit=2, **paid(account)
    ),
    "top-down": lambda account: top_down(
        FEW.append_column("town", [["a", "b"] * 100]),
        levels=["region", "town"],
        places=[("north", "a"), ("south", "b")],
        by=["sex"],
        domain=FEW_DOMAIN,
        **paid(account),
    ),
    "a day": lambda account: series(account).publish(DAYS, "2026-01-06"),
    "all days": lambda account: series(account).publish_all(DAYS),
    "comparison": compared,
    "comparison with a workload": lambda account: compared(account, workload=[{"age": (30, 39), "sex": ["f"]}]),
    "comparison with another sanity bound": lambda account: compared(account, sanity=0.2),
    "comparison of one width": lambda account: compared(account, widths=(1,)),
}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    with catching(tmp_path_factory.mktemp("asked")) as ledger:
        return {name: fingerprint_of(job, ledger) for name, job in JOBS.items()}


def test_no_fingerprint_has_changed(asked: dict[str, str]) -> None:
    assert asked == pinned("publish")
    assert len(set(asked.values())) == len(JOBS)


def test_no_class_name_is_in_a_fingerprint(asked: dict[str, str], tmp_path: Path) -> None:
    with catching(tmp_path) as ledger, renamed_classes():
        assert {name: fingerprint_of(job, ledger) for name, job in JOBS.items()} == asked


def test_no_class_name_is_in_a_manifest() -> None:
    made = mondrian(FEW, quasi_identifiers=["age"], k=5)
    before = made.manifest.text()
    with renamed_classes():
        assert mondrian(FEW, quasi_identifiers=["age"], k=5).manifest.text() == before


def test_columns_are_told_apart_by_all_that_is_declared() -> None:
    columns = [
        *DOMAIN.values(),
        SurrogateKey(),
        *(Numeric(lower=0, upper=9), Numeric(lower=0, upper=9, bins=3), Numeric(lower=0, upper=9, missing=True)),
        *(Numeric(lower=0.0, upper=9), Numeric(lower=0, upper=8), Numeric(bounds="private")),
        *(Categorical("private"), Categorical(["private"]), Categorical(["a"]), Categorical(["a"], other="a")),
        *(Categorical([1]), Categorical(["1"]), Categorical([1.0]), Categorical([True])),
        *(Date(lower="2026-01-01", upper="2026-01-02"), Date(lower="2026-01-01", upper="2026-01-03")),
    ]
    told = [str(column_identity(column)) for column in columns]
    assert len(set(told)) == len(columns)
