"""``python partitions_peer.py <folder>`` in the peers' environment: seconds and results, as one JSON line.

The folder holds ``people.csv`` and ``task.json``: quasi-identifiers, hierarchies, k, suppression, sensitive columns.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
import warnings
from pathlib import Path

import pandas as pd
from anjana.anonymity import k_anonymity
from pycanon import anonymity


def timed(work):
    """Processor time and result of one call."""
    start = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        result = work()
    return time.process_time() - start, result


def hierarchy(steps, kind):
    """Level by level, with the values themselves as the data have them."""
    return {level: pd.Series([kind(value) for value in of] if level == 0 else of) for level, of in enumerate(steps)}


def levels(made, steps, names):
    """The level of each column in what was made."""
    shown = {name: {str(value) for value in made[name]} for name in names}
    return [next(i for i, of in enumerate(steps[name]) if shown[name] <= set(of)) for name in names]


def main():
    """Check the raw table, anonymize it, check what came out."""
    warnings.filterwarnings("ignore")
    folder = Path(sys.argv[1])
    task, people = json.loads((folder / "task.json").read_text()), pd.read_csv(folder / "people.csv", na_filter=False)
    names, steps, secrets = task["names"], task["hierarchies"], task["sensitive"]
    trees = {name: hierarchy(steps[name], int if people[name].dtype.kind == "i" else str) for name in names}
    found = {
        "k": timed(lambda: int(anonymity.k_anonymity(people, names))),
        "l": timed(lambda: int(anonymity.l_diversity(people, names, secrets[:1]))),
    }
    seconds, made = timed(lambda: k_anonymity(people, [], names, task["k"], 100 * task["suppression"], trees))
    found["anonymize"] = (seconds, [levels(made, steps, names), len(people) - len(made)])
    made.to_csv(folder / "made.csv", index=False)
    found["k of that"] = timed(lambda: int(anonymity.k_anonymity(made, names)))
    found["l of that"] = timed(lambda: int(anonymity.l_diversity(made, names, secrets[:1])))
    for i, secret in enumerate(secrets):
        found[f"t of that {i}"] = timed(lambda secret=secret: float(anonymity.t_closeness(made, names, [secret])))
    print(json.dumps(found))


main()
