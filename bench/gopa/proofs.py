"""What the proofs of a GOPA run cost one party and one verifier, with the C code and with libsodium alone."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from bench.rows import Row, side_by_side
from hubbub.gopa import Context, ProofShape, verify_many
from hubbub.gopa.crypto import bit_proof, multi_scalar, point_equations

SHAPES = {
    64: ProofShape(coordinates=1, steps=100, noise_bits=57),
    128: ProofShape(coordinates=1, steps=31, noise_bits=123),
}
PROVE = {64: 30.0, 128: 60.0}  # milliseconds
VERIFY, BYTES, SLOWER = 1.5, 1000, 10
BATCH = 32
HERE = Context(run=b"bench", party=b"ann", phase="share")


def rows(quick: bool) -> list[Row]:
    rounds = 3 if quick else 9
    found = [row for size, shape in SHAPES.items() for row in _costs(size, shape, rounds, 1, "")]
    with _libsodium_alone():
        found += [row for size, shape in SHAPES.items() for row in _costs(size, shape, 3, SLOWER, ", libsodium alone")]
    return found


def _costs(size: int, shape: ProofShape, rounds: int, slower: int, label: str) -> list[Row]:
    coins = [secrets.randbits(1) for _ in range(shape.coins)]
    bound = bit_proof.bind(shape, [3], secrets.token_bytes(32))
    proved = bit_proof.prove(bound, coins, HERE)
    claims = [bit_proof.BitClaim(shape, bound.point, coins, proved.statement, proved.proof, HERE)] * BATCH
    times = side_by_side(
        {
            "bind": lambda: bit_proof.bind(shape, [3], secrets.token_bytes(32)),
            "prove": lambda: bit_proof.prove(bound, coins, HERE),
            "verify": lambda: verify_many(claims[:1]),
            "batch": lambda: verify_many(claims),
        },
        rounds=rounds,
    )
    note = f"bind {times['bind'] * 1e3:.1f} ms before; {multi_scalar.accelerator() or 'no accelerator'}"
    alone = f"{times['verify'] * 1e3:.1f} ms alone"
    each = times["batch"] / BATCH * 1e3
    found = [
        Row(f"prove {size} bits{label}", times["prove"] * 1e3, "ms", slower * PROVE[size], "lower", note),
        Row(f"verify {size} bits, each of {BATCH}{label}", each, "ms", slower * VERIFY, "lower", alone),
    ]
    return found if label else [*found, Row(f"proof of {size} bits", len(proved.proof), "B", BYTES, "lower")]


@contextmanager
def _libsodium_alone() -> Iterator[None]:
    kept = multi_scalar.native
    multi_scalar.native = lambda: None
    point_equations.generator_basis.cache_clear()
    try:
        yield
    finally:
        multi_scalar.native = kept
        point_equations.generator_basis.cache_clear()
