"""Chapter: exact counts tell Bill's diagnosis, as in the lectures."""

from __future__ import annotations

from hubbub.render import Section, TextTable
from hubbub.studies.demo.hospital import BILL, Hospital, Patient


def is_bill(patient: Patient) -> bool:
    """What a neighbour knows about Bill."""
    return (patient.age, patient.zip, patient.gender) == (BILL.age, BILL.zip, BILL.gender)


def has_flu(patient: Patient) -> bool:
    """The secret."""
    return patient.diagnosis == "flu"


def has_flu_and_is_not_bill(patient: Patient) -> bool:
    """The question that gives it away."""
    return has_flu(patient) and not is_bill(patient)


QUESTIONS = (
    ("men of 26 in 12345", is_bill),
    ("patients with flu", has_flu),
    ("patients with flu who are not men of 26 in 12345", has_flu_and_is_not_bill),
)


def chapter(hospital: Hospital) -> Section:
    """Three harmless counts and a subtraction."""
    answers = [(question, hospital.count(where)) for question, where in QUESTIONS]
    difference = answers[1][1] - answers[2][1]
    return Section(
        "1. Exact answers leak",
        (
            "A neighbour knows that Bill, a man of 26 from 12345, was a patient. The hospital answers nothing about "
            "a person, only counts, and answers the three below.",
            f"One patient fits Bill, and the other two counts differ by {difference}. So Bill has "
            f"{'flu' if difference else 'no flu'}, though nobody asked for Bill's diagnosis.",
        ),
        TextTable(("how many", "exact answer"), tuple((question, str(count)) for question, count in answers)),
    )
