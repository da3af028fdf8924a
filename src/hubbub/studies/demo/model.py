"""Chapter: a model that remembers its patients, and a private one that learned the same and remembers nobody."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from hubbub.learn.composition import ModelScore
from hubbub.learn.tables import Category, NumberFeature, fit_table
from hubbub.render import Section, TextTable, out_of_100
from hubbub.studies.demo.hospital import Hospital

PEOPLE = 4000  # patients, and as many strangers
EPSILON, DELTA = 1, 1e-6
COLUMNS = (
    NumberFeature("age", 0, 100),
    NumberFeature("days", 0, 60),
    NumberFeature("blood_pressure", 80, 200),
    Category("smoker", ("no", "yes")),
)
TARGET = Category("back", ("no", "yes"))
People = dict[str, list[Any]]


@dataclass(frozen=True, slots=True)
class Memorization:
    """How often a model is right about the patients it was made from, and about strangers."""

    patients: float
    strangers: float

    @property
    def guess(self) -> float:
        """How often somebody is right who says "a patient" whenever the model is right about a person."""
        return (self.patients + 1 - self.strangers) / 2


@dataclass(frozen=True, slots=True)
class Learned:
    """What came of it."""

    remembers: Memorization
    private: Memorization
    score: ModelScore
    rows: int


def chapter(hospital: Hospital) -> Section:
    """Train twice on the same patients."""
    models = train_models()
    low, high = models.score.interval
    return Section(
        "10. A model that remembers nobody",
        (
            f"Who will be back within a month? {PEOPLE:,} patients are known: age, days in bed, blood pressure, smoker "
            "or not, and whether they came back. The simplest model keeps them all and answers like the most similar "
            f"one. It is right for {models.remembers.patients:.0%} of its patients and "
            f"{models.remembers.strangers:.0%} of strangers. So whoever tries a person and sees it right may guess "
            f"that this is a patient, and is right {out_of_100(models.remembers.guess)} times, where chance is 50.",
            f"A private model of the same patients costs epsilon = {EPSILON}. Only bounds and lists of values were "
            f"declared; that it had some {models.rows:,} of them to learn from was counted privately. It is right for "
            f"{models.private.strangers:.0%} of strangers, more than the one that remembers; and the same guess is "
            f"right {out_of_100(models.private.guess)} times.",
            f"How good is it? Every patient was held out by a coin or trained it, never both, so that measuring costs "
            f"nothing more: {models.score.value:.1%}, between {low:.1%} and {high:.1%}, 95 times out of 100. `hubbub "
            "fit` does all this with a file, writes a model card, and saves a model that carries its receipt.",
        ),
        TextTable(
            ("model", "right about patients", "about strangers", "patients given away"),
            tuple(
                (name, f"{known.patients:.0%}", f"{known.strangers:.0%}", out_of_100(known.guess))
                for name, known in (("remembers everybody", models.remembers), ("private", models.private))
            ),
        ),
    )


def train_models() -> Learned:
    """Both models, on the same people."""
    chance = random.Random(1847)  # noqa: S311 - invents people, protects nobody
    patients, strangers = made_up(chance), made_up(chance)
    model = fit_table(patients, columns=COLUMNS, target=TARGET, epsilon=EPSILON, delta=DELTA, measure=True)
    assert model.score is not None
    private = Memorization(*(model.measured(people).value for people in (patients, strangers)))
    remembers = Memorization(*(_share_right(patients, people) for people in (patients, strangers)))
    return Learned(remembers, private, model.score, model.estimator.rows_)


def made_up(chance: random.Random) -> People:
    """People of whom the old and the long in bed come back more often."""
    people: People = {name: [] for name in ("age", "days", "blood_pressure", "smoker", "back")}
    for _ in range(PEOPLE):
        age, days, smoker = chance.randint(18, 95), chance.randint(1, 30), chance.random() < 0.3
        risk = 0.12 + 0.7 * (age > 60) * (days > 10) + 0.15 * smoker
        people["age"].append(age)
        people["days"].append(days)
        people["blood_pressure"].append(chance.randint(90, 180))
        people["smoker"].append("yes" if smoker else "no")
        people["back"].append("yes" if chance.random() < risk else "no")
    return people


def _share_right(kept: People, asked: People) -> float:
    """How often the most similar of the kept people came back, or not, as the one who is asked about did."""
    import numpy as np
    from scipy.spatial import cKDTree

    from hubbub.learn.tables import Style, codes_of, features_of

    known, others = (features_of(codes_of(people, COLUMNS), COLUMNS, Style.SCALED) for people in (kept, asked))
    nearest = cKDTree(known).query(others)[1]
    return float(np.mean(np.array(kept["back"])[nearest] == np.array(asked["back"])))
