"""Charlie, the election, the auction and the limits: the lectures' numbers, and the promises behind them."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from xml.etree import ElementTree

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import hubbub as hb
from hubbub.terms import EmptyInput, InvalidParameter, OutOfRange, TooLarge, WrongShape

SLIDE = {"A": 15, "B": 18, "C": 20}
names = st.text(min_size=1, max_size=12)
ballots = st.lists(st.integers(0, 30), min_size=2, max_size=5)


def draw(counts: list[int], epsilon: float, *, monotone: bool) -> list[float]:
    votes = {str(i): count for i, count in enumerate(counts)}
    return list(hb.explain.election(votes, epsilon=epsilon, monotone=monotone).chances.values())


def furthest(a: list[float], b: list[float]) -> float:
    return max(abs(math.log(x / y)) for x, y in zip(a, b, strict=True))


# Charlie


@given(st.floats(-50, 250), st.floats(0.01, 5))
def test_charlies_ratio_never_leaves_its_bounds(x: float, epsilon: float) -> None:
    story = hb.explain.charlie(epsilon)
    assert math.exp(-epsilon) * (1 - 1e-9) <= story.ratio(x) <= math.exp(epsilon) * (1 + 1e-9)


@given(st.floats(95, 106), st.floats(0.1, 2))
def test_charlies_ratio_is_that_of_the_densities(x: float, epsilon: float) -> None:
    story = hb.explain.charlie(epsilon)
    quotient = story.density(x, charlie_is_in=True) / story.density(x, charlie_is_in=False)
    assert story.ratio(x) == pytest.approx(quotient)


def test_charlies_densities_are_laplace() -> None:
    story = hb.explain.charlie(0.5)
    assert (story.count, story.without, story.scale) == (101, 100, 2)
    assert story.density(101, charlie_is_in=True) == pytest.approx(0.25)
    assert story.density(103, charlie_is_in=True) == pytest.approx(0.25 / math.e)
    step = 0.01
    total = sum(story.density(60 + i * step, charlie_is_in=False) * step for i in range(8000))
    assert total == pytest.approx(1, abs=1e-3)


def test_charlies_noise_grows_with_the_sensitivity() -> None:
    assert hb.explain.charlie(0.5, count=5000, sensitivity=100).scale == 200


def test_charlies_error_covers_what_it_says() -> None:
    story = hb.explain.charlie(0.1)
    assert 1 - math.exp(-story.error(0.95) / float(story.scale)) == pytest.approx(0.95)


@pytest.mark.parametrize("wrong", [{"count": "many"}, {"sensitivity": 0}, {"count": math.nan}])
def test_charlie_refuses_senseless_numbers(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidParameter):
        hb.explain.charlie(1, **wrong)


@pytest.mark.parametrize("epsilon", [0, -1, 21])
def test_charlie_refuses_an_epsilon_without_a_picture(epsilon: float) -> None:
    with pytest.raises(OutOfRange):
        hb.explain.charlie(epsilon)


# The election


def test_the_election_reproduces_the_lecture() -> None:
    chances = hb.explain.election(SLIDE, epsilon=0.1).chances
    assert [round(100 * chance, 1) for chance in chances.values()] == [25.0, 33.8, 41.2]


def test_the_general_election_halves_the_exponent() -> None:
    chances = list(hb.explain.election(SLIDE, epsilon=0.1, monotone=False).chances.values())
    weights = [math.exp(0.05 * count) for count in SLIDE.values()]
    assert chances == pytest.approx([weight / sum(weights) for weight in weights])


@given(ballots, st.integers(0, 4), st.floats(0.01, 3))
def test_one_more_voter_moves_no_chance_beyond_epsilon(counts: list[int], who: int, epsilon: float) -> None:
    more = [count + (i == who % len(counts)) for i, count in enumerate(counts)]
    for monotone in (True, False):
        moved = furthest(draw(counts, epsilon, monotone=monotone), draw(more, epsilon, monotone=monotone))
        assert moved <= epsilon + 1e-9


@given(ballots, st.integers(0, 4), st.integers(0, 4), st.floats(0.01, 3))
def test_a_changed_vote_is_covered_by_the_general_draw(counts: list[int], a: int, b: int, epsilon: float) -> None:
    a, b = a % len(counts), b % len(counts)
    assume(a != b and counts[b] > 0)
    changed = [count + (i == a) - (i == b) for i, count in enumerate(counts)]
    general = furthest(draw(counts, epsilon, monotone=False), draw(changed, epsilon, monotone=False))
    monotone = furthest(draw(counts, epsilon, monotone=True), draw(changed, epsilon, monotone=True))
    assert general <= epsilon + 1e-9
    assert monotone <= 2 * epsilon + 1e-9


def test_a_changed_vote_is_not_covered_by_the_monotone_draw() -> None:
    moved = furthest(draw([0, 60], 1.0, monotone=True), draw([1, 59], 1.0, monotone=True))
    assert moved > 1.9


def test_the_winner_has_most_votes() -> None:
    assert hb.explain.election(SLIDE, epsilon=0.1).winner == "C"


def test_an_election_with_huge_numbers_still_adds_up() -> None:
    chances = hb.explain.election({"A": 10**30, "B": 10**30 - 1, "C": 0}, epsilon=1).chances
    assert sum(chances.values()) == pytest.approx(1)
    assert chances["A"] / chances["B"] == pytest.approx(math.e)


@given(st.dictionaries(names, st.integers(0, 1000), min_size=1, max_size=6))
def test_any_candidate_name_gives_a_well_formed_picture(votes: dict[str, int]) -> None:
    story = hb.explain.election(votes, epsilon=0.1)
    ElementTree.fromstring(story.svg())
    json.dumps(story.to_json())


def test_names_cannot_break_out_of_the_page() -> None:
    page = hb.explain.election({"<script>alert(1)</script>": 1, '"onload=': 2}, epsilon=1).html()
    assert "<script" not in page
    assert "&lt;script&gt;" in page


@pytest.mark.parametrize("votes", [[1, 2], {1: 2}, None])
def test_votes_of_another_shape_are_refused(votes: object) -> None:
    with pytest.raises(WrongShape):
        hb.explain.election(votes, epsilon=1)  # type: ignore[arg-type]


def test_an_election_without_candidates_is_refused() -> None:
    with pytest.raises(EmptyInput):
        hb.explain.election({}, epsilon=1)


@pytest.mark.parametrize("count", [-1, 1.5, "3"])
def test_senseless_votes_are_refused(count: object) -> None:
    with pytest.raises(InvalidParameter):
        hb.explain.election({"A": count}, epsilon=1)


# The auction


def test_one_cent_too_high_loses_everything() -> None:
    shop = hb.explain.auction([1, 1, 1, 3.01], epsilon=1)
    revenue = {price: float(shop.revenue(Fraction(price))) for price in ("1", "1.01", "3", "3.01", "3.02")}
    assert revenue == {"1": 4.0, "1.01": 1.01, "3": 3.0, "3.01": 3.01, "3.02": 0.0}


def test_the_best_price_is_found_exactly() -> None:
    shop = hb.explain.auction(hb.explain.EXAMPLE_BIDS, epsilon=1)
    assert shop.best_price == Fraction("3.01")
    assert shop.best_revenue == pytest.approx(120.4)


def test_drawing_by_revenue_beats_noise_on_the_price_by_far() -> None:
    shop = hb.explain.auction(hb.explain.EXAMPLE_BIDS, epsilon=1)
    assert shop.drawn.revenue > 0.9 * shop.best_revenue
    assert shop.noised.revenue < 0.3 * shop.best_revenue
    assert shop.barely_noised.revenue < 0.75 * shop.best_revenue


def test_the_ways_to_price_are_distributions() -> None:
    shop = hb.explain.auction([1, 2, 2.5], epsilon=0.3, step=0.25)
    for way in (shop.drawn, shop.noised, shop.barely_noised, shop.blind):
        assert math.fsum(way.chances) == pytest.approx(1)
        assert min(way.chances) >= 0
        expected = sum(c * float(r) for c, r in zip(way.chances, shop.revenues, strict=True))
        assert way.revenue == pytest.approx(expected)


def test_noise_on_the_price_is_laplace_rounded_to_a_price() -> None:
    shop = hb.explain.auction([2], epsilon=1, ceiling=4, step=1)
    scale = 3.0  # the whole range of prices, over epsilon
    middle = 1 - math.exp(-0.5 / scale)
    outer = 0.5 * math.exp(-0.5 / scale)
    beyond = 0.5 * math.exp(-1.5 / scale)
    assert shop.noised.chances == pytest.approx((outer, middle, outer - beyond, beyond))


bids = st.lists(st.decimals(0, 5, places=2), min_size=1, max_size=8)


@given(bids, st.decimals(0, 9, places=2), st.floats(0.05, 3))
def test_one_more_bidder_moves_no_price_beyond_epsilon(known: list[object], extra: object, epsilon: float) -> None:
    for monotone in (True, False):
        before = hb.explain.auction(known, epsilon=epsilon, step=0.25, monotone=monotone)
        after = hb.explain.auction([*known, extra], epsilon=epsilon, step=0.25, monotone=monotone)
        assert furthest(list(before.drawn.chances), list(after.drawn.chances)) <= epsilon + 1e-9
        assert furthest(list(before.noised.chances), list(after.noised.chances)) <= epsilon + 1e-9


def test_the_prices_on_offer_do_not_depend_on_the_bids() -> None:
    assert hb.explain.auction([1], epsilon=1).prices == hb.explain.auction([4.99, 17], epsilon=1).prices


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"bids": []}, EmptyInput),
        ({"bids": [-1]}, OutOfRange),
        ({"bids": ["1"]}, InvalidParameter),
        ({"epsilon": 0}, OutOfRange),
        ({"ceiling": 0}, OutOfRange),
        ({"step": 4}, OutOfRange),
        ({"step": 1e-9}, TooLarge),
    ],
)
def test_a_senseless_auction_is_refused(wrong: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        hb.explain.auction(**({"bids": [1], "epsilon": 1} | wrong))  # type: ignore[arg-type]


def test_the_auction_says_which_weights_it_uses() -> None:
    assert "no factor 2" in hb.explain.auction([1], epsilon=1).text(width=9999)
    assert "2 sensitivity" in hb.explain.auction([1], epsilon=1, monotone=False).text(width=9999)


def test_the_auction_does_not_invent_a_price_above_the_ceiling() -> None:
    assert "no higher one is on offer" in hb.explain.auction([9], epsilon=1).text(width=9999)


# The limits, and what every leaflet can do


def test_the_limits_name_what_is_not_promised() -> None:
    told = hb.explain.not_promised().text()
    for word in ("smoker", "Contact tracing", "group", "Security", "add up"):
        assert word in told


LEAFLETS = {
    "epsilon": lambda: hb.explain.epsilon(1, delta=1e-6),
    "charlie": lambda: hb.explain.charlie(0.5),
    "election": lambda: hb.explain.election(SLIDE, epsilon=0.1),
    "auction": lambda: hb.explain.auction([1, 2, 3], epsilon=1, step=0.5),
    "limits": hb.explain.not_promised,
}


@pytest.mark.parametrize("kind", LEAFLETS)
def test_every_leaflet_speaks_text_html_and_json(kind: str) -> None:
    leaflet = LEAFLETS[kind]()
    assert isinstance(leaflet, hb.explain.Document)
    assert str(leaflet) == leaflet.text()
    assert leaflet.title in leaflet.text()
    assert leaflet.title in leaflet.html()
    assert json.loads(json.dumps(leaflet.to_json(), allow_nan=False))["kind"]
    assert all(section.heading in leaflet.text() for section in leaflet.sections())


@pytest.mark.parametrize("kind", LEAFLETS)
def test_the_same_explanation_is_equal_and_drawn_the_same(kind: str) -> None:
    first, second = LEAFLETS[kind](), LEAFLETS[kind]()
    assert first == second
    assert first.html() == second.html()
