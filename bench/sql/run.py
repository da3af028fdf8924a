"""``python -m bench.sql.run PEER QUESTION PATH TIMES``: one peer, one question, one process; prints JSON.

It runs in the peer's own interpreter, so it imports nothing but the standard library and the peer's adapter.
"""

from __future__ import annotations

import importlib
import json
import sys

from bench.sql.measured import measure, peak_megabytes


def main() -> None:
    """Load, ask so many times, and say what each time took."""
    peer, question, path, times = sys.argv[1:]
    name, _, plan = peer.partition(":")
    adapter = importlib.import_module(f"bench.sql.peers.{name}").Peer(*filter(None, [plan]))
    loading, _ = measure(lambda: adapter.load(path))
    idle = peak_megabytes()
    work = getattr(adapter, question, None)
    if work is None:
        print(json.dumps({"reason": "cannot express it"}))
        return
    measured = [measure(work) for _ in range(int(times))]
    taken, answers = zip(*measured, strict=True)
    answer = answers[-1] if isinstance(answers[-1], dict) else {}
    kept = {str(key): [float(number) for number in numbers] for key, numbers in answer.items()}
    found = {"load": loading, "taken": taken, "idle_mb": idle, "peak_mb": peak_megabytes(), "answer": kept}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
