"""Run by a peer's own interpreter: ``PEER METHOD IN.csv DOMAIN.json OUT.csv``; prints the processor seconds of the fit.

The peer gets the same coded table, the same public domain and the same epsilon and delta as we do.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

EPSILON, DELTA = 1.0, 1e-9


def dpmm(method: str, table: object, sizes: dict[str, int]) -> object:
    """dpmm without its private binning: the table is coded already, and all the budget is the model's."""
    import numpy
    from dpmm.models.aim import AIMGM
    from dpmm.models.mst import MSTGM

    kind = {"mst": MSTGM, "aim": AIMGM}[method]
    model = kind(
        epsilon=EPSILON, delta=DELTA, domain=sizes, n_jobs=1, **({"max_model_size": 1} if method == "aim" else {})
    )
    model.set_random_state(numpy.random.RandomState())
    model.set_domain(sizes)
    model.fit(table)
    return model.generate(n_records=len(table))  # type: ignore[arg-type]


def smartnoise(method: str, table: object, sizes: dict[str, int]) -> object:
    """smartnoise-synth with every column a category of the public domain."""
    from snsynth import Synthesizer

    made = Synthesizer.create(method, epsilon=EPSILON, delta=DELTA)
    return made.fit_sample(table, categorical_columns=list(sizes), preprocessor_eps=0.0)


def main() -> None:
    """Read, fit, write."""
    import pandas

    peer, method, source, domain, target = sys.argv[1:]
    table = pandas.read_csv(source)
    sizes = json.loads(Path(domain).read_text(encoding="utf-8"))
    made = {"dpmm": dpmm, "smartnoise-synth": smartnoise}[peer](method, table, sizes)
    made.to_csv(target, index=False)  # type: ignore[attr-defined]
    own, below = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    print("SECONDS", own.ru_utime + own.ru_stime + below.ru_utime + below.ru_stime)


if __name__ == "__main__":
    main()
