"""A state with a voter roll, a hospital and a governor: invented people whose birth dates are spread as real ones.

How many people are alone with their ZIP code, birth date and sex depends on the sizes of the ZIP codes and hardly on
anything else. [Swe00] estimated 87% for the United States; [Gol06] counted about 63% in the census of 2000.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from hubbub.attacks.populations import _names
from hubbub.terms import whole

if TYPE_CHECKING:
    import pyarrow

QUASI_IDENTIFIERS: Final = ("zip", "birth_date", "sex")
GOVERNOR: Final = "the Governor"
GOVERNOR_BORN: Final = date(1945, 7, 31)  # as in the lectures
GOVERNOR_HAS: Final = "cancer"

_TODAY = np.datetime64("2010-04-01")  # the day of the census whose ages are used
_BAND = 1826  # days in five years
# Millions of people per five years of age in the census of the United States of 2010, rounded.
_AGES = (
    20.2,
    20.3,
    20.7,
    22.0,
    21.6,
    21.1,
    20.0,
    20.2,
    20.9,
    22.7,
    22.3,
    19.7,
    16.8,
    12.4,
    9.3,
    7.3,
    5.7,
    3.6,
    1.5,
    0.4,
)
_ADULT = 18 * 365.25
_DIAGNOSES = ("flu", "asthma", "diabetes", "hypertension", "fracture", "depression", "cancer", "HIV")
_SHARES = (0.22, 0.14, 0.13, 0.2, 0.12, 0.1, 0.07, 0.02)

_MEDIAN, _SPREAD, _LARGEST = 2_800, 1.6, 100_000  # of ZIP codes: log-normal, cut at about the largest there are


@dataclass(frozen=True, eq=False)
class InventedState:
    """Everybody (``people``), the public voter roll, and the hospital's records without names.

    ``truth`` names the person of each hospital record. No attacker has it: it tells how often an attack is right.
    """

    people: pyarrow.Table
    voters: pyarrow.Table
    hospital: pyarrow.Table
    truth: pyarrow.Array

    def coarse(self, table: pyarrow.Table) -> pyarrow.Table:
        """The table with three digits of the ZIP code and the decade of birth, as careful publishers write it."""
        import pyarrow as pa
        import pyarrow.compute as pc

        decade = pc.divide(pc.year(table.column("birth_date")), 10).cast(pa.string())
        born = pc.binary_join_element_wise("[", decade, "0-01-01, ", decade, "9-12-31]", "")
        short = pc.binary_join_element_wise(pc.utf8_slice_codeunits(table.column("zip"), 0, 3), "**", "")
        fields = {"zip": short, "birth_date": born}
        return pa.table({name: fields.get(name, table.column(name)) for name in table.column_names})


def classroom(people: int = 100_000, *, seed: int = 0) -> InventedState:
    """ZIP codes of about 8,000 people each: 87% of all are alone with ZIP code, birth date and sex, as in [Swe00].

    >>> state = classroom(40_000)
    >>> state.voters.column_names, state.hospital.column_names
    (['name', 'zip', 'birth_date', 'sex'], ['zip', 'birth_date', 'sex', 'diagnosis'])
    """
    size, rng = whole(people, name="people", least=1_000), np.random.default_rng(seed)
    count = max(1, round(size / 8_000))
    sizes = rng.multinomial(size, np.full(count, 1 / count))  # within about 2% of each other
    return _invent_people(sizes, rng)


def skewed(zips: int = 100, *, seed: int = 0) -> InventedState:
    """ZIP codes of very different size, as real ones: about 60% are alone with ZIP code, birth date and sex.

    The sizes are evenly spaced quantiles of a log-normal law with median 2,800 and a spread of 1.6, none above
    100,000: 100 ZIP codes have about 870,000 people, most of whom live in the few large ones.
    """
    count, rng = whole(zips, name="zips", least=10), np.random.default_rng(seed)
    law = NormalDist()
    sizes = [_MEDIAN * np.exp(_SPREAD * law.inv_cdf((i + 0.5) / count)) for i in range(count)]
    return _invent_people(np.minimum(np.rint(sizes), _LARGEST).astype(np.int64), rng)


def _invent_people(sizes: NDArray[np.int64], rng: np.random.Generator) -> InventedState:
    import pyarrow as pa

    count = int(sizes.sum())
    zips = np.repeat(rng.permutation(len(sizes)), sizes)
    days = _birth_dates(count, rng)
    men = rng.integers(0, 2, size=count)
    _make_room_for_the_governor(zips, days, men)
    people = pa.table(
        {
            "name": _names.invent_names(men, rng, first=GOVERNOR),
            "zip": _zip_names(len(sizes)).take(pa.array(zips)),
            "birth_date": pa.array(days),
            "sex": pa.array(["F", "M"]).take(pa.array(men)),
        }
    )
    return _draw_registers(people, _TODAY - days, rng)


def _birth_dates(count: int, rng: np.random.Generator) -> NDArray[np.datetime64]:
    shares = np.array(_AGES) / sum(_AGES)
    ages = rng.choice(len(_AGES), size=count, p=shares) * _BAND + rng.integers(0, _BAND, size=count)
    return _TODAY - ages.astype("timedelta64[D]")


def _make_room_for_the_governor(zips: NDArray[np.int64], days: NDArray[np.datetime64], men: NDArray[np.int64]) -> None:
    """The first person is the governor, and nobody else has that ZIP code, birth date and sex."""
    born = np.datetime64(GOVERNOR_BORN)
    days[(zips == zips[0]) & (days == born) & (men == 1)] += np.timedelta64(1, "D")
    days[0], men[0] = born, 1


def _draw_registers(people: pyarrow.Table, ages: NDArray[np.timedelta64], rng: np.random.Generator) -> InventedState:
    """Three adults in four are registered to vote; one person in ten was in hospital; the governor is both."""
    import pyarrow as pa

    adult = ages.astype(np.int64) >= _ADULT
    votes, ill = adult & (rng.random(len(adult)) < 0.75), rng.random(len(adult)) < 0.1
    votes[0] = ill[0] = True
    patients = rng.permutation(np.flatnonzero(ill))
    diagnoses = rng.choice(len(_DIAGNOSES), size=len(patients), p=_SHARES)
    diagnoses[patients == 0] = _DIAGNOSES.index(GOVERNOR_HAS)
    records = people.take(pa.array(patients))
    hospital = records.drop_columns(["name"]).append_column("diagnosis", pa.array(_DIAGNOSES).take(pa.array(diagnoses)))
    voters = people.take(pa.array(rng.permutation(np.flatnonzero(votes))))
    return InventedState(people, voters, hospital, records.column("name").combine_chunks())


def _zip_names(count: int) -> pyarrow.Array:
    """Five digits each, in the order of a state: 02100, 02101, ..."""
    import pyarrow as pa

    return pa.array([f"{2100 + i:05d}" for i in range(count)])
