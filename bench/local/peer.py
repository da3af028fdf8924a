"""``python peer.py <library> <seconds>`` in a peer's own environment: one JSON line for each protocol and domain.

``client`` and ``server`` are microseconds per report, ``nmse`` is n times the mean squared error of the shares. Peers
loop in Python, so they get as many people as fit into the time.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from crowd import squared_error, zipf

EPSILON = 1.0
Protocol = tuple[Callable[[int], object], Callable[[list], np.ndarray]]  # a client, and all of the server's work


def pure(domain: int) -> Iterator[tuple[str, Callable[[], Protocol]]]:
    """pure-ldp."""
    from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
    from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer
    from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
    from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

    def same(value: int) -> int:
        return value

    def made(server, client) -> Protocol:
        def decode(reports: list) -> np.ndarray:
            for report in reports:
                server.aggregate(report)
            return np.array([server.estimate(v, suppress_warnings=True) for v in range(domain)]) / server.n

        return client.privatise, decode

    def hadamard() -> Protocol:
        server = HadamardResponseServer(EPSILON, domain, index_mapper=same)
        return made(server, HadamardResponseClient(EPSILON, domain, server.get_hash_funcs(), index_mapper=same))

    both = {"index_mapper": same}
    yield "kary", lambda: made(DEServer(EPSILON, domain, **both), DEClient(EPSILON, domain, **both))
    yield "hadamard", hadamard
    if domain <= 1000:
        best = {**both, "use_oue": True}
        yield "unary", lambda: made(UEServer(EPSILON, domain, **best), UEClient(EPSILON, domain, **best))
        best_hash = {**both, "use_olh": True}
        yield "hashing", lambda: made(LHServer(EPSILON, domain, **best_hash), LHClient(EPSILON, domain, **best_hash))


def several(domain: int) -> Iterator[tuple[str, Callable[[], Protocol]]]:
    """multi-freq-ldpy; its estimates are clipped and scaled."""
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

    yield (
        "kary",
        lambda: (lambda v: GRR_Client(v, domain, EPSILON), lambda reports: GRR_Aggregator_MI(reports, domain, EPSILON)),
    )
    if domain <= 1000:
        yield (
            "unary",
            lambda: (
                lambda v: UE_Client(v, domain, EPSILON, True),
                lambda reports: UE_Aggregator_MI(reports, EPSILON, True),
            ),
        )
        yield (
            "hashing",
            lambda: (
                lambda v: LH_Client(v, domain, EPSILON, True),
                lambda reports: LH_Aggregator_MI(reports, domain, EPSILON, True),
            ),
        )


def opendp(domain: int) -> Iterator[tuple[str, Callable[[], Protocol]]]:
    """OpenDP's randomized response, exact and from a secure source as ours is."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    odds = math.exp(EPSILON)
    keep, other = odds / (odds + domain - 1), 1 / (odds + domain - 1)

    def decode(reports: list) -> np.ndarray:
        return (np.bincount(reports, minlength=domain) / len(reports) - other) / (keep - other)

    yield "kary", lambda: (dp.m.make_randomized_response(list(range(domain)), keep), decode)


LIBRARIES = {"pure-ldp": pure, "multi-freq-ldpy": several, "opendp": opendp}


def main() -> None:
    """Measure one library."""
    library, patience = sys.argv[1], float(sys.argv[2])
    for domain in (1000, 100_000):
        values = zipf(100_000, domain)
        for protocol, make in LIBRARIES[library](domain):
            try:
                told = measure(make, values, patience)
            except Exception as problem:  # a peer that fails is told, not left out
                told = {"reason": f"{type(problem).__name__}: {problem}"[:120]}
            print(json.dumps({"protocol": protocol, "domain": domain, **told}), flush=True)


def measure(make: Callable[[], Protocol], values: np.ndarray, patience: float) -> dict[str, float]:
    """Processor time of clients and server for as many people as fit."""
    client, decode = make()
    few = [client(int(v)) for v in values[:3]]
    start = time.process_time()
    few = [client(int(v)) for v in values[:10]]
    decode(few)
    people = int(min(len(values), max(50, 10 * patience / max(time.process_time() - start, 1e-6))))
    client, decode = make()
    start = time.process_time()
    reports = [client(int(v)) for v in values[:people]]
    middle = time.process_time()
    estimate = decode(reports)
    end = time.process_time()
    per = 1e6 / people
    nmse = squared_error(values[:people], estimate)
    return {"people": people, "client": (middle - start) * per, "server": (end - middle) * per, "nmse": nmse}


if __name__ == "__main__":
    main()
