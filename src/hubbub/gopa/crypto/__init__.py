"""Commitments and proofs on ristretto255: Pedersen, Schnorr, bits, inner products, sums of squares, secret shares.

``ristretto`` is the group, ``pedersen`` commits, the proofs stand on ``transcript`` and end in ``point_equations``;
``accelerator`` only makes them faster. Nothing here knows the protocol. What is used from outside of
the room comes by ``hubbub.gopa``. Start with ``pedersen``, then ``bit_proof``.
"""

__all__: list[str] = []  # from outside: hubbub.gopa
