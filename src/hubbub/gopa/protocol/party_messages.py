"""What a party says of itself: who it is, what it is bound to, and the commitments, proofs and shares that follow."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hubbub.gopa.crypto import bit_proof as bits
from hubbub.gopa.crypto import linked_commitments as linked
from hubbub.gopa.crypto import sum_of_squares
from hubbub.gopa.crypto.pedersen import commit_vector
from hubbub.gopa.crypto.ristretto import ORDER, H, base, plus, times_known
from hubbub.gopa.crypto.schnorr import prove_same, prove_zero
from hubbub.gopa.crypto.secret_streams import Stream
from hubbub.gopa.crypto.shamir import deal_shares
from hubbub.gopa.protocol.agreement import Agreement
from hubbub.gopa.protocol.faults import Fault
from hubbub.gopa.protocol.masks import Opening, Share, edge_mask, seal, self_mask, shared_point
from hubbub.gopa.protocol.message_bodies import (
    Join,
    Shared,
    packed_nonce,
)
from hubbub.gopa.protocol.phases import ball_claim, nonce_mark, proof_context, zero_points
from hubbub.gopa.protocol.public_state import PublicState
from hubbub.gopa.protocol.wire import pack

Body = Mapping[str, Any]
_NOTHING = Opening((), 0)


class PartyLeaves(Exception):
    """Inside the room only: the party says nothing more in this run."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault


@dataclass(frozen=True, slots=True)
class Secrets:
    """What a party must keep to itself: the run's secret, and its value for each coordinate."""

    place: int
    secret: bytes = field(repr=False)
    values: tuple[int, ...] = field(repr=False)
    earlier: tuple[int, ...] | None = field(default=None, repr=False)

    def record(self, agreement: Agreement) -> bytes:
        """The first line of a party's own record."""
        fields = {
            "run": pack(agreement.run),
            "secret": pack(self.secret),
            "values": self.values,
            "earlier": self.earlier and [str(blinder) for blinder in self.earlier],
        }
        return json.dumps(fields, sort_keys=True).encode()  # not canonical_json: records on disk have these spaces

    def stream(self, label: str, *parts: bytes) -> Stream:
        """Secret numbers of this run, by name."""
        return Stream(self.secret, label, *parts)

    def key(self, run: bytes, kind: str) -> int:
        """The secret of a run key: ``mask`` or ``seal``."""
        return self.stream(f"{kind} key", run).scalar()


@dataclass(frozen=True, slots=True, repr=False)
class Work:
    """What a party has worked out in a run and needs again; it follows from secrets and log, so it is never stored."""

    bound: bits.BitInputs
    input: Opening = _NOTHING
    own: Opening = _NOTHING
    edges: Mapping[int, Opening] = field(default_factory=dict)
    shares: Mapping[int, Share] = field(default_factory=dict)

    @property
    def shared(self) -> bool:
        """Whether the share phase was reached."""
        return bool(self.edges)


# ---------------------------------------------------------------- join and nonce


def say_join(mine: Secrets, public: PublicState, work: Work | None) -> tuple[Body | None, Work | None]:
    """Keys, bound bits, and a commitment to the nonce."""
    run, bound = public.agreement.run, _bind_bits(mine, public)
    keys = {kind: mine.key(run, kind) for kind in ("mask", "seal")}
    shown = [
        times_known(key, H) + prove_same(key, H, proof_context(public, mine.place, f"{kind} key"))
        for kind, key in keys.items()
    ]
    body = Join(
        mask_key=base(keys["mask"]),
        seal_key=base(keys["seal"]),
        shown=(shown[0], shown[1]),
        nonce=nonce_mark(run, mine.place, _derive_nonce(mine, run)),
        bits=bound.point,
    )
    return body.packed(), Work(bound)


def _derive_nonce(mine: Secrets, run: bytes) -> bytes:
    return mine.stream("nonce", run).take(32)


def _bind_bits(mine: Secrets, public: PublicState) -> bits.BitInputs:
    return bits.bind(public.agreement.shape, mine.values, mine.stream("bits", public.agreement.run).take(32))


def say_nonce(mine: Secrets, public: PublicState, work: Work | None) -> tuple[Body | None, Work | None]:
    """The nonce, now that everybody is bound."""
    require_inside(mine, public)
    return packed_nonce(_derive_nonce(mine, public.agreement.run)), work


def require_inside(mine: Secrets, public: PublicState) -> None:
    """A party that is out has nothing more to say."""
    if mine.place not in public.members:
        raise PartyLeaves(Fault.NOT_INVITED)


# ---------------------------------------------------------------- share


def say_shares(mine: Secrets, public: PublicState, work: Work | None) -> tuple[Body | None, Work | None]:
    """Commitments, proofs, and a sealed share for each holder."""
    require_inside(mine, public)
    shown = prove_inputs(mine, public, work)
    current = _work_out(mine, public, shown, work)
    dealt = _deal_shares(mine, public)
    vector, proof = _commit_vector(mine, public, shown, current.input)
    body = Shared(
        statement=shown.statement,
        proof=shown.proof,
        vector=vector,
        linked=proof,
        ball=_prove_ball(mine, public, shown),
        extra=_prove_zeros(mine, public, shown),
        own=current.own.point(),
        seed=base(self_mask_seed(mine, public)),
        edges=tuple(current.edges[other].point() for other in public.net.posts[mine.place]),
        selves=tuple(base(one.seed) for one in dealt),
        keys=tuple(base(one.key) for one in dealt),
        sealed=_seal_shares(mine, public, dealt),
    )
    return body.packed(), current


def prove_inputs(mine: Secrets, public: PublicState, work: Work | None) -> bits.Proved:
    """The commitments to value and noise, their proof, and their openings."""
    bound = work.bound if work else _bind_bits(mine, public)
    return bits.prove(bound, public.coins(mine.place), proof_context(public, mine.place, "share"))


def self_mask_seed(mine: Secrets, public: PublicState) -> int:
    """The seed of the self mask."""
    return mine.stream("seed", public.agreement.run, public.view.hash).scalar()


def _work_out(mine: Secrets, public: PublicState, shown: bits.Proved, work: Work | None) -> Work:
    """The numbers behind a party's commitments."""
    run, opened = public.agreement.run, shown.openings
    key = mine.key(run, "mask")
    values = tuple(value + noise for value, noise in zip(opened.values, opened.noises, strict=True))
    blinder = (opened.value_blinders[0] + opened.noise_blinders[0]) % ORDER
    if public.width > 1:
        blinder = mine.stream("vector", run, public.view.hash).scalar()
    return Work(
        bound=work.bound if work else _bind_bits(mine, public),
        input=Opening(values, blinder),
        own=self_mask(public.view, mine.place, self_mask_seed(mine, public), public.width),
        edges={other: _edge_opening(mine, public, key, other) for other in public.net.around[mine.place]},
    )


def _edge_opening(mine: Secrets, public: PublicState, key: int, other: int) -> Opening:
    shared = shared_point(key, public.joins[other].mask_key)
    return edge_mask(public.view, mine.place, other, shared, public.width)


def _deal_shares(mine: Secrets, public: PublicState) -> list[Share]:
    """A share of the seed and of the mask key for each holder."""
    count, threshold = len(public.net.picks[mine.place]), public.threshold
    if threshold > count:
        raise PartyLeaves(Fault.TOO_FEW)
    stream = mine.stream("shares", public.agreement.run, public.view.hash)
    secrets = self_mask_seed(mine, public), mine.key(public.agreement.run, "mask")
    seeds, keys = (deal_shares(secret, count, threshold, stream) for secret in secrets)
    return [Share(seed, key) for seed, key in zip(seeds, keys, strict=True)]


def _seal_shares(mine: Secrets, public: PublicState, dealt: Sequence[Share]) -> tuple[bytes, ...]:
    key, view, me = mine.key(public.agreement.run, "seal"), public.view, mine.place
    return tuple(
        seal(view, me, holder, shared_point(key, public.joins[holder].seal_key), one.encoded())
        for holder, one in zip(public.net.picks[me], dealt, strict=True)
    )


def _commit_vector(mine: Secrets, public: PublicState, shown: bits.Proved, opening: Opening) -> tuple[bytes, bytes]:
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


def _prove_ball(mine: Secrets, public: PublicState, shown: bits.Proved) -> bytes:
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


def _prove_zeros(mine: Secrets, public: PublicState, shown: bits.Proved) -> tuple[bytes, ...]:
    """Proofs for a one-hot vector, and that the inputs are those of the previous run."""
    blinders = shown.openings.value_blinders
    known = [sum(blinders)] if public.agreement.quantity.one_hot else []
    if mine.earlier is not None:
        known += [new - old for new, old in zip(blinders, mine.earlier, strict=True)]
    zeros = zero_points(public, mine.place, shown.statement.values)
    return tuple(
        prove_zero(point, blinder % ORDER, proof_context(public, mine.place, name))
        for (name, point), blinder in zip(zeros, known, strict=True)
    )


def redo_work(mine: Secrets, public: PublicState, work: Work | None) -> Work:
    """What was worked out in the share phase; after a crash it is worked out once more, to the same numbers."""
    return work if work and work.shared else _work_out(mine, public, prove_inputs(mine, public, work), work)
