"""One attack on one face of the table. What does not apply says why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from hubbub import attacks, publish
from hubbub.studies.attempts import FaceAttack
from hubbub.studies.redteam.faces import Exact, Private
from hubbub.studies.redteam.target import Target, quote_name, sql_literal
from hubbub.terms import HubbubError, Unsuitable

if TYPE_CHECKING:
    from hubbub.attacks import Attack
    from hubbub.engines import Engine
    from hubbub.publish import Anonymized
    from hubbub.schema import Column

EXACT, GROUPED, PRIVATE = "exact answers", "k-anonymous table", "private answers"
DEIDENTIFIED = "table without names"
MOST_PEOPLE = 100  # of whom secrets are reconstructed: four questions for each
REPEATS = 100
STUDY = 40  # people whose shares are published; all others serve to count false accusations

Opened = Callable[[], AbstractContextManager[Private]]


def all_attempts(target: Target, engine: Engine, opened: Opened, *, k: int) -> Iterator[FaceAttack]:
    """Every attack on every face to which it applies, one after the other."""
    exact = Exact(engine, target.reading)
    yield FaceAttack.attempt("Uniqueness", DEIDENTIFIED, partial(attacks.uniqueness, target.people, on=target.known))
    yield FaceAttack.attempt(
        "Linkage", DEIDENTIFIED, partial(_attack_by_linkage, target, target.people, generalized=False)
    )
    grouped = _group_people(target, k)
    for name, attack in (
        ("Linkage", _attack_grouped_table),
        ("Homogeneity", _attack_homogeneity),
        ("Background knowledge", _attack_background),
    ):
        yield FaceAttack.attempt(name, GROUPED, partial(attack, target, grouped))
    for name, attack_on in (
        ("Differencing", _attack_by_differences),
        ("Reconstruction", _reconstruct_secrets),
        ("Asking again", _asking_again),
        ("Membership", _trace_members),
    ):
        yield FaceAttack.attempt(name, EXACT, partial(attack_on, target, exact))
        yield FaceAttack.attempt(name, PRIVATE, partial(_attack_privately, attack_on, target, opened))


def _attack_privately(attack: Callable[[Target, Any], Attack], target: Target, opened: Opened) -> Attack:
    with opened() as face:
        return attack(target, face)


# ---------------------------------------------------------------- tables that are handed out


def _group_people(target: Target, k: int) -> Anonymized | HubbubError:
    try:
        return publish.mondrian(target.people, quasi_identifiers=target.known, k=k, keep=target.people.column_names)
    except HubbubError as refusal:
        return refusal


def _attack_by_linkage(target: Target, released: Any, *, generalized: bool) -> Attack:
    """Names from a public list of the same people: the worst case, a list that leaves nobody out."""
    roll = target.people.select(list(dict.fromkeys((target.person, *target.known))))
    shown, truth = released.drop([target.person]), released[target.person].to_pylist()
    return attacks.link(shown, roll, on=target.known, identity=target.person, truth=truth, generalized=generalized)


def _attack_grouped_table(target: Target, grouped: Anonymized | HubbubError) -> Attack:
    return _attack_by_linkage(target, _grouped_table(grouped), generalized=True)


def _attack_homogeneity(target: Target, grouped: Anonymized | HubbubError) -> Attack:
    return attacks.homogeneity(_grouped_table(grouped), **_class_columns(target))


def _attack_background(target: Target, grouped: Anonymized | HubbubError) -> Attack:
    """What is left if it is known of somebody what they do *not* have."""
    return attacks.background(_grouped_table(grouped), **_class_columns(target))


def _class_columns(target: Target) -> dict[str, Any]:
    return {"quasi_identifiers": target.known, "sensitive": target.secret.column, "person": target.person}


def _grouped_table(grouped: Anonymized | HubbubError) -> Any:
    if isinstance(grouped, HubbubError):
        raise grouped
    return grouped.table


# ---------------------------------------------------------------- answers


def _attack_by_differences(target: Target, face: Exact | Private) -> Attack:
    victim = target.victim()
    if victim is None:
        raise Unsuitable(
            "nobody is alone with what is known of them.",
            why="Differencing needs a description that fits one person.",
            fix="Name more columns with --known.",
        )
    described = " AND ".join(f"{quote_name(name)} = {sql_literal(value)}" for name, value in victim.items())
    return attacks.differencing(
        face,
        table=quote_name(target.table.name),
        victim=described,
        secret=target.secret.condition,
        person=quote_name(target.person),
        asking=_question_price(face, 3),
    )


def _reconstruct_secrets(target: Target, face: Exact | Private) -> Attack:
    if target.rows > len(target.ids):
        raise Unsuitable(
            "people have several rows in this table.",
            why="The attack looks for one yes or no about each person, and counts of rows are no such thing.",
            fix="Choose a table with one row for each person with --table.",
        )
    chosen = _sample_people(target, MOST_PEOPLE)
    epsilon, delta = face.promise if isinstance(face, Private) else (None, 0.0)
    return attacks.reconstruct_from(
        face,
        table=quote_name(target.table.name),
        person=quote_name(target.person),
        people=[target.ids[row] for row in chosen],
        secret=target.secret.condition,
        truth=target.truth[chosen],
        asking=_question_price(face, 4 * len(chosen)),
        epsilon=epsilon,
        delta=delta,
    )


def _asking_again(target: Target, face: Exact | Private) -> Attack:
    text = f"SELECT COUNT(*) AS n FROM {quote_name(target.table.name)} WHERE {target.secret.condition}"  # noqa: S608
    again = {**_question_price(face, REPEATS), **({"fresh": True} if isinstance(face, Private) else {})}
    return attacks.average_repeats(face, text, repeats=REPEATS, asking=again, truth=target.everybody)


def _trace_members(target: Target, face: Exact | Private) -> Attack:
    """Shares of combinations of values are published about a study of some people: who took part?"""
    together = list(combinations(_keyed_columns(target), min(3, len(_keyed_columns(target)))))
    if not target.keyed or len(target.ids) < 2 * STUDY:
        raise Unsuitable(
            "there are too few columns with public values, or too few people.",
            why=f"The attack adds up many published shares of {STUDY} people, and tries it on others as well.",
            fix="Declare values for more columns.",
        )
    chosen = _sample_people(target, len(target.ids))
    study, others = chosen[:STUDY], chosen[STUDY:]
    published = np.concatenate([_published_shares(target, face, columns, study, len(together)) for columns in together])
    rows = np.concatenate([_one_hot(target, columns) for columns in together], axis=1)
    public = rows.mean(axis=0)
    asked = (public > 0) & (public < 1)
    epsilon = face.promise[0] if isinstance(face, Private) else None
    return attacks.trace(
        published[asked],
        public[asked],
        members=rows[study][:, asked],
        others=rows[others][:, asked],
        size=STUDY,
        noise=_noise_std_dev(target, face, len(together)) / STUDY,
        statistic="inner-product",
        epsilon=epsilon,
    )


def _keyed_columns(target: Target) -> list[Column]:
    """Columns with public values, the secret's among them."""
    hidden = target.table.column(target.secret.column)
    assert hidden is not None
    return [*target.keyed, hidden]


def _published_shares(target: Target, face: Exact | Private, columns: Sequence[Column], study: Any, count: int) -> Any:
    """The published share of each combination of values among the people of the study."""
    names = ", ".join(quote_name(column.name) for column in columns)
    ids = ", ".join(sql_literal(target.ids[row]) for row in study)
    text = (
        f"SELECT {names}, COUNT(*) AS n FROM {quote_name(target.table.name)} "  # noqa: S608
        f"WHERE {quote_name(target.person)} IN ({ids}) GROUP BY {names}"
    )
    answer = face.sql(text, **_question_price(face, count))
    rows = answer if isinstance(answer, list) else [tuple(row.values()) for row in answer.to_arrow().to_pylist()]
    counts = {row[:-1]: float(row[-1]) for row in rows}
    return np.array([counts.get(values, 0.0) for values in _value_combinations(columns)]) / len(study)


def _one_hot(target: Target, columns: Sequence[Column]) -> Any:
    """For each person, which combination of values is theirs."""
    places = {values: place for place, values in enumerate(_value_combinations(columns))}
    held = zip(*(target.people[column.name].to_pylist() for column in columns), strict=True)
    indicators = np.zeros((len(target.ids), len(places)), dtype=np.int8)
    for row, values in enumerate(held):
        if values in places:
            indicators[row, places[values]] = 1
    return indicators


def _value_combinations(columns: Sequence[Column]) -> list[tuple[Any, ...]]:
    return list(product(*(column.values or () for column in columns)))


def _noise_std_dev(target: Target, face: Exact | Private, questions: int) -> float:
    """The standard deviation of one count of a private answer, as its preview tells everybody."""
    if isinstance(face, Exact):
        return 0.0
    text = f"SELECT COUNT(*) AS n FROM {quote_name(target.table.name)}"  # noqa: S608
    error = face.connection.preview(text, **_question_price(face, questions)).errors["n"]
    assert error is not None  # a count's error is known beforehand
    return error / 1.96


def _question_price(face: Exact | Private, questions: int) -> dict[str, Any]:
    return dict(face.price(questions)) if isinstance(face, Private) else {}


def _sample_people(target: Target, most: int) -> Any:
    """Some of the people, in a fixed mixed order."""
    return np.random.default_rng(0).permutation(len(target.ids))[:most]
