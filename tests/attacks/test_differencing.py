"""Differencing: exact counts tell of one person, private ones do not, and a log is searched for such pairs."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import sqrt
from pathlib import Path

import duckdb
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hubbub
from hubbub.attacks import differences, differencing, isolate, newcomer
from hubbub.attacks.queries import query_log
from hubbub.attacks.queries.guess_margin import chance_right
from hubbub.attacks.queries.nested_pairs import implies_condition
from hubbub.ledger import Ledger
from hubbub.terms import Unsuitable

Connect = Callable[[hubbub.Budget], hubbub.sql.Connection]
BILL = "age = 26 AND zip = 12345 AND gender = 'm'"
FLU = "diag LIKE 'flu'"


def patients(*, ill: bool = True, size: int = 500) -> pyarrow.Table:
    """Bill, a man of 26 in 12345, and others who are not."""
    rng = np.random.default_rng(0)
    return pyarrow.table(
        {
            "id": np.arange(size),
            "age": np.r_[26, rng.integers(27, 90, size - 1)],
            "zip": np.r_[12345, rng.integers(12340, 12350, size - 1)],
            "gender": ["m", *rng.choice(["m", "f"], size - 1)],
            "diag": ["flu" if ill else "cold", *rng.choice(["flu", "cold", "asthma"], size - 1)],
            "salary": np.r_[4100, rng.integers(2000, 6000, size - 1)],
        }
    )


def exact(table: pyarrow.Table) -> duckdb.DuckDBPyConnection:
    engine = duckdb.connect()
    engine.register("patients", table)
    return engine


# ---------------------------------------------------------------- q1, q2, q3


@pytest.mark.parametrize("ill", [True, False])
def test_three_exact_counts_tell_whether_bill_has_flu(ill: bool) -> None:
    found = differencing(exact(patients(ill=ill)), table="patients", victim=BILL, secret=FLU)
    assert found.answers[0].value == 1
    assert found.has_secret is ill
    assert found.chance == 1
    assert found.succeeded
    assert ("does not have" in found.headline) is not ill


@pytest.fixture
def private(tmp_path: Path) -> Connect:
    def connect(budget: hubbub.Budget) -> hubbub.sql.Connection:
        path = tmp_path / "patients.parquet"
        pyarrow.parquet.write_table(patients(), path)
        return hubbub.connect(
            path,
            unit="id",
            max_rows_per_unit=1,
            bounds={"age": (0, 120), "zip": (0, 99_999)},
            keys={"gender": ["m", "f"], "diag": ["flu", "cold", "asthma"]},
            budget=budget,
            ledger=Ledger(tmp_path / "ledger.db", state=tmp_path / "state"),
        )

    return connect


def test_private_counts_tell_hardly_more_than_a_coin(private: Connect) -> None:
    db = private(hubbub.Budget(100, 1e-6))
    asked = [
        differencing(db, table="patients", victim=BILL, secret=FLU, asking={"epsilon": 0.5, "fresh": True})
        for _ in range(10)
    ]
    assert all(not found.succeeded for found in asked)
    assert all(found.chance < 0.6 for found in asked)
    assert len({found.difference for found in asked}) > 1
    one = asked[0]
    assert one.std_dev == pytest.approx(sqrt(one.answers[1].std_dev ** 2 + one.answers[2].std_dev ** 2))
    assert one.answers[1].std_dev > 1


def test_a_large_epsilon_tells_after_all(private: Connect) -> None:
    found = differencing(private(hubbub.Budget(100)), table="patients", victim=BILL, secret=FLU, asking={"epsilon": 20})
    assert found.chance > 0.9
    assert found.has_secret


class Noisy:
    """Exact counts with normal noise, as somebody might build at home."""

    def __init__(self, table: pyarrow.Table, std_dev: float, seed: int) -> None:
        self.count = cache(lambda text: exact(table).sql(text).fetchall()[0][0])
        self.std_dev, self.rng = std_dev, np.random.default_rng(seed)

    def sql(self, text: str) -> float:
        return self.count(text) + self.rng.normal(0, self.std_dev)


@pytest.mark.parametrize("std_dev", [0.3, 1.0, 5.0])
def test_the_stated_chance_is_how_often_the_attacker_is_right(std_dev: float, soak: int) -> None:
    """400 attacks: the share of right ones is within 4 standard errors (false alarms: 1 in 10,000)."""
    trials = 400 * soak
    interfaces = {ill: Noisy(patients(ill=ill, size=60), std_dev, seed=7) for ill in (True, False)}
    right, chance = 0, 0.0
    for trial in range(trials):
        ill = trial % 2 == 0
        found = differencing(interfaces[ill], table="patients", victim=BILL, secret=FLU, noise=std_dev)
        right, chance = right + (found.has_secret is ill), found.chance
    assert abs(right / trials - chance) < 4 * sqrt(chance * (1 - chance) / trials) + 1 / trials
    assert chance == pytest.approx(chance_right(sqrt(2) * std_dev))


def test_a_stated_chance_for_one_answer_instead_of_two_would_be_noticed() -> None:
    assert chance_right(1.0) - chance_right(sqrt(2)) > 4 * sqrt(0.25 / 4000)


def test_several_people_who_fit_are_told_as_several() -> None:
    found = differencing(exact(patients()), table="patients", victim="age = 30", secret=FLU)
    assert not found.alone
    assert not found.succeeded
    assert found.difference <= found.answers[0].value


def test_conditions_with_or_are_kept_together() -> None:
    found = differencing(exact(patients()), table="patients", victim=f"({BILL}) OR id = 0", secret=f"{FLU} OR FALSE")
    assert found.succeeded
    assert found.difference == 1


def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(Unsuitable, match="no sql"):
        differencing(object(), table="patients", victim=BILL, secret=FLU)
    with pytest.raises(Unsuitable, match="victim is not an SQL condition"):
        differencing(exact(patients()), table="patients", victim="age = = 26", secret=FLU)


# ---------------------------------------------------------------- before and after


@given(st.lists(st.integers(1, 10**6), min_size=2, max_size=50))
def test_two_averages_tell_the_newcomers_salary_exactly(salaries: list[int]) -> None:
    *others, newest = salaries
    before = (len(others), Fraction(sum(others), len(others)))
    after = (len(salaries), Fraction(sum(salaries), len(salaries)))
    for found in (newcomer(before, after), newcomer(after, before)):
        assert found.value == pytest.approx(newest, rel=1e-9, abs=1e-4)
        assert found.margin == 0
        assert found.succeeded


@given(st.lists(st.integers(1000, 9000), min_size=2, max_size=50))
def test_rounded_averages_hold_the_salary_within_the_margin(salaries: list[int]) -> None:
    *others, newest = salaries
    before, after = (
        (len(others), round(sum(others) / len(others))),
        (len(salaries), round(sum(salaries) / len(salaries))),
    )
    found = newcomer(before, after, rounded_to=1)
    assert abs(found.value - newest) <= found.margin + 1e-6


def test_noisy_averages_hold_the_salary_95_times_out_of_100() -> None:
    rng = np.random.default_rng(3)
    salaries = rng.integers(2000, 6000, 21)
    held = 0
    for _ in range(2000):
        averages = salaries[:-1].mean() + rng.normal(0, 50), salaries.mean() + rng.normal(0, 50)
        found = newcomer((20, averages[0]), (21, averages[1]), noise=50)
        held += abs(found.value - salaries[-1]) <= found.margin
        assert not found.succeeded
    assert held / 2000 == pytest.approx(0.95, abs=4 * sqrt(0.05 * 0.95 / 2000))


@pytest.mark.parametrize(("before", "after"), [((10, 1), (12, 1)), ((10, 1), (10, 1)), (10, (11, 1))])
def test_averages_that_do_not_differ_in_one_person_are_refused(before: object, after: object) -> None:
    with pytest.raises(Unsuitable):
        newcomer(before, after)  # type: ignore[arg-type]


# ---------------------------------------------------------------- isolation


def in_row_space(rows: list[list[int]], person: int) -> bool:
    """The same question by exact elimination over the rationals."""

    def rank(matrix: list[list[Fraction]]) -> int:
        matrix, found = [list(row) for row in matrix], 0
        for column in range(len(rows[0])):
            pivot = next((i for i in range(found, len(matrix)) if matrix[i][column]), None)
            if pivot is None:
                continue
            matrix[found], matrix[pivot] = matrix[pivot], matrix[found]
            for i in range(len(matrix)):
                if i != found and matrix[i][column]:
                    share = matrix[i][column] / matrix[found][column]
                    matrix[i] = [a - share * b for a, b in zip(matrix[i], matrix[found], strict=True)]
            found += 1
        return found

    exact_rows = [[Fraction(x) for x in row] for row in rows]
    unit = [Fraction(int(j == person)) for j in range(len(rows[0]))]
    return rank(exact_rows) == rank([*exact_rows, unit])


@given(
    st.integers(2, 8).flatmap(
        lambda n: st.lists(st.lists(st.integers(0, 1), min_size=n, max_size=n), min_size=1, max_size=9)
    )
)
def test_exactly_the_people_in_the_row_space_are_isolated(rows: list[list[int]]) -> None:
    secret = np.arange(3, 3 + len(rows[0]))
    found = isolate(rows, np.array(rows) @ secret)
    assert found.people.tolist() == [i for i in range(len(rows[0])) if in_row_space(rows, i)]
    assert found.values == {i: pytest.approx(secret[i]) for i in found.people.tolist()}


def test_people_whom_all_questions_treat_alike_stay_together() -> None:
    assert isolate([[1, 1, 0], [1, 1, 1]]).people.tolist() == [2]


def test_noise_is_carried_through_the_weights() -> None:
    found = isolate([[1, 1], [0, 1]], [2.0, 1.0], noise=0.2)
    assert found.std_devs.tolist() == pytest.approx([0.2 * sqrt(2), 0.2])
    assert found.certain == 1
    assert not isolate([[1, 1], [0, 1]], [2.0, 1.0], noise=5).succeeded


@pytest.mark.parametrize(
    ("masks", "answers"), [([], []), ([1, 2], [1]), ([["x"]], [1]), ([[1, float("nan")]], [1]), ([[1, 0]], [1, 2])]
)
def test_what_is_no_system_of_equations_is_refused(masks: object, answers: object) -> None:
    with pytest.raises(Unsuitable):
        isolate(masks, answers)


# ---------------------------------------------------------------- a query log


def logged(table: pyarrow.Table, *questions: str) -> list[tuple[str, float]]:
    engine = exact(table)
    return [(text, engine.sql(text).fetchall()[0][0]) for text in questions]


LECTURE = (
    f"SELECT COUNT(*) FROM patients WHERE {BILL}",
    f"SELECT COUNT(*) FROM patients WHERE {FLU}",
    f"SELECT COUNT(*) FROM patients WHERE NOT ({BILL}) AND {FLU}",
)


@pytest.mark.parametrize("ill", [True, False])
def test_the_lectures_three_questions_are_found_without_the_data(ill: bool) -> None:
    found = differences(logged(patients(ill=ill), *LECTURE))
    [pair] = found.small_pairs
    assert pair.people == 1
    assert pair.answer == int(ill)
    assert "zip = 12345" in pair.describe()
    assert found.succeeded


def test_the_order_and_the_spelling_do_not_matter() -> None:
    table = patients()
    log = logged(
        table,
        "select count(*) as n from Patients p where p.diag like 'flu' "
        "and (gender <> 'm' or p.age <> 26 or zip <> 12345)",
        "SELECT COUNT(*) FROM patients WHERE DIAG LIKE 'flu'",
    )
    [pair] = differences(log, table=table).small_pairs
    assert pair.people == 1


@pytest.mark.parametrize(
    ("questions", "people"),
    [
        (["TRUE", "NOT id = 0"], 1),  # everybody, and everybody but one
        (["zip = 12345", "zip = 12345 AND id <> 0"], 1),  # one condition more
        (["age <= 26", "age < 26"], 1),  # a narrower range
        (["id IN (0, 1, 2)", "id IN (1, 2)"], 1),  # a shorter list
        (["gender = 'm'", "gender <> 'm'", "id > 1"], 2),  # two halves make a whole, less all but two
    ],
)
def test_pairs_and_small_sums_are_found(questions: list[str], people: int) -> None:
    table = patients()
    log = logged(table, *(f"SELECT COUNT(*) FROM patients WHERE {part}" for part in questions))
    found = differences(log, table=table)
    assert people in [pair.people for pair in found.small_pairs]
    assert people in [
        pair.people
        for pair in differences([(sorted({q}), a) for q, (_, a) in zip(questions, log, strict=True)]).small_pairs
    ]


@pytest.mark.parametrize(
    "questions",
    [
        ["age < 40", "age < 60"],  # a hundred people in between
        ["gender = 'm'", "gender = 'f'"],  # disjoint
        ["age < 40", "zip = 12345"],  # neither holds the other
        ["age = 30"],
    ],
)
def test_harmless_logs_are_left_alone(questions: list[str]) -> None:
    table = patients()
    log = logged(table, *(f"SELECT COUNT(*) FROM patients WHERE {part}" for part in questions))
    found = differences(log, table=table)
    assert found.small_pairs == ()
    assert not found.succeeded
    assert differences(log).small_pairs == ()


def test_sums_and_averages_tell_the_salary() -> None:
    table = patients()
    sums = logged(table, "SELECT SUM(salary) FROM patients", "SELECT SUM(salary) FROM patients WHERE id <> 0")
    [pair] = differences(sums, table=table).small_pairs
    assert pair.answer == 4100
    means = logged(
        table,
        "SELECT AVG(salary) FROM patients",
        "SELECT COUNT(*) FROM patients",
        "SELECT AVG(salary) FROM patients WHERE id <> 0",
        "SELECT COUNT(*) FROM patients WHERE id <> 0",
    )
    told = {pair.pair.large.aggregate: pair.answer for pair in differences(means).small_pairs}
    assert told == {"COUNT": 1, "SUM": pytest.approx(4100)}


def test_rows_with_missing_values_are_counted_where_the_engine_leaves_them() -> None:
    table = pyarrow.table({"age": [26, None, None, 30, 40], "diag": ["flu"] * 5})
    log = logged(
        table,
        "SELECT COUNT(*) FROM patients WHERE diag = 'flu'",
        "SELECT COUNT(*) FROM patients WHERE diag = 'flu' AND age <> 30",
    )
    [pair] = differences(log, table=table).small_pairs
    assert pair.answer == 3  # the man of 30, and two whose age is not known
    assert pair.people == 1  # ... of whom only he was left out on purpose


def test_grouped_and_nested_questions_are_counted_as_left_out() -> None:
    log = [
        *logged(patients(), *LECTURE),
        ("SELECT diag, COUNT(*) FROM patients GROUP BY diag", 3),
        ("SELECT COUNT(*) FROM (SELECT * FROM patients) x", 3),
        ("SELECT COUNT(DISTINCT diag) FROM patients", 3),
        ("SELECT MAX(salary) FROM patients", 3),
    ]
    found = differences(log)
    assert (found.queries, found.skipped) == (3, 4)


def test_noise_drowns_what_the_log_would_tell() -> None:
    rng = np.random.default_rng(0)
    log = [(text, answer + rng.normal(0, 10)) for text, answer in logged(patients(), *LECTURE)]
    found = differences(log, table=patients(), noise=10)
    assert len(found.small_pairs) == 1
    assert not found.succeeded
    assert found.chance == pytest.approx(chance_right(10 * sqrt(2)))


def test_linear_algebra_names_everybody_whose_secret_follows() -> None:
    """Overlapping ranges of ids: no pair is about one person in the middle, and all together are about everybody."""
    table = patients(size=12)
    starts = [(0, 2), (1, 3), (0, 3), (2, 5), (4, 6), (4, 5), (5, 6), (7, 11)]
    log = logged(
        table, *(f"SELECT COUNT(*) FROM patients WHERE id BETWEEN {a} AND {b} AND diag = 'flu'" for a, b in starts)
    )
    found = differences(log, table=table, secret="diag", few=1)
    masks = [[int(a <= i <= b) for i in range(12)] for a, b in starts]
    assert {p.person for p in found.people} == {i for i in range(12) if in_row_space(masks, i)} != set()
    ill = [int(value == "flu") for value in table.column("diag").to_pylist()]
    assert all(p.value == pytest.approx(ill[p.person]) for p in found.people)


def test_public_columns_alone_are_no_secret() -> None:
    table = patients(size=20)
    log = logged(table, "SELECT COUNT(*) FROM patients WHERE id = 3", "SELECT COUNT(*) FROM patients")
    assert differences(log, table=table, secret="diag").people == ()


@pytest.mark.parametrize(
    ("narrow", "wide", "holds"),
    [
        ("a < 3", "a <= 3", True),
        ("a <= 3", "a < 3", False),
        ("a > 3", "a >= 3", True),
        ("a > 3", "a < 9", False),
        ("a = 3", "a < 4", True),
        ("a = 4", "a < 4", False),
        ("a = 'x'", "a < 4", False),
        ("a IN (1, 2)", "a <= 2", True),
        ("a IN (1, 3)", "a <= 2", False),
        ("a = 3", "b = 3", False),
        ("a < 3", "a = 1", False),
        ("a LIKE 'x'", "a LIKE 'xy'", False),
    ],
)
def test_one_condition_implies_another_only_if_it_surely_does(narrow: str, wide: str, holds: bool) -> None:
    assert implies_condition(narrow, wide) is holds


@pytest.mark.parametrize(
    ("log", "told"),
    [
        ([], "no count, sum or average"),
        (["SELECT 1"], "entry 0 of the log"),
        ([("SELECT (", 1)], "not SQL"),
        ([("SELECT MAX(x) FROM t", 1)], "no count, sum or average"),
        ([("SELECT COUNT(*) FROM t", "many")], "not one number"),
    ],
)
def test_a_log_that_cannot_be_read_is_refused(log: list[object], told: str) -> None:
    with pytest.raises(Unsuitable, match=told):
        differences(log)  # type: ignore[arg-type]


def test_a_table_without_the_columns_of_the_log_is_refused() -> None:
    with pytest.raises(Unsuitable, match="cannot be evaluated"):
        differences(logged(patients(), *LECTURE), table={"other": [1, 2]})


def test_a_log_cannot_read_files(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a\n1\n")
    log = [({"id > 0", f"id IN (SELECT a FROM '{tmp_path}/secret.csv')"}, 1), ({"id > 0"}, 2)]
    assert differences(log, table=patients()).skipped == 1
    with pytest.raises(Unsuitable, match="cannot be evaluated"):
        query_log.condition_masks(patients(), [frozenset([f"id IN (SELECT a FROM '{tmp_path}/secret.csv')"])])


@pytest.mark.parametrize(
    "log",
    [
        None,
        [(5, 1)],
        [({"a < 0x1F"}, 5), ({"a < 1"}, 4)],
        [({"a = 1"}, float("nan")), ({"a = 1", "b = 2"}, 3)],
        [({"a = 1"}, 10**400)],
        [("SELECT SUM() FROM t", 5)],
    ],
)
def test_odd_entries_of_a_log_are_refused_in_our_words(log: object) -> None:
    with pytest.raises(Unsuitable):
        differences(log)  # type: ignore[arg-type]


def test_what_is_no_table_is_refused_before_anything_is_asked() -> None:
    with pytest.raises(Unsuitable, match="name of a table"):
        differencing(None, table="t; drop", victim="a = 1", secret="b = 1")


def test_answers_of_isolation_are_numbers() -> None:
    with pytest.raises(Unsuitable, match="answers"):
        isolate([[1, 0], [0, 1]], ["x", "y"])
