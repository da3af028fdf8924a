"""``python -m bench.sql.often PEER PATH EPSILON SECONDS``: one peer's answers to Q1 to Q4, as often as time allows.

It runs in the peer's own interpreter, so it imports nothing but the standard library and the peer's adapter.
"""

from __future__ import annotations

import importlib
import json
import sys
import time

from bench.sql import peers

QUESTIONS = {"total": "Q1", "counts": "Q2", "sums": "Q3", "quantiles": "Q4"}
FREE = "1e6"  # an epsilon at which noise is nothing: what bounding leaves
MOST = 40


def main() -> None:
    """Answers, and where the peer tells them the scales of its noise."""
    name, path, epsilon, seconds = sys.argv[1:]
    peers.EPSILON = float(epsilon)  # before the adapter is read, which takes it for its default
    peer = importlib.import_module(f"bench.sql.peers.{name}").Peer()
    peer.load(path)
    found = {}
    for question in QUESTIONS:
        ask, scales, answers = getattr(peer, question, None), getattr(peer, "scales", None), []
        end = time.perf_counter() + float(seconds)
        while ask is not None and (not answers or (time.perf_counter() < end and len(answers) < MOST)):
            answers.append({key: list(map(float, numbers)) for key, numbers in ask().items()})
        if answers:
            found[question] = {"answers": answers, "scales": scales(question) if scales else None}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
