"""What a question may cost: as it was asked for, and in a currency that the budget counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from hubbub.accounting import LOSS_UNIT, Currency, Limit
from hubbub.ledger import AccountBalance
from hubbub.relations import limits
from hubbub.sql.compiler.query_plan import NoiseKind
from hubbub.terms import MissingParameter, OutOfRange, Real, fraction_of, positive

AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceTerms:
    """A price as somebody states it: just one of ``epsilon`` (perhaps with ``delta``), ``rho``, ``within``, ``share``.

    ``noise`` is "auto", or the distribution that is wanted. ``within`` is an error at ``confidence``, for which
    averages may ``assume`` so many rows per group.
    """

    epsilon: Real | None = None
    delta: Real | None = None
    rho: Real | None = None
    within: Real | None = None
    share: Real | None = None
    noise: str = AUTO
    confidence: Real = 0.95
    assume: Real | None = None

    def __post_init__(self) -> None:
        stated = {"epsilon": self.epsilon, "rho": self.rho, "within": self.within, "share": self.share}
        others = {"delta": self.delta, "assume": self.assume, "confidence": self.confidence}
        limits.check_ordinary(**stated, **others)
        fraction_of(self.confidence, name="confidence")
        _check_one({name: value for name, value in stated.items() if value is not None})
        if self.delta is not None and self.epsilon is None:
            raise MissingParameter(
                "delta goes with epsilon alone.", why="A price is stated in one way.", fix="Leave delta out."
            )
        if self.share is not None:
            _check_share(self.share)
        if self.noise not in (AUTO, *NoiseKind):
            raise OutOfRange(
                f"noise is 'auto', 'laplace' or 'gaussian', and not {self.noise!r:.40}.",
                why="These two distributions are calibrated here, and auto takes the one of less error.",
                fix='Leave noise out, or write noise="laplace".',
            )


def _check_share(share: Real) -> None:
    try:
        fraction_of(share, name="share", one=True)
    except OutOfRange as error:
        raise OutOfRange(
            error.what,
            why="It is a part of the budget, above 0 and at most 1.",
            fix="Write share=0.1 for a tenth of the budget.",
        ) from None


def _check_one(stated: Mapping[str, Real]) -> None:
    if not stated:
        raise MissingParameter(
            "a question says what it may cost: epsilon, rho or a share of the budget, or how exact it should be "
            "(within).",
            why="There is no default price.",
            fix="Write epsilon=0.5, or share=0.1 for a tenth of the budget, or within=20 for an error of at most 20.",
        )
    if len(stated) > 1:
        raise MissingParameter(
            f"the price is given {len(stated)} times: {', '.join(stated)}.",
            why="Either one cost is given, or the error, and the others follow.",
            fix=f"Keep one, such as {_written(*next(iter(stated.items())))}.",
        )


def _written(name: str, value: Real) -> str:
    """A price as somebody types it."""
    return f"{name}={value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a question costs: an epsilon or a rho, and the deltas that go with it.

    ``tail`` is the delta at which Gaussian noise has its epsilon, ``own`` what a choice of keys brings by itself.
    """

    epsilon: Fraction | None = None
    rho: Fraction | None = None
    tail: Fraction = Fraction(0)
    own: Fraction = Fraction(0)

    @property
    def delta(self) -> Fraction:
        """Both deltas together."""
        return self.tail + self.own


def noise_kinds(limit: Limit, wanted: str) -> tuple[NoiseKind, ...]:
    """The noises that a budget can pay for, of those that are wanted."""
    possible = (NoiseKind.LAPLACE,) if limit.currency is Currency.PURE else tuple(NoiseKind)
    kinds = tuple(kind for kind in possible if wanted in (AUTO, kind))
    if not kinds:
        raise MissingParameter(
            "a budget without delta takes Laplace noise.",
            why="Gaussian noise is (epsilon, delta)-DP for a delta above 0 alone.",
            fix='Leave noise out, or write noise="laplace".',
        )
    return kinds


def price_of(terms: PriceTerms, kind: NoiseKind, limit: Limit, *, choosing: bool) -> Price:
    """The price of ``epsilon`` or ``rho`` with noise of a kind; ``choosing`` says that keys are chosen privately.

    Deltas that nobody stated are the question's share of the budget's, as it was opened: n questions of an n-th of the
    budget never run out of delta first.
    """
    if terms.rho is not None:
        return price_in_rho(positive(terms.rho, name="rho"), limit, choosing=choosing)
    epsilon = positive(terms.epsilon, name="epsilon")
    if limit.currency is Currency.PURE or (kind is NoiseKind.LAPLACE and not choosing):
        _check_no_delta(terms, limit)
        return Price(epsilon=epsilon)
    if terms.delta is None:
        return price_in_epsilon(epsilon, kind, limit, choosing=choosing)
    delta = fraction_of(terms.delta, name="delta", zero=True)
    if not delta:
        raise MissingParameter(
            "Gaussian noise, and a choice of keys by noisy counts, go with a delta above 0.",
            why="Without delta an answer is pure, which Laplace noise over public keys alone is.",
            fix="Leave delta out: the question's share of the budget's is taken.",
        )
    tail, own = (delta / 2, delta / 2) if choosing else (delta, Fraction(0))
    return Price(epsilon=epsilon, tail=tail, own=own)


def price_in_epsilon(epsilon: Fraction, kind: NoiseKind, limit: Limit, *, choosing: bool) -> Price:
    """An epsilon with the deltas that are its share of the budget's."""
    if kind is NoiseKind.LAPLACE and not choosing:
        return Price(epsilon=epsilon)
    own = limit.default_own(epsilon=epsilon)
    tail = limit.default_tail(epsilon=epsilon) if limit.currency is Currency.EITHER else own
    if not tail:
        raise MissingParameter(
            "Gaussian noise for an epsilon goes with a delta here, and the budget has none for it.",
            why="Its tails need some delta; a budget in rho names none, nor do those that version 0.1 opened.",
            fix="Write epsilon=..., delta=...; or rho=...; or leave noise out.",
        )
    return Price(epsilon=epsilon, tail=tail, own=own if choosing else Fraction(0))


def price_in_rho(rho: Fraction, limit: Limit, *, choosing: bool) -> Price:
    """A rho with the deltas that are its share of the budget's."""
    if limit.currency is Currency.PURE:
        raise MissingParameter(
            "a budget without delta is spent in epsilon alone.",
            why="Every answer under it is epsilon-DP, with Laplace noise.",
            fix="Write epsilon=...",
        )
    own = limit.default_own(rho=rho) if choosing else Fraction(0)
    tail = limit.default_tail(rho=rho)
    return Price(rho=rho, tail=tail, own=own)


def price_of_share(terms: PriceTerms, kind: NoiseKind, limit: Limit, line: AccountBalance, *, choosing: bool) -> Price:
    """A share of the budget: of its concentrated account while that is open, else of the basic one.

    So n questions of an n-th fit, whatever noise each has: none closes the account that the others count on.
    """
    if limit.currency is Currency.PURE:
        return Price(epsilon=_share_of(limit.whole.loss if line.limit is None else line.limit.whole.loss, terms))
    by_loss, by_epsilon = shares_of_accounts(terms, line.limit or limit)
    if limit.currency is Currency.CONCENTRATED or line.limit is None or line.limit.fits_loss(line.spent):
        return price_of(by_loss, kind, limit, choosing=choosing)
    return price_of(by_epsilon, kind, limit, choosing=choosing)


def shares_of_accounts(terms: PriceTerms, limit: Limit) -> tuple[PriceTerms, PriceTerms]:
    """A share as a price in either account: a part of its rho, and of its epsilon."""
    whole = limit.whole
    return (
        replace(terms, share=None, rho=_share_of(whole.loss, terms)),
        replace(terms, share=None, epsilon=_share_of(whole.epsilon, terms)),
    )


def _share_of(whole: int, terms: PriceTerms) -> Fraction:
    return Fraction(int(whole * fraction_of(terms.share, name="share", one=True)), LOSS_UNIT)


def _check_no_delta(terms: PriceTerms, limit: Limit) -> None:
    if limit.currency is Currency.PURE and terms.delta not in (None, 0):
        raise MissingParameter(
            "a budget without delta is spent in epsilon alone.",
            why="Every answer under it is epsilon-DP, with Laplace noise.",
            fix="Write epsilon=...",
        )
    if terms.delta is not None:
        fraction_of(terms.delta, name="delta", zero=True)


def price_kinds(terms: PriceTerms, limit: Limit, line: Callable[[], AccountBalance]) -> list[tuple[NoiseKind, Price]]:
    """The price with each noise that can be had for it, where keys are public."""
    prices: list[tuple[NoiseKind, Price]] = []
    refusals: list[MissingParameter] = []
    for kind in noise_kinds(limit, terms.noise):
        try:
            prices.append((kind, price_plan(terms, kind, limit, line, choosing=False)))
        except MissingParameter as error:
            refusals.append(error)
    if not prices:
        raise refusals[-1]
    return prices


def price_plan(
    terms: PriceTerms, kind: NoiseKind, limit: Limit, line: Callable[[], AccountBalance], *, choosing: bool
) -> Price:
    """The price of ``epsilon``, ``rho`` or ``share``; ``line`` tells what is spent, which a share goes by."""
    if terms.share is not None:
        return price_of_share(terms, kind, limit, line(), choosing=choosing)
    return price_of(terms, kind, limit, choosing=choosing)
