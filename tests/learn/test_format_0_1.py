"""Models that version 0.1 saved are loaded and predict the same. The fixtures are never edited."""

from __future__ import annotations

import json
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hubbub.learn import load, save
from hubbub.terms import to_json

FIXTURES = Path(__file__).parents[1] / "fixtures" / "learn"
SAVED = sorted((FIXTURES / "format-1").glob("*.hubbub"))
EXPECTED = json.loads((FIXTURES / "format-1.json").read_text())
ESTIMATORS = {
    *("AdditiveTreesClassifier", "AdditiveTreesRegressor", "CentreScaler", "GaussianNB", "KMeans"),
    *("LinearRegression", "LinearSVC", "LogisticRegression", "MLPClassifier", "MLPRegressor", "Measured"),
    *("PATEClassifier", "PCA", "Pipeline", "PrivateColumns", "PrivateSearch", "Ridge", "StandardScaler"),
}  # all that 0.1 could save: losses over pairs were refused
VALUES = {"Bins", "Category", "Curve", "Margins", "Network", "Number", "Recipe", "Score", "TableModel"}


def test_the_fixtures_hold_every_class_that_0_1_could_save() -> None:
    assert {path.stem for path in SAVED} == EXPECTED["models"].keys()
    texts = [zipfile.ZipFile(path).read("model.json").decode() for path in SAVED]
    for tag, names in (("estimator", ESTIMATORS), ("value", VALUES)):
        assert all(any(f'"{tag}": "{name}"' in text for text in texts) for name in names)
    for tag in ("array", "objects", "decimal", "fraction", "term", "list", "tuple", "dict"):
        assert any(f'"{tag}":' in text for text in texts), tag


@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
def test_a_saved_model_is_the_one_that_was_fitted(path: Path, tmp_path: Path) -> None:
    expected = EXPECTED["models"][path.stem]
    model = load(path)
    check_answers(model, expected)
    check_terms(model, expected)
    save(model, tmp_path / "again.hubbub")
    check_answers(load(tmp_path / "again.hubbub"), expected)


def check_answers(model: Any, expected: dict[str, Any]) -> None:
    """Words and whole numbers are the same, other numbers but for the last digits."""
    table = {name: np.array(values) for name, values in EXPECTED["columns"].items()}
    rows = np.array(EXPECTED["rows"])
    assert expected["answers"]
    for way, stored in expected["answers"].items():
        answers = np.asarray(getattr(model, way)(table if hasattr(model, "columns") and "score" in expected else rows))
        assert answers.shape == np.shape(stored), way
        if answers.dtype.kind == "f":
            assert np.allclose(answers, stored, rtol=1e-9, atol=1e-12), way
        else:
            assert answers.tolist() == stored, way


def check_terms(model: Any, expected: dict[str, Any]) -> None:
    """Guarantee, event and receipt, and what was asked for."""
    if "score" in expected:
        held = (model.guarantee, model.event, model.receipt)
        assert (None if model.score is None else asdict(model.score)) == expected["score"]
        assert [each.name for each in model.columns] == expected["columns"]
    else:
        held = (model.guarantee_, model.event_, model.receipt_)
        assert (str(model.epsilon), model.unit, str(model.neighbours)) == (
            expected["epsilon"],
            expected["unit"],
            expected["relation"],
        )
        assert getattr(model, "account", None) is None
    stored = tuple(expected[name] for name in ("guarantee", "event", "receipt"))
    assert tuple(None if term is None else to_json(term) for term in held) == stored


def test_a_receipt_and_a_score_travelled() -> None:
    models = EXPECTED["models"].values()
    assert any(each["receipt"] for each in models) and any(each.get("score") for each in models)
