"""Proofs about one scalar, links between commitments, sums of squares; alone and in batches."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hubbub.gopa import Context, verify_many
from hubbub.gopa.crypto import (
    bit_proof,
    inner_product,
    linked_commitments,
    pedersen,
    quadratic,
    ristretto,
    schnorr,
    sum_of_squares,
)
from hubbub.gopa.crypto.quadratic import Vectors
from hubbub.gopa.crypto.schnorr import SameClaim, ZeroClaim
from hubbub.gopa.crypto.secret_streams import Stream
from hubbub.terms import OutOfRange
from tests.gopa.test_proofs_group import REFUSED

HERE = Context(run=b"run", party=b"ann", phase="share")
ELSEWHERE = [Context(b"run", b"bob", "share"), Context(b"nur", b"ann", "share"), Context(b"run", b"ann", "cut")]
SCALARS = st.integers(1, ristretto.ORDER - 1)
SEED = bytes(range(32))
JUNK = st.one_of(st.binary(max_size=40), st.binary(min_size=32, max_size=32), st.sampled_from(REFUSED))


def flipped(proof: bytes) -> list[bytes]:
    """The proof with each of its parts altered in several ways."""
    found = []
    for i in range(0, len(proof), 32):
        part = proof[i : i + 32]
        number = int.from_bytes(part, "little")
        others = [
            ristretto.encode_scalar(number + 1),
            ristretto.G,
            ristretto.IDENTITY,
            REFUSED[0],
            part[:31] + bytes([part[31] | 128]),
        ]
        others.append(((number + ristretto.ORDER) % 2**256).to_bytes(32, "little"))
        found += [proof[:i] + other + proof[i + 32 :] for other in others if other != part]
    return [*found, b"", proof[:-1], proof + b"\0", proof + bytes(32), proof[32:]]


# ---------------------------------------------------------------- a commitment to zero


@settings(max_examples=20)
@given(SCALARS, st.integers(1, 50))
def test_only_a_commitment_to_zero_is_one(blinder: int, value: int) -> None:
    zero, other = pedersen.commit(0, blinder), pedersen.commit(value, blinder)
    assert schnorr.verify_zero(zero, schnorr.prove_zero(zero, blinder, HERE), HERE)
    assert not schnorr.verify_zero(other, schnorr.prove_zero(other, blinder, HERE), HERE)
    assert not schnorr.verify_zero(other, schnorr.prove_zero(zero, blinder, HERE), HERE)


def test_the_same_input_as_in_an_earlier_run_can_be_shown() -> None:
    now, before, another = pedersen.commit(7, 100), pedersen.commit(7, 30), pedersen.commit(8, 30)
    same, changed = ristretto.minus(now, before), ristretto.minus(now, another)
    assert schnorr.verify_zero(same, schnorr.prove_zero(same, 70, HERE), HERE)
    assert not schnorr.verify_zero(changed, schnorr.prove_zero(changed, 70, HERE), HERE)


def test_a_vector_of_bits_with_one_one_can_be_shown() -> None:
    blinders = [11, 22, 33]
    for values, fine in (([0, 1, 0], True), ([0, 1, 1], False), ([0, 0, 0], False)):
        points = list(map(pedersen.commit, values, blinders))
        rest = ristretto.minus(ristretto.sum_points(points), ristretto.G)
        assert schnorr.verify_zero(rest, schnorr.prove_zero(rest, 66, HERE), HERE) is fine


def test_a_proof_of_zero_is_bound_to_its_context_and_every_part_counts() -> None:
    zero = pedersen.commit(0, 5)
    proof = schnorr.prove_zero(zero, 5, HERE)
    assert not any(schnorr.verify_zero(zero, proof, context) for context in ELSEWHERE)
    assert not any(schnorr.verify_zero(zero, other, HERE) for other in flipped(proof))
    identity = schnorr.prove_zero(ristretto.IDENTITY, 0, HERE)
    assert not schnorr.verify_zero(ristretto.IDENTITY, identity, HERE)


def test_a_nonce_depends_on_everything_the_challenge_depends_on() -> None:
    zero = pedersen.commit(0, 5)
    firsts = {schnorr.prove_zero(zero, 5, context)[:32] for context in [HERE, *ELSEWHERE]}
    assert len(firsts) == 4
    assert schnorr.prove_zero(zero, 5, HERE) == schnorr.prove_zero(zero, 5, HERE)


# ---------------------------------------------------------------- a Diffie-Hellman point


@settings(max_examples=15)
@given(SCALARS, SCALARS, st.integers(1, 50))
def test_only_the_keys_own_shared_point_passes(secret: int, theirs: int, off: int) -> None:
    key, other = ristretto.base(secret), ristretto.base(theirs)
    shared, proof = ristretto.times(secret, other), schnorr.prove_same(secret, other, HERE)
    assert schnorr.verify_same(key, other, shared, proof, HERE)
    wrong = ristretto.plus(shared, ristretto.base(off))
    assert not schnorr.verify_same(key, other, wrong, proof, HERE)
    assert not schnorr.verify_same(ristretto.base(secret + off), other, shared, proof, HERE)
    assert schnorr.verify_same(other, key, shared, proof, HERE) is (key == other)


def test_a_proof_of_a_shared_point_is_bound_to_its_context_and_every_part_counts() -> None:
    key, other, shared = ristretto.base(9), ristretto.base(4), ristretto.base(36)
    proof = schnorr.prove_same(9, other, HERE)
    assert schnorr.verify_same(key, other, shared, proof, HERE)
    assert not any(schnorr.verify_same(key, other, shared, proof, context) for context in ELSEWHERE)
    assert not any(schnorr.verify_same(key, other, shared, changed, HERE) for changed in flipped(proof))
    nothing = schnorr.prove_same(0, other, HERE)
    assert not schnorr.verify_same(ristretto.IDENTITY, other, ristretto.IDENTITY, nothing, HERE)


def test_faults_that_cancel_are_found_because_the_verifier_draws_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    zero = pedersen.commit(0, 5)
    proof = schnorr.prove_zero(zero, 5, HERE)
    answer = int.from_bytes(proof[32:], "little")
    claims = [ZeroClaim(zero, proof[:32] + ristretto.encode_scalar(answer + off), HERE) for off in (1, -1)]
    assert verify_many(claims) == [False, False]
    monkeypatch.setattr(schnorr, "random_weight", lambda: 1)
    assert verify_many(claims) == [True, True]  # without weights two wrong answers make a right sum


# ---------------------------------------------------------------- links


@functools.cache
def link(count: int) -> tuple[list[int], list[int], list[bytes], bytes]:
    values = [(7 * i) % 23 - 5 for i in range(count)]
    blinders = Stream(SEED, "blinders").scalars(count)
    return values, blinders, list(map(pedersen.commit, values, blinders)), pedersen.commit_vector(values, 77)


def linking(count: int, values: Sequence[int] | None = None, point: bytes | None = None) -> bytes:
    own, blinders, points, vector = link(count)
    chosen = {"values": values or own, "blinders": blinders, "vector_blinder": 77, "seed": SEED, "context": HERE}
    return linked_commitments.prove(points, point or vector, **chosen)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [1, 2, 3, 8, 13])
def test_the_coordinates_of_a_vector_are_the_committed_numbers(count: int) -> None:
    _, _, points, vector = link(count)
    proof = linking(count)
    assert linked_commitments.verify(points, vector, proof, HERE)
    assert not any(linked_commitments.verify(points, vector, proof, context) for context in ELSEWHERE)
    assert not linked_commitments.verify(
        points, ristretto.plus(vector, ristretto.coordinate_generator(count - 1)), proof, HERE
    )
    assert not linked_commitments.verify([*points[:-1], ristretto.plus(points[-1], ristretto.G)], vector, proof, HERE)
    assert not linked_commitments.verify(points[:-1], vector, proof, HERE)
    assert not linked_commitments.verify([], vector, proof, HERE)


@pytest.mark.parametrize("place", range(4))
def test_another_vector_is_not_linked(place: int) -> None:
    """The honest algorithm on a vector that differs in one coordinate, the padding's included."""
    values, _, points, _ = link(3)
    other = [*values, 0]
    other[place] += 1
    vector = pedersen.commit_vector(other, 77)
    for known in (other[:3], values):
        assert not linked_commitments.verify(points, vector, linking(3, known, vector), HERE)


def test_every_part_of_a_link_counts() -> None:
    _, _, points, vector = link(3)
    assert not any(linked_commitments.verify(points, vector, proof, HERE) for proof in flipped(linking(3)))
    swapped = [points[1], points[0], points[2]]
    assert not linked_commitments.verify(swapped, vector, linking(3), HERE)
    assert not linked_commitments.verify([ristretto.IDENTITY, *points[1:]], vector, linking(3), HERE)


# ---------------------------------------------------------------- squares


def squaring(values: Sequence[int], bound: int) -> tuple[list[bytes], bytes]:
    blinders = Stream(SEED, "blinders").scalars(len(values))
    points = list(map(pedersen.commit, values, blinders))
    return points, sum_of_squares.prove(points, bound=bound, values=values, blinders=blinders, seed=SEED, context=HERE)


@settings(max_examples=15)
@given(st.lists(st.integers(-30, 30), min_size=1, max_size=6), st.integers(0, 40))
def test_a_sum_of_squares_up_to_the_bound_is_accepted(values: list[int], slack: int) -> None:
    bound = max(1, sum(value * value for value in values) + slack)
    points, proof = squaring(values, bound)
    assert sum_of_squares.verify(points, bound, proof, HERE)
    assert not sum_of_squares.verify(points, bound + 1, proof, HERE)
    assert not sum_of_squares.verify([ristretto.plus(points[0], ristretto.G), *points[1:]], bound, proof, HERE)


def test_no_nonce_serves_two_bounds_or_two_contexts() -> None:
    """All points of two proofs about the same commitments differ: A, S, T1, T2 and the rest."""
    values, blinders = [3, -4], [5, 6]
    points = list(map(pedersen.commit, values, blinders))
    chosen = {"values": values, "blinders": blinders, "seed": SEED}
    proofs = [sum_of_squares.prove(points, bound=bound, context=HERE, **chosen) for bound in (30, 31)]  # type: ignore[arg-type]
    proofs.append(sum_of_squares.prove(points, bound=30, context=ELSEWHERE[0], **chosen))  # type: ignore[arg-type]
    parts = [{proof[i : i + 32] for i in range(0, len(proof), 32)} for proof in proofs]
    assert parts[0].isdisjoint(parts[1])
    assert parts[0].isdisjoint(parts[2])


def test_the_range_proof_within_is_no_proof_of_its_own() -> None:
    points, proof = squaring([3, -4], 40)
    square, bound_point, shape = proof[:32], proof[32:64], sum_of_squares._range_shape(40)
    inner_proof = proof[64 : 64 + quadratic.proof_length(shape.size)]
    assert not bit_proof.verify(shape, bound_point, (), bit_proof.BitStatement((square,), ()), inner_proof, HERE)
    assert sum_of_squares.verify(points, 40, proof, HERE)


def test_a_vector_outside_the_ball_is_refused_by_its_own_prover() -> None:
    with pytest.raises(OutOfRange, match="above 24"):
        squaring([3, 4], 24)


def ball_cheat(left: Sequence[int], right: Sequence[int], square: int, values: Sequence[int], bound: int) -> bool:
    """The honest algorithm on any two vectors and any claimed square, for commitments to ``values``."""
    stream, count, size = Stream(SEED, "cheat"), len(values), len(left)
    blinders = stream.scalars(count)
    points = list(map(pedersen.commit, values, blinders))
    ranged = bit_proof.bind(sum_of_squares._range_shape(bound), [square], SEED)
    proved = bit_proof.prove(ranged, (), sum_of_squares._inner_context(HERE))
    (committed,), (blinder,) = proved.statement.values, proved.openings.value_blinders
    vectors = Vectors(left, right, stream.scalar())
    transcript = sum_of_squares._begin_transcript(points, bound, committed, vectors.committed(), HERE)
    forms = functools.partial(sum_of_squares._ball_form, count, size)
    argument = quadratic.prove(transcript, vectors, (blinder, *blinders), forms, stream)
    proof = b"".join([committed, ranged.point, proved.proof, vectors.committed(), argument])
    return sum_of_squares.verify(points, bound, proof, HERE)


def test_a_vector_outside_the_ball_has_no_accepted_proof() -> None:
    assert ball_cheat([3, -4], [3, -4], 25, [3, -4], 25)  # the same tools on the truth
    assert not ball_cheat([3, -4], [3, -4], 24, [3, -4], 24)  # a smaller square
    assert not ball_cheat([3, -4], [3, 0], 9, [3, -4], 24)  # two different vectors
    assert not ball_cheat([3, 0], [3, 0], 9, [3, -4], 24)  # another vector than the committed one
    assert not ball_cheat([3, -4, 0, 1], [3, -4, 0, -1], 24, [3, -4, 0], 24)  # a root of -1 in the padding
    assert not ball_cheat([3, -4, 0, 0], [3, -4, 0, 0], 24, [3, -4, 0], 24)


def test_every_part_of_a_proof_of_squares_counts() -> None:
    points, proof = squaring([3, -4, 1], 40)
    assert sum_of_squares.verify(points, 40, proof, HERE)
    assert not any(sum_of_squares.verify(points, 40, proof, context) for context in ELSEWHERE)
    assert not any(sum_of_squares.verify(points, 40, other, HERE) for other in flipped(proof))
    assert not sum_of_squares.verify(points[::-1], 40, proof, HERE)
    assert not sum_of_squares.verify([], 40, proof, HERE)


# ---------------------------------------------------------------- all together


@settings(max_examples=40)
@given(st.data())
def test_verifying_never_raises(data: st.DataObject) -> None:
    zero, shared = pedersen.commit(0, 5), ristretto.base(36)
    proof = data.draw(
        st.one_of(
            JUNK,
            st.binary(max_size=1000),
            *(st.binary(min_size=size, max_size=size) for size in (64, 96, 160 + inner_product.argument_length(2))),
            st.just(linking(2)),
        )
    )
    first, second = data.draw(st.one_of(st.just(zero), JUNK)), data.draw(st.one_of(st.just(shared), JUNK))
    assert schnorr.verify_zero(first, proof, HERE) is False
    assert schnorr.verify_same(first, second, ristretto.G, proof, HERE) is False
    assert linked_commitments.verify([first, second], ristretto.G, proof, HERE) is False
    assert sum_of_squares.verify([first, second], 7, proof, HERE) is False


def test_claims_of_all_kinds_go_into_one_batch() -> None:
    zero = pedersen.commit(0, 5)
    _, _, points, vector = link(3)
    ball, in_ball = squaring([3, -4, 1], 40)
    claims = [
        ZeroClaim(zero, schnorr.prove_zero(zero, 5, HERE), HERE),
        SameClaim(
            ristretto.base(9),
            ristretto.base(4),
            ristretto.base(36),
            schnorr.prove_same(9, ristretto.base(4), HERE),
            HERE,
        ),
        linked_commitments.LinkClaim(points, vector, linking(3), HERE),
        sum_of_squares.BallClaim(ball, 40, in_ball, HERE),
        sum_of_squares.BallClaim(ball, 39, in_ball, HERE),
        SameClaim(
            ristretto.base(9),
            ristretto.base(4),
            ristretto.base(35),
            schnorr.prove_same(9, ristretto.base(4), HERE),
            HERE,
        ),
    ]
    assert verify_many(claims) == [True, True, True, True, False, False]
