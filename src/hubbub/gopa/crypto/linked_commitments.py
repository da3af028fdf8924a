"""Numbers that are committed to one by one are the coordinates of one vector commitment.

``V_c = v_c G + r_c H`` for each c (what the bit proof gives) and ``P = sum v_c coordinate(c) + s H`` hold the same
numbers. Masks then need one point for a vector of any length, and a reveal opens one point.

A challenge z joins the V_c to ``sum z^c V_c``, a commitment to ``<z^c, v>``; a Schnorr proof masks v, and the masked
vector is shown by the inner-product argument in 2 log2 d points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from hubbub.gopa.crypto import inner_product
from hubbub.gopa.crypto.inner_product import Argument
from hubbub.gopa.crypto.multi_scalar import Basis
from hubbub.gopa.crypto.pedersen import commit, commit_vector
from hubbub.gopa.crypto.point_equations import Equation, add_equations, all_hold, random_weight
from hubbub.gopa.crypto.ristretto import (
    ORDER,
    G,
    H,
    U,
    complement_generator,
    coordinate_generator,
    decode_scalar,
    encode_scalar,
    look_like_points,
)
from hubbub.gopa.crypto.scalar_vectors import dot, powers
from hubbub.gopa.crypto.transcript import Context, Transcript


@lru_cache(maxsize=8)
def _padded_generators(size: int) -> Basis:
    places = range(size)
    return Basis([*map(coordinate_generator, places), *map(complement_generator, places), G, H, U])


def _padded_size(count: int) -> int:
    return 1 << (count - 1).bit_length()


def _begin_transcript(commitments: Sequence[bytes], point: bytes, context: Context) -> tuple[Transcript, int]:
    transcript = Transcript(context).append("linked", point, *commitments)
    return transcript, transcript.challenge("z")


def prove(
    commitments: Sequence[bytes],
    point: bytes,
    *,
    values: Sequence[int],
    blinders: Sequence[int],
    vector_blinder: int,
    seed: bytes,
    context: Context,
) -> bytes:
    """The proof; all its randomness follows from the 32-byte ``seed`` and the statement.

    Guarantee: the proof says nothing but that both hold the same numbers.
    Because: [BBB18, Sec. 3] after a mask [Sch91]; docs/proofs/gopa.md, "The proofs".
    Not covered: the time that Python's own integers take.
    """
    count, size = len(values), _padded_size(len(values))
    transcript, z = _begin_transcript(commitments, point, context)
    stream, ladder = transcript.stream("linked", seed), powers(1, z, size)
    masks, mask_blinder, sum_blinder = stream.scalars(count), stream.scalar(), stream.scalar()
    firsts = commit_vector(masks, mask_blinder), commit(dot(ladder, masks), sum_blinder)
    e = transcript.append("firsts", *firsts).challenge("e")
    shown = [(mask + e * value) % ORDER for mask, value in zip(masks, values, strict=True)]
    numbers = (
        (mask_blinder + e * vector_blinder) % ORDER,
        (sum_blinder + e * dot(ladder, blinders)) % ORDER,
        dot(ladder, shown),
    )
    transcript.scalars("numbers", *numbers)
    argument = inner_product.prove(transcript, shown + [0] * (size - count), ladder, 1, _padded_generators(size))
    return b"".join([*firsts, *map(encode_scalar, numbers), argument])


@dataclass(frozen=True)
class LinkClaim:
    """For `verify_many`: the commitments' numbers are the coordinates of ``point``."""

    commitments: Sequence[bytes]
    point: bytes
    proof: bytes
    context: Context

    def equation(self) -> Equation | None:
        """What must be the identity, or None for what is no claim at all."""
        size = _padded_size(len(self.commitments))
        if (
            not isinstance(self.proof, bytes)
            or len(self.proof) != 160 + inner_product.argument_length(size)
            or not self.commitments
        ):
            return None
        firsts, argument = (self.proof[:32], self.proof[32:64]), Argument.parsed(self.proof[160:])
        vector_blinder, sum_blinder, product = (decode_scalar(self.proof[i : i + 32]) for i in (64, 96, 128))
        if argument is None or vector_blinder is None or sum_blinder is None or product is None:
            return None
        if not look_like_points((self.point, *self.commitments, *firsts)):
            return None
        transcript, z = _begin_transcript(self.commitments, self.point, self.context)
        e = transcript.append("firsts", *firsts).challenge("e")
        transcript.scalars("numbers", vector_blinder, sum_blinder, product)
        one, ladder = random_weight(), powers(1, z, size)
        sums = Equation(
            on_g=one * product,
            on_h=one * sum_blinder,
            scalars=[-one, *(-one * e * step % ORDER for step in ladder[: len(self.commitments)])],
            points=[firsts[1], *self.commitments],
        )
        return add_equations([sums, *self._vector(transcript, argument, ladder, (e, vector_blinder, product))])

    def _vector(
        self, transcript: Transcript, argument: Argument, ladder: Sequence[int], numbers: tuple[int, int, int]
    ) -> list[Equation]:
        by, (e, blinder, product) = random_weight(), numbers
        argued, w, _ = argument.equation(transcript, len(ladder), 1, by)
        shown = Equation(
            on_h=-by * blinder,
            on_u=by * product % ORDER * w,
            right=[by * step for step in ladder],
            scalars=[by, by * e],
            points=[self.proof[:32], self.point],
        )
        return [replace(argued, left=(), coordinates=argued.left), shown]


def verify(commitments: Sequence[bytes], point: bytes, proof: bytes, context: Context) -> bool:
    """Whether the proof holds; False, never an error, for any bytes.

    Guarantee: whoever made an accepted proof knows one list of numbers that opens all the commitments and ``point``.
    Because: [BBB18, Sec. 3] and [Sch91], with challenges from a random oracle; docs/proofs/gopa.md, "The proofs".
    """
    equation = LinkClaim(commitments, point, proof, context).equation()
    return equation is not None and all_hold([equation])
