"""LogisticRegression: the contract, its weights, and what it reaches on public tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hubbub import connect
from hubbub.learn import LogisticRegression
from hubbub.terms import Budget, BudgetConflict

from .contract import Contract


class TestLogisticRegression(Contract):
    kind = LogisticRegression

    @pytest.mark.parametrize("classes", [2, 3])
    def test_weights_and_offsets_are_those_of_the_scores(self, classes: int) -> None:
        X, y = self.data(rows=200, classes=classes)
        model = self.fast(norm=2.0).fit(X, y)
        scores = X @ model.coef_.T + model.intercept_
        assert np.allclose(scores if classes > 2 else scores[:, 0], model.decision_function(X))
        assert model.coef_.shape == (1 if classes == 2 else classes, 4)

    def test_a_connection_pays(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        source = tmp_path / "visits.csv"
        source.write_text("patient_id,age\n1,30\n2,40\n", encoding="utf-8")
        X, y = self.data(rows=200)
        with connect(
            source,
            unit="patient_id",
            max_rows_per_unit=1,
            bounds={"age": (0, 120)},
            budget=Budget(3, 1e-4),
            ledger=str(tmp_path / "ledger.db"),
        ) as db:
            with pytest.raises(BudgetConflict):  # a row is not yet said to be a patient
                self.fast(classes=[0, 1], account=db).fit(X, y)
            model = self.fast(classes=[0, 1], account=db, unit="visits.patient_id").fit(X, y)
            assert model.receipt_ is not None and db.ledger.check(model.receipt_)
            assert "visits.patient_id" in model.guarantee_.describe()


def test_the_breast_cancer_table_is_learned_without_tuning() -> None:
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    X = 2 * X / X.max(axis=0) - 1  # as if the largest values were public
    scores = [LogisticRegression(epsilon=4, delta=1e-5, norm=30**0.5).fit(X, y).score(X, y) for _ in range(3)]
    assert np.median(scores) > 0.9


def test_digits_are_learned_without_tuning() -> None:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    scores = [LogisticRegression(epsilon=4, delta=1e-5, norm=70).fit(X, y).score(X, y) for _ in range(2)]
    assert np.median(scores) > 0.88
