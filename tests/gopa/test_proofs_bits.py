"""The coin-signed bit proof: what an honest party shows, and what a cheat cannot."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hubbub.gopa import Context, ProofShape, verify_many
from hubbub.gopa.crypto import batch_verification, bit_proof, multi_scalar, pedersen, quadratic, ristretto
from hubbub.gopa.crypto.bit_proof import BitClaim, BitInputs, BitStatement, Proved
from hubbub.gopa.crypto.point_equations import Equation, all_hold
from hubbub.gopa.crypto.quadratic import Proof, Vectors
from hubbub.gopa.crypto.secret_streams import Stream
from hubbub.terms import OutOfRange, WrongShape
from tests.gopa.test_proofs_group import REFUSED

HERE = Context(run=b"run", party=b"ann", phase="share")
SHAPE = ProofShape(coordinates=2, steps=5, noise_bits=3)
COINS = (1, 0, 0, 1, 1, 0)
SEED = bytes(range(32))


@functools.cache
def honest(seed: bytes = SEED, values: tuple[int, ...] = (5, 2)) -> tuple[BitInputs, Proved]:
    bound = bit_proof.bind(SHAPE, values, seed)
    return bound, bit_proof.prove(bound, COINS, HERE)


def claim(**changes: object) -> BitClaim:
    bound, proved = honest()
    whole = BitClaim(SHAPE, bound.point, COINS, proved.statement, proved.proof, HERE)
    return dataclasses.replace(whole, **changes)  # type: ignore[arg-type]


def holds(one: BitClaim) -> bool:
    """Alone and in a batch with honest ones, which must not suffer."""
    alone = bit_proof.verify(one.shape, one.point, one.coins, one.statement, one.proof, one.context)
    assert verify_many([claim(), one, claim()]) == [True, alone, True]
    return alone


# ---------------------------------------------------------------- the honest


@st.composite
def runs(draw: st.DrawFn) -> tuple[ProofShape, list[int], bytes, list[int]]:
    shape = ProofShape(draw(st.integers(1, 3)), draw(st.integers(1, 40)), draw(st.integers(0, 6)))
    values = draw(st.lists(st.integers(0, shape.steps), min_size=shape.coordinates, max_size=shape.coordinates))
    coins = draw(st.lists(st.integers(0, 1), min_size=shape.coins, max_size=shape.coins))
    return shape, values, draw(st.binary(min_size=32, max_size=32)), coins


@settings(max_examples=25)
@given(runs())
def test_an_honest_proof_is_accepted_and_its_openings_open(run: tuple[ProofShape, list[int], bytes, list[int]]) -> None:
    shape, values, seed, coins = run
    bound = bit_proof.bind(shape, values, seed)
    proved = bit_proof.prove(bound, coins, HERE)
    assert bit_proof.verify(shape, bound.point, coins, proved.statement, proved.proof, HERE)
    opened = proved.openings
    assert list(opened.values) == values
    assert all(0 <= noise <= shape.noise_bits for noise in opened.noises)
    assert all(map(pedersen.is_opening, proved.statement.values, opened.values, opened.value_blinders))
    assert all(map(pedersen.is_opening, proved.statement.noises, opened.noises, opened.noise_blinders))
    assert len(proved.statement.noises) == (shape.coordinates if shape.noise_bits else 0)


@given(st.integers(1, 3000), st.data())
def test_weights_reach_every_value_in_range_and_no_other(steps: int, data: st.DataObject) -> None:
    shape = ProofShape(1, steps, 0)
    assert sum(shape.weights) == steps
    assert min(shape.weights) >= 1
    value = data.draw(st.integers(0, steps))
    digits = shape.digits(value)
    assert set(digits) <= {0, 1}
    assert sum(digit * weight for digit, weight in zip(digits, shape.weights, strict=True)) == value


def test_the_noise_is_where_bits_and_coins_differ() -> None:
    """Turning a coin over moves the noise by one, whatever the bit was; the bits do not depend on the coins."""
    shape = ProofShape(1, 1, 4)
    bound = bit_proof.bind(shape, [1], SEED)
    noises = {
        coins: bit_proof.prove(bound, coins, HERE).openings.noises[0] for coins in itertools.product((0, 1), repeat=4)
    }
    assert sorted(noises.values()) == sorted(bin(i).count("1") for i in range(16))
    for coins, noise in noises.items():
        assert abs(noise - noises[(1 - coins[0], *coins[1:])]) == 1
        assert noise + noises[tuple(1 - coin for coin in coins)] == 4


def test_the_same_seed_says_the_same_for_ever() -> None:
    """What is on the wire: a change of one byte makes old runs unverifiable."""
    bound, proved = honest()
    assert bit_proof.prove(bit_proof.bind(SHAPE, [5, 2], SEED), COINS, HERE) == proved
    said = bound.point + b"".join(proved.statement.points) + proved.proof
    assert hashlib.sha256(said).hexdigest() == "b104936170fb6342c63b6795271cd2e69db9aea120b12e23658c1602a7f4ffa7"


def test_no_nonce_serves_two_challenges() -> None:
    """Other coins or another context under one seed: the masks S, T1, T2 and all blinders are new."""
    bound, proved = honest()
    others = [
        bit_proof.prove(bound, (0, *COINS[1:]), HERE),
        bit_proof.prove(bound, COINS, Context(b"run", b"ann", "cut")),
    ]
    for other in others:
        assert {proved.proof[i : i + 32] for i in (0, 32, 64)}.isdisjoint(other.proof[i : i + 32] for i in (0, 32, 64))
        assert set(proved.openings.noise_blinders).isdisjoint(other.openings.noise_blinders)
        assert set(proved.openings.value_blinders).isdisjoint(other.openings.value_blinders)


def test_one_seed_bound_to_two_values_shares_no_blinder() -> None:
    zero, one = (bit_proof.bind(ProofShape(1, 1, 0), [value], SEED) for value in (0, 1))
    generators = ristretto.plus(ristretto.bit_generator(0), ristretto.complement_generator(0))
    assert ristretto.minus(one.point, zero.point) != generators  # it would be, under one blinder: the value would show


def test_secrets_do_not_show_in_what_is_printed() -> None:
    bound, proved = honest()
    for text in (repr(bound), repr(proved)):
        assert "seed" not in text
        assert "openings" not in text
        assert str(proved.openings.value_blinders[0]) not in text


def test_values_and_coins_that_do_not_fit_are_refused_before_anything_is_bound() -> None:
    for values in ([6, 0], [-1, 0], [True, 0], [1.0, 0]):
        with pytest.raises(OutOfRange, match="from 0 to 5"):
            bit_proof.bind(SHAPE, values, SEED)  # type: ignore[arg-type]
    with pytest.raises(WrongShape):
        bit_proof.bind(SHAPE, [1], SEED)
    with pytest.raises(WrongShape):
        bit_proof.bind(SHAPE, [1, 1], SEED[:16])
    for coins in (COINS[:5], (*COINS, 0), (2, *COINS[1:]), (0.0, *COINS[1:])):
        with pytest.raises(OutOfRange, match="6 coins"):
            bit_proof.prove(honest()[0], coins, HERE)  # type: ignore[arg-type]


@pytest.mark.parametrize("numbers", [(0, 1, 1), (1, 0, 1), (1, 1, -1), (1, 1.5, 1), (1, 1 << 65, 0), (1 << 16, 2, 1)])
def test_shapes_that_make_no_proof_are_refused(numbers: tuple[int, int, int]) -> None:
    with pytest.raises(OutOfRange):
        ProofShape(*numbers)


# ---------------------------------------------------------------- cheats with the prover's own tools


def cheat(
    left: Sequence[int],
    right: Sequence[int],
    values: Sequence[int],
    noises: Sequence[int],
    *,
    bound_to: tuple[Sequence[int], Sequence[int]] | None = None,
) -> BitClaim:
    """The honest algorithm on any vectors and any numbers in the statement; A may hold other vectors."""
    stream = Stream(SEED, "cheat")
    blinder = stream.scalar()
    point = Vectors(*(bound_to or (left, right)), blinder).committed()
    blinders = stream.scalars(len(values) + len(noises))
    points = tuple(map(pedersen.commit, [*values, *noises], blinders))
    statement = BitStatement(points[: len(values)], points[len(values) :])
    transcript = bit_proof._begin_transcript(SHAPE, point, COINS, HERE).append("statement", *points)
    forms = functools.partial(bit_proof._bit_form, SHAPE, COINS)
    proof = quadratic.prove(transcript, Vectors(left, right, blinder), blinders, forms, stream)
    return BitClaim(SHAPE, point, COINS, statement, proof, HERE)


# The weights are 1, 2, 2. Value 5 with noise bits 1 0 1, value 2 with noise bits 0 0 0, padding.
BITS = [1, 1, 1, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]
LESS = [bit - 1 for bit in BITS]
VALUES, NOISES = [5, 2], [1, 2]


def put(values: Sequence[int], place: int, value: int) -> list[int]:
    return [*values[:place], value, *values[place + 1 :]]


def test_the_cheats_tools_give_an_accepted_proof_of_the_truth() -> None:
    assert holds(cheat(BITS, LESS, VALUES, NOISES))


CHEATS: dict[str, Callable[[], BitClaim]] = {
    "value above the range": lambda: cheat(put(BITS, 2, 2), put(LESS, 2, 1), [7, 2], NOISES),
    "value far above": lambda: cheat(put(BITS, 0, 70_000), put(LESS, 0, 69_999), [70_004, 2], NOISES),
    "negative value": lambda: cheat(put(BITS, 6, -4), put(LESS, 6, -5), [5, -2], NOISES),
    "value that is not what the bits say": lambda: cheat(BITS, LESS, [4, 2], NOISES),
    "noise that is not what the bits and coins say": lambda: cheat(BITS, LESS, VALUES, [1, 1]),
    "values and noises that balance": lambda: cheat(BITS, LESS, [4, 3], NOISES),
    "a noise bit of two": lambda: cheat(put(BITS, 4, 2), put(LESS, 4, 1), VALUES, [3, 2]),
    "a noise bit of one half": lambda: cheat(
        put(BITS, 4, pow(2, -1, ristretto.ORDER)), put(LESS, 4, pow(2, -1, ristretto.ORDER) - 1), VALUES, NOISES
    ),
    "padding that is no bit": lambda: cheat(put(BITS, 15, 9), put(LESS, 15, 8), VALUES, NOISES),
    "bits that do not match their complements": lambda: cheat(BITS, put(LESS, 3, 5), VALUES, NOISES),
    "a zero on both sides": lambda: cheat(put(BITS, 0, 0), put(LESS, 0, 0), [4, 2], NOISES),
    "the order added to a value": lambda: cheat(put(BITS, 0, 1 + ristretto.ORDER // 2), LESS, VALUES, NOISES),
    "noise changed after the coins": lambda: cheat(
        put(BITS, 4, 1), put(LESS, 4, 0), VALUES, [2, 2], bound_to=(BITS, LESS)
    ),
    "value changed after the coins": lambda: cheat(
        put(BITS, 0, 0), put(LESS, 0, -1), [4, 2], NOISES, bound_to=(BITS, LESS)
    ),
}


@pytest.mark.parametrize("name", CHEATS)
def test_a_false_statement_has_no_accepted_proof(name: str) -> None:
    assert not holds(CHEATS[name]())


def test_each_half_of_the_verification_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the check of products a value out of range passes; without that of vectors, noise of later."""
    with monkeypatch.context() as patch:
        patch.setattr(Proof, "_products", lambda *_: Equation())
        assert holds(CHEATS["value above the range"]())
        assert not holds(CHEATS["noise changed after the coins"]())
    with monkeypatch.context() as patch:
        patch.setattr(Proof, "_vectors", lambda *_: Equation())
        assert holds(CHEATS["noise changed after the coins"]())
        assert not holds(CHEATS["value above the range"]())


# ---------------------------------------------------------------- what is posted, altered

STATED = honest()[1].statement
PROOF = honest()[1].proof


def moved(point: bytes) -> bytes:
    return ristretto.plus(point, ristretto.G)


ALTERED: dict[str, Callable[[], BitClaim]] = {
    "another party": lambda: claim(context=Context(b"run", b"bob", "share")),
    "another run": lambda: claim(context=Context(b"nur", b"ann", "share")),
    "another phase": lambda: claim(context=Context(b"run", b"ann", "cut")),
    "run and party cut elsewhere": lambda: claim(context=Context(b"runa", b"nn", "share")),
    "another coin": lambda: claim(coins=(0, *COINS[1:])),
    "coins in another order": lambda: claim(coins=COINS[::-1]),
    "too few coins": lambda: claim(coins=COINS[:-1]),
    "no coins": lambda: claim(coins=()),
    "coins that are none": lambda: claim(coins=(2, *COINS[1:])),
    "another bound point": lambda: claim(point=moved(honest()[0].point)),
    "the identity bound": lambda: claim(point=ristretto.IDENTITY),
    "values swapped": lambda: claim(statement=BitStatement(STATED.values[::-1], STATED.noises)),
    "value and noise swapped": lambda: claim(statement=BitStatement(STATED.noises, STATED.values)),
    "a value moved": lambda: claim(statement=BitStatement((moved(STATED.values[0]), STATED.values[1]), STATED.noises)),
    "a noise moved": lambda: claim(statement=BitStatement(STATED.values, (STATED.noises[0], moved(STATED.noises[1])))),
    "an identity commitment": lambda: claim(
        statement=BitStatement((ristretto.IDENTITY, STATED.values[1]), STATED.noises)
    ),
    "a value short": lambda: claim(statement=BitStatement(STATED.values[:1], STATED.noises)),
    "a noise too many": lambda: claim(statement=BitStatement(STATED.values[:1], (STATED.values[1], *STATED.noises))),
    "no statement": lambda: claim(statement=BitStatement((), ())),
    "another shape of that size": lambda: claim(shape=ProofShape(2, 4, 3)),
    "a longer range": lambda: claim(shape=ProofShape(2, 7, 3)),
    "one coordinate with all": lambda: claim(shape=ProofShape(1, 5, 6), statement=BitStatement(STATED.values, ())),
    "a smaller proof": lambda: claim(shape=ProofShape(1, 5, 3), coins=COINS[:3]),
    "no proof": lambda: claim(proof=b""),
    "half a proof": lambda: claim(proof=PROOF[: len(PROOF) // 2]),
    "a byte more": lambda: claim(proof=PROOF + b"\0"),
    "a point more": lambda: claim(proof=PROOF + ristretto.G),
    "the points of a round swapped": lambda: claim(proof=PROOF[:192] + PROOF[224:256] + PROOF[192:224] + PROOF[256:]),
    "a text": lambda: claim(proof="x" * len(PROOF)),
}


@pytest.mark.parametrize("name", ALTERED)
def test_what_was_proved_cannot_be_used_for_anything_else(name: str) -> None:
    assert not holds(ALTERED[name]())


@pytest.mark.parametrize("place", range(0, len(PROOF), 32))
def test_every_part_of_a_proof_counts(place: int) -> None:
    part = PROOF[place : place + 32]
    number = int.from_bytes(part, "little")
    others = [
        ristretto.encode_scalar(number + 1),
        moved(part) if ristretto.is_point(part) else ristretto.G,
        ristretto.IDENTITY,
        REFUSED[0],
        REFUSED[12],
        part[:31] + bytes([part[31] | 128]),  # the top bit: a second encoding of a point
        ((number + ristretto.ORDER) % 2**256).to_bytes(32, "little"),  # a second encoding of a scalar
    ]
    for other in others:
        assert other != part
        assert not holds(claim(proof=PROOF[:place] + other + PROOF[place + 32 :]))


@pytest.mark.parametrize("data", [REFUSED[0], REFUSED[12], REFUSED[20], bytes(31) + b"\x80", b"", bytes(31), bytes(33)])
def test_no_other_bytes_are_taken_for_points(data: bytes) -> None:
    assert not holds(claim(point=data))
    assert not holds(claim(statement=BitStatement((data, STATED.values[1]), STATED.noises)))


@settings(max_examples=60)
@given(st.data())
def test_verifying_never_raises(data: st.DataObject) -> None:
    any_bytes = st.one_of(st.binary(max_size=40), st.binary(min_size=32, max_size=32))
    proofs = st.one_of(
        st.binary(max_size=700),
        st.binary(min_size=len(PROOF), max_size=len(PROOF)),
        st.integers(0, len(PROOF) - 1).map(lambda i: PROOF[:i] + bytes([PROOF[i] ^ 1]) + PROOF[i + 1 :]),
        st.integers(0, len(PROOF) - 1).map(lambda i: PROOF[:i]),
    )
    lists = st.lists(any_bytes, max_size=3).map(tuple)
    one = claim(
        proof=data.draw(proofs),
        point=data.draw(st.one_of(st.just(honest()[0].point), any_bytes)),
        statement=data.draw(st.one_of(st.just(STATED), st.builds(BitStatement, lists, lists))),
        coins=data.draw(st.one_of(st.just(COINS), st.lists(st.integers(-1, 2), max_size=7).map(tuple))),
    )
    assert holds(one) is False


# ---------------------------------------------------------------- many at once


def test_a_batch_names_the_false_ones_and_no_other() -> None:
    claims = [claim() for _ in range(9)]
    bound, proved = honest(bytes(32), (0, 1))
    second = BitClaim(SHAPE, bound.point, COINS, proved.statement, proved.proof, HERE)
    claims[2], claims[7] = claim(statement=proved.statement), dataclasses.replace(second, statement=STATED)  # swapped
    claims[4], claims[5] = second, claim(proof=b"")
    assert verify_many(claims) == [i not in {2, 5, 7} for i in range(9)]
    assert verify_many([]) == []
    assert verify_many([claim(proof=b"")]) == [False]


def test_batches_mix_shapes() -> None:
    claims = []
    for shape in (ProofShape(1, 1, 0), ProofShape(1, 9, 5), ProofShape(3, 2, 1), SHAPE):
        bound = bit_proof.bind(shape, [1] * shape.coordinates, SEED)
        proved = bit_proof.prove(bound, [1] * shape.coins, HERE)
        claims.append(BitClaim(shape, bound.point, [1] * shape.coins, proved.statement, proved.proof, HERE))
    assert verify_many(claims) == [True] * 4
    claims[1] = dataclasses.replace(
        claims[1], statement=BitStatement(claims[0].statement.values, claims[1].statement.noises)
    )
    assert verify_many(claims) == [True, False, True, True]


def test_without_the_accelerator_the_verdicts_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    from hubbub.gopa.crypto import point_equations as equations

    false = CHEATS["negative value"]()
    monkeypatch.setattr(multi_scalar, "native", lambda: None)
    equations.generator_basis.cache_clear()
    try:
        assert verify_many([claim(), false]) == [True, False]
        assert bit_proof.prove(honest()[0], COINS, HERE) == honest()[1]
    finally:
        equations.generator_basis.cache_clear()


def test_however_large_claims_are_few_numbers_are_held_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equations are made when their turn comes, and added up before they have 500 places together."""
    made: list[int] = []
    sums: list[tuple[int, int]] = []

    @dataclasses.dataclass
    class Wide:
        place: int

        def equation(self) -> Equation:
            made.append(self.place)
            return Equation(on_g=int(self.place == 13), scalars=[0] * 97, points=[ristretto.G] * 97)

    def counted(equations: Sequence[Equation]) -> bool:
        sums.append((len(made), sum(one.places for one in equations)))
        return all_hold(equations)

    monkeypatch.setattr(batch_verification, "PLACES", 450)
    monkeypatch.setattr(batch_verification, "all_hold", counted)
    assert verify_many([Wide(place) for place in range(20)]) == [place != 13 for place in range(20)]
    assert made == list(range(20))
    assert sums[:2] == [(5, 500), (10, 500)] and max(places for _, places in sums) == 500
