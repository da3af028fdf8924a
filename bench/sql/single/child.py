"""``python -m bench.sql.single.child PEER PATH``: the laws of all questions and some real answers; prints JSON.

It runs in the peer's own interpreter, so it imports nothing but the standard library and the peer's adapter.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable

from bench.sql import single


def main() -> None:
    """Ask for every law, and for one answer by most keys of each measure."""
    name, path = sys.argv[1:]
    peer = importlib.import_module(f"bench.sql.single.{name}").Peer()
    peer.load(path)
    laws, answers = {}, {}
    for measure in single.MEASURES:
        for keys in single.KEYS:
            for epsilon in single.EPSILONS:
                laws[f"{measure}|{keys}|{epsilon}"] = _or_reason(lambda m=measure, k=keys, e=epsilon: peer.law(m, k, e))
        answers[measure] = _or_reason(lambda m=measure: {k: float(v) for k, v in peer.answer(m, 5000, "1").items()})
    if hasattr(peer, "share"):
        for measure, keys in dict.fromkeys((measure, keys) for measure, keys, _ in single.FIFTY):
            laws[f"{measure}|{keys}|share"] = _or_reason(lambda m=measure, k=keys: peer.share(m, k))
    print(json.dumps({"laws": laws, "answers": answers}))


def _or_reason(work: Callable[[], dict[str, object]]) -> dict[str, object]:
    try:
        return work()
    except Exception as error:  # whatever a peer raises is its answer
        return {"reason": f"{type(error).__name__}: {error}"[:200]}


if __name__ == "__main__":
    main()
