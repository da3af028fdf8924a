"""What is publicly known of a run between two phases, and what follows from it.

All of it follows from the log (``verifier`` folds it): whoever reads the same log has the same state.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from hubbub.gopa.crypto.framing import frame_parts
from hubbub.gopa.privacy import calibration
from hubbub.gopa.privacy.calibration import Achieved, RunPlan
from hubbub.gopa.protocol.agreement import Agreement
from hubbub.gopa.protocol.faults import Abort, Fault, Named
from hubbub.gopa.protocol.identities import Member
from hubbub.gopa.protocol.log_chain import Close
from hubbub.gopa.protocol.masks import MaskContext, Opening
from hubbub.gopa.protocol.topology import Net

if TYPE_CHECKING:
    from hubbub.gopa.protocol.phases.join import Join
    from hubbub.gopa.protocol.phases.share import Shared

FIRST = "repair-1"


@dataclass(frozen=True)
class Inputs:
    """The commitments to all inputs of a run, by its members: what a later run compares its own with.

    A member is a name with its key: the same name under another key is somebody else, and had no input then.
    """

    run: bytes
    points: Mapping[Member, tuple[bytes, ...]]


@dataclass(frozen=True)
class Mended:
    """What repairs have brought: seeds of self masks, mask keys, and their shares (place -> share) so far.

    ``cheats`` are members that a repair proved to lie; they are out of the sum.
    """

    seeds: Mapping[int, int] = field(default_factory=dict)
    keys: Mapping[int, int] = field(default_factory=dict)
    seed_shares: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    key_shares: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    cheats: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Wanted:
    """Whose seeds and whose mask keys are not known yet."""

    seeds: frozenset[int]
    keys: frozenset[int]


@dataclass(frozen=True)
class Result:
    """The sums of values and noises over all ``parties`` that count, one for each coordinate."""

    totals: tuple[int, ...]
    parties: tuple[int, ...]


@dataclass(frozen=True)
class PublicState:
    """The public state of a run between two phases; ``phase`` is the one that is open.

    ``inside`` are those who have done all that was asked so far: after the complaints it is the set that is cut, and
    it stays that. ``revealed`` are those of them whose reveals opened.
    """

    agreement: Agreement
    earlier: Inputs | None
    chain: bytes
    phase: str = "join"
    closes: tuple[Close, ...] = ()
    named: tuple[Named, ...] = ()
    strays: tuple[Fault, ...] = ()
    abort: Abort | None = None
    inside: tuple[int, ...] = ()
    joins: Mapping[int, Join] = field(default_factory=dict)
    net: Net = Net((), {})  # noqa: RUF009
    seed: bytes = b""
    shares: Mapping[int, Shared] = field(default_factory=dict)
    signers: frozenset[int] = frozenset()
    reveals: Mapping[int, Opening] = field(default_factory=dict)
    revealed: tuple[int, ...] = ()
    mended: Mended = Mended()
    result: Result | None = None

    @property
    def over(self) -> bool:
        """Whether nothing more can happen."""
        return self.abort is not None or self.result is not None

    @property
    def head(self) -> bytes:
        """What messages of the open phase carry: the last close."""
        return self.closes[-1].head if self.closes else b""

    @property
    def view(self) -> MaskContext:
        """What masks depend on; only after the nonces."""
        return MaskContext(self.agreement.run, self.closes[1].hash)

    @property
    def width(self) -> int:
        return self.agreement.quantity.coordinates

    @property
    def holders(self) -> int:
        """How many parties hold shares of one dealer."""
        return min(self.agreement.plan.degree, len(self.net.joined) - 1)

    @property
    def threshold(self) -> int:
        """How many shares give a secret back."""
        return self.agreement.plan.threshold(self.holders)

    @property
    def achieved(self) -> Achieved:
        """What the run protects with those who are left."""
        left = self.revealed or self.inside
        return _achieved_privacy(self.agreement.plan, len(left), len(self.net.joined))

    @cached_property
    def members(self) -> frozenset[int]:
        """``inside`` as a set."""
        return frozenset(self.inside)

    @cached_property
    def opened(self) -> frozenset[int]:
        """``revealed`` as a set."""
        return frozenset(self.revealed)

    @cached_property
    def counted(self) -> frozenset[int]:
        """``revealed`` without those that a repair proved to lie."""
        return self.opened - self.mended.cheats

    @cached_property
    def wanted(self) -> Wanted:
        """What is missing for the sum, once a quorum has signed who revealed."""
        near = self.net.around
        gone = {one for one in self.members - self.counted if not self.counted.isdisjoint(near[one])}
        return Wanted(self.counted - self.mended.seeds.keys(), frozenset(gone) - self.mended.keys.keys())

    @cached_property
    def releasable(self) -> Wanted:
        """Whose shares a holder may give in the open phase: of seeds only after their owners had their turn."""
        return Wanted(frozenset() if self.phase == FIRST else self.wanted.seeds, self.wanted.keys)

    @cached_property
    def mark(self) -> bytes:
        """What a party signs in the open phase: the set that is cut, or the set of those who revealed."""
        return set_digest(self.agreement, self.revealed or self.inside)

    def edge(self, one: int, other: int) -> tuple[bytes, int]:
        """The posted commitment of an edge, and the sign that it has for ``one``."""
        at = self.net.edges.get((one, other))
        if at is not None:
            return self.shares[one].edges[at], 1
        return self.shares[other].edges[self.net.edges[other, one]], -1

    def faulty(self, party: int) -> tuple[Fault, ...]:
        """What a party did wrong so far, silence apart."""
        return tuple(one.fault for one in self.named if one.party == party and one.fault is not Fault.SILENT)


@lru_cache(maxsize=256)
def _achieved_privacy(plan: RunPlan, survivors: int, joined: int) -> Achieved:
    return calibration.achieved(plan, survivors, joined=joined)


def set_digest(agreement: Agreement, members: Sequence[int]) -> bytes:
    """The mark of a set of parties, which a cut or a confirmation signs."""
    return hashlib.sha256(frame_parts(agreement.run, *(place.to_bytes(4, "little") for place in members))).digest()


def end_run(state: PublicState, fault: Fault, evidence: tuple[bytes, ...] = ()) -> PublicState:
    """The run, without a result."""
    return replace(state, abort=Abort(fault, state.phase, evidence))
