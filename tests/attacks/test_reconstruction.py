"""Reconstruction: exact and slightly noisy counts give everybody away, a budget does not."""

from __future__ import annotations

import math
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import hubbub as hb
from hubbub.attacks import (
    Reconstruction,
    all_subsets,
    random_ranges,
    random_subsets,
    reconstruct,
    reconstruct_all_subsets,
    reconstruct_from,
)
from hubbub.attacks.reconstruction.reconstruction import METHODS
from hubbub.ledger import Ledger
from hubbub.mechanisms import DiscreteGaussian, Geometric
from hubbub.terms import OutOfRange, Unsuitable

N = 200


def secret(people: int, seed: int) -> np.ndarray:
    return np.random.default_rng(1000 + seed).integers(0, 2, people)


def share_right(noise: float, *, method: str = "box", people: int = N, seed: int = 0, factor: int = 4) -> float:
    """The share of bits found from random subsets with Gaussian noise of sd ``noise`` * sqrt(people)."""
    truth, queries = secret(people, seed), random_subsets(people, factor * people, seed=seed)
    answers = queries @ truth + np.random.default_rng(seed).normal(0, noise * math.sqrt(people), len(queries))
    return float(np.mean(reconstruct(queries, answers, method=method) == truth))


@pytest.mark.parametrize("method", sorted(METHODS))
def test_exact_counts_give_every_bit(method: str) -> None:
    assert share_right(0, method=method, people=60) == 1


@pytest.mark.parametrize(("noise", "least"), [(0.1, 0.99), (0.25, 0.95), (0.5, 0.8)])
@pytest.mark.parametrize("method", ["box", "message-passing"])
def test_noise_below_the_root_of_n_hides_few_bits(noise: float, least: float, method: str) -> None:
    assert np.mean([share_right(noise, method=method, seed=seed) for seed in range(5)]) >= least


def test_much_noise_hides_nearly_all() -> None:
    assert np.mean([share_right(20, seed=seed) for seed in range(5)]) < 0.6


def test_the_box_beats_plain_least_squares_under_noise() -> None:
    found = {m: np.mean([share_right(0.35, method=m, seed=s) for s in range(8)]) for m in ("box", "least-squares")}
    assert found["box"] > found["least-squares"]


def test_a_linear_program_shrugs_off_a_few_absurd_answers() -> None:
    truth, queries = secret(50, 1), random_subsets(50, 250, seed=1)
    answers = (queries @ truth).astype(float)
    answers[::10] += 500  # a tenth of the answers is nonsense
    assert (reconstruct(queries, answers, method="lp") == truth).all()
    assert np.mean(reconstruct(queries, answers) == truth) < 0.9


def test_the_largest_error_fits_noise_that_is_bounded() -> None:
    truth, queries = secret(50, 2), random_subsets(50, 400, seed=2)
    answers = queries @ truth + np.random.default_rng(2).choice([-1, 1], len(queries))
    assert (reconstruct(queries, answers, method="lp-largest") == truth).all()


def test_as_many_exact_ranges_as_people_determine_all_bits() -> None:
    truth = secret(80, 3)
    queries = random_ranges(80, 80, seed=3)
    assert np.linalg.matrix_rank(queries) == 80
    assert (reconstruct(queries, queries @ truth) == truth).all()
    assert (np.abs(np.diff(queries, axis=1)).sum(axis=1) <= 2).all()  # each is one stretch


# ---------------------------------------------------------------- all subsets


@pytest.mark.parametrize("error", [0, 0.4, 1, 2])
def test_all_subsets_leave_at_most_four_errors_worth_of_bits(error: float) -> None:
    people = 10
    for seed in range(4):
        truth, random = secret(people, seed), np.random.default_rng(seed)
        answers = all_subsets(people) @ truth + random.uniform(-error, error, 1 << people)
        found = reconstruct_all_subsets(answers, people, error, truth=truth)
        assert found.wrong is not None
        assert found.wrong <= found.most_wrong == min(people, math.floor(4 * error))


def test_every_consistent_database_is_within_the_theorems_bound() -> None:
    people, error = 8, 1.0
    truth, subsets = secret(people, 5), all_subsets(people)
    hidden = truth.copy()
    hidden[:2] = 1 - hidden[:2]
    answers = subsets @ (truth + hidden) / 2  # as misleading as an error of 1 allows: half-way to another database
    consistent = subsets[np.abs(subsets @ subsets.T - answers).max(axis=1) <= error]
    assert len(consistent) > 1
    assert (consistent != truth).sum(axis=1).max() <= 4 * error
    assert reconstruct_all_subsets(answers, people, error).consistent == len(consistent)


def test_an_error_that_is_understated_is_noticed() -> None:
    answers = all_subsets(6) @ secret(6, 1) + np.where(np.arange(64) % 2, 3, -3)
    with pytest.raises(Unsuitable, match="P911"):
        reconstruct_all_subsets(answers, 6, error=1)


def test_the_oracle_is_asked_once_per_subset() -> None:
    asked: list[tuple[int, ...]] = []
    truth = secret(5, 0)

    def oracle(subset: np.ndarray) -> float:
        asked.append(tuple(subset))
        return float(subset @ truth)

    assert (reconstruct_all_subsets(oracle, 5, 0).bits == truth).all()
    assert len(asked) == len(set(asked)) == 32


# ---------------------------------------------------------------- differential privacy


def private_share(noise: str, epsilon: float, seed: int, people: int = 100) -> float:
    """The same attack on counts that are epsilon-DP together for a change of one bit."""
    truth, queries = secret(people, seed), random_subsets(people, 4 * people, seed=seed)
    counts = queries @ truth
    if noise == "laplace":  # a bit is in at most all queries
        noisy = Geometric(sensitivity=len(queries), epsilon=epsilon, dimension=len(queries)).release(counts)
    else:
        root = math.ceil(math.sqrt(len(queries)))
        noisy = DiscreteGaussian(sensitivity=root, epsilon=epsilon, delta=1e-6, dimension=len(queries)).release(counts)
    return float(np.mean(reconstruct(queries, np.asarray(noisy)) == truth))


@pytest.mark.parametrize(("noise", "near"), [("laplace", 0.5), ("gaussian", 0.52)])
def test_private_counts_at_a_total_epsilon_of_one_tell_next_to_nothing(noise: str, near: float, soak: int) -> None:
    runs = 20 * soak
    found = np.mean([private_share(noise, 1, seed) for seed in range(runs)])
    assert (
        abs(found - near) < 5 * 0.5 / math.sqrt(100 * runs) + 0.01
    )  # five standard errors: 1 false alarm in a million
    assert found < math.e / (1 + math.e)


def test_private_counts_at_a_total_epsilon_of_a_hundred_tell_nearly_all() -> None:
    assert np.mean([private_share("gaussian", 100, seed) for seed in range(3)]) > 0.9


# ---------------------------------------------------------------- against an interface


@pytest.fixture(scope="module")
def loans() -> pd.DataFrame:
    status = np.random.default_rng(4).choice(["A", "C"], 40)
    return pd.DataFrame({"clientId": 1000 + 3 * np.arange(40), "loanStatus": status})


def attack(interface: object, loans: pd.DataFrame, table: str = "loans", **options: object) -> Reconstruction:
    return reconstruct_from(
        interface,
        table=table,
        person="clientId",
        people=loans.clientId.tolist(),
        secret="loanStatus = 'C'",
        truth=loans.loanStatus == "C",
        **options,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("by", ["subsets", "ranges", "hashes"])
def test_the_loan_database_is_read_through_exact_counts(loans: pd.DataFrame, by: str) -> None:
    with duckdb.connect() as bank:
        bank.register("loans", loans)
        found = attack(bank, loans, by=by)
    assert found.right == 1
    assert found.succeeded
    assert found.residual == 0
    assert list(found.named) == loans.clientId[loans.loanStatus == "C"].tolist()


@pytest.mark.parametrize(("epsilon", "rho", "low", "high"), [(1.0, 0.012, 0.15, 0.85), (100.0, 46.0, 0.8, 1.0)])
def test_our_own_answers_hide_the_loans_unless_epsilon_is_huge(
    loans: pd.DataFrame, tmp_path: Path, epsilon: float, rho: float, low: float, high: float
) -> None:
    questions = 4 * len(loans)
    with hb.connect(
        loans,
        unit="clientId",
        max_rows_per_unit=1,
        keys={"loanStatus": ["A", "C"]},
        budget=hb.Budget(epsilon, 1e-6),
        ledger=Ledger(tmp_path / "ledger.db", state=tmp_path / "state"),
    ) as db:
        price = {"rho": round(rho / questions, 9)}
        found = attack(db, loans, table="table", asking=price, epsilon=epsilon, delta=1e-6)
    assert found.right is not None
    assert low <= found.right <= high  # half of 40 bits, give or take five standard errors; and nearly all
    assert found.ceiling == pytest.approx(math.exp(epsilon) / (1 + math.exp(epsilon)), abs=1e-6)


class Fixed:
    """An interface that answers whatever it was given."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def sql(self, text: str) -> object:
        return self.answer


@pytest.mark.parametrize(
    "answer",
    [7, 7.0, np.int64(7), [(7,)], (7,), {"n": [7]}, np.array([[7]]), pd.DataFrame({"n": [7]})],
    ids=lambda answer: type(answer).__name__,
)
def test_one_number_is_read_out_of_any_answer(answer: object) -> None:
    from hubbub.attacks.queries.asking import ask

    assert ask(Fixed(answer), "SELECT 7") == 7


def test_tables_of_arrow_polars_and_duckdb_are_read_too() -> None:
    import polars
    import pyarrow

    from hubbub.attacks.queries.asking import read_scalar

    assert (
        read_scalar(pyarrow.table({"n": [7]}))
        == read_scalar(polars.DataFrame({"n": [7]}))
        == read_scalar(duckdb.sql("SELECT 7"))
        == 7
    )


@pytest.mark.parametrize("answer", [None, "seven", [1, 2], pd.DataFrame({"n": [1, 2]}), [], object()])
def test_an_answer_that_is_no_number_is_refused(answer: object) -> None:
    from hubbub.attacks.queries.asking import ask

    with pytest.raises(Unsuitable, match="P911"):
        ask(Fixed(answer), "SELECT 7")


def test_an_interface_without_sql_is_refused(loans: pd.DataFrame) -> None:
    with pytest.raises(Unsuitable, match=r"no sql\(\)"):
        attack(object(), loans)


# ---------------------------------------------------------------- reports and bad input


def test_the_report_tells_how_many_bits_are_right() -> None:
    truth, queries = secret(50, 7), random_subsets(50, 200, seed=7)
    found = Reconstruction.of(queries, queries @ truth, truth=truth)
    assert found.to_json()["numbers"]["right"] == 1  # type: ignore[index,call-overload]
    assert "more than 99 out of 100" in found.text()
    assert found.html().count("<svg") == 1
    blind = Reconstruction.of(queries, np.zeros(200), truth=truth)
    assert not blind.succeeded


@pytest.mark.parametrize(
    ("queries", "answers"),
    [
        ([[0, 1], [1, 1]], [1, 2, 3]),
        ([[0, 2], [1, 1]], [1, 2]),
        ([[0.5, 1], [1, 1]], [1, 2]),
        ([[1, 1, 1]], [2]),
        ([1, 0], [1, 2]),
        ([], []),
        ([[0, 1], [1, 1]], [1, math.nan]),
        ([[0, 1], [1]], [1, 2]),
        ([["a", "b"], ["c", "d"]], [1, 2]),
        ([[0, 1], [1, 1]], ["x", "y"]),
    ],
)
def test_unsuitable_queries_are_refused_with_a_reason(queries: object, answers: object) -> None:
    with pytest.raises(Unsuitable, match="P911"):
        reconstruct(queries, answers)  # type: ignore[arg-type]


def test_other_bad_input_is_refused(loans: pd.DataFrame) -> None:
    with pytest.raises(OutOfRange, match="no method"):
        reconstruct([[1, 0], [0, 1]], [1, 1], method="magic")
    with pytest.raises(OutOfRange, match="no questions by"):
        attack(Fixed(1), loans, by="magic")
    with pytest.raises(OutOfRange, match="at most 14"):
        all_subsets(40)
    with pytest.raises(Unsuitable, match="each of them once"):
        reconstruct_from(Fixed(1), table="t", person="p", people=[1, 1], secret="x")
    with pytest.raises(Unsuitable, match="whole numbers"):
        reconstruct_from(Fixed(1), table="t", person="p", people=["a", "b"], secret="x", by="hashes")
    with pytest.raises(Unsuitable, match="put in order"):
        reconstruct_from(Fixed(1), table="t", person="p", people=["a", 1], secret="x", by="ranges")
    with pytest.raises(Unsuitable, match="true and guessed"):
        Reconstruction.of([[1, 0], [0, 1]], [1, 1], truth=[1])
    with pytest.raises(Unsuitable, match="too many for a linear program"):
        reconstruct(np.ones((2500, 2000), dtype=np.int8), np.ones(2500), method="lp")


@pytest.mark.parametrize("answers", [[1e300, 0.0], [10**400, 0]])
def test_answers_beyond_all_counts_are_refused(answers: list[float]) -> None:
    with pytest.raises(Unsuitable, match="answers"):
        reconstruct([[1, 0], [0, 1]], answers)
