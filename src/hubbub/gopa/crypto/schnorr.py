"""Proofs of knowledge of one scalar [Sch91], and of the same scalar under two points [CP92].

``prove_zero`` shows that a commitment holds zero: that two commitments hold the same value (their difference), or that
the coordinates of a one-hot vector sum to one (their sum less G). ``prove_same`` shows that a Diffie-Hellman point
belongs to a key, without giving the key away.

    >>> from hubbub.gopa import Context, pedersen, ristretto, schnorr
    >>> context = Context(run=b"run", party=b"ann", phase="share")
    >>> difference = ristretto.minus(pedersen.commit(3, 40), pedersen.commit(3, 5))
    >>> schnorr.verify_zero(difference, schnorr.prove_zero(difference, 35, context), context)
    True
"""

from __future__ import annotations

from dataclasses import dataclass

from hubbub.gopa.crypto.point_equations import Equation, all_hold, random_weight
from hubbub.gopa.crypto.ristretto import (
    ORDER,
    H,
    base,
    decode_scalar,
    encode_scalar,
    look_like_points,
    times,
    times_known,
)
from hubbub.gopa.crypto.transcript import Context, Transcript

# ---------------------------------------------------------------- a commitment to zero


def prove_zero(point: bytes, blinder: int, context: Context) -> bytes:
    """A proof, 64 bytes, that ``point = blinder * H``: a commitment to zero whose blinder the prover knows."""
    transcript = _zero_transcript(point, context)
    nonce = transcript.stream("nonce", encode_scalar(blinder)).scalar()
    first = times_known(nonce, H)
    answer = nonce + transcript.append("first", first).challenge("e") * blinder
    return first + encode_scalar(answer)


def _zero_transcript(point: bytes, context: Context) -> Transcript:
    return Transcript(context).append("zero", point)


@dataclass(frozen=True)
class ZeroClaim:
    """For `verify_many`."""

    point: bytes
    proof: bytes
    context: Context

    def equation(self) -> Equation | None:
        if not isinstance(self.proof, bytes) or len(self.proof) != 64:
            return None
        first, answer = self.proof[:32], decode_scalar(self.proof[32:])
        if answer is None or not look_like_points((first, self.point)):
            return None
        e, by = _zero_transcript(self.point, self.context).append("first", first).challenge("e"), random_weight()
        return Equation(on_h=by * answer, scalars=[-by % ORDER, -by * e % ORDER], points=[first, self.point])


def verify_zero(point: bytes, proof: bytes, context: Context) -> bool:
    """Whether the proof holds; False, never an error, for any bytes.

    Guarantee: whoever made an accepted proof knows r with ``point = r * H``.
    Because: [Sch91], with challenges from a random oracle; docs/proofs/gopa.md, "The proofs".
    """
    equation = ZeroClaim(point, proof, context).equation()
    return equation is not None and all_hold([equation])


# ---------------------------------------------------------------- one scalar under two points


def prove_same(secret: int, other: bytes, context: Context) -> bytes:
    """A proof, 96 bytes, that ``secret * G`` and ``secret * other`` have the same scalar."""
    transcript = _same_transcript(base(secret), other, times(secret, other), context)
    nonce = transcript.stream("nonce", encode_scalar(secret)).scalar()
    firsts = base(nonce), times(nonce, other)
    answer = nonce + transcript.append("firsts", *firsts).challenge("e") * secret
    return b"".join([*firsts, encode_scalar(answer)])


def _same_transcript(key: bytes, other: bytes, shared: bytes, context: Context) -> Transcript:
    return Transcript(context).append("same", key, other, shared)


@dataclass(frozen=True)
class SameClaim:
    """For `verify_many`: ``key = k*G`` and ``shared = k*other``."""

    key: bytes
    other: bytes
    shared: bytes
    proof: bytes
    context: Context

    def equation(self) -> Equation | None:
        if not isinstance(self.proof, bytes) or len(self.proof) != 96:
            return None
        firsts, answer = (self.proof[:32], self.proof[32:64]), decode_scalar(self.proof[64:])
        if answer is None or not look_like_points((self.key, self.other, self.shared, *firsts)):
            return None
        transcript = _same_transcript(self.key, self.other, self.shared, self.context)
        e, one, two = transcript.append("firsts", *firsts).challenge("e"), random_weight(), random_weight()
        return Equation(
            on_g=one * answer,
            scalars=[-one, -one * e % ORDER, two * answer % ORDER, -two, -two * e % ORDER],
            points=[firsts[0], self.key, self.other, firsts[1], self.shared],
        )


def verify_same(key: bytes, other: bytes, shared: bytes, proof: bytes, context: Context) -> bool:
    """Whether the proof holds; False, never an error, for any bytes.

    Guarantee: whoever made an accepted proof knows k with ``key = k*G`` and ``shared = k*other``.
    Because: [CP92], with challenges from a random oracle; docs/proofs/gopa.md, "The proofs".
    """
    equation = SameClaim(key, other, shared, proof, context).equation()
    return equation is not None and all_hold([equation])
