"""``python adult_peer.py <peer> <features.npz> <seeds>`` in the peer's environment: accuracies, as one JSON line."""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np


def diffprivlib(kept, epsilon):
    from diffprivlib.models import LogisticRegression

    model = LogisticRegression(epsilon=epsilon, data_norm=float(kept["norm"]))
    return model.fit(kept["people"], kept["y"]).predict(kept["test"])


def interpret(kept, epsilon):
    """Its documented use: bounds and delta are public, everything else is left at its default."""
    from interpret.privacy import DPExplainableBoostingClassifier

    numbers, columns = int(kept["numbers"]), kept["coded"].shape[1]
    model = DPExplainableBoostingClassifier(
        epsilon=epsilon,
        delta=float(kept["delta"]),
        feature_types=["continuous"] * numbers + ["nominal"] * (columns - numbers),
        privacy_bounds={j: tuple(kept["bounds"][j]) for j in range(numbers)},
    )
    return model.fit(kept["coded"], kept["y"].astype(int)).predict(kept["coded_test"]).astype(bool)


def main():
    """Fit once per seed and epsilon."""
    warnings.filterwarnings("ignore")
    fitted = {"diffprivlib": diffprivlib, "interpret-core": interpret}[sys.argv[1]]
    with np.load(sys.argv[2]) as stored:
        kept = dict(stored)
    found = {
        name: [float(np.mean(fitted(kept, float(name)) == kept["truth"])) for _ in range(int(sys.argv[3]))]
        for name in ("1", "0.1")
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
