"""Chapter: choosing instead of counting, with the exponential mechanism."""

from __future__ import annotations

from collections import Counter

from hubbub.mechanisms import Exponential
from hubbub.render import Section, TextTable
from hubbub.studies.demo.hospital import DIAGNOSES, Hospital


def chapter(hospital: Hospital) -> Section:
    """The most frequent diagnosis, drawn five times."""
    counts_by_diagnosis = Counter(patient.diagnosis for patient in hospital.patients)
    counts = [counts_by_diagnosis[diagnosis] for diagnosis in DIAGNOSES]
    mechanism = Exponential(sensitivity=1, epsilon=1, monotone=True)
    drawn = [DIAGNOSES[mechanism.release(counts)] for _ in range(5)]
    return Section(
        "3. A choice instead of a number",
        (
            "Which diagnosis is most frequent? Noise cannot be added to a word. The exponential mechanism draws an "
            "answer, likelier with more patients, for epsilon = 1 a draw.",
            f"Whatever is drawn has, with 95% confidence, at most {mechanism.error(0.95, candidates=len(counts)):.1f} "
            "patients fewer than the winner.",
        ),
        TextTable(("draw", "most frequent"), tuple((str(i + 1), name) for i, name in enumerate(drawn))),
    )
