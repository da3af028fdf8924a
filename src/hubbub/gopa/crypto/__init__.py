"""Commitments and proofs on ristretto255: Pedersen, Schnorr, bits, inner products, sums of squares, secret shares.

``ristretto`` is the group, ``pedersen`` commits, the proofs stand on ``transcript``; ``accelerator`` only makes them
faster. Start with ``pedersen``, then ``bit_proof``.
"""

__all__: list[str] = []  # from outside: hubbub.gopa
