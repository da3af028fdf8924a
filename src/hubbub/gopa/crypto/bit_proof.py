"""The coin-signed bit proof: a value in range, and noise that nobody could choose.

1. ``bind``: a party fixes bits b (of its values, and as many fair noise bits as agreed) in one point A and posts it.
2. Public coins p arrive. The noise is the number of places where a noise bit and its coin differ.
3. ``prove``: commitments X to the values and E to the noises, and a proof that they are what A and the coins say.

    >>> import secrets
    >>> from hubbub.gopa import Context, ProofShape, bit_proof
    >>> shape = ProofShape(coordinates=1, steps=10, noise_bits=4)
    >>> context = Context(run=b"run", party=b"ann", phase="share")
    >>> bound = bit_proof.bind(shape, [7], secrets.token_bytes(32))
    >>> coins = [1, 0, 0, 1]
    >>> proved = bit_proof.prove(bound, coins, context)
    >>> bit_proof.verify(shape, bound.point, coins, proved.statement, proved.proof, context)
    True
    >>> bit_proof.verify(shape, bound.point, [0, 0, 0, 1], proved.statement, proved.proof, context)
    False
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field

from hubbub.gopa.crypto import quadratic
from hubbub.gopa.crypto.pedersen import commit
from hubbub.gopa.crypto.point_equations import Equation, all_hold
from hubbub.gopa.crypto.proof_shape import ProofShape
from hubbub.gopa.crypto.quadratic import Form, Proof, Vectors
from hubbub.gopa.crypto.ristretto import (
    IDENTITY,
    ORDER,
    H,
    bit_generator,
    complement_generator,
    look_like_points,
    minus,
    select_point,
    sum_points,
    times_known,
)
from hubbub.gopa.crypto.scalar_vectors import geometric_sum, powers
from hubbub.gopa.crypto.secret_streams import Stream
from hubbub.gopa.crypto.transcript import Context, Transcript
from hubbub.terms import OutOfRange


@dataclass(frozen=True)
class BitInputs:
    """What a party has fixed before the coins: ``point`` is public, the rest is secret."""

    shape: ProofShape
    point: bytes
    values: tuple[int, ...] = field(repr=False)
    seed: bytes = field(repr=False)


@dataclass(frozen=True)
class BitStatement:
    """Commitments under (G, H): to each coordinate's value, and to its noise (none if the shape has no noise)."""

    values: tuple[bytes, ...]
    noises: tuple[bytes, ...]

    @property
    def points(self) -> tuple[bytes, ...]:
        return (*self.values, *self.noises)


@dataclass(frozen=True, repr=False)
class Openings:
    """The secret numbers in a statement."""

    values: tuple[int, ...]
    value_blinders: tuple[int, ...]
    noises: tuple[int, ...]
    noise_blinders: tuple[int, ...]

    def statement(self) -> BitStatement:
        """The commitments that these open."""
        return BitStatement(
            values=tuple(map(commit, self.values, self.value_blinders)),
            noises=tuple(map(commit, self.noises, self.noise_blinders)),
        )


@dataclass(frozen=True)
class Proved:
    """What is posted after the coins, and the secret openings."""

    statement: BitStatement
    proof: bytes
    openings: Openings = field(repr=False)


# ---------------------------------------------------------------- before the coins


def bind(shape: ProofShape, values: Sequence[int], seed: bytes) -> BitInputs:
    """Fix the bits of the values and the noise bits in one point, to be posted before the coins are known.

    Guarantee: the point says nothing about values or noise; no second set of bits opens it.
    Because: [Ped91] with a generator for each bit; docs/proofs/gopa.md, "The proofs".
    Not covered: the time that Python's own integers take; a seed that is used for two parties.
    """
    shape.require_values(values)
    secret, blinder = _draw_bits(shape, tuple(values), seed)
    chosen = [
        select_point(bit, minus(IDENTITY, complement_generator(i)), bit_generator(i)) for i, bit in enumerate(secret)
    ]
    return BitInputs(shape, sum_points([times_known(blinder, H), *chosen]), tuple(values), seed)


def _draw_bits(shape: ProofShape, values: tuple[int, ...], seed: bytes) -> tuple[list[int], int]:
    """All bits in their places, padding included, and the blinder of A.

    The values are part of the stream's name: one seed bound to two values gives unrelated bits and blinders.
    """
    stream = Stream(seed, "bind", shape.encoded(), *(value.to_bytes(16, "little") for value in values))
    blinder, noise = stream.scalar(), stream.bits(shape.coins)
    return shape.lay_out(values, noise), blinder


# ---------------------------------------------------------------- after the coins


def prove(bound: BitInputs, coins: Sequence[int], context: Context) -> Proved:
    """Commitments to values and noises, with a proof that they follow from the bound bits and the coins.

    Guarantee: the statement and the proof say nothing but that the values are in 0..steps and the noises are the
    numbers of places where bound noise bits and coins differ.
    Because: [BBB18, Sec. 4]; docs/proofs/gopa.md, "The proofs" (random oracle, discrete logarithms).
    Not covered: the time that Python's own integers take.
    """
    shape = bound.shape
    if not shape.fits(coins):
        raise OutOfRange(
            f"{shape.coins} coins were needed, each 0 or 1.",
            why="There is one public coin for each noise bit.",
            fix="Take the coins from the run's public randomness.",
        )
    secret, blinder = _draw_bits(shape, bound.values, bound.seed)
    noises = shape.count_noise(secret, coins)
    transcript = _begin_transcript(shape, bound.point, coins, context)
    # Other coins, another context or another A give other nonces: no nonce serves two challenges.
    stream = transcript.stream("prove", bound.seed)
    value_blinders, noise_blinders = stream.scalars(len(bound.values)), stream.scalars(len(noises))
    openings = Openings(bound.values, tuple(value_blinders), noises, tuple(noise_blinders))
    statement = openings.statement()
    transcript.append("statement", *statement.points)
    vectors = Vectors(secret, [bit - 1 for bit in secret], blinder)
    forms = functools.partial(_bit_form, shape, tuple(coins))
    proof = quadratic.prove(transcript, vectors, [*value_blinders, *noise_blinders], forms, stream)
    return Proved(statement, proof, openings)


def _begin_transcript(shape: ProofShape, point: bytes, coins: Sequence[int], context: Context) -> Transcript:
    return Transcript(context).append("bits", shape.encoded(), point, bytes(coins))


def _bit_form(shape: ProofShape, coins: tuple[int, ...], y: int, z: int) -> Form:
    """The equation for challenges y, z: every place holds a bit, and bits times weights give the commitments.

    Value c has the factor z^(2+c) and noise c the factor z^(2+coordinates+c); padding has weight zero, and is bits too.
    """
    factors = powers(z * z % ORDER, z, shape.commitments)
    outside: list[int] = []
    shifts = 0
    for c in range(shape.coordinates):
        outside += [factors[c] * weight for weight in shape.weights]
        if shape.noise_bits:
            own = coins[c * shape.noise_bits : (c + 1) * shape.noise_bits]
            sign = factors[shape.coordinates + c]
            outside += [-sign if coin else sign for coin in own]
            shifts += sign * sum(own)
    outside += [0] * (shape.size - shape.bits)
    return Form(
        y=y,
        left=[-z] * shape.size,
        inside=[z] * shape.size,
        outside=outside,
        factors=factors,
        constant=((z - z * z) * geometric_sum(y, shape.size) - z * sum(outside) - shifts) % ORDER,
    )


# ---------------------------------------------------------------- anybody


@dataclass(frozen=True)
class BitClaim:
    """All that a verifier needs for one party, for `verify_many`."""

    shape: ProofShape
    point: bytes
    coins: Sequence[int]
    statement: BitStatement
    proof: bytes
    context: Context

    def equation(self) -> Equation | None:
        """What must be the identity, or None for what is no claim at all."""
        points = self.statement.points
        proof = Proof.parsed(self.proof, self.shape.size)
        if proof is None or not self.shape.fits(self.coins) or not look_like_points((self.point, *points)):
            return None
        if (len(self.statement.values), len(points)) != (self.shape.coordinates, self.shape.commitments):
            return None
        transcript = _begin_transcript(self.shape, self.point, self.coins, self.context).append("statement", *points)
        forms = functools.partial(_bit_form, self.shape, tuple(self.coins))
        return proof.equation(transcript, self.shape.size, self.point, points, forms)


def verify(
    shape: ProofShape, point: bytes, coins: Sequence[int], statement: BitStatement, proof: bytes, context: Context
) -> bool:
    """Whether the proof holds; False, never an error, for any bytes.

    Guarantee: whoever made a proof that is accepted knows values in 0..steps and bits, fixed by ``point`` alone,
    such that the statement commits to those values and to the noises that the bits and the coins give.
    Because: [BBB18, Sec. 4] with the weights in place of powers of two; docs/proofs/gopa.md, "The proofs".
    Error: a false statement passes with probability about 2^-128 per try.
    Not covered: that the coins came after the point, which the caller sees to.
    """
    equation = BitClaim(shape, point, coins, statement, proof, context).equation()
    return equation is not None and all_hold([equation])
