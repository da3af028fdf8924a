"""What the private rows are asked, how far one person can move it, what it costs, and an audit that can fail."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.accounting import epsilon as cost_of
from hubbub.accounting.costs import concentrated
from hubbub.audit import Audit, examine
from hubbub.ledger import Ledger
from hubbub.publish import Categorical, Numeric, SurrogateKey, synthesize
from hubbub.publish import marginal_counts as measure
from hubbub.publish.marginal_counts import CodedRows, Meter, Whom
from hubbub.publish.measured_marginals import read_text
from hubbub.publish.privacy_units import chosen_rows, people_of
from hubbub.publish.synthetic import aim, synthesis
from hubbub.publish.synthetic.aim import AimPlan
from hubbub.publish.synthetic.mst import TreePlan
from hubbub.publish.synthetic.plan import plan_for
from hubbub.publish.unread_table import Unread, unread_of
from hubbub.terms import (
    Budget,
    BudgetExceeded,
    HubbubError,
    MissingParameter,
    Neighbours,
    OutOfRange,
    TooLarge,
    Unit,
)

from ._synthetic import DOMAIN, people, seed_noise

SIZES = (3, 2, 4)
row = st.tuples(*(st.integers(0, size - 1) for size in SIZES))
crowd = st.lists(row, max_size=12)


def rows_of(rows: list[tuple[int, ...]]) -> CodedRows:
    return CodedRows(np.array(rows, dtype=np.int64).reshape(-1, len(SIZES)), SIZES)


# ---------------------------------------------------------------- sensitivity


@given(crowd=crowd, one=st.lists(row, max_size=3), other=st.lists(row, max_size=3), replaced=st.booleans())
def test_one_unit_moves_a_marginal_and_its_distances_by_no_more_than_we_say(
    crowd: list[Any], one: list[Any], other: list[Any], replaced: bool
) -> None:
    relation = Neighbours.REPLACE if replaced else Neighbours.ADD_REMOVE
    whom = Whom(Unit("id"), relation, most=3)
    before, after = rows_of(crowd + one), rows_of(crowd + (other if replaced else []))
    for columns in [(0,), (1, 2), (0, 1, 2)]:
        a, b = before.count(columns), after.count(columns)
        assert ((a - b) ** 2).sum() <= whom.l2**2
        anything = np.arange(a.size).reshape(a.shape)
        assert abs(int(np.abs(a - anything).sum()) - int(np.abs(b - anything).sum())) <= whom.l1


def test_those_bounds_are_reached() -> None:
    whom = Whom(Unit(), Neighbours.REPLACE)
    a, b = rows_of([(0, 0, 0)]).count((0,)), rows_of([(1, 0, 0)]).count((0,))
    assert ((a - b) ** 2).sum() == 2
    assert whom.l2**2 >= 2 > (whom.l2 - Fraction(1, 100)) ** 2
    assert int(np.abs(a - b).sum()) == whom.l1


# ---------------------------------------------------------------- rows per person


def visits(owners: list[int], seed: int = 0) -> pyarrow.Table:
    cost = np.random.default_rng(seed).integers(0, 9, len(owners))
    return pyarrow.table({"who": owners, "cost": cost, "ward": [f"w{o % 3}" for o in owners]})


@given(owners=st.lists(st.integers(0, 4), min_size=1, max_size=30), most=st.integers(1, 4), gone=st.integers(0, 4))
def test_which_rows_count_depends_on_that_person_alone(owners: list[int], most: int, gone: int) -> None:
    table = visits(owners)
    kept = _kept(table, most)
    assert all(owners_kept <= most for owners_kept in np.bincount([row["who"] for row in kept]))
    without = table.filter(pyarrow.array([owner != gone for owner in owners]))
    assert [row for row in kept if row["who"] != gone] == _kept(without, most)


def _kept(table: pyarrow.Table, most: int) -> list[dict[str, Any]]:
    chosen = chosen_rows(people_of(table["who"]), table, most)
    return sorted(table.filter(pyarrow.array(chosen)).to_pylist(), key=str)


def test_taking_the_first_rows_by_a_number_shared_with_others_would_be_noticed() -> None:
    """The planted fault: rows ranked by codes that are given in order of appearance in the whole table."""
    table = visits([0, 1, 1, 1, 0, 1, 1], seed=3)

    def shared(t: pyarrow.Table) -> list[dict[str, Any]]:
        codes = people_of(t["cost"])
        order = np.lexsort((codes, people_of(t["who"])))
        return [row for row in t.take(order).to_pylist() if row["who"] == 1][:1]

    others = [visits([0, 1, 1, 1, 0, 1, 1], seed=s) for s in range(20)]
    without = [t.filter(pyarrow.array([w != 0 for w in t["who"].to_pylist()])) for t in others]
    assert any(shared(a) != shared(b) for a, b in zip(others, without, strict=True))
    assert table.num_rows == 7


# ---------------------------------------------------------------- cost


@pytest.mark.parametrize("method", ["marginals", "mst", "aim"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("most", [1, 5])
def test_the_event_costs_no_more_than_was_asked(method: str, neighbours: str, most: int) -> None:
    whom = Whom(Unit("id"), Neighbours.parse(neighbours), most)
    plan = plan_for(DOMAIN, whom=whom, epsilon=1, delta=1e-6, method=method)
    found = concentrated(plan.event, whom.neighbours)
    assert found is not None
    assert plan.rho * Fraction(99, 100) <= found[0] <= plan.rho
    assert cost_of(plan.event, delta=1e-6, neighbours=neighbours) <= 1


def test_domains_that_are_found_are_paid_for_too() -> None:
    columns = {"n": Numeric(bounds="private"), "w": Categorical("private"), "v": Categorical("private")}
    plan = plan_for(columns, whom=Whom(Unit(), Neighbours.ADD_REMOVE), epsilon=1, delta=1e-6, method="mst")
    assert len(plan.events) == 6
    assert cost_of(plan.event, delta=1e-6) <= 1
    found = concentrated(plan.event, Neighbours.ADD_REMOVE)
    assert found is not None
    assert found[1] == Fraction(1, 2_000_000)


class Counting(Meter):
    """A meter that adds up what it is asked."""

    spent: Fraction

    def measure(self, columns: Any, *, sigma: Fraction) -> Any:
        self.spent = getattr(self, "spent", Fraction(0)) + measure.marginal_noise(self.whom, sigma).event.rho
        return super().measure(columns, sigma=sigma)

    def choose(self, candidates: Any, expected: Any, **told: Any) -> int:
        self.spent = getattr(self, "spent", Fraction(0)) + told["epsilon"] ** 2 / 8
        return super().choose(candidates, expected, **told)


@pytest.mark.parametrize("method", ["mst", "aim"])
def test_what_is_asked_of_the_rows_stays_within_the_event(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Counting] = []
    monkeypatch.setattr(synthesis, "Meter", lambda *given: made.append(Counting(*given)) or made[-1])
    seed_noise(monkeypatch, 4)
    whom = Whom(Unit(), Neighbours.ADD_REMOVE)
    plan = plan_for(DOMAIN, whom=whom, epsilon=1, delta=1e-6, method=method)
    synthesize(people(2000), epsilon=1, delta=1e-6, method=method, domain=DOMAIN)
    spent = sum(meter.spent for meter in made)
    assert plan.rho * Fraction(9, 10) <= spent <= plan.rho


def test_rounds_get_less_noise_when_little_is_left_to_find(monkeypatch: pytest.MonkeyPatch) -> None:
    seed_noise(monkeypatch, 5)
    made = synthesize(people(4000), epsilon=1, delta=1e-6, method="aim", domain=DOMAIN)
    noise = [float(pair.variance.flat[0]) for pair in made.source.measured.pairs]
    assert noise == sorted(noise, reverse=True)
    assert noise[-1] < noise[0] / 3


# ---------------------------------------------------------------- charged first, stored, and the same again


def untouchable(table: pyarrow.Table) -> Unread:
    """A table whose rows may not be looked at."""
    return Unread(table.schema, lambda: pytest.fail("the rows were touched"))


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"epsilon": 0}, OutOfRange),
        ({"delta": 0}, OutOfRange),
        ({"method": "magic"}, OutOfRange),
        ({"engine": "magic"}, OutOfRange),
        ({"rows": 0}, OutOfRange),
        ({"unit": "sex"}, MissingParameter),
        ({"unit": "name", "max_rows_per_unit": 2}, OutOfRange),
        ({"neighbours": "near"}, OutOfRange),
        ({"impossible": [{"sex": ["m"]}]}, OutOfRange),
        ({"impossible": [{"sex": ["m"], "hair": ["red"]}]}, OutOfRange),
        ({"impossible": [{"sex": ["m"], "age": ["young", "old"]}]}, OutOfRange),
        ({"impossible": [{"sex": ["m"], "age": 17}]}, OutOfRange),
        ({"impossible": [{"sex": [["m"]], "age": (0, 17)}]}, OutOfRange),
        ({"seconds": 0}, OutOfRange),
        ({"workload": [("age",)]}, OutOfRange),
        ({"workload": [("age", "hair")]}, OutOfRange),
        ({"epsilon": 1e-4}, TooLarge),
        ({"epsilon": 0.05, "about_rows": 200}, TooLarge),
        ({"domain": {"age": Numeric(lower=0, upper=99)}}, MissingParameter),
    ],
)
def test_bad_input_is_refused_before_a_row_is_read_and_before_a_charge(
    wrong: dict[str, Any], error: type[HubbubError]
) -> None:
    given = {"epsilon": 1, "delta": 1e-6, "domain": DOMAIN, "account": "never looked at", **wrong}
    with pytest.raises(error):
        synthesize(untouchable(people(10)), **given)


def test_a_budget_too_small_says_what_would_fit() -> None:
    with pytest.raises(TooLarge) as caught:
        synthesize(people(10), epsilon=0.05, delta=1e-6, domain=DOMAIN, about_rows=200)
    enough = float(caught.value.fix.partition("epsilon=")[2].partition(",")[0])
    assert enough < 20
    synthesize(people(10), epsilon=enough, delta=1e-6, domain=DOMAIN, about_rows=200)


@pytest.fixture
def ledger(tmp_path: Path) -> Any:
    with Ledger(tmp_path / "ledger.db", state=tmp_path / "state") as opened:
        opened.open_population("patients", Budget(2, 1e-5), by="board", why="a test")
        yield opened


def test_it_is_charged_once_and_the_same_request_gives_the_same_rows(ledger: Ledger) -> None:
    given = {"epsilon": 1, "delta": 1e-6, "domain": DOMAIN, "account": ledger, "method": "mst"}
    first = synthesize(people(500), dataset="wards", **given)
    again = synthesize(people(500), dataset="wards", **given)
    assert first.receipt is not None
    assert again.receipt is not None
    assert first.receipt.sequence == again.receipt.sequence
    assert first.table.equals(again.table)
    other = synthesize(people(500), **given)
    assert other.receipt is not None
    assert other.receipt.sequence > first.receipt.sequence
    assert first.receipt.event == first.event


def test_what_does_not_fit_the_budget_reads_no_row(ledger: Ledger) -> None:
    with pytest.raises(BudgetExceeded):
        synthesize(untouchable(people(500)), epsilon=9, delta=1e-6, domain=DOMAIN, account=ledger)


def test_without_an_account_the_guarantee_says_so() -> None:
    made = synthesize(people(100), epsilon=5, delta=1e-2, domain=DOMAIN, method="marginals")
    assert made.receipt is None
    assert "Charged to no ledger." in made.guarantee.describe()


@pytest.mark.parametrize("method", ["marginals", "mst", "aim"])
def test_what_is_stored_fits_the_size_known_beforehand(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    monkeypatch.setattr(synthesis, "read_text", lambda text: texts.append(text) or read_text(text))
    words = [f"word {i:050} \u00e4\u20ac\U0001f600" for i in range(3)]
    table = people(3000).append_column("word", pyarrow.array(np.resize(words, 3000)))
    domain = {**DOMAIN, "word": Categorical("private"), "age": Numeric(bounds="private", missing=True)}
    synthesize(table, epsilon=20, delta=1e-3, domain=domain, method=method)
    whom = Whom(Unit(), Neighbours.ADD_REMOVE)
    plan = plan_for(domain, whom=whom, epsilon=20, delta=1e-3, method=method)
    assert len(texts[0].encode()) <= plan.size


# ---------------------------------------------------------------- an audit

TINY = {"a": Categorical(["x", "y"], other="y"), "b": Categorical(["u", "v"], other="v"), "id": SurrogateKey()}
DELTA = 0.01


def tiny(last: bool) -> pyarrow.Table:
    more = 1 if last else 0
    return pyarrow.table(
        {"a": ["x", "y"] * 5 + ["x"] * more, "b": ["u", "u"] * 5 + ["v"] * more, "id": list(range(10 + more))}
    )


def audited(method: str, *, epsilon: float, trials: int) -> Audit:
    """Everything that one run stores, on two tables that differ in one row, against a claim of 1."""
    task = synthesis._check_task(unread_of(tiny(True)), TINY, None, None, "add-remove", "built-in", None, None, ())
    plan = plan_for(task.columns, whom=task.whom, epsilon=epsilon, delta=DELTA, method=method)

    def draw(last: bool, size: int) -> list[Any]:
        table = tiny(last)
        return [_numbers(synthesis.measured_table(table, task, plan)) for _ in range(size)]

    return examine(draw, False, True, trials=trials, delta=DELTA, confidence=0.999, claim=1, vectorized=True)


def _numbers(stored: Any) -> Any:
    """The noisy counts of the singles, and the sum of all measurements of the pair's last cell."""
    corner = sum(
        (pair.values.flat[1] if pair.values.size == 4 else 0.0) / pair.variance.flat[0] for pair in stored.pairs
    )
    return np.concatenate([*(single.values for single in stored.singles), [corner]])


def quick_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fitting is post-processing, and slow; a few rounds spend the same as many."""
    monkeypatch.setattr(aim, "_ITERATIONS", 1)
    monkeypatch.setattr(aim, "_ROUNDS", 2)


@pytest.mark.parametrize("method", ["marginals", "mst", "aim"])
def test_the_claimed_epsilon_is_not_refuted(method: str, soak: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seed_noise(monkeypatch, 11)
    quick_rounds(monkeypatch)
    found = audited(method, epsilon=1, trials=200 * soak)
    assert found.problem is None
    assert not found.refuted, found.verdict


@pytest.mark.parametrize("method", ["mst", "aim"])
def test_an_eighth_of_the_noise_is_refuted(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seed_noise(monkeypatch, 12)
    quick_rounds(monkeypatch)
    assert audited(method, epsilon=20, trials=200).refuted


def test_plans_say_their_noise_and_price_exactly() -> None:
    whom = Whom(Unit(), Neighbours.ADD_REMOVE)
    tree = TreePlan.of(whom, 5, Fraction(1, 50))
    events = tree.events(whom, 5)
    assert [event.times for event in events] == [5, 4, 4]  # type: ignore[attr-defined]
    rounds = AimPlan.of(whom, 5, Fraction(1, 50), workload=[((0, 1), 1)], cells=1, measured=1, seconds=1)
    assert replace(rounds, rho=Fraction(1)).events(whom, 5)[1].rho == 1  # type: ignore[attr-defined]
