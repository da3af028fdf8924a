"""Chapter: what the whole budget means for one patient."""

from __future__ import annotations

from hubbub import explain
from hubbub.render import Section
from hubbub.studies.demo.hospital import Hospital


def chapter(hospital: Hospital) -> Section:
    """The odds of epsilon = 1, in people."""
    explanation = explain.epsilon(1, delta=1e-6)
    odds = explanation.sections()[0]
    return Section("7. What epsilon = 1 means for a patient", odds.paragraphs, odds.table, odds.figure)
