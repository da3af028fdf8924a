"""What the tests of audits share."""

from __future__ import annotations

import pytest

from hubbub.audit import zoo


@pytest.fixture(autouse=True)
def _the_same_each_time() -> None:
    zoo.seed(20)
