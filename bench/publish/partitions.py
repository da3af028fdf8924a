"""Anonymized tables: how fast, how much is lost, how near the optimum, and beside anjana and pycanon in one run."""

from __future__ import annotations

import json
import statistics
import subprocess
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bench import cache
from bench.learn.data import CATEGORIES, persons_of, there
from bench.peers import Environment, environment
from bench.rows import Row, cpu_seconds
from hubbub.publish import Categories, Hierarchy, Intervals, KAnonymity, PrivacyModel, check, full_domain, mondrian
from hubbub.publish.anonymize import lattice as lattices
from hubbub.publish.anonymize.hierarchies import Flat
from hubbub.publish.anonymize.lattice import Lattice, lattice_of, search
from hubbub.publish.anonymize.request import anonymization_request

COLUMNS = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
]
EIGHT = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"]
SIX = ["age", "education", "marital-status", "occupation", "sex", "native-country"]
SECRETS = ["workclass", "hours-per-week"]
STEPS: dict[str, Hierarchy] = {
    "age": Intervals([5, 10, 20]),
    "education": Categories(
        {
            "school": {
                "primary": ["Preschool", "1st-4th", "5th-6th", "7th-8th"],
                "secondary": ["9th", "10th", "11th", "12th", "HS-grad"],
            },
            "higher": {
                "undergraduate": ["Some-college", "Assoc-acdm", "Assoc-voc", "Bachelors"],
                "graduate": ["Masters", "Doctorate", "Prof-school"],
            },
        }
    ),
    "marital-status": Categories(
        {
            "with a partner": ["Married-civ-spouse", "Married-AF-spouse"],
            "without": ["Divorced", "Never-married", "Separated", "Widowed", "Married-spouse-absent"],
        }
    ),
}


def rows(quick: bool) -> list[Row]:
    found = [*_large(quick), *_near_the_optimum(quick), *_many_columns(quick)]
    if not there():
        return found
    return [*_adult(quick), *found, *_peers(quick)]


def adult(part: int | None = None) -> pd.DataFrame:
    """Train and test together, "?" as a word like others; with ``part``, so many rows of train.

    Without the weight of a row, which nearly names it: no k hides anybody beside it, and it is refused.
    """
    people = [*persons_of("train"), *([] if part else persons_of("test"))][:part]
    frame = pd.DataFrame(people, columns=COLUMNS)
    numbers = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
    known = frame.astype(dict.fromkeys(numbers, int)).assign(income=frame["income"].str.rstrip("."))
    return known.drop(columns="fnlwgt")


def as_listed(people: pd.DataFrame) -> pd.DataFrame:
    """The words as numbers in the order in which the documentation of the data lists them; "?" comes last."""
    coded = people.copy()
    for place, words in CATEGORIES.items():
        number = {word: i for i, word in enumerate(words.split())}
        column = COLUMNS[place]
        coded[column] = [number.get(word, len(number)) for word in people[column]]
    return coded


def median_seconds(work: Callable[[], object], rounds: int) -> float:
    work()
    return statistics.median(cpu_seconds(work) for _ in range(rounds))


def _adult(quick: bool) -> list[Row]:
    people, rounds = adult(), 3 if quick else 9
    strict = mondrian(people, keep=list(people), quasi_identifiers=EIGHT, k=10).metrics
    listed = mondrian(as_listed(people), keep=list(people), quasi_identifiers=EIGHT, k=10).metrics
    relaxed = mondrian(people, keep=list(people), quasi_identifiers=EIGHT, k=10, relaxed=True).metrics
    seconds = median_seconds(lambda: mondrian(people, keep=list(people), quasi_identifiers=EIGHT, k=10), rounds)
    name = f"Mondrian, k = 10, Adult ({len(people):,} rows, {len(EIGHT)} columns)"
    return [
        Row(f"{name}: processor time", seconds, "s", 0.3, "lower", f"median of {rounds}, from a pandas frame"),
        Row(f"{name}: GCP, words by the alphabet", strict.gcp, "", 0.061, "lower", f"{strict.classes:,} classes"),
        Row(f"{name}: GCP, words as documented", listed.gcp, "", 0.061, "lower", f"{listed.classes:,} classes"),
        Row(f"{name}: smallest class", strict.smallest, "rows", 10, "higher"),
        Row(f"{name}: GCP if relaxed", relaxed.gcp, "", strict.gcp, "lower", f"{relaxed.classes:,} classes"),
    ]


def people_of(count: int) -> pd.DataFrame:
    """Synthetic people who all differ: few and many values, words, numbers and dates."""
    random = np.random.default_rng(7)
    zips = np.array([f"{code:05d}" for code in range(30_000)])
    jobs = np.array([f"job {number}" for number in range(50)])
    return pd.DataFrame(
        {
            "age": random.integers(0, 100, count),
            "zip": zips[(random.random(count) ** 2 * 30_000).astype(int)],
            "born": random.integers(-10_000, 18_000, count).astype("datetime64[D]"),
            "income": random.lognormal(10, 1, count).astype(int),
            "sex": random.choice(["f", "m"], count),
            "job": jobs[random.integers(0, 50, count)],
            "school": random.integers(0, 16, count),
            "region": random.choice(list("abcdefg"), count),
        }
    )


def _large(quick: bool) -> list[Row]:
    count = 100_000 if quick else 1_000_000
    people = people_of(count)
    names = list(people)
    distinct = len(people.drop_duplicates())
    kept: list[Any] = []
    seconds = cpu_seconds(
        lambda: kept.append(mondrian(people, keep=list(people), quasi_identifiers=names, k=10).metrics)
    )
    note = f"{distinct:,} distinct rows, {kept[0].classes:,} classes, GCP {kept[0].gcp:.3f}"
    return [
        Row(f"Mondrian, k = 10, {count:,} synthetic rows, 8 columns", seconds, "s", count / 1e5, "lower", note),
    ]


def lattice(people: pd.DataFrame, names: list[str], steps: dict[str, Hierarchy], k: int, share: float) -> Lattice:
    models: list[PrivacyModel] = [KAnonymity(k)]
    task = anonymization_request(people[names], quasi_identifiers=names, models=models, hierarchies=steps)
    levels = [steps.get(column.name, Flat()).on(column) for column in task.columns]
    top = tuple(of.height for of in levels)
    return lattice_of(task, levels, top=top, most=int(share * len(people)))[0]


def _near_the_optimum(quick: bool) -> list[Row]:
    """Loss over that of the best of all nodes: by steps alone, and by the whole search."""
    steps: dict[str, Hierarchy] = {
        "age": Intervals([5, 10, 20]),
        "school": Intervals([2, 4]),
        "income": Intervals([1e4]),
    }
    names, ratios = ["age", "school", "income", "sex", "region"], {"steps alone": [1.0], "whole search": [1.0]}
    for seed, share in product(range(2 if quick else 10), (0, 0.05, 0.2)):
        people = people_of(20_000)[seed * 500 :: 40].reset_index(drop=True)
        every = lattice(people, names, steps, 5, share)
        best = min(every.outcome(node).loss for node in product(*(range(top + 1) for top in every.top)))
        ratios["whole search"].append(search(lattice(people, names, steps, 5, share), effort=10**6).loss / best)
        drawn, lattices._DRAWN = lattices._DRAWN, 0
        ratios["steps alone"].append(search(lattice(people, names, steps, 5, share), effort=10**6).loss / best)
        lattices._DRAWN = drawn
    notes = f"worst of {len(ratios['whole search']) - 1}; lattices of {every.size} nodes searched exhaustively"
    return [
        Row(f"lattice, {name}: loss over the optimum's", max(found), "x", 1.1, "lower", notes)
        for name, found in ratios.items()
    ]


def _many_columns(quick: bool) -> list[Row]:
    count, random = (2_000 if quick else 20_000), np.random.default_rng(3)
    people = pd.DataFrame({f"c{i}": (random.random(count) ** 2 * 20).astype(int) for i in range(12)})
    steps: dict[str, Hierarchy] = {name: Intervals([5, 10]) for name in people}
    kept: list[Any] = []
    seconds = cpu_seconds(
        lambda: kept.append(
            full_domain(people, quasi_identifiers=list(people), k=5, hierarchies=steps, suppression=0.05)
        )
    )
    note = f"GCP {kept[0].metrics.gcp:.3f}; {kept[0].search[0]}"
    return [Row(f"lattice, 12 columns, {count:,} rows", seconds, "s", 60, "lower", note)]


# ---------------------------------------------------------------- anjana and pycanon, in an environment of their own


def _peers(quick: bool) -> list[Row]:
    people = adult(8_000 if quick else 32_561)
    made = environment("anjana")
    folder = _written(people)
    theirs, reason = _child(made, folder) if made.python else ({}, made.reason)
    if not theirs:
        return [Row("faster than anjana and pycanon", 0, "x", 1, "higher", f"nothing to compare with: {reason}")]
    return [*_checks_beside(people, pd.read_csv(folder / "made.csv"), theirs), *_anonymizing_beside(people, theirs)]


def _written(people: pd.DataFrame) -> Path:
    """The same rows and the same hierarchies for the peers."""
    folder = cache.folder("partitions")
    of = lattice(people, SIX, STEPS, 10, 0.5)
    texts = [column.texts() for column in of.task.columns]
    steps = {
        name: [[names[code] for code in codes] for names, codes in zip(levels.names, levels.codes, strict=True)]
        for name, levels, _ in zip(SIX, of.levels, texts, strict=True)
    }
    task = {"names": SIX, "hierarchies": steps, "k": 10, "suppression": 0.5, "sensitive": SECRETS}
    people.to_csv(folder / "people.csv", index=False)
    (folder / "task.json").write_text(json.dumps(task))
    return folder


def _child(made: Environment, folder: Path) -> tuple[dict[str, Any], str]:
    script = Path(__file__).with_name("partitions_peer.py")
    command = [made.python, str(script), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    if done.returncode:
        return {}, (done.stderr.strip().splitlines() or ["it failed"])[-1][:200]
    return json.loads(done.stdout.strip().splitlines()[-1]), ""


def _checks_beside(raw: pd.DataFrame, made: pd.DataFrame, theirs: dict[str, Any]) -> list[Row]:
    """k, l and t of the same tables: how many times faster, and whether we agree."""
    asked_for: dict[str, tuple[pd.DataFrame, list[str]]] = {
        "k": (raw, []),
        "l": (raw, SECRETS[:1]),
        "k of that": (made, []),
        "l of that": (made, SECRETS[:1]),
        "t of that 0": (made, SECRETS[:1]),
        "t of that 1": (made, SECRETS[1:]),
    }
    found = []
    for name, (table, secrets) in asked_for.items():
        seconds, value = theirs[name]
        ours = check(table, quasi_identifiers=SIX, sensitive=secrets)
        taken = median_seconds(lambda t=table, s=secrets: check(t, quasi_identifiers=SIX, sensitive=s), 3)  # type: ignore[misc]
        what = {"k": ours.k, "l": secrets and ours.measures[0].distinct_l, "t": secrets and ours.measures[0].t}[name[0]]
        title = f"{name[0]} of {len(table):,} rows{f', {secrets[0]}' if secrets else ''}: times faster than pycanon"
        note = f"{taken:.3f} s against {seconds:.3f} s; ours {what:.4g}, theirs {value:.4g}"
        found.append(Row(title, seconds / taken, "x", 1, "higher", note))
    return found


def _anonymizing_beside(people: pd.DataFrame, theirs: dict[str, Any]) -> list[Row]:
    """k = 10 with the same hierarchies and suppression: how many times faster, and how much less is lost."""
    seconds, (levels, suppressed) = theirs["anonymize"]

    def ours() -> Any:
        return full_domain(people, keep=list(people), quasi_identifiers=SIX, k=10, hierarchies=STEPS, suppression=0.5)

    def cut() -> Any:
        return mondrian(people, keep=list(people), quasi_identifiers=SIX, k=10, hierarchies=STEPS)

    taken, made, fast = median_seconds(ours, 3), ours().metrics, median_seconds(cut, 3)
    loss = lattice(people, SIX, STEPS, 10, 0.9).outcome(tuple(levels)).loss
    name, tree = f"k = 10, {len(people):,} rows, 6 columns, suppression up to 50%", cut().metrics
    note = f"{taken:.3f} s against {seconds:.3f} s; ours is the optimum, theirs the first that fits"
    lost = f"GCP {made.gcp:.3f} against {loss:.3f}; rows left out {made.suppressed:,} against {suppressed:,}"
    quicker = f"{fast:.3f} s against {seconds:.3f} s; GCP {tree.gcp:.3f} against {loss:.3f}, no row left out"
    return [
        Row(f"{name}: lattice, times faster than anjana", seconds / taken, "x", 1, "higher", note),
        Row(f"{name}: lattice, anjana's loss over ours", loss / made.gcp, "x", 1, "higher", lost),
        Row(f"{name}: Mondrian, times faster than anjana", seconds / fast, "x", 1, "higher", quicker),
    ]
