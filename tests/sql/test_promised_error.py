"""``within`` for an average: the error holds wherever the average lies, and the price is hardly more than it takes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy
import pyarrow
import pytest

from hubbub.accounting import Currency, Limit
from hubbub.schema.tables import Column, Dataset, Kind, PersonLink, Table
from hubbub.sql import answer
from hubbub.sql.compiler.query_plan import NoiseKind
from hubbub.sql.measurement import NoisyResult
from hubbub.sql.pricing.price import PriceTerms
from hubbub.sql.pricing.price_for_error import price_within
from hubbub.sql.quote import QueryPlan, QueryQuote, plan_kinds, quote_plan
from hubbub.terms import Budget
from tests.sql._exact import engine_over, read_exactly

PEOPLE, RUNS = 2_000, 4_000
DATASET = Dataset(
    name="d",
    population="d",
    unit="t.pid",
    budget=Budget(9, 1e-5),
    tables=(
        Table(
            name="t",
            source="",
            columns=(
                Column(name="pid", kind=Kind.INTEGER),
                Column(name="x", kind=Kind.NUMBER, lower=Fraction(0), upper=Fraction(100), step=Fraction(1, 10)),
            ),
            link=PersonLink("pid"),
            max_rows_per_unit=1,
        ),
    ),
)
LIMIT = Limit(Budget(9, 1e-5), Currency.EITHER)


def planned(noise: str) -> QueryPlan:
    """Laplace noise on two parts, or either noise on a centred sum and a count."""
    kind = NoiseKind.GAUSSIAN if noise == "gaussian" else NoiseKind.LAPLACE
    plans = plan_kinds("SELECT AVG(x) AS a FROM t", DATASET, [kind], totals={}, clipping=False)
    return plans[-1 if noise == "laplace parts" else 0]


def quote_for(plan: QueryPlan, within: float) -> QueryQuote:
    return quote_plan(*price_within(plan, PriceTerms(within=within, assume=PEOPLE), LIMIT))


def strayed(quote: QueryQuote, value: float) -> Any:
    """By how much the released average is off, run by run, if everybody has that value."""
    types = {"pid": pyarrow.int64(), "x": pyarrow.float64()}
    engine = engine_over({"t": (types, [(i, value) for i in range(PEOPLE)])})
    [exact] = read_exactly(engine, quote.planned)
    generator = numpy.random.default_rng(7)
    measures = []
    for place, measure in enumerate(exact.measures):
        [true] = measure.values()
        drawn = quote.spent[0].noise(place).draw(generator, (RUNS,))
        measures.append(tuple(int(true + noise) for noise in drawn))
    runs = NoisyResult(((),) * RUNS, tuple(measures), ())
    values = answer.release(quote, [runs], None, "", repeated=False)["a"].values
    return numpy.array([numpy.nan if each is None else abs(each - value) for each in values])


@pytest.mark.parametrize("noise", ["laplace", "laplace parts", "gaussian"])
@pytest.mark.parametrize("value", [0.0, 3.0, 50.0, 100.0])
@pytest.mark.parametrize("within", [1.0, 20.0])
def test_an_average_keeps_within_its_promise_wherever_it_lies(noise: str, value: float, within: float) -> None:
    kept = strayed(quote_for(planned(noise), within), value) <= within
    assert kept.mean() >= 0.95 - 2 * (0.05 * 0.95 / RUNS) ** 0.5


@pytest.mark.parametrize("noise", ["laplace", "laplace parts", "gaussian"])
def test_a_promise_costs_no_more_than_it_takes(noise: str) -> None:
    """Near an end of the bounds, and not so near that clamping to them takes errors away."""
    assert numpy.quantile(strayed(quote_for(planned(noise), 1.0), 3.0), 0.95) > 0.9
