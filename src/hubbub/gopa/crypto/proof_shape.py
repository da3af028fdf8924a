"""What one proof covers: how many coordinates, which values, how many noise bits, and where each bit lies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from hubbub.gopa.crypto.framing import frame_parts
from hubbub.terms import OutOfRange, WrongShape

MOST = 1 << 16


@dataclass(frozen=True)
class ProofShape:
    """A vector of ``coordinates`` whole numbers in 0..steps, each with ``noise_bits`` bits of noise.

    A value is a sum of the weights 1, 2, 4, ... and a last one that makes their total ``steps``: every sum of weights
    is in range, and every value in range is such a sum.

        >>> ProofShape(coordinates=1, steps=100, noise_bits=0).weights
        (1, 2, 4, 8, 16, 32, 37)
    """

    coordinates: int
    steps: int
    noise_bits: int

    def __post_init__(self) -> None:
        limits = {"coordinates": (1, MOST), "steps": (1, 1 << 64), "noise_bits": (0, MOST)}
        for name, (least, most) in limits.items():
            value = getattr(self, name)
            if type(value) is not int or not least <= value <= most:
                raise OutOfRange(
                    f"{name} must be a whole number from {least} to {most}.",
                    why="It fixes the size of the proof.",
                    fix="Give a number in that range.",
                )
        if self.bits > MOST:
            raise OutOfRange(
                f"a proof over {self.bits} bits is too long.",
                why=f"Proofs are made for at most {MOST} bits at once.",
                fix="Take fewer coordinates, steps or noise bits.",
            )

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """Of the bits of a value."""
        doubling = [1 << i for i in range(self.steps.bit_length() - 1)]
        return (*doubling, self.steps - sum(doubling))

    @property
    def width(self) -> int:
        """Bits of one coordinate: of the value, then of the noise."""
        return len(self.weights) + self.noise_bits

    @property
    def bits(self) -> int:
        return self.coordinates * self.width

    @property
    def size(self) -> int:
        """The bits padded to a power of two."""
        return 1 << (self.bits - 1).bit_length()

    @property
    def coins(self) -> int:
        """How many public coins one proof needs."""
        return self.coordinates * self.noise_bits

    @property
    def commitments(self) -> int:
        """How many points a statement has."""
        return self.coordinates * (2 if self.noise_bits else 1)

    def encoded(self) -> bytes:
        return frame_parts(*(n.to_bytes(16, "little") for n in (self.coordinates, self.steps, self.noise_bits)))

    def digits(self, value: int) -> list[int]:
        """The bits whose weights sum to ``value``; one way for each value."""
        last = int(value >= 1 << (len(self.weights) - 1))
        rest = value - last * self.weights[-1]
        return [*(rest >> i & 1 for i in range(len(self.weights) - 1)), last]

    def lay_out(self, values: Sequence[int], noise: Sequence[int]) -> list[int]:
        """All bits in their places, padding included: for each coordinate those of the value, then those of the noise.

        >>> ProofShape(coordinates=2, steps=1, noise_bits=2).lay_out([1, 0], [1, 1, 0, 1])
        [1, 1, 1, 0, 0, 1, 0, 0]
        """
        bits: list[int] = []
        for c, value in enumerate(values):
            bits += self.digits(value)
            bits += noise[c * self.noise_bits : (c + 1) * self.noise_bits]
        return bits + [0] * (self.size - self.bits)

    def count_noise(self, bits: Sequence[int], coins: Sequence[int]) -> tuple[int, ...]:
        """For each coordinate, at how many places a noise bit and its coin differ; none if there is no noise."""
        count, n = len(self.weights), self.noise_bits
        starts = [c * self.width + count for c in range(self.coordinates)] if n else []
        return tuple(
            sum(bit ^ coin for bit, coin in zip(bits[s : s + n], coins[c * n : (c + 1) * n], strict=True))
            for c, s in enumerate(starts)
        )

    def fits(self, coins: Sequence[int]) -> bool:
        """Whether these are coins for this shape."""
        return len(coins) == self.coins and set(map(type, coins)) <= {int} and set(coins) <= {0, 1}

    def require_values(self, values: Sequence[int]) -> None:
        """Raise unless there is a value in range for each coordinate; the message does not say which is not."""
        if not is_list_like(values) or len(values) != self.coordinates:
            raise WrongShape(
                f"{self.coordinates} coordinates were agreed on, and another number of values came.",
                why="Every party gives a value for each coordinate.",
                fix="Give one whole number for each coordinate.",
            )
        if not all(type(value) is int and 0 <= value <= self.steps for value in values):
            raise OutOfRange(
                f"a value is not a whole number from 0 to {self.steps}.",
                why="Only such a value can be proved to be in range.",
                fix="Clip and round the value before it is bound.",
            )


def is_list_like(value: object) -> bool:
    """Whether something can be gone through entry by entry: no number, no text, no table of keys."""
    return hasattr(value, "__len__") and not isinstance(value, str | bytes | Mapping) and getattr(value, "ndim", 1) > 0
