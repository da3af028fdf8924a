"""What a party states and proves of its input in the share phase: each thing as it is proved, and as it is claimed.

- that value and noise are what the bound bits and the public coins say (always)
- that one vector commitment holds all coordinates of value plus noise (with more than one coordinate)
- that the values lie in a ball, are one-hot, or are those of the previous run (if the agreement asks for it)
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from hubbub.gopa.crypto import bit_proof as bits
from hubbub.gopa.crypto import linked_commitments as linked
from hubbub.gopa.crypto import sum_of_squares
from hubbub.gopa.crypto.batch_verification import Provable
from hubbub.gopa.crypto.framing import frame_parts
from hubbub.gopa.crypto.pedersen import commit_vector
from hubbub.gopa.crypto.ristretto import IDENTITY, ORDER, G, base, is_point, minus, plus, sum_points
from hubbub.gopa.crypto.schnorr import ZeroClaim, prove_zero
from hubbub.gopa.protocol.agreement import Agreement
from hubbub.gopa.protocol.faults import Fault, Refused
from hubbub.gopa.protocol.masks import Opening
from hubbub.gopa.protocol.party_secrets import Secrets, Work
from hubbub.gopa.protocol.phases.folding import proof_context
from hubbub.gopa.protocol.phases.join import bind_bits
from hubbub.gopa.protocol.public_state import PublicState
from hubbub.gopa.protocol.wire import Body, pack, unpack

MOST_PROOF = 1 << 15  # bytes
FIELDS = ("statement", "proof", "vector", "linked", "ball", "extra")

# ---------------------------------------------------------------- the message's part


@dataclass(frozen=True, slots=True)
class ProvedInput:
    """Commitments to value and noise, with all that is proved of them.

    ``vector`` is one commitment to all coordinates of value plus noise, and ``linked`` proves that it is; with one
    coordinate it is their sum and nothing is to be proved. ``ball`` and ``extra`` are what the quantity asks for
    besides.
    """

    statement: bits.BitStatement
    proof: bytes
    vector: bytes
    linked: bytes
    ball: bytes
    extra: tuple[bytes, ...]

    def packed(self) -> Body:
        return {
            "statement": pack(b"".join(self.statement.points)),
            "proof": pack(self.proof),
            "vector": pack(self.vector),
            "linked": pack(self.linked),
            "ball": pack(self.ball),
            "extra": [pack(proof) for proof in self.extra],
        }

    @classmethod
    def parse(cls, texts: Body, agreement: Agreement) -> ProvedInput:
        width = agreement.quantity.coordinates
        points = parse_points(texts["statement"], 2 * width)
        if not isinstance(texts["extra"], list) or len(texts["extra"]) != _zero_count(agreement):
            raise Refused(Fault.MALFORMED)
        return cls(
            statement=bits.BitStatement(points[:width], points[width:]),
            proof=_parse_proof(texts["proof"]),
            vector=unpack(texts["vector"], 32),
            linked=_parse_proof(texts["linked"]),
            ball=_parse_proof(texts["ball"]),
            extra=tuple(unpack(proof, 64) for proof in texts["extra"]),
        )


def parse_points(text: object, count: int) -> tuple[bytes, ...]:
    """So many points, one after the other; whether they are points is seen when they are used."""
    data = unpack(text, 32 * count)
    return tuple(data[start : start + 32] for start in range(0, len(data), 32))


def _parse_proof(text: object) -> bytes:
    data = unpack(text)
    if len(data) > MOST_PROOF:
        raise Refused(Fault.OVERSIZED)
    return data


# ---------------------------------------------------------------- all of it


def state_input(mine: Secrets, public: PublicState, shown: bits.Proved, opening: Opening) -> ProvedInput:
    """What a party states of its input; ``opening`` is that of value plus noise."""
    vector, proof = _prove_vector(mine, public, shown, opening)
    return ProvedInput(
        statement=shown.statement,
        proof=shown.proof,
        vector=vector,
        linked=proof,
        ball=_prove_ball(mine, public, shown),
        extra=_prove_zeros(mine, public, shown),
    )


def input_claims(state: PublicState, party: int, given: ProvedInput) -> list[Provable]:
    """Everything that a party proves of its input."""
    claims = [_bit_claim(state, party, given)]
    if state.width > 1:
        claims.append(_vector_claim(state, party, given))
    if state.agreement.quantity.ball:
        claims.append(_ball_claim(state, party, given.statement.values, given.ball))
    return claims + _zero_claims(state, party, given)


# ---------------------------------------------------------------- value and noise


def prove_inputs(mine: Secrets, public: PublicState, work: Work | None) -> bits.Proved:
    """The commitments to value and noise, their proof, and their openings."""
    bound = work.bound if work else bind_bits(mine, public)
    return bits.prove(bound, public_coins(public, mine.place), proof_context(public, mine.place, "share"))


def public_coins(state: PublicState, party: int) -> list[int]:
    """The public coins that sign a party's noise bits: they follow from all nonces."""
    count = state.agreement.shape.coins
    name = frame_parts(b"hubbub gopa coins 1", state.seed, party.to_bytes(4, "little"))
    stream = hashlib.shake_256(name).digest(-(-count // 8))
    return [byte >> place & 1 for byte in stream for place in range(8)][:count]


def _bit_claim(state: PublicState, party: int, given: ProvedInput) -> Provable:
    """That the statement follows from what was bound and the coins."""
    shape, bound = state.agreement.shape, state.joins[party].bits
    coins, context = public_coins(state, party), proof_context(state, party, "share")
    return bits.BitClaim(shape, bound, coins, given.statement, given.proof, context)


# ---------------------------------------------------------------- all coordinates in one commitment


def _prove_vector(mine: Secrets, public: PublicState, shown: bits.Proved, opening: Opening) -> tuple[bytes, bytes]:
    """One commitment to all coordinates of value plus noise, and the proof that it is that."""
    statement, opened = shown.statement, shown.openings
    sums = [plus(value, noise) for value, noise in zip(statement.values, statement.noises, strict=True)]
    if public.width == 1:
        return sums[0], b""
    point = commit_vector(opening.values, opening.blinder)
    blinders = [a + b for a, b in zip(opened.value_blinders, opened.noise_blinders, strict=True)]
    proof = linked.prove(
        sums,
        point,
        values=opening.values,
        blinders=blinders,
        vector_blinder=opening.blinder,
        seed=mine.stream("linked", public.agreement.run).take(32),
        context=proof_context(public, mine.place, "linked"),
    )
    return point, proof


def vector_fits(given: ProvedInput) -> bool:
    """With one coordinate the vector commitment is the sum of the two, and there is nothing to prove."""
    points = given.statement.points
    return len(points) > 2 or (all(map(is_point, points)) and given.vector == plus(*points) and not given.linked)


def _vector_claim(state: PublicState, party: int, given: ProvedInput) -> Provable:
    """That the vector commitment holds the sums; the identity, which proves nothing, where there is no point."""
    pairs = zip(given.statement.values, given.statement.noises, strict=True)
    sums = [plus(value, noise) if is_point(value) and is_point(noise) else IDENTITY for value, noise in pairs]
    return linked.LinkClaim(sums, given.vector, given.linked, proof_context(state, party, "linked"))


# ---------------------------------------------------------------- in a ball


def _prove_ball(mine: Secrets, public: PublicState, shown: bits.Proved) -> bytes:
    """The proof that the values lie in the ball, if the quantity asks for one."""
    if not public.agreement.quantity.ball:
        return b""
    steps = public.agreement.plan.steps
    claim = _ball_claim(public, mine.place, shown.statement.values, b"")
    return sum_of_squares.prove(
        claim.commitments,
        bound=claim.bound,
        values=[2 * value - steps for value in mine.values],
        blinders=[2 * blinder % ORDER for blinder in shown.openings.value_blinders],
        seed=mine.stream("ball", public.agreement.run).take(32),
        context=claim.context,
    )


def _ball_claim(state: PublicState, party: int, values: Sequence[bytes], proof: bytes) -> sum_of_squares.BallClaim:
    """That the values, less the middle and doubled, have squares that sum to at most steps squared."""
    steps = state.agreement.plan.steps
    middle = base(steps)
    doubled = [minus(plus(point, point), middle) if is_point(point) else IDENTITY for point in values]
    return sum_of_squares.BallClaim(doubled, steps * steps, proof, proof_context(state, party, "ball"))


# ---------------------------------------------------------------- one-hot, and the same as before


def _zero_count(agreement: Agreement) -> int:
    """How many proofs of a zero the quantity asks for besides: one-hot, and one per coordinate for earlier inputs."""
    return agreement.quantity.one_hot + (agreement.quantity.coordinates if agreement.previous else 0)


def _prove_zeros(mine: Secrets, public: PublicState, shown: bits.Proved) -> tuple[bytes, ...]:
    """Proofs for a one-hot vector, and that the inputs are those of the previous run."""
    blinders = shown.openings.value_blinders
    known = [sum(blinders)] if public.agreement.quantity.one_hot else []
    if mine.earlier is not None:
        known += [new - old for new, old in zip(blinders, mine.earlier, strict=True)]
    zeros = _zero_points(public, mine.place, shown.statement.values)
    return tuple(
        prove_zero(point, blinder % ORDER, proof_context(public, mine.place, name))
        for (name, point), blinder in zip(zeros, known, strict=True)
    )


def _zero_claims(state: PublicState, party: int, given: ProvedInput) -> list[Provable]:
    """That they hold zero."""
    zeros = _zero_points(state, party, given.statement.values)
    return [ZeroClaim(p, one, proof_context(state, party, w)) for (w, p), one in zip(zeros, given.extra, strict=True)]


def _zero_points(state: PublicState, party: int, values: Sequence[bytes]) -> list[tuple[str, bytes]]:
    """The points that the quantity asks a party to prove to hold zero, with their names."""
    points: list[tuple[str, bytes]] = []
    if not all(map(is_point, values)):
        return [("no point", IDENTITY)] * _zero_count(state.agreement)
    if state.agreement.quantity.one_hot:
        points.append(("one-hot", minus(sum_points(values), G)))
    if state.agreement.previous:
        olds = state.earlier.points.get(state.agreement.roster[party], ()) if state.earlier else ()
        if len(olds) != len(values):  # it had no input then, and so cannot have the same one now
            return [("no point", IDENTITY)] * _zero_count(state.agreement)
        points += [(f"same {c}", minus(new, old)) for c, (new, old) in enumerate(zip(values, olds, strict=True))]
    return points
