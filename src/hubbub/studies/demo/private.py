"""Chapter: the same questions with noise, and what the difference tells now."""

from __future__ import annotations

from decimal import Decimal

from hubbub.accounting import epsilon
from hubbub.mechanisms import Geometric
from hubbub.render import Section, TextTable
from hubbub.studies.demo.hospital import Hospital
from hubbub.studies.demo.leak import QUESTIONS

COST = Decimal("0.1")


def chapter(hospital: Hospital) -> Section:
    """Geometric noise for one patient more or less."""
    mechanism = Geometric(sensitivity=1, epsilon=COST)
    answers = [mechanism.release(hospital.count(where)) for _, where in QUESTIONS]
    spread = mechanism.error(0.95)
    total = epsilon([mechanism.event] * len(answers), delta=0)
    return Section(
        "2. The same questions, privately",
        (
            f"Each count gets fresh noise for epsilon = {COST}: the answer is within ±{spread} of the truth 95 times "
            "out of 100, known before asking. Useful for a hospital of a thousand, useless about one person.",
            f"The two counts now differ by {answers[1] - answers[2]}, which says nothing: with or without Bill's flu, "
            f"any such difference is nearly as likely. All three answers together cost epsilon = {float(total):g}.",
        ),
        TextTable(
            ("how many", "private answer", "95% of answers lie within"),
            tuple((q, str(a), f"±{spread}") for (q, _), a in zip(QUESTIONS, answers, strict=True)),
        ),
    )
