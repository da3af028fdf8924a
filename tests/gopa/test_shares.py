"""Shares, picks, masks and seals by themselves."""

from __future__ import annotations

import itertools
import secrets
from collections import Counter
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.gopa import verify_many
from hubbub.gopa.crypto import shamir
from hubbub.gopa.crypto.point_equations import Equation, all_hold
from hubbub.gopa.crypto.ristretto import ORDER, G, base, minus, plus, random_scalar
from hubbub.gopa.crypto.secret_streams import Stream
from hubbub.gopa.protocol import masks, topology
from hubbub.gopa.protocol.faults import Refused
from hubbub.gopa.protocol.masks import MaskContext, Opening, OpeningClaim
from hubbub.gopa.protocol.phases import share
from hubbub.gopa.protocol.phases.dropout_recovery import LogarithmClaim
from hubbub.gopa.protocol.phases.reveal import packed_reveal, parse_reveal
from hubbub.gopa.protocol.sealed_shares import SEALED, Share, seal, unseal
from hubbub.gopa.protocol.wire import pack
from tests.gopa.cast import cast, run, values

VIEW = MaskContext(bytes(32), bytes(range(32)))


def stream() -> Stream:
    return Stream(secrets.token_bytes(32), "test")


@given(secret=st.integers(0, ORDER - 1), count=st.integers(1, 9), data=st.data())
def test_any_threshold_of_shares_gives_the_secret_back(secret: int, count: int, data: st.DataObject) -> None:
    threshold = data.draw(st.integers(1, count))
    dealt = dict(enumerate(shamir.deal_shares(secret, count, threshold, stream()), start=1))
    some = data.draw(st.permutations(sorted(dealt)))[: data.draw(st.integers(threshold, count))]
    assert shamir.recover_secret({place: dealt[place] for place in some}) == secret


def test_one_share_less_fits_every_secret() -> None:
    """Through t - 1 shares and any secret there is a polynomial: the same shares could come from another secret."""
    dealt = shamir.deal_shares(7, 5, 3, stream())
    few = {1: dealt[0], 2: dealt[1]}
    guesses = {shamir.recover_secret({**few, 3: third}) for third in range(50)}
    assert len(guesses) == 50


class Place(int):
    """A place that remembers how large the numbers were that it was multiplied with."""

    seen: ClassVar[list[int]] = []

    def __rmul__(self, other: int) -> int:
        self.seen.append(other)
        return int(self) * other


def test_numbers_stay_below_the_order_while_a_polynomial_is_evaluated() -> None:
    Place.seen.clear()
    shamir._evaluate_at([ORDER - 1] * 40, Place(999))
    assert len(Place.seen) == 40 and max(Place.seen) < ORDER


# ---------------------------------------------------------------- the test of their degree


def claims(threshold: int, *words: tuple[bytes, ...]) -> list[shamir.DegreeClaim]:
    """That these words of points are of a degree below the threshold, all by one dual word."""
    drawn = shamir.dual_word(len(words[0]) - 1, threshold)
    return [shamir.DegreeClaim(points, drawn) for points in words]


@pytest.mark.parametrize("threshold", [1, 3, 6])
def test_points_of_shares_pass_and_any_other_word_fails(threshold: int) -> None:
    secret = random_scalar()
    points = (base(secret), *map(base, shamir.deal_shares(secret, 6, threshold, stream())))
    wrong = [(*points[:place], plus(points[place], G), *points[place + 1 :]) for place in range(7)]
    assert verify_many(claims(threshold, points, *wrong)) == [True] + [False] * 7
    if threshold > 1:
        assert verify_many(claims(threshold - 1, points)) == [False]


def test_a_dual_word_is_orthogonal_to_all_low_powers_and_to_no_higher_one() -> None:
    word = shamir.dual_word(9, 4)
    sums = [sum(one * place**power for place, one in enumerate(word)) % ORDER for power in range(10)]
    assert sums[:4] == [0] * 4 and all(sums[4:])
    assert word != shamir.dual_word(9, 4)


def test_two_dealers_whose_errors_make_up_for_each_other_are_both_found() -> None:
    """One dual word serves both, so without multipliers of their own the two errors would cancel in the sum."""
    points = tuple(map(base, (5, 5, 5, 5)))
    more, less = (*points[:3], plus(points[3], G)), (*points[:3], minus(points[3], G))
    found = claims(1, more, less)
    assert verify_many(found) == [False, False]
    bare = [Equation(scalars=one.word, points=one.points) for one in found]
    assert all_hold(bare)


def test_all_dealers_of_a_phase_are_tested_by_one_word(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[tuple[int, int]] = []

    def counted(count: int, threshold: int) -> tuple[int, ...]:
        drawn.append((count, threshold))
        return shamir.dual_word(count, threshold)

    monkeypatch.setattr(share, "dual_word", counted)
    told = run(cast(), values())
    assert told.certificate.complete and drawn == [(told.public.holders, told.public.threshold)]


def test_a_threshold_that_makes_no_sense_is_no_claim() -> None:
    points = tuple(base(number) for number in range(1, 5))
    assert verify_many([claim for bad in (0, 4, 9) for claim in claims(bad, points)]) == [False] * 3
    other = shamir.dual_word(4, 2)
    assert verify_many([shamir.DegreeClaim(points, other)]) == [False]


# ---------------------------------------------------------------- picks


def test_every_subset_is_picked_equally_often() -> None:
    """20 subsets of three out of six: chi-squared is below its 1 - 1e-6 quantile, with 19 degrees of freedom."""
    draws = 4000
    seen = Counter(
        frozenset(topology.pick_parties(draw.to_bytes(4, "big"), 2, (0, 1, 2, 5, 6, 7, 9), 3)) for draw in range(draws)
    )
    expected = draws / 20
    assert len(seen) == 20 and not any(2 in chosen for chosen in seen)
    assert sum((count - expected) ** 2 / expected for count in seen.values()) < 63.7


def test_who_picks_as_many_as_there_are_gets_everybody() -> None:
    assert topology.pick_parties(b"seed", 4, (1, 4, 6), 2) == topology.pick_parties(b"other", 4, (1, 4, 6), 9) == (1, 6)


def test_every_edge_is_posted_by_exactly_one_of_its_ends() -> None:
    joined = tuple(range(20))
    made = topology.Net(
        joined, {one: topology.pick_parties(bytes([one]), one, joined, 5) for one in joined if one != 7}
    )
    edges = {(one, other) for one, near in made.around.items() for other in near}
    assert edges == {(other, one) for one, other in edges} and not any(7 in edge for edge in edges)
    for one, other in edges:
        assert ((one, other) in made.edges) != ((other, one) in made.edges)
    assert all(len(posted) <= 5 for posted in made.posts.values())
    for holder, dealers in made.held.items():
        assert all(made.place(dealer, holder) == place for dealer, place in dealers)


# ---------------------------------------------------------------- masks and seals


def test_the_two_ends_of_an_edge_cancel() -> None:
    one, other = random_scalar(), random_scalar()
    there, back = masks.shared_point(one, base(other)), masks.shared_point(other, base(one))
    assert there == back
    left, right = masks.edge_mask(VIEW, 3, 8, there, 2), masks.edge_mask(VIEW, 8, 3, back, 2)
    assert left + right == Opening((0, 0), 0)
    assert plus(left.point(), right.point()) == minus(G, G)


def test_masks_differ_by_run_log_pair_and_use() -> None:
    shared = base(random_scalar())
    views = [VIEW, MaskContext(b"r" * 32, VIEW.hash), MaskContext(VIEW.run, b"h" * 32)]
    drawn = [masks.edge_mask(view, *pair, shared, 1) for view in views for pair in ((1, 2), (1, 3))]
    drawn += [masks.self_mask(view, 1, 5, 1) for view in views] + [masks.self_mask(VIEW, 2, 5, 1)]
    numbers = [number for opening in drawn for number in (*opening.values, opening.blinder)]
    assert len(set(numbers)) == len(numbers)


def test_a_seal_opens_for_its_holder_and_its_dealers_name_only() -> None:
    shared, share = base(random_scalar()), Share(5, ORDER - 1)
    sealed = seal(VIEW, 1, 2, shared, share)
    assert len(sealed) == SEALED
    assert unseal(VIEW, 1, 2, shared, sealed) == share
    wrong = [
        unseal(VIEW, 2, 1, shared, sealed),
        unseal(VIEW, 1, 3, shared, sealed),
        unseal(VIEW, 1, 2, base(7), sealed),
        unseal(MaskContext(b"r" * 32, VIEW.hash), 1, 2, shared, sealed),
        unseal(VIEW, 1, 2, shared, sealed[:-1] + bytes([sealed[-1] ^ 1])),
        unseal(VIEW, 1, 2, shared, b""),
    ]
    assert wrong == [None] * len(wrong)


@given(data=st.binary(max_size=100))
def test_any_bytes_are_a_share_or_none(data: bytes) -> None:
    found = Share.decoded(data)
    assert found is None or found.encoded() == data


@given(data=st.one_of(st.binary(max_size=100), st.binary(min_size=64, max_size=64)))
def test_any_bytes_are_a_reveal_or_refused(data: bytes) -> None:
    body = {"masked": pack(data)}
    try:
        assert packed_reveal(parse_reveal(body, 1)) == body
    except Refused:
        assert len(data) != 64 or max(int.from_bytes(data[at : at + 32], "little") for at in (0, 32)) >= ORDER


def test_claims_hold_for_what_opens_and_for_nothing_else() -> None:
    opening = Opening((3, 4), 9)
    points, signs = [opening.point(), Opening((1, 1), 2).point()], [1, -1]
    rest = Opening((2, 3), 7)
    good = [OpeningClaim(rest, points, signs), LogarithmClaim(5, base(5))]
    bad = [OpeningClaim(rest, points, [1, 1]), OpeningClaim(opening, points, signs), LogarithmClaim(6, base(5))]
    assert verify_many([*good, *bad]) == [True, True, False, False, False]
    assert all(verify_many([claim]) == [claim in good] for claim in itertools.chain(good, bad))
