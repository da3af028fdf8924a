"""The sum of squares of committed numbers is at most a bound: a vector in a ball.

``Q`` commits to the sum of squares q. One bit proof shows that q is in 0..bound, one quadratic proof that q is the
inner product of the vector with itself, for the very vector in the commitments. Squares are taken modulo the group's
order: the caller has shown that each number is small (by the bit proof of a `Shape`), so that nothing wraps around.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from hubbub.gopa.crypto import bit_proof, quadratic
from hubbub.gopa.crypto.bit_proof import BitStatement
from hubbub.gopa.crypto.point_equations import Equation, add_equations, all_hold
from hubbub.gopa.crypto.proof_shape import ProofShape
from hubbub.gopa.crypto.quadratic import Form, Proof, Vectors
from hubbub.gopa.crypto.ristretto import look_like_points
from hubbub.gopa.crypto.scalar_vectors import dot, powers
from hubbub.gopa.crypto.secret_streams import Stream
from hubbub.gopa.crypto.transcript import Context, Transcript
from hubbub.terms import OutOfRange


def _padded_size(count: int) -> int:
    return 1 << (count - 1).bit_length()


def _range_shape(bound: int) -> ProofShape:
    return ProofShape(coordinates=1, steps=bound, noise_bits=0)


def _inner_context(context: Context) -> Context:
    """The range proof within: it cannot be taken out and used for a value of its own."""
    return replace(context, phase=f"{context.phase}/squares")


def _begin_transcript(
    commitments: Sequence[bytes], bound: int, square: bytes, point: bytes, context: Context
) -> Transcript:
    return Transcript(context).append("squares", bound.to_bytes(16, "little"), square, point, *commitments)


def _ball_form(count: int, size: int, y: int, z: int) -> Form:
    """``<v, w> = q``, ``v_c`` is what commitment c holds (zero in the padding), ``v = w``; one power of z for each."""
    ladder = powers(z, z, 2 * size)
    values, equal = ladder[:size], ladder[size:]
    left, outside = [-power for power in equal], [a + b for a, b in zip(values, equal, strict=True)]
    return Form(
        y=1, left=left, inside=[0] * size, outside=outside, factors=[1, *values[:count]], constant=dot(left, outside)
    )


def prove(
    commitments: Sequence[bytes],
    *,
    bound: int,
    values: Sequence[int],
    blinders: Sequence[int],
    seed: bytes,
    context: Context,
) -> bytes:
    """The proof; all its randomness follows from the 32-byte ``seed`` and the statement.

    Guarantee: the proof says nothing but that the sum of squares is at most ``bound``.
    Because: [BBB18, Sec. 4 and 5]; docs/proofs/gopa.md, "The proofs".
    Not covered: the time that Python's own integers take.
    """
    square = sum(value * value for value in values)
    if square > bound:
        raise OutOfRange(
            f"the sum of squares is above {bound}.",
            why="Only a vector within the bound can be proved to be.",
            fix="Clip the vector before it is committed to.",
        )
    named = Transcript(context).append("squares", bound.to_bytes(16, "little"), *commitments).digest()
    ranged = bit_proof.bind(_range_shape(bound), [square], Stream(seed, "square", named).take(32))
    range_proof = bit_proof.prove(ranged, (), _inner_context(context))
    size, stream = _padded_size(len(values)), Stream(seed, "squares", named)
    padded = [*values, *[0] * (size - len(values))]
    vectors = Vectors(padded, padded, stream.scalar())
    point, (committed,) = vectors.committed(), range_proof.statement.values
    transcript = _begin_transcript(commitments, bound, committed, point, context)
    forms = partial(_ball_form, len(values), size)
    all_blinders = (*range_proof.openings.value_blinders, *blinders)
    argument = quadratic.prove(transcript, vectors, all_blinders, forms, stream)
    return b"".join([committed, ranged.point, range_proof.proof, point, argument])


@dataclass(frozen=True)
class BallClaim:
    """For `verify_many`: the squares of the commitments' numbers sum to at most ``bound``."""

    commitments: Sequence[bytes]
    bound: int
    proof: bytes
    context: Context

    def equation(self) -> Equation | None:
        """What must be the identity, or None for what is no claim at all."""
        count, shape, size = len(self.commitments), _range_shape(self.bound), _padded_size(len(self.commitments))
        middle = 64 + quadratic.proof_length(shape.size)
        if not count or not isinstance(self.proof, bytes) or not look_like_points(self.commitments):
            return None
        square, bound_point, range_proof = self.proof[:32], self.proof[32:64], self.proof[64:middle]
        point, proof = self.proof[middle : middle + 32], Proof.parsed(self.proof[middle + 32 :], size)
        inside = _inner_context(self.context)
        ranged = bit_proof.BitClaim(shape, bound_point, (), BitStatement((square,), ()), range_proof, inside).equation()
        if ranged is None or proof is None or not look_like_points((square, point)):
            return None
        transcript = _begin_transcript(self.commitments, self.bound, square, point, self.context)
        points = (square, *self.commitments)
        return add_equations(
            [ranged, proof.equation(transcript, size, point, points, partial(_ball_form, count, size))]
        )


def verify(commitments: Sequence[bytes], bound: int, proof: bytes, context: Context) -> bool:
    """Whether the proof holds; False, never an error, for any bytes.

    Guarantee: whoever made an accepted proof knows numbers that open the commitments and whose squares sum to at
    most ``bound`` modulo the group's order.
    Because: [BBB18, Sec. 4 and 5], with challenges from a random oracle; docs/proofs/gopa.md, "The proofs".
    Not covered: numbers so large that squares wrap around; show first that each is small.
    """
    equation = BallClaim(commitments, bound, proof, context).equation()
    return equation is not None and all_hold([equation])
