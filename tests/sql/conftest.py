"""What the tests of private SQL share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hubbub import noise


@pytest.fixture
def silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """All noise is 0 while the test runs, so that answers can be compared with exact ones."""

    def nothing(scale: object, size: Any = None, *, rng: object = None) -> Any:
        return 0 if size is None else np.zeros(size, dtype=np.int64)

    monkeypatch.setattr(noise, "discrete_gaussian", nothing)
    monkeypatch.setattr(noise, "discrete_laplace", nothing)
