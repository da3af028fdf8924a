"""The heart of the proofs: two committed vectors satisfy one equation of second degree [BBB18, Sec. 4].

``A = blinder*H + <left, gv> + <right, hv>`` holds two vectors. After two challenges y and z a public ``Form`` says what
should hold for numbers v_j that are committed to elsewhere (``V_j = v_j G + ... H``):

    <left + form.left, y^i (right + form.inside) + form.outside>  =  sum_j factors[j] v_j + constant

Bits, their weights and sums of squares are all of this kind. Secrets are multiplied by libsodium in constant time;
the two vectors that go into the inner-product argument are masked, so that part may take variable time
(docs/proofs/gopa.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from hubbub.gopa.crypto import inner_product
from hubbub.gopa.crypto.inner_product import Argument
from hubbub.gopa.crypto.pedersen import commit
from hubbub.gopa.crypto.point_equations import Equation, add_equations, generator_basis, random_weight
from hubbub.gopa.crypto.ristretto import (
    IDENTITY,
    ORDER,
    H,
    bit_generator,
    complement_generator,
    decode_scalar,
    encode_scalar,
    weighted_sum,
)
from hubbub.gopa.crypto.scalar_vectors import dot, powers
from hubbub.gopa.crypto.secret_streams import Stream
from hubbub.gopa.crypto.transcript import Transcript


@dataclass(frozen=True)
class Form:
    """The equation for one pair of challenges."""

    y: int
    left: Sequence[int]
    inside: Sequence[int]
    outside: Sequence[int]
    factors: Sequence[int]
    constant: int


Forms = Callable[[int, int], Form]


@dataclass(frozen=True, repr=False)
class Vectors:
    """The secret in A."""

    left: Sequence[int]
    right: Sequence[int]
    blinder: int

    def committed(self) -> bytes:
        """``blinder*H + <left, gv> + <right, hv>`` for vectors of any scalars, in constant time."""
        places = range(len(self.left))
        return weighted_sum(
            [self.blinder, *self.left, *self.right],
            [H, *map(bit_generator, places), *map(complement_generator, places)],
        )


def proof_length(size: int) -> int:
    """Bytes of a proof for vectors of this length (a power of two)."""
    return 6 * 32 + inner_product.argument_length(size)


def prove(transcript: Transcript, vectors: Vectors, blinders: Sequence[int], forms: Forms, stream: Stream) -> bytes:
    """The proof; ``transcript`` has everything that is public already: statement, shape, A."""
    size = len(vectors.left)
    masks = Vectors(stream.scalars(size), stream.scalars(size), stream.scalar())
    mask_point = masks.committed()
    transcript.append("masks", mask_point)
    form = forms(transcript.challenge("y"), transcript.challenge("z"))
    left, right = _linear_coefficients(vectors, masks, form)
    first, second = dot(left[0], right[1]) + dot(left[1], right[0]), dot(left[1], right[1])
    first_blinder, second_blinder = stream.scalar(), stream.scalar()
    tops = commit(first, first_blinder), commit(second, second_blinder)
    x = transcript.append("coefficients", *tops).challenge("x")
    a = [(p + x * q) % ORDER for p, q in zip(*left, strict=True)]
    b = [(p + x * q) % ORDER for p, q in zip(*right, strict=True)]
    numbers = (
        (dot(form.factors, blinders) + x * first_blinder + x * x * second_blinder) % ORDER,
        (vectors.blinder + x * masks.blinder) % ORDER,
        dot(a, b),
    )
    transcript.scalars("numbers", *numbers)
    return b"".join(
        [
            mask_point,
            *tops,
            *map(encode_scalar, numbers),
            inner_product.prove(transcript, a, b, form.y, generator_basis(size)),
        ]
    )


Line = tuple[list[int], list[int]]


def _linear_coefficients(vectors: Vectors, masks: Vectors, form: Form) -> tuple[Line, Line]:
    """l(X) and r(X) as their two coefficients."""
    ys = powers(1, form.y, len(vectors.left))
    left = [(v + s) % ORDER for v, s in zip(vectors.left, form.left, strict=True)]
    right = [
        (y * (v + inside) + outside) % ORDER
        for y, v, inside, outside in zip(ys, vectors.right, form.inside, form.outside, strict=True)
    ]
    return (left, list(masks.left)), (right, [y * m % ORDER for y, m in zip(ys, masks.right, strict=True)])


@dataclass(frozen=True)
class Proof:
    """A parsed proof."""

    masks: bytes
    tops: tuple[bytes, bytes]
    blinder: int
    mask_blinder: int
    product: int
    argument: Argument

    @classmethod
    def parsed(cls, data: bytes, size: int) -> Self | None:
        """The proof, or None if these bytes cannot be one; whether its points are points is seen later."""
        if not isinstance(data, bytes) or len(data) != proof_length(size):
            return None
        points = [data[i : i + 32] for i in (0, 32, 64)]
        numbers = [decode_scalar(data[i : i + 32]) for i in (96, 128, 160)]
        argument = Argument.parsed(data[192:])
        blinder, mask_blinder, product = numbers
        if IDENTITY in points or blinder is None or mask_blinder is None or product is None or argument is None:
            return None
        return cls(points[0], (points[1], points[2]), blinder, mask_blinder, product, argument)

    def equation(
        self, transcript: Transcript, size: int, point: bytes, values: Sequence[bytes], forms: Forms
    ) -> Equation:
        """What must be the identity for A = ``point`` and the commitments ``values``."""
        transcript.append("masks", self.masks)
        form = forms(transcript.challenge("y"), transcript.challenge("z"))
        x = transcript.append("coefficients", *self.tops).challenge("x")
        transcript.scalars("numbers", self.blinder, self.mask_blinder, self.product)
        return add_equations([self._products(form, x, values), self._vectors(transcript, form, x, size, point)])

    def _products(self, form: Form, x: int, values: Sequence[bytes]) -> Equation:
        """The constant term: ``product`` is the polynomial's value at x, and begins with what the form says."""
        by = random_weight()
        return Equation(
            on_g=by * (self.product - form.constant),
            on_h=by * self.blinder,
            scalars=[-by * scalar % ORDER for scalar in (*form.factors, x, x * x)],
            points=[*values, *self.tops],
        )

    def _vectors(self, transcript: Transcript, form: Form, x: int, size: int, point: bytes) -> Equation:
        """The two vectors are those in A, and ``product`` is their inner product."""
        by = random_weight()
        argued, w, per_place = self.argument.equation(transcript, size, form.y, by)
        scaled = powers(by, per_place, size)
        shifts = Equation(
            on_h=-by * self.mask_blinder,
            on_u=by * self.product % ORDER * w,
            left=[by * value for value in form.left],
            right=[by * i + s * o % ORDER for i, s, o in zip(form.inside, scaled, form.outside, strict=True)],
            scalars=[by, by * x],
            points=[point, self.masks],
        )
        return add_equations([argued, shifts])
