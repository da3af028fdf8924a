"""Bayes-optimal beliefs: they follow Bayes' rule, and stay where they are for who knows everything or nothing new."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest

from hubbub.publish import beliefs, mondrian
from hubbub.terms import OutOfRange, WrongShape


def people(n: int, seed: int = 3) -> pa.Table:
    chance = np.random.default_rng(seed)
    age = chance.integers(20, 80, n)
    sex = chance.choice(["f", "m"], n)
    sick = chance.random(n) < np.where(sex == "f", 0.2, 0.5) * age / 80
    return pa.table({"age": age, "sex": sex, "ill": np.where(sick, "gout", chance.choice(["flu", "hay"], n))})


def test_who_knows_only_the_whole_table_believes_the_shares_of_the_class() -> None:
    table = pa.table({"ward": [1, 1, 1, 1, 2, 2], "ill": ["flu", "flu", "flu", "hay", "hay", "hay"]})
    found = beliefs(table, quasi_identifiers=["ward"], sensitive="ill", theta=0.3)
    assert found.moved.tolist() == pytest.approx([0.25] * 4 + [0.5] * 2)
    assert found.risen.tolist() == pytest.approx([0.25] * 3 + [-0.25] + [0.5] * 2)
    assert (found.largest, found.breaches) == (0.5, 2)


def test_who_knows_the_joint_distribution_learns_nothing() -> None:
    table = people(500)
    made = mondrian(table, quasi_identifiers=["age", "sex"], k=10)
    blank = beliefs(made.table, quasi_identifiers=["age", "sex"], sensitive="ill")
    exact = pa.table({"class": made.classes})
    knows = beliefs(made.table, quasi_identifiers=["age", "sex"], sensitive="ill", known=exact)
    assert blank.largest > 0.2
    assert knows.largest == pytest.approx(0, abs=1e-12)


def test_a_table_of_one_class_teaches_nothing() -> None:
    table = people(300).append_column("all", pa.array(["*"] * 300))
    found = beliefs(table, quasi_identifiers=["all"], sensitive="ill")
    assert found.largest == pytest.approx(0, abs=1e-12)


def worlds(secrets: list[str], priors: list[dict[str, Fraction]]) -> list[dict[str, Fraction]]:
    """What to believe of each person, by going through every way to hand out the secrets of a class."""
    belief: list[dict[str, Fraction]] = [dict.fromkeys(prior, Fraction(0)) for prior in priors]
    for given in permutations(secrets):
        chance = Fraction(1)
        for prior, value in zip(priors, given, strict=True):
            chance *= prior[value]
        for one, value in zip(belief, given, strict=True):
            one[value] += chance
    return [{value: part / sum(one.values()) for value, part in one.items()} for one in belief]


def test_two_people_and_two_secrets_come_out_close_to_all_possible_worlds() -> None:
    """The formula of the paper takes the others of a class as draws from the population: near for large classes."""
    sexes, ills = ["f"] * 3 + ["m"] * 3, ["gout", "flu", "flu", "gout", "gout", "flu"]
    table = pa.table({"ward": [1] * 6, "ill": ills})
    found = beliefs(table, quasi_identifiers=["ward"], sensitive="ill", known=pa.table({"sex": sexes}))
    third = Fraction(1, 3)
    priors = [{"gout": third if sex == "f" else 2 * third, "flu": 2 * third if sex == "f" else third} for sex in sexes]
    exact = worlds(ills, priors)
    moved = [abs(float(after["gout"] - before["gout"])) for after, before in zip(exact, priors, strict=True)]
    assert found.moved == pytest.approx(moved, abs=0.06)
    assert found.moved == pytest.approx(0, abs=1e-9)  # the class is the population here


def test_posterior_follows_the_formula() -> None:
    table = people(400)
    made = mondrian(table, quasi_identifiers=["age"], k=20)
    table = table.take(pa.array(made.kept))
    found = beliefs(made.table, quasi_identifiers=["age"], sensitive="ill", known=table.select(["sex"]))
    ill, sex = np.array(table["ill"].to_pylist()), np.array(table["sex"].to_pylist())
    values = sorted(set(ill))
    prior = {s: np.array([np.mean(ill[sex == s] == value) for value in values]) for s in "fm"}
    for row in (0, 7, 399):
        inside = made.classes == made.classes[row]
        counts = np.array([np.sum(ill[inside] == value) for value in values])
        mean = np.mean([prior[s] for s in sex[inside]], axis=0)
        after = counts * prior[sex[row]] / mean
        change = after / after.sum() - prior[sex[row]]
        assert found.moved[row] == pytest.approx(np.abs(change).max())
        assert found.risen[row] == pytest.approx(change[values.index(ill[row])])


def test_smaller_classes_move_beliefs_further() -> None:
    table = people(2000)
    large, small = (
        beliefs(
            mondrian(table, quasi_identifiers=["age", "sex"], k=k).table,
            quasi_identifiers=["age", "sex"],
            sensitive="ill",
        )
        for k in (200, 4)
    )
    assert small.breaches > large.breaches


def test_the_report_names_the_attacker_and_what_it_does_not_say() -> None:
    table = people(100)
    found = beliefs(table, quasi_identifiers=["age"], sensitive="ill", known=table.select(["sex"]))
    told = found.text(width=1000)
    assert "how it depends on sex" in told and "no guarantee" in told
    assert found.to_json()["people"] == 100 and "<svg" in found.html()
    assert found.table().rows[1][0] == "> 5 points"


def test_bad_input_is_refused() -> None:
    table = people(10)
    with pytest.raises(WrongShape, match="10"):
        beliefs(table, quasi_identifiers=["age"], sensitive="ill", known=people(9))
    for wrong in ({"theta": 0}, {"theta": 1}, {"sensitive": "shoe"}, {"sensitive": "age"}):
        with pytest.raises(OutOfRange):
            beliefs(table, **{"quasi_identifiers": ["age"], "sensitive": "ill", **wrong})  # type: ignore[arg-type]
