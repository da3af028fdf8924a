"""Visitors by place and day against a baseline, in the manner of the mobility reports, under one lifetime budget."""

from __future__ import annotations

import datetime
import json
import math
import threading
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hubbub.ledger import AccountLike
from hubbub.mechanisms import DiscreteGaussian
from hubbub.publish.cells import Codes
from hubbub.publish.jobs import TableJob, table_facts
from hubbub.publish.tables.noisy_counts import check_columns, least_noise
from hubbub.publish.tables.published import Published
from hubbub.publish.tables.visits import Visits
from hubbub.publish.unread_table import TableSource, Unread, unread_of
from hubbub.releases import release_job
from hubbub.terms import (
    AS_GIVEN,
    ApproximateDP,
    EmptyInput,
    Event,
    Guarantee,
    Neighbours,
    OutOfRange,
    Real,
    Receipt,
    Repeat,
    Unit,
    fraction_of,
    identity_of,
    positive,
    root_of,
    whole,
)

if TYPE_CHECKING:
    import pyarrow

_ENOUGH = 3  # a baseline of fewer margins than that says nothing about changes
_METHOD = (
    "On each day the different people at each place were counted, and each count got discrete Gaussian noise. The "
    "published counts are those, or zero where they are negative."
)


class DailySeries:
    """How many different people were at each place on each day, one day after the other.

    A person counts at no more than ``max_places`` places a day, once at each. The whole series of ``days`` days from
    ``first`` on has one budget; each day takes its part, and a day is measured once. ``publish`` makes one day and is
    charged for it; ``publish_all`` makes all days of a series that is over, for one charge. A series cannot be copied:
    two would measure each day twice, under one promise. ``path`` is how a ledger knows the people that the column
    ``unit`` tells apart, if it is another name.

    Guarantee: all days together are (epsilon, delta)-DP for everything about one person (``unit``) in all of them.
    Because: on one day a person moves the vector of counts by at most the root of ``max_places`` in L2 (of twice that
    under replacement); discrete Gaussian noise [CKS20, Thm. 7], repeated ``days`` times and composed exactly. The
    baseline and changes are post-processing, as in [ABC+20].
    Error: each ``noisy`` is within ``margin`` of the number of people who count, with 95% confidence.
    Not covered: running time; visits that are cut because a person was at too many places.

    >>> import pyarrow
    >>> series = DailySeries(places=["park", "shop"], first="2026-01-05", days=7, epsilon=2, delta=1e-6)
    >>> visits = pyarrow.table({"person": range(900), "place": ["park", "shop", "shop"] * 300,
    ...                         "day": [datetime.date(2026, 1, 5)] * 900})
    >>> series.publish(visits, "2026-01-05").column_names
    ['day', 'place', 'count', 'noisy', 'margin']
    """

    def __init__(
        self,
        *,
        places: Sequence[str],
        first: datetime.date | str,
        days: int,
        epsilon: Real,
        delta: Real,
        unit: str = "person",
        path: str | None = None,
        place: str = "place",
        day: str = "day",
        max_places: int = 1,
        neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
        account: AccountLike | None = None,
        dataset: str | None = None,
    ) -> None:
        if not places or len(set(places)) < len(places):
            raise EmptyInput(
                "a series needs a list of different places.",
                why="The places are public and known before a row is read.",
                fix='Write places=["park", "shop"].',
            )
        self.places, self.first, self.days = tuple(places), _read_day(first), whole(days, name="days")
        self.price = ApproximateDP(positive(epsilon, name="epsilon"), fraction_of(delta, name="delta"))
        self.max_places = whole(max_places, name="max_places")
        self._columns = (unit, place, day)
        self._unit = Unit(unit if path is None else path)
        self._neighbours = Neighbours.parse(neighbours)
        self._account, self._dataset = account, dataset
        self._receipts: dict[datetime.date, Receipt | None] = {}
        self._measured: dict[datetime.date, Codes] = {}
        self._ids: tuple[str, ...] = ()  # whose rows did not count, in words
        self._turn = threading.Lock()  # of two threads that ask for one day, one measures

    @cached_property
    def mechanism(self) -> DiscreteGaussian:
        """The noise of one day: as little as the whole series allows."""
        return _daily_noise(self._moved, self._neighbours, self._unit, self.days, self.price)

    @property
    def _moved(self) -> int:
        """How many counts of a day one person moves, by one each."""
        return min(self.max_places, len(self.places)) * (2 if self._neighbours is Neighbours.REPLACE else 1)

    @property
    def event(self) -> Event:
        """The whole series, as it is charged when all its days are."""
        return Repeat(self.mechanism.event, self.days)

    @property
    def margin(self) -> int:
        """How far each noisy count is from the truth, 95 times in 100."""
        return int(self.mechanism.error(0.95))

    @property
    def guarantee(self) -> Guarantee:
        """The promise for all days together."""
        most = f"A person counts at no more than {self.max_places} of the places on one day."
        caveats = [most, *self._ids, AS_GIVEN]
        caveats += ["Charged to no ledger."] if self._account is None else []
        return Guarantee(self.price, self._unit, self._neighbours, tuple(caveats))

    def publish(self, table: TableSource, day: datetime.date | str) -> pyarrow.Table:
        """One day's counts. The same day again gives the same counts, for free."""
        when = self._checked(day)
        self._measure(table, [when], title=f"daily counts of {when.isoformat()}", day=when)
        return self._table(when)

    def publish_all(self, table: TableSource) -> Published:
        """Every day of the series at once, for one charge; ``changes`` may then be asked about any of them.

        Days that were published before keep their counts, and are neither measured nor charged again.
        """
        import pyarrow

        every = [self.first + datetime.timedelta(days=i) for i in range(self.days)]
        self._measure(table, every, title="daily counts")
        days = pyarrow.concat_tables([self._table(when) for when in every])
        receipt = self._receipts[every[-1]]
        return Published({"daily": days}, self.guarantee, receipt, self.event, {"daily": self.margin}, _METHOD)

    def _measure(
        self, table: TableSource, days: Sequence[datetime.date], *, title: str, day: datetime.date | None = None
    ) -> None:
        """Measure those of the days that have not been: each day once, whoever asks and how often."""
        private = self._private(table)
        with self._turn:
            left = [when for when in days if when not in self._measured]
            if not left:
                return
            some = {} if len(left) == len(days) else {"days": [when.isoformat() for when in left]}
            facts = table_facts(
                Repeat(self.mechanism.event, len(left)) if day is None else self.mechanism.event,
                size=64 + len(left) * (8 + 24 * len(self.places)),
                delta=self.price.delta * len(left) / self.days,
                job="daily",
                title=title,
                dataset=self._dataset,
                parts={**self._told(day), **some},
            )
            text, receipt = release_job(
                TableJob(facts, lambda: json.dumps(self._noisy_days(private, left))), self._account
            )
            for when, counts in zip(
                left, np.array(json.loads(text), dtype=np.int64).reshape(len(left), -1), strict=True
            ):
                self._measured[when], self._receipts[when] = counts, receipt

    def _private(self, table: TableSource) -> Unread:
        private = unread_of(table)
        check_columns(private.schema, self._columns)
        self._ids = tuple(dict.fromkeys([*self._ids, *private.id_caveats(self._columns[0])]))
        return private

    def _visits(self, private: Unread) -> Visits:
        return Visits.of(private.read(), self._columns, self.places)

    def _noisy_days(self, private: Unread, days: Sequence[datetime.date]) -> list[list[int]]:
        visits = self._visits(private)
        return [self._noisy(visits, when) for when in days]

    def _noisy(self, visits: Visits, when: datetime.date) -> list[int]:
        counts: list[int] = np.asarray(self.mechanism.release(visits.counts(when, most=self.max_places))).tolist()
        return counts

    def _told(self, when: datetime.date | None = None) -> dict[str, Any]:
        """What makes the request for a day, or for all, different from all others, besides its event."""
        unit, place, day = self._columns
        return {
            **({} if when is None else {"day": when.isoformat()}),
            "columns": {"unit": unit, "place": place, "day": day},
            "places": identity_of(list(self.places)),
            "max_places": self.max_places,
            "series": [self.first.isoformat(), self.days],
        }

    def receipt(self, day: datetime.date | str) -> Receipt | None:
        """The proof that a published day was charged."""
        return self._receipts[self._published(day)]

    def changes(self, day: datetime.date | str, *, baseline: Iterable[datetime.date | str]) -> pyarrow.Table:
        """By how many percent a day differs from the median of the same weekday among the days of the baseline.

        Free: it is worked out from published counts. Where the baseline is lost in noise there is no number.
        """
        import pyarrow

        when = self._published(day)
        same = [d for d in map(self._published, baseline) if d.weekday() == when.weekday()]
        if not same:
            raise OutOfRange(
                "no day of the baseline falls on the same day of the week.",
                why="A Monday is compared with Mondays.",
                fix="Publish at least one week as a baseline.",
            )
        usual = np.median([self._measured[d] for d in same], axis=0)
        clear = usual >= _ENOUGH * self.margin
        percent = np.divide(100.0 * (self._measured[when] - usual), usual, where=clear, out=np.zeros_like(usual))
        spread = np.divide(100.0 * self.margin, usual, where=clear, out=np.zeros_like(usual))
        columns = {
            "change": percent,
            "margin": spread * (1 + np.abs(1 + percent / 100)),
        }  # of the day, and of the usual
        shown = {name: pyarrow.array(np.round(values, 1), mask=~clear) for name, values in columns.items()}
        usuals = pyarrow.array(np.round(usual).astype(np.int64), mask=~clear)
        days = [when] * len(self.places)
        return pyarrow.table({"day": days, "place": list(self.places), "usual": usuals, **shown})

    def _table(self, when: datetime.date) -> pyarrow.Table:
        import pyarrow

        noisy = self._measured[when]
        return pyarrow.table(
            {
                "day": [when] * len(noisy),
                "place": list(self.places),
                "count": np.maximum(noisy, 0),
                "noisy": noisy,
                "margin": np.full(len(noisy), self.margin),
            }
        )

    def _checked(self, day: datetime.date | str) -> datetime.date:
        when = _read_day(day)
        if not 0 <= (when - self.first).days < self.days:
            last = self.first + datetime.timedelta(days=self.days - 1)
            raise OutOfRange(
                f"{when.isoformat()} is outside the series, {self.first.isoformat()} to {last.isoformat()}.",
                why="The budget was split among the days that were planned.",
                fix="Plan another series, with a budget of its own.",
            )
        return when

    def _published(self, day: datetime.date | str) -> datetime.date:
        when = self._checked(day)
        if when not in self._measured:
            raise OutOfRange(
                f"{when.isoformat()} has not been published.",
                why="Changes are worked out from published counts alone.",
                fix=f'Call publish(table, "{when.isoformat()}") first.',
            )
        return when


@lru_cache(maxsize=64)
def _daily_noise(moved: int, neighbours: Neighbours, unit: Unit, days: int, price: ApproximateDP) -> DiscreteGaussian:
    """The least noise on each day at which all days together are within the price."""

    def daily(sigma: Fraction) -> DiscreteGaussian:
        return DiscreteGaussian(sensitivity=root_of(moved), sigma=sigma, neighbours=neighbours, unit=unit)

    together = math.sqrt(days * moved)
    return daily(least_noise(lambda sigma: Repeat(daily(sigma).event, days), together, price, neighbours))


def _read_day(value: datetime.date | str) -> datetime.date:
    if isinstance(value, datetime.date):
        return value
    try:
        return datetime.date.fromisoformat(str(value))
    except ValueError:
        raise OutOfRange(f"{value!r} is no day.", why="Days are dates.", fix='Write "2026-01-05".') from None
