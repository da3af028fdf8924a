"""What a party takes part in: limits of its own, which an agreement must keep before anything of it leaves.

An agreement is written by somebody else. Its hash makes all parties read the same one; whether that one is good enough
is for each party to say. ``hubbub gopa show`` has it in plain words.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from hubbub.gopa.protocol.agreement import Agreement
from hubbub.gopa.protocol.identities import Member
from hubbub.terms import BeyondConsent, OutOfRange, WrongShape, fraction_of, positive, shown, whole

Roster = Mapping[str, bytes] | Sequence[Member]
ATTEMPTS = 8  # runs whose graph was drawn and that came to nothing, in a row


@dataclass(frozen=True, kw_only=True)
class Consent:
    """The most that a party gives away, the most that it relies on, and with whom; None leaves a limit out.

    ``epsilon`` and ``delta`` are of one run, with the graphs of runs that came to nothing before it (``Attempts``), of
    which there may be ``attempts``. ``honest`` is the largest share of ``roster`` that it relies on: those whom it
    knows, or, without a roster, those whom the agreement names. A run among a part of them has all the others' allies
    in it, if somebody wants that: as many may be corrupted as in the whole. ``share`` is the least part of the party's
    range for which one protected unit may stand: 1 protects all that the party has, and is what is taken unless
    something smaller is said. ``run`` is the name of the one run that it takes part in.

    Guarantee: a party that requires its consent reveals only in runs that are (epsilon, delta)-DP for the unit that it
    consented to, if no more of ``roster`` are corrupted than it said.
    Because: docs/proofs/gopa.md, "What a party takes on trust" [SBR22]: all else it works out by itself.

    >>> from hubbub.gopa.in_process import people
    >>> agreed = people(5, epsilon=2, delta=1e-6, honest=0.8, dropouts=0).agreement
    >>> Consent(epsilon=2, delta=1e-6, honest=0.8).objections(agreed)
    ()
    >>> Consent(epsilon=1, honest=0.7).objections(agreed)
    ('its epsilon is 2 and at most 1 was consented to',)
    >>> Consent(honest=0.5).objections(agreed)
    ('it relies on 4 of 5 being honest, and 2 of the 5 known may work against them',)
    """

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    honest: Fraction | None = None
    share: Fraction = Fraction(1)
    roster: Roster | None = None
    run: bytes | None = None
    attempts: int = ATTEMPTS

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "epsilon", None if self.epsilon is None else positive(self.epsilon, name="epsilon"))
        put(self, "delta", None if self.delta is None else fraction_of(self.delta, name="delta"))
        put(self, "honest", None if self.honest is None else fraction_of(self.honest, name="honest", one=True))
        put(self, "share", fraction_of(self.share, name="share", one=True))
        put(self, "roster", None if self.roster is None else roster_members(self.roster))
        whole(self.attempts, name="attempts")
        if self.run is not None and (not isinstance(self.run, bytes) or len(self.run) != 32):
            raise WrongShape("a run's name is 32 bytes.", why="It is a hash.", fix="Give agreement.run.")

    @classmethod
    def to(cls, agreement: Agreement) -> Self:
        """Consent to this very agreement, by whoever wrote it or has read all of it."""
        return cls(run=agreement.run, share=agreement.plan.sensitivity.share)

    def require(self, agreement: Agreement, *, lost: Fraction = Fraction(0)) -> None:
        """Refuse an agreement beyond this; ``lost`` is the delta of graphs that came to nothing before."""
        objections = self.objections(agreement, lost=lost)
        if objections:
            raise BeyondConsent(
                f"this party takes no part in the run: {'; '.join(objections)}.",
                why="What a party gives away and relies on is for it to say, whoever wrote the agreement.",
                fix="Look at it (hubbub gopa show FILE), and agree on another one, or consent to more.",
            )

    def objections(self, agreement: Agreement, *, lost: Fraction = Fraction(0)) -> tuple[str, ...]:
        """Everything that this consent does not cover; public facts alone."""
        return tuple(self._objections(agreement, lost))

    def _objections(self, agreed: Agreement, lost: Fraction) -> Iterator[str]:
        run_plan = agreed.plan
        if self.run is not None and self.run != agreed.run:
            yield f"it consented to run {self.run.hex()[:16]}"
        if self.epsilon is not None and run_plan.epsilon > self.epsilon:
            yield f"its epsilon is {shown(run_plan.epsilon)} and at most {shown(self.epsilon)} was consented to"
        if self.delta is not None and run_plan.delta + lost > self.delta:
            before = f" with {shown(lost)} for graphs that came to nothing" if lost else ""
            yield f"its delta is {shown(run_plan.delta)}{before} and at most {shown(self.delta)} was consented to"
        if run_plan.sensitivity.share < self.share:
            yield (
                f"it protects parts of {_format_fraction(run_plan.sensitivity.share)} of what a party has, and "
                "nothing below "
                f"{_format_fraction(self.share)} was consented to"
            )
        yield from self._people(agreed)

    def _people(self, agreed: Agreement) -> Iterator[str]:
        known = agreed.roster if self.roster is None else tuple(self.roster)
        strangers = len(set(agreed.roster) - set(known))
        if strangers:
            yield f"{strangers} on its roster are not known under these names and keys"
        if self.honest is None:
            return
        bad = len(known) - math.ceil(self.honest * len(known))
        if agreed.plan.corrupted < bad:
            relied = agreed.plan.parties - agreed.plan.corrupted
            yield (
                f"it relies on {relied} of {agreed.plan.parties} being honest, and {bad} of the {len(known)} known may "
                "work against them"
            )


def roster_members(given: Roster) -> tuple[Member, ...]:
    """The members of a roster, as people give it."""
    if isinstance(given, Mapping):
        return tuple(Member(name, key) for name, key in given.items())
    roster = tuple(given)
    if not all(isinstance(one, Member) for one in roster):
        raise OutOfRange("a roster has members.", why="Names go with keys.", fix="Give {name: key}, or Members.")
    return roster


def _format_fraction(value: Fraction) -> str:
    return "all" if value == 1 else str(value)
