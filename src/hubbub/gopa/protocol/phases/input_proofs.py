"""What is proved of a party's input, each thing as the party proves it and as everybody claims it.

- that value and noise are what the bound bits and the public coins say (always)
- that one vector commitment holds all coordinates of value plus noise (with more than one coordinate)
- that the values lie in a ball, are one-hot, or are those of the previous run (if the agreement asks for it)
"""

from __future__ import annotations

from collections.abc import Sequence

from hubbub.gopa.crypto import bit_proof as bits
from hubbub.gopa.crypto import linked_commitments as linked
from hubbub.gopa.crypto import sum_of_squares
from hubbub.gopa.crypto.batch_verification import Provable
from hubbub.gopa.crypto.pedersen import commit_vector
from hubbub.gopa.crypto.ristretto import IDENTITY, ORDER, G, base, is_point, minus, plus, sum_points
from hubbub.gopa.crypto.schnorr import ZeroClaim, prove_zero
from hubbub.gopa.protocol.agreement import Agreement
from hubbub.gopa.protocol.masks import Opening
from hubbub.gopa.protocol.party_secrets import Secrets, Work
from hubbub.gopa.protocol.phases.folding import proof_context
from hubbub.gopa.protocol.phases.join import bind_bits
from hubbub.gopa.protocol.public_state import PublicState

# ---------------------------------------------------------------- value and noise


def prove_inputs(mine: Secrets, public: PublicState, work: Work | None) -> bits.Proved:
    """The commitments to value and noise, their proof, and their openings."""
    bound = work.bound if work else bind_bits(mine, public)
    return bits.prove(bound, public.coins(mine.place), proof_context(public, mine.place, "share"))


def input_claim(state: PublicState, party: int, statement: bits.BitStatement, proof: bytes) -> Provable:
    """That the statement follows from what was bound and the coins."""
    shape, bound = state.agreement.shape, state.joins[party].bits
    return bits.BitClaim(shape, bound, state.coins(party), statement, proof, proof_context(state, party, "share"))


# ---------------------------------------------------------------- all coordinates in one commitment


def prove_vector(mine: Secrets, public: PublicState, shown: bits.Proved, opening: Opening) -> tuple[bytes, bytes]:
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


def vector_fits(statement: bits.BitStatement, vector: bytes, proof: bytes) -> bool:
    """With one coordinate the vector commitment is the sum of the two, and there is nothing to prove."""
    points = statement.points
    return len(points) > 2 or (all(map(is_point, points)) and vector == plus(*points) and not proof)


def vector_claim(state: PublicState, party: int, statement: bits.BitStatement, vector: bytes, proof: bytes) -> Provable:
    """That the vector commitment holds the sums; the identity, which proves nothing, where there is no point."""
    pairs = zip(statement.values, statement.noises, strict=True)
    sums = [plus(value, noise) if is_point(value) and is_point(noise) else IDENTITY for value, noise in pairs]
    return linked.LinkClaim(sums, vector, proof, proof_context(state, party, "linked"))


# ---------------------------------------------------------------- in a ball


def prove_ball(mine: Secrets, public: PublicState, shown: bits.Proved) -> bytes:
    """The proof that the values lie in the ball, if the quantity asks for one."""
    if not public.agreement.quantity.ball:
        return b""
    steps = public.agreement.plan.steps
    claim = ball_claim(public, mine.place, shown.statement.values, b"")
    return sum_of_squares.prove(
        claim.commitments,
        bound=claim.bound,
        values=[2 * value - steps for value in mine.values],
        blinders=[2 * blinder % ORDER for blinder in shown.openings.value_blinders],
        seed=mine.stream("ball", public.agreement.run).take(32),
        context=claim.context,
    )


def ball_claim(state: PublicState, party: int, values: Sequence[bytes], proof: bytes) -> sum_of_squares.BallClaim:
    """That the values, less the middle and doubled, have squares that sum to at most steps squared."""
    steps = state.agreement.plan.steps
    middle = base(steps)
    doubled = [minus(plus(point, point), middle) if is_point(point) else IDENTITY for point in values]
    return sum_of_squares.BallClaim(doubled, steps * steps, proof, proof_context(state, party, "ball"))


# ---------------------------------------------------------------- one-hot, and the same as before


def zero_proof_count(agreement: Agreement) -> int:
    """How many proofs of a zero the quantity asks for besides: one-hot, and one per coordinate for earlier inputs."""
    return agreement.quantity.one_hot + (agreement.quantity.coordinates if agreement.previous else 0)


def prove_zeros(mine: Secrets, public: PublicState, shown: bits.Proved) -> tuple[bytes, ...]:
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


def zero_claims(state: PublicState, party: int, values: Sequence[bytes], proofs: Sequence[bytes]) -> list[Provable]:
    """That they hold zero."""
    zeros = _zero_points(state, party, values)
    return [ZeroClaim(p, proof, proof_context(state, party, w)) for (w, p), proof in zip(zeros, proofs, strict=True)]


def _zero_points(state: PublicState, party: int, values: Sequence[bytes]) -> list[tuple[str, bytes]]:
    """The points that the quantity asks a party to prove to hold zero, with their names."""
    points: list[tuple[str, bytes]] = []
    if not all(map(is_point, values)):
        return [("no point", IDENTITY)] * zero_proof_count(state.agreement)
    if state.agreement.quantity.one_hot:
        points.append(("one-hot", minus(sum_points(values), G)))
    if state.agreement.previous:
        olds = state.earlier.points.get(state.agreement.roster[party], ()) if state.earlier else ()
        if len(olds) != len(values):  # it had no input then, and so cannot have the same one now
            return [("no point", IDENTITY)] * zero_proof_count(state.agreement)
        points += [(f"same {c}", minus(new, old)) for c, (new, old) in enumerate(zip(values, olds, strict=True))]
    return points
