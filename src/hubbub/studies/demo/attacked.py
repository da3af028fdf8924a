"""Chapter: the same patients attacked in three ways, exact and private, and our own noise audited."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hubbub import attacks, audit, publish
from hubbub.mechanisms import Gaussian, Geometric
from hubbub.render import Section, TextTable, out_of_100
from hubbub.studies.demo.hospital import Hospital

KNOWN = ("age", "zip", "gender")
CHRONIC = ("asthma", "diabetes")  # half of the patients: a blind guess is right for about 50 out of 100
K = 10
PEOPLE = 100  # whose diagnosis is reconstructed from four counts each
EPSILON, DELTA = 1, 1e-6
TRIALS = 50_000


@dataclass(frozen=True, slots=True)
class Attacked:
    """What came of each attack."""

    linked: attacks.Linkage
    grouped: attacks.Linkage
    exact: attacks.Reconstruction
    private: attacks.Reconstruction
    kept: float  # the epsilon that an audit could show of our noise
    broken: float  # and of the same noise with half its scale


def chapter(hospital: Hospital) -> Section:
    """Link, reconstruct, and audit."""
    results = run_attacks(hospital)
    assert results.exact.right is not None and results.private.right is not None
    return Section(
        "9. Attacked and audited",
        (
            f"The hospital hands out its table without names. A public list with {', '.join(KNOWN)} puts names to "
            f"{results.linked.matched:,} of {results.linked.rows:,} rows. With ranges in their place, so that at "
            f"least {K} rows look alike, it names {results.grouped.matched}; `hubbub attack` shows what such tables "
            "still tell.",
            f"Then it answers only counts: {results.exact.questions} of them, each about some half of {PEOPLE} "
            f"patients. Exact ones give away who is chronically ill, for {out_of_100(results.exact.right)} patients. "
            f"With noise of one budget for all (epsilon = {EPSILON}) a guess is right for "
            f"{out_of_100(results.private.right)}: what a coin gets.",
            f"Last, our own noise is put to the test, {TRIALS:,} times on two neighbouring inputs. It promises epsilon "
            f"= 1, and no more than {results.kept:.2f} could be shown. Half the noise under the same promise is found "
            f"out: at least {results.broken:.2f}.",
        ),
        TextTable(
            ("attack", "without protection", "with it"),
            (
                (
                    "names for rows",
                    f"{results.linked.share:.0%} of rows",
                    f"{results.grouped.share:.0%} ({K}-anonymous)",
                ),
                (
                    "who is chronically ill, from counts",
                    f"{results.exact.right:.0%} right",
                    f"{results.private.right:.0%} right",
                ),
                ("epsilon by an audit (1 promised)", f"at least {results.broken:.2f}", f"at least {results.kept:.2f}"),
            ),
        ),
    )


def run_attacks(hospital: Hospital) -> Attacked:
    """Every attack, on the made-up patients."""
    linked, grouped = _link_patients(hospital)
    exact, private = _reconstruct_illness(hospital)
    return Attacked(linked, grouped, exact, private, _audit_count(EPSILON), _audit_count(2 * EPSILON))


def _link_patients(hospital: Hospital) -> tuple[attacks.Linkage, attacks.Linkage]:
    import pyarrow

    rows = pyarrow.table({name: [getattr(p, name) for p in hospital.patients] for name in (*KNOWN, "diagnosis")})
    roll = rows.select(KNOWN).append_column("name", pyarrow.array([p.name for p in hospital.patients]))
    coarse = publish.mondrian(rows, quasi_identifiers=KNOWN, k=K).table
    return (
        attacks.link(rows, roll, on=KNOWN, identity="name"),
        attacks.link(coarse, roll, on=KNOWN, identity="name", generalized=True),
    )


def _reconstruct_illness(hospital: Hospital) -> tuple[attacks.Reconstruction, attacks.Reconstruction]:
    """Chronically ill or not, from random counts: one person may be in all, so they move by sqrt(questions)."""
    secret = np.array([patient.diagnosis in CHRONIC for patient in hospital.patients[:PEOPLE]], dtype=np.int64)
    queries = attacks.random_subsets(PEOPLE, 4 * PEOPLE)
    counts = queries @ secret
    noise = Gaussian(sensitivity=len(counts) ** 0.5, epsilon=EPSILON, delta=DELTA, dimension=len(counts))
    noisy = np.asarray(noise.release(counts))
    return (
        attacks.Reconstruction.of(queries, counts, truth=secret),
        attacks.Reconstruction.of(queries, noisy, truth=secret, epsilon=EPSILON, delta=DELTA),
    )


def _audit_count(epsilon: float) -> float:
    """What an audit can show of a noisy count whose noise is that for ``epsilon``."""
    count = Geometric(sensitivity=1, epsilon=epsilon, dimension=TRIALS)
    return audit.lower_bound(
        lambda people, size: count.release(np.full(size, people)), 100, 101, trials=TRIALS, vectorized=True
    )
