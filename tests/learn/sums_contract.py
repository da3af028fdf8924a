"""What holds for every estimator that learns from noisy sums. A new one subclasses `SumContract`."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from hubbub.accounting import epsilon
from hubbub.ledger import Ledger
from hubbub.terms import (
    Budget,
    BudgetExceeded,
    EmptyInput,
    HubbubError,
    MissingParameter,
    NotANumber,
    OutOfRange,
    UnknownPopulation,
    WrongShape,
    from_json,
    to_json,
)

from .contract import DELTA, EXCEPTIONS, NOT_DETERMINISTIC, Unread, Watched

NAMED = EXCEPTIONS | {
    "check_regressor_data_not_an_array": NOT_DETERMINISTIC,
    "check_regressors_int": NOT_DETERMINISTIC,
    "check_clustering": "asks for labels_: the clusters of private rows are private, and not kept",
    "check_estimator_sparse_array": "sets with_mean, which scikit-learn's class of the same name has",
    "check_estimator_sparse_matrix": "sets with_mean, which scikit-learn's class of the same name has",
}


def learned(model: Any) -> Any:
    """All numbers that a model has learned, in one vector."""
    known = [value for name, value in sorted(vars(model).items()) if name.endswith("_")]
    parts = [np.ravel(part) for value in known for part in (value if isinstance(value, list) else [value])]
    return np.concatenate([part for part in parts if part.dtype.kind == "f"])


class SumContract:
    """Hooks first, then what must hold."""

    kind: ClassVar[Any]
    standard: ClassVar[dict[str, object]] = {}  # beside the price
    needed: ClassVar[tuple[str, ...]] = ()  # what has no default, beside the price
    declared: ClassVar[dict[str, object]] = {}  # what must be declared for a charge
    method: ClassVar[str] = "predict"

    def make(self, **changes: object) -> Any:
        return type(self).kind(**({"epsilon": 1, "delta": DELTA} | self.standard | changes))

    def data(self, rows: int = 400) -> tuple[Any, Any]:
        """Rows within norm 1, and a target that every kind can learn."""
        generator = np.random.default_rng(3)
        X = generator.uniform(-0.5, 0.5, (rows, 4))
        return X, (X[:, 0] > 0).astype(int)

    @pytest.fixture
    def ledger(self, tmp_path: Path) -> Iterator[Ledger]:
        with Ledger(tmp_path / "ledger.db", state=tmp_path / "state") as opened:
            opened.open_population("people", Budget(3, 1e-4), plans=Budget(2, 5e-5), by="board", why="a test")
            yield opened

    def spent(self, ledger: Ledger) -> int:
        return sum(entry.fields()["kind"] == "charge" for entry in ledger.log())

    def answers(self, model: Any, X: Any) -> Any:
        return getattr(model, self.method)(X)

    # ------------------------------------------------------------ promises

    @pytest.mark.parametrize("relation", ["add-remove", "replace"])
    def test_the_event_costs_what_was_promised(self, relation: str) -> None:
        X, y = self.data()
        model = self.make(neighbours=relation).fit(X, y)
        assert 0.95 < epsilon(model.event_, delta=DELTA, neighbours=relation) <= 1
        assert from_json(to_json(model.event_)) == model.event_
        assert model.guarantee_.neighbours == relation

    def test_the_guarantee_says_what_it_rests_on(self) -> None:
        X, y = self.data()
        words = self.make().fit(X, y).guarantee_.describe().lower()
        assert "epsilon = 1, delta = 1e-05" in words
        assert all(said in words for said in ("charged to no ledger", "number of rows", "running time"))
        declared = self.make(**self.declared, rows=400).fit(X, y).guarantee_.describe()
        assert "number of rows" not in declared and "set of labels" not in declared

    def test_nothing_fixes_the_noise(self) -> None:
        X, y = self.data()
        one, other = self.make().fit(X, y), self.make().fit(X, y)
        assert not np.array_equal(learned(one), learned(other))
        assert not {"rng", "seed", "random_state", "noise"} & set(one.get_params())

    # ------------------------------------------------------------ refusals

    @pytest.mark.parametrize(
        ("changes", "error"),
        [
            ({"epsilon": None}, MissingParameter),
            ({"delta": None}, MissingParameter),
            ({"epsilon": float("inf")}, OutOfRange),
            ({"epsilon": 0}, OutOfRange),
            ({"delta": 0}, OutOfRange),
            ({"rows": 0}, OutOfRange),
            ({"neighbours": "siblings"}, OutOfRange),
            ({"account": "ledger.db"}, WrongShape),
            ({"population": "nobody"}, UnknownPopulation),
            ({"epsilon": 50}, BudgetExceeded),
        ],
    )
    def test_what_is_wrong_is_refused_before_a_charge_and_before_reading(
        self, changes: dict[str, object], error: type[HubbubError], ledger: Ledger
    ) -> None:
        with pytest.raises(error):
            self.make(**(self.declared | {"account": ledger} | changes)).fit(Unread(400, 4), Unread(400))
        assert self.spent(ledger) == 0

    def test_missing_norms_and_bounds_are_refused_with_the_line_to_add(self, ledger: Ledger) -> None:
        for name in self.needed:
            with pytest.raises(MissingParameter) as refusal:
                self.make(**(self.declared | {"account": ledger, name: None})).fit(Unread(400, 4), Unread(400))
            assert f"{type(self).kind.__name__}(..., {name}=" in str(refusal.value)
        assert self.spent(ledger) == 0

    def test_shapes_are_refused_and_values_never(self) -> None:
        X, y = self.data(50)
        bad = X.copy()
        bad[13, 2] = np.nan
        secret = np.array([["secret"] * 4] * 50, dtype=object)
        for rows, error in ((X[:0], EmptyInput), (X[:, 0], WrongShape)):
            with pytest.raises(error):
                self.make().fit(rows, y[: len(rows)])
        for rows, told in ((bad, OutOfRange), (secret, NotANumber)):
            model = self.make().fit(rows, y)
            with pytest.raises(told) as refusal:  # what is asked about is not private
                self.answers(model, rows)
            assert "13" not in str(refusal.value) and "secret" not in str(refusal.value)

    def test_with_everything_declared_no_row_makes_it_fail(self) -> None:
        X, y = self.data(60)
        X[0], X[1, 2], X[2] = np.nan, np.inf, 1e300
        strange = y.astype(float)
        strange[3], strange[4] = 77, np.nan
        for rows, column in ((X, strange), (X, np.zeros(60)), (X[:1], strange[:1])):
            model = self.make(**self.declared, rows=60).fit(rows, column)
            assert np.isfinite(self.answers(model, np.zeros((2, 4)))).all()

    @pytest.mark.parametrize("rows", [30, "private"])
    def test_nobody_is_told_whether_a_declared_number_was_right(self, rows: Any) -> None:
        X, y = self.data(100)
        made = [self.make(**self.declared, rows=rows).fit(X[:n], y[:n]) for n in (0, 60, 61, 100)]
        assert len({repr(model.event_) for model in made}) == 1

    # ------------------------------------------------------------ the ledger

    def test_the_charge_stands_before_a_value_is_read(self, ledger: Ledger) -> None:
        X, y = self.data()
        rows = Watched(X, ledger)
        model = self.make(**self.declared, account=ledger).fit(rows, y)
        assert rows.entries and all(kinds[-1] == "charge" for kinds in rows.entries)
        assert ledger.check(model.receipt_) and model.receipt_.event == model.event_
        assert "no ledger" not in model.guarantee_.describe()

    def test_the_same_fit_again_is_free_and_reads_nothing(self, ledger: Ledger) -> None:
        X, y = self.data()
        given = self.declared | {"account": ledger, "dataset": "people-2026"}
        first = self.make(**given).fit(X, y)
        again = self.make(**given).fit(Unread(400, 4), Unread(400))
        assert np.array_equal(self.answers(first, X), self.answers(again, X))
        assert self.spent(ledger) == 1
        self.make(**(given | {"dataset": "people-2027", "epsilon": 0.5})).fit(X, y)
        assert self.spent(ledger) == 2

    def test_questions_can_pay_too(self, tmp_path: Path) -> None:
        with Ledger(tmp_path / "other.db", state=tmp_path / "state") as ledger:
            ledger.open_population("people", Budget(3, 1e-4), by="board", why="a test")
            assert self.make(**self.declared, account=ledger).fit(*self.data()).receipt_ is not None

    # ------------------------------------------------------------ conventions

    def test_scikit_learns_own_checks_pass_but_for_named_ones(self) -> None:
        from sklearn.utils.estimator_checks import check_estimator

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the checks themselves
            told = check_estimator(self.make(), expected_failed_checks=NAMED, on_fail=None)
        assert {t["check_name"] for t in told if t["status"] == "failed"} == set()
        assert sum(t["status"] == "passed" for t in told) > 30

    def test_parameters_are_read_and_set_by_name(self) -> None:
        model = self.make()
        assert model.set_params(epsilon=2).get_params()["epsilon"] == 2
        assert "epsilon=2" in repr(model)
        with pytest.raises(ValueError, match="sigma"):
            model.set_params(sigma=0)

    def test_a_fitted_model_survives_pickling_and_an_unfitted_one_says_so(self) -> None:
        from sklearn.exceptions import NotFittedError

        X, y = self.data()
        with pytest.raises(NotFittedError):
            self.answers(self.make(), X)
        model = self.make().fit(X, y)
        again = pickle.loads(pickle.dumps(model))
        assert np.array_equal(self.answers(again, X), self.answers(model, X))

    def test_frames_are_read_and_other_columns_refused(self) -> None:
        import pandas

        X, y = self.data()
        frame = pandas.DataFrame(X, columns=list("abcd"))
        model = self.make().fit(frame, pandas.Series(y))
        assert list(model.feature_names_in_) == list("abcd") and model.n_features_in_ == 4
        assert len(self.answers(model, frame)) == 400
        with pytest.raises(WrongShape):
            self.answers(model, frame[list("abc")])
        assert not hasattr(model.fit(X, y), "feature_names_in_")
