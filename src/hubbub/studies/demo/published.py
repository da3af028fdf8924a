"""Chapter: a table that has to be handed out, in three ways, with what each is worth and what it gives away."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hubbub import attacks, publish
from hubbub.render import Section, TextTable, percent
from hubbub.studies.demo.hospital import Hospital

if TYPE_CHECKING:
    import pyarrow

    from hubbub.publish import UtilityComparison

PATIENTS, PUBLIC = 4000, 10_000
KNOWN, SECRET = ("age", "zip", "gender"), "diagnosis"
K = 10
EPSILON, DELTA = 1, 1e-6
ZIPS, DIAGNOSES = tuple(f"123{i:02d}" for i in range(20)), ("asthma", "flu", "gout", "injury")
DOMAIN: Mapping[str, publish.Numeric | publish.Categorical] = {
    "age": publish.Numeric(lower=18, upper=94, bins=7),
    "zip": publish.Categorical(ZIPS),
    "gender": publish.Categorical(["f", "m"]),
    SECRET: publish.Categorical(DIAGNOSES),
}
RAW, ALIKE, MADE_UP = "without names", f"{K}-anonymous", "made up, private"


@dataclass(frozen=True, slots=True)
class Handed:
    """What came of it."""

    named: dict[str, attacks.Linkage]
    exposed: dict[str, attacks.Homogeneity]
    worth: UtilityComparison


def chapter(hospital: Hospital) -> Section:
    """Publish three times, link, and compare."""
    tables = publish_three_ways()
    alike, worth = tables.exposed[ALIKE], tables.worth
    return Section(
        "12. A table to hand out",
        (
            f"A university wants rows, not answers. {PATIENTS:,} patients without names: a public list with "
            f"{', '.join(KNOWN)} names {percent(tables.named[RAW].share)} of them. Made alike, so that at least {K} "
            "rows "
            f"agree ({percent(worth[ALIKE].partition.gcp)} of the detail is gone), it names "  # type: ignore[union-attr]
            f"{tables.named[ALIKE].matched}; but {alike.exposed:,} people share their {SECRET} with everybody in their "
            "class, which is all an attacker needs.",
            f"Made-up rows promise more: they are drawn from noisy counts that cost epsilon = {EPSILON}. A row that "
            "fits one patient is nobody's row.",
            "What are they worth? Public rows of other people say it, for free: of 100 rows, so many would have to be "
            "moved to make pairs of columns agree. A second real sample is not at 0 either; a table whose columns are "
            "right one by one and independent is what one gets without trying. `hubbub publish` does all this with a "
            "file, by six methods side by side, and attacks each.",
        ),
        TextTable(
            ("table", "rows that get a name", "certain about their secret", "rows to move, of 100"),
            (
                _table_row(tables, RAW),
                _table_row(tables, ALIKE),
                (MADE_UP, "nobody's rows", "-", _format_distance(worth, MADE_UP)),
                *((one.name, "", "", _format_distance(worth, one.name)) for one in worth.baselines),
            ),
        ),
    )


def publish_three_ways() -> Handed:
    """The same patients in three ways."""
    chance = random.Random(1997)  # noqa: S311 - invents people, protects nobody
    rows, others = made_up(chance, PATIENTS), made_up(chance, PUBLIC)
    alike = publish.mondrian(rows, quasi_identifiers=KNOWN, k=K)
    synthetic = publish.synthesize(rows, epsilon=EPSILON, delta=DELTA, domain=DOMAIN, method="mst")
    roll = rows.select(KNOWN)
    asked = {"quasi_identifiers": KNOWN, "sensitive": SECRET}
    return Handed(
        {
            RAW: attacks.link(rows, roll, on=KNOWN),
            ALIKE: attacks.link(alike.table, roll, on=KNOWN, generalized=True),
        },
        {RAW: attacks.homogeneity(rows, **asked), ALIKE: attacks.homogeneity(alike.table, **asked)},  # type: ignore[arg-type]
        publish.compare({RAW: rows, ALIKE: alike, MADE_UP: synthetic}, holdout=others, domain=DOMAIN, widths=(1, 2)),
    )


def made_up(chance: random.Random, count: int) -> pyarrow.Table:
    """People of whom the old have gout, and the young injuries, by far the most often."""
    import pyarrow

    ages = [chance.randint(18, 94) for _ in range(count)]
    weights = [(1, 1, 40, 1) if age > 75 else (3, 4, 2, 3) if age > 35 else (2, 3, 0, 5) for age in ages]
    return pyarrow.table(
        {
            "age": ages,
            "zip": [chance.choice(ZIPS) for _ in ages],
            "gender": [chance.choice("fm") for _ in ages],
            SECRET: [chance.choices(DIAGNOSES, each)[0] for each in weights],
        }
    )


def _table_row(tables: Handed, name: str) -> tuple[str, str, str, str]:
    named, exposed = tables.named[name], tables.exposed[name]
    return name, percent(named.share), percent(exposed.exposed / PATIENTS), _format_distance(tables.worth, name)


def _format_distance(worth: UtilityComparison, name: str) -> str:
    return f"{100 * worth[name]['tvd2_mean']:.1f}"
