"""What holds for every estimator of private rows. A new one subclasses `Contract` and says how it is made."""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from hubbub.accounting import epsilon
from hubbub.learn.base.parameters import read_facts
from hubbub.learn.training.sampling import step_of
from hubbub.ledger import Ledger
from hubbub.terms import (
    Budget,
    BudgetExceeded,
    EmptyInput,
    HubbubError,
    MissingParameter,
    NotANumber,
    OutOfRange,
    Poisson,
    UnknownPopulation,
    WithoutReplacement,
    WrongNeighbours,
    WrongShape,
    from_json,
    to_json,
)

DELTA = 1e-5
NOT_DETERMINISTIC = "compares two fits, and each has fresh noise"
EXCEPTIONS = {
    "check_fit_idempotent": NOT_DETERMINISTIC,
    "check_classifier_data_not_an_array": NOT_DETERMINISTIC,
    "check_supervised_y_2d": NOT_DETERMINISTIC,
    "check_estimators_nan_inf": "in a fit no value is a reason to refuse: what is no finite number counts as 0",
    "check_supervised_y_no_nan": "in a fit no value is a reason to refuse: what is no finite number is the middle",
    "check_dtype_object": "expects numpy's TypeError; ours is a ValueError with a code",
}


def plan_of(model: Any, shape: tuple[int, int], y: Any = None) -> Any:
    """The plan of a fit that no ledger pays for."""
    rows, columns = shape
    return model._plan(read_facts(model, rows=rows, columns=columns, y=y, account=None))


class Unread:
    """A table or column that has a shape and may not be read."""

    def __init__(self, *shape: int) -> None:
        self.shape = shape

    def __array__(self, *args: object, **more: object) -> None:
        raise AssertionError("a value was read")

    def __getitem__(self, key: object) -> None:
        raise AssertionError("a value was read")

    def __len__(self) -> int:
        return self.shape[0]


class Watched(Unread):
    """A table that notes, when it is read, what the ledger says is spent."""

    def __init__(self, values: Any, ledger: Ledger) -> None:
        super().__init__(*values.shape)
        self.values, self.ledger, self.entries = values, ledger, []

    def __array__(self, *args: object, **more: object) -> Any:
        self.entries.append([entry.fields()["kind"] for entry in self.ledger.log()])
        return self.values


class Contract:
    """Hooks first, then what must hold."""

    kind: ClassVar[Any]
    standard: ClassVar[dict[str, object]] = {}  # beside the price and the norm
    quick: ClassVar[dict[str, object]] = {"max_iter": 5}  # where the model itself does not matter

    def make(self, **changes: object) -> Any:
        return type(self).kind(**({"epsilon": 1, "delta": DELTA, "norm": 1.0} | self.standard | changes))

    def fast(self, **changes: object) -> Any:
        return self.make(**(self.quick | changes))

    def data(self, rows: int = 1500, classes: int = 2) -> tuple[Any, Any]:
        """Well separated classes, rows within norm 1."""
        generator = np.random.default_rng(3)
        y = generator.integers(0, classes, rows)
        centres = 0.6 * np.eye(4)[np.arange(classes)]
        return centres[y] + generator.uniform(-0.15, 0.15, (rows, 4)), y

    @pytest.fixture
    def ledger(self, tmp_path: Path) -> Iterator[Ledger]:
        with Ledger(tmp_path / "ledger.db", state=tmp_path / "state") as opened:
            opened.open_population("people", Budget(3, 1e-4), plans=Budget(2, 5e-5), by="board", why="a test")
            yield opened

    def spent(self, ledger: Ledger) -> int:
        """How many charges stand in the book."""
        return sum(entry.fields()["kind"] == "charge" for entry in ledger.log())

    # ------------------------------------------------------------ learning

    @pytest.mark.parametrize("classes", [2, 3])
    def test_it_learns_what_is_easy(self, classes: int) -> None:
        X, y = self.data(classes=classes)
        names = np.array(["no", "yes", "maybe"])[y]
        model = self.make().fit(X, names)
        assert model.score(X, names) > 0.9
        chances = model.predict_proba(X)
        assert chances.shape == (1500, classes) and np.allclose(chances.sum(axis=1), 1)
        assert list(model.classes_) == sorted(set(names))
        assert np.array_equal(model.classes_[chances.argmax(axis=1)], model.predict(X))

    def test_labels_without_meaning_teach_nothing(self) -> None:
        X, y = self.data()
        shuffled = np.random.default_rng(4).permutation(y)
        assert self.make().fit(X, shuffled).score(X, y) < 0.9

    def test_a_huge_epsilon_works(self) -> None:
        X, y = self.data()
        assert self.make(epsilon=1e6).fit(X, y).score(X, y) > 0.95

    def test_two_fits_have_different_noise(self) -> None:
        X, y = self.data(rows=100)
        assert not np.array_equal(self.fast().fit(X, y).weights_, self.fast().fit(X, y).weights_)

    # ------------------------------------------------------------ promises

    @pytest.mark.parametrize(
        ("changes", "kind"),
        [
            ({}, None),
            ({"batch_size": 30}, Poisson),
            ({"sampling": "full", "batch_size": 30}, None),
            ({"sampling": "fixed", "batch_size": 30, "neighbours": "replace"}, WithoutReplacement),
            ({"batch_size": 30, "neighbours": "replace"}, Poisson),
        ],
    )
    def test_the_event_costs_what_was_promised(self, changes: dict[str, Any], kind: type | None) -> None:
        X, y = self.data(rows=300)
        model = self.fast(max_iter=40, **changes).fit(X, y)  # more steps have more noise, whose cost is found sooner
        relation = changes.get("neighbours", "add-remove")
        assert 0.95 < epsilon(model.event_, delta=DELTA, neighbours=relation) <= 1
        assert model.event_.times == 40
        assert kind is None or isinstance(model.event_.event, kind)
        assert model.guarantee_.neighbours == relation
        assert from_json(to_json(model.event_)) == model.event_

    def test_the_sensitivity_covers_clipping_and_rounding(self) -> None:
        X, y = self.data(rows=300)
        model = self.fast(clip=0.25).fit(X, y)
        step = step_of(model.event_)
        assert step.sensitivity > Fraction(1, 4) + 2 * Fraction(model.network_.error(rows=300, clip=0.25))
        assert step.dimension == model.network_.size == len(model.weights_)

    def test_the_guarantee_says_what_it_rests_on(self) -> None:
        X, y = self.data(rows=100)
        words = self.fast().fit(X, y).guarantee_.describe()
        assert "epsilon = 1, delta = 1e-05" in words
        for caveat in ("charged to no ledger", "number of rows", "set of labels", "running time"):
            assert caveat in words.lower()
        declared = self.fast(classes=[0, 1], rows=100).fit(X, y).guarantee_.describe()
        assert "number of rows" not in declared and "set of labels" not in declared

    def test_nothing_fixes_the_noise(self) -> None:
        assert not {"rng", "seed", "random_state", "noise", "private"} & set(self.make().get_params())

    # ------------------------------------------------------------ refusals

    @pytest.mark.parametrize(
        ("changes", "error"),
        [
            ({"epsilon": None}, MissingParameter),
            ({"delta": None}, MissingParameter),
            ({"norm": None}, MissingParameter),
            ({"epsilon": float("inf")}, OutOfRange),
            ({"epsilon": 0}, OutOfRange),
            ({"epsilon": "1"}, NotANumber),
            ({"delta": 0}, OutOfRange),
            ({"norm": -1}, OutOfRange),
            ({"norm": float("nan")}, OutOfRange),
            ({"classes": [1]}, OutOfRange),
            ({"classes": None}, MissingParameter),
            ({"rows": 0}, OutOfRange),
            ({"max_iter": 0}, OutOfRange),
            ({"batch_size": -3}, OutOfRange),
            ({"clip": 0}, OutOfRange),
            ({"learning_rate": 0}, OutOfRange),
            ({"neighbours": "siblings"}, OutOfRange),
            ({"sampling": "shuffle"}, OutOfRange),
            ({"sampling": "fixed"}, WrongNeighbours),
            ({"account": "ledger.db"}, WrongShape),
            ({"population": "nobody"}, UnknownPopulation),
            ({"unit": "people.id", "epsilon": 50}, BudgetExceeded),
        ],
    )
    def test_what_is_wrong_is_refused_before_a_charge_and_before_reading(
        self, changes: dict[str, object], error: type[HubbubError], ledger: Ledger
    ) -> None:
        given = {"classes": [0, 1], "account": ledger} | changes
        with pytest.raises(error):
            self.fast(**given).fit(Unread(300, 4), Unread(300))
        assert self.spent(ledger) == 0

    def test_a_missing_norm_is_refused_with_the_line_to_add(self) -> None:
        with pytest.raises(MissingParameter) as refusal:
            self.fast(norm=None).fit(Unread(300, 4), Unread(300))
        assert f"{type(self).kind.__name__}(..., norm=1.0)" in str(refusal.value)

    @pytest.mark.parametrize("shape", [(300,), (300, 4, 1)])
    def test_tables_have_two_dimensions(self, shape: tuple[int, ...]) -> None:
        with pytest.raises(WrongShape):
            self.fast(classes=[0, 1]).fit(Unread(*shape), Unread(300))

    def test_shapes_and_labels_that_count_as_public_are_refused_and_other_values_never(self) -> None:
        X, y = self.data(rows=50)
        bad = X.copy()
        bad[13, 2] = np.nan
        for rows in (bad, X.astype(str), np.array([["secret"] * 4] * 50, dtype=object)):
            self.fast().fit(rows, y)
        for rows, labels, error in (
            (X, y[:49], WrongShape),
            (X, np.zeros(50), OutOfRange),
            (X, y + 0.5, OutOfRange),
            (X[:0], y[:0], EmptyInput),
        ):
            with pytest.raises(error):
                self.fast().fit(rows, labels)
        model = self.fast().fit(X, y)
        for rows, told in ((bad, OutOfRange), (np.array([["secret"] * 4] * 50, dtype=object), NotANumber)):
            with pytest.raises(told) as refusal:
                getattr(model, "transform" if hasattr(model, "transform") else "decision_function")(rows)
            assert "13" not in str(refusal.value) and "secret" not in str(refusal.value)

    def test_with_classes_and_rows_declared_no_row_makes_it_fail(self) -> None:
        X, y = self.data(rows=60)
        X[0], X[1, 2], X[2] = np.nan, np.inf, 1e300
        labels = y.astype(float)
        labels[3], labels[4] = 77, np.nan
        for rows, column in ((X, labels), (X, np.zeros(60)), (X[:1], labels[:1]), (X[:40], labels[:40])):
            model = self.fast(classes=[0, 1], rows=60).fit(rows, column)
            assert np.isfinite(model.weights_).all()

    @pytest.mark.parametrize("rows", [30, "private"])
    def test_nobody_is_told_whether_a_declared_number_was_right(self, rows: Any) -> None:
        X, y = self.data(rows=100)
        made = [self.fast(classes=[0, 1], rows=rows).fit(X[:n], y[:n]) for n in (0, 60, 61, 100)]
        assert len({repr(model.event_) for model in made}) == 1

    # ------------------------------------------------------------ the ledger

    def test_the_charge_stands_before_a_value_is_read(self, ledger: Ledger) -> None:
        X, y = self.data(rows=200)
        rows, labels = Watched(X, ledger), Watched(y, ledger)
        model = self.fast(classes=[0, 1], account=ledger).fit(rows, labels)
        assert rows.entries and labels.entries
        assert all(kinds[-1] == "charge" for kinds in (*rows.entries, *labels.entries))
        assert ledger.check(model.receipt_)
        assert "no ledger" not in model.guarantee_.describe()
        assert model.receipt_.event == model.event_

    def test_the_same_training_again_is_free_and_reads_nothing(self, ledger: Ledger) -> None:
        X, y = self.data(rows=200)
        given = {"classes": [0, 1], "account": ledger, "dataset": "people-2026"}
        first = self.fast(**given).fit(X, y)
        again = self.fast(**given).fit(Unread(200, 4), Unread(200))
        assert np.array_equal(first.weights_, again.weights_) and np.array_equal(first.predict(X), again.predict(X))
        assert self.spent(ledger) == 1

    @pytest.mark.parametrize(
        "changes", [{"norm": 2.0}, {"dataset": "people-2027"}, {"max_iter": 6}, {"classes": [0, 2]}]
    )
    def test_another_training_is_charged(self, changes: dict[str, object], ledger: Ledger) -> None:
        X, y = self.data(rows=200)
        given = {"classes": [0, 1], "account": ledger, "dataset": "people-2026", "epsilon": 0.5, "rows": 200}
        self.fast(**given).fit(X, y)
        self.fast(**(given | changes)).fit(X, y)
        assert self.spent(ledger) == 2

    def test_without_a_name_for_the_data_every_fit_is_charged(self, ledger: Ledger) -> None:
        X, y = self.data(rows=200)
        for _ in range(2):
            self.fast(classes=[0, 1], account=ledger, epsilon=0.5).fit(X, y)
        assert self.spent(ledger) == 2

    def test_training_that_died_goes_on_under_its_charge(self, ledger: Ledger) -> None:
        X, y = self.data(rows=200)
        given = {"classes": [0, 1], "account": ledger, "dataset": "people-2026"}

        def die(step: int) -> None:
            if step == 3:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            self.fast(**given).fit(X, y, watch=die)
        assert self.spent(ledger) == 1
        model = self.fast(**given).fit(X, y)
        assert self.spent(ledger) == 1 and ledger.check(model.receipt_)

    def test_an_empty_budget_refuses(self, ledger: Ledger) -> None:
        X, y = self.data(rows=200)
        for _ in range(2):
            self.fast(classes=[0, 1], account=ledger).fit(X, y)
        with pytest.raises(BudgetExceeded):
            self.fast(classes=[0, 1], account=ledger).fit(Unread(200, 4), Unread(200))

    def test_questions_pay_for_full_batches_only(self, tmp_path: Path) -> None:
        X, y = self.data(rows=200)
        with Ledger(tmp_path / "other.db", state=tmp_path / "state") as ledger:
            ledger.open_population("people", Budget(3, 1e-4), by="board", why="a test")
            given = {"classes": [0, 1], "account": ledger}
            with pytest.raises(MissingParameter):
                self.fast(**given, batch_size=20).fit(Unread(200, 4), Unread(200))
            assert self.fast(**given, sampling="full").fit(X, y).receipt_ is not None

    def test_which_of_several_populations_must_be_said(self, ledger: Ledger) -> None:
        ledger.open_population("others", Budget(3, 1e-4), plans=Budget(2, 5e-5), by="board", why="a test")
        with pytest.raises(MissingParameter):
            self.fast(classes=[0, 1], account=ledger).fit(Unread(200, 4), Unread(200))
        ledger.declare_disjoint("people", "others", by="board", why="a test")
        X, y = self.data(rows=200)
        model = self.fast(classes=[0, 1], account=ledger, population="others").fit(X, y)
        assert model.receipt_.population == "others"

    # ------------------------------------------------------------ conventions

    def test_scikit_learns_own_checks_pass_but_for_named_ones(self) -> None:
        from sklearn.utils.estimator_checks import check_estimator

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the checks themselves
            told = check_estimator(self.fast(norm=5.0), expected_failed_checks=EXCEPTIONS, on_fail=None)
        assert {t["check_name"] for t in told if t["status"] == "failed"} == set()
        assert {t["check_name"] for t in told if t["status"] == "xfail"} <= set(EXCEPTIONS)
        assert sum(t["status"] == "passed" for t in told) > 40

    def test_parameters_are_read_and_set_by_name(self) -> None:
        model = self.make()
        assert model.set_params(epsilon=2).get_params()["epsilon"] == 2
        assert "epsilon=2" in repr(model) and "clip" not in repr(model)
        with pytest.raises(ValueError, match="sigma"):
            model.set_params(sigma=0)

    def test_a_fitted_model_survives_pickling(self) -> None:
        X, y = self.data(rows=100)
        model = self.fast().fit(X, y)
        again = pickle.loads(pickle.dumps(model))
        assert np.array_equal(again.predict(X), model.predict(X)) and again.guarantee_ == model.guarantee_

    def test_an_unfitted_model_says_so(self) -> None:
        from sklearn.exceptions import NotFittedError

        for method in ("predict", "predict_proba", "decision_function"):
            with pytest.raises(NotFittedError) as refusal:
                getattr(self.make(), method)(np.zeros((2, 4)))
            assert isinstance(refusal.value, EmptyInput)

    def test_other_columns_are_refused(self) -> None:
        X, y = self.data(rows=100)
        with pytest.raises(WrongShape):
            self.fast().fit(X, y).predict(X[:, :3])

    def test_frames_are_read(self) -> None:
        import pandas

        X, y = self.data(rows=100)
        model = self.fast().fit(pandas.DataFrame(X, columns=list("abcd")), pandas.Series(y))
        assert list(model.feature_names_in_) == list("abcd")
        assert model.predict(pandas.DataFrame(X, columns=list("abcd"))).shape == (100,)
        assert not hasattr(model.fit(X, y), "feature_names_in_")

    def test_the_steps_can_be_watched(self) -> None:
        seen: list[int] = []
        X, y = self.data(rows=100)
        self.fast().fit(X, y, watch=seen.append)
        assert seen == [1, 2, 3, 4, 5]

    def test_the_recipe_comes_from_public_facts_alone(self) -> None:
        X, y = self.data(rows=300)
        one = self.make(max_iter=3).fit(X, y).recipe_
        assert self.make(max_iter=3).fit(X[::-1] * 0.1, 1 - y).recipe_ == one
        assert json.dumps(one.steps) == "3"
