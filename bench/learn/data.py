"""Adult as one-hot features, from public lists alone."""

from __future__ import annotations

import bisect
import csv
import gzip
from pathlib import Path

import numpy as np

from hubbub.learn.training.network import Floats

DATA = Path(__file__).parents[3] / "shared" / "data"
DELTA = 1e-5

# Public knowledge about Adult: the categories of its documentation, and round numbers for the rest.
BINS = {
    0: range(20, 75, 5),
    10: (1, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 10_000, 15_000, 20_000),
    11: (1, 1000, 1500, 1700, 1900, 2000, 2250, 2500),
    12: (10, 20, 30, 35, 40, 41, 45, 50, 55, 60, 70),
}
CATEGORIES = {
    1: "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked",
    3: "Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th Masters 1st-4th 10th "
    "Doctorate 5th-6th Preschool",
    5: "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent Married-AF-spouse",
    6: "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners "
    "Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv Armed-Forces",
    7: "Wife Own-child Husband Not-in-family Other-relative Unmarried",
    8: "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",
    9: "Female Male",
    13: "United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) India Japan Greece South "
    "China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal Ireland France "
    "Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua Scotland Thailand Yugoslavia "
    "El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands",
}
NORM = (len(BINS) + len(CATEGORIES)) ** 0.5  # one 1 in each group


def there() -> bool:
    """True if the files are on this machine."""
    return (DATA / "adult-train.csv.gz").exists()


def persons_of(part: str) -> list[list[str]]:
    """The rows of ``train`` or ``test`` as they are written."""
    with gzip.open(DATA / f"adult-{part}.csv.gz", "rt", encoding="utf-8") as file:
        return [[cell.strip() for cell in line] for line in csv.reader(file) if len(line) == 15]


def adult(part: str) -> tuple[Floats, Floats]:
    """One-hot features of Adult, from public lists alone, and whether the income is above 50,000."""
    persons = persons_of(part)
    groups = [_one_hot([bisect.bisect_right(b, float(p[j])) for p in persons], len(b) + 1) for j, b in BINS.items()]
    for j, names in CATEGORIES.items():
        places = {name: i for i, name in enumerate(names.split())}
        groups.append(_one_hot([places.get(p[j], len(places)) for p in persons], len(places) + 1))
    return np.hstack(groups), np.array([p[14].startswith(">50K") for p in persons])


def codes(part: str) -> tuple[Floats, list[object], list[tuple[float, float]]]:
    """Adult as numbers and codes, how each column is cut, and its bounds."""
    persons = persons_of(part)
    columns = [[float(p[j]) for p in persons] for j in BINS]
    bins: list[object] = [list(ends) for ends in BINS.values()]
    bounds = [(0.0, 100_000.0)] * len(BINS)
    for j, names in CATEGORIES.items():
        places = {name: i for i, name in enumerate(names.split())}
        columns.append([float(places.get(p[j], len(places))) for p in persons])
        bins.append(len(places) + 1)
        bounds.append((-0.5, len(places) + 0.5))
    return np.array(columns).T, bins, bounds


def _one_hot(places: list[int], size: int) -> Floats:
    return np.eye(size)[places]
