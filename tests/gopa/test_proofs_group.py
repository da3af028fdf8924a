"""Points, scalars, commitments, challenges and secret streams, with the standard's own vectors."""

from __future__ import annotations

import ctypes
import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.gopa.crypto import pedersen, ristretto
from hubbub.gopa.crypto.secret_streams import Stream
from hubbub.gopa.crypto.sodium import load_sodium, point_buffer
from hubbub.gopa.crypto.transcript import Context, Transcript
from hubbub.terms import OutOfRange, WrongShape

VECTORS = json.loads((Path(__file__).parent / "ristretto255.json").read_text(encoding="utf-8"))
MULTIPLES = [bytes.fromhex(text) for text in VECTORS["multiples"]]
REFUSED = [bytes.fromhex(text) for text in VECTORS["refused"]]
SCALARS = st.integers(0, ristretto.ORDER - 1)


def test_multiples_of_the_generator_are_those_of_the_standard() -> None:
    assert [ristretto.base(k) for k in range(16)] == MULTIPLES
    assert [ristretto.times(k, ristretto.G) for k in range(16)] == MULTIPLES
    assert [ristretto.sum_points([ristretto.G] * k) for k in range(16)] == MULTIPLES
    assert ristretto.base(ristretto.ORDER) == ristretto.IDENTITY == ristretto.plus(ristretto.base(-1), ristretto.G)


@pytest.mark.parametrize("data", [*REFUSED, b"", bytes(31), bytes(33), b"\xff" * 32, "x" * 32, None])
def test_bytes_that_are_no_point_are_refused(data: object) -> None:
    assert not ristretto.is_point(data)
    for check in (ristretto.require_point, ristretto.require_nonzero_point):
        with pytest.raises(OutOfRange):
            check(data)


@pytest.mark.parametrize("data", [*REFUSED, ristretto.G[:31] + bytes([ristretto.G[31] | 128]), bytes(31) + b"\x80"])
def test_sums_and_multiples_of_no_point_are_refused(data: bytes) -> None:
    for work in (ristretto.plus, ristretto.minus):
        with pytest.raises(OutOfRange):
            work(data, ristretto.G)
        with pytest.raises(OutOfRange):
            work(ristretto.G, data)
    with pytest.raises(OutOfRange):
        ristretto.times(3, data)


def test_libsodium_alone_would_have_let_points_have_two_encodings() -> None:
    """Version 1.0.18 ignores the top bit; newer ones do not, and then this says nothing."""
    sodium_version = load_sodium().sodium_version_string  # type: ignore[attr-defined]
    sodium_version.restype = ctypes.c_char_p
    second = ristretto.IDENTITY[:31] + b"\x80"
    assert not ristretto.is_point(second)
    if sodium_version() == b"1.0.18":
        assert load_sodium().crypto_core_ristretto255_is_valid_point(second) == 1


def test_libsodium_alone_would_have_given_the_identity_for_such_a_sum() -> None:
    out = point_buffer()
    assert load_sodium().crypto_core_ristretto255_add(out, REFUSED[0], ristretto.G) == -1
    assert out.raw == ristretto.IDENTITY


def test_a_point_has_no_second_encoding_and_none_has_small_order() -> None:
    """Neither -s, nor s + p, nor a set top bit; and the curve's own encodings of its points of order 1, 2 and 4."""
    p = 2**255 - 19
    for point in MULTIPLES:
        s = int.from_bytes(point, "little")
        seconds = {(p - s) % 2**256, 2 * p - s, s + p, s + 2**255}
        assert not any(ristretto.is_point(second.to_bytes(32, "little")) for second in seconds if second < 2**256)
    small = [1, p - 1, p, p + 1, 1 + 2**255, p - 1 + 2**255, 2**255]
    assert not any(ristretto.is_point(y.to_bytes(32, "little")) for y in small)
    assert ristretto.is_point(ristretto.IDENTITY)
    with pytest.raises(OutOfRange):
        ristretto.require_nonzero_point(ristretto.IDENTITY)


@pytest.mark.parametrize("text", VECTORS["hashed"])
def test_hashing_to_the_group_is_that_of_the_standard(text: str) -> None:
    out = point_buffer()
    load_sodium().crypto_core_ristretto255_from_hash(out, hashlib.sha512(text.encode()).digest())
    assert out.raw.hex() == VECTORS["hashed"][text]


def test_generators_are_hashes_of_their_names_and_all_different() -> None:
    assert ristretto.hash_to_group("blinder") == ristretto.H
    assert ristretto.hash_to_group("inner product") == ristretto.U
    assert ristretto.coordinate_generator(0) == ristretto.G
    vectors = [name(i) for name in (ristretto.bit_generator, ristretto.complement_generator) for i in range(50)]
    found = [ristretto.H, ristretto.U, *map(ristretto.coordinate_generator, range(50)), *vectors]
    assert len(set(found)) == len(found)
    assert ristretto.IDENTITY not in found


def test_a_scalar_has_one_encoding() -> None:
    assert ristretto.decode_scalar(ristretto.encode_scalar(-1)) == ristretto.ORDER - 1
    for data in (ristretto.ORDER.to_bytes(32, "little"), b"\xff" * 32, bytes(31), bytes(33)):
        assert ristretto.decode_scalar(data) is None


@given(SCALARS, SCALARS, SCALARS, SCALARS)
def test_commitments_add_up(a: int, r: int, b: int, s: int) -> None:
    assert ristretto.plus(pedersen.commit(a, r), pedersen.commit(b, s)) == pedersen.commit(a + b, r + s)
    whole = pedersen.commit_vector([a, b, 0], r)
    assert pedersen.opens_vector(whole, [a, b, 0], r)
    assert not pedersen.opens_vector(whole, [a, b + 1, 0], r)
    assert pedersen.commit_vector([a], r) == pedersen.commit(a, r)
    assert not pedersen.is_opening(pedersen.commit(a, r), a, r + 1)


# ---------------------------------------------------------------- challenges

HERE = Context(run=b"run", party=b"ann", phase="share")


def test_a_challenge_depends_on_every_part_and_its_place() -> None:
    starts = [HERE, Context(b"ru", b"nann", "share"), Context(b"run", b"bob", "share"), Context(b"run", b"ann", "cut")]
    challenges = [Transcript(start).append("a", b"x", b"y").challenge("e") for start in starts]
    for parts in [("a", b"xy"), ("a", b"x", b"y", b""), ("a", b"y", b"x"), ("ax", b"", b"y")]:
        challenges.append(Transcript(HERE).append(*parts).challenge("e"))  # type: ignore[arg-type]
    challenges.append(Transcript(HERE).append("a", b"x", b"y").challenge("f"))
    challenges.append(Transcript(HERE).append("a", b"x").append("a", b"y").challenge("e"))
    assert len(set(challenges)) == len(challenges)
    twice = Transcript(HERE)
    assert twice.challenge("e") != twice.challenge("e")


def test_a_challenge_is_never_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    digests = [ristretto.ORDER.to_bytes(64, "little"), bytes(64), (7).to_bytes(64, "little")]
    monkeypatch.setattr(Transcript, "digest", lambda _: digests.pop(0))
    assert Transcript(HERE).challenge("e") == 7


def test_a_stream_follows_from_its_secret_and_its_names() -> None:
    first = Stream(bytes(32), "masks", b"a", b"b")
    drawn = first.take(100)
    assert Stream(bytes(32), "masks", b"a", b"b").take(100) == drawn
    others = [Stream(bytes(31) + b"x", "masks", b"a", b"b"), Stream(bytes(32), "mask", b"a", b"b")]
    others += [Stream(bytes(32), "masks", b"ab"), Stream(bytes(32), "masks", b"ab", b""), Stream(bytes(32), "masks")]
    assert all(other.take(100) != drawn for other in others)
    assert len(first.bits(13)) == 13
    with pytest.raises(WrongShape):
        Stream(bytes(16), "masks")


def test_the_bits_of_a_stream_are_fair() -> None:
    ones = sum(Stream(bytes(32), "fair").bits(40_000))
    assert abs(ones - 20_000) < 6 * 100  # six standard deviations; the secret is fixed, so there is no false alarm
